/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `mortise jail`: any program, confined like a plugin, with our stdin, stdout and stderr; and with --learn and
 * --audit the smallest policy that covers what it needed.
 */
#ifndef MOR_JAILED_JAILED_H
#define MOR_JAILED_JAILED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/textlist.h"
#include "console/console.h"

enum { MOR_JAILED_NOT_RUN = 125 }; /* an exit code that says so */

/* As the user typed it: the names are those of the options. */
struct mor_jailed_plan {
	const char *workspace, *plugin_dir, *scratch, *level, *on_denial, *record, *output;
	bool write, git, undo, spawn, pidns, learn, audit, yes;
	struct mor_text_list unprotect, network, read, limit, env;
	uint32_t landlock_abi;
	const char *const *argv; /* the program */
};
/* Runs it, and reports what went wrong. Returns the exit code. */
int mor_jailed_run(struct mor_console *console, const struct mor_jailed_plan *plan);

#endif
