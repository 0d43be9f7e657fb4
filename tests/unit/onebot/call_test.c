/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of output: whatever the text holds, it stays text. */
#include "leak.h"

#include "onebot/onebot.h"

static void expect(struct mor_buf *out, const char *wanted)
{
	if (!mor_slice_is(mor_buf_view(out), wanted))
		fail_msg("%.*s\nnot %s", (int)out->len, out->data, wanted);
	mor_buf_fini(out);
}

static void test_text(void **state)
{
	struct mor_onebot_target person = { false, "9007199254740993" },
				 group = { true, "9223372036854775807" };
	struct mor_buf out = MOR_BUF_INIT;

	(void)state;
	assert_int_equal(mor_onebot_send(person, MOR_ONEBOT_TEXT, MOR_SLICE("晴，25°C"), NULL, &out), 0);
	expect(&out, "{\"action\":\"send_private_msg\",\"params\":{\"user_id\":9007199254740993,\"message\":"
		     "[{\"type\":\"text\",\"data\":{\"text\":\"晴，25°C\"}}]}}");
	assert_int_equal(mor_onebot_send(group, MOR_ONEBOT_TEXT, MOR_SLICE("[CQ:at,qq=all] &#91;\n\""),
					 "weather/1", &out),
			 0);
	expect(&out,
	       "{\"action\":\"send_group_msg\",\"params\":{\"group_id\":9223372036854775807,\"message\":[{\"type\":\"text\",\"data\":{\"text\":\"[CQ:at,qq=all] "
	       "&#91;\\n\\\"\"}}]},\"echo\":\"weather/1\"}");
}

static void test_image(void **state)
{
	struct mor_buf out = MOR_BUF_INIT;

	(void)state;
	assert_int_equal(mor_onebot_send((struct mor_onebot_target){ true, "1" }, MOR_ONEBOT_IMAGE,
					 MOR_SLICE("https://example.com/a.png?x=1,2"), NULL, &out),
			 0);
	expect(&out, "{\"action\":\"send_group_msg\",\"params\":{\"group_id\":1,\"message\":"
		     "[{\"type\":\"image\",\"data\":{\"file\":\"https://example.com/a.png?x=1,2\"}}]}}");
}

static void test_origin(void **state)
{
	struct mor_onebot_event event;

	(void)state;
	assert_int_equal(mor_onebot_read(MOR_SLICE("{\"text\":\"x\",\"user_id\":1,\"group_id\":2}"), &event,
					 NULL),
			 0);
	assert_true(mor_onebot_origin(&event).group);
	assert_string_equal(mor_onebot_origin(&event).id, "2");
	mor_onebot_event_fini(&event);
	assert_int_equal(mor_onebot_read(MOR_SLICE("{\"text\":\"x\",\"user_id\":1}"), &event, NULL), 0);
	assert_false(mor_onebot_origin(&event).group);
	assert_string_equal(mor_onebot_origin(&event).id, "1");
	mor_onebot_event_fini(&event);
}

static void test_id(void **state)
{
	static const struct {
		const char *json, *digits; /* NULL: none */
	} cases[] = {
		{ "0", "0" },
		{ "-1", "-1" },
		{ "9223372036854775807", "9223372036854775807" },
		{ "\"42\"", "42" },
		{ "\"-9223372036854775808\"", "-9223372036854775808" },
		{ "1.0", NULL },
		{ "1e3", NULL },
		{ "\"\"", NULL },
		{ "\"01\"", NULL },
		{ "\"-01\"", NULL },
		{ "\"1 \"", NULL },
		{ "9223372036854775808", NULL },
		{ "null", NULL },
		{ "true", NULL },
		{ "\"0\"", "0" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct mor_doc *doc = NULL;
		struct mor_slice digits;

		assert_int_equal(mor_doc_parse(mor_slice_of(cases[i].json), 0, 0, &doc, NULL), 0);
		digits = mor_onebot_id(mor_doc_root(doc));
		if (cases[i].digits ? !mor_slice_is(digits, cases[i].digits) : digits.ptr != NULL)
			fail_msg("%s", cases[i].json);
		mor_doc_free(doc);
	}
	assert_null(mor_onebot_id(NULL).ptr);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_text),
		MOR_TEST(test_image),
		MOR_TEST(test_origin),
		MOR_TEST(test_id),
	};

	return mor_run_group("onebot/call", tests);
}
