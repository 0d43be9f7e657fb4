/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Control groups from their making to their end, on a prepared directory: version 2 with controllers is seldom
 * there to be tried. What the kernel does at mkdir and rmdir is done here.
 */
#include "leak.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "jail/group.h"
#include "jail/spent.h"
#include "tmp.h"

enum { PROCESSORS = 4 };
static char top[TMP_ROOM], made[256];
static const char *const *files;
static const char *const of_second[] = { "cgroup.procs",  "cgroup.kill", "pids.max",
					 "pids.events",   "memory.max",  "memory.swap.max",
					 "memory.events", "cpu.stat",    NULL };
static const char *const of_first[] = { "tasks", "pids.max", "pids.events", "cpuacct.usage", NULL };

int mkdirat(int dir, const char *name, mode_t mode)
{
	char path[400];

	if (syscall(SYS_mkdirat, dir, name, mode) < 0)
		return -1;
	snprintf(made, sizeof(made), "%s/%s", top, name);
	for (const char *const *file = files; *file; file++) {
		snprintf(path, sizeof(path), "%s/%s", made, *file);
		close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
	}
	return 0;
}

int unlinkat(int dir, const char *name, int flags)
{
	char path[800];

	for (const char *const *file = files; flags & AT_REMOVEDIR && *file; file++) {
		snprintf(path, sizeof(path), "%s/%s", made, *file);
		unlink(path);
	}
	return (int)syscall(SYS_unlinkat, dir, name, flags);
}

static void expect_text(const char *name, const char *text)
{
	char path[3200], got[64] = "";
	int fd;

	snprintf(path, sizeof(path), "%s/%s", made, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0 && read(fd, got, sizeof(got) - 1) >= 0);
	close(fd);
	assert_string_equal(got, text);
}

static void say(const char *name, const char *text)
{
	char path[3200];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", made, name);
	fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

static void make_timed(unsigned version, unsigned controllers, uint64_t memory, uint32_t threads,
		       uint32_t cpu_s)
{
	union {
		struct mor_plan_op head;
		char bytes[sizeof(struct mor_plan_op) + sizeof(struct mor_op_group) + TMP_ROOM];
		uint64_t align;
	} plan = { 0 };
	struct mor_op_group *group = (void *)(plan.bytes + sizeof(plan.head));
	struct mor_plan read = { .ops = &plan.head, .end = (void *)(&plan + 1) };

	plan.head = (struct mor_plan_op){ MOR_OP_GROUP, sizeof(plan.bytes) - sizeof(plan.head) };
	group->version = version;
	group->controllers = controllers;
	group->memory = memory;
	group->threads = threads;
	group->cpu_s = cpu_s;
	group->processors = PROCESSORS;
	snprintf(group->path, TMP_ROOM, "%s", top);
	mor_groups_make(&read);
	if (cpu_s)
		mor_spent_begin(&read, 1000);
}

static void make(unsigned version, unsigned controllers, uint64_t memory, uint32_t threads)
{
	make_timed(version, controllers, memory, threads, 0);
}

static int set_up(void **state)
{
	(void)state;
	tmp_name(top, "group");
	return mkdtemp(top) ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	return rmdir(top); /* nothing is left in it */
}

static void test_second(void **state)
{
	(void)state;
	files = of_second;
	make(2, MOR_CGROUP_PIDS | MOR_CGROUP_MEMORY, 1 << 20, 7);
	assert_int_equal(mor_groups_held(), MOR_CGROUP_PIDS | MOR_CGROUP_MEMORY);
	assert_true(mor_groups_parent(0) >= 0 && mor_groups_parent(1) < 0);
	expect_text("memory.max", "1048576");
	expect_text("memory.swap.max", "0");
	expect_text("pids.max", "7");
	assert_int_equal(mor_groups_join(), 0);
	expect_text("cgroup.procs", "0");
	assert_int_equal(mor_groups_reached(), 0);
	say("memory.events", "low 0\nmax 3\noom 1\noom_kill 1\n");
	assert_int_equal(mor_groups_reached(), MOR_CGROUP_MEMORY);
	say("pids.events", "max 2\n");
	assert_int_equal(mor_groups_reached(), MOR_CGROUP_MEMORY | MOR_CGROUP_PIDS);
	mor_groups_kill();
	expect_text("cgroup.kill", "1");
	mor_groups_remove();
	assert_int_equal(access(made, F_OK), -1);
	assert_int_equal(mor_groups_held(), 0);
}

/* Only what is asked for is limited, and only what is limited is claimed. */
static void test_part(void **state)
{
	(void)state;
	files = of_second;
	make(2, MOR_CGROUP_PIDS | MOR_CGROUP_MEMORY, 0, 7);
	assert_int_equal(mor_groups_held(), MOR_CGROUP_PIDS);
	expect_text("memory.max", "");
	mor_groups_remove();
	make(2, MOR_CGROUP_PIDS, 0, 0);
	assert_int_equal(mor_groups_held(), 0);
	assert_int_equal(access(made, F_OK), -1);
}

static void test_first(void **state)
{
	(void)state;
	files = of_first;
	make(1, MOR_CGROUP_PIDS, 0, 9);
	assert_int_equal(mor_groups_held(), MOR_CGROUP_PIDS);
	expect_text("pids.max", "9");
	assert_int_equal(mor_groups_join(), 0);
	expect_text("tasks", "0");
	mor_groups_remove();
}

/* A directory that is no control group: the child is made all the same, and enters by itself. */
static void test_clone(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	files = of_second;
	make(2, MOR_CGROUP_PIDS, 0, 7);
	pid = mor_groups_clone(0);
	if (pid == 0)
		_exit(mor_groups_join() == 0 ? 0 : 1);
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	expect_text("cgroup.procs", "0");
	mor_groups_remove();
}

static const struct {
	unsigned version;
	const char *const *files;
	const char *file, *before, *after;
	long long unit; /* of a second */
} counters[] = {
	{ 1, of_first, "cpuacct.usage", "", "\n", 1000000000 },
	{ 2, of_second, "cpu.stat", "usage_usec ", "\nuser_usec 1\nsystem_usec 2\n", 1000000 },
};

static void use(size_t i, long long ms)
{
	char text[100];

	snprintf(text, sizeof(text), "%s%lld%s", counters[i].before, counters[i].unit * ms / 1000,
		 counters[i].after);
	say(counters[i].file, text);
}

/* A program that works on all processors is looked at when the limit is reached, and not before. */
static void test_time(void **state)
{
	int64_t due;

	(void)state;
	for (size_t i = 0; i < sizeof(counters) / sizeof(*counters); i++) {
		files = counters[i].files;
		make_timed(counters[i].version, MOR_CGROUP_CPU, 0, 0, 30);
		assert_int_equal(mor_groups_held(), MOR_CGROUP_CPU);
		due = mor_spent_due();
		assert_in_range(due, 1000 + 30000 / PROCESSORS, 1000 + 30000 / PROCESSORS + 1);
		use(i, 29999);
		assert_int_equal(mor_spent_look(due - 1), MOR_SPENT_NOT);
		assert_int_equal(mor_spent_look(due), MOR_SPENT_NOT);
		assert_true(mor_spent_due() > due && mor_spent_due() <= due + 100);
		assert_false(mor_spent_reached());
		use(i, 30000);
		due = mor_spent_due();
		assert_int_equal(mor_spent_look(due), MOR_SPENT_ALL);
		assert_int_equal(mor_spent_look(due + 999), MOR_SPENT_NOT);
		assert_int_equal(mor_spent_look(due + 1000), MOR_SPENT_OVER);
		assert_true(mor_spent_reached());
		mor_groups_remove();
	}
}

/* Close to its limit and at rest: few looks. */
static void test_resting(void **state)
{
	unsigned looks = 0;

	(void)state;
	files = of_second;
	make_timed(2, MOR_CGROUP_CPU, 0, 0, 30);
	use(1, 29999);
	while (mor_spent_due() < 3600 * 1000 && mor_spent_look(mor_spent_due()) == MOR_SPENT_NOT)
		looks++;
	assert_in_range(looks, 3500, 3620);
	use(1, 30001); /* it has ended before the next look */
	assert_true(mor_spent_reached());
	mor_groups_remove();
}

/* A file that is not there is not claimed. */
static void test_no_time(void **state)
{
	static const char *const without[] = { "cgroup.procs", NULL };

	(void)state;
	files = without;
	make_timed(2, MOR_CGROUP_CPU, 0, 0, 30);
	assert_int_equal(mor_groups_held(), 0);
	assert_int_equal(mor_groups_cpu_us(), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_second, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_part, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_first, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_clone, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_time, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_resting, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_no_time, set_up, tear_down),
	};

	return mor_run_group("jail/group", tests);
}
