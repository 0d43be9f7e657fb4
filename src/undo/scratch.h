/* SPDX-License-Identifier: Apache-2.0 */
/* The private directory of a confined plugin: made before the start, removed with all that is in it. By the guardian, by
 * the host if the guardian has been killed, or by the next confined start of the same user if both have. */
#ifndef MOR_UNDO_SCRATCH_H
#define MOR_UNDO_SCRATCH_H

#include <limits.h>

struct mor_scratch {
	int parent, dir; /* O_PATH, and O_RDONLY with our lock; -1: there is none of ours */
	char name[32], path[PATH_MAX];
};
/* clang-format off */
#define MOR_SCRATCH_INIT { .parent = -1, .dir = -1 }
/* clang-format on */
#define MOR_SCRATCH_PARENT "/tmp"

/* A new one below `parent`, mode 0700. 0 or -errno. */
int mor_scratch_make(struct mor_scratch *scratch, const char *parent);
/* Whatever is in there, however deep: never follows a link, never needs more than a few descriptors. */
void mor_scratch_remove(struct mor_scratch *scratch);
/* Removes the one that the guardian told of (STARTED), for a guardian that was killed. No-op if it is not one of ours, or
 * is gone. */
void mor_scratch_drop(const char *path);
/* Removes what of this user's below `parent` nobody alive has made. A bounded piece of it: the rest is for later starts. */
void mor_scratch_sweep(const char *parent);

#endif
