/* SPDX-License-Identifier: Apache-2.0 */
/* One walk over fields and value. Members that no field names are allowed. What only the specification
 * requires (STRICT_ONLY) is reported, but is not fatal. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "dialect/internal.h"

/* The present place. The pointer grows and shrinks with the walk; if it is too long, it is cut. */
struct value_walk {
	char pointer[sizeof(((struct mor_finding *)0)->pointer)];
	size_t len;
	unsigned count;
	mor_finding_fn *say;
	void *arg;
};

static void check_members(struct value_walk *walk, const struct mor_field *fields,
			  const struct mor_value *object);
static void check_closed(struct value_walk *walk, const struct mor_field *fields,
			 const struct mor_value *object);
static void check_value(struct value_walk *walk, const struct mor_field *field, const struct mor_value *value);

/* ---- findings ---- */

__attribute__((format(printf, 3, 4))) static void find(struct value_walk *walk, bool fatal, const char *format,
						       ...)
{
	struct mor_finding finding = { .fatal = fatal };
	va_list args;
	int used;

	if (walk->count >= MOR_FINDINGS_MAX)
		return;
	walk->count++;
	if (!walk->say)
		return;
	memcpy(finding.pointer, walk->pointer, sizeof(finding.pointer));
	used = snprintf(finding.text, sizeof(finding.text), "%s%s", walk->pointer, walk->len ? ": " : "");
	va_start(args, format);
	vsnprintf(finding.text + used, sizeof(finding.text) - (size_t)used, format, args);
	va_end(args);
	walk->say(&finding, walk->arg);
}

static void put_char(struct value_walk *walk, char c)
{
	if (walk->len + 1 < sizeof(walk->pointer))
		walk->pointer[walk->len++] = c;
	walk->pointer[walk->len] = '\0';
}

/* Enters a member; pass the result to leave(). */
static size_t enter_member(struct value_walk *walk, struct mor_slice name)
{
	size_t before = walk->len;

	put_char(walk, '/');
	for (size_t i = 0; i < name.len; i++) {
		if (name.ptr[i] == '~' || name.ptr[i] == '/')
			put_char(walk, '~');
		put_char(walk, name.ptr[i] == '~' ? '0' : name.ptr[i] == '/' ? '1' : name.ptr[i]);
	}
	return before;
}

static void leave(struct value_walk *walk, size_t before)
{
	walk->len = before;
	walk->pointer[before] = '\0';
}

/* ---- types ---- */

const struct mor_bit_name mor_type_names[] = {
	{ MOR_T_STRING, "string" }, { MOR_T_INT, "integer" },
	{ MOR_T_NUMBER, "number" }, { MOR_T_BOOL, "boolean" },
	{ MOR_T_OBJECT, "object" }, { MOR_T_ARRAY, "array" },
	{ MOR_T_NULL, "null" },     { 0, NULL },
};

const char *mor_field_type_text(unsigned type, char out[96])
{
	size_t used = 0;

	if (type == MOR_T_ANY)
		return "anything";
	out[0] = '\0';
	for (const struct mor_bit_name *n = mor_type_names; n->name; n++)
		if (type & n->bit)
			used += (size_t)snprintf(out + used, 96 - used, "%s%s", used ? " or " : "", n->name);
	return out;
}

unsigned mor_field_type_of(const struct mor_value *value)
{
	switch (mor_json_type(value)) {
	case MOR_JSON_STRING:
		return MOR_T_STRING;
	case MOR_JSON_NUMBER:
		return MOR_T_NUMBER | (mor_json_is_int(value) ? MOR_T_INT : 0);
	case MOR_JSON_BOOL:
		return MOR_T_BOOL;
	case MOR_JSON_OBJECT:
		return MOR_T_OBJECT;
	case MOR_JSON_ARRAY:
		return MOR_T_ARRAY;
	case MOR_JSON_NULL:
		return MOR_T_NULL;
	case MOR_JSON_MISSING:
		break;
	}
	return 0;
}

/* ---- one value ---- */

static bool by_letter(const struct mor_field *field)
{
	return field->flags & MOR_F_STRICT_ONLY;
}

static void check_type(struct value_walk *walk, const struct mor_field *field, const struct mor_value *value)
{
	/* Plugins set optional members to null where the specification would leave them out. */
	bool empty = mor_json_type(value) == MOR_JSON_NULL && !(field->flags & MOR_F_REQUIRED);
	bool fraction = mor_json_type(value) == MOR_JSON_NUMBER && (field->type & MOR_T_INT);
	char wanted[96];

	find(walk, !by_letter(field) && !empty, "must be %s, not %s", mor_field_type_text(field->type, wanted),
	     fraction ? "fraction" : mor_json_type_name(mor_json_type(value)));
}

static void check_scalar(struct value_walk *walk, const struct mor_field *field, const struct mor_value *value)
{
	struct mor_slice text = mor_json_string(value);
	char quoted[60];

	if (text.ptr && field->one_of && !mor_text_in(text, field->one_of))
		find(walk, !by_letter(field), "\"%s\" is none of %s", mor_excerpt(text, quoted, sizeof(quoted)),
		     field->one_of);
	if (field->min < field->max && mor_json_type(value) == MOR_JSON_NUMBER) {
		double number = mor_json_double(value, field->min);

		if (number < field->min || number > field->max)
			find(walk, !by_letter(field), "%g is outside %g..%g", number, field->min, field->max);
	}
}

/* "[]" describes the elements; without it they are objects with these fields. */
static void check_elements(struct value_walk *walk, const struct mor_field *fields,
			   const struct mor_value *array)
{
	const struct mor_field object = {
		.name = "[]", .type = MOR_T_OBJECT, .flags = MOR_F_REQUIRED, .fields = fields
	};
	const struct mor_field *element = strcmp(fields->name, "[]") == 0 ? fields : &object;
	struct mor_json_iter it = mor_json_iter(array);
	char index[24];

	for (size_t i = 0; mor_json_next(&it) && walk->count < MOR_FINDINGS_MAX; i++) {
		size_t before;

		snprintf(index, sizeof(index), "%zu", i);
		before = enter_member(walk, mor_slice_of(index));
		check_value(walk, element, it.value);
		leave(walk, before);
	}
}

static void check_value(struct value_walk *walk, const struct mor_field *field, const struct mor_value *value)
{
	enum mor_json_type type = mor_json_type(value);

	if (!(mor_field_type_of(value) & field->type)) {
		check_type(walk, field, value);
		return;
	}
	check_scalar(walk, field, value);
	if (!field->fields)
		return;
	if (type == MOR_JSON_ARRAY)
		check_elements(walk, field->fields, value);
	else if (type == MOR_JSON_OBJECT)
		check_members(walk, field->fields, value);
	if (type == MOR_JSON_OBJECT && (field->flags & MOR_F_CLOSED))
		check_closed(walk, field->fields, value);
}

/* ---- members ---- */

static const struct mor_value *other_spelling(const struct mor_field *field, const struct mor_value *object,
					      struct mor_slice *ret_name)
{
	struct mor_json_iter it = mor_json_iter(object);

	while (field->also && mor_json_next(&it)) {
		if (mor_text_in(it.name, field->also)) {
			*ret_name = it.name;
			return it.value;
		}
	}
	return NULL;
}

const struct mor_value *mor_field_get(const struct mor_field *field, const struct mor_value *object)
{
	const struct mor_value *value = mor_json_get(object, field->name), *other;
	struct mor_slice name;

	if (value && mor_json_type(value) != MOR_JSON_NULL)
		return value;
	other = mor_json_type(object) == MOR_JSON_OBJECT ? other_spelling(field, object, &name) : NULL;
	return other ? other : value;
}

bool mor_field_applies(const struct mor_field *field, const struct mor_value *object)
{
	const char *equals = field->when ? strchr(field->when, '=') : NULL;
	const struct mor_value *sibling;
	struct mor_slice value;

	if (!equals)
		return true;
	sibling = mor_json_get_slice(object, (struct mor_slice){ field->when, (size_t)(equals - field->when) });
	value = mor_json_string(sibling);
	if (mor_json_type(sibling) == MOR_JSON_BOOL)
		value = mor_slice_of(mor_json_bool(sibling, false) ? "true" : "false");
	return value.ptr && mor_slice_is(value, equals + 1);
}

static void check_missing(struct value_walk *walk, const struct mor_field *field,
			  const struct mor_value *object)
{
	size_t before = enter_member(walk, mor_slice_of(field->name));
	char wanted[96];

	if ((field->flags & MOR_F_REQUIRED) && mor_field_applies(field, object))
		find(walk, !by_letter(field), "required (%s)%s%s but missing",
		     mor_field_type_text(field->type, wanted), field->when ? " with " : "",
		     field->when ? field->when : "");
	leave(walk, before);
}

static void check_member(struct value_walk *walk, const struct mor_field *field, const struct mor_value *object)
{
	const struct mor_value *value = mor_field_get(field, object);
	struct mor_slice name = mor_slice_of(field->name);
	size_t before;

	if (!value) {
		check_missing(walk, field, object);
		return;
	}
	if (value != mor_json_get(object, field->name))
		other_spelling(field, object, &name);
	before = enter_member(walk, name);
	if (field->flags & MOR_F_BEYOND)
		find(walk, false, "is not in the specification");
	/* A plugin that sends both spellings is fine for every reader. */
	if (!mor_json_get(object, field->name))
		find(walk, false, "the specification spells this \"%s\"", field->name);
	/* If a value is required and null is allowed, null still does not count as a value. */
	if (mor_json_type(value) == MOR_JSON_NULL && field->when && (field->flags & MOR_F_REQUIRED) &&
	    mor_field_applies(field, object))
		find(walk, !by_letter(field), "null, but required with %s", field->when);
	else
		check_value(walk, field, value);
	leave(walk, before);
}

static bool is_listed(const struct mor_field *fields, struct mor_slice name)
{
	for (const struct mor_field *f = fields; f->name; f++)
		if (mor_slice_is(name, f->name) || mor_text_in(name, f->also))
			return true;
	return false;
}

/* "*": every member that no other field names. */
static void check_others(struct value_walk *walk, const struct mor_field *fields, const struct mor_field *any,
			 const struct mor_value *object)
{
	struct mor_json_iter it = mor_json_iter(object);

	while (mor_json_next(&it) && walk->count < MOR_FINDINGS_MAX) {
		size_t before;

		if (is_listed(fields, it.name))
			continue;
		before = enter_member(walk, it.name);
		check_value(walk, any, it.value);
		leave(walk, before);
	}
}

/* CLOSED: the finding lists the known names, so that nobody has to search for them. */
static void check_closed(struct value_walk *walk, const struct mor_field *fields,
			 const struct mor_value *object)
{
	struct mor_json_iter it = mor_json_iter(object);
	char names[160] = "";
	size_t used = 0;

	for (const struct mor_field *f = fields; f->name; f++)
		if (!(f->flags & MOR_F_BEYOND) && used < sizeof(names))
			used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", used ? ", " : "",
						 f->name);
	while (mor_json_next(&it) && walk->count < MOR_FINDINGS_MAX) {
		size_t before;

		if (is_listed(fields, it.name))
			continue;
		before = enter_member(walk, it.name);
		find(walk, false, "is not in the specification, which has %s", names);
		leave(walk, before);
	}
}

static void check_any_of(struct value_walk *walk, const struct mor_field *fields,
			 const struct mor_value *object)
{
	char names[120] = "";
	size_t used = 0;

	for (const struct mor_field *f = fields; f->name; f++) {
		if (!(f->flags & MOR_F_ANY_OF))
			continue;
		if (mor_field_get(f, object))
			return;
		if (used < sizeof(names))
			used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", used ? ", " : "",
						 f->name);
	}
	if (used)
		find(walk, true, "at least one of %s is required", names);
}

static void check_members(struct value_walk *walk, const struct mor_field *fields,
			  const struct mor_value *object)
{
	for (const struct mor_field *f = fields; f->name; f++) {
		if (strcmp(f->name, "*") == 0)
			check_others(walk, fields, f, object);
		else
			check_member(walk, f, object);
	}
	check_any_of(walk, fields, object);
}

unsigned mor_validate(const struct mor_field *fields, const struct mor_value *value, mor_finding_fn *say,
		      void *arg)
{
	struct value_walk walk = { .say = say, .arg = arg };
	bool fatal = false;

	if (!fields)
		return 0;
	if (mor_json_type(value) == MOR_JSON_OBJECT) {
		check_members(&walk, fields, value);
		return walk.count;
	}
	/* No object is as bad as an empty object. */
	for (const struct mor_field *f = fields; f->name; f++)
		fatal = fatal || (f->flags & MOR_F_ANY_OF) ||
			((f->flags & MOR_F_REQUIRED) && !f->when && !by_letter(f));
	if (mor_json_type(value) != MOR_JSON_MISSING || fatal)
		find(&walk, fatal, "must be an object, not %s", mor_json_type_name(mor_json_type(value)));
	return walk.count;
}

/* ---- in one line ---- */

void mor_findings_add(struct mor_findings *all, const struct mor_finding *finding)
{
	size_t used = strlen(all->text), len = strlen(finding->text) + (used ? 2 : 0);

	all->count++;
	if (all->shown + 1 < all->count || used + len + 1 > sizeof(all->text) - MOR_FINDINGS_ROOM)
		return;
	snprintf(all->text + used, sizeof(all->text) - used, "%s%s", used ? "; " : "", finding->text);
	all->shown++;
}

const char *mor_findings_text(struct mor_findings *all)
{
	size_t used = strlen(all->text);

	if (all->shown < all->count)
		snprintf(all->text + used, sizeof(all->text) - used, "; and %u more", all->count - all->shown);
	return all->text;
}
