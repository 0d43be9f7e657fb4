/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/fd.h"
#include "proc/inside.h"
#include "run.h"

/* ---- the puppet: this program again, started with what to do ---- */

static int list_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;
	int sum = 0;

	while (dir && (entry = readdir(dir))) {
		int fd = (int)strtol(entry->d_name, NULL, 10);

		if (entry->d_name[0] != '.' && fd != dirfd(dir))
			sum += 1 << fd;
	}
	if (dir)
		closedir(dir);
	printf("%d\n", sum);
	return 0;
}

static int show_state(void)
{
	FILE *status = fopen("/proc/self/status", "re");
	char line[256];

	printf("leads %d\n", getpgrp() == getpid());
	while (status && fgets(line, sizeof(line), status)) {
		if (strncmp(line, "SigBlk", 6) == 0 || strncmp(line, "SigIgn", 6) == 0)
			fputs(line, stdout);
	}
	if (status)
		fclose(status);
	return 0;
}

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

static int puppet(const char *what)
{
	if (strcmp(what, "fds") == 0)
		return list_fds();
	if (strcmp(what, "state") == 0)
		return show_state();
	if (strcmp(what, "escape") == 0)
		return escape();
	return 99;
}

static void start_puppet(struct run *run, const char *what)
{
	static char self[PATH_MAX];
	const char *argv[] = { self, "--puppet", what, NULL };
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	assert_true(n > 0);
	self[n] = '\0';
	run_start(run, &(struct mor_command){ .argv = argv });
}

/* ---- stdio, environment, directory ---- */

static void test_cat(void **state)
{
	const char *argv[] = { "cat", NULL };
	struct run run = { 0 };
	char out[64];

	(void)state;
	run_start(&run, &(struct mor_command){ .argv = argv });
	assert_string_equal(run.journal, ""); /* not from inside */
	run_until(&run, 's');
	assert_true(mor_proc_pid(run.proc) > 1);
	assert_int_equal(mor_fd_write_nosignal(mor_proc_in(run.proc), "hello\n", 6), 6);
	mor_proc_close_in(run.proc);
	assert_int_equal(mor_proc_in(run.proc), -1);
	assert_int_equal(run_read_all(&run, out, sizeof(out)), 6);
	assert_string_equal(out, "hello\n");
	run_until(&run, 'x');
	assert_string_equal(run.journal, "sx");
	assert_string_equal(run.exit.text, "exited with status 0");
	run_end(&run);
}

static void test_our_ends(void **state)
{
	struct run run = { 0 };
	char byte;

	(void)state;
	RUN_SH(&run, "read x");
	assert_int_equal(read(mor_proc_out(run.proc), &byte, 1), -1);
	assert_int_equal(errno, EAGAIN);
	assert_true(fcntl(mor_proc_in(run.proc), F_GETFL) & O_NONBLOCK);
	assert_int_equal(fcntl(mor_proc_in(run.proc), F_GETFD), FD_CLOEXEC);
	assert_int_equal(fcntl(mor_proc_out(run.proc), F_GETFD), FD_CLOEXEC);
	run_end(&run);
}

static void test_env_and_cwd(void **state)
{
	const char *argv[] = { "/bin/sh", "-c", "pwd; echo \"$FOO-$HOME\"", NULL };
	const char *env[] = { "FOO=bar", NULL };
	struct run run = { 0 };
	char out[64];

	(void)state;
	run_start(&run, &(struct mor_command){ .argv = argv, .env = env, .cwd = "/usr" });
	run_read_all(&run, out, sizeof(out));
	assert_string_equal(out, "/usr\nbar-\n");
	run_end(&run);
}

static void test_child_has_three_fds(void **state)
{
	int leaky = fcntl(0, F_DUPFD, 10); /* not close-on-exec, as an embedder may have them */
	struct run run = { 0 };
	char out[64];

	(void)state;
	assert_true(leaky >= 10);
	start_puppet(&run, "fds");
	run_read_all(&run, out, sizeof(out));
	assert_string_equal(out, "7\n");
	close(leaky);
	run_end(&run);
}

static void test_child_signals_and_group(void **state)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN }, pipe_before, hup_before;
	struct run run = { 0 };
	sigset_t some, before;
	char out[256];

	(void)state;
	sigfillset(&some);
	sigprocmask(SIG_BLOCK, &some, &before);
	sigaction(SIGPIPE, &ignore, &pipe_before);
	sigaction(SIGHUP, &ignore, &hup_before);
	start_puppet(&run, "state");
	sigprocmask(SIG_SETMASK, &before, NULL);
	sigaction(SIGPIPE, &pipe_before, NULL);
	sigaction(SIGHUP, &hup_before, NULL);
	run_read_all(&run, out, sizeof(out));
	assert_string_equal(out, "leads 1\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
	run_end(&run);
}

/* Runs `fn` in a fork, so that what it does to the process stays there. Inside, asserts end it with abort(). */
static void in_a_fork(void (*fn)(void))
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		setenv("CMOCKA_TEST_ABORT", "1", 1);
		alarm(60);
		fn();
		leak_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void without_stdio(void)
{
	struct run run = { 0 };
	char out[64];

	for (int closed = 1; closed < 8; closed++) {
		for (int fd = 0; fd < 3; fd++) {
			if (closed & 1 << fd)
				close(fd);
		}
		memset(&run, 0, sizeof(run));
		RUN_SH(&run, "read x; echo \"got $x\"; echo complaint >&2");
		assert_true(mor_proc_in(run.proc) > 2 && mor_proc_out(run.proc) > 2);
		assert_int_equal(mor_fd_write_nosignal(mor_proc_in(run.proc), "it\n", 3), 3);
		run_read_all(&run, out, sizeof(out));
		assert_string_equal(out, "got it\n");
		run_until(&run, 'x');
		assert_string_equal(run.last, "complaint");
		run_end(&run);
	}
}

static void test_lift(void **state)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC), before = fd;

	(void)state;
	assert_int_equal(mor_fd_lift(&fd, 3), 0);
	assert_int_equal(fd, before);
	assert_int_equal(mor_fd_lift(&fd, before + 20), 0);
	assert_true(fd >= before + 20);
	assert_int_equal(fcntl(before, F_GETFD), -1);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	close(fd);
	fd = 1000000;
	assert_int_equal(mor_fd_lift(&fd, 1000001), -EBADF);
}

/* A view is the guardian's business, and there is none; with one it has a size. */
static void test_no_view(void **state)
{
	static char texts[MOR_PROC_VIEW_TEXTS + 1];
	struct run run = { 0 };

	(void)state;
	RUN_SH(&run, "read x");
	run_until(&run, 's');
	assert_int_equal(mor_proc_set_view(run.proc, (struct mor_slice){ texts, sizeof(texts) }),
			 run_direct() ? MORTISE_ECLOSED : MORTISE_EINVAL);
	run_end(&run);
}

static void test_host_without_stdio(void **state)
{
	(void)state;
	in_a_fork(without_stdio);
}

/* The hot path: one wait, one read, one write, and nothing for a time limit that is set and cancelled. */
struct trip {
	struct mor_watch watch;
	struct mor_timer limit;
	int answers;
};

static void on_answer(struct mor_watch *watch, unsigned events)
{
	struct trip *trip = mor_container_of(watch, struct trip, watch);
	char byte;

	assert_true(events & MOR_READABLE);
	assert_int_equal(read(watch->fd, &byte, 1), 1);
	mor_timer_stop(&trip->limit);
	trip->answers++;
}

static void on_limit(struct mor_timer *timer)
{
	(void)timer;
	fail_msg("no answer in ten minutes");
}

static void test_round_trip_costs_one_wait(void **state)
{
	const char *argv[] = { "cat", NULL };
	struct mor_loop_counts before, after;
	struct trip trip = { 0 };
	struct run run = { 0 };

	(void)state;
	run_start(&run, &(struct mor_command){ .argv = argv });
	run_until(&run, 's');
	assert_int_equal(
		mor_watch_start(run.loop, &trip.watch, mor_proc_out(run.proc), MOR_READABLE, on_answer), 0);
	mor_loop_hold(run.loop, true);
	before = mor_loop_counts(run.loop);
	for (int i = 0; i < 1000; i++) {
		assert_int_equal(mor_timer_set(run.loop, &trip.limit, 600000, on_limit), 0);
		assert_int_equal(mor_fd_write_nosignal(mor_proc_in(run.proc), "x", 1), 1);
		assert_int_equal(mor_loop_wait(run.loop, -1), 1);
		assert_int_equal(trip.answers, i + 1);
	}
	after = mor_loop_counts(run.loop);
	assert_int_equal(after.waits - before.waits, 1000);
	assert_int_equal(after.arms - before.arms, 1); /* for the first of the thousand limits */
	assert_int_equal(after.wakes, before.wakes);
	mor_loop_hold(run.loop, false);
	mor_watch_stop(&trip.watch);
	run_end(&run);
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
	start_puppet(&run, "escape");
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
	assert_int_equal(run.exit.how.known, !run_direct()); /* the guardian's record does not need our wait() */
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

/* ---- when resources run out ---- */

static void test_every_allocation_fails(void **state)
{
	const char *argv[] = { "/bin/sh", "-c", "exit 0", NULL };
	struct mor_command command = { .argv = argv };
	struct mor_exec_failure failure;
	struct run run = { 0 };
	int r = -1;

	(void)state;
	assert_int_equal(mor_loop_new(0, &run.loop), 0);
	for (long n = 0; r < 0; n++) {
		assert_true(n < 20);
		failure = (struct mor_exec_failure){ 0 };
		mor_alloc_fail_after(n);
		r = run_try(&run, &command, &failure);
		mor_alloc_fail_after(-1);
		if (r < 0) {
			assert_int_equal(r, MORTISE_ENOMEM);
			assert_string_equal(failure.text, "/bin/sh: out of memory");
			assert_null(run.proc);
		}
	}
	run_until(&run, 'x');
	run_end(&run);
}

/* Descriptors are short by one less each time, until it works: pipes first, the pidfd last. */
static void test_no_descriptors(void **state)
{
	const char *argv[] = { "/bin/sh", "-c", "exit 0", NULL };
	struct mor_command command = { .argv = argv };
	struct mor_exec_failure failure = { 0 };
	struct run run = { 0 };
	struct rlimit limit, low;
	int r = -1, first;

	(void)state;
	assert_int_equal(mor_loop_new(0, &run.loop), 0);
	first = dup(0);
	close(first);
	getrlimit(RLIMIT_NOFILE, &limit);
	for (int spare = 0; r < 0; spare++) {
		assert_true(spare < 20);
		low = (struct rlimit){ (rlim_t)(first + spare), limit.rlim_max };
		setrlimit(RLIMIT_NOFILE, &low);
		r = run_try(&run, &command, &failure);
		setrlimit(RLIMIT_NOFILE, &limit);
		if (r < 0) {
			assert_int_equal(r, MORTISE_ESYSTEM);
			assert_int_equal(failure.os_errno, EMFILE);
			assert_null(run.proc);
		}
	}
	run_until(&run, 'x');
	run_end(&run);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_cat),
		MOR_TEST(test_our_ends),
		MOR_TEST(test_env_and_cwd),
		MOR_TEST(test_child_has_three_fds),
		MOR_TEST(test_child_signals_and_group),
		MOR_TEST(test_lift),
		MOR_TEST(test_no_view),
		MOR_TEST(test_host_without_stdio),
		MOR_TEST(test_round_trip_costs_one_wait),
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
		MOR_TEST(test_free_while_running),
		MOR_TEST(test_free_in_events),
		MOR_TEST(test_no_events_wanted),
		MOR_TEST(test_every_allocation_fails),
		MOR_TEST(test_no_descriptors),
	};

	if (argc == 3 && strcmp(argv[1], "--puppet") == 0)
		return puppet(argv[2]);
	return mor_run_group("proc", tests);
}
