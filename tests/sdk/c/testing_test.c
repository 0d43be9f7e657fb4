/* SPDX-License-Identifier: Apache-2.0 */
/* tenon/testing.h: the same calls inside this process and over a pipe, in every dialect. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <tenon/testing.h>

static int stopped;

static int roll(tenon_call *call)
{
	tenon_stream(call, "%s", "rolling ");
	return tenon_reply_text(call, "%d dice", (int)tenon_int(call, "dice", 0));
}

static int name(tenon_call *call)
{
	const char *first = tenon_ask(call, "First name?"),
		   *last = first ? tenon_ask(call, "Last name?") : NULL;

	return last ? tenon_reply_text(call, "%s %s", first, last) : -1;
}

static int refuse(tenon_call *call)
{
	return tenon_fail_data(call, 42, "no", "{\"why\":[1]}");
}

static int extract(tenon_call *call)
{
	size_t len;

	return tenon_source(call, 0, &len) ? tenon_reply_text(call, "%zu", len) : -1;
}

static int start(tenon_call *call)
{
	return tenon_as_bool(tenon_get(tenon_config(call), "bad"), 0) ? tenon_fail(call, 7, "bad") : 0;
}

static void stop(const tenon_plugin *plugin)
{
	(void)plugin;
	stopped++;
}

static const tenon_field fields[] = { { "dice", TENON_FIELD_INTEGER, .fallback = "1" }, { 0 } };
static const tenon_command commands[] = {
	{ "roll", roll, "Rolls", .fields = fields },
	{ .name = "name", .fn = name },
	{ .name = "refuse", .fn = refuse },
	{ 0 },
};
static const tenon_plugin plugin = {
	.name = "tested",
	.commands = commands,
	.hooks = commands,
	.extract = extract,
	.on_start = start,
	.on_stop = stop,
};

/* ---- Every dialect ---- */

static void check_roll(const char *dialect, const char *command, const char *params, const char *streamed,
		       const char *text)
{
	tenon_test *t;

	stopped = 0;
	t = tenon_test_inside(&plugin, dialect);
	assert_non_null(t);
	assert_int_equal(tenon_test_call(t, command, params), 0);
	assert_string_equal(tenon_test_text(t), text);
	assert_string_equal(tenon_test_streamed(t), streamed);
	assert_int_equal(tenon_test_end(t), 0);
	assert_int_equal(stopped, 1);
}

static void test_dialects(void **state)
{
	(void)state;
	check_roll("plain", "roll", "{\"dice\":2}", "rolling ", "2 dice");
	check_roll(NULL, "roll", NULL, "rolling ", "1 dice");
	check_roll("gassist", "roll", "{\"dice\":3}", "rolling ", "3 dice");
	check_roll("ayiou", "/roll 4", NULL, "", "rolling 4 dice");
	check_roll("sunscreen", "roll", "{\"dice\":\"5\"}", "", "rolling 5 dice");
	check_roll("sunscreen", "scaffold:roll", "[\"6\"]", "", "rolling 6 dice");
	check_roll("sunscreen", "hook:roll", NULL, "", "rolling 1 dice");
	check_roll("sunscreen-json", "roll", "{\"dice\":7}", "", "rolling 7 dice");
	check_roll("sunscreen-json", "hook:roll", "[\"8\"]", "", "rolling 8 dice");
	check_roll("yams", "extract", "{\"source\":{\"type\":\"bytes\",\"data\":\"QUJD\"}}", "", "3");
	assert_null(tenon_test_inside(&plugin, "kythe"));
	assert_null(tenon_test_inside(&plugin, "nonsense"));
}

static void test_errors(void **state)
{
	static const char *const dialects[] = { "plain", "gassist", "sunscreen", "yams" };

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		tenon_test *t = tenon_test_inside(&plugin, dialects[i]);

		assert_int_equal(tenon_test_call(t, "refuse", NULL), 1);
		assert_int_equal(tenon_test_code(t), 42);
		assert_string_equal(tenon_test_error(t), "no");
		assert_int_equal(tenon_size(tenon_get(tenon_test_data(t), "why")), 1);
		assert_int_equal(tenon_test_call(t, "roll", "{\"dice\":\"x\"}"), 1);
		assert_int_equal(tenon_test_code(t), TENON_EPARAMS);
		assert_string_equal(tenon_test_error(t), "dice: an integer is expected, not \"x\"");
		assert_int_equal(tenon_test_call(t, "nobody", NULL), 1);
		assert_int_equal(tenon_test_code(t), TENON_EMETHOD);
		assert_int_equal(tenon_test_end(t), 0);
	}
}

static void test_conversations(void **state)
{
	static const struct {
		const char *dialect, *command;
	} rows[] = { { "gassist", "name" }, { "ayiou", "/name" } };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		tenon_test *t = tenon_test_inside(&plugin, rows[i].dialect);

		assert_int_equal(tenon_test_call(t, rows[i].command, NULL), 0);
		assert_string_equal(tenon_test_text(t), "First name?");
		assert_int_equal(tenon_test_asks(t), i == 0);
		assert_int_equal(tenon_test_say(t, "Ada"), 0);
		assert_string_equal(tenon_test_text(t), "Last name?");
		assert_int_equal(tenon_test_say(t, "Lovelace"), 0);
		assert_string_equal(tenon_test_text(t), "Ada Lovelace");
		assert_int_equal(tenon_test_asks(t), 0);
		assert_int_equal(tenon_test_call(t, rows[i].command, NULL), 0);
		assert_int_equal(tenon_test_end(t), 0); /* in the middle of the second one */
	}
}

static void test_config(void **state)
{
	tenon_test *t = tenon_test_inside(&plugin, "yams");

	(void)state;
	assert_true(tenon_test_config(t, "{") < 0);
	assert_int_equal(tenon_test_config(t, "{\"bad\":true}"), 0);
	assert_int_equal(tenon_test_call(t, "roll", NULL), 1);
	assert_int_equal(tenon_test_code(t), 7);
	assert_int_equal(tenon_test_config(t, "{}"), 0);
	assert_int_equal(tenon_test_call(t, "roll", NULL), 0);
	assert_int_equal(tenon_test_end(t), 0);
}

/* ---- A program ---- */

static void test_spawn(void **state)
{
	const char *const argv[] = { getenv("TENON_PUPPET"), NULL };
	const char *const nothing[] = { "/nonexistent/plugin", NULL };
	tenon_test *t = tenon_test_spawn(argv, "gassist");

	(void)state;
	assert_non_null(t);
	assert_int_equal(tenon_test_call(t, "greet", "{\"name\":\"Ada\"}"), 0);
	assert_string_equal(tenon_test_text(t), "Hello, Ada.");
	assert_int_equal(tenon_test_call(t, "greet", NULL), 1);
	assert_string_equal(tenon_test_error(t), "name: is missing");
	assert_int_equal(tenon_test_end(t), 0);
	assert_null(tenon_test_spawn(nothing, NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dialects),      cmocka_unit_test(test_errors),
		cmocka_unit_test(test_conversations), cmocka_unit_test(test_config),
		cmocka_unit_test(test_spawn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
