/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request in its usual form, measured before it is written: so it goes straight to its place in a queue,
 * behind the head of its frame, and is copied once. Here and not in a .c file: this is the hot path.
 */
#ifndef MOR_WIRE_OUTGOING_H
#define MOR_WIRE_OUTGOING_H

#include "base/slice.h"
#include "wire/digits.h"

#define MOR_OUTGOING_HEAD   "{\"jsonrpc\":\"2.0\",\"id\":"
#define MOR_OUTGOING_METHOD ",\"method\":\""
#define MOR_OUTGOING_PARAMS "\",\"params\":"
/* bytes behind its end that writing it may touch */
#define MOR_OUTGOING_SLACK MOR_DIGITS

struct mor_outgoing {
	int64_t id;
	struct mor_slice method; /* mor_is_plain() */
	struct mor_slice params; /* one JSON text; with lines framing without a raw newline */
	size_t len;              /* of the whole message */
	size_t digit_count;
	char digits[2 * MOR_DIGITS]; /* the id: the last digit_count bytes of the first half */
};

/* Does it need no escape in a JSON string? */
bool mor_is_plain(struct mor_slice text);

/* id: not negative. */
static inline void mor_outgoing_init(struct mor_outgoing *request, int64_t id, struct mor_slice method,
				     struct mor_slice params)
{
	request->id = id;
	request->method = method;
	request->params = params;
	request->digit_count = mor_digits((uint64_t)id, request->digits);
	request->len = sizeof(MOR_OUTGOING_HEAD MOR_OUTGOING_METHOD MOR_OUTGOING_PARAMS "}") - 1 +
		       request->digit_count + method.len + params.len;
}

static inline char *mor_outgoing_copy(char *to, const char *from, size_t len)
{
	memcpy(to, from, len);
	return to + len;
}

/* Most names have 4 to 16 bytes: two loads, which may overlap, and no call. */
static inline char *mor_outgoing_name(char *to, struct mor_slice name)
{
	uint64_t first, last;
	uint32_t head, tail;

	if (name.len - 8 <= 8) {
		memcpy(&first, name.ptr, 8);
		memcpy(&last, name.ptr + name.len - 8, 8);
		memcpy(to, &first, 8);
		memcpy(to + name.len - 8, &last, 8);
	} else if (name.len - 4 < 4) {
		memcpy(&head, name.ptr, 4);
		memcpy(&tail, name.ptr + name.len - 4, 4);
		memcpy(to, &head, 4);
		memcpy(to + name.len - 4, &tail, 4);
	} else {
		memcpy(to, name.ptr, name.len);
	}
	return to + name.len;
}

/* Writes it; returns its end. Room for MOR_OUTGOING_SLACK more bytes is there. */
static inline char *mor_outgoing_write(char *to, const struct mor_outgoing *request)
{
	to = mor_outgoing_copy(to, MOR_OUTGOING_HEAD, sizeof(MOR_OUTGOING_HEAD) - 1);
	/* Always MOR_DIGITS bytes: a length that the compiler knows needs no call. */
	mor_outgoing_copy(to, request->digits + MOR_DIGITS - request->digit_count, MOR_DIGITS);
	to = mor_outgoing_copy(to + request->digit_count, MOR_OUTGOING_METHOD, sizeof(MOR_OUTGOING_METHOD) - 1);
	to = mor_outgoing_name(to, request->method);
	to = mor_outgoing_copy(to, MOR_OUTGOING_PARAMS, sizeof(MOR_OUTGOING_PARAMS) - 1);
	to = mor_outgoing_copy(to, request->params.ptr, request->params.len);
	*to++ = '}';
	return to;
}

#endif
