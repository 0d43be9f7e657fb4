/* SPDX-License-Identifier: Apache-2.0 */
/* Reports what happens in a bot, for people and for machines. stdout is used for calls only. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "console/report.h"
#include "console/reword.h"
#include "dispatch/bot.h"
#include "runner/show.h"

/* The host's texts name its own settings as the remedy. A person who runs a bot must change the bot's file
 * instead. */
static const struct mor_rewording words[] = {
	{ "(timeout_ms of the call sets", "", "(--timeout sets", "" },
	{ "(timeouts.", " sets the limit)", "(timeout = { ",
	  " = \"DURATION\" } in the bot's file sets the limit)" },
	{ "; --timeout ", "=DURATION changes it)", "; timeout = { ",
	  " = \"DURATION\" } in the bot's file changes it)" }, /* from a report */
	{ "; timeouts.", " changes it)", "; timeout = { ", " = \"DURATION\" } in the bot's file changes it)" },
	{ " (--dialect, --framing)", "", "", "" }, /* a bot has only one */
	{ "restart.intensity, restart.period", "", "max_restarts in the bot's file", "" },
};

static void tell_json(struct mor_bot_run *run, const struct mor_bot_seat *seat, const char *what,
		      uint64_t event, const char *text, mortise_json data)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	struct mor_writer w = { .out = &json };

	mor_w_object(&w);
	mor_w_pair(&w, "event", what);
	if (seat) {
		mor_w_pair(&w, "plugin", seat->name);
		mor_w_pair(&w, "name", seat->label);
	}
	if (event)
		mor_w_pair_int(&w, "line", (int64_t)event);
	mor_w_pair(&w, "text", text);
	if (data.text)
		mor_w_pair_raw(&w, "data", (struct mor_slice){ data.text, data.len });
	mor_w_end(&w);
	if (!mor_buf_failed(&json))
		mor_note_slice(run->console, mor_buf_view(&json));
}

/* The host's texts begin with the plugin's name, and our line does too, so it is removed here. */
static const char *without_name(const char *text, const char *name)
{
	size_t len = strlen(name);

	return strncmp(text, name, len) == 0 && strncmp(text + len, ": ", 2) == 0 ? text + len + 2 : text;
}

/* The plugin chose it. */
#define LABEL_SHOWN 300
static const char *shown_label(const struct mor_bot_seat *seat, char out[LABEL_SHOWN])
{
	return mor_printable(mor_slice_of(seat ? seat->label : ""), out, LABEL_SHOWN);
}

static void tell_line(struct mor_bot_run *run, const struct mor_bot_seat *seat, const char *what,
		      uint64_t event, const char *given, mortise_json data)
{
	MOR_CLEAN(mor_buf) struct mor_buf ours = MOR_BUF_INIT;
	char shown[1600], label[LABEL_SHOWN], line[40] = "";
	const char *text;

	mor_reword(given, words, sizeof(words) / sizeof(words[0]), &ours);
	mor_buf_byte(&ours, '\0');
	text = mor_buf_failed(&ours) ? given : ours.data;
	if (run->console->json) {
		tell_json(run, seat, what, event, text, data);
		return;
	}
	if (seat)
		text = without_name(text, seat->name);
	if (event)
		snprintf(line, sizeof(line), "%s %llu: ", run->net.link ? "event" : "line",
			 (unsigned long long)event);
	mor_note(run->console, "%s: %s%s%s%s", what, line, shown_label(seat, label), seat ? ": " : "",
		 mor_printable(mor_slice_of(text), shown, sizeof(shown)));
}

void mor_bot_tell(struct mor_bot_run *run, const struct mor_bot_seat *seat, const char *what, uint64_t event,
		  const char *format, ...)
{
	char text[1200];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	tell_line(run, seat, what, event, text, (mortise_json){ 0 });
}

void mor_bot_tell_failure(const struct mor_bot_job *job, const mortise_reply *reply)
{
	struct mor_report report = { .error = reply->error, .data = reply->error_data };
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;

	mor_buf_printf(&text, "%s: ", mor_bot_job_methods[job->kind]);
	mor_report_text(&report, &text);
	mor_buf_byte(&text, '\0');
	tell_line(job->seat->run, job->seat, mortise_status_kind(reply->status),
		  job->walk ? job->walk->number : 0, mor_buf_failed(&text) ? reply->error->text : text.data,
		  reply->error_data);
}

void mor_bot_warn_end(struct mor_bot_seat *seat)
{
	if (seat->repeats)
		mor_bot_tell(seat->run, seat, "warning", 0, "repeated %u times: %s", seat->repeats, seat->told);
	seat->repeats = 0;
}

void mor_bot_warn(struct mor_bot_seat *seat, const char *text)
{
	char begin[sizeof(seat->told)];

	snprintf(begin, sizeof(begin), "%.*s", (int)sizeof(begin) - 1, text);
	if (strcmp(begin, seat->told) == 0) {
		seat->repeats++;
		return;
	}
	mor_bot_warn_end(seat);
	memcpy(seat->told, begin, sizeof(begin));
	mor_bot_tell(seat->run, seat, "warning", 0, "%s", text);
}

static void tell_state(struct mor_bot_body *body, const mortise_event *event)
{
	struct mor_bot_seat *seat = body->seat;

	snprintf(body->why, sizeof(body->why), "%.*s", (int)sizeof(body->why) - 1,
		 event->text ? event->text : "");
	if (event->state.now == MORTISE_READY)
		body->fresh = true;
	if (seat->run->console->verbose)
		mor_bot_tell(seat->run, seat, "state", 0, "%s -> %s (%s)",
			     mortise_state_name(event->state.before), mortise_state_name(event->state.now),
			     body->why);
}

/* A bar, not a colon, before the plugin's own stderr: those words are not ours. */
static void tell_stderr(struct mor_bot_seat *seat, const char *text)
{
	char shown[2000], label[LABEL_SHOWN];

	if (seat->run->console->json)
		tell_json(seat->run, seat, "stderr", 0, text, (mortise_json){ 0 });
	else
		mor_note(seat->run->console, "%s| %s", shown_label(seat, label),
			 mor_printable(mor_slice_of(text), shown, sizeof(shown)));
}

void mor_bot_event(const mortise_event *event, void *arg)
{
	struct mor_bot_body *body = arg;
	struct mor_bot_seat *seat = body->seat;

	switch (event->type) {
	case MORTISE_EVENT_STATE:
		tell_state(body, event);
		break;
	case MORTISE_EVENT_STDERR:
		tell_stderr(seat, event->text);
		break;
	case MORTISE_EVENT_WARNING:
		mor_bot_warn(seat, event->text);
		break;
	case MORTISE_EVENT_NOISE:
		mor_bot_tell(seat->run, seat, "noise", 0, "not a message on its stdout: %s", event->text);
		break;
	case MORTISE_EVENT_VIOLATION:
		mor_show_event(event, seat->run->console);
		break;
	default:
		if (seat->run->console->verbose && event->type != MORTISE_EVENT_HEALTH)
			mor_bot_tell(seat->run, seat, mortise_event_name(event->type), 0, "%s",
				     event->type == MORTISE_EVENT_NOTE ? event->note.method : event->text);
	}
}
