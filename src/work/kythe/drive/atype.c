/* SPDX-License-Identifier: Apache-2.0 */
#include "kythe/drive/atype.h"

#include <string.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/path.h"
#include "base/text.h"

static bool is_ascii_word(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c && strchr("-.@#$%&_+:()", c));
}

/* C's own tables depend on the user's locale, but the protocol does not. PCRE2 has Unicode's tables. Valid
 * UTF-8. */
static bool has_other(struct mor_slice type)
{
	static const char pattern[] = "[^\\x00-\\x7f\\p{L}\\p{Nd}]";
	int code = 0;
	PCRE2_SIZE at = 0;
	pcre2_code *other =
		pcre2_compile((PCRE2_SPTR)pattern, sizeof(pattern) - 1, PCRE2_UTF, &code, &at, NULL);
	pcre2_match_data *match = other ? pcre2_match_data_create_from_pattern(other, NULL) : NULL;
	bool found = !match || pcre2_match(other, (PCRE2_SPTR)type.ptr, type.len, 0, 0, match, NULL) !=
				       PCRE2_ERROR_NOMATCH;

	pcre2_match_data_free(match);
	pcre2_code_free(other);
	return found;
}

bool mor_atype_valid(struct mor_slice type)
{
	bool after_slash = true, beyond_ascii = false;

	if (type.len == 0 || type.ptr[0] != '/')
		return false;
	if (type.len == 1)
		return true;
	for (size_t i = 1; i < type.len;) {
		size_t len = mor_utf8_sequence(type.ptr + i, type.len - i);

		if (len == 0 || (type.ptr[i] == '/' && after_slash) ||
		    (len == 1 && type.ptr[i] != '/' && !is_ascii_word(type.ptr[i])))
			return false;
		beyond_ascii = beyond_ascii || len > 1;
		after_slash = type.ptr[i] == '/';
		i += len;
	}
	return !after_slash && !(beyond_ascii && has_other(type));
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
		/* removes "er" */
		memmove(out->data + start + 12, out->data + start + 14, out->len - start - 14);
		out->len -= 2;
	}
	return out->status;
}

bool mor_atype_matches(struct mor_slice asked, struct mor_slice offered)
{
	if (mor_slice_is(asked, "/"))
		return true;
	return mor_path_len_is_within(offered.ptr, offered.len, asked.ptr, asked.len);
}
