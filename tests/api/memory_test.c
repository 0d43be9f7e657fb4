/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a plugin that runs and has nothing to do takes of its host's memory: at most 4 KB, as malloc counts what
 * is in use. The same number in each run; what the environment holds does not count.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "api.h"
#include "tmp.h"

enum { FIRST = 16, MORE = 96 };
/* Names of files are kept, some of them more than once: the tree may lie deep. */
#define BAR (3760 + 8 * sizeof(ECHO_PLUGIN))

static const char *const quiet[] = { ECHO_PLUGIN, "lines", NULL };
static const char *const talker[] = { "/bin/sh", "-c", "echo ready >&2; exec '" ECHO_PLUGIN "' lines", NULL };

static size_t in_use(void)
{
	struct mallinfo2 now = mallinfo2();

	return now.uordblks + now.hblkhd; /* 0 with a sanitizer's malloc */
}

/* Each has answered, and its line on stderr has come. */
static void add_plugins(struct rig *rig, mortise_plugin **plugins, int from, int to,
			const mortise_plugin_options *opt)
{
	for (int i = from; i < to; i++) {
		char *result = NULL;

		plugins[i] = rig_plugin(rig, opt);
		assert_int_equal(mortise_call_sync(plugins[i], "echo", json("{\"text\":\"hi\"}"), NULL, &result,
						   NULL),
				 0);
		mortise_free(result);
		if (opt->argv == talker)
			rig_until(rig, &rig->events[MORTISE_EVENT_STDERR], i + 1, "its line on stderr");
	}
}

static void assert_small_of(mortise_plugin_options opt, size_t bar)
{
	mortise_plugin *plugins[FIRST + MORE];
	struct rig rig;
	size_t before, each;

	if (!in_use())
		return;
	rig_open(&rig);
	opt.size = sizeof(opt);
	opt.on_event = rig_event;
	opt.arg = &rig;
	add_plugins(&rig, plugins, 0, FIRST, &opt);
	before = in_use();
	add_plugins(&rig, plugins, FIRST, FIRST + MORE, &opt);
	each = (in_use() - before) / MORE;
	print_message("# a plugin takes %zu bytes\n", each);
	assert_in_range(each, 1, bar);
	for (int i = 0; i < FIRST + MORE; i++)
		mortise_plugin_unref(plugins[i]);
	rig_close(&rig);
}

static void assert_small(const char *const *argv, const char *set, size_t bar)
{
	const char *const sets[] = { set, NULL };

	assert_small_of((mortise_plugin_options){ .argv = argv, .set = sets }, bar);
}

static void a_plugin_is_small(void **state)
{
	(void)state;
	assert_small(quiet, "plugin.framing=lines", BAR);
}

/* The settings of a manifest are kept with the lines where they stand. */
static void a_plugin_with_a_manifest_is_small(void **state)
{
	char top[TMP_ROOM], path[256];
	FILE *manifest;

	(void)state;
	assert_non_null(mkdtemp(tmp_name(top, "memory")));
	snprintf(path, sizeof(path), "%s/mortise.toml", top);
	manifest = fopen(path, "we");
	assert_non_null(manifest);
	fprintf(manifest, "[plugin]\nname = \"echo\"\nframing = \"lines\"\ncommand = [\"%s\", \"lines\"]\n",
		ECHO_PLUGIN);
	assert_int_equal(fclose(manifest), 0);
	assert_small_of((mortise_plugin_options){ .path = top }, BAR + 512 + 12 * strlen(top));
	unlink(path);
	rmdir(top);
}

/* What it wrote is kept for the texts of failures. */
static void a_line_on_stderr_is_small(void **state)
{
	(void)state;
	assert_small(talker, "plugin.framing=lines", BAR + 2048);
}

static void a_confined_plugin_is_small(void **state)
{
	mortise_plugin_options opt = { .size = sizeof(opt), .argv = quiet, .set = SET("sandbox.level=auto") };
	mortise_error error;
	struct rig rig;
	int r;

	(void)state;
	rig_open(&rig);
	rig.plugin = rig_plugin(&rig, &opt);
	r = mortise_call_sync(rig.plugin, "echo", json("{}"), NULL, NULL, &error);
	rig_close(&rig);
	if (r == MORTISE_EJAIL)
		print_message("# not here: %s\n", error.text);
	else
		assert_small(quiet, "sandbox.level=auto", BAR);
}

int main(void)
{
	const struct CMUnitTest tests[] = { API_TEST(a_plugin_is_small),
					    API_TEST(a_plugin_with_a_manifest_is_small),
					    API_TEST(a_line_on_stderr_is_small),
					    API_TEST(a_confined_plugin_is_small) };

	return mor_run_group("api/memory", tests);
}
