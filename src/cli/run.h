/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mortise run: a plugin's command, hook or function, by the words its users know. run.c finds the dialect; each
 * dialect that has such words has one function here.
 */
#ifndef MOR_CLI_RUN_H
#define MOR_CLI_RUN_H

#include <stdbool.h>

#include "cli/cli.h"
#include "converse/once.h"
#include "runner/runner.h"
#include "workspace/workspace.h"

struct mor_run_args {
	struct mor_workspace_args sunscreen; /* its context is for both */
	struct mor_converse_extra gassist; /* but for its context */
	struct mor_plugin_args plugin;
	struct mor_common_args common;
};

/* One run of the command. */
struct mor_run {
	struct mor_cli *cli;
	const struct mor_run_args *args;
	struct mor_text_list plugins; /* where they are: as the user typed it, or as the workspace declares it */
	const char *typed;   /* the first of them */
	struct mor_manifest *manifest; /* of that one */
};

/* Each returns 0 or a status with err, which run.c reports (MORTISE_EINVAL: as a usage error), and sets *exit_code for
 * what it has reported by itself. */
typedef int mor_run_fn(struct mor_run *run, int *exit_code, mortise_error *err);

#endif
