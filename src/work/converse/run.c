/* SPDX-License-Identifier: Apache-2.0 */
/* Starts the plugins, reads lines, and ends. */

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "console/report.h"
#include "console/signals.h"
#include "converse/ask.h"
#include "converse/complete.h"
#include "runner/answer.h"
#include "runner/record.h"
#include "runner/show.h"

/* ---- what happens meanwhile ---- */

/* Between two turns nobody else would report that a plugin is gone, or that its time is over. */
static void on_event(const mortise_event *event, void *arg)
{
	struct mor_converse_guest *guest = arg;
	struct mor_converse *chat = guest->chat;
	bool told = event->type == MORTISE_EVENT_STATE && event->state.before == MORTISE_READY &&
		    !guest->turn.call && !guest->turn.cancelled && !chat->leaving;
	char shown[800];

	mor_runner_record_event(chat->runner.record, event);
	if (event->type == MORTISE_EVENT_SESSION)
		guest->in_session = event->session.step != MORTISE_SESSION_OVER;
	if (event->type == MORTISE_EVENT_STATE && event->state.status)
		guest->cause = event->state.status;
	/* the failure of its request has reported it */
	told = told && strcmp(event->text, guest->turn.failure.text) != 0;
	told |= event->type == MORTISE_EVENT_SESSION && event->session.step == MORTISE_SESSION_ENDS_SOON;
	if (!told && event->type != MORTISE_EVENT_VIOLATION && !mor_show_prints(chat->console, event)) {
		if (chat->console->json) /* nothing is printed, but it may be a finding */
			mor_show_event(event, chat->console);
		return;
	}
	mor_converse_lines_make_room(chat->lines);
	mor_show_event(event, chat->console);
	if (told && !chat->console->verbose)
		mor_note(chat->console, "%s", mor_printable(mor_slice_of(event->text), shown, sizeof(shown)));
	mor_converse_lines_redraw(chat->lines);
}

/* ---- the chat ---- */

static void introduce(const struct mor_converse_guest *guest)
{
	struct mor_console *console = guest->chat->console;
	char text[600];

	mor_printable(mor_json_string(mor_json_get(mor_converse_guest_about(guest), "version")), text,
		      sizeof(text));
	mor_note(console, "%s%s%s %s", mor_style_err(console, MOR_STYLE_TITLE),
		 mortise_plugin_name(guest->turn.plugin), mor_style_err_end(console), text);
	mor_printable(mor_json_string(mor_json_get(mor_converse_guest_about(guest), "description")), text,
		      sizeof(text));
	if (*text)
		mor_note(console, "%s", text);
}

static void introduce_all(struct mor_converse *chat)
{
	if (!mor_converse_lines_terminal(chat->lines) || chat->console->json)
		return;
	for (size_t i = 0; i < chat->count; i++)
		if (chat->guests[i].about)
			introduce(&chat->guests[i]);
	mor_converse_guests_list(chat);
	mor_note(chat->console, "/help explains; Ctrl-D leaves.");
}

static void write_prompt(const struct mor_converse *chat, char *out, size_t size)
{
	const struct mor_converse_guest *waiting = mor_converse_guests_waiting(chat),
					*guest = waiting ? waiting : &chat->guests[0];

	snprintf(out, size, "%s%s ",
		 waiting || chat->count == 1 ? mortise_plugin_name(guest->turn.plugin) : "mortise",
		 waiting ? " …>" : ">");
}

static int read_lines(struct mor_converse *chat, mortise_error *err)
{
	enum mor_converse_line kind = MOR_CONVERSE_LINE_READ;
	const char *line = NULL;
	char shown[160];
	int r = 0;

	while (r == 0 && !chat->leaving) {
		write_prompt(chat, shown, sizeof(shown));
		r = mor_converse_lines_next(chat->lines, shown, &kind, &line, err);
		if (r < 0 || kind == MOR_CONVERSE_LINE_END || kind == MOR_CONVERSE_LINE_STOP)
			break;
		if (kind == MOR_CONVERSE_LINE_INTERRUPT) {
			if (!mor_converse_lines_terminal(chat->lines))
				return mor_fail(err, MORTISE_ECANCELED, "interrupted");
			continue;
		}
		if (chat->args->echo && !mor_converse_lines_terminal(chat->lines))
			mor_outf(chat->console, "%s%s\n", shown, line);
		mor_converse_act(chat, line);
		if (mor_converse_lines_terminal(chat->lines))
			chat->exit_code = 0; /* the person has already seen it */
	}
	chat->leaving = true;
	return r;
}

/* ---- start ---- */

static bool all_greeted(void *arg)
{
	const struct mor_converse *chat = arg;

	for (size_t i = 0; i < chat->count; i++) {
		int state = mortise_plugin_state(chat->guests[i].turn.plugin);

		if (state == MORTISE_STARTING || state == MORTISE_GREETING)
			return false;
	}
	return true;
}

/* A plugin that has failed for good gives the reason to its next caller. A plugin that died has left an
 * error. */
static int explain_start(struct mor_converse_guest *guest, const struct mor_value *about, mortise_error *err)
{
	if (mortise_plugin_state(guest->turn.plugin) == MORTISE_FAILED)
		return mortise_call_start(guest->turn.plugin, "input", (mortise_json){ 0 }, NULL, NULL, err);
	return mor_fail(err, guest->cause ? guest->cause : MORTISE_ECRASHED, "%s",
			mor_json_text(mor_json_get(about, "last_error"), "it did not start"));
}

/* Two plugins with one name could not be told apart. */
static int check_name(const struct mor_converse_guest *guest, mortise_error *err)
{
	for (const struct mor_converse_guest *other = guest->chat->guests; other < guest; other++)
		if (other->about && strcmp(mortise_plugin_name(other->turn.plugin),
					   mortise_plugin_name(guest->turn.plugin)) == 0)
			return mor_fail(err, MORTISE_EINPUT, "%s: there is already a plugin of this name (%s)",
					mortise_plugin_name(guest->turn.plugin),
					other->turn.typed ? other->turn.typed : "a command");
	return 0;
}

static int learn_guest(struct mor_converse_guest *guest, mortise_error *err)
{
	MOR_CLEAN(mor_doc) struct mor_doc *about = NULL;
	char *json = NULL;
	int r = mortise_plugin_describe(guest->turn.plugin, &json, NULL);

	r = r ? r : mor_doc_parse(mor_slice_of(json), MOR_JSON_NAN, 0, &about, err);
	mortise_free(json);
	if (r == 0 && mortise_plugin_state(guest->turn.plugin) != MORTISE_READY)
		r = explain_start(guest, mor_doc_root(about), err);
	r = r ? r : check_name(guest, err);
	if (r < 0)
		return r;
	guest->about = mor_take(&about);
	guest->table = mor_runner_dialect_table(mortise_plugin_dialect(guest->turn.plugin));
	guest->turn.whole = !mor_json_get(mor_doc_root(guest->table), "conversation");
	return 0;
}

/* All plugins start before the first line is read. So a failed start is reported now, and the functions are
 * known. One of several that fails is left out. If none is left, the chat ends. */
static int start_guests(struct mor_converse *chat, mortise_error *err)
{
	size_t up = 0;
	int r = 0;

	for (size_t i = 0; i < chat->count && r == 0; i++)
		r = mortise_plugin_start(chat->guests[i].turn.plugin, err);
	r = r ? r : mor_runner_run(&chat->runner, all_greeted, chat);
	if (r == MORTISE_ECANCELED)
		return mor_fail(err, r, "interrupted");
	for (size_t i = 0; i < chat->count && r == 0; i++) {
		int bad = learn_guest(&chat->guests[i], err);

		up += bad == 0;
		if (bad < 0 && up == 0 && i + 1 == chat->count)
			r = bad;
		else if (bad < 0)
			mor_converse_fail_line(chat, &chat->guests[i], err);
	}
	return r;
}

/* A plugin with one process per call keeps nothing from one line to the next. */
static int refuse_one_shot(struct mor_converse_guest *guest, mortise_error *err)
{
	const char *dialect = mortise_plugin_dialect(guest->turn.plugin);
	MOR_CLEAN(mor_doc) struct mor_doc *table = mor_runner_dialect_table(dialect);

	if (strcmp(mor_json_text(mor_json_get(mor_doc_root(table), "shape"), "session"), "session") == 0)
		return 0;
	return mor_fail(err, MORTISE_EINVAL, "%s speaks %s, which holds no conversations: use 'mortise run'",
			guest->turn.typed ? guest->turn.typed : mortise_plugin_name(guest->turn.plugin),
			dialect);
}

static int add_guest(struct mor_converse *chat, const char *typed, const char *const *argv, mortise_error *err)
{
	struct mor_converse_guest *guest = &chat->guests[chat->count];
	mortise_plugin_options opt;
	int r;

	mor_runner_plugin_options(&chat->runner, typed, argv, &opt);
	opt.flags |= MORTISE_NO_RESTART; /* a plugin that died starts again with the next request */
	opt.on_event = on_event;
	opt.on_request = mor_converse_ask_take;
	opt.arg = guest;
	guest->chat = chat;
	guest->turn.runner = &chat->runner;
	guest->turn.typed = typed;
	guest->turn.waits = mor_converse_ask_waits;
	guest->turn.meanwhile = mor_converse_ask_person;
	guest->turn.arg = chat;
	guest->turn.extra = (mortise_json){ chat->extra.len ? chat->extra.data : NULL, chat->extra.len };
	if ((r = mor_runner_plugin_new(&chat->runner, &opt, NULL, &guest->turn.plugin, err)) < 0)
		return r;
	chat->count++;
	return refuse_one_shot(guest, err);
}

static int add_guests(struct mor_converse *chat, mortise_error *err)
{
	const struct mor_converse_args *args = chat->args;
	int r = 0;

	chat->guests = mor_zalloc((args->plugin_count + 1) * sizeof(*chat->guests));
	if (!chat->guests)
		return mor_fail_memory(err);
	for (size_t i = 0; i < args->plugin_count && r == 0; i++)
		r = add_guest(chat, args->plugins[i], NULL, err);
	if (r == 0 && args->command)
		r = add_guest(chat, NULL, args->command, err);
	return r;
}

static int prepare_run(struct mor_converse *chat, mortise_error *err)
{
	int r = mor_runner_answers_check(&chat->args->answers, err);

	r = r ? r : mor_runner_open(&chat->runner, chat->console, chat->args->plugin, NULL, err);
	r = r ? r : mor_converse_prepare(&chat->runner, &chat->args->extra, &chat->extra, err);
	r = r ? r : add_guests(chat, err);
	if (r < 0)
		return r;
	chat->lines = mor_converse_lines_new(&chat->runner);
	if (!chat->lines)
		return mor_fail_memory(err);
	mor_converse_lines_complete(chat->lines, mor_converse_complete, chat);
	return 0;
}

/* All plugins get the order to stop before we wait for any of them, so that their grace times run in
 * parallel. */
static void stop_guests(struct mor_converse *chat)
{
	chat->leaving = true;
	for (size_t i = 0; i < chat->count; i++)
		mortise_plugin_stop(chat->guests[i].turn.plugin, MORTISE_STOP_POLITE, NULL);
	for (size_t i = 0; i < chat->count; i++)
		mor_runner_stop_plugin(&chat->runner, chat->guests[i].turn.plugin);
}

static int chat_with_plugins(struct mor_converse *chat, mortise_error *err)
{
	int r = prepare_run(chat, err);

	r = r ? r : start_guests(chat, err);
	if (r == 0) {
		introduce_all(chat);
		r = read_lines(chat, err);
	}
	stop_guests(chat);
	return r;
}

static void clean_up_run(struct mor_converse *chat)
{
	mor_converse_lines_free(chat->lines);
	for (size_t i = 0; i < chat->count; i++) {
		mortise_plugin_unref(chat->guests[i].turn.plugin);
		mor_doc_free(chat->guests[i].about);
		mor_doc_free(chat->guests[i].table);
	}
	mor_converse_ask_drop_all(chat);
	mor_runner_close(&chat->runner);
	mor_free(chat->guests);
	mor_buf_fini(&chat->extra);
}

int mor_converse_run(struct mor_console *console, const struct mor_converse_args *args)
{
	struct mor_converse chat = { .console = console, .args = args };
	mortise_error err = { 0 };
	int r;

	console->notes = true;
	mor_list_init(&chat.asks);
	r = chat_with_plugins(&chat, &err);

	if (mor_signals_count() || r == MORTISE_ECANCELED)
		chat.exit_code = mor_report_interrupted(console, mor_signals_exit_code());
	else if (r == MORTISE_EINVAL)
		chat.exit_code = mor_report_usage(console, &err);
	else if (r < 0)
		mor_converse_fail_line(&chat, chat.count == 1 ? &chat.guests[0] : NULL, &err);
	clean_up_run(&chat);
	return chat.exit_code;
}
