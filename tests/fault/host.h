/* SPDX-License-Identifier: Apache-2.0 */
/* A host with one fault-plugin, through <mortise/mortise.h> alone, the same for dialects that are called
 * and that ask. */
#ifndef TESTS_FAULT_HOST_H
#define TESTS_FAULT_HOST_H

#include <stdint.h>

#include <mortise/mortise.h>

#include "dir.h"
#include "fault.h"
#include "kit/look.h"

/* One piece of work: a call, or a record for an analyzer. */
struct job {
	struct rig *rig;
	int finals;
	/* of the last callback, or why it was refused; an analyzer that ended is MORTISE_ECRASHED */
	int status;
	bool right; /* with the result that the plugin should give */
	char text[512];
};

/* What the plugin is to be. */
struct rig_options {
	const char *fault;
	enum phase phase;
	const char *const *set;          /* as in mortise_plugin_options, after what all have */
	const char *helper;              /* in place of mortise-jail */
	bool own_program;                /* PROGRAM_FILE in its directory, in place of fault-plugin */
	bool confined;                   /* at level t0, with the directory as its workspace */
	bool big;                        /* there will be work that no pipe holds */
	struct rig *beside;              /* whose host and directory are shared */
	void (*on_commit)(struct rig *); /* the plugin says that now is the time */
};

struct rig {
	const struct tongue *tongue;
	struct rig_options opt;
	mortise_host *host;
	mortise_plugin *plugin;
	char dir[DIR_ROOM];   /* for the files of fault.h */
	char mark[FILE_ROOM]; /* the file that tells that the fault has been */
	/* the next job is one that no pipe holds, and may not take long to be written */
	bool big;
	bool committed; /* the plugin said so */
	bool too_soon;  /* a limit had passed before it did */
	bool escaped;   /* it got what it may not have */
	int events[MORTISE_EVENT_TYPES];
	int deaths; /* how often it left a state in which it ran */
	/* an analyzer's */
	mortise_request *asked; /* waits for a record */
	struct job *job;        /* waits for a request, or for its end */
};

/* For limits that are to pass, and for the steps of a stop. On a busy machine it may be over before the plugin
 * has got as far as its fault: then the cell is played again with a longer one (hit.c). */
#define SHORT_MS   400
#define SHORT_MOST 25600
extern uint32_t short_ms;

/* 0 or a status. To be closed in any case. */
int rig_open(struct rig *rig, const struct tongue *tongue, const struct rig_options *opt, mortise_error *err);
void rig_close(struct rig *rig);
void rig_sweep(const char *dir); /* what a host that was killed has left */
/* Params for the jobs of this tongue, made before memory is made to fail. */
void rig_prepare(const struct tongue *tongue);
mortise_json rig_params(void);

/* timeout_ms 0: the dialect's. 0: exactly one end will come. A status: it was refused, and none will. */
int job_start(struct rig *rig, struct job *job, uint32_t timeout_ms);

/* Turns the host until that is so. false: not within ten minutes. */
bool rig_until(struct rig *rig, const bool *value);
bool rig_until_done(struct job *job);
bool rig_until_state(struct rig *rig, enum mortise_state state);
bool rig_until_death(struct rig *rig);
void rig_turn(struct rig *rig);

/* The process that committed the fault, and all that it has started, have ended. */
bool is_gone(const char *mark);
void wait_until_gone(const char *mark); /* for ten minutes; then SIGALRM */

#endif
