/* SPDX-License-Identifier: Apache-2.0 */
/* How fast a run goes, and how long it still takes. */
#include "leak.h"

#include "crew/pace.h"

static void test_not_known_at_first(void **state)
{
	struct mor_pace pace;

	(void)state;
	mor_pace_begin(&pace, 5000, 40);
	assert_true(mor_pace_rate(&pace) == 0);
	assert_int_equal(mor_pace_left_ms(&pace, 100), -1);
	assert_int_equal(mor_pace_left_ms(&pace, 40), 0);
	mor_pace_note(&pace, 9000, 40, 0, 1);
	assert_int_equal(mor_pace_left_ms(&pace, 100), -1);
}

/* What an earlier run has done is not this run's speed. */
static void test_left(void **state)
{
	struct mor_pace pace;

	(void)state;
	mor_pace_begin(&pace, 1000, 500);
	mor_pace_note(&pace, 11000, 600, 0, 2);
	assert_true(mor_pace_rate(&pace) == 10.0);
	assert_int_equal(mor_pace_left_ms(&pace, 1000), 40000);
}

/* The last half minute counts: a run that became faster. */
static void test_recent(void **state)
{
	struct mor_pace pace;

	(void)state;
	mor_pace_begin(&pace, 0, 0);
	mor_pace_note(&pace, 100000, 100, 0, 1);
	mor_pace_note(&pace, 130000, 400, 0, 4);
	assert_true(mor_pace_rate(&pace) == 10.0);
}

/* A day, noted ten times a second: few points, in order, from the first to the last. */
static void test_long_run(void **state)
{
	struct mor_pace pace;
	int64_t day = (int64_t)86400 * 1000;

	(void)state;
	mor_pace_begin(&pace, 0, 0);
	for (int64_t now = 100; now <= day; now += 100)
		mor_pace_note(&pace, now, (uint64_t)now / 100, 0, 3);
	assert_in_range(pace.count, MOR_PACE_POINTS / 4, MOR_PACE_POINTS);
	assert_int_equal(pace.points[0].ms, 0);
	assert_int_equal(pace.points[pace.count - 1].ms, day);
	for (size_t i = 1; i < pace.count; i++) {
		assert_true(pace.points[i].ms > pace.points[i - 1].ms);
		assert_int_equal(pace.points[i].units, pace.points[i].ms / 100);
	}
	assert_true(mor_pace_rate(&pace) == 10.0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_not_known_at_first),
		MOR_TEST(test_left),
		MOR_TEST(test_recent),
		MOR_TEST(test_long_run),
	};

	return mor_run_group("crew/pace", tests);
}
