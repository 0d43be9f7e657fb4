/* SPDX-License-Identifier: Apache-2.0 */
/* This file does not use the C library's locale: results of strtod() or isprint() depend on the embedder's
 * settings, but limits in a configuration file and excerpts in error texts must not. */
#include "base/text.h"

#include <stdio.h>

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Reads digits from the front of *text into *ret. false: no digit stands there, or too many for 64 bits. */
static bool take_digits(struct mor_slice *text, uint64_t *ret)
{
	uint64_t value = 0;
	size_t i;

	for (i = 0; i < text->len && is_digit(text->ptr[i]); i++)
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(text->ptr[i] - '0'), &value))
			return false;
	if (i == 0)
		return false;
	text->ptr += i;
	text->len -= i;
	*ret = value;
	return true;
}

bool mor_parse_u64(struct mor_slice text, uint64_t *ret)
{
	uint64_t value;

	if (!take_digits(&text, &value) || text.len)
		return false;
	*ret = value;
	return true;
}

bool mor_parse_i64(struct mor_slice text, int64_t *ret)
{
	bool negative = text.len && text.ptr[0] == '-';
	uint64_t value;

	if (negative)
		text = (struct mor_slice){ text.ptr + 1, text.len - 1 };
	if (!mor_parse_u64(text, &value) || value > (uint64_t)INT64_MAX + negative)
		return false;
	*ret = negative ? (int64_t)(0 - value) : (int64_t)value;
	return true;
}

bool mor_parse_u32(struct mor_slice text, uint32_t *ret)
{
	uint64_t value;

	if (!mor_parse_u64(text, &value) || value > UINT32_MAX)
		return false;
	*ret = (uint32_t)value;
	return true;
}

/* ".25" from the front of *text as billionths; digits past the ninth only round up. */
static bool take_fraction(struct mor_slice *text, uint64_t *ret)
{
	uint64_t value = 0, place = 100000000;
	size_t i;

	*ret = 0;
	if (!text->len || text->ptr[0] != '.')
		return true;
	for (i = 1; i < text->len && is_digit(text->ptr[i]); i++) {
		value += place ? place * (uint64_t)(text->ptr[i] - '0') : text->ptr[i] != '0';
		place /= 10;
	}
	text->ptr += i;
	text->len -= i;
	*ret = value;
	return i > 1;
}

static uint64_t duration_unit(struct mor_slice unit)
{
	static const struct {
		const char *names;
		uint64_t ms;
	} units[] = { { "ms", 1 }, { "s", 1000 }, { "m|min", 60000 }, { "h", 3600000 } };

	if (unit.len == 0)
		return 1000;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (mor_text_in(unit, units[i].names))
			return units[i].ms;
	return 0;
}

bool mor_parse_duration_ms(struct mor_slice text, uint32_t *ret_ms)
{
	uint64_t whole, fraction, unit;

	if (!take_digits(&text, &whole) || !take_fraction(&text, &fraction))
		return false;
	unit = duration_unit(text);
	if (!unit || whole > UINT32_MAX / unit)
		return false;
	/* Rounded up: a limit of 0.0001s must not become 0, which often means "none". */
	whole = whole * unit + (fraction * unit + 999999999) / 1000000000;
	if (whole > UINT32_MAX)
		return false;
	*ret_ms = (uint32_t)whole;
	return true;
}

bool mor_parse_rate(struct mor_slice text, uint32_t *ret_billionths)
{
	uint64_t whole, fraction;
	bool percent;

	if (!take_digits(&text, &whole) || !take_fraction(&text, &fraction) || whole > 100)
		return false;
	percent = mor_slice_is(text, "%");
	whole = whole * 1000000000 + fraction;
	if (percent)
		whole /= 100;
	if ((text.len && !percent) || whole > 1000000000)
		return false;
	*ret_billionths = (uint32_t)whole;
	return true;
}

/* As people write them, in any case. "M" and "MiB" are 1024 * 1024; "MB" is a million, as on a disk's box. */
static uint64_t size_unit(struct mor_slice unit)
{
	static const struct {
		const char *names;
		uint64_t bytes;
	} units[] = { { "b", 1 },
		      { "k|kib", 1ULL << 10 },
		      { "m|mib", 1ULL << 20 },
		      { "g|gib", 1ULL << 30 },
		      { "t|tib", 1ULL << 40 },
		      { "kb", 1000ULL },
		      { "mb", 1000000ULL },
		      { "gb", 1000000000ULL },
		      { "tb", 1000000000000ULL } };
	char lower[4];

	if (unit.len == 0)
		return 1;
	if (unit.len >= sizeof(lower))
		return 0;
	for (size_t i = 0; i < unit.len; i++)
		lower[i] = (char)(unit.ptr[i] >= 'A' && unit.ptr[i] <= 'Z' ? unit.ptr[i] | 0x20 : unit.ptr[i]);
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (mor_text_in((struct mor_slice){ lower, unit.len }, units[i].names))
			return units[i].bytes;
	return 0;
}

/* A part of a unit is rounded up: nine decimals of a tebibyte need 70 bits, so the unit is cut first. */
static uint64_t part_of_unit(uint64_t billionths, uint64_t unit)
{
	return unit / 1000000000 * billionths + (unit % 1000000000 * billionths + 999999999) / 1000000000;
}

bool mor_parse_bytes(struct mor_slice text, uint64_t *ret)
{
	uint64_t whole, fraction, unit, size;

	if (!take_digits(&text, &whole) || !take_fraction(&text, &fraction))
		return false;
	unit = size_unit(text);
	if (!unit || __builtin_mul_overflow(whole, unit, &size) ||
	    __builtin_add_overflow(size, part_of_unit(fraction, unit), &size))
		return false;
	*ret = size;
	return true;
}

const char *mor_format_ms(uint64_t ms, char out[32])
{
	if (ms >= 60000 && ms % 60000 == 0)
		snprintf(out, 32, "%llu min", (unsigned long long)(ms / 60000));
	else if (ms >= 1000 && ms % 1000 == 0)
		snprintf(out, 32, "%llu s", (unsigned long long)(ms / 1000));
	else if (ms >= 1000 && ms % 100 == 0)
		snprintf(out, 32, "%llu.%llu s", (unsigned long long)(ms / 1000),
			 (unsigned long long)(ms / 100 % 10));
	else
		snprintf(out, 32, "%llu ms", (unsigned long long)ms);
	return out;
}

const char *mor_format_bytes(uint64_t bytes, char out[32])
{
	static const char *const units[] = { "bytes", "KiB", "MiB", "GiB" };
	unsigned i = 0;

	while (i < 3 && bytes >> 10 * (i + 1))
		i++;
	if (bytes == 1)
		snprintf(out, 32, "1 byte");
	else if (bytes & ((UINT64_C(1) << 10 * i) - 1))
		snprintf(out, 32, "%.1f %s", (double)bytes / (double)(UINT64_C(1) << 10 * i), units[i]);
	else
		snprintf(out, 32, "%llu %s", (unsigned long long)(bytes >> 10 * i), units[i]);
	return out;
}

/* The range of the second byte depends on the first. This excludes overlong forms, surrogates and everything
 * above U+10FFFF (Unicode 15, table 3-7). */
size_t mor_utf8_sequence(const char *p, size_t len)
{
	const unsigned char *s = (const unsigned char *)p;
	unsigned char low = 0x80, high = 0xbf;
	size_t n;

	if (len == 0)
		return 0;
	if (s[0] < 0x80)
		return 1;
	if (s[0] < 0xc2 || s[0] > 0xf4)
		return 0;
	n = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
	if (s[0] == 0xe0)
		low = 0xa0;
	else if (s[0] == 0xed)
		high = 0x9f;
	else if (s[0] == 0xf0)
		low = 0x90;
	else if (s[0] == 0xf4)
		high = 0x8f;
	if (len < n || s[1] < low || s[1] > high)
		return 0;
	for (size_t i = 2; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	return n;
}

/* Most text is ASCII: eight bytes at a time, while none has its high bit set. */
static size_t ascii_run(const char *p, size_t len)
{
	size_t i = 0;

	for (uint64_t eight; i + sizeof(eight) <= len; i += sizeof(eight)) {
		memcpy(&eight, p + i, sizeof(eight));
		if (eight & 0x8080808080808080u)
			break;
	}
	return i;
}

bool mor_utf8_valid(struct mor_slice text)
{
	for (size_t i = ascii_run(text.ptr, text.len), step; i < text.len; i += step) {
		step = (unsigned char)text.ptr[i] < 0x80 ? 1 : mor_utf8_sequence(text.ptr + i, text.len - i);
		if (!step)
			return false;
	}
	return true;
}

/* Characters that nobody sees, or that change what is seen: a text with them reads as another one, or like
 * another one. In order. Selectors of variants (U+FE00 to U+FE0F) stay: they stand in ordinary emoji. */
static const struct {
	uint32_t first, last;
} unseen[] = {
	{ 0x0000, 0x001f },   /* controls                                       */
	{ 0x007f, 0x009f },   /* controls, which terminals obey                 */
	{ 0x00ad, 0x00ad },   /* soft hyphen                                    */
	{ 0x034f, 0x034f },   /* joiner of graphemes                            */
	{ 0x061c, 0x061c },   /* Arabic letter mark: order                      */
	{ 0x115f, 0x1160 },   /* Hangul fillers                                 */
	{ 0x17b4, 0x17b5 },   /* Khmer inherent vowels                          */
	{ 0x180b, 0x180f },   /* Mongolian selectors and separator              */
	{ 0x200b, 0x200f },   /* zero width, joiners, marks of order            */
	{ 0x2028, 0x202e },   /* separators of lines, embeddings and overrides  */
	{ 0x2060, 0x206f },   /* word joiner, invisible operators, isolates     */
	{ 0x3164, 0x3164 },   /* Hangul filler                                  */
	{ 0xfeff, 0xfeff },   /* byte order mark                                */
	{ 0xffa0, 0xffa0 },   /* Hangul filler, half width                      */
	{ 0xfff9, 0xfffb },   /* annotations between lines                      */
	{ 0x1bca0, 0x1bca3 }, /* controls of shorthand                          */
	{ 0x1d173, 0x1d17a }, /* controls of music                              */
	{ 0xe0000, 0xe0fff }, /* tags, and selectors beyond                     */
};

uint32_t mor_utf8_code(const char *p, size_t n)
{
	static const unsigned char first[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	uint32_t code = (unsigned char)p[0] & first[n];

	for (size_t i = 1; i < n; i++)
		code = code << 6 | ((unsigned char)p[i] & 0x3f);
	return code;
}

size_t mor_steering_len(const char *p, size_t len)
{
	static const struct {
		uint32_t first, last;
	} steering[] = { { 0, 0x1f },        { 0x7f, 0x9f },     { 0x061c, 0x061c },
			 { 0x200e, 0x200f }, { 0x2028, 0x202e }, { 0x2066, 0x2069 } };
	size_t n = mor_utf8_sequence(p, len);
	uint32_t code = n ? mor_utf8_code(p, n) : (unsigned char)*p;

	for (size_t i = 0; i < sizeof(steering) / sizeof(steering[0]); i++)
		if (code >= steering[i].first && code <= steering[i].last)
			return n ? n : 1;
	return 0;
}

bool mor_text_steers(struct mor_slice text)
{
	for (size_t at = 0, n; at < text.len; at += n ? n : 1) {
		if (mor_steering_len(text.ptr + at, text.len - at))
			return true;
		n = mor_utf8_sequence(text.ptr + at, text.len - at);
	}
	return false;
}

/* The number of bytes at p that may be shown unchanged. */
static size_t printable_len(const char *p, size_t len)
{
	size_t n = mor_utf8_sequence(p, len);
	uint32_t code = mor_utf8_code(p, n);

	for (size_t i = 0; i < sizeof(unseen) / sizeof(unseen[0]) && unseen[i].first <= code; i++)
		if (code <= unseen[i].last)
			return 0;
	return n;
}

static const char *show_bytes(struct mor_slice bytes, bool for_quotes, char *out, size_t out_size)
{
	size_t used = 0, keep = 0, i = 0;

	if (out_size == 0)
		return out;
	while (i < bytes.len) {
		char piece[5];
		size_t n = printable_len(bytes.ptr + i, bytes.len - i), width = n;
		bool quote = for_quotes && (bytes.ptr[i] == '"' || bytes.ptr[i] == '\\');

		if (quote)
			width = (size_t)snprintf(piece, sizeof(piece), "\\%c", bytes.ptr[i]);
		else if (n == 0)
			width = (size_t)snprintf(piece, sizeof(piece), "\\x%02x", (unsigned char)bytes.ptr[i]);
		if (used + width >= out_size)
			break;
		memcpy(out + used, quote || n == 0 ? piece : bytes.ptr + i, width);
		used += width;
		i += n ? n : 1;
		/* The last place where "..." would still fit. */
		if (used + 3 < out_size)
			keep = used;
	}
	if (i < bytes.len && out_size > 3) {
		memcpy(out + keep, "...", 3);
		used = keep + 3;
	}
	out[used] = '\0';
	return out;
}

const char *mor_excerpt(struct mor_slice bytes, char *out, size_t out_size)
{
	return show_bytes(bytes, true, out, out_size);
}

const char *mor_printable(struct mor_slice bytes, char *out, size_t out_size)
{
	return show_bytes(bytes, false, out, out_size);
}

bool mor_text_in(struct mor_slice text, const char *list)
{
	while (list) {
		size_t len = strcspn(list, "|");

		if (mor_slice_eq(text, (struct mor_slice){ list, len }))
			return true;
		list = list[len] ? list + len + 1 : NULL;
	}
	return false;
}

static const char hex_digits[] = "0123456789abcdef";

void mor_hex(const void *bytes, size_t len, char *out)
{
	const unsigned char *at = bytes;

	for (size_t i = 0; i < len; i++) {
		*out++ = hex_digits[at[i] >> 4];
		*out++ = hex_digits[at[i] & 15];
	}
	*out = '\0';
}

size_t mor_hex_count(const char *text)
{
	return strspn(text, hex_digits);
}

void mor_text_keep(char *to, size_t size, const char *from, size_t from_size)
{
	size_t len = strnlen(from, from_size);

	if (len >= size)
		len = size - 1;
	memcpy(to, from, len);
	to[len] = '\0';
}

const char *mor_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}
