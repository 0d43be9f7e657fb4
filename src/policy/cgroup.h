/* SPDX-License-Identifier: Apache-2.0 */
/* Where groups with limits can be made for a plugin: the cgroups that this process may write. Version 2 has one
 * tree, version 1 one for each controller. */
#ifndef MOR_POLICY_CGROUP_H
#define MOR_POLICY_CGROUP_H

#include <stdbool.h>
#include <stddef.h>

#include "policy/plan.h"

struct mor_cgroup_place {
	unsigned version;     /* 1 or 2 */
	unsigned controllers; /* enum mor_cgroup_controller: those that limit a group made here */
	char path[256];
};
struct mor_cgroups {
	struct mor_cgroup_place places[2];
	size_t count;
	unsigned mounted; /* controllers that exist here at all, whoever may use them */
};
/* mountinfo, membership: /proc/self/mountinfo and /proc/self/cgroup, or what a test has written. */
void mor_cgroup_find(const char *mountinfo, const char *membership, struct mor_cgroups *ret);
/* Of this process. */
void mor_cgroup_find_own(struct mor_cgroups *ret);
unsigned mor_cgroup_held(const struct mor_cgroups *groups);

/* What to warn of: a limit that somebody has set and that cannot hold here as it should, or NULL. */
struct mor_policy;
const char *mor_cgroup_loose(const struct mor_policy *policy, unsigned held);

#endif
