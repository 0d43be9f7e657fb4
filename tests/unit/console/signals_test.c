/* SPDX-License-Identifier: Apache-2.0 */
/* Signals as a count. Each test runs in a fork: what it sets belongs to the whole process. */
#include "leak.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "console/signals.h"

#define FORKED(name) \
	static void test_##name(void **state) \
	{ \
		(void)state; \
		leak_in_fork(name); \
	}

static void a_count_and_the_first_one(void)
{
	mor_signals_init();
	assert_int_equal(mor_signals_count(), 0);
	raise(SIGTERM);
	raise(SIGINT);
	assert_int_equal(mor_signals_count(), 2);
	assert_int_equal(mor_signals_exit_code(), 128 + SIGTERM);
	for (int i = 0; i < 200; i++)
		raise(SIGINT);
	assert_int_equal(mor_signals_count(), 100); /* who holds Ctrl-C does not overflow it */
}
FORKED(a_count_and_the_first_one)

static void control_c_can_be_taken(void)
{
	mor_signals_init();
	assert_false(mor_signals_take_interrupt());
	raise(SIGINT);
	raise(SIGINT);
	assert_true(mor_signals_take_interrupt());
	assert_int_equal(mor_signals_count(), 0);
	raise(SIGINT);
	raise(SIGTERM); /* not a Ctrl-C: it stays */
	assert_false(mor_signals_take_interrupt());
	assert_int_equal(mor_signals_count(), 2);
}
FORKED(control_c_can_be_taken)

/* nohup, and jobs in the background of a shell. */
static void what_the_parent_ignores_stays_ignored(void)
{
	signal(SIGHUP, SIG_IGN);
	mor_signals_init();
	raise(SIGHUP);
	assert_int_equal(mor_signals_count(), 0);
	raise(SIGPIPE);
	raise(SIGINT);
	assert_int_equal(mor_signals_count(), 1);
}
FORKED(what_the_parent_ignores_stays_ignored)

/* The parent blocked it only while it started us. */
static void what_is_blocked_is_let_in(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	raise(SIGTERM);
	mor_signals_init();
	assert_int_equal(mor_signals_count(), 1);
}
FORKED(what_is_blocked_is_let_in)

static void hangups_may_mean_read_again(void)
{
	mor_signals_init();
	mor_signals_keep_hangup(true);
	assert_false(mor_signals_take_hangup());
	raise(SIGHUP);
	raise(SIGHUP);
	assert_int_equal(mor_signals_count(), 0);
	assert_true(mor_signals_take_hangup());
	assert_false(mor_signals_take_hangup());
	mor_signals_keep_hangup(false);
	raise(SIGHUP);
	assert_int_equal(mor_signals_count(), 1);
	assert_int_equal(mor_signals_exit_code(), 128 + SIGHUP);
}
FORKED(hangups_may_mean_read_again)

/* The terminal's other end is closed: that is what a terminal does when its window goes. */
static void a_terminal_that_is_gone_is_an_end(void)
{
	int pty = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), end;

	assert_true(pty >= 0 && grantpt(pty) == 0 && unlockpt(pty) == 0);
	end = open(ptsname(pty), O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_int_equal(dup2(end, STDIN_FILENO), STDIN_FILENO);
	mor_signals_init();
	mor_signals_keep_hangup(true);
	assert_false(mor_signals_terminal_gone());
	close(pty);
	raise(SIGHUP);
	assert_false(mor_signals_take_hangup());
	assert_int_equal(mor_signals_count(), 1);
	assert_int_equal(mor_signals_exit_code(), 128 + SIGHUP);
}
FORKED(a_terminal_that_is_gone_is_an_end)

/* A pipe hangs up too, and is no terminal. */
static void a_pipe_that_is_gone_is_no_end(void)
{
	int ends[2];

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	dup2(ends[0], STDIN_FILENO);
	close(ends[1]);
	mor_signals_init();
	assert_false(mor_signals_terminal_gone());
	assert_int_equal(mor_signals_count(), 0);
}
FORKED(a_pipe_that_is_gone_is_no_end)

static void a_wait_ends_by_a_signal(void)
{
	int ends[2];
	struct pollfd fd = { .events = POLLIN };

	mor_signals_init();
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	fd.fd = ends[0];
	assert_int_equal(mor_signals_poll(&fd, 0), 0);
	assert_int_equal(write(ends[1], "x", 1), 1);
	assert_int_equal(mor_signals_poll(&fd, -1), 1);
	raise(SIGINT); /* one that came before the wait, though there is something to read */
	assert_int_equal(mor_signals_poll(&fd, -1), -1);
}
FORKED(a_wait_ends_by_a_signal)

/* How a child ends that runs `fn`. */
static int ends_by(void (*fn)(void))
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		alarm(60);
		fn();
		leak_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? WTERMSIG(status) : -WEXITSTATUS(status);
}

static void end_by_an_earlier_one(void)
{
	mor_signals_init();
	raise(SIGTERM);
	mor_signals_end_at_once();
}

static void end_by_a_later_one(void)
{
	mor_signals_init();
	mor_signals_end_at_once();
	raise(SIGINT);
}

static void stay_where_it_was_ignored(void)
{
	signal(SIGINT, SIG_IGN);
	mor_signals_init();
	mor_signals_end_at_once();
	raise(SIGINT);
}

static void test_a_command_with_nothing_to_stop_ends_at_once(void **state)
{
	(void)state;
	assert_int_equal(ends_by(end_by_an_earlier_one), SIGTERM);
	assert_int_equal(ends_by(end_by_a_later_one), SIGINT);
	assert_int_equal(ends_by(stay_where_it_was_ignored), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_a_count_and_the_first_one),
		MOR_TEST(test_control_c_can_be_taken),
		MOR_TEST(test_what_the_parent_ignores_stays_ignored),
		MOR_TEST(test_what_is_blocked_is_let_in),
		MOR_TEST(test_hangups_may_mean_read_again),
		MOR_TEST(test_a_terminal_that_is_gone_is_an_end),
		MOR_TEST(test_a_pipe_that_is_gone_is_no_end),
		MOR_TEST(test_a_wait_ends_by_a_signal),
		MOR_TEST(test_a_command_with_nothing_to_stop_ends_at_once),
	};

	return mor_run_group("console/signals", tests);
}
