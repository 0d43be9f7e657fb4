/* SPDX-License-Identifier: Apache-2.0 */
/* Small text helpers: numbers, durations, sizes, excerpts. Nothing here allocates. */
#ifndef MOR_BASE_TEXT_H
#define MOR_BASE_TEXT_H

#include <stdint.h>

#include "base/slice.h"

/* A whole decimal number and nothing else. false: not a number, or out of range. */
bool mor_parse_u64(struct mor_slice text, uint64_t *ret);
bool mor_parse_i64(struct mor_slice text, int64_t *ret);
bool mor_parse_u32(struct mor_slice text, uint32_t *ret);
/* "30s", "500ms", "2m", "1.5s", or a bare number of seconds. At most about 49 days. */
bool mor_parse_duration_ms(struct mor_slice text, uint32_t *ret_ms);
/* "4096", "64K", "64KiB" (65,536 bytes), "64KB" (64,000 bytes), "1.5G": K, M, G, T, in any case. */
bool mor_parse_bytes(struct mor_slice text, uint64_t *ret);
/* "0.01", "1", "2.5%": from 0 to 1, in billionths. */
bool mor_parse_rate(struct mor_slice text, uint32_t *ret_billionths);
/* Writes "30 s", "500 ms", "5 min" into out and returns it. */
const char *mor_format_ms(uint64_t ms, char out[32]);
const char *mor_format_bytes(uint64_t bytes, char out[32]);

/* Length of the valid UTF-8 sequence at p (1..4), 0 if it is invalid. */
size_t mor_utf8_sequence(const char *p, size_t len);
/* The character in the `n` bytes of a valid sequence. */
uint32_t mor_utf8_code(const char *p, size_t n);
bool mor_utf8_valid(struct mor_slice text);
/* Length of the character at p if a terminal obeys it, or shows others in another order for it: controls
 * (C0, DEL, C1, also as a single byte that is not UTF-8), separators of lines, marks of direction. 0: not
 * such a character. */
size_t mor_steering_len(const char *p, size_t len);
bool mor_text_steers(struct mor_slice text); /* there is one in it */
/* An excerpt of any bytes on one line, printable and safe in quotes: what is not UTF-8, controls, and
 * characters that nobody sees or that change the order of others as \xNN for each byte; cut with "...". Always
 * NUL-terminated. Returns out. */
const char *mor_excerpt(struct mor_slice bytes, char *out, size_t out_size);
/* The same for text that is not put in quotes: quotes and backslashes stay unchanged. */
const char *mor_printable(struct mor_slice bytes, char *out, size_t out_size);

/* What JSON has between its tokens. */
static inline bool mor_char_is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}
/* 0 to 15, or -1. */
static inline int mor_hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}
/* Two lower-case digits per byte and a NUL: 2 * len + 1 bytes. */
void mor_hex(const void *bytes, size_t len, char *out);
/* The number of lower-case hex digits at the beginning. */
size_t mor_hex_count(const char *text);

/* The part after the last slash; all of it if it has no slash. */
const char *mor_base_name(const char *path);
/* A text of another program, which may not end within `from_size`. Cut where it does not fit. */
void mor_text_keep(char *to, size_t size, const char *from, size_t from_size);

/* Exact match of text against one of the alternatives in "a|b|c"; `list` may be NULL. */
bool mor_text_in(struct mor_slice text, const char *list);

#endif
