/* SPDX-License-Identifier: Apache-2.0 */
#include "words.h"

#include <string.h>

struct mor_slice trim(struct mor_slice s)
{
	while (s.len && (*s.ptr == ' ' || *s.ptr == '\t'))
		s.ptr++, s.len--;
	while (s.len && (s.ptr[s.len - 1] == ' ' || s.ptr[s.len - 1] == '\t'))
		s.len--;
	return s;
}

struct mor_slice next_word(struct mor_slice *rest)
{
	struct mor_slice word;

	*rest = trim(*rest);
	word = *rest;
	for (word.len = 0; word.len < rest->len && rest->ptr[word.len] != ' '; word.len++)
		;
	rest->ptr += word.len;
	rest->len -= word.len;
	*rest = trim(*rest);
	return word;
}

/* Length of the JSON text (or pattern) at the start, by brackets and quotes. */
static size_t json_span(struct mor_slice s)
{
	size_t i = 0;
	int depth = 0;
	bool quoted = false;

	for (; i < s.len; i++) {
		char c = s.ptr[i];

		if (quoted) {
			i += c == '\\';
			quoted = c != '"';
		} else if (c == '"') {
			quoted = true;
		} else if (c == '{' || c == '[') {
			depth++;
		} else if (c == '}' || c == ']') {
			depth--;
		} else if (c == ' ' && depth == 0) {
			break;
		}
		if (!quoted && depth == 0 && (c == '}' || c == ']'))
			return i + 1;
	}
	return i < s.len ? i : s.len;
}

struct mor_slice next_json(struct mor_slice *rest)
{
	struct mor_slice json;

	*rest = trim(*rest);
	json = (struct mor_slice){ rest->ptr, json_span(*rest) };
	rest->ptr += json.len;
	rest->len -= json.len;
	*rest = trim(*rest);
	return json;
}

bool next_pair(struct mor_slice *rest, struct mor_slice *key, struct mor_slice *value)
{
	const char *equals;

	*rest = trim(*rest);
	equals = memchr(rest->ptr, '=', rest->len);
	if (!rest->len || !equals)
		return false;
	*key = (struct mor_slice){ rest->ptr, (size_t)(equals - rest->ptr) };
	rest->len -= key->len + 1;
	rest->ptr = equals + 1;
	*value = next_json(rest);
	if (value->len >= 2 && value->ptr[0] == '"')
		*value = (struct mor_slice){ value->ptr + 1, value->len - 2 };
	return true;
}

bool contains(const char *text, struct mor_slice part)
{
	return text && (part.len == 0 || memmem(text, strlen(text), part.ptr, part.len));
}
