/* SPDX-License-Identifier: Apache-2.0 */
/* The words of mortise chat: its options, and its entry. */
#include <stddef.h>

#include "cli/inside.h"

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

bool mor_cli_is_bot(const struct mor_cli *cli)
{
	const struct chat_args *args = cli->args;

	return cli->words.count == 0 && !cli->words.tail && args->plugin.config.count == 1;
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
	MOR_CLI_ARGS(chat_args),
};
