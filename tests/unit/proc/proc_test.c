/* SPDX-License-Identifier: Apache-2.0 */
/* What a process is started with, and what lacks when it cannot be. Its end: end_test.c. */
#include <dirent.h>
#include <fcntl.h>
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

static int puppet(const char *what)
{
	if (strcmp(what, "fds") == 0)
		return list_fds();
	if (strcmp(what, "state") == 0)
		return show_state();
	return 99;
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
	run_start_puppet(&run, "fds");
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
	run_start_puppet(&run, "state");
	sigprocmask(SIG_SETMASK, &before, NULL);
	sigaction(SIGPIPE, &pipe_before, NULL);
	sigaction(SIGHUP, &hup_before, NULL);
	run_read_all(&run, out, sizeof(out));
	assert_string_equal(out, "leads 1\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
	run_end(&run);
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

/* A view is the guardian's business, and here it is missing; with one it has a size. */
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
	leak_in_fork(without_stdio);
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
	assert_int_equal(mor_watch_start(run.loop, &trip.watch, mor_proc_out(run.proc), MOR_READABLE,
					 on_answer),
			 0);
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
		MOR_TEST(test_every_allocation_fails),
		MOR_TEST(test_no_descriptors),
	};

	if (argc == 3 && strcmp(argv[1], "--puppet") == 0)
		return puppet(argv[2]);
	return mor_run_group("proc", tests);
}
