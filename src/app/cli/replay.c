/* SPDX-License-Identifier: Apache-2.0 */
/* mortise replay: plays a .talk file to a plugin, or as a plugin. */
#include "replay/replay.h"

#include <string.h>

#include "base/error.h"
#include "cli/cli.h"
#include "console/report.h"

struct replay_args {
	bool as_plugin, tap, ordered, pace, noise;
	struct mor_text_list ignore, skip, secret;
	struct mor_plugin_args plugin;
	struct mor_common_args common;
};

#define FIELD(name) offsetof(struct replay_args, name)
static const struct mor_option replay_options[] = {
	{ "as-plugin", 0, NULL, "play the plugin's side, on stdin and stdout, for any host", MOR_OPT_FLAG,
	  FIELD(as_plugin), NULL },
	{ "ignore", 0, "POINTER", "do not compare this value (/result/time, /params/*/id); may be repeated",
	  MOR_OPT_LIST, FIELD(ignore), NULL },
	{ "skip", 0, "METHOD", "leave out messages of the other side with this method; may be repeated",
	  MOR_OPT_LIST, FIELD(skip), NULL },
	{ "skip-noise", 0, NULL, "do not compare bytes that are no messages", MOR_OPT_FLAG, FIELD(noise),
	  NULL },
	{ "ordered", 0, NULL, "everything must come in the order of the file", MOR_OPT_FLAG, FIELD(ordered),
	  NULL },
	{ "pace", 0, NULL, "wait as long as the recording did", MOR_OPT_FLAG, FIELD(pace), NULL },
	{ "secret", 0, "NAME=VALUE", "what stands for $secret_NAME in messages that are sent", MOR_OPT_LIST,
	  FIELD(secret), NULL },
	{ "tap", 0, NULL, "the report as TAP", MOR_OPT_FLAG, FIELD(tap), NULL },
	{ 0 },
};
static const struct mor_option_group groups[] = {
	{ "Options:", replay_options, 0 },
	{ "Options for the plugin:", mor_plugin_option_table, FIELD(plugin) },
	{ "Common options:", mor_common_options, FIELD(common) },
	{ 0 },
};

static int check_secrets(const struct mor_text_list *secrets, mortise_error *err)
{
	for (size_t i = 0; i < secrets->count; i++)
		if (!strchr(secrets->item[i], '=') || secrets->item[i][0] == '=')
			return mor_fail(err, MORTISE_EINVAL, "--secret \"%s\": expected NAME=VALUE",
					secrets->item[i]);
	return 0;
}

static int take_file(struct mor_cli *cli, const char **ret, mortise_error *err)
{
	struct mor_words *words = &cli->words;

	if (!words->count)
		return mor_fail(err, MORTISE_EINVAL, "name the .talk FILE to play");
	*ret = words->item[0];
	memmove(words->item, words->item + 1, words->count * sizeof(*words->item));
	words->count--;
	return 0;
}

static int play_file(struct mor_cli *cli, struct mor_replay *replay, mortise_error *err)
{
	const struct replay_args *args = cli->args;
	const char *const *argv = NULL;
	const char *path = NULL;
	int r = args->as_plugin ? 0 : mor_cli_target_bare(cli, &path, &argv, err);

	if (r == 0 && (cli->words.count || (args->as_plugin && cli->words.tail)))
		r = mor_fail(err, MORTISE_EINVAL, "replay takes FILE and %s; \"%s\" is one word too many",
			     args->as_plugin ? "no plugin with --as-plugin" : "one PLUGIN",
			     cli->words.count ? cli->words.item[0] : cli->words.tail[0]);
	if (r < 0)
		return r;
	return args->as_plugin ? mor_replay_as_plugin(replay, err) :
				 mor_replay_to_plugin(replay, &args->plugin, path, argv, err);
}

static int replay_run(struct mor_cli *cli)
{
	const struct replay_args *args = cli->args;
	struct mor_replay replay = { .console = cli->console,
				     .tap = args->tap,
				     .play = { .ordered = args->ordered,
					       .noise = args->noise,
					       .pace = args->pace,
					       .ignored = args->ignore.item,
					       .skipped = args->skip.item,
					       .secrets = args->secret.item } };
	const char *file = NULL;
	mortise_error err = { 0 };
	int r;

	if ((r = take_file(cli, &file, &err)) == 0 && (r = check_secrets(&args->secret, &err)) == 0 &&
	    (r = mor_replay_load(&replay, file, &err)) == 0)
		r = play_file(cli, &replay, &err);
	mor_replay_fini(&replay);
	return r < 0 ? mor_report_cause(cli->console, &err) : r;
}

const struct mor_cli_command mor_cli_command_replay = {
	.row = MOR_CLI_ROW(replay),
	.usage = "replay FILE [OPTION…] PLUGIN\nreplay FILE [OPTION…] -- COMMAND [ARG…]\n"
		 "replay --as-plugin FILE [OPTION…]",
	.words = "file",
	.description =
		"Plays the host's lines of a .talk file to a real plugin, and compares what the plugin says "
		"with the\n"
		"file. The first difference is shown: the line of the file, what was expected, what came. Ids "
		"may differ,\n"
		"and replies may come in another order. The status is 0 if nothing differs, 1 if something "
		"does.\n"
		"With --as-plugin it is a plugin that says what the file says: a mock for any host. Where the "
		"host says\n"
		"something else, a line on stderr tells.",
	.examples = "mortise replay echo.talk examples/echo-plugin.py\n"
		    "mortise replay session.talk --ignore /result/time --confine ./my-plugin\n"
		    "mortise call echo x=1 -- mortise replay --as-plugin echo.talk",
	.options = groups,
	MOR_CLI_ARGS(replay_args),
	.run = replay_run,
};
