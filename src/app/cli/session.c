/* SPDX-License-Identifier: Apache-2.0 */
/* mortise session: plugins that stay between commands (src/app/session). */
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/cli.h"
#include "console/report.h"
#include "console/signals.h"
#include "session/session.h"

struct session_args {
	const char *idle;
	struct mor_text_list answers;
	bool all, follow;
	struct mor_plugin_args plugin;
	struct mor_common_args common;
};

#define FIELD(name) offsetof(struct session_args, name)
static const struct mor_option session_options[] = {
	{ "idle", 0, "DURATION",
	  "start: end the session when it was not used for so long; default 10m, 0: never", MOR_OPT_TEXT,
	  FIELD(idle), NULL },
	{ "answer", 0, "METHOD=JSON",
	  "start: the answer when the plugin asks METHOD; without it null (plain), or an error", MOR_OPT_LIST,
	  FIELD(answers), NULL },
	{ "follow", 'f', NULL, "notes: wait for more, until Ctrl-C or the end of the session", MOR_OPT_FLAG,
	  FIELD(follow), NULL },
	{ "all", 0, NULL, "stop: all sessions", MOR_OPT_FLAG, FIELD(all), NULL },
	{ 0 },
};
static const struct mor_option_group groups[] = {
	{ "Options:", session_options, 0 },
	{ "Options for the plugin (start):", mor_plugin_option_table, FIELD(plugin) },
	{ "Common options:", mor_common_options, FIELD(common) },
	{ 0 },
};

static void drop_words(struct mor_words *words, size_t count)
{
	words->count -= count;
	memmove(words->item, words->item + count, (words->count + 1) * sizeof(*words->item));
}

/* The word behind the verb, which is removed with it. A name may be written as `call` wants it: @NAME. */
static int take_name(struct mor_cli *cli, const char **ret, mortise_error *err)
{
	struct mor_words *words = &cli->words;

	if (words->count < 2)
		return mor_fail(err, MORTISE_EINVAL, "%s wants the NAME of a session", words->item[0]);
	*ret = words->item[1] + mor_session_is_meant(words->item[1]);
	drop_words(words, 2);
	return 0;
}

static int no_more_words(const struct mor_cli *cli, mortise_error *err)
{
	if (cli->words.tail || cli->words.count)
		return mor_fail(err, MORTISE_EINVAL, "there is a word too many: \"%s\"",
				cli->words.count ? cli->words.item[0] : "--");
	return 0;
}

static int take_idle(const char *text, uint32_t *ret, mortise_error *err)
{
	*ret = MOR_SESSION_IDLE_MS;
	if (text && !mor_parse_duration_ms(mor_slice_of(text), ret))
		return mor_fail(err, MORTISE_EINVAL, "--idle \"%s\": expected a duration such as 30s, 10m or 0",
				text);
	return 0;
}

static int start_session(struct mor_cli *cli, mortise_error *err)
{
	const struct session_args *args = cli->args;
	struct mor_session_start start = { .plugin = &args->plugin, .answers = args->answers };
	size_t plugins = !cli->words.tail; /* or the plugin is the command behind "--" */
	int r = take_name(cli, &start.name, err);

	if (r == 0)
		r = take_idle(args->idle, &start.idle_ms, err);
	if (r == 0 && cli->words.count > plugins)
		r = mor_fail(err, MORTISE_EINVAL, "there is a word too many: \"%s\"", cli->words.item[plugins]);
	if (r == 0)
		r = mor_cli_target(cli, &start.typed, &start.argv, err);
	return r < 0 ? r : mor_session_start(cli->console, &start);
}

static int list_sessions(struct mor_cli *cli, mortise_error *err)
{
	drop_words(&cli->words, 1);
	return no_more_words(cli, err) < 0 ? err->code : mor_session_list(cli->console, err);
}

static int stop_session(struct mor_cli *cli, mortise_error *err)
{
	const struct session_args *args = cli->args;
	const char *name = NULL;
	int r;

	if (args->all && cli->words.count == 1)
		return mor_session_stop_all(cli->console, err);
	r = take_name(cli, &name, err);
	if (r == 0)
		r = no_more_words(cli, err);
	return r < 0 ? r : mor_session_stop(cli->console, name, err);
}

static int show_notes(struct mor_cli *cli, mortise_error *err)
{
	const struct session_args *args = cli->args;
	const char *name = NULL;
	int r = take_name(cli, &name, err);

	if (r == 0)
		r = no_more_words(cli, err);
	return r < 0 ? r : mor_session_notes(cli->console, name, args->follow, err);
}

static const struct {
	const char *name;
	int (*run)(struct mor_cli *cli, mortise_error *err);
} verbs[] = {
	{ "start", start_session }, { "list", list_sessions }, { "stop", stop_session }, { "notes", show_notes }
};

static int run_verb(struct mor_cli *cli, mortise_error *err)
{
	const char *typed = cli->words.count ? cli->words.item[0] : "";
	struct mor_nearest near = { .word = typed };

	for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++) {
		if (strcmp(verbs[i].name, typed) == 0)
			return verbs[i].run(cli, err);
		mor_nearest_offer(&near, verbs[i].name);
	}
	if (mor_nearest_best(&near))
		return mor_fail(err, MORTISE_EINVAL, "session cannot \"%s\"; did you mean %s?", typed,
				mor_nearest_best(&near));
	return mor_fail(err, MORTISE_EINVAL, "session takes one of start, list, stop, notes%s%s%s",
			*typed ? ", not \"" : "", typed, *typed ? "\"" : "");
}

static int session_run(struct mor_cli *cli)
{
	mortise_error err = { 0 };
	int r = run_verb(cli, &err);

	if (r < 0 && mor_signals_count())
		return mor_report_interrupted(cli->console, mor_signals_exit_code());
	return r < 0 ? mor_report_cause(cli->console, &err) : r;
}

const struct mor_cli_command mor_cli_command_session = {
	.row = MOR_CLI_ROW(session),
	.usage = "session start NAME PLUGIN [OPTION…]\n"
		 "session start NAME [OPTION…] -- COMMAND ARG…\n"
		 "session list\n"
		 "session notes NAME [--follow]\n"
		 "session stop NAME | --all",
	.words = "start|list|stop|notes",
	.description =
		"start runs the plugin, greets it and leaves it running; then 'mortise call @NAME METHOD' "
		"calls\n"
		"this process, again and again. So a plugin with a state, a language server or a slow starter "
		"can\n"
		"be used from scripts. Permissions, environment and settings are those of start; a call "
		"cannot\n"
		"change them. The session ends with 'stop', when it was not used for ten minutes (--idle), "
		"or\n"
		"with its plugin: a plugin that died is not started again, because what it knew is lost.\n"
		"notes shows what the plugin said by itself: notifications, requests, lines on stderr (the "
		"last\n"
		"thousand).",
	.examples = "mortise session start demo -- examples/echo-plugin.py\n"
		    "mortise call @demo echo x=1\n"
		    "mortise session list\n"
		    "mortise session stop demo",
	.options = groups,
	MOR_CLI_ARGS(session_args),
	.run = session_run,
};
