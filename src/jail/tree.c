/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kills all processes. We are the subreaper of everything the plugin starts: a process that loses its parent
 * becomes our child, in any session or group. So we kill our children, reap them, and look again, until
 * no child is left. Signals go by number, and only to children that we have not reaped: nobody else can have
 * such a number.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "jail/guard.h"

enum {
	PATIENCE_MS = 5000, /* a process that SIGKILL has not ended by then hangs in the kernel */
	LOOK_MS = 2         /* a child may become ours without any signal */
};

static int list = -1;

/* Does /proc show our own PID namespace? Otherwise its numbers mean nothing here. */
static bool proc_is_ours(void)
{
	char text[16] = "";
	pid_t pid = 0;

	if (readlink("/proc/self", text, sizeof(text) - 1) < 0)
		return false;
	for (const char *at = text; *at >= '0' && *at <= '9'; at++)
		pid = pid * 10 + (*at - '0');
	return pid == getpid();
}

int mor_subtree_open(void)
{
	if (!proc_is_ours())
		return -EXDEV;
	list = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
	return list < 0 ? -errno : 0;
}

/* The system call, because glibc's waitid() hides the rusage. */
int mor_wait_child(pid_t pid, int flags, struct mor_ended *ret)
{
	siginfo_t info = { 0 };
	long r;

	do
		r = syscall(SYS_waitid, pid < 0 ? P_ALL : P_PID, pid < 0 ? 0 : pid, &info, WEXITED | flags,
			    &ret->usage);
	while (r < 0 && errno == EINTR);
	if (r < 0)
		return -errno;
	ret->pid = info.si_pid;
	ret->status = info.si_status;
	ret->code = info.si_code;
	return info.si_pid ? 1 : 0;
}

/* An extra check: if this says yes, the number stays its own until we reap it. */
static bool is_ours(pid_t pid)
{
	struct mor_ended ended;

	return mor_wait_child(pid, WNOHANG | WNOWAIT, &ended) >= 0;
}

static void kill_children(void)
{
	char text[1024];
	pid_t pid = 0;
	ssize_t n;

	if (lseek(list, 0, SEEK_SET) < 0)
		return;
	while ((n = read(list, text, sizeof(text))) > 0) {
		for (ssize_t i = 0; i < n; i++) {
			if (text[i] >= '0' && text[i] <= '9') {
				pid = pid * 10 + (text[i] - '0');
				continue;
			}
			if (pid > 1 && is_ours(pid))
				kill(pid, SIGKILL);
			pid = 0;
		}
	}
}

/* The number of reaped children, or -ECHILD if no child is left. */
static int reap(pid_t main_pid, struct mor_ended *main_end)
{
	struct mor_ended ended = { 0 };
	int count = 0, r;

	while ((r = mor_wait_child(-1, WNOHANG, &ended)) > 0) {
		count++;
		if (main_end && ended.pid == main_pid)
			*main_end = ended;
	}
	return r < 0 ? r : count;
}

bool mor_subtree_kill(pid_t main_pid, struct mor_ended *main_end)
{
	struct timespec look = { .tv_nsec = LOOK_MS * 1000000 };
	int64_t due = mor_clock_ms() + PATIENCE_MS;
	sigset_t child;
	int r;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	for (;;) {
		kill_children();
		if ((r = reap(main_pid, main_end)) < 0)
			return r == -ECHILD;
		if (mor_clock_ms() >= due)
			return false;
		if (r == 0)
			sigtimedwait(&child, NULL, &look);
	}
}

void mor_subtree_signal(pid_t pid, int signal)
{
	if (kill(-pid, signal) < 0)
		kill(pid, signal);
	if (kill(-pid, SIGCONT) < 0)
		kill(pid, SIGCONT);
}
