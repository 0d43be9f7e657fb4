/* SPDX-License-Identifier: Apache-2.0 */
/* The options of commands that let a farm do their work. */
#ifndef MOR_CLI_FARMING_H
#define MOR_CLI_FARMING_H

#include "cli/cli.h"
#include "extract/extract.h"
#include "runner/runner.h"

struct mor_farming {
	const char *url, *store, *lease, *report;
	uint32_t batch, window;
	bool resume;       /* of a command that has it elsewhere too: --resume */
	uint32_t lease_ms; /* set by mor_farming_take() */
};

extern const struct mor_option mor_farming_option_table[];
void mor_farming_take(struct mor_farming *args);
/* MORTISE_EINVAL: they do not fit each other, or the rest. `output`, `shard` as typed, or NULL. */
int mor_farming_check(const struct mor_farming *args, const struct mor_plugin_args *plugin, const char *output,
		      const char *shard, mortise_error *err);

/* Instead of mor_extract_run(). */
typedef int mor_farming_extract_fn(struct mor_console *console, const struct mor_extract_args *want,
				   const struct mor_farming *args);
/* extract.c: the command. `farm` does it with --farm; NULL: the program mortise-farm does. */
int mor_farming_extract_run(struct mor_cli *cli, mor_farming_extract_fn *farm);

#endif
