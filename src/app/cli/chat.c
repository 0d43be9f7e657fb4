/* SPDX-License-Identifier: Apache-2.0 */
/* mortise chat: a conversation with plugins (src/work/converse). A bot is in another program: chat_bot.c. */
#include "base/error.h"
#include "cli/inside.h"
#include "console/report.h"

static int check_words(const struct mor_words *words, mortise_error *err)
{
	if (words->tail && !words->tail[0])
		return mor_fail(err, MORTISE_EINVAL, "write a command after \"--\"");
	if (words->count == 0 && !words->tail)
		return mor_fail(err, MORTISE_EINVAL,
				"name a PLUGIN: an installed one by its name, a directory or file as ./NAME, "
				"or a command after \"--\"");
	return 0;
}

int mor_cli_chat(struct mor_cli *cli)
{
	struct chat_args *args = cli->args;
	mortise_error err = { 0 };

	if (mor_cli_is_bot(cli))
		return mor_cli_hand_over(cli, MOR_CLI_BOT);
	if (check_words(&cli->words, &err) < 0)
		return mor_report_usage(cli->console, &err);
	if (mor_cli_named_all(cli, cli->words.item, cli->words.count, &err) < 0)
		return mor_report_error(cli->console, &err);
	args->want.plugins = cli->words.item;
	args->want.plugin_count = cli->words.count;
	args->want.command = cli->words.tail;
	args->want.plugin = &args->plugin;
	return mor_converse_run(cli->console, &args->want);
}
