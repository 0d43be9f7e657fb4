/* SPDX-License-Identifier: Apache-2.0 */
#include "base/textlist.h"

#include <mortise/mortise.h>

#include "base/alloc.h"
#include "leak.h"

static void test_sorted(void **state)
{
	struct mor_text_list list = { 0 };

	(void)state;
	mor_text_list_sort(&list);
	assert_false(mor_text_list_has(&list, "a"));
	assert_int_equal(mor_text_list_add_take(&list, mor_strdup("c")), 0);
	assert_int_equal(mor_text_list_add_take(&list, mor_strdup("a")), 0);
	assert_int_equal(mor_text_list_add_take(&list, mor_strdup("b")), 0);
	mor_text_list_sort(&list);
	assert_string_equal(list.item[0], "a");
	assert_string_equal(list.item[2], "c");
	assert_null(list.item[3]);
	assert_true(mor_text_list_has(&list, "b"));
	assert_false(mor_text_list_has(&list, "d"));
	mor_text_list_free_texts(&list);
}

/* The text is taken, also where there is no room for it. */
static void test_no_memory(void **state)
{
	struct mor_text_list list = { 0 };
	char *text = mor_strdup("a");

	(void)state;
	mor_alloc_fail_after(0);
	assert_int_equal(mor_text_list_add_take(&list, text), MORTISE_ENOMEM);
	mor_alloc_fail_after(-1);
	assert_int_equal(mor_text_list_add_take(&list, NULL), MORTISE_ENOMEM);
	assert_int_equal(list.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { MOR_TEST(test_sorted), MOR_TEST(test_no_memory) };

	return mor_run_group("textlist", tests);
}
