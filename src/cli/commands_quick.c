/* SPDX-License-Identifier: Apache-2.0 */
/* What the program `mortise` does itself: commands that need no library but libc. See main.c. */
#include <stddef.h>

#include "cli/cli.h"

const struct mor_command *const mor_commands[] = {
	&mor_command_call, &mor_command_run, &mor_command_jail, &mor_command_chaos, NULL,
};
const char *const mor_other_program = "mortise-full";
