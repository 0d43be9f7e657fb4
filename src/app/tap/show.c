/* SPDX-License-Identifier: Apache-2.0 */
/* One row as a line: time, direction, kind, what it is about, latency, size, and how the message begins. */
#include <stdio.h>

#include "base/alloc.h"
#include "base/text.h"
#include "tap/tap.h"
#include "wire/envelope.h"
#include "wire/json.h"

#define EXCERPT 120 /* columns of the message where the line has no limit */
#define SUBJECT 30
#define DEFAULT "\x1b[0m"

static const char *const colors[MOR_TAP_KINDS] = {
	[MOR_TAP_REQUEST] = "\x1b[36m", [MOR_TAP_REPLY] = "\x1b[32m", [MOR_TAP_ERROR] = "\x1b[31m",
	[MOR_TAP_NOTE] = "\x1b[35m",    [MOR_TAP_NOISE] = "\x1b[33m", [MOR_TAP_STDERR] = "\x1b[2m",
	[MOR_TAP_EVENT] = "\x1b[1m",
};

static bool is_message(const struct mor_tap_row *row)
{
	return row->kind <= MOR_TAP_NOTE;
}

static void write_latency(const struct mor_tap_row *row, char *out, size_t size)
{
	char text[32];

	if (row->latency_ms < 0)
		out[0] = '\0';
	else if (row->latency_ms == 0)
		snprintf(out, size, "<1 ms");
	else
		snprintf(out, size, "%s", mor_format_ms((uint64_t)row->latency_ms, text));
}

/* The number of characters: all bytes except those that continue one. Wide ones count as one. */
static size_t count_columns(struct mor_slice text)
{
	size_t n = 0;

	for (size_t i = 0; i < text.len; i++)
		n += ((unsigned char)text.ptr[i] & 0xc0) != 0x80;
	return n;
}

size_t mor_tap_cut(struct mor_slice text, size_t columns)
{
	size_t i = 0;

	for (size_t n = 0; i < text.len; i++) {
		n += ((unsigned char)text.ptr[i] & 0xc0) != 0x80;
		if (n > columns)
			break;
	}
	return i;
}

/* "method #id", or "?" for a reply to nobody knows what, in SUBJECT columns. The words are the plugin's. */
static void add_subject(const struct mor_tap_row *row, struct mor_buf *line)
{
	const char *method = row->method[0] ? row->method : row->kind <= MOR_TAP_ERROR ? "?" : "";
	char subject[96], shown[4 * sizeof(subject)];
	struct mor_slice text;

	snprintf(subject, sizeof(subject), "%s%s%s", method, row->id[0] ? " #" : "", row->id);
	text = mor_slice_of(mor_printable(mor_slice_of(subject), shown, sizeof(shown)));
	text.len = mor_tap_cut(text, SUBJECT);
	mor_buf_slice(line, text);
	mor_buf_printf(line, "%*s", SUBJECT - (int)count_columns(text), "");
}

static void add_excerpt(const struct mor_tap *tap, const struct mor_tap_row *row, size_t columns,
			struct mor_buf *line)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	struct mor_tap_row beginning = *row;
	char shown[4 * EXCERPT + 64];
	size_t room = 4 * columns + 1;

	if (beginning.len > 4 * columns)
		beginning.len = 4 * columns;
	if (mor_tap_text(tap, &beginning, &text) < 0)
		return;
	mor_printable(mor_buf_view(&text), shown, room < sizeof(shown) ? room : sizeof(shown));
	mor_buf_append(line, shown, mor_tap_cut(mor_slice_of(shown), columns));
}

void mor_tap_show(const struct mor_tap *tap, const struct mor_tap_row *row, unsigned columns, bool color,
		  struct mor_buf *out)
{
	MOR_CLEAN(mor_buf) struct mor_buf line = MOR_BUF_INIT;
	char latency[40], size[32] = "", sign = row->to_plugin ? '>' : '<';
	size_t used, wide = columns ? columns : SIZE_MAX;

	write_latency(row, latency, sizeof(latency));
	if (is_message(row) || row->kind == MOR_TAP_NOISE)
		mor_format_bytes(row->len, size);
	else
		sign = ' ';
	mor_buf_printf(&line, "%5llu.%03llu %c %-7s ", (unsigned long long)row->time_ms / 1000,
		       (unsigned long long)row->time_ms % 1000, sign, mor_tap_kind_names[row->kind]);
	if (is_message(row) || row->kind == MOR_TAP_NOISE) {
		add_subject(row, &line);
		mor_buf_printf(&line, " %9s %9s  ", latency, size);
	}
	used = count_columns(mor_buf_view(&line));
	if (wide > used)
		add_excerpt(tap, row, columns && columns - used < EXCERPT ? columns - used : EXCERPT, &line);
	while (line.len && line.data[line.len - 1] == ' ')
		line.len--;
	if (color)
		mor_buf_text(out, colors[row->kind]);
	mor_buf_append(out, line.data, mor_tap_cut(mor_buf_view(&line), wide));
	if (color)
		mor_buf_text(out, DEFAULT);
}

void mor_tap_show_json(const struct mor_tap *tap, const struct mor_tap_row *row, struct mor_buf *out)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	struct mor_writer w = { .out = out };
	bool plain;

	(void)mor_tap_text(tap, row, &text);
	plain = is_message(row) && mor_json_valid(mor_buf_view(&text), 0, 0, NULL);
	mor_w_object(&w);
	mor_w_pair_int(&w, "line", row->line);
	mor_w_pair_int(&w, "time_ms", (int64_t)row->time_ms);
	mor_w_pair(&w, "kind", mor_tap_kind_names[row->kind]);
	mor_w_pair(&w, "from", row->kind == MOR_TAP_EVENT ? NULL : row->to_plugin ? "host" : "plugin");
	mor_w_pair(&w, "method", row->method[0] ? row->method : NULL);
	mor_w_pair(&w, "id", row->id[0] ? row->id : NULL);
	mor_w_key(&w, "latency_ms");
	if (row->latency_ms >= 0)
		mor_w_int(&w, row->latency_ms);
	else
		mor_w_null(&w);
	mor_w_pair_int(&w, "bytes", (int64_t)row->len);
	mor_w_key(&w, plain ? "message" : "text");
	if (plain)
		mor_w_raw(&w, mor_buf_view(&text));
	else
		mor_w_slice(&w, mor_buf_view(&text));
	mor_w_end(&w);
}
