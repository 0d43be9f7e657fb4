/* SPDX-License-Identifier: Apache-2.0 */
/* The maker of views, and the parts of guardian and launcher. See view.h. */
#include "jail/view.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "jail/confine.h"
#include "jail/confine_t0.h"
#include "jail/root.h"

static int maker = -1; /* our end of the socket: the guardian's, and until its execve the launcher's */

int mor_view_add(struct mor_view_texts *texts, char letter, const char *name)
{
	size_t len = strlen(name);

	if (len + 2 > sizeof(texts->bytes) - texts->used)
		return -ENOSPC;
	texts->bytes[texts->used] = letter;
	memcpy(texts->bytes + texts->used + 1, name, len + 1);
	texts->used += (uint32_t)len + 2;
	return 0;
}

const char *mor_view_next(const struct mor_view_texts *texts, const char *after)
{
	const char *next = after ? after + strlen(after) + 1 : texts->bytes;

	return next < texts->bytes + texts->used ? next : NULL;
}

/* ---- the maker ---- */

union order_room {
	struct mor_guard_order head;
	char bytes[MOR_PLAN_ORDER_MAX];
};

/* Bytes, 0 at the end. Namespaces come once, with the first message. */
static ssize_t take_order(int socket, union order_room *order, int namespaces[MOR_VIEW_NAMESPACES])
{
	const size_t size = sizeof(int) * MOR_VIEW_NAMESPACES;
	char control[CMSG_SPACE(sizeof(int) * MOR_VIEW_NAMESPACES)] __attribute__((aligned(8)));
	struct iovec part = { order, sizeof(*order) };
	struct msghdr message = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)
	};
	struct cmsghdr *head;
	ssize_t n;

	do
		n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	head = n > 0 ? CMSG_FIRSTHDR(&message) : NULL;
	if (head && head->cmsg_type == SCM_RIGHTS && head->cmsg_len == CMSG_LEN(size))
		memcpy(namespaces, CMSG_DATA(head), size);
	return n;
}

static _Noreturn void be_maker(int socket, pid_t parent)
{
	static union order_room order;
	static struct mor_view_answer answer;
	int namespaces[MOR_VIEW_NAMESPACES] = { -1, -1, -1 };
	sigset_t all;
	ssize_t n;

	memset(&all, 0xff, sizeof(all));
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, 8);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
		_exit(1);
	/* Most of all the plugin's stdio and the host's socket. */
	close_range(0, (unsigned)socket - 1, 0);
	close_range((unsigned)socket + 1, ~0U, 0);
	while ((n = take_order(socket, &order, namespaces)) > 0) {
		size_t size = (size_t)n - sizeof(order.head);

		if (order.head.kind != MOR_GUARD_SWITCH_VIEW)
			continue;
		answer.failure.step = 0;
		answer.changed = answer.grants.used = 0;
		mor_view_make(namespaces, order.head.texts, size, &answer);
		/* The guardian ends the plugin of a maker that is gone: what it sees would not be known. */
		if (send(socket, &answer, offsetof(struct mor_view_answer, grants.bytes) + answer.grants.used,
			 MSG_NOSIGNAL) < 0)
			_exit(1);
	}
	_exit(0);
}

int mor_view_begin(const struct mor_plan *plan, struct mor_setup_failure *failure)
{
	pid_t self = getpid(), pid;
	int ends[2];

	if (!(plan->level.flags & MOR_JAIL_VIEW))
		return 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return mor_setup_fail(failure, MOR_AT_FORK, errno, "cannot make a socket");
	pid = (pid_t)syscall(SYS_clone, (unsigned long)SIGCHLD, 0, 0, 0, 0);
	if (pid == 0)
		be_maker(ends[1], self);
	if (pid < 0)
		mor_setup_fail(failure, MOR_AT_FORK, errno, "cannot start a process");
	close(ends[1]);
	maker = ends[0];
	return pid < 0 ? -1 : 0;
}

/* ---- the guardian ---- */

int mor_view_fd(void)
{
	return maker;
}

/* Only one order at a time: the host waits for the answer before it sends the next. So nothing blocks. */
int mor_view_order(const struct mor_guard_order *order, size_t size)
{
	if (maker < 0)
		return -ENOTCONN;
	return send(maker, order, size, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

int mor_view_receive(struct mor_view_answer *ret)
{
	const size_t least = offsetof(struct mor_view_answer, grants.bytes);
	ssize_t n = recv(maker, ret, sizeof(*ret), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n >= (ssize_t)least && (size_t)n - least == ret->grants.used)
		return 1;
	close(maker);
	maker = -1;
	return -1;
}

/* ---- the launcher ---- */

static int hand_over(const int namespaces[MOR_VIEW_NAMESPACES])
{
	const size_t size = sizeof(int) * MOR_VIEW_NAMESPACES;
	char control[CMSG_SPACE(sizeof(int) * MOR_VIEW_NAMESPACES)] __attribute__((aligned(8))) = { 0 };
	struct mor_guard_order none = { 0 };
	struct iovec part = { &none, sizeof(none) };
	struct msghdr message = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)
	};
	struct cmsghdr *head = CMSG_FIRSTHDR(&message);

	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(size);
	memcpy(CMSG_DATA(head), namespaces, size);
	return sendmsg(maker, &message, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* What the host mounts later appears in the copy of its tree, but nothing goes back (slave). It goes no
 * further, because the plugin's root is made private first. */
static int split_namespaces(int namespaces[MOR_VIEW_NAMESPACES])
{
	namespaces[MOR_VIEW_USER] = open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC);
	namespaces[MOR_VIEW_HOST] = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
	if (namespaces[MOR_VIEW_USER] < 0 || namespaces[MOR_VIEW_HOST] < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0 || unshare(CLONE_NEWNS) < 0)
		return -errno;
	namespaces[MOR_VIEW_PLUGIN] = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
	return namespaces[MOR_VIEW_PLUGIN] < 0 ? -errno : hand_over(namespaces);
}

int mor_view_split(const struct mor_plan *plan, struct mor_setup_failure *failure)
{
	int namespaces[MOR_VIEW_NAMESPACES] = { -1, -1, -1 }, status;

	if (!(plan->level.flags & MOR_JAIL_VIEW))
		return 0;
	status = split_namespaces(namespaces);
	for (int i = 0; i < MOR_VIEW_NAMESPACES; i++)
		if (namespaces[i] >= 0)
			close(namespaces[i]);
	close(maker); /* an init lives on: it must not keep this open */
	maker = -1;
	return status < 0 ? mor_setup_fail(failure, MOR_AT_NAMESPACE, -status,
					   "sandbox.view: the kernel refuses a second mount namespace; see "
					   "user.max_mnt_namespaces") :
			    0;
}

int mor_view_enter(const struct mor_plan *plan, struct mor_setup_failure *failure)
{
	const char *step = "";
	int status;

	if (!(plan->level.flags & MOR_JAIL_VIEW))
		return 0;
	if (mor_view_split(plan, failure) < 0)
		return -1;
	if ((status = mor_root_whole(plan, &step)) < 0)
		return mor_setup_fail(failure, MOR_AT_NAMESPACE, -status, "sandbox.view: the kernel refuses %s",
				      step);
	/* Root would keep them after its execve. */
	return mor_t0_drop_capabilities(true, failure);
}
