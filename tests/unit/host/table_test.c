/* SPDX-License-Identifier: Apache-2.0 */
/* The table of pending calls: look-up stays right while it grows, and while calls leave in any order. */
#include <stdlib.h>

#include "base/alloc.h"
#include "host/call.h"
#include "host/call_table.h"
#include "leak.h"

#define MANY 5000

static mortise_call calls[MANY];

static void fill(struct mor_call_table *table)
{
	for (int i = 0; i < MANY; i++) {
		calls[i].id = i + 1;
		assert_int_equal(mor_call_table_add(table, &calls[i]), 0);
	}
}

static void grows(void **state)
{
	struct mor_call_table table = { 0 };

	(void)state;
	assert_null(mor_call_table_find(&table, 1));
	fill(&table);
	for (int i = 0; i < MANY; i++)
		assert_ptr_equal(mor_call_table_find(&table, i + 1), &calls[i]);
	assert_null(mor_call_table_find(&table, MANY + 1));
	assert_null(mor_call_table_find(&table, 0));
	assert_null(mor_call_table_find(&table, -1));
	mor_call_table_fini(&table);
}

static void leaves_in_any_order(void **state)
{
	struct mor_call_table table = { 0 };

	(void)state;
	fill(&table);
	for (int i = 0; i < MANY; i++) {
		int at = (int)((unsigned)i * 7919u % MANY); /* a prime: each once */

		mor_call_table_remove(&table, &calls[at]);
		assert_null(mor_call_table_find(&table, at + 1));
	}
	assert_int_equal(table.count, 0);
	mor_call_table_fini(&table);
}

/* Ids wrap at 2^31: far apart, they share slots. */
static void shared_slots(void **state)
{
	struct mor_call_table table = { 0 };

	(void)state;
	for (int i = 0; i < 16; i++) {
		calls[i].id = 1 + (int64_t)i * (1 << 20);
		assert_int_equal(mor_call_table_add(&table, &calls[i]), 0);
	}
	mor_call_table_remove(&table, &calls[7]);
	for (int i = 0; i < 16; i++)
		assert_ptr_equal(mor_call_table_find(&table, calls[i].id), i == 7 ? NULL : &calls[i]);
	mor_call_table_fini(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = { MOR_TEST(grows), MOR_TEST(leaves_in_any_order),
					    MOR_TEST(shared_slots) };

	return mor_run_group("host/table", tests);
}
