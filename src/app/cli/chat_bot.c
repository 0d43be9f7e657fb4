/* SPDX-License-Identifier: Apache-2.0 */
/* mortise chat --config BOT.toml: a bot (src/bot/dispatch). */
#include <stddef.h>

#include "base/error.h"
#include "cli/inside.h"
#include "console/report.h"
#include "dispatch/bot.h"

int mor_cli_chat_bot(struct mor_cli *cli)
{
	const struct chat_args *args = cli->args;
	mortise_error err = { 0 };

	if (!mor_cli_is_bot(cli))
		return mor_cli_hand_over(cli, MOR_CLI_FULL);
	if (args->plugin.record) {
		mor_fail(&err, MORTISE_EINVAL,
			 "--record is for a conversation with one plugin; in the file of a bot, write "
			 "'mortise record -o FILE --' before the command of the plugin");
		return mor_report_usage(cli->console, &err);
	}
	return mor_bot_chat(cli->console, &args->plugin, args->plugin.config.item[0], args->stdio);
}
