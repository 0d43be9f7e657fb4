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

#endif
