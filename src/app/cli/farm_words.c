/* SPDX-License-Identifier: Apache-2.0 */
/* The words of mortise farm: its options, and its entry. */
#include <stddef.h>

#include "cli/inside.h"

#define FIELD(name) offsetof(struct farm_args, name)
static const struct mor_option farm_options[] = {
	{ "watch", 'w', NULL, "status: show it again every second, until Ctrl-C", MOR_OPT_FLAG, FIELD(watch),
	  NULL },
	{ "store", 0, "DIR", "init: make this directory a store; gc: remove old files from it too",
	  MOR_OPT_TEXT, FIELD(store), NULL },
	{ "keep", 0, "MANIFEST", "gc: its segments stay; may be repeated", MOR_OPT_LIST, FIELD(keep), NULL },
	{ "days", 0, "N", "gc: what was not used for so many days; default 30", MOR_OPT_COUNT, FIELD(days),
	  NULL },
	{ 0 },
};
static const struct mor_option_group groups[] = {
	{ "Options:", farm_options, 0 },
	{ "Common options:", mor_common_options, FIELD(common) },
	{ 0 },
};

const struct mor_cli_command mor_cli_command_farm = {
	.row = MOR_CLI_ROW(farm),
	.usage = "farm init|status|retry|gc URL [OPTION…]",
	.words = "init|status|retry|gc",
	.description =
		"URL names a PostgreSQL database, as libpq reads it: "
		"postgres://host/database?sslmode=verify-full. Passwords\n"
		"belong into ~/.pgpass. init makes the schema and its roles, or brings them up to date; run it "
		"as a user\n"
		"who may create roles. status shows runs, workers, the slowest batches, and units that were "
		"slow\n"
		"or failed. retry lets poisoned and leased batches wait again. gc forgets what was not used "
		"for long.",
	.examples = "mortise farm init postgres://db.example.com/farm --store /net/farm\n"
		    "mortise farm status postgres://db.example.com/farm --watch\n"
		    "mortise farm gc postgres://db.example.com/farm --store /net/farm --days 14",
	.options = groups,
	MOR_CLI_ARGS(farm_args),
};
