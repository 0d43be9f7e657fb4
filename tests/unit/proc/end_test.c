/* SPDX-License-Identifier: Apache-2.0 */
/* Ends of processes: by themselves, by orders, with what they leave behind, and while they are freed. */
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>

#include "base/fd.h"
#include "run.h"

/* ---- the puppet: this program again ---- */

/* Leaves a descendant in a session of its own that holds all three pipes until stdin ends. */
static int escape(void)
{
	char byte;

	if (fork() == 0) {
		setsid();
		while (read(0, &byte, 1) > 0)
			;
		_exit(0);
	}
	if (write(2, "unfinished", 10) != 10)
		return 1;
	return 0;
}

/* ---- the end ---- */

static void test_exit_is_after_started(void **state)
{
	struct run run = { 0 };
	struct pollfd pfd = { .events = POLLIN };

	(void)state;
	RUN_SH(&run, "exit 5");
	/* Dispatch comes so late that start and exit are seen in one turn. */
	pfd.fd = mor_proc_out(run.proc);
	assert_int_equal(poll(&pfd, 1, 60000), 1);
	run_until(&run, 'x');
	assert_string_equal(run.journal, "sx");
	assert_string_equal(run.exit.text, "exited with status 5");
	run_end(&run);
}

static void test_killed_by_signal(void **state)
{
	struct run run = { 0 };

	(void)state;
	RUN_SH(&run, "kill -USR1 $$");
	run_until(&run, 'x');
	assert_string_equal(run.exit.text, "killed by SIGUSR1");
	run_end(&run);
}

static void test_stdout_is_readable_after_exit(void **state)
{
	struct run run = { 0 };
	char out[64];

	(void)state;
	RUN_SH(&run, "echo the answer; exit 1");
	run_until(&run, 'x');
	run_read_all(&run, out, sizeof(out));
	assert_string_equal(out, "the answer\n");
	run_end(&run);
}

static void test_grandchild_in_group_dies(void **state)
{
	struct run run = { 0 };
	char out[64];

	(void)state;
	RUN_SH(&run, "sleep 1000 & echo done");
	run_until(&run, 'x');
	run_read_all(&run, out, sizeof(out)); /* EOF: the sleeper, which held stdout, is dead */
	assert_string_equal(out, "done\n");
	run_end(&run);
}

static void test_escaped_grandchild_delays_nothing(void **state)
{
	struct run run = { 0 };
	char out[64];

	(void)state;
	run_start_puppet(&run, "escape");
	run_until(&run, 'x');
	assert_string_equal(run.journal, "sex");
	assert_string_equal(run.last, "unfinished");
	if (run_direct()) {
		assert_int_equal(read(mor_proc_out(run.proc), out, sizeof(out)), -1);
		assert_int_equal(errno, EAGAIN);
		mor_proc_close_in(run.proc);
	} /* guarded, it is dead by now: the pipe has ended */
	assert_int_equal(run_read_all(&run, out, sizeof(out)), 0);
	run_end(&run);
}

static void test_order_term(void **state)
{
	struct run run = { 0 };

	(void)state;
	RUN_SH(&run, "sleep 1000");
	mor_proc_order(run.proc, MOR_ORDER_TERM);
	run_until(&run, 'x');
	assert_string_equal(run.exit.text, "killed by SIGTERM");
	mor_proc_order(run.proc, MOR_ORDER_KILL); /* too late: nobody is hit */
	run_end(&run);
}

/* 'T' where it is stopped. */
static char state_of(int pid)
{
	char path[64], line[256] = "", *behind;
	FILE *stat;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	stat = fopen(path, "re");
	assert_non_null(stat);
	assert_non_null(fgets(line, sizeof(line), stat));
	fclose(stat);
	behind = strrchr(line, ')');
	assert_non_null(behind);
	return behind[2];
}

/* The child says that it is about to stop, and the kernel that it has. */
static void wait_stopped(struct run *run)
{
	run_until(run, 's');
	while (state_of(mor_proc_pid(run->proc)) != 'T')
		sched_yield();
}

static void test_orders_reach_a_stopped_child(void **state)
{
	static const struct {
		enum mor_order order;
		const char *text;
	} table[] = { { MOR_ORDER_KILL, "killed by SIGKILL" }, { MOR_ORDER_TERM, "killed by SIGTERM" } };

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct run run = { 0 };

		RUN_SH(&run, "kill -STOP $$");
		wait_stopped(&run);
		mor_proc_order(run.proc, table[i].order);
		run_until(&run, 'x');
		assert_string_equal(run.exit.text, table[i].text);
		run_end(&run);
	}
}

static void test_sigchld_ignored(void **state)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN }, before;
	struct run run = { 0 }, other = { 0 };

	(void)state;
	sigaction(SIGCHLD, &ignore, &before);
	RUN_SH(&run, "read x; exit 4");
	run_until(&run, 's');
	mor_proc_close_in(run.proc);
	run_until(&run, 'x');
	assert_string_equal(run.journal, "sx");
	/* the guardian's record does not need our wait() */
	assert_int_equal(run.exit.how.known, !run_direct());
	assert_string_equal(run.exit.text, run_direct() ? "ended, status unknown" : "exited with status 4");
	run_end(&run);
	RUN_SH(&other, "read x");
	run_end(&other); /* kills and waits; ECHILD is fine */
	sigaction(SIGCHLD, &before, NULL);
}

static void test_write_to_the_dead(void **state)
{
	struct run run = { 0 };

	(void)state;
	RUN_SH(&run, "exit 0");
	run_until(&run, 'x');
	/* Dispositions are default here: SIGPIPE would end this test. */
	assert_int_equal(mor_fd_write_nosignal(mor_proc_in(run.proc), "x", 1), -EPIPE);
	run_end(&run);
}

static void test_explained_exit(void **state)
{
	struct run run = { 0 };
	char why[128];

	(void)state;
	RUN_SH(&run,
	       "echo './x: error while loading shared libraries: libfoo.so.1: cannot open shared object file: "
	       "No such file or directory' >&2; exit 127");
	run_until(&run, 'x');
	assert_true(mor_proc_explain_exit(run.proc, &run.exit, why, sizeof(why)));
	assert_string_equal(why, "the shared library libfoo.so.1 is missing or unusable");
	run.exit.how.status = 2;
	assert_false(mor_proc_explain_exit(run.proc, &run.exit, why, sizeof(why)));
	run_end(&run);
}

/* The end is known before anybody has reported it. */
static void test_over_before_it_is_told(void **state)
{
	struct pollfd end = { .events = POLLIN };
	struct run run = { 0 };

	(void)state;
	RUN_SH(&run, "read x");
	assert_false(mor_proc_is_over(run.proc));
	run_until(&run, 's');
	assert_false(mor_proc_is_over(run.proc));
	end.fd = (int)syscall(SYS_pidfd_open, mor_proc_pid(run.proc), 0);
	assert_true(end.fd >= 0);
	assert_int_equal(kill(mor_proc_pid(run.proc), SIGKILL), 0);
	assert_int_equal(poll(&end, 1, 60000), 1);
	close(end.fd);
	assert_true(mor_proc_is_over(run.proc));
	assert_string_equal(run.journal, "s");
	run_until(&run, 'x');
	assert_true(mor_proc_is_over(run.proc));
	run_end(&run);
}

/* ---- freeing ---- */

static void test_free_while_running(void **state)
{
	struct run run = { 0 };

	(void)state;
	RUN_SH(&run, "sleep 1000 & trap '' TERM; sleep 1000");
	run.proc = mor_proc_free(run.proc);
	assert_string_equal(run.journal, "");
	assert_int_equal(mor_loop_dispatch(run.loop), 0);
	assert_string_equal(run.journal, "");
	run_end(&run);
}

static void test_free_in_events(void **state)
{
	static const char *const journals[] = { "s", "se", "sex" };

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct run run = { .free_at = journals[i][i] };

		RUN_SH(&run, "echo oh >&2; exit 1");
		run_until(&run, run.free_at);
		assert_null(run.proc);
		assert_string_equal(run.journal, journals[i]);
		run_end(&run);
	}
}

static void test_no_events_wanted(void **state)
{
	const char *argv[] = { "/bin/sh", "-c", "echo oh >&2", NULL };
	struct mor_command command = { .argv = argv };
	struct mor_proc_events none = { 0 };
	struct run run = { 0 };
	char out[8];

	(void)state;
	assert_int_equal(mor_loop_new(0, &run.loop), 0);
	command.direct = run_direct();
	assert_int_equal(mor_proc_start(run.loop, &command, &none, NULL, &run.proc, NULL), 0);
	run_read_all(&run, out, sizeof(out));
	while (mor_proc_stderr_bytes(run.proc) == 0)
		assert_true(mor_loop_wait(run.loop, 60000) >= 0);
	run_end(&run);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_exit_is_after_started),
		MOR_TEST(test_killed_by_signal),
		MOR_TEST(test_stdout_is_readable_after_exit),
		MOR_TEST(test_grandchild_in_group_dies),
		MOR_TEST(test_escaped_grandchild_delays_nothing),
		MOR_TEST(test_order_term),
		MOR_TEST(test_orders_reach_a_stopped_child),
		MOR_TEST(test_sigchld_ignored),
		MOR_TEST(test_write_to_the_dead),
		MOR_TEST(test_explained_exit),
		MOR_TEST(test_over_before_it_is_told),
		MOR_TEST(test_free_while_running),
		MOR_TEST(test_free_in_events),
		MOR_TEST(test_no_events_wanted),
	};

	if (argc == 3 && strcmp(argv[1], "--puppet") == 0)
		return escape();
	return mor_run_group("proc/end", tests);
}
