/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System calls without the C library's wrappers, for the few steps of the broker that every open needs. In a
 * program with threads a wrapper also handles cancellation and errno: some 15 ns each, and extra pages. The
 * result or -errno.
 */
#ifndef MOR_JAIL_DIRECT_H
#define MOR_JAIL_DIRECT_H

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline long mor_direct(long number, long a, long b, long c, long d)
{
#if defined(__x86_64__)
	register long r10 __asm__("r10") = d;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10)
			 : "rcx", "r11", "memory");
	return result;
#else
	long result = syscall(number, a, b, c, d);

	return result < 0 ? -errno : result;
#endif
}

#endif
