/* SPDX-License-Identifier: Apache-2.0 */
/* The list of trusted paths: what it trusts, and that no lack of memory changes or damages it. What people type
 * and read is in tests/e2e/test_trusted.py. */
#include "leak.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/fd.h"
#include "top.h"
#include "trusted/trusted.h"

#define MOST_ALLOCATIONS 2000

static char list_file[256], plugins[256];

static void put(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
	assert_int_equal(chmod(path, 0600), 0);
}

static int setup(void **state)
{
	char manifest[1600];

	assert_int_equal(top_make("trusted"), 0);
	snprintf(list_file, sizeof(list_file), "%s/plugins.trust", top);
	snprintf(plugins, sizeof(plugins), "%s/plugins", top);
	snprintf(manifest, sizeof(manifest), "%s/words/yams-plugin.json", plugins);
	assert_int_equal(setenv("YAMS_PLUGIN_TRUST_FILE", list_file, 1), 0);
	assert_int_equal(setenv("HOME", top, 1), 0);
	snprintf(manifest, sizeof(manifest), "%s/words", plugins);
	assert_int_equal(mor_dir_make_all(AT_FDCWD, manifest, 0755), 0);
	snprintf(manifest, sizeof(manifest), "%s/words/yams-plugin.json", plugins);
	put(manifest, "{\"name\":\"words\",\"version\":\"1.0.0\"}");
	return leak_setup(state);
}

static int teardown(void **state)
{
	assert_int_equal(top_drop(state), 0);
	return leak_teardown(state);
}

static bool trusts(const char *line, const char *path)
{
	MOR_CLEAN(mor_trusted) struct mor_trusted list = { 0 };

	put(list_file, line);
	assert_int_equal(mor_trusted_read(&list, NULL), 0);
	return mor_trusted_by(&list, path, true);
}

/* Also paths that do not exist: they are compared as they are written. */
static void test_parts(void **state)
{
	(void)state;
	assert_true(trusts("/no/a/b\n", "/no/a/b"));
	assert_true(trusts("/no/a/b\n", "/no/a/b/c/d"));
	assert_true(trusts("/no/a/b/\n", "/no/a/b/c"));
	assert_true(trusts("/no/a/x/../b", "/no/a/b/c"));
	assert_true(trusts("/\n", "/no/a"));
	assert_false(trusts("/no/a/b\n", "/no/a/bc"));
	assert_false(trusts("/no/a/b\n", "/no/a"));
	assert_false(trusts("/no/a/b/..\n#/no/b", "/no/b"));
	assert_false(trusts("no/a\n", "/no/a"));
	assert_false(trusts("", "/no/a"));
	assert_false(trusts("\n\n \t\r\n#\n", "/no/a"));
}

static char *list_text(void)
{
	char *text = NULL;
	size_t len;

	return mor_fd_read_file(list_file, 4096, &text, &len) == 0 ? text : NULL;
}

/* Each allocation fails in turn: the change is made or the file is as it was, and nothing is lost. */
static void change_with_failures(int (*change)(const char *, struct mor_trusted_change *, mortise_error *),
				 const char *before, const char *after)
{
	for (long i = 0; i < MOST_ALLOCATIONS; i++) {
		struct mor_trusted_change done = { 0 };
		char *text;
		int r;

		put(list_file, before);
		mor_alloc_fail_after(i);
		r = change(plugins, &done, NULL);
		mor_alloc_fail_after(-1);
		text = list_text();
		assert_string_equal(text, r == 0 || strcmp(text, before) != 0 ? after : before);
		mor_free(text);
		assert_true(r <= 0);
		if (r == 0)
			assert_string_equal(done.path, plugins);
		mor_trusted_change_fini(&done);
		if (r == 0)
			return;
	}
	fail_msg("it never succeeds");
}

static void test_change_without_memory(void **state)
{
	char with[300];

	(void)state;
	snprintf(with, sizeof(with), "# mine\n/no/a\n%s\n", plugins);
	change_with_failures(mor_trusted_add, "# mine\n/no/a\n", with);
	change_with_failures(mor_trusted_remove, with, "# mine\n/no/a\n");
}

static int scan_once(struct mor_trusted_plugins *ret)
{
	MOR_CLEAN(mor_trusted) struct mor_trusted list = { 0 };
	int r = mor_trusted_read(&list, NULL);

	return r < 0 ? r : mor_trusted_scan(&list, ret, NULL);
}

/* What was found without enough memory is never more than what may run. */
static void test_scan_without_memory(void **state)
{
	char line[400];

	(void)state;
	snprintf(line, sizeof(line), "%s\n", plugins);
	put(list_file, line);
	for (long i = 0; i < MOST_ALLOCATIONS; i++) {
		struct mor_trusted_plugins all = { 0 };
		int r;

		mor_alloc_fail_after(i);
		r = scan_once(&all);
		mor_alloc_fail_after(-1);
		if (r == 0 && all.count) {
			assert_string_equal(all.items[0].name, "words");
			assert_null(all.items[0].why);
		}
		mor_trusted_plugins_fini(&all);
		if (r == 0)
			return;
	}
	fail_msg("it never succeeds");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_parts, setup, teardown),
		cmocka_unit_test_setup_teardown(test_change_without_memory, setup, teardown),
		cmocka_unit_test_setup_teardown(test_scan_without_memory, setup, teardown),
	};

	return cmocka_run_group_tests_name("trusted/file", tests, NULL, NULL);
}
