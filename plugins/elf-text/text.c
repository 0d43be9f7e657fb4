/* SPDX-License-Identifier: Apache-2.0 */
/* Plain realloc: a plugin needs nothing of Mortise but the SDK's header. */
#include "text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_BYTES 1024 /* C++ reaches this; beyond it is a file playing games */

void text_fini(struct text *text)
{
	free(text->data);
	*text = (struct text){ 0 };
}

static bool grow(struct text *text, size_t need)
{
	size_t cap = text->cap ? text->cap : 4096;
	char *data;

	while (cap < need)
		cap *= 2;
	data = realloc(text->data, cap);
	if (!data) {
		text->no_memory = true;
		return false;
	}
	text->data = data;
	text->cap = cap;
	return true;
}

void text_add(struct text *text, const char *bytes, size_t len)
{
	if (text->cut || text->no_memory || len == 0)
		return;
	if (len > text->limit - text->len) {
		text->cut = true;
		return;
	}
	if (text->cap - text->len < len && !grow(text, text->len + len))
		return;
	memcpy(text->data + text->len, bytes, len);
	text->len += len;
}

/* For lines of our own making, all short; what comes from the file goes through text_name(). */
void text_printf(struct text *text, const char *format, ...)
{
	char line[512];
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	if (n > 0)
		text_add(text, line, (size_t)n < sizeof(line) ? (size_t)n : sizeof(line) - 1);
}

/* strnlen first: the name may be as long as the file. */
void text_name(struct text *text, const char *name)
{
	size_t len = strnlen(name, NAME_MAX_BYTES + 1), start = 0, i;
	size_t shown = len > NAME_MAX_BYTES ? NAME_MAX_BYTES : len;

	for (i = 0; i < shown; i++) {
		unsigned char c = (unsigned char)name[i];

		if (c >= 0x20 && c != 0x7f)
			continue;
		text_add(text, name + start, i - start);
		text_printf(text, "\\x%02x", c);
		start = i + 1;
	}
	text_add(text, name + start, i - start);
	if (len > shown)
		text_add(text, "...", 3);
}

bool text_has_room(const struct text *text)
{
	return !text->cut && !text->no_memory;
}
