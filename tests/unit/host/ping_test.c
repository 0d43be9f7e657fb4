/* SPDX-License-Identifier: Apache-2.0 */
/* When plugins are asked whether they live: many of them at the same moment, so that one
 * wake-up serves them. */
#include "host/health.h"
#include "host/host.h"
#include "host/plugin.h"
#include "leak.h"
#include "script.h"

enum { PLUGINS = 20, APART_MS = 7, EVERY_MS = 1000, TICK_MS = 20 };

static void test_shared_moments(void **state)
{
	static const char *const argv[] = { "script", NULL }, *const set[] = { "health.every=1s", NULL };
	mortise_plugin_options opt = { .size = sizeof(opt), .argv = argv, .dialect = "gassist", .set = set };
	mortise_plugin *plugins[PLUGINS];
	mortise_host *host = NULL;
	int moments = 0;
	int64_t last = 0;

	(void)state;
	script_reset();
	assert_int_equal(mor_host_new_with(NULL, MOR_LOOP_VIRTUAL, script_link_new, &host, NULL), 0);
	for (int i = 0; i < PLUGINS; i++) {
		int64_t ready = mor_loop_now_ms(host->loop), due;

		assert_int_equal(mortise_plugin_new(host, &opt, &plugins[i], NULL), 0);
		mor_health_started(plugins[i]);
		due = plugins[i]->now.health.timer.due_ms;
		assert_in_range(due, ready + EVERY_MS - TICK_MS + 1, ready + EVERY_MS);
		assert_int_equal(due % TICK_MS, 0);
		moments += due != last;
		last = due;
		mor_loop_advance(host->loop, APART_MS);
	}
	assert_in_range(moments, 2, PLUGINS * APART_MS / TICK_MS + 1);
	for (int i = 0; i < PLUGINS; i++)
		mortise_plugin_unref(plugins[i]);
	mortise_host_free(host);
}

int main(void)
{
	const struct CMUnitTest tests[] = { MOR_TEST(test_shared_moments) };

	return mor_run_group("host/ping", tests);
}
