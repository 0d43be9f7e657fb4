/* SPDX-License-Identifier: Apache-2.0 */
#include "leak.h"

#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"

/* Pieces do not overlap, and each is aligned. */
static void test_pieces(void **state)
{
	MOR_CLEAN(mor_arena) struct mor_arena arena = { 0 };
	unsigned char *pieces[3000];

	(void)state;
	for (size_t i = 0; i < 3000; i++) {
		pieces[i] = mor_arena_take(&arena, i % 40 + 1);
		assert_non_null(pieces[i]);
		assert_int_equal((uintptr_t)pieces[i] % _Alignof(max_align_t), 0);
		memset(pieces[i], (int)(i & 0xff), i % 40 + 1);
	}
	for (size_t i = 0; i < 3000; i++)
		for (size_t k = 0; k < i % 40 + 1; k++)
			assert_int_equal(pieces[i][k], i & 0xff);
	assert_string_equal(mor_arena_text(&arena, MOR_SLICE("text")).ptr, "text");
	assert_non_null(mor_arena_take(&arena, 100000));
	assert_false(arena.full);
}

static void test_limit(void **state)
{
	MOR_CLEAN(mor_arena) struct mor_arena arena = { .limit = 100000 };

	(void)state;
	assert_null(mor_arena_take(&arena, 100001));
	assert_true(arena.full);
	assert_null(mor_arena_array(&arena, SIZE_MAX / 2, 8));
	assert_null(mor_arena_take(&arena, SIZE_MAX));
	assert_non_null(mor_arena_take(&arena, 0));
	assert_non_null(mor_arena_take(&arena, 80000));
}

static void test_no_memory(void **state)
{
	MOR_CLEAN(mor_arena) struct mor_arena arena = { 0 };

	(void)state;
	mor_alloc_fail_after(0);
	assert_null(mor_arena_take(&arena, 1));
	assert_null(mor_arena_text(&arena, MOR_SLICE("x")).ptr);
	mor_alloc_fail_after(-1);
	assert_false(arena.full);
}

int main(void)
{
	const struct CMUnitTest tests[] = { MOR_TEST(test_pieces), MOR_TEST(test_limit),
					    MOR_TEST(test_no_memory) };

	return mor_run_group("base/arena", tests);
}
