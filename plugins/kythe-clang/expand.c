/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Expansions behind an expansion: MB, where the text has MA, and MA is defined as MB. libclang records only
 * what is written, so the bodies of macros are read here. Only where a name has one definition in the whole
 * unit it is certain which is meant.
 */
#include "index.h"

#include <string.h>

struct body {
	const char *at, *end;
	const char *params, *params_end; /* "(x, y)" of a macro that takes arguments; NULL: none */
};

struct uses { /* what a macro's body expands; made once */
	CXCursor macro;
	const struct macro_name **names;
	unsigned count;
	bool visiting; /* a macro is not expanded within itself */
};

static const char *skip_word(const char *at, const char *end)
{
	while (at < end && word_byte(*at))
		at++;
	return at;
}

static const char *skip_blanks(const char *at, const char *end)
{
	while (at < end && *at && strchr(" \t\r\n\\", *at))
		at++;
	return at;
}

/* A literal or a comment; `at` itself where there is none. */
static const char *skip_quiet(const char *at, const char *end)
{
	const char *close;

	if (end - at >= 2 && at[0] == '/' && at[1] == '*') {
		close = memmem(at + 2, (size_t)(end - at - 2), "*/", 2);
		return close ? close + 2 : end;
	}
	if (end - at >= 2 && at[0] == '/' && at[1] == '/')
		return end;
	if (*at != '"' && *at != '\'')
		return at;
	for (close = at + 1; close < end && *close != *at; close++)
		if (*close == '\\')
			close++;
	return close < end ? close + 1 : end;
}

static bool find_body(struct index *ix, CXCursor macro, struct body *ret)
{
	struct range range;
	const char *close;

	*ret = (struct body){ 0 };
	if (clang_getCursorKind(macro) != CXCursor_MacroDefinition ||
	    !extent_range(ix, clang_getCursorExtent(macro), &range))
		return false;
	ret->end = range.file->text + range.end;
	ret->at = skip_word(range.file->text + range.start, ret->end);
	if (!clang_Cursor_isMacroFunctionLike(macro) || ret->at == ret->end)
		return true;
	close = memchr(ret->at, ')', (size_t)(ret->end - ret->at));
	ret->params = ret->at;
	ret->params_end = close ? close : ret->end;
	ret->at = close ? close + 1 : ret->end;
	return true;
}

static bool is_parameter(const struct body *body, const char *word, size_t len)
{
	for (const char *at = body->params; at && at < body->params_end;) {
		const char *end = skip_word(at, body->params_end);

		if ((size_t)(end - at) == len && memcmp(at, word, len) == 0)
			return true;
		at = end > at ? end : at + 1;
	}
	return false;
}

/* Between `word` and `end`: a macro that would be expanded there; NULL: none, or nobody knows which. */
static const struct macro_name *macro_at(struct index *ix, const struct body *body, const char *word,
					 const char *end, bool pasted)
{
	const char *next = skip_blanks(end, body->end);
	char name[256];
	const struct macro_name *found;
	size_t len = (size_t)(end - word);

	if (pasted || len >= sizeof(name) || is_parameter(body, word, len) ||
	    (body->end - next >= 2 && next[0] == '#' && next[1] == '#'))
		return NULL;
	memcpy(name, word, len);
	name[len] = '\0';
	found = macro_names(ix, name);
	if (!found || found->next ||
	    (clang_Cursor_isMacroFunctionLike(found->cursor) && (next == body->end || *next != '(')))
		return NULL;
	return found;
}

static void read_body(struct index *ix, struct uses *uses)
{
	const struct macro_name *found[64];
	struct body body;
	bool pasted = false;

	if (!find_body(ix, uses->macro, &body))
		return;
	while (body.at < body.end && uses->count < sizeof(found) / sizeof(*found)) {
		const char *quiet = skip_quiet(body.at, body.end), *end = skip_word(body.at, body.end);

		if (quiet > body.at) {
			body.at = quiet;
		} else if (end > body.at) {
			found[uses->count] = macro_at(ix, &body, body.at, end, pasted);
			uses->count += found[uses->count] != NULL;
			body.at = end;
			pasted = false;
		} else {
			pasted = *body.at == '#' || (pasted && strchr(" \t\r\n\\", *body.at));
			body.at++;
		}
	}
	uses->names = arena_take(&ix->arena, (uses->count + 1) * sizeof(*found));
	memcpy(uses->names, found, uses->count * sizeof(*found));
}

static bool same_macro(const void *value, const void *key)
{
	return clang_equalCursors(((const struct uses *)value)->macro, *(const CXCursor *)key);
}

static struct uses *uses_of(struct index *ix, CXCursor macro)
{
	uint64_t hash = clang_hashCursor(macro) * 0x9e3779b97f4a7c15u;
	struct uses *uses = table_find(&ix->macro_uses, hash, same_macro, &macro);

	if (!uses) {
		uses = arena_take(&ix->arena, sizeof(*uses));
		uses->macro = macro;
		table_add(&ix->macro_uses, hash, uses);
		read_body(ix, uses);
	}
	return uses;
}

void expand_further(struct index *ix, const tenon_vname *at, CXCursor macro)
{
	struct uses *uses = uses_of(ix, macro);

	if (uses->visiting)
		return;
	uses->visiting = true;
	for (unsigned i = 0; i < uses->count; i++) {
		CXCursor inner = uses->names[i]->cursor;

		if (uses_of(ix, inner)->visiting)
			continue;
		emit_edge(ix, at, "/kythe/edge/ref/expands/transitive", macro_node(ix, inner));
		expand_further(ix, at, inner);
	}
	uses->visiting = false;
}
