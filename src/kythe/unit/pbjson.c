/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON becomes wire bytes without a message in between: each member becomes a field when it is read. Only
 * Any has its own form: {"@type": URL, members of that type}. If we do not know the type, its JSON is kept
 * as text.
 */
#include "kythe/unit/pbjson.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "kythe/unit/kythe.pb-c.h"
#include "kythe/unit/pbc.h"
#include "pb/pb.h"
#include "pb/where.h"

static const ProtobufCMessageDescriptor *const detail_types[] = {
	&kythe__proto__go_details__descriptor,
	&kythe__proto__java_details__descriptor,
	&kythe__proto__build_details__descriptor,
	&kythe__proto__jar_details__descriptor,
	&kythe__proto__jar_entry_details__descriptor,
	&kythe__proto__cxx_compilation_unit_details__descriptor,
	&kythe__proto__context_dependent_version__descriptor,
};

const ProtobufCMessageDescriptor *mor_detail_type(const char *type_url)
{
	const char *slash = strrchr(type_url, '/');
	const char *name = slash ? slash + 1 : type_url;

	for (size_t i = 0; i < sizeof(detail_types) / sizeof(*detail_types); i++)
		if (strcmp(detail_types[i]->name, name) == 0)
			return detail_types[i];
	return NULL;
}

bool mor_any_known(const char *type_url)
{
	return mor_detail_type(type_url) != NULL;
}

/* ---- from JSON ---- */

static int read_message(struct mor_pb_where *rd, const struct mor_value *object,
			const ProtobufCMessageDescriptor *type, bool any_members, struct mor_buf *out);

/* required_input -> requiredInput */
static bool is_camel_of(struct mor_slice name, const char *proto)
{
	size_t at = 0;

	for (; *proto; proto++) {
		char c = *proto;

		if (c == '_' && proto[1])
			c = (char)toupper((unsigned char)*++proto);
		if (at == name.len || name.ptr[at++] != c)
			return false;
	}
	return at == name.len;
}

static const ProtobufCFieldDescriptor *find_field(const ProtobufCMessageDescriptor *type, struct mor_slice name)
{
	for (unsigned i = 0; i < type->n_fields; i++)
		if (mor_slice_is(name, type->fields[i].name) || is_camel_of(name, type->fields[i].name))
			return &type->fields[i];
	return NULL;
}

static int read_text(struct mor_pb_where *rd, const struct mor_value *value, uint32_t field,
		     struct mor_buf *out)
{
	struct mor_slice text = mor_json_string(value);

	if (!text.ptr)
		return mor_pb_refuse_type(rd, "a string", value);
	if (text.len && memchr(text.ptr, '\0', text.len))
		return mor_pb_refuse(rd, "the text holds a NUL character");
	return mor_pb_put_bytes(out, field, text);
}

static int read_bytes(struct mor_pb_where *rd, const struct mor_value *value, uint32_t field,
		      struct mor_buf *out)
{
	MOR_CLEAN(mor_buf) struct mor_buf bytes = MOR_BUF_INIT;
	struct mor_slice text = mor_json_string(value);

	if (!text.ptr)
		return mor_pb_refuse_type(rd, "base64 in a string", value);
	if (mor_pb_base64(text, &bytes) == MORTISE_EINPUT)
		return mor_pb_refuse(rd, "the text is not base64");
	return mor_buf_failed(&bytes) ? bytes.status : mor_pb_put_bytes(out, field, mor_buf_view(&bytes));
}

static int read_int32(struct mor_pb_where *rd, const struct mor_value *value, uint32_t field,
		      struct mor_buf *out)
{
	struct mor_slice text = mor_json_string(value);
	int64_t number = mor_json_int(value, INT64_MAX);

	if (text.ptr && !mor_parse_i64(text, &number))
		number = INT64_MAX;
	if (number < INT32_MIN || number > INT32_MAX)
		return mor_pb_refuse(rd, "expected a whole number of 32 bits");
	/* A negative number takes ten bytes: it is extended to 64 bits. */
	return mor_pb_put_number(out, field, (uint64_t)number);
}

/* {"@type":...,"value":base64} and no other member: the bytes of any type, unless the type has a field of
 * that name. */
static bool is_bytes(const struct mor_value *object, struct mor_buf *bytes)
{
	struct mor_slice text = mor_json_string(mor_json_get(object, "value"));

	return mor_json_size(object) == 2 && text.ptr && mor_pb_base64(text, bytes) == 0;
}

static int read_unknown_detail(const struct mor_value *object, struct mor_buf *out)
{
	MOR_CLEAN(mor_buf) struct mor_buf bytes = MOR_BUF_INIT;

	if (mor_json_write(object, false, &bytes) < 0)
		return MORTISE_ENOMEM;
	return mor_pb_put_bytes(out, 100, mor_buf_view(&bytes));
}

/* Packed again, so that the same content has the same bytes in any order of its members. */
static int read_known_detail(struct mor_pb_where *rd, const struct mor_value *object,
			     const ProtobufCMessageDescriptor *type, struct mor_buf *out)
{
	MOR_CLEAN(mor_buf) struct mor_buf members = MOR_BUF_INIT;
	MOR_CLEAN(mor_buf) struct mor_buf value = MOR_BUF_INIT;
	MOR_CLEAN(mor_pbc_message) struct mor_pbc_message message = { 0 };
	int r = read_message(rd, object, type, true, &members);

	if (r == 0)
		r = mor_pbc_unpack(type, mor_buf_view(&members), &message, rd->err);
	if (r == 0)
		r = mor_pbc_pack(message.root, &value);
	if (r < 0 || value.len == 0)
		return r;
	return mor_pb_put_bytes(out, 2, mor_buf_view(&value));
}

static int read_any(struct mor_pb_where *rd, const struct mor_value *object, struct mor_buf *out)
{
	MOR_CLEAN(mor_buf) struct mor_buf bytes = MOR_BUF_INIT;
	const struct mor_value *url = mor_json_get(object, "@type");
	const ProtobufCMessageDescriptor *type;
	int r;

	if (!url)
		return mor_pb_refuse(rd, "\"@type\" is missing");
	r = read_text(rd, url, 1, out);
	if (r < 0)
		return r;
	type = mor_detail_type(mor_json_text(url, ""));
	if (is_bytes(object, &bytes) && !(type && find_field(type, MOR_SLICE("value"))))
		return mor_pb_put_bytes(out, 2, mor_buf_view(&bytes));
	return type ? read_known_detail(rd, object, type, out) : read_unknown_detail(object, out);
}

static int read_sub(struct mor_pb_where *rd, const struct mor_value *value,
		    const ProtobufCFieldDescriptor *field, struct mor_buf *out)
{
	MOR_CLEAN(mor_buf) struct mor_buf inside = MOR_BUF_INIT;
	int r;

	if (mor_json_type(value) != MOR_JSON_OBJECT)
		return mor_pb_refuse_type(rd, "an object", value);
	if (field->descriptor == &kythe__proto__any__descriptor)
		r = read_any(rd, value, &inside);
	else
		r = read_message(rd, value, field->descriptor, false, &inside);
	return r < 0 ? r : mor_pb_put_bytes(out, field->id, mor_buf_view(&inside));
}

static int read_one(struct mor_pb_where *rd, const struct mor_value *value,
		    const ProtobufCFieldDescriptor *field, struct mor_buf *out)
{
	switch (field->type) {
	case PROTOBUF_C_TYPE_STRING:
		return read_text(rd, value, field->id, out);
	case PROTOBUF_C_TYPE_BYTES:
		return read_bytes(rd, value, field->id, out);
	case PROTOBUF_C_TYPE_INT32:
		return read_int32(rd, value, field->id, out);
	case PROTOBUF_C_TYPE_BOOL:
		if (mor_json_type(value) != MOR_JSON_BOOL)
			return mor_pb_refuse_type(rd, "true or false", value);
		return mor_pb_put_number(out, field->id, mor_json_bool(value, false));
	default:
		return read_sub(rd, value, field, out);
	}
}

static int read_list(struct mor_pb_where *rd, const struct mor_value *value,
		     const ProtobufCFieldDescriptor *field, struct mor_buf *out)
{
	struct mor_json_iter it = mor_json_iter(value);
	size_t before = rd->path.len;
	int r = 0;

	if (mor_json_type(value) != MOR_JSON_ARRAY)
		return mor_pb_refuse_type(rd, "an array", value);
	for (size_t i = 0; r == 0 && mor_json_next(&it); i++) {
		rd->path.len = before;
		mor_pb_where_item(rd, i);
		r = read_one(rd, it.value, field, out);
	}
	return r;
}

static int read_member(struct mor_pb_where *rd, const struct mor_json_iter *it,
		       const ProtobufCMessageDescriptor *type, uint64_t *seen, struct mor_buf *out)
{
	const ProtobufCFieldDescriptor *field = find_field(type, it->name);
	uint64_t bit;

	mor_pb_where_member(rd, it->name);
	if (!field)
		return mor_pb_refuse(rd, "unknown field");
	bit = (uint64_t)1 << (field - type->fields);
	if (*seen & bit)
		return mor_pb_refuse(rd, "given twice");
	*seen |= bit;
	if (mor_json_type(it->value) == MOR_JSON_NULL)
		return 0;
	return field->label == PROTOBUF_C_LABEL_REPEATED ? read_list(rd, it->value, field, out) :
							   read_one(rd, it->value, field, out);
}

static int read_message(struct mor_pb_where *rd, const struct mor_value *object,
			const ProtobufCMessageDescriptor *type, bool any_members, struct mor_buf *out)
{
	struct mor_json_iter it = mor_json_iter(object);
	size_t before = rd->path.len;
	uint64_t seen = 0;
	int r = 0;

	while (r == 0 && mor_json_next(&it)) {
		rd->path.len = before;
		if (!(any_members && mor_slice_is(it.name, "@type")))
			r = read_member(rd, &it, type, &seen, out);
	}
	if (r == 0)
		rd->path.len = before;
	return r;
}

int mor_pbc_from_json(const struct mor_value *object, const ProtobufCMessageDescriptor *type, const char *where,
		      struct mor_buf *out, mortise_error *err)
{
	struct mor_pb_where rd = { .err = err };
	int r;

	mor_buf_text(&rd.path, where);
	if (mor_json_type(object) != MOR_JSON_OBJECT)
		r = mor_pb_refuse_type(&rd, "an object", object);
	else
		r = read_message(&rd, object, type, false, out);
	mor_buf_fini(&rd.path);
	if (r == 0 && mor_buf_failed(out))
		r = out->status;
	return r == MORTISE_ENOMEM ? mor_fail_memory(err) : r;
}

/* ---- to JSON ---- */

struct writing {
	enum mor_pbc_names names;
	struct mor_writer *w;
};

static void write_members(const struct writing *wr, const ProtobufCMessage *message);

static void write_key(const struct writing *wr, const char *proto)
{
	char camel[64];
	size_t len = 0;

	if (wr->names == MOR_PBC_PROTO_NAMES) {
		mor_w_key(wr->w, proto);
		return;
	}
	for (; *proto && len + 1 < sizeof(camel); proto++)
		camel[len++] = *proto == '_' && proto[1] ? (char)toupper((unsigned char)*++proto) : *proto;
	camel[len] = '\0';
	mor_w_key(wr->w, camel);
}

static void write_base64(struct mor_writer *w, struct mor_slice bytes)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;

	mor_base64_encode(bytes, &text);
	mor_w_slice(w, (struct mor_slice){ text.data ? text.data : "", text.len });
	if (mor_buf_failed(&text))
		w->out->status = text.status;
}

static struct mor_slice slice_of_data(const ProtobufCBinaryData *data)
{
	return (struct mor_slice){ (const char *)data->data, data->len };
}

/* True if a singular field has its default value. */
static bool is_default(const ProtobufCFieldDescriptor *field, const void *at)
{
	switch (field->type) {
	case PROTOBUF_C_TYPE_STRING:
		return **(char *const *)at == '\0';
	case PROTOBUF_C_TYPE_BYTES:
		return ((const ProtobufCBinaryData *)at)->len == 0;
	case PROTOBUF_C_TYPE_MESSAGE:
		return *(ProtobufCMessage *const *)at == NULL;
	case PROTOBUF_C_TYPE_BOOL:
		return *(const protobuf_c_boolean *)at == 0;
	default:
		return *(const int32_t *)at == 0;
	}
}

static void write_any_message(const struct writing *wr, const Kythe__Proto__Any *any)
{
	struct mor_any plain = { .type_url = any->type_url };

	if (any->json.len)
		plain.json = slice_of_data(&any->json);
	else
		plain.value = (struct mor_slice){ any->value.len ? (const char *)any->value.data : "",
						  any->value.len };
	mor_any_to_json(&plain, wr->names, wr->w);
}

static void write_one(const struct writing *wr, const ProtobufCFieldDescriptor *field, const void *at)
{
	switch (field->type) {
	case PROTOBUF_C_TYPE_STRING:
		mor_w_string(wr->w, *(char *const *)at);
		break;
	case PROTOBUF_C_TYPE_BYTES:
		write_base64(wr->w, slice_of_data(at));
		break;
	case PROTOBUF_C_TYPE_BOOL:
		mor_w_bool(wr->w, *(const protobuf_c_boolean *)at);
		break;
	case PROTOBUF_C_TYPE_MESSAGE:
		if (field->descriptor == &kythe__proto__any__descriptor) {
			write_any_message(wr, *(Kythe__Proto__Any *const *)at);
			break;
		}
		mor_w_object(wr->w);
		write_members(wr, *(ProtobufCMessage *const *)at);
		mor_w_end(wr->w);
		break;
	default:
		mor_w_int(wr->w, *(const int32_t *)at);
	}
}

/* The only repeated fields in kythe.proto are texts and messages: both are arrays of pointers. */
static void write_field(const struct writing *wr, const ProtobufCMessage *message,
			const ProtobufCFieldDescriptor *field)
{
	const char *base = (const char *)message;
	const void *at = base + field->offset;
	bool repeated = field->label == PROTOBUF_C_LABEL_REPEATED;
	size_t count = repeated ? *(const size_t *)(base + field->quantifier_offset) : 0;

	if (repeated ? count == 0 : is_default(field, at))
		return;
	write_key(wr, field->name);
	if (!repeated) {
		write_one(wr, field, at);
		return;
	}
	mor_w_array(wr->w);
	for (size_t i = 0; i < count; i++)
		write_one(wr, field, *(void *const *const *)at + i);
	mor_w_end(wr->w);
}

static void write_members(const struct writing *wr, const ProtobufCMessage *message)
{
	for (unsigned i = 0; i < message->descriptor->n_fields; i++)
		write_field(wr, message, &message->descriptor->fields[i]);
}

void mor_pbc_to_json(const ProtobufCMessage *message, enum mor_pbc_names names, struct mor_writer *w)
{
	mor_w_object(w);
	write_members(&(struct writing){ names, w }, message);
	mor_w_end(w);
}

/* Unknown fields at any depth: protobuf-c keeps them, but JSON has no place for them. */
static bool has_unknown(const ProtobufCMessage *message)
{
	bool found = message->n_unknown_fields != 0;

	for (unsigned i = 0; !found && i < message->descriptor->n_fields; i++) {
		const ProtobufCFieldDescriptor *field = &message->descriptor->fields[i];
		const char *base = (const char *)message;
		bool repeated = field->label == PROTOBUF_C_LABEL_REPEATED;
		const ProtobufCMessage *const *one = (const void *)(base + field->offset);
		size_t count = repeated ? *(const size_t *)(base + field->quantifier_offset) : 1;

		if (field->type != PROTOBUF_C_TYPE_MESSAGE)
			continue;
		if (repeated)
			one = *(const ProtobufCMessage *const *const *)(const void *)one;
		for (size_t k = 0; !found && k < count; k++)
			found = one[k] && has_unknown(one[k]);
	}
	return found;
}

/* Would the members give exactly these bytes again? Not with unknown fields, or in another order. */
static bool is_exact(const ProtobufCMessage *message, struct mor_slice bytes, struct mor_writer *w)
{
	MOR_CLEAN(mor_buf) struct mor_buf again = MOR_BUF_INIT;

	if (mor_pbc_pack(message, &again) < 0)
		w->out->status = again.status;
	return !has_unknown(message) && mor_slice_eq(mor_buf_view(&again), bytes);
}

/* Bytes that do not fit their claimed type are shown as bytes. In an archive also those that would change,
 * because the unit's digest would change with them. */
void mor_any_to_json(const struct mor_any *any, enum mor_pbc_names names, struct mor_writer *w)
{
	const ProtobufCMessageDescriptor *type = mor_detail_type(any->type_url);
	MOR_CLEAN(mor_pbc_message) struct mor_pbc_message message = { 0 };
	int r = 0;

	if (any->json.ptr) {
		mor_w_raw(w, any->json);
		return;
	}
	mor_w_object(w);
	mor_w_pair(w, "@type", any->type_url);
	if (type)
		r = mor_pbc_unpack(type, any->value, &message, NULL);
	if (r == MORTISE_ENOMEM)
		w->out->status = r;
	if (message.root && (names == MOR_PBC_CAMEL_CASE || is_exact(message.root, any->value, w))) {
		write_members(&(struct writing){ names, w }, message.root);
	} else {
		mor_w_key(w, "value");
		write_base64(w, any->value);
	}
	mor_w_end(w);
}
