/* SPDX-License-Identifier: Apache-2.0 */
/* What nobody has used for long leaves the store. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/path.h"
#include "depot/inside.h"

#define DAY 86400

struct sweep {
	struct mor_depot_swept *swept;
	time_t before;
	mortise_error *err;
};

/* By the time of its last use: what is used again is touched (depot.c). */
static int sweep_dir(const struct sweep *x, const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	int r = 0;

	if (!dir)
		return errno == ENOENT || errno == ENOTDIR ?
			       0 :
			       mor_fail_errno(x->err, MORTISE_ESYSTEM, errno, "%s", path);
	while (r == 0 && (entry = readdir(dir))) {
		MOR_CLEAN_TEXT char *inner = mor_path_join(path, entry->d_name);
		struct stat st;

		if (!inner)
			r = mor_fail_memory(x->err);
		else if (entry->d_name[0] == '.' || lstat(inner, &st) < 0)
			continue;
		else if (S_ISDIR(st.st_mode))
			r = sweep_dir(x, inner);
		else if (st.st_mtime < x->before && unlink(inner) == 0) {
			x->swept->files++;
			x->swept->bytes += (uint64_t)st.st_size;
		}
	}
	closedir(dir);
	return r;
}

int mor_depot_sweep(struct mor_depot *depot, unsigned days, struct mor_depot_swept *ret, mortise_error *err)
{
	static const char *const folders[] = { "keys", "segments", "specs", "kzips", "files", "new" };
	time_t now = time(NULL);
	int r = 0;

	*ret = (struct mor_depot_swept){ 0 };
	for (size_t i = 0; r == 0 && i < sizeof(folders) / sizeof(*folders); i++) {
		bool is_new = strcmp(folders[i], "new") == 0;
		struct sweep x = { ret, now - (time_t)(is_new && days > 1 ? 1 : days) * DAY, err };
		MOR_CLEAN_TEXT char *path = mor_path_join(depot->path, folders[i]);

		r = path ? sweep_dir(&x, path) : mor_fail_memory(err);
	}
	return r;
}
