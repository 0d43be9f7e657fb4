/* SPDX-License-Identifier: Apache-2.0 */
/* See group.h. Handles are opened before the guardian locks itself. */
#include "jail/group.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"

enum { GROUPS = 3 };

struct control_group {
	unsigned version, controllers;
	int parent, dir;
	int join, kill;   /* to write */
	int threads, oom; /* where it is told that a limit was reached */
	int cpu;          /* where time is counted */
	bool inside;      /* our clone puts the child there */
	char name[40];
};
static struct control_group groups[GROUPS];
static unsigned count;

static int put(int dir, const char *file, const char *text)
{
	int fd = openat(dir, file, O_WRONLY | O_CLOEXEC), status = fd < 0 ? -errno : 0;

	if (fd >= 0 && write(fd, text, strlen(text)) < 0)
		status = -errno;
	mor_fd_close(&fd);
	return status;
}

static int put_number(int dir, const char *file, uint64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
	return put(dir, file, text);
}

/* Swap must not make the limit larger. It is missing where the kernel does not count it. */
static int limit_memory(const struct control_group *group, uint64_t bytes)
{
	bool second = group->version == 2;
	int status = put_number(group->dir, second ? "memory.max" : "memory.limit_in_bytes", bytes);

	if (status == 0)
		status = second ? put(group->dir, "memory.swap.max", "0") :
				  put_number(group->dir, "memory.memsw.limit_in_bytes", bytes);
	return status == -ENOENT || status == -EOPNOTSUPP ? 0 : status;
}

static void set_limits(struct control_group *group, const struct mor_op_group *wanted)
{
	if (!wanted->threads || put_number(group->dir, "pids.max", wanted->threads) < 0)
		group->controllers &= ~(unsigned)MOR_CGROUP_PIDS;
	if (!wanted->memory || limit_memory(group, wanted->memory) < 0)
		group->controllers &= ~(unsigned)MOR_CGROUP_MEMORY;
	group->cpu = group->controllers & MOR_CGROUP_CPU && wanted->cpu_s ?
			     openat(group->dir, group->version == 2 ? "cpu.stat" : "cpuacct.usage",
				    O_RDONLY | O_CLOEXEC) :
			     -1;
	if (group->cpu < 0)
		group->controllers &= ~(unsigned)MOR_CGROUP_CPU;
}

static void open_files(struct control_group *group)
{
	bool second = group->version == 2;

	group->join = openat(group->dir, second ? "cgroup.procs" : "tasks", O_WRONLY | O_CLOEXEC);
	group->kill = second ? openat(group->dir, "cgroup.kill", O_WRONLY | O_CLOEXEC) : -1;
	group->threads = group->controllers & MOR_CGROUP_PIDS ?
				 openat(group->dir, "pids.events", O_RDONLY | O_CLOEXEC) :
				 -1;
	group->oom = group->controllers & MOR_CGROUP_MEMORY ?
			     openat(group->dir, second ? "memory.events" : "memory.oom_control",
				    O_RDONLY | O_CLOEXEC) :
			     -1;
}

static void close_group(struct control_group *group)
{
	int *fds[] = { &group->join, &group->kill, &group->threads, &group->oom, &group->cpu, &group->dir };

	for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++)
		mor_fd_close(fds[i]);
}

static bool remove_group(struct control_group *group)
{
	bool gone = unlinkat(group->parent, group->name, AT_REMOVEDIR) == 0 || errno == ENOENT;

	if (gone)
		mor_fd_close(&group->parent);
	return gone;
}

/* Where the new one is made. The root of a tree is closed even to its owner: a process that gives up
 * its privileges could make groups there, but not remove them. So there is a directory of ours in
 * between, which stays. */
static int open_parent(const struct mor_op_group *wanted)
{
	int place = open(wanted->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), inner;
	struct stat st;

	if (place < 0 || fstat(place, &st) < 0 || st.st_mode & S_IWUSR)
		return place;
	(void)mkdirat(place, "mortise", 0755); /* it is there already, or what follows fails */
	inner = openat(place, "mortise", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	close(place);
	if (inner >= 0 && wanted->version == 2) {
		/* who is missing cannot be limited later */
		(void)put(inner, "cgroup.subtree_control", "+pids");
		(void)put(inner, "cgroup.subtree_control", "+memory");
	}
	return inner;
}

static void make_group(const struct mor_op_group *wanted)
{
	struct control_group *group = &groups[count];
	unsigned long long number;

	*group = (struct control_group){ .version = wanted->version,
					 .controllers = wanted->controllers,
					 .join = -1,
					 .kill = -1,
					 .threads = -1,
					 .oom = -1,
					 .cpu = -1,
					 .dir = -1 };
	group->parent = open_parent(wanted);
	if (group->parent < 0 || getrandom(&number, sizeof(number), 0) != sizeof(number)) {
		mor_fd_close(&group->parent);
		return;
	}
	snprintf(group->name, sizeof(group->name), "mortise-jail-%016llx", number);
	if (mkdirat(group->parent, group->name, 0755) == 0)
		group->dir = openat(group->parent, group->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (group->dir >= 0) {
		set_limits(group, wanted);
		open_files(group);
	}
	if (group->controllers && group->join >= 0) {
		count++;
		return;
	}
	close_group(group);
	remove_group(group);
	mor_fd_close(&group->parent);
}

void mor_groups_make(const struct mor_plan *plan)
{
	for (const struct mor_plan_op *op = NULL;
	     count < GROUPS && (op = mor_plan_next(plan, MOR_OP_GROUP, op));)
		make_group(mor_plan_payload(op));
}

unsigned mor_groups_held(void)
{
	unsigned held = 0;

	for (unsigned i = 0; i < count; i++)
		held |= groups[i].controllers;
	return held;
}

/* ---- entering ---- */

static struct control_group *second(void)
{
	for (unsigned i = 0; i < count; i++)
		if (groups[i].version == 2)
			return &groups[i];
	return NULL;
}

pid_t mor_groups_clone(unsigned long flags)
{
	struct control_group *group = second();
	struct clone_args args = { .flags = flags | CLONE_INTO_CGROUP,
				   .exit_signal = flags & CLONE_PARENT ? 0 : SIGCHLD };
	long pid = -1;

	if (group) {
		args.cgroup = (uint64_t)group->dir;
		group->inside = true; /* the child's copy says so, too */
		pid = syscall(SYS_clone3, &args, sizeof(args));
		if (pid >= 0)
			return (pid_t)pid;
		group->inside = false;
	}
	return (pid_t)syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);
}

/* One thread is all that we are: "tasks" of version 1 then means the same as cgroup.procs, and
 * waits for nobody. */
int mor_groups_join(void)
{
	for (unsigned i = 0; i < count; i++)
		if (!groups[i].inside && write(groups[i].join, "0", 1) < 0)
			return -errno;
	return 0;
}

/* ---- the end ---- */

int mor_groups_parent(unsigned number)
{
	return number < count ? groups[number].parent : -1;
}

void mor_groups_kill(void)
{
	for (unsigned i = 0; i < count; i++)
		if (groups[i].kill >= 0 && write(groups[i].kill, "1", 1) < 0)
			return; /* the others who kill are enough */
}

/* The number after a word at the beginning of a line; -1: no such line. No word: the first number. */
static int64_t number_after(int fd, const char *word)
{
	char text[512];
	ssize_t len = fd < 0 ? -1 : pread(fd, text, sizeof(text) - 1, 0);
	size_t size = strlen(word);

	if (len <= 0)
		return -1;
	text[len] = '\0';
	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, word, size) == 0 && (!size || line[size] == ' '))
			return strtoll(line + size, NULL, 10);
	}
	return -1;
}

int64_t mor_groups_cpu_us(void)
{
	for (unsigned i = 0; i < count; i++)
		if (groups[i].cpu >= 0)
			return groups[i].version == 2 ? number_after(groups[i].cpu, "usage_usec") :
							number_after(groups[i].cpu, "") / 1000;
	return -1;
}

unsigned mor_groups_reached(void)
{
	unsigned reached = 0;

	for (unsigned i = 0; i < count; i++) {
		if (number_after(groups[i].threads, "max") > 0)
			reached |= MOR_CGROUP_PIDS;
		if (number_after(groups[i].oom, "oom_kill") > 0)
			reached |= MOR_CGROUP_MEMORY;
	}
	return reached;
}

/* Processes that were reaped may be in the group for a moment longer. */
void mor_groups_remove(void)
{
	for (unsigned i = 0; i < count; i++) {
		close_group(&groups[i]);
		for (int tries = 0; tries < 50 && !remove_group(&groups[i]); tries++)
			(void)poll(NULL, 0, 1);
		mor_fd_close(&groups[i].parent);
	}
	count = 0;
}
