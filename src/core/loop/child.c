/* SPDX-License-Identifier: Apache-2.0 */
/* Exits of children: one pidfd each, no SIGCHLD handler, no wait for "any child". */
#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/trace.h"
#include "loop/loop.h"

/* Debian 12's headers do not have these. */
#ifndef P_PIDFD
#define P_PIDFD 3
#endif
#ifndef PIDFD_SIGNAL_PROCESS_GROUP
#define PIDFD_SIGNAL_PROCESS_GROUP (1u << 2)
#endif

/* The system call, because glibc's waitid() hides the rusage. */
static int wait_pidfd(int pidfd, siginfo_t *info, int flags, struct rusage *usage)
{
	long r;

	memset(info, 0, sizeof(*info));
	do
		r = syscall(SYS_waitid, P_PIDFD, pidfd, info, WEXITED | flags, usage);
	while (r < 0 && errno == EINTR);
	return r < 0 ? -errno : 0;
}

/* Is it still our child, running or a zombie? Then no other process can have its number. */
static bool is_ours(const struct mor_child *child)
{
	siginfo_t info;

	return wait_pidfd(child->pidfd, &info, WNOHANG | WNOWAIT, NULL) == 0;
}

static uint64_t micros(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * 1000000 + (uint64_t)time->tv_usec;
}

/* The end of a child, with or without waiting. false: it still runs. */
static bool reap_child(struct mor_child *child, int flags, struct mor_child_exit *ret)
{
	struct mor_child_exit how = { 0 };
	struct rusage usage = { 0 };
	siginfo_t info;
	int r = wait_pidfd(child->pidfd, &info, flags, &usage);

	if (r == 0 && info.si_pid == 0)
		return false;
	/* Any failure is ECHILD: if SIGCHLD is ignored, there are no zombies and no status. */
	how.known = r == 0;
	if (how.known) {
		how.status = info.si_status;
		how.by_signal = info.si_code != CLD_EXITED;
		how.core = info.si_code == CLD_DUMPED;
		how.cpu_us = micros(&usage.ru_utime) + micros(&usage.ru_stime);
	}
	mor_trace(MOR_TRACE_PROC, "pid %d ended: known %d status %d signal %d", child->pid, how.known,
		  how.status, how.by_signal);
	*ret = how;
	return true;
}

static void on_pidfd(struct mor_watch *watch, unsigned events)
{
	struct mor_child *child = mor_container_of(watch, struct mor_child, watch);
	struct mor_child_exit how;
	siginfo_t info;

	(void)events;
	if (wait_pidfd(child->pidfd, &info, WNOHANG | WNOWAIT, NULL) == 0 && info.si_pid == 0)
		return; /* it runs: nothing to kill, nothing to reap */
	if (child->leads_group)
		mor_child_signal_group(child, SIGKILL);
	if (!reap_child(child, WNOHANG, &how))
		return;
	mor_child_stop(child);
	child->fn(child, &how);
}

static void on_gone(struct mor_task *task)
{
	struct mor_child *child = mor_container_of(task, struct mor_child, gone);
	struct mor_child_exit how = { .known = false };

	mor_child_stop(child);
	child->fn(child, &how);
}

int mor_child_watch(struct mor_loop *loop, struct mor_child *child, int pid, mor_child_fn *fn)
{
	int r;

	assert(pid > 1 && !child->watch.loop && !child->gone.queued);
	child->fn = fn;
	child->pid = pid;
	child->pidfd = (int)syscall(SYS_pidfd_open, pid, 0); /* it is close-on-exec by default */
	if (child->pidfd < 0 && errno != ESRCH)
		return MORTISE_ESYSTEM;
	/* If SIGCHLD is ignored, it may be gone by now, and its number may belong to another process. */
	if (child->pidfd < 0 || !is_ours(child)) {
		mor_fd_close(&child->pidfd);
		mor_loop_post(loop, &child->gone, on_gone);
		return 0;
	}
	if ((r = mor_watch_start(loop, &child->watch, child->pidfd, MOR_READABLE, on_pidfd)) < 0)
		mor_fd_close(&child->pidfd);
	return r;
}

void mor_child_stop(struct mor_child *child)
{
	mor_task_stop(&child->gone);
	if (!child->watch.loop) /* a zeroed struct has descriptor 0, which is not ours */
		return;
	mor_watch_stop(&child->watch);
	mor_fd_close(&child->pidfd);
}

int mor_child_signal(struct mor_child *child, int signal)
{
	if (!child->watch.loop)
		return -ESRCH;
	return syscall(SYS_pidfd_send_signal, child->pidfd, signal, NULL, 0) < 0 ? -errno : 0;
}

int mor_child_signal_group(struct mor_child *child, int signal)
{
	if (!child->watch.loop)
		return -ESRCH;
	assert(child->pid > 1 && child->leads_group);
	if (syscall(SYS_pidfd_send_signal, child->pidfd, signal, NULL, PIDFD_SIGNAL_PROCESS_GROUP) == 0)
		return 0;
	if (errno != EINVAL)
		return -errno;
	if (!is_ours(child))
		return -ESRCH;
	return kill(-child->pid, signal) < 0 ? -errno : 0;
}

void mor_child_reap(struct mor_child *child, struct mor_child_exit *ret)
{
	struct mor_child_exit how = { .known = false };

	if (child->watch.loop)
		reap_child(child, 0, &how);
	mor_child_stop(child);
	if (ret)
		*ret = how;
}
