/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One turn with a plugin that streams: a request, its pieces as they arrive, and its end. People get the
 * text joined on stdout. With --json each piece and the end are one line.
 */
#ifndef MOR_CONVERSE_TURN_H
#define MOR_CONVERSE_TURN_H

#include <stdbool.h>
#include <stdint.h>

#include "runner/runner.h"

struct mor_converse_turn {
	/* set by the caller */
	struct mor_runner *runner;
	mortise_plugin *plugin;
	const char *typed;  /* the plugin as the user typed it, for hints; or NULL */
	mortise_json extra; /* as in mortise_call_options */
	uint64_t flags;     /* the same */
	bool whole;         /* a result is shown as it is: the dialect knows no conversations */
	/* While it runs: does somebody have to do something, and what. Both NULL: no. */
	bool (*waits)(void *arg);
	void (*meanwhile)(void *arg);
	void *arg;
	/* the turn */
	mortise_call *call; /* NULL: none runs */
	int64_t begun_ms;
	bool in_line;   /* the last printed text did not end its line */
	bool cancelled; /* we cancelled it: no report when it ends */
	/* its outcome */
	int exit_code;
	bool keep;             /* the plugin waits for input */
	mortise_error failure; /* the last error that was reported */
};

/* Runs the turn to its end or until a signal comes. Then it returns MORTISE_ECANCELED, and the call is
 * cancelled. Errors of the plugin have been reported and are in exit_code; only our own errors are returned. */
int mor_converse_turn_run(struct mor_converse_turn *turn, const char *action, mortise_json params,
			  mortise_error *err);

#endif
