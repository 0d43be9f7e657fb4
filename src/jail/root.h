/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The small file tree of level t1: the same absolute names as on the host, but only those that a rule names. It is built
 * in a mount namespace of its own, by the first process of the PID namespace, which must not stand under Landlock.
 */
#ifndef MOR_JAIL_ROOT_H
#define MOR_JAIL_ROOT_H

#include "jail/paths.h"
#include "policy/plan.h"

/* The caller's root, and where he stands, becomes the small tree, whole and read-only; but the host's still lies on top of it
 * for whoever joins the namespace, so nobody may yet. 0 or -errno; *step names what was refused, for people, and the caller
 * has nothing left to do then but to end. */
int mor_root_make(const struct mor_paths *paths, const struct mor_plan *plan, const char **step);
/* Lets go of the host's tree. That is done at once, but the kernel lets the caller wait for a tenth of a millisecond or,
 * where others keep it busy, for several. */
int mor_root_leave(const char **step);

/* Both with every top-level name that the host has: nothing is hidden, but more can be hung there (view.h). Leaves the
 * caller at the directory that it was in before, unless the plan has one. */
int mor_root_whole(const struct mor_plan *plan, const char **step);

/* A canonical name below a handle on a root, O_PATH. -errno. */
int mor_mount_open(int root, const char *name);
/* A copy of what `from` is, with all mounts in it, as a mount that belongs nowhere yet. -errno. */
int mor_mount_copy(int from, uint64_t attributes);

#endif
