/* SPDX-License-Identifier: Apache-2.0 */
/* All commands: the program `mortise-full`. See main.c. */
#include <stddef.h>

#include "cli/cli.h"

#define X(name, ...) &mor_cli_command_##name,
const struct mor_cli_command *const mor_cli_commands[] = { MOR_CLI_COMMANDS(X) NULL };
#undef X
const char *const mor_cli_other_program = NULL;
