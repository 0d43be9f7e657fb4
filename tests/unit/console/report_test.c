/* SPDX-License-Identifier: Apache-2.0 */
/* Errors: the line for people, the object for machines, the exit code. */
#include "heard.h"

#include "base/alloc.h"
#include "base/error.h"
#include "console/report.h"
#include "console/reword.h"
#include "console/warned.h"

static mortise_json json_of(const char *text)
{
	return (mortise_json){ text, text ? strlen(text) : 0 };
}

static const char *line_of(const struct mor_report *report)
{
	mor_report_line(&console, report);
	return heard_err();
}

/* ---- the line ---- */

static void test_data_of_a_plugins_error(void **state)
{
	static const char *const rows[][2] = {
		{ NULL, "" },
		{ "null", "" },
		{ "not json", "" },
		{ "5", "; data: 5" },
		{ "\"why\"", "; data: why" },
		{ "{\"other\":1}", "; data: {\"other\":1}" },
		{ "{\"reason\":\"no disk\"}", "; reason: no disk" },
		{ "{\"reason\":null,\"details\":{\"n\":1}}", "; details: {\"n\":1}" },
		{ "{\"details\":[1],\"reason\":\"full\"}", "; reason: full; details: [1]" },
		/* what the text says already is not said again */
		{ "{\"reason\":\"it broke\"}", "" },
		{ "{\"message\":\"it broke\",\"more\":1}", "" },
		{ "{\"error\":\"broke\"}", "" },
		{ "{\"data\":\"\"}", "; data: {\"data\":\"\"}" },
		{ "{\"env_var\":\"KEY\"}", "; if it needs KEY, pass it with --env KEY" },
		{ "{\"config_key\":\"a.b\"}", "; set it with --config a.b=VALUE" },
		{ "{\"config_key\":\"a\",\"env_var\":\"KEY\"}",
		  "; if it needs KEY, pass it with --env KEY, or --config a=VALUE" },
		{ "{\"next_step\":\"run init\"}", "; try: run init" },
		{ "{\"next_step\":5}", "" },
	};
	mortise_error error = { .code = MORTISE_EREMOTE, .text = "p: it broke" };
	char wanted[300];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		snprintf(wanted, sizeof(wanted), "plugin_error: p: it broke%s\n", rows[i][1]);
		assert_string_equal(line_of(&(struct mor_report){ .error = &error,
								  .data = json_of(rows[i][0]) }),
				    wanted);
	}
}

static void test_a_violation_has_said_everything(void **state)
{
	mortise_error error = { .code = MORTISE_EVIOLATION, .text = "p: wrote outside" };

	(void)state;
	snprintf(console.late, sizeof(console.late), "p: wrote outside");
	assert_string_equal(line_of(&(struct mor_report){ .error = &error,
							  .data = json_of("{\"reason\":\"x\"}") }),
			    "sandbox_violation: p: wrote outside\n");
	assert_string_equal(console.late, ""); /* it has been reported */
}

/* On a terminal it would be obeyed. */
static void test_data_cannot_steer_a_terminal(void **state)
{
	mortise_error error = { .code = MORTISE_EREMOTE, .text = "broken" };
	const char *data = "{\"reason\":\"\\u001b[2J\\n\\u009b\\u202e\",\"env_var\":\"\\u0007\","
			   "\"config_key\":\"\\u001b\",\"next_step\":\"\\r\"}";
	const char *line;

	(void)state;
	line = line_of(&(struct mor_report){ .error = &error, .data = json_of(data) });
	assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
	for (const char *c = line; c[1]; c++)
		assert_true((unsigned char)*c >= ' ' && (unsigned char)*c < 0x7f);
}

static void test_words_that_a_person_types(void **state)
{
	static const char *const rows[][2] = {
		{ "p: no answer in 5 s (timeout_ms of the call sets it)",
		  "timeout: p: no answer in 5 s (--timeout sets it)\n" },
		{ "p: no reply in 5 s; timeouts.hello.world changes it)",
		  "timeout: p: no reply in 5 s; --timeout hello.world=DURATION changes it)\n" },
		{ "p: it may be another (plugin.dialect, plugin.framing)",
		  "timeout: p: it may be another (--dialect, --framing)\n" },
		{ "try plugin.dialect=yams (plugin.framing=line)",
		  "timeout: try plugin.dialect=yams (--framing line)\n" },
		{ "try plugin.dialect=yams", "timeout: try -d yams\n" },
		{ "; timeouts.x and no end", "timeout: ; timeouts.x and no end\n" },
	};
	mortise_error error = { .code = MORTISE_ETIMEOUT };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		snprintf(error.text, sizeof(error.text), "%s", rows[i][0]);
		assert_string_equal(line_of(&(struct mor_report){ .error = &error }), rows[i][1]);
	}
	error.text[0] = '\0'; /* then the status has a text */
	assert_non_null(strstr(line_of(&(struct mor_report){ .error = &error }),
			       mortise_status_text(MORTISE_ETIMEOUT)));
	error = (mortise_error){ .code = MORTISE_EREMOTE, .text = "plugin.dialect=yams" }; /* its own words */
	assert_string_equal(line_of(&(struct mor_report){ .error = &error }),
			    "plugin_error: plugin.dialect=yams\n");
}

static void test_where_the_right_method_is(void **state)
{
	mortise_error error = { .code = MORTISE_EREMOTE, .rpc_code = -32601, .text = "no" };

	(void)state;
	assert_string_equal(line_of(&(struct mor_report){ .error = &error }), "plugin_error: no\n");
	assert_string_equal(line_of(&(struct mor_report){ .error = &error, .plugin = "./p" }),
			    "plugin_error: no; 'mortise info ./p' shows what it offers\n");
	assert_string_equal(line_of(&(struct mor_report){
				    .error = &error, .plugin = "./p", .dialect = "yams" }),
			    "plugin_error: no; 'mortise info -d yams ./p' shows what it offers\n");
	assert_string_equal(line_of(&(struct mor_report){ .error = &error, .subject = "a.txt" }),
			    "plugin_error: a.txt: no\n");
	error.rpc_code = -32600;
	assert_string_equal(line_of(&(struct mor_report){ .error = &error, .plugin = "./p" }),
			    "plugin_error: no\n");
}

static void test_colour_is_around_the_first_word_only(void **state)
{
	mortise_error error = { .code = MORTISE_EINPUT, .text = "x" };

	(void)state;
	console.err_color = true;
	assert_string_equal(line_of(&(struct mor_report){ .error = &error }), "\033[31minput\033[0m: x\n");
}

/* What the person did wrong is kept for the page that explains it. */
static void test_whose_mistake_it_was(void **state)
{
	static const struct {
		int code, rpc_code;
		bool mistake;
	} rows[] = {
		{ MORTISE_EINVAL, 0, true },        { MORTISE_EINPUT, 0, true },
		{ MORTISE_ENOTFOUND, 0, true },     { MORTISE_EUNSUPPORTED, 0, true },
		{ MORTISE_EREMOTE, -32601, true },  { MORTISE_EREMOTE, -32602, true },
		{ MORTISE_EREMOTE, -32603, false }, { MORTISE_EREMOTE, 0, false },
		{ MORTISE_ETIMEOUT, 0, false },     { MORTISE_ECRASHED, -32601, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		mortise_error error = { .code = rows[i].code, .rpc_code = rows[i].rpc_code, .text = "t\n" };

		mor_report_error(&console, &error);
		assert_int_equal(console.failed.mistake, rows[i].mistake);
		assert_string_equal(console.failed.kind, mortise_status_kind(rows[i].code));
	}
}

/* ---- exit codes ---- */

static void test_exit_codes(void **state)
{
	mortise_error error = { .code = MORTISE_EINPUT, .text = "x" };
	struct mor_report report = { .error = &error };

	(void)state;
	assert_int_equal(mor_report_fail(&console, &report), mortise_status_exit_code(MORTISE_EINPUT));
	console.own_exit = 77;
	assert_int_equal(mor_report_fail(&console, &report), 77);
	report.exit_code = 130;
	assert_int_equal(mor_report_fail(&console, &report), 130);
	heard_err();
	assert_int_equal(mor_report_interrupted(&console, 143), 143);
	assert_string_equal(heard_err(), "cancelled: interrupted by signal 15\n");
}

static void test_a_violation_after_the_last_answer(void **state)
{
	(void)state;
	assert_int_equal(mor_report_late(&console, 3), 3);
	assert_string_equal(heard_err(), "");
	snprintf(console.late, sizeof(console.late), "p: 100%% wrong");
	assert_int_equal(mor_report_late(&console, 0), mortise_status_exit_code(MORTISE_EVIOLATION));
	assert_string_equal(heard_err(), "sandbox_violation: p: 100% wrong\n");
	assert_int_equal(mor_report_late(&console, 0), 0);
}

static void test_usage_says_where_help_is(void **state)
{
	static const char *const rows[][3] = {
		{ NULL, "no such option", "usage: no such option; see 'mortise --help'\n" },
		{ "call", "no such option", "usage: no such option; see 'mortise call --help'\n" },
		{ "call", "did you mean --json?", "usage: did you mean --json? See 'mortise call --help'\n" },
		{ "call", "", "usage: ; see 'mortise call --help'\n" },
		{ "call", "100%s", "usage: 100%s; see 'mortise call --help'\n" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		mortise_error error = { .code = MORTISE_EINVAL };

		console.command = rows[i][0];
		snprintf(error.text, sizeof(error.text), "%s", rows[i][1]);
		assert_int_equal(mor_report_usage(&console, &error), mortise_status_exit_code(MORTISE_EINVAL));
		assert_string_equal(heard_err(), rows[i][2]);
	}
}

/* ---- for machines ---- */

static void add_more(const void *arg, struct mor_writer *w)
{
	mor_w_pair(w, "more", arg);
}

/* The code decides whether the line says where help is. */
static void test_causes(void **state)
{
	mortise_error wrong = { .code = MORTISE_EINVAL, .text = "a" },
		      damaged = { .code = MORTISE_EINPUT, .text = "b" };

	(void)state;
	console.command = "call";
	assert_int_equal(mor_report_cause(&console, &wrong), mortise_status_exit_code(MORTISE_EINVAL));
	assert_int_equal(mor_report_cause(&console, &damaged), mortise_status_exit_code(MORTISE_EINPUT));
	assert_int_equal(mor_report_misuse(&console, "not %d", 7), mortise_status_exit_code(MORTISE_EINVAL));
	assert_string_equal(heard_err(), "usage: a; see 'mortise call --help'\ninput: b\n"
					 "usage: not 7; see 'mortise call --help'\n");
}

static void test_json(void **state)
{
	mortise_error error = { .code = MORTISE_EREMOTE, .rpc_code = -32000, .text = "no \"disk\"" };

	(void)state;
	console.json = true;
	mor_report_error(&console, &error);
	assert_string_equal(heard_out(), "{\"ok\":false,\"kind\":\"plugin_error\",\"code\":\"EREMOTE\","
					 "\"message\":\"no \\\"disk\\\"\",\"data\":null,\"rpc_code\":-32000,"
					 "\"exit_code\":1}\n");
	mor_warned_keep(&console, "p: odd");
	mor_report_fail(&console, &(struct mor_report){ .error = &error,
							.data = json_of("{\"next_step\":\"s\",\"x\":[ 1 ]}"),
							.exit_code = 9,
							.more = add_more,
							.more_arg = "m" });
	assert_string_equal(heard_out(),
			    "{\"ok\":false,\"kind\":\"plugin_error\",\"code\":\"EREMOTE\","
			    "\"message\":\"no \\\"disk\\\"\",\"data\":{\"next_step\":\"s\",\"x\":[1]},"
			    "\"next_step\":\"s\",\"rpc_code\":-32000,\"exit_code\":9,\"more\":\"m\","
			    "\"warnings\":[\"p: odd\"]}\n");
	assert_int_equal(console.warned.count, 0); /* they are told once */
}

/* ---- warnings ---- */

static void test_warnings_are_kept_once_and_not_for_ever(void **state)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	struct mor_writer w = { .out = &json };
	char text[20];

	(void)state;
	mor_warned_keep(&console, "not with --json");
	assert_int_equal(console.warned.count, 0);
	console.json = true;
	for (int i = 0; i < 2 * MOR_WARNED_MAX; i++) {
		snprintf(text, sizeof(text), "w%d", i / 2);
		mor_warned_keep(&console, text);
	}
	assert_int_equal(console.warned.count, MOR_WARNED_MAX);
	mor_warned_keep(&console, "one more");
	assert_int_equal(console.warned.count, MOR_WARNED_MAX);
	mor_w_object(&w);
	mor_warned_write(&console, &w);
	mor_warned_write(&console, &w); /* none: no member */
	mor_w_end(&w);
	assert_memory_equal(json.data, "{\"warnings\":[\"w0\",\"w1\",", 23);
	mor_warned_keep(&console, "one more");
	assert_int_equal(console.warned.count, 1);
}

static void test_a_warning_without_memory_is_lost_not_the_run(void **state)
{
	(void)state;
	console.json = true;
	for (long n = 0; console.warned.count == 0; n++) {
		mor_alloc_fail_after(n);
		mor_warned_keep(&console, "w");
		mor_alloc_fail_after(-1);
		assert_true(n < 10);
	}
}

/* ---- other words ---- */

static void test_rewording(void **state)
{
	static const struct mor_rewording rows[] = { { "[", "]", "<", ">" }, { "old", "", "new", "" } };
	static const char *const texts[][2] = {
		{ "", "" },
		{ "plain", "plain" },
		{ "a [b] c old d", "a <b> c new d" },
		{ "[b", "[b" },           /* no end: it stays */
		{ "] [b]", "] <b>" },     /* the end after the begin */
		{ "old [b]", "old <b>" }, /* another order than the rows' */
		{ "old old", "new old" }, /* the first only */
		{ "[]", "<>" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;

		mor_reword(texts[i][0], rows, 2, &out);
		mor_buf_byte(&out, '\0');
		assert_string_equal(out.data, texts[i][1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HEARD_TEST(test_data_of_a_plugins_error),
		HEARD_TEST(test_a_violation_has_said_everything),
		HEARD_TEST(test_data_cannot_steer_a_terminal),
		HEARD_TEST(test_words_that_a_person_types),
		HEARD_TEST(test_where_the_right_method_is),
		HEARD_TEST(test_colour_is_around_the_first_word_only),
		HEARD_TEST(test_whose_mistake_it_was),
		HEARD_TEST(test_exit_codes),
		HEARD_TEST(test_a_violation_after_the_last_answer),
		HEARD_TEST(test_usage_says_where_help_is),
		HEARD_TEST(test_causes),
		HEARD_TEST(test_json),
		HEARD_TEST(test_warnings_are_kept_once_and_not_for_ever),
		HEARD_TEST(test_a_warning_without_memory_is_lost_not_the_run),
		HEARD_TEST(test_rewording),
	};

	return mor_run_group("console/report", tests);
}
