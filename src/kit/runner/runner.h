/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host with one command's settings: the options shared by all commands that run a plugin, the loop that
 * also handles signals, and the polite end.
 */
#ifndef MOR_RUNNER_RUNNER_H
#define MOR_RUNNER_RUNNER_H

#include <stdbool.h>
#include <stdint.h>

#include <mortise/mortise.h>

#include "base/buf.h"
#include "base/textlist.h"
#include "console/console.h"
#include "resolved/resolved.h"

/* The options shared by all commands that run a plugin. */
struct mor_plugin_args {
	const char *dialect, *framing, *proto;
	struct mor_text_list set, config, env, timeout, network;
	bool clean_env, inherit_env, strict, show_wire;
	bool confine, unconfined, pidns;
	const char *level, *on_denial;
	const char *record; /* --record FILE, of the commands that have it */
};

struct mor_runner_record;

struct mor_runner {
	struct mor_console *console;
	const struct mor_plugin_args *args;
	mortise_host *host;
	struct mor_runner_record *record; /* record.h; NULL: nothing is recorded */
	struct mor_text_list set;         /* --set, then the settings from other options, in this order */
	struct mor_text_list owned;       /* texts in it that we own */
	char *config;
	uint32_t timeout_ms; /* --timeout without a method; 0: none */
};

/* `defaults`: the command's own settings, NULL-terminated, or NULL. The user's --set wins over them. */
int mor_runner_open(struct mor_runner *runner, struct mor_console *console, const struct mor_plugin_args *args,
		    const char *const *defaults, mortise_error *err);
void mor_runner_close(struct mor_runner *runner);
/* Adds one setting from key and value: "limits.session=", "0". Call it before plugins are made. */
int mor_runner_set(struct mor_runner *runner, const char *key, const char *value, mortise_error *err);

/* --timeout without a method limits the greeting too, where neither file nor option gives that its own limit.
 * Call it before plugins are made. */
int mor_runner_cap_greeting(struct mor_runner *runner, const struct mor_resolved *resolved, mortise_error *err);

/* What a plugin is, before a host has it (resolved/resolved.h): its files are read here, and not again by
 * mor_runner_plugin_new(). `path` is as the user typed it, or NULL, and then `argv` is used. */
int mor_runner_resolve(const struct mor_plugin_args *args, const char *path, const char *const *argv,
		       struct mor_resolved **ret, mortise_error *err);
/* Events of such a plugin are shown and recorded; a command with its own on_event calls
 * mor_runner_record_event() there. */
void mor_runner_plugin_options(struct mor_runner *runner, const char *path, const char *const *argv,
			       mortise_plugin_options *ret);
/* As mortise_plugin_new(). `resolved`: what mor_runner_resolve() gave for path and argv of the options; NULL:
 * nobody has read it yet. A network that nobody has granted is withheld, with a note. */
int mor_runner_plugin_new(struct mor_runner *runner, const mortise_plugin_options *opt,
			  struct mor_resolved *resolved, mortise_plugin **ret, mortise_error *err);
/* As mor_runner_plugin_options(), for mortise_pool_new(), which reads the files by itself for each worker: a
 * network is withheld by what is read here, or was read for `resolved`, if that is not NULL. */
void mor_runner_pool_options(struct mor_runner *runner, const char *path, const char *const *argv,
			     const struct mor_resolved *resolved, mortise_plugin_options *ret);

/* Runs the host until `done` returns true or a signal comes. 0, or MORTISE_ECANCELED for a signal. */
typedef bool mor_done_fn(void *arg);
int mor_runner_run(struct mor_runner *runner, mor_done_fn *done, void *arg);
/* Stops the plugins politely and waits. One more signal kills them. */
void mor_runner_stop_plugin(struct mor_runner *runner, mortise_plugin *plugin);
void mor_runner_stop_pool(struct mor_runner *runner, mortise_pool *pool);

/* What mortise_plugin_describe() says, parsed. */
int mor_runner_describe(mortise_plugin *plugin, struct mor_doc **ret, mortise_error *err);
/* Reports a call that failed; `typed` is the plugin as the user typed it. Returns the exit code. */
int mor_runner_report(const struct mor_runner *runner, const char *typed, const mortise_reply *reply);

/* The text names the nearest dialect that exists. */
int mor_runner_dialect_unknown(const char *name, mortise_error *err);
bool mor_runner_dialect_exists(const char *name);
/* The output of explain --json, to be freed. NULL name: the list. NULL if the library cannot tell. */
struct mor_doc *mor_runner_dialect_table(const char *name);
/* All their names. */
int mor_runner_dialect_names(const char *separator, struct mor_buf *out);

#endif
