/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sunscreen plugins at work in a workspace. What its files share:
 *
 *	run.c       a command, or a hook of several plugins; what is printed
 *	part.c      one plugin's part in it: from its manifest to an answer that was verified
 *	approve.c   the user's word for the network      declared.c  plugins by name
 *	words.c     words -> arguments and flags         place.c     the workspace and its files
 *	undo.c      what a run that fails has changed, undone
 */
#ifndef MOR_WORKSPACE_WORKSPACE_H
#define MOR_WORKSPACE_WORKSPACE_H

#include <stdint.h>

#include "base/buf.h"
#include "manifest/manifest.h"
#include "runner/runner.h"
#include "wire/json.h"
#include "workspace/undo.h"
#include "workspace/words.h"

/* What the user wants. */
struct mor_workspace_args {
	const char *context;   /* JSON or @FILE: more members of a hook's context; or NULL        */
	const char *hook;      /* NULL: a command                                                 */
	const char *workspace; /* NULL: the nearest directory upwards with a sunscreen.yml        */
	const char *idl;       /* NULL: the one file in target/idl                                */
	bool yes, keep_going, keep;
	const char *const *words; /* PLUGIN COMMAND WORD…; with a hook: PLUGIN… */
	size_t word_count;
	const char *const *tail; /* what followed "--", or NULL                                     */
	const char *unknown;     /* the first option among the words, or NULL                       */
	const char *const *line; /* all words after "mortise run", to show the command again */
	const struct mor_plugin_args *plugin;
};

/* What all plugins of one run share. */
struct mor_workspace_run {
	struct mor_console *console;
	const struct mor_workspace_args *args;
	const struct mor_text_list *plugins; /* their paths ... */
	struct mor_resolved **resolved;      /* ... and what they are */
	char *workspace;
	struct mor_workspace_words words; /* of a command; with a hook: empty */
	struct mor_doc *context;          /* --context, or NULL */
};

/* Finds plugins by name: those that the workspace declares in plugins[] of its sunscreen.yml. Fills *ret
 * with one path per word, or, for a hook without words, with all that the workspace declares. A word that
 * names a file is that file. Otherwise it is a source in plugins[], a manifest's name, or the last part of a
 * source.
 * MORTISE_EMANIFEST, MORTISE_EINPUT (it matches several), MORTISE_ENOTFOUND. mor_text_list_free_texts(). */
int mor_workspace_declared(struct mor_console *console, const struct mor_workspace_args *args,
			   struct mor_text_list *ret, mortise_error *err);

/* Runs the command of the first of `plugins`, whose manifest is `first` (borrowed), or the hook of all of
 * them. 0, with *ret_exit for errors that have been reported; or a status with err that is not reported yet
 * (MORTISE_EINVAL: a usage error). */
int mor_workspace_run_plugins(struct mor_console *console, const struct mor_workspace_args *args,
			      const struct mor_text_list *plugins, struct mor_resolved *first, int *ret_exit,
			      mortise_error *err);

/* ---- between its files ---- */

/* One plugin's part of a run. */
struct mor_workspace_part {
	struct mor_workspace_run *run;
	const char *typed, *action;
	struct mor_resolved *resolved;
	const struct mor_manifest *manifest; /* its own */
	bool json;                           /* it has a sunscreen-plugin.json */
	bool grpc;                           /* it speaks gRPC, and then `sunscreen`, with either manifest */
	char *scratch;
	unsigned scratch_made; /* number of new directories in it */
	struct mor_workspace_undoing undoing;
	bool closed; /* plugin and runner */
	struct mor_text_list env, settings;
	struct mor_text_list owned; /* texts in them that we own */
	struct mor_plugin_args plugin_args;
	struct mor_runner runner;
	mortise_plugin *plugin;
	mortise_call *call;
	char *result, *err_data;
	struct mor_buf files; /* files_written after verification: a JSON array */
	mortise_error err;    /* code 0: no error */
	int64_t begun_ms, time_ms;
	struct mor_buf printed; /* with --json: what it printed while it ran */
	bool mid_line;          /* without: the last of it had no end of line */
};

/* Does everything up to the end of the process, and undoes its changes if it failed. 0, with the outcome in
 * part->err; or a status with err. */
int mor_workspace_part_run(struct mor_workspace_part *part, mortise_error *err);
void mor_workspace_part_fini(struct mor_workspace_part *part);

/* An event of a command that runs: its log, its progress, what it prints. `shown`: the event's text, printable.
 * false: it is something else. */
bool mor_workspace_told(struct mor_workspace_part *part, const mortise_event *event, const char *shown);
/* What was printed ends here. */
void mor_workspace_end_line(struct mor_workspace_part *part);

/* 0: the plugin may have what it asks for. MORTISE_EINPUT with the command that grants it. */
int mor_workspace_approve(struct mor_workspace_run *run, const struct mor_resolved *resolved,
			  const char *workspace, mortise_error *err);

#endif
