/*
 * A host with one command's settings: the options that every command which runs a plugin shares, the
 * loop that also minds signals, and the polite end.
 */
#ifndef MOR_CLI_SESSION_H
#define MOR_CLI_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include <mortise/mortise.h>

#include "base/buf.h"
#include "cli/cli.h"

struct mor_plugin_args {
	const char *dialect, *framing;
	struct mor_opt_list set, config, env, timeout;
	bool clean_env, inherit_env, strict, show_wire;
	bool confine, unconfined, pidns;
	const char *level;
};
extern const struct mor_option mor_plugin_option_table[];

struct mor_session {
	struct mor_cli *cli;
	const struct mor_plugin_args *args;
	mortise_host *host;
	struct mor_opt_list set;   /* --set, then what other options amount to, in this order */
	struct mor_opt_list owned; /* texts of ours in it */
	char *config;
	uint32_t timeout_ms;       /* --timeout without a method; 0: none */
};

/* `defaults`: settings of the command's own, NULL-terminated or NULL; the user's --set wins over them. */
int mor_session_open(struct mor_session *session, struct mor_cli *cli, const struct mor_plugin_args *args,
		     const char *const *defaults, mortise_error *err);
void mor_session_close(struct mor_session *session);
/* One more setting, key and value put together: "limits.session=", "0". Before plugins are made. */
int mor_session_set(struct mor_session *session, const char *key, const char *value, mortise_error *err);

/* `path` as the user typed it, or NULL and `argv`. */
void mor_session_plugin_options(struct mor_session *session, const char *path, const char *const *argv,
				mortise_plugin_options *ret);

/* Runs the host until `done` says so or a signal comes. 0, or MORTISE_ECANCELED for a signal. */
typedef bool mor_done_fn(void *arg);
int mor_session_run(struct mor_session *session, mor_done_fn *done, void *arg);
/* Polite ladder, then waits; one more signal makes it SIGKILL. */
void mor_session_stop_plugin(struct mor_session *session, mortise_plugin *plugin);
void mor_session_stop_pool(struct mor_session *session, mortise_pool *pool);

/* PLUGIN is the first word unless a command follows "--". Takes it off the words. */
int mor_session_target(struct mor_cli *cli, const char **ret_path, const char *const **ret_argv, mortise_error *err);

/* Names the nearest dialect that exists. */
int mor_dialect_unknown(const char *name, mortise_error *err);
bool mor_dialect_exists(const char *name);
/* What explain --json says, to be freed; NULL name: the list. NULL when the library cannot tell. */
struct mor_doc *mor_dialect_table(const char *name);
/* All their names. */
int mor_dialect_names(const char *separator, struct mor_buf *out);

#endif
