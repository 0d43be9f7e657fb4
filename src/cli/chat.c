/*
 * mortise chat: an interactive session with a plugin. Functions are called with a slash; while the plugin waits for
 * input (keep_session), plain text answers it. --config without a PLUGIN is a bot: that face is in bot_*.c.
 */
#include <signal.h>
#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/args.h"
#include "cli/bot.h"
#include "cli/chat_line.h"
#include "cli/chat_words.h"
#include "cli/cli.h"
#include "cli/functions.h"
#include "cli/output.h"
#include "cli/run_gassist.h"
#include "cli/session.h"
#include "cli/signals.h"
#include "cli/turn.h"
#include "cli/watch.h"

struct chat_args {
	bool echo;
	struct mor_gassist_args gassist;
	struct mor_plugin_args plugin;
	struct mor_common_args common;
};

#define FIELD(name) offsetof(struct chat_args, name)
static const struct mor_option chat_options[] = {
	{ "context", 0, "JSON",
	  "the conversation so far, an array of {role, content}; @FILE is read",
	  MOR_OPT_TEXT, FIELD(gassist.context), NULL },
	{ "echo", 0, NULL, "print each line that is read from a file, behind its prompt", MOR_OPT_FLAG, FIELD(echo), NULL },
	{ 0 },
};
static const struct mor_option_group groups[] = {
	{ "Options:", chat_options, 0 },
	{ "Options for G-Assist plugins:", mor_gassist_options, FIELD(gassist) },
	{ "Options for the plugin:", mor_plugin_option_table, FIELD(plugin) },
	{ "Common options:", mor_common_options, FIELD(common) },
	{ 0 },
};

struct chat {
	struct mor_cli *cli;
	const struct chat_args *args;
	struct mor_session session;
	struct mor_turn turn;
	struct mor_lines *lines;
	struct mor_doc *about;  /* describe, once it has greeted us */
	struct mor_buf extra;
	bool in_session, leaving;
	int exit_code;          /* of the last turn that failed; on a terminal only that of the start */
};

/* ---- what happens meanwhile ---- */

/* Between two turns nobody else would tell that the plugin is gone or that time runs out. */
static void on_event(const mortise_event *event, void *arg)
{
	struct chat *chat = arg;
	bool told = event->type == MORTISE_EVENT_STATE && event->previous == MORTISE_READY && !chat->turn.call &&
		    !chat->turn.cancelled && !chat->leaving;
	char shown[800];

	mor_watch_event(event, chat->cli);
	if (event->type == MORTISE_EVENT_SESSION)
		chat->in_session = event->count > 0;
	told |= event->type == MORTISE_EVENT_SESSION && strcmp(event->method, "ends_soon") == 0;
	if (!told || chat->cli->verbose)
		return;
	mor_lines_make_room(chat->lines);
	mor_note(chat->cli, "%s", mor_printable(mor_slice_of(event->text), shown, sizeof(shown)));
	mor_lines_redraw(chat->lines);
}

/* ---- functions ---- */

static const struct mor_value *about(const struct chat *chat)
{
	return mor_doc_root(chat->about);
}

static void list_functions(struct chat *chat)
{
	struct mor_json_iter it = mor_json_iter(mor_functions(about(chat)));
	char name[256], text[600];

	if (!mor_json_size(mor_functions(about(chat))))
		mor_note(chat->cli, "the plugin does not say which functions it has; its documentation may");
	while (mor_json_next(&it)) {
		MOR_CLEAN(mor_buf) struct mor_buf usage = MOR_BUF_INIT;

		mor_function_usage(it.value, &usage);
		mor_note(chat->cli, "  %s/%s%s", mor_style_err(chat->cli, MOR_STYLE_LABEL),
			 mor_printable(mor_buf_view(&usage), name, sizeof(name)), mor_style_err_end(chat->cli));
		mor_printable(mor_json_string(mor_json_get(it.value, "description")), text, sizeof(text));
		if (*text)
			mor_note(chat->cli, "      %s", text);
	}
}

/* ---- lines ---- */

static void fail(struct chat *chat, const mortise_error *err)
{
	chat->exit_code = mor_fail_cli(chat->cli, &(struct mor_report){ .error = err, .plugin = chat->turn.typed });
}

/* One that was just killed is gone in a moment, and then the next request starts it anew. */
static bool is_not_ending(void *arg)
{
	return mortise_plugin_state(((struct chat *)arg)->turn.plugin) != MORTISE_DRAINING;
}

/* One request. Ctrl-C ends it, and the plugin with it: the protocol has no word for "stop". */
static void take_turn(struct chat *chat, const char *action, struct mor_slice params)
{
	mortise_error err = { 0 };
	int r = mor_session_run(&chat->session, is_not_ending, chat);

	if (r == 0)
		r = mor_turn_run(&chat->turn, action, (mortise_json){ params.ptr, params.len }, &err);
	if (chat->turn.exit_code)
		chat->exit_code = chat->turn.exit_code;
	if (r == MORTISE_ECANCELED && mor_signals_take_interrupt()) {
		chat->exit_code = 128 + SIGINT;
		mor_note(chat->cli, "interrupted: the plugin was ended with its request; it starts anew with the next one");
	} else if (r == MORTISE_ECANCELED)
		chat->leaving = true;
	else if (r < 0)
		fail(chat, &err);
	if (mor_out_broken(chat->cli))
		chat->leaving = true;
}

static void call_function(struct chat *chat, const char *const *words, const char *const *rest, size_t count)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	const char *only = mor_function_only_parameter(mor_function_find(about(chat), words[0]));
	mortise_error err = { 0 };

	if (mor_chat_arguments(words + 1, count > 1 ? rest[1] : "", count - 1, only, &json, &err) < 0)
		fail(chat, &err);
	else
		take_turn(chat, words[0], mor_buf_view(&json));
}

static void say(struct chat *chat, const char *text)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	struct mor_writer w = { .out = &json };

	mor_w_object(&w);
	mor_w_pair(&w, "content", text);
	mor_w_end(&w);
	take_turn(chat, "input", mor_buf_view(&json));
}

static void help(struct chat *chat)
{
	mor_note(chat->cli,
		 "  /FUNCTION KEY=VALUE…  calls a function; KEY:=JSON for lists and objects, quotes keep blanks together\n"
		 "  TEXT                  answers the plugin while it waits for input; //TEXT if it begins with a slash\n"
		 "  /functions            lists the plugin's functions\n"
		 "  /call FUNCTION …      the same as /FUNCTION, for one that is called like a word of this list\n"
		 "  /end                  ends the conversation: tells the plugin \"exit\"\n"
		 "  /help                 this list\n"
		 "  /quit or Ctrl-D       leaves; Ctrl-C stops the running request");
}

/* What all real plugins take as the end; one that goes on all the same is stopped. */
static void end_conversation(struct chat *chat)
{
	mortise_error err = { 0 };

	if (!chat->in_session) {
		mor_fail(&err, MORTISE_EINPUT, "no conversation is open");
		fail(chat, &err);
		return;
	}
	say(chat, "exit");
	if (!chat->in_session || chat->leaving)
		return;
	chat->leaving = true; /* its end needs no remark */
	mor_session_stop_plugin(&chat->session, chat->turn.plugin);
	chat->leaving = false;
}

static void command(struct chat *chat, const char *line)
{
	MOR_CLEAN(mor_buf) struct mor_buf store = MOR_BUF_INIT;
	const char *words[MOR_CHAT_WORDS], *rest[MOR_CHAT_WORDS];
	mortise_error err = { 0 };
	size_t count = 0;

	if (mor_chat_split(line, &store, words, rest, &count, &err) < 0)
		fail(chat, &err);
	else if (count == 0 || strcmp(words[0], "help") == 0)
		help(chat);
	else if (strcmp(words[0], "functions") == 0)
		list_functions(chat);
	else if (strcmp(words[0], "quit") == 0)
		chat->leaving = true;
	else if (strcmp(words[0], "end") == 0)
		end_conversation(chat);
	else if (strcmp(words[0], "call") == 0 && count > 1)
		call_function(chat, words + 1, rest + 1, count - 1);
	else
		call_function(chat, words, rest, count);
}

static bool names_function(const struct chat *chat, const char *line)
{
	char name[128];
	size_t len = strcspn(line, " \t");

	if (len >= sizeof(name))
		return false;
	memcpy(name, line, len);
	name[len] = '\0';
	return mor_function_find(about(chat), name);
}

static void take_line(struct chat *chat, const char *line)
{
	mortise_error err = { 0 };

	while (*line == ' ' || *line == '\t')
		line++;
	if (!*line || (*line == '#' && !chat->in_session && !mor_lines_terminal(chat->lines)))
		return; /* comments in files */
	if (line[0] == '/' && line[1] != '/')
		command(chat, line + 1);
	else if (chat->in_session)
		say(chat, line[0] == '/' ? line + 1 : line);
	else if (names_function(chat, line))
		command(chat, line);
	else {
		mor_fail(&err, MORTISE_EINPUT, "the plugin waits for no input: call a function first, as in /FUNCTION KEY=VALUE (/functions lists them)");
		fail(chat, &err);
	}
}

/* ---- the chat ---- */

static void intro(struct chat *chat)
{
	char text[600];

	if (!mor_lines_terminal(chat->lines) || chat->cli->json)
		return;
	mor_note(chat->cli, "%s%s%s %s", mor_style_err(chat->cli, MOR_STYLE_TITLE), mortise_plugin_name(chat->turn.plugin),
		 mor_style_err_end(chat->cli), mor_json_text(mor_json_get(about(chat), "version"), ""));
	mor_printable(mor_json_string(mor_json_get(about(chat), "description")), text, sizeof(text));
	if (*text)
		mor_note(chat->cli, "%s", text);
	list_functions(chat);
	mor_note(chat->cli, "/help explains; Ctrl-D leaves.");
}

static void prompt(const struct chat *chat, char *out, size_t size)
{
	snprintf(out, size, "%s%s ", mortise_plugin_name(chat->turn.plugin), chat->in_session ? " …>" : ">");
}

static int loop(struct chat *chat, mortise_error *err)
{
	enum mor_line kind = MOR_LINE_READ;
	const char *line = NULL;
	char shown[160];
	int r = 0;

	while (r == 0 && !chat->leaving) {
		prompt(chat, shown, sizeof(shown));
		r = mor_lines_next(chat->lines, shown, &kind, &line, err);
		if (r < 0 || kind == MOR_LINE_END || kind == MOR_LINE_STOP)
			break;
		if (kind == MOR_LINE_INTERRUPT) {
			if (!mor_lines_terminal(chat->lines))
				return mor_fail(err, MORTISE_ECANCELED, "interrupted");
			continue;
		}
		if (chat->args->echo && !mor_lines_terminal(chat->lines))
			mor_outf(chat->cli, "%s%s\n", shown, line);
		take_line(chat, line);
		if (mor_lines_terminal(chat->lines))
			chat->exit_code = 0; /* the person has seen it */
	}
	chat->leaving = true;
	return r;
}

static bool greeted(void *arg)
{
	int state = mortise_plugin_state(((struct chat *)arg)->turn.plugin);

	return state != MORTISE_STARTING && state != MORTISE_GREETING;
}

/* A plugin that has failed for good says so to whoever calls it; one that died has left its last words. */
static int why_not(struct chat *chat, mortise_error *err)
{
	if (mortise_plugin_state(chat->turn.plugin) == MORTISE_FAILED)
		return mortise_call_start(chat->turn.plugin, "input", (mortise_json){ 0 }, NULL, NULL, err);
	return mor_fail(err, MORTISE_ECRASHED, "%s", mor_json_text(mor_json_get(about(chat), "last_error"), "it did not start"));
}

/* Up before the first line: a plugin that cannot start is told now, and the functions are known. */
static int start(struct chat *chat, mortise_error *err)
{
	char *json = NULL;
	int r = mortise_plugin_start(chat->turn.plugin, err);

	if (r == 0)
		r = mor_session_run(&chat->session, greeted, chat);
	if (r == MORTISE_ECANCELED)
		return mor_fail(err, r, "interrupted");
	if (r < 0)
		return r;
	r = mortise_plugin_describe(chat->turn.plugin, &json);
	if (r == 0)
		r = mor_doc_parse(mor_slice_of(json), MOR_JSON_NAN, 0, &chat->about, err);
	mortise_free(json);
	return r < 0 || mortise_plugin_state(chat->turn.plugin) == MORTISE_READY ? r : why_not(chat, err);
}

static int prepare(struct chat *chat, mortise_error *err)
{
	mortise_plugin_options opt;
	const char *const *argv = NULL;
	int r = mor_session_target(chat->cli, &chat->turn.typed, &argv, err);

	if (r < 0)
		return r;
	if (chat->cli->words.count)
		return mor_fail(err, MORTISE_EINVAL, "\"%s\": a chat takes a PLUGIN only; functions are called in it", chat->cli->words.item[0]);
	r = mor_session_open(&chat->session, chat->cli, &chat->args->plugin, NULL, err);
	if (r == 0)
		r = mor_gassist_prepare(&chat->session, &chat->args->gassist, &chat->extra, err);
	if (r < 0)
		return r;
	mor_session_plugin_options(&chat->session, chat->turn.typed, argv, &opt);
	opt.flags |= MORTISE_NO_RESTART; /* one that died comes back with the next request */
	opt.on_event = on_event;
	opt.arg = chat;
	chat->turn.session = &chat->session;
	chat->turn.extra = (mortise_json){ chat->extra.len ? chat->extra.data : NULL, chat->extra.len };
	r = mortise_plugin_new(chat->session.host, &opt, &chat->turn.plugin, err);
	if (r < 0)
		return r;
	chat->lines = mor_lines_new(&chat->session);
	return chat->lines ? 0 : mor_fail(err, MORTISE_ENOMEM, "out of memory");
}

static int chat_with_plugin(struct chat *chat, mortise_error *err)
{
	int r = prepare(chat, err);

	if (r == 0)
		r = start(chat, err);
	if (r == 0) {
		intro(chat);
		r = loop(chat, err);
	}
	chat->leaving = true;
	if (chat->turn.plugin)
		mor_session_stop_plugin(&chat->session, chat->turn.plugin);
	return r;
}

/* --config without a PLUGIN names a bot's file: there is nothing else that it could configure. */
static bool is_bot(const struct mor_cli *cli, const struct chat_args *args)
{
	return cli->words.count == 0 && !cli->words.tail && args->plugin.config.count == 1;
}

static int chat_run(struct mor_cli *cli)
{
	struct chat chat = { .cli = cli, .args = cli->args };
	mortise_error err = { 0 };
	int r;

	if (is_bot(cli, chat.args))
		return mor_bot_chat(cli, &chat.args->plugin, chat.args->plugin.config.item[0]);
	r = chat_with_plugin(&chat, &err);
	if (mor_signals_count() || r == MORTISE_ECANCELED)
		chat.exit_code = mor_fail_interrupted(cli, mor_signals_exit_code());
	else if (r == MORTISE_EINVAL)
		chat.exit_code = mor_fail_usage(cli, &err);
	else if (r < 0)
		fail(&chat, &err);
	mor_lines_free(chat.lines);
	mortise_plugin_unref(chat.turn.plugin);
	mor_session_close(&chat.session);
	mor_doc_free(chat.about);
	mor_buf_fini(&chat.extra);
	return chat.exit_code;
}

const struct mor_command mor_command_chat = {
	.name = "chat",
	.group = "Use a plugin:",
	.summary = "talk with a plugin: call functions, answer its questions",
	.usage = "chat PLUGIN [OPTION…]\n"
		 "chat [OPTION…] -- COMMAND ARG…\n"
		 "chat --config BOT.toml [OPTION…]",
	.words = "plugin",
	.description = "Starts the plugin and reads lines, from the terminal or a file:\n"
		       "  /FUNCTION KEY=VALUE…  calls a function; its answer is printed as it comes\n"
		       "  TEXT                  answers the plugin while it waits for input (the prompt shows \"…>\")\n"
		       "  /functions            lists what the plugin offers\n"
		       "  /end                  ends a conversation by telling the plugin \"exit\"\n"
		       "  /help                 all of this\n"
		       "Ctrl-C stops the running request, Ctrl-D leaves. From a file each line waits for the answer to the one\n"
		       "before it, and the exit code is that of the last one that failed.\n"
		       "\n"
		       "With --config BOT.toml and no PLUGIN it runs a chat bot: the plugins of [external-plugin-bridge] (Ayiou)\n"
		       "get each event of stdin, one JSON object per line (OneBot v11, or {\"text\":\"/ping\",\"user_id\":1}), and what\n"
		       "they answer is written to stdout as OneBot v11 calls. Ends with its input.",
	.examples = "mortise chat build/plugins/lookout\n"
		    "printf '/start_conversation\\nAda\\nexit\\n' | mortise chat ./hello-world --echo\n"
		    "mortise chat --dialect gassist -- python3 plugin.py\n"
		    "echo '{\"text\":\"/weather Beijing\"}' | mortise chat --config bot.toml",
	.options = groups,
	.args_size = sizeof(struct chat_args),
	.common = FIELD(common),
	.run = chat_run,
};
