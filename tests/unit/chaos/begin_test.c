/* SPDX-License-Identifier: Apache-2.0 */
/* Starts that count in one file: each has a seed of its own, and a file of somebody else is not touched. */
#include "leak.h"

#include <string.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "base/outfile.h"
#include "chaos/chaos.h"
#include "top.h"

static int setup(void **state)
{
	assert_int_equal(top_make("chaos"), 0);
	return leak_setup(state);
}

static int teardown(void **state)
{
	return leak_teardown(state) || top_drop(state);
}

static void assert_file(const char *name, const char *want)
{
	MOR_CLEAN_TEXT char *text = NULL;

	assert_int_equal(mor_fd_read_file(at(name), 4096, &text, NULL), 0);
	assert_string_equal(text, want);
}

static void test_starts(void **state)
{
	struct mor_chaos one = { .log = -1 }, two = { .log = -1 }, again = { .log = -1 };

	(void)state;
	assert_int_equal(mor_chaos_begin(&one, 7, at("starts"), NULL, NULL), 0);
	assert_int_equal(mor_chaos_begin(&two, 7, at("starts"), at("log"), NULL), 0);
	mor_fd_close(&two.log);
	assert_file("starts", "2\n");
	assert_file("log", "# seed 7 start 2\n");
	assert_true(one.seed != two.seed);
	assert_int_equal(mor_chaos_begin(&again, 7, NULL, NULL, NULL), 0);
	assert_true(again.seed != one.seed && again.log == -1);
}

static void test_file_of_somebody_else(void **state)
{
	struct mor_chaos chaos = { .log = -1 };
	mortise_error err = { 0 };

	(void)state;
	assert_int_equal(mor_outfile_write(at("mine"), 0600, MOR_SLICE("12 apples\n"), NULL), 0);
	assert_int_equal(mor_chaos_begin(&chaos, 7, at("mine"), at("log"), &err), MORTISE_EINPUT);
	assert_non_null(strstr(err.text, "holds something other than a number of starts"));
	assert_file("mine", "12 apples\n");
	assert_int_equal(chaos.log, -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_starts, setup, teardown),
		cmocka_unit_test_setup_teardown(test_file_of_somebody_else, setup, teardown),
	};

	return mor_run_group("chaos/begin", tests);
}
