/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What libclang does not tell, from the text itself: where the keywords of built-in types stand, and which
 * macros a directive asks about. A small scanner that knows comments, literals and directives; text that the
 * compiler skipped is skipped here, too.
 */
#include "index.h"

#include <stdio.h>
#include <string.h>

struct scanner {
	struct index *ix;
	struct file *file;
	const char *text;
	size_t at, end;
	CXSourceRangeList *skipped;
	unsigned next_skip;
	bool line_start; /* only blanks since the newline */
};

bool word_byte(char c)
{
	return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (unsigned char)c >= 0x80;
}

static bool blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool starts_with(const struct scanner *s, const char *text)
{
	size_t len = strlen(text);

	return s->end - s->at >= len && memcmp(s->text + s->at, text, len) == 0;
}

static void skip_to(struct scanner *s, const char *mark)
{
	size_t len = strlen(mark);
	const char *found = memmem(s->text + s->at, s->end - s->at, mark, len);

	s->at = found ? (size_t)(found - s->text) + len : s->end;
}

/* One byte, or a backslash with what it escapes: of a line that ends in CR LF, both. */
static void skip_byte(struct scanner *s)
{
	if (s->end - s->at >= 3 && memcmp(s->text + s->at, "\\\r\n", 3) == 0)
		s->at += 3;
	else
		s->at += s->text[s->at] == '\\' && s->at + 1 < s->end ? 2 : 1;
}

/* A "//" comment ends with its line, unless the line is continued. */
static void skip_line(struct scanner *s)
{
	while (s->at < s->end && s->text[s->at] != '\n')
		skip_byte(s);
}

static void skip_literal(struct scanner *s)
{
	char quote = s->text[s->at++];

	while (s->at < s->end && s->text[s->at] != quote && s->text[s->at] != '\n')
		skip_byte(s);
	s->at = s->at < s->end ? s->at + 1 : s->end;
}

/* True when it stepped over something that is neither a word nor a directive. */
static bool skip_other(struct scanner *s)
{
	char c = s->text[s->at];

	if (starts_with(s, "/*")) {
		s->at += 2;
		skip_to(s, "*/");
	} else if (starts_with(s, "//")) {
		skip_line(s);
	} else if (c == '"' || c == '\'') {
		skip_literal(s);
		s->line_start = false;
	} else if (c == '\n' || (c && strchr(" \t\r\f\v", c))) {
		s->line_start = s->line_start || c == '\n';
		s->at++;
	} else {
		return false;
	}
	return true;
}

static size_t take_word(struct scanner *s)
{
	size_t start = s->at;

	while (s->at < s->end && word_byte(s->text[s->at]))
		s->at++;
	return start;
}

/* ---- built-in types ---- */

/* "long unsigned int" and "unsigned long" are one type: words are counted, then spelled in one way. */
enum word { UNSIGNED, SIGNED, SHORT, LONG, CHAR, INT, FLOAT, DOUBLE, VOID, BOOL, WORDS };
static const char *const words[WORDS] = { "unsigned", "signed", "short",  "long", "char",
					  "int",      "float",  "double", "void", "_Bool" };

static bool type_word(const char *text, size_t len, unsigned counts[WORDS])
{
	for (int i = 0; i < WORDS; i++)
		if (strlen(words[i]) == len && memcmp(words[i], text, len) == 0) {
			counts[i]++;
			return true;
		}
	return false;
}

static const char *spell(const unsigned counts[WORDS], char out[40])
{
	static const enum word alone[] = { FLOAT, VOID, BOOL };
	const char *sign = counts[UNSIGNED] ? "unsigned " : "";

	for (size_t i = 0; i < sizeof(alone) / sizeof(*alone); i++)
		if (counts[alone[i]])
			return words[alone[i]];
	if (counts[DOUBLE])
		return counts[LONG] ? "long double" : "double";
	if (counts[CHAR])
		snprintf(out, 40, "%schar", counts[SIGNED] ? "signed " : sign);
	else if (counts[SHORT])
		snprintf(out, 40, "%sshort", sign);
	else if (counts[LONG])
		snprintf(out, 40, "%slong%s", sign, counts[LONG] > 1 ? " long" : "");
	else
		snprintf(out, 40, "%sint", sign);
	return out;
}

static void scan_type(struct scanner *s, size_t start)
{
	unsigned counts[WORDS] = { 0 };
	struct range range = { s->file, (unsigned)start, (unsigned)s->at };
	const tenon_vname *type;
	char spelled[40];

	if (!type_word(s->text + start, s->at - start, counts))
		return;
	for (;;) {
		size_t next = s->at, begin;

		while (s->at < s->end && blank(s->text[s->at]))
			s->at++;
		begin = take_word(s);
		if (begin == s->at || !type_word(s->text + begin, s->at - begin, counts)) {
			s->at = next;
			break;
		}
		range.end = (unsigned)s->at;
	}
	type = builtin_node(s->ix, spell(counts, spelled));
	if (type)
		emit_edge(s->ix, anchor(s->ix, &range), "/kythe/edge/ref", type);
}

/* ---- directives ---- */

/* The definition that a directive at `offset` sees: the last one before it in this file, else one of
 * another file. */
static const struct macro_name *find_macro(struct index *ix, const struct file *file, const char *name,
					   unsigned offset)
{
	const struct macro_name *best = NULL;

	for (const struct macro_name *m = macro_names(ix, name); m; m = m->next) {
		if (m->file == file && m->offset >= offset)
			continue;
		if (!best || (m->file == file && (best->file != file || m->offset > best->offset)))
			best = m;
	}
	return best;
}

static void scan_query(struct scanner *s, const char *edge)
{
	size_t start;
	char name[256];
	const struct macro_name *macro;
	struct range range;

	while (s->at < s->end && s->text[s->at] && strchr(" \t(", s->text[s->at]))
		s->at++;
	start = take_word(s);
	if (s->at == start || s->at - start >= sizeof(name))
		return;
	memcpy(name, s->text + start, s->at - start);
	name[s->at - start] = '\0';
	macro = find_macro(s->ix, s->file, name, (unsigned)start);
	range = (struct range){ s->file, (unsigned)start, (unsigned)s->at };
	if (macro)
		emit_edge(s->ix, anchor(s->ix, &range), edge, macro_node(s->ix, macro->cursor));
}

static bool is_word(const struct scanner *s, size_t start, const char *word)
{
	return s->at - start == strlen(word) && memcmp(s->text + start, word, s->at - start) == 0;
}

/* #if and #elif: every defined(X). */
static void scan_condition(struct scanner *s)
{
	while (s->at < s->end && s->text[s->at] != '\n') {
		char c = s->text[s->at];
		size_t start;

		if (c == '\\') {
			skip_byte(s);
			continue;
		}
		if (starts_with(s, "//") || starts_with(s, "/*") || c == '"' || c == '\'') {
			skip_other(s);
			continue;
		}
		start = take_word(s);
		if (start == s->at)
			s->at++;
		else if (is_word(s, start, "defined"))
			scan_query(s, "/kythe/edge/ref/queries");
	}
}

static void scan_directive(struct scanner *s)
{
	size_t start;

	s->at++;
	while (s->at < s->end && blank(s->text[s->at]))
		s->at++;
	start = take_word(s);
	if (is_word(s, start, "ifdef") || is_word(s, start, "ifndef"))
		scan_query(s, "/kythe/edge/ref/queries");
	else if (is_word(s, start, "undef"))
		scan_query(s, "/kythe/edge/undefines");
	else if (is_word(s, start, "if") || is_word(s, start, "elif"))
		scan_condition(s);
	while (s->at < s->end &&
	       s->text[s->at] != '\n') { /* the rest of it, comments over several lines included */
		if (starts_with(s, "/*"))
			skip_other(s);
		else
			skip_byte(s);
	}
}

/* ---- the scan ---- */

/* Steps over what the compiler skipped. A skipped range begins at the "#" of its directive, which
 * was looked at. */
static void skip_inactive(struct scanner *s)
{
	while (s->skipped && s->next_skip < s->skipped->count) {
		CXSourceRange range = s->skipped->ranges[s->next_skip];
		unsigned start = 0, end = 0;

		clang_getFileLocation(clang_getRangeStart(range), NULL, NULL, NULL, &start);
		clang_getFileLocation(clang_getRangeEnd(range), NULL, NULL, NULL, &end);
		if (s->at <= start)
			return;
		if (end > s->at && end <= s->end)
			s->at = end;
		s->next_skip++;
	}
}

void scan_file(struct index *ix, struct file *file)
{
	struct scanner s = { .ix = ix, .file = file, .text = file->text, .end = file->len, .line_start = true };

	s.skipped = clang_getSkippedRanges(ix->tu, file->handle);
	while (s.at < s.end) {
		size_t start;

		skip_inactive(&s);
		if (s.at >= s.end || skip_other(&s))
			continue;
		if (s.line_start && s.text[s.at] == '#') {
			scan_directive(&s);
			continue;
		}
		s.line_start = false;
		start = take_word(&s);
		if (start == s.at)
			s.at++;
		else
			scan_type(&s, start);
	}
	clang_disposeSourceRangeList(s.skipped);
}
