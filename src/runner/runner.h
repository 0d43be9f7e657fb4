/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host with one command's settings: the options that every command which runs a plugin shares, the
 * loop that also minds signals, and the polite end.
 */
#ifndef MOR_RUNNER_RUNNER_H
#define MOR_RUNNER_RUNNER_H

#include <stdbool.h>
#include <stdint.h>

#include <mortise/mortise.h>

#include "base/buf.h"
#include "base/textlist.h"
#include "console/console.h"
#include "manifest/manifest.h"

/* What the options say that every command which runs a plugin has. */
struct mor_plugin_args {
	const char *dialect, *framing;
	struct mor_text_list set, config, env, timeout;
	bool clean_env, inherit_env, strict, show_wire;
	bool confine, unconfined, pidns;
	const char *level;
};

struct mor_runner {
	struct mor_console *console;
	const struct mor_plugin_args *args;
	mortise_host *host;
	struct mor_text_list set;   /* --set, then what other options amount to, in this order */
	struct mor_text_list owned; /* texts of ours in it */
	char *config;
	uint32_t timeout_ms;       /* --timeout without a method; 0: none */
};

/* `defaults`: settings of the command's own, NULL-terminated or NULL; the user's --set wins over them. */
int mor_runner_open(struct mor_runner *runner, struct mor_console *console, const struct mor_plugin_args *args,
		     const char *const *defaults, mortise_error *err);
void mor_runner_close(struct mor_runner *runner);
/* One more setting, key and value put together: "limits.session=", "0". Before plugins are made. */
int mor_runner_set(struct mor_runner *runner, const char *key, const char *value, mortise_error *err);

/* What a plugin is, before a host has it: its manifest by these options. mor_manifest_free(). */
int mor_runner_resolve(const struct mor_plugin_args *args, const char *path, const char *const *argv, struct mor_manifest **ret,
		       mortise_error *err);
/* `path` as the user typed it, or NULL and `argv`. `resolved`: what mor_runner_resolve() gave for them, or NULL: it is read here
 * where it matters. */
void mor_runner_plugin_options(struct mor_runner *runner, const char *path, const char *const *argv,
			       const struct mor_manifest *resolved, mortise_plugin_options *ret);

/* Runs the host until `done` says so or a signal comes. 0, or MORTISE_ECANCELED for a signal. */
typedef bool mor_done_fn(void *arg);
int mor_runner_run(struct mor_runner *runner, mor_done_fn *done, void *arg);
/* Polite ladder, then waits; one more signal makes it SIGKILL. */
void mor_runner_stop_plugin(struct mor_runner *runner, mortise_plugin *plugin);
void mor_runner_stop_pool(struct mor_runner *runner, mortise_pool *pool);

/* Names the nearest dialect that exists. */
int mor_dialect_unknown(const char *name, mortise_error *err);
bool mor_dialect_exists(const char *name);
/* What explain --json says, to be freed; NULL name: the list. NULL when the library cannot tell. */
struct mor_doc *mor_dialect_table(const char *name);
/* All their names. */
int mor_dialect_names(const char *separator, struct mor_buf *out);

#endif
