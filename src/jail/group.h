/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control groups of one plugin: made by the guardian where the plan says, entered by the launcher
 * before its execve, removed when nobody is left in them. What cannot be made is left out;
 * mor_groups_held() says what holds.
 */
#ifndef MOR_JAIL_GROUP_H
#define MOR_JAIL_GROUP_H

#include <stdint.h>
#include <sys/types.h>

#include "policy/plan.h"

void mor_groups_make(const struct mor_plan *plan);
unsigned mor_groups_held(void); /* enum mor_cgroup_controller */
/* Like the system call, with SIGCHLD at the child's end; the child is in the group of version 2 from its first
 * instruction on, where the kernel can do that: to join it later waits for every processor (measured: 20 to 130
 * ms). */
pid_t mor_groups_clone(unsigned long flags);
/* In the child: enters those that it is not in. 0 or -errno. */
int mor_groups_join(void);
/* The parent directories, from which our groups must be removed later; -1 ends them. */
int mor_groups_parent(unsigned number);
void mor_groups_kill(void); /* all that is in them, where the kernel can */
/* Time that all in them have used; -1: nobody counts it. */
int64_t mor_groups_cpu_us(void);
/* Which limits were reached, but for time. */
unsigned mor_groups_reached(void);
void mor_groups_remove(void);

#endif
