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
int64_t mor_usage_process(pid_t pid)
{
	struct timespec time;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &time) < 0)
		return 0;
	return time.tv_sec * SECOND + time.tv_nsec;
}

/* "NAME:   123" */
static int64_t number_of(const char *text, const char *name)
{
	const char *at = text ? strstr(text, name) : NULL;

	return at ? strtoll(at + strlen(name), NULL, 10) : 0;
}

/* schedstat: processor time, delay, and a count. */
static bool read_thread(pid_t pid, pid_t id, struct mor_usage_thread *ret)
{
	MOR_CLEAN_TEXT char *times = NULL, *status = NULL;
	char name[64];
	long long cpu, delay;
	int64_t slept;

	snprintf(name, sizeof(name), "task/%d/schedstat", (int)id);
	times = read_of(pid, name);
	if (!times || sscanf(times, "%lld %lld", &cpu, &delay) != 2)
		return false;
	snprintf(name, sizeof(name), "task/%d/status", (int)id);
	status = read_of(pid, name);
	slept = number_of(status, "\nvoluntary_ctxt_switches:");
	*ret = (struct mor_usage_thread){ .id = id, .cpu = cpu, .delay = delay };
	ret->preempted = number_of(status, "\nnonvoluntary_ctxt_switches:");
	ret->switches = slept + ret->preempted;
	return true;
}

static void add_threads(pid_t pid, struct mor_usage *usage)
{
	char path[64];
	DIR *dir;
	struct dirent *entry;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir)) && usage->threads_count < MOR_USAGE_THREADS) {
		pid_t id = (pid_t)strtol(entry->d_name, NULL, 10);

		if (id > 0 && read_thread(pid, id, &usage->threads[usage->threads_count]))
			usage->threads_count++;
	}
	if (dir)
		closedir(dir);
}

int64_t mor_usage_host_delay(void)
{
	struct mor_usage_thread ours = { 0 };

	return read_thread(getpid(), getpid(), &ours) ? ours.delay : 0;
}

/* A thread that was not there before has done all of it since. */
static struct mor_usage_thread used_since(const struct mor_usage *before, struct mor_usage_thread thread)
{
	for (size_t i = 0; i < before->threads_count; i++) {
		const struct mor_usage_thread *then = &before->threads[i];

		if (then->id != thread.id)
			continue;
		thread.cpu -= then->cpu;
		thread.delay -= then->delay;
		thread.switches -= then->switches;
		thread.preempted -= then->preempted;
	}
	return thread;
}

struct mor_usage_thread mor_usage_busiest(const struct mor_usage *before, const struct mor_usage *after)
{
	struct mor_usage_thread best = { 0 };

	for (size_t i = 0; i < after->threads_count; i++) {
		struct mor_usage_thread thread = used_since(before, after->threads[i]);

		if (!best.id || thread.cpu > best.cpu)
			best = thread;
	}
	return best;
}

int64_t mor_usage_preempted(const struct mor_usage_thread *thread, uint64_t calls)
{
	int64_t each = thread->preempted / (int64_t)calls;

	if (each <= 0 || thread->switches <= 0)
		return 0;
	return (int64_t)((double)thread->delay * (double)(each * (int64_t)calls) / (double)thread->switches);
}

/* "NAME:   123 kB" */
static uint64_t kilobytes(const char *text, const char *name)
{
	return (uint64_t)number_of(text, name) * 1024;
}

static void add_memory(pid_t pid, struct mor_usage_memory *sum)
{
	MOR_CLEAN_TEXT char *status = read_of(pid, "status");
	MOR_CLEAN_TEXT char *rollup = read_of(pid, "smaps_rollup");
	uint64_t peak = kilobytes(status, "\nVmHWM:");

	if (!peak) /* it is ending */
		return;
	sum->processes++;
	sum->rss_peak += peak;
	sum->pss += kilobytes(rollup, "\nPss:");
}

void mor_usage_memory_join(struct mor_usage_memory *sum, const struct mor_usage_memory *other)
{
	if (other->processes > sum->processes)
		sum->processes = other->processes;
	if (other->rss_peak > sum->rss_peak)
		sum->rss_peak = other->rss_peak;
	if (other->pss > sum->pss)
		sum->pss = other->pss;
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
		usage->guardian += mor_usage_process(process->pid);
		usage->plugin += process->waited;
		add_memory(process->pid, &usage->guardian_memory);
	} else if (process->part == PLUGIN) {
		usage->plugin += mor_usage_process(process->pid) + process->waited;
		add_threads(process->pid, usage);
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
	ret->host_delay = mor_usage_host_delay();
	ret->host = mor_usage_host();
}
