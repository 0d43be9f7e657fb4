/* SPDX-License-Identifier: Apache-2.0 */
/* mortise chat --config BOT.toml: a bot (src/bot/dispatch). */
#include "cli/inside.h"
#include "console/report.h"
#include "dispatch/bot.h"

int mor_cli_chat_bot(struct mor_cli *cli)
{
	const struct chat_args *args = cli->args;

	if (!mor_cli_is_bot(cli))
		return mor_cli_hand_over(cli, MOR_CLI_FULL);
	if (args->plugin.record)
		return mor_report_misuse(
			cli->console,
			"--record is for a conversation with one plugin; in the file of a bot, write "
			"'mortise record -o FILE --' before the command of the plugin");
	return mor_bot_chat(cli->console, &args->plugin, args->plugin.config.item[0], args->stdio);
}
