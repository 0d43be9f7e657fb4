/* SPDX-License-Identifier: Apache-2.0 */
/* The network: loopback only, so that nothing leaves the machine. */
#include "attempt.h"

#include <arpa/inet.h>
#include <linux/io_uring.h>
#include <linux/netlink.h>
#include <linux/vm_sockets.h>
#include <net/ethernet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif

static struct sockaddr_in loopback(const struct stage *s)
{
	return (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)s->port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
}

/* The listener greets with the secret. */
static struct result greet(const char *how, int fd)
{
	const struct timeval patience = { .tv_sec = PATIENCE_S };

	if (fd >= 0)
		(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	return read_secret(how, fd);
}

static struct result tcp(const struct stage *s, const char *how, int protocol)
{
	struct sockaddr_in to = loopback(s);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, protocol);

	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
		return no(how);
	return greet(how, fd);
}

static struct result n_tcp(const struct stage *s)
{
	return tcp(s, "tcp", 0);
}
static struct result n_mptcp(const struct stage *s)
{
	return tcp(s, "mptcp", IPPROTO_MPTCP);
}

static struct result n_tcp6(const struct stage *s)
{
	struct sockaddr_in6 to = {
		.sin6_family = AF_INET6,
		.sin6_port = htons((uint16_t)s->port),
		.sin6_addr = { .s6_addr = { [10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1 } },
	};
	int fd = socket(AF_INET6, SOCK_STREAM, 0);

	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
		return no("tcp6");
	return greet("tcp6", fd);
}

static struct result n_tcp_fastopen(const struct stage *s)
{
	struct sockaddr_in to = loopback(s);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0 || sendto(fd, "x", 1, MSG_FASTOPEN, (struct sockaddr *)&to, sizeof(to)) < 0)
		return no("fast open");
	return greet("fast open", fd);
}

static struct result n_udp(const struct stage *s)
{
	struct sockaddr_in to = loopback(s);
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	return got("udp",
		   fd < 0 ? -1 : sendto(fd, SECRET, sizeof(SECRET), 0, (struct sockaddr *)&to, sizeof(to)));
}

static struct result n_udp_msg(const struct stage *s)
{
	struct sockaddr_in to = loopback(s);
	struct iovec iov = { (void *)SECRET, sizeof(SECRET) };
	struct msghdr msg = { .msg_name = &to, .msg_namelen = sizeof(to), .msg_iov = &iov, .msg_iovlen = 1 };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	return got("udp sendmsg", fd < 0 ? -1 : sendmsg(fd, &msg, 0));
}

static struct result n_listen(const struct stage *s)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	(void)s;
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0)
		return no("bind");
	return got("listen", listen(fd, 1));
}

static struct result n_raw(const struct stage *s)
{
	(void)s;
	return got("raw", socket(AF_INET, SOCK_RAW, IPPROTO_ICMP));
}
static struct result n_ping(const struct stage *s)
{
	(void)s;
	return got("ping", socket(AF_INET, SOCK_DGRAM, IPPROTO_ICMP));
}
static struct result n_packet(const struct stage *s)
{
	(void)s;
	return got("packet", socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL)));
}
static struct result n_vsock(const struct stage *s)
{
	(void)s;
	return got("vsock", socket(AF_VSOCK, SOCK_STREAM, 0));
}
static struct result n_alg(const struct stage *s)
{
	(void)s;
	return got("AF_ALG", socket(AF_ALG, SOCK_SEQPACKET, 0));
}
static struct result n_diag(const struct stage *s)
{
	(void)s;
	return got("sock_diag", socket(AF_NETLINK, SOCK_RAW, NETLINK_SOCK_DIAG));
}
static struct result n_uevent(const struct stage *s)
{
	(void)s;
	return got("uevent", socket(AF_NETLINK, SOCK_RAW, NETLINK_KOBJECT_UEVENT));
}
static struct result n_route(const struct stage *s)
{
	(void)s;
	return got("route", socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE));
}

/* A family whose high bits are set: the kernel looks at an int. */
static struct result n_tcp_high(const struct stage *s)
{
	(void)s;
	return got("socket with high bits", syscall(SYS_socket, 0x100000000UL | AF_INET, SOCK_STREAM, 0));
}

static struct result int80_socket(const struct stage *s)
{
	long fd = int80(359, AF_INET, SOCK_STREAM, 0);

	(void)s;
	if (fd < 0)
		errno = (int)-fd;
	return got("int 0x80 socket", fd);
}

#define IORING_OP_SOCKET_NR 45 /* newer than bookworm's header */

static struct result uring_socket(const struct stage *s)
{
	const struct io_uring_sqe sqe = { .opcode = IORING_OP_SOCKET_NR, .fd = AF_INET, .off = SOCK_STREAM };
	long fd = uring_one(&sqe);

	(void)s;
	if (fd < 0)
		errno = (int)-fd;
	return got("IORING_OP_SOCKET", fd);
}

static struct result uring_unix(const struct stage *s)
{
	const struct io_uring_sqe sqe = { .opcode = IORING_OP_SOCKET_NR, .fd = AF_UNIX, .off = SOCK_STREAM };
	long fd = uring_one(&sqe);

	(void)s;
	if (fd < 0)
		errno = (int)-fd;
	return got("IORING_OP_SOCKET", fd);
}

#define N "network"
const struct attempt network_attempts[] = {
	{ "n_tcp", N, 76, 'D', 'A', 0, 0, n_tcp },
	{ "n_tcp6", N, 76, 'D', 'A', 0, 0, n_tcp6 },
	{ "n_tcp_high", N, 76, 'D', 'A', 0, 0, n_tcp_high },
	{ "n_listen", N, 76, 'D', 'A', 0, 0, n_listen },
	{ "n_udp", N, 76, 'D', 'A', 0, 0, n_udp },
	{ "n_udp_msg", N, 76, 'D', 'A', 0, 0, n_udp_msg },
	{ "n_raw", N, 76, 'B', 'B', 0, 0, n_raw },
	{ "n_ping", N, 76, 'D', 'A', 0, 0, n_ping },
	{ "n_packet", N, 76, 'D', 0, 0, 0, n_packet },
	{ "n_vsock", N, 76, 'D', 0, 0, 0, n_vsock },
	{ "n_alg", N, 76, 'D', 0, 0, 0, n_alg },
	{ "n_diag", N, 76, 'D', 0, 0, 0, n_diag },
	{ "n_uevent", N, 76, 'D', 0, 0, 0, n_uevent },
	{ "n_route", N, 0, 'B', 'A', 0, 0, n_route },
	{ "n_tcp_fastopen", N, 77, 'D', 'A', 0, 0, n_tcp_fastopen },
	{ "n_mptcp", N, 78, 'D', 'B', 0, 0, n_mptcp },
	{ "int80_socket", N, 25, 'D', 0, 0, 0, int80_socket },
	{ "uring_socket", N, 79, 'B', 0, 0, 0, uring_socket },
	{ "uring_unix", N, 79, 'B', 0, 0, 0, uring_unix },
	{ NULL, NULL, 0, 0, 0, 0, 0, NULL },
};
