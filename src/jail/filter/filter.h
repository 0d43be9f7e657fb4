/* SPDX-License-Identifier: Apache-2.0 */
/* The generated filters and the list of notified calls, as the program mortise-jail sees them. */
#ifndef MOR_JAIL_FILTER_FILTER_H
#define MOR_JAIL_FILTER_FILTER_H

#include <linux/filter.h>
#include <signal.h>
#include <stdbool.h>

#include "jail/filter/syscalls.h"

struct mor_filter {
	const struct sock_filter *code;
	unsigned short len;
	const unsigned short *selves; /* instructions whose constant becomes the loader's pid */
	unsigned short self_count;
};

struct mor_notified {
	short number;
	uint8_t notify; /* enum mor_notify */
	const char *name;
};
extern const struct mor_notified mor_notified[]; /* by number */
extern const size_t mor_notified_count;

/* Loads variant `variant` (enum mor_filter_variant) into this thread; no_new_privs must be set. The listener,
 * close-on- exec, or -errno. -EINVAL: the kernel lacks WAIT_KILLABLE_RECV (before 5.19). */
int mor_filter_load(unsigned variant);
/* For all threads of the guardian, after everything is started: only what guardian.c lists for this variant of
 * the network. Any other call ends us (SECCOMP_RET_KILL_PROCESS). 0 or -errno. */
int mor_filter_load_guardian(unsigned variant);
/* Builds that are no release send SIGSYS instead, so that the missing call can be named. */
bool mor_filter_traps(void);
const char *mor_filter_trapped(const siginfo_t *info);

#endif
