/* SPDX-License-Identifier: Apache-2.0 */
/* The probes: sane answers, and nothing left behind (the set-up counts descriptors and children). */
#include "leak.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "policy/probe.h"

static void test_landlock(void **state)
{
	int error = -1, abi = mor_probe_landlock(&error);
	int last = 0;

	(void)state;
	if (abi)
		assert_int_equal(error, 0);
	else
		assert_true(error == ENOSYS || error == EOPNOTSUPP);
	for (const struct mor_landlock_abi *row = mor_landlock_abis; row->abi; row++)
		assert_int_equal(row->abi, ++last);
}

/* We ourselves stay as we were: no filter, no new privileges possible. */
static void test_seccomp(void **state)
{
	struct mor_probe_seccomp s;
	int before = prctl(PR_GET_SECCOMP, 0, 0, 0, 0);

	(void)state;
	mor_probe_seccomp(&s);
	if (s.filter)
		assert_false(s.killable || s.add_fd_send || s.sync_wake);
	/* Each came later than the other. */
	assert_true(!s.sync_wake || s.add_fd_send);
	assert_int_equal(prctl(PR_GET_SECCOMP, 0, 0, 0, 0), before);
	assert_int_equal(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), 0);
}

static void test_namespaces(void **state)
{
	struct mor_probe_namespaces n;
	char before[100] = "", after[100] = "";

	(void)state;
	assert_true(readlink("/proc/self/ns/mnt", before, sizeof(before) - 1) > 0);
	mor_probe_namespaces(&n);
	assert_true(readlink("/proc/self/ns/mnt", after, sizeof(after) - 1) > 0);
	assert_string_equal(before, after);
	/* Where there is no user namespace, there is none of the others. */
	if (n.user)
		assert_true(n.pid && n.mount && n.net && n.minimal_root);
}

/* A child that says it may make no namespace: max_user_namespaces in one of its own is ours to set. */
static int without_namespaces(void)
{
	struct mor_probe_namespaces n;
	FILE *file;

	if (unshare(CLONE_NEWUSER) < 0)
		return 77;
	file = fopen("/proc/sys/user/max_user_namespaces", "we");
	if (!file)
		return 77;
	fputs("0\n", file);
	if (fclose(file) != 0)
		return 77;
	mor_probe_namespaces(&n);
	return n.user == ENOSPC && n.minimal_root == ENOSPC ? 0 : 1;
}

static void test_refused_namespaces(void **state)
{
	pid_t pid = fork();
	int status = 0;

	(void)state;
	if (pid == 0)
		_exit(without_namespaces());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		leak_skip("no user namespace can be made here");
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_sysctl(void **state)
{
	(void)state;
	assert_true(mor_probe_sysctl("/proc/sys/fs/pipe-max-size") >= 4096);
	assert_int_equal(mor_probe_sysctl("/proc/sys/fs/no-such-file"), -1);
	assert_int_equal(mor_probe_sysctl("/proc/sys/kernel/osrelease"), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_landlock),           MOR_TEST(test_seccomp), MOR_TEST(test_namespaces),
		MOR_TEST(test_refused_namespaces), MOR_TEST(test_sysctl),
	};

	return mor_run_group("policy/probe", tests);
}
