/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "talk/talk.h"
#include "tap/tap.h"

#define ROWS_READ     65536
#define ROWS_READ_MAX (64 * ROWS_READ) /* in one call: a screen must not wait for a long file */

const char *const mor_tap_kind_names[MOR_TAP_KINDS] = {
	[MOR_TAP_REQUEST] = "request", [MOR_TAP_REPLY] = "reply", [MOR_TAP_ERROR] = "error",
	[MOR_TAP_NOTE] = "note",       [MOR_TAP_NOISE] = "noise", [MOR_TAP_STDERR] = "stderr",
	[MOR_TAP_EVENT] = "event",
};

void mor_tap_init(struct mor_tap *tap, int fd)
{
	*tap = (struct mor_tap){ .fd = fd };
}

void mor_tap_fini(struct mor_tap *tap)
{
	mor_buf_fini(&tap->part);
	mor_free(tap->row);
}

/* ---- requests and their replies ---- */

/* After very many that were never answered, the oldest is forgotten. */
static void open_request(struct mor_tap *tap, const struct mor_talk_head *head, const struct mor_tap_row *row)
{
	struct mor_tap_open *open = &tap->open[tap->opened++ % MOR_TAP_OPEN];

	*open = (struct mor_tap_open){ .to_plugin = row->to_plugin, .used = true, .time_ms = row->time_ms };
	memcpy(open->id, head->id, sizeof(open->id));
	memcpy(open->method, row->method, sizeof(open->method));
}

static void close_request(struct mor_tap *tap, const struct mor_talk_head *head, struct mor_tap_row *row)
{
	size_t have = tap->opened < MOR_TAP_OPEN ? tap->opened : MOR_TAP_OPEN;

	for (size_t i = 0; i < have; i++) {
		struct mor_tap_open *open = &tap->open[(tap->opened - 1 - i) % MOR_TAP_OPEN];

		if (!open->used || open->to_plugin == row->to_plugin || strcmp(open->id, head->id) != 0)
			continue;
		row->latency_ms = (int64_t)(row->time_ms - open->time_ms);
		memcpy(row->method, open->method, sizeof(row->method));
		open->used = false;
		return;
	}
}

static void classify_message(struct mor_tap *tap, struct mor_slice text, struct mor_tap_row *row)
{
	struct mor_talk_head head;

	mor_talk_look(text, &head);
	mor_text_keep(row->method, sizeof(row->method), head.method, strlen(head.method) + 1);
	mor_text_keep(row->id, sizeof(row->id), head.id, strlen(head.id) + 1);
	if (head.method[0])
		row->kind = head.id[0] ? MOR_TAP_REQUEST : MOR_TAP_NOTE;
	else
		row->kind = head.error ? MOR_TAP_ERROR : MOR_TAP_REPLY;
	if (row->kind == MOR_TAP_REQUEST)
		open_request(tap, &head, row);
	else if (!head.method[0] && head.id[0])
		close_request(tap, &head, row);
}

/* ---- lines ---- */

static struct mor_tap_row *new_row(struct mor_tap *tap)
{
	if (tap->count >= MOR_TAP_ROWS) {
		size_t half = tap->count / 2;

		memmove(tap->row, tap->row + half, (tap->count - half) * sizeof(*tap->row));
		tap->count -= half;
		tap->dropped += half;
	}
	if (mor_grow(&tap->row, tap->count, &tap->cap, sizeof(*tap->row)) < 0)
		return NULL;
	return &tap->row[tap->count++];
}

/* False: this step is no row. */
static bool classify(struct mor_tap *tap, const struct mor_talk_step *step, struct mor_tap_row *row)
{
	row->kind = MOR_TAP_EVENT;
	switch (step->kind) {
	case MOR_TALK_SEND:
	case MOR_TALK_RECEIVE:
		row->to_plugin = step->kind == MOR_TALK_SEND;
		classify_message(tap, step->text, row);
		return true;
	case MOR_TALK_SEND_RAW:
	case MOR_TALK_RECEIVE_RAW:
		row->to_plugin = step->kind == MOR_TALK_SEND_RAW;
		row->kind = MOR_TAP_NOISE;
		return true;
	case MOR_TALK_STDERR:
		row->kind = MOR_TAP_STDERR;
		return true;
	case MOR_TALK_WAIT:
		tap->time_ms += step->ms;
		return false;
	case MOR_TALK_EXIT:
		tap->over = true;
		return true;
	case MOR_TALK_SEND_END:
	case MOR_TALK_SIGNAL:
		row->to_plugin = true;
		return true;
	case MOR_TALK_RECEIVE_END:
		return true;
	case MOR_TALK_EVENT:
	case MOR_TALK_ACT:
		break;
	}
	return false;
}

/* 1: a row, 0: none. A line that nobody understands is skipped: the file may be written by a later version. */
static int take_line(struct mor_tap *tap, char *line, size_t len, off_t at, mortise_error *err)
{
	struct mor_talk_step step;
	struct mor_tap_row row = { .latency_ms = -1, .line = ++tap->lines }, *place;
	struct mor_slice text = { line, len };

	if (row.line == 1)
		return len >= 5 && memcmp(line, "talk ", 5) == 0 ?
			       0 :
			       mor_fail(err, MORTISE_EMANIFEST, "it is not a .talk file");
	if (mor_talk_parse_line(line, len, row.line, &step, NULL) != 1)
		return 0;
	row.time_ms = tap->time_ms;
	if (!classify(tap, &step, &row))
		return 0;
	/* text of a row begins after its mark and a blank; an end or a signal is shown as the whole line */
	if (row.kind != MOR_TAP_EVENT)
		mor_slice_cut(&text, ' ');
	row.at = at + (text.ptr - line);
	row.len = text.len;
	place = new_row(tap);
	if (!place)
		return mor_fail_memory(err);
	*place = row;
	return 1;
}

static int take_lines(struct mor_tap *tap, mortise_error *err)
{
	off_t begin = tap->read - (off_t)tap->part.len;
	size_t used = 0;
	int rows = 0, r = 0;

	while (r >= 0) {
		char *line = tap->part.data + used;
		char *end = tap->part.len > used ? memchr(line, '\n', tap->part.len - used) : NULL;

		if (!end)
			break;
		r = take_line(tap, line, (size_t)(end - line), begin + (off_t)used, err);
		rows += r > 0;
		used += (size_t)(end - line) + 1;
	}
	mor_buf_consume(&tap->part, used);
	return r < 0 ? r : rows;
}

int mor_tap_read(struct mor_tap *tap, mortise_error *err)
{
	int rows = 0;

	for (size_t total = 0; total < ROWS_READ_MAX;) {
		ssize_t n;
		int r;

		if (mor_buf_reserve(&tap->part, ROWS_READ) < 0)
			return mor_fail_memory(err);
		n = pread(tap->fd, tap->part.data + tap->part.len, ROWS_READ, tap->read);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return mor_fail_errno(err, MORTISE_ESYSTEM, errno, "reading the conversation");
		if (n == 0)
			break;
		tap->part.len += (size_t)n;
		tap->read += n;
		total += (size_t)n;
		if ((r = take_lines(tap, err)) < 0)
			return r;
		rows += r;
	}
	return rows;
}

int mor_tap_text(const struct mor_tap *tap, const struct mor_tap_row *row, struct mor_buf *out)
{
	size_t left = row->len;
	off_t at = row->at;

	if (mor_buf_reserve(out, left) < 0)
		return MORTISE_ENOMEM;
	while (left) {
		ssize_t n = pread(tap->fd, out->data + out->len, left, at);

		if (n <= 0)
			return MORTISE_ESYSTEM;
		out->len += (size_t)n;
		left -= (size_t)n;
		at += n;
	}
	return 0;
}

bool mor_tap_passes(const struct mor_tap_row *row, const char *filter)
{
	return !filter || !*filter || strstr(row->method, filter);
}
