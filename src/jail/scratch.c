/* See scratch.h. No stdio and no opendir: the guardian stays small, and the plugin chose the shape of the tree. */
#include "jail/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "jail/plan.h"

#define DEPTH_MAX 24
#define PREFIX "mortise-"
#define DIGITS 16

int mor_scratch_make(struct mor_scratch *scratch, const char *parent)
{
	unsigned long long number;
	int status = 0;

	scratch->parent = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (scratch->parent < 0)
		return -errno;
	for (int tries = 0; tries < 8; tries++) {
		if (getrandom(&number, sizeof(number), 0) != sizeof(number))
			return -EIO;
		snprintf(scratch->name, sizeof(scratch->name), PREFIX "%016llx", number);
		status = mkdirat(scratch->parent, scratch->name, 0700) < 0 ? -errno : 0;
		if (status != -EEXIST)
			break;
	}
	if (status == 0) {
		scratch->dir = openat(scratch->parent, scratch->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		status = scratch->dir < 0 ? -errno : 0;
	}
	if (status == 0 && (size_t)snprintf(scratch->path, sizeof(scratch->path), "%s/%s", parent, scratch->name) >=
				   sizeof(scratch->path))
		status = -ENAMETOOLONG;
	return status;
}

static bool empty_directory(int top, int dir, int depth, unsigned *moved);

/* One entry. false: it would not go. */
static bool remove_entry(int top, int dir, const char *name, int depth, unsigned *moved)
{
	char other[32];
	bool done;
	int fd;

	if (unlinkat(dir, name, 0) == 0 || errno == ENOENT)
		return true;
	if (errno != EISDIR && errno != EPERM)
		return false;
	if (unlinkat(dir, name, AT_REMOVEDIR) == 0)
		return true;
	if (depth == DEPTH_MAX) { /* too deep for our descriptors: lift it, the top's loop will come to it */
		snprintf(other, sizeof(other), ".lifted-%u", (*moved)++);
		(void)fchmodat(dir, name, 0700, 0); /* its ".." changes: that is a write to it */
		return renameat(dir, name, top, other) == 0;
	}
	fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && errno == EACCES && fchmodat(dir, name, 0700, 0) == 0)
		fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return false;
	(void)fchmod(fd, 0700);
	done = empty_directory(top, fd, depth + 1, moved);
	close(fd);
	return done && unlinkat(dir, name, AT_REMOVEDIR) == 0;
}

/* Reads from the start again after every batch, since removing shifts what is left. */
static bool empty_directory(int top, int dir, int depth, unsigned *moved)
{
	char batch[1024] __attribute__((aligned(8)));
	bool again = true;

	while (again) {
		long got;

		again = false;
		if (lseek(dir, 0, SEEK_SET) < 0)
			return false;
		while ((got = syscall(SYS_getdents64, dir, batch, sizeof(batch))) > 0) {
			for (long at = 0; at < got;) {
				const struct dirent64 *entry = (const struct dirent64 *)(batch + at);

				at += entry->d_reclen;
				if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
					continue;
				if (!remove_entry(top, dir, entry->d_name, depth, moved))
					return false;
				again = true;
			}
		}
		if (got < 0)
			return false;
	}
	return true;
}

void mor_scratch_remove(struct mor_scratch *scratch)
{
	unsigned moved = 0;

	if (scratch->dir >= 0) {
		(void)fchmod(scratch->dir, 0700);
		if (empty_directory(scratch->dir, scratch->dir, 0, &moved))
			(void)unlinkat(scratch->parent, scratch->name, AT_REMOVEDIR);
	}
	mor_fd_close(&scratch->dir);
	mor_fd_close(&scratch->parent);
}

void mor_scratch_drop(const char *path)
{
	static const char start[] = MOR_SCRATCH_PARENT "/" PREFIX;
	struct mor_scratch scratch = MOR_SCRATCH_INIT;
	size_t len = sizeof(start) - 1;
	struct stat st;

	if (strncmp(path, start, len) != 0 || strlen(path) != len + DIGITS || strspn(path + len, "0123456789abcdef") != DIGITS)
		return;
	memcpy(scratch.name, strrchr(path, '/') + 1, sizeof(PREFIX) + DIGITS);
	scratch.parent = open(MOR_SCRATCH_PARENT, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (scratch.parent >= 0)
		scratch.dir = openat(scratch.parent, scratch.name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (scratch.dir >= 0 && (fstat(scratch.dir, &st) < 0 || st.st_uid != geteuid()))
		mor_fd_close(&scratch.dir);
	mor_scratch_remove(&scratch);
}
