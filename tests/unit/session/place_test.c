/* SPDX-License-Identifier: Apache-2.0 */
/* Where sessions are, which names they may have, and who may keep one. */
#include "leak.h"

#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "session/inside.h"
#include "top.h"

static bool is_there(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

static void test_names(void **state)
{
	static const char *const good[] = { "a", "_", "0", "web.1", "A-b_c", "a.sock" };
	static const char *const bad[] = { "",     ".",   "..",  ".a",       "-a",  "a/b",
					   "../a", "a b", "a\n", "\xc3\xa4", "a@b", "a%" };
	char name[MOR_SESSION_NAME_MAX + 2];
	mortise_error err = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		assert_int_equal(mor_session_name_check(good[i], NULL), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(mor_session_name_check(bad[i], &err), MORTISE_EINVAL);
	assert_string_equal(
		err.text,
		"the name of a session has 1 to 64 letters, digits, \".\", \"_\" or \"-\", and begins with a "
		"letter, a digit or \"_\"");
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(mor_session_name_check(name, NULL), MORTISE_EINVAL);
	name[MOR_SESSION_NAME_MAX] = '\0';
	assert_int_equal(mor_session_name_check(name, NULL), 0);
}

static void test_a_session_is_meant(void **state)
{
	(void)state;
	assert_true(mor_session_is_meant("@a"));
	assert_true(mor_session_is_meant("@"));
	assert_false(mor_session_is_meant("a@b"));
	assert_false(mor_session_is_meant(""));
	assert_false(mor_session_is_meant(NULL));
}

/* ---- the directory ---- */

static void test_the_directory_is_ours_alone(void **state)
{
	int fd = mor_session_dir_open(NULL);
	struct stat st;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	assert_true(is_there(at("run/mortise")));
	mor_fd_close(&fd);
}

static void test_a_directory_that_others_can_enter_is_refused(void **state)
{
	mortise_error err = { 0 };

	(void)state;
	assert_int_equal(mkdir(at("run/mortise"), 0700), 0);
	assert_int_equal(chmod(at("run/mortise"), 0710), 0);
	assert_int_equal(mor_session_dir_open(&err), MORTISE_EINVAL);
	assert_string_equal(err.text,
			    "$XDG_RUNTIME_DIR/mortise is the directory of sessions, but others can enter it or "
			    "own it: remove it, or set XDG_RUNTIME_DIR");
	assert_int_equal(rmdir(at("run/mortise")), 0);
	/* nobody leads us elsewhere either */
	assert_int_equal(mkdir(at("elsewhere"), 0700), 0);
	assert_int_equal(symlink(at("elsewhere"), at("run/mortise")), 0);
	assert_true(mor_session_dir_open(&err) < 0);
	assert_int_equal(unlink(at("run/mortise")), 0);
	assert_int_equal(symlink("nowhere", at("run/mortise")), 0);
	assert_true(mor_session_dir_open(&err) < 0);
}

/* ---- seats ---- */

static int open_dir(void)
{
	int fd = mor_session_dir_open(NULL);

	assert_true(fd >= 0);
	return fd;
}

static void test_one_keeper_for_a_name(void **state)
{
	struct mor_session_seat seat, second;
	mortise_error err = { 0 };

	(void)state;
	assert_int_equal(mor_session_seat_take(&seat, open_dir(), "a", &err), 0);
	assert_true(is_there(at("run/mortise/a.sock")) && is_there(at("run/mortise/a.lock")));
	assert_int_equal(mor_session_seat_take(&second, open_dir(), "a", &err), MORTISE_EINPUT);
	assert_string_equal(err.text, "session a runs already: 'mortise session stop a' ends it");
	assert_int_equal(mor_session_seat_take(&second, open_dir(), "b", &err), 0);
	mor_session_seat_leave(&second);
	mor_session_seat_leave(&seat);
	assert_false(is_there(at("run/mortise/a.sock")) || is_there(at("run/mortise/a.lock")));
	assert_int_equal(mor_session_seat_take(&seat, open_dir(), "a", &err), 0);
	mor_session_seat_leave(&seat);
	mor_session_seat_leave(&seat); /* nothing is left to leave */
}

/* Of a keeper that was killed its files are left, but not its lock. */
static void test_a_keeper_that_was_killed(void **state)
{
	struct mor_session_seat seat;
	mortise_error err = { 0 };
	int dir, fd = -1;

	(void)state;
	assert_int_equal(mor_session_seat_take(&seat, open_dir(), "a", &err), 0);
	mor_fd_close(&seat.listener);
	mor_fd_close(&seat.lock);
	dir = seat.dir;
	assert_true(is_there(at("run/mortise/a.sock")));
	assert_int_equal(mor_session_connect(dir, "a", &fd, &err), MORTISE_ENOTFOUND);
	assert_int_equal(mor_session_seat_take(&seat, dir, "a", &err), 0);
	mor_session_seat_leave(&seat);
}

static void test_connect(void **state)
{
	struct mor_session_seat seat;
	mortise_error err = { 0 };
	int dir = open_dir(), fd = -1, other;

	(void)state;
	assert_int_equal(mor_session_connect(dir, "a", &fd, &err), MORTISE_ENOTFOUND);
	assert_string_equal(err.text, "there is no session \"a\": 'mortise session list' shows them, 'mortise "
				      "session start a PLUGIN' starts one");
	assert_int_equal(fd, -1);
	assert_int_equal(mor_session_seat_take(&seat, open_dir(), "a", &err), 0);
	assert_int_equal(mor_session_connect(dir, "a", &fd, &err), 0);
	other = accept4(seat.listener, NULL, NULL, SOCK_CLOEXEC);
	assert_true(other >= 0);
	assert_true(mor_session_peer_is_ours(other));
	mor_fd_close(&other);
	mor_fd_close(&fd);
	mor_fd_close(&dir);
	mor_session_seat_leave(&seat);
	assert_false(mor_session_peer_is_ours(-1));
}

/* The longest name below a directory whose own name is longer than a socket's address. */
static void test_a_long_way(void **state)
{
	char name[MOR_SESSION_NAME_MAX + 1], deep[180];
	struct mor_session_seat seat;
	mortise_error err = { 0 };
	int fd = -1, dir;

	(void)state;
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	snprintf(deep, sizeof(deep), "%s-%s-%.40s", name, name, name);
	assert_int_equal(mkdir(at(deep), 0700), 0);
	setenv("XDG_RUNTIME_DIR", at(deep), 1);
	assert_int_equal(mor_session_seat_take(&seat, open_dir(), name, &err), 0);
	dir = open_dir();
	assert_int_equal(mor_session_connect(dir, name, &fd, &err), 0);
	mor_fd_close(&fd);
	mor_fd_close(&dir);
	mor_session_seat_leave(&seat);
}

static void test_a_lock_that_is_a_link_is_not_followed(void **state)
{
	struct mor_session_seat seat;
	mortise_error err = { 0 };
	int dir = open_dir();

	(void)state;
	assert_int_equal(symlink("../precious", at("run/mortise/a.lock")), 0);
	assert_int_equal(mor_session_seat_take(&seat, dir, "a", &err), MORTISE_ESYSTEM);
	assert_false(is_there(at("run/precious")));
}

static int begin(void **state)
{
	if (top_make("session") < 0 || mkdir(at("run"), 0700) < 0)
		return -1;
	setenv("XDG_RUNTIME_DIR", at("run"), 1);
	return leak_setup(state);
}

static int end(void **state)
{
	return top_drop(state) | leak_teardown(state);
}

#define IN_PLACE(fn) cmocka_unit_test_setup_teardown(fn, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_names),
		MOR_TEST(test_a_session_is_meant),
		IN_PLACE(test_the_directory_is_ours_alone),
		IN_PLACE(test_a_directory_that_others_can_enter_is_refused),
		IN_PLACE(test_one_keeper_for_a_name),
		IN_PLACE(test_a_keeper_that_was_killed),
		IN_PLACE(test_connect),
		IN_PLACE(test_a_long_way),
		IN_PLACE(test_a_lock_that_is_a_link_is_not_followed),
	};

	return mor_run_group("session/place", tests);
}
