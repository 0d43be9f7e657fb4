/* SPDX-License-Identifier: Apache-2.0 */
/* The line on the terminal: what it shows, and that nothing that is given to it can leave it. */
#include "heard.h"

#include <math.h>

#include "console/progress.h"

#define CLEAR "\r\033[K"

static void test_nothing_without_a_terminal(void **state)
{
	struct mor_progress progress;

	(void)state;
	mor_progress_start(&progress, false, 10);
	mor_progress_draw(&progress);
	mor_progress_clear(&progress);
	assert_string_equal(heard_err(), "");
}

static void test_files(void **state)
{
	struct mor_progress progress;

	(void)state;
	mor_progress_start(&progress, true, 10);
	progress.failed = 1;
	mor_progress_draw(&progress);
	assert_string_equal(heard_err(), CLEAR "[0/10] 1 failed");
	progress.done = 4;
	progress.drawn_ms += 3600000; /* too early for another, however slow we are */
	mor_progress_draw(&progress);
	assert_string_equal(heard_err(), "");
	mor_progress_clear(&progress);
	assert_string_equal(heard_err(), CLEAR);
	mor_progress_clear(&progress); /* it is not there any more */
	assert_string_equal(heard_err(), "");
	progress.begun_ms -= 2000;
	progress.rate = 2.04;
	mor_progress_draw(&progress);
	assert_string_equal(heard_err(), CLEAR "[4/10] 1 failed  2.0 files/s");
}

static void test_bars(void **state)
{
	static const struct {
		double fraction;
		const char *line;
	} rows[] = {
		{ 0, "[                    ]   0% x" },
		{ 0.5, "[==========          ]  50% x" },
		{ 1, "[====================] 100% x" },
		{ -1, "x" },
		{ -0.001, "x" },
		{ 1.5, "[====================] 100% x" },
		{ 12, "[====================] 100% x" },
		{ 1e6, "[====================] 100% x" },
		{ 1e300, "[====================] 100% x" },
		{ INFINITY, "[====================] 100% x" },
		{ NAN, "x" },
	};
	struct mor_progress progress = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		mor_progress_say(&progress, rows[i].fraction, "x");
		assert_string_equal(progress.said, rows[i].line);
	}
}

/* What stands behind it in memory stays as it was. */
static void test_a_long_text_is_cut(void **state)
{
	struct {
		struct mor_progress progress;
		char behind[1024];
	} both = { 0 };
	char text[400];

	(void)state;
	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	mor_progress_say(&both.progress, 12, text);
	assert_int_equal(strlen(both.progress.said), sizeof(both.progress.said) - 1);
	for (size_t i = 0; i < sizeof(both.behind); i++)
		assert_int_equal(both.behind[i], 0);
}

static void test_said_again_until_it_is_over(void **state)
{
	struct mor_progress progress = { 0 };

	(void)state;
	mor_progress_say_again(&progress);
	assert_string_equal(heard_err(), "");
	mor_progress_say(&progress, -1, "warms up");
	assert_string_equal(heard_err(), CLEAR "warms up");
	mor_progress_clear(&progress);
	mor_progress_say_again(&progress);
	assert_string_equal(heard_err(), CLEAR CLEAR "warms up");
	mor_progress_said(&progress);
	assert_string_equal(heard_err(), CLEAR);
	mor_progress_say_again(&progress);
	assert_string_equal(heard_err(), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HEARD_TEST(test_nothing_without_a_terminal),
		HEARD_TEST(test_files),
		HEARD_TEST(test_bars),
		HEARD_TEST(test_a_long_text_is_cut),
		HEARD_TEST(test_said_again_until_it_is_over),
	};

	return mor_run_group("console/progress", tests);
}
