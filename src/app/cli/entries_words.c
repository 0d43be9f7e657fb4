/* SPDX-License-Identifier: Apache-2.0 */
/* The words of mortise entries: its options, and its entry. */
#include <stddef.h>

#include "cli/inside.h"

#define FIELD(name) offsetof(struct entries_args, name)
static const struct mor_option entries_options[] = {
	{ "output", 'o', "FILE", "where the stream goes; default, and -: stdout", MOR_OPT_TEXT, FIELD(output),
	  NULL },
	{ "store", 0, "DIR", "where the segments are; default: as the manifest says", MOR_OPT_TEXT,
	  FIELD(store), NULL },
	{ "unique", 'u', NULL, "sort: of equal entries only one", MOR_OPT_FLAG, FIELD(unique), NULL },
	{ "memory", 0, "SIZE", "sort: entries that are held at once; default: 256MiB", MOR_OPT_BYTES,
	  FIELD(memory), NULL },
	{ 0 },
};
static const struct mor_option_group groups[] = {
	{ "Options:", entries_options, 0 },
	{ "Common options:", mor_common_options, FIELD(common) },
	{ 0 },
};

const struct mor_cli_command mor_cli_command_entries = {
	.row = MOR_CLI_ROW(entries),
	.usage = "entries cat FILE… [-o FILE] [OPTION…]\nentries sort FILE… [-o FILE] [--unique] "
		 "[OPTION…]\nentries stat FILE… [OPTION…]",
	.words = "cat|sort|stat",
	.description =
		"FILE is a stream of entries (delimited protobuf), or a manifest: the list of a farm's "
		"segments. cat gives the one\n"
		"stream; it is checked as it is written. sort orders the entries of all "
		"FILEs by source,\n"
		"edge, fact and target, as Kythe's tools expect them; what does not fit into memory goes to "
		"TMPDIR. stat counts\n"
		"entries, nodes (facts that tell a node's kind) and edges.",
	.examples = "mortise entries stat app.entries\n"
		    "mortise entries cat app.manifest -o app.entries\n"
		    "mortise entries sort --unique app.manifest -o app.sorted",
	.options = groups,
	MOR_CLI_ARGS(entries_args),
};
