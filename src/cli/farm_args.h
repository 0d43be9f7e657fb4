/* SPDX-License-Identifier: Apache-2.0 */
/* The options of commands that let a farm do their work. */
#ifndef MOR_CLI_FARM_ARGS_H
#define MOR_CLI_FARM_ARGS_H

#include "cli/cli.h"
#include "runner/runner.h"

struct mor_farm_args {
	const char *url, *store, *lease;
	uint32_t batch, window;
	bool resume;       /* of a command that has it elsewhere too: --resume */
	uint32_t lease_ms; /* set by mor_farm_args_take() */
};

extern const struct mor_option mor_farm_option_table[];
void mor_farm_args_take(struct mor_farm_args *args);
/* MORTISE_EINVAL: they do not fit each other, or the rest. `output`, `shard` as typed, or NULL. */
int mor_farm_args_check(const struct mor_farm_args *args, const struct mor_plugin_args *plugin,
			const char *output, const char *shard, mortise_error *err);

#endif
