/* SPDX-License-Identifier: Apache-2.0 */
/* JSON as a message. The depth of the recursion is that of the document, which has a limit. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/near.h"
#include "base/text.h"
#include "pb/json.h"
#include "pb/known.h"
#include "pb/scalar.h"
#include "pb/spots.h"

struct reading {
	const struct mor_pb_schema *schema;
	struct mor_pb_where where;
	unsigned flags;
};

static int read_type(struct reading *rd, const struct mor_pb_type *type, const struct mor_value *value,
		     struct mor_buf *out);

static int refuse_value(struct reading *rd, const char *why)
{
	return mor_pb_refuse(&rd->where, why);
}

/* ---- fields ---- */

/* null is a value of these, and not "not there". */
static bool takes_null(const struct mor_pb_field *field)
{
	return (field->type && field->type->known == MOR_PB_VALUE) || (field->values && field->values->is_null);
}

/* One value with its tag; `always`: also if it is the default. */
static int read_one(struct reading *rd, const struct mor_value *value, const struct mor_pb_field *field,
		    bool always, struct mor_buf *out)
{
	MOR_CLEAN(mor_buf) struct mor_buf keep = MOR_BUF_INIT;
	struct mor_pb_scalar scalar = { 0 };
	int r;

	if (field->type) {
		r = read_type(rd, field->type, value, &keep);
		return r < 0 ? r : mor_pb_put_bytes(out, field->number, mor_buf_view(&keep));
	}
	r = mor_pb_scalar_read(&rd->where, value, field, &keep, &scalar);
	if (r == 0 && rd->flags & MOR_PB_RECORDS && field->kind == MOR_PB_STRING && scalar.bytes.len &&
	    memchr(scalar.bytes.ptr, '\0', scalar.bytes.len))
		return refuse_value(rd, "the text holds a NUL character");
	if (r == 0 && (always || field->presence || !mor_pb_scalar_is_zero(&scalar)))
		mor_pb_scalar_put_field(out, field, &scalar);
	return r;
}

static int read_item(struct reading *rd, const struct mor_value *value, const struct mor_pb_field *field,
		     struct mor_buf *packed, struct mor_buf *out)
{
	struct mor_pb_scalar scalar = { 0 };
	int r;

	if (!field->packed)
		return read_one(rd, value, field, true, out);
	r = mor_pb_scalar_read(&rd->where, value, field, packed, &scalar);
	if (r == 0)
		mor_pb_scalar_put(packed, field->kind, &scalar);
	return r < 0 ? r : packed->status;
}

static int read_list(struct reading *rd, const struct mor_value *value, const struct mor_pb_field *field,
		     struct mor_buf *out)
{
	MOR_CLEAN(mor_buf) struct mor_buf packed = MOR_BUF_INIT;
	struct mor_json_iter it = mor_json_iter(value);
	size_t before = rd->where.path.len;
	int r = 0;

	if (mor_json_type(value) != MOR_JSON_ARRAY)
		return mor_pb_refuse_type(&rd->where, "an array", value);
	for (size_t i = 0; r == 0 && mor_json_next(&it); i++) {
		rd->where.path.len = before;
		mor_pb_where_item(&rd->where, i);
		r = read_item(rd, it.value, field, &packed, out);
	}
	if (r == 0 && packed.len)
		mor_pb_put_bytes(out, field->number, mor_buf_view(&packed));
	return r;
}

static int read_map(struct reading *rd, const struct mor_value *value, const struct mor_pb_field *field,
		    struct mor_buf *out)
{
	const struct mor_pb_field *key = &field->type->fields[0], *item = &field->type->fields[1];
	struct mor_json_iter it = mor_json_iter(value);
	size_t before = rd->where.path.len;
	int r = 0;

	if (mor_json_type(value) != MOR_JSON_OBJECT)
		return mor_pb_refuse_type(&rd->where, "an object", value);
	while (r == 0 && mor_json_next(&it)) {
		MOR_CLEAN(mor_buf) struct mor_buf entry = MOR_BUF_INIT;
		struct mor_pb_scalar name = { 0 };

		rd->where.path.len = before;
		mor_pb_where_member(&rd->where, it.name);
		r = mor_pb_scalar_read_key(&rd->where, it.name, key->kind, &name);
		if (r == 0 && mor_json_type(it.value) == MOR_JSON_NULL && !takes_null(item))
			r = refuse_value(rd, "null is not allowed in a map");
		mor_pb_scalar_put_field(&entry, key, &name);
		if (r == 0)
			r = read_one(rd, it.value, item, true, &entry);
		if (r == 0)
			r = entry.status ? entry.status :
					   mor_pb_put_bytes(out, field->number, mor_buf_view(&entry));
	}
	return r;
}

/* ---- messages ---- */

/* Which fields have been given. */
struct given {
	unsigned char few[64], *fields;
	const struct mor_pb_field *last;
	bool unordered;
};

static int refuse_member(struct reading *rd, const struct mor_pb_type *type, struct mor_slice name)
{
	char why[300], typed[100];
	struct mor_nearest near = { .word = mor_excerpt(name, typed, sizeof(typed)) };
	const char *best;

	if (rd->flags & MOR_PB_RECORDS)
		return refuse_value(rd, "unknown field");
	for (size_t i = 0; i < type->count; i++)
		mor_nearest_offer(&near, type->fields[i].json_name.ptr);
	best = mor_nearest_best(&near);
	snprintf(why, sizeof(why), "%s has no such field%s%s%s", type->name.ptr, best ? "; did you mean " : "",
		 best ? best : "", best ? "?" : "");
	return refuse_value(rd, why);
}

static int take_field(struct reading *rd, const struct mor_pb_type *type, const struct mor_pb_field *field,
		      bool is_null, struct given *given)
{
	if (given->fields[field - type->fields])
		return refuse_value(rd, "given twice");
	given->fields[field - type->fields] = is_null ? 2 : 1;
	given->unordered = given->unordered || field < given->last;
	given->last = field;
	for (size_t i = 0; field->oneof >= 0 && !is_null && i < type->count; i++)
		if (&type->fields[i] != field && type->fields[i].oneof == field->oneof && given->fields[i] == 1)
			return refuse_value(rd, "another member of the same oneof is given, too");
	return 0;
}

static int read_member(struct reading *rd, const struct mor_json_iter *it, const struct mor_pb_type *type,
		       struct given *given, struct mor_buf *out)
{
	const struct mor_pb_field *field = mor_pb_type_named(type, it->name);
	bool is_null;
	int r;

	mor_pb_where_member(&rd->where, it->name);
	if (!field)
		return refuse_member(rd, type, it->name);
	is_null = mor_json_type(it->value) == MOR_JSON_NULL && (field->repeated || !takes_null(field));
	r = take_field(rd, type, field, is_null, given);
	if (r < 0 || is_null)
		return r;
	if (field->map)
		return read_map(rd, it->value, field, out);
	return field->repeated ? read_list(rd, it->value, field, out) :
				 read_one(rd, it->value, field, false, out);
}

static int need_required(struct reading *rd, const struct mor_pb_type *type, const struct given *given)
{
	for (size_t i = 0; type->has_required && i < type->count; i++)
		if (type->fields[i].required && given->fields[i] != 1) {
			mor_pb_where_member(&rd->where, type->fields[i].json_name);
			return refuse_value(rd, "missing, and required");
		}
	return 0;
}

/* Members come in any order, and bytes are compared: put the fields from byte `from` on in theirs. */
static int order_fields(const struct mor_pb_type *type, size_t from, struct mor_buf *out)
{
	MOR_CLEAN(mor_buf) struct mor_buf ordered = MOR_BUF_INIT;
	struct mor_pb_spots spots = { .all = { out->data + from, out->len - from }, .limit = SIZE_MAX };
	int r = mor_pb_spots_push(&spots, type, &(struct mor_pb_pieces){ .one = spots.all });

	for (size_t i = 0; r == 0 && i < spots.used; i++) {
		const char *at = spots.all.ptr + spots.stack[i].at;

		r = mor_buf_append(&ordered, at, (size_t)(mor_pb_spots_value(&spots, i).left.ptr - at));
	}
	if (r == 0 && ordered.len)
		memcpy(out->data + from, ordered.data, ordered.len);
	mor_pb_spots_fini(&spots);
	return r;
}

/* The members of an object; in an Any, "@type" is not one of them. */
static int read_members(struct reading *rd, const struct mor_pb_type *type, const struct mor_value *object,
			bool in_any, struct mor_buf *out)
{
	struct mor_json_iter it = mor_json_iter(object);
	struct given given = { 0 };
	size_t before = rd->where.path.len, from = out->len;
	int r = 0;

	if (mor_json_type(object) != MOR_JSON_OBJECT)
		return mor_pb_refuse_type(&rd->where, "an object", object);
	given.fields = type->count <= sizeof(given.few) ? given.few : mor_zalloc(type->count);
	if (!given.fields)
		return MORTISE_ENOMEM;
	while (r == 0 && mor_json_next(&it)) {
		rd->where.path.len = before;
		if (!(in_any && mor_slice_is(it.name, "@type")))
			r = read_member(rd, &it, type, &given, out);
	}
	if (r == 0) {
		rd->where.path.len = before;
		r = need_required(rd, type, &given);
	}
	if (r == 0 && given.unordered && !mor_buf_failed(out))
		r = order_fields(type, from, out);
	if (given.fields != given.few)
		mor_free(given.fields);
	return r;
}

/* ---- the types with a JSON of their own ---- */

static int read_time(struct reading *rd, const struct mor_pb_type *type, const struct mor_value *value,
		     struct mor_buf *out)
{
	bool stamp = type->known == MOR_PB_TIMESTAMP;
	struct mor_slice text = mor_json_string(value);
	struct mor_pb_time time;

	if (!text.ptr || !(stamp ? mor_pb_timestamp_parse(text, &time) : mor_pb_duration_parse(text, &time)))
		return refuse_value(rd, stamp ? "expected a time such as \"1972-01-01T10:00:20.021Z\"" :
						"expected a duration such as \"1.5s\"");
	if (time.seconds)
		mor_pb_put_number(out, 1, (uint64_t)time.seconds);
	if (time.nanos)
		mor_pb_put_number(out, 2, (uint64_t)(int64_t)time.nanos);
	return 0;
}

static int read_mask(struct reading *rd, const struct mor_value *value, struct mor_buf *out)
{
	struct mor_slice text = mor_json_string(value);

	if (!text.ptr)
		return mor_pb_refuse_type(&rd->where, "paths in a string, with commas between them", value);
	for (const char *at = text.ptr, *end = text.ptr + text.len; at < end;) {
		MOR_CLEAN(mor_buf) struct mor_buf path = MOR_BUF_INIT;
		const char *comma = memchr(at, ',', (size_t)(end - at));
		const char *to = comma ? comma : end;

		if (!mor_pb_path_from_camel((struct mor_slice){ at, (size_t)(to - at) }, &path))
			return refuse_value(rd, "a path of a FieldMask is written in camelCase");
		if (mor_buf_failed(&path))
			return path.status;
		mor_pb_put_bytes(out, 1, mor_buf_view(&path));
		at = comma ? comma + 1 : end;
	}
	return 0;
}

/* Field 1 to 6 of a Value, by the type of the JSON. */
static int read_any_value(struct reading *rd, const struct mor_pb_type *type, const struct mor_value *value,
			  struct mor_buf *out)
{
	static const unsigned char field_of[] = {
		[MOR_JSON_NULL] = 1, [MOR_JSON_NUMBER] = 2, [MOR_JSON_STRING] = 3,
		[MOR_JSON_BOOL] = 4, [MOR_JSON_OBJECT] = 5, [MOR_JSON_ARRAY] = 6,
	};
	unsigned number = field_of[mor_json_type(value)];

	if (number == 1)
		return mor_pb_put_number(out, 1, 0);
	return read_one(rd, value, &type->fields[number - 1], true, out);
}

static int read_any(struct reading *rd, const struct mor_value *value, struct mor_buf *out)
{
	MOR_CLEAN(mor_buf) struct mor_buf inside = MOR_BUF_INIT;
	struct mor_slice url = mor_json_string(mor_json_get(value, "@type")), name = url;
	const char *slash = url.len ? memrchr(url.ptr, '/', url.len) : NULL;
	const struct mor_pb_type *type;
	int r;

	if (mor_json_type(value) != MOR_JSON_OBJECT)
		return mor_pb_refuse_type(&rd->where, "an object", value);
	if (mor_json_size(value) == 0)
		return 0;
	if (slash)
		name = (struct mor_slice){ slash + 1, url.len - (size_t)(slash + 1 - url.ptr) };
	type = mor_pb_schema_type(rd->schema, name);
	if (!slash || !type)
		return refuse_value(rd, !slash ? "\"@type\" must be a text such as "
						 "type.googleapis.com/package.Type" :
						 "no file describes the message that \"@type\" names");
	if (type->known && (mor_json_size(value) != 2 || !mor_json_get(value, "value")))
		return refuse_value(rd, "expected \"@type\" and \"value\"");
	r = type->known ? read_type(rd, type, mor_json_get(value, "value"), &inside) :
			  read_members(rd, type, value, true, &inside);
	if (r < 0 || mor_buf_failed(&inside))
		return r < 0 ? r : inside.status;
	mor_pb_put_bytes(out, 1, url);
	return inside.len ? mor_pb_put_bytes(out, 2, mor_buf_view(&inside)) : 0;
}

static int read_type(struct reading *rd, const struct mor_pb_type *type, const struct mor_value *value,
		     struct mor_buf *out)
{
	int r;

	switch (type->known) {
	case MOR_PB_TIMESTAMP:
	case MOR_PB_DURATION:
		r = read_time(rd, type, value, out);
		break;
	case MOR_PB_FIELD_MASK:
		r = read_mask(rd, value, out);
		break;
	case MOR_PB_STRUCT:
		r = read_map(rd, value, &type->fields[0], out);
		break;
	case MOR_PB_LIST_VALUE:
		r = read_list(rd, value, &type->fields[0], out);
		break;
	case MOR_PB_VALUE:
		r = read_any_value(rd, type, value, out);
		break;
	case MOR_PB_WRAPPER:
		r = read_one(rd, value, &type->fields[0], false, out);
		break;
	case MOR_PB_ANY:
		r = read_any(rd, value, out);
		break;
	case MOR_PB_OWN:
		r = type->own->on_read(&rd->where, value, rd->flags, out);
		break;
	default:
		r = read_members(rd, type, value, false, out);
	}
	return r < 0 ? r : out->status;
}

int mor_pb_members_from_json(struct mor_pb_where *where, const struct mor_pb_type *type,
			     const struct mor_value *object, unsigned flags, struct mor_buf *out)
{
	struct reading rd = { .where = *where, .flags = flags };
	int r = read_members(&rd, type, object, true, out);

	*where = rd.where;
	return r < 0 ? r : out->status;
}

int mor_pb_from_json(const struct mor_pb_schema *schema, const struct mor_pb_type *type,
		     const struct mor_value *json, unsigned flags, struct mor_buf *out, mortise_error *err)
{
	struct reading rd = { .schema = schema, .where = { .err = err }, .flags = flags };
	int r = read_type(&rd, type, json, out);

	mor_buf_fini(&rd.where.path);
	return r == MORTISE_ENOMEM ? mor_fail_memory(err) : r;
}
