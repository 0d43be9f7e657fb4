/* SPDX-License-Identifier: Apache-2.0 */
/* What is wrong is found when it is read, or when more is said. That what was resolved is what runs:
 * tests/unit/door/plugin_test.c. */
#include "resolved/resolved.h"

#include "../manifest/tree.h"

#define RUN "[plugin]\ncommand = [\"./x\", \"one\"]\n"

static void test_what_is_wrong(void **state)
{
	static const char *const bad[] = { "limits.nothing=1", NULL };
	mortise_plugin_options opt = { .path = "p", .set = bad }, path = { .path = "p" };
	struct mor_resolved *resolved = NULL;
	mortise_error err;

	(void)state;
	assert_int_equal(mor_resolved_new(&opt, MOR_RESOLVED_MORE, &resolved, &err), MORTISE_ENOTFOUND);
	put("p/mortise.toml", RUN "dialect = \"yamz\"\n");
	assert_int_equal(mor_resolved_new(&opt, 0, &resolved, &err), MORTISE_EINVAL);
	assert_null(resolved);
	assert_int_equal(mor_resolved_new(&path, MOR_RESOLVED_MORE, &resolved, &err), 0);
	assert_null(resolved->dialect);
	assert_int_equal(mor_resolved_more(resolved, &opt, &err), MORTISE_EINVAL);
	assert_ptr_equal(mor_resolved_ref(resolved), resolved);
	assert_null(mor_resolved_unref(resolved));
	assert_string_equal(resolved->manifest->name, "p");
	mor_resolved_unref(resolved);
}

int main(void)
{
	const struct CMUnitTest tests[] = { TREE_TEST(test_what_is_wrong) };

	return mor_run_group("resolved/resolved", tests);
}
