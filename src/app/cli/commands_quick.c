/* SPDX-License-Identifier: Apache-2.0 */
/* The program `mortise`: commands that need no library except libc. See main.c. */
#include <stddef.h>

#include "cli/inside.h"

const enum mor_cli_program mor_cli_this = MOR_CLI_QUICK;
const struct mor_cli_command *const mor_cli_commands[] = { &mor_cli_command_call,   &mor_cli_command_run,
							   &mor_cli_command_jail,   &mor_cli_command_chaos,
							   &mor_cli_command_record, NULL };
const struct mor_cli_run mor_cli_runs[] = {
	{ 0 },
};
