/* SPDX-License-Identifier: Apache-2.0 */
/* Directories that are made, and where a user's belong. */
#include "leak.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mortise/mortise.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/fd.h"
#include "base/xdg.h"
#include "tmp.h"

static char top[TMP_ROOM];

static int enter_top(void **state)
{
	tmp_name(top, "dir");
	return mkdtemp(top) && chdir(top) == 0 ? leak_setup(state) : -1;
}

static int leave_top(void **state)
{
	const char *const left[] = { "a/b/c", "a/b", "a", "one", "file", "link" };
	int r = leak_teardown(state);

	for (size_t i = 0; i < sizeof(left) / sizeof(*left); i++)
		(void)remove(left[i]);
	return chdir("/") < 0 || rmdir(top) < 0 ? -1 : r;
}

static mode_t mode_of(const char *path)
{
	struct stat st;

	return stat(path, &st) < 0 ? 0 : st.st_mode & 07777;
}

static void makes_all_that_is_missing(void **state)
{
	char path[256];

	(void)state;
	assert_int_equal(mor_dir_make_all(AT_FDCWD, "a", 0750), 0);
	assert_int_equal(mor_dir_make_all(AT_FDCWD, "a/b/c", 0700), 0);
	assert_int_equal(mode_of("a"), 0750);
	assert_int_equal(mode_of("a/b"), 0700);
	assert_int_equal(mode_of("a/b/c"), 0700);
	snprintf(path, sizeof(path), "%s//a/b/c/", top);
	assert_int_equal(mor_dir_make_all(AT_FDCWD, path, 0700), 0);
	assert_int_equal(mor_dir_make_all(AT_FDCWD, "/", 0700), 0);
}

/* As another user could have it: x for nobody, or nothing for anybody. */
static void its_owner_can_enter_it_under_any_umask(void **state)
{
	int fd;

	(void)state;
	umask(0177);
	assert_int_equal(mor_dir_make_all(AT_FDCWD, "a/b/c", 0700), 0);
	umask(0777);
	fd = mor_dir_make_open(AT_FDCWD, "one", 0755, O_RDONLY, NULL);
	umask(022);
	assert_true(fd >= 0);
	mor_fd_close(&fd);
	assert_int_equal(mode_of("a"), 0700);
	assert_int_equal(mode_of("a/b/c"), 0700);
	assert_int_equal(mode_of("one"), 0700);
}

static void says_why_it_cannot(void **state)
{
	char path[PATH_MAX + 1];
	int fd = open("file", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	(void)state;
	assert_true(fd >= 0);
	mor_fd_close(&fd);
	assert_int_equal(mor_dir_make_all(AT_FDCWD, "file/a/b", 0700), -ENOTDIR);
	assert_int_equal(mor_dir_make_all(AT_FDCWD, "", 0700), -ENOENT);
	memset(path, 'a', PATH_MAX);
	path[PATH_MAX] = '\0';
	assert_int_equal(mor_dir_make_all(AT_FDCWD, path, 0700), -ENAMETOOLONG);
}

static void opens_what_it_made(void **state)
{
	bool made = false;
	int fd = mor_dir_make_open(AT_FDCWD, "one", 0700, O_RDONLY, &made);

	(void)state;
	assert_true(fd >= 0);
	assert_true(made);
	mor_fd_close(&fd);
	fd = mor_dir_make_open(AT_FDCWD, "one", 0700, O_PATH, &made);
	assert_true(fd >= 0);
	assert_false(made);
	mor_fd_close(&fd);
	assert_int_equal(symlink("one", "link"), 0);
	assert_int_equal(mor_dir_make_open(AT_FDCWD, "link", 0700, O_PATH, NULL), -ENOTDIR);
	assert_int_equal(mor_dir_make_open(AT_FDCWD, "none/one", 0700, O_PATH, NULL), -ENOENT);
}

static void expect_path(enum mor_xdg xdg, const char *instead, const char *want)
{
	char *path = NULL;
	int r = mor_xdg_path(xdg, instead, &path, "mortise/%d", 7);

	assert_int_equal(r, want ? 0 : MORTISE_ENOTFOUND);
	if (want)
		assert_string_equal(path, want);
	else
		assert_null(path);
	mor_free(path);
}

static void finds_the_users_places(void **state)
{
	char *path = NULL;

	(void)state;
	setenv("HOME", "/home/u", 1);
	setenv("XDG_STATE_HOME", "/state", 1);
	setenv("XDG_CACHE_HOME", "not/absolute", 1);
	unsetenv("XDG_CONFIG_HOME");
	expect_path(MOR_XDG_STATE, NULL, "/state/mortise/7");
	expect_path(MOR_XDG_CACHE, NULL, "/home/u/.cache/mortise/7");
	expect_path(MOR_XDG_CONFIG, NULL, "/home/u/.config/mortise/7");
	expect_path(MOR_XDG_STATE, "here", "here/mortise/7");
	setenv("HOME", "u", 1);
	expect_path(MOR_XDG_CONFIG, NULL, NULL);
	unsetenv("HOME");
	expect_path(MOR_XDG_CACHE, NULL, NULL);
	mor_alloc_fail_after(0);
	assert_int_equal(mor_xdg_path(MOR_XDG_STATE, NULL, &path, "a"), MORTISE_ENOMEM);
	mor_alloc_fail_after(-1);
	assert_null(path);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, enter_top, leave_top)

int main(void)
{
	const struct CMUnitTest tests[] = { CASE(makes_all_that_is_missing),
					    CASE(its_owner_can_enter_it_under_any_umask),
					    CASE(says_why_it_cannot), CASE(opens_what_it_made),
					    CASE(finds_the_users_places) };

	umask(022);
	return mor_run_group("base/dir", tests);
}
