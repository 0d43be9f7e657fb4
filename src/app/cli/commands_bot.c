/* SPDX-License-Identifier: Apache-2.0 */
/* The program `mortise-bot`: chat with the file of a bot. See main.c. */
#include <stddef.h>

#include "cli/inside.h"

const enum mor_cli_program mor_cli_this = MOR_CLI_BOT;
const struct mor_cli_command *const mor_cli_commands[] = { &mor_cli_command_chat, NULL };
const struct mor_cli_run mor_cli_runs[] = {
	{ &mor_cli_command_chat, mor_cli_chat_bot },
	{ 0 },
};
