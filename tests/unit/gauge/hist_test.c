/* SPDX-License-Identifier: Apache-2.0 */
#include "gauge/hist.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "leak.h"

static const double parts[] = { 0, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 1 };
#define PARTS (sizeof(parts) / sizeof(parts[0]))

/* The same numbers in each run. */
static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Nearest rank, by its definition. */
static uint64_t expect_at(const uint64_t *sorted, size_t count, double part)
{
	size_t rank = 1;

	while ((double)rank < part * (double)count)
		rank++;
	return sorted[rank - 1];
}

static void test_empty(void **state)
{
	struct mor_hist *hist = mor_hist_new();

	(void)state;
	assert_non_null(hist);
	assert_int_equal(mor_hist_at(hist, 0.5), 0);
	assert_true(mor_hist_mean(hist) == 0);
	mor_free(hist);
}

/* Values over many powers of ten, in any number: within 0.4 %. */
static void compare_with_sorted(size_t count)
{
	struct mor_hist *hist = mor_hist_new();
	uint64_t *all = calloc(count, sizeof(*all)), seed = 88172645463325252u + count;
	double sum = 0;

	assert_non_null(hist);
	assert_non_null(all);
	for (size_t i = 0; i < count; i++) {
		all[i] = next_random(&seed) >> (20 + next_random(&seed) % 40);
		sum += (double)all[i];
		mor_hist_add(hist, all[i]);
	}
	qsort(all, count, sizeof(*all), by_value);
	assert_int_equal(hist->count, count);
	assert_int_equal(hist->least, all[0]);
	assert_int_equal(hist->largest, all[count - 1]);
	assert_true(hist->sum == sum);
	for (size_t i = 0; i < PARTS; i++) {
		uint64_t want = expect_at(all, count, parts[i]), got = mor_hist_at(hist, parts[i]);
		double off = want > got ? (double)(want - got) : (double)(got - want);

		assert_true(off <= 0.004 * (double)want);
	}
	free(all);
	mor_free(hist);
}

static void test_few_and_many(void **state)
{
	static const size_t counts[] = { 1, 2, 3, 10, 99, 100, 101, 1000, 20000, 300000 };

	(void)state;
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		compare_with_sorted(counts[i]);
}

/* Every bucket's limits: the value before, at and behind each power of two. */
static void test_powers_of_two(void **state)
{
	(void)state;
	for (unsigned shift = 0; shift < 56; shift++) {
		struct mor_hist *hist = mor_hist_new();
		uint64_t value = (uint64_t)1 << shift;

		assert_non_null(hist);
		for (int i = 0; i < 1000; i++) {
			mor_hist_add(hist, value - 1);
			mor_hist_add(hist, value);
			mor_hist_add(hist, value + 1);
		}
		assert_int_equal(mor_hist_at(hist, 0), value - 1);
		assert_true((double)mor_hist_at(hist, 0.5) >= 0.996 * (double)value);
		assert_true((double)mor_hist_at(hist, 0.5) <= 1.004 * (double)value + 0.5);
		mor_free(hist);
	}
}

static void test_huge(void **state)
{
	struct mor_hist *hist = mor_hist_new();

	(void)state;
	assert_non_null(hist);
	mor_hist_add(hist, UINT64_MAX);
	mor_hist_add(hist, 0);
	assert_int_equal(hist->largest, MOR_HIST_MOST);
	assert_int_equal(mor_hist_at(hist, 1), MOR_HIST_MOST);
	mor_free(hist);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_empty),
		MOR_TEST(test_few_and_many),
		MOR_TEST(test_powers_of_two),
		MOR_TEST(test_huge),
	};

	return mor_run_group("hist", tests);
}
