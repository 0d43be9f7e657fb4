/* SPDX-License-Identifier: Apache-2.0 */
/* A message as JSON: field by field from its spots, without a copy of it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "pb/json.h"
#include "pb/known.h"
#include "pb/scalar.h"
#include "pb/spots.h"

struct json_writing {
	const struct mor_pb_schema *schema;
	struct mor_pb_spots spots;
	struct mor_writer w;
	unsigned flags;
	mortise_error *err;
};

static int write_type(struct json_writing *wr, const struct mor_pb_type *type,
		      const struct mor_pb_pieces *pieces);
static int write_field(struct json_writing *wr, const struct mor_pb_field *field, size_t from, size_t to);

static int refuse_value(struct json_writing *wr, struct mor_slice name, const char *why)
{
	return mor_fail(wr->err, MORTISE_EPROTO, "%s %s", name.ptr, why);
}

static int open_level(struct json_writing *wr, bool object)
{
	if (wr->w.depth >= MOR_PB_DEPTH)
		return mor_fail(wr->err, MORTISE_EPROTO, "the message is nested deeper than %d", MOR_PB_DEPTH);
	if (object)
		mor_w_object(&wr->w);
	else
		mor_w_array(&wr->w);
	return 0;
}

static int close_level(struct json_writing *wr, int r)
{
	mor_w_end(&wr->w);
	return r < 0 ? r : wr->w.out->status;
}

static void write_name(struct json_writing *wr, const struct mor_pb_field *field)
{
	mor_w_key_slice(&wr->w, wr->flags & MOR_PB_PROTO_NAMES ? field->name : field->json_name);
}

static int push_spots(struct json_writing *wr, const struct mor_pb_type *type,
		      const struct mor_pb_pieces *pieces)
{
	int r = mor_pb_spots_push(&wr->spots, type, pieces);

	if (r == MORTISE_EINPUT)
		return refuse_value(wr, type->name, "is not a protocol buffer, or it is cut short");
	if (r == MORTISE_ELIMIT)
		return mor_fail(wr->err, MORTISE_ELIMIT, "the message has more than %d values", MOR_PB_VALUES);
	return r;
}

/* ---- repeated fields ---- */

/* Opens the array before its first element: an empty one is not written. */
static int write_item(struct json_writing *wr, const struct mor_pb_field *field,
		      const struct mor_pb_scalar *value, bool *open)
{
	int r = 0;

	if (field->values && field->values->closed &&
	    !mor_pb_enum_choice(field->values, (int32_t)(uint32_t)value->bits))
		return 0;
	if (!*open) {
		write_name(wr, field);
		r = open_level(wr, false);
		*open = r == 0;
	}
	return r < 0 ? r : mor_pb_scalar_write(&wr->w, field, value, wr->err);
}

static int write_packed(struct json_writing *wr, const struct mor_pb_field *field, struct mor_slice packed,
			bool *open)
{
	struct mor_pb_scalar value;
	int r;

	while ((r = mor_pb_scalar_next(field->kind, &packed, &value)) > 0)
		if ((r = write_item(wr, field, &value, open)) < 0)
			return r;
	return r < 0 ? refuse_value(wr, field->name, "holds numbers that are cut short") : 0;
}

static int write_scalars(struct json_writing *wr, const struct mor_pb_field *field, size_t from, size_t to)
{
	bool open = false;
	int r = 0;

	for (size_t i = from; r == 0 && i < to; i++) {
		struct mor_pb value = mor_pb_spots_value(&wr->spots, i);
		struct mor_pb_scalar scalar;

		r = mor_pb_scalar_of(field->kind, &value, &scalar) ?
			    write_item(wr, field, &scalar, &open) :
			    write_packed(wr, field, value.bytes, &open);
	}
	return open ? close_level(wr, r) : r;
}

/* The elements of an array of messages, without a key. */
static int write_messages(struct json_writing *wr, const struct mor_pb_type *type, size_t from, size_t to)
{
	int r = open_level(wr, false);

	if (r < 0)
		return r;
	for (size_t i = from; r == 0 && i < to; i++)
		r = write_type(wr, type, &(struct mor_pb_pieces){ .from = i, .to = i + 1 });
	return close_level(wr, r);
}

/* ---- maps ---- */

struct entry {
	struct mor_pb_scalar key;
	size_t order;
	struct mor_slice bytes;
};

static int compare_keys(const struct entry *a, const struct entry *b)
{
	size_t len = a->key.bytes.len < b->key.bytes.len ? a->key.bytes.len : b->key.bytes.len;
	int r = len ? memcmp(a->key.bytes.ptr, b->key.bytes.ptr, len) : 0;

	if (r || a->key.bytes.len != b->key.bytes.len)
		return r ? r : a->key.bytes.len < b->key.bytes.len ? -1 : 1;
	return (a->key.bits > b->key.bits) - (a->key.bits < b->key.bits);
}

static int compare_entries(const void *a, const void *b)
{
	const struct entry *one = a, *two = b;
	int r = compare_keys(one, two);

	return r ? r : one->order < two->order ? -1 : 1;
}

static int read_key(struct json_writing *wr, const struct mor_pb_field *key, struct entry *entry)
{
	struct mor_pb pb = { .left = entry->bytes };
	int r;

	while ((r = mor_pb_next(&pb)) > 0)
		if (pb.field == 1)
			mor_pb_scalar_of(key->kind, &pb, &entry->key);
	if (r < 0)
		return refuse_value(wr, key->name, "is in an entry of a map that is cut short");
	return 0;
}

/* A value that is not there is the default of its type. */
static int write_entry(struct json_writing *wr, const struct mor_pb_type *type, const struct entry *entry)
{
	const struct mor_pb_field *value = &type->fields[1];
	struct mor_pb_scalar scalar = { .bits = value->values ? (uint32_t)value->values->zero : 0 };
	size_t from = wr->spots.used, at;
	int r = push_spots(wr, type, &(struct mor_pb_pieces){ .one = entry->bytes });

	for (at = from; r == 0 && at < wr->spots.used && wr->spots.stack[at].field == 0; at++)
		;
	if (r == 0)
		r = mor_pb_scalar_write_key(&wr->w, &type->fields[0], &entry->key, wr->err);
	if (r == 0 && value->type) {
		r = write_type(wr, value->type, &(struct mor_pb_pieces){ .from = at, .to = wr->spots.used });
	} else if (r == 0) {
		if (at < wr->spots.used) {
			struct mor_pb last = mor_pb_spots_value(&wr->spots, wr->spots.used - 1);

			mor_pb_scalar_of(value->kind, &last, &scalar);
		}
		r = mor_pb_scalar_write(&wr->w, value, &scalar, wr->err);
	}
	wr->spots.used = from;
	return r;
}

static int write_entries(struct json_writing *wr, const struct mor_pb_type *type, struct entry *entries,
			 size_t count)
{
	int r = open_level(wr, true);

	if (r < 0)
		return r;
	for (size_t i = 0; r == 0 && i < count; i++)
		if (i + 1 == count || compare_keys(&entries[i], &entries[i + 1]) != 0)
			r = write_entry(wr, type, &entries[i]);
	return close_level(wr, r);
}

/* Of two entries with one key, the last counts; so they are sorted. */
static int write_map(struct json_writing *wr, const struct mor_pb_field *field, size_t from, size_t to)
{
	struct entry *entries = mor_alloc((to - from) * sizeof(*entries));
	int r = entries ? 0 : MORTISE_ENOMEM;

	for (size_t i = from; r == 0 && i < to; i++) {
		struct entry *entry = &entries[i - from];

		*entry = (struct entry){ .order = i, .bytes = mor_pb_spots_value(&wr->spots, i).bytes };
		r = read_key(wr, &field->type->fields[0], entry);
	}
	if (r == 0) {
		qsort(entries, to - from, sizeof(*entries), compare_entries);
		r = write_entries(wr, field->type, entries, to - from);
	}
	mor_free(entries);
	return r;
}

/* ---- fields ---- */

static int write_single(struct json_writing *wr, const struct mor_pb_field *field, size_t last)
{
	struct mor_pb value = mor_pb_spots_value(&wr->spots, last);
	struct mor_pb_scalar scalar = { 0 };

	mor_pb_scalar_of(field->kind, &value, &scalar);
	if (!field->presence && mor_pb_scalar_is_zero(&scalar))
		return 0;
	write_name(wr, field);
	return mor_pb_scalar_write(&wr->w, field, &scalar, wr->err);
}

static int write_field(struct json_writing *wr, const struct mor_pb_field *field, size_t from, size_t to)
{
	if (field->kind == MOR_PB_GROUP)
		return refuse_value(wr, field->name, "is a group, which is not supported");
	if (field->kind != MOR_PB_MESSAGE)
		return field->repeated ? write_scalars(wr, field, from, to) : write_single(wr, field, to - 1);
	write_name(wr, field);
	if (field->map)
		return write_map(wr, field, from, to);
	return field->repeated ? write_messages(wr, field->type, from, to) :
				 write_type(wr, field->type, &(struct mor_pb_pieces){ .from = from, .to = to });
}

static int write_fields(struct json_writing *wr, const struct mor_pb_type *type, size_t from)
{
	size_t to = wr->spots.used;
	int r = 0;

	for (size_t i = from, end; r == 0 && i < to; i = end) {
		end = mor_pb_spots_end(&wr->spots, i, to);
		r = write_field(wr, &type->fields[wr->spots.stack[i].field], i, end);
	}
	return r < 0 ? r : wr->w.out->status;
}

/* ---- the types with a JSON of their own ---- */

/* The number of a field that is not repeated; 0: not there. */
static uint64_t number_of(const struct json_writing *wr, const struct mor_pb_type *type, size_t from,
			  uint32_t field)
{
	struct mor_pb_scalar scalar = { 0 };

	for (size_t i = from; i < wr->spots.used; i++)
		if (wr->spots.stack[i].field == field) {
			struct mor_pb value = mor_pb_spots_value(&wr->spots, i);

			mor_pb_scalar_of(type->fields[field].kind, &value, &scalar);
		}
	return scalar.bits;
}

static int write_time(struct json_writing *wr, const struct mor_pb_type *type, size_t from)
{
	struct mor_pb_time time = { (int64_t)number_of(wr, type, from, 0),
				    (int32_t)(uint32_t)number_of(wr, type, from, 1) };
	char text[MOR_PB_TIME_TEXT];
	bool ok = type->known == MOR_PB_TIMESTAMP ? mor_pb_timestamp_text(time, text) :
						    mor_pb_duration_text(time, text);

	if (!ok)
		return refuse_value(wr, type->name, "is out of its range");
	mor_w_string(&wr->w, text);
	return 0;
}

static int write_mask(struct json_writing *wr, const struct mor_pb_type *type, size_t from)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;

	for (size_t i = from; i < wr->spots.used; i++) {
		if (i > from)
			mor_buf_byte(&text, ',');
		if (!mor_pb_path_to_camel(mor_pb_spots_value(&wr->spots, i).bytes, &text))
			return refuse_value(wr, type->name, "holds a path that JSON cannot say");
	}
	mor_w_slice(&wr->w, text.len ? mor_buf_view(&text) : MOR_SLICE(""));
	return text.status;
}

static int write_wrapper(struct json_writing *wr, const struct mor_pb_type *type, size_t from)
{
	struct mor_pb_scalar scalar = { 0 };

	if (from < wr->spots.used) {
		struct mor_pb value = mor_pb_spots_value(&wr->spots, wr->spots.used - 1);

		mor_pb_scalar_of(type->fields[0].kind, &value, &scalar);
	}
	return mor_pb_scalar_write(&wr->w, &type->fields[0], &scalar, wr->err);
}

/* A Value: null, number, string, bool, object, array; nothing set is null. */
static int write_any_value(struct json_writing *wr, const struct mor_pb_type *type, size_t from)
{
	const struct mor_pb_field *field;
	struct mor_pb_scalar scalar = { 0 };
	struct mor_pb value;

	if (from == wr->spots.used) {
		mor_w_null(&wr->w);
		return 0;
	}
	field = &type->fields[wr->spots.stack[from].field];
	if (field->type)
		return write_type(wr, field->type,
				  &(struct mor_pb_pieces){ .from = from, .to = wr->spots.used });
	value = mor_pb_spots_value(&wr->spots, wr->spots.used - 1);
	mor_pb_scalar_of(field->kind, &value, &scalar);
	if (field->kind == MOR_PB_DOUBLE && !isfinite(mor_pb_scalar_double(&scalar)))
		return refuse_value(wr, type->name, "is a number that JSON does not have");
	return mor_pb_scalar_write(&wr->w, field, &scalar, wr->err);
}

static int write_struct(struct json_writing *wr, const struct mor_pb_type *type, size_t from)
{
	int r;

	if (from < wr->spots.used)
		return write_map(wr, &type->fields[0], from, wr->spots.used);
	r = open_level(wr, true);
	return r < 0 ? r : close_level(wr, 0);
}

static struct mor_slice bytes_of(const struct json_writing *wr, size_t from, uint32_t field)
{
	struct mor_slice bytes = { "", 0 };

	for (size_t i = from; i < wr->spots.used; i++)
		if (wr->spots.stack[i].field == field)
			bytes = mor_pb_spots_value(&wr->spots, i).bytes;
	return bytes;
}

/* {"@type":...} and the members of the message in it, or its own JSON as "value". */
static int write_any_members(struct json_writing *wr, const struct mor_pb_type *type, struct mor_slice value)
{
	size_t from = wr->spots.used;
	int r;

	if (type->known) {
		mor_w_key(&wr->w, "value");
		return write_type(wr, type, &(struct mor_pb_pieces){ .one = value });
	}
	r = push_spots(wr, type, &(struct mor_pb_pieces){ .one = value });
	if (r == 0)
		r = write_fields(wr, type, from);
	wr->spots.used = from;
	return r;
}

static int write_any(struct json_writing *wr, const struct mor_pb_type *any, size_t from)
{
	struct mor_slice url = bytes_of(wr, from, 0), value = bytes_of(wr, from, 1), name = url;
	const char *slash = url.len ? memrchr(url.ptr, '/', url.len) : NULL;
	const struct mor_pb_type *type;
	char why[300], shown[200];
	int r;

	if (slash)
		name = (struct mor_slice){ slash + 1, url.len - (size_t)(slash + 1 - url.ptr) };
	type = mor_pb_schema_type(wr->schema, name);
	if (!type && (url.len || value.len)) {
		snprintf(why, sizeof(why), "holds a \"%s\", which no file describes",
			 mor_excerpt(name, shown, sizeof(shown)));
		return refuse_value(wr, any->name, why);
	}
	if (!mor_utf8_valid(url))
		return refuse_value(wr, any->name, "has a type that is not UTF-8");
	if ((r = open_level(wr, true)) < 0)
		return r;
	if (type) {
		mor_w_pair_slice(&wr->w, "@type", url);
		r = write_any_members(wr, type, value);
	}
	return close_level(wr, r);
}

static int write_known(struct json_writing *wr, const struct mor_pb_type *type, size_t from)
{
	switch (type->known) {
	case MOR_PB_TIMESTAMP:
	case MOR_PB_DURATION:
		return write_time(wr, type, from);
	case MOR_PB_FIELD_MASK:
		return write_mask(wr, type, from);
	case MOR_PB_STRUCT:
		return write_struct(wr, type, from);
	case MOR_PB_LIST_VALUE:
		return write_messages(wr, type->fields[0].type, from, wr->spots.used);
	case MOR_PB_VALUE:
		return write_any_value(wr, type, from);
	case MOR_PB_WRAPPER:
		return write_wrapper(wr, type, from);
	default:
		return write_any(wr, type, from);
	}
}

static int write_type(struct json_writing *wr, const struct mor_pb_type *type,
		      const struct mor_pb_pieces *pieces)
{
	size_t from = wr->spots.used;
	int r;

	if (type->own)
		return type->own->on_write(mor_pb_spots_value(&wr->spots, pieces->from).bytes, wr->flags,
					   &wr->w, wr->err);
	r = push_spots(wr, type, pieces);
	if (r == 0 && type->known) {
		r = write_known(wr, type, from);
	} else if (r == 0) {
		r = open_level(wr, true);
		if (r == 0)
			r = close_level(wr, write_fields(wr, type, from));
	}
	wr->spots.used = from;
	return r;
}

int mor_pb_members_to_json(const struct mor_pb_type *type, struct mor_slice message, unsigned flags,
			   struct mor_writer *w, mortise_error *err)
{
	struct json_writing wr = {
		.spots = { .all = message, .limit = MOR_PB_VALUES }, .w = *w, .flags = flags, .err = err
	};
	int r = write_any_members(&wr, type, message);

	*w = wr.w;
	mor_pb_spots_fini(&wr.spots);
	return r;
}

int mor_pb_to_json(const struct mor_pb_schema *schema, const struct mor_pb_type *type, struct mor_slice message,
		   unsigned flags, struct mor_buf *out, mortise_error *err)
{
	struct json_writing wr = { .schema = schema,
				   .spots = { .all = message, .limit = MOR_PB_VALUES },
				   .w = { .out = out },
				   .flags = flags,
				   .err = err };
	int r = message.len > UINT32_MAX ? mor_fail(err, MORTISE_ELIMIT, "the message has more than 4 GiB") :
					   write_type(&wr, type, &(struct mor_pb_pieces){ .one = message });

	mor_pb_spots_fini(&wr.spots);
	if (r == 0)
		r = out->status;
	if (r == MORTISE_ELIMIT && out->status == MORTISE_ELIMIT)
		return mor_fail(err, r, "the message has more than %zu bytes as JSON", out->limit);
	return r == MORTISE_ENOMEM ? mor_fail_memory(err) : r;
}
