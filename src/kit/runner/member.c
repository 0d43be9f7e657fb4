/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/member.h"

#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "console/console.h"

/* ---- which there are ---- */

struct mor_member_iter mor_member_iter(struct mor_members members)
{
	return (struct mor_member_iter){ .next = members.fields,
					 .json = mor_json_iter(mor_json_get(members.schema, "properties")) };
}

bool mor_member_next(struct mor_member_iter *it)
{
	while (it->next && it->next->name && strcmp(it->next->name, "*") == 0)
		it->next++;
	if (it->next && it->next->name) {
		it->at = (struct mor_member){ mor_slice_of(it->next->name), it->next, NULL };
		it->next++;
		return true;
	}
	if (it->next || !mor_json_next(&it->json))
		return false;
	it->at = (struct mor_member){ it->json.name, NULL, it->json.value };
	return true;
}

struct mor_member mor_member_get(struct mor_members members, struct mor_slice name)
{
	struct mor_member_iter it = mor_member_iter(members);

	while (mor_member_next(&it))
		if (mor_slice_eq(it.at.name, name))
			return it.at;
	return (struct mor_member){ 0 };
}

struct mor_member mor_member_at(struct mor_members members, struct mor_slice path)
{
	struct mor_member member = mor_member_get(members, path);
	const char *dot = member.name.ptr || !path.len ? NULL : memchr(path.ptr, '.', path.len);
	struct mor_slice first = { path.ptr, dot ? (size_t)(dot - path.ptr) : 0 };

	if (!dot)
		return member;
	return mor_member_at(mor_member_inside(mor_member_get(members, first)),
			     (struct mor_slice){ dot + 1, path.len - first.len - 1 });
}

/* A field that may be something simpler, too, is not looked into. */
struct mor_members mor_member_inside(struct mor_member member)
{
	const struct mor_field *field = member.field;

	if (field && (field->type & MOR_T_OBJECT) && !(field->type & (MOR_T_OBJECT - 1)))
		return (struct mor_members){ .fields = field->fields };
	return (struct mor_members){ .schema =
					     mor_json_get(member.schema, "properties") ? member.schema : NULL };
}

bool mor_members_known(struct mor_members members)
{
	return members.fields || mor_json_get(members.schema, "properties");
}

bool mor_members_any(struct mor_members members)
{
	struct mor_member_iter it = mor_member_iter(members);

	return mor_member_next(&it);
}

bool mor_members_open(struct mor_members members)
{
	return members.fields || mor_json_bool(mor_json_get(members.schema, "additionalProperties"), true);
}

static bool must_be_typed(const struct mor_field *field)
{
	return (field->flags & MOR_F_REQUIRED) && !(field->flags & MOR_F_STRICT_ONLY) && !field->def &&
	       !field->when;
}

struct mor_slice mor_members_required(struct mor_members members, size_t at)
{
	struct mor_json_iter it = mor_json_iter(mor_json_get(members.schema, "required"));

	for (const struct mor_field *f = members.fields; f && f->name; f++)
		if (must_be_typed(f) && at-- == 0)
			return mor_slice_of(f->name);
	while (mor_json_next(&it))
		if (mor_json_string(it.value).ptr && at-- == 0)
			return mor_json_string(it.value);
	return (struct mor_slice){ 0 };
}

bool mor_member_required(struct mor_members members, struct mor_slice name)
{
	struct mor_slice one;

	for (size_t i = 0; (one = mor_members_required(members, i)).ptr; i++)
		if (mor_slice_eq(one, name))
			return true;
	return false;
}

/* ---- types ---- */

/* The words of JSON Schema, and other words that people use. Unknown words are not checked. */
static const struct {
	const char *word;
	unsigned type;
} types[] = {
	{ "string|str|text", MOR_T_STRING },
	{ "integer|int", MOR_T_INT },
	{ "number|float|double", MOR_T_NUMBER },
	{ "boolean|bool", MOR_T_BOOL },
	{ "array|list", MOR_T_ARRAY },
	{ "object|dict", MOR_T_OBJECT },
	{ "null", MOR_T_NULL },
};

static unsigned type_by_word(struct mor_slice word)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (mor_text_in(word, types[i].word))
			return types[i].type;
	return MOR_T_ANY;
}

/* One word, or a list: then one word of it must fit. */
static unsigned types_of(struct mor_member member)
{
	const struct mor_value *type = mor_json_get(member.schema, "type");
	struct mor_json_iter it = mor_json_iter(type);
	unsigned mask = 0;

	if (member.field)
		return member.field->type;
	if (mor_json_type(type) == MOR_JSON_STRING)
		return type_by_word(mor_json_string(type));
	if (mor_json_type(type) != MOR_JSON_ARRAY)
		return MOR_T_ANY;
	while (mor_json_next(&it))
		mask |= type_by_word(mor_json_string(it.value));
	return mask;
}

const char *mor_member_type(struct mor_member member)
{
	if (!member.field)
		return mor_json_text(mor_json_get(member.schema, "type"), NULL);
	for (const struct mor_bit_name *name = mor_type_names; name->name; name++)
		if (member.field->type == name->bit)
			return name->name;
	return NULL;
}

bool mor_member_is(struct mor_member member, const char *words)
{
	const char *type = mor_member_type(member);

	return type && mor_text_in(mor_slice_of(type), words);
}

bool mor_member_fits(struct mor_member member, const struct mor_value *value)
{
	return types_of(member) & mor_field_type_of(value);
}

const char *mor_member_types(struct mor_member member, char out[120])
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	struct mor_writer w = { .out = &json };

	if (!member.field)
		return mor_printable_value(mor_json_get(member.schema, "type"), out, 120);
	if (mor_member_type(member))
		return mor_printable(mor_slice_of(mor_member_type(member)), out, 120);
	mor_w_array(&w);
	for (const struct mor_bit_name *name = mor_type_names; name->name; name++)
		if (member.field->type & name->bit)
			mor_w_string(&w, name->name);
	mor_w_end(&w);
	return mor_printable(mor_buf_view(&json), out, 120);
}

/* ---- values ---- */

bool mor_member_allows(struct mor_member member, const struct mor_value *value)
{
	const struct mor_value *values = mor_json_get(member.schema, "enum");
	struct mor_json_iter it = mor_json_iter(values);

	if (member.field)
		return !member.field->one_of || mor_text_in(mor_json_string(value), member.field->one_of);
	if (mor_json_type(values) != MOR_JSON_ARRAY)
		return true;
	while (mor_json_next(&it))
		if (mor_json_equal(it.value, value))
			return true;
	return false;
}

const char *mor_member_values(struct mor_member member, char out[120])
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	struct mor_writer w = { .out = &json };
	struct mor_slice list = mor_slice_of(member.field ? member.field->one_of : NULL);

	if (!member.field)
		return mor_printable_value(mor_json_get(member.schema, "enum"), out, 120);
	mor_w_array(&w);
	while (list.len)
		mor_w_slice(&w, mor_slice_cut(&list, '|'));
	mor_w_end(&w);
	return mor_printable(mor_buf_view(&json), out, 120);
}
