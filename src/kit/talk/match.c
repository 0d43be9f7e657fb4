/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns of the .talk format: JSON with bare $names and `...`. */
#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "talk/inside.h"
#include "talk/talk.h"
#include "wire/envelope.h"

/* ---- Bindings ---- */

struct mor_talk_var {
	struct mor_talk_var *next;
	char *name, *json;
};

static void var_free(struct mor_talk_var *var)
{
	mor_free(var->name);
	mor_free(var->json);
	mor_free(var);
}

/* Removes the bindings made since `first` was the first. */
static void vars_cut(struct mor_talk_vars *vars, const struct mor_talk_var *first)
{
	while (vars->first != first) {
		struct mor_talk_var *var = vars->first;

		vars->first = var->next;
		var_free(var);
	}
}

void mor_talk_vars_fini(struct mor_talk_vars *vars)
{
	vars_cut(vars, NULL);
}

/* A later binding of the same name comes before the earlier one. */
struct mor_slice mor_talk_var_get(const struct mor_talk_vars *vars, struct mor_slice name)
{
	for (const struct mor_talk_var *var = vars->first; var; var = var->next)
		if (mor_slice_is(name, var->name))
			return mor_slice_of(var->json);
	return (struct mor_slice){ NULL, 0 };
}

int mor_talk_var_set(struct mor_talk_vars *vars, struct mor_slice name, struct mor_slice json)
{
	struct mor_talk_var *var = mor_zalloc(sizeof(*var));

	if (!var)
		return MORTISE_ENOMEM;
	var->name = mor_strndup(name.ptr, name.len);
	var->json = mor_strndup(json.ptr, json.len);
	if (!var->name || !var->json) {
		var_free(var);
		return MORTISE_ENOMEM;
	}
	var->next = vars->first;
	vars->first = var;
	return 0;
}

/* ---- Pieces of a pattern ---- */

enum piece { PIECE_TEXT, PIECE_NAME, PIECE_DOTS, PIECE_END };

static bool name_char(char c)
{
	return c == '_' || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || (c >= '0' && c <= '9');
}

static size_t string_end(struct mor_slice text, size_t at)
{
	for (at++; at < text.len && text.ptr[at] != '"'; at++)
		if (text.ptr[at] == '\\')
			at++;
	return at < text.len ? at + 1 : text.len;
}

static bool dots_at(struct mor_slice text, size_t at)
{
	return text.len - at >= 3 && memcmp(text.ptr + at, "...", 3) == 0;
}

/* The piece at *pos, which moves past it. Text goes on as long as it is plain JSON. */
static enum piece next_piece(struct mor_slice pattern, size_t *pos, struct mor_slice *ret)
{
	size_t start = *pos, i = start;
	enum piece kind = PIECE_TEXT;

	if (start == pattern.len)
		return PIECE_END;
	if (pattern.ptr[i] == '$') {
		kind = PIECE_NAME;
		start = ++i;
		while (i < pattern.len && name_char(pattern.ptr[i]))
			i++;
	} else if (dots_at(pattern, i)) {
		kind = PIECE_DOTS;
		i += 3;
	} else {
		while (i < pattern.len && pattern.ptr[i] != '$' && !dots_at(pattern, i))
			i = pattern.ptr[i] == '"' ? string_end(pattern, i) : i + 1;
	}
	*ret = (struct mor_slice){ pattern.ptr + start, i - start };
	*pos = i;
	return kind;
}

/* ---- A pattern as a tree ---- */

/* Names and dots become strings that begin with this character. Other strings of a pattern must not begin
 * with it. That is checked, so a marker is always clear. */
#define MARKER      "\\u0001"
#define MARKER_BYTE '\x01'

static bool has_marker(struct mor_slice text)
{
	for (size_t i = 0; i + sizeof(MARKER) <= text.len; i++)
		if (text.ptr[i] == '"' && memcmp(text.ptr + i + 1, MARKER, sizeof(MARKER) - 1) == 0)
			return true;
	return false;
}

/* The first byte at or after pos that is not a blank; NUL at the end. */
static char next_byte(struct mor_slice pattern, size_t pos)
{
	while (pos < pattern.len && mor_char_is_blank(pattern.ptr[pos]))
		pos++;
	return pos < pattern.len ? pattern.ptr[pos] : '\0';
}

/* Are the dots after `before` in the place of a member? Then they need a value to be JSON. */
static bool member_place(struct mor_slice before, char next)
{
	size_t i = before.len;

	while (i > 0 && mor_char_is_blank(before.ptr[i - 1]))
		i--;
	return i > 0 && before.ptr[i - 1] != ':' && next == '}';
}

static int to_json(struct mor_slice pattern, struct mor_buf *out, mortise_error *err)
{
	struct mor_slice piece;
	enum piece kind;
	size_t pos = 0;

	while ((kind = next_piece(pattern, &pos, &piece)) != PIECE_END) {
		if (kind == PIECE_TEXT) {
			if (has_marker(piece))
				return mor_fail(err, MORTISE_EPROTO,
						"a string may not begin with \\u0001 here");
			mor_buf_slice(out, piece);
		} else if (next_byte(pattern, pos) == ':') {
			return mor_fail(err, MORTISE_EPROTO, "$names and ... stand for values, not for keys");
		} else if (kind == PIECE_NAME) {
			if (piece.len == 0)
				return mor_fail(err, MORTISE_EPROTO, "$ without a name");
			mor_buf_printf(out, "\"" MARKER "%.*s\"", (int)piece.len, piece.ptr);
		} else {
			bool member = member_place(mor_buf_view(out), next_byte(pattern, pos));

			mor_buf_text(out, member ? "\"" MARKER "...\":null" : "\"" MARKER "...\"");
		}
	}
	return out->status ? mor_fail_memory(err) : 0;
}

int mor_talk_pattern_parse(struct mor_slice pattern, struct mor_doc **ret, mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	int r = to_json(pattern, &json, err);

	return r < 0 ? r : mor_doc_parse(mor_buf_view(&json), MOR_JSON_NAN, MOR_JSON_DEPTH_MAX, ret, err);
}

int mor_talk_check(struct mor_slice pattern, mortise_error *err)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;

	return mor_talk_pattern_parse(pattern, &doc, err);
}

void mor_talk_each_name(struct mor_slice pattern, void (*fn)(void *arg, struct mor_slice name), void *arg)
{
	struct mor_slice piece;
	enum piece kind;
	size_t pos = 0;

	while ((kind = next_piece(pattern, &pos, &piece)) != PIECE_END)
		if (kind == PIECE_NAME)
			fn(arg, piece);
}

/* ---- Matching ---- */

struct match {
	struct mor_talk_vars *vars;
	const struct mor_talk_compare *how;
	struct mor_buf path; /* JSON pointer of the present place */
	unsigned differences;
	mortise_error *err;
};

/* The name after a marker, also "..."; {NULL, 0} for any other value. */
static struct mor_slice marker_of(struct mor_slice text)
{
	if (text.len == 0 || text.ptr[0] != MARKER_BYTE)
		return (struct mor_slice){ NULL, 0 };
	return (struct mor_slice){ text.ptr + 1, text.len - 1 };
}

static bool is_dots(struct mor_slice text)
{
	return mor_slice_is(marker_of(text), "...");
}

/* A value as text; of a pattern as it stands in a script: markers become names and dots again. */
static void show_pattern(const struct mor_value *value, struct mor_buf *out)
{
	static const char mark[] = "\"" MARKER;
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	struct mor_slice left;

	mor_json_write(value, false, &json);
	for (left = mor_buf_view(&json); left.len;) {
		const char *at = memmem(left.ptr, left.len, mark, sizeof(mark) - 1), *end;
		size_t before = at ? (size_t)(at - left.ptr) : left.len;

		mor_buf_append(out, left.ptr, before);
		if (!at)
			return;
		left = (struct mor_slice){ at + sizeof(mark) - 1, left.len - before - (sizeof(mark) - 1) };
		end = memchr(left.ptr, '"', left.len);
		if (!dots_at(left, 0))
			mor_buf_byte(out, '$');
		mor_buf_append(out, left.ptr, (size_t)(end - left.ptr));
		left.len -= (size_t)(end + 1 - left.ptr);
		left.ptr = end + 1;
		/* dots in the place of a member have a value only so that they are JSON */
		if (left.len >= 5 && memcmp(left.ptr, ":null", 5) == 0)
			left = (struct mor_slice){ left.ptr + 5, left.len - 5 };
	}
}

static void keep_text(struct mor_slice text, char *out, size_t size)
{
	size_t len = text.len < size ? text.len : 0;

	if (len)
		memcpy(out, text.ptr, len);
	out[len] = '\0';
}

void mor_talk_look(struct mor_slice pattern, struct mor_talk_head *ret)
{
	MOR_CLEAN(mor_buf) struct mor_buf id = MOR_BUF_INIT;
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	const struct mor_value *root;

	*ret = (struct mor_talk_head){ .id = "" };
	if (mor_talk_pattern_parse(pattern, &doc, NULL) < 0)
		return;
	root = mor_doc_root(doc);
	if (mor_json_get(root, "id"))
		show_pattern(mor_json_get(root, "id"), &id);
	keep_text(mor_buf_view(&id), ret->id, sizeof(ret->id));
	keep_text(mor_json_string(mor_json_get(root, "method")), ret->method, sizeof(ret->method));
	ret->error = mor_json_type(mor_json_get(root, "error")) > MOR_JSON_NULL;
}

static void tell_difference(struct match *match, const struct mor_value *expected,
			    const struct mor_value *actual)
{
	MOR_CLEAN(mor_buf) struct mor_buf want = MOR_BUF_INIT, have = MOR_BUF_INIT;

	if (expected)
		show_pattern(expected, &want);
	if (actual)
		mor_json_write(actual, false, &have);
	match->how->on_difference(match->how->arg, mor_buf_view(&match->path), mor_buf_view(&want),
				  mor_buf_view(&have));
}

/* With somebody who wants all differences, the comparison goes on. */
static int differ(struct match *match, const char *what, const struct mor_value *expected,
		  const struct mor_value *actual)
{
	if (mor_buf_failed(&match->path))
		return mor_fail_memory(match->err);
	if (match->how && match->how->on_difference) {
		tell_difference(match, expected, actual);
		if (match->differences++)
			return 0;
	}
	mor_fail(match->err, MORTISE_EPROTO, "%.*s: %s", match->path.len ? (int)match->path.len : 7,
		 match->path.len ? match->path.data : "message", what);
	return match->differences ? 0 : MORTISE_EPROTO;
}

/* One line, not escaped like an excerpt: it is JSON, and people compare it by eye. */
static void show_value(const struct mor_value *value, char *out, size_t size)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	size_t cut;

	if (mor_json_write(value, false, &text) < 0)
		mor_buf_reset(&text, 0);
	if (text.len < size) {
		if (text.len)
			memcpy(out, text.data, text.len);
		out[text.len] = '\0';
		return;
	}
	cut = size - 4;
	while (cut > 0 && ((unsigned char)text.data[cut] & 0xc0) == 0x80)
		cut--;
	memcpy(out, text.data, cut);
	memcpy(out + cut, "...", 4);
}

/* An expected object or array has markers in it, so only its type is shown. */
static int differ_values(struct match *match, const struct mor_value *expected, bool bound,
			 const struct mor_value *actual)
{
	char want[120], have[120], text[280];
	enum mor_json_type type = mor_json_type(expected);

	if (!bound && (type == MOR_JSON_OBJECT || type == MOR_JSON_ARRAY))
		snprintf(want, sizeof(want), "an %s", mor_json_type_name(type));
	else
		show_value(expected, want, sizeof(want));
	show_value(actual, have, sizeof(have));
	snprintf(text, sizeof(text), "expected %s, got %s", want, have);
	return differ(match, text, expected, actual);
}

static int match_name(struct match *match, struct mor_slice name, const struct mor_value *actual)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	struct mor_slice bound = mor_talk_var_get(match->vars, name);
	int r;

	if (!bound.ptr) {
		r = mor_json_write(actual, false, &json);
		if (r == 0)
			r = mor_talk_var_set(match->vars, name, mor_buf_view(&json));
		return r < 0 ? mor_fail_memory(match->err) : 0;
	}
	if ((r = mor_doc_parse(bound, MOR_JSON_NAN, MOR_JSON_DEPTH_MAX, &doc, match->err)) < 0)
		return r;
	return mor_json_equal(mor_doc_root(doc), actual) ?
		       0 :
		       differ_values(match, mor_doc_root(doc), true, actual);
}

static int match_value(struct match *match, const struct mor_value *pattern, const struct mor_value *actual);

/* One step down the path and back. `name` as in JSON pointers: ~ and / are escaped. */
static size_t path_push(struct match *match, struct mor_slice name)
{
	size_t before = match->path.len;

	mor_buf_byte(&match->path, '/');
	for (size_t i = 0; i < name.len; i++)
		if (name.ptr[i] == '~' || name.ptr[i] == '/')
			mor_buf_text(&match->path, name.ptr[i] == '~' ? "~0" : "~1");
		else
			mor_buf_byte(&match->path, name.ptr[i]);
	return before;
}

/* Name by name: "*" fits any. */
static bool pointer_fits(const char *pointer, struct mor_slice path)
{
	while (*pointer == '/' && path.len && *path.ptr == '/') {
		size_t n = strcspn(pointer + 1, "/"), m = 1;

		while (m < path.len && path.ptr[m] != '/')
			m++;
		if (!(n == 1 && pointer[1] == '*') && (n != m - 1 || memcmp(pointer + 1, path.ptr + 1, n) != 0))
			return false;
		pointer += 1 + n;
		path = (struct mor_slice){ path.ptr + m, path.len - m };
	}
	return !*pointer && !path.len;
}

static bool is_ignored(const struct match *match)
{
	const char *const *list = match->how ? match->how->ignored : NULL;

	for (; list && *list; list++)
		if (pointer_fits(*list, mor_buf_view(&match->path)))
			return true;
	return false;
}

static int match_member(struct match *match, struct mor_slice name, const struct mor_value *pattern,
			const struct mor_value *actual)
{
	size_t before = path_push(match, name);
	int r;

	if (is_ignored(match))
		r = 0;
	else if (!actual)
		r = differ(match, "missing", pattern, NULL);
	else if (!pattern)
		r = differ(match, "not expected", NULL, actual);
	else
		r = match_value(match, pattern, actual);
	match->path.len = before;
	return r;
}

static int match_object(struct match *match, const struct mor_value *pattern, const struct mor_value *actual)
{
	struct mor_json_iter it = mor_json_iter(pattern);
	bool open = false;
	int r = 0;

	while (r == 0 && mor_json_next(&it)) {
		if (is_dots(it.name))
			open = true;
		else
			r = match_member(match, it.name, it.value, mor_json_get_slice(actual, it.name));
	}
	it = mor_json_iter(actual);
	while (r == 0 && !open && mor_json_next(&it))
		if (!mor_json_get_slice(pattern, it.name))
			r = match_member(match, it.name, NULL, it.value);
	return r;
}

static int match_array(struct match *match, const struct mor_value *pattern, const struct mor_value *actual)
{
	struct mor_json_iter want = mor_json_iter(pattern), have = mor_json_iter(actual);
	size_t left = mor_json_size(pattern), index = 0;
	int r = 0;

	while (r == 0 && mor_json_next(&want)) {
		char text[24];

		/* The dots stand for any number of values only as the last element. */
		if (--left == 0 && is_dots(mor_json_string(want.value)))
			return 0;
		snprintf(text, sizeof(text), "%zu", index++);
		mor_json_next(&have);
		r = match_member(match, mor_slice_of(text), want.value, have.value);
	}
	if (r == 0 && mor_json_next(&have)) {
		char text[24];

		snprintf(text, sizeof(text), "%zu", index);
		r = match_member(match, mor_slice_of(text), NULL, have.value);
	}
	return r;
}

/* The recursion is limited by the depth limit of the pattern's parser. */
static int match_value(struct match *match, const struct mor_value *pattern, const struct mor_value *actual)
{
	enum mor_json_type type = mor_json_type(pattern);
	struct mor_slice name = marker_of(mor_json_string(pattern));

	if (name.ptr)
		return mor_slice_is(name, "...") ? 0 : match_name(match, name, actual);
	if (type == MOR_JSON_OBJECT && mor_json_type(actual) == type)
		return match_object(match, pattern, actual);
	if (type == MOR_JSON_ARRAY && mor_json_type(actual) == type)
		return match_array(match, pattern, actual);
	return mor_json_equal(pattern, actual) ? 0 : differ_values(match, pattern, false, actual);
}

int mor_talk_match(struct mor_slice pattern, struct mor_slice actual, struct mor_talk_vars *vars,
		   mortise_error *err)
{
	return mor_talk_match_with(pattern, actual, vars, NULL, err);
}

int mor_talk_match_with(struct mor_slice pattern, struct mor_slice actual, struct mor_talk_vars *vars,
			const struct mor_talk_compare *how, mortise_error *err)
{
	MOR_CLEAN(mor_doc) struct mor_doc *want = NULL, *have = NULL;
	struct match match = { .vars = vars, .how = how, .err = err };
	const struct mor_talk_var *before = vars->first;
	int r = mor_talk_pattern_parse(pattern, &want, err);

	if (r == 0)
		r = mor_doc_parse(actual, MOR_JSON_NAN, MOR_JSON_DEPTH_MAX, &have, err);
	if (r == 0)
		r = match_value(&match, mor_doc_root(want), mor_doc_root(have));
	if (r == 0 && match.differences)
		r = MORTISE_EPROTO;
	if (r < 0)
		vars_cut(vars, before);
	mor_buf_fini(&match.path);
	return r;
}

/* ---- Filling ---- */

static int fill_piece(enum piece kind, struct mor_slice piece, const struct mor_talk_vars *vars,
		      struct mor_buf *out, mortise_error *err)
{
	struct mor_slice text = piece;

	if (kind == PIECE_DOTS)
		return mor_fail(err, MORTISE_EPROTO, "\"...\" stands in a message that is to be sent");
	if (kind == PIECE_NAME) {
		text = mor_talk_var_get(vars, piece);
		if (!text.ptr)
			return mor_fail(err, MORTISE_EPROTO, "$%.*s is not bound", (int)piece.len, piece.ptr);
	}
	return mor_buf_slice(out, text) < 0 ? mor_fail(err, out->status, "out of room for a message") : 0;
}

int mor_talk_fill(struct mor_slice pattern, const struct mor_talk_vars *vars, struct mor_buf *out,
		  mortise_error *err)
{
	struct mor_slice piece;
	size_t pos = 0, before = out->len;
	enum piece kind;
	int r = 0;

	while (r == 0 && (kind = next_piece(pattern, &pos, &piece)) != PIECE_END)
		r = fill_piece(kind, piece, vars, out, err);
	if (r == 0) {
		struct mor_slice json = { out->data + before, out->len - before };
		size_t at = 0;

		if (!mor_json_valid(json, MOR_ENV_NAN, MOR_JSON_DEPTH_MAX, &at))
			r = mor_fail(err, MORTISE_EPROTO, "byte %zu: no JSON", at);
	}
	if (r < 0)
		out->len = before;
	return r;
}
