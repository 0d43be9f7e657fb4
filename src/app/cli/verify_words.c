/* SPDX-License-Identifier: Apache-2.0 */
/* The words of mortise verify-entries: its options, and its entry. */
#include <stddef.h>

#include "cli/inside.h"

#define FIELD(name) offsetof(struct verify_args, name)
static const struct mor_option verify_options[] = {
	{ "format", 0, "FORMAT",
	  "entries (delimited protobuf, the default), json (one per line) or delimited-json", MOR_OPT_TEXT,
	  FIELD(format), "entries|json|delimited-json" },
	{ "goal-prefix", 0, "TEXT", "text that begins a line of goals in a source; default //- or ///-",
	  MOR_OPT_TEXT, FIELD(goal_prefix), NULL },
	{ "goal-regex", 0, "REGEX", "instead: matches a whole line; its one group holds the goals",
	  MOR_OPT_TEXT, FIELD(goal_regex), NULL },
	{ "allow-singletons", 0, NULL, "allow a variable that is used only once", MOR_OPT_FLAG,
	  FIELD(singletons), NULL },
	{ 0 },
};
static const struct mor_option_group groups[] = {
	{ "Options:", verify_options, 0 },
	{ "Common options:", mor_common_options, offsetof(struct verify_args, common) },
	{ 0 },
};

const struct mor_cli_command mor_cli_command_verify_entries = {
	.row = MOR_CLI_ROW(verify_entries),
	.usage = "verify-entries [OPTION...] STREAM SOURCE...",
	.words = "file",
	.description =
		"Lines that begin with //- or ///- in a SOURCE hold goals: \"@foo defines/binding F\" means "
		"that the anchor at foo, on\n"
		"the next line that is not a goal, defines something; F means the same thing everywhere. "
		"STREAM is \"-\" for\n"
		"stdin. Exit code 0: all goals are met; 1: some are not, each is printed with its place and "
		"what was found;\n"
		"4: a stream or a goal that cannot be read.",
	.examples =
		"mortise verify-entries out.entries main.c\n"
		"mortise index app.kzip --analyzer build/plugins/kythe-clang -o - | mortise verify-entries - "
		"main.c util.h",
	.options = groups,
	MOR_CLI_ARGS(verify_args),
};
