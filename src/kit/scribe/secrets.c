/* SPDX-License-Identifier: Apache-2.0 */
#include "scribe/secrets.h"

#include <ctype.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/text.h"
#include "wire/json.h"

/* A name is that of a secret if it ends like this, in lower case and without '-', '_' and '.'. */
static const char endings[] =
	"token|password|passwd|passwords|secret|secrets|passphrase|apikey|accesskey|privatekey|secretkey|"
	"signingkey|jwt|credential|credentials|bearer|cookie|authorization";
static const char exact[] = "auth|pwd|pass"; /* too short to be an ending */
/* A value of several words: it goes up to the end of the line. */
static const char lines[] = "authorization|cookie";

#define PLAIN_NAME 64 /* longer names: only their end counts */

void mor_secrets_fini(struct mor_secrets *secrets)
{
	mor_free(secrets->known);
	*secrets = (struct mor_secrets){ 0 };
}

/* ---- names ---- */

/* Lower case, only letters and digits; the last PLAIN_NAME - 1 of them. */
static struct mor_slice plain_name(struct mor_slice name, char out[PLAIN_NAME])
{
	size_t len = 0, from = name.len > PLAIN_NAME - 1 ? name.len - (PLAIN_NAME - 1) : 0;

	for (size_t i = from; i < name.len; i++) {
		char c = name.ptr[i];

		if (c >= 'A' && c <= 'Z')
			c |= 0x20;
		if (c != '-' && c != '_' && c != '.' && c != ' ')
			out[len++] = c;
	}
	return (struct mor_slice){ out, len };
}

static bool ends_like(const char *list, struct mor_slice name)
{
	struct mor_slice rest = mor_slice_of(list);

	while (rest.len) {
		struct mor_slice end = mor_slice_cut(&rest, '|');

		if (end.len <= name.len && memcmp(name.ptr + name.len - end.len, end.ptr, end.len) == 0)
			return true;
	}
	return false;
}

static bool is_listed(const char *const *list, struct mor_slice name)
{
	char other[PLAIN_NAME];

	for (; list && *list; list++)
		if (mor_slice_eq(plain_name(mor_slice_of(*list), other), name))
			return true;
	return false;
}

/* Case, '-' and '_' do not matter. `name` is the content of a JSON string without escapes. */
static bool has_secret(const struct mor_secrets *secrets, struct mor_slice name)
{
	char text[PLAIN_NAME];
	struct mor_slice plain = plain_name(name, text);

	return plain.len && !is_listed(secrets->keep, plain) &&
	       (ends_like(endings, plain) || mor_text_in(plain, exact) || is_listed(secrets->more, plain));
}

/* ---- values ---- */

/* secret_token_1: its member's name, and a number of its own. */
static void make_name(size_t number, struct mor_slice member, char out[MOR_SECRET_NAME])
{
	char base[MOR_SECRET_NAME - 32] = "";
	size_t len = 0;

	for (; len < member.len && len < sizeof(base) - 1; len++)
		base[len] = isalnum((unsigned char)member.ptr[len]) ? (char)tolower(member.ptr[len]) : '_';
	base[len] = '\0';
	snprintf(out, MOR_SECRET_NAME, "secret_%s_%zu", base, number);
}

/* The name that stands for this value; NULL: no memory. After very many, the oldest value is forgotten. */
static const char *name_value(struct mor_secrets *secrets, struct mor_slice member, struct mor_slice value)
{
	size_t have = secrets->count < MOR_SECRETS_KNOWN ? secrets->count : MOR_SECRETS_KNOWN;
	uint64_t hash = mor_hash(value.ptr, value.len);
	struct mor_secret *known;

	for (size_t i = 0; i < have; i++)
		if (secrets->known[i].hash == hash)
			return secrets->known[i].name;
	if (have < MOR_SECRETS_KNOWN && mor_grow(&secrets->known, have, &secrets->cap, sizeof(*known)) < 0)
		return NULL;
	known = &secrets->known[secrets->count++ % MOR_SECRETS_KNOWN];
	known->hash = hash;
	make_name(secrets->count, member, known->name);
	return known->name;
}

/* ---- JSON ---- */

static size_t skip_blanks(struct mor_slice json, size_t at)
{
	while (at < json.len && mor_char_is_blank(json.ptr[at]))
		at++;
	return at;
}

/* `at` is the opening quote; returns the place behind the closing one. */
static size_t skip_string(struct mor_slice json, size_t at)
{
	for (at++; at < json.len; at++) {
		const char *quote = memchr(json.ptr + at, '"', json.len - at);
		size_t end = quote ? (size_t)(quote - json.ptr) : json.len, slashes = 0;

		while (end - slashes > at && json.ptr[end - slashes - 1] == '\\')
			slashes++;
		at = end;
		if (slashes % 2 == 0)
			break;
	}
	return at < json.len ? at + 1 : json.len;
}

/* An object or array. Brackets are counted, not matched: the text is valid. */
static size_t skip_nested(struct mor_slice json, size_t at)
{
	size_t depth = 0;

	for (; at < json.len; at++) {
		char c = json.ptr[at];

		if (c == '"')
			at = skip_string(json, at) - 1;
		else if (c == '{' || c == '[')
			depth++;
		else if ((c == '}' || c == ']') && --depth == 0)
			return at + 1;
	}
	return at;
}

/* A number, true, false or null. */
static size_t skip_scalar(struct mor_slice json, size_t at)
{
	while (at < json.len && !mor_char_is_blank(json.ptr[at]) && json.ptr[at] != ',' &&
	       json.ptr[at] != '}' && json.ptr[at] != ']')
		at++;
	return at;
}

static size_t value_end(struct mor_slice json, size_t at)
{
	char c = at < json.len ? json.ptr[at] : '\0';

	if (c == '"')
		return skip_string(json, at);
	return c == '{' || c == '[' ? skip_nested(json, at) : skip_scalar(json, at);
}

/* `key` with its quotes, unescaped if it has escapes: "\u0074oken" is a token too. */
static bool key_is_secret(const struct mor_secrets *secrets, struct mor_slice key)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	struct mor_slice name = { key.ptr + 1, key.len - 2 };

	if (memchr(name.ptr, '\\', name.len)) {
		if (mor_doc_parse(key, 0, 0, &doc, NULL) < 0)
			return true; /* no memory: rather one value too few */
		name = mor_json_string(mor_doc_root(doc));
	}
	return has_secret(secrets, name);
}

int mor_secrets_json(struct mor_secrets *secrets, struct mor_slice json, struct mor_buf *out)
{
	size_t copied = 0, at = 0;

	while (at < json.len) {
		const char *quote = memchr(json.ptr + at, '"', json.len - at);
		struct mor_slice key, value;
		const char *name;
		size_t begin, colon;

		if (!quote)
			break;
		begin = (size_t)(quote - json.ptr);
		at = skip_string(json, begin);
		colon = skip_blanks(json, at);
		if (colon >= json.len || json.ptr[colon] != ':')
			continue;
		key = (struct mor_slice){ quote, at - begin };
		at = skip_blanks(json, colon + 1);
		if (!key_is_secret(secrets, key))
			continue;
		value = (struct mor_slice){ json.ptr + at, value_end(json, at) - at };
		if (mor_text_in(value, "null|true|false|\"\""))
			continue;
		name = name_value(secrets, (struct mor_slice){ key.ptr + 1, key.len - 2 }, value);
		mor_json_one_line((struct mor_slice){ json.ptr + copied, at - copied }, out);
		mor_buf_printf(out, "%s%s", name ? "$" : "...", name ? name : "");
		copied = at = at + value.len;
	}
	return mor_json_one_line((struct mor_slice){ json.ptr + copied, json.len - copied }, out);
}

/* ---- other text ---- */

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-';
}

static size_t word_end(struct mor_slice text, size_t at)
{
	while (at < text.len && is_word(text.ptr[at]))
		at++;
	return at;
}

static size_t skip_set(struct mor_slice text, size_t at, const char *set)
{
	while (at < text.len && text.ptr[at] && strchr(set, text.ptr[at]))
		at++;
	return at;
}

static size_t skip_until(struct mor_slice text, size_t at, const char *set)
{
	while (at < text.len && !(text.ptr[at] && strchr(set, text.ptr[at])))
		at++;
	return at;
}

/* Behind a name: where its value begins, after = or : and quotes. 0: no value follows. */
static size_t text_value(struct mor_slice text, size_t at)
{
	at = skip_set(text, skip_set(text, at, "\\\"'"), " \t");
	if (at >= text.len || (text.ptr[at] != '=' && text.ptr[at] != ':'))
		return 0;
	return skip_set(text, at + 1, " \t\\\"'");
}

/* The word "Bearer" is not the secret: the next one is. */
static size_t text_value_end(struct mor_slice text, struct mor_slice name, size_t at)
{
	char plain[PLAIN_NAME];
	struct mor_slice word;
	size_t end;

	if (ends_like(lines, plain_name(name, plain)))
		return skip_until(text, at, "\r\n\"\\");
	end = skip_until(text, at, " \t\r\n\"'\\,;&)]}");
	word = (struct mor_slice){ text.ptr + at, end - at };
	if (mor_text_in(word, "Bearer|bearer|Basic|basic"))
		end = skip_until(text, skip_set(text, end, " \t"), " \t\r\n\"'\\,;&)]}");
	return end;
}

int mor_secrets_text(struct mor_secrets *secrets, struct mor_slice text, struct mor_buf *out)
{
	size_t copied = 0, at = 0;

	while (at < text.len) {
		size_t end, value;
		struct mor_slice name;

		if (!is_word(text.ptr[at])) {
			at++;
			continue;
		}
		end = word_end(text, at);
		name = (struct mor_slice){ text.ptr + at, end - at };
		at = end;
		value = has_secret(secrets, name) ? text_value(text, end) : 0;
		if (!value || value == text.len)
			continue;
		mor_buf_append(out, text.ptr + copied, value - copied);
		mor_buf_text(out, MOR_SECRETS_STARS);
		copied = at = text_value_end(text, name, value);
	}
	return mor_buf_append(out, text.ptr + copied, text.len - copied);
}
