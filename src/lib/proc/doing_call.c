/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The system call in which a thread sleeps. /proc/PID/task/TID/syscall has its number and arguments, for
 * processes that we may trace. Where we may not, the name of the kernel's function (wchan) still tells most.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "proc/doing_inside.h"

#define POLLED 64 /* descriptors looked at in one poll */

enum waits_by { BY_READ, BY_WRITE, BY_POLL, BY_SELECT, BY_EPOLL, BY_SLEEP, BY_LOCK, BY_CHILD };

/* Newer architectures have only the later of two calls. */
static const struct {
	long number;
	enum waits_by by;
} calls[] = {
	{ SYS_read, BY_READ },          { SYS_readv, BY_READ },      { SYS_recvfrom, BY_READ },
	{ SYS_recvmsg, BY_READ },       { SYS_splice, BY_READ },     { SYS_write, BY_WRITE },
	{ SYS_writev, BY_WRITE },       { SYS_sendto, BY_WRITE },    { SYS_sendmsg, BY_WRITE },
	{ SYS_ppoll, BY_POLL },         { SYS_pselect6, BY_SELECT }, { SYS_epoll_pwait, BY_EPOLL },
	{ SYS_epoll_pwait2, BY_EPOLL }, { SYS_nanosleep, BY_SLEEP }, { SYS_clock_nanosleep, BY_SLEEP },
	{ SYS_futex, BY_LOCK },         { SYS_wait4, BY_CHILD },     { SYS_waitid, BY_CHILD },
#ifdef SYS_poll
	{ SYS_poll, BY_POLL },          { SYS_select, BY_SELECT },   { SYS_epoll_wait, BY_EPOLL },
	{ SYS_pause, BY_SLEEP },
#endif
};

/* ---- descriptors ---- */

static bool shown_fd(int pid, int fd, char out[64])
{
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, fd);
	n = readlink(path, out, 63);
	out[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/* The same pipe or file as its stdin: a thread may read a copy of it. */
static bool is_stdin(int pid, int fd)
{
	char link[64], own[64];

	return fd == 0 ||
	       (fd > 2 && shown_fd(pid, fd, link) && shown_fd(pid, 0, own) && strcmp(link, own) == 0);
}

static void reads_from(int pid, int fd, struct mor_doing *ret)
{
	shown_fd(pid, fd, ret->target);
	ret->what = is_stdin(pid, fd) ? MOR_DOING_READS : MOR_DOING_WAITS;
	ret->fd = is_stdin(pid, fd) ? 0 : -1;
}

/* ---- several descriptors ---- */

static size_t peek_memory(int pid, unsigned long from, void *to, size_t size)
{
	struct iovec here = { to, size }, there = { (void *)from, size }; // NOLINT(performance-no-int-to-ptr)
	ssize_t n = process_vm_readv(pid, &here, 1, &there, 1, 0);

	return n > 0 ? (size_t)n : 0;
}

static void polls(int pid, const unsigned long *arg, struct mor_doing *ret)
{
	struct pollfd fds[POLLED];
	size_t count = arg[1] < POLLED ? arg[1] : POLLED;

	ret->what = count ? MOR_DOING_WAITS : MOR_DOING_SLEEPS;
	ret->events = count > 1;
	count = peek_memory(pid, arg[0], fds, count * sizeof(*fds)) / sizeof(*fds);
	for (size_t i = 0; i < count && ret->what != MOR_DOING_READS; i++)
		if (fds[i].fd >= 0 && (fds[i].events & POLLIN))
			reads_from(pid, fds[i].fd, ret);
}

/* Only the first descriptors: stdin is 0, and copies of it are low. */
static void selects(int pid, const unsigned long *arg, struct mor_doing *ret)
{
	unsigned char set[8] = { 0 };
	size_t count = arg[0] < 64 ? arg[0] : 64;

	ret->what = arg[1] ? MOR_DOING_WAITS : MOR_DOING_SLEEPS;
	if (!arg[1] || !peek_memory(pid, arg[1], set, sizeof(set)))
		return;
	for (size_t fd = 0; fd < count && ret->what != MOR_DOING_READS; fd++)
		if (set[fd / 8] & 1U << fd % 8)
			reads_from(pid, (int)fd, ret);
}

/* fdinfo of an epoll descriptor has a line for each that it watches: "tfd:        0 events:       19 …". */
static void waits_in_epoll(int pid, int epoll, struct mor_doing *ret)
{
	char path[64], text[4096];

	ret->what = MOR_DOING_WAITS;
	ret->events = true;
	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", pid, epoll);
	if (!mor_doing_read(path, text, sizeof(text)))
		return;
	for (const char *at = strstr(text, "tfd:"); at; at = strstr(at + 4, "tfd:")) {
		int fd = (int)strtol(at + 4, NULL, 10);

		if (!is_stdin(pid, fd))
			continue;
		reads_from(pid, fd, ret);
		return;
	}
}

/* ---- the call ---- */

static void wait_by(enum waits_by by, int pid, const unsigned long *arg, struct mor_doing *ret)
{
	switch (by) {
	case BY_READ:
		reads_from(pid, (int)arg[0], ret);
		break;
	case BY_WRITE:
		ret->what = MOR_DOING_WRITES;
		ret->fd = (int)arg[0];
		shown_fd(pid, ret->fd, ret->target);
		break;
	case BY_POLL:
		polls(pid, arg, ret);
		break;
	case BY_SELECT:
		selects(pid, arg, ret);
		break;
	case BY_EPOLL:
		waits_in_epoll(pid, (int)arg[0], ret);
		break;
	case BY_SLEEP:
		ret->what = MOR_DOING_SLEEPS;
		break;
	case BY_LOCK:
		ret->what = MOR_DOING_LOCKED;
		break;
	case BY_CHILD:
		ret->what = MOR_DOING_WAITS_CHILD;
		break;
	}
}

/* The kernel's names of the places where a thread sleeps. */
void mor_doing_place(const char *place, struct mor_doing *ret)
{
	static const struct {
		const char *has;
		enum mor_doing_what what;
		int fd;
	} places[] = {
		{ "pipe_read", MOR_DOING_READS, 0 },      { "pipe_write", MOR_DOING_WRITES, -1 },
		{ "nanosleep", MOR_DOING_SLEEPS, -1 },    { "futex", MOR_DOING_LOCKED, -1 },
		{ "do_wait", MOR_DOING_WAITS_CHILD, -1 }, { "poll", MOR_DOING_WAITS, -1 },
		{ "select", MOR_DOING_WAITS, -1 },
	};

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		if (!strstr(place, places[i].has))
			continue;
		ret->what = places[i].what;
		ret->fd = places[i].fd;
		return;
	}
}

void mor_doing_call(int pid, int tid, struct mor_doing *ret)
{
	char path[64], text[256];
	unsigned long arg[2] = { 0 };
	long number = -1;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", pid, tid);
	if (mor_doing_read(path, text, sizeof(text)) &&
	    sscanf(text, "%ld %lx %lx", &number, &arg[0], &arg[1]) == 3) {
		ret->what = MOR_DOING_WAITS;
		for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
			if (calls[i].number == number)
				wait_by(calls[i].by, pid, arg, ret);
		return;
	}
	snprintf(path, sizeof(path), "/proc/%d/task/%d/wchan", pid, tid);
	if (mor_doing_read(path, text, sizeof(text)))
		mor_doing_place(text, ret);
}
