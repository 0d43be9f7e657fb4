/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A manifest of each format in a directory of its own: it is read or refused with a text, what comes out is
 * whole, and a second reading gives the same. Byte 0 chooses the format.
 */
#include "fuzz.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "manifest/manifest.h"

static const char *const files[] = { "yams-plugin.json", "plugin.toml", "sunscreen-plugin.json",
				     "manifest.json", "mortise.toml" };
#define FILES (sizeof(files) / sizeof(*files))

static char dir[64];

static void cleanup(void)
{
	if (chdir(dir) != 0)
		return;
	unlink("plugin.py");
	if (chdir("/") == 0)
		rmdir(dir);
}

static void prepare(void)
{
	int fd;

	if (dir[0])
		return;
	fuzz_dir(dir);
	atexit(cleanup);
	CHECK(chdir(dir) == 0);
	fd = open("plugin.py", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	CHECK(fd >= 0);
	close(fd);
}

static void put(const char *name, const uint8_t *data, size_t size)
{
	int fd = open(name, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0600);

	CHECK(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	close(fd);
}

static void check_whole(const struct mor_manifest *m)
{
	struct mor_json_iter it = mor_json_iter(m->actions ? mor_doc_root(m->actions) : NULL);

	CHECK(m->name && m->dialect && m->argv && m->argv[0] && m->argv[0][0]);
	MOR_LIST_EACH(node, after, &m->settings)
		CHECK(mor_container_of(node, struct mor_setting, node)->origin[0]);
	while (mor_json_next(&it))
		CHECK(mor_json_text(mor_json_get(it.value, "name"), NULL) &&
		      mor_json_text(mor_json_get(it.value, "kind"), NULL));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mor_manifest_query query = { .path = dir, .config_home = "/nowhere" };
	const char *file;
	int first = 0;

	if (size < 1)
		return 0;
	prepare();
	file = files[data[0] % FILES];
	put(file, data + 1, size - 1);
	for (int round = 0; round < 2; round++) {
		struct mor_manifest *m = NULL;
		mortise_error err = { 0 };
		int r = mor_manifest_load(&query, &m, &err);

		CHECK(r == 0 ? m != NULL : !m && err.text[0] && err.code == r);
		CHECK(round == 0 || r == first);
		first = r;
		if (m)
			check_whole(m);
		mor_manifest_free(m);
	}
	CHECK(unlink(file) == 0);
	return 0;
}
