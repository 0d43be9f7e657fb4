/* SPDX-License-Identifier: Apache-2.0 */
#include "base/dir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

int mor_dir_make(int at, const char *name, mode_t mode)
{
	struct stat st;
	mode_t lacks;

	if (mkdirat(at, name, mode) < 0 || fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	lacks = S_ISDIR(st.st_mode) ? mode & S_IRWXU & ~st.st_mode : 0;
	if (lacks && fchmodat(at, name, (st.st_mode & 07777) | lacks, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	return 0;
}

static int make_one(int at, const char *path, mode_t mode)
{
	int r = mor_dir_make(at, path, mode);

	return r == -EEXIST ? 0 : r;
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
	int fd, r = mor_dir_make(at, name, mode);

	if (r < 0 && r != -EEXIST)
		return r;
	if (ret_made)
		*ret_made = r == 0;
	fd = openat(at, name, flags | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}
