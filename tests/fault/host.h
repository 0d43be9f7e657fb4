/* SPDX-License-Identifier: Apache-2.0 */
/* A host with one fault-plugin, through <mortise/mortise.h> alone, the same for dialects that are called and that ask. */
#ifndef TESTS_FAULT_HOST_H
#define TESTS_FAULT_HOST_H

#include <stdint.h>

#include <mortise/mortise.h>

#include "fault.h"

/* One piece of work: a call, or a record for an analyzer. */
struct job {
	struct rig *rig;
	int finals;
	int status; /* of the last callback; an analyzer that ended is MORTISE_ECRASHED */
	bool right; /* with the result that the plugin should give */
	char text[512];
};

struct rig {
	const struct tongue *tongue;
	mortise_host *host;
	mortise_plugin *plugin;
	char mark[64];          /* the file that tells that the fault has been */
	bool committed;         /* the plugin said so */
	int events[MORTISE_EVENT_TYPES];
	int deaths;             /* how often it left a state in which it ran */
	/* an analyzer's */
	mortise_request *asked; /* waits for a record */
	struct job *job;        /* waits for a request, or for its end */
};

/* `fault` in `phase`; `set` as in mortise_plugin_options, after what all have. 0 or a status. */
int rig_open(struct rig *rig, const struct tongue *tongue, const char *fault, enum phase phase, const char *const *set, mortise_error *err);
void rig_close(struct rig *rig);

/* Starts it. A status: it was refused, and there is no callback. */
int job_start(struct rig *rig, struct job *job, uint32_t timeout_ms);
/* Turns until *value is true, or the guard's time is over: then false. */
bool rig_until(struct rig *rig, const bool *value);
bool rig_until_done(struct job *job);
bool rig_until_state(struct rig *rig, enum mortise_state state);
bool rig_until_death(struct rig *rig); /* since it was opened */
void rig_turn(struct rig *rig);

/* Descriptors that are open, processes that are ours. */
unsigned count_descriptors(void);
bool has_children(void);
bool is_gone(const char *mark); /* whoever committed the fault, and all that it started */

#endif
