/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a line means. A slash calls a function or is a command of the chat. While a plugin waits for input
 * (keep_session), plain text answers it.
 */
#include <signal.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "console/args.h"
#include "console/report.h"
#include "console/signals.h"
#include "converse/ask.h"
#include "converse/functions.h"
#include "converse/words.h"

/* ---- turns ---- */

void mor_converse_fail_line(struct mor_converse *chat, const struct mor_converse_guest *guest,
			    const mortise_error *err)
{
	chat->exit_code = mor_report_fail(chat->console,
					  &(struct mor_report){ .error = err,
								.plugin = guest ? guest->turn.typed : NULL });
}

static void refuse_line(struct mor_converse *chat, const char *text)
{
	mortise_error err = { 0 };

	mor_fail(&err, MORTISE_EINPUT, "%s", text);
	mor_converse_fail_line(chat, NULL, &err);
}

/* A plugin that was just killed will be gone soon. The next request starts it again. */
static bool is_not_ending(void *arg)
{
	return mortise_plugin_state(((struct mor_converse_guest *)arg)->turn.plugin) != MORTISE_DRAINING;
}

/* One request. Ctrl-C cancels it; if the protocol has no message for that, the plugin may be ended with it. */
static void take_turn(struct mor_converse_guest *guest, const char *action, const struct mor_buf *params)
{
	struct mor_converse *chat = guest->chat;
	mortise_error err = { 0 };
	int r = mor_runner_run(&chat->runner, is_not_ending, guest);

	guest->asked = ++chat->turns;
	if (r == 0)
		r = mor_converse_turn_run(&guest->turn, action, (mortise_json){ params->data, params->len },
					  &err);
	if (guest->turn.exit_code)
		chat->exit_code = guest->turn.exit_code;
	if (r == MORTISE_ECANCELED && mor_signals_take_interrupt()) {
		chat->exit_code = 128 + SIGINT;
		mor_note(chat->console,
			 mortise_plugin_state(guest->turn.plugin) == MORTISE_READY ?
				 "interrupted: nobody waits for the answer any more" :
				 "interrupted: the plugin was ended with its request; the next request starts "
				 "it again");
	} else if (r == MORTISE_ECANCELED)
		chat->leaving = true;
	else if (r < 0)
		mor_converse_fail_line(chat, guest, &err);
	if (mor_out_broken(chat->console))
		chat->leaving = true;
}

static void call_function(struct mor_converse *chat, const char *const *words, const char *const *rest,
			  size_t count)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	struct mor_converse_pick pick = { 0 };
	mortise_error err = { 0 };
	int r = mor_converse_guests_pick(chat, words[0], &pick, &err);

	if (r == 0)
		r = mor_converse_arguments(words + 1, count > 1 ? rest[1] : "", count - 1, pick.listed, &json,
					   &err);
	if (r < 0)
		mor_converse_fail_line(chat, pick.guest, &err);
	else
		take_turn(pick.guest, pick.name, &json);
}

static void say_text(struct mor_converse_guest *guest, const char *text)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	mortise_error err = { 0 };

	if (mor_converse_text_argument("content", text, &json, &err) < 0)
		mor_converse_fail_line(guest->chat, guest, &err);
	else
		take_turn(guest, "input", &json);
}

/* ---- free text ---- */

static void pass_through(struct mor_converse_pick *pick, const char *text)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT, extra = MOR_BUF_INIT;
	const char *parameter = mor_converse_function_text_parameter(pick->listed);
	mortise_json usual = pick->guest->turn.extra;
	mortise_error err = { 0 };
	int r;

	if (parameter) {
		r = mor_converse_text_argument(parameter, text, &json, &err);
	} else {
		r = mor_converse_context(usual, text, &extra, &err);
		mor_buf_text(&json, "{}");
		pick->guest->turn.extra = (mortise_json){ extra.data, extra.len };
	}
	if (r < 0)
		mor_converse_fail_line(pick->guest->chat, pick->guest, &err);
	else
		take_turn(pick->guest, pick->name, &json);
	pick->guest->turn.extra = usual;
}

/* ---- commands ---- */

/* The words of a line behind its slash. */
struct typed_words {
	const char *words[MOR_CONVERSE_WORDS], *rest[MOR_CONVERSE_WORDS];
	size_t count;
};

static void act_help(struct mor_converse *chat, const struct typed_words *typed)
{
	(void)typed;
	mor_note(chat->console,
		 "  /FUNCTION KEY=VALUE…  calls a function; KEY:=JSON for lists and objects, quotes keep "
		 "blanks together\n"
		 "  /PLUGIN.FUNCTION …    the same, if several plugins have it\n"
		 "  TEXT                  answers the plugin that waits for input; //TEXT if it begins with a "
		 "slash\n"
		 "  /functions            lists the functions\n"
		 "  /call FUNCTION …      the same as /FUNCTION, for a function that has the name of a command "
		 "in this list\n"
		 "  /note METHOD …        sends a notification: nobody waits for an answer\n"
		 "  /answer JSON          answers what a plugin asks; /refuse [CODE] TEXT does not (with "
		 "--ask)\n"
		 "  /end                  ends the conversation: tells the plugin \"exit\"\n"
		 "  /help                 this list\n"
		 "  /quit or Ctrl-D       leaves; Ctrl-C stops the running request");
}

/* All real plugins take this word as the end. A plugin that goes on anyway is stopped. */
static void act_end(struct mor_converse *chat, const struct typed_words *typed)
{
	struct mor_converse_guest *guest = mor_converse_guests_waiting(chat);

	(void)typed;
	if (!guest) {
		refuse_line(chat, "no conversation is open");
		return;
	}
	say_text(guest, "exit");
	if (!guest->in_session || chat->leaving)
		return;
	chat->leaving = true; /* its end is not reported */
	mor_runner_stop_plugin(&chat->runner, guest->turn.plugin);
	chat->leaving = false;
}

static void act_functions(struct mor_converse *chat, const struct typed_words *typed)
{
	(void)typed;
	mor_converse_guests_list(chat);
}

static void act_quit(struct mor_converse *chat, const struct typed_words *typed)
{
	(void)typed;
	chat->leaving = true;
}

static void act_call(struct mor_converse *chat, const struct typed_words *typed)
{
	if (typed->count == 1)
		refuse_line(chat, "name the FUNCTION after /call");
	else
		call_function(chat, typed->words + 1, typed->rest + 1, typed->count - 1);
}

/* PLUGIN.METHOD where there are several plugins; a name that no plugin lists is fine. */
static void act_note(struct mor_converse *chat, const struct typed_words *typed)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	struct mor_converse_pick pick = { &chat->guests[0], typed->words[1], NULL };
	mortise_error err = { 0 };
	int r;

	if (typed->count == 1) {
		refuse_line(chat, "name the METHOD after /note");
		return;
	}
	r = chat->count == 1 ? 0 : mor_converse_guests_pick(chat, typed->words[1], &pick, &err);
	if (r == 0 && typed->count > 2)
		r = mor_converse_arguments(typed->words + 2, NULL, typed->count - 2, NULL, &json, &err);
	if (r < 0) {
		mor_converse_fail_line(chat, pick.guest, &err);
		return;
	}
	pick.guest->turn.flags = MORTISE_NOTIFY | MORTISE_RAW;
	take_turn(pick.guest, pick.name, &json);
	pick.guest->turn.flags = 0;
}

static void act_answer(struct mor_converse *chat, const struct typed_words *typed)
{
	mortise_error err = { 0 };

	if (mor_converse_ask_answer(chat, typed->count > 1 ? typed->rest[1] : "null", &err) < 0)
		mor_converse_fail_line(chat, NULL, &err);
}

static void act_refuse(struct mor_converse *chat, const struct typed_words *typed)
{
	int64_t code = -32601;
	bool coded = typed->count > 1 && mor_parse_i64(mor_slice_of(typed->words[1]), &code);
	size_t at = coded ? 2 : 1;
	mortise_error err = { 0 };

	if (mor_converse_ask_refuse(chat, code, typed->count > at ? typed->rest[at] : "Method not found",
				    &err) < 0)
		mor_converse_fail_line(chat, NULL, &err);
}

static const struct {
	const char *name;
	void (*act)(struct mor_converse *chat, const struct typed_words *typed);
} commands[] = {
	{ "help", act_help }, { "functions", act_functions }, { "call", act_call },     { "note", act_note },
	{ "end", act_end },   { "answer", act_answer },       { "refuse", act_refuse }, { "quit", act_quit },
};
enum { COMMANDS = sizeof(commands) / sizeof(commands[0]) };

const char *const *mor_converse_commands(void)
{
	static const char *names[COMMANDS + 1];

	for (size_t i = 0; i < COMMANDS; i++)
		names[i] = commands[i].name;
	return names;
}

/* Some plugin really has a function of that name: then "answer" and "refuse" are its words, unless a
 * request waits. */
static bool is_function(struct mor_converse *chat, const char *word)
{
	for (size_t i = 0; i < chat->count; i++)
		if (mor_converse_function_find(mor_converse_guest_about(&chat->guests[i]), word))
			return true;
	return false;
}

static bool is_command(struct mor_converse *chat, size_t i, const char *word)
{
	bool younger =
		commands[i].act == act_answer || commands[i].act == act_refuse || commands[i].act == act_note;

	if (strcmp(commands[i].name, word) != 0)
		return false;
	return !younger || !is_function(chat, word) || !mor_list_empty(&chat->asks);
}

static void take_command(struct mor_converse *chat, const char *line)
{
	MOR_CLEAN(mor_buf) struct mor_buf store = MOR_BUF_INIT;
	struct typed_words typed = { .count = 0 };
	mortise_error err = { 0 };

	if (mor_converse_split(line, &store, typed.words, typed.rest, &typed.count, &err) < 0) {
		mor_converse_fail_line(chat, NULL, &err);
		return;
	}
	if (typed.count == 0) {
		act_help(chat, &typed);
		return;
	}
	for (size_t i = 0; i < COMMANDS; i++) {
		if (is_command(chat, i, typed.words[0])) {
			commands[i].act(chat, &typed);
			return;
		}
	}
	call_function(chat, typed.words, typed.rest, typed.count);
}

/* Does the line begin with a function's name? The text for a passthrough function may begin with its name
 * too. Then it is a call only if arguments follow. */
static bool names_function(struct mor_converse *chat, const char *line)
{
	size_t len = strcspn(line, " \t");
	const char *behind = line + len + strspn(line + len, " \t");
	MOR_CLEAN_TEXT char *name = mor_strndup(line, len);
	struct mor_converse_pick pick = { 0 };
	mortise_error err;

	if (!name || mor_converse_guests_pick(chat, name, &pick, &err) < 0 || !pick.listed)
		return false;
	return pick.listed != mor_converse_function_passthrough(mor_converse_guest_about(pick.guest)) ||
	       mor_args_is_pair(behind) || *behind == '{';
}

#define CALL_FIRST "call a function first, as in /FUNCTION KEY=VALUE (/functions lists them)"

static void take_text(struct mor_converse *chat, const char *line)
{
	struct mor_converse_pick pick;
	mortise_error err = { 0 };
	int r = mor_converse_guests_passthrough(chat, &pick, &err);

	if (r > 0) {
		pass_through(&pick, line);
		return;
	}
	if (r < 0)
		mor_converse_fail_line(chat, NULL, &err);
	else
		refuse_line(chat, chat->count == 1 ? "the plugin is not waiting for input: " CALL_FIRST :
						     "no plugin is waiting for input: " CALL_FIRST);
}

void mor_converse_act(struct mor_converse *chat, const char *line)
{
	struct mor_converse_guest *waiting = mor_converse_guests_waiting(chat);
	const char *text;

	while (*line == ' ' || *line == '\t')
		line++;
	if (!*line || (*line == '#' && !waiting && !mor_converse_lines_terminal(chat->lines)))
		return; /* comments in files */
	text = line[0] == '/' ? line + 1 : line;
	if (line[0] == '/' && line[1] != '/')
		take_command(chat, line + 1);
	else if (waiting)
		say_text(waiting, text);
	else if (names_function(chat, line))
		take_command(chat, line);
	else
		take_text(chat, text);
}
