/* SPDX-License-Identifier: Apache-2.0 */
/* The other direction of framing.h: from bodies to frames. */
#include <string.h>

#include <mortise/mortise.h>

#include "wire/framing.h"

/* By hand: printf would cost more than the rest of sending a message. */
static size_t put_length(char *to, const char *before, size_t number, const char *after)
{
	char digits[20], *start = to;
	size_t at = sizeof(digits);

	do
		digits[--at] = (char)('0' + number % 10);
	while (number /= 10);
	to = mempcpy(to, before, strlen(before));
	to = mempcpy(to, digits + at, sizeof(digits) - at);
	to = mempcpy(to, after, strlen(after));
	return (size_t)(to - start);
}

size_t mor_frame_head(enum mor_framing framing, size_t len, char head[MOR_FRAME_HEAD], const char **ret_tail)
{
	*ret_tail = framing == MOR_FRAMING_LINES ? "\n" : "";
	switch (framing) {
	case MOR_FRAMING_DECIMAL:
		return put_length(head, "", len, "\n");
	case MOR_FRAMING_BE32:
		for (int i = 0; i < 4; i++)
			head[i] = (char)(len >> (24 - 8 * i) & 0xff);
		return 4;
	case MOR_FRAMING_HEADERS:
		return put_length(head, "Content-Length: ", len, "\r\n\r\n");
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
