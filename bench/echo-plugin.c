/* SPDX-License-Identifier: Apache-2.0 */
/*
 * echo-plugin FRAMING [CPU]: the least a plugin can do, so that what is measured is the host. It knows the
 * order in which the library writes the members of a request (id before params, params last) and checks
 * nothing. All requests of one read are answered with one write.
 */
#include <string.h>
#include <unistd.h>

#include "bench.h"

#define ROOM ((size_t)65 << 20) /* what is not used is not there */

struct frame {
	const char *body;
	size_t len, used; /* used: with its framing */
};

typedef int next_fn(const char *at, size_t len, struct frame *ret); /* 1: one frame, 0: not yet whole */
typedef size_t head_fn(char *to, size_t len);

static char in[ROOM], out[2 * ROOM];

static int next_line(const char *at, size_t len, struct frame *ret)
{
	static size_t seen; /* of a line that is not yet whole */
	const char *end = memchr(at + seen, '\n', len - seen);

	seen = end ? 0 : len;
	if (!end)
		return 0;
	*ret = (struct frame){ at, (size_t)(end - at), (size_t)(end - at) + 1 };
	return 1;
}

static size_t head_line(char *to, size_t len)
{
	(void)to;
	(void)len;
	return 0;
}

static int after_number(const char *at, size_t len, size_t skip, size_t gap, struct frame *ret)
{
	size_t n = 0, i = skip;

	for (; i < len && at[i] >= '0' && at[i] <= '9'; i++)
		n = n * 10 + (size_t)(at[i] - '0');
	if (len < i + gap + n || i + gap > len)
		return 0;
	*ret = (struct frame){ at + i + gap, n, i + gap + n };
	return 1;
}

static int next_decimal(const char *at, size_t len, struct frame *ret)
{
	return len < 2 ? 0 : after_number(at, len, 0, 1, ret);
}

static size_t put(char *to, const void *from, size_t len)
{
	memcpy(to, from, len);
	return len;
}

/* By hand: snprintf() would cost more than all the rest, and the framings could not be compared. */
static size_t put_number(char *to, size_t n)
{
	char digits[20];
	size_t at = sizeof(digits);

	do
		digits[--at] = (char)('0' + n % 10);
	while (n /= 10);
	return put(to, digits + at, sizeof(digits) - at);
}

static size_t head_decimal(char *to, size_t len)
{
	size_t n = put_number(to, len);

	to[n] = '\n';
	return n + 1;
}

static int next_be32(const char *at, size_t len, struct frame *ret)
{
	const unsigned char *b = (const unsigned char *)at;
	size_t n;

	if (len < 4)
		return 0;
	n = (size_t)b[0] << 24 | (size_t)b[1] << 16 | (size_t)b[2] << 8 | b[3];
	*ret = (struct frame){ at + 4, n, n + 4 };
	return len >= n + 4;
}

static size_t head_be32(char *to, size_t len)
{
	to[0] = (char)(len >> 24);
	to[1] = (char)(len >> 16);
	to[2] = (char)(len >> 8);
	to[3] = (char)len;
	return 4;
}

static int next_headers(const char *at, size_t len, struct frame *ret)
{
	static const char name[] = "Content-Length: ";

	return len < sizeof(name) ? 0 : after_number(at, len, sizeof(name) - 1, 4, ret);
}

static size_t head_headers(char *to, size_t len)
{
	size_t n = put(to, "Content-Length: ", 16);

	n += put_number(to + n, len);
	return n + put(to + n, "\r\n\r\n", 4);
}

static const struct framing {
	const char *name;
	next_fn *next;
	head_fn *head;
	char tail; /* or 0 */
} framings[] = {
	{ "lines", next_line, head_line, '\n' },
	{ "decimal", next_decimal, head_decimal, 0 },
	{ "be32", next_be32, head_be32, 0 },
	{ "headers", next_headers, head_headers, 0 },
};

/* Past `key`, which mostly stands at `guess` already; anywhere else it is looked for. NULL: it is not there. */
static const char *after(const struct frame *frame, const char *guess, const char *key, size_t len)
{
	const char *end = frame->body + frame->len;

	if (guess > end || (size_t)(end - guess) < len || memcmp(guess, key, len) != 0)
		guess = memmem(frame->body, frame->len, key, len);
	return guess ? guess + len : NULL;
}

/* Appends the reply to one request; returns its length, 0 for a notification. */
static size_t answer(const struct framing *f, const struct frame *frame, char *to)
{
	static const char head[] = "{\"jsonrpc\":\"2.0\",\"id\":", middle[] = ",\"result\":";
	const char *end = frame->body + frame->len - 1;
	const char *id = after(frame, frame->body + 17, "\"id\":", 5), *params;
	size_t id_len, params_len, n;

	if (!id)
		return 0;
	id_len = (size_t)((const char *)memchr(id, ',', (size_t)(end - id)) - id);
	params = after(frame, id + id_len + sizeof(",\"method\":\"echo\",") - 1, "\"params\":", 9);
	if (!params)
		_exit(3);
	params_len = (size_t)(end - params);
	n = f->head(to, sizeof(head) - 1 + id_len + sizeof(middle) - 1 + params_len + 1);
	n += put(to + n, head, sizeof(head) - 1);
	n += put(to + n, id, id_len);
	n += put(to + n, middle, sizeof(middle) - 1);
	n += put(to + n, params, params_len);
	to[n++] = '}';
	if (f->tail)
		to[n++] = f->tail;
	return n;
}

static void serve(const struct framing *f)
{
	size_t have = 0;
	ssize_t got;

	while ((got = read(0, in + have, ROOM - have)) > 0) {
		size_t at = 0, to = 0;
		struct frame frame;

		have += (size_t)got;
		while (at < have && f->next(in + at, have - at, &frame)) {
			to += answer(f, &frame, out + to);
			at += frame.used;
		}
		have -= at;
		if (at > 0)
			memmove(in, in + at, have);
		for (size_t sent = 0; sent < to; sent += (size_t)got)
			if ((got = write(1, out + sent, to - sent)) < 0)
				return;
	}
}

int main(int argc, char **argv)
{
	if (argc == 3 && bench_pin((int)strtol(argv[2], NULL, 10)) < 0)
		return 2;
	for (size_t i = 0; i < sizeof(framings) / sizeof(framings[0]); i++) {
		if (argc > 1 && strcmp(framings[i].name, argv[1]) == 0) {
			serve(&framings[i]);
			return 0;
		}
	}
	return 2;
}
