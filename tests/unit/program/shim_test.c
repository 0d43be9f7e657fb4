/* SPDX-License-Identifier: Apache-2.0 */
/* What is behind the shims of pyenv and its kin, in a small tree of their form. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "leak.h"
#include "program/resolve.h"
#include "tmp.h"

/* As pyenv writes them. */
#define SHIM \
	"#!/usr/bin/env bash\nexport PYENV_ROOT=\"/r\"\nexec \"/r/libexec/pyenv\" exec \"$program\" \"$@\"\n"

static char root[TMP_ROOM];

static const char *in_root(const char *name)
{
	static char path[4][256];
	static unsigned turn;
	char *at = path[turn++ % 4];

	snprintf(at, sizeof(path[0]), "%s/%s", root, name);
	return at;
}

static void put(const char *name, mode_t mode, const char *text)
{
	FILE *file = fopen(in_root(name), "we");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(chmod(in_root(name), mode), 0);
}

static const char *const dirs[] = { "shims",      "versions",      "versions/3.9", "versions/3.9/bin",
				    "versions/4", "versions/4/bin" };
#define DIRS ((int)(sizeof(dirs) / sizeof(dirs[0])))

static int enter(void **state)
{
	tmp_name(root, "shim");
	if (!mkdtemp(root))
		return -1;
	for (int i = 0; i < DIRS; i++)
		if (mkdir(in_root(dirs[i]), 0755) < 0)
			return -1;
	put("shims/tool", 0755, SHIM);
	put("shims/sh", 0755, SHIM);
	put("shims/own", 0755, "#!/bin/sh\n");
	put("versions/3.9/bin/tool", 0755, "#!/bin/sh\n");
	put("versions/4/bin/tool", 0755, "#!/bin/sh\n");
	put("version", 0644, "4.2\n3.9\n");
	return leak_setup(state);
}

static int leave(void **state)
{
	static const char *const files[] = { "shims/tool",          "shims/sh",
					     "shims/own",           "versions/3.9/bin/tool",
					     "versions/4/bin/tool", "version",
					     ".python-version" };

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		remove(in_root(files[i]));
	for (int i = DIRS; i-- > 0;)
		rmdir(in_root(dirs[i]));
	return rmdir(root) < 0 ? -1 : leak_teardown(state);
}

static void is_run(const char *name, bool no_shims, const char *want)
{
	char path[256];
	const char *argv[] = { name, "x", NULL }, *env[] = { path, NULL };
	struct mor_command command = { .argv = argv, .env = env, .cwd = root, .no_shims = no_shims };
	struct mor_exec_failure failure = { 0 };
	char **got = NULL;

	snprintf(path, sizeof(path), "PATH=%s/shims:/usr/bin", root);
	if (mor_program_resolve(&command, &got, &failure) < 0)
		fail_msg("%s", failure.text);
	assert_string_equal(got[0], want);
	assert_string_equal(got[1], "x");
	mor_program_argv_free(got);
}

static void test_default_version(void **state)
{
	(void)state;
	is_run("tool", false, in_root("shims/tool")); /* who is not confined can run it */
	is_run("tool", true, in_root("versions/3.9/bin/tool"));
	is_run(in_root("shims/tool"), true, in_root("versions/3.9/bin/tool"));
	is_run("own", true, in_root("shims/own")); /* no shim, for all its directory's name */
}

static void test_version_of_the_project(void **state)
{
	(void)state;
	put(".python-version", 0644, "4\n");
	is_run("tool", true, in_root("versions/4/bin/tool"));
	assert_int_equal(setenv("PYENV_VERSION", "../versions/4:3.9", 1), 0);
	is_run("tool", true, in_root("versions/3.9/bin/tool"));
	unsetenv("PYENV_VERSION");
}

/* Whatever comes next in PATH. */
static void test_system(void **state)
{
	(void)state;
	put(".python-version", 0644, "system\n");
	is_run("sh", true, "/usr/bin/sh");
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, enter, leave)

int main(void)
{
	static const struct CMUnitTest tests[] = { TEST(test_default_version),
						   TEST(test_version_of_the_project), TEST(test_system) };

	return mor_run_group("program/shim", tests);
}
