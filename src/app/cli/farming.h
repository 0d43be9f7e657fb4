/* SPDX-License-Identifier: Apache-2.0 */
/* The options of commands that let a farm do their work. */
#ifndef MOR_CLI_FARMING_H
#define MOR_CLI_FARMING_H

#include "cli/cli.h"
#include "crew/lead.h"
#include "runner/runner.h"

extern const struct mor_option mor_farming_option_table[];
/* Sets lease_ms. */
void mor_farming_take(struct mor_crew_farm *args);
/* MORTISE_EINVAL: they do not fit each other, or the rest. `output`, `shard` as typed, or NULL. */
int mor_farming_check(const struct mor_crew_farm *args, const struct mor_plugin_args *plugin,
		      const char *output, const char *shard, mortise_error *err);

/* The commands. `farm` does it with --farm; NULL: the program mortise-farm does. */
typedef int mor_farming_extract_fn(struct mor_console *console, const struct mor_extract_args *want,
				   const struct mor_crew_farm *farm);
int mor_farming_extract_run(struct mor_cli *cli, mor_farming_extract_fn *farm); /* extract.c */
typedef int mor_farming_index_fn(struct mor_console *console, const struct mor_index_args *want,
				 const struct mor_crew_farm *farm, bool manifest);
int mor_farming_index_run(struct mor_cli *cli, mor_farming_index_fn *farm); /* index.c */

#endif
