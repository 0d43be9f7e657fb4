/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mortise run: a plugin's command, hook or function, under the names that its users know. run.c finds the
 * dialect. Each dialect with such names has one function here.
 */
#ifndef MOR_CLI_RUN_H
#define MOR_CLI_RUN_H

#include "cli/cli.h"
#include "converse/once.h"
#include "runner/runner.h"
#include "workspace/workspace.h"

struct mor_run_args {
	struct mor_workspace_args sunscreen; /* both dialects use its context */
	struct mor_converse_extra gassist;   /* except its context */
	struct mor_plugin_args plugin;
	struct mor_common_args common;
};

/* One run of the command. */
struct mor_run {
	struct mor_cli *cli;
	const struct mor_run_args *args;
	/* their places: as the user typed them, or as the workspace declares them */
	struct mor_text_list plugins;
	const char *typed;             /* the first plugin; NULL: it is the command */
	const char *const *command;    /* G-Assist, after "--"; or NULL */
	struct mor_resolved *resolved; /* the first plugin */
};

/* Each returns 0, or a status with err, which run.c reports (MORTISE_EINVAL: as a usage error). *exit_code
 * is set for errors that the function has reported itself. */
typedef int mor_run_fn(struct mor_run *run, int *exit_code, mortise_error *err);

#endif
