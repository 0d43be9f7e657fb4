/* SPDX-License-Identifier: Apache-2.0 */
#include "base/dir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

static int make_one(int at, const char *path, mode_t mode)
{
	return mkdirat(at, path, mode) < 0 && errno != EEXIST ? -errno : 0;
}

int mor_dir_make_all(int at, const char *path, mode_t mode)
{
	char part[PATH_MAX];
	size_t len = strlen(path);
	int r;

	if (len >= sizeof(part))
		return -ENAMETOOLONG;
	r = make_one(at, path, mode);
	if (r != -ENOENT) /* usually only the last one is missing */
		return r;
	for (size_t i = 1; i <= len; i++) {
		if (path[i] != '/' && path[i])
			continue;
		memcpy(part, path, i);
		part[i] = '\0';
		r = make_one(at, part, mode);
		if (r < 0)
			return r;
	}
	return r;
}

int mor_dir_make_open(int at, const char *name, mode_t mode, int flags, bool *ret_made)
{
	bool made = mkdirat(at, name, mode) == 0;
	int fd;

	if (!made && errno != EEXIST)
		return -errno;
	if (ret_made)
		*ret_made = made;
	fd = openat(at, name, flags | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}
