/* SPDX-License-Identifier: Apache-2.0 */
/* Finds what is really executed. Script lines are resolved, so that exactly one execve is needed, and the
 * files that the kernel opens with it are found. */
#ifndef MOR_JAIL_ENTRY_H
#define MOR_JAIL_ENTRY_H

#include "jail/confine.h"
#include "jail/paths.h"

/* Replaces plan->argv if argv[0] is a script (#!, also through env), and adds the rules for the entry, its
 * interpreter, the ELF loader and the interpreter's library directory. 0, or -1 with *failure filled. */
int mor_launch_resolve(struct mor_plan *plan, struct mor_paths *paths, struct mor_setup_failure *failure);

#endif
