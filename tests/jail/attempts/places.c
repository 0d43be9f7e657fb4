/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ways round a list of places (network = ["127.0.0.1:OPEN"]). The listener at s->open may be reached then, the
 * one at s->port, which greets with the secret, may not.
 */
#include "attempt.h"

#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>

static struct sockaddr_in at(int port)
{
	return (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
}

static int tcp(void)
{
	return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

static int to(int fd, const void *address, size_t size)
{
	return fd < 0 ? -1 : connect(fd, address, (socklen_t)size);
}

static int to_port(int fd, int port)
{
	struct sockaddr_in address = at(port);

	return to(fd, &address, sizeof(address));
}

/* The listener greets with the secret. */
static struct result greeted(const char *how, int fd, int connected)
{
	const struct timeval patience = { .tv_sec = PATIENCE_S };

	if (connected < 0)
		return no(how);
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	return read_secret(how, fd);
}

/* ---- what is granted ---- */

static struct result l_open(const struct stage *s)
{
	int fd = tcp();
	char word[8] = "";

	if (to_port(fd, s->open) < 0 || read(fd, word, 4) != 4)
		return no("a place in the list");
	return memcmp(word, "open", 4) == 0 ? yes("a place in the list") : no("another greeting");
}

static struct result l_open_later(const struct stage *s)
{
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK, IPPROTO_TCP), error = -1;
	socklen_t size = sizeof(error);
	struct pollfd ready = { .fd = fd, .events = POLLOUT };
	struct sockaddr_in6 address = {
		.sin6_family = AF_INET6,
		.sin6_port = htons((uint16_t)s->open),
		.sin6_addr = { .s6_addr = { [10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1 } },
	};

	if (to(fd, &address, sizeof(address)) == 0)
		return yes("at once");
	if (errno != EINPROGRESS || poll(&ready, 1, PATIENCE_S * 1000) != 1 ||
	    getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0)
		return no("in progress");
	return error == 0 ? yes("in progress") : no("refused");
}

/* ---- another address ---- */

static struct result l_other_port(const struct stage *s)
{
	int fd = tcp();

	return greeted("another port", fd, to_port(fd, s->port));
}

static struct result l_any(const struct stage *s)
{
	struct sockaddr_in address = at(s->port);
	int fd = tcp();

	address.sin_addr.s_addr = htonl(INADDR_ANY);
	return greeted("0.0.0.0", fd, to(fd, &address, sizeof(address)));
}

static struct result l_any_open(const struct stage *s)
{
	struct sockaddr_in address = at(s->open);
	int fd = tcp();

	address.sin_addr.s_addr = htonl(INADDR_ANY);
	return got("0.0.0.0 for 127.0.0.1", to(fd, &address, sizeof(address)));
}

static struct result l_mapped(const struct stage *s)
{
	struct sockaddr_in6 address = {
		.sin6_family = AF_INET6,
		.sin6_port = htons((uint16_t)s->port),
		.sin6_addr = { .s6_addr = { [10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1 } },
	};
	int fd = socket(AF_INET6, SOCK_STREAM, 0);

	return greeted("mapped address", fd, to(fd, &address, sizeof(address)));
}

/* The size says less than the address holds, or more. */
static struct result l_long_address(const struct stage *s)
{
	struct {
		struct sockaddr_in address;
		char rest[100];
	} longer = { .address = at(s->port) };
	int fd = tcp();

	return greeted("a longer address", fd, to(fd, &longer, sizeof(longer)));
}

static struct result l_short_address(const struct stage *s)
{
	struct sockaddr_in address = at(s->port);
	int fd = tcp();

	return greeted("a shorter address", fd, to(fd, &address, 8));
}

/* ---- the same socket again ---- */

static struct result l_unspec(const struct stage *s)
{
	struct sockaddr none = { .sa_family = AF_UNSPEC };
	int fd = tcp();

	if (to_port(fd, s->open) < 0 || to(fd, &none, sizeof(none)) < 0)
		return no("disconnect");
	return greeted("after AF_UNSPEC", fd, to_port(fd, s->port));
}

static struct result l_again(const struct stage *s)
{
	int fd = tcp();

	if (to_port(fd, s->open) < 0)
		return no("the first one");
	shutdown(fd, SHUT_RDWR);
	return greeted("connect again", fd, to_port(fd, s->port));
}

static struct result l_duplicate(const struct stage *s)
{
	int fd = tcp(), other = fd < 0 ? -1 : dup(fd);

	return greeted("through a duplicate", other, to_port(other, s->port));
}

static struct result l_bind_first(const struct stage *s)
{
	struct sockaddr_in mine = at(0);
	int fd = tcp();

	(void)s;
	return got("bind", fd < 0 ? -1 : bind(fd, (struct sockaddr *)&mine, sizeof(mine)));
}

static struct result l_listen(const struct stage *s)
{
	int fd = tcp();

	(void)s;
	return got("listen without bind", fd < 0 ? -1 : listen(fd, 1));
}

/* ---- sending instead of connecting ---- */

static struct result l_fastopen_msg(const struct stage *s)
{
	struct sockaddr_in address = at(s->port);
	struct iovec iov = { (void *)"x", 1 };
	struct msghdr msg = {
		.msg_name = &address, .msg_namelen = sizeof(address), .msg_iov = &iov, .msg_iovlen = 1
	};
	int fd = tcp();

	return greeted("sendmsg with fast open", fd, fd < 0 || sendmsg(fd, &msg, MSG_FASTOPEN) < 0 ? -1 : 0);
}

static struct result l_fastopen_mmsg(const struct stage *s)
{
	struct sockaddr_in address = at(s->port);
	struct iovec iov = { (void *)"x", 1 };
	struct mmsghdr msg = { .msg_hdr = { .msg_name = &address,
					    .msg_namelen = sizeof(address),
					    .msg_iov = &iov,
					    .msg_iovlen = 1 } };
	int fd = tcp();

	return greeted("sendmmsg with fast open", fd,
		       fd < 0 || sendmmsg(fd, &msg, 1, MSG_FASTOPEN) < 0 ? -1 : 0);
}

static struct result l_fastopen_option(const struct stage *s)
{
	int fd = tcp(), on = 1;

	(void)s;
	return got("TCP_FASTOPEN_CONNECT",
		   fd < 0 ? -1 : setsockopt(fd, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, &on, sizeof(on)));
}

static struct result l_send_msg(const struct stage *s)
{
	struct sockaddr_in address = at(s->port);
	struct iovec iov = { (void *)"x", 1 };
	struct msghdr msg = {
		.msg_name = &address, .msg_namelen = sizeof(address), .msg_iov = &iov, .msg_iovlen = 1
	};
	int fd = tcp();

	return greeted("sendmsg with an address", fd, fd < 0 || sendmsg(fd, &msg, MSG_NOSIGNAL) < 0 ? -1 : 0);
}

/* ---- packets that take another way ---- */

static struct result l_source_route(const struct stage *s)
{
	/* loose source route through 127.0.0.1 */
	const unsigned char route[] = { 131, 7, 4, 127, 0, 0, 1, 0 };
	int fd = tcp();

	(void)s;
	return got("IP_OPTIONS", fd < 0 ? -1 : setsockopt(fd, IPPROTO_IP, IP_OPTIONS, route, sizeof(route)));
}

static struct result l_device(const struct stage *s)
{
	int fd = tcp();

	(void)s;
	return got("SO_BINDTODEVICE", fd < 0 ? -1 : setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, "lo", 3));
}

static struct result l_interfaces(const struct stage *s)
{
	struct ifreq room[16];
	struct ifconf list = { .ifc_len = sizeof(room), .ifc_req = room };
	int fd = tcp();

	(void)s;
	return got("SIOCGIFCONF", fd < 0 ? -1 : ioctl(fd, SIOCGIFCONF, &list));
}

/* ---- other sockets ---- */

static struct result protocol(const char *how, int type, int number)
{
	return got(how, socket(AF_INET, type, number));
}
static struct result n_udplite(const struct stage *s)
{
	(void)s;
	return protocol("UDP-Lite", SOCK_DGRAM, IPPROTO_UDPLITE);
}
static struct result n_sctp(const struct stage *s)
{
	(void)s;
	return protocol("SCTP", SOCK_STREAM, IPPROTO_SCTP);
}

/* ---- races ---- */

static struct sockaddr_in shared;
static atomic_bool over;
static atomic_int shared_fd = -1;

static void *flip_port(void *stage)
{
	const struct stage *s = stage;

	while (!atomic_load_explicit(&over, memory_order_relaxed)) {
		((volatile struct sockaddr_in *)&shared)->sin_port = htons((uint16_t)s->port);
		for (volatile int i = 0; i < 200; i++)
			continue;
		((volatile struct sockaddr_in *)&shared)->sin_port = htons((uint16_t)s->open);
		for (volatile int i = 0; i < 200; i++)
			continue;
	}
	return NULL;
}

/* The number means a TCP socket for a moment, then a unix one. */
static void *flip_fd(void *unused)
{
	int one = tcp(), other = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), fd = shared_fd;

	(void)unused;
	while (!atomic_load_explicit(&over, memory_order_relaxed) && one >= 0 && other >= 0) {
		(void)dup2(one, fd);
		(void)dup2(other, fd);
	}
	return NULL;
}

static struct result race(const struct stage *s, const char *how, void *(*other)(void *), bool fresh)
{
	pthread_t thread;
	bool stolen = false;
	struct result r;
	int round, met = 0;

	shared = at(s->open);
	shared_fd = tcp();
	if (shared_fd < 0 || pthread_create(&thread, NULL, other, (void *)(uintptr_t)s) != 0)
		return no(how);
	for (round = 0; round < s->rounds / 20 && !stolen; round++) {
		int fd = fresh ? tcp() : shared_fd, e = to(fd, &shared, sizeof(shared));

		met += e < 0 && (errno == EACCES || errno == EPERM);
		if (e == 0 && fresh)
			stolen = greeted(how, dup(fd), 0).escaped;
		if (fresh)
			close(fd);
	}
	atomic_store(&over, true);
	pthread_join(thread, NULL);
	r = stolen ? yes(how) : no(how);
	r.rounds = round;
	r.met = met;
	return r;
}

static struct result l_race_address(const struct stage *s)
{
	return race(s, "another address behind the pointer", flip_port, true);
}

static struct result l_race_fd(const struct stage *s)
{
	return race(s, "another socket behind the number", flip_fd, false);
}

/* ---- flood: the guardian must go on answering ---- */

/* More connections that wait than it has threads for them; and still one that does not wait gets through. */
static void *wait_for_ever(void *address)
{
	int fd = tcp();

	if (fd >= 0)
		(void)to(fd, address, sizeof(struct sockaddr_in));
	return NULL;
}

static struct result l_crowd(const struct stage *s)
{
	struct sockaddr_in full = at(s->full);
	pthread_t threads[100];

	for (size_t i = 0; i < sizeof(threads) / sizeof(*threads); i++)
		if (pthread_create(&threads[i], NULL, wait_for_ever, &full) != 0)
			return no("threads");
	return l_open_later(s);
}

#define N "network"
const struct attempt places_attempts[] = {
	{ "l_open", N, 0, 'D', 'A', 0, 0, l_open },
	{ "l_open_later", N, 0, 'D', 'A', 0, 0, l_open_later },
	{ "l_other_port", N, 0, 'D', 'A', 0, 0, l_other_port },
	{ "l_any", N, 0, 'D', 'A', 0, 0, l_any },
	{ "l_any_open", N, 0, 'D', 'A', 0, 0, l_any_open },
	{ "l_mapped", N, 0, 'D', 'A', 0, 0, l_mapped },
	{ "l_long_address", N, 0, 'D', 'A', 0, 0, l_long_address },
	{ "l_short_address", N, 0, 'D', '?', 0, 0, l_short_address },
	{ "l_unspec", N, 0, 'D', 'A', 0, 0, l_unspec },
	{ "l_again", N, 0, 'D', '?', 0, 0, l_again },
	{ "l_duplicate", N, 0, 'D', 'A', 0, 0, l_duplicate },
	{ "l_bind_first", N, 0, 'D', 'A', 0, 0, l_bind_first },
	{ "l_listen", N, 0, 'D', 'A', 0, 0, l_listen },
	{ "l_fastopen_msg", N, 77, 'D', 'A', 0, 0, l_fastopen_msg },
	{ "l_fastopen_mmsg", N, 77, 'D', 'A', 0, 0, l_fastopen_mmsg },
	{ "l_fastopen_option", N, 77, 'D', '?', 0, 0, l_fastopen_option },
	{ "l_send_msg", N, 77, 'D', '?', 0, 0, l_send_msg },
	{ "l_source_route", N, 0, 'D', '?', 0, 0, l_source_route },
	{ "l_device", N, 0, 'D', '?', 0, 0, l_device },
	{ "l_interfaces", N, 0, 'D', 'A', 0, 0, l_interfaces },
	{ "n_udplite", N, 78, 'D', 'B', 0, 0, n_udplite },
	{ "n_sctp", N, 78, 'D', 'B', 0, 0, n_sctp },
	{ "l_race_address", N, 26, 'D', '?', 0, 0, l_race_address },
	{ "l_race_fd", N, 26, 'D', '?', 0, 0, l_race_fd },
	{ "l_crowd", N, 0, 'D', '?', 0, 0, l_crowd },
	{ NULL, NULL, 0, 0, 0, 0, 0, NULL },
};
