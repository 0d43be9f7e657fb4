/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See scratch.h. No stdio and no opendir: the guardian stays small, and the plugin chose the shape of the
 * tree.
 *
 * The maker of a directory keeps a shared lock on it (flock), in a descriptor that no plugin gets. The
 * kernel drops the lock with the last of our processes. A directory that can be locked exclusively belongs
 * to nobody, or it is so new that its maker has not locked it yet: so sweeps skip young ones.
 */
#include "undo/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/dir.h"
#include "base/fd.h"
#include "base/text.h"

#define DEPTH_MAX  24
#define STUCK_MAX  64 /* entries that resist, after which a removal gives up */
#define PREFIX     "mortise-jail-"
#define DIGITS     16
#define OPEN_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* ---- making ---- */

/* If the clock was changed, another process's sweep may remove it between mkdir and flock: then we try
 * another name. On a file system without locks, sweeps do nothing either. -EAGAIN: it is gone, or will be. */
static int keep_from_sweeps(const struct mor_scratch *scratch)
{
	struct stat st;

	if (flock(scratch->dir, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK)
		return -EAGAIN;
	return fstatat(scratch->parent, scratch->name, &st, AT_SYMLINK_NOFOLLOW) < 0 || st.st_uid != geteuid() ?
		       -EAGAIN :
		       0;
}

static int try_to_make(struct mor_scratch *scratch)
{
	unsigned long long number;
	int status;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return -EIO;
	snprintf(scratch->name, sizeof(scratch->name), PREFIX "%016llx", number);
	if ((status = mor_dir_make(scratch->parent, scratch->name, 0700)) < 0)
		return status == -EEXIST || status == -ENOENT ? -EAGAIN : status;
	scratch->dir = openat(scratch->parent, scratch->name, OPEN_FLAGS);
	if (scratch->dir < 0)
		return errno == ENOENT ? -EAGAIN : -errno;
	if ((status = keep_from_sweeps(scratch)) < 0)
		mor_fd_close(&scratch->dir);
	return status;
}

int mor_scratch_make(struct mor_scratch *scratch, const char *parent)
{
	int status = -EAGAIN;

	scratch->parent = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (scratch->parent < 0)
		return -errno;
	for (int tries = 0; tries < 8 && status == -EAGAIN; tries++)
		status = try_to_make(scratch);
	if (status == 0 && (size_t)snprintf(scratch->path, sizeof(scratch->path), "%s/%s", parent,
					    scratch->name) >= sizeof(scratch->path))
		status = -ENAMETOOLONG;
	return status;
}

/* ---- removing ---- */

struct removal {
	int top;
	unsigned moved; /* directories that were lifted to the top */
	unsigned stuck; /* entries that could not be removed */
	unsigned left;  /* number of entries that may still be removed */
};

static bool empty_directory(struct removal *removal, int dir, int depth);

/* Moves a directory to the top, where the loop will find it. The name is random: the program knows how we name
 * things, and may have put something into the way. */
static bool lift_directory(struct removal *removal, int dir, const char *name)
{
	unsigned long long number;
	char other[32];

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return false;
	snprintf(other, sizeof(other), ".lifted-%016llx", number);
	/* its ".." changes, so we need write permission on it */
	if (fchmodat(dir, name, 0700, 0) < 0 || renameat(dir, name, removal->top, other) < 0)
		return false;
	removal->moved++;
	return true;
}

/* Removes one entry. false: it could not be removed. */
static bool remove_entry(struct removal *removal, int dir, const char *name, int depth)
{
	bool done;
	int fd;

	if (!removal->left)
		return false;
	removal->left--;
	if (unlinkat(dir, name, 0) == 0 || errno == ENOENT)
		return true;
	if (errno != EISDIR && errno != EPERM)
		return false;
	if (unlinkat(dir, name, AT_REMOVEDIR) == 0)
		return true;
	if (depth == DEPTH_MAX) /* too deep for our descriptors */
		return lift_directory(removal, dir, name);
	fd = openat(dir, name, OPEN_FLAGS);
	if (fd < 0 && errno == EACCES && fchmodat(dir, name, 0700, 0) == 0)
		fd = openat(dir, name, OPEN_FLAGS);
	if (fd < 0)
		return false;
	(void)fchmod(fd, 0700);
	done = empty_directory(removal, fd, depth + 1);
	close(fd);
	return done && unlinkat(dir, name, AT_REMOVEDIR) == 0;
}

/* Reads from the start again after every batch, because removing moves the rest. One entry that resists does
 * not save the others. */
static bool empty_directory(struct removal *removal, int dir, int depth)
{
	char batch[1024] __attribute__((aligned(8)));
	bool again = true, all = true;

	while (again) {
		long got;

		again = false;
		all = true;
		if (lseek(dir, 0, SEEK_SET) < 0)
			return false;
		while ((got = syscall(SYS_getdents64, dir, batch, sizeof(batch))) > 0) {
			for (long at = 0; at < got;) {
				const struct dirent64 *entry = (const struct dirent64 *)(batch + at);

				at += entry->d_reclen;
				if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
					continue;
				if (remove_entry(removal, dir, entry->d_name, depth)) {
					again = true;
					continue;
				}
				all = false;
				if (!removal->left || ++removal->stuck >= STUCK_MAX)
					return false;
			}
		}
		if (got < 0)
			return false;
	}
	return all;
}

static void remove_all(const struct mor_scratch *scratch, unsigned *left)
{
	struct removal removal = { .top = scratch->dir, .left = *left };
	unsigned moved;
	bool all;

	(void)fchmod(scratch->dir, 0700);
	do { /* what was lifted out of a directory that resists is new at the top */
		moved = removal.moved;
		all = empty_directory(&removal, scratch->dir, 0);
	} while (!all && removal.moved != moved && removal.left && removal.stuck < STUCK_MAX);
	if (all)
		(void)unlinkat(scratch->parent, scratch->name, AT_REMOVEDIR);
	*left = removal.left;
}

bool mor_scratch_remove_some(struct mor_scratch *scratch, unsigned entries)
{
	if (scratch->dir >= 0)
		remove_all(scratch, &entries);
	if (!entries)
		return false;
	mor_fd_close(&scratch->dir);
	mor_fd_close(&scratch->parent);
	return true;
}

void mor_scratch_remove(struct mor_scratch *scratch)
{
	(void)mor_scratch_remove_some(scratch, UINT_MAX);
}

static bool is_name(const char *name)
{
	size_t len = sizeof(PREFIX) - 1;

	return strncmp(name, PREFIX, len) == 0 && strlen(name) == len + DIGITS &&
	       mor_hex_count(name + len) == DIGITS;
}

/* Only of this user, and never through a link. Otherwise scratch->dir stays -1. */
static void open_own(struct mor_scratch *scratch, const char *name, struct stat *ret)
{
	memcpy(scratch->name, name, sizeof(PREFIX) + DIGITS);
	scratch->dir = openat(scratch->parent, name, OPEN_FLAGS);
	if (scratch->dir >= 0 && (fstat(scratch->dir, ret) < 0 || ret->st_uid != geteuid()))
		mor_fd_close(&scratch->dir);
}

void mor_scratch_drop(const char *path)
{
	static const char start[] = MOR_SCRATCH_PARENT "/";
	struct mor_scratch scratch = MOR_SCRATCH_INIT;
	size_t len = sizeof(start) - 1;
	struct stat st;

	if (!path || strncmp(path, start, len) != 0 || !is_name(path + len))
		return;
	scratch.parent = open(MOR_SCRATCH_PARENT, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (scratch.parent >= 0)
		open_own(&scratch, path + len, &st);
	mor_scratch_remove(&scratch);
}

/* ---- sweeping ---- */

/* The limit of work for one start. At 0.2 us per name, a parent with many names would take a fifth of a
 * start (750 names: 0.2 ms warm, 0.4 cold). Such a parent is read by only one start in 32, but then to its
 * end. */
#define CROWDED 4096 /* bytes, as stat tells it */
#define SELDOM  32
#define BATCH   8192 /* on the stack: hosts on several threads may sweep at once */
#define BATCHES 256
#define LOOK_AT 16
#define REMOVE  1000

/* Changed within the last second. A time in the future does not count as young: the plugin may have set it. */
static bool is_young(const struct stat *st)
{
	struct timespec now;
	int64_t age;

	clock_gettime(CLOCK_REALTIME, &now);
	age = (now.tv_sec - st->st_mtim.tv_sec) * 1000000000LL + now.tv_nsec - st->st_mtim.tv_nsec;
	return age >= 0 && age < 1000000000LL;
}

static void sweep_one(int parent, const char *name, unsigned *left)
{
	struct mor_scratch scratch = { .parent = parent, .dir = -1 };
	struct stat st = { 0 };

	open_own(&scratch, name, &st);
	if (scratch.dir >= 0 && !is_young(&st) && flock(scratch.dir, LOCK_EX | LOCK_NB) == 0)
		remove_all(&scratch, left);
	mor_fd_close(&scratch.dir);
}

/* Some of the directories with our names, from a random one on: most belong to living processes. */
static void sweep_batch(int parent, const char *batch, long size, unsigned from, unsigned *left)
{
	const char *names[BATCH / 48]; /* no record of such a name is shorter */
	unsigned count = 0;

	for (long at = 0; at < size;) {
		const struct dirent64 *entry = (const struct dirent64 *)(batch + at);

		at += entry->d_reclen;
		if ((entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN) && is_name(entry->d_name) &&
		    count < sizeof(names) / sizeof(*names))
			names[count++] = entry->d_name;
	}
	for (unsigned i = 0; i < count && i < LOOK_AT && *left; i++)
		sweep_one(parent, names[(from + i) % count], left);
}

void mor_scratch_sweep(const char *parent)
{
	char batch[BATCH] __attribute__((aligned(8)));
	unsigned left = REMOVE, random = 0;
	int dir = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat st;
	long size;

	if (dir < 0)
		return;
	if (getrandom(&random, sizeof(random), 0) == sizeof(random) &&
	    (random % SELDOM == 0 || (fstat(dir, &st) == 0 && st.st_size <= CROWDED))) {
		for (int i = 0; i < BATCHES && (size = syscall(SYS_getdents64, dir, batch, sizeof(batch))) > 0;
		     i++)
			sweep_batch(dir, batch, size, random / SELDOM, &left);
	}
	mor_fd_close(&dir);
}
