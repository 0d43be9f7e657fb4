/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places in a foreign manifest, and errors that begin with them. The JSON parser does not keep places, so
 * the text is read once more. That costs time only for texts that somebody will read.
 */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/error.h"
#include "base/near.h"
#include "base/text.h"
#include "manifest/internal.h"

/* ---- places in JSON ---- */

struct place_walk {
	struct mor_slice text;
	size_t at;
};

static char peek(const struct place_walk *w)
{
	return w->at < w->text.len ? w->text.ptr[w->at] : '\0';
}

static void skip_blanks(struct place_walk *w)
{
	while (w->at < w->text.len && strchr(" \t\r\n", w->text.ptr[w->at]))
		w->at++;
}

/* From the opening quote to after the closing one; returns the part between. */
static struct mor_slice skip_string(struct place_walk *w)
{
	size_t start = ++w->at;

	while (w->at < w->text.len && peek(w) != '"')
		w->at += peek(w) == '\\' ? 2 : 1;
	w->at++;
	return (struct mor_slice){ w->text.ptr + start, w->at - 1 - start };
}

static void skip_value(struct place_walk *w)
{
	unsigned depth = 0;

	do {
		char c = peek(w);

		if (c == '"') {
			skip_string(w);
			continue;
		}
		depth += c == '{' || c == '[';
		depth -= (c == '}' || c == ']') && depth;
		w->at++;
	} while (w->at < w->text.len && (depth || !strchr(",]} \t\r\n", peek(w))));
}

/* "~1" is '/' and "~0" is '~' in a pointer. A key with JSON escapes is not found; then the object around it
 * is used. */
static bool is_key(struct mor_slice key, struct mor_slice token)
{
	size_t k = 0;

	for (size_t t = 0; t < token.len; t++, k++) {
		char c = token.ptr[t];

		if (c == '~' && t + 1 < token.len)
			c = token.ptr[++t] == '1' ? '/' : '~';
		if (k >= key.len || key.ptr[k] != c)
			return false;
	}
	return k == key.len;
}

/* In an object or array at w: moves to the value of `token`; *ret is the beginning of its key (or element). */
static bool step_into(struct place_walk *w, struct mor_slice token, size_t *ret)
{
	bool object = peek(w) == '{';
	uint64_t index = 0;

	if (!object && (peek(w) != '[' || !mor_parse_u64(token, &index)))
		return false;
	for (uint64_t i = 0;; i++) {
		size_t start;
		bool found = !object && i == index;

		w->at++; /* the bracket or comma */
		skip_blanks(w);
		start = w->at;
		if (w->at >= w->text.len || strchr("]}", peek(w)))
			return false;
		if (object) {
			found = is_key(skip_string(w), token);
			skip_blanks(w);
			w->at++; /* the colon */
			skip_blanks(w);
		}
		if (found) {
			*ret = start;
			return true;
		}
		skip_value(w);
		skip_blanks(w);
		if (peek(w) != ',')
			return false;
	}
}

static void place_in_json(struct mor_slice text, const char *pointer, size_t *line, size_t *column)
{
	struct place_walk w = { text, 0 };
	size_t at;

	skip_blanks(&w);
	at = w.at;
	while (*pointer == '/') {
		size_t len = strcspn(++pointer, "/");

		if (!step_into(&w, (struct mor_slice){ pointer, len }, &at))
			break;
		pointer += len;
	}
	*line = *column = 1;
	for (size_t i = 0; i < at && i < text.len; i++) {
		(*column)++;
		if (text.ptr[i] == '\n') {
			(*line)++;
			*column = 1;
		}
	}
}

/* ---- places in TOML ---- */

/* "/plugin/name" -> "plugin.name", the name that people see in a TOML file. */
static void dotted(const char *pointer, char *out, size_t size)
{
	snprintf(out, size, "%s", *pointer == '/' ? pointer + 1 : pointer);
	for (char *c = out; *c; c++)
		if (*c == '/')
			*c = '.';
}

static void place_in_toml(const struct mor_doc *lines, const char *pointer, size_t *line, size_t *column)
{
	const struct mor_value *place = NULL;
	char name[200], *dot;

	dotted(pointer, name, sizeof(name));
	while (!(place = mor_json_get(mor_doc_root(lines), name)) && (dot = strrchr(name, '.')))
		*dot = '\0';
	*line = (size_t)mor_json_int(mor_json_at(place, "/0"), 1);
	*column = (size_t)mor_json_int(mor_json_at(place, "/1"), 1);
}

/* ---- texts ---- */

static void place(const struct mor_source *source, const char *pointer, size_t *line, size_t *column)
{
	if (source->lines)
		place_in_toml(source->lines, pointer, line, column);
	else
		place_in_json((struct mor_slice){ source->text, source->len }, pointer, line, column);
}

const char *mor_where(const struct mor_source *source, const char *pointer, char out[MOR_WHERE])
{
	size_t line, column;

	place(source, pointer, &line, &column);
	snprintf(out, MOR_WHERE, "%.300s:%zu:%zu", source->shown, line, column);
	return out;
}

const char *mor_where_line(const struct mor_source *source, const char *pointer, char out[MOR_WHERE])
{
	size_t line, column;

	place(source, pointer, &line, &column);
	snprintf(out, MOR_WHERE, "%.300s:%zu", source->shown, line);
	return out;
}

/* "FILE:LINE:COLUMN: KEY " and the rest; the root has no key. */
__attribute__((format(printf, 3, 0))) static void complain(const struct mor_source *source, const char *pointer,
							   const char *format, va_list args,
							   struct mor_buf *out)
{
	char where[MOR_WHERE], key[200];

	if (source->lines)
		dotted(pointer, key, sizeof(key));
	else
		snprintf(key, sizeof(key), "%s", pointer);
	mor_buf_printf(out, "%s: %s%s", mor_where(source, pointer, where), key, *key ? " " : "");
	mor_buf_vprintf(out, format, args);
	mor_buf_byte(out, '\0');
}

int mor_where_status(struct mor_load *load, int code, const char *pointer, const char *format, ...)
{
	struct mor_buf text = MOR_BUF_INIT;
	va_list args;
	int r;

	va_start(args, format);
	complain(&load->source, pointer, format, args, &text);
	va_end(args);
	r = text.status ? text.status : code;
	mor_fail(load->err, r, "%s", text.status ? mortise_status_text(r) : text.data);
	mor_buf_fini(&text);
	return r;
}

int mor_where_warn(struct mor_load *load, const char *pointer, const char *format, ...)
{
	struct mor_buf text = MOR_BUF_INIT;
	va_list args;
	int r;

	va_start(args, format);
	complain(&load->source, pointer, format, args, &text);
	va_end(args);
	r = text.status ? text.status : mor_manifest_warn(load->m, "%s", text.data);
	mor_buf_fini(&text);
	return r < 0 ? mor_source_no_memory(load) : 0;
}

/* ---- shape ---- */

bool mor_manifest_holds_texts(const struct mor_value *value)
{
	struct mor_json_iter it = mor_json_iter(value);

	while (mor_json_next(&it))
		if (mor_json_type(it.value) != MOR_JSON_STRING)
			return false;
	return true;
}

/* A member of an optional object is not required if the object is absent. */
static bool is_due(const struct mor_value *root, const struct mor_expected *e)
{
	const char *slash = strrchr(e->at, '/');
	char parent[100];

	snprintf(parent, sizeof(parent), "%.*s", (int)(slash - e->at), e->at);
	return e->required && mor_json_type(mor_json_at(root, parent)) == MOR_JSON_OBJECT;
}

static int expect_one(struct mor_load *load, const struct mor_value *root, const struct mor_expected *e)
{
	const struct mor_value *value = mor_json_at(root, e->at);
	enum mor_json_type type = mor_json_type(value);

	if (type == MOR_JSON_MISSING)
		return is_due(root, e) ? mor_where_fail(load, e->at, "is missing: it must be %s", e->wanted) :
					 0;
	if (!(e->types & 1u << type))
		return mor_where_fail(load, e->at, "is of type %s: it must be %s", mor_json_type_name(type),
				      e->wanted);
	if (e->texts && !mor_manifest_holds_texts(value))
		return mor_where_fail(load, e->at, "holds something that is not a string: it must be %s",
				      e->wanted);
	return 0;
}

int mor_expect(struct mor_load *load, const struct mor_expected *expected)
{
	const struct mor_value *root = mor_doc_root(load->m->doc);
	int r = 0;

	if (mor_json_type(root) != MOR_JSON_OBJECT)
		return mor_where_fail(load, "", "must hold an object, not %s",
				      mor_json_type_name(mor_json_type(root)));
	for (; r == 0 && expected->at; expected++)
		r = expect_one(load, root, expected);
	return r;
}

/* The word of "a|b|c" nearest to `key`, copied into out; "" if none is near. */
static const char *nearest_of(const char *known, const char *key, char out[64])
{
	char words[32][64];
	struct mor_nearest near = { .word = key };

	out[0] = '\0';
	for (size_t i = 0; i < 32 && *known; i++) {
		size_t len = strcspn(known, "|");

		snprintf(words[i], sizeof(words[i]), "%.*s", (int)len, known);
		mor_nearest_offer(&near, words[i]);
		known += len + (known[len] == '|');
	}
	if (mor_nearest_best(&near))
		snprintf(out, 64, "%s", mor_nearest_best(&near));
	return out;
}

static int unknown_key(struct mor_load *load, const char *pointer, const char *key, const char *known,
		       bool refuse)
{
	char at[300], quoted[80], near[64], list[300], meant[100] = "";

	snprintf(at, sizeof(at), "%s/%s", pointer, mor_excerpt(mor_slice_of(key), quoted, sizeof(quoted)));
	snprintf(list, sizeof(list), "%s", known);
	for (char *c = list; *c; c++)
		if (*c == '|')
			*c = ' ';
	if (*nearest_of(known, key, near))
		snprintf(meant, sizeof(meant), "did you mean \"%s\"?", near);
	if (refuse)
		return mor_where_fail(load, at, "is not known: %s%s", *meant ? meant : "use one of ",
				      *meant ? "" : list);
	return mor_where_warn(load, at, "is not known and has no effect%s%s", *meant ? ": " : "", meant);
}

int mor_expect_keys(struct mor_load *load, const char *pointer, const char *known, bool refuse)
{
	struct mor_json_iter it = mor_json_iter(mor_json_at(mor_doc_root(load->m->doc), pointer));
	int r = 0;

	while (r == 0 && mor_json_next(&it))
		if (it.name.ptr && !mor_text_in(it.name, known))
			r = unknown_key(load, pointer, it.name.ptr, known, refuse);
	return r;
}

int mor_source_setting(struct mor_load *load, const char *section, const char *key, const char *pointer)
{
	const struct mor_value *value = mor_json_at(mor_doc_root(load->m->doc), pointer);
	char origin[MOR_WHERE];

	if (!value || (mor_json_type(value) == MOR_JSON_STRING && mor_json_string(value).len == 0))
		return 0;
	return mor_setting_add(load, section, key, value, mor_where_line(&load->source, pointer, origin));
}

int mor_source_identity(struct mor_load *load, const char *parent)
{
	static const char *const keys[] = { "name", "version", "description" };
	char pointer[40];
	int r = 0;

	for (size_t i = 0; r == 0 && i < 3; i++) {
		snprintf(pointer, sizeof(pointer), "%s/%s", parent, keys[i]);
		r = mor_source_setting(load, "plugin", keys[i], pointer);
	}
	return r;
}

bool mor_manifest_is_plain_name(struct mor_slice name)
{
	if (name.len == 0 || !isalnum((unsigned char)name.ptr[0]))
		return false;
	for (size_t i = 1; i < name.len; i++)
		if (!isalnum((unsigned char)name.ptr[i]) && !strchr("._+-", name.ptr[i]))
			return false;
	return true;
}

int mor_expect_plain_name(struct mor_load *load, const char *pointer)
{
	struct mor_slice name = mor_json_string(mor_json_at(mor_doc_root(load->m->doc), pointer));
	char quoted[80];

	if (mor_manifest_is_plain_name(name))
		return 0;
	return mor_where_fail(load, pointer,
			      "is \"%s\": use letters, digits and \"._+-\", a letter or digit first",
			      mor_excerpt(name, quoted, sizeof(quoted)));
}
