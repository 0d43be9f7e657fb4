/* SPDX-License-Identifier: Apache-2.0 */
/* Where groups with limits can be made for a plugin: the cgroups that this process may write. Version 2 has one
 * tree, version 1 one for each controller. */
#ifndef MOR_POLICY_CGROUP_H
#define MOR_POLICY_CGROUP_H

#include "policy/plan.h"

enum { MOR_CGROUP_PLACES = 4 }; /* three trees of version 1, one of version 2 */
struct mor_cgroup_place {
	unsigned version;     /* 1 or 2 */
	unsigned controllers; /* enum mor_cgroup_controller: those that limit a group made here */
	char path[256];
};
struct mor_cgroups {
	struct mor_cgroup_place places[MOR_CGROUP_PLACES];
	size_t count;
	unsigned mounted; /* controllers that exist here at all, also those that we may not use */
};
/* mountinfo, membership: /proc/self/mountinfo and /proc/self/cgroup, or what a test has written. */
void mor_cgroup_find(const char *mountinfo, const char *membership, struct mor_cgroups *ret);
/* Of this process. */
void mor_cgroup_find_own(struct mor_cgroups *ret);
unsigned mor_cgroup_held(const struct mor_cgroups *groups);

struct mor_policy;
/* The controllers whose limits somebody has set and that need a group to hold for all processes together. 0: no
 * group is made, and nobody needs to look for one. */
unsigned mor_cgroup_wanted(const struct mor_policy *policy);
/* What to warn of: limits that somebody has set and that cannot hold here as they should. The first, the
 * second, ...; NULL ends them. */
const char *mor_cgroup_loose(const struct mor_policy *policy, unsigned held, size_t number);

#endif
