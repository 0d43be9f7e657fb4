/* SPDX-License-Identifier: Apache-2.0 */
/* Feeds every file of a corpus to a fuzz target, whole and cut short at each of its first bytes. TAP. */
#include "fuzz.h"

#include <dirent.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fd.h"

static int wanted(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static void run(const char *bytes, size_t len)
{
	/* A copy that ends where the input ends, so that ASan sees a byte read too many. */
	uint8_t *copy = malloc(len ? len : 1);

	CHECK(copy);
	if (len)
		memcpy(copy, bytes, len);
	LLVMFuzzerTestOneInput(copy, len);
	free(copy);
}

static void replay(const char *dir, const char *name)
{
	char path[4096], *bytes = NULL;
	size_t len = 0;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	CHECK(mor_fd_read_file(path, 16 << 20, &bytes, &len) == 0);
	run(bytes, len);
	for (size_t n = 0; n < len && n < 400; n++)
		run(bytes, n);
	mor_free(bytes);
}

int main(int argc, char **argv)
{
	struct dirent **entries;
	int count;

	CHECK(argc == 2);
	count = scandir(argv[1], &entries, wanted, alphasort);
	CHECK(count > 0);
	printf("1..%d\n", count);
	for (int i = 0; i < count; i++) {
		replay(argv[1], entries[i]->d_name);
		printf("ok %d - %s\n", i + 1, entries[i]->d_name);
		fflush(stdout);
		free(entries[i]);
	}
	free(entries);
	return 0;
}
