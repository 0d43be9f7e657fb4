/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The launch at level t1. There is a conflict: a process that makes mounts must not be under Landlock, but a
 * guardian under Landlock can look only into processes under its own domain. So the first process of the new
 * namespaces, the keeper, makes the tree without Landlock. Then the guardian locks itself. Only then it
 * forks the launcher, which inherits the lock and joins the keeper's namespaces.
 *
 * The plugin is the guardian's own child. The keeper reaps its orphans, and when the keeper ends, the kernel
 * kills everything in the namespace.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "jail/confine.h"
#include "jail/group.h"
#include "jail/guard.h"

/* The user namespace first: it gives the right to join the others. */
static const struct {
	const char *name;
	unsigned flag;
} kinds[] = {
	{ "user", CLONE_NEWUSER }, { "mnt", CLONE_NEWNS },  { "pid", CLONE_NEWPID },
	{ "ipc", CLONE_NEWIPC },   { "uts", CLONE_NEWUTS }, { "net", CLONE_NEWNET },
};
enum { KINDS = sizeof(kinds) / sizeof(*kinds) };

struct within {
	struct mor_plan *plan;
	struct mor_launch *launch;
	unsigned namespaces;
	uid_t uid;
	gid_t gid;
	pid_t keeper, plugin;
	bool locked;    /* the guardian is */
	int talk[2];    /* between guardian and keeper  */
	int channel[2]; /* between guardian and launcher */
	int spaces[KINDS], proc, shm;
};

static int refuse_within(struct within *within, int error, const char *what)
{
	return mor_setup_fail(&within->launch->failure, MOR_AT_NAMESPACE, error, "level t1: %s", what);
}

/* ---- the keeper ---- */

static _Noreturn void reap_orphans(void)
{
	struct mor_ended ended;
	siginfo_t info;
	sigset_t child;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	for (;;) {
		while (mor_wait_child(-1, WNOHANG, &ended) > 0)
			;
		sigwaitinfo(&child, &info);
	}
}

/* Stays beside the plugin, with no open descriptors, and closed to everybody. */
static _Noreturn void keep_company(struct within *within)
{
	struct mor_setup_failure *failure = &within->launch->failure;
	int talk = within->talk[1];
	sigset_t child;
	char byte = 0;

	mor_fd_close(&within->talk[0]);
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	if (mor_users_map(within->uid, within->gid, failure) < 0 || mor_tie_to_guardian(talk, failure) < 0 ||
	    mor_confine_init(within->plan, failure) < 0 || stat(".", &within->launch->root) < 0)
		_exit(127);
	/* The plugin may start while the last step makes us wait. By then we hold nothing useful for it, and
	 * we are closed to all except those who already have a handle. */
	if (talk > 0)
		syscall(SYS_close_range, 0, talk - 1, 0);
	syscall(SYS_close_range, talk + 1, ~0U, 0);
	if (write(talk, &byte, 1) != 1 || read(talk, &byte, 1) != 1 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ||
	    mor_confine_leave(failure) < 0)
		_exit(127);
	send(talk, &byte, 1, MSG_NOSIGNAL); /* perhaps nobody waits for it any more */
	close(talk);
	reap_orphans();
}

/* The keeper's messages: first that the tree is made, then that the host's tree is gone from it. */
static int hear_keeper(struct within *within)
{
	struct mor_ended ended;
	ssize_t n;
	char byte;

	do
		n = read(within->talk[0], &byte, 1);
	while (n < 0 && errno == EINTR);
	if (n == 1)
		return 0;
	kill(within->keeper, SIGKILL); /* one that lives waits for a word of ours */
	mor_wait_child(within->keeper, 0, &ended);
	within->keeper = 0;
	return within->launch->failure.step ?
		       -1 :
		       refuse_within(within, EIO, "the first process of the new namespaces was killed");
}

static int start_keeper(struct within *within)
{
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, within->talk) < 0)
		return refuse_within(within, errno, "no socket to be had");
	within->keeper = (pid_t)syscall(SYS_clone, (unsigned long)within->namespaces | SIGCHLD, 0, 0, 0, 0);
	if (within->keeper == 0)
		keep_company(within);
	if (within->keeper < 0)
		return mor_confine_refused(within->namespaces, errno, &within->launch->failure);
	mor_fd_close(&within->talk[1]);
	return hear_keeper(within);
}

/* ---- joining it ---- */

/* Only a directory of the new tree's own file system. If somebody asked for /dev, it is the machine's, and no
 * lock of ours may open that for writing. */
static void hold_shm(struct within *within)
{
	struct stat st;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/root/dev/shm", (int)within->keeper);
	within->shm = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (within->shm >= 0 && (fstat(within->shm, &st) < 0 || st.st_dev != within->launch->root.st_dev))
		mor_fd_close(&within->shm);
}

static int take_hold(struct within *within)
{
	char path[64];

	for (int i = 0; i < KINDS; i++) {
		if (!(within->namespaces & kinds[i].flag))
			continue;
		snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)within->keeper, kinds[i].name);
		within->spaces[i] = open(path, O_RDONLY | O_CLOEXEC);
		if (within->spaces[i] < 0)
			return refuse_within(within, errno, "/proc does not show the new namespaces");
	}
	snprintf(path, sizeof(path), "/proc/%d/root/proc", (int)within->keeper);
	within->proc = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (within->proc < 0)
		return refuse_within(within, errno, "/proc does not show the new tree");
	hold_shm(within);
	if (mor_confine_take_scratch(within->plan, within->keeper) < 0)
		return refuse_within(within, errno, "/proc does not show what was made in the new tree");
	/* If it has died meanwhile, that is seen when its word is waited for, or nobody can join. */
	if (send(within->talk[0], "", 1, MSG_NOSIGNAL) < 0 && errno != EPIPE && errno != ECONNRESET)
		return refuse_within(within, errno,
				     "the first process of the new namespaces cannot be told to go on");
	return 0;
}

/* Is the host's tree out of reach from the new one? From /proc, ".." leads to what lies on top at the root. */
static bool is_alone(const struct within *within)
{
	const struct stat *root = &within->launch->root;
	struct stat top;

	return fstatat(within->proc, "..", &top, 0) == 0 && top.st_dev == root->st_dev &&
	       top.st_ino == root->st_ino;
}

/* Nobody may join before: that process would be in the host's tree. The kernel removes that tree long before
 * it lets the keeper go on. */
static int wait_until_alone(struct within *within)
{
	if (is_alone(within))
		return 0;
	if (hear_keeper(within) < 0)
		return -1;
	return is_alone(within) ? 0 : refuse_within(within, EBUSY, "the host's tree does not go away");
}

/* A process cannot move into a PID namespace, only its children can be there. So one process joins, and its
 * child is made a child of the guardian, its sibling. */
static _Noreturn void join_namespaces(struct within *within)
{
	for (int i = 0; i < KINDS; i++) {
		if (within->spaces[i] >= 0 && setns(within->spaces[i], (int)kinds[i].flag) < 0) {
			refuse_within(within, errno, "the kernel refuses to join the new namespaces (setns)");
			_exit(127);
		}
	}
	within->plugin = mor_groups_clone(CLONE_PARENT);
	if (within->plugin == 0) {
		mor_fd_close(&within->channel[0]);
		mor_launch_become(within->plan, within->channel[1], 0, &within->launch->failure);
		_exit(127);
	}
	if (within->plugin < 0)
		mor_setup_fail(&within->launch->failure, MOR_AT_FORK, errno, "cannot start a process");
	_exit(127);
}

static int start_plugin(struct within *within)
{
	struct mor_ended ended;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, within->channel) < 0)
		return mor_setup_fail(&within->launch->failure, MOR_AT_FORK, errno, "cannot make a socket");
	within->plugin = -1;
	pid = vfork();
	if (pid == 0)
		join_namespaces(within);
	if (pid < 0)
		return mor_setup_fail(&within->launch->failure, MOR_AT_FORK, errno, "cannot start a process");
	mor_wait_child(pid, 0, &ended);
	mor_fd_close(&within->channel[1]);
	return within->plugin < 0 ? -1 : 0;
}

static void let_go(struct within *within)
{
	for (int i = 0; i < KINDS; i++)
		mor_fd_close(&within->spaces[i]);
	for (int i = 0; i < 2; i++)
		mor_fd_close(&within->talk[i]);
	mor_fd_close(&within->proc);
	mor_fd_close(&within->shm);
}

/* A failure leaves no process behind: another level may be tried. But not after the lock: it cannot be undone,
 * and a second one inside of it would leave nothing open. Then the failure is final. */
static void dismiss(struct within *within)
{
	struct mor_setup_failure *failure = &within->launch->failure;
	struct mor_ended ended;

	if (within->locked && failure->step == MOR_AT_NAMESPACE)
		failure->step = MOR_AT_CONFINE;

	if (within->keeper > 0 && kill(within->keeper, SIGKILL) == 0)
		mor_wait_child(within->keeper, 0, &ended);
	mor_fd_close(&within->channel[0]);
	mor_fd_close(&within->channel[1]);
}

int mor_launch_within(struct mor_plan *plan, unsigned namespaces, struct mor_launched *ret)
{
	struct within within = {
		.plan = plan,
		.launch = ret->launch,
		.namespaces = namespaces,
		.uid = geteuid(),
		.gid = getegid(),
		.talk = { -1, -1 },
		.channel = { -1, -1 },
		.proc = -1,
		.shm = -1,
	};
	int status;

	for (int i = 0; i < KINDS; i++)
		within.spaces[i] = -1;
	status = mor_confine_hold(&ret->launch->failure);
	if (status == 0)
		status = start_keeper(&within);
	if (status == 0)
		status = take_hold(&within);
	if (status == 0)
		status = mor_confine_forge(plan, within.proc, within.shm, &ret->launch->failure);
	if (status == 0)
		status = wait_until_alone(&within);
	if (status == 0)
		status = mor_confine_lock(plan, &ret->launch->failure);
	within.locked = status == 0;
	mor_fd_close(&within.talk[0]);
	if (status == 0)
		status = start_plugin(&within);
	let_go(&within);
	if (status < 0) {
		dismiss(&within);
		return -1;
	}
	ret->pid = within.plugin;
	ret->keeper = within.keeper;
	ret->channel = within.channel[0];
	ret->rung = MOR_TREE_PIDNS;
	return 0;
}
