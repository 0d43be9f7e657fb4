/* SPDX-License-Identifier: Apache-2.0 */
/* The other direction of framing.h: from bodies to frames. */
#include <endian.h>

#include <mortise/mortise.h>

#include "wire/digits.h"
#include "wire/framing.h"

/* Copies MOR_DIGITS bytes for any number, for which MOR_FRAME_HEAD has room: a length that the compiler knows
 * needs no call. */
static char *put_length(char *to, size_t number)
{
	char digits[2 * MOR_DIGITS];
	size_t count = mor_digits(number, digits);

	memcpy(to, digits + MOR_DIGITS - count, MOR_DIGITS);
	return to + count;
}

size_t mor_frame_head(enum mor_framing framing, size_t len, char head[MOR_FRAME_HEAD], const char **ret_tail)
{
	static const char name[] = "Content-Length: ", end[] = "\r\n\r\n";
	char *to;

	*ret_tail = framing == MOR_FRAMING_LINES ? "\n" : "";
	switch (framing) {
	case MOR_FRAMING_DECIMAL:
		to = put_length(head, len);
		*to = '\n';
		return (size_t)(to - head) + 1;
	case MOR_FRAMING_BE32:
		memcpy(head, &(uint32_t){ htobe32((uint32_t)len) }, 4);
		return 4;
	case MOR_FRAMING_HEADERS:
		memcpy(head, name, sizeof(name) - 1);
		to = put_length(head + sizeof(name) - 1, len);
		memcpy(to, end, sizeof(end) - 1);
		return (size_t)(to - head) + sizeof(end) - 1;
	default:
		return 0;
	}
}

int mor_enframe(enum mor_framing framing, struct mor_slice body, struct mor_buf *out)
{
	char head[MOR_FRAME_HEAD];
	const char *tail;
	size_t len = mor_frame_head(framing, body.len, head, &tail), before = out->len;

	if (framing == MOR_FRAMING_BE32 && body.len > UINT32_MAX && !out->status)
		out->status = MORTISE_ELIMIT;
	mor_buf_append(out, head, len);
	mor_buf_slice(out, body);
	mor_buf_text(out, tail);
	/* Half a frame would destroy the stream for good. */
	if (out->status)
		out->len = before;
	return out->status;
}
