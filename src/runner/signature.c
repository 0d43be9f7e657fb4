/* SPDX-License-Identifier: Apache-2.0 */
/* What a method takes, and whether arguments fit. */
#include "runner/signature.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/near.h"
#include "base/text.h"
#include "console/console.h"

/* ---- parameters ---- */

const struct mor_value *mor_signature_properties(const struct mor_value *signature)
{
	return mor_json_at(signature, "/parameters/properties");
}

/* Is the name one of these strings? */
static bool is_among(const struct mor_value *names, struct mor_slice name)
{
	struct mor_json_iter it = mor_json_iter(names);

	while (mor_json_next(&it))
		if (mor_slice_eq(mor_json_string(it.value), name))
			return true;
	return false;
}

bool mor_signature_requires(const struct mor_value *signature, struct mor_slice name)
{
	return is_among(mor_json_at(signature, "/parameters/required"), name);
}

/* The schema of "a", of "a.b" as a name, or of the member b of the object a. */
static const struct mor_value *schema_at(const struct mor_value *properties, struct mor_slice path)
{
	const struct mor_value *schema = mor_json_get_slice(properties, path);
	const char *dot = schema || !path.len ? NULL : memchr(path.ptr, '.', path.len);
	struct mor_slice first = { path.ptr, dot ? (size_t)(dot - path.ptr) : 0 };

	if (!dot)
		return schema;
	return schema_at(mor_json_get(mor_json_get_slice(properties, first), "properties"),
			 (struct mor_slice){ dot + 1, path.len - first.len - 1 });
}

bool mor_signature_wants_text(const struct mor_value *signature, struct mor_slice parameter)
{
	const struct mor_value *schema = schema_at(mor_signature_properties(signature), parameter);

	return mor_slice_is(mor_json_string(mor_json_get(schema, "type")), "string");
}

/* Members of an object that must be there are shown one by one: "source.type=string". */
static void list_usage(struct mor_buf *out, const struct mor_value *schema, const char *before)
{
	struct mor_json_iter it = mor_json_iter(mor_json_get(schema, "properties"));

	while (mor_json_next(&it)) {
		bool must = is_among(mor_json_get(schema, "required"), it.name);
		char inside[100];

		if (must && mor_json_size(mor_json_get(it.value, "properties"))) {
			snprintf(inside, sizeof(inside), "%s%.*s.", before, (int)it.name.len, it.name.ptr);
			list_usage(out, it.value, inside);
			continue;
		}
		mor_buf_printf(out, " %s%s%.*s=%s%s", must ? "" : "[", before, (int)it.name.len, it.name.ptr,
			       mor_json_text(mor_json_get(it.value, "type"), "value"), must ? "" : "]");
	}
}

int mor_signature_usage(const struct mor_value *function, struct mor_buf *out)
{
	mor_buf_text(out, mor_json_text(mor_json_get(function, "name"), "?"));
	list_usage(out, mor_json_get(function, "parameters"), "");
	return out->status;
}

/* ---- arguments ---- */

int mor_signature_refuse(const struct mor_value *function, mortise_error *err, const char *format, ...)
{
	MOR_CLEAN(mor_buf) struct mor_buf usage = MOR_BUF_INIT;
	char what[260], shown[220];
	va_list args;

	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	mor_signature_usage(function, &usage);
	return mor_fail(err, MORTISE_EINPUT, "%s%s: %s", what,
			what[strlen(what) - 1] == '?' ? " Usage" : "; usage",
			mor_printable(mor_buf_view(&usage), shown, sizeof(shown)));
}

static const char *name_of(const struct mor_value *function, char out[80])
{
	return mor_excerpt(mor_json_string(mor_json_get(function, "name")), out, 80);
}

/* An object of the arguments: all of them, or a member that is an object itself. */
struct sheet {
	const struct mor_value *function; /* for the usage */
	const struct mor_value *schema;   /* properties, required, any_of */
	bool open;                        /* other members may be there */
	const char *before;               /* of its members' names: "source." */
};

/* The whole name of a member, printable. */
static const char *member_name(const struct sheet *sheet, struct mor_slice name, char out[120])
{
	char word[80];

	snprintf(out, 120, "%s%s", sheet->before, mor_excerpt(name, word, sizeof(word)));
	return out;
}

static const char *nearest_member(const struct sheet *sheet, struct mor_slice given)
{
	struct mor_json_iter it = mor_json_iter(mor_json_get(sheet->schema, "properties"));
	char word[80];
	struct mor_nearest near = { .word = mor_excerpt(given, word, sizeof(word)) };

	while (mor_json_next(&it))
		mor_nearest_offer(&near, it.name.ptr);
	return mor_nearest_best(&near);
}

/* Where others are allowed too, it must not look like a known one misspelt. */
static int check_unknown(const struct sheet *sheet, struct mor_slice given, mortise_error *err)
{
	const char *best = nearest_member(sheet, given);
	char word[120], name[80];

	if (sheet->open && !best)
		return 0;
	member_name(sheet, given, word);
	return mor_signature_refuse(sheet->function, err, "\"%s\" has no argument \"%s\"%s%s%.80s%s",
				    name_of(sheet->function, name), word, best ? ": did you mean \"" : "",
				    best ? sheet->before : "", best ? best : "", best ? "\"?" : "");
}

/* The words of JSON Schema, and other words that people use. Unknown words are not checked. */
static const struct {
	const char *word;
	enum mor_json_type type;
	bool integer;
} types[] = {
	{ "string|str|text", MOR_JSON_STRING, false },
	{ "integer|int", MOR_JSON_NUMBER, true },
	{ "number|float|double", MOR_JSON_NUMBER, false },
	{ "boolean|bool", MOR_JSON_BOOL, false },
	{ "array|list", MOR_JSON_ARRAY, false },
	{ "object|dict", MOR_JSON_OBJECT, false },
	{ "null", MOR_JSON_NULL, false },
};

static bool is_type(struct mor_slice word, const struct mor_value *value)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (mor_text_in(word, types[i].word))
			return mor_json_type(value) == types[i].type &&
			       (!types[i].integer || mor_json_is_int(value));
	return true;
}

/* One word, or a list; one word of it must fit. */
static bool fits(const struct mor_value *type, const struct mor_value *value)
{
	struct mor_json_iter it = mor_json_iter(type);

	if (mor_json_type(type) == MOR_JSON_STRING)
		return is_type(mor_json_string(type), value);
	if (mor_json_type(type) != MOR_JSON_ARRAY)
		return true;
	while (mor_json_next(&it))
		if (is_type(mor_json_string(it.value), value))
			return true;
	return false;
}

static bool is_listed(const struct mor_value *values, const struct mor_value *value)
{
	struct mor_json_iter it = mor_json_iter(values);

	if (mor_json_type(values) != MOR_JSON_ARRAY)
		return true;
	while (mor_json_next(&it))
		if (mor_json_equal(it.value, value))
			return true;
	return false;
}

static int check_members(const struct sheet *sheet, const struct mor_value *object, mortise_error *err);

static int check_inside(const struct sheet *sheet, struct mor_slice name, const struct mor_value *schema,
			const struct mor_value *value, mortise_error *err)
{
	char before[128], inside[120];
	struct sheet member = { sheet->function, schema,
				mor_json_bool(mor_json_get(schema, "additionalProperties"), true), before };

	snprintf(before, sizeof(before), "%s.", member_name(sheet, name, inside));
	return check_members(&member, value, err);
}

static int check_value(const struct sheet *sheet, struct mor_slice name, const struct mor_value *schema,
		       const struct mor_value *value, mortise_error *err)
{
	const struct mor_value *type = mor_json_get(schema, "type"), *values = mor_json_get(schema, "enum");
	char quoted[120], wanted[120], given[80];

	member_name(sheet, name, quoted);
	mor_printable_value(value, given, sizeof(given));
	if (mor_json_type(value) == MOR_JSON_NULL)
		return 0; /* the same as absent */
	if (!fits(type, value))
		return mor_signature_refuse(sheet->function, err, "argument \"%s\" must be %s, not %s: %s",
					    quoted, mor_printable_value(type, wanted, sizeof(wanted)),
					    mor_json_type_name(mor_json_type(value)), given);
	if (!is_listed(values, value))
		return mor_signature_refuse(sheet->function, err, "argument \"%s\" must be one of %s, not %s",
					    quoted, mor_printable_value(values, wanted, sizeof(wanted)), given);
	if (mor_json_type(value) == MOR_JSON_OBJECT && mor_json_get(schema, "properties"))
		return check_inside(sheet, name, schema, value, err);
	return 0;
}

/* null counts as no value, unless the type allows null. */
static bool has_value(const struct sheet *sheet, struct mor_slice name, const struct mor_value *object)
{
	const struct mor_value *value = mor_json_get_slice(object, name);
	const struct mor_value *schema = mor_json_get_slice(mor_json_get(sheet->schema, "properties"), name);

	return value && (mor_json_type(value) != MOR_JSON_NULL || fits(mor_json_get(schema, "type"), value));
}

static int check_required(const struct sheet *sheet, const struct mor_value *object, mortise_error *err)
{
	struct mor_json_iter it = mor_json_iter(mor_json_get(sheet->schema, "required"));
	char name[80], missing[120];

	while (mor_json_next(&it)) {
		struct mor_slice wanted = mor_json_string(it.value);

		if (wanted.ptr && !has_value(sheet, wanted, object))
			return mor_signature_refuse(sheet->function, err, "\"%s\" needs the argument \"%s\"",
						    name_of(sheet->function, name),
						    member_name(sheet, wanted, missing));
	}
	return 0;
}

/* "type=bytes": is that so in this object? */
static bool is_so(const struct mor_value *object, struct mor_slice when)
{
	const char *equals = when.len ? memchr(when.ptr, '=', when.len) : NULL;
	size_t len = equals ? (size_t)(equals - when.ptr) : 0;

	return equals &&
	       mor_slice_eq(mor_json_string(mor_json_get_slice(object, (struct mor_slice){ when.ptr, len })),
			    (struct mor_slice){ equals + 1, when.len - len - 1 });
}

static int check_when(const struct sheet *sheet, const struct mor_value *object, mortise_error *err)
{
	struct mor_json_iter it = mor_json_iter(mor_json_get(sheet->schema, "properties"));
	char name[80], missing[120], shown[80];

	while (mor_json_next(&it)) {
		struct mor_slice when = mor_json_string(mor_json_get(it.value, "when"));

		if (is_so(object, when) && !has_value(sheet, it.name, object))
			return mor_signature_refuse(sheet->function, err,
						    "\"%s\" needs the argument \"%s\" with %s%s",
						    name_of(sheet->function, name),
						    member_name(sheet, it.name, missing), sheet->before,
						    mor_excerpt(when, shown, sizeof(shown)));
	}
	return 0;
}

static int check_any_of(const struct sheet *sheet, const struct mor_value *object, mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf names = MOR_BUF_INIT;
	struct mor_json_iter it = mor_json_iter(mor_json_get(sheet->schema, "any_of"));
	char name[80], list[120];

	while (mor_json_next(&it)) {
		struct mor_slice wanted = mor_json_string(it.value);

		if (has_value(sheet, wanted, object))
			return 0;
		mor_buf_printf(&names, "%s%s%.*s", names.len ? " or " : "", sheet->before, (int)wanted.len,
			       wanted.ptr);
	}
	if (!names.len)
		return 0;
	return mor_signature_refuse(sheet->function, err, "\"%s\" needs %s", name_of(sheet->function, name),
				    mor_printable(mor_buf_view(&names), list, sizeof(list)));
}

static int check_members(const struct sheet *sheet, const struct mor_value *object, mortise_error *err)
{
	const struct mor_value *properties = mor_json_get(sheet->schema, "properties");
	struct mor_json_iter it = mor_json_iter(object);
	int r = 0;

	while (r == 0 && mor_json_next(&it)) {
		const struct mor_value *schema = mor_json_get_slice(properties, it.name);

		r = schema ? check_value(sheet, it.name, schema, it.value, err) :
			     check_unknown(sheet, it.name, err);
	}
	r = r < 0 ? r : check_required(sheet, object, err);
	r = r < 0 ? r : check_when(sheet, object, err);
	return r < 0 ? r : check_any_of(sheet, object, err);
}

int mor_signature_check(const struct mor_value *function, const struct mor_value *arguments, mortise_error *err)
{
	struct sheet all = { function, mor_json_get(function, "parameters"),
			     mor_json_bool(mor_json_get(function, "open"), false), "" };

	return mor_signature_properties(function) ? check_members(&all, arguments, err) : 0;
}
