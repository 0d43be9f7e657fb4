/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first process of a PID namespace, at levels guarded and t0 (at t1: within.c). It starts the plugin,
 * passes SIGTERM and SIGXCPU on, reaps orphans, and ends when the plugin has ended: then the kernel kills
 * everything left in the namespace. It is not the plugin itself, because the first process gets only signals
 * that it has a handler for.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "jail/confine.h"
#include "jail/guard.h"
#include "jail/view.h"

/* ---- our ids in the new user namespace: the same as before ---- */

static int write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), error = 0;

	if (fd < 0)
		return errno;
	if (write(fd, text, strlen(text)) < 0)
		error = errno;
	close(fd);
	return error;
}

/* "1000 1000 1" */
static void map_text(unsigned id, char out[64])
{
	struct mor_setup_failure text = { 0 };

	mor_setup_fail(&text, 0, 0, "%u %u 1", id, id);
	memcpy(out, text.text, 64);
}

int mor_users_map(uid_t uid, gid_t gid, struct mor_setup_failure *failure)
{
	char map[64];
	int error;

	map_text(uid, map);
	error = write_file("/proc/self/uid_map", map);
	if (error)
		return mor_setup_fail(failure, MOR_AT_NAMESPACE, error, "/proc/self/uid_map cannot be written");
	map_text(gid, map);
	error = write_file("/proc/self/setgroups", "deny");
	if (!error)
		error = write_file("/proc/self/gid_map", map);
	if (error)
		return mor_setup_fail(failure, MOR_AT_NAMESPACE, error, "/proc/self/gid_map cannot be written");
	return 0;
}

/* AppArmor can allow to make the namespace, and refuse everything in it: so a child tries all of it. */
bool mor_has_admin(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct have[_LINUX_CAPABILITY_U32S_3] = { 0 };

	return syscall(SYS_capget, &head, have) == 0 && have[0].effective & (1U << CAP_SYS_ADMIN);
}

bool mor_users_allowed(uid_t uid, gid_t gid)
{
	struct mor_setup_failure failure = { 0 };
	struct mor_ended ended = { 0 };
	pid_t pid = (pid_t)syscall(SYS_clone, (unsigned long)CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);

	if (pid == 0)
		_exit(mor_users_map(uid, gid, &failure) < 0 || unshare(CLONE_NEWPID) < 0);
	return pid > 0 && mor_wait_child(pid, 0, &ended) > 0 && ended.code == CLD_EXITED && ended.status == 0;
}

/* ---- set-up ---- */

int mor_tie_to_guardian(int channel, struct mor_setup_failure *failure)
{
	struct pollfd pfd = { .fd = channel };

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return mor_setup_fail(failure, MOR_AT_GUARD, errno, "PR_SET_PDEATHSIG refused");
	if (poll(&pfd, 1, 0) > 0 && (pfd.revents & POLLHUP))
		_exit(127);
	return 0;
}

/* ---- waiting ---- */

/* Reaps orphans, and at last the plugin. */
static bool plugin_ended(pid_t plugin, struct mor_launch *launch)
{
	struct mor_ended ended;

	while (mor_wait_child(-1, WNOHANG, &ended) > 0) {
		if (ended.pid != plugin)
			continue;
		launch->status = ended.status;
		launch->code = ended.code;
		launch->usage = ended.usage;
		launch->ended = true;
		return true;
	}
	return false;
}

static _Noreturn void wait_for_the_end(pid_t plugin, struct mor_launch *launch, const sigset_t *heard)
{
	while (!plugin_ended(plugin, launch)) {
		siginfo_t info;
		int signal = sigwaitinfo(heard, &info);

		if (signal == SIGTERM || signal == SIGXCPU)
			/* it is not reaped before we end: the number is its own */
			mor_subtree_signal(plugin, signal);
	}
	_exit(0);
}

_Noreturn void mor_init_main(struct mor_plan *plan, struct mor_launch *launch, int channel, uid_t uid,
			     gid_t gid, bool new_user)
{
	pid_t self = getpid(), plugin;
	sigset_t heard, before;

	sigemptyset(&heard);
	sigaddset(&heard, SIGTERM);
	sigaddset(&heard, SIGXCPU);
	sigaddset(&heard, SIGCHLD);
	if ((new_user && mor_users_map(uid, gid, &launch->failure) < 0) ||
	    mor_tie_to_guardian(channel, &launch->failure) < 0 || mor_view_enter(plan, &launch->failure) < 0)
		_exit(127);
	sigprocmask(SIG_BLOCK, &heard, &before);
	plugin = vfork();
	if (plugin == 0) {
		sigprocmask(SIG_SETMASK, &before, NULL);
		mor_launch_become(plan, channel, self, &launch->failure);
		_exit(127);
	}
	if (plugin < 0)
		mor_setup_fail(&launch->failure, MOR_AT_FORK, errno, "cannot start a process");
	if (plugin < 0 || launch->failure.step)
		_exit(127);
	launch->plugin = plugin;
	close(MOR_GUARD_FD);
	close(channel); /* the guardian takes this as the end of the launch */
	close_range(0, MOR_PLAN_FD, 0);
	wait_for_the_end(plugin, launch, &heard);
}
