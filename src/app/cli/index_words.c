/* SPDX-License-Identifier: Apache-2.0 */
/* The words of mortise index: its options, and its entry. */
#include <stddef.h>

#include "cli/inside.h"

#define FIELD(name) offsetof(struct index_args, name)
static const struct mor_option index_options[] = {
	{ "analyzer", 0, "PLUGIN", "the analyzer; or a command after \"--\"", MOR_OPT_TEXT,
	  FIELD(want.analyzer), NULL },
	{ "jobs", 'j', "N", "analyzers at once; default: one per processor", MOR_OPT_UINT, FIELD(want.jobs),
	  NULL },
	{ "output", 'o', "FILE", "where the result goes; default, and -: stdout", MOR_OPT_TEXT,
	  FIELD(want.output), NULL },
	{ "format", 0, "FORMAT",
	  "entries (delimited protobuf, the default), json (one per line) or raw (as it is written)",
	  MOR_OPT_TEXT, FIELD(want.format), "entries|json|raw" },
	{ "vnames", 0, "FILE", "rules that name paths which no record names (vnames.json)", MOR_OPT_TEXT,
	  FIELD(want.vnames), NULL },
	{ "retries", 0, "N", "how often a record is tried again in a fresh process; default 2", MOR_OPT_COUNT,
	  FIELD(retries), NULL },
	{ "resume", 0, NULL, "continue an interrupted run with the same output", MOR_OPT_FLAG,
	  FIELD(want.resume), NULL },
	{ "shard", 0, "K/N", "do only the K-th of N equal shares, as a part for mortise join", MOR_OPT_TEXT,
	  FIELD(want.shard), NULL },
	{ "type", 0, "TYPE",
	  "offer records as this type; default /kythe/index/ and their language; may be repeated", MOR_OPT_LIST,
	  FIELD(want.types), NULL },
	{ "view", 0, "MODE", "how files are shown: auto (default), namespace, directory", MOR_OPT_TEXT,
	  FIELD(want.view), "auto|namespace|directory" },
	{ "cache", 0, "DIR", "where contents are kept between units and runs", MOR_OPT_TEXT, FIELD(want.cache),
	  NULL },
	{ "log", 0, "FILE", "also write the analyzers' log messages to this file", MOR_OPT_TEXT,
	  FIELD(want.log), NULL },
	{ "manifest", 0, NULL, "farm: write a list of segments, for mortise entries cat", MOR_OPT_FLAG,
	  FIELD(manifest), NULL },
	{ "lenient", 0, NULL, "accept lengths with leading zeros", MOR_OPT_FLAG, FIELD(want.lenient), NULL },
	{ 0 },
};
static const struct mor_option_group groups[] = {
	{ "Options:", index_options, 0 },
	{ "Options for a farm:", mor_farming_option_table, FIELD(farm) },
	{ "Options for the analyzer:", mor_plugin_option_table, FIELD(plugin) },
	{ "Common options:", mor_common_options, FIELD(common) },
	{ 0 },
};

const struct mor_cli_command mor_cli_command_index = {
	.row = MOR_CLI_ROW(index),
	.usage = "index FILE.kzip… --analyzer PLUGIN [OPTION…]\nindex FILE.kzip… [OPTION…] -- COMMAND ARG…",
	.words = "file",
	.description =
		"The analyzer sees each record's files at the paths that the record names; of other files, "
		"this machine's,\n"
		"or none with --confine. The entries of a record are checked and appended together, in the "
		"order of the input.\n"
		"A record that fails is tried again in a fresh process, then reported by name, and the others "
		"go on; the exit\n"
		"code is then 1.",
	.examples =
		"mortise kzip create -o app.kzip --compile-commands build/compile_commands.json\n"
		"mortise index app.kzip --analyzer build/plugins/kythe-clang -o app.entries\n"
		"mortise index app.kzip --analyzer build/plugins/kythe-clang -o app.entries --resume\n"
		"mortise index app.kzip --analyzer build/plugins/kythe-clang --shard 1/4 -o part.1\n"
		"mortise index app.kzip --analyzer /opt/kythe-clang -o app.entries --farm postgres://db/farm "
		"--store /net/farm",
	.options = groups,
	MOR_CLI_ARGS(index_args),
};
