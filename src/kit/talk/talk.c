/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads and writes .talk files. A script is kept as one copy of its text: steps are slices of it, raw bytes
 * are unescaped in place, and the two names of the first line are ended with a NUL in place of the blank
 * after them.
 */
#include "talk/talk.h"

#include <signal.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "wire/framing.h"
#include "wire/json.h"

/* The marks at the beginning of a line. If two begin alike, the longer one comes first. */
static const struct mark {
	const char *text;
	enum mor_talk_step_kind kind;
} marks[] = {
	{ ">b", MOR_TALK_SEND_RAW }, { "<b", MOR_TALK_RECEIVE_RAW }, { ">.", MOR_TALK_SEND_END },
	{ ">s", MOR_TALK_SIGNAL },   { "<.", MOR_TALK_RECEIVE_END }, { ">", MOR_TALK_SEND },
	{ "<", MOR_TALK_RECEIVE },   { "2", MOR_TALK_STDERR },       { "~", MOR_TALK_WAIT },
	{ "!", MOR_TALK_EVENT },     { "*", MOR_TALK_ACT },          { "=", MOR_TALK_EXIT },
};

#define MARKS (sizeof(marks) / sizeof(marks[0]))

#define BLANKS " \t\r"

/* The next word of *text, which moves past it. */
static struct mor_slice take_word(struct mor_slice *text)
{
	struct mor_slice word = mor_slice_trim(*text, BLANKS);
	size_t n = 0;

	while (n < word.len && !mor_char_is_blank(word.ptr[n]))
		n++;
	*text = (struct mor_slice){ word.ptr + n, word.len - n };
	return (struct mor_slice){ word.ptr, n };
}

/* ---- Raw bytes ---- */

/* One C escape, p after the backslash. Returns the number of characters used, 0 if it is not an escape. */
static size_t take_escape(const char *p, size_t len, char *ret)
{
	static const char shorts[] = "n\nr\rt\ta\ab\bf\fv\v\\\\\"\"''";
	int high = len >= 3 && p[0] == 'x' ? mor_hex_value(p[1]) : -1;
	int low = high >= 0 ? mor_hex_value(p[2]) : -1;
	int value = 0;
	size_t n = 0;

	if (high >= 0 && low >= 0) {
		*ret = (char)(high << 4 | low);
		return 3;
	}
	for (; n < 3 && n < len && p[n] >= '0' && p[n] <= '7'; n++)
		value = value << 3 | (p[n] - '0');
	if (n && value <= 0xff) {
		*ret = (char)value;
		return n;
	}
	for (const char *s = shorts; len && *s; s += 2)
		if (*s == *p) {
			*ret = s[1];
			return 1;
		}
	return 0;
}

/* In place: the bytes are never longer than their text. */
static bool unescape_text(struct mor_slice *text, char *memory)
{
	size_t from = 0, to = 0;

	while (from < text->len) {
		size_t used;

		if (memory[from] != '\\') {
			memory[to++] = memory[from++];
			continue;
		}
		used = take_escape(memory + from + 1, text->len - from - 1, &memory[to]);
		if (used == 0)
			return false;
		from += 1 + used;
		to++;
	}
	*text = (struct mor_slice){ memory, to };
	return true;
}

static void write_raw(struct mor_buf *out, struct mor_slice bytes)
{
	for (size_t i = 0; i < bytes.len; i++) {
		unsigned char c = (unsigned char)bytes.ptr[i];
		/* A blank at the end of a line could be lost in an editor. */
		bool last_blank = c == ' ' && i + 1 == bytes.len;

		if (c == '\n')
			mor_buf_text(out, "\\n");
		else if (c == '\\')
			mor_buf_text(out, "\\\\");
		else if (c < ' ' || c > '~' || last_blank)
			mor_buf_printf(out, "\\x%02x", c);
		else
			mor_buf_byte(out, (char)c);
	}
}

/* ---- Reading ---- */

struct talk_parser {
	struct mor_talk talk;
	size_t room; /* steps allocated */
	unsigned line;
	mortise_error *err;
};

static int bad_line(struct talk_parser *parser, const char *what)
{
	return mor_fail(parser->err, MORTISE_EMANIFEST, "line %u: %s", parser->line, what);
}

/* A word in the talk's own memory as a text. A blank or the line's end follows it, and can be overwritten. */
static char *seal(struct mor_slice word)
{
	char *text = (char *)(uintptr_t)word.ptr;

	text[word.len] = '\0';
	return text;
}

static int parse_head(struct talk_parser *parser, struct mor_slice line)
{
	struct mor_slice dialect, option, framing = { NULL, 0 };

	if (!mor_slice_is(take_word(&line), "talk"))
		return bad_line(parser, "the first line must be \"talk 1 DIALECT\"");
	if (!mor_slice_is(take_word(&line), "1"))
		return bad_line(parser, "only version 1 of the format is known");
	dialect = take_word(&line);
	if (dialect.len == 0)
		return bad_line(parser, "the dialect is missing");
	while ((option = take_word(&line)).len) {
		if (option.len <= 8 || memcmp(option.ptr, "framing=", 8) != 0)
			return bad_line(parser, "unknown option; known: framing=lines|decimal|be32|headers");
		framing = (struct mor_slice){ option.ptr + 8, option.len - 8 };
	}
	parser->talk.dialect = seal(dialect);
	if (framing.ptr)
		parser->talk.framing = seal(framing);
	if (framing.ptr && mor_framing_by_name(parser->talk.framing) < 0)
		return bad_line(parser, "unknown framing; known: lines, decimal, be32, headers");
	return 0;
}

static int signal_by_name(struct mor_slice name)
{
	uint32_t number;

	if (name.len > 3 && memcmp(name.ptr, "SIG", 3) == 0)
		name = (struct mor_slice){ name.ptr + 3, name.len - 3 };
	if (mor_parse_u32(name, &number))
		return number > 0 && number < NSIG ? (int)number : -1;
	for (int i = 1; i < NSIG; i++) {
		const char *abbreviation = sigabbrev_np(i);

		if (abbreviation && mor_slice_is(name, abbreviation))
			return i;
	}
	return -1;
}

static int parse_exit(struct talk_parser *parser, struct mor_talk_step *step)
{
	struct mor_slice rest = step->text, how = take_word(&rest), what = take_word(&rest);
	uint32_t code;

	step->exit_code = step->signal = -1;
	if (mor_slice_is(how, "exit") && mor_parse_u32(what, &code) && code <= 255)
		step->exit_code = (int)code;
	else if (mor_slice_is(how, "signal"))
		step->signal = signal_by_name(what);
	if ((step->exit_code < 0 && step->signal < 0) || mor_slice_trim(rest, BLANKS).len)
		return bad_line(parser, "expected \"exit CODE\" or \"signal NAME\"");
	return 0;
}

static int parse_json(struct talk_parser *parser, struct mor_talk_step *step)
{
	mortise_error why = { 0 };
	int r = mor_talk_check(step->text, &why);

	return r < 0 ? mor_fail(parser->err, r == MORTISE_EPROTO ? MORTISE_EMANIFEST : r, "line %u: %s",
				parser->line, why.text) :
		       0;
}

/* What follows each mark. */
static int parse_rest(struct talk_parser *parser, struct mor_talk_step *step)
{
	switch (step->kind) {
	case MOR_TALK_SEND:
	case MOR_TALK_RECEIVE:
		step->text = mor_slice_trim(step->text, BLANKS);
		return parse_json(parser, step);
	case MOR_TALK_SEND_RAW:
	case MOR_TALK_RECEIVE_RAW:
		if (!unescape_text(&step->text, (char *)(uintptr_t)step->text.ptr))
			return bad_line(parser, "bad escape");
		return 0;
	case MOR_TALK_WAIT:
		step->text = mor_slice_trim(step->text, BLANKS);
		if (!mor_parse_duration_ms(step->text, &step->ms))
			return bad_line(parser, "expected a duration such as 500ms or 30s");
		return 0;
	case MOR_TALK_EVENT:
	case MOR_TALK_ACT:
		step->text = mor_slice_trim(step->text, BLANKS);
		return step->text.len ? 0 : bad_line(parser, "nothing behind the mark");
	case MOR_TALK_SEND_END:
	case MOR_TALK_RECEIVE_END:
		return mor_slice_trim(step->text, BLANKS).len ? bad_line(parser, "something behind the mark") :
								0;
	case MOR_TALK_EXIT:
		return parse_exit(parser, step);
	case MOR_TALK_SIGNAL:
		step->text = mor_slice_trim(step->text, BLANKS);
		step->signal = signal_by_name(step->text);
		return step->signal > 0 ? 0 : bad_line(parser, "expected the name of a signal, such as TERM");
	case MOR_TALK_STDERR:
		break;
	}
	return 0;
}

static struct mor_talk_step *new_step(struct talk_parser *parser)
{
	struct mor_talk *talk = &parser->talk;

	if (mor_grow(&talk->steps, talk->count, &parser->room, sizeof(*talk->steps)) < 0)
		return NULL;
	return &talk->steps[talk->count++];
}

static int parse_step(struct talk_parser *parser, struct mor_slice line, struct mor_talk_step *step)
{
	size_t i, n = 0;

	for (i = 0; i < MARKS; i++) {
		n = strlen(marks[i].text);
		if (line.len >= n && memcmp(line.ptr, marks[i].text, n) == 0 &&
		    (line.len == n || mor_char_is_blank(line.ptr[n])))
			break;
	}
	if (i == MARKS)
		return bad_line(parser, "a line begins with one of > < >b <b >. <. >s 2 ~ ! * = # and a blank");
	/* Exactly one blank belongs to the mark: further ones are raw bytes or part of the stderr line. */
	n += line.len > n;
	*step = (struct mor_talk_step){ .kind = marks[i].kind,
					.line = parser->line,
					.text = { line.ptr + n, line.len - n },
					.exit_code = -1,
					.signal = -1 };
	return parse_rest(parser, step);
}

static bool is_step(struct mor_slice line)
{
	return mor_slice_trim(line, BLANKS).len && line.ptr[0] != '#';
}

static int parse_line(struct talk_parser *parser, struct mor_slice line)
{
	struct mor_talk_step *step;

	if (line.len && line.ptr[line.len - 1] == '\r')
		line.len--;
	if (parser->line == 1)
		return parse_head(parser, line);
	if (!is_step(line))
		return 0;
	step = new_step(parser);
	return step ? parse_step(parser, line, step) : mor_fail_memory(parser->err);
}

int mor_talk_parse_line(char *line, size_t len, unsigned number, struct mor_talk_step *ret, mortise_error *err)
{
	struct talk_parser parser = { .line = number, .err = err };
	struct mor_slice text = { line, len && line[len - 1] == '\r' ? len - 1 : len };
	int r = is_step(text) ? parse_step(&parser, text, ret) : 0;

	return r < 0 ? r : is_step(text);
}

int mor_talk_parse(struct mor_slice text, struct mor_talk *ret, mortise_error *err)
{
	struct talk_parser parser = { .err = err };
	struct mor_slice rest = { mor_strndup(text.ptr, text.len), text.len };
	int r = 0;

	if (!rest.ptr)
		return mor_fail_memory(err);
	parser.talk.memory = (char *)(uintptr_t)rest.ptr;
	do {
		parser.line++;
		r = parse_line(&parser, mor_slice_cut(&rest, '\n'));
	} while (r == 0 && rest.len);
	if (r == 0)
		*ret = parser.talk;
	else
		mor_talk_fini(&parser.talk);
	return r;
}

void mor_talk_fini(struct mor_talk *talk)
{
	mor_free(talk->steps);
	mor_free(talk->memory);
	*talk = (struct mor_talk){ .count = 0 };
}

/* ---- The greeting ---- */

/* clang-format off */
#define AN_ACT(words) { .kind = MOR_TALK_ACT, .text = MOR_SLICE(words), .exit_code = -1, .signal = -1 }
/* clang-format on */

static const struct mor_talk_step start_step = AN_ACT("start"), ready_step = AN_ACT("state ready");

static bool is_act(const struct mor_talk_step *step, const char *name)
{
	return step->kind == MOR_TALK_ACT && mor_slice_is(step->text, name);
}

unsigned mor_talk_greeted_at(const struct mor_talk *talk)
{
	for (size_t i = 0; i < talk->count; i++)
		if (is_act(&talk->steps[i], "greets") || is_act(&talk->steps[i], "greeted"))
			return talk->steps[i].line;
	return 0;
}

static int check_greeting(const struct mor_talk *talk, const struct mor_talk *greeting, mortise_error *err)
{
	unsigned at = mor_talk_greeted_at(greeting);

	if (strcmp(talk->dialect, greeting->dialect) != 0)
		return mor_fail(err, MORTISE_EMANIFEST,
				"line %u: the greeting is one of %s, and this script is in %s",
				mor_talk_greeted_at(talk), greeting->dialect, talk->dialect);
	return at ? mor_fail(err, MORTISE_EMANIFEST, "the greeting greets in line %u: it must be spelled out",
			     at) :
		    0;
}

static int copy_steps(struct talk_parser *into, const struct mor_talk_step *steps, size_t count, unsigned line)
{
	for (size_t i = 0; i < count; i++) {
		struct mor_talk_step *step = new_step(into);

		if (!step)
			return mor_fail(into->err, MORTISE_ENOMEM, "out of memory for a talk");
		*step = steps[i];
		step->line = line;
	}
	return 0;
}

static int copy_or_greet(struct talk_parser *into, const struct mor_talk_step *step,
			 const struct mor_talk *greeting)
{
	bool whole = is_act(step, "greeted");
	int r = 0;

	if (!whole && !is_act(step, "greets"))
		return copy_steps(into, step, 1, step->line);
	if (whole)
		r = copy_steps(into, &start_step, 1, step->line);
	if (r == 0)
		r = copy_steps(into, greeting->steps, greeting->count, step->line);
	return r == 0 && whole ? copy_steps(into, &ready_step, 1, step->line) : r;
}

int mor_talk_greet(struct mor_talk *talk, const struct mor_talk *greeting, mortise_error *err)
{
	struct talk_parser whole = { .err = err };
	int r = check_greeting(talk, greeting, err);

	for (size_t i = 0; r == 0 && i < talk->count; i++)
		r = copy_or_greet(&whole, &talk->steps[i], greeting);
	if (r < 0) {
		mor_free(whole.talk.steps);
		return r;
	}
	mor_free(talk->steps);
	talk->steps = whole.talk.steps;
	talk->count = whole.talk.count;
	return 0;
}

int mor_talk_write(struct mor_buf *out, enum mor_talk_step_kind kind, struct mor_slice text)
{
	const char *mark = "#";

	for (size_t i = 0; i < MARKS; i++)
		if (marks[i].kind == kind)
			mark = marks[i].text;
	mor_buf_text(out, mark);
	if (kind != MOR_TALK_SEND_END && kind != MOR_TALK_RECEIVE_END) {
		mor_buf_byte(out, ' ');
		if (kind == MOR_TALK_SEND_RAW || kind == MOR_TALK_RECEIVE_RAW)
			write_raw(out, text);
		else
			mor_json_one_line(text, out);
	}
	return mor_buf_byte(out, '\n');
}
