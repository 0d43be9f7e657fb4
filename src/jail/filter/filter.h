/* SPDX-License-Identifier: Apache-2.0 */
/* The generated filters and the list of notified calls, as the program mortise-jail sees them. */
#ifndef MOR_JAIL_FILTER_FILTER_H
#define MOR_JAIL_FILTER_FILTER_H

#include <linux/filter.h>
#include <stddef.h>
#include <stdint.h>

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
/* For all threads of the guardian, after everything is started: no new process, no mount, no socket, except
 * what the broker does for a plugin with this variant of the network. 0 or -errno. */
int mor_filter_load_guardian(unsigned variant);

#endif
