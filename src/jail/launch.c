/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The launcher: from the guardian to the plugin's execve.
 *
 * Guarded, it is a vfork: the guardian sleeps until the execve has succeeded or failed, and reads the
 * failure from shared memory. No page is copied and no pipe is made. Confined, the guardian must be awake to
 * answer the filter's questions while the launcher executes. So it is a fork with a channel: the listener
 * comes over it, and its end means that the execve is done. With a PID namespace the child is that
 * namespace's init (init.c). Level t1: within.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "jail/checked.h"
#include "jail/confine.h"
#include "jail/group.h"
#include "jail/guard.h"
#include "jail/view.h"
#include "policy/policy.h"

#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC (1U << 2)
#endif

/* ---- the child, until execve ---- */

static bool group_counts_time(const struct mor_plan *plan)
{
	for (const struct mor_plan_op *op = NULL; (op = mor_plan_next(plan, MOR_OP_GROUP, op));)
		if (((const struct mor_op_group *)mor_plan_payload(op))->cpu_s)
			return true;
	return false;
}

static int set_limits(const struct mor_plan *plan, struct mor_setup_failure *failure)
{
	for (const struct mor_plan_op *op = NULL; (op = mor_plan_next(plan, MOR_OP_LIMIT, op));) {
		const struct mor_op_limit *wanted = mor_plan_payload(op);
		/* Where a control group counts the time of all processes, the guardian ends them together at
		 * the limit. One that its own limit ended a moment before would leave the others, and nobody
		 * would be told. */
		uint64_t value = wanted->value + (wanted->resource == RLIMIT_CPU && group_counts_time(plan));
		struct rlimit limit;
		rlim_t hard;

		if (getrlimit((int)wanted->resource, &limit) < 0)
			return mor_setup_fail(failure, MOR_AT_LIMIT, errno, "no such limit: %u",
					      wanted->resource);
		/* Never more than our own limit: that would be refused. For processor time the hard limit is
		 * one second more, for programs that catch SIGXCPU: SIGKILL exactly at the limit would not
		 * show the reason. */
		hard = value + (wanted->resource == RLIMIT_CPU);
		if (limit.rlim_max > hard)
			limit.rlim_max = hard;
		limit.rlim_cur = limit.rlim_max > value ? value : limit.rlim_max;
		if (setrlimit((int)wanted->resource, &limit) < 0)
			return mor_setup_fail(failure, MOR_AT_LIMIT, errno, "limit %u refused",
					      wanted->resource);
	}
	return 0;
}

/* We must die with the process that forked us. It may have died before this call: so we check again. */
static int tie_to_parent(pid_t parent, int channel, struct mor_setup_failure *failure)
{
	if (!parent)
		return mor_tie_to_guardian(channel, failure);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return mor_setup_fail(failure, MOR_AT_GUARD, errno, "PR_SET_PDEATHSIG refused");
	if (getppid() != parent)
		_exit(127);
	return 0;
}

/* glibc's posix_spawn, which has started us, leaves its own two signals ignored. The program has them as it
 * would have outside. By the kernel's own call: the C library refuses these numbers. */
static void reset_own_signals(void)
{
	static const struct {
		void (*handler)(int);
		unsigned long none[3];
	} normal = { .handler = SIG_DFL };

	for (int number = 32; number <= 33; number++)
		syscall(SYS_rt_sigaction, number, &normal, NULL, 8);
}

static bool leads_session; /* the guardian */

/* Guarded, a separate group is enough: a session is also a scheduling group (autogroup), which costs every
 * round trip 6 % (3.54 against 3.76 us, medians of 14), and processes are not found by their group.
 * Confined, the terminal of the host must be out of reach. The session is the guardian's, because questions
 * to it should not cross between two scheduling groups either (0.3 us of 6). */
static int stand_alone(const struct mor_plan *plan, struct mor_setup_failure *failure)
{
	bool confined = plan->level.level != MOR_LEVEL_GUARDED;

	if (confined && !leads_session ? setsid() < 0 : setpgid(0, 0) < 0)
		return mor_setup_fail(failure, MOR_AT_GUARD, errno, "no process group of its own");
	return 0;
}

void mor_launch_become(const struct mor_plan *plan, int channel, pid_t parent,
		       struct mor_setup_failure *failure)
{
	int r, program;

	if (tie_to_parent(parent, channel, failure) < 0 || stand_alone(plan, failure) < 0)
		return;
	reset_own_signals();
	if (plan->cwd && chdir(plan->cwd) < 0) {
		mor_setup_fail(failure, MOR_AT_CWD, errno, "%s", plan->cwd);
		return;
	}
	if (set_limits(plan, failure) < 0)
		return;
	if ((r = mor_groups_join()) < 0) {
		mor_setup_fail(failure, MOR_AT_LIMIT, -r, "the kernel refuses to enter the new control group");
		return;
	}
	/* All descriptors, ours and those that an embedder left open: execve closes them. */
	if (syscall(SYS_close_range, 3, ~0U, CLOSE_RANGE_CLOEXEC) < 0) {
		mor_setup_fail(failure, MOR_AT_GUARD, errno, "close_range refused");
		return;
	}
	program = mor_checked_open(plan);
	if (program < -1) {
		mor_setup_fail(failure, MOR_AT_CHANGED, ESTALE, "%s", plan->argv[0]);
		return;
	}
	if (plan->level.level != MOR_LEVEL_GUARDED && mor_confine_enter(plan, channel, failure) < 0)
		return;
	if (program >= 0)
		mor_checked_execute(program, plan);
	else
		execve(plan->argv[0], plan->argv, plan->env);
	mor_setup_fail(failure, MOR_AT_EXEC, errno, "%s", plan->argv[0]);
}

/* ---- the guardian's side ---- */

static int launch_sharing(const struct mor_plan *plan, struct mor_launched *ret)
{
	static struct mor_launch launch;
	pid_t self = getpid(), pid;

	ret->launch = &launch;
	pid = vfork();
	if (pid == 0) {
		mor_launch_become(plan, -1, self, &launch.failure);
		_exit(127);
	}
	if (pid < 0)
		return mor_setup_fail(&launch.failure, MOR_AT_FORK, errno, "cannot start a process");
	ret->pid = pid;
	ret->rung = MOR_TREE_SUBREAPER;
	return launch.failure.step ? -1 : 0;
}

struct apart {
	struct mor_plan *plan;
	struct mor_launch *launch;
	int ends[2];
	pid_t self;
	uid_t uid;
	gid_t gid;
};

/* The child of our own clone; it never returns. */
static _Noreturn void be_child(struct apart *apart, unsigned namespaces)
{
	struct mor_setup_failure *failure = &apart->launch->failure;

	close(apart->ends[0]);
	if (namespaces & CLONE_NEWPID)
		mor_init_main(apart->plan, apart->launch, apart->ends[1], apart->uid, apart->gid,
			      namespaces & CLONE_NEWUSER);
	if (namespaces & CLONE_NEWUSER &&
	    (mor_users_map(apart->uid, apart->gid, failure) < 0 || mor_view_enter(apart->plan, failure) < 0))
		_exit(127);
	mor_launch_become(apart->plan, apart->ends[1], apart->self, &apart->launch->failure);
	_exit(127);
}

static pid_t clone_apart(struct apart *apart, unsigned namespaces)
{
	/* The init of a PID namespace is not one of the plugin's processes. */
	pid_t pid = namespaces & CLONE_NEWPID ?
			    (pid_t)syscall(SYS_clone, (unsigned long)namespaces | SIGCHLD, 0, 0, 0, 0) :
			    mor_groups_clone(namespaces);

	if (pid == 0)
		be_child(apart, namespaces);
	return pid;
}

static int no_clone(struct mor_launch *launch, unsigned namespaces, int error)
{
	if (!namespaces)
		return mor_setup_fail(&launch->failure, MOR_AT_FORK, error, "cannot start a process");
	if (namespaces & CLONE_NEWNS)
		return mor_setup_fail(&launch->failure, MOR_AT_NAMESPACE, error,
				      "the kernel refuses user or mount namespaces; see "
				      "user.max_user_namespaces, user.max_mnt_namespaces and AppArmor");
	return mor_setup_fail(&launch->failure, MOR_AT_NAMESPACE, error,
			      "the kernel refuses user namespaces; see user.max_user_namespaces and AppArmor");
}

/* `users`: a user namespace too, where that is what it takes. */
static int launch_apart(struct mor_plan *plan, unsigned namespaces, bool users, struct mor_launched *ret)
{
	struct apart apart = {
		.plan = plan, .launch = ret->launch, .self = getpid(), .uid = geteuid(), .gid = getegid()
	};

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, apart.ends) < 0)
		return mor_setup_fail(&apart.launch->failure, MOR_AT_FORK, errno, "cannot make a socket");
	ret->pid = clone_apart(&apart, namespaces);
	/* A user namespace is needed only to make the PID namespace. Root does not need it. */
	if (ret->pid < 0 && errno == EPERM && users && (namespaces & CLONE_NEWPID) &&
	    !(namespaces & CLONE_NEWUSER)) {
		namespaces |= CLONE_NEWUSER;
		ret->pid = clone_apart(&apart, namespaces);
	}
	if (ret->pid < 0)
		no_clone(apart.launch, namespaces, errno);
	close(apart.ends[1]);
	ret->channel = apart.ends[0];
	ret->rung = namespaces & CLONE_NEWPID ? MOR_TREE_PIDNS : MOR_TREE_SUBREAPER;
	return ret->pid < 0 ? -1 : 0;
}

bool mor_pidns_wished(const struct mor_plan *plan)
{
	return plan->level.flags & (MOR_JAIL_SPAWN | MOR_JAIL_LEARN);
}

/* A PID namespace that nobody asked for may be refused. */
static int launch_t0(struct mor_plan *plan, struct mor_launched *ret)
{
	struct mor_launch *launch = ret->launch;

	if (plan->level.flags & MOR_JAIL_PIDNS)
		return launch_apart(plan, CLONE_NEWPID, true, ret);
	if (mor_pidns_wished(plan) && launch_apart(plan, CLONE_NEWPID, false, ret) == 0)
		return 0;
	if (launch->failure.step && launch->failure.step != MOR_AT_NAMESPACE)
		return -1;
	mor_fd_close(&ret->channel);
	launch->failure = (struct mor_setup_failure){ 0 };
	return launch_apart(plan, 0, false, ret);
}

static int launch_confined(struct mor_plan *plan, struct mor_launched *ret)
{
	struct mor_setup_failure *failure = &ret->launch->failure;
	unsigned namespaces = mor_confine_namespaces(plan);

	if (!namespaces)
		return launch_t0(plan, ret);
	if (mor_launch_within(plan, namespaces, ret) == 0)
		return 0;
	if (failure->step != MOR_AT_NAMESPACE || mor_confine_fall_back(plan, failure) < 0)
		return -1;
	return launch_t0(plan, ret);
}

int mor_launch(struct mor_plan *plan, struct mor_launched *ret)
{
	static struct mor_launch none;
	bool confined = plan->level.level != MOR_LEVEL_GUARDED;
	unsigned namespaces = 0;

	*ret = (struct mor_launched){ .pid = -1, .channel = -1 };
	if (confined)
		umask(022); /* the plugin's, and that of the root that is made for it */
	leads_session = getsid(0) == getpid();
	if (plan->level.flags & MOR_JAIL_PIDNS)
		namespaces |= CLONE_NEWPID;
	if (plan->level.flags & MOR_JAIL_VIEW)
		namespaces |= CLONE_NEWUSER | CLONE_NEWNS;
	if (!confined && !namespaces)
		return launch_sharing(plan, ret);
	ret->launch =
		mmap(NULL, sizeof(*ret->launch), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (ret->launch == MAP_FAILED) {
		ret->launch = &none;
		return mor_setup_fail(&none.failure, MOR_AT_FORK, errno, "no memory");
	}
	return confined ? launch_confined(plan, ret) : launch_apart(plan, namespaces, true, ret);
}

/* ---- the channel ---- */

int mor_send_fd(int channel, int fd)
{
	char byte = 0, control[CMSG_SPACE(sizeof(fd))] __attribute__((aligned(8))) = { 0 };
	struct iovec part = { &byte, 1 };
	struct msghdr message = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)
	};
	struct cmsghdr *head = CMSG_FIRSTHDR(&message);

	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(head), &fd, sizeof(fd));
	return sendmsg(channel, &message, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

int mor_launch_receive(struct mor_launched *launched, int *ret_fd)
{
	char byte, control[CMSG_SPACE(sizeof(int))] __attribute__((aligned(8)));
	struct iovec part = { &byte, 1 };
	struct msghdr message = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)
	};
	ssize_t n = recvmsg(launched->channel, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	struct cmsghdr *head;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return -1;
	head = n > 0 ? CMSG_FIRSTHDR(&message) : NULL;
	if (head && head->cmsg_type == SCM_RIGHTS) {
		memcpy(ret_fd, CMSG_DATA(head), sizeof(*ret_fd));
		return 1;
	}
	close(launched->channel);
	launched->channel = -1;
	return 0;
}

/* ---- who it is ---- */

pid_t mor_launch_visible(const struct mor_launched *launched)
{
	struct mor_setup_failure path = { 0 };
	char text[16] = "";
	pid_t pid = 0;
	int fd;

	if (launched->rung != MOR_TREE_PIDNS || launched->keeper)
		return launched->pid;
	mor_setup_fail(&path, 0, 0, "/proc/%d/task/%d/children", launched->pid, launched->pid);
	if ((fd = open(path.text, O_RDONLY | O_CLOEXEC)) < 0)
		return launched->pid;
	/* The first child is the oldest: the plugin, unless it has ended and an orphan has come after it. */
	if (read(fd, text, sizeof(text) - 1) > 0) {
		for (const char *at = text; *at >= '0' && *at <= '9'; at++)
			pid = pid * 10 + (*at - '0');
	}
	close(fd);
	return pid > 0 ? pid : launched->pid;
}
