/* SPDX-License-Identifier: Apache-2.0 */
/* The probes: sane answers, and nothing left behind (the set-up counts descriptors and children). */
#include "leak.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
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
	/* Without user namespaces the others are missing, too. */
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

static const char *in_root(char path[64], const char *root, const char *name)
{
	snprintf(path, 64, "%s%s", root, name);
	return path;
}

static void test_getfd(void **state)
{
	(void)state;
	assert_in_range(mor_probe_getfd(), 0, 200);
}

/* The marks of each, below a root of our own. */
static void test_containers(void **state)
{
	char root[] = "/tmp/mortise-probe-XXXXXX", path[64], name[MOR_CONTAINER_NAME];
	static const char *const dirs[] = { "/run", "/var", "/var/run", "/var/run/secrets" };
	static const struct {
		const char *path, *name;
	} marks[] = {
		{ "/run/.containerenv", "podman" },
		{ "/.dockerenv", "docker" },
		{ "/var/run/secrets/kubernetes.io", "kubernetes" },
	};

	(void)state;
	unsetenv("KUBERNETES_SERVICE_HOST");
	unsetenv("container");
	assert_non_null(mkdtemp(root));
	mor_probe_container(root, name);
	assert_string_equal(name, "");
	setenv("container", "systemd-nspawn\n", 1);
	mor_probe_container(root, name);
	assert_string_equal(name, "systemd-nspawn\\x0a");
	for (size_t i = 0; i < sizeof(dirs) / sizeof(*dirs); i++)
		assert_int_equal(mkdir(in_root(path, root, dirs[i]), 0755), 0);
	for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++) {
		assert_int_equal(mkdir(in_root(path, root, marks[i].path), 0755), 0);
		mor_probe_container(root, name);
		assert_string_equal(name, marks[i].name);
	}
	setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1", 1);
	mor_probe_container("/nowhere", name);
	assert_string_equal(name, "kubernetes");
	unsetenv("KUBERNETES_SERVICE_HOST");
	for (size_t i = sizeof(marks) / sizeof(*marks); i--;)
		assert_int_equal(rmdir(in_root(path, root, marks[i].path)), 0);
	for (size_t i = sizeof(dirs) / sizeof(*dirs); i--;)
		assert_int_equal(rmdir(in_root(path, root, dirs[i])), 0);
	assert_int_equal(rmdir(root), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_landlock),           MOR_TEST(test_seccomp), MOR_TEST(test_namespaces),
		MOR_TEST(test_refused_namespaces), MOR_TEST(test_sysctl),  MOR_TEST(test_getfd),
		MOR_TEST(test_containers),
	};

	return mor_run_group("policy/probe", tests);
}
