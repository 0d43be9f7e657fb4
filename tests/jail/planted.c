/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Linked into mortise-jail in front of the real thing (-Wl,--wrap): a guardian with faults that a plugin
 * chooses by the name of a directory that it makes. They show what happens then: its own filter ends it, or a
 * sanitizer reports it.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "jail/broker.h"

int __real_mor_on_mkdir(struct mor_syscall *call);
int __wrap_mor_on_mkdir(struct mor_syscall *call);

/* Not to be optimised away, nor to be seen by the compiler. */
static volatile size_t beyond = 8;

static void overflow(void)
{
	volatile char *few = malloc(beyond);

	if (few)
		few[beyond] = 1;
	free((void *)(uintptr_t)few);
}

/* Beyond a buffer whose size the compiler knows: a checked copy must not begin. */
static void copy_too_much(const char *from)
{
	char few[8];

	memcpy(few, from, beyond * 2);
	__asm__ volatile("" : : "r"(few) : "memory");
}

int __wrap_mor_on_mkdir(struct mor_syscall *call)
{
	char path[PATH_MAX];

	if (mor_syscall_text(call, mor_syscall_arg_at(call, 0), path) == 0) {
		if (strstr(path, "planted-overflow"))
			overflow();
		else if (strstr(path, "planted-copy"))
			copy_too_much(path);
		else if (strstr(path, "planted-call")) /* harmless, and in no row */
			(void)getpriority(PRIO_PROCESS, 0);
	}
	return __real_mor_on_mkdir(call);
}
