/* SPDX-License-Identifier: Apache-2.0 */
/* All commands, in the order in which they are listed: the program `mortise-full`. See main.c. */
#include <stddef.h>

#include "cli/cli.h"

const struct mor_command *const mor_commands[] = {
	&mor_command_call,    &mor_command_run,        &mor_command_chat,       &mor_command_extract, &mor_command_info,
	&mor_command_explain, &mor_command_jail,       &mor_command_doctor,
	&mor_command_index,   &mor_command_kzip,       &mor_command_verify_entries,
	&mor_command_chaos,
	&mor_command_completion, &mor_command_help,
	NULL,
};
const char *const mor_other_program = NULL;
