/* SPDX-License-Identifier: Apache-2.0 */
/* Goals as tokens, and the place of an anchor's text. Only bytes; this file does not know the graph. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "kythe/entries/verify_inside.h"

int mor_goal_complain(struct reader *r, uint32_t line, uint32_t column, const char *what)
{
	return mor_fail(r->err, MORTISE_EINPUT, "%s:%u:%u: %s", r->file, line, column, what);
}

static const char *line_end(const char *from, const char *end)
{
	const char *newline = memchr(from, '\n', (size_t)(end - from));

	return newline ? newline : end;
}

/* Goes to the next line with goals. */
static bool next_line(struct reader *r)
{
	const char *end = r->text.ptr + r->text.len;

	while (r->rest < end) {
		const char *line = r->rest, *stop = line_end(line, end);
		struct mor_slice goals = mor_goal_line(r->v, line, stop);

		r->line++;
		r->rest = stop < end ? stop + 1 : end;
		r->at = goals.ptr;
		if (r->at) {
			r->end = goals.ptr + goals.len;
			r->line_start = line;
			return true;
		}
	}
	return false;
}

static bool word_byte(char c, bool first)
{
	return c == '_' || c == '/' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (unsigned char)c >= 0x80 || (first ? c == '%' || c == '#' : c >= '0' && c <= '9');
}

static bool digit(char c)
{
	return c >= '0' && c <= '9';
}

static void take_word(struct reader *r)
{
	const char *start = r->at++;

	while (r->at < r->end && word_byte(*r->at, false))
		r->at++;
	r->token.kind = TOKEN_WORD;
	r->token.text = (struct mor_slice){ start, (size_t)(r->at - start) };
}

static bool take_number(struct reader *r, uint64_t *ret)
{
	const char *start = r->at;

	while (r->at < r->end && digit(*r->at))
		r->at++;
	r->token.kind = TOKEN_NUMBER;
	r->token.text = (struct mor_slice){ start, (size_t)(r->at - start) };
	return mor_parse_u64(r->token.text, ret);
}

/* 0: no escape. */
static char unescape_char(char c)
{
	return c == 'n' ? '\n' : c == 't' ? '\t' : c == '"' || c == '\\' ? c : 0;
}

/* The content goes into memory for the whole file. It has room for all strings, so nothing moves. */
static int take_string(struct reader *r)
{
	size_t start = r->scratch.len;

	for (r->at++; r->at < r->end && *r->at != '"'; r->at++) {
		char c = *r->at;

		if (c == '\\' && r->at + 1 < r->end)
			c = unescape_char(*++r->at);
		if (!c)
			return mor_goal_complain(r, r->line, (uint32_t)(r->at - r->line_start),
						 "unknown escape in a string: use \\\" \\\\ \\n or \\t");
		mor_buf_byte(&r->scratch, c);
	}
	if (r->at == r->end)
		return mor_goal_complain(r, r->token.line, r->token.column,
					 "a string without its closing quote");
	r->at++;
	r->token.kind = TOKEN_STRING;
	r->token.text = (struct mor_slice){ r->scratch.data + start, r->scratch.len - start };
	return 0;
}

static void skip_blanks(struct reader *r)
{
	while (r->at < r->end && strchr(" \t\r", *r->at))
		r->at++;
}

/* @ [^ $] [#n] [+n | :n] word-or-string, with optional blanks between them */
static int take_at(struct reader *r)
{
	struct token *t = &r->token;
	uint64_t number;

	for (r->at++, skip_blanks(r); r->at < r->end && strchr("^$#+:", *r->at); skip_blanks(r)) {
		char mark = *r->at++;

		if (mark == '^' || mark == '$') {
			t->sign = mark;
			continue;
		}
		skip_blanks(r);
		if (!take_number(r, &number))
			return mor_goal_complain(r, t->line, t->column,
						 "a number must follow # + or : in an anchor");
		if (mark == '#') {
			t->match = number;
			t->has_match = true;
		} else {
			t->target = mark == '+' ? r->line + number : number;
			if (t->target <= r->line)
				return mor_goal_complain(r, t->line, t->column,
							 "an anchor must be on a line below its goal");
		}
	}
	if (r->at < r->end && *r->at == '"') {
		if (take_string(r) < 0)
			return MORTISE_EINPUT;
	} else if (r->at < r->end && (word_byte(*r->at, true) || digit(*r->at))) {
		take_word(r);
	} else {
		return mor_goal_complain(r, t->line, t->column,
					 "@ must be followed by a word or a \"string\" of the source");
	}
	t->kind = TOKEN_AT;
	return 0;
}

int mor_goal_token(struct reader *r)
{
	uint64_t number;

	for (;;) {
		if (r->at)
			skip_blanks(r);
		if (r->at && r->at < r->end)
			break;
		if (!next_line(r)) {
			r->token.kind = TOKEN_END;
			return 0;
		}
	}
	r->token = (struct token){ .kind = TOKEN_SIGN,
				   .line = r->line,
				   .sign = *r->at,
				   .column = (uint32_t)(r->at - r->line_start) + 1,
				   .text = { r->at, 1 } };
	if (*r->at == '@') {
		r->token.sign = 0;
		return take_at(r);
	}
	if (*r->at == '"')
		return take_string(r);
	if (word_byte(*r->at, true))
		take_word(r);
	else if (digit(*r->at))
		return take_number(r, &number) ?
			       0 :
			       mor_goal_complain(r, r->token.line, r->token.column, "this number is too large");
	else if (strchr(".,=(){}!?", *r->at))
		r->at++;
	else
		return mor_goal_complain(r, r->token.line, r->token.column,
					 "this byte has no meaning in a goal");
	return 0;
}

/* ---- anchors: text -> offsets ---- */

/* Bounds of line `number` (from 1); false: the file is shorter. */
static bool find_line(const struct reader *r, uint64_t number, struct mor_slice *ret)
{
	const char *line = r->text.ptr, *end = r->text.ptr + r->text.len;

	for (uint64_t n = 1; line < end; n++) {
		const char *stop = line_end(line, end);

		if (n == number) {
			*ret = (struct mor_slice){ line, (size_t)(stop - line) };
			return true;
		}
		line = stop < end ? stop + 1 : end;
	}
	return false;
}

/* The next line after the goal's line that has no goals. */
static bool find_next_line(const struct reader *r, struct mor_slice *ret)
{
	const char *line = r->rest, *end = r->text.ptr + r->text.len;

	while (line < end) {
		const char *stop = line_end(line, end);

		if (!mor_goal_line(r->v, line, stop).ptr) {
			*ret = (struct mor_slice){ line, (size_t)(stop - line) };
			return true;
		}
		line = stop < end ? stop + 1 : end;
	}
	return false;
}

static const char *find_text(const char *from, const char *end, struct mor_slice text)
{
	return from < end ? memmem(from, (size_t)(end - from), text.ptr, text.len) : NULL;
}

int mor_goal_find(struct reader *r, const struct token *t, const char **ret)
{
	struct mor_slice line;
	const char *found, *end, *more;
	char excerpt[64], text[200];

	mor_excerpt(t->text, excerpt, sizeof(excerpt));
	if (!(t->target ? find_line(r, t->target, &line) : find_next_line(r, &line)) || t->text.len == 0)
		return mor_goal_complain(r, t->line, t->column, "there is no line for this anchor");
	end = line.ptr + line.len;
	if (mor_goal_line(r->v, line.ptr, end).ptr)
		return mor_goal_complain(r, t->line, t->column,
					 "the line that this anchor looks at holds goals, not code");
	found = find_text(line.ptr, end, t->text);
	for (uint64_t n = t->match; n > 0 && found; n--)
		found = find_text(found + 1, end, t->text);
	if (!found) {
		snprintf(text, sizeof(text), "\"%s\" is not on the line that this anchor looks at", excerpt);
		return mor_goal_complain(r, t->line, t->column, text);
	}
	more = t->has_match ? NULL : find_text(found + 1, end, t->text);
	if (more) {
		snprintf(text, sizeof(text), "\"%s\" is more than once on its line: say which, as in @#0\"%s\"",
			 excerpt, excerpt);
		return mor_goal_complain(r, t->line, t->column, text);
	}
	*ret = found;
	return 0;
}
