/* SPDX-License-Identifier: Apache-2.0 */
#include "leak.h"

#include <signal.h>

#include "base/alloc.h"
#include "talk/talk.h"

static const char script[] = "talk 1 yams framing=lines\r\n"
			     "# a comment\n"
			     "\n"
			     ">  {\"id\":$a,\"method\":\"x\"} \n"
			     "< {\"id\":$a,\"result\":{...}}\r\n"
			     ">b \\x00\\x01 \\n\\\\\\0\\101\n"
			     "<b  two\n"
			     "2   a line \n"
			     "~ 1.5s\n"
			     "! state to=READY\n"
			     "* call echo {}\n"
			     ">.\n"
			     "<. \n"
			     "= exit 3\n"
			     "= signal KILL\n"
			     "= signal SIGTERM\n"
			     "2\n"
			     "= signal 9";

static void every_kind_of_line(void **state)
{
	static const struct {
		enum mor_talk_step_kind kind;
		unsigned line;
		struct mor_slice text;
	} rows[] = {
		{ MOR_TALK_SEND, 4, MOR_SLICE("{\"id\":$a,\"method\":\"x\"}") },
		{ MOR_TALK_RECEIVE, 5, MOR_SLICE("{\"id\":$a,\"result\":{...}}") },
		{ MOR_TALK_SEND_RAW, 6, MOR_SLICE("\x00\x01 \n\\\0A") },
		{ MOR_TALK_RECEIVE_RAW, 7, MOR_SLICE(" two") },
		{ MOR_TALK_STDERR, 8, MOR_SLICE("  a line ") },
		{ MOR_TALK_WAIT, 9, MOR_SLICE("1.5s") },
		{ MOR_TALK_EVENT, 10, MOR_SLICE("state to=READY") },
		{ MOR_TALK_ACT, 11, MOR_SLICE("call echo {}") },
		{ MOR_TALK_SEND_END, 12, MOR_SLICE("") },
		{ MOR_TALK_RECEIVE_END, 13, MOR_SLICE("") },
		{ MOR_TALK_EXIT, 14, MOR_SLICE("exit 3") },
		{ MOR_TALK_EXIT, 15, MOR_SLICE("signal KILL") },
		{ MOR_TALK_EXIT, 16, MOR_SLICE("signal SIGTERM") },
		{ MOR_TALK_STDERR, 17, MOR_SLICE("") },
		{ MOR_TALK_EXIT, 18, MOR_SLICE("signal 9") },
	};
	struct mor_talk talk;
	mortise_error err = { 0 };

	(void)state;
	if (mor_talk_parse(MOR_SLICE(script), &talk, &err) < 0)
		fail_msg("%s", err.text);
	assert_string_equal(talk.dialect, "yams");
	assert_string_equal(talk.framing, "lines");
	assert_int_equal(talk.count, sizeof(rows) / sizeof(rows[0]));
	for (size_t i = 0; i < talk.count; i++) {
		assert_int_equal(talk.steps[i].kind, rows[i].kind);
		assert_int_equal(talk.steps[i].line, rows[i].line);
		if (rows[i].text.len)
			assert_true(mor_slice_eq(talk.steps[i].text, rows[i].text));
	}
	assert_int_equal(talk.steps[5].ms, 1500);
	assert_int_equal(talk.steps[10].exit_code, 3);
	assert_int_equal(talk.steps[10].signal, -1);
	assert_int_equal(talk.steps[11].signal, SIGKILL);
	assert_int_equal(talk.steps[11].exit_code, -1);
	assert_int_equal(talk.steps[12].signal, SIGTERM);
	assert_int_equal(talk.steps[14].signal, SIGKILL);
	mor_talk_fini(&talk);
}

static void head_without_options(void **state)
{
	struct mor_talk talk;

	(void)state;
	assert_int_equal(mor_talk_parse(MOR_SLICE("talk 1 plain"), &talk, NULL), 0);
	assert_string_equal(talk.dialect, "plain");
	assert_null(talk.framing);
	assert_int_equal(talk.count, 0);
	mor_talk_fini(&talk);
}

static void bad_scripts_name_their_line(void **state)
{
	static const char *const rows[][2] = {
		{ "", "line 1: the first line must be" },
		{ "# talk 1 x", "line 1: " },
		{ "talk 2 x", "line 1: only version 1" },
		{ "talk 1", "line 1: the dialect is missing" },
		{ "talk 1 x color=red", "line 1: unknown option" },
		{ "talk 1 x framing=", "line 1: unknown option" },
		{ "talk 1 x framing=tcp", "line 1: unknown framing" },
		{ "talk 1 x\n\n?", "line 3: a line begins with" },
		{ "talk 1 x\n>{}", "line 2: a line begins with" },
		{ "talk 1 x\n> {\"a\":}", "line 2: " },
		{ "talk 1 x\n> {\"a\":$}", "line 2: $ without a name" },
		{ "talk 1 x\n> ", "line 2: " },
		{ "talk 1 x\n>b \\q", "line 2: bad escape" },
		{ "talk 1 x\n>b \\", "line 2: bad escape" },
		{ "talk 1 x\n>b \\x1", "line 2: bad escape" },
		{ "talk 1 x\n>b \\777", "line 2: bad escape" },
		{ "talk 1 x\n~ soon", "line 2: expected a duration" },
		{ "talk 1 x\n!", "line 2: nothing behind the mark" },
		{ "talk 1 x\n>. x", "line 2: something behind the mark" },
		{ "talk 1 x\n= exit 256", "line 2: expected \"exit CODE\"" },
		{ "talk 1 x\n= signal NONE", "line 2: expected" },
		{ "talk 1 x\n= exit 0 0", "line 2: expected" },
		{ "talk 1 x\n= signal 0", "line 2: expected" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct mor_talk talk = { .count = 99 };
		mortise_error err = { 0 };

		assert_int_equal(mor_talk_parse(mor_slice_of(rows[i][0]), &talk, &err), MORTISE_EMANIFEST);
		assert_int_equal(talk.count, 99);
		if (strncmp(err.text, rows[i][1], strlen(rows[i][1])) != 0)
			fail_msg("%s: \"%s\" instead of \"%s\"", rows[i][0], err.text, rows[i][1]);
	}
}

static void matches(struct mor_talk_vars *vars, const char *pattern, const char *actual)
{
	mortise_error err = { 0 };

	if (mor_talk_match(mor_slice_of(pattern), mor_slice_of(actual), vars, &err) < 0)
		fail_msg("%s does not match %s: %s", actual, pattern, err.text);
}

static void differs(struct mor_talk_vars *vars, const char *pattern, const char *actual, const char *expected)
{
	mortise_error err = { 0 };

	assert_int_equal(mor_talk_match(mor_slice_of(pattern), mor_slice_of(actual), vars, &err),
			 MORTISE_EPROTO);
	if (strcmp(err.text, expected) != 0)
		fail_msg("%s: \"%s\" instead of \"%s\"", pattern, err.text, expected);
}

static void values_compare_as_values(void **state)
{
	struct mor_talk_vars vars = { NULL };

	(void)state;
	matches(&vars, "{\"a\":1,\"b\":[true,null]}", "{\"b\":[true,null],\"a\":1.0}");
	matches(&vars, "9007199254740993", "9007199254740993");
	differs(&vars, "9007199254740993", "9007199254740992",
		"message: expected 9007199254740993, got 9007199254740992");
	differs(&vars, "{\"params\":{\"x\":1}}", "{\"params\":{\"x\":2}}", "/params/x: expected 1, got 2");
	differs(&vars, "{\"params\":{\"x\":1}}", "{\"params\":{}}", "/params/x: missing");
	differs(&vars, "{\"a/b\":{\"~\":1}}", "{\"a/b\":{\"~\":1,\"c\":2}}", "/a~1b/c: not expected");
	differs(&vars, "[1,[2]]", "[1,[3]]", "/1/0: expected 2, got 3");
	differs(&vars, "[1,2]", "[1]", "/1: missing");
	differs(&vars, "[1]", "[1,2]", "/1: not expected");
	differs(&vars, "{\"a\":{}}", "{\"a\":[\"x\"]}", "/a: expected an object, got [\"x\"]");
	differs(&vars, "\"a\"", "1", "message: expected \"a\", got 1");
	matches(&vars, "\"$x\"", "\"$x\"");
	differs(&vars, "\"$x\"", "1", "message: expected \"$x\", got 1");
	matches(&vars, "\"...\"", "\"...\"");
	assert_null(vars.first);
}

static void dots_stand_for_more(void **state)
{
	struct mor_talk_vars vars = { NULL };

	(void)state;
	matches(&vars, "...", "[1,2]");
	matches(&vars, "{...}", "{}");
	matches(&vars, "{ ... }", "{\"a\":1}");
	matches(&vars, "{\"a\":1, ... }", "{\"b\":2,\"a\":1}");
	matches(&vars, "{\"a\":...}", "{\"a\":{\"x\":1}}");
	matches(&vars, "[...]", "[]");
	matches(&vars, "[1,...]", "[1]");
	matches(&vars, "[1, ... ]", "[1,2,3]");
	matches(&vars, "[...,2]", "[{},2]");
	matches(&vars, "{\"a\":[...,{...}],...}", "{\"a\":[1,{}],\"z\":0}");
	differs(&vars, "{\"a\":1,...}", "{\"b\":1}", "/a: missing");
	differs(&vars, "{\"a\":...}", "{}", "/a: missing");
	differs(&vars, "[...,2]", "[2]", "/1: missing");
	differs(&vars, "[1,...]", "[]", "/0: missing");
	differs(&vars, "{...}", "[]", "message: expected an object, got []");
}

static void names_bind_once(void **state)
{
	struct mor_talk_vars vars = { NULL };

	(void)state;
	matches(&vars, "{\"id\":$a,\"x\":$b_2}", "{\"id\":12345678901234567890,\"x\":{\"k\":[1]}}");
	assert_true(mor_slice_is(mor_talk_var_get(&vars, MOR_SLICE("a")), "12345678901234567890"));
	assert_true(mor_slice_is(mor_talk_var_get(&vars, MOR_SLICE("b_2")), "{\"k\":[1]}"));
	assert_null(mor_talk_var_get(&vars, MOR_SLICE("b")).ptr);
	matches(&vars, "[$a,$b_2]", "[12345678901234567890,{\"k\":[1.0]}]");
	differs(&vars, "$a", "12345678901234567891",
		"message: expected 12345678901234567890, got 12345678901234567891");
	differs(&vars, "{\"q\":$b_2}", "{\"q\":{\"k\":[2]}}", "/q: expected {\"k\":[1]}, got {\"k\":[2]}");
	differs(&vars, "[$c,$c]", "[1,2]", "/1: expected 1, got 2");
	assert_null(mor_talk_var_get(&vars, MOR_SLICE("c")).ptr);
	matches(&vars, "[$c,$c]", "[\"\\n\",\"\\u000a\"]");
	assert_int_equal(mor_talk_var_set(&vars, MOR_SLICE("c"), MOR_SLICE("5")), 0);
	matches(&vars, "$c", "5");
	mor_talk_vars_fini(&vars);
	assert_null(vars.first);
}

static void bad_patterns_and_texts(void **state)
{
	struct mor_talk_vars vars = { NULL };
	static const char *const bad[] = { "",
					   "{",
					   "{$a:1}",
					   "{... :1}",
					   "$",
					   "[..]",
					   "[....]",
					   "$a$b",
					   "{\"a\":1,...,\"b\":2}",
					   "{...,}",
					   "[\"\\u0001x\"]",
					   "... ...",
					   "{\"a\" ...}",
					   "\"open",
					   "$a.b" };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(mor_talk_check(mor_slice_of(bad[i]), NULL), MORTISE_EPROTO);
		assert_int_equal(mor_talk_match(mor_slice_of(bad[i]), MOR_SLICE("1"), &vars, NULL),
				 MORTISE_EPROTO);
	}
	assert_int_equal(mor_talk_match(MOR_SLICE("$a"), MOR_SLICE("{"), &vars, NULL), MORTISE_EPROTO);
	assert_null(vars.first);
}

static void long_values_are_cut_in_texts(void **state)
{
	struct mor_talk_vars vars = { NULL };
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	mortise_error err = { 0 };

	(void)state;
	mor_buf_byte(&text, '"');
	for (int i = 0; i < 200; i++)
		mor_buf_text(&text, "\xe2\x82\xac");
	mor_buf_byte(&text, '"');
	assert_int_equal(mor_talk_match(MOR_SLICE("1"), mor_buf_view(&text), &vars, &err), MORTISE_EPROTO);
	assert_non_null(strstr(err.text, "\xe2\x82\xac..."));
}

static void filling(void **state)
{
	struct mor_talk_vars vars = { NULL };
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;
	mortise_error err = { 0 };

	(void)state;
	mor_talk_var_set(&vars, MOR_SLICE("a"), MOR_SLICE("{\"x\":1}"));
	assert_int_equal(mor_talk_fill(MOR_SLICE("[$a, \"$a\", \"\\\"$a\",$a]"), &vars, &out, &err), 0);
	assert_true(mor_slice_is(mor_buf_view(&out), "[{\"x\":1}, \"$a\", \"\\\"$a\",{\"x\":1}]"));
	assert_int_equal(mor_talk_fill(MOR_SLICE("[$nope]"), &vars, &out, &err), MORTISE_EPROTO);
	assert_string_equal(err.text, "$nope is not bound");
	assert_int_equal(mor_talk_fill(MOR_SLICE("{...}"), &vars, &out, &err), MORTISE_EPROTO);
	assert_int_equal(mor_talk_fill(MOR_SLICE("[1,"), &vars, &out, &err), MORTISE_EPROTO);
	assert_int_equal(mor_talk_fill(MOR_SLICE(""), &vars, &out, &err), MORTISE_EPROTO);
	assert_int_equal(out.len, strlen("[{\"x\":1}, \"$a\", \"\\\"$a\",{\"x\":1}]"));
	mor_talk_vars_fini(&vars);
}

static void written_scripts_read_back(void **state)
{
	static const struct {
		enum mor_talk_step_kind kind;
		struct mor_slice text;
	} rows[] = { { MOR_TALK_SEND, MOR_SLICE("{\"a\": 1}") },
		     { MOR_TALK_RECEIVE_RAW, MOR_SLICE(" \0\\\n\xff\x7f\t ") },
		     { MOR_TALK_STDERR, MOR_SLICE(" text") },
		     { MOR_TALK_WAIT, MOR_SLICE("30000ms") },
		     { MOR_TALK_SEND_END, MOR_SLICE("") },
		     { MOR_TALK_EXIT, MOR_SLICE("exit 0") },
		     { MOR_TALK_SEND_RAW, MOR_SLICE("") },
		     { MOR_TALK_EVENT, MOR_SLICE("noise count=3") } };
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;
	struct mor_talk talk;

	(void)state;
	mor_buf_text(&out, "talk 1 plain\n");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(mor_talk_write(&out, rows[i].kind, rows[i].text), 0);
	assert_int_equal(mor_talk_write(&out, MOR_TALK_RECEIVE, MOR_SLICE("{\n\"a\":2}")), 0);
	assert_int_equal(mor_talk_parse(mor_buf_view(&out), &talk, NULL), 0);
	assert_int_equal(talk.count, sizeof(rows) / sizeof(rows[0]) + 1);
	for (size_t i = 0; i + 1 < talk.count; i++) {
		assert_int_equal(talk.steps[i].kind, rows[i].kind);
		assert_true(mor_slice_eq(talk.steps[i].text, rows[i].text));
	}
	assert_true(mor_slice_is(talk.steps[talk.count - 1].text, "{ \"a\":2}"));
	mor_talk_fini(&talk);
}

static const char greeted_script[] = "talk 1 yams\n"
				     "* greeted\n"
				     "= exit 0\n"
				     "* call x\n"
				     "* greets\n"
				     "* result";
static const char greeting_script[] = "talk 1 yams\n# once\n> {\"id\":$a}\n< {\"id\":$a}";

static void a_greeting_is_written_once(void **state)
{
	static const struct {
		unsigned line;
		const char *text;
	} rows[] = { { 2, "start" },       { 2, "{\"id\":$a}" }, { 2, "{\"id\":$a}" },
		     { 2, "state ready" }, { 3, "exit 0" },      { 4, "call x" },
		     { 5, "{\"id\":$a}" }, { 5, "{\"id\":$a}" }, { 6, "result" } };
	struct mor_talk talk, greeting;

	(void)state;
	assert_int_equal(mor_talk_parse(MOR_SLICE(greeted_script), &talk, NULL), 0);
	assert_int_equal(mor_talk_parse(MOR_SLICE(greeting_script), &greeting, NULL), 0);
	assert_int_equal(mor_talk_greeted_at(&talk), 2);
	assert_int_equal(mor_talk_greeted_at(&greeting), 0);
	assert_int_equal(mor_talk_greet(&talk, &greeting, NULL), 0);
	assert_int_equal(mor_talk_greeted_at(&talk), 0);
	assert_int_equal(talk.count, sizeof(rows) / sizeof(rows[0]));
	for (size_t i = 0; i < talk.count; i++) {
		assert_int_equal(talk.steps[i].line, rows[i].line);
		assert_true(mor_slice_is(talk.steps[i].text, rows[i].text));
	}
	assert_int_equal(talk.steps[0].kind, MOR_TALK_ACT);
	assert_int_equal(talk.steps[1].kind, MOR_TALK_SEND);
	mor_talk_fini(&talk);
	mor_talk_fini(&greeting);
}

static void a_greeting_that_does_not_fit(void **state)
{
	static const char *const rows[][2] = {
		{ "talk 1 kythe\n* greets",
		  "line 2: the greeting is one of kythe, and this script is in yams" },
		{ "talk 1 yams\n\n* greets", "the greeting greets in line 3: it must be spelled out" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct mor_talk talk, greeting;
		mortise_error err = { 0 };

		assert_int_equal(mor_talk_parse(MOR_SLICE(greeted_script), &talk, NULL), 0);
		assert_int_equal(mor_talk_parse(mor_slice_of(rows[i][0]), &greeting, NULL), 0);
		assert_int_equal(mor_talk_greet(&talk, &greeting, &err), MORTISE_EMANIFEST);
		assert_string_equal(err.text, rows[i][1]);
		assert_int_equal(mor_talk_greeted_at(&talk), 2);
		mor_talk_fini(&talk);
		mor_talk_fini(&greeting);
	}
}

/* Every allocation fails in turn: the result is ENOMEM, never a wrong verdict, and nothing leaks (ASan). */
static void out_of_memory(void **state)
{
	int r = MORTISE_ENOMEM;

	(void)state;
	for (long n = 0; r == MORTISE_ENOMEM; n++) {
		struct mor_talk talk = { .count = 0 };
		struct mor_talk_vars vars = { NULL };

		mor_alloc_fail_after(n);
		r = mor_talk_parse(MOR_SLICE(script), &talk, NULL);
		if (r == 0)
			r = mor_talk_match(MOR_SLICE("{\"a\":[$x,$x,{\"b\":$y,...}]}"),
					   MOR_SLICE("{\"a\":[1,1.0,{\"b\":2,\"c\":3}]}"), &vars, NULL);
		mor_alloc_fail_after(-1);
		assert_true(r == 0 || (r == MORTISE_ENOMEM && !vars.first));
		assert_true(n < 1000);
		mor_talk_vars_fini(&vars);
		mor_talk_fini(&talk);
	}
}

static void out_of_memory_for_a_greeting(void **state)
{
	int r = MORTISE_ENOMEM;

	(void)state;
	for (long n = 0; r == MORTISE_ENOMEM; n++) {
		struct mor_talk talk, greeting;

		assert_int_equal(mor_talk_parse(MOR_SLICE(greeted_script), &talk, NULL), 0);
		assert_int_equal(mor_talk_parse(MOR_SLICE(greeting_script), &greeting, NULL), 0);
		mor_alloc_fail_after(n);
		r = mor_talk_greet(&talk, &greeting, NULL);
		mor_alloc_fail_after(-1);
		assert_true(r == 0 || (r == MORTISE_ENOMEM && mor_talk_greeted_at(&talk) == 2));
		assert_true(n < 10);
		mor_talk_fini(&talk);
		mor_talk_fini(&greeting);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(every_kind_of_line),
		MOR_TEST(head_without_options),
		MOR_TEST(bad_scripts_name_their_line),
		MOR_TEST(values_compare_as_values),
		MOR_TEST(dots_stand_for_more),
		MOR_TEST(names_bind_once),
		MOR_TEST(bad_patterns_and_texts),
		MOR_TEST(long_values_are_cut_in_texts),
		MOR_TEST(filling),
		MOR_TEST(written_scripts_read_back),
		MOR_TEST(a_greeting_is_written_once),
		MOR_TEST(a_greeting_that_does_not_fit),
		MOR_TEST(out_of_memory),
		MOR_TEST(out_of_memory_for_a_greeting),
	};

	return mor_run_group("talk/talk", tests);
}
