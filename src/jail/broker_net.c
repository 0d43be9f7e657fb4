/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sockets of the internet families. With a list of places (network = [...]) the broker makes each socket, out
 * here in the host's network namespace, and hands it over: at t1 the plugin's own namespace has no network at
 * all. A socket can do nothing by itself: connect is asked for and done by us on a copied address; bind,
 * listen, TCP fast open and options that lead packets elsewhere are refused by the filter.
 *
 * With all of the network granted only bind is asked for: the ends of a unix socketpair could take abstract
 * names of the host's network namespace.
 *
 * A plugin that is called over a socket may listen on one: it gets its name from us, in a directory that only
 * the host knows, and we let it listen. What it then accepts is the host.
 */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "jail/broker.h"

#ifndef PIDFD_THREAD
#define PIDFD_THREAD O_EXCL /* Linux 6.9 */
#endif

static bool is_internet(int family)
{
	return family == AF_INET || family == AF_INET6;
}

static int option_of(int fd, int option)
{
	socklen_t size = sizeof(int);
	int value = -1;

	return getsockopt(fd, SOL_SOCKET, option, &value, &size) < 0 ? -errno : value;
}

/* A second descriptor of one of the caller's own. -errno, or MOR_BROKER_SENT: the caller is gone, and the
 * number may have been another's. */
static int take_descriptor(struct mor_syscall *call, int number)
{
	int process = (int)syscall(SYS_pidfd_open, call->tid, PIDFD_THREAD), fd;

	if (process < 0 && errno == EINVAL)
		process = (int)syscall(SYS_pidfd_open, call->tgid, 0);
	if (process < 0)
		return mor_syscall_alive(call) ? -errno : MOR_BROKER_SENT;
	if ((fd = (int)syscall(SYS_pidfd_getfd, process, number, 0)) < 0)
		fd = -errno;
	close(process);
	if (mor_syscall_alive(call))
		return fd;
	if (fd >= 0)
		close(fd);
	return MOR_BROKER_SENT;
}

/* The address of a call with (fd, address, size), as the kernel would take it. 0, -errno, or decided. */
static int read_address(struct mor_syscall *call, struct mor_dial_job *job)
{
	int64_t size = (int32_t)mor_syscall_arg(call, 2);

	if (size < (int64_t)sizeof(job->to.ss_family) || size > (int64_t)sizeof(job->to))
		return -EINVAL;
	job->size = (socklen_t)size;
	call->doubtful = true;
	return mor_syscall_read(call, mor_syscall_arg(call, 1), &job->to, (size_t)size);
}

/* ---- socket ---- */

static int forbid_socket(struct mor_syscall *call, int family, int type)
{
	if (is_internet(family) && type == SOCK_RAW)
		return mor_syscall_violation(call, "", MOR_FORBID_RAW);
	if (family == AF_UNIX)
		return mor_syscall_violation(call, "", MOR_FORBID_UNIX);
	return mor_syscall_violation(call, "", is_internet(family) ? MOR_FORBID_NETWORK : MOR_FORBID_FAMILY);
}

int mor_on_socketpair(struct mor_syscall *call)
{
	return forbid_socket(call, (int)mor_syscall_arg(call, 0), (int)mor_syscall_arg(call, 1) & 0xf);
}

/* Registers only: no race. */
int mor_on_socket(struct mor_syscall *call)
{
	int family = (int)mor_syscall_arg(call, 0), type = (int)mor_syscall_arg(call, 1),
	    protocol = (int)mor_syscall_arg(call, 2), fd;

	/* gRPC's library opens such sockets to see what the machine can do, wherever it is to listen. It does
	 * that before it listens: what comes later is the plugin's own wish. */
	if (call->broker->net.listen && !call->broker->net.listening && !call->broker->net.places &&
	    is_internet(family) && (type & 0xf) == SOCK_STREAM)
		return -EAFNOSUPPORT;
	if (!call->broker->net.places || !is_internet(family) || (type & 0xf) != SOCK_STREAM ||
	    (protocol != 0 && protocol != IPPROTO_TCP))
		return forbid_socket(call, family, type & 0xf);
	if (type & ~(0xf | SOCK_NONBLOCK | SOCK_CLOEXEC))
		return -EINVAL;
	fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | (type & SOCK_NONBLOCK), IPPROTO_TCP);
	return fd < 0 ? -errno : mor_syscall_inject(call, fd, type & SOCK_CLOEXEC);
}

/* ---- connect ---- */

/* Only TCP sockets: one of the descriptors that it was started with may be another kind. */
static bool is_tcp(int fd)
{
	return is_internet(option_of(fd, SO_DOMAIN)) && option_of(fd, SO_TYPE) == SOCK_STREAM &&
	       option_of(fd, SO_PROTOCOL) == IPPROTO_TCP;
}

/* AF_UNSPEC ends a connection: the socket can be used for the next, which is asked for like the first. */
static int judge_address(struct mor_syscall *call, const struct mor_dial_job *job)
{
	const struct mor_broker *broker = call->broker;
	struct mor_net_place to;
	char text[MOR_NET_TEXT];

	if (job->to.ss_family == AF_UNSPEC)
		return 0;
	if (!is_internet(job->to.ss_family))
		return mor_syscall_violation(call, "", MOR_FORBID_FAMILY);
	if (!mor_net_place(&job->to, job->size, &to))
		return -EINVAL;
	if (mor_net_allows(broker->net.places, broker->net.count, &to))
		return 0;
	if (mor_net_allows_twin(broker->net.places, broker->net.count, &to))
		return -ECONNREFUSED; /* no wish of the program: it goes on to the one that is allowed */
	return mor_syscall_violation(call, mor_net_text(&to, text), MOR_FORBID_PLACE);
}

int mor_connect_place(struct mor_syscall *call)
{
	struct mor_dial_job job = { .id = call->asked->id };
	int status = read_address(call, &job);

	if (status == 0)
		status = judge_address(call, &job);
	if (status < 0)
		return status;
	job.fd = take_descriptor(call, (int)mor_syscall_arg(call, 0));
	if (job.fd < 0)
		return job.fd;
	if (!is_tcp(job.fd)) {
		status = option_of(job.fd, SO_DOMAIN);
		close(job.fd);
		return status < 0 ? status : mor_syscall_violation(call, "", MOR_FORBID_NETWORK);
	}
	status = mor_dial_pass(call->broker->net.dial, &job);
	return status < 0 ? status : MOR_BROKER_SENT;
}

/* ---- bind and listen ---- */

/* A name directly in the directory where it may listen, by its whole path: an abstract name belongs to the
 * network namespace, and nobody can say who else is behind it. */
static bool names_its_place(const struct mor_broker *broker, const struct mor_dial_job *job)
{
	const struct sockaddr_un *to = (const struct sockaddr_un *)&job->to;
	size_t dir = strlen(broker->net.listen), len = job->size - offsetof(struct sockaddr_un, sun_path);
	const char *path = to->sun_path, *name = path + dir + 1;

	if (job->size <= offsetof(struct sockaddr_un, sun_path) || len > sizeof(to->sun_path))
		return false;
	len = strnlen(path, len);
	return len > dir + 1 && memcmp(path, broker->net.listen, dir) == 0 && path[dir] == '/' &&
	       !memchr(name, '/', len - dir - 1) && strncmp(name, ".", len - dir - 1) != 0 &&
	       strncmp(name, "..", len - dir - 1) != 0;
}

/* Once. The name is made by us: nobody else may make sockets (landlock.c). */
static int bind_unix(struct mor_syscall *call, const struct mor_dial_job *job)
{
	struct mor_broker *broker = call->broker;
	struct stat st;

	if (!broker->net.listen || broker->net.bound || job->to.ss_family != AF_UNIX ||
	    option_of(job->fd, SO_TYPE) != SOCK_STREAM || !names_its_place(broker, job))
		return mor_syscall_violation(call, "", MOR_FORBID_NAME);
	if (bind(job->fd, (const struct sockaddr *)&job->to, job->size) < 0 || fstat(job->fd, &st) < 0)
		return -errno;
	broker->net.bound = st.st_ino;
	return 0;
}

/* Done by us on the descriptor that was looked at: the number may mean another socket a moment later. */
int mor_on_bind(struct mor_syscall *call)
{
	struct mor_dial_job job = { 0 };
	int family, status;

	if (!call->broker->paths->network && !call->broker->net.listen)
		return mor_syscall_violation(call, "", MOR_FORBID_NETWORK);
	if ((status = read_address(call, &job)) < 0)
		return status;
	job.fd = take_descriptor(call, (int)mor_syscall_arg(call, 0));
	if (job.fd < 0)
		return job.fd;
	if ((family = option_of(job.fd, SO_DOMAIN)) < 0)
		status = family;
	else if (!is_internet(family) && family != AF_NETLINK)
		status = bind_unix(call, &job);
	else if (!call->broker->paths->network)
		status = mor_syscall_violation(call, "", MOR_FORBID_NETWORK);
	else
		status = bind(job.fd, (const struct sockaddr *)&job.to, job.size) < 0 ? -errno : 0;
	close(job.fd);
	return status;
}

/* Only the socket that we have named. One that took its number after its end has no name, and the
 * kernel refuses it. */
int mor_on_listen(struct mor_syscall *call)
{
	struct stat st;
	int fd, status;

	if (!call->broker->net.bound)
		return mor_syscall_violation(call, "", MOR_FORBID_NETWORK);
	if ((fd = take_descriptor(call, (int)mor_syscall_arg(call, 0))) < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		status = -errno;
	else if (!S_ISSOCK(st.st_mode) || st.st_ino != call->broker->net.bound)
		status = mor_syscall_violation(call, "", MOR_FORBID_NETWORK);
	else
		status = listen(fd, (int)mor_syscall_arg(call, 1)) < 0 ? -errno : 0;
	if (status == 0)
		call->broker->net.listening = true;
	close(fd);
	return status;
}
