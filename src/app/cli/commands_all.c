/* SPDX-License-Identifier: Apache-2.0 */
/* All commands, in the order in which they are listed: the program `mortise-full`. See main.c. */
#include <stddef.h>

#include "cli/cli.h"

/* One per line, whatever their number: clang-format would make columns of it. */
/* clang-format off */
const struct mor_cli_command *const mor_cli_commands[] = {
	&mor_cli_command_call,
	&mor_cli_command_run,
	&mor_cli_command_chat,
	&mor_cli_command_session,
	&mor_cli_command_extract,
	&mor_cli_command_info,
	&mor_cli_command_explain,
	&mor_cli_command_probe,
	&mor_cli_command_bench,
	&mor_cli_command_new,
	&mor_cli_command_install,
	&mor_cli_command_list,
	&mor_cli_command_upgrade,
	&mor_cli_command_rollback,
	&mor_cli_command_approve,
	&mor_cli_command_remove,
	&mor_cli_command_lock,
	&mor_cli_command_outdated,
	&mor_cli_command_bundle,
	&mor_cli_command_key,
	&mor_cli_command_trust,
	&mor_cli_command_registry,
	&mor_cli_command_jail,
	&mor_cli_command_doctor,
	&mor_cli_command_index,
	&mor_cli_command_kzip,
	&mor_cli_command_entries,
	&mor_cli_command_verify_entries,
	&mor_cli_command_join,
	&mor_cli_command_worker,
	&mor_cli_command_farm,
	&mor_cli_command_record,
	&mor_cli_command_replay,
	&mor_cli_command_tap,
	&mor_cli_command_talk,
	&mor_cli_command_check,
	&mor_cli_command_chaos,
	&mor_cli_command_completion,
	&mor_cli_command_help,
	NULL,
};
/* clang-format on */
const char *const mor_cli_other_program = NULL;
