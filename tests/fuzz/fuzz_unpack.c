/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Archives of plugins. Whatever comes: what is unpacked has names that pass the rules and is within the limits,
 * what is refused leaves nothing, and nothing appears beside the directory.
 */
#include "fuzz.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/dir.h"
#include "bundle/place.h"
#include "bundle/unpack.h"
#include "content/names.h"

static const struct mor_bundle_limits limits = { .bytes = 1 << 16, .files = 20, .ratio = 250 };
static size_t root_len;
static uint64_t bytes;
static unsigned files;

static int check_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	mortise_error err = { 0 };

	(void)kind;
	if (at->level == 0)
		return 0;
	if (mor_content_name_check(path + root_len + 1, &err) < 0)
		fprintf(stderr, "%s\n", err.text);
	CHECK(!err.code);
	CHECK(S_ISREG(st->st_mode) || S_ISDIR(st->st_mode) || S_ISLNK(st->st_mode));
	CHECK(!(st->st_mode & 07000) && (S_ISDIR(st->st_mode) || st->st_nlink == 1));
	files += !S_ISDIR(st->st_mode);
	bytes += S_ISREG(st->st_mode) ? (uint64_t)st->st_size : 0;
	return 0;
}

static unsigned count_names(const char *path)
{
	DIR *dir = opendir(path);
	unsigned count = 0;

	CHECK(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count - 2;
}

static void check_unpacked(const char *into, int r, const mortise_error *err)
{
	if (r < 0) {
		CHECK(r == MORTISE_EINPUT || r == MORTISE_ESYSTEM);
		CHECK(err->text[0] && !strchr(err->text, '\n'));
		CHECK(count_names(into) == 0);
		return;
	}
	root_len = strlen(into);
	bytes = files = 0;
	CHECK(nftw(into, check_one, 16, FTW_PHYS) == 0);
	CHECK(files > 0 && files <= limits.files && bytes <= limits.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	mortise_error err = { 0 };
	char top[64], into[80];
	int archive = memfd_create("archive", MFD_CLOEXEC), dir, r;

	if (size > 65536)
		return 0;
	CHECK(archive >= 0 && write(archive, data, size) == (ssize_t)size);
	snprintf(into, sizeof(into), "%s/into", fuzz_dir(top));
	CHECK(mkdir(into, 0700) == 0);
	dir = open(into, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CHECK(dir >= 0);
	r = mor_bundle_unpack(archive, dir, &limits, NULL, &err);
	check_unpacked(into, r, &err);
	CHECK(count_names(top) == 1);
	close(dir);
	close(archive);
	mor_dir_remove_all(AT_FDCWD, top);
	return 0;
}
