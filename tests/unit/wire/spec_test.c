/* SPDX-License-Identifier: Apache-2.0 */
/* The examples of the JSON-RPC 2.0 specification, section 7, in both directions. */
#include "leak.h"

#include "base/alloc.h"
#include "wire/envelope.h"
#include "wire/json.h"

#define INVALID \
	"{\"jsonrpc\": \"2.0\", \"error\": {\"code\": -32600, \"message\": \"Invalid Request\"}, \"id\": null}"
#define PARSE_ERROR \
	"{\"jsonrpc\": \"2.0\", \"error\": {\"code\": -32700, \"message\": \"Parse error\"}, \"id\": null}"

enum { BAD = -1 };

static const struct {
	const char *text;
	int kind;                       /* enum mor_message_kind, or BAD */
	const char *method, *id, *body; /* body: params, result or error */
} examples[] = {
	{ "{\"jsonrpc\": \"2.0\", \"method\": \"subtract\", \"params\": [42, 23], \"id\": 1}", MOR_MSG_REQUEST,
	  "subtract", "1", "[42, 23]" },
	{ "{\"jsonrpc\": \"2.0\", \"result\": 19, \"id\": 1}", MOR_MSG_RESULT, NULL, "1", "19" },
	{ "{\"jsonrpc\": \"2.0\", \"method\": \"subtract\", \"params\": [23, 42], \"id\": 2}", MOR_MSG_REQUEST,
	  "subtract", "2", "[23, 42]" },
	{ "{\"jsonrpc\": \"2.0\", \"result\": -19, \"id\": 2}", MOR_MSG_RESULT, NULL, "2", "-19" },
	{ "{\"jsonrpc\": \"2.0\", \"method\": \"subtract\", \"params\": {\"subtrahend\": 23, \"minuend\": 42}, "
	  "\"id\": 3}",
	  MOR_MSG_REQUEST, "subtract", "3", "{\"subtrahend\": 23, \"minuend\": 42}" },
	{ "{\"jsonrpc\": \"2.0\", \"method\": \"subtract\", \"params\": {\"minuend\": 42, \"subtrahend\": 23}, "
	  "\"id\": 4}",
	  MOR_MSG_REQUEST, "subtract", "4", "{\"minuend\": 42, \"subtrahend\": 23}" },
	{ "{\"jsonrpc\": \"2.0\", \"method\": \"update\", \"params\": [1,2,3,4,5]}", MOR_MSG_NOTE, "update",
	  NULL, "[1,2,3,4,5]" },
	{ "{\"jsonrpc\": \"2.0\", \"method\": \"foobar\"}", MOR_MSG_NOTE, "foobar", NULL, NULL },
	{ "{\"jsonrpc\": \"2.0\", \"method\": \"foobar\", \"id\": \"1\"}", MOR_MSG_REQUEST, "foobar", "\"1\"",
	  NULL },
	{ "{\"jsonrpc\": \"2.0\", \"error\": {\"code\": -32601, \"message\": \"Method not found\"}, \"id\": "
	  "\"1\"}",
	  MOR_MSG_ERROR, NULL, "\"1\"", "{\"code\": -32601, \"message\": \"Method not found\"}" },
	{ "{\"jsonrpc\": \"2.0\", \"method\": \"foobar, \"params\": \"bar\", \"baz]", BAD, NULL, NULL, NULL },
	{ PARSE_ERROR, MOR_MSG_ERROR, NULL, "null", "{\"code\": -32700, \"message\": \"Parse error\"}" },
	{ "{\"jsonrpc\": \"2.0\", \"method\": 1, \"params\": \"bar\"}", BAD, NULL, NULL, NULL },
	{ INVALID, MOR_MSG_ERROR, NULL, "null", "{\"code\": -32600, \"message\": \"Invalid Request\"}" },
	{ "[{\"jsonrpc\": \"2.0\", \"method\": \"sum\", \"params\": [1,2,4], \"id\": \"1\"},"
	  "{\"jsonrpc\": \"2.0\", \"method\"]",
	  BAD, NULL, NULL, NULL },
	{ "[]", MOR_MSG_BATCH, NULL, NULL, NULL },
	{ "[1]", MOR_MSG_BATCH, NULL, NULL, NULL },
	{ "[1,2,3]", MOR_MSG_BATCH, NULL, NULL, NULL },
};

static void check_slice(struct mor_slice slice, const char *expected)
{
	if (!expected)
		assert_null(slice.ptr);
	else
		assert_true(slice.ptr && mor_slice_is(slice, expected));
}

static void reading(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
		struct mor_message m;
		mortise_error err = { 0 };
		int r = mor_envelope_scan(mor_slice_of(examples[i].text), 0, 0, &m, &err);

		assert_int_equal(r, examples[i].kind == BAD ? MORTISE_EPROTO : 0);
		if (r < 0)
			continue;
		assert_int_equal(m.kind, examples[i].kind);
		check_slice(m.method, examples[i].method);
		check_slice(m.id, examples[i].id);
		check_slice(m.params.ptr ? m.params : m.result.ptr ? m.result : m.error, examples[i].body);
	}
}

/* What is written for a message that was read equals it as a value. */
static void writing(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
		MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;
		MOR_CLEAN(mor_doc) struct mor_doc *a = NULL;
		MOR_CLEAN(mor_doc) struct mor_doc *b = NULL;
		struct mor_rpc_error e;
		struct mor_message m;

		if (mor_envelope_scan(mor_slice_of(examples[i].text), 0, 0, &m, NULL) < 0 ||
		    m.kind == MOR_MSG_BATCH || (m.kind == MOR_MSG_REQUEST && m.id_kind == MOR_ID_STRING))
			continue; /* our own requests have numbers for ids */
		mor_envelope_error(m.error, &e);
		if (m.kind == MOR_MSG_REQUEST)
			assert_int_equal(mor_write_request(&out, m.id_int, m.method, m.params), 0);
		else if (m.kind == MOR_MSG_NOTE)
			assert_int_equal(mor_write_note(&out, m.method, m.params), 0);
		else if (m.kind == MOR_MSG_RESULT)
			assert_int_equal(mor_write_result(&out, m.id, m.result), 0);
		else
			assert_int_equal(mor_write_error(&out, m.id, e.code, e.text, e.data), 0);
		assert_int_equal(mor_doc_parse(mor_slice_of(examples[i].text), 0, 0, &a, NULL), 0);
		assert_int_equal(mor_doc_parse(mor_buf_view(&out), 0, 0, &b, NULL), 0);
		assert_true(mor_json_equal(mor_doc_root(a), mor_doc_root(b)));
	}
}

static void exact_bytes(void **state)
{
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;
	const struct mor_slice none = { NULL, 0 };

	(void)state;
	mor_write_request(&out, INT64_MIN, MOR_SLICE("a\"b"), none);
	mor_write_error(&out, none, -32700, NULL, MOR_SLICE("[1]"));
	mor_write_result(&out, MOR_SLICE("\"q\""), none);
	mor_write_note(&out, MOR_SLICE("n"), MOR_SLICE("{}"));
	mor_buf_byte(&out, '\0');
	assert_string_equal(
		out.data,
		"{\"jsonrpc\":\"2.0\",\"id\":-9223372036854775808,\"method\":\"a\\\"b\"}{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"\",\"data\":[1]}}{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"result\":null}{\"jsonrpc\":\"2.0\",\"method\":\"n\",\"params\":{}}");
	mor_buf_reset(&out, 0);
	out.limit = 20;
	assert_int_equal(mor_write_note(&out, MOR_SLICE("n"), none), MORTISE_ELIMIT);
}

/* The specification's mixed batch: six elements, two of them no requests. */
static void mixed_batch(void **state)
{
	static const char text[] =
		"[\n"
		"{\"jsonrpc\": \"2.0\", \"method\": \"sum\", \"params\": [1,2,4], \"id\": \"1\"},\n"
		"{\"jsonrpc\": \"2.0\", \"method\": \"notify_hello\", \"params\": [7]},\n"
		"{\"jsonrpc\": \"2.0\", \"method\": \"subtract\", \"params\": [42,23], \"id\": \"2\"},\n"
		"{\"foo\": \"boo\"},\n"
		"{\"jsonrpc\": \"2.0\", \"method\": \"foo.get\", \"params\": {\"name\": \"myself\"}, \"id\": "
		"\"5\"},\n"
		"{\"jsonrpc\": \"2.0\", \"method\": \"get_data\", \"id\": \"9\"} \n]";
	static const int kinds[] = { MOR_MSG_REQUEST, MOR_MSG_NOTE,   MOR_MSG_REQUEST, BAD,
				     MOR_MSG_REQUEST, MOR_MSG_REQUEST };
	struct mor_slice element;
	struct mor_message m;
	size_t pos = 0, n = 0;

	(void)state;
	assert_int_equal(mor_envelope_scan(MOR_SLICE(text), 0, 0, &m, NULL), 0);
	assert_int_equal(m.kind, MOR_MSG_BATCH);
	while (mor_batch_next(MOR_SLICE(text), &pos, &element)) {
		int r = mor_envelope_scan(element, 0, 0, &m, NULL);

		assert_true(n < 6);
		assert_int_equal(r < 0 ? BAD : (int)m.kind, kinds[n++]);
	}
	assert_int_equal(n, 6);
}

static void batches_of_no_requests(void **state)
{
	static const struct {
		const char *text;
		size_t count;
	} rows[] = { { "[]", 0 }, { "[1]", 1 }, { "[1,2,3]", 3 } };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct mor_slice element;
		size_t pos = 0, n = 0;
		struct mor_message m;

		for (; mor_batch_next(mor_slice_of(rows[i].text), &pos, &element); n++)
			assert_int_equal(mor_envelope_scan(element, 0, 0, &m, NULL), MORTISE_EPROTO);
		assert_int_equal(n, rows[i].count);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(reading),
		MOR_TEST(writing),
		MOR_TEST(exact_bytes),
		MOR_TEST(mixed_batch),
		MOR_TEST(batches_of_no_requests),
	};

	return mor_run_group("wire/spec", tests);
}
