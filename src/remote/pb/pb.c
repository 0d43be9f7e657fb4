/* SPDX-License-Identifier: Apache-2.0 */
#include "pb/pb.h"

#include <string.h>

#include "base/alloc.h"
#include "wire/json.h"

/* ---- reading ---- */

int mor_pb_varint(const char *p, size_t len, uint64_t *ret)
{
	uint64_t number = 0;

	for (unsigned i = 0; i < 10; i++) {
		uint64_t byte;

		if (i == len)
			return 0;
		byte = (unsigned char)p[i];
		/* The tenth byte holds the last of 64 bits. */
		if (i == 9 && byte > 1)
			return -1;
		number |= (byte & 0x7f) << 7 * i;
		if (byte < 0x80) {
			*ret = number;
			return (int)i + 1;
		}
	}
	return -1;
}

static bool take_bytes(struct mor_pb *pb, size_t len, struct mor_slice *ret)
{
	if (len > pb->left.len)
		return false;
	*ret = (struct mor_slice){ pb->left.ptr, len };
	pb->left.ptr += len;
	pb->left.len -= len;
	return true;
}

static bool take_varint(struct mor_pb *pb, uint64_t *ret)
{
	struct mor_slice skipped;
	int len = mor_pb_varint(pb->left.ptr, pb->left.len, ret);

	return len > 0 && take_bytes(pb, (size_t)len, &skipped);
}

static bool take_value(struct mor_pb *pb)
{
	switch (pb->wire) {
	case MOR_PB_VARINT:
		return take_varint(pb, &pb->number);
	case MOR_PB_FIXED64:
		return take_bytes(pb, 8, &pb->bytes);
	case MOR_PB_FIXED32:
		return take_bytes(pb, 4, &pb->bytes);
	case MOR_PB_BYTES:
		return take_varint(pb, &pb->number) && pb->number <= pb->left.len &&
		       take_bytes(pb, (size_t)pb->number, &pb->bytes);
	}
	return false;
}

/* Most fields have a small number and hold fewer than 128 bytes: then tag and length are a byte each. */
static inline bool take_short(struct mor_pb *pb)
{
	const unsigned char *p = (const unsigned char *)pb->left.ptr;

	if (pb->left.len < 2 || p[0] < 8 || p[0] >= 0x80 || (p[0] & 7) != MOR_PB_BYTES || p[1] >= 0x80 ||
	    p[1] > pb->left.len - 2)
		return false;
	pb->field = p[0] >> 3;
	pb->wire = MOR_PB_BYTES;
	pb->number = p[1];
	pb->bytes = (struct mor_slice){ pb->left.ptr + 2, p[1] };
	pb->left = (struct mor_slice){ pb->left.ptr + 2 + p[1], pb->left.len - 2 - p[1] };
	return true;
}

int mor_pb_next(struct mor_pb *pb)
{
	uint64_t tag = 0;

	if (pb->left.len == 0)
		return 0;
	if (take_short(pb))
		return 1;
	if (!take_varint(pb, &tag) || tag >> 3 == 0 || tag >> 3 > 0x1fffffff)
		return MORTISE_EINPUT;
	pb->field = (uint32_t)(tag >> 3);
	pb->wire = (enum mor_pb_wire)(tag & 7);
	return take_value(pb) ? 1 : MORTISE_EINPUT;
}

/* ---- writing ---- */

int mor_pb_put_varint(struct mor_buf *out, uint64_t number)
{
	char bytes[10];
	size_t len = 0;

	for (; number >= 0x80; number >>= 7)
		bytes[len++] = (char)(number | 0x80);
	bytes[len++] = (char)number;
	return mor_buf_append(out, bytes, len);
}

int mor_pb_put_number(struct mor_buf *out, uint32_t field, uint64_t number)
{
	mor_pb_put_varint(out, (uint64_t)field << 3 | MOR_PB_VARINT);
	return mor_pb_put_varint(out, number);
}

int mor_pb_put_bytes(struct mor_buf *out, uint32_t field, struct mor_slice bytes)
{
	mor_pb_put_varint(out, (uint64_t)field << 3 | MOR_PB_BYTES);
	mor_pb_put_varint(out, bytes.len);
	return mor_buf_slice(out, bytes);
}

int mor_pb_put_text(struct mor_buf *out, uint32_t field, const char *text)
{
	return *text ? mor_pb_put_bytes(out, field, mor_slice_of(text)) : 0;
}

/* ---- base64 ---- */

int mor_pb_base64(struct mor_slice text, struct mor_buf *out)
{
	MOR_CLEAN(mor_buf) struct mor_buf plain = MOR_BUF_INIT;
	int r;

	if (text.len && text.len % 4 == 0 && text.ptr[text.len - 1] == '=')
		text.len -= text.ptr[text.len - 2] == '=' ? 2 : 1;
	/* Without padding, the last group of four has two or three characters. */
	if (text.len % 4 == 1 || (text.len && memchr(text.ptr, '=', text.len)))
		return MORTISE_EINPUT;
	mor_buf_reserve(&plain, text.len + 2);
	for (size_t i = 0; i < text.len; i++) {
		char c = text.ptr[i];

		mor_buf_byte(&plain, c == '-' ? '+' : c == '_' ? '/' : c);
	}
	while (plain.len % 4)
		if (mor_buf_byte(&plain, '=') < 0)
			break;
	r = mor_buf_failed(&plain) ? plain.status : mor_base64_decode(mor_buf_view(&plain), out);
	return r == MORTISE_EPROTO ? MORTISE_EINPUT : r;
}
