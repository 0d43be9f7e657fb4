/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The validating JSON scanner: walks over one value, checks it, builds nothing. No recursion and no
 * allocation; nesting is a bit stack. Positions are pointers into the text, which needs no NUL after it.
 */
#ifndef MOR_WIRE_SCAN_H
#define MOR_WIRE_SCAN_H

#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "wire/envelope.h"
#include "wire/json.h"

/* The work per token is a few nanoseconds: a call that is not inlined is noticeable. */
#define MOR_SCAN_INLINE inline __attribute__((always_inline))

typedef const unsigned char *mor_spot; /* in the text */

struct mor_scan {
	const unsigned char *begin, *end;
	const unsigned char *last; /* the last '}' or ']' if it is near the end, else NULL */
	unsigned max_depth;        /* at most MOR_JSON_DEPTH_MAX */
	bool nan;
	bool escaped;            /* the last string had an escape in it               */
	bool spaced;             /* there are blanks between tokens                   */
	const unsigned char *at; /* where the fault is                                */
	const char *why;         /* NULL: the character at `at`, or the end           */
};

/* flags: from enum mor_envelope_flags only MOR_ENV_NAN. max_depth 0: MOR_JSON_DEPTH. */
static inline struct mor_scan mor_scan_init(struct mor_slice text, unsigned flags, unsigned max_depth)
{
	const unsigned char *begin = (const unsigned char *)(text.ptr ? text.ptr : ""),
			    *last = begin + text.len;
	const unsigned char *stop = text.len > 64 ? last - 64 : begin;

	/* Not further back: a batch comes here once per element, with all later elements after it. */
	while (last > stop && (last[-1] | 0x20) != '}')
		last--;
	if (max_depth == 0)
		max_depth = MOR_JSON_DEPTH;
	return (struct mor_scan){
		.begin = begin,
		.end = begin + text.len,
		.last = last > stop ? last - 1 : NULL,
		.max_depth = max_depth < MOR_JSON_DEPTH_MAX ? max_depth : MOR_JSON_DEPTH_MAX,
		.nan = flags & MOR_ENV_NAN,
	};
}

/* Takes the position of the value's first byte and returns the position after it, or NULL with at and why
 * set. `depth` levels are already open around the value. */
const unsigned char *mor_scan_value(struct mor_scan *scan, const unsigned char *p, unsigned depth);

/* Sets the fault; returns NULL. */
const unsigned char *mor_scan_fault(struct mor_scan *scan, const unsigned char *at, const char *why);
/* Writes the fault to err ("byte 17: unexpected '}'") and returns MORTISE_EPROTO. */
int mor_scan_tell(const struct mor_scan *scan, mortise_error *err);

/* The position after the string that opens before p. Only its end matters here; somebody else
 * checks the rest. */
const char *mor_scan_skip_string(const char *p, const char *end);
/* The escape at p, of a valid string, as UTF-8; *ret_n bytes. Returns its length in the text. */
size_t mor_scan_take_escape(const unsigned char *p, const unsigned char *end, char out[4], size_t *ret_n);
/* Unescapes the content of a valid JSON string (without its quotes) into out, cut between characters if it
 * does not fit; U+0000 becomes a blank. Always NUL-terminated. */
void mor_scan_unescape(struct mor_slice content, char *out, size_t out_size);

/* The fast loops. 16 bytes at a time if the processor can do that (every x86-64 can). */
#ifdef __SSE2__
/* One bit for each of 16 bytes: set for '"', '\\', controls and non-ASCII bytes. As signed bytes, the latter
 * are negative and so "less than a blank". */
static inline unsigned mor_scan_stops(const unsigned char *p)
{
	__m128i x = _mm_loadu_si128((const __m128i *)(const void *)p);
	__m128i stop =
		_mm_or_si128(_mm_cmpeq_epi8(x, _mm_set1_epi8('"')), _mm_cmpeq_epi8(x, _mm_set1_epi8('\\')));

	return (unsigned)_mm_movemask_epi8(_mm_or_si128(stop, _mm_cmplt_epi8(x, _mm_set1_epi8(' '))));
}
#endif

/* First byte at or after p that is '"', '\\', a control or not ASCII; or the end. Keys and words are mostly
 * shorter than 16 bytes: one load decides. The bytes before the end are looked at in the text's last 16, so
 * nothing is taken byte by byte, except in texts that are shorter. */
extern const bool mor_scan_stop[256];
static MOR_SCAN_INLINE const unsigned char *mor_scan_run(const struct mor_scan *scan, const unsigned char *p)
{
	const unsigned char *end = scan->end;
#ifdef __SSE2__
	unsigned stops;

	for (; end - p >= 16; p += 16) {
		stops = mor_scan_stops(p);
		if (stops)
			return p + __builtin_ctz(stops);
	}
	if (end - scan->begin >= 16) {
		stops = mor_scan_stops(end - 16) >> (16 - (end - p));
		return stops ? p + __builtin_ctz(stops) : end;
	}
#else
	const uint64_t ones = UINT64_C(0x0101010101010101);

	for (; end - p >= 8; p += 8) {
		uint64_t x, q, b;

		memcpy(&x, p, 8);
		q = x ^ ones * '"';
		b = x ^ ones * '\\';
		/* A borrow may mark one byte too many, but never one too few: the loop below checks each. */
		if ((x | (x - ones * ' ') | (q - ones) | (b - ones)) & ones << 7)
			break;
	}
#endif
	while (p < end && !mor_scan_stop[*p])
		p++;
	return p;
}

static inline bool mor_scan_is_blank(unsigned char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Most texts have no blanks between tokens, so one comparison is usually enough. end NULL: a byte that is
 * not a blank is known to follow. */
static inline const unsigned char *mor_scan_blanks(const unsigned char *p, const unsigned char *end)
{
	while ((!end || p < end) && *p <= ' ' && mor_scan_is_blank(*p))
		p++;
	return p;
}

/* The same inside a value: the scan remembers that there were some. */
static inline const unsigned char *mor_scan_pass_blanks(struct mor_scan *scan, const unsigned char *p,
							const unsigned char *end)
{
	if ((end && p >= end) || *p > ' ')
		return p;
	scan->spaced = true;
	return mor_scan_blanks(p, end);
}

/* The byte at p, or NUL at the end: a NUL is never legal, so one test is enough for both. end NULL: p is
 * known to be before it. */
static inline unsigned char mor_scan_peek(const unsigned char *p, const unsigned char *end)
{
	return !end || p < end ? *p : '\0';
}

/* The rest of a string, p at its first byte that is not plain. */
const unsigned char *mor_scan_hard_string(struct mor_scan *scan, const unsigned char *p);

/* p at the opening quote; returns the position after the closing one, or NULL. */
static MOR_SCAN_INLINE const unsigned char *mor_scan_string(struct mor_scan *scan, const unsigned char *p)
{
	scan->escaped = false;
	p = mor_scan_run(scan, p + 1);
	return p < scan->end && *p == '"' ? p + 1 : mor_scan_hard_string(scan, p);
}

/* A key, its colon and the blanks after them; p where the quote should be. Returns the position of the
 * member's value, or NULL; *ret_end is after the closing quote. end: scan->end, or NULL as in scan.c. */
static MOR_SCAN_INLINE const unsigned char *mor_scan_key_to(struct mor_scan *scan, const unsigned char *p,
							    const unsigned char *end,
							    const unsigned char **ret_end)
{
	if (mor_scan_peek(p, end) != '"')
		return mor_scan_fault(scan, p, NULL);
	p = *ret_end = mor_scan_string(scan, p);
	if (!p || (!end && p > scan->last))
		return NULL;
	p = mor_scan_pass_blanks(scan, p, end);
	if (mor_scan_peek(p, end) != ':')
		return mor_scan_fault(scan, p, NULL);
	return mor_scan_pass_blanks(scan, p + 1, end);
}

/* The same, with blanks before the key and its content in *ret_key; scan->escaped says whether it has an
 * escape. */
static inline const unsigned char *mor_scan_key(struct mor_scan *scan, const unsigned char *p,
						struct mor_slice *ret_key)
{
	const unsigned char *quote = mor_scan_blanks(p, scan->end), *end = quote;
	const unsigned char *value = mor_scan_key_to(scan, quote, scan->end, &end);

	if (value)
		*ret_key = (struct mor_slice){ (const char *)quote + 1, (size_t)(end - quote) - 2 };
	return value;
}

#endif
