/* SPDX-License-Identifier: Apache-2.0 */
#include "cut.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

static struct {
	long at, count;
	int error;
} plan = { .at = -1 };

void cut_at(long n, int error)
{
	plan.at = n;
	plan.count = 0;
	plan.error = error;
}

long cut_count(void)
{
	return plan.count;
}

/* `room`: the call needs some. true: it must fail. */
static bool cut(bool room)
{
	long now = plan.count++;

	if (plan.at < 0 || now < plan.at || (plan.error && !room))
		return false;
	if (!plan.error)
		_exit(CUT_STATUS);
	errno = plan.error;
	return true;
}

#define WRAP(room, type, name, params, args) \
	type __real_##name params; \
	type __wrap_##name params; \
	type __wrap_##name params \
	{ \
		return cut(room) ? (type)-1 : __real_##name args; \
	}

WRAP(true, int, mkdirat, (int at, const char *path, mode_t mode), (at, path, mode))
WRAP(true, int, linkat, (int a, const char *from, int b, const char *to, int flags), (a, from, b, to, flags))
WRAP(true, int, symlinkat, (const char *to, int at, const char *path), (to, at, path))
WRAP(true, ssize_t, sendfile64, (int to, int from, off_t *at, size_t len), (to, from, at, len))
WRAP(true, ssize_t, write, (int fd, const void *data, size_t len), (fd, data, len))
WRAP(true, int, rename, (const char *from, const char *to), (from, to))
WRAP(true, int, renameat2, (int a, const char *from, int b, const char *to, unsigned flags),
     (a, from, b, to, flags))
WRAP(true, int, renameat, (int a, const char *from, int b, const char *to), (a, from, b, to))
WRAP(false, int, unlinkat, (int at, const char *path, int flags), (at, path, flags))
WRAP(false, int, unlink, (const char *path), (path))
WRAP(false, int, fchmod, (int fd, mode_t mode), (fd, mode))
WRAP(false, int, flock, (int fd, int how), (fd, how))

/* Not the real one: what a process has written stays when it is killed. */
int __wrap_fdatasync(int fd);
int __wrap_fdatasync(int fd)
{
	(void)fd;
	return cut(true) ? -1 : 0;
}

char *__real_mkdtemp(char *path);
char *__wrap_mkdtemp(char *path);
char *__wrap_mkdtemp(char *path)
{
	return cut(true) ? NULL : __real_mkdtemp(path);
}

static mode_t mode_of(int flags, va_list args)
{
	return flags & (O_CREAT | O_TMPFILE) ? va_arg(args, mode_t) : 0;
}

static bool makes(int flags)
{
	return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE;
}

int __real_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...)
{
	va_list args;
	mode_t mode;

	va_start(args, flags);
	mode = mode_of(flags, args);
	va_end(args);
	return makes(flags) && cut(true) ? -1 : __real_open64(path, flags, mode);
}

int __real_openat64(int at, const char *path, int flags, ...);
int __wrap_openat64(int at, const char *path, int flags, ...);
int __wrap_openat64(int at, const char *path, int flags, ...)
{
	va_list args;
	mode_t mode;

	va_start(args, flags);
	mode = mode_of(flags, args);
	va_end(args);
	return makes(flags) && cut(true) ? -1 : __real_openat64(at, path, flags, mode);
}
