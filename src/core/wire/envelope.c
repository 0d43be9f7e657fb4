/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two halves. The scan walks over the frame once and only collects: six slices, and the id as soon as it is
 * seen. The judging looks at those slices and decides what kind of message they make. A fault in the text is
 * reported by byte, a fault in the message by JSON pointer. The first kind wins over the second, in any
 * order.
 */
#include "wire/envelope.h"

#include "base/apart.h"
#include "base/error.h"
#include "base/text.h"
#include "wire/digits.h"
#include "wire/flat.h"

enum member { M_JSONRPC, M_ID, M_METHOD, M_PARAMS, M_RESULT, M_ERROR, MEMBERS };

static const char *const names[MEMBERS] = { "jsonrpc", "id", "method", "params", "result", "error" };

/* A message that is being read: the members' texts. ptr NULL: not seen. */
struct envelope {
	struct mor_slice member[MEMBERS];
	bool method_escaped;
};

/* The length is compared first: most foreign keys differ there. */
static enum member member_of(struct mor_slice key)
{
	switch (key.len) {
	case 2:
		return memcmp(key.ptr, "id", 2) == 0 ? M_ID : MEMBERS;
	case 5:
		return memcmp(key.ptr, "error", 5) == 0 ? M_ERROR : MEMBERS;
	case 6:
		return memcmp(key.ptr, "method", 6) == 0 ? M_METHOD :
		       memcmp(key.ptr, "params", 6) == 0 ? M_PARAMS :
		       memcmp(key.ptr, "result", 6) == 0 ? M_RESULT :
							   MEMBERS;
	case 7:
		return memcmp(key.ptr, "jsonrpc", 7) == 0 ? M_JSONRPC : MEMBERS;
	default:
		return MEMBERS;
	}
}

#define ESCAPED_MOST 6 /* the most bytes that one character of a name can need */

/* The unescaped key or value, if it is short enough to be one of our names; else "". */
struct plain_name {
	char text[16];
};

static struct plain_name unescape_name(struct mor_slice content)
{
	struct plain_name name = { "" };

	if (content.len < ESCAPED_MOST * sizeof(name.text))
		mor_scan_unescape(content, name.text, sizeof(name.text));
	return name;
}

/* The same for a key with an escape in it. Only tests write such keys. */
static enum member member_of_escaped(struct mor_slice key)
{
	struct plain_name name = unescape_name(key);

	return member_of(mor_slice_of(name.text));
}

/* The type of a JSON text, by its first byte. */
static enum mor_json_type json_type_of(struct mor_slice json)
{
	if (!json.ptr)
		return MOR_JSON_MISSING;
	switch (json.ptr[0]) {
	case '{':
		return MOR_JSON_OBJECT;
	case '[':
		return MOR_JSON_ARRAY;
	case '"':
		return MOR_JSON_STRING;
	case 't':
	case 'f':
		return MOR_JSON_BOOL;
	case 'n':
		return MOR_JSON_NULL;
	default:
		return MOR_JSON_NUMBER;
	}
}

static bool is_null(struct mor_slice json)
{
	return json_type_of(json) == MOR_JSON_NULL;
}

/* Small ids without a call; nearly all ids are small. */
static int64_t id_number(struct mor_slice id)
{
	int64_t value = 0;

	if (id.len < 18 && id.ptr[0] != '-') {
		for (size_t i = 0; i < id.len; i++) {
			if (id.ptr[i] < '0' || id.ptr[i] > '9')
				return -1;
			value = value * 10 + (id.ptr[i] - '0');
		}
		return value;
	}
	return mor_parse_i64(id, &value) ? value : -1;
}

/* Set as soon as it is seen, so that a fault further on still knows whose answer this was to be. An id
 * of a wrong type is left out here and told by judge_envelope(). */
static void set_id(struct mor_message *message, struct mor_slice id)
{
	enum mor_json_type type = json_type_of(id);

	if (type == MOR_JSON_NUMBER) {
		message->id_kind = MOR_ID_NUMBER;
		message->id_int = id_number(id);
	} else if (type == MOR_JSON_STRING) {
		message->id_kind = MOR_ID_STRING;
	} else if (type == MOR_JSON_NULL) {
		message->id_kind = MOR_ID_NULL;
	} else {
		return;
	}
	message->id = id;
}

/* One member, p at its key or a blank before it. Returns the position after its value. */
static mor_spot scan_member(struct mor_scan *scan, mor_spot p, struct envelope *envelope,
			    struct mor_message *message)
{
	struct mor_slice key, text;
	enum member which;
	mor_spot start = mor_scan_key(scan, p, &key);

	if (!start)
		return NULL;
	which = scan->escaped ? member_of_escaped(key) : member_of(key);
	if (which != MEMBERS && envelope->member[which].ptr)
		return mor_scan_fault(scan, (mor_spot)key.ptr - 1, "this key was there before");
	p = mor_scan_value(scan, start, 1);
	if (!p || which == MEMBERS)
		return p;
	text = (struct mor_slice){ (const char *)start, (size_t)(p - start) };
	envelope->member[which] = text;
	if (which == M_ID)
		set_id(message, text);
	else if (which == M_METHOD)
		envelope->method_escaped = scan->escaped;
	return p;
}

/* p at the '{'. Returns the position after the '}'. */
static mor_spot scan_object(struct mor_scan *scan, mor_spot p, struct envelope *envelope,
			    struct mor_message *message)
{
	mor_spot open = p;

	p = mor_scan_blanks(p + 1, scan->end);
	if (mor_scan_peek(p, scan->end) == '}')
		return p + 1;
	for (p = open;;) {
		p = scan_member(scan, p + 1, envelope, message);
		if (!p)
			return NULL;
		p = mor_scan_blanks(p, scan->end);
		if (mor_scan_peek(p, scan->end) == '}')
			return p + 1;
		if (mor_scan_peek(p, scan->end) != ',')
			return mor_scan_fault(scan, p, NULL);
	}
}

static int refuse_member(mortise_error *err, enum member which, struct mor_slice json, const char *what)
{
	return mor_fail(err, MORTISE_EPROTO, "/%s: %s is no %s", names[which],
			mor_json_type_name(json_type_of(json)), what);
}

static bool is_escaped_version(struct mor_slice json)
{
	if (json_type_of(json) != MOR_JSON_STRING || !memchr(json.ptr, '\\', json.len))
		return false;
	return strcmp(unescape_name((struct mor_slice){ json.ptr + 1, json.len - 2 }).text, "2.0") == 0;
}

/* Checks the type of each member that is there. Null params count as absent: real peers send them. */
static int judge_types(struct envelope *envelope, unsigned flags, struct mor_message *message,
		       mortise_error *err)
{
	struct mor_slice *m = envelope->member;
	enum mor_json_type params = json_type_of(m[M_PARAMS]);

	if (m[M_ID].ptr && message->id_kind == MOR_ID_NONE)
		return refuse_member(err, M_ID, m[M_ID], "id");
	message->lax = !mor_slice_eq(m[M_JSONRPC], MOR_SLICE("\"2.0\"")) && !is_escaped_version(m[M_JSONRPC]);
	if (message->lax && !(flags & MOR_ENV_JSONRPC_OPTIONAL))
		return mor_fail(err, MORTISE_EPROTO,
				m[M_JSONRPC].ptr ? "/jsonrpc: not \"2.0\"" : "/jsonrpc: missing");
	if (m[M_METHOD].ptr && json_type_of(m[M_METHOD]) != MOR_JSON_STRING)
		return refuse_member(err, M_METHOD, m[M_METHOD], "method");
	if (params == MOR_JSON_NULL)
		m[M_PARAMS] = (struct mor_slice){ NULL, 0 };
	else if (params != MOR_JSON_MISSING && params != MOR_JSON_OBJECT && params != MOR_JSON_ARRAY)
		return refuse_member(err, M_PARAMS, m[M_PARAMS], "object or array");
	return 0;
}

/* Nulls that mean "absent", if the dialect's peers write them. */
static void drop_nulls(struct mor_slice *m)
{
	const struct mor_slice absent = { NULL, 0 };

	if (is_null(m[M_ERROR]) && (m[M_RESULT].ptr || m[M_METHOD].ptr))
		m[M_ERROR] = absent;
	if (is_null(m[M_RESULT]) && (m[M_ERROR].ptr || m[M_METHOD].ptr))
		m[M_RESULT] = absent;
}

static int judge_call(const struct mor_slice *m, bool escaped, struct mor_message *message, mortise_error *err)
{
	if (m[M_RESULT].ptr || m[M_ERROR].ptr)
		return mor_fail(err, MORTISE_EPROTO, "/%s: beside a method",
				m[M_RESULT].ptr ? "result" : "error");
	message->kind = message->id_kind == MOR_ID_NONE ? MOR_MSG_NOTE : MOR_MSG_REQUEST;
	message->method = (struct mor_slice){ m[M_METHOD].ptr + 1, m[M_METHOD].len - 2 };
	message->method_escaped = escaped;
	message->params = m[M_PARAMS];
	return 0;
}

static int judge_reply(struct mor_slice *m, unsigned flags, struct mor_message *message, mortise_error *err)
{
	if (m[M_RESULT].ptr && m[M_ERROR].ptr)
		return mor_fail(err, MORTISE_EPROTO, "/error: beside a result");
	if (!m[M_RESULT].ptr && !m[M_ERROR].ptr) {
		if (!(flags & MOR_ENV_RESULT_OPTIONAL) || message->id_kind == MOR_ID_NONE)
			return mor_fail(err, MORTISE_EPROTO, "neither method nor result nor error");
		m[M_RESULT] = MOR_SLICE("null");
	}
	if (message->id_kind == MOR_ID_NONE)
		return mor_fail(err, MORTISE_EPROTO, "/id: missing in a reply");
	if (m[M_ERROR].ptr && json_type_of(m[M_ERROR]) != MOR_JSON_OBJECT)
		return refuse_member(err, M_ERROR, m[M_ERROR], "error object");
	message->kind = m[M_ERROR].ptr ? MOR_MSG_ERROR : MOR_MSG_RESULT;
	message->result = m[M_RESULT];
	message->error = m[M_ERROR];
	return 0;
}

static int judge_envelope(struct envelope *envelope, unsigned flags, struct mor_message *message,
			  mortise_error *err)
{
	struct mor_slice *m = envelope->member;
	int r = judge_types(envelope, flags, message, err);

	if (r < 0)
		return r;
	if (flags & MOR_ENV_ERROR_NULL_OK) {
		drop_nulls(m);
		/* A null error alone means "no error": a reply without a result, if those are allowed. */
		if (is_null(m[M_ERROR]) && flags & MOR_ENV_RESULT_OPTIONAL)
			m[M_ERROR] = (struct mor_slice){ NULL, 0 };
	}
	if (m[M_METHOD].ptr)
		return judge_call(m, envelope->method_escaped, message, err);
	return judge_reply(m, flags, message, err);
}

/* Member by member: for whole structs of this size compilers use "rep stos", and its start alone takes as
 * long as a small message. */
static void clear_message(struct mor_message *message)
{
	const struct mor_slice absent = { NULL, 0 };

	message->kind = MOR_MSG_REQUEST;
	message->id_kind = MOR_ID_NONE;
	message->id = absent;
	message->id_int = -1;
	message->method = absent;
	message->method_escaped = message->lax = false;
	message->params = message->result = message->error = message->whole = absent;
}

static void clear_envelope(struct envelope *envelope)
{
	for (int i = 0; i < MEMBERS; i++)
		envelope->member[i] = (struct mor_slice){ NULL, 0 };
	envelope->method_escaped = false;
}

/* A usual spelling of a result. Its parts are constants, so that their comparison needs no call. */
struct usual {
	const char *head, *middle;
	size_t head_len, middle_len;
};

#define USUAL(head, middle) ((struct usual){ head, middle, sizeof(head) - 1, sizeof(middle) - 1 })
/* shorter messages take the slow way: so the code below need not check limits for each byte */
#define USUAL_LEAST 64

/* The result of a message in this spelling, from its first byte; NULL: another one. Sets the id. */
static MOR_SCAN_INLINE mor_spot find_usual(mor_spot begin, struct usual u, struct mor_message *message)
{
	mor_spot digits = begin + u.head_len;
	size_t count;

	if (memcmp(begin, u.head, u.head_len) != 0)
		return NULL;
	message->id_int = (int64_t)mor_digits_read(digits, &count);
	if (count == 0 || (*digits == '0' && count > 1) || memcmp(digits + count, u.middle, u.middle_len) != 0)
		return NULL;
	message->id = (struct mor_slice){ (const char *)digits, count };
	return digits + count + u.middle_len;
}

/* A result in exactly one of the usual spellings, by C programs and by Python's json. False: take the slow way,
 * which finds out what it is. */
static bool scan_usual(struct mor_slice frame, unsigned flags, unsigned max_depth, struct mor_message *message)
{
	const struct mor_slice absent = { NULL, 0 };
	mor_spot begin = (mor_spot)frame.ptr, end = begin + frame.len, value, after = NULL;

	value = begin[11] == ' ' ?
			find_usual(begin, USUAL("{\"jsonrpc\": \"2.0\", \"id\": ", ", \"result\": "), message) :
			find_usual(begin, USUAL("{\"jsonrpc\":\"2.0\",\"id\":", ",\"result\":"), message);
	if (!value)
		return false;
	if (*value == '{' && max_depth != 1)
		after = mor_flat_object(value, end);
	if (!after) {
		struct mor_scan scan = mor_scan_init(frame, flags, max_depth);

		after = mor_scan_value(&scan, value, 1);
	}
	if (!after || end - after != 1 || *after != '}')
		return false;
	message->kind = MOR_MSG_RESULT;
	message->id_kind = MOR_ID_NUMBER;
	message->method_escaped = message->lax = false;
	message->method = message->params = message->error = absent;
	message->result = (struct mor_slice){ (const char *)value, (size_t)(after - value) };
	message->whole = frame;
	return true;
}

/* Any message. */
MOR_APART static int scan_message(struct mor_slice frame, unsigned flags, unsigned max_depth,
				  struct mor_message *ret_message, mortise_error *err)
{
	struct mor_scan scan = mor_scan_init(frame, flags, max_depth);
	mor_spot start = mor_scan_blanks(scan.begin, scan.end), p;
	struct envelope envelope;
	unsigned char first = mor_scan_peek(start, scan.end);

	clear_message(ret_message);
	clear_envelope(&envelope);
	p = first == '{' ? scan_object(&scan, start, &envelope, ret_message) : mor_scan_value(&scan, start, 0);
	if (p) {
		ret_message->whole = (struct mor_slice){ (const char *)start, (size_t)(p - start) };
		p = mor_scan_blanks(p, scan.end);
		if (p < scan.end)
			p = mor_scan_fault(&scan, p, NULL);
	}
	if (!p)
		return mor_scan_tell(&scan, err);
	if (first == '{')
		return judge_envelope(&envelope, flags, ret_message, err);
	if (first != '[')
		return mor_fail(err, MORTISE_EPROTO, "%s is no message",
				mor_json_type_name(json_type_of(ret_message->whole)));
	ret_message->kind = MOR_MSG_BATCH;
	return 0;
}

int mor_envelope_scan(struct mor_slice frame, unsigned flags, unsigned max_depth,
		      struct mor_message *ret_message, mortise_error *err)
{
	if (frame.len >= USUAL_LEAST && scan_usual(frame, flags, max_depth, ret_message))
		return 0;
	return scan_message(frame, flags, max_depth, ret_message, err);
}

int mor_envelope_unescape(struct mor_message *message, struct mor_buf *out)
{
	int r = mor_buf_reserve(out, message->method.len + 1);

	if (r < 0)
		return r;
	/* An unescaped character is never longer than its escape. */
	mor_scan_unescape(message->method, out->data, message->method.len + 1);
	out->len = strlen(out->data);
	message->method = mor_buf_view(out);
	message->method_escaped = false;
	return 0;
}

int mor_batch_next(struct mor_slice frame, size_t *pos, struct mor_slice *ret_element)
{
	struct mor_scan scan = mor_scan_init(frame, MOR_ENV_NAN, MOR_JSON_DEPTH_MAX);
	mor_spot p = mor_scan_blanks(scan.begin + *pos, scan.end), end;

	/* After an element comes ',' or ']'; at the start '['. */
	if (p == scan.end || *p == ']')
		return 0;
	p = mor_scan_blanks(p + 1, scan.end);
	end = mor_scan_peek(p, scan.end) == ']' ? NULL : mor_scan_value(&scan, p, 1);
	if (!end)
		return 0;
	*ret_element = (struct mor_slice){ (const char *)p, (size_t)(end - p) };
	*pos = (size_t)(end - scan.begin);
	return 1;
}

/* ---- The error object ---- */

static void take_error_member(struct mor_rpc_error *ret, struct mor_slice key, struct mor_slice value)
{
	if (mor_slice_is(key, "code")) {
		ret->code_ok = mor_parse_i64(value, &ret->code);
	} else if (mor_slice_is(key, "data")) {
		ret->data = value;
	} else if (mor_slice_is(key, "message")) {
		if (json_type_of(value) == MOR_JSON_STRING)
			mor_scan_unescape((struct mor_slice){ value.ptr + 1, value.len - 2 }, ret->text,
					  sizeof(ret->text));
		else
			mor_excerpt(value, ret->text, sizeof(ret->text));
	}
}

void mor_envelope_error(struct mor_slice error, struct mor_rpc_error *ret)
{
	struct mor_scan scan = mor_scan_init(error, MOR_ENV_NAN, MOR_JSON_DEPTH_MAX);
	mor_spot p = mor_scan_blanks(scan.begin, scan.end);

	*ret = (struct mor_rpc_error){ .code = 0 };
	if (mor_scan_peek(p, scan.end) != '{')
		return;
	do {
		struct mor_slice key;
		mor_spot value = mor_scan_key(&scan, p + 1, &key);
		struct plain_name name;

		if (value && scan.escaped) {
			name = unescape_name(key);
			key = mor_slice_of(name.text);
		}
		p = value ? mor_scan_value(&scan, value, 1) : NULL;
		if (!p)
			return;
		take_error_member(ret, key, (struct mor_slice){ (const char *)value, (size_t)(p - value) });
		p = mor_scan_blanks(p, scan.end);
	} while (mor_scan_peek(p, scan.end) == ',');
}
