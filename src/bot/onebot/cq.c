/* SPDX-License-Identifier: Apache-2.0 */
/* CQ codes: a message as one string. */
#include "onebot/onebot.h"

#define CODE_BEGIN "[CQ:"

struct entity {
	char byte;
	struct mor_slice written;
};

/* The comma is last: it is escaped only inside a code. */
static const struct entity entities[] = {
	{ '&', { "&amp;", 5 } },
	{ '[', { "&#91;", 5 } },
	{ ']', { "&#93;", 5 } },
	{ ',', { "&#44;", 5 } },
};

static size_t entity_count(enum mor_cq_place place)
{
	size_t all = sizeof(entities) / sizeof(entities[0]);

	return place == MOR_CQ_IN_CODE ? all : all - 1;
}

int mor_cq_escape(struct mor_slice text, enum mor_cq_place place, struct mor_buf *out)
{
	for (size_t i = 0; i < text.len; i++) {
		size_t e = 0;

		while (e < entity_count(place) && entities[e].byte != text.ptr[i])
			e++;
		if (e < entity_count(place))
			mor_buf_slice(out, entities[e].written);
		else
			mor_buf_byte(out, text.ptr[i]);
	}
	return out->status;
}

/* The entity at the beginning, or NULL. */
static const struct entity *entity_at(struct mor_slice text, enum mor_cq_place place)
{
	for (size_t e = 0; e < entity_count(place); e++) {
		struct mor_slice written = entities[e].written;

		if (text.len >= written.len && memcmp(text.ptr, written.ptr, written.len) == 0)
			return &entities[e];
	}
	return NULL;
}

int mor_cq_unescape(struct mor_slice text, enum mor_cq_place place, struct mor_buf *out)
{
	for (size_t i = 0; i < text.len;) {
		struct mor_slice rest = { text.ptr + i, text.len - i };
		const struct entity *entity = *rest.ptr == '&' ? entity_at(rest, place) : NULL;

		mor_buf_byte(out, entity ? entity->byte : *rest.ptr);
		i += entity ? entity->written.len : 1;
	}
	return out->status;
}

/* ---- reading ---- */

static bool is_type_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
	       c == '-' || c == '.';
}

/* Is there a code at the beginning of `rest`? It cannot contain brackets, because they are escaped. */
static bool take_code(struct mor_slice rest, struct mor_cq_part *ret)
{
	size_t type_at = sizeof(CODE_BEGIN) - 1, at = type_at, params_at;

	if (rest.len < type_at || memcmp(rest.ptr, CODE_BEGIN, type_at) != 0)
		return false;
	while (at < rest.len && is_type_byte(rest.ptr[at]))
		at++;
	if (at == type_at || at == rest.len || (rest.ptr[at] != ',' && rest.ptr[at] != ']'))
		return false;
	*ret = (struct mor_cq_part){ .is_code = true, .type = { rest.ptr + type_at, at - type_at } };
	params_at = rest.ptr[at] == ',' ? at + 1 : at;
	for (at = params_at; at < rest.len && rest.ptr[at] != ']'; at++)
		if (rest.ptr[at] == '[')
			return false;
	if (at == rest.len)
		return false;
	ret->params = (struct mor_slice){ rest.ptr + params_at, at - params_at };
	ret->text = (struct mor_slice){ rest.ptr, at + 1 };
	return true;
}

bool mor_cq_next(struct mor_slice *rest, struct mor_cq_part *ret)
{
	struct mor_cq_part code;
	size_t len = 0;

	if (rest->len == 0)
		return false;
	if (take_code(*rest, ret)) {
		len = ret->text.len;
	} else {
		do
			len++;
		while (len < rest->len &&
		       !(rest->ptr[len] == '[' &&
			 take_code((struct mor_slice){ rest->ptr + len, rest->len - len }, &code)));
		*ret = (struct mor_cq_part){ .text = { rest->ptr, len } };
	}
	*rest = mor_slice_from(*rest, len);
	return true;
}

/* ---- segments ---- */

static void write_param(struct mor_slice name, const struct mor_value *value, struct mor_buf *out)
{
	struct mor_slice text = mor_json_string(value);
	struct mor_buf json = MOR_BUF_INIT;

	if (mor_json_type(value) == MOR_JSON_NULL)
		return;
	if (!text.ptr) {
		mor_json_write(value, false, &json);
		text = mor_buf_view(&json);
	}
	mor_buf_byte(out, ',');
	mor_cq_escape(name, MOR_CQ_IN_CODE, out);
	mor_buf_byte(out, '=');
	mor_cq_escape(text, MOR_CQ_IN_CODE, out);
	if (json.status && !out->status)
		out->status = json.status;
	mor_buf_fini(&json);
}

static bool is_type(struct mor_slice type)
{
	for (size_t i = 0; i < type.len; i++)
		if (!is_type_byte(type.ptr[i]))
			return false;
	return type.len > 0;
}

int mor_cq_write(const struct mor_value *segments, struct mor_buf *out)
{
	struct mor_json_iter it = mor_json_iter(segments);

	while (mor_json_next(&it)) {
		struct mor_slice type = mor_json_string(mor_json_get(it.value, "type"));
		const struct mor_value *data = mor_json_get(it.value, "data");
		struct mor_json_iter param = mor_json_iter(data);

		if (mor_slice_is(type, "text")) {
			mor_cq_escape(mor_json_string(mor_json_get(data, "text")), MOR_CQ_IN_TEXT, out);
			continue;
		}
		if (!is_type(type))
			continue;
		mor_buf_text(out, CODE_BEGIN);
		mor_buf_slice(out, type);
		while (mor_json_type(data) == MOR_JSON_OBJECT && mor_json_next(&param))
			write_param(param.name, param.value, out);
		mor_buf_byte(out, ']');
	}
	return out->status;
}

int mor_cq_plain(const struct mor_value *message, struct mor_buf *out)
{
	struct mor_slice rest = mor_json_string(message);
	struct mor_json_iter it = mor_json_iter(message);
	struct mor_cq_part part;

	while (mor_json_type(message) == MOR_JSON_ARRAY && mor_json_next(&it))
		if (mor_slice_is(mor_json_string(mor_json_get(it.value, "type")), "text"))
			mor_buf_slice(out, mor_json_string(mor_json_at(it.value, "/data/text")));
	while (mor_cq_next(&rest, &part))
		if (!part.is_code)
			mor_cq_unescape(part.text, MOR_CQ_IN_TEXT, out);
	return out->status;
}

/* ---- white space ---- */

/* Unicode's White_Space beyond ASCII, as UTF-8. */
static const char *const blanks[] = {
	"\xc2\x85",     "\xc2\xa0",     "\xe1\x9a\x80", "\xe2\x80\x80", "\xe2\x80\x81",
	"\xe2\x80\x82", "\xe2\x80\x83", "\xe2\x80\x84", "\xe2\x80\x85", "\xe2\x80\x86",
	"\xe2\x80\x87", "\xe2\x80\x88", "\xe2\x80\x89", "\xe2\x80\x8a", "\xe2\x80\xa8",
	"\xe2\x80\xa9", "\xe2\x80\xaf", "\xe2\x81\x9f", "\xe3\x80\x80",
};

/* The number of bytes of white space at one end. */
static size_t blank_at(struct mor_slice text, bool end)
{
	char byte = end ? text.ptr[text.len - 1] : text.ptr[0];

	if (byte == ' ' || (byte >= '\t' && byte <= '\r'))
		return 1;
	for (size_t i = 0; i < sizeof(blanks) / sizeof(blanks[0]); i++) {
		size_t len = strlen(blanks[i]);

		if (text.len >= len && memcmp(end ? text.ptr + text.len - len : text.ptr, blanks[i], len) == 0)
			return len;
	}
	return 0;
}

struct mor_slice mor_cq_trim(struct mor_slice text)
{
	size_t len;

	while (text.len && (len = blank_at(text, false)))
		text = mor_slice_from(text, len);
	while (text.len && (len = blank_at(text, true)))
		text.len -= len;
	return text;
}
