/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one run of mortise_jail_run() came to: from the guardian's records to the result, the records for
 * machines and the texts for people.
 */
#ifndef MOR_GUARD_JAIL_TELL_H
#define MOR_GUARD_JAIL_TELL_H

#include <mortise/jail.h>

#include "base/buf.h"
#include "policy/denials.h"
#include "policy/plan.h"
#include "policy/policy.h"

/* As env, nice and timeout have them. */
enum mor_tale_exit {
	MOR_TALE_EXIT_TIMED_OUT = 124,
	MOR_TALE_EXIT_NO_JAIL = 125,
	MOR_TALE_EXIT_CANNOT_RUN = 126,
	MOR_TALE_EXIT_NOT_FOUND = 127
};
enum mor_tale_end { MOR_TALE_NOT_RUN, MOR_TALE_BY_PROGRAM, MOR_TALE_BY_VIOLATION, MOR_TALE_BY_LIMIT };

/* A mortise_jail_result with room for its texts. */
struct mor_jail_outcome {
	int exit_code, signal;
	bool timed_out;
	char level[12], rung[12];
	char syscall[32], path[512], rule[64];
	char limits[64];
	char denied_text[1536];
	uint64_t denied;
};

struct mor_jail_tale {
	const char *name;
	enum mor_policy_source source;
	const mortise_jail_options *opt; /* for on_record */
	struct mor_jail_outcome *ret;
	struct mor_denials denials;
	struct mor_buf violation; /* the one that ended it, as JSON */
	enum mor_tale_end end;
};

void mor_jail_tale_fini(struct mor_jail_tale *tale);
/* DENIED */
void mor_jail_tell_denied(struct mor_jail_tale *tale, const struct mor_record *record);
/* EXITED. What mortise_jail_run() returns. */
int mor_jail_tell_exited(struct mor_jail_tale *tale, const struct mor_record *record, mortise_error *err);
/* Always, and last. `status` and `err` of the run. */
void mor_jail_tell_end(struct mor_jail_tale *tale, int status, const mortise_error *err);

#endif
