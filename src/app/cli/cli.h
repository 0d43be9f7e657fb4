/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the commands share. A command is one file with one constant entry; main.c parses its words by its
 * tables and runs it.
 */
#ifndef MOR_CLI_CLI_H
#define MOR_CLI_CLI_H

#include <stdbool.h>
#include <stdio.h>

#include <mortise/mortise.h>

#include "base/textlist.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "console/console.h"

struct mor_common_args {
	bool help, json, verbose;
};

/* Plugins that the user has named. */
struct mor_cli_named {
	struct mor_text_list paths;  /* of their directories; ours */
	size_t installed;            /* how many of them are installed; the others lie in directories of YAMS */
	char name[128], version[80]; /* of the first installed one */
};

/* One run of one command. */
struct mor_cli {
	const struct mor_cli_command *command;
	void *args; /* the command's own struct */
	struct mor_words words;
	char **argv;       /* all words as typed, after the command's name */
	char **line;       /* as the process got them: for another program that takes its place */
	const char *typed; /* PLUGIN, as it was typed; set by mor_cli_target() */
	struct mor_cli_named named;
	struct mor_console *console;
};

typedef int mor_cli_run_fn(struct mor_cli *cli); /* returns the exit code */

struct mor_cli_command {
	const struct mor_cli_row *row;
	const char *usage;       /* lines, each without "mortise "                             */
	const char *words;       /* what completion offers for words: "plugin" (names and files), "installed"
				    (names), "file", "dialect", "command", or choices "a|b"; "": no words */
	const char *description; /* paragraphs for --help */
	const char *examples;    /* lines */
	const struct mor_option_group *options; /* ends with a group without title */
	bool loose;       /* unknown long options are kept as words: they belong to the plugin */
	const char *hint; /* as in struct mor_words */
	size_t args_size;
	size_t common; /* offset of its struct mor_common_args */
	int own_exit;  /* as in struct mor_console */
	/* NULL: mor_cli_runs of its program has it, because another program has the entry, too */
	mor_cli_run_fn *run;
};
/* `args` is the struct of its options, with a member `common`. */
#define MOR_CLI_ARGS(args) .args_size = sizeof(struct args), .common = offsetof(struct args, common)

/* ---- commands_PROGRAM.c: which program this is, and what it does itself ---- */
extern const enum mor_cli_program mor_cli_this;
/* NULL-terminated. mortise-full has the entries of all, for help and completion. */
extern const struct mor_cli_command *const mor_cli_commands[];
/* What this program runs in place of the run of the entry. Ends with a row without command. */
struct mor_cli_run {
	const struct mor_cli_command *command;
	mor_cli_run_fn *run;
};
extern const struct mor_cli_run mor_cli_runs[];

#define X(name, ...) extern const struct mor_cli_command mor_cli_command_##name;
MOR_CLI_COMMANDS(X)
#undef X
extern const struct mor_option mor_common_options[];

const struct mor_cli_command *mor_cli_command_find(const char *name); /* NULL: unknown */
/* How this program runs it. NULL: another program does. */
mor_cli_run_fn *mor_cli_run_of(const struct mor_cli_command *command);
/* MORTISE_EINVAL with a text that offers the nearest name. */
int mor_cli_command_unknown(const char *name, mortise_error *err);

/* named.c: a word without a slash is the name of an installed plugin (NAME, NAME@VERSION), and is replaced by
 * the path of its directory, which lives as long as `cli`. If none is installed, NAME may be a YAMS plugin in a
 * directory that the user trusts; MORTISE_EVIOLATION: the user does not trust it, and the text says what to
 * type. Paths stay, and "." and "..". MORTISE_ENOTFOUND offers the nearest name, or ./NAME if that is here. */
int mor_cli_named(struct mor_cli *cli, const char **word, mortise_error *err);
/* MORTISE_ENOTFOUND: `err` keeps what the store said, if it said anything, unless there is a
 * ./NAME to offer. */
int mor_cli_not_installed(const char *name, mortise_error *err);
int mor_cli_named_all(struct mor_cli *cli, const char **words, size_t count, mortise_error *err);
/* None of them runs. Frees the paths. */
void mor_cli_named_drop(struct mor_cli *cli);
/* Writes down how the run ended, if one installed plugin was named; never fails. Frees the paths. */
void mor_cli_named_end(struct mor_cli *cli, int exit_code);

/* target.c: the first word is PLUGIN, unless a command follows "--". It is removed from the words. *ret_path is
 * the path of an installed plugin where it was named. */
int mor_cli_target(struct mor_cli *cli, const char **ret_path, const char *const **ret_argv,
		   mortise_error *err);
/* The same without a look among what is installed: for commands that take a session (@NAME), too. */
int mor_cli_target_word(struct mor_cli *cli, const char **ret_path, const char *const **ret_argv,
			mortise_error *err);
/* For commands that start a process without the library, which checks installed plugins: their names are
 * refused (MORTISE_EINPUT). */
int mor_cli_target_bare(struct mor_cli *cli, const char **ret_path, const char *const **ret_argv,
			mortise_error *err);
/* A row for its member `record`, of commands that hold one conversation. */
#define MOR_OPTION_RECORD(offset) \
	{ \
		"record", 0, "FILE", "write the conversation to FILE, as 'mortise record' does", MOR_OPT_TEXT, \
			offset, NULL \
	}
/* Fills a struct mor_plugin_args (runner/runner.h). */
extern const struct mor_option mor_plugin_option_table[];
/* Fills a struct mor_converse_extra (converse/once.h), except its context. */
extern const struct mor_option mor_gassist_options[];

/* become.c: another program takes the place of this one, with the same words. Returns only if that fails:
 * MORTISE_ESYSTEM, and the text says what to install. */
int mor_cli_become(enum mor_cli_program program, char **line, mortise_error *err);
/* The same from inside a command, which has changed nothing yet. Returns the exit code. */
int mor_cli_hand_over(struct mor_cli *cli, enum mor_cli_program program);

/* help.c */
void mor_help_all(struct mor_cli *cli);
void mor_help_command(struct mor_cli *cli, const struct mor_cli_command *command);

#endif
