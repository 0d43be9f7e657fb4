/* SPDX-License-Identifier: Apache-2.0 */
/* The program `mortise-kythe`. See main.c. */
#include <stddef.h>

#include "cli/inside.h"

const enum mor_cli_program mor_cli_this = MOR_CLI_KYTHE;
const struct mor_cli_command *const mor_cli_commands[] = { &mor_cli_command_index, &mor_cli_command_kzip,
							   &mor_cli_command_entries,
							   &mor_cli_command_verify_entries, NULL };
const struct mor_cli_run mor_cli_runs[] = {
	{ &mor_cli_command_index, mor_cli_index },
	{ &mor_cli_command_kzip, mor_cli_kzip },
	{ &mor_cli_command_entries, mor_cli_entries },
	{ &mor_cli_command_verify_entries, mor_cli_verify_entries },
	{ 0 },
};
