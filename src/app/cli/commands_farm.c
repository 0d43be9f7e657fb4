/* SPDX-License-Identifier: Apache-2.0 */
/* The program `mortise-farm`: index and extract are for --farm. See main.c. */
#include <stddef.h>

#include "cli/inside.h"

static int extract_by_farm(struct mor_cli *cli)
{
	return mor_farming_extract_run(cli, mor_crew_extract);
}

static int index_by_farm(struct mor_cli *cli)
{
	return mor_farming_index_run(cli, mor_crew_index);
}

const enum mor_cli_program mor_cli_this = MOR_CLI_FARM;
const struct mor_cli_command *const mor_cli_commands[] = { &mor_cli_command_farm, &mor_cli_command_worker,
							   &mor_cli_command_index, &mor_cli_command_extract,
							   NULL };
const struct mor_cli_run mor_cli_runs[] = {
	{ &mor_cli_command_farm, mor_cli_farm },
	{ &mor_cli_command_worker, mor_cli_worker },
	{ &mor_cli_command_index, index_by_farm },
	{ &mor_cli_command_extract, extract_by_farm },
	{ 0 },
};
