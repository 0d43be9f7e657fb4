/* SPDX-License-Identifier: Apache-2.0 */
/* The canonical form of a script. Nothing is reordered: who compares two files sees what their
 * writers meant. */
#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "talk/talk.h"

/* Blanks outside of strings are left out. Strings and numbers keep their spelling. */
static int write_compact(struct mor_slice pattern, struct mor_buf *out)
{
	bool inside = false;

	for (size_t i = 0; i < pattern.len; i++) {
		char c = pattern.ptr[i];

		if (c == '"')
			inside = !inside;
		if (inside || !mor_char_is_blank(c))
			mor_buf_byte(out, c);
		if (inside && c == '\\' && i + 1 < pattern.len)
			mor_buf_byte(out, pattern.ptr[++i]);
	}
	return out->status;
}

static int write_end(struct mor_buf *out, const struct mor_talk_step *step)
{
	const char *name = step->signal > 0 ? sigabbrev_np(step->signal) : NULL;
	char text[40];

	if (step->signal <= 0)
		snprintf(text, sizeof(text), "exit %d", step->exit_code);
	else if (name)
		snprintf(text, sizeof(text), "%s%s", step->kind == MOR_TALK_EXIT ? "signal " : "", name);
	else
		snprintf(text, sizeof(text), "%s%d", step->kind == MOR_TALK_EXIT ? "signal " : "",
			 step->signal);
	return mor_talk_write(out, step->kind, mor_slice_of(text));
}

int mor_talk_write_step(struct mor_buf *out, const struct mor_talk_step *step)
{
	MOR_CLEAN(mor_buf) struct mor_buf compact = MOR_BUF_INIT;
	char text[40];

	switch (step->kind) {
	case MOR_TALK_SEND:
	case MOR_TALK_RECEIVE:
		if (write_compact(step->text, &compact) < 0)
			return compact.status;
		return mor_talk_write(out, step->kind, mor_buf_view(&compact));
	case MOR_TALK_WAIT:
		snprintf(text, sizeof(text), "%ums", (unsigned)step->ms);
		return mor_talk_write(out, step->kind, mor_slice_of(text));
	case MOR_TALK_EXIT:
	case MOR_TALK_SIGNAL:
		return write_end(out, step);
	default:
		return mor_talk_write(out, step->kind, step->text);
	}
}

static int write_head(struct mor_slice line, struct mor_buf *out, mortise_error *err)
{
	struct mor_talk talk = { 0 };
	int r = mor_talk_parse(line, &talk, err);

	if (r < 0)
		return r;
	mor_buf_printf(out, "talk 1 %s%s%s\n", talk.dialect, talk.framing ? " framing=" : "",
		       talk.framing ? talk.framing : "");
	mor_talk_fini(&talk);
	return 0;
}

/* A comment or nothing. Blank lines at the end and double ones go. */
static void write_rest(struct mor_slice line, bool *blank, struct mor_buf *out)
{
	while (line.len && mor_char_is_blank(line.ptr[line.len - 1]))
		line.len--;
	if (!line.len) {
		*blank = true;
		return;
	}
	if (*blank)
		mor_buf_byte(out, '\n');
	*blank = false;
	mor_buf_slice(out, line);
	mor_buf_byte(out, '\n');
}

/* Raw bytes are unescaped in the line itself. */
static int format_line(struct mor_slice line, unsigned number, bool *blank, struct mor_buf *out,
		       mortise_error *err)
{
	struct mor_talk_step step;
	int r;

	if (number == 1)
		return write_head(line, out, err);
	r = mor_talk_parse_line((char *)(uintptr_t)line.ptr, line.len, number, &step, err);
	if (r == 0)
		write_rest(line, blank, out);
	if (r <= 0)
		return r;
	if (*blank)
		mor_buf_byte(out, '\n');
	*blank = false;
	return mor_talk_write_step(out, &step);
}

int mor_talk_format(struct mor_slice text, struct mor_buf *out, mortise_error *err)
{
	MOR_CLEAN_TEXT char *memory = mor_strndup(text.ptr, text.len);
	struct mor_slice rest = { memory, text.len };
	bool blank = false;
	unsigned number = 0;
	int r = memory ? 0 : MORTISE_ENOMEM;

	do {
		if (r == 0)
			r = format_line(mor_slice_cut(&rest, '\n'), ++number, &blank, out, err);
	} while (r == 0 && rest.len);
	return r == MORTISE_ENOMEM || out->status ? mor_fail_memory(err) : r;
}
