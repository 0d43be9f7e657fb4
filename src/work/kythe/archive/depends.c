/* SPDX-License-Identifier: Apache-2.0 */
#include "kythe/archive/depends.h"

#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/text.h"

#define TARGET "mortise" /* target of the rule: always this text, whatever the command would make */

int mor_strings_add(struct mor_strings *strings, struct mor_slice text)
{
	char *copy;

	if (mor_grow(&strings->item, strings->count + 1, &strings->room, sizeof(*strings->item)) < 0)
		return MORTISE_ENOMEM;
	copy = mor_strndup(text.ptr, text.len);
	if (!copy)
		return MORTISE_ENOMEM;
	strings->item[strings->count++] = copy;
	strings->item[strings->count] = NULL;
	return 0;
}

void mor_strings_fini(struct mor_strings *strings)
{
	for (size_t i = 0; i < strings->count; i++)
		mor_free(strings->item[i]);
	mor_free(strings->item);
	*strings = (struct mor_strings){ 0 };
}

/* ---- command lines ---- */

struct splitter {
	const char *p, *end;
	struct mor_buf word;
	bool inside; /* a word has begun; it may still be empty: '' is a word */
};

/* Up to the closing quote. Inside double quotes a backslash is special only before a few characters. */
static bool take_quoted(struct splitter *s, char quote)
{
	for (; s->p < s->end; s->p++) {
		if (*s->p == quote) {
			s->p++;
			return true;
		}
		if (quote == '"' && *s->p == '\\' && s->p + 1 < s->end && strchr("\"\\$`", s->p[1]) && s->p[1])
			s->p++;
		mor_buf_byte(&s->word, *s->p);
	}
	return false;
}

static bool take_piece(struct splitter *s)
{
	char c = *s->p++;

	s->inside = true;
	if (c == '\'' || c == '"')
		return take_quoted(s, c);
	if (c == '\\' && s->p < s->end)
		c = *s->p++;
	mor_buf_byte(&s->word, c);
	return true;
}

static int end_word(struct splitter *s, struct mor_strings *ret)
{
	int r = 0;

	if (s->inside)
		r = mor_buf_failed(&s->word) ?
			    s->word.status :
			    mor_strings_add(ret, (struct mor_slice){ s->word.data, s->word.len });
	mor_buf_reset(&s->word, SIZE_MAX);
	s->inside = false;
	return r;
}

int mor_shell_split(struct mor_slice command, struct mor_strings *ret, mortise_error *err)
{
	struct splitter s = { .p = command.ptr, .end = command.ptr + command.len };
	bool closed = true;
	int r = 0;

	while (r == 0 && closed && s.p < s.end) {
		if (strchr(" \t\r\n", *s.p) && *s.p) {
			s.p++;
			r = end_word(&s, ret);
		} else {
			closed = take_piece(&s);
		}
	}
	r = r ? r : end_word(&s, ret);
	mor_buf_fini(&s.word);
	if (r < 0)
		return mor_fail_memory(err);
	return closed ? 0 : mor_fail(err, MORTISE_EINPUT, "the command has a quote that is not closed");
}

size_t mor_launcher_words(const char *const *arguments, size_t count)
{
	size_t words = 0;

	while (words + 1 < count &&
	       mor_text_in(mor_slice_of(mor_base_name(arguments[words])), "ccache|sccache|distcc|icecc") &&
	       arguments[words + 1][0] != '-')
		words++;
	return words;
}

/* Options that decide what is written and where. Their argument is attached or is the next word. */
static bool is_output_flag(const char *word)
{
	return mor_text_in(mor_slice_of(word), "-c|-S|-E|-M|-MM|-MD|-MMD|-MG|-MP|-MV|-save-temps") ||
	       strncmp(word, "-Wp,-M", 6) == 0 || strncmp(word, "-save-temps=", 12) == 0;
}

static bool takes_output(const char *word, bool *ret_attached)
{
	static const char *const flags[] = { "-o", "-MF", "-MT", "-MQ", "-MJ" };

	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
		size_t len = strlen(flags[i]);

		if (strncmp(word, flags[i], len) != 0)
			continue;
		*ret_attached = word[len] != '\0';
		return true;
	}
	return false;
}

const char *mor_compile_output(const char *const *arguments, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		if (strcmp(arguments[i], "-o") == 0 && i + 1 < count)
			return arguments[i + 1];
		if (strncmp(arguments[i], "-o", 2) == 0 && arguments[i][2])
			return arguments[i] + 2;
	}
	return "";
}

int mor_depends_command(const char *const *arguments, size_t count, struct mor_strings *ret)
{
	/* -w: a warning that counts as an error must not stop us from learning what is read. */
	static const char *const ask[] = { "-w", "-M", "-MT", TARGET };
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++) {
		bool attached = false;

		if (i > 0 && is_output_flag(arguments[i]))
			continue;
		if (i > 0 && takes_output(arguments[i], &attached))
			i += !attached;
		else
			r = mor_strings_add(ret, mor_slice_of(arguments[i]));
	}
	for (size_t i = 0; r == 0 && i < sizeof(ask) / sizeof(*ask); i++)
		r = mor_strings_add(ret, mor_slice_of(ask[i]));
	return r;
}

/* ---- make rules ---- */

/* A run of backslashes at p. Before a blank, pairs stand for one backslash, and an odd one makes the blank
 * part of the name. Elsewhere they stand for themselves. Returns where to go on; *ret_over: the name ends
 * here. */
static const char *take_backslashes(const char *p, const char *end, struct mor_buf *name, bool *ret_over)
{
	const char *after = p;
	size_t count;

	while (after < end && *after == '\\')
		after++;
	count = (size_t)(after - p);
	if (after < end && *after == '\n') {
		for (size_t i = 1; i < count; i++)
			mor_buf_byte(name, '\\');
		*ret_over = true;
		return after + 1;
	}
	if (after < end && *after == '#') {
		for (size_t i = 1; i < count; i++)
			mor_buf_byte(name, '\\');
		mor_buf_byte(name, '#');
		return after + 1;
	}
	if (after == end || (*after != ' ' && *after != '\t')) {
		mor_buf_append(name, p, count);
		return after;
	}
	for (size_t i = 0; i < count / 2; i++)
		mor_buf_byte(name, '\\');
	*ret_over = count % 2 == 0;
	if (count % 2)
		mor_buf_byte(name, *after);
	return after + 1;
}

/* One name; empty if there are no more. */
static const char *take_name(const char *p, const char *end, struct mor_buf *name)
{
	bool over = false;

	while (p < end && !over) {
		if (mor_char_is_blank(*p)) {
			over = name->len > 0;
			p++;
		} else if (*p == '\\') {
			p = take_backslashes(p, end, name, &over);
			over = over && name->len > 0;
		} else {
			if (*p == '$' && p + 1 < end && p[1] == '$')
				p++;
			mor_buf_byte(name, *p++);
		}
	}
	return p;
}

int mor_depends_parse(struct mor_slice rule, struct mor_strings *ret, mortise_error *err)
{
	static const char head[] = TARGET ":";
	const char *p = rule.ptr, *end = rule.ptr + rule.len;
	MOR_CLEAN(mor_buf) struct mor_buf name = MOR_BUF_INIT;
	int r = 0;

	if (rule.len < sizeof(head) - 1 || memcmp(p, head, sizeof(head) - 1) != 0)
		return mor_fail(err, MORTISE_EINPUT, "the compiler did not answer -M with a make rule");
	p += sizeof(head) - 1;
	while (r == 0 && p < end) {
		mor_buf_reset(&name, SIZE_MAX);
		p = take_name(p, end, &name);
		if (name.len && memchr(name.data, '\0', name.len))
			return mor_fail(err, MORTISE_EINPUT, "a file name of the compiler's holds a NUL byte");
		if (name.len)
			r = mor_strings_add(ret, mor_buf_view(&name));
	}
	if (r < 0 || mor_buf_failed(&name))
		return mor_fail_memory(err);
	return ret->count ? 0 : mor_fail(err, MORTISE_EINPUT, "the compiler names no file that it reads");
}

const char *mor_language_of(const char *path)
{
	static const struct {
		const char *extensions, *language;
	} rows[] = {
		{ "c|h|i|cc|cpp|cxx|c++|C|hh|hpp|hxx|ii|inc|S|m|mm", "c++" },
		{ "go", "go" },
		{ "java", "java" },
		{ "kt|kts", "kotlin" },
		{ "py", "python" },
		{ "rs", "rust" },
		{ "ts|tsx", "typescript" },
		{ "proto", "protobuf" },
	};
	const char *dot = strrchr(mor_base_name(path), '.');

	for (size_t i = 0; dot && i < sizeof(rows) / sizeof(*rows); i++)
		if (mor_text_in(mor_slice_of(dot + 1), rows[i].extensions))
			return rows[i].language;
	return NULL;
}
