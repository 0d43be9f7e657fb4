/* Level t1, step by step, for confine.c: the steps of confine.h in namespaces of their own. */
#ifndef MOR_JAIL_CONFINE_T1_H
#define MOR_JAIL_CONFINE_T1_H

#include "jail/plan.h"

/* Tries everything in a throw-away child; decides what AUTO comes to, and says so in plan->level.level. */
int mor_t1_prepare(struct mor_plan *plan, struct mor_setup_failure *failure);
unsigned mor_t1_namespaces(const struct mor_plan *plan);
int mor_t1_init(struct mor_plan *plan, struct mor_setup_failure *failure);
int mor_t1_enter(const struct mor_plan *plan, int channel, struct mor_setup_failure *failure);

#endif
