/* SPDX-License-Identifier: Apache-2.0 */
/* The driver: what analyzers ask for and say. */
#include <stdio.h>

#include "driver_rig.h"

/* ---- types ---- */

static void asks_for(struct rig *rig, const char *types)
{
	char text[300];

	snprintf(text, sizeof(text), "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"analyze\",\"params\":%s}",
		 types);
	says(rig, text);
}

static void types_that_fit(void **state)
{
	static const char *const asked[] = { "{\"types\":[\"/kythe/index/c\"]}",
					     "{\"types\":[\"/x\",\"kythe/index\"]}", "{\"types\":[]}",
					     "{\"language\":\"c\"}", "{\"types\":[\"/\"]}" };

	(void)state;
	for (size_t i = 0; i < sizeof(asked) / sizeof(*asked); i++) {
		struct rig rig;

		open_rig(&rig, 1, (struct mor_driver_options){ 0 });
		begin(&rig);
		greets(&rig);
		asks_for(&rig, asked[i]);
		gets(&rig, "u0.c");
		close_rig(&rig);
	}
}

static void types_that_are_none(void **state)
{
	struct rig rig;

	(void)state;
	open_rig(&rig, 1, (struct mor_driver_options){ 0 });
	begin(&rig);
	greets(&rig);
	asks_for(&rig, "{\"types\":[\"/ok\",\"/a//b\"]}");
	assert_says(hears(), "\"code\":-32602,\"message\":\"\\\"/a//b\\\" is not an analysis type");
	asks_for(&rig, "{\"language\":\"a b\"}");
	assert_says(hears(), "\\\"a b\\\" is not a language");
	asks(&rig); /* it may ask again */
	gets(&rig, "u0.c");
	close_rig(&rig);
}

/* Nobody asks for what is left: no reason to wait for ever. */
static void types_that_nobody_asks_for(void **state)
{
	static const char *const offered[] = { "/team/lines", NULL };

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct rig rig;

		open_rig(&rig, 1, (struct mor_driver_options){ .types = i ? offered : NULL });
		begin(&rig);
		greets(&rig);
		asks_for(&rig, "{\"types\":[\"/kythe/index/java\"]}");
		expect_unit(&rig, 0, "u0.c", 0,
			    i ? "no analyzer asks for /team/lines" : "no analyzer asks for /kythe/index/c");
		assert_int_equal(rig.units[0].code, MORTISE_EUNSUPPORTED);
		expect_the_end(&rig);
		close_rig(&rig);
	}
}

/* ---- what it asks and says ---- */

static void names(void **state)
{
	static const char ask[] = "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"vname\",\"params\":{\"path\":\"x."
				  "h\",\"signature\":\"s\"}}";
	struct rig rig;

	(void)state;
	open_rig(&rig, 1, (struct mor_driver_options){ 0 });
	begin(&rig);
	greets(&rig);
	says(&rig, ask);
	assert_says(hears(), "\"error\":{\"code\":-1,"); /* nothing is under way, and there are no rules */
	asks(&rig);
	gets(&rig, "u0.c");
	says(&rig, ask);
	assert_says(hears(), "\"signature\":\"s\"");
	close_rig(&rig);
}

static void logs(void **state)
{
	static const struct {
		const char *message, *want;
	} rows[] = {
		{ "\"plain\"", "u0.c||0|0|plain" },
		{ "{\"message\":\"m\",\"contextUrl\":\"h\",\"span\":{\"start\":{\"lineNumber\":7,"
		  "\"columnOffset\":2}}}",
		  "u0.c|h|7|3|m" },
		{ "{\"message\":\"m\",\"context_url\":\"h\",\"span\":{\"start\":{\"line_number\":8,\"column_"
		  "offset\":0}}}",
		  "u0.c|h|8|1|m" },
		{ "{\"message\":\"m\",\"span\":{\"start\":{\"lineNumber\":9}}}", "u0.c||9|0|m" },
		{ "{\"message\":\"m\",\"span\":{\"start\":{\"columnOffset\":4}}}", "u0.c||0|0|m" },
		{ "{\"message\":\"m\",\"span\":{\"start\":{\"lineNumber\":-1,\"columnOffset\":-5}}}",
		  "u0.c||0|0|m" },
		{ "{\"no\":\"text\"}", NULL },
		{ "\"\"", NULL },
	};
	struct rig rig;
	char text[300];

	(void)state;
	open_rig(&rig, 1, (struct mor_driver_options){ 0 });
	begin(&rig);
	greets(&rig);
	says(&rig, "{\"jsonrpc\":\"2.0\",\"method\":\"log\",\"params\":{\"message\":\"early\"}}");
	assert_string_equal(rig.log, "analyzer||0|0|early");
	asks(&rig);
	gets(&rig, "u0.c");
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		rig.log_count = 0;
		snprintf(text, sizeof(text),
			 "{\"jsonrpc\":\"2.0\",\"method\":\"log\",\"params\":{\"message\":%s}}",
			 rows[i].message);
		says(&rig, text);
		assert_int_equal(rig.log_count, rows[i].want != NULL);
		if (rows[i].want)
			assert_string_equal(rig.log, rows[i].want);
	}
	says(&rig, "{\"jsonrpc\":\"2.0\",\"method\":\"done\",\"params\":{\"message\":\"last words\"}}");
	assert_string_equal(rig.log, "u0.c||0|0|last words");
	expect_unit(&rig, 0, "u0.c", 1, NULL);
	close_rig(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(types_that_fit),
		MOR_TEST(types_that_are_none),
		MOR_TEST(types_that_nobody_asks_for),
		MOR_TEST(names),
		MOR_TEST(logs),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("kythe/drive/ask", tests, group_setup, group_teardown);
}
