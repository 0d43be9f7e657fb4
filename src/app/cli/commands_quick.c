/* SPDX-License-Identifier: Apache-2.0 */
/* The commands that the program `mortise` runs itself: they need no library except libc. See main.c. */
#include <stddef.h>

#include "cli/cli.h"

const struct mor_cli_command *const mor_cli_commands[] = {
	&mor_cli_command_call,  &mor_cli_command_run,    &mor_cli_command_jail,
	&mor_cli_command_chaos, &mor_cli_command_record, NULL,
};
const char *const mor_cli_other_program = "mortise-full";
