/* SPDX-License-Identifier: Apache-2.0 */
/* Level t1, step by step, for confine.c: the steps of confine.h in separate namespaces. */
#ifndef MOR_JAIL_CONFINE_T1_H
#define MOR_JAIL_CONFINE_T1_H

#include <stdbool.h>

#include <sys/types.h>

#include "policy/plan.h"

/* A rule for the whole tree leaves nothing to hide: false, with the reason. */
bool mor_t1_sensible(const struct mor_plan *plan, struct mor_setup_failure *failure);
int mor_t1_prepare(struct mor_plan *plan, struct mor_setup_failure *failure); /* after mor_t0_prepare() */
unsigned mor_t1_namespaces(const struct mor_plan *plan);
int mor_t1_refused(unsigned namespaces, int error, struct mor_setup_failure *failure); /* -1 */
int mor_t1_init(struct mor_plan *plan, struct mor_setup_failure *failure);
int mor_t1_leave(struct mor_setup_failure *failure);

/* Our rules then mean the tmpfs that this process has made for it. 0 or -1 with errno. */
int mor_t1_take_scratch(const struct mor_plan *plan, pid_t keeper);
/* The same for the copy of an installed plugin's files (checked.h). */
int mor_t1_take_checked(const struct mor_plan *plan, pid_t keeper);

#endif
