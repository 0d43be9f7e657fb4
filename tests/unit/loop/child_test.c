/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "leak.h"
#include "loop/loop.h"

extern char **environ;

struct watched {
	struct mor_child child;
	struct mor_child_exit how;
	int calls;
};

static void on_end(struct mor_child *child, const struct mor_child_exit *how)
{
	struct watched *watched = mor_container_of(child, struct watched, child);

	watched->how = *how;
	watched->calls++;
}

/* /bin/sh -c script as the leader of a group; `keep` becomes its descriptor 1 when not negative. */
static pid_t shell(const char *script, int keep)
{
	char *argv[] = { (char[]){ "sh" }, (char[]){ "-c" }, (char *)script, NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	pid_t pid = -1;

	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSID);
	posix_spawn_file_actions_init(&actions);
	if (keep >= 0)
		posix_spawn_file_actions_adddup2(&actions, keep, 1);
	assert_int_equal(posix_spawn(&pid, "/bin/sh", &actions, &attr, argv, environ), 0);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attr);
	return pid;
}

static struct mor_loop *fresh(void)
{
	struct mor_loop *loop = NULL;

	assert_int_equal(mor_loop_new(0, &loop), 0);
	return loop;
}

static void run_until_end(struct mor_loop *loop, struct watched *watched)
{
	while (watched->calls == 0)
		assert_true(mor_loop_wait(loop, 30000) >= 0);
	assert_int_equal(watched->calls, 1);
}

static void test_status(void **state)
{
	struct mor_loop *loop = fresh();
	struct watched a = { 0 };

	(void)state;
	assert_int_equal(mor_child_watch(loop, &a.child, shell("exit 3", -1), on_end), 0);
	run_until_end(loop, &a);
	assert_true(a.how.known);
	assert_false(a.how.by_signal);
	assert_int_equal(a.how.status, 3);
	assert_true(a.how.cpu_us > 0);
	assert_int_equal(a.child.pidfd, -1);
	assert_int_equal(mor_child_signal(&a.child, SIGTERM), -ESRCH);
	mor_loop_free(loop);
}

static void test_signals(void **state)
{
	struct mor_loop *loop = fresh();
	struct watched a = { 0 };

	(void)state;
	assert_int_equal(mor_child_watch(loop, &a.child, shell("sleep 1000", -1), on_end), 0);
	a.child.leads_group = true;
	assert_int_equal(mor_loop_dispatch(loop), 0);
	assert_int_equal(mor_child_signal(&a.child, SIGKILL), 0);
	run_until_end(loop, &a);
	assert_true(a.how.known && a.how.by_signal);
	assert_int_equal(a.how.status, SIGKILL);
	mor_loop_free(loop);
}

/* Only the one we watch is reaped. */
static void test_leaves_others_alone(void **state)
{
	struct mor_loop *loop = fresh();
	struct watched a = { 0 };
	pid_t other = shell("exit 5", -1);
	int status;

	(void)state;
	assert_int_equal(mor_child_watch(loop, &a.child, shell("exit 4", -1), on_end), 0);
	run_until_end(loop, &a);
	assert_int_equal(a.how.status, 4);
	assert_int_equal(waitpid(other, &status, 0), other);
	assert_int_equal(WEXITSTATUS(status), 5);
	mor_loop_free(loop);
}

static void test_reap_blocking(void **state)
{
	struct mor_loop *loop = fresh();
	struct watched a = { 0 };
	struct mor_child_exit how;

	(void)state;
	assert_int_equal(mor_child_watch(loop, &a.child, shell("kill -STOP $$", -1), on_end), 0);
	assert_int_equal(mor_child_signal(&a.child, SIGKILL), 0);
	mor_child_reap(&a.child, &how);
	assert_true(how.known && how.by_signal);
	assert_int_equal(a.calls, 0);
	mor_child_reap(&a.child, NULL);
	mor_loop_free(loop);
}

/* The leader ends and leaves a sleeper that holds a pipe: EOF on the pipe proves that the sleeper is dead. */
static void check_group_dies_with_leader(void)
{
	struct mor_loop *loop = fresh();
	struct watched a = { .child.leads_group = true };
	int ends[2];
	char byte;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(mor_child_watch(loop, &a.child, shell("sleep 1000 & exit 0", ends[1]), on_end), 0);
	close(ends[1]);
	run_until_end(loop, &a);
	assert_true(a.how.known);
	assert_int_equal(read(ends[0], &byte, 1), 0);
	close(ends[0]);
	mor_loop_free(loop);
}

static void test_group_dies_with_leader(void **state)
{
	(void)state;
	check_group_dies_with_leader();
}

/* Makes pidfd_send_signal() refuse flags, as kernels before 6.9 do. Only for a process that is about to end. */
static bool pretend_old_kernel(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_send_signal, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[3])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = sizeof(code) / sizeof(code[0]), .filter = code };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static void old_kernel(void)
{
	if (!pretend_old_kernel())
		_exit(0); /* no seccomp here: nothing to try */
	check_group_dies_with_leader();
}

static void test_group_on_old_kernel(void **state)
{
	(void)state;
	leak_in_fork(old_kernel);
}

static void ignore_sigchld(struct sigaction *before)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN };

	sigaction(SIGCHLD, &ignore, before);
}

static void test_sigchld_ignored(void **state)
{
	struct mor_loop *loop = fresh();
	struct watched a = { .child.leads_group = true };
	struct sigaction before;

	(void)state;
	ignore_sigchld(&before);
	assert_int_equal(mor_child_watch(loop, &a.child, shell("read x", -1), on_end), 0);
	mor_child_signal(&a.child, SIGKILL);
	run_until_end(loop, &a);
	assert_false(a.how.known);
	sigaction(SIGCHLD, &before, NULL);
	mor_loop_free(loop);
}

/* A child has ended and vanished before it could be watched: still exactly one report, and not from inside. */
static void test_gone_before_watch(void **state)
{
	struct mor_loop *loop = fresh();
	struct watched a = { 0 };
	pid_t pid = shell("exit 0", -1);
	int status;

	(void)state;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(mor_child_watch(loop, &a.child, pid, on_end), 0);
	assert_int_equal(a.calls, 0);
	assert_int_equal(mor_child_signal(&a.child, SIGKILL), -ESRCH);
	assert_int_equal(mor_child_signal_group(&a.child, SIGKILL), -ESRCH);
	run_until_end(loop, &a);
	assert_false(a.how.known);
	mor_loop_free(loop);
}

static void test_stop_leaves_child(void **state)
{
	struct mor_loop *loop = fresh();
	struct watched a = { 0 };
	pid_t pid = shell("exit 6", -1);
	int status;

	(void)state;
	assert_int_equal(mor_child_watch(loop, &a.child, pid, on_end), 0);
	mor_child_stop(&a.child);
	mor_child_stop(&a.child);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WEXITSTATUS(status), 6);
	assert_int_equal(mor_loop_dispatch(loop), 0);
	mor_loop_free(loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_status),
		MOR_TEST(test_signals),
		MOR_TEST(test_leaves_others_alone),
		MOR_TEST(test_reap_blocking),
		MOR_TEST(test_group_dies_with_leader),
		MOR_TEST(test_group_on_old_kernel),
		MOR_TEST(test_sigchld_ignored),
		MOR_TEST(test_gone_before_watch),
		MOR_TEST(test_stop_leaves_child),
	};

	return mor_run_group("child", tests);
}
