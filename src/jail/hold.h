/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps protected paths, and what has a rule of its own in a writable directory, in their place at level t1,
 * even if the broker is wrong. */
#ifndef MOR_JAIL_HOLD_H
#define MOR_JAIL_HOLD_H

#include "jail/confine.h"
#include "jail/paths.h"

/* In the guardian, before it is under Landlock. Does nothing if nothing is protected. 0, or -1 with
 * *failure. */
int mor_hold_protected(const struct mor_paths *paths, struct mor_setup_failure *failure);

#endif
