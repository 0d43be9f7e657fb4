/* SPDX-License-Identifier: Apache-2.0 */
/* The report of a replay: for people, as JSON, as TAP. */
#include <stdio.h>

#include "base/alloc.h"
#include "base/text.h"
#include "replay/replay.h"

#define SHOWN 400 /* bytes of a message in a report for people */

static void tap_point(struct mor_replay *replay, bool good, unsigned line, const char *text)
{
	mor_outf(replay->console, "%sok %u - %s:%u %s\n", good ? "" : "not ", ++replay->points, replay->file,
		 line, text);
}

void mor_replay_compared(void *arg, const struct mor_talk_step *step, bool same)
{
	struct mor_replay *replay = arg;
	MOR_CLEAN(mor_buf) struct mor_buf line = MOR_BUF_INIT;
	char text[100];

	if (!replay->tap)
		return;
	mor_talk_write_step(&line, step);
	mor_printable((struct mor_slice){ line.data, line.len ? line.len - 1 : 0 }, text, sizeof(text));
	if (replay->points == 0)
		mor_out_text(replay->console, "TAP version 14\n");
	tap_point(replay, same, step->line, text);
	replay->failed |= !same;
}

/* One line: "  expected {...}". */
static void add_message(struct mor_buf *out, const char *prefix, const char *name,
			const struct mor_buf *message)
{
	char text[SHOWN];

	if (message->len)
		mor_buf_printf(out, "%s%-9s%s\n", prefix, name,
			       mor_printable(mor_slice_trim(mor_buf_view(message), "\r\n"), text,
					     sizeof(text)));
}

static void add_details(struct mor_buf *out, const char *prefix, const struct mor_player_difference *d)
{
	struct mor_slice left = mor_buf_view(&d->values);

	add_message(out, prefix, "expected", &d->expected);
	add_message(out, prefix, "came", &d->came);
	while (left.len) {
		char text[SHOWN];

		mor_buf_printf(out, "%s%s\n", prefix,
			       mor_printable(mor_slice_cut(&left, '\n'), text, sizeof(text)));
	}
}

static void tell_tap(struct mor_replay *replay, const struct mor_player *player)
{
	const struct mor_player_difference *d = &player->difference;
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;

	if (replay->points == 0)
		mor_out_text(replay->console, "TAP version 14\n");
	if (d->line) {
		if (!replay->failed) /* it is not about a line that was compared */
			tap_point(replay, false, d->line, d->text);
		add_details(&text, "  # ", d);
		mor_out(replay->console, mor_buf_view(&text));
	}
	mor_outf(replay->console, "1..%u\n", replay->points);
}

static void tell_json(struct mor_replay *replay, const struct mor_player *player)
{
	const struct mor_player_difference *d = &player->difference;
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT, list = MOR_BUF_INIT;
	struct mor_writer w = { .out = &text };

	mor_buf_byte(&list, '[');
	mor_buf_slice(&list, mor_buf_view(&d->json));
	mor_buf_byte(&list, ']');
	mor_w_object(&w);
	mor_w_pair_bool(&w, "ok", !d->line);
	mor_w_pair(&w, "file", replay->file);
	mor_w_pair_int(&w, "sent", (int64_t)player->sent);
	mor_w_pair_int(&w, "compared", (int64_t)player->compared);
	if (d->line) {
		mor_w_pair_int(&w, "line", d->line);
		mor_w_pair(&w, "text", d->text);
		mor_w_pair_slice(&w, "expected", mor_buf_view(&d->expected));
		mor_w_pair_slice(&w, "came", mor_buf_view(&d->came));
		mor_w_pair_raw(&w, "differences", mor_buf_view(&list));
	}
	mor_w_end(&w);
	mor_out_json(replay->console, mor_buf_view(&text));
}

static void tell_person(struct mor_replay *replay, const struct mor_player *player)
{
	const struct mor_player_difference *d = &player->difference;
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;

	if (d->line) {
		mor_buf_printf(&text, "%s:%u: %s\n", replay->file, d->line, d->text);
		add_details(&text, "  ", d);
	} else {
		mor_buf_printf(&text, "%s: equal: %llu messages sent, %llu compared\n", replay->file,
			       (unsigned long long)player->sent, (unsigned long long)player->compared);
	}
	mor_out(replay->console, mor_buf_view(&text));
}

int mor_replay_tell(struct mor_replay *replay, const struct mor_player *player)
{
	if (replay->tap)
		tell_tap(replay, player);
	else if (replay->console->json)
		tell_json(replay, player);
	else
		tell_person(replay, player);
	return player->difference.line ? 1 : 0;
}

void mor_replay_note(struct mor_replay *replay, const struct mor_player *player)
{
	const struct mor_player_difference *d = &player->difference;
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;

	if (!d->line)
		return;
	mor_buf_printf(&text, "%s:%u: the host differs: %s\n", replay->file, d->line, d->text);
	add_details(&text, "  ", d);
	mor_note_slice(replay->console, mor_slice_trim(mor_buf_view(&text), "\n"));
}
