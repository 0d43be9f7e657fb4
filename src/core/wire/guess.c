/* SPDX-License-Identifier: Apache-2.0 */
/* Which framing is this? For those who expected another one. */
#include <ctype.h>
#include <strings.h>

#include "wire/framing.h"

static const char *const framing_names[MOR_FRAMINGS] = { "lines", "decimal", "be32", "headers" };

const char *mor_framing_name(enum mor_framing framing)
{
	return (unsigned)framing < MOR_FRAMINGS ? framing_names[framing] : "unknown";
}

int mor_framing_by_name(const char *name)
{
	for (int i = 0; name && i < MOR_FRAMINGS; i++)
		if (strcmp(name, framing_names[i]) == 0)
			return i;
	return -1;
}

static bool begins_json(const char *bytes, size_t len)
{
	return len && (*bytes == '{' || *bytes == '[');
}

static bool is_headers(struct mor_slice bytes)
{
	static const char name[] = "Content-Length:";

	return bytes.len >= sizeof(name) - 1 && strncasecmp(bytes.ptr, name, sizeof(name) - 1) == 0;
}

static bool is_decimal(struct mor_slice bytes)
{
	size_t digits = 0;

	while (digits < bytes.len && digits < 20 && isdigit((unsigned char)bytes.ptr[digits]))
		digits++;
	return digits && digits + 1 < bytes.len && bytes.ptr[digits] == '\n' &&
	       begins_json(bytes.ptr + digits + 1, 1);
}

int mor_framing_guess(struct mor_slice bytes)
{
	/* Lengths below 16 MiB: the first byte is 0, which no text has. */
	if (bytes.len >= 5 && bytes.ptr[0] == 0 && begins_json(bytes.ptr + 4, 1))
		return MOR_FRAMING_BE32;
	if (is_headers(bytes))
		return MOR_FRAMING_HEADERS;
	if (is_decimal(bytes))
		return MOR_FRAMING_DECIMAL;
	/* A bracket alone may be anything, such as "[info] ready". */
	return bytes.len >= 2 && bytes.ptr[0] == '{' && bytes.ptr[1] == '"' ? MOR_FRAMING_LINES : -1;
}
