/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/scan.h"

#include "base/apart.h"
#include "base/error.h"
#include "base/text.h"
#include "wire/flat.h"

#define INLINE MOR_SCAN_INLINE

mor_spot mor_scan_fault(struct mor_scan *scan, mor_spot at, const char *why)
{
	scan->at = at;
	scan->why = why;
	return NULL;
}

int mor_scan_tell(const struct mor_scan *scan, mortise_error *err)
{
	size_t byte = (size_t)(scan->at - scan->begin);
	char shown[8];

	if (scan->why)
		return mor_fail(err, MORTISE_EPROTO, "byte %zu: %s", byte, scan->why);
	if (scan->at >= scan->end)
		return mor_fail(err, MORTISE_EPROTO, "byte %zu: unexpected end", byte);
	mor_excerpt((struct mor_slice){ (const char *)scan->at, 1 }, shown, sizeof(shown));
	/* The excerpt escapes double quotes; between single quotes a plain '"' is easier to read. */
	return mor_fail(err, MORTISE_EPROTO, "byte %zu: unexpected '%s'", byte,
			*scan->at == '"' ? "\"" : shown);
}

/* The four digits at p, or -1. */
static int hex4(mor_spot p, mor_spot end)
{
	int value = 0;

	if (end - p < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		int digit = mor_hex_value((char)p[i]);

		if (digit < 0)
			return -1;
		value = value << 4 | digit;
	}
	return value;
}

/* One escape, p at its backslash. Surrogates come in pairs, high then low. */
static mor_spot scan_escape(struct mor_scan *scan, mor_spot p)
{
	int unit, low;

	switch (mor_scan_peek(p + 1, scan->end)) {
	case '"':
	case '\\':
	case '/':
	case 'b':
	case 'f':
	case 'n':
	case 'r':
	case 't':
		return p + 2;
	case 'u':
		break;
	default:
		return mor_scan_fault(scan, p,
				      p + 1 < scan->end ? "bad escape in a string" : "string without an end");
	}
	if ((unit = hex4(p + 2, scan->end)) < 0)
		return mor_scan_fault(scan, p, "bad \\u escape in a string");
	if (unit < 0xd800 || unit > 0xdfff)
		return p + 6;
	low = unit < 0xdc00 && scan->end - p >= 12 && p[6] == '\\' && p[7] == 'u' ? hex4(p + 8, scan->end) : -1;
	if (low < 0xdc00 || low > 0xdfff)
		return mor_scan_fault(scan, p, "lone surrogate in a string");
	return p + 12;
}

/* The end of the run of three-byte characters at p, which is most text in most scripts: one load and two
 * masks say the same as mor_utf8_sequence(). Stops at any other character, and 4 bytes before the end. */
static INLINE mor_spot skip_three_byte(mor_spot p, mor_spot end)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	while (end - p >= 4) {
		uint32_t x;

		memcpy(&x, p, 4);
		/* Not overlong (E0 80..9F) and no surrogate (ED A0..BF). */
		if ((x & 0xc0c0f0) != 0x8080e0 || (x & 0x200f) == 0 || (x & 0x200f) == 0x200d)
			break;
		p += 3;
	}
#else
	(void)end;
#endif
	return p;
}

/* A run of characters outside ASCII: they usually come together. */
static mor_spot scan_wide(struct mor_scan *scan, mor_spot p)
{
	for (;;) {
		size_t n;

		p = skip_three_byte(p, scan->end);
		if (p == scan->end || *p < 0x80)
			return p;
		n = mor_utf8_sequence((const char *)p, (size_t)(scan->end - p));
		if (n == 0)
			return mor_scan_fault(scan, p, "string is not UTF-8");
		p += n;
	}
}

const char *mor_scan_skip_string(const char *p, const char *end)
{
	while (p < end) {
		const char *quote = memchr(p, '"', (size_t)(end - p)), *before = quote;

		if (!quote)
			return end;
		/* An odd number of backslashes before the quote makes it part of the string. */
		while (before > p && before[-1] == '\\')
			before--;
		p = quote + 1;
		if ((quote - before) % 2 == 0)
			return p;
	}
	return end;
}

const bool mor_scan_stop[256] = { [0 ... 31] = true, ['"'] = true, ['\\'] = true, [128 ... 255] = true };

mor_spot mor_scan_hard_string(struct mor_scan *scan, mor_spot p)
{
	while (p < scan->end && *p != '"') {
		if (*p < ' ')
			return mor_scan_fault(scan, p, "control character in a string");
		if (*p == '\\') {
			scan->escaped = true;
			p = scan_escape(scan, p);
		} else {
			p = scan_wide(scan, p);
		}
		if (!p)
			return NULL;
		p = mor_scan_run(scan, p);
	}
	return p < scan->end ? p + 1 : mor_scan_fault(scan, p, "string without an end");
}

static inline bool is_digit(unsigned char c)
{
	return c >= '0' && c <= '9';
}

static INLINE mor_spot scan_digits(struct mor_scan *scan, mor_spot p, mor_spot end)
{
	mor_spot first = p;

	while ((!end || p < end) && is_digit(*p))
		p++;
	return p > first ? p : mor_scan_fault(scan, p, NULL);
}

static inline mor_spot scan_word(struct mor_scan *scan, mor_spot p, const char *word, size_t len)
{
	if ((size_t)(scan->end - p) < len || memcmp(p, word, len) != 0)
		return mor_scan_fault(scan, p, NULL);
	return p + len;
}

/* The position after the digits before the point. */
static INLINE mor_spot scan_fraction(struct mor_scan *scan, mor_spot p, mor_spot end)
{
	if (mor_scan_peek(p, end) == '.' && !(p = scan_digits(scan, p + 1, end)))
		return NULL;
	if ((mor_scan_peek(p, end) | 0x20) == 'e') {
		p++;
		if (mor_scan_peek(p, end) == '+' || mor_scan_peek(p, end) == '-')
			p++;
		p = scan_digits(scan, p, end);
	}
	return p;
}

static INLINE mor_spot scan_number(struct mor_scan *scan, mor_spot p, mor_spot end)
{
	if (*p == '-')
		p++;
	if (scan->nan && mor_scan_peek(p, end) == 'I')
		return scan_word(scan, p, "Infinity", 8);
	if (mor_scan_peek(p, end) == '0')
		p++;
	else if (!(p = scan_digits(scan, p, end)))
		return NULL;
	if (mor_scan_peek(p, end) == '.' || (mor_scan_peek(p, end) | 0x20) == 'e')
		return scan_fraction(scan, p, end);
	return p;
}

/* The rare cases, and the usual ones too near to the end of the text for one load. */
static mor_spot scan_odd_literal(struct mor_scan *scan, mor_spot p)
{
	switch (mor_scan_peek(p, scan->end)) {
	case 't':
		return scan_word(scan, p, "true", 4);
	case 'f':
		return scan_word(scan, p, "false", 5);
	case 'n':
		return scan_word(scan, p, "null", 4);
	case 'N':
		return scan->nan ? scan_word(scan, p, "NaN", 3) : mor_scan_fault(scan, p, NULL);
	case 'I':
		return scan->nan ? scan_word(scan, p, "Infinity", 8) : mor_scan_fault(scan, p, NULL);
	default:
		return mor_scan_fault(scan, p, NULL);
	}
}

/* Values that are not strings or containers and do not begin like a number. */
static INLINE mor_spot scan_literal(struct mor_scan *scan, mor_spot p)
{
	if (scan->end - p >= 5) {
		if (memcmp(p, "true", 4) == 0 || memcmp(p, "null", 4) == 0)
			return p + 4;
		if (memcmp(p, "false", 5) == 0)
			return p + 5;
	}
	return scan_odd_literal(scan, p);
}

static INLINE mor_spot scan_scalar(struct mor_scan *scan, mor_spot p, mor_spot end, unsigned char c)
{
	if (c == '"')
		return mor_scan_string(scan, p);
	if (is_digit(c) || c == '-')
		return scan_number(scan, p, end);
	return scan_literal(scan, p);
}

/* p at a bracket. Each turn of the loop takes one value; after one that opens a level comes the first value
 * inside. For each open level `outer` holds the bracket that closes the level around it.
 *
 * With end NULL we never check for the end of the text: everything we skip stops at the bracket at
 * scan->last. Only a bracket or a string can bring us past that one. Then NULL is returned, as for any
 * fault, and the caller tries again with the end, which gives the right verdict and its place. */
static INLINE mor_spot scan_nested(struct mor_scan *scan, mor_spot p, mor_spot end, unsigned depth)
{
	unsigned char outer[MOR_JSON_DEPTH_MAX], closer = 0;
	unsigned base = depth;

	for (;;) {
		unsigned char c = mor_scan_peek(p, end);

		if (c == '{' || c == '[') {
			if (depth >= scan->max_depth)
				return mor_scan_fault(scan, p, "nested too deep");
			p = mor_scan_pass_blanks(scan, p + 1, end);
			/* '}' and ']' are two behind '{' and '['. */
			if (mor_scan_peek(p, end) != c + 2) {
				outer[depth++] = closer;
				closer = c + 2;
				if (c == '{' && !(p = mor_scan_key_to(scan, p, end, &(mor_spot){ NULL })))
					return NULL;
				continue;
			}
			p++;
		} else if (!(p = scan_scalar(scan, p, end, c))) {
			return NULL;
		}
		for (;;) {
			if (depth == base)
				return p;
			if (!end && p > scan->last)
				return NULL;
			p = mor_scan_pass_blanks(scan, p, end);
			c = mor_scan_peek(p, end);
			if (c != closer)
				break;
			closer = outer[--depth];
			p++;
		}
		if (c != ',')
			return mor_scan_fault(scan, p, NULL);
		p = mor_scan_pass_blanks(scan, p + 1, end);
		if (closer == '}' && !(p = mor_scan_key_to(scan, p, end, &(mor_spot){ NULL })))
			return NULL;
	}
}

static mor_spot nested_to_the_end(struct mor_scan *scan, mor_spot p, unsigned depth)
{
	return scan_nested(scan, p, scan->end, depth);
}

static mor_spot nested_to_the_last(struct mor_scan *scan, mor_spot p, unsigned depth)
{
	return scan_nested(scan, p, NULL, depth);
}

mor_spot mor_scan_value(struct mor_scan *scan, mor_spot p, unsigned depth)
{
	unsigned char c = mor_scan_peek(p, scan->end);
	mor_spot found = NULL;

	if (c != '{' && c != '[')
		return scan_scalar(scan, p, scan->end, c);
	if (c == '{' && depth < scan->max_depth && (found = mor_flat_object(p, scan->end)))
		return found;
	if (scan->last && p < scan->last)
		found = nested_to_the_last(scan, p, depth);
	return found ? found : nested_to_the_end(scan, p, depth);
}

static bool is_valid(struct mor_scan *scan)
{
	mor_spot p = mor_scan_value(scan, mor_scan_pass_blanks(scan, scan->begin, scan->end), 0);

	if (p) {
		p = mor_scan_pass_blanks(scan, p, scan->end);
		if (p == scan->end)
			return true;
		mor_scan_fault(scan, p, NULL);
	}
	return false;
}

bool mor_json_valid(struct mor_slice text, unsigned flags, unsigned max_depth, size_t *ret_error_at)
{
	struct mor_scan scan = mor_scan_init(text, flags, max_depth);
	bool valid = is_valid(&scan);

	if (!valid && ret_error_at)
		*ret_error_at = (size_t)(scan.at - scan.begin);
	return valid;
}

/* Apart: its scan is large, and flat params need none. */
MOR_APART static bool is_valid_scanned(struct mor_slice text, bool *ret_spaced, size_t *ret_error_at)
{
	struct mor_scan scan = mor_scan_init(text, 0, 0);
	bool valid = is_valid(&scan);

	*ret_spaced = scan.spaced;
	*ret_error_at = valid ? 0 : (size_t)(scan.at - scan.begin);
	return valid;
}

bool mor_json_valid_params(struct mor_slice text, bool *ret_spaced, size_t *ret_error_at)
{
	mor_spot begin = (mor_spot)text.ptr;

	if (!text.len || *begin != '{' || mor_flat_object(begin, begin + text.len) != begin + text.len)
		return is_valid_scanned(text, ret_spaced, ret_error_at);
	*ret_spaced = false;
	return true;
}

/* One code point as UTF-8. */
static size_t put_utf8(unsigned c, char out[4])
{
	static const unsigned char lead[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
	size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

	for (size_t i = n; i-- > 1; c >>= 6)
		out[i] = (char)(0x80 | (c & 0x3f));
	out[0] = (char)(lead[n] | c);
	return n;
}

size_t mor_scan_take_escape(mor_spot p, mor_spot end, char out[4], size_t *ret_n)
{
	static const char shorts[] = "b\bf\fn\nr\rt\t";
	unsigned c;

	if (p[1] != 'u') {
		const char *found = memchr(shorts, p[1], sizeof(shorts) - 1);

		out[0] = found ? found[1] : (char)p[1];
		*ret_n = 1;
		return 2;
	}
	c = (unsigned)hex4(p + 2, end);
	if (c >= 0xd800 && c <= 0xdbff) {
		c = 0x10000 + ((c - 0xd800) << 10) + ((unsigned)hex4(p + 8, end) - 0xdc00);
		*ret_n = put_utf8(c, out);
		return 12;
	}
	*ret_n = put_utf8(c, out);
	return 6;
}

void mor_scan_unescape(struct mor_slice content, char *out, size_t out_size)
{
	mor_spot p = (mor_spot)content.ptr, end = p + content.len;
	size_t used = 0;

	while (p < end) {
		char piece[4];
		size_t n, step;

		if (*p == '\\') {
			step = mor_scan_take_escape(p, end, piece, &n);
			if (piece[0] == '\0')
				piece[0] = ' ';
		} else {
			step = n = mor_utf8_sequence((const char *)p, (size_t)(end - p));
			memcpy(piece, p, n);
		}
		if (used + n >= out_size)
			break;
		memcpy(out + used, piece, n);
		used += n;
		p += step;
	}
	out[used] = '\0';
}
