/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"

/* Linux 6.18; the C library's headers on the systems we support do not have it. */
#ifndef RWF_NOSIGNAL
#define RWF_NOSIGNAL 0x00000100
#endif
/* Linux 6.14 */
#ifndef RWF_DONTCACHE
#define RWF_DONTCACHE 0x00000080
#endif

#define PAGE 4096

void mor_fd_close(int *fd)
{
	int saved = errno;

	/* Never repeated after EINTR: on Linux the descriptor is closed, and its number may be used again by
	 * now. */
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	errno = saved;
}

int mor_fd_lift(int *fd, int least)
{
	int higher;

	if (*fd >= least)
		return 0;
	/* EINVAL: there can be no number that high, for the same reason */
	if ((higher = fcntl(*fd, F_DUPFD_CLOEXEC, least)) < 0)
		return errno == EINVAL ? -EMFILE : -errno;
	mor_fd_close(fd);
	*fd = higher;
	return 0;
}

uint64_t mor_fd_unread(int fd)
{
	int count = 0;

	return ioctl(fd, FIONREAD, &count) == 0 && count > 0 ? (uint64_t)count : 0;
}

int mor_fd_nonblock(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return -errno;
	return 0;
}

int mor_fd_reopen(int fd, int flags)
{
	char name[32];
	int again;

	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	again = open(name, flags | O_CLOEXEC);
	return again < 0 ? -errno : again;
}

/* O_NONBLOCK so that a FIFO without a writer does not block us; it has no effect on regular files. */
static int open_regular(int at, const char *path, int more, struct stat *ret_info)
{
	int fd = openat(at, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | more);
	int r = 0;

	if (fd < 0)
		return -errno;
	if (fstat(fd, ret_info) < 0)
		r = -errno;
	else if (S_ISDIR(ret_info->st_mode))
		r = -EISDIR;
	else if (!S_ISREG(ret_info->st_mode))
		r = -EINVAL;
	if (r == 0)
		return fd;
	mor_fd_close(&fd);
	return r;
}

/* Reads at most one byte past the limit: st_size is only a hint (files in /proc say 0, others grow). */
static int read_all(int fd, size_t limit, struct mor_buf *buf)
{
	for (;;) {
		size_t step = 65536;
		ssize_t n;

		if (limit < SIZE_MAX && limit - buf->len < step)
			step = limit - buf->len + 1;
		if (buf->cap > buf->len && buf->cap - buf->len < step)
			step = buf->cap - buf->len;
		if (mor_buf_reserve(buf, step))
			return -ENOMEM;
		n = read(fd, buf->data + buf->len, step);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : 0;
		buf->len += (size_t)n;
		if (buf->len > limit)
			return -EFBIG;
	}
}

/* Closes the descriptor. */
static int read_regular_take(int fd, const struct stat *info, size_t limit, char **ret, size_t *ret_len)
{
	MOR_CLEAN(mor_buf) struct mor_buf buf = MOR_BUF_INIT;
	size_t len;
	char *text;
	int r;

	/* One byte more than the size, so that a normal file takes one allocation, and the last read finds
	 * its end. */
	if ((uintmax_t)info->st_size > limit)
		r = -EFBIG;
	else if (mor_buf_reserve(&buf, (size_t)info->st_size + 1))
		r = -ENOMEM;
	else
		r = read_all(fd, limit, &buf);
	mor_fd_close(&fd);
	if (r < 0)
		return r;
	len = buf.len;
	text = mor_buf_detach(&buf);
	if (!text)
		return -ENOMEM;
	*ret = text;
	if (ret_len)
		*ret_len = len;
	return 0;
}

int mor_fd_read_file(const char *path, size_t limit, char **ret, size_t *ret_len)
{
	struct stat info = { .st_size = 0 };
	int fd = open_regular(AT_FDCWD, path, 0, &info);

	return fd < 0 ? fd : read_regular_take(fd, &info, limit, ret, ret_len);
}

int mor_fd_open_file(const char *path, uint64_t *ret_size)
{
	struct stat info = { .st_size = 0 };
	int fd = open_regular(AT_FDCWD, path, 0, &info);

	*ret_size = (uint64_t)info.st_size;
	return fd;
}

ssize_t mor_fd_read_source(void *source, void *buffer, size_t len)
{
	struct mor_fd_source *from = source;
	ssize_t n;

	if (from->end && from->end - from->at < len)
		len = from->at < from->end ? (size_t)(from->end - from->at) : 0;
	do
		n = len ? read(from->fd, buffer, len) : 0;
	while (n < 0 && errno == EINTR);
	if (n > 0)
		from->at += (uint64_t)n;
	return n < 0 ? -errno : n;
}

ssize_t mor_fd_read_full(int fd, void *data, size_t len)
{
	size_t got = 0;

	while (got < len) {
		ssize_t n = read(fd, (char *)data + got, len - got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		got += (size_t)n;
	}
	return (ssize_t)got;
}

int mor_fd_open_in(int dir, const char *name)
{
	struct stat info;

	return open_regular(dir, name, O_NOFOLLOW, &info);
}

int mor_fd_read_in(int dir, const char *name, size_t limit, char **ret, size_t *ret_len)
{
	struct stat info = { .st_size = 0 };
	int fd = open_regular(dir, name, O_NOFOLLOW, &info);

	return fd < 0 ? fd : read_regular_take(fd, &info, limit, ret, ret_len);
}

static ssize_t write_once(int fd, const void *data, size_t len)
{
	ssize_t n;

	do
		n = write(fd, data, len);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

ssize_t mor_fd_write_masked(int fd, const void *data, size_t len)
{
	static const struct timespec at_once = { 0, 0 };
	sigset_t pipe_only, pending, old;
	bool was_pending;
	ssize_t n;

	sigemptyset(&pipe_only);
	sigaddset(&pipe_only, SIGPIPE);
	/* A signal that was pending before is not ours: it stays. */
	was_pending = sigpending(&pending) == 0 && sigismember(&pending, SIGPIPE) == 1;
	if (pthread_sigmask(SIG_BLOCK, &pipe_only, &old) != 0)
		return -EINVAL;
	n = write_once(fd, data, len);
	if (n == -EPIPE && !was_pending)
		while (sigtimedwait(&pipe_only, NULL, &at_once) < 0 && errno == EINTR)
			;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return n;
}

ssize_t mor_fd_write_nosignal(int fd, const void *data, size_t len)
{
	static atomic_bool refused;

	while (!atomic_load_explicit(&refused, memory_order_relaxed)) {
		struct iovec piece = { (void *)(uintptr_t)data, len };
		/* As pwritev2() does it, which is also a place where threads are cancelled: that is half its
		 * cost. */
		ssize_t n = syscall(SYS_pwritev2, fd, &piece, 1, -1L, -1L, RWF_NOSIGNAL);

		if (n >= 0)
			return n;
		if (errno == EINTR)
			continue;
		/* EINVAL may also be the descriptor's fault. Then the other way fails as well, and we lose
		 * only some speed. */
		if (errno != EOPNOTSUPP && errno != EINVAL && errno != ENOSYS)
			return -errno;
		atomic_store_explicit(&refused, true, memory_order_relaxed);
	}
	return mor_fd_write_masked(fd, data, len);
}

int mor_fd_write_all(int fd, const void *data, size_t len)
{
	const char *at = data;

	while (len > 0) {
		ssize_t n = mor_fd_write_nosignal(fd, at, len);

		if (n == -EAGAIN) {
			poll(&(struct pollfd){ .fd = fd, .events = POLLOUT }, 1, -1);
			continue;
		}
		if (n < 0 && n != -EINTR)
			return (int)n;
		if (n > 0) {
			at += n;
			len -= (size_t)n;
		}
	}
	return 0;
}

/* If the file system has no unnamed files, we make a file and remove its name. */
int mor_fd_unnamed(const char *dir)
{
	struct mor_buf path = MOR_BUF_INIT;
	char *name;
	int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	/* A kernel that does not know O_TMPFILE sees an attempt to write a directory. */
	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
		return fd < 0 ? -errno : fd;
	mor_buf_printf(&path, "%s/.mortise-XXXXXX", dir);
	name = mor_buf_detach(&path);
	if (!name)
		return -ENOMEM;
	if ((fd = mkostemp(name, O_CLOEXEC)) < 0)
		fd = -errno;
	else
		(void)unlink(name);
	mor_free(name);
	return fd;
}

/* The last page stays if it is not full: the next write would have to read it again. */
int mor_fd_write_uncached(int fd, uint64_t at, const void *data, size_t len)
{
	size_t tail = (size_t)((at + len) % PAGE), whole = len > tail ? len - tail : 0;
	const char *from = data;

	while (whole > 0) {
		struct iovec piece = { (void *)(uintptr_t)from, whole };
		ssize_t n = pwritev2(fd, &piece, 1, -1, RWF_DONTCACHE);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break; /* not supported here; or a failure, which will come again */
		from += n;
		whole -= (size_t)n;
		len -= (size_t)n;
	}
	return mor_fd_write_all(fd, from, len);
}
