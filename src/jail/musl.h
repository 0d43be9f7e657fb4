/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mortise-jail with musl in place of glibc: included before the first line of each of its files (-include).
 *
 * Why musl: it runs once per start of a plugin. glibc, linked statically, asks the processor 41 times what it
 * can do before main(), and in a virtual machine each question is an exit to the hypervisor: 0.45 ms of 0.6
 * that an empty program takes. musl asks nothing. What it lacks is here: system calls without a wrapper, and
 * the checked copies of _FORTIFY_SOURCE, done as glibc does them.
 */
#ifndef MOR_JAIL_MUSL_H
#define MOR_JAIL_MUSL_H
#pragma GCC system_header /* the compiler cannot check a format that is passed on */

#define _LARGEFILE64_SOURCE /* musl has names such as dirent64 only for those who ask, since 1.2.4 */
#include <stdint.h>

#ifndef __GLIBC__ /* with glibc there is nothing to add */
/* musl 1.2.3 (Debian 12) has none of these, 1.2.5 (Debian 13) has: they are ours in both. */
#define pwritev2        musl_pwritev2
#define renameat2       musl_renameat2
#define statx           musl_statx
#define statx_timestamp musl_statx_timestamp
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#undef pwritev2
#undef renameat2
#undef statx
#undef statx_timestamp

/* The kernel's: what is in both is the same. */
#include <linux/mount.h>
#include <linux/stat.h>

#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE (1 << 0)
#define RENAME_EXCHANGE  (1 << 1)
#endif
#ifndef AT_RECURSIVE
#define AT_RECURSIVE 0x8000
#endif

/* ---- system calls ---- */

static inline int close_range(unsigned first, unsigned last, int flags)
{
	return (int)syscall(SYS_close_range, first, last, flags);
}

static inline int renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
	return (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, flags);
}

static inline ssize_t pwritev2(int fd, const struct iovec *parts, int count, off_t at, int flags)
{
	return syscall(SYS_pwritev2, fd, parts, count, at, 0, flags);
}

static inline int statx(int dir, const char *path, int flags, unsigned mask, struct statx *ret)
{
	return (int)syscall(SYS_statx, dir, path, flags, mask, ret);
}

static inline int open_tree(int dir, const char *path, unsigned flags)
{
	return (int)syscall(SYS_open_tree, dir, path, flags);
}

static inline int move_mount(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
	return (int)syscall(SYS_move_mount, from_dir, from, to_dir, to, flags);
}

static inline int mount_setattr(int dir, const char *path, unsigned flags, struct mount_attr *attr, size_t size)
{
	return (int)syscall(SYS_mount_setattr, dir, path, flags, attr, size);
}

static inline int fsopen(const char *name, unsigned flags)
{
	return (int)syscall(SYS_fsopen, name, flags);
}

static inline int fsconfig(int fd, unsigned command, const char *key, const void *value, int aux)
{
	return (int)syscall(SYS_fsconfig, fd, command, key, value, aux);
}

static inline int fsmount(int fd, unsigned flags, unsigned attributes)
{
	return (int)syscall(SYS_fsmount, fd, flags, attributes);
}

/* ---- texts ---- */

static inline const char *strerrordesc_np(int error)
{
	return strerror(error);
}
const char *strerrorname_np(int error); /* nothing in mortise-jail calls it */

/* ---- checked copies: a process that writes beyond what the compiler knows of the target is ended ---- */

_Noreturn void mor_chk_fail(void);

#define MOR_INLINED              __always_inline__, __gnu_inline__, __artificial__
#define MOR_CHECKED              extern inline __attribute__((MOR_INLINED))
#define MOR_ROOM(to)             __builtin_object_size(to, 0)
#define MOR_UNCHECKED(name, ...) mor_unchecked_##name(__VA_ARGS__) __asm__(#name)

#ifndef __clang__ /* clang-tidy reads this, too */
MOR_CHECKED void *memcpy(void *restrict to, const void *restrict from, size_t size)
{
	return __builtin___memcpy_chk(to, from, size, MOR_ROOM(to));
}

MOR_CHECKED void *memmove(void *to, const void *from, size_t size)
{
	return __builtin___memmove_chk(to, from, size, MOR_ROOM(to));
}

MOR_CHECKED void *memset(void *to, int byte, size_t size)
{
	return __builtin___memset_chk(to, byte, size, MOR_ROOM(to));
}

MOR_CHECKED int snprintf(char *restrict to, size_t size, const char *restrict format, ...)
{
	return __builtin___snprintf_chk(to, size, 1, __builtin_object_size(to, 1), format,
					__builtin_va_arg_pack());
}

MOR_CHECKED int vsnprintf(char *restrict to, size_t size, const char *restrict format, va_list args)
{
	return __builtin___vsnprintf_chk(to, size, 1, __builtin_object_size(to, 1), format, args);
}

ssize_t MOR_UNCHECKED(read, int, void *, size_t);
MOR_CHECKED ssize_t read(int fd, void *to, size_t size)
{
	if (size > MOR_ROOM(to))
		mor_chk_fail();
	return mor_unchecked_read(fd, to, size);
}

ssize_t MOR_UNCHECKED(pread, int, void *, size_t, off_t);
MOR_CHECKED ssize_t pread(int fd, void *to, size_t size, off_t at)
{
	if (size > MOR_ROOM(to))
		mor_chk_fail();
	return mor_unchecked_pread(fd, to, size, at);
}

ssize_t MOR_UNCHECKED(recv, int, void *, size_t, int);
MOR_CHECKED ssize_t recv(int fd, void *to, size_t size, int flags)
{
	if (size > MOR_ROOM(to))
		mor_chk_fail();
	return mor_unchecked_recv(fd, to, size, flags);
}

ssize_t MOR_UNCHECKED(readlink, const char *restrict, char *restrict, size_t);
MOR_CHECKED ssize_t readlink(const char *restrict path, char *restrict to, size_t size)
{
	if (size > MOR_ROOM(to))
		mor_chk_fail();
	return mor_unchecked_readlink(path, to, size);
}

ssize_t MOR_UNCHECKED(readlinkat, int, const char *restrict, char *restrict, size_t);
MOR_CHECKED ssize_t readlinkat(int dir, const char *restrict path, char *restrict to, size_t size)
{
	if (size > MOR_ROOM(to))
		mor_chk_fail();
	return mor_unchecked_readlinkat(dir, path, to, size);
}

#endif
#endif
#endif
