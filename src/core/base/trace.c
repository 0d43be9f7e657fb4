/* SPDX-License-Identifier: Apache-2.0 */
#include "base/trace.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/slice.h"

_Atomic unsigned mor_trace_mask;

static const struct {
	const char *name;
	unsigned bits;
} rooms[] = {
	{ "loop", MOR_TRACE_LOOP },
	{ "wire", MOR_TRACE_WIRE },
	{ "proc", MOR_TRACE_PROC },
	{ "host", MOR_TRACE_HOST },
	{ "all", MOR_TRACE_LOOP | MOR_TRACE_WIRE | MOR_TRACE_PROC | MOR_TRACE_HOST },
};

/* Words that name no room are ignored: a trace must never make a program fail. */
static unsigned apply_word(unsigned mask, struct mor_slice word)
{
	bool off = word.len && word.ptr[0] == '-';

	if (off)
		word = (struct mor_slice){ word.ptr + 1, word.len - 1 };
	for (size_t i = 0; i < sizeof(rooms) / sizeof(rooms[0]); i++)
		if (mor_slice_is(word, rooms[i].name))
			return off ? mask & ~rooms[i].bits : mask | rooms[i].bits;
	return mask;
}

void mor_trace_init(void)
{
	const char *text = secure_getenv("MORTISE_TRACE");
	unsigned mask = 0;

	while (text && *text) {
		size_t len = strcspn(text, ",");

		mask = apply_word(mask, (struct mor_slice){ text, len });
		text += len + (text[len] == ',');
	}
	mor_trace_mask = mask;
}

static const char *room_name(enum mor_trace_room room)
{
	for (size_t i = 0; i < sizeof(rooms) / sizeof(rooms[0]); i++)
		if (rooms[i].bits == (unsigned)room)
			return rooms[i].name;
	return "?";
}

void mor_trace_write(enum mor_trace_room room, const char *format, ...)
{
	char line[1024];
	int64_t now = mor_clock_ns() / 1000;
	int len = snprintf(line, sizeof(line), "mortise %lld.%06lld %s: ", (long long)(now / 1000000),
			   (long long)(now % 1000000), room_name(room));
	size_t used = len > 0 ? (size_t)len : 0;
	va_list args;

	va_start(args, format);
	len = vsnprintf(line + used, sizeof(line) - used - 1, format, args);
	va_end(args);
	if (len > 0)
		used = strlen(line);
	line[used++] = '\n';
	/* One write per line, so that lines of several processes do not mix. Lines that stderr does not
	 * accept are lost. */
	(void)mor_fd_write_nosignal(2, line, used);
}
