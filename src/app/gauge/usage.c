/* SPDX-License-Identifier: Apache-2.0 */
#include "gauge/usage.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fd.h"

#define SECOND         1000000000LL
#define FILE_SIZE_MOST 65536

struct used_process {
	pid_t pid, parent;
	char name[16];
	int64_t waited; /* processor time of children that it has waited for */
	enum { OTHER, GUARDIAN, PLUGIN } part;
};

struct used_list {
	struct used_process *item;
	size_t count, cap;
};

/* ---- one process ---- */

/* NULL: it is gone, or may not be read. Free it. */
static char *read_of(pid_t pid, const char *name)
{
	char path[96], *text = NULL;
	size_t len;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	return mor_fd_read_file(path, FILE_SIZE_MOST, &text, &len) < 0 ? NULL : text;
}

/* proc(5): "PID (NAME) STATE PPID …"; the name may have blanks and brackets. Fields 16 and 17 are the times. */
static bool read_process(pid_t pid, struct used_process *ret)
{
	MOR_CLEAN_TEXT char *text = read_of(pid, "stat");
	const char *name = text ? strchr(text, '(') : NULL, *end = text ? strrchr(text, ')') : NULL;
	long user, system;
	int parent;

	if (!name || !end || end < name ||
	    sscanf(end + 1, " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %ld %ld", &parent, &user,
		   &system) != 3)
		return false;
	*ret = (struct used_process){ .pid = pid, .parent = parent };
	snprintf(ret->name, sizeof(ret->name), "%.*s", (int)(end - name - 1), name + 1);
	ret->waited = (user + system) * (SECOND / sysconf(_SC_CLK_TCK));
	return true;
}

/* The clock of another process counts nanoseconds, of all its threads, also those that have ended. */
static int64_t time_of_process(pid_t pid)
{
	struct timespec time;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &time) < 0)
		return 0;
	return time.tv_sec * SECOND + time.tv_nsec;
}

static void add_memory(pid_t pid, struct mor_usage_memory *sum)
{
	MOR_CLEAN_TEXT char *status = read_of(pid, "status");
	const char *peak = status ? strstr(status, "\nVmHWM:") : NULL; /* "VmHWM:   123 kB" */

	if (!peak) /* it is ending */
		return;
	sum->processes++;
	sum->rss_peak += strtoull(peak + strlen("\nVmHWM:"), NULL, 10) * 1024;
}

void mor_usage_memory_join(struct mor_usage_memory *sum, const struct mor_usage_memory *other)
{
	if (other->processes > sum->processes)
		sum->processes = other->processes;
	if (other->rss_peak > sum->rss_peak)
		sum->rss_peak = other->rss_peak;
}

/* ---- the tree ---- */

static struct used_process *find_process(const struct used_list *list, pid_t pid)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->item[i].pid == pid)
			return &list->item[i];
	return NULL;
}

static void list_all(struct used_list *list)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (pid > 0 && mor_grow(&list->item, list->count, &list->cap, sizeof(*list->item)) == 0 &&
		    read_process(pid, &list->item[list->count]))
			list->count++;
	}
	if (dir)
		closedir(dir);
}

static bool is_below(const struct used_list *list, const struct used_process *process, pid_t ours)
{
	for (size_t i = 0; process && i < list->count; i++) {
		if (process->parent == ours)
			return true;
		process = find_process(list, process->parent);
	}
	return false;
}

/* The first process of a PID namespace is a second guardian, beside the plugin: it has the guardian's name. */
static bool is_second_guardian(const struct used_list *list, const struct used_process *process, pid_t plugin)
{
	const struct used_process *parent = find_process(list, process->parent);

	return process->part == PLUGIN && process->pid != plugin && parent && parent->part == GUARDIAN &&
	       strcmp(process->name, parent->name) == 0;
}

/* Without the number of the plugin's first process, whatever is below us is the guardian's: it has just
 * started, or has nothing more below it. */
static void tell_apart(struct used_list *list, pid_t plugin)
{
	struct used_process *first = plugin ? find_process(list, plugin) : NULL, *above;
	pid_t ours = getpid();

	for (size_t i = 0; i < list->count; i++)
		if (is_below(list, &list->item[i], ours))
			list->item[i].part = first ? PLUGIN : GUARDIAN;
	above = first ? find_process(list, first->parent) : NULL;
	for (; above && above->pid != ours; above = find_process(list, above->parent))
		above->part = GUARDIAN;
	for (size_t i = 0; i < list->count; i++)
		if (is_second_guardian(list, &list->item[i], plugin))
			list->item[i].part = GUARDIAN;
}

static int64_t rusage_ns(const struct rusage *usage)
{
	return (usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * SECOND +
	       (usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) * 1000LL;
}

int64_t mor_usage_host(void)
{
	struct rusage usage = { 0 };

	getrusage(RUSAGE_SELF, &usage);
	return rusage_ns(&usage);
}

/* What the guardian has waited for was the plugin's: an orphan of it. */
static void add_process(const struct used_process *process, struct mor_usage *usage)
{
	if (process->part == GUARDIAN) {
		usage->guardian += time_of_process(process->pid);
		usage->plugin += process->waited;
		add_memory(process->pid, &usage->guardian_memory);
	} else if (process->part == PLUGIN) {
		usage->plugin += time_of_process(process->pid) + process->waited;
		add_memory(process->pid, &usage->plugin_memory);
	}
}

void mor_usage_look(pid_t pid, uint64_t ended_us, struct mor_usage *ret)
{
	struct used_list list = { 0 };
	struct rusage ended = { 0 };

	*ret = (struct mor_usage){ .plugin = (int64_t)ended_us * 1000 };
	list_all(&list);
	tell_apart(&list, pid);
	getrusage(RUSAGE_CHILDREN, &ended);
	ret->guardian = rusage_ns(&ended) - ret->plugin;
	for (size_t i = 0; i < list.count; i++)
		add_process(&list.item[i], ret);
	mor_free(list.item);
	add_memory(getpid(), &ret->host_memory);
	ret->host = mor_usage_host();
}
