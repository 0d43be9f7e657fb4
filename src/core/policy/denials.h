/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was refused to one confined program from its start to its end (on_denial = deny), as its guardian
 * tells it: folded by call and path, at most MOR_PLAN_DENIED_MAX kept; and what was allowed only because the
 * program is watched (MOR_JAIL_LEARN), at most MOR_PLAN_NEEDED_MAX. And the sum of what was denied, for
 * people and for machines.
 */
#ifndef MOR_POLICY_DENIALS_H
#define MOR_POLICY_DENIALS_H

#include "policy/policy.h"

struct mor_denial {
	char *syscall, *path; /* path "": none */
	enum mor_forbidden what;
	bool allowed, with_spawn; /* as in struct mor_record: nothing was denied */
	uint64_t count;           /* 1 until the program has ended: then the guardian says how often it was */
};
struct mor_denials {
	struct mor_denial *items;
	size_t count;
	uint64_t total; /* since its end; also those that were not kept */
};

void mor_denials_fini(struct mor_denials *denials);
/* A record of the guardian: DENIED, or EXITED for the total. 1: a new item, the last one; 0, or
 * MORTISE_ENOMEM. */
int mor_denials_take(struct mor_denials *denials, const struct mor_record *record);
/* One of them, to be put into words. Borrows everything. */
struct mor_violation mor_denials_violation(const struct mor_denial *denial, const char *plugin,
					   enum mor_policy_source source);

/* One line: "cat tried to read /etc/shadow (2 times), use the network; to allow it, add --read /etc/shadow, add
 * --network". Nothing if nothing was denied. */
int mor_denials_text(const struct mor_denials *denials, const char *plugin, enum mor_policy_source source,
		     struct mor_buf *out);
/* {"event":"sandbox_denials","plugin","total","kept","denials":[{"syscall","path","kind","rule","allow","count"}]}
 */
int mor_denials_json(const struct mor_denials *denials, const char *plugin, enum mor_policy_source source,
		     struct mor_buf *out);
/* One that is allowed: {"event":"sandbox_need","plugin",(as a violation),"with_spawn","action":"allowed"} */
int mor_denials_need_json(const struct mor_denial *need, const char *plugin, enum mor_policy_source source,
			  struct mor_buf *out);

#endif
