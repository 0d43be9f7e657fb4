/* SPDX-License-Identifier: Apache-2.0 */
#include "kythe/unit/pbc.h"

#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "pb/pb.h"

/* ---- checking ---- */

struct check {
	size_t fields;
	mortise_error *err;
};

static int check_message(struct check *check, const ProtobufCMessageDescriptor *type, struct mor_slice bytes);

static int wrong_field(struct check *check, const ProtobufCMessageDescriptor *type,
		       const ProtobufCFieldDescriptor *field, const char *why)
{
	return mor_fail(check->err, MORTISE_EINPUT, "%s.%s %s", type->short_name, field->name, why);
}

static bool is_length_delimited(ProtobufCType type)
{
	return type == PROTOBUF_C_TYPE_STRING || type == PROTOBUF_C_TYPE_BYTES ||
	       type == PROTOBUF_C_TYPE_MESSAGE;
}

static int check_field(struct check *check, const ProtobufCMessageDescriptor *type,
		       const ProtobufCFieldDescriptor *field, const struct mor_pb *pb)
{
	if (pb->wire != (is_length_delimited(field->type) ? MOR_PB_BYTES : MOR_PB_VARINT))
		return wrong_field(check, type, field, "has the wrong wire type");
	if (field->type == PROTOBUF_C_TYPE_MESSAGE)
		return check_message(check, field->descriptor, pb->bytes);
	if (field->type != PROTOBUF_C_TYPE_STRING)
		return 0;
	if (pb->bytes.len && memchr(pb->bytes.ptr, '\0', pb->bytes.len))
		return wrong_field(check, type, field, "holds a NUL byte");
	if (!mor_utf8_valid(pb->bytes))
		return wrong_field(check, type, field, "is not UTF-8");
	return 0;
}

/* The recursion is only as deep as the types nest: no type in kythe.proto contains itself. */
static int check_message(struct check *check, const ProtobufCMessageDescriptor *type, struct mor_slice bytes)
{
	struct mor_pb pb = { .left = bytes };
	int r;

	while ((r = mor_pb_next(&pb)) > 0) {
		const ProtobufCFieldDescriptor *field = protobuf_c_message_descriptor_get_field(type, pb.field);

		if (++check->fields > MOR_PBC_FIELDS)
			return mor_fail(check->err, MORTISE_EINPUT, "more than %d fields", MOR_PBC_FIELDS);
		if (field && (r = check_field(check, type, field, &pb)) < 0)
			return r;
	}
	return r < 0 ? mor_fail(check->err, r, "%s is not a protocol buffer, or it is cut short",
				type->short_name) :
		       0;
}

int mor_pbc_check(const ProtobufCMessageDescriptor *type, struct mor_slice bytes, mortise_error *err)
{
	return check_message(&(struct check){ .err = err }, type, bytes);
}

/* ---- messages ---- */

static void *take_memory(void *arg, size_t size)
{
	return mor_arena_take(arg, size);
}

static void leave_memory(void *arg, void *memory)
{
	(void)arg;
	(void)memory;
}

/* It was checked before, so only memory can fail here. */
int mor_pbc_unpack(const ProtobufCMessageDescriptor *type, struct mor_slice bytes, struct mor_pbc_message *ret,
		   mortise_error *err)
{
	static const uint8_t nothing[1];
	ProtobufCAllocator allocator = { take_memory, leave_memory, &ret->memory };
	int r = mor_pbc_check(type, bytes, err);

	if (r < 0)
		return r;
	ret->root = protobuf_c_message_unpack(type, &allocator, bytes.len,
					      bytes.len ? (const uint8_t *)bytes.ptr : nothing);
	return ret->root ? 0 : mor_fail_memory(err);
}

void mor_pbc_message_fini(struct mor_pbc_message *message)
{
	mor_arena_fini(&message->memory);
	message->root = NULL;
}

int mor_pbc_pack(const ProtobufCMessage *message, struct mor_buf *out)
{
	size_t len = protobuf_c_message_get_packed_size(message);
	int r = mor_buf_reserve(out, len);

	if (r < 0 || len == 0)
		return r;
	protobuf_c_message_pack(message, (uint8_t *)out->data + out->len);
	out->len += len;
	return 0;
}
