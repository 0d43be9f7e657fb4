/* SPDX-License-Identifier: Apache-2.0 */
/* The tree of a plugin's processes, and the one that tells most. */
#include "proc/doing.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "proc/doing_inside.h"

bool mor_doing_read(const char *path, char *out, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, out, size - 1);

	mor_fd_close(&fd);
	if (n < 0)
		return false;
	out[n] = '\0';
	return true;
}

/* ---- one process ---- */

struct process {
	int pid, parent;
	char state, name[16];
	uint64_t cpu_ms;
	bool has_children;
};

/* proc(5): "PID (NAME) STATE PPID …"; the name may have blanks and brackets. Fields 14 and 15 are the times. */
static bool read_stat(const char *path, struct process *ret)
{
	unsigned long user = 0, system = 0;
	char text[512], *name, *end;

	if (!mor_doing_read(path, text, sizeof(text)))
		return false;
	name = strchr(text, '(');
	end = strrchr(text, ')');
	if (!name || !end || end < name)
		return false;
	*end = '\0';
	*ret = (struct process){ .pid = (int)strtol(text, NULL, 10) };
	snprintf(ret->name, sizeof(ret->name), "%s", name + 1);
	if (sscanf(end + 1, " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &ret->state, &ret->parent,
		   &user, &system) != 4)
		return false;
	ret->cpu_ms = (uint64_t)(user + system) * 1000 / (uint64_t)sysconf(_SC_CLK_TCK);
	return true;
}

static bool read_process(int pid, struct process *ret)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	return read_stat(path, ret);
}

/* ---- the tree ---- */

struct process_tree {
	struct process all[MOR_DOING_TREE];
	size_t count;
};

static void add_child(struct process_tree *tree, const struct process *process)
{
	for (size_t i = 0; i < tree->count; i++) {
		if (tree->all[i].pid != process->parent)
			continue;
		tree->all[i].has_children = true;
		tree->all[tree->count++] = *process;
		return;
	}
}

/* /proc lists processes by number, and a child nearly always has a higher one than its parent: then one pass
 * finds all. */
static void find_tree(int pid, struct process_tree *tree)
{
	DIR *dir;
	struct dirent *entry;
	struct process process;
	unsigned seen = 0;

	tree->count = 0;
	if (!read_process(pid, &tree->all[0]))
		return;
	tree->count = 1;
	dir = opendir("/proc");
	while (dir && seen < MOR_DOING_SEEN && tree->count < MOR_DOING_TREE && (entry = readdir(dir))) {
		int number = (int)strtol(entry->d_name, NULL, 10);

		if (number <= pid)
			continue;
		seen++;
		if (read_process(number, &process))
			add_child(tree, &process);
	}
	if (dir)
		closedir(dir);
}

/* ---- the one that tells most ---- */

static enum mor_doing_what of_state(char state)
{
	switch (state) {
	case 'R':
		return MOR_DOING_RUNS;
	case 'T':
		return MOR_DOING_STOPPED;
	case 't':
		return MOR_DOING_TRACED;
	case 'D':
		return MOR_DOING_DISK;
	default:
		return MOR_DOING_UNKNOWN;
	}
}

static void look_at_task(int pid, int tid, struct mor_doing *best)
{
	struct mor_doing doing = { .fd = -1 };
	struct process task;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, tid);
	if (!read_stat(path, &task))
		return;
	doing.what = of_state(task.state);
	if (task.state == 'S' || task.state == 'I')
		mor_doing_call(pid, tid, &doing);
	if (doing.what > best->what)
		*best = doing;
}

static void look_at_process(const struct process *process, struct mor_doing *ret)
{
	char path[64];
	DIR *dir;
	struct dirent *entry;
	unsigned tasks = 0;

	*ret = (struct mor_doing){ .fd = -1 };
	snprintf(path, sizeof(path), "/proc/%d/task", process->pid);
	dir = opendir(path);
	while (dir && tasks < MOR_DOING_TASKS && (entry = readdir(dir))) {
		int tid = (int)strtol(entry->d_name, NULL, 10);

		if (tid <= 0)
			continue;
		tasks++;
		look_at_task(process->pid, tid, ret);
	}
	if (dir)
		closedir(dir);
	ret->tasks = tasks;
	ret->pid = process->pid;
	snprintf(ret->name, sizeof(ret->name), "%s", process->name);
}

void mor_doing_look(int pid, struct mor_doing *ret)
{
	struct process_tree tree;
	unsigned best = 0;
	uint64_t cpu_ms = 0;

	*ret = (struct mor_doing){ .fd = -1 };
	if (pid <= 0)
		return;
	find_tree(pid, &tree);
	for (size_t i = 0; i < tree.count; i++) {
		struct mor_doing doing;
		unsigned rank;

		look_at_process(&tree.all[i], &doing);
		cpu_ms += tree.all[i].cpu_ms;
		rank = 2 * (unsigned)doing.what + !tree.all[i].has_children;
		if (doing.what != MOR_DOING_UNKNOWN && rank > best) {
			best = rank;
			*ret = doing;
		}
	}
	ret->cpu_ms = cpu_ms;
}
