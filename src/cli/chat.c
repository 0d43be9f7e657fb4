/*
 * mortise chat: an interactive session with plugins. Functions are called with a slash; while a plugin waits for input
 * (keep_session), plain text answers it. --config without a PLUGIN is a bot: that face is in src/bot.
 */
#include "cli/chat.h"

#include <signal.h>
#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "console/args.h"
#include "bot/bot.h"
#include "cli/chat_words.h"
#include "cli/functions.h"
#include "console/report.h"
#include "cli/run_gassist.h"
#include "console/signals.h"
#include "runner/watch.h"

struct mor_chat_args {
	bool echo, stdio;
	struct mor_gassist_args gassist;
	struct mor_plugin_args plugin;
	struct mor_common_args common;
};

#define FIELD(name) offsetof(struct mor_chat_args, name)
static const struct mor_option chat_options[] = {
	{ "context", 0, "JSON",
	  "the conversation so far, an array of {role, content}; @FILE is read",
	  MOR_OPT_TEXT, FIELD(gassist.context), NULL },
	{ "echo", 0, NULL, "print each line that is read from a file, behind its prompt", MOR_OPT_FLAG, FIELD(echo), NULL },
	{ "stdio", 0, NULL, "a bot: events from stdin and calls to stdout, though its file names a network", MOR_OPT_FLAG, FIELD(stdio), NULL },
	{ 0 },
};
static const struct mor_option_group groups[] = {
	{ "Options:", chat_options, 0 },
	{ "Options for G-Assist plugins:", mor_gassist_options, FIELD(gassist) },
	{ "Options for the plugin:", mor_plugin_option_table, FIELD(plugin) },
	{ "Common options:", mor_common_options, FIELD(common) },
	{ 0 },
};

/* ---- what happens meanwhile ---- */

/* Between two turns nobody else would tell that a plugin is gone or that time runs out. */
static void on_event(const mortise_event *event, void *arg)
{
	struct mor_guest *guest = arg;
	struct mor_chat *chat = guest->chat;
	bool told = event->type == MORTISE_EVENT_STATE && event->previous == MORTISE_READY && !guest->turn.call &&
		    !guest->turn.cancelled && !chat->leaving;
	char shown[800];

	if (event->type == MORTISE_EVENT_SESSION)
		guest->in_session = event->count > 0;
	told = told && strcmp(event->text, guest->turn.failure.text) != 0; /* its request's failure has said it */
	told |= event->type == MORTISE_EVENT_SESSION && strcmp(event->method, "ends_soon") == 0;
	if (!told && !mor_watch_shows(chat->cli->console, event))
		return;
	mor_lines_make_room(chat->lines);
	mor_watch_event(event, chat->cli->console);
	if (told && !chat->cli->console->verbose)
		mor_note(chat->cli->console, "%s", mor_printable(mor_slice_of(event->text), shown, sizeof(shown)));
	mor_lines_redraw(chat->lines);
}

/* ---- turns ---- */

static void fail(struct mor_chat *chat, const struct mor_guest *guest, const mortise_error *err)
{
	chat->exit_code = mor_report_fail(chat->cli->console, &(struct mor_report){ .error = err, .plugin = guest ? guest->turn.typed : NULL });
}

static void refuse(struct mor_chat *chat, const char *text)
{
	mortise_error err = { 0 };

	mor_fail(&err, MORTISE_EINPUT, "%s", text);
	fail(chat, NULL, &err);
}

/* One that was just killed is gone in a moment, and then the next request starts it anew. */
static bool is_not_ending(void *arg)
{
	return mortise_plugin_state(((struct mor_guest *)arg)->turn.plugin) != MORTISE_DRAINING;
}

/* One request. Ctrl-C ends it, and the plugin with it: the protocol has no word for "stop". */
static void take_turn(struct mor_guest *guest, const char *action, const struct mor_buf *params)
{
	struct mor_chat *chat = guest->chat;
	mortise_error err = { 0 };
	int r = mor_runner_run(&chat->session, is_not_ending, guest);

	guest->asked = ++chat->turns;
	if (r == 0)
		r = mor_turn_run(&guest->turn, action, (mortise_json){ params->data, params->len }, &err);
	if (guest->turn.exit_code)
		chat->exit_code = guest->turn.exit_code;
	if (r == MORTISE_ECANCELED && mor_signals_take_interrupt()) {
		chat->exit_code = 128 + SIGINT;
		mor_note(chat->cli->console, "interrupted: the plugin was ended with its request; it starts anew with the next one");
	} else if (r == MORTISE_ECANCELED)
		chat->leaving = true;
	else if (r < 0)
		fail(chat, guest, &err);
	if (mor_out_broken(chat->cli->console))
		chat->leaving = true;
}

static void call_function(struct mor_chat *chat, const char *const *words, const char *const *rest, size_t count)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	struct mor_pick pick = { 0 };
	mortise_error err = { 0 };
	int r = mor_guests_pick(chat, words[0], &pick, &err);

	if (r == 0)
		r = mor_chat_arguments(words + 1, count > 1 ? rest[1] : "", count - 1, pick.listed, &json, &err);
	if (r < 0)
		fail(chat, pick.guest, &err);
	else
		take_turn(pick.guest, pick.name, &json);
}

static void say(struct mor_guest *guest, const char *text)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	mortise_error err = { 0 };

	if (mor_chat_text_argument("content", text, &json, &err) < 0)
		fail(guest->chat, guest, &err);
	else
		take_turn(guest, "input", &json);
}

/* ---- free text ---- */

static void pass_through(struct mor_pick *pick, const char *text)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT, extra = MOR_BUF_INIT;
	const char *parameter = mor_function_text_parameter(pick->listed);
	mortise_json usual = pick->guest->turn.extra;
	mortise_error err = { 0 };
	int r;

	if (parameter) {
		r = mor_chat_text_argument(parameter, text, &json, &err);
	} else {
		r = mor_chat_context(usual, text, &extra, &err);
		mor_buf_text(&json, "{}");
		pick->guest->turn.extra = (mortise_json){ extra.data, extra.len };
	}
	if (r < 0)
		fail(pick->guest->chat, pick->guest, &err);
	else
		take_turn(pick->guest, pick->name, &json);
	pick->guest->turn.extra = usual;
}

/* ---- lines ---- */

static void help(struct mor_chat *chat)
{
	mor_note(chat->cli->console,
		 "  /FUNCTION KEY=VALUE…  calls a function; KEY:=JSON for lists and objects, quotes keep blanks together\n"
		 "  /PLUGIN.FUNCTION …    the same, where several plugins have it\n"
		 "  TEXT                  answers the plugin that waits for input; //TEXT if it begins with a slash\n"
		 "  /functions            lists the functions\n"
		 "  /call FUNCTION …      the same as /FUNCTION, for one that is called like a word of this list\n"
		 "  /end                  ends the conversation: tells the plugin \"exit\"\n"
		 "  /help                 this list\n"
		 "  /quit or Ctrl-D       leaves; Ctrl-C stops the running request");
}

/* What all real plugins take as the end; one that goes on all the same is stopped. */
static void end_conversation(struct mor_chat *chat)
{
	struct mor_guest *guest = mor_guests_waiting(chat);

	if (!guest) {
		refuse(chat, "no conversation is open");
		return;
	}
	say(guest, "exit");
	if (!guest->in_session || chat->leaving)
		return;
	chat->leaving = true; /* its end needs no remark */
	mor_runner_stop_plugin(&chat->session, guest->turn.plugin);
	chat->leaving = false;
}

static void command(struct mor_chat *chat, const char *line)
{
	MOR_CLEAN(mor_buf) struct mor_buf store = MOR_BUF_INIT;
	const char *words[MOR_CHAT_WORDS], *rest[MOR_CHAT_WORDS];
	mortise_error err = { 0 };
	size_t count = 0;

	if (mor_chat_split(line, &store, words, rest, &count, &err) < 0)
		fail(chat, NULL, &err);
	else if (count == 0 || strcmp(words[0], "help") == 0)
		help(chat);
	else if (strcmp(words[0], "functions") == 0)
		mor_guests_list(chat);
	else if (strcmp(words[0], "quit") == 0)
		chat->leaving = true;
	else if (strcmp(words[0], "end") == 0)
		end_conversation(chat);
	else if (strcmp(words[0], "call") == 0 && count == 1)
		refuse(chat, "name the FUNCTION after /call");
	else if (strcmp(words[0], "call") == 0)
		call_function(chat, words + 1, rest + 1, count - 1);
	else
		call_function(chat, words, rest, count);
}

/* Does the line begin with a function's name? What a passthrough function is told may begin with its name, too: then only
 * arguments behind it make a call of it. */
static bool names_function(struct mor_chat *chat, const char *line)
{
	size_t len = strcspn(line, " \t");
	const char *behind = line + len + strspn(line + len, " \t");
	MOR_CLEAN_TEXT char *name = mor_strndup(line, len);
	struct mor_pick pick = { 0 };
	mortise_error err;

	if (!name || mor_guests_pick(chat, name, &pick, &err) < 0 || !pick.listed)
		return false;
	return pick.listed != mor_function_passthrough(mor_guest_about(pick.guest)) || mor_args_is_pair(behind) || *behind == '{';
}

#define CALL_FIRST "call a function first, as in /FUNCTION KEY=VALUE (/functions lists them)"

static void take_text(struct mor_chat *chat, const char *line)
{
	struct mor_pick pick;
	mortise_error err = { 0 };
	int r = mor_guests_passthrough(chat, &pick, &err);

	if (r > 0) {
		pass_through(&pick, line);
		return;
	}
	if (r < 0)
		fail(chat, NULL, &err);
	else
		refuse(chat, chat->count == 1 ? "the plugin waits for no input: " CALL_FIRST : "no plugin waits for input: " CALL_FIRST);
}

static void take_line(struct mor_chat *chat, const char *line)
{
	struct mor_guest *waiting = mor_guests_waiting(chat);
	const char *text;

	while (*line == ' ' || *line == '\t')
		line++;
	if (!*line || (*line == '#' && !waiting && !mor_lines_terminal(chat->lines)))
		return; /* comments in files */
	text = line[0] == '/' ? line + 1 : line;
	if (line[0] == '/' && line[1] != '/')
		command(chat, line + 1);
	else if (waiting)
		say(waiting, text);
	else if (names_function(chat, line))
		command(chat, line);
	else
		take_text(chat, text);
}

/* ---- the chat ---- */

static void introduce(const struct mor_guest *guest)
{
	struct mor_cli *cli = guest->chat->cli;
	char text[600];

	mor_note(cli->console, "%s%s%s %s", mor_style_err(cli->console, MOR_STYLE_TITLE), mortise_plugin_name(guest->turn.plugin), mor_style_err_end(cli->console),
		 mor_json_text(mor_json_get(mor_guest_about(guest), "version"), ""));
	mor_printable(mor_json_string(mor_json_get(mor_guest_about(guest), "description")), text, sizeof(text));
	if (*text)
		mor_note(cli->console, "%s", text);
}

static void intro(struct mor_chat *chat)
{
	if (!mor_lines_terminal(chat->lines) || chat->cli->console->json)
		return;
	for (size_t i = 0; i < chat->count; i++)
		if (chat->guests[i].about)
			introduce(&chat->guests[i]);
	mor_guests_list(chat);
	mor_note(chat->cli->console, "/help explains; Ctrl-D leaves.");
}

static void prompt(const struct mor_chat *chat, char *out, size_t size)
{
	const struct mor_guest *waiting = mor_guests_waiting(chat), *guest = waiting ? waiting : &chat->guests[0];

	snprintf(out, size, "%s%s ", waiting || chat->count == 1 ? mortise_plugin_name(guest->turn.plugin) : "mortise", waiting ? " …>" : ">");
}

static int loop(struct mor_chat *chat, mortise_error *err)
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
			mor_outf(chat->cli->console, "%s%s\n", shown, line);
		take_line(chat, line);
		if (mor_lines_terminal(chat->lines))
			chat->exit_code = 0; /* the person has seen it */
	}
	chat->leaving = true;
	return r;
}

/* ---- start ---- */

static bool greeted(void *arg)
{
	const struct mor_chat *chat = arg;

	for (size_t i = 0; i < chat->count; i++) {
		int state = mortise_plugin_state(chat->guests[i].turn.plugin);

		if (state == MORTISE_STARTING || state == MORTISE_GREETING)
			return false;
	}
	return true;
}

/* A plugin that has failed for good says so to whoever calls it; one that died has left its last words. */
static int why_not(struct mor_guest *guest, const struct mor_value *about, mortise_error *err)
{
	if (mortise_plugin_state(guest->turn.plugin) == MORTISE_FAILED)
		return mortise_call_start(guest->turn.plugin, "input", (mortise_json){ 0 }, NULL, NULL, err);
	return mor_fail(err, MORTISE_ECRASHED, "%s", mor_json_text(mor_json_get(about, "last_error"), "it did not start"));
}

/* Two of one name could not be told apart. */
static int check_name(const struct mor_guest *guest, mortise_error *err)
{
	for (const struct mor_guest *other = guest->chat->guests; other < guest; other++)
		if (other->about && strcmp(mortise_plugin_name(other->turn.plugin), mortise_plugin_name(guest->turn.plugin)) == 0)
			return mor_fail(err, MORTISE_EINPUT, "%s: there is a plugin of this name already (%s)",
					mortise_plugin_name(guest->turn.plugin), other->turn.typed ? other->turn.typed : "a command");
	return 0;
}

static int learn(struct mor_guest *guest, mortise_error *err)
{
	MOR_CLEAN(mor_doc) struct mor_doc *about = NULL;
	char *json = NULL;
	int r = mortise_plugin_describe(guest->turn.plugin, &json);

	if (r == 0)
		r = mor_doc_parse(mor_slice_of(json), MOR_JSON_NAN, 0, &about, err);
	mortise_free(json);
	if (r == 0 && mortise_plugin_state(guest->turn.plugin) != MORTISE_READY)
		r = why_not(guest, mor_doc_root(about), err);
	if (r == 0)
		r = check_name(guest, err);
	if (r == 0)
		guest->about = mor_take(&about);
	return r;
}

/* Up before the first line: a plugin that cannot start is told now, and the functions are known. One of several is left
 * out; the last one that is left takes the chat with it. */
static int start(struct mor_chat *chat, mortise_error *err)
{
	size_t up = 0;
	int r = 0;

	for (size_t i = 0; i < chat->count && r == 0; i++)
		r = mortise_plugin_start(chat->guests[i].turn.plugin, err);
	if (r == 0)
		r = mor_runner_run(&chat->session, greeted, chat);
	if (r == MORTISE_ECANCELED)
		return mor_fail(err, r, "interrupted");
	for (size_t i = 0; i < chat->count && r == 0; i++) {
		int bad = learn(&chat->guests[i], err);

		up += bad == 0;
		if (bad < 0 && up == 0 && i + 1 == chat->count)
			r = bad;
		else if (bad < 0)
			fail(chat, &chat->guests[i], err);
	}
	return r;
}

/* A plugin with a process per call keeps nothing from one line to the next. */
static int refuse_one_shot(struct mor_guest *guest, mortise_error *err)
{
	const char *dialect = mortise_plugin_dialect(guest->turn.plugin);
	MOR_CLEAN(mor_doc) struct mor_doc *table = mor_dialect_table(dialect);

	if (strcmp(mor_json_text(mor_json_get(mor_doc_root(table), "shape"), "session"), "session") == 0)
		return 0;
	return mor_fail(err, MORTISE_EINVAL, "%s speaks %s, which holds no conversations: use 'mortise run'",
			guest->turn.typed ? guest->turn.typed : mortise_plugin_name(guest->turn.plugin), dialect);
}

static int add_guest(struct mor_chat *chat, const char *typed, const char *const *argv, mortise_error *err)
{
	struct mor_guest *guest = &chat->guests[chat->count];
	mortise_plugin_options opt;
	int r;

	mor_runner_plugin_options(&chat->session, typed, argv, &opt);
	opt.flags |= MORTISE_NO_RESTART; /* one that died comes back with the next request */
	opt.on_event = on_event;
	opt.arg = guest;
	guest->chat = chat;
	guest->turn.session = &chat->session;
	guest->turn.typed = typed;
	guest->turn.extra = (mortise_json){ chat->extra.len ? chat->extra.data : NULL, chat->extra.len };
	r = mortise_plugin_new(chat->session.host, &opt, &guest->turn.plugin, err);
	if (r < 0)
		return r;
	chat->count++;
	return refuse_one_shot(guest, err);
}

static int add_guests(struct mor_chat *chat, mortise_error *err)
{
	const struct mor_words *words = &chat->cli->words;
	int r = 0;

	chat->guests = mor_zalloc((words->count + 1) * sizeof(*chat->guests));
	if (!chat->guests)
		return mor_fail(err, MORTISE_ENOMEM, "out of memory");
	for (size_t i = 0; i < words->count && r == 0; i++)
		r = add_guest(chat, words->item[i], NULL, err);
	if (r == 0 && words->tail)
		r = add_guest(chat, NULL, words->tail, err);
	return r;
}

static int prepare(struct mor_chat *chat, mortise_error *err)
{
	const struct mor_words *words = &chat->cli->words;
	int r;

	if (words->tail && !words->tail[0])
		return mor_fail(err, MORTISE_EINVAL, "after \"--\" a command is expected");
	if (words->count == 0 && !words->tail)
		return mor_fail(err, MORTISE_EINVAL, "name a PLUGIN: a directory, a file, or a command after \"--\"");
	r = mor_runner_open(&chat->session, chat->cli->console, &chat->args->plugin, NULL, err);
	if (r == 0)
		r = mor_gassist_prepare(&chat->session, &chat->args->gassist, &chat->extra, err);
	if (r == 0)
		r = add_guests(chat, err);
	if (r < 0)
		return r;
	chat->lines = mor_lines_new(&chat->session);
	return chat->lines ? 0 : mor_fail(err, MORTISE_ENOMEM, "out of memory");
}

/* All get their order before any is waited for, so that their graces run side by side. */
static void stop(struct mor_chat *chat)
{
	chat->leaving = true;
	for (size_t i = 0; i < chat->count; i++)
		mortise_plugin_stop(chat->guests[i].turn.plugin, MORTISE_STOP_POLITE);
	for (size_t i = 0; i < chat->count; i++)
		mor_runner_stop_plugin(&chat->session, chat->guests[i].turn.plugin);
}

static int chat_with_plugins(struct mor_chat *chat, mortise_error *err)
{
	int r = prepare(chat, err);

	if (r == 0)
		r = start(chat, err);
	if (r == 0) {
		intro(chat);
		r = loop(chat, err);
	}
	stop(chat);
	return r;
}

static void clean_up(struct mor_chat *chat)
{
	mor_lines_free(chat->lines);
	for (size_t i = 0; i < chat->count; i++) {
		mortise_plugin_unref(chat->guests[i].turn.plugin);
		mor_doc_free(chat->guests[i].about);
	}
	mor_runner_close(&chat->session);
	mor_free(chat->guests);
	mor_buf_fini(&chat->extra);
}

/* --config without a PLUGIN names a bot's file: there is nothing else that it could configure. */
static bool is_bot(const struct mor_cli *cli, const struct mor_chat_args *args)
{
	return cli->words.count == 0 && !cli->words.tail && args->plugin.config.count == 1;
}

static int chat_run(struct mor_cli *cli)
{
	struct mor_chat chat = { .cli = cli, .args = cli->args };
	mortise_error err = { 0 };
	int r;

	if (is_bot(cli, chat.args))
		return mor_bot_chat(cli->console, &chat.args->plugin, chat.args->plugin.config.item[0], chat.args->stdio);
	r = chat_with_plugins(&chat, &err);
	if (mor_signals_count() || r == MORTISE_ECANCELED)
		chat.exit_code = mor_report_interrupted(cli->console, mor_signals_exit_code());
	else if (r == MORTISE_EINVAL)
		chat.exit_code = mor_report_usage(cli->console, &err);
	else if (r < 0)
		fail(&chat, chat.count == 1 ? &chat.guests[0] : NULL, &err);
	clean_up(&chat);
	return chat.exit_code;
}

const struct mor_command mor_command_chat = {
	.name = "chat",
	.group = "Use a plugin:",
	.summary = "talk with a plugin: call functions, answer its questions",
	.usage = "chat PLUGIN… [OPTION…]\n"
		 "chat [PLUGIN…] [OPTION…] -- COMMAND ARG…\n"
		 "chat --config BOT.toml [OPTION…]",
	.words = "plugin",
	.description = "Starts the plugins and reads lines, from the terminal or a file:\n"
		       "  /FUNCTION KEY=VALUE…  calls a function; its answer is printed as it comes\n"
		       "  /PLUGIN.FUNCTION …    the same, where several plugins have a function of that name\n"
		       "  TEXT                  answers the plugin that waits for input (the prompt shows \"…>\"); where none\n"
		       "                        does, it goes to the function of a plugin with \"passthrough\"\n"
		       "  /functions            lists what the plugins offer\n"
		       "  /end                  ends a conversation by telling the plugin \"exit\"\n"
		       "  /help                 all of this\n"
		       "Ctrl-C stops the running request, Ctrl-D leaves. From a file each line waits for the answer to the one\n"
		       "before it, and the exit code is that of the last one that failed. Arguments are checked against what the\n"
		       "manifest says of a function.\n"
		       "\n"
		       "With --config BOT.toml and no PLUGIN it runs a chat bot: the plugins of [external-plugin-bridge] (Ayiou)\n"
		       "get each event of the network, and what they answer is sent there: OneBot v11 over the WebSocket that\n"
		       "[bot] names (ws_url, listen). The file is read again when it changes, and at SIGHUP. Without a network, or\n"
		       "with --stdio, events come from stdin, one JSON object per line (OneBot v11, or\n"
		       "{\"text\":\"/ping\",\"user_id\":1}), and calls go to stdout; it ends with its input.",
	.examples = "mortise chat build/plugins/lookout\n"
		    "mortise chat build/plugins/lookout ./hello-world\n"
		    "printf '/start_conversation\\nAda\\nexit\\n' | mortise chat ./hello-world --echo\n"
		    "mortise chat --dialect gassist -- python3 plugin.py\n"
		    "mortise chat --config bot.toml\n"
		    "echo '{\"text\":\"/weather Beijing\"}' | mortise chat --config bot.toml --stdio",
	.options = groups,
	.args_size = sizeof(struct mor_chat_args),
	.common = FIELD(common),
	.run = chat_run,
};
