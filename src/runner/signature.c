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

bool mor_signature_requires(const struct mor_value *signature, struct mor_slice name)
{
	struct mor_json_iter it = mor_json_iter(mor_json_at(signature, "/parameters/required"));

	while (mor_json_next(&it))
		if (mor_slice_eq(mor_json_string(it.value), name))
			return true;
	return false;
}

bool mor_signature_wants_text(const struct mor_value *signature, struct mor_slice parameter)
{
	const struct mor_value *schema = mor_json_get_slice(mor_signature_properties(signature), parameter);

	return mor_slice_is(mor_json_string(mor_json_get(schema, "type")), "string");
}

int mor_signature_usage(const struct mor_value *function, struct mor_buf *out)
{
	struct mor_json_iter it = mor_json_iter(mor_signature_properties(function));

	mor_buf_text(out, mor_json_text(mor_json_get(function, "name"), "?"));
	while (mor_json_next(&it)) {
		bool must = mor_signature_requires(function, it.name);

		mor_buf_printf(out, " %s%.*s=%s%s", must ? "" : "[", (int)it.name.len, it.name.ptr,
			       mor_json_text(mor_json_get(it.value, "type"), "value"), must ? "" : "]");
	}
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

static const char *nearest_parameter(const struct mor_value *function, const char *word)
{
	struct mor_json_iter it = mor_json_iter(mor_signature_properties(function));
	struct mor_nearest near = { .word = word };

	while (mor_json_next(&it))
		mor_nearest_offer(&near, it.name.ptr);
	return mor_nearest_best(&near);
}

/* Where others are allowed too, it must not look like a known one misspelt. */
static bool may_be_new(const struct mor_value *function, struct mor_slice given)
{
	char word[80];

	return mor_json_bool(mor_json_get(function, "open"), false) &&
	       !nearest_parameter(function, mor_excerpt(given, word, sizeof(word)));
}

static int unknown_argument(const struct mor_value *function, struct mor_slice given, mortise_error *err)
{
	char word[80], name[80];
	const char *best = nearest_parameter(function, mor_excerpt(given, word, sizeof(word)));

	return mor_signature_refuse(function, err, "\"%s\" has no argument \"%s\"%s%.80s%s",
				    name_of(function, name), word, best ? ": did you mean \"" : "",
				    best ? best : "", best ? "\"?" : "");
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

static int check_value(const struct mor_value *function, struct mor_slice name, const struct mor_value *schema,
		       const struct mor_value *value, mortise_error *err)
{
	const struct mor_value *type = mor_json_get(schema, "type"), *values = mor_json_get(schema, "enum");
	char quoted[80], wanted[120], given[80];

	mor_excerpt(name, quoted, sizeof(quoted));
	mor_printable_value(value, given, sizeof(given));
	if (mor_json_type(value) == MOR_JSON_NULL)
		return 0; /* the same as absent */
	if (!fits(type, value))
		return mor_signature_refuse(function, err, "argument \"%s\" must be %s, not %s: %s", quoted,
					    mor_printable_value(type, wanted, sizeof(wanted)),
					    mor_json_type_name(mor_json_type(value)), given);
	if (!is_listed(values, value))
		return mor_signature_refuse(function, err, "argument \"%s\" must be one of %s, not %s", quoted,
					    mor_printable_value(values, wanted, sizeof(wanted)), given);
	return 0;
}

/* null counts as no value, unless the type allows null. */
static int check_required(const struct mor_value *function, const struct mor_value *arguments,
			  mortise_error *err)
{
	struct mor_json_iter it = mor_json_iter(mor_json_at(function, "/parameters/required"));
	char name[80], missing[80];

	while (mor_json_next(&it)) {
		struct mor_slice wanted = mor_json_string(it.value);
		const struct mor_value *value = mor_json_get_slice(arguments, wanted);
		const struct mor_value *type =
			mor_json_get(mor_json_get_slice(mor_signature_properties(function), wanted), "type");

		if (!wanted.ptr || (value && (mor_json_type(value) != MOR_JSON_NULL || fits(type, value))))
			continue;
		return mor_signature_refuse(function, err, "\"%s\" needs the argument \"%s\"",
					    name_of(function, name),
					    mor_excerpt(wanted, missing, sizeof(missing)));
	}
	return 0;
}

static int check_any_of(const struct mor_value *function, const struct mor_value *arguments, mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf names = MOR_BUF_INIT;
	struct mor_json_iter it = mor_json_iter(mor_json_get(function, "any_of"));
	char name[80], list[120];

	while (mor_json_next(&it)) {
		struct mor_slice wanted = mor_json_string(it.value);

		if (mor_json_get_slice(arguments, wanted))
			return 0;
		mor_buf_printf(&names, "%s%.*s", names.len ? " or " : "", (int)wanted.len, wanted.ptr);
	}
	if (!names.len)
		return 0;
	return mor_signature_refuse(function, err, "\"%s\" needs %s", name_of(function, name),
				    mor_printable(mor_buf_view(&names), list, sizeof(list)));
}

int mor_signature_check(const struct mor_value *function, const struct mor_value *arguments, mortise_error *err)
{
	const struct mor_value *properties = mor_signature_properties(function);
	struct mor_json_iter it = mor_json_iter(arguments);
	int r;

	if (!properties)
		return 0;
	while (mor_json_next(&it)) {
		const struct mor_value *schema = mor_json_get_slice(properties, it.name);

		if (schema)
			r = check_value(function, it.name, schema, it.value, err);
		else
			r = may_be_new(function, it.name) ? 0 : unknown_argument(function, it.name, err);
		if (r < 0)
			return r;
	}
	r = check_required(function, arguments, err);
	return r < 0 ? r : check_any_of(function, arguments, err);
}
