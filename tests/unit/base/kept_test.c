/* SPDX-License-Identifier: Apache-2.0 */
#include "leak.h"

#include <string.h>

#include "base/alloc.h"
#include "base/kept.h"

static void test_set(void **state)
{
	struct mor_kept kept = { 0 };

	(void)state;
	assert_false(mor_kept_is_set(&kept));
	assert_string_equal(mor_kept_text(&kept), "");
	mor_kept_set(&kept, "a text", 100);
	assert_true(mor_kept_is_set(&kept));
	assert_string_equal(mor_kept_text(&kept), "a text");
	mor_kept_set(&kept, "a longer text", 8);
	assert_string_equal(mor_kept_text(&kept), "a longer");
	mor_kept_set(&kept, mor_kept_text(&kept) + 2, 100); /* a part of itself */
	assert_string_equal(mor_kept_text(&kept), "longer");
	mor_kept_set(&kept, "", 100);
	assert_false(mor_kept_is_set(&kept));
	mor_kept_set(&kept, "again", 100);
	mor_kept_set(&kept, NULL, 100);
	assert_false(mor_kept_is_set(&kept));
	assert_null(kept.own);
}

/* What is set again and again, as the reason of a healthy plugin is, takes its memory once. */
static void test_in_place(void **state)
{
	struct mor_kept kept = { 0 };
	long before;

	(void)state;
	mor_kept_set(&kept, "answered", 100);
	before = mor_alloc_count();
	mor_kept_set(&kept, "silent", 100);
	mor_kept_set(&kept, "answered", 100);
	assert_int_equal(mor_alloc_count(), before);
	assert_string_equal(mor_kept_text(&kept), "answered");
	mor_kept_fini(&kept);
}

static void test_no_memory(void **state)
{
	struct mor_kept kept = { 0 };

	(void)state;
	mor_kept_set(&kept, "old", 100);
	mor_alloc_fail_after(0);
	mor_kept_set(&kept, "a new one", 100);
	assert_true(mor_kept_is_set(&kept));
	assert_string_equal(mor_kept_text(&kept), MOR_KEPT_LOST);
	mor_alloc_fail_after(-1);
	mor_kept_set(&kept, "a new one", 100);
	assert_string_equal(mor_kept_text(&kept), "a new one");
	mor_kept_fini(&kept);
	assert_false(mor_kept_is_set(&kept));
}

int main(void)
{
	const struct CMUnitTest tests[] = { MOR_TEST(test_set), MOR_TEST(test_in_place),
					    MOR_TEST(test_no_memory) };

	return mor_run_group("base/kept", tests);
}
