/* SPDX-License-Identifier: Apache-2.0 */

#include "wire/base64_fast.h"
#include "wire/json.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

int mor_base64_encode(struct mor_slice bytes, struct mor_buf *out)
{
	const unsigned char *p = (const unsigned char *)bytes.ptr;
	size_t left = bytes.len;
	int r = mor_buf_reserve(out, left / 3 * 4 + (left % 3 ? 4 : 0));
	char *to;

	if (r < 0 || left == 0)
		return r;
	to = out->data + out->len;
	mor_base64_fast(&p, &left, &to);
	for (; left > 0; p += 3, to += 4) {
		unsigned bits =
			(unsigned)p[0] << 16 | (left > 1 ? (unsigned)p[1] << 8 : 0) | (left > 2 ? p[2] : 0);

		to[0] = alphabet[bits >> 18];
		to[1] = alphabet[bits >> 12 & 63];
		to[2] = left > 1 ? alphabet[bits >> 6 & 63] : '=';
		to[3] = left > 2 ? alphabet[bits & 63] : '=';
		left -= left > 3 ? 3 : left;
	}
	out->len = (size_t)(to - out->data);
	return 0;
}

static int digit_of(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Four characters into up to three bytes; `pad` of the characters are '='. Unused bits after the last byte
 * must be zero, so that one content has only one text. */
static bool decode_group(const char *from, unsigned pad, char *to)
{
	unsigned bits = 0;

	for (unsigned i = 0; i < 4; i++) {
		int digit = i + pad < 4 ? digit_of(from[i]) : 0;

		if (digit < 0)
			return false;
		bits = bits << 6 | (unsigned)digit;
	}
	if (pad && bits & ((1U << 8 * pad) - 1))
		return false;
	for (unsigned i = 0; i + pad < 3; i++)
		to[i] = (char)(bits >> (16 - 8 * i) & 0xff);
	return true;
}

int mor_base64_decode(struct mor_slice text, struct mor_buf *out)
{
	size_t before = out->len, i;
	int r = mor_buf_reserve(out, text.len / 4 * 3);

	if (r < 0)
		return r;
	if (text.len % 4)
		return MORTISE_EPROTO;
	for (i = 0; i < text.len; i += 4) {
		const char *from = text.ptr + i;
		unsigned pad = i + 4 < text.len || from[3] != '=' ? 0 : from[2] == '=' ? 2 : 1;

		if (!decode_group(from, pad, out->data + out->len)) {
			out->len = before;
			return MORTISE_EPROTO;
		}
		out->len += 3 - pad;
	}
	return 0;
}
