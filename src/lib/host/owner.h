/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The owner of a host: one thread of the process that made it. Hosts and plugins share one of these, because
 * a plugin's handle may outlive its host.
 */
#ifndef MOR_HOST_OWNER_H
#define MOR_HOST_OWNER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

struct mor_owner {
	_Atomic pthread_t thread; /* 0 belongs to nobody: a copy in a forked child */
	pid_t pid;
	unsigned refs;
};

struct mor_owner *mor_owner_new(void); /* the calling thread; NULL: out of memory */
struct mor_owner *mor_owner_ref(struct mor_owner *owner);
void mor_owner_unref(struct mor_owner *owner); /* NULL is fine */

/* Is the calling thread the owner? Costs no system call. */
static inline bool mor_owner_is_us(const struct mor_owner *owner)
{
	return atomic_load_explicit(&owner->thread, memory_order_relaxed) == pthread_self();
}

/* Are we a child forked from the host's process? A system call: use it only in functions that free. */
bool mor_owner_is_copy(const struct mor_owner *owner);

#endif
