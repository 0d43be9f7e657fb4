/* SPDX-License-Identifier: Apache-2.0 */
/* Sunscreen's gRPC service: messages as protobuf has them, byte by byte, and what they mean. */
#include "leak.h"

#include <string.h>

#include "base/alloc.h"
#include "service/service.h"

#define BYTES(literal) ((struct mor_slice){ (literal), sizeof(literal) - 1 })

static const struct mor_service_row *row_of(const char *method)
{
	const struct mor_service_row *row = mor_service_find(mor_slice_of(method));

	assert_non_null(row);
	return row;
}

static int ask(const char *method, const char *json, struct mor_buf *out, mortise_error *err)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;

	if (json)
		assert_int_equal(mor_doc_parse(mor_slice_of(json), 0, 0, &doc, NULL), 0);
	return row_of(method)->ask(mor_doc_root(doc), out, err);
}

static void expect_asked(const char *method, const char *json, struct mor_slice wanted)
{
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;
	mortise_error err;

	if (ask(method, json, &out, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(out.len, wanted.len);
	if (wanted.len)
		assert_memory_equal(out.data, wanted.ptr, wanted.len);
}

static void test_methods(void **state)
{
	(void)state;
	assert_string_equal(row_of("initialize")->path, "/sunscreen.plugin.v1.Plugin/Initialize");
	assert_string_equal(row_of("commands")->path, "/sunscreen.plugin.v1.Plugin/Capabilities");
	assert_string_equal(row_of("run")->path, "/sunscreen.plugin.v1.Plugin/RunCommand");
	assert_string_equal(row_of("hook")->path, "/sunscreen.plugin.v1.Plugin/RunHook");
	assert_string_equal(row_of("shutdown")->path, "/sunscreen.plugin.v1.Plugin/Shutdown");
	assert_null(mor_service_find(MOR_SLICE("nosuch")));
}

static void test_ask(void **state)
{
	(void)state;
	expect_asked("initialize", "{\"workspace_root\":\"/w\"}",
		     BYTES("\x0a\1"
			   "1"
			   "\x12\5" MORTISE_VERSION "\x1a\2/w"));
	expect_asked("commands", NULL, BYTES(""));
	expect_asked("shutdown", NULL, BYTES(""));
	expect_asked("run", "{\"command\":\"app:hi\"}", BYTES("\x0a\3app\x12\2hi"));
	expect_asked("run", "{\"command\":\"app:hi\",\"args\":[\"a\",\"\"]}",
		     BYTES("\x0a\3app\x12\2hi\x1a\1"
			   "a"
			   "\x1a\0"));
	/* the words win: they are what was typed */
	expect_asked(
		"run",
		"{\"command\":\"app:hi\",\"args\":[\"a\"],\"flags\":{\"x\":\"y\"},\"words\":[\"--x=y\",\"a\"]}",
		BYTES("\x0a\3app\x12\2hi\x1a\5--x=y\x1a\1"
		      "a"));
	expect_asked("hook", "{\"name\":\"after\",\"context\":{\"a\":1}}", BYTES("\x0a\5after\x12\7{\"a\":1}"));
	expect_asked("hook", "{\"name\":\"after\"}", BYTES("\x0a\5after\x12\2{}"));
}

static void test_ask_refused(void **state)
{
	static const struct {
		const char *method, *json, *part;
	} table[] = {
		{ "initialize", NULL, "/workspace_root must be a string" },
		{ "run", "{}", "/command must be a string" },
		{ "run", "{\"command\":\"hi\"}", "/command must be KIND:NAME" },
		{ "run", "{\"command\":\"a:b\",\"args\":{}}", "/args must be an array" },
		{ "run", "{\"command\":\"a:b\",\"args\":[1]}", "/args must be an array of strings" },
		{ "run", "{\"command\":\"a:b\",\"args\":[\"x\\u0000y\"]}", "an argument holds a NUL" },
		{ "hook", "{\"name\":7}", "/name must be a string" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;
		mortise_error err = { 0 };

		assert_int_equal(ask(table[i].method, table[i].json, &out, &err), MORTISE_EINPUT);
		if (!strstr(err.text, table[i].part))
			fail_msg("%s, not %s", err.text, table[i].part);
	}
}

/* `code` 0: `wanted` is the result; else a part of the error's text. */
static void expect_answer(const char *method, struct mor_slice message, int code, const char *wanted,
			  const char *data)
{
	MOR_CLEAN(mor_buf) struct mor_buf result = MOR_BUF_INIT;
	MOR_CLEAN(mor_buf) struct mor_buf more = MOR_BUF_INIT;
	mortise_error err = { 0 };
	int r = row_of(method)->answer(message, &result, &more, &err);

	if (r != code)
		fail_msg("%d %s, not %d", r, err.text, code);
	if (code == 0 && !mor_slice_is(mor_buf_view(&result), wanted))
		fail_msg("%.*s, not %s", (int)result.len, result.data, wanted);
	if (code && !strstr(err.text, wanted))
		fail_msg("%s, not %s", err.text, wanted);
	assert_int_equal(err.rpc_code == MOR_SERVICE_FAILED, code == MORTISE_EREMOTE);
	assert_true(mor_slice_is(mor_buf_view(&more), data ? data : ""));
}

static void test_result(void **state)
{
	(void)state;
	expect_answer("run", BYTES("\x08\1\x12\7{\"a\":1}"), 0, "{\"a\":1}", NULL);
	expect_answer("hook", BYTES("\x08\1"), 0, "null", NULL);
	expect_answer("run", BYTES("\x12\4true\x08\1"), 0, "true", NULL); /* in any order */
	/* fields of a later version */
	expect_answer("run", BYTES("\x08\1\x7a\3new\x12\4true"), 0, "true", NULL);
	expect_answer("run", BYTES("\x08\1\x12\3{a}"), MORTISE_EPROTO, "json_result is not JSON", NULL);
	expect_answer("shutdown", BYTES(""), 0, "null", NULL);
}

static void test_failed(void **state)
{
	(void)state;
	expect_answer("run", BYTES(""), MORTISE_EREMOTE, "says that it has failed", NULL);
	expect_answer("run", BYTES("\x08\0\x12\7no luck"), MORTISE_EREMOTE, "no luck", NULL);
	expect_answer("run", BYTES("\x12\6\"oops\""), MORTISE_EREMOTE, "oops", "\"oops\"");
	expect_answer("run", BYTES("\x12\x11{\"message\":\"bad\"}"), MORTISE_EREMOTE, "bad",
		      "{\"message\":\"bad\"}");
	expect_answer("run", BYTES("\x12\x0f{\"error\":\"bad\"}"), MORTISE_EREMOTE, "bad",
		      "{\"error\":\"bad\"}");
	expect_answer("hook", BYTES("\x12\7{\"x\":1}"), MORTISE_EREMOTE, "{\"x\":1}", "{\"x\":1}");
}

static void test_capabilities(void **state)
{
	MOR_CLEAN(mor_buf) struct mor_buf many = MOR_BUF_INIT;

	(void)state;
	expect_answer("commands", BYTES(""), 0, "{}", NULL);
	expect_answer("commands",
		      BYTES("\x0a\x0b\x0a\3app\x12\1"
			    "a"
			    "\x1a\1"
			    "A"
			    "\x12\1h"
			    "\x0a\x07\x0a\2sc\x12\1"
			    "b"
			    "\x0a\x08\x0a\3app\x12\1"
			    "c"),
		      0, "{\"app\":{\"a\":\"A\",\"c\":\"\"},\"hook\":{\"h\":\"\"},\"sc\":{\"b\":\"\"}}", NULL);
	for (unsigned i = 0; i <= MOR_SERVICE_COMMANDS; i++)
		mor_buf_append(&many, "\x12\1h", 3);
	expect_answer("commands", mor_buf_view(&many), MORTISE_EPROTO, "more than 1000 commands", NULL);
}

static void test_initialized(void **state)
{
	(void)state;
	expect_answer("initialize",
		      BYTES("\x0a\1"
			    "1"
			    "\x12\1x\x12\1y"),
		      0, "{\"protocol_version\":\"1\",\"accepted_capabilities\":[\"x\",\"y\"]}", NULL);
	expect_answer("initialize", BYTES(""), 0, "{\"protocol_version\":\"\",\"accepted_capabilities\":[]}",
		      NULL);
}

static void test_no_message(void **state)
{
	static const char *const methods[] = { "initialize", "commands", "run", "hook" };

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		expect_answer(methods[i], BYTES("\x0a\x7f"), MORTISE_EPROTO, "not a protocol buffer", NULL);
		expect_answer(methods[i], BYTES("\x12\1\xff"), MORTISE_EPROTO, "is not UTF-8", NULL);
	}
	expect_answer("run", BYTES("\x0a\0"), MORTISE_EPROTO, "ok has another type", NULL);
	expect_answer("run", BYTES("\x10\1"), MORTISE_EPROTO, "a text has another type", NULL);
	expect_answer("commands", BYTES("\x08\1"), MORTISE_EPROTO, "a command has another type", NULL);
}

/* ---- streams ---- */

static void expect_heard(struct mor_slice message, const char *method, const char *json)
{
	MOR_CLEAN(mor_buf) struct mor_buf params = MOR_BUF_INIT;
	const char *said = "";
	struct mor_slice rest;
	mortise_error err;

	assert_int_equal(row_of("run")->stream->hear(message, &said, &params, &rest, &err), MOR_SERVICE_NOTE);
	assert_string_equal(said, method);
	assert_int_equal(params.len, strlen(json));
	assert_memory_equal(params.data, json, params.len);
}

static void test_stream(void **state)
{
	const struct mor_service_stream *stream = row_of("run")->stream;
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;
	const char *said;
	struct mor_slice result;
	mortise_error err;

	(void)state;
	assert_int_equal(stream->begin(BYTES("abc"), &out), 0);
	assert_memory_equal(out.data, "\x0a\3abc", 5);
	assert_memory_equal(stream->cancel.ptr, "\x12\0", 2);
	expect_heard(BYTES("\x0a\x0b\x09\0\0\0\0\0\0\xd0\x3f\x12\0"), "progress",
		     "{\"fraction\":0.25,\"text\":\"\"}");
	expect_heard(BYTES("\x0a\x09\x09\0\0\0\0\0\0\0\xc0"), "progress", "{\"fraction\":0.0,\"text\":\"\"}");
	expect_heard(BYTES("\x0a\x09\x09\0\0\0\0\0\0\xf8\x7f"), "progress", "{\"text\":\"\"}"); /* NaN */
	expect_heard(BYTES("\x0a\0"), "progress", "{\"text\":\"\"}");
	expect_heard(BYTES("\x12\x0a\x0a\5error\x12\1x"), "log", "{\"level\":\"error\",\"text\":\"x\"}");
	expect_heard(BYTES("\x12\3\x12\1x"), "log", "{\"level\":\"info\",\"text\":\"x\"}");
	expect_heard(BYTES("\x1a\3\x0a\1x"), "piece", "{\"text\":\"x\"}");
	assert_int_equal(stream->hear(BYTES("\x22\2\x08\1"), &said, &out, &result, &err), MOR_SERVICE_RESULT);
	assert_int_equal(result.len, 2);
	assert_int_equal(stream->hear(BYTES("\x7a\1x"), &said, &out, &result, &err), MOR_SERVICE_NOTHING);
	assert_int_equal(stream->hear(BYTES("\x0a\2\x08\1"), &said, &out, &result, &err), MORTISE_EPROTO);
	assert_int_equal(stream->hear(BYTES("\x1a\3\x0a\1\xff"), &said, &out, &result, &err), MORTISE_EPROTO);
	assert_int_equal(stream->hear(BYTES("\x0a\5x"), &said, &out, &result, &err), MORTISE_EPROTO);
	assert_int_equal(stream->hear(BYTES("\x08\1"), &said, &out, &result, &err), MORTISE_EPROTO);
}

static void test_streams_are_offered(void **state)
{
	const struct mor_service *service = mor_service_of("sunscreen");
	struct mor_slice offer = BYTES("\xc2\x3e\x1bmortise.sunscreen.v1.Stream");

	(void)state;
	assert_null(mor_service_of("yams"));
	assert_true(service->offers_streams(row_of("commands"), offer));
	assert_false(service->offers_streams(row_of("run"), offer));
	assert_false(service->offers_streams(row_of("commands"), BYTES("\x12\1h")));
}

static void test_health(void **state)
{
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;

	(void)state;
	assert_int_equal(mor_service_ask_health("", &out), 0);
	assert_int_equal(out.len, 0);
	assert_int_equal(mor_service_ask_health("plugin", &out), 0);
	assert_memory_equal(out.data, "\x0a\6plugin", 8);
	assert_true(mor_service_is_serving(BYTES("\x08\1")));
	assert_false(mor_service_is_serving(BYTES("")));
	assert_false(mor_service_is_serving(BYTES("\x08\2")));
	assert_false(mor_service_is_serving(BYTES("\x08\1\x0a")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_methods),
		MOR_TEST(test_ask),
		MOR_TEST(test_ask_refused),
		MOR_TEST(test_result),
		MOR_TEST(test_failed),
		MOR_TEST(test_capabilities),
		MOR_TEST(test_initialized),
		MOR_TEST(test_no_message),
		MOR_TEST(test_stream),
		MOR_TEST(test_health),
		MOR_TEST(test_streams_are_offered),
	};

	return mor_run_group("service/service", tests);
}
