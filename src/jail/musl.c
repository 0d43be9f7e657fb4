/* SPDX-License-Identifier: Apache-2.0 */
/* See musl.h: what the compiler calls where it cannot tell by itself that a copy fits. */
#include "jail/musl.h"

#include <fcntl.h>
#include <sys/ioctl.h>

/* Names that gcc knows. */
void *__memcpy_chk(void *to, const void *from, size_t size, size_t room);
void *__memmove_chk(void *to, const void *from, size_t size, size_t room);
void *__memset_chk(void *to, int byte, size_t size, size_t room);
int __snprintf_chk(char *to, size_t size, int flag, size_t room, const char *format, ...)
	__attribute__((format(printf, 5, 6)));
int __vsnprintf_chk(char *to, size_t size, int flag, size_t room, const char *format, va_list args)
	__attribute__((format(printf, 5, 0)));

void *MOR_UNCHECKED(memcpy, void *, const void *, size_t);
void *MOR_UNCHECKED(memmove, void *, const void *, size_t);
void *MOR_UNCHECKED(memset, void *, int, size_t);
int MOR_UNCHECKED(vsnprintf, char *, size_t, const char *, va_list) __attribute__((format(printf, 3, 0)));

/* In place of musl's, which makes the request a signed number of 64 bits: the kernel does not mind, but a
 * filter would see another request. */
int ioctl(int fd, int request, ...)
{
	va_list args;
	void *arg;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	return (int)syscall(SYS_ioctl, fd, (unsigned long)(unsigned)request, arg);
}

/* In place of musl's, which sets close-on-exec once more, in case the kernel is from 2007. */
int open(const char *path, int flags, ...)
{
	va_list args;
	mode_t mode;

	va_start(args, flags);
	mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(args, mode_t) : 0;
	va_end(args);
	return openat(AT_FDCWD, path, flags, mode);
}

_Noreturn void mor_chk_fail(void)
{
	__builtin_trap();
}

void *__memcpy_chk(void *to, const void *from, size_t size, size_t room)
{
	if (size > room)
		mor_chk_fail();
	return mor_unchecked_memcpy(to, from, size);
}

void *__memmove_chk(void *to, const void *from, size_t size, size_t room)
{
	if (size > room)
		mor_chk_fail();
	return mor_unchecked_memmove(to, from, size);
}

void *__memset_chk(void *to, int byte, size_t size, size_t room)
{
	if (size > room)
		mor_chk_fail();
	return mor_unchecked_memset(to, byte, size);
}

int __vsnprintf_chk(char *to, size_t size, int flag, size_t room, const char *format, va_list args)
{
	(void)flag;
	if (size > room)
		mor_chk_fail();
	return mor_unchecked_vsnprintf(to, size, format, args);
}

int __snprintf_chk(char *to, size_t size, int flag, size_t room, const char *format, ...)
{
	va_list args;
	int len;

	va_start(args, format);
	len = __vsnprintf_chk(to, size, flag, room, format, args);
	va_end(args);
	return len;
}
