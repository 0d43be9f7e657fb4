/*
 * The small file tree of level t1: the same absolute names as on the host, but only those that a rule names. It is built
 * in a mount namespace of its own, by the first process of the PID namespace, which must not stand under Landlock.
 */
#ifndef MOR_JAIL_ROOT_H
#define MOR_JAIL_ROOT_H

#include "jail/paths.h"
#include "jail/plan.h"

/* 0 or -errno; *step names what was refused, for people. Leaves the caller in the new root, at the directory that it was
 * in before, as far as that is there. */
int mor_root_enter(const struct mor_paths *paths, const struct mor_plan *plan, const char **step);

/* The same with every top-level name that the host has: nothing is hidden, but more can be hung there (view.h). */
int mor_root_whole(const struct mor_plan *plan, const char **step);

/* A canonical name below a handle on a root, O_PATH. -errno. */
int mor_mount_open(int root, const char *name);
/* A copy of what `from` is, with all mounts in it, as a mount that belongs nowhere yet. -errno. */
int mor_mount_copy(int from, uint64_t attributes);

#endif
