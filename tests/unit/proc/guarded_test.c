/* SPDX-License-Identifier: Apache-2.0 */
/* What only the guarded back end promises. */
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/fd.h"
#include "policy/plan.h"
#include "policy/policy.h"
#include "program/helper.h"
#include "run.h"
#include "tmp.h"

/* ---- looking ---- */

/* A line of /proc/PID/status as a number; -1: no such process or line. */
static long status_number(int pid, const char *name, int base)
{
	char path[64], line[256];
	size_t len = strlen(name);
	long found = -1;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "re");
	while (file && found < 0 && fgets(line, sizeof(line), file)) {
		if (strncmp(line, name, len) == 0 && line[len] == ':')
			found = strtol(line + len + 1, NULL, base);
	}
	if (file)
		fclose(file);
	return found;
}

static int guardian_of(const struct run *run)
{
	int pid = (int)status_number(mor_proc_pid(run->proc), "PPid", 10);

	assert_true(pid > 1);
	return pid;
}

static int count_fds(void)
{
	int count = 0;

	for (int fd = 0; fd < 256; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

static void signal_one(int pid, int number)
{
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);

	assert_true(pidfd >= 0);
	assert_int_equal(syscall(SYS_pidfd_send_signal, pidfd, number, NULL, 0), 0);
	close(pidfd);
}

static void start_with(struct run *run, const struct mor_policy *policy, const char *script)
{
	const char *argv[] = { "/bin/sh", "-c", script, NULL };

	run_start(run, &(struct mor_command){ .argv = argv, .policy = policy });
}

/* ---- the guardian ---- */

static void test_level_and_rung(void **state)
{
	struct run run = { 0 };

	(void)state;
	RUN_SH(&run, "read x");
	assert_int_equal(mor_proc_pid(run.proc), 0);
	run_until(&run, 's');
	assert_string_equal(mor_proc_level(run.proc), "guarded");
	assert_string_equal(mor_proc_rung(run.proc), "subreaper");
	assert_int_equal(status_number(mor_proc_pid(run.proc), "NoNewPrivs", 10), 1);
	run_end(&run);
}

static void test_five_descriptors(void **state)
{
	struct run run = { 0 };
	int before;

	(void)state;
	assert_int_equal(mor_loop_new(0, &run.loop), 0);
	before = count_fds();
	RUN_SH(&run, "read x");
	assert_int_equal(count_fds() - before, 5);
	run_end(&run);
}

static void test_little_memory(void **state)
{
	struct run run = { 0 };
	char path[64], line[256];
	long kib = -1;
	FILE *file;

	(void)state;
#ifdef __SANITIZE_ADDRESS__
	leak_skip("the shadow of a sanitizer is megabytes");
#endif
	RUN_SH(&run, "read x");
	run_until(&run, 's');
	snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", guardian_of(&run));
	file = fopen(path, "re");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file))
		sscanf(line, "Anonymous: %ld", &kib); /* the rest is the file, which all guardians share */
	fclose(file);
	assert_in_range(kib, 1, 300);
	run_end(&run);
}

static void test_guardian_killed(void **state)
{
	struct run run = { 0 };
	char out[8];

	(void)state;
	RUN_SH(&run, "trap '' TERM; exec sleep 1000");
	run_until(&run, 's');
	signal_one(guardian_of(&run), SIGKILL);
	run_until(&run, 'x');
	assert_true(run.exit.lost);
	assert_false(run.exit.how.known);
	assert_string_equal(run.exit.text, "guardian lost (killed by SIGKILL), and the plugin with it");
	assert_int_equal(run_read_all(&run, out, sizeof(out)), 0); /* EOF: the plugin is dead */
	run_end(&run);
}

static void test_guardian_defies_signals(void **state)
{
	struct run run = { 0 };

	(void)state;
	RUN_SH(&run, "read x; exit 6");
	run_until(&run, 's');
	for (int number = SIGHUP; number <= SIGRTMAX; number++) {
		if (number != SIGKILL && number != SIGSTOP && number != SIGCONT)
			signal_one(guardian_of(&run), number);
	}
	mor_proc_close_in(run.proc);
	run_until(&run, 'x');
	assert_string_equal(run.exit.text, "exited with status 6");
	run_end(&run);
}

static void test_stopped_guardian_is_freed(void **state)
{
	struct run run = { 0 };

	(void)state;
	RUN_SH(&run, "read x");
	run_until(&run, 's');
	signal_one(guardian_of(&run), SIGSTOP);
	run_end(&run);
}

/* Orphans are reaped as they end, not hoarded until the plugin does. */
static void test_orphans_are_reaped(void **state)
{
	struct run run = { 0 };
	char path[64], text[256];
	int fd;
	ssize_t n;

	(void)state;
	RUN_SH(&run, "for i in 1 2 3 4 5 6 7 8 9; do (true & true); done; echo made >&2; read x");
	run_until(&run, 'e');
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", guardian_of(&run), guardian_of(&run));
	do {
		fd = open(path, O_RDONLY | O_CLOEXEC);
		n = read(fd, text, sizeof(text) - 1);
		assert_true(n > 0);
		text[n] = '\0';
		close(fd);
	} while (strchr(text, ' ') != text + n - 1); /* one child, and a blank behind it */
	assert_int_equal(strtol(text, NULL, 10), mor_proc_pid(run.proc));
	run_end(&run);
}

static void test_large_plan(void **state)
{
	static char big[100 * 1024];
	const char *argv[] = { "/bin/sh", "-c", "echo ${#BIG}", NULL }, *env[] = { big, NULL };
	struct run run = { 0 };
	char out[16];

	(void)state;
	memset(big, 'x', sizeof(big) - 1);
	memcpy(big, "BIG=", 4);
	run_start(&run, &(struct mor_command){ .argv = argv, .env = env });
	run_read_all(&run, out, sizeof(out));
	assert_string_equal(out, "102395\n");
	run_end(&run);
}

/* ---- limits ---- */

static void test_limits(void **state)
{
	struct mor_policy policy = { .limits = { .open_files = 33 } };
	struct run run = { 0 };
	char out[16];

	(void)state;
	start_with(&run, &policy, "ulimit -n");
	run_read_all(&run, out, sizeof(out));
	assert_string_equal(out, "33\n");
	run_end(&run);
}

static void test_wall_time(void **state)
{
	struct mor_policy policy = { .limits = { .wall_ms = 50 } };
	struct run run = { 0 };

	(void)state;
	start_with(&run, &policy, "sleep 1000");
	run_until(&run, 'x');
	assert_string_equal(run.exit.text, "killed: its wall time was over");
	run_end(&run);
}

/* ---- a PID namespace ---- */

static const struct mor_policy pidns = { .pidns = true };

/* Root needs no user namespace for one. Tried by a child, which ends with it. */
static void skip_without_pidns(void)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0)
		_exit(unshare(CLONE_NEWPID | (geteuid() ? CLONE_NEWUSER : 0)) < 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (status != 0)
		leak_skip("no PID namespace can be made here");
}

static void test_pidns(void **state)
{
	static const struct {
		const char *script, *text;
	} table[] = {
		{ "exit 3", "exited with status 3" },
		{ "kill -USR1 $$", "killed by SIGUSR1" },
		{ "test $$ = 2 && exit 7", "exited with status 7" },
		{ "setsid sleep 1000 & exit 0", "exited with status 0" },
	};

	(void)state;
	skip_without_pidns();
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct run run = { 0 };

		start_with(&run, &pidns, table[i].script);
		run_until(&run, 'x');
		assert_string_equal(run.journal, "sx");
		assert_string_equal(run.exit.text, table[i].text);
		assert_string_equal(mor_proc_rung(run.proc), "pidns");
		run_end(&run);
	}
}

static void test_pidns_orders(void **state)
{
	static const struct {
		enum mor_order order;
		const char *text;
	} table[] = { { MOR_ORDER_KILL, "killed by SIGKILL" }, { MOR_ORDER_TERM, "killed by SIGTERM" } };

	(void)state;
	skip_without_pidns();
	for (int i = 0; i < 2; i++) {
		struct run run = { 0 };

		start_with(&run, &pidns, "kill -STOP $$");
		run_until(&run, 's');
		assert_int_not_equal(guardian_of(&run), getpid());
		mor_proc_order(run.proc, table[i].order);
		run_until(&run, 'x');
		assert_string_equal(run.exit.text, table[i].text);
		run_end(&run);
	}
}

static void test_pidns_cannot_start(void **state)
{
	const char *argv[] = { "/dev/../etc/ld.so.cache", NULL };
	char path[TMP_ROOM], want[256];
	struct run run = { 0 };
	int fd;

	(void)state;
	skip_without_pidns();
	fd = mkstemp(tmp_name(path, "guarded"));
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "no program\n", 11), 11);
	assert_int_equal(fchmod(fd, 0755), 0);
	close(fd);
	argv[0] = path;
	run_start(&run, &(struct mor_command){ .argv = argv, .policy = &pidns });
	run_until(&run, 'f');
	unlink(path);
	snprintf(want, sizeof(want),
		 "%s: is no program, and its first line names no interpreter (#!/usr/bin/env ...)", path);
	assert_string_equal(run.failure.text, want);
	assert_int_equal(run.failure.code, MORTISE_EEXEC);
	run_end(&run);
}

/* ---- the helper itself ---- */

static void test_no_helper(void **state)
{
	const char *argv[] = { "/bin/true", NULL };
	struct mor_command command = { .argv = argv, .helper = "/nonexistent/mortise-jail" };
	struct mor_exec_failure failure = { 0 };
	struct run run = { 0 };

	(void)state;
	assert_int_equal(mor_loop_new(0, &run.loop), 0);
	assert_int_equal(run_try(&run, &command, &failure), MORTISE_EJAIL);
	assert_string_equal(
		failure.text,
		"/nonexistent/mortise-jail: the helper that guards plugins cannot be run: No such file or "
		"directory");
	run_end(&run);
}

static void test_helper_is_no_helper(void **state)
{
	const char *argv[] = { "/bin/true", NULL };
	struct mor_command command = { .argv = argv, .helper = "/bin/true" };
	struct run run = { 0 };

	(void)state;
	run_start(&run, &command);
	run_until(&run, 'f');
	assert_int_equal(run.failure.code, MORTISE_EJAIL);
	assert_string_equal(run.failure.text, "/bin/true: mortise-jail exited with status 0 before it had "
					      "started the plugin");
	run_end(&run);
}

/* Gives the helper these bytes as a plan; its only record. */
static void ask_helper(const struct mor_buf *plan, struct mor_record *record)
{
	posix_spawn_file_actions_t actions;
	int memfd = mor_plan_memfd(plan), ends[2], status;
	char fault[MOR_PROGRAM_FAULT];
	const char *helper = mor_helper_find(NULL, fault);
	char *argv[] = { (char *)(uintptr_t)helper, NULL };
	pid_t pid;

	memset(record, 0, sizeof(*record));
	assert_true(memfd >= 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	assert_true(memfd > MOR_GUARD_FD || ends[1] > MOR_GUARD_FD || memfd < ends[1]);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, ends[1], 9);
	posix_spawn_file_actions_adddup2(&actions, memfd, MOR_PLAN_FD);
	posix_spawn_file_actions_adddup2(&actions, 9, MOR_GUARD_FD);
	assert_int_equal(posix_spawn(&pid, helper, &actions, NULL, argv, environ), 0);
	posix_spawn_file_actions_destroy(&actions);
	close(ends[1]);
	close(memfd);
	assert_true(recv(ends[0], record, sizeof(*record), 0) > 0);
	close(ends[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
}

static void test_version_mismatch(void **state)
{
	const char *argv[] = { "/bin/true", NULL }, *env[] = { NULL };
	struct mor_plan_command command = { .argv = argv, .env = env, .host = getpid() };
	struct mor_buf plan = MOR_BUF_INIT;
	struct mor_record record;

	(void)state;
	assert_int_equal(mor_plan_make(&plan, &command, NULL), 0);
	((struct mor_plan_head *)plan.data)->version++;
	ask_helper(&plan, &record);
	assert_int_equal(record.kind, MOR_RECORD_SETUP_FAILED);
	assert_int_equal(record.step, MOR_AT_VERSION);
	assert_string_equal(record.text, "mortise-jail and the library are of different versions");
	((struct mor_plan_head *)plan.data)->magic++;
	ask_helper(&plan, &record);
	assert_int_equal(record.step, MOR_AT_PLAN);
	assert_string_equal(record.text, "what it was given is no plan");
	mor_buf_fini(&plan);
}

/* The number of a host that is not its parent: somebody died, or lies. Nothing may stay. */
static void test_host_is_not_parent(void **state)
{
	const char *argv[] = { "/bin/sleep", "1000", NULL }, *env[] = { NULL };
	struct mor_plan_command command = { .argv = argv, .env = env, .host = getppid() };
	struct mor_buf plan = MOR_BUF_INIT;
	struct mor_record record;

	(void)state;
	assert_int_equal(mor_plan_make(&plan, &command, NULL), 0);
	ask_helper(&plan, &record); /* comes back: it has ended */
	assert_int_equal(record.kind, MOR_RECORD_STARTED);
	mor_buf_fini(&plan);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_level_and_rung),
		MOR_TEST(test_five_descriptors),
		MOR_TEST(test_little_memory),
		MOR_TEST(test_guardian_killed),
		MOR_TEST(test_guardian_defies_signals),
		MOR_TEST(test_stopped_guardian_is_freed),
		MOR_TEST(test_orphans_are_reaped),
		MOR_TEST(test_large_plan),
		MOR_TEST(test_limits),
		MOR_TEST(test_wall_time),
		MOR_TEST(test_pidns),
		MOR_TEST(test_pidns_orders),
		MOR_TEST(test_pidns_cannot_start),
		MOR_TEST(test_no_helper),
		MOR_TEST(test_helper_is_no_helper),
		MOR_TEST(test_version_mismatch),
		MOR_TEST(test_host_is_not_parent),
	};

	if (run_direct()) {
		puts("1..0 # SKIP of the guarded back end only");
		return 0;
	}
	return mor_run_group("guarded", tests);
}
