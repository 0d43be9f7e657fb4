/* SPDX-License-Identifier: Apache-2.0 */
/* The program `mortise-full`. See main.c. */
#include <stddef.h>

#include "cli/inside.h"

const enum mor_cli_program mor_cli_this = MOR_CLI_FULL;
#define X(name, ...) &mor_cli_command_##name,
const struct mor_cli_command *const mor_cli_commands[] = { MOR_CLI_COMMANDS(X) NULL };
#undef X
const struct mor_cli_run mor_cli_runs[] = {
	{ &mor_cli_command_chat, mor_cli_chat },
	{ 0 },
};
