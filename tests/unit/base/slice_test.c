/* SPDX-License-Identifier: Apache-2.0 */
#include "base/slice.h"

#include "leak.h"

static void expect_cut(struct mor_slice *rest, const char *part, const char *left)
{
	assert_true(mor_slice_is(mor_slice_cut(rest, ','), part));
	assert_true(mor_slice_is(*rest, left));
}

static void test_cut(void **state)
{
	struct mor_slice rest = MOR_SLICE("one,,two,three");

	(void)state;
	expect_cut(&rest, "one", ",two,three");
	expect_cut(&rest, "", "two,three");
	expect_cut(&rest, "two", "three");
	expect_cut(&rest, "three", "");
	expect_cut(&rest, "", "");
	rest = MOR_SLICE("last,");
	expect_cut(&rest, "last", "");
}

static void test_cut_nothing(void **state)
{
	struct mor_slice rest = { 0 };

	(void)state;
	assert_null(mor_slice_cut(&rest, ',').ptr);
	assert_null(rest.ptr);
}

int main(void)
{
	const struct CMUnitTest tests[] = { MOR_TEST(test_cut), MOR_TEST(test_cut_nothing) };

	return mor_run_group("slice", tests);
}
