/* SPDX-License-Identifier: Apache-2.0 */
/* Where control groups can be made, on prepared trees: version 2 with controllers is seldom
 * there to be tried. */
#include "leak.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "policy/cgroup.h"
#include "policy/policy.h"
#include "top.h"

static void put(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(const char *name, const char *format, ...)
{
	FILE *file = fopen(at(name), "w");
	va_list args;

	assert_non_null(file);
	va_start(args, format);
	vfprintf(file, format, args);
	va_end(args);
	fclose(file);
}

static void group(const char *name, const char *out)
{
	char file[200];

	assert_int_equal(mkdir(at(name), 0755), 0);
	snprintf(file, sizeof(file), "%s/cgroup.subtree_control", name);
	put(file, "%s\n", out);
	snprintf(file, sizeof(file), "%s/cgroup.procs", name);
	put(file, "%s", "");
	snprintf(file, sizeof(file), "%s/cpu.stat", name);
	put(file, "%s", "");
	snprintf(file, sizeof(file), "%s/tasks", name);
	put(file, "%s", "");
}

static int set_up(void **state)
{
	(void)state;
	return top_make("cgroup");
}

static int tear_down(void **state)
{
	char command[256];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", top);
	return system(command);
}

static struct mor_cgroups find(void)
{
	struct mor_cgroups groups;
	char mounts[300];

	snprintf(mounts, sizeof(mounts), "%s", at("mountinfo"));
	mor_cgroup_find(mounts, at("cgroup"), &groups);
	return groups;
}

static void expect_place(const struct mor_cgroups *groups, size_t n, unsigned version, unsigned controllers,
			 const char *path)
{
	assert_true(n < groups->count);
	assert_int_equal(groups->places[n].version, version);
	assert_int_equal(groups->places[n].controllers, controllers);
	assert_string_equal(groups->places[n].path, at(path));
}

/* As systemd leaves it: our own scope has processes and hands out nothing; the slice above it does. */
static void test_second(void **state)
{
	struct mor_cgroups groups;

	(void)state;
	group("v2", "cpu memory pids");
	put("v2/cgroup.controllers", "cpu memory pids\n");
	group("v2/app.slice", "memory pids");
	group("v2/app.slice/our.scope", "");
	put("mountinfo", "25 1 8:1 / / rw - ext4 /dev/sda rw\n36 25 0:31 / %s/v2 rw - cgroup2 cgroup2 rw\n",
	    top);
	put("cgroup", "0::/app.slice/our.scope\n");
	groups = find();
	assert_int_equal(groups.count, 1);
	expect_place(&groups, 0, 2, MOR_CGROUP_PIDS | MOR_CGROUP_MEMORY | MOR_CGROUP_CPU, "v2/app.slice");
	put("v2/app.slice/cgroup.subtree_control", "pids\n");
	groups = find();
	expect_place(&groups, 0, 2, MOR_CGROUP_PIDS | MOR_CGROUP_CPU, "v2/app.slice");
	put("cgroup", "0::/../other\n");
	assert_int_equal(find().count, 0);
}

/* Up to the mount, and never above it. Time is counted without a controller, in the nearest that is ours. */
static void test_nothing_handed_out(void **state)
{
	struct mor_cgroups groups;

	(void)state;
	group("v2", "");
	put("v2/cgroup.controllers", "memory\n");
	group("v2/a", "");
	put("cgroup.subtree_control", "memory pids\n");
	put("cgroup.procs", "%s", "");
	put("mountinfo", "36 25 0:31 / %s/v2 rw - cgroup2 cgroup2 rw\n", top);
	put("cgroup", "0::/a\n");
	groups = find();
	assert_int_equal(groups.count, 1);
	expect_place(&groups, 0, 2, MOR_CGROUP_CPU, "v2/a");
	assert_int_equal(groups.mounted, MOR_CGROUP_MEMORY | MOR_CGROUP_CPU);
	unlink(at("v2/a/cgroup.procs"));
	groups = find();
	expect_place(&groups, 0, 2, MOR_CGROUP_CPU, "v2");
	unlink(at("v2/cpu.stat"));
	assert_int_equal(find().count, 0);
}

static void test_first(void **state)
{
	struct mor_cgroups groups;

	(void)state;
	group("pids", "");
	group("time", "");
	group("memory", "");
	group("memory/inner", "");
	put("mountinfo",
	    "40 25 0:32 / %s/time rw - cgroup cgroup rw,cpu,cpuacct\n41 25 0:33 / %s/pids rw - cgroup cgroup "
	    "rw,pids\n"
	    "42 25 0:34 /docker/x %s/memory rw - cgroup cgroup rw,memory\n"
	    "43 25 0:35 / %s/v2 rw - cgroup2 cgroup2 rw\n",
	    top, top, top, top);
	put("cgroup", "9:name=systemd:/\n8:pids:/\n4:memory:/docker/x/inner\n1:cpu,cpuacct:/\n0::/\n");
	groups = find();
	assert_int_equal(groups.count, 3);
	expect_place(&groups, 0, 1, MOR_CGROUP_CPU, "time");
	expect_place(&groups, 1, 1, MOR_CGROUP_PIDS, "pids");
	expect_place(&groups, 2, 1, MOR_CGROUP_MEMORY, "memory/inner");
	assert_int_equal(mor_cgroup_held(&groups), MOR_CGROUP_PIDS | MOR_CGROUP_MEMORY | MOR_CGROUP_CPU);
	unlink(at("pids/tasks")); /* as if it were not ours */
	groups = find();
	assert_int_equal(mor_cgroup_held(&groups), MOR_CGROUP_MEMORY | MOR_CGROUP_CPU);
	assert_int_equal(groups.mounted, MOR_CGROUP_PIDS | MOR_CGROUP_MEMORY | MOR_CGROUP_CPU);
}

static void test_damaged(void **state)
{
	(void)state;
	put("mountinfo", "36 25 - cgroup2\n - cgroup x\nx y z / /nowhere rw - cgroup2 cgroup2 rw\n");
	put("cgroup", "0:\n:\n0::\n");
	assert_int_equal(find().count, 0);
	unlink(at("cgroup"));
	assert_int_equal(find().count, 0);
}

static void test_loose(void **state)
{
	struct mor_policy p = MOR_POLICY_INIT;

	(void)state;
	assert_int_equal(mor_cgroup_wanted(&p), 0);
	assert_null(mor_cgroup_loose(&p, 0, 0));
	p.limits.threads = 5;
	assert_non_null(strstr(mor_cgroup_loose(&p, 0, 0), "threads is not enforced"));
	assert_null(mor_cgroup_loose(&p, MOR_CGROUP_PIDS, 0));
	p.level = MOR_LEVEL_T0;
	assert_null(mor_cgroup_loose(&p, 0, 0));
	p.limits.memory_bytes = 5;
	assert_non_null(strstr(mor_cgroup_loose(&p, MOR_CGROUP_PIDS, 0), "memory holds for each process"));
	assert_null(mor_cgroup_loose(&p, MOR_CGROUP_MEMORY, 0));
	p.limits.cpu_s = 5; /* one process: its own limit is enough */
	assert_null(mor_cgroup_loose(&p, 0, 1));
	p.spawn = true;
	assert_int_equal(mor_cgroup_wanted(&p), MOR_CGROUP_PIDS | MOR_CGROUP_MEMORY | MOR_CGROUP_CPU);
	assert_non_null(strstr(mor_cgroup_loose(&p, 0, 0), "memory holds for each process"));
	assert_non_null(strstr(mor_cgroup_loose(&p, 0, 1), "cpu holds for each process"));
	assert_null(mor_cgroup_loose(&p, 0, 2));
	assert_null(mor_cgroup_loose(&p, MOR_CGROUP_CPU, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_second, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_nothing_handed_out, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_first, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_damaged, set_up, tear_down),
		cmocka_unit_test(test_loose),
	};

	return mor_run_group("policy/cgroup", tests);
}
