/* SPDX-License-Identifier: Apache-2.0 */
/* struct mor_writer: JSON text without a tree. */
#include <math.h>
#include <stdio.h>

#include "wire/json.h"

static uint64_t level_bit(const struct mor_writer *w)
{
	return UINT64_C(1) << (w->depth - 1);
}

/* Writes the comma before a value or a key, unless it is the first or follows its key. */
static void separate(struct mor_writer *w)
{
	if (w->after_key || w->depth == 0) {
		w->after_key = false;
		return;
	}
	if (w->nonempty & level_bit(w))
		mor_buf_byte(w->out, ',');
	w->nonempty |= level_bit(w);
}

static void open_level(struct mor_writer *w, bool array)
{
	separate(w);
	/* "Too deep" is kept like any other failure. Levels are still counted, so that the ends match. */
	if (++w->depth > 64) {
		if (!w->out->status)
			w->out->status = MORTISE_ELIMIT;
		return;
	}
	w->nonempty &= ~level_bit(w);
	if (array)
		w->arrays |= level_bit(w);
	else
		w->arrays &= ~level_bit(w);
	mor_buf_byte(w->out, array ? '[' : '{');
}

void mor_w_object(struct mor_writer *w)
{
	open_level(w, false);
}

void mor_w_array(struct mor_writer *w)
{
	open_level(w, true);
}

void mor_w_end(struct mor_writer *w)
{
	if (w->depth <= 64)
		mor_buf_byte(w->out, w->arrays & level_bit(w) ? ']' : '}');
	w->depth--;
}

void mor_w_key_slice(struct mor_writer *w, struct mor_slice name)
{
	separate(w);
	mor_buf_json_string(w->out, name);
	mor_buf_byte(w->out, ':');
	w->after_key = true;
}

void mor_w_key(struct mor_writer *w, const char *name)
{
	mor_w_key_slice(w, mor_slice_of(name));
}

void mor_w_slice(struct mor_writer *w, struct mor_slice text)
{
	separate(w);
	mor_buf_json_string(w->out, text);
}

void mor_w_string(struct mor_writer *w, const char *text)
{
	if (text)
		mor_w_slice(w, mor_slice_of(text));
	else
		mor_w_null(w);
}

void mor_w_raw(struct mor_writer *w, struct mor_slice json)
{
	separate(w);
	mor_buf_slice(w->out, json);
}

void mor_w_int(struct mor_writer *w, int64_t number)
{
	separate(w);
	mor_buf_printf(w->out, "%lld", (long long)number);
}

void mor_w_uint(struct mor_writer *w, uint64_t number)
{
	separate(w);
	mor_buf_printf(w->out, "%llu", (unsigned long long)number);
}

void mor_w_double(struct mor_writer *w, double number)
{
	char text[MOR_JSON_DOUBLE];

	mor_w_raw(w, mor_slice_of(isfinite(number) ? mor_json_format_double(number, text) : "null"));
}

void mor_w_bool(struct mor_writer *w, bool value)
{
	mor_w_raw(w, mor_slice_of(value ? "true" : "false"));
}

void mor_w_null(struct mor_writer *w)
{
	mor_w_raw(w, MOR_SLICE("null"));
}

void mor_w_string_again(struct mor_writer *w, struct mor_slice string)
{
	separate(w);
	mor_json_string_again(string, w->out);
}

void mor_w_value(struct mor_writer *w, const struct mor_value *value)
{
	separate(w);
	mor_json_write(value, false, w->out);
}

void mor_w_pair(struct mor_writer *w, const char *name, const char *text)
{
	mor_w_key(w, name);
	mor_w_string(w, text);
}

void mor_w_pair_int(struct mor_writer *w, const char *name, int64_t number)
{
	mor_w_key(w, name);
	mor_w_int(w, number);
}

void mor_w_pair_bool(struct mor_writer *w, const char *name, bool value)
{
	mor_w_key(w, name);
	mor_w_bool(w, value);
}

void mor_w_pair_maybe(struct mor_writer *w, const char *name, int value)
{
	mor_w_key(w, name);
	if (value < 0)
		mor_w_null(w);
	else
		mor_w_bool(w, value);
}

void mor_w_pair_raw(struct mor_writer *w, const char *name, struct mor_slice json)
{
	mor_w_key(w, name);
	mor_w_raw(w, json);
}

void mor_w_pair_value(struct mor_writer *w, const char *name, const struct mor_value *value)
{
	mor_w_key(w, name);
	mor_w_value(w, value);
}

void mor_w_pair_slice(struct mor_writer *w, const char *name, struct mor_slice text)
{
	mor_w_key(w, name);
	mor_w_slice(w, text);
}

void mor_w_pair_object(struct mor_writer *w, const char *name)
{
	mor_w_key(w, name);
	mor_w_object(w);
}

void mor_w_pair_array(struct mor_writer *w, const char *name)
{
	mor_w_key(w, name);
	mor_w_array(w);
}

int mor_json_one_line(struct mor_slice text, struct mor_buf *out)
{
	size_t at = out->len;
	int r = mor_buf_slice(out, text);

	/* CR too: readers in text mode (Python's default) take a single CR as the end of the line. */
	if (r == 0 && text.len && (memchr(text.ptr, '\n', text.len) || memchr(text.ptr, '\r', text.len)))
		for (; at < out->len; at++)
			if (out->data[at] == '\n' || out->data[at] == '\r')
				out->data[at] = ' ';
	return r;
}
