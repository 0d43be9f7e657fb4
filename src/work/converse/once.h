/* SPDX-License-Identifier: Apache-2.0 */
/* One function of a G-Assist plugin, and the extra options of such plugins. */
#ifndef MOR_CONVERSE_ONCE_H
#define MOR_CONVERSE_ONCE_H

#include "base/buf.h"
#include "runner/runner.h"

struct mor_converse_extra {
	const char *context;       /* JSON or @FILE: the array of an execute's context */
	const char *system_info;   /* TEXT or @FILE */
	const char *session_limit; /* DURATION; "0": none */
};

/* --session-limit becomes a setting of the runner. The other two become members of *ret_extra (empty:
 * neither was given). */
int mor_converse_prepare(struct mor_runner *runner, const struct mor_converse_extra *args,
			 struct mor_buf *ret_extra, mortise_error *err);

/* One function, called once. */
struct mor_converse_once {
	const char *typed; /* the plugin; NULL: it is the command */
	const char *named; /* the plugin in the words of the user, for lines to type; unused with `command` */
	const char *const *command;    /* a plugin without a manifest; or NULL                             */
	struct mor_resolved *resolved; /* mor_runner_resolve(), or NULL                                  */
	const char *function;          /* NULL: not named by the user */
	const char *const *words;      /* its arguments: KEY=VALUE…, or JSON, or a text                     */
	size_t word_count;
	const char *const *tail; /* more words, NULL-terminated; or NULL */
	struct mor_converse_extra extra;
	const struct mor_plugin_args *plugin;
};

/* 0, with *exit_code for plugin errors that have been reported; or a status with err that is not reported
 * yet. */
int mor_converse_once(struct mor_console *console, const struct mor_converse_once *once, int *exit_code,
		      mortise_error *err);

#endif
