/* SPDX-License-Identifier: Apache-2.0 */
/* Unix sockets, System V and POSIX IPC: the ways to talk a privileged neighbour into doing it. */
#include "attempt.h"

#include <mqueue.h>
#include <stdio.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

static socklen_t path_address(struct sockaddr_un *to, const char *path)
{
	*to = (struct sockaddr_un){ .sun_family = AF_UNIX };
	snprintf(to->sun_path, sizeof(to->sun_path), "%s", path);
	return sizeof(*to);
}

static socklen_t abstract_address(struct sockaddr_un *to, const char *name)
{
	*to = (struct sockaddr_un){ .sun_family = AF_UNIX };
	snprintf(to->sun_path + 1, sizeof(to->sun_path) - 1, "%s", name);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
}

static struct result greet(const char *how, int fd, const struct sockaddr_un *to, socklen_t size)
{
	const struct timeval patience = { .tv_sec = PATIENCE_S };

	if (fd < 0 || connect(fd, (const struct sockaddr *)to, size) < 0)
		return no(how);
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	return read_secret(how, fd);
}

static struct result u_path(const struct stage *s)
{
	struct sockaddr_un to;
	socklen_t size = path_address(&to, in(s, "outside/host.sock"));

	return greet("connect to a path", socket(AF_UNIX, SOCK_STREAM, 0), &to, size);
}

/* The same, by the link in the workspace. */
static struct result u_link(const struct stage *s)
{
	struct sockaddr_un to;
	socklen_t size = path_address(&to, "linkdir/host.sock");

	(void)s;
	return greet("connect through a link", socket(AF_UNIX, SOCK_STREAM, 0), &to, size);
}

static struct result u_abs(const struct stage *s)
{
	struct sockaddr_un to;
	socklen_t size = abstract_address(&to, s->abstract);

	return greet("connect to an abstract name", socket(AF_UNIX, SOCK_STREAM, 0), &to, size);
}

static struct result u_bind(const struct stage *s)
{
	struct sockaddr_un at;
	socklen_t size = abstract_address(&at, "mortise-attempt");
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	(void)s;
	return got("bind", fd < 0 ? -1 : bind(fd, (struct sockaddr *)&at, size));
}

/* The ends of a pair exist with every permission. */
static struct result u_pair_bind(const struct stage *s)
{
	struct sockaddr_un at;
	socklen_t size = abstract_address(&at, "mortise-attempt-pair");
	int pair[2];

	(void)s;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
		return no("socketpair");
	return got("bind an end of a pair", bind(pair[0], (struct sockaddr *)&at, size));
}

static struct result datagram(const struct stage *s, const char *how, int fd)
{
	struct sockaddr_un to;
	socklen_t size = path_address(&to, in(s, "outside/host.dgram"));

	return got(how, fd < 0 ?
				-1 :
				sendto(fd, SECRET, sizeof(SECRET), MSG_DONTWAIT, (struct sockaddr *)&to, size));
}

static struct result u_dgram(const struct stage *s)
{
	return datagram(s, "datagram", socket(AF_UNIX, SOCK_DGRAM, 0));
}

static struct result u_pair_dgram(const struct stage *s)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) < 0)
		return no("socketpair");
	return datagram(s, "datagram from a pair", pair[0]);
}

static struct result u_pair_msg(const struct stage *s)
{
	struct sockaddr_un to;
	struct iovec iov = { (void *)SECRET, sizeof(SECRET) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) < 0)
		return no("socketpair");
	msg.msg_namelen = path_address(&to, in(s, "outside/host.dgram"));
	msg.msg_name = &to;
	return got("sendmsg from a pair", sendmsg(pair[0], &msg, MSG_DONTWAIT));
}

static struct result u_pair_stream(const struct stage *s)
{
	struct sockaddr_un to;
	socklen_t size = path_address(&to, in(s, "outside/host.sock"));
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
		return no("socketpair");
	return greet("reconnect a pair", pair[0], &to, size);
}

static struct result i_sysvshm(const struct stage *s)
{
	int id = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);

	(void)s;
	if (id >= 0)
		shmctl(id, IPC_RMID, NULL);
	return got("shmget", id);
}

static struct result i_msgq(const struct stage *s)
{
	int id = msgget(IPC_PRIVATE, IPC_CREAT | 0600);

	(void)s;
	if (id >= 0)
		msgctl(id, IPC_RMID, NULL);
	return got("msgget", id);
}

static struct result i_sem(const struct stage *s)
{
	int id = semget(IPC_PRIVATE, 1, IPC_CREAT | 0600);

	(void)s;
	if (id >= 0)
		semctl(id, 0, IPC_RMID);
	return got("semget", id);
}

static struct result i_mq(const struct stage *s)
{
	mqd_t q = mq_open("/mortise-attempt", O_CREAT | O_RDWR, 0600, NULL);

	(void)s;
	if (q >= 0)
		mq_unlink("/mortise-attempt");
	return got("mq_open", q);
}

static struct result i_shm_list(const struct stage *s)
{
	struct shminfo info;

	(void)s;
	return got("shmctl IPC_INFO", shmctl(0, IPC_INFO, (struct shmid_ds *)&info));
}

#define I "ipc"
const struct attempt ipc_attempts[] = {
	{ "u_path", I, 80, 'D', 'E', 0, 0, u_path },
	{ "u_link", I, 80, 'D', 'E', 0, 0, u_link },
	{ "u_abs", I, 80, 'D', 'E', 0, 0, u_abs },
	{ "u_bind", I, 80, 'D', 'E', 0, 0, u_bind },
	{ "u_pair_bind", I, 80, 'D', 0, 0, 0, u_pair_bind },
	{ "u_dgram", I, 81, 'B', 'E', 0, 0, u_dgram },
	{ "u_pair_dgram", I, 81, 'B', 'E', 0, 0, u_pair_dgram },
	{ "u_pair_msg", I, 81, 'B', 'E', 0, 0, u_pair_msg },
	{ "u_pair_stream", I, 82, 'D', 'E', 0, 0, u_pair_stream },
	{ "i_sysvshm", I, 83, 'D', 0, 0, 0, i_sysvshm },
	{ "i_msgq", I, 83, 'D', 0, 0, 0, i_msgq },
	{ "i_mq", I, 83, 'D', 0, 0, 0, i_mq },
	{ "i_sem", I, 83, 'D', 0, 0, 0, i_sem },
	{ "i_shm_list", I, 83, 'D', 0, 0, 0, i_shm_list },
	{ NULL, NULL, 0, 0, 0, 0, 0, NULL },
};
