/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The limit of processor time for all processes of a plugin together. The kernel has none: RLIMIT_CPU begins
 * anew in every process. So a control group counts (group.h), and the guardian looks when the limit could be
 * reached at the earliest, with all processors busy: 30 s on 4 processors are not looked at for 7.5 s.
 */
#ifndef MOR_JAIL_SPENT_H
#define MOR_JAIL_SPENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>

#include "policy/plan.h"

enum mor_spent {
	MOR_SPENT_NOT, /* not yet, or it is not time to look */
	MOR_SPENT_ALL, /* once: they get SIGXCPU, as from the kernel */
	MOR_SPENT_OVER /* a second later: SIGKILL */
};
/* After mor_groups_make(). Times are those of mor_clock_ms(). */
void mor_spent_begin(const struct mor_plan *plan, int64_t now);
int64_t mor_spent_due(void); /* when to look; 0: never */
enum mor_spent mor_spent_look(int64_t now);
/* At the end: have they reached their limit? */
bool mor_spent_reached(void);
/* Has one process by itself, as RLIMIT_CPU counts? */
bool mor_spent_alone(const struct mor_plan *plan, const struct rusage *usage);

#endif
