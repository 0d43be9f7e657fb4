/* SPDX-License-Identifier: Apache-2.0 */
#include "pb/scalar.h"

#include <endian.h>
#include <string.h>

/* ---- from the wire ---- */

static uint64_t shape_bits(enum mor_pb_kind kind, uint64_t bits)
{
	switch (kind) {
	case MOR_PB_INT32:
	case MOR_PB_ENUM:
	case MOR_PB_UINT32:
		return (uint32_t)bits;
	case MOR_PB_SINT32:
		bits = (uint32_t)bits;
		return (uint32_t)(bits >> 1 ^ -(bits & 1));
	case MOR_PB_SINT64:
		return bits >> 1 ^ -(bits & 1);
	case MOR_PB_BOOL:
		return bits != 0;
	default:
		return bits;
	}
}

static uint64_t load_fixed(const char *ptr, size_t len)
{
	uint64_t wide = 0;

	memcpy(&wide, ptr, len);
	return le64toh(wide);
}

bool mor_pb_scalar_of(enum mor_pb_kind kind, const struct mor_pb *value, struct mor_pb_scalar *ret)
{
	if (value->wire != mor_pb_kind_wire(kind))
		return false;
	*ret = (struct mor_pb_scalar){ 0 };
	if (value->wire == MOR_PB_VARINT)
		ret->bits = shape_bits(kind, value->number);
	else if (value->wire == MOR_PB_BYTES)
		ret->bytes = value->bytes;
	else
		ret->bits = load_fixed(value->bytes.ptr, value->bytes.len);
	return true;
}

int mor_pb_scalar_next(enum mor_pb_kind kind, struct mor_slice *packed, struct mor_pb_scalar *ret)
{
	enum mor_pb_wire wire = mor_pb_kind_wire(kind);
	int len = wire == MOR_PB_FIXED64 ? 8 : 4;

	if (packed->len == 0)
		return 0;
	*ret = (struct mor_pb_scalar){ 0 };
	if (wire == MOR_PB_VARINT) {
		len = mor_pb_varint(packed->ptr, packed->len, &ret->bits);
		ret->bits = shape_bits(kind, ret->bits);
	} else if ((size_t)len <= packed->len) {
		ret->bits = load_fixed(packed->ptr, (size_t)len);
	}
	if (len <= 0 || (size_t)len > packed->len)
		return MORTISE_EINPUT;
	*packed = (struct mor_slice){ packed->ptr + len, packed->len - (size_t)len };
	return 1;
}

double mor_pb_scalar_double(const struct mor_pb_scalar *value)
{
	double number;

	memcpy(&number, &value->bits, sizeof(number));
	return number;
}

/* ---- to the wire ---- */

static void put_fixed(struct mor_buf *out, uint64_t bits, unsigned len)
{
	for (unsigned i = 0; i < len; i++)
		mor_buf_byte(out, (char)(bits >> 8 * i));
}

void mor_pb_scalar_put(struct mor_buf *out, enum mor_pb_kind kind, const struct mor_pb_scalar *value)
{
	switch (mor_pb_kind_wire(kind)) {
	case MOR_PB_FIXED64:
		put_fixed(out, value->bits, 8);
		break;
	case MOR_PB_FIXED32:
		put_fixed(out, value->bits, 4);
		break;
	case MOR_PB_BYTES:
		mor_pb_put_varint(out, value->bytes.len);
		mor_buf_slice(out, value->bytes);
		break;
	default:
		mor_pb_put_varint(out, kind == MOR_PB_SINT32 || kind == MOR_PB_SINT64 ?
					       (value->bits << 1 ^ (0 - (value->bits >> 63))) :
					       value->bits);
	}
}

void mor_pb_scalar_put_field(struct mor_buf *out, const struct mor_pb_field *field,
			     const struct mor_pb_scalar *value)
{
	mor_pb_put_varint(out, (uint64_t)field->number << 3 | mor_pb_kind_wire(field->kind));
	mor_pb_scalar_put(out, field->kind, value);
}
