/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints what happens for people who want to see it. Without --verbose and --show-wire a run without errors
 * is silent. Everything from a plugin is made printable first.
 */
#include "runner/show.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "console/console.h"
#include "console/warned.h"

#define WIRE_SHOWN 4096 /* bytes shown of a message without --verbose: a message can hold whole files */

static const char *print_text(const char *text, char *out, size_t size)
{
	return mor_printable(mor_slice_of(text ? text : ""), out, size);
}

static void tell_note(struct mor_console *console, const char *name, const mortise_event *event)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	struct mor_slice params = { event->note.params.text, event->note.params.len };
	struct mor_writer w = { .out = &json };
	char shown[800], method[200];

	if (console->notes && console->json) {
		mor_w_object(&w);
		mor_w_pair(&w, "note", event->note.method);
		mor_w_pair_raw(&w, "params", params.len ? params : MOR_SLICE("null"));
		mor_w_pair(&w, "plugin", name);
		mor_w_end(&w);
		mor_out_json_line(console, mor_buf_view(&json));
		return;
	}
	mor_printable(params, shown, sizeof(shown));
	mor_note(console, "%s: note %s %s", name, print_text(event->note.method, method, sizeof(method)),
		 shown);
}

static void tell_state(struct mor_console *console, const char *name, const mortise_event *event)
{
	char why[400];

	print_text(event->text, why, sizeof(why));
	mor_note(console, "%s: %s -> %s%s%s%s", name, mortise_state_name(event->state.before),
		 mortise_state_name(event->state.now), *why ? " (" : "", why, *why ? ")" : "");
}

/* Without --verbose we show what a plugin reports about its own errors, and what concerns its permissions. With
 * --strict we also show breaches of the protocol. */
/* By its own report: what the host finds is told with the calls that fail for it. */
static bool is_ill(const mortise_event *event)
{
	return event->health.method && !event->health.healthy;
}

bool mor_show_prints(const struct mor_console *console, const mortise_event *event)
{
	if (console->verbose || (console->notes && event->type == MORTISE_EVENT_NOTE))
		return true;
	if (event->type == MORTISE_EVENT_WARNING)
		return console->strict || event->warning.health_method || event->warning.about_rights;
	if (event->type == MORTISE_EVENT_NOISE || event->type == MORTISE_EVENT_DROPPED)
		return console->strict;
	return event->type == MORTISE_EVENT_HEALTH && is_ill(event);
}

/* All workers of a pool say the same, so it is shown once. */
static bool is_told(struct mor_console *console, const char *name, const char *text)
{
	uint64_t hash = 0xcbf29ce484222325;
	size_t room = sizeof(console->told) / sizeof(console->told[0]);

	for (const char *c = name; *c; c++)
		hash = (hash ^ (unsigned char)*c) * 0x100000001b3;
	for (const char *c = text; *c; c++)
		hash = (hash ^ (unsigned char)*c) * 0x100000001b3;
	for (size_t i = 0; i < room && i < console->told_count; i++)
		if (console->told[i] == hash)
			return true;
	console->told[console->told_count++ % room] = hash;
	return false;
}

/* Something wrong that does not end the command, in words. false: the event is not of that kind. */
static bool find_fault(const mortise_event *event, const char *name, char *out, size_t size)
{
	static const char *const before[MORTISE_EVENT_TYPES] = { [MORTISE_EVENT_WARNING] = "",
								 [MORTISE_EVENT_DROPPED] = "",
								 [MORTISE_EVENT_NOISE] = "not a message: ",
								 [MORTISE_EVENT_HEALTH] = "health: " };
	char shown[800];

	if (!before[event->type] || (event->type == MORTISE_EVENT_HEALTH && !is_ill(event)))
		return false;
	/* What it still asks while it is stopped is no fault of its own. */
	if (event->type == MORTISE_EVENT_DROPPED && event->plugin &&
	    mortise_plugin_state(event->plugin) == MORTISE_DRAINING)
		return false;
	snprintf(out, size, "%s: %s%s", name, before[event->type],
		 print_text(event->text, shown, sizeof(shown)));
	return true;
}

static void tell_warning(struct mor_console *console, const char *name, const mortise_event *event)
{
	char shown[1000];

	if (!find_fault(event, name, shown, sizeof(shown)))
		return;
	mor_warned_keep(console, shown);
	if (!console->verbose && mor_show_prints(console, event) && !is_told(console, name, shown))
		mor_note(console, "%swarning%s: %s", mor_style_err(console, MOR_STYLE_WARN),
			 mor_style_err_end(console), shown);
}

/* What was denied, summed up, is for everybody to see: the plugin may have failed for it. */
static void tell_denied(struct mor_console *console, const char *name, const mortise_event *event)
{
	char shown[1600];

	if (is_told(console, name, event->text))
		return;
	if (console->json)
		mor_note(console, "%.*s", (int)event->violation.record.len, event->violation.record.text);
	else
		mor_note(console, "%sdenied%s: %s", mor_style_err(console, MOR_STYLE_WARN),
			 mor_style_err_end(console), print_text(event->text, shown, sizeof(shown)));
}

/* What concerns permissions and is for everybody, also where nothing else is shown: the sum of what was denied,
 * and a violation that no call will report, which is kept for the end (mor_report_late()). */
static void show_sandbox(const mortise_event *event, struct mor_console *console)
{
	const char *name = event->plugin ? mortise_plugin_name(event->plugin) : "mortise";

	if (event->type != MORTISE_EVENT_VIOLATION)
		return;
	if (event->violation.action == MORTISE_VIOLATION_SUM)
		tell_denied(console, name, event);
	else if (event->violation.action == MORTISE_VIOLATION_KILLED && !event->violation.failed_calls &&
		 !console->late[0])
		print_text(event->text, console->late, sizeof(console->late));
}

/* A plugin must not be able to send control sequences to the terminal, nor to change what is read there.
 * Line breaks between tokens are blanks. */
static void add_printable(struct mor_buf *line, struct mor_slice bytes)
{
	MOR_CLEAN(mor_buf) struct mor_buf plain = MOR_BUF_INIT;

	for (size_t i = 0; i < bytes.len; i++) {
		unsigned char byte = (unsigned char)bytes.ptr[i];

		mor_buf_byte(&plain, byte < 0x20 || byte == 0x7f ? ' ' : (char)byte);
	}
	if (mor_buf_failed(&plain) || mor_buf_reserve(line, 4 * bytes.len + 1) < 0)
		return;
	mor_printable(mor_buf_view(&plain), line->data + line->len, 4 * bytes.len + 1);
	line->len += strlen(line->data + line->len);
}

/* As JSON: its paths are a plugin's words. */
static void tell_violation(struct mor_console *console, const char *name, const mortise_event *event)
{
	MOR_CLEAN(mor_buf) struct mor_buf line = MOR_BUF_INIT;

	mor_buf_printf(&line, "%s: ", name);
	add_printable(&line, (struct mor_slice){ event->violation.record.text, event->violation.record.len });
	if (!mor_buf_failed(&line))
		mor_note_slice(console, mor_buf_view(&line));
}

/* A bar, not a colon, stands before the plugin's own stderr: those words are not ours. */
void mor_show_event_of(const char *name, const mortise_event *event, struct mor_console *console)
{
	const char *level;
	char shown[2000];

	if (console->notes && event->type == MORTISE_EVENT_NOTE) {
		tell_note(console, name, event);
		return;
	}
	tell_warning(console, name, event);
	show_sandbox(event, console);
	if (!console->verbose)
		return;
	switch (event->type) {
	case MORTISE_EVENT_STATE:
		tell_state(console, name, event);
		break;
	case MORTISE_EVENT_NOTE:
		tell_note(console, name, event);
		break;
	case MORTISE_EVENT_VIOLATION: /* the text comes once, with the error; the sum has been told */
		if (event->violation.action != MORTISE_VIOLATION_SUM)
			tell_violation(console, name, event);
		break;
	case MORTISE_EVENT_STDERR:
		mor_note(console, "%s| %s", name, print_text(event->text, shown, sizeof(shown)));
		break;
	default:
		level = event->type == MORTISE_EVENT_LOG ? event->log.level : NULL;
		mor_note(console, "%s: %s%s%s: %s", name, mortise_event_name(event->type), level ? " " : "",
			 level ? level : "", print_text(event->text, shown, sizeof(shown)));
	}
}

void mor_show_event(const mortise_event *event, void *arg)
{
	mor_show_event_of(event->plugin ? mortise_plugin_name(event->plugin) : "mortise", event, arg);
}

void mor_show_frame(const mortise_tap_frame *frame, void *arg)
{
	MOR_CLEAN(mor_buf) struct mor_buf line = MOR_BUF_INIT;
	struct mor_console *console = arg;
	struct mor_slice body = { frame->body.text, frame->body.len };
	size_t shown = console->verbose || body.len <= WIRE_SHOWN ? body.len : WIRE_SHOWN;

	mor_buf_text(&line, frame->direction == MORTISE_TO_PLUGIN ? "> " : "< ");
	add_printable(&line, (struct mor_slice){ body.ptr, shown });
	if (shown < body.len)
		mor_buf_printf(&line, "... (%zu bytes)", body.len);
	if (!mor_buf_failed(&line))
		mor_note_slice(console, mor_buf_view(&line));
}
