/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/flat.h"

#define WINDOW 64 /* bytes: one bit each in a word */
#define LEAST  16 /* one load */

#ifdef __SSE2__

/* As mor_scan_stops(), for `len` bytes, LEAST to WINDOW. The last load may overlap the others. */
static MOR_SCAN_INLINE uint64_t find_stops(mor_spot p, size_t len)
{
	uint64_t stops = mor_scan_stops(p) | (uint64_t)mor_scan_stops(p + len - 16) << (len - 16);

	if (len > 32)
		stops |= (uint64_t)mor_scan_stops(p + 16) << 16;
	if (len > 48)
		stops |= (uint64_t)mor_scan_stops(p + 32) << 32;
	return stops;
}

/* The position after a whole number, true, false or null that ends before `end`; or NULL. */
static mor_spot pass_word(mor_spot p, mor_spot end)
{
	mor_spot first = p += *p == '-';

	while (p < end && *p >= '0' && *p <= '9')
		p++;
	if (p > first)
		return *first == '0' && p > first + 1 ? NULL : p;
	if (end - p >= 5 && first[-1] != '-') {
		if (memcmp(p, "true", 4) == 0 || memcmp(p, "null", 4) == 0)
			return p + 4;
		if (memcmp(p, "false", 5) == 0)
			return p + 5;
	}
	return NULL;
}

/* The string that opens at `at`: its closing quote, or NULL. Everything outside the strings is compared byte by
 * byte and is no stop, so the lowest two bits are its quotes, if the text is what we expect. */
static MOR_SCAN_INLINE mor_spot pass_string(mor_spot p, uint64_t *stops)
{
	mor_spot close;

	*stops &= *stops - 1;
	if (!*stops)
		return NULL;
	close = p + (unsigned)__builtin_ctzll(*stops);
	*stops &= *stops - 1;
	return *close == '"' ? close : NULL;
}

mor_spot mor_flat_object(mor_spot p, mor_spot end)
{
	size_t len = end - p < WINDOW ? (size_t)(end - p) : WINDOW;
	mor_spot at = p + 1, last = p + len - 1;
	uint64_t stops;

	if (len < LEAST || *at != '"')
		return NULL;
	stops = find_stops(p, len);
	for (;;) {
		at = pass_string(p, &stops);
		if (!at || last - at < 3 || at[1] != ':') /* a value and a bracket follow */
			return NULL;
		at += at[2] == ' ' ? 3 : 2;
		if (*at != '"')
			at = pass_word(at, last);
		else if ((at = pass_string(p, &stops)))
			at++;
		if (!at || at > last)
			return NULL;
		if (*at != ',' || at == last)
			return *at == '}' ? at + 1 : NULL;
		at += at[1] == ' ' ? 2 : 1;
		if (at > last || *at != '"')
			return NULL;
	}
}

#else

mor_spot mor_flat_object(mor_spot p, mor_spot end)
{
	(void)p;
	(void)end;
	return NULL;
}

#endif
