/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of input: OneBot v11 events in both message formats, and our short form. */
#include "leak.h"

#include <stdio.h>

#include "onebot/onebot.h"

#define BIG     "9007199254740993"    /* 2^53 + 1 */
#define BIGGEST "9223372036854775807" /* 2^63 - 1 */

static const char *const kinds[] = {
	[MOR_ONEBOT_OTHER] = "other",       [MOR_ONEBOT_MESSAGE] = "message",
	[MOR_ONEBOT_CONNECT] = "connect",   [MOR_ONEBOT_HEARTBEAT] = "heartbeat",
	[MOR_ONEBOT_RESPONSE] = "response",
};

/* What handle is given; what matches is given has the same members without two of them. */
static void expect_handle(const char *line, const char *wanted)
{
	struct mor_onebot_event event;
	struct mor_buf out = MOR_BUF_INIT;
	mortise_error err = { 0 };

	if (mor_onebot_read(mor_slice_of(line), &event, &err) < 0)
		fail_msg("%s: %s", line, err.text);
	assert_string_equal(kinds[event.kind], "message");
	assert_int_equal(mor_onebot_handle(&event, &out), 0);
	if (!mor_slice_is(mor_buf_view(&out), wanted))
		fail_msg("%.*s\nnot %s", (int)out.len, out.data, wanted);
	mor_buf_fini(&out);
	mor_onebot_event_fini(&event);
}

static void expect_kind(const char *line, enum mor_onebot_kind kind)
{
	struct mor_onebot_event event;
	mortise_error err = { 0 };

	if (mor_onebot_read(mor_slice_of(line), &event, &err) < 0)
		fail_msg("%s: %s", line, err.text);
	assert_string_equal(kinds[event.kind], kinds[kind]);
	mor_onebot_event_fini(&event);
}

static void expect_fault(const char *line, const char *text)
{
	struct mor_onebot_event event;
	mortise_error err = { 0 };

	assert_int_equal(mor_onebot_read(mor_slice_of(line), &event, &err), MORTISE_EINPUT);
	assert_int_equal(event.kind, MOR_ONEBOT_OTHER);
	if (!strstr(err.text, text))
		fail_msg("%s\nnot %s", err.text, text);
	mor_onebot_event_fini(&event);
}

/* The same line of a chat gives the same text in both formats; raw_message is verbatim. */
static void test_both_formats(void **state)
{
	(void)state;
	expect_handle(
		"{\"time\":1,\"self_id\":10,\"post_type\":\"message\",\"message_type\":\"group\",\"sub_type\":\"normal\",\"message_id\":5,\"user_id\":20,\"group_id\":30,\"message\":\"[CQ:at,qq=10] "
		"/echo &#91;x&#93; \",\"raw_message\":\"[CQ:at,qq=10] /echo &#91;x&#93; "
		"\",\"font\":0,\"sender\":{}}",
		"{\"message_type\":\"group\",\"user_id\":20,\"group_id\":30,\"text\":\"/echo [x]\","
		"\"raw_message\":\"[CQ:at,qq=10] /echo &#91;x&#93; \",\"self_id\":10}");
	expect_handle(
		"{\"time\":1,\"self_id\":10,\"post_type\":\"message\",\"message_type\":\"group\",\"sub_type\":\"normal\",\"message_id\":5,\"user_id\":20,\"group_id\":30,\"message\":[{\"type\":\"at\",\"data\":{\"qq\":\"10\"}},{\"type\":\"text\",\"data\":{\"text\":\" "
		"/echo [x] \"}}],\"raw_message\":\"[CQ:at,qq=10] /echo &#91;x&#93; "
		"\",\"font\":0,\"sender\":{}}",
		"{\"message_type\":\"group\",\"user_id\":20,\"group_id\":30,\"text\":\"/echo [x]\","
		"\"raw_message\":\"[CQ:at,qq=10] /echo &#91;x&#93; \",\"self_id\":10}");
}

static void test_without_raw(void **state)
{
	(void)state;
	expect_handle(
		"{\"post_type\":\"message\",\"message_type\":\"private\",\"user_id\":1,\"message\":[{\"type\":\"face\",\"data\":{\"id\":\"1\"}},{\"type\":\"text\",\"data\":{\"text\":\"a&b\"}}]}",
		"{\"message_type\":\"private\",\"user_id\":1,\"group_id\":null,\"text\":\"a&b\",\"raw_message\":\"[CQ:face,id=1]a&amp;b\"}");
	expect_handle(
		"{\"post_type\":\"message\",\"message_type\":\"private\",\"user_id\":1,\"message\":\" x \"}",
		"{\"message_type\":\"private\",\"user_id\":1,\"group_id\":null,\"text\":\"x\",\"raw_message\":\" "
		"x \"}");
	expect_handle(
		"{\"post_type\":\"message\",\"message_type\":\"private\",\"user_id\":1,\"raw_message\":\" "
		"x&amp; \"}",
		"{\"message_type\":\"private\",\"user_id\":1,\"group_id\":null,\"text\":\"x&\",\"raw_message\":\" "
		"x&amp; \"}");
}

/* A temporary session comes from a group and is private. */
static void test_private(void **state)
{
	(void)state;
	expect_handle(
		"{\"post_type\":\"message\",\"message_type\":\"private\",\"sub_type\":\"group\",\"user_id\":1,\"group_id\":2,\"message\":\"x\",\"raw_message\":\"x\"}",
		"{\"message_type\":\"private\",\"user_id\":1,\"group_id\":null,\"text\":\"x\",\"raw_message\":\"x\"}");
}

static void test_ids(void **state)
{
	(void)state;
	expect_handle("{\"post_type\":\"message\",\"message_type\":\"group\",\"user_id\":" BIG
		      ",\"group_id\":" BIGGEST ",\"self_id\":-" BIG ",\"message\":\"x\",\"raw_message\":\"x\"}",
		      "{\"message_type\":\"group\",\"user_id\":" BIG ",\"group_id\":" BIGGEST
		      ",\"text\":\"x\",\"raw_message\":\"x\",\"self_id\":-" BIG "}");
	/* As strings, which some implementations send. */
	expect_handle("{\"text\":\"x\",\"user_id\":\"" BIGGEST "\"}",
		      "{\"message_type\":\"private\",\"user_id\":" BIGGEST
		      ",\"group_id\":null,\"text\":\"x\",\"raw_message\":\"x\"}");
}

static void test_chinese(void **state)
{
	(void)state;
	expect_handle("{\"text\":\"/天气 北京\"}",
		      "{\"message_type\":\"private\",\"user_id\":0,\"group_id\":null,\"text\":\"/天气 "
		      "北京\",\"raw_message\":\"/天气 北京\"}");
	expect_handle("{\"text\":\"\\u3000/\\u5929\\u6c14 \\ud83c\\udf24\"}",
		      "{\"message_type\":\"private\",\"user_id\":0,\"group_id\":null,\"text\":\"/天气 "
		      "🌤\",\"raw_message\":\"\u3000/天气 🌤\"}");
	expect_handle(
		"{\"text\":\"a\\u0000b\\n\"}",
		"{\"message_type\":\"private\",\"user_id\":0,\"group_id\":null,\"text\":\"a\\u0000b\",\"raw_message\":\"a\\u0000b\\n\"}");
}

static void test_short(void **state)
{
	(void)state;
	expect_handle(
		"{\"text\":\" /ping \",\"user_id\":1,\"group_id\":2,\"self_id\":3}",
		"{\"message_type\":\"group\",\"user_id\":1,\"group_id\":2,\"text\":\"/ping\",\"raw_message\":\" "
		"/ping \",\"self_id\":3}");
	/* No codes in it: what is typed is what is meant. */
	expect_handle("{\"text\":\"[CQ:x] &amp;\",\"raw_message\":\"r\",\"group_id\":null}",
		      "{\"message_type\":\"private\",\"user_id\":0,\"group_id\":null,\"text\":\"[CQ:x] "
		      "&amp;\",\"raw_message\":\"r\"}");
	expect_handle(
		"{\"text\":\"x\",\"group_id\":2,\"message_type\":\"private\"}",
		"{\"message_type\":\"private\",\"user_id\":0,\"group_id\":null,\"text\":\"x\",\"raw_message\":\"x\"}");
}

static void test_matches(void **state)
{
	struct mor_onebot_event event;
	struct mor_buf out = MOR_BUF_INIT;

	(void)state;
	assert_int_equal(mor_onebot_read(MOR_SLICE(
						 "{\"text\":\"x\",\"user_id\":1,\"group_id\":2,\"self_id\":3}"),
					 &event, NULL),
			 0);
	assert_int_equal(mor_onebot_matches(&event, &out), 0);
	assert_true(mor_slice_is(mor_buf_view(&out),
				 "{\"text\":\"x\",\"message_type\":\"group\",\"user_id\":1,\"group_id\":2}"));
	mor_buf_fini(&out);
	mor_onebot_event_fini(&event);
	/* As the specification prints it. */
	assert_int_equal(mor_onebot_read(MOR_SLICE("{\"text\":\"/weather Beijing\",\"user_id\":123456}"),
					 &event, NULL),
			 0);
	assert_int_equal(mor_onebot_matches(&event, &out), 0);
	assert_true(
		mor_slice_is(mor_buf_view(&out),
			     "{\"text\":\"/weather "
			     "Beijing\",\"message_type\":\"private\",\"user_id\":123456,\"group_id\":null}"));
	mor_buf_fini(&out);
	mor_onebot_event_fini(&event);
}

static void test_connect(void **state)
{
	struct mor_onebot_event event;

	(void)state;
	assert_int_equal(
		mor_onebot_read(
			MOR_SLICE(
				"{\"post_type\":\"meta_event\",\"meta_event_type\":\"lifecycle\",\"sub_type\":\"connect\",\"self_id\":" BIGGEST
				",\"time\":1}"),
			&event, NULL),
		0);
	assert_int_equal(event.kind, MOR_ONEBOT_CONNECT);
	assert_string_equal(event.self_id, BIGGEST);
	mor_onebot_event_fini(&event);
	expect_fault("{\"post_type\":\"meta_event\",\"meta_event_type\":\"lifecycle\",\"sub_type\":\"connect\"}",
		     "self_id is missing");
	expect_fault(
		"{\"post_type\":\"meta_event\",\"meta_event_type\":\"lifecycle\",\"sub_type\":\"connect\",\"self_id\":9223372036854775808}",
		"self_id must be a whole number of 64 bits");
}

static void expect_beat(const char *more, uint32_t interval_ms, bool offline)
{
	struct mor_onebot_event event;
	char line[300];

	snprintf(line, sizeof(line), "{\"post_type\":\"meta_event\",\"meta_event_type\":\"heartbeat\"%s}",
		 more);
	assert_int_equal(mor_onebot_read(mor_slice_of(line), &event, NULL), 0);
	assert_int_equal(event.kind, MOR_ONEBOT_HEARTBEAT);
	assert_int_equal(event.interval_ms, interval_ms);
	assert_int_equal(event.offline, offline);
	mor_onebot_event_fini(&event);
}

static void test_heartbeat(void **state)
{
	(void)state;
	expect_beat("", 0, false);
	expect_beat(",\"interval\":5000,\"status\":{\"online\":true,\"good\":true}", 5000, false);
	expect_beat(",\"interval\":-1,\"status\":{\"online\":false}", 0, true);
	expect_beat(",\"interval\":1e300,\"status\":[]", 0, false);
}

static void expect_message_id(const char *id, const char *wanted)
{
	struct mor_onebot_event event;
	char line[300];

	snprintf(line, sizeof(line),
		 "{\"post_type\":\"message\",\"message_type\":\"private\",\"user_id\":1,\"message\":\"x\"%s}",
		 id);
	assert_int_equal(mor_onebot_read(mor_slice_of(line), &event, NULL), 0);
	if (wanted)
		assert_string_equal(event.message_id, wanted);
	else
		assert_null(event.message_id);
	assert_false(event.is_short);
	mor_onebot_event_fini(&event);
}

static void test_message_id(void **state)
{
	(void)state;
	expect_message_id(",\"message_id\":-2147483648", "-2147483648");
	expect_message_id(",\"message_id\":\"a1\"", "a1");
	expect_message_id(",\"message_id\":0", NULL);
	expect_message_id(",\"message_id\":null", NULL);
	expect_message_id("", NULL);
}

static void test_others(void **state)
{
	(void)state;
	expect_kind("{\"post_type\":\"meta_event\",\"meta_event_type\":\"lifecycle\",\"sub_type\":\"enable\"}",
		    MOR_ONEBOT_OTHER);
	expect_kind("{\"post_type\":\"notice\",\"notice_type\":\"group_ban\"}", MOR_ONEBOT_OTHER);
	expect_kind("{\"post_type\":\"request\"}", MOR_ONEBOT_OTHER);
	/* Our own words come back: a bot that answers them never ends. */
	expect_kind(
		"{\"post_type\":\"message_sent\",\"message_type\":\"private\",\"user_id\":1,\"message\":\"x\"}",
		MOR_ONEBOT_OTHER);
	expect_kind("{\"post_type\":\"message\",\"message_type\":\"guild\",\"user_id\":1,\"message\":\"x\"}",
		    MOR_ONEBOT_OTHER);
	expect_kind("{\"post_type\":7}", MOR_ONEBOT_OTHER);
}

static void test_response(void **state)
{
	struct mor_onebot_event event;

	(void)state;
	assert_int_equal(
		mor_onebot_read(
			MOR_SLICE(
				"{\"status\":\"failed\",\"retcode\":1404,\"data\":null,\"echo\":\"weather/7\"}"),
			&event, NULL),
		0);
	assert_int_equal(event.kind, MOR_ONEBOT_RESPONSE);
	assert_true(event.failed);
	assert_string_equal(event.echo, "weather/7");
	assert_string_equal(event.why, "retcode 1404");
	assert_int_equal(event.retcode, 1404);
	assert_null(event.data);
	mor_onebot_event_fini(&event);
	assert_int_equal(mor_onebot_read(MOR_SLICE(
						 "{\"status\":\"failed\",\"retcode\":100,\"wording\":\"no such "
						 "group\",\"echo\":null}"),
					 &event, NULL),
			 0);
	assert_null(event.echo);
	assert_string_equal(event.why, "no such group");
	mor_onebot_event_fini(&event);
	assert_int_equal(mor_onebot_read(MOR_SLICE(
						 "{\"status\":\"ok\",\"retcode\":0,\"data\":{\"message_id\":1}}"),
					 &event, NULL),
			 0);
	assert_int_equal(event.kind, MOR_ONEBOT_RESPONSE);
	assert_string_equal(event.data, "{\"message_id\":1}");
	mor_onebot_event_fini(&event);
}

static void test_faults(void **state)
{
	static const struct {
		const char *line, *text;
	} cases[] = {
		{ "", "not JSON: " },
		{ "{\"text\":", "not JSON: " },
		{ "hello", "not JSON: " },
		{ "[]", "an event is an object, not array" },
		{ "{}", "neither an event of OneBot (with post_type) nor a short one" },
		{ "{\"text\":7}", "neither" },
		{ "{\"text\":\"x\",\"user_id\":1.5}", "user_id must be a whole number of 64 bits" },
		{ "{\"text\":\"x\",\"user_id\":9223372036854775808}",
		  "user_id must be a whole number of 64 bits" },
		{ "{\"text\":\"x\",\"user_id\":\"007\"}", "user_id must be" },
		{ "{\"text\":\"x\",\"group_id\":\"a\"}", "group_id must be" },
		{ "{\"text\":\"x\",\"self_id\":[]}", "self_id must be" },
		{ "{\"text\":\"x\",\"message_type\":\"group\"}", "group_id is missing" },
		{ "{\"text\":\"x\",\"message_type\":\"guild\"}", "message_type must be private or group" },
		{ "{\"post_type\":\"message\",\"message_type\":\"private\",\"message\":\"x\"}",
		  "user_id is missing" },
		{ "{\"post_type\":\"message\",\"message_type\":\"group\",\"user_id\":1,\"message\":\"x\"}",
		  "group_id is missing" },
		{ "{\"post_type\":\"message\",\"message_type\":\"private\",\"user_id\":1}",
		  "message must be a string or an array" },
		{ "{\"post_type\":\"message\",\"message_type\":\"private\",\"user_id\":1,\"message\":{},\"raw_message\":\"x\"}",
		  "message must be a string or an array" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		expect_fault(cases[i].line, cases[i].text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_both_formats), MOR_TEST(test_without_raw), MOR_TEST(test_private),
		MOR_TEST(test_ids),          MOR_TEST(test_chinese),     MOR_TEST(test_short),
		MOR_TEST(test_matches),      MOR_TEST(test_connect),     MOR_TEST(test_heartbeat),
		MOR_TEST(test_message_id),   MOR_TEST(test_others),      MOR_TEST(test_response),
		MOR_TEST(test_faults),
	};

	return mor_run_group("onebot/event", tests);
}
