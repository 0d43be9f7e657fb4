/* SPDX-License-Identifier: Apache-2.0 */
/* Real processes: who is the guardian, who the plugin, and what they have used. */
#include "gauge/usage.h"

#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "leak.h"

#define USED_NS 20000000LL

static void compute(void)
{
	struct timespec time;

	do
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	while (time.tv_sec * 1000000000LL + time.tv_nsec < USED_NS);
}

/* A child that has a child, which computes, tells its number, and waits until `hold` is closed. */
static pid_t start_tree(int told[2], int hold[2])
{
	pid_t guardian = fork(), plugin;
	char byte;

	if (guardian)
		return guardian;
	close(hold[1]);
	plugin = fork();
	if (plugin == 0) {
		compute();
		plugin = getpid();
		if (write(told[1], &plugin, sizeof(plugin)) == sizeof(plugin))
			(void)!read(hold[0], &byte, 1);
		leak_exit(0);
	}
	waitpid(plugin, NULL, 0);
	leak_exit(0);
}

static void test_tree(void **state)
{
	int told[2], hold[2];
	struct mor_usage before, now, unknown;
	pid_t guardian, plugin;
	struct timespec used;
	clockid_t clock;

	(void)state;
	assert_int_equal(pipe(told), 0);
	assert_int_equal(pipe(hold), 0);
	mor_usage_look(0, 0, &before);
	guardian = start_tree(told, hold);
	assert_int_equal(read(told[0], &plugin, sizeof(plugin)), sizeof(plugin));
	mor_usage_look(plugin, 0, &now);
	assert_int_equal(now.guardian_memory.processes, 1);
	assert_int_equal(now.plugin_memory.processes, 1);
	assert_true(now.plugin - before.plugin >= USED_NS);
	/* what its plugin has used is not in it */
	assert_int_equal(clock_getcpuclockid(guardian, &clock), 0);
	assert_int_equal(clock_gettime(clock, &used), 0);
	assert_true(now.guardian - before.guardian <= used.tv_sec * 1000000000LL + used.tv_nsec);
	assert_true(now.host > 0);
	assert_true(now.host_memory.rss_peak > 4096 && now.plugin_memory.rss_peak > 4096);
	mor_usage_look(0, 0, &unknown);
	assert_int_equal(unknown.plugin_memory.processes, 0);
	for (int i = 0; i < 2; i++) {
		close(told[i]);
		close(hold[i]);
	}
	assert_int_equal(waitpid(guardian, NULL, 0), guardian);
	/* Now it is what has ended: the host tells how much of that was the plugin's. */
	mor_usage_look(0, USED_NS / 1000, &now);
	assert_int_equal(now.plugin, USED_NS);
	assert_true(now.guardian - before.guardian >= 0);
}

static void test_join(void **state)
{
	struct mor_usage_memory sum = { .processes = 2, .rss_peak = 10 };

	(void)state;
	mor_usage_memory_join(&sum, &(struct mor_usage_memory){ .processes = 1, .rss_peak = 20 });
	mor_usage_memory_join(&sum, &(struct mor_usage_memory){ .processes = 3, .rss_peak = 5 });
	assert_int_equal(sum.processes, 3);
	assert_int_equal(sum.rss_peak, 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = { MOR_TEST(test_tree), MOR_TEST(test_join) };

	return mor_run_group("usage", tests);
}
