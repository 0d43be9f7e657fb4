/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose a host is: one thread's, of the process that made it. Plugins hold on to this, too: they may outlive their host.
 *
 * It lies on a page of its own that the kernel empties in a forked child, so that there the question costs no system call:
 * a host without a thread is a copy. Its memory is the child's, but its processes, its descriptors' queues and what lies
 * on disk are its parent's.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "host/owner.h"

struct mor_owner *mor_owner_new(void)
{
	struct mor_owner *owner = mmap(NULL, sizeof(*owner), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (owner == MAP_FAILED)
		return NULL;
	/* Where the kernel cannot do this, the pid below still keeps a child from doing harm when it frees. */
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
	/* In a copy the count is gone, and the page with the process. */
	if (owner && !mor_owner_is_copy(owner) && --owner->refs == 0)
		munmap(owner, sizeof(*owner));
}

bool mor_owner_is_copy(const struct mor_owner *owner)
{
	return owner->pid != getpid();
}
