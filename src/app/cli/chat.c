/* SPDX-License-Identifier: Apache-2.0 */
/* mortise chat: a conversation with plugins (src/work/converse); --config without a PLUGIN is a bot
 * (src/bot/dispatch). */
#include <stddef.h>

#include "base/error.h"
#include "cli/cli.h"
#include "console/report.h"
#include "converse/converse.h"
#include "dispatch/bot.h"

struct chat_args {
	bool stdio;
	struct mor_converse_args want;
	struct mor_plugin_args plugin;
	struct mor_common_args common;
};

#define FIELD(name) offsetof(struct chat_args, name)
static const struct mor_option chat_options[] = {
	{ "context", 0, "JSON", "the conversation so far, an array of {role, content}; @FILE is read",
	  MOR_OPT_TEXT, FIELD(want.extra.context), NULL },
	{ "echo", 0, NULL, "print each line that is read from a file, after its prompt", MOR_OPT_FLAG,
	  FIELD(want.echo), NULL },
	{ "ask", 0, NULL, "what plugins ask waits for /answer or /refuse", MOR_OPT_FLAG, FIELD(want.ask),
	  NULL },
	{ "answer", 0, "METHOD=JSON",
	  "the answer when a plugin asks METHOD; without it null (plain), or an error", MOR_OPT_LIST,
	  FIELD(want.answers), NULL },
	MOR_OPTION_RECORD(FIELD(plugin.record)),
	{ "stdio", 0, NULL, "a bot: events from stdin, calls to stdout, even if its file names a network",
	  MOR_OPT_FLAG, FIELD(stdio), NULL },
	{ 0 },
};
static const struct mor_option_group groups[] = {
	{ "Options:", chat_options, 0 },
	{ "Options for G-Assist plugins:", mor_gassist_options, FIELD(want.extra) },
	{ "Options for the plugin:", mor_plugin_option_table, FIELD(plugin) },
	{ "Common options:", mor_common_options, FIELD(common) },
	{ 0 },
};

/* --config without a PLUGIN names the file of a bot: no plugin is given that it could configure. */
static bool is_bot(const struct mor_cli *cli, const struct chat_args *args)
{
	return cli->words.count == 0 && !cli->words.tail && args->plugin.config.count == 1;
}

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

static int chat_run(struct mor_cli *cli)
{
	struct chat_args *args = cli->args;
	mortise_error err = { 0 };

	if (is_bot(cli, args) && args->plugin.record) {
		mor_fail(&err, MORTISE_EINVAL,
			 "--record is for a conversation with one plugin; in the file of a bot, write "
			 "'mortise record -o FILE --' before the command of the plugin");
		return mor_report_usage(cli->console, &err);
	}
	if (is_bot(cli, args))
		return mor_bot_chat(cli->console, &args->plugin, args->plugin.config.item[0], args->stdio);
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

const struct mor_cli_command mor_cli_command_chat = {
	.row = MOR_CLI_ROW(chat),
	.usage = "chat PLUGIN… [OPTION…]\n"
		 "chat [PLUGIN…] [OPTION…] -- COMMAND ARG…\n"
		 "chat --config BOT.toml [OPTION…]",
	.words = "plugin",
	.description =
		"Starts the plugins and reads lines, from the terminal or a file:\n"
		"  /FUNCTION KEY=VALUE…  calls a function; its answer is printed as it comes\n"
		"  /PLUGIN.FUNCTION …    the same, where several plugins have a function of that name\n"
		"  TEXT                  answers the plugin that waits for input (the prompt shows \"…>\"); if "
		"none\n"
		"                        waits, it goes to the function of a plugin with \"passthrough\"\n"
		"  /functions            lists what the plugins offer\n"
		"  /note METHOD …        sends a notification\n"
		"  /answer JSON          answers what a plugin asks, if --ask was given; /refuse [CODE] TEXT\n"
		"  /end                  ends a conversation by telling the plugin \"exit\"\n"
		"  /help                 shows this list\n"
		"Every dialect is spoken whose plugins stay between calls; Tab completes functions and "
		"parameters.\n"
		"Ctrl-C stops the running request, Ctrl-D leaves. From a file each line waits for the answer "
		"to the one\n"
		"before it, and the exit code is that of the last one that failed. Arguments are checked "
		"against what the\n"
		"manifest says about a function.\n"
		"\n"
		"With --config BOT.toml and no PLUGIN it runs a chat bot: the plugins of "
		"[external-plugin-bridge] (Ayiou)\n"
		"get each event of the network, and what they answer is sent there: OneBot v11 over the "
		"WebSocket that\n"
		"[bot] names (ws_url, listen). The file is read again when it changes, and at SIGHUP. Without "
		"a network, or\n"
		"with --stdio, events come from stdin, one JSON object per line (OneBot v11, or\n"
		"{\"text\":\"/ping\",\"user_id\":1}), and calls go to stdout; it ends with its input.",
	.examples = "mortise chat build/plugins/lookout\n"
		    "printf '/disk path=/var\\n' | mortise chat build/plugins/lookout --echo\n"
		    "mortise chat --dialect gassist -- python3 hello-world/plugin.py\n"
		    "mortise chat --config bot.toml\n"
		    "echo '{\"text\":\"/weather Beijing\"}' | mortise chat --config bot.toml --stdio",
	.options = groups,
	.args_size = sizeof(struct chat_args),
	.common = FIELD(common),
	.run = chat_run,
};
