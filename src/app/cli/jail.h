/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of `mortise jail`. */
#ifndef MOR_CLI_JAIL_H
#define MOR_CLI_JAIL_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/textlist.h"
#include "cli/cli.h"
#include "policy/learn.h"

struct mor_jail_args {
	const char *workspace, *plugin_dir, *scratch, *level, *on_denial, *record, *output;
	bool write, git, undo, spawn, pidns, learn, audit, yes;
	struct mor_text_list unprotect, network, read, limit, env;
	uint32_t landlock_abi;
	struct mor_common_args common;
};

/* ---- --learn and --audit (jail_learn.c) ---- */

struct mor_learner {
	struct mor_learn learn;
	char login[1024];   /* memory of the user's entry in the database */
	char dir[PATH_MAX]; /* where the file of -o belongs, before the program could change it; "": no -o */
};

/* What the options say against each other; and, for --learn, the user's yes. 0, or an error to report. Free it
 * with mor_learn_fini(). */
int mor_learner_begin(struct mor_cli *cli, struct mor_learner *learner, mortise_error *err);
/* A record of the run: what it needed is collected. */
void mor_learner_take(struct mor_learner *learner, mortise_json record);
/* Folds, and writes the policy to the file of -o, or to stderr. 0, or an error to report. */
int mor_learner_tell(struct mor_cli *cli, struct mor_learner *learner, mortise_error *err);

#endif
