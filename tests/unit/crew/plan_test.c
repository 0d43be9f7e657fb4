/* SPDX-License-Identifier: Apache-2.0 */
/* How units become batches: what was done is found again, whatever was learned since. */
#include "leak.h"

#include <string.h>

#include "crew/plan.h"

#define UNITS 3000

/* A store: which batches are done. And units that take their time. */
struct world {
	bool done[UNITS][MOR_CREW_PLAN_MOST + 1];
	unsigned work[UNITS]; /* how often it was done */
	unsigned looks;
	uint32_t unit_ms;
	uint64_t bytes; /* of each unit */
	uint64_t fails; /* this unit fails: its batch is never found */
};
static struct world world;

static bool found(uint64_t first, uint32_t count, void *arg)
{
	(void)arg;
	assert_true(count > 0 && count <= MOR_CREW_PLAN_MOST && first + count <= UNITS);
	world.looks++;
	return world.done[first][count];
}

static uint64_t weigh(uint64_t unit, void *arg)
{
	(void)arg;
	return unit == 100 ? 1000000 : world.bytes;
}

static struct mor_crew_plan make_plan(uint32_t fixed)
{
	return (struct mor_crew_plan){
		.units = UNITS, .fixed = fixed, .most = 512, .found = found, .weigh = weigh
	};
}

/* Returns how many batches were not found. */
static unsigned run_all(struct mor_crew_plan *plan, uint64_t from, uint64_t to)
{
	unsigned made = 0;

	for (uint64_t first = mor_crew_plan_begin(plan, from), count; first < to; first += count) {
		count = mor_crew_plan_batch(plan, first);
		assert_in_range(count, 1, plan->fixed ? plan->fixed : 512);
		if (world.done[first][count])
			continue;
		made++;
		for (uint64_t i = 0; i < count; i++)
			world.work[first + i]++;
		world.done[first][count] = world.fails < first || world.fails >= first + count;
		mor_crew_plan_learn(plan, (uint32_t)count, (uint32_t)count * world.unit_ms);
	}
	return made;
}

static int clear_world(void **state)
{
	(void)state;
	memset(&world, 0, sizeof(world));
	world.unit_ms = 50;
	world.fails = UNITS;
	return 0;
}

static void test_learns_the_size(void **state)
{
	static const struct {
		uint32_t unit_ms, size;
	} rows[] = {
		{ 50, 64 }, { 1, 512 }, { 0, 512 }, { 500, 32 }, { 3000, 4 }, { 60000, 1 }, { 4000000, 1 }
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct mor_crew_plan plan = make_plan(0);

		assert_int_equal(mor_crew_plan_batch(&plan, 0), 4); /* nothing is known */
		mor_crew_plan_learn(&plan, 64, 64 * rows[i].unit_ms);
		assert_int_equal(mor_crew_plan_batch(&plan, 1024), rows[i].size);
	}
}

/* As long as nothing is known: they grow while it is too early to know, and not if it takes long. */
static void test_the_beginning(void **state)
{
	static const uint32_t sizes[] = { 4, 4, 4, 4, 8, 8, 16, 16 };
	struct mor_crew_plan plan = make_plan(0);
	uint64_t first = mor_crew_plan_begin(&plan, 512);

	(void)state;
	assert_int_equal(first, 512);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		assert_int_equal(mor_crew_plan_batch(&plan, first), sizes[i]);
		first += sizes[i];
	}
	plan.slow = true;
	assert_int_equal(mor_crew_plan_batch(&plan, first), 4);
}

/* What is left is shared out; but batches of less than a second are not worth it. */
static void test_the_end(void **state)
{
	struct mor_crew_plan plan = make_plan(0);

	(void)state;
	mor_crew_plan_learn(&plan, 10, 10000);
	assert_int_equal(mor_crew_plan_batch(&plan, 0), 16);
	assert_int_equal(mor_crew_plan_batch(&plan, 2944), 2);
	assert_int_equal(mor_crew_plan_batch(&plan, 2992), 1);
	plan = make_plan(0);
	mor_crew_plan_learn(&plan, 10, 100);
	assert_int_equal(mor_crew_plan_batch(&plan, 2944), 56); /* cut at the end */
}

static void test_every_unit_once_and_a_second_run_does_nothing(void **state)
{
	struct mor_crew_plan plan = make_plan(0);

	(void)state;
	assert_true(run_all(&plan, 0, UNITS) > 16);
	for (size_t i = 0; i < UNITS; i++)
		assert_int_equal(world.work[i], 1);
	for (uint32_t ms = 0; ms < 100000; ms = ms * 10 + 1) {
		plan = make_plan(0);
		mor_crew_plan_learn(&plan, 1, ms);
		assert_int_equal(run_all(&plan, 0, UNITS), 0);
	}
}

/* Units that became slower or faster between two halves of a run, and an owner that comes back. */
static void test_going_on(void **state)
{
	struct mor_crew_plan plan = make_plan(0);

	(void)state;
	run_all(&plan, 0, 1000);
	world.unit_ms = 7000;
	plan = make_plan(0);
	assert_in_range(mor_crew_plan_begin(&plan, 777), 700, 777); /* in the middle of a batch that is done */
	run_all(&plan, 777, UNITS);
	for (size_t i = 0; i < UNITS; i++)
		assert_int_equal(world.work[i], 1);
	plan = make_plan(0);
	clear_world(NULL);
	assert_int_equal(mor_crew_plan_begin(&plan, 777), 777);
}

/* Only the batch with the failure is done again: never more, whatever the size would be now. */
static void test_a_failure_does_not_repeat_its_neighbours(void **state)
{
	struct mor_crew_plan plan = make_plan(0);
	unsigned again = 0;

	(void)state;
	world.fails = 5; /* in the small batches of the beginning */
	run_all(&plan, 0, UNITS);
	world.fails = UNITS;
	plan = make_plan(0);
	plan.hit = true;
	mor_crew_plan_learn(&plan, 1000, 1000);
	assert_int_equal(run_all(&plan, 0, UNITS), 1);
	for (size_t i = 0; i < UNITS; i++)
		again += world.work[i] - 1;
	assert_int_equal(again, 4);
}

/* A first run looks about as often as it has batches, not once for each unit. */
static void test_few_looks(void **state)
{
	struct mor_crew_plan plan = make_plan(0);
	unsigned made = run_all(&plan, 0, UNITS);

	(void)state;
	assert_true(world.looks < made * 14);
}

static void test_weight(void **state)
{
	struct mor_crew_plan plan = make_plan(0);

	(void)state;
	world.bytes = 1000;
	plan.weight = 16000;
	mor_crew_plan_learn(&plan, 1000, 1000);
	assert_int_equal(mor_crew_plan_batch(&plan, 64), 16);
	assert_int_equal(mor_crew_plan_batch(&plan, 96), 4);
	assert_int_equal(mor_crew_plan_batch(&plan, 100), 1); /* alone, although it is too heavy */
}

static void test_fixed(void **state)
{
	struct mor_crew_plan plan = make_plan(7);

	(void)state;
	assert_int_equal(mor_crew_plan_begin(&plan, 20), 14);
	assert_int_equal(mor_crew_plan_batch(&plan, 14), 7);
	assert_int_equal(mor_crew_plan_batch(&plan, 2996), 4);
	assert_int_equal(world.looks, 0);
}

static void test_split(void **state)
{
	static const uint32_t rows[][2] = { { 2, 1 }, { 3, 2 }, { 4, 2 },     { 7, 4 },
					    { 8, 4 }, { 9, 8 }, { 1024, 512 } };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_int_equal(mor_crew_plan_split(rows[i][0]), rows[i][1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_learns_the_size, clear_world),
		cmocka_unit_test_setup(test_the_beginning, clear_world),
		cmocka_unit_test_setup(test_the_end, clear_world),
		cmocka_unit_test_setup(test_every_unit_once_and_a_second_run_does_nothing, clear_world),
		cmocka_unit_test_setup(test_going_on, clear_world),
		cmocka_unit_test_setup(test_a_failure_does_not_repeat_its_neighbours, clear_world),
		cmocka_unit_test_setup(test_few_looks, clear_world),
		cmocka_unit_test_setup(test_weight, clear_world),
		cmocka_unit_test_setup(test_fixed, clear_world),
		cmocka_unit_test_setup(test_split, clear_world),
	};

	return mor_run_group("crew/plan", tests);
}
