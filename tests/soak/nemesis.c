/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signals to processes that the soak has started: the guardian, the proxy, the plugin behind it. They are found
 * by walking down from us in /proc and addressed by pidfd, so that a number that was used again hits nobody.
 */
#include <ctype.h>
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "soak.h"

#define MOST        4096
#define STOPPED_MAX 16

struct process {
	pid_t pid, parent;
	char state, name[32];
	int depth; /* below us: 1 is a child; 0: not ours */
};
static struct process list[MOST];
static size_t listed;

static struct {
	int fd;
	int64_t until; /* then it goes on; INT64_MAX: never by us */
} stopped[STOPPED_MAX];
static size_t stopped_count;

static bool read_stat(pid_t pid, struct process *ret)
{
	char path[64], text[512] = "", *end;
	FILE *file;
	size_t n = 0;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	file = fopen(path, "re");
	if (file) {
		n = fread(text, 1, sizeof(text) - 1, file);
		fclose(file);
	}
	end = n ? strrchr(text, ')') : NULL;
	*ret = (struct process){ .pid = pid };
	if (!end || sscanf(end + 1, " %c %d", &ret->state, &ret->parent) != 2)
		return false;
	*end = '\0';
	snprintf(ret->name, sizeof(ret->name), "%s", strchr(text, '(') + 1);
	return true;
}

static const struct process *find(pid_t pid)
{
	for (size_t i = 0; i < listed; i++)
		if (list[i].pid == pid)
			return &list[i];
	return NULL;
}

static int depth_of(const struct process *process)
{
	int depth = 0;

	for (; process; process = find(process->parent)) {
		depth++;
		if (process->parent == getpid())
			return depth;
	}
	return 0;
}

static void look(void)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	size_t ours = 0;

	listed = 0;
	while (dir && (entry = readdir(dir)) && listed < MOST)
		if (isdigit((unsigned char)entry->d_name[0]) &&
		    read_stat((pid_t)strtol(entry->d_name, NULL, 10), &list[listed]))
			listed++;
	if (dir)
		closedir(dir);
	for (size_t i = 0; i < listed; i++)
		list[i].depth = depth_of(&list[i]);
	for (size_t i = 0; i < listed; i++)
		if (list[i].depth)
			list[ours++] = list[i];
	listed = ours;
}

unsigned descendants(bool tell)
{
	unsigned living = 0;

	look();
	for (size_t i = 0; i < listed; i++) {
		if (list[i].state == 'Z')
			continue;
		living++;
		if (tell)
			fault(NULL, "process %d (%s, child of %d, state %c) is left", (int)list[i].pid,
			      list[i].name, (int)list[i].parent, list[i].state);
	}
	return living;
}

/* -1 where it has ended meanwhile, or is another by now. */
static int open_process(const struct process *process)
{
	int fd = pidfd_open(process->pid, 0);
	struct process again;

	if (fd >= 0 && read_stat(process->pid, &again) && again.parent == process->parent &&
	    strcmp(again.name, process->name) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

static void wake(size_t i)
{
	pidfd_send_signal(stopped[i].fd, SIGCONT, NULL, 0);
	close(stopped[i].fd);
	stopped[i] = stopped[--stopped_count];
}

/* A guardian is not stopped: it is a part of the host, and nobody stands in for it while it sleeps. Most go on
 * after a moment; the others are for the host to find out. */
static void stop(const struct process *process, int64_t now)
{
	int fd = open_process(process);

	if (fd < 0)
		return;
	if (pidfd_send_signal(fd, SIGSTOP, NULL, 0) < 0) {
		close(fd);
		return;
	}
	soak.stops++;
	stopped[stopped_count].fd = fd;
	stopped[stopped_count++].until = now + (int64_t)(pick(4) ? pick(1500) : 60000);
}

static void kill_one(const struct process *process)
{
	int fd = open_process(process);

	if (fd >= 0 && pidfd_send_signal(fd, SIGKILL, NULL, 0) == 0)
		soak.kills++;
	if (fd >= 0)
		close(fd);
}

void nemesis_strike(int64_t now)
{
	const struct process *process;

	for (size_t i = stopped_count; i-- > 0;)
		if (now >= stopped[i].until)
			wake(i);
	look();
	if (!listed)
		return;
	process = &list[pick(listed)];
	if (process->state == 'Z')
		return;
	if (process->depth > 1 && stopped_count < STOPPED_MAX && pick(2))
		stop(process, now);
	else
		kill_one(process);
}

void nemesis_end(void)
{
	while (stopped_count)
		wake(stopped_count - 1);
}
