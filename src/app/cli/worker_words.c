/* SPDX-License-Identifier: Apache-2.0 */
/* The words of mortise worker: its options, and its entry. */
#include <stddef.h>

#include "cli/inside.h"

#define FIELD(name) offsetof(struct worker_args, name)
static const struct mor_option worker_options[] = {
	{ "farm", 0, "URL", "the farm, such as postgres://host/database", MOR_OPT_TEXT, FIELD(farm), NULL },
	{ "store", 0, "DIR", "the farm's store, a directory that all machines see", MOR_OPT_TEXT, FIELD(store),
	  NULL },
	{ "jobs", 'j', "N", "analyzers at once; default: one per processor", MOR_OPT_UINT, FIELD(jobs), NULL },
	{ "confine", 0, NULL, "confine analyzers, whatever the run says", MOR_OPT_FLAG, FIELD(confine), NULL },
	{ "once", 0, NULL, "end when there is nothing to do", MOR_OPT_FLAG, FIELD(once), NULL },
	{ "cache", 0, "DIR", "where contents are kept between units and runs", MOR_OPT_TEXT, FIELD(cache),
	  NULL },
	{ 0 },
};
static const struct mor_option_group groups[] = {
	{ "Options:", worker_options, 0 },
	{ "Common options:", mor_common_options, FIELD(common) },
	{ 0 },
};

const struct mor_cli_command mor_cli_command_worker = {
	.row = MOR_CLI_ROW(worker),
	.usage = "worker --farm URL --store DIR [-j N] [OPTION…]",
	.words = "",
	.description =
		"Takes batches of records or files from the farm, runs the analyzer or the plugins that their "
		"owner\n"
		"(mortise index --farm, mortise extract --farm) names, and writes segments into the store. It "
		"may be\n"
		"killed at any time: its batch is done by another. Ctrl-C gives batches back. Who may submit "
		"to the\n"
		"farm chooses the program that runs here: --confine confines it.",
	.examples = "mortise worker --farm postgres://db.example.com/farm --store /net/farm\n"
		    "mortise worker --farm postgres://db.example.com/farm --store /net/farm -j 8 --once",
	.options = groups,
	MOR_CLI_ARGS(worker_args),
};
