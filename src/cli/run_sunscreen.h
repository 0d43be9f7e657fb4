/*
 * mortise run for Sunscreen plugins. What its files share:
 *
 *	run_sunscreen.c  a command, or a hook of several plugins; what is printed
 *	run_part.c       one plugin's part in it: from its manifest to an answer that was verified
 *	run_approve.c    the user's word for the network
 *	run_words.c      words -> arguments and flags        run_workspace.c  the workspace and its files
 */
#ifndef MOR_CLI_RUN_SUNSCREEN_H
#define MOR_CLI_RUN_SUNSCREEN_H

#include <stdint.h>

#include "base/buf.h"
#include "cli/run.h"
#include "cli/run_words.h"
#include "cli/undo.h"
#include "manifest/manifest.h"
#include "wire/json.h"

/* What all plugins of one run share. */
struct mor_sun {
	struct mor_run *run;
	char *workspace;
	struct mor_run_words words;   /* of a command; of a hook: empty */
	struct mor_doc *context;      /* --context, or NULL */
};

/* One plugin's part in it. */
struct mor_part {
	struct mor_sun *sun;
	const char *typed, *action;
	struct mor_manifest *manifest;
	bool json;                    /* by sunscreen-plugin.json */
	char *scratch;
	unsigned scratch_made;        /* so many directories of it were not there before */
	struct mor_undoing undoing;
	bool closed;                  /* plugin and session */
	struct mor_text_list env, settings;
	struct mor_text_list owned;    /* texts of ours in them */
	struct mor_plugin_args plugin_args;
	struct mor_runner session;
	mortise_plugin *plugin;
	mortise_call *call;
	char *result, *err_data;
	struct mor_buf files;         /* files_written as it was verified: a JSON array */
	mortise_error err;            /* code 0: it went well */
	int64_t begun_ms, time_ms;
};

/* The manifest alone. MORTISE_EINVAL where it is no Sunscreen plugin. */
int mor_part_load(struct mor_part *part, mortise_error *err);
/* All of it, to the end of the process, and what it has changed undone if it failed. 0, and part->err tells how it went; or a
 * status with err. */
int mor_part_run(struct mor_part *part, mortise_error *err);
void mor_part_fini(struct mor_part *part);

/* 0: the plugin may have what it asks for. MORTISE_EINPUT with the command that grants it. */
int mor_run_approve(struct mor_run *run, const struct mor_manifest *manifest, const char *workspace, mortise_error *err);

#endif
