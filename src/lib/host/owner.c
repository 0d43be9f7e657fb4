/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The owner of a host: one thread of the process that made it. Plugins share it, because they may outlive
 * their host.
 *
 * It is on a separate page that the kernel clears in a forked child, so that the check costs no system call:
 * a host without a thread is a copy. The child owns its memory, but its processes, the queues of its
 * descriptors and its files belong to the parent.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "host/owner.h"

struct mor_owner *mor_owner_new(void)
{
	struct mor_owner *owner =
		mmap(NULL, sizeof(*owner), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (owner == MAP_FAILED)
		return NULL;
	/* If the kernel cannot do this, the pid below still prevents harm when a child frees it. */
	(void)madvise(owner, sizeof(*owner), MADV_WIPEONFORK);
	owner->thread = pthread_self();
	owner->pid = getpid();
	owner->refs = 1;
	return owner;
}

struct mor_owner *mor_owner_ref(struct mor_owner *owner)
{
	owner->refs++;
	return owner;
}

void mor_owner_unref(struct mor_owner *owner)
{
	/* In a copy the count is gone, and the page is freed with the process. */
	if (owner && !mor_owner_is_copy(owner) && --owner->refs == 0)
		munmap(owner, sizeof(*owner));
}

bool mor_owner_is_copy(const struct mor_owner *owner)
{
	return owner->pid != getpid();
}
