/* SPDX-License-Identifier: Apache-2.0 */
/* See quota.h. */
#include "jail/quota.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/fd.h"

enum { SOON = 50, SELDOM = 400, DEPTH = 100, PAGE = 4096 };

struct sum {
	uint64_t bytes, entries;
	uint64_t enough; /* no need to count further */
	dev_t device;
};
typedef void entry_fn(struct sum *sum, int dir, const char *name, int depth);

static void each_entry(struct sum *sum, int dir, int depth, entry_fn *fn)
{
	char batch[1024] __attribute__((aligned(8)));
	long got;

	while (sum->bytes < sum->enough && (got = syscall(SYS_getdents64, dir, batch, sizeof(batch))) > 0) {
		for (long at = 0; at < got && sum->bytes < sum->enough;) {
			const struct dirent64 *entry = (const struct dirent64 *)(batch + at);

			at += entry->d_reclen;
			if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
				fn(sum, dir, entry->d_name, depth);
		}
	}
}

/* An entry takes room even if it is empty. A file with several names is counted in parts. What is nested too
 * deep to be followed counts as all that there can be: there a plugin could hide. */
static void add_entry(struct sum *sum, int dir, const char *name, int depth)
{
	struct stat st;
	int fd;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	sum->bytes += (uint64_t)st.st_blocks * 512 / (S_ISDIR(st.st_mode) || !st.st_nlink ? 1 : st.st_nlink);
	if (++sum->entries > sum->enough / PAGE)
		sum->bytes = sum->enough;
	if (!S_ISDIR(st.st_mode))
		return;
	fd = depth < DEPTH ? openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
	if (fd >= 0)
		each_entry(sum, fd, depth + 1, add_entry);
	else if (depth == DEPTH)
		sum->bytes = sum->enough;
	mor_fd_close(&fd);
}

/* Files that are open and have no name any more. */
static void add_nameless(struct sum *sum, int dir, const char *name, int depth)
{
	struct stat st;

	(void)depth;
	if (fstatat(dir, name, &st, 0) == 0 && S_ISREG(st.st_mode) && !st.st_nlink && st.st_dev == sum->device)
		sum->bytes += (uint64_t)st.st_blocks * 512;
}

static void add_open_files(struct sum *sum, int proc, const char *pid)
{
	char path[40];
	int fd;

	snprintf(path, sizeof(path), "%.16s/fd", pid);
	fd = openat(proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		each_entry(sum, fd, 0, add_nameless);
	mor_fd_close(&fd);
}

static pid_t wanted_session;

static void add_member(struct sum *sum, int proc, const char *name, int depth)
{
	long pid = strtol(name, NULL, 10);

	(void)depth;
	if (pid > 0 && pid != getpid() && getsid((pid_t)pid) == wanted_session)
		add_open_files(sum, proc, name);
}

static void add_processes(struct sum *sum, const struct mor_quota_users *users)
{
	char name[16];
	int fd;

	if (!users->session) {
		snprintf(name, sizeof(name), "%d", (int)users->main);
		add_open_files(sum, users->proc, name);
		return;
	}
	wanted_session = users->session;
	fd = openat(users->proc, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		each_entry(sum, fd, 0, add_member);
	mor_fd_close(&fd);
}

static uint64_t too_much(const struct mor_quota *quota)
{
	return quota->limit + quota->limit / 4;
}

static uint64_t count_tree(const struct mor_quota *quota, const struct mor_quota_users *users)
{
	struct sum sum = { .enough = too_much(quota) };
	int fd = openat(quota->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return 0; /* it is gone, or we have no descriptors: the next count will tell */
	if (fstat(fd, &st) == 0)
		sum.device = st.st_dev;
	each_entry(&sum, fd, 0, add_entry);
	close(fd);
	if (users)
		add_processes(&sum, users);
	return sum.bytes;
}

static void arm(const struct mor_quota *quota, unsigned ms)
{
	struct itimerspec when = { .it_value = { ms / 1000, (long)(ms % 1000) * 1000000 } };

	(void)timerfd_settime(quota->timer, 0, &when, NULL);
}

int mor_quota_begin(struct mor_quota *quota, const char *path, uint64_t limit)
{
	quota->dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (quota->dir < 0)
		return -errno;
	quota->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	quota->limit = limit;
	quota->interval = SOON;
	return quota->timer < 0 ? -errno : 0;
}

/* When it is full it is counted here: something may have been removed meanwhile. */
bool mor_quota_has_room(struct mor_quota *quota)
{
	if (!quota->limit)
		return true;
	if (!atomic_exchange(&quota->stirred, true))
		arm(quota, SOON);
	if (!atomic_load(&quota->full))
		return true;
	atomic_store(&quota->full, count_tree(quota, NULL) >= quota->limit);
	if (atomic_load(&quota->full))
		atomic_store(&quota->met, true);
	return !atomic_load(&quota->full);
}

bool mor_quota_count(struct mor_quota *quota, const struct mor_quota_users *users)
{
	uint64_t expired, bytes;

	if (read(quota->timer, &expired, sizeof(expired)) < 0 && errno != EAGAIN)
		return true; /* nobody would count any more */
	atomic_store(&quota->stirred, false);
	bytes = count_tree(quota, users);
	atomic_store(&quota->full, bytes >= quota->limit);
	if (bytes >= too_much(quota)) {
		atomic_store(&quota->met, true);
		return true;
	}
	/* Unchanged: it can wait a little longer. Opening something makes it soon again. */
	quota->interval = bytes != quota->last         ? SOON :
			  quota->interval * 2 > SELDOM ? SELDOM :
							 quota->interval * 2;
	quota->last = bytes;
	arm(quota, quota->interval);
	return false;
}

void mor_quota_end(struct mor_quota *quota)
{
	mor_fd_close(&quota->dir);
	mor_fd_close(&quota->timer);
	quota->limit = 0;
}
