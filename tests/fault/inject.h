/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of libmortise.so into libc that can be made to fail: this program's own functions of the same
 * names come first. */
#ifndef TESTS_FAULT_INJECT_H
#define TESTS_FAULT_INJECT_H

#include <stdbool.h>

/* name, errno: what may fail, and how it would on a machine that lacks something, or is interrupted */
/* clang-format off */
#define INJECT_KINDS(X)                                                                                       \
	X(malloc, ENOMEM) X(calloc, ENOMEM) X(realloc, ENOMEM)                                               \
	X(epoll_create1, EMFILE) X(epoll_ctl, ENOMEM) X(epoll_wait, EINTR)                                   \
	X(timerfd_create, EMFILE) X(eventfd, EMFILE) X(pipe2, EMFILE) X(socketpair, EMFILE)                  \
	X(memfd_create, EMFILE) X(posix_spawn, EAGAIN) X(pidfd_open, EMFILE)                                 \
	X(read, EINTR) X(read_again, EAGAIN) X(read_short, 0) X(write, EINTR) X(pwritev2, EAGAIN)            \
	X(pwritev2_short, 0) X(recv, EINTR) X(send, EAGAIN) X(sendmsg, ENOMEM) X(waitid, EINTR)              \
	X(open, EMFILE) X(fopen, EMFILE) X(fstat, ENOMEM) X(fcntl, EPERM) X(getrandom, EINTR) X(poll, EINTR)

enum inject_kind {
#define X(name, error) INJECT_##name,
	INJECT_KINDS(X)
#undef X
	INJECT_KINDS_COUNT
};
/* clang-format on */
extern const char *const inject_names[INJECT_KINDS_COUNT];

/* The n-th call of that kind from now on fails, and with `on` all after it. n 0: none does,
 * they are counted. */
void inject_arm(enum inject_kind kind, unsigned n, bool on);
void inject_disarm(void);
unsigned inject_count(unsigned kind); /* calls since it was armed */
bool inject_may_go_on(unsigned kind); /* nobody is interrupted for ever */
bool inject_hit(void);                /* one has failed since then */
long inject_blocks(void);             /* of memory that are in use */

#endif
