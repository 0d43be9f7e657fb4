/* SPDX-License-Identifier: Apache-2.0 */
/* The page about a run: its plot, and texts that come from elsewhere. */
#include "leak.h"

#include <string.h>

#include "base/alloc.h"
#include "crew/report.h"

static void test_plot(void **state)
{
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;
	struct mor_pace pace;

	(void)state;
	mor_pace_begin(&pace, 0, 0);
	mor_pace_note(&pace, 10000, 100, 0, 2);
	mor_pace_note(&pace, 20000, 150, 1, 4);
	mor_crew_report_plot(&pace, &out);
	mor_buf_byte(&out, '\0');
	/* 10 units per second at the top, then half of it; the right edge is the end */
	assert_non_null(strstr(out.data, "points=\"60.0,20.0 440.0,20.0 440.0,130.0 820.0,130.0 \""));
	assert_non_null(strstr(out.data, "points=\"60.0,130.0 440.0,130.0 440.0,20.0 820.0,20.0 \""));
	assert_non_null(strstr(out.data, ">10.0/s<"));
	assert_non_null(strstr(out.data, "workers (up to 4)"));
}

static void test_too_short(void **state)
{
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;
	struct mor_pace pace;

	(void)state;
	mor_pace_begin(&pace, 0, 5);
	mor_crew_report_plot(&pace, &out);
	mor_pace_note(&pace, 900, 5, 0, 0);
	mor_crew_report_plot(&pace, &out);
	mor_buf_byte(&out, '\0');
	assert_null(strstr(out.data, "<svg"));
}

static void test_texts_are_no_markup(void **state)
{
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;

	(void)state;
	mor_crew_report_text(&out, mor_slice_of("<script a=\"b\">&"));
	mor_buf_byte(&out, '\0');
	assert_string_equal(out.data, "&lt;script a=&quot;b&quot;>&amp;");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_plot),
		MOR_TEST(test_too_short),
		MOR_TEST(test_texts_are_no_markup),
	};

	return mor_run_group("crew/report", tests);
}
