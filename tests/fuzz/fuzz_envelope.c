/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The envelope scanner against the tree parser: both must accept or refuse the same texts, and what the scanner
 * says of a message must be what a slow, plain reading of the tree says. Byte 0: flags; byte 1: depth bound.
 */
#include "fuzz.h"

#include <string.h>

#include "base/alloc.h"
#include "wire/envelope.h"
#include "wire/json.h"

static void check_inside(struct mor_slice part, struct mor_slice frame, unsigned flags)
{
	CHECK(part.ptr || part.len == 0);
	if (!part.ptr || (part.ptr >= frame.ptr && part.ptr + part.len <= frame.ptr + frame.len))
		return;
	/* The only text of our own: a result that was left out. */
	CHECK(flags & MOR_ENV_RESULT_OPTIONAL && mor_slice_is(part, "null"));
}

static void check_slices(const struct mor_message *m, struct mor_slice frame, unsigned flags)
{
	check_inside(m->id, frame, flags);
	check_inside(m->method, frame, flags);
	check_inside(m->params, frame, flags);
	check_inside(m->result, frame, flags);
	check_inside(m->error, frame, flags);
	check_inside(m->whole, frame, flags);
}

struct seen {
	const struct mor_value *jsonrpc, *id, *method, *params, *result, *error;
	bool twice;
};

static void see(const struct mor_value **slot, const struct mor_value *value, struct seen *seen)
{
	seen->twice |= *slot != NULL;
	*slot = value;
}

static struct seen look(const struct mor_value *root)
{
	struct mor_json_iter it = mor_json_iter(root);
	struct seen seen = { .twice = false };

	while (mor_json_next(&it)) {
		if (mor_slice_is(it.name, "jsonrpc"))
			see(&seen.jsonrpc, it.value, &seen);
		else if (mor_slice_is(it.name, "id"))
			see(&seen.id, it.value, &seen);
		else if (mor_slice_is(it.name, "method"))
			see(&seen.method, it.value, &seen);
		else if (mor_slice_is(it.name, "params"))
			see(&seen.params, it.value, &seen);
		else if (mor_slice_is(it.name, "result"))
			see(&seen.result, it.value, &seen);
		else if (mor_slice_is(it.name, "error"))
			see(&seen.error, it.value, &seen);
	}
	return seen;
}

static bool is(const struct mor_value *value, enum mor_json_type type)
{
	return mor_json_type(value) == type;
}

static bool types_fit(const struct seen *s, unsigned flags)
{
	if (s->id && !is(s->id, MOR_JSON_NUMBER) && !is(s->id, MOR_JSON_STRING) && !is(s->id, MOR_JSON_NULL))
		return false;
	if (!(flags & MOR_ENV_JSONRPC_OPTIONAL) && !mor_slice_eq(mor_json_string(s->jsonrpc), MOR_SLICE("2.0")))
		return false;
	if (s->method && !is(s->method, MOR_JSON_STRING))
		return false;
	return !s->params || is(s->params, MOR_JSON_NULL) || is(s->params, MOR_JSON_OBJECT) ||
	       is(s->params, MOR_JSON_ARRAY);
}

/* The kind by the header's words, or -1. */
static int kind_of(struct seen s, unsigned flags)
{
	bool null_ok = flags & MOR_ENV_ERROR_NULL_OK, optional = flags & MOR_ENV_RESULT_OPTIONAL;

	if (s.twice || !types_fit(&s, flags))
		return -1;
	if (null_ok && is(s.error, MOR_JSON_NULL) && (s.result || s.method || optional))
		s.error = NULL;
	if (null_ok && is(s.result, MOR_JSON_NULL) && (s.error || s.method))
		s.result = NULL;
	if (s.method)
		return s.result || s.error ? -1 : s.id ? MOR_MSG_REQUEST : MOR_MSG_NOTE;
	if (!s.id || (s.result && s.error))
		return -1;
	if (s.error)
		return is(s.error, MOR_JSON_OBJECT) ? MOR_MSG_ERROR : -1;
	return s.result || optional ? MOR_MSG_RESULT : -1;
}

static void check_batch(struct mor_slice frame, const struct mor_value *root)
{
	struct mor_json_iter it = mor_json_iter(root);
	struct mor_slice element;
	size_t pos = 0;

	while (mor_batch_next(frame, &pos, &element)) {
		MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;

		check_inside(element, frame, 0);
		CHECK(mor_json_next(&it));
		CHECK(mor_doc_parse(element, MOR_JSON_NAN, MOR_JSON_DEPTH_MAX, &doc, NULL) == 0);
		CHECK(mor_json_equal(mor_doc_root(doc), it.value));
	}
	CHECK(!mor_json_next(&it));
}

static void check_text(struct mor_slice text, const struct mor_value *value, unsigned flags)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;

	if (!text.ptr)
		return;
	CHECK(mor_doc_parse(text, flags & MOR_ENV_NAN ? MOR_JSON_NAN : 0, MOR_JSON_DEPTH_MAX, &doc, NULL) == 0);
	CHECK(!value || mor_json_equal(mor_doc_root(doc), value));
}

static void check_verdict(struct mor_slice frame, unsigned flags, int r, const struct mor_message *m,
			  const struct mor_value *root)
{
	struct seen seen = look(root);

	if (is(root, MOR_JSON_ARRAY)) {
		CHECK(r == 0 && m->kind == MOR_MSG_BATCH);
		check_batch(frame, root);
	} else if (!is(root, MOR_JSON_OBJECT)) {
		CHECK(r == MORTISE_EPROTO);
	} else if (!memchr(frame.ptr, '\\', frame.len)) {
		/* With escapes the two differ by design: an escaped key is no envelope key. */
		CHECK(r == 0 ? kind_of(seen, flags) == (int)m->kind : kind_of(seen, flags) == -1);
		if (r == 0) {
			check_text(m->id, seen.id, flags);
			check_text(m->params, seen.params, flags);
			check_text(m->result, seen.result, flags);
			check_text(m->error, seen.error, flags);
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	struct mor_rpc_error rpc;
	struct mor_message m;
	mortise_error err = { 0 };
	struct mor_slice frame;
	unsigned flags, depth;
	int r, parsed;
	bool valid;

	if (size < 2)
		return 0;
	flags = data[0] & 15;
	depth = data[1] % 16;
	frame = (struct mor_slice){ (const char *)data + 2, size - 2 };
	r = mor_envelope_scan(frame, flags, depth, &m, &err);
	CHECK(r == 0 || (r == MORTISE_EPROTO && err.text[0]));
	check_slices(&m, frame, flags);
	valid = mor_json_valid(frame, flags, depth, NULL);
	parsed = mor_doc_parse(frame, flags & MOR_ENV_NAN ? MOR_JSON_NAN : 0, depth, &doc, NULL);
	CHECK(valid == (parsed == 0));
	CHECK(valid || r < 0);
	if (valid)
		check_verdict(frame, flags, r, &m, mor_doc_root(doc));
	if (r == 0 && m.error.ptr)
		mor_envelope_error(m.error, &rpc);
	return 0;
}
