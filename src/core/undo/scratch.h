/* SPDX-License-Identifier: Apache-2.0 */
/* The private directory of a confined plugin: made before the start, removed with its contents. The guardian
 * removes it; or the host, if the guardian was killed; or the next confined start of the same user, if both
 * were. */
#ifndef MOR_UNDO_SCRATCH_H
#define MOR_UNDO_SCRATCH_H

#include <limits.h>
#include <stdbool.h>

struct mor_scratch {
	int parent, dir; /* O_PATH, and O_RDONLY with our lock; -1: no directory of ours */
	char name[32], path[PATH_MAX];
};
/* clang-format off */
#define MOR_SCRATCH_INIT { .parent = -1, .dir = -1 }
/* clang-format on */
#define MOR_SCRATCH_PARENT "/tmp"

/* A new one below `parent`, mode 0700. 0 or -errno. */
int mor_scratch_make(struct mor_scratch *scratch, const char *parent);
/* Removes everything in it, at any depth. Never follows a link, and needs only a few descriptors. */
void mor_scratch_remove(struct mor_scratch *scratch);
/* The same, but at most `entries` of them. false: there is more, and it stays open. */
bool mor_scratch_remove_some(struct mor_scratch *scratch, unsigned entries);
/* Removes the directory that the guardian reported (STARTED), after the guardian was killed. Does nothing if
 * it is not ours or is gone. */
void mor_scratch_drop(const char *path);
/* Removes this user's directories below `parent` whose makers are dead. Only a limited number: later starts
 * remove the rest. */
void mor_scratch_sweep(const char *parent);

#endif
