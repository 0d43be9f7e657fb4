#include "kythe/atype.h"

#include <stdint.h>

#include "base/text.h"

static uint32_t decode(const char *p, size_t len)
{
	const unsigned char *b = (const unsigned char *)p;

	switch (len) {
	case 2: return (uint32_t)(b[0] & 0x1f) << 6 | (b[1] & 0x3f);
	case 3: return (uint32_t)(b[0] & 0x0f) << 12 | (uint32_t)(b[1] & 0x3f) << 6 | (b[2] & 0x3f);
	case 4:
		return (uint32_t)(b[0] & 0x07) << 18 | (uint32_t)(b[1] & 0x3f) << 12 | (uint32_t)(b[2] & 0x3f) << 6 |
		       (b[3] & 0x3f);
	default: return b[0];
	}
}

/* Blocks of spaces, punctuation and symbols beyond ASCII. C's own tables go by the locale, which is the user's and not the
 * protocol's; what is not in these ranges counts as a letter or a digit. */
static bool is_other(uint32_t c)
{
	static const uint32_t ranges[][2] = {
		{ 0x80, 0xa9 }, { 0xab, 0xb4 }, { 0xb6, 0xb9 }, { 0xbb, 0xbf }, { 0xd7, 0xd7 }, { 0xf7, 0xf7 },
		{ 0x300, 0x36f }, { 0x2000, 0x2070 }, { 0x2072, 0x207e }, { 0x20a0, 0x2101 }, { 0x2190, 0x2bff },
		{ 0x2e00, 0x2e2e }, { 0x3000, 0x3004 }, { 0x3007, 0x3030 }, { 0xd800, 0xf8ff }, { 0xfe00, 0xfe6f },
		{ 0xfff0, 0xffff }, { 0x1f000, 0x1faff }, { 0xe0000, 0x10ffff },
	};

	for (size_t i = 0; i < sizeof(ranges) / sizeof(*ranges); i++)
		if (c >= ranges[i][0] && c <= ranges[i][1])
			return true;
	return false;
}

static bool is_word(uint32_t c)
{
	if (c < 0x80)
		return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		       (c && strchr("-.@#$%&_+:()", (int)c));
	return !is_other(c);
}

bool mor_atype_valid(struct mor_slice type)
{
	bool after_slash = true;

	if (type.len == 0 || type.ptr[0] != '/')
		return false;
	if (type.len == 1)
		return true;
	for (size_t i = 1; i < type.len;) {
		size_t len = mor_utf8_sequence(type.ptr + i, type.len - i);

		if (len == 0 || (type.ptr[i] == '/' && after_slash) ||
		    (type.ptr[i] != '/' && !is_word(decode(type.ptr + i, len))))
			return false;
		after_slash = type.ptr[i] == '/';
		i += len;
	}
	return !after_slash;
}

int mor_atype_normal(struct mor_slice type, struct mor_buf *out)
{
	static const char wrong[] = "/kythe/indexer/";
	size_t start = out->len;

	if (type.len == 0 || type.ptr[0] != '/')
		mor_buf_byte(out, '/');
	mor_buf_slice(out, type);
	if (!mor_buf_failed(out) && out->len - start >= sizeof(wrong) - 1 &&
	    memcmp(out->data + start, wrong, sizeof(wrong) - 1) == 0) {
		memmove(out->data + start + 12, out->data + start + 14, out->len - start - 14); /* "er" goes */
		out->len -= 2;
	}
	return out->status;
}

bool mor_atype_matches(struct mor_slice asked, struct mor_slice offered)
{
	if (mor_slice_is(asked, "/"))
		return true;
	return offered.len >= asked.len && memcmp(asked.ptr, offered.ptr, asked.len) == 0 &&
	       (offered.len == asked.len || offered.ptr[asked.len] == '/');
}
