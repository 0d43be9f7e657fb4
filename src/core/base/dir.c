/* SPDX-License-Identifier: Apache-2.0 */
#include "base/dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

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
		if ((r = make_one(at, part, mode)) < 0)
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

/* ---- removing ---- */

/* A tree may nest deeper than a process can open directories. What lies too deep is moved to the top of
 * the tree that is being removed, and is found there in the next pass. */
#define REMOVE_DEPTH 32

struct remover {
	int top;
	unsigned moved, names;
};

static void empty_dir_take(struct remover *remover, int fd, unsigned depth);

static void move_up(struct remover *remover, int parent, const char *name)
{
	char to[32];

	snprintf(to, sizeof(to), "deep.%u", remover->names++);
	if (renameat2(parent, name, remover->top, to, RENAME_NOREPLACE) == 0 || errno == EEXIST)
		remover->moved++;
}

static void remove_entry(struct remover *remover, int parent, const char *name, unsigned depth)
{
	int fd;

	if (unlinkat(parent, name, 0) == 0 || (errno != EISDIR && errno != EPERM))
		return;
	if (depth >= REMOVE_DEPTH && unlinkat(parent, name, AT_REMOVEDIR) < 0) {
		move_up(remover, parent, name);
		return;
	}
	if ((fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) < 0)
		return;
	empty_dir_take(remover, fd, depth + 1);
	unlinkat(parent, name, AT_REMOVEDIR);
}

/* Takes the descriptor. */
static void empty_dir_take(struct remover *remover, int fd, unsigned depth)
{
	DIR *dir = fdopendir(fd);
	struct dirent *entry;

	if (!dir) {
		mor_fd_close(&fd);
		return;
	}
	rewinddir(dir); /* a duplicate keeps the position of the last pass */
	while ((entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			remove_entry(remover, dirfd(dir), entry->d_name, depth);
	closedir(dir);
}

void mor_dir_remove_all(int at, const char *name)
{
	struct remover remover = { .top = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) };

	if (remover.top < 0) {
		unlinkat(at, name, 0);
		return;
	}
	do {
		remover.moved = 0;
		empty_dir_take(&remover, fcntl(remover.top, F_DUPFD_CLOEXEC, 0), 0);
	} while (remover.moved);
	mor_fd_close(&remover.top);
	unlinkat(at, name, AT_REMOVEDIR);
}
