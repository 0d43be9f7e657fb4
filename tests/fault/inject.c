/* SPDX-License-Identifier: Apache-2.0 */
/* See inject.h. Not with sanitizers, which put functions of their own in the same places. */
#include "inject.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define HERE __attribute__((visibility("default")))

const char *const inject_names[INJECT_KINDS_COUNT] = {
#define X(name, error) #name,
	INJECT_KINDS(X)
#undef X
};

static const int errors[INJECT_KINDS_COUNT] = {
#define X(name, error) error,
	INJECT_KINDS(X)
#undef X
};

static struct {
	bool armed, on, hit;
	enum inject_kind kind;
	unsigned n;
	unsigned count[INJECT_KINDS_COUNT];
} plan;
static atomic_long blocks;

void inject_arm(enum inject_kind kind, unsigned n, bool on)
{
	memset(&plan, 0, sizeof(plan));
	plan.kind = kind;
	plan.n = n;
	plan.on = on;
	plan.armed = true;
}

void inject_disarm(void)
{
	plan.armed = false;
}

unsigned inject_count(unsigned kind)
{
	return plan.count[kind];
}

bool inject_may_go_on(unsigned kind)
{
	return errors[kind] != EINTR;
}

bool inject_hit(void)
{
	return plan.hit;
}

long inject_blocks(void)
{
	return blocks;
}

/* Whether this call fails. */
static bool fails(enum inject_kind kind)
{
	if (!plan.armed)
		return false;
	plan.count[kind]++;
	if (kind != plan.kind || !plan.n || plan.count[kind] < plan.n ||
	    (plan.count[kind] > plan.n && !plan.on))
		return false;
	plan.hit = true;
	errno = errors[kind];
	return true;
}

/* ---- memory: the C library's own, under its other names ---- */

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void __libc_free(void *);

HERE void *malloc(size_t size)
{
	void *p = fails(INJECT_malloc) ? NULL : __libc_malloc(size);

	blocks += p != NULL;
	return p;
}

HERE void *calloc(size_t n, size_t size)
{
	void *p = fails(INJECT_calloc) ? NULL : __libc_calloc(n, size);

	blocks += p != NULL;
	return p;
}

HERE void *realloc(void *old, size_t size)
{
	void *p = fails(INJECT_realloc) ? NULL : __libc_realloc(old, size);

	blocks += !old && p;
	return p;
}

HERE void free(void *p)
{
	blocks -= p != NULL;
	__libc_free(p);
}

/* ---- system calls ---- */

#define REAL(name) ((__typeof__(&name))(uintptr_t)real(#name))

/* Looked up once each, before anything is armed: dlsym() allocates. */
static void *real(const char *name)
{
	static struct {
		const char *name;
		void *fn;
	} known[64];
	size_t i = 0;

	while (i < 64 && known[i].name && strcmp(known[i].name, name) != 0)
		i++;
	if (i < 64 && !known[i].name) {
		bool armed = plan.armed;

		plan.armed = false;
		known[i].fn = dlsym(RTLD_NEXT, name);
		known[i].name = name;
		plan.armed = armed;
	}
	return known[i].fn;
}

#define WRAP(kind, name, params, args) \
	HERE int name params \
	{ \
		return fails(INJECT_##kind) ? -1 : REAL(name) args; \
	}

WRAP(epoll_create1, epoll_create1, (int flags), (flags))
WRAP(epoll_wait, epoll_wait, (int fd, struct epoll_event *events, int max, int ms), (fd, events, max, ms))
WRAP(timerfd_create, timerfd_create, (clockid_t clock, int flags), (clock, flags))
WRAP(eventfd, eventfd, (unsigned value, int flags), (value, flags))
WRAP(pipe2, pipe2, (int fds[2], int flags), (fds, flags))
WRAP(socketpair, socketpair, (int domain, int type, int protocol, int fds[2]), (domain, type, protocol, fds))
WRAP(memfd_create, memfd_create, (const char *name, unsigned flags), (name, flags))
WRAP(waitid, waitid, (idtype_t type, id_t id, siginfo_t *info, int flags), (type, id, info, flags))
WRAP(poll, poll, (struct pollfd * fds, nfds_t count, int ms), (fds, count, ms))
WRAP(fstat, fstat64, (int fd, struct stat64 *st), (fd, st))

/* Only an addition needs memory. */
HERE int epoll_ctl(int fd, int op, int other, struct epoll_event *event)
{
	return op == EPOLL_CTL_ADD && fails(INJECT_epoll_ctl) ? -1 : REAL(epoll_ctl)(fd, op, other, event);
}

HERE int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
		     const posix_spawnattr_t *attr, char *const argv[], char *const env[])
{
	return fails(INJECT_posix_spawn) ? EAGAIN : REAL(posix_spawn)(pid, path, actions, attr, argv, env);
}

HERE ssize_t read(int fd, void *to, size_t size)
{
	if (fails(INJECT_read) || fails(INJECT_read_again))
		return -1;
	if (size > 3 && fails(INJECT_read_short))
		size = 3;
	return syscall(SYS_read, fd, to, size);
}

HERE ssize_t write(int fd, const void *from, size_t size)
{
	return fails(INJECT_write) ? -1 : syscall(SYS_write, fd, from, size);
}

HERE ssize_t pwritev64v2(int fd, const struct iovec *iov, int count, off64_t offset, int flags)
{
	struct iovec one;

	/* a pipe may be full, a file is not */
	if (REAL(syscall)(SYS_fcntl, fd, F_GETPIPE_SZ) > 0 && fails(INJECT_pwritev2))
		return -1;
	if (count > 0 && iov[0].iov_len > 3 && fails(INJECT_pwritev2_short)) {
		one = (struct iovec){ iov[0].iov_base, 3 };
		return REAL(pwritev64v2)(fd, &one, 1, offset, flags);
	}
	return REAL(pwritev64v2)(fd, iov, count, offset, flags);
}

HERE ssize_t recv(int fd, void *to, size_t size, int flags)
{
	return fails(INJECT_recv) ? -1 : REAL(recv)(fd, to, size, flags);
}

HERE ssize_t send(int fd, const void *from, size_t size, int flags)
{
	return fails(INJECT_send) ? -1 : REAL(send)(fd, from, size, flags);
}

HERE ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
	return fails(INJECT_sendmsg) ? -1 : REAL(sendmsg)(fd, message, flags);
}

HERE ssize_t getrandom(void *to, size_t size, unsigned flags)
{
	return fails(INJECT_getrandom) ? -1 : REAL(getrandom)(to, size, flags);
}

HERE FILE *fopen(const char *path, const char *mode)
{
	return fails(INJECT_fopen) ? NULL : REAL(fopen)(path, mode);
}

static mode_t mode_of(int flags, va_list args)
{
	return flags & (O_CREAT | O_TMPFILE) ? va_arg(args, mode_t) : 0;
}

HERE int open64(const char *path, int flags, ...)
{
	va_list args;
	mode_t mode;

	va_start(args, flags);
	mode = mode_of(flags, args);
	va_end(args);
	return fails(INJECT_open) ? -1 : (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

HERE int openat64(int dir, const char *path, int flags, ...)
{
	va_list args;
	mode_t mode;

	va_start(args, flags);
	mode = mode_of(flags, args);
	va_end(args);
	return fails(INJECT_open) ? -1 : (int)syscall(SYS_openat, dir, path, flags, mode);
}

/* Only what is asked of pipes can fail: their size. */
HERE int fcntl64(int fd, int command, ...)
{
	va_list args;
	void *arg;

	va_start(args, command);
	arg = va_arg(args, void *);
	va_end(args);
	if (command == F_SETPIPE_SZ && fails(INJECT_fcntl))
		return -1;
	return (int)syscall(SYS_fcntl, fd, command, arg);
}

HERE long syscall(long number, ...)
{
	va_list args;
	long a[6];

	va_start(args, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(args, long);
	va_end(args);
	if ((number == SYS_pidfd_open && fails(INJECT_pidfd_open)) ||
	    (number == SYS_waitid && fails(INJECT_waitid)))
		return -1;
	return REAL(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
