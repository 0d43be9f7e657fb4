/* SPDX-License-Identifier: Apache-2.0 */
/* Directories that belong to a living process, and the removal of those that do not. */
#include "kythe/stage/own.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

/* A record may nest deeper than a process can open directories. What lies too deep is moved to the top of
 * the tree that is being removed, and is found there in the next pass. */
#define REMOVE_DEPTH 32

struct remover {
	int top;
	unsigned moved, names;
};

static void empty_dir(struct remover *remover, int fd, unsigned depth);

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
	fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return;
	empty_dir(remover, fd, depth + 1);
	unlinkat(parent, name, AT_REMOVEDIR);
}

/* Takes the descriptor. */
static void empty_dir(struct remover *remover, int fd, unsigned depth)
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

void mor_remove_tree_at(int parent, const char *name)
{
	struct remover remover = { .top = openat(parent, name,
						 O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) };

	if (remover.top < 0) {
		unlinkat(parent, name, 0);
		return;
	}
	do {
		remover.moved = 0;
		empty_dir(&remover, fcntl(remover.top, F_DUPFD_CLOEXEC, 0), 0);
	} while (remover.moved);
	mor_fd_close(&remover.top);
	unlinkat(parent, name, AT_REMOVEDIR);
}

void mor_remove_orphans(int all_stages)
{
	DIR *dir = fdopendir(fcntl(all_stages, F_DUPFD_CLOEXEC, 0));
	struct dirent *entry;

	if (!dir)
		return;
	while ((entry = readdir(dir))) {
		int fd = entry->d_name[0] == '.' ? -1 :
						   openat(all_stages, entry->d_name,
							  O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
			mor_remove_tree_at(all_stages, entry->d_name);
		mor_fd_close(&fd);
	}
	closedir(dir);
}

bool mor_stage_is_own(int all_stages, const char *name, int fd)
{
	struct stat now, mine;

	return flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &mine) == 0 &&
	       fstatat(all_stages, name, &now, AT_SYMLINK_NOFOLLOW) == 0 && now.st_ino == mine.st_ino;
}
