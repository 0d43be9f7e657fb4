/* SPDX-License-Identifier: Apache-2.0 */
#include "leak.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/text.h"
#include "wire/envelope.h"
#include "wire/json.h"

#define ANY (MOR_ENV_JSONRPC_OPTIONAL | MOR_ENV_ERROR_NULL_OK | MOR_ENV_NAN | MOR_ENV_RESULT_OPTIONAL)
#define V   "\"jsonrpc\":\"2.0\","

static struct mor_message accept(const char *text, unsigned flags, enum mor_message_kind kind)
{
	struct mor_message message;
	mortise_error err = { 0 };

	if (mor_envelope_scan(mor_slice_of(text), flags, 0, &message, &err) < 0)
		fail_msg("%s: %s", text, err.text);
	assert_int_equal(message.kind, kind);
	return message;
}

static struct mor_message refuse(const char *text, unsigned flags, const char *expected)
{
	struct mor_message message;
	mortise_error err = { 0 };

	assert_int_equal(mor_envelope_scan(mor_slice_of(text), flags, 0, &message, &err), MORTISE_EPROTO);
	if (strcmp(err.text, expected) != 0)
		fail_msg("%s: \"%s\" instead of \"%s\"", text, err.text, expected);
	return message;
}

static void members_are_slices_of_the_frame(void **state)
{
	static const char text[] =
		" \t{ " V " \"params\" : {\"id\":9,\"method\":[]} , \"method\":\"a.b\",\"id\" : 12 } \r\n";
	struct mor_message m = accept(text, 0, MOR_MSG_REQUEST);

	(void)state;
	assert_true(mor_slice_is(m.method, "a.b"));
	assert_true(mor_slice_is(m.params, "{\"id\":9,\"method\":[]}"));
	assert_true(mor_slice_is(m.id, "12"));
	assert_int_equal(m.id_int, 12);
	assert_int_equal(m.id_kind, MOR_ID_NUMBER);
	assert_true(m.params.ptr > text && m.params.ptr < text + sizeof(text));
	assert_int_equal(m.whole.ptr[0], '{');
	assert_int_equal(m.whole.ptr[m.whole.len - 1], '}');
	assert_false(m.lax);
	assert_false(m.method_escaped);
	assert_null(m.result.ptr);
}

static void kinds(void **state)
{
	struct mor_message m;

	(void)state;
	accept("{" V "\"method\":\"n\"}", 0, MOR_MSG_NOTE);
	accept("{" V "\"method\":\"n\",\"id\":null}", 0, MOR_MSG_REQUEST);
	m = accept("{" V "\"id\":\"x\",\"result\":[1]}", 0, MOR_MSG_RESULT);
	assert_true(mor_slice_is(m.result, "[1]"));
	assert_true(mor_slice_is(m.id, "\"x\""));
	assert_int_equal(m.id_kind, MOR_ID_STRING);
	assert_int_equal(m.id_int, -1);
	m = accept("{" V "\"id\":1,\"result\":null}", 0, MOR_MSG_RESULT);
	assert_true(mor_slice_is(m.result, "null"));
	m = accept("{" V "\"id\":null,\"error\":{\"code\":1}}", 0, MOR_MSG_ERROR);
	assert_int_equal(m.id_kind, MOR_ID_NULL);
	assert_true(mor_slice_is(m.error, "{\"code\":1}"));
	accept("[]", 0, MOR_MSG_BATCH);
}

static void ids_stay_as_they_are(void **state)
{
	static const struct {
		const char *text;
		int64_t number;
	} rows[] = { { "0", 0 },
		     { "-5", -5 },
		     { "9223372036854775807", INT64_MAX },
		     { "9223372036854775808", -1 },
		     { "1.0", -1 },
		     { "1e2", -1 },
		     { "123456789012345678901234567890", -1 },
		     { "-0", 0 },
		     { "\"a\\u00e9\"", -1 },
		     { "\"\"", -1 } };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
		struct mor_message m;

		mor_buf_printf(&text, "{" V "\"id\":%s,\"result\":1}%c", rows[i].text, 0);
		m = accept(text.data, 0, MOR_MSG_RESULT);
		assert_true(mor_slice_is(m.id, rows[i].text));
		assert_int_equal(m.id_int, rows[i].number);
	}
}

static void escaped_methods(void **state)
{
	struct mor_message m = accept("{" V "\"method\":\"a\\u002fb\",\"id\":\"\\n\"}", 0, MOR_MSG_REQUEST);
	struct mor_buf buf = MOR_BUF_INIT;

	(void)state;
	assert_true(m.method_escaped);
	assert_true(mor_slice_is(m.method, "a\\u002fb"));
	assert_int_equal(mor_envelope_unescape(&m, &buf), 0);
	assert_true(mor_slice_is(m.method, "a/b"));
	assert_false(m.method_escaped);
	mor_buf_fini(&buf);
	/* The escape in the id is the id's. */
	m = accept("{" V "\"method\":\"ab\",\"id\":\"\\n\"}", 0, MOR_MSG_REQUEST);
	assert_false(m.method_escaped);
}

static void keys_compare_exactly(void **state)
{
	(void)state;
	refuse("{" V "\"Method\":\"x\",\"id\":1}", 0, "neither method nor result nor error");
	refuse("{" V "\"method\\u0000\":\"x\",\"id\":1}", 0, "neither method nor result nor error");
	refuse("{\"jsonrpc\":\"2.0\",\"x\":{\"method\":\"y\",\"result\":1},\"id\":1}", 0,
	       "neither method nor result nor error");
}

/* However it is spelt: each character of each key in turn, then all of them. */
static void keys_with_escapes(void **state)
{
	static const char *const names[] = { "jsonrpc", "id", "method", "params", "result", "error" };
	static const char *const values[] = { "\"2.0\"", "17", "\"m\"", "{\"a\":1}", "[1]", "{\"code\":-1}" };
	static const unsigned kinds[][2] = { { 1 << 0 | 1 << 1 | 1 << 2 | 1 << 3, MOR_MSG_REQUEST },
					     { 1 << 0 | 1 << 1 | 1 << 4, MOR_MSG_RESULT },
					     { 1 << 0 | 1 << 1 | 1 << 5, MOR_MSG_ERROR } };

	(void)state;
	for (size_t kind = 0; kind < 3; kind++) {
		for (unsigned escaped = 0; escaped < 8; escaped++) { /* 7: all characters */
			char text[512] = "";
			size_t used = 0;
			struct mor_message m;

			for (int i = 0; i < 6; i++) {
				if (!(kinds[kind][0] & 1u << i))
					continue;
				used += (size_t)sprintf(text + used, "%c\"", used ? ',' : '{');
				for (size_t c = 0; names[i][c]; c++)
					used += (size_t)sprintf(text + used,
								c == escaped || escaped == 7 ? "\\u%04x" : "%c",
								names[i][c]);
				used += (size_t)sprintf(text + used, "\":%s", values[i]);
			}
			strcat(text, "}");
			m = accept(text, 0, kinds[kind][1]);
			assert_int_equal(m.id_int, 17);
			assert_false(m.lax);
		}
	}
	refuse("{" V "\"method\":\"x\",\"meth\\u006fd\":1,\"id\":1}", 0, "byte 30: this key was there before");
	refuse("{" V "\"\\u0069d\":1,\"id\":2,\"result\":0}", 0, "byte 29: this key was there before");
	refuse("{" V "\"i\\u0000d\":1,\"result\":0}", 0, "/id: missing in a reply");
	refuse("{" V "\"id\\u0000\":1,\"result\":0}", 0, "/id: missing in a reply");
	refuse("{" V "\"\\u0049d\":1,\"result\":0}", 0, "/id: missing in a reply");
	/* One that is too long to be ours, and whose beginning is. */
	refuse("{" V
	       "\"\\u0069daaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\":1,\"result\":0}",
	       0, "/id: missing in a reply");
	accept("{\"jsonrpc\":\"2\\u002e0\",\"method\":\"x\"}", 0, MOR_MSG_NOTE);
	refuse("{\"jsonrpc\":\"2\\u002e1\",\"method\":\"x\"}", 0, "/jsonrpc: not \"2.0\"");
}

static void duplicates_are_refused(void **state)
{
	(void)state;
	refuse("{" V V "\"method\":\"x\"}", 0, "byte 17: this key was there before");
	refuse("{" V "\"method\":\"x\",\"method\":\"x\"}", 0, "byte 30: this key was there before");
	refuse("{" V "\"id\":1,\"id\":1,\"result\":2}", ANY, "byte 24: this key was there before");
	refuse("{" V "\"id\":1,\"result\":1,\"result\":2}", ANY, "byte 35: this key was there before");
	refuse("{" V "\"id\":1,\"error\":{},\"error\":{}}", ANY, "byte 35: this key was there before");
	refuse("{" V "\"params\":[],\"params\":[]}", ANY, "byte 29: this key was there before");
	accept("{" V "\"x\":1,\"x\":2,\"method\":\"m\"}", 0, MOR_MSG_NOTE);
	accept("{" V "\"method\":\"m\",\"params\":{\"id\":1,\"id\":2}}", 0, MOR_MSG_NOTE);
}

static void wrong_types_are_named(void **state)
{
	struct mor_message m;

	(void)state;
	m = refuse("{" V "\"id\":true,\"method\":\"x\"}", ANY, "/id: boolean is no id");
	assert_int_equal(m.id_kind, MOR_ID_NONE);
	refuse("{" V "\"id\":[],\"method\":\"x\"}", ANY, "/id: array is no id");
	refuse("{" V "\"method\":1}", ANY, "/method: number is no method");
	refuse("{" V "\"method\":null,\"id\":1}", ANY, "/method: null is no method");
	refuse("{" V "\"method\":\"x\",\"params\":\"bar\"}", ANY, "/params: string is no object or array");
	refuse("{" V "\"id\":1,\"error\":\"bad\"}", ANY, "/error: string is no error object");
	refuse("{" V "\"id\":1,\"error\":null}", 0, "/error: null is no error object");
	refuse("{\"jsonrpc\":2.0,\"method\":\"x\"}", 0, "/jsonrpc: not \"2.0\"");
	refuse("{\"method\":\"x\"}", 0, "/jsonrpc: missing");
	refuse("1", ANY, "number is no message");
	refuse("\"{}\"", ANY, "string is no message");
	refuse("{}", ANY, "neither method nor result nor error");
	refuse("{" V "\"result\":1}", ANY, "/id: missing in a reply");
	refuse("{" V "\"error\":{}}", ANY, "/id: missing in a reply");
	refuse("{" V "\"method\":\"x\",\"id\":1,\"result\":1}", ANY, "/result: beside a method");
	refuse("{" V "\"method\":\"x\",\"error\":{}}", ANY, "/error: beside a method");
	refuse("{" V "\"id\":1,\"result\":1,\"error\":{}}", ANY, "/error: beside a result");
}

static void tolerance_by_flag(void **state)
{
	struct mor_message m;

	(void)state;
	assert_true(accept("{\"id\":1,\"result\":1}", MOR_ENV_JSONRPC_OPTIONAL, MOR_MSG_RESULT).lax);
	assert_true(
		accept("{\"jsonrpc\":\"1.0\",\"id\":1,\"result\":1}", MOR_ENV_JSONRPC_OPTIONAL, MOR_MSG_RESULT)
			.lax);
	assert_false(accept("{" V "\"id\":1,\"result\":1}", MOR_ENV_JSONRPC_OPTIONAL, MOR_MSG_RESULT).lax);
	refuse("{" V "\"id\":1,\"result\":1,\"error\":null}", 0, "/error: beside a result");
	m = accept("{" V "\"id\":1,\"result\":1,\"error\":null}", MOR_ENV_ERROR_NULL_OK, MOR_MSG_RESULT);
	assert_null(m.error.ptr);
	m = accept("{" V "\"id\":1,\"result\":null,\"error\":{\"code\":1}}", MOR_ENV_ERROR_NULL_OK,
		   MOR_MSG_ERROR);
	assert_null(m.result.ptr);
	m = accept("{" V "\"id\":1,\"result\":null,\"error\":null}", MOR_ENV_ERROR_NULL_OK, MOR_MSG_RESULT);
	assert_true(mor_slice_is(m.result, "null"));
	accept("{" V "\"method\":\"x\",\"error\":null,\"result\":null}", MOR_ENV_ERROR_NULL_OK, MOR_MSG_NOTE);
	refuse("{" V "\"id\":1}", 0, "neither method nor result nor error");
	m = accept("{" V "\"id\":1}", MOR_ENV_RESULT_OPTIONAL, MOR_MSG_RESULT);
	assert_true(mor_slice_is(m.result, "null"));
	accept("{" V "\"id\":1,\"error\":null}", MOR_ENV_RESULT_OPTIONAL | MOR_ENV_ERROR_NULL_OK,
	       MOR_MSG_RESULT);
	refuse("{" V "\"id\":1,\"result\":NaN}", 0, "byte 33: unexpected 'N'");
	accept("{" V "\"id\":1,\"result\":[NaN,-Infinity]}", MOR_ENV_NAN, MOR_MSG_RESULT);
	assert_null(accept("{" V "\"method\":\"x\",\"params\":null}", 0, MOR_MSG_NOTE).params.ptr);
}

static void faults_say_where_and_whose(void **state)
{
	struct mor_message m = refuse("{\"id\":7,\"result\":}", ANY, "byte 17: unexpected '}'");

	(void)state;
	assert_int_equal(m.id_int, 7);
	m = refuse("{\"id\":\"q\",\"result\":[1,2", ANY, "byte 23: unexpected end");
	assert_true(mor_slice_is(m.id, "\"q\""));
	m = refuse("{\"result\":[}],\"id\":7}", ANY, "byte 11: unexpected '}'");
	assert_int_equal(m.id_kind, MOR_ID_NONE);
	assert_int_equal(m.id_int, -1);
	m = refuse("{\"id\":7,\"result\":1}{", ANY, "byte 19: unexpected '{'");
	assert_int_equal(m.id_int, 7);
	refuse("", ANY, "byte 0: unexpected end");
	refuse("{\"a\":\"\\ud800\"}", ANY, "byte 6: lone surrogate in a string");
	refuse("{\"a\":\"\xff\"}", ANY, "byte 6: string is not UTF-8");
	refuse("{\"a\":\"\t\"}", ANY, "byte 6: control character in a string");
	refuse("{\"a\":1,}", ANY, "byte 7: unexpected '}'");
	refuse("{\"a\":1\"b\"}", ANY, "byte 6: unexpected '\"'");
	refuse("\x01", ANY, "byte 0: unexpected '\\x01'");
}

static void depth_is_bounded(void **state)
{
	static const char text[] = "{" V "\"id\":1,\"result\":[[[]]]}";
	struct mor_message m;
	mortise_error err = { 0 };

	(void)state;
	assert_int_equal(mor_envelope_scan(MOR_SLICE(text), 0, 4, &m, &err), 0);
	assert_int_equal(mor_envelope_scan(MOR_SLICE(text), 0, 3, &m, &err), MORTISE_EPROTO);
	assert_string_equal(err.text, "byte 35: nested too deep");
	assert_int_equal(m.id_int, 1);
}

static void batches(void **state)
{
	struct mor_slice frame = MOR_SLICE(" [ {\"a\":[1,2]} ,3,\"x,]\" ,[] ] ");
	static const char *const expected[] = { "{\"a\":[1,2]}", "3", "\"x,]\"", "[]" };
	struct mor_slice element;
	size_t pos = 0, n = 0;

	(void)state;
	while (mor_batch_next(frame, &pos, &element)) {
		assert_true(n < 4);
		assert_true(mor_slice_is(element, expected[n++]));
	}
	assert_int_equal(n, 4);
	assert_int_equal(mor_batch_next(frame, &pos, &element), 0);
	pos = 0;
	assert_int_equal(mor_batch_next(MOR_SLICE(" [ ] "), &pos, &element), 0);
}

static void check_error(const char *text, int64_t code, bool code_ok, const char *message, const char *data)
{
	struct mor_rpc_error e;

	mor_envelope_error(mor_slice_of(text), &e);
	assert_int_equal(e.code, code);
	assert_int_equal(e.code_ok, code_ok);
	assert_string_equal(e.text, message);
	if (data)
		assert_true(mor_slice_is(e.data, data));
	else
		assert_null(e.data.ptr);
}

static void error_objects(void **state)
{
	(void)state;
	check_error("{\"code\":-32601,\"message\":\"Method not found\",\"data\": {\"x\":[1]} }", -32601, true,
		    "Method not found", "{\"x\":[1]}");
	check_error("{\"message\":\"a\\n\\\"\\u00e9\\ud83d\\ude00\\u0000\\/b\"}", 0, false,
		    "a\n\"\xc3\xa9\xf0\x9f\x98\x80 /b", NULL);
	check_error("{\"code\":1.5,\"message\":17}", 0, false, "17", NULL);
	check_error("{\"code\":\"1\",\"data\":null}", 0, false, "", "null");
	check_error("{\"c\\u006fde\":-7,\"m\\u0065ssage\":\"m\",\"d\\u0061ta\":[2]}", -7, true, "m", "[2]");
	check_error("{}", 0, false, "", NULL);
	check_error("[1]", 0, false, "", NULL);
	check_error("", 0, false, "", NULL);
}

static void long_error_messages_are_cut(void **state)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	struct mor_rpc_error e;

	(void)state;
	for (int shift = 0; shift < 4; shift++) {
		mor_buf_reset(&text, 65536);
		mor_buf_printf(&text, "{\"code\":1,\"message\":\"%.*s", shift, "xxxx");
		for (int i = 0; i < 200; i++)
			mor_buf_text(&text, i % 2 ? "\xe2\x82\xac" : "\\u20ac");
		mor_buf_text(&text, "\",\"data\":5}");
		mor_envelope_error(mor_buf_view(&text), &e);
		assert_true(strlen(e.text) > sizeof(e.text) - 5);
		assert_true(mor_utf8_valid(mor_slice_of(e.text)));
		assert_true(mor_slice_is(e.data, "5"));
	}
}

static void scanning_allocates_nothing(void **state)
{
	struct mor_message m;
	long before = mor_alloc_count();

	(void)state;
	mor_envelope_scan(MOR_SLICE("{" V "\"id\":1,\"result\":{\"a\":[1,2,{\"b\":\"\xc3\xa9\\n\"}]}}"), 0, 0,
			  &m, NULL);
	assert_int_equal(mor_alloc_count(), before);
}

/* The usual spelling has a short cut: what stands in a reply is what is read, however many digits it has. */
static void ids_of_every_length(void **state)
{
	int64_t id = 0;

	(void)state;
	for (int digits = 1; digits <= 19; digits++) {
		char text[160];
		struct mor_message m;

		id = id * 10 + digits % 10;
		for (int64_t less = 0; less < 2; less++) {
			snprintf(text, sizeof(text),
				 "{" V "\"id\":%lld,\"result\":{\"text\":\"long enough for it\"}}",
				 (long long)(id - less));
			m = accept(text, 0, MOR_MSG_RESULT);
			assert_int_equal(m.id_int, id - less);
			assert_true(mor_slice_is(m.result, "{\"text\":\"long enough for it\"}"));
		}
	}
	refuse("{" V "\"id\":01,\"result\":{\"text\":\"long enough for the short cut\"}}", 0,
	       "byte 23: unexpected '1'");
	refuse("{" V "\"id\":,\"result\":{\"text\":\"long enough for the short cut\"}}", 0,
	       "byte 22: unexpected ','");
}

static void requests_with_names_of_every_length(void **state)
{
	static const char name[] = "abcdefghijklmnopqrstuvwxyz/abcdefghijklmnopqrstuvwxyz";

	(void)state;
	for (size_t len = 1; len < sizeof(name); len++) {
		MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;
		char expected[160];

		assert_int_equal(mor_write_request(&out, (int64_t)len, (struct mor_slice){ name, len },
						   MOR_SLICE("[1]")),
				 0);
		snprintf(expected, sizeof(expected), "{" V "\"id\":%zu,\"method\":\"%.*s\",\"params\":[1]}",
			 len, (int)len, name);
		assert_true(mor_slice_is(mor_buf_view(&out), expected));
	}
}

/* What mor_envelope_copy() writes is what mor_envelope_scan() reads, and as long as was said. */
static void messages_without_bytes(void **state)
{
	static const char *const texts[] = {
		"{" V "\"id\":12,\"result\":{\"a\":[1]}}",
		"{" V "\"id\":9000000000,\"error\":{\"code\":-32601,\"message\":\"no\"}}",
		"{" V "\"method\":\"progress\",\"params\":{\"text\":\"half\"}}",
		"{" V "\"method\":\"progress\"}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;
		struct mor_message message;

		assert_int_equal(mor_envelope_scan(mor_slice_of(texts[i]), 0, 0, &message, NULL), 0);
		mor_envelope_imply(&message);
		assert_null(message.whole.ptr);
		assert_int_equal(message.whole.len, strlen(texts[i]));
		assert_int_equal(mor_envelope_copy(&out, &message), 0);
		assert_true(mor_slice_is(mor_buf_view(&out), texts[i]));
		message.whole = MOR_SLICE("as it came");
		mor_buf_reset(&out, 0);
		assert_int_equal(mor_envelope_copy(&out, &message), 0);
		assert_true(mor_slice_is(mor_buf_view(&out), "as it came"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(members_are_slices_of_the_frame),
		MOR_TEST(kinds),
		MOR_TEST(ids_stay_as_they_are),
		MOR_TEST(escaped_methods),
		MOR_TEST(keys_compare_exactly),
		MOR_TEST(keys_with_escapes),
		MOR_TEST(duplicates_are_refused),
		MOR_TEST(wrong_types_are_named),
		MOR_TEST(tolerance_by_flag),
		MOR_TEST(faults_say_where_and_whose),
		MOR_TEST(depth_is_bounded),
		MOR_TEST(batches),
		MOR_TEST(error_objects),
		MOR_TEST(long_error_messages_are_cut),
		MOR_TEST(scanning_allocates_nothing),
		MOR_TEST(ids_of_every_length),
		MOR_TEST(requests_with_names_of_every_length),
		MOR_TEST(messages_without_bytes),
	};

	return mor_run_group("wire/envelope", tests);
}
