/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One turn with a plugin that streams: a request, its pieces as they arrive, its end. For people the text is put
 * together on stdout; with --json each piece and the end are one line.
 */
#ifndef MOR_CONVERSE_TURN_H
#define MOR_CONVERSE_TURN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"
#include "console/console.h"
#include "runner/runner.h"

struct mor_converse_turn {
	/* set by the caller */
	struct mor_runner *runner;
	mortise_plugin *plugin;
	const char *typed;       /* the plugin as the user typed it, for hints; or NULL */
	mortise_json extra;      /* as in mortise_call_options */
	/* the turn */
	mortise_call *call;      /* NULL: none runs */
	int64_t begun_ms;
	bool in_line;            /* what was printed last did not end its line */
	bool cancelled;          /* by us: its end needs no report */
	/* its outcome */
	int exit_code;
	bool keep;               /* the plugin waits for input */
	mortise_error failure;   /* the last one that was reported */
};

/* Runs it to its end, or until a signal comes: then MORTISE_ECANCELED, and the call is cancelled. What the plugin
 * got wrong has been reported and is in exit_code; only an error of ours is returned. */
int mor_converse_turn_run(struct mor_converse_turn *turn, const char *action, mortise_json params, mortise_error *err);

#endif
