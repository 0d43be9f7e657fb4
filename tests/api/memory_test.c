/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a plugin that runs and has nothing to do takes of its host's memory: at most 4 KB, as malloc counts what
 * is in use. The same number in each run; what the environment holds does not count.
 */
#include <malloc.h>

#include "api.h"

enum { FIRST = 16, MORE = 96, BAR = 4096 };

static size_t in_use(void)
{
	struct mallinfo2 now = mallinfo2();

	return now.uordblks + now.hblkhd;
}

static void add_plugins(struct rig *rig, mortise_plugin **plugins, int from, int to, const char *const *set)
{
	const char *const argv[] = { ECHO_PLUGIN, "lines", NULL };
	mortise_plugin_options opt = { .size = sizeof(opt), .argv = argv, .dialect = "plain", .set = set };

	for (int i = from; i < to; i++) {
		char *result = NULL;

		plugins[i] = rig_plugin(rig, &opt);
		assert_int_equal(mortise_call_sync(plugins[i], "echo", json("{\"text\":\"hi\"}"), NULL, &result,
						   NULL),
				 0);
		mortise_free(result);
	}
}

static void assert_small(const char *const *set)
{
	mortise_plugin *plugins[FIRST + MORE];
	struct rig rig;
	size_t before, each;

	rig_open(&rig);
	add_plugins(&rig, plugins, 0, FIRST, set);
	before = in_use();
	add_plugins(&rig, plugins, FIRST, FIRST + MORE, set);
	each = (in_use() - before) / MORE;
	print_message("# a plugin takes %zu bytes\n", each);
	assert_in_range(each, 1, BAR);
	for (int i = 0; i < FIRST + MORE; i++)
		mortise_plugin_unref(plugins[i]);
	rig_close(&rig);
}

static void a_plugin_is_small(void **state)
{
	(void)state;
	if (!in_use()) { /* a sanitizer's malloc */
		skip();
		return;
	}
	assert_small(SET("plugin.framing=lines"));
}

int main(void)
{
	const struct CMUnitTest tests[] = { API_TEST(a_plugin_is_small) };

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("api/memory", tests, NULL, NULL);
}
