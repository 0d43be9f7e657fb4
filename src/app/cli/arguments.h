/* SPDX-License-Identifier: Apache-2.0 */
/* The words PLUGIN METHOD [JSON | KEY=VALUE… | --KEY=VALUE… | VALUE…] of the commands that call a method. */
#ifndef MOR_CLI_ARGUMENTS_H
#define MOR_CLI_ARGUMENTS_H

#include <stdbool.h>

#include <mortise/mortise.h>

#include "base/buf.h"
#include "cli/cli.h"
#include "console/args.h"
#include "runner/signature.h"

struct mor_cli_arguments {
	struct mor_cli *cli;
	const char *method; /* NULL: none was typed */
	bool merged;        /* set by the caller: members will be added to the params, so they are an object */
	bool unchecked;     /* set by the caller: the method may not take them */
	struct mor_tree params; /* filled when keys were given, or with `merged` */
	struct mor_buf json;    /* the params as text; empty: no params */
};

/* Takes PLUGIN, as mor_cli_target() does, and METHOD from the words. */
int mor_cli_arguments_begin(struct mor_cli_arguments *args, struct mor_cli *cli, const char **ret_path,
			    const char *const **ret_argv, mortise_error *err);
/* Takes the rest, and checks it against the signature. */
int mor_cli_arguments_take(struct mor_cli_arguments *args, struct mor_signature signature, mortise_error *err);
void mor_cli_arguments_fini(struct mor_cli_arguments *args);

#endif
