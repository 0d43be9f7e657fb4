/* SPDX-License-Identifier: Apache-2.0 */
/* Who the plugin is: made-up /etc/passwd and /etc/group with root, the user and nobody. Nothing in them comes
 * from the machine's own files. */
#ifndef MOR_JAIL_IDENTITY_H
#define MOR_JAIL_IDENTITY_H

#include "jail/paths.h"

/* The user's name, home and shell are those of the plan's environment (USER, HOME, SHELL). 0 or -errno. */
int mor_identity_make_up(struct mor_paths *paths, const struct mor_plan *plan);

#endif
