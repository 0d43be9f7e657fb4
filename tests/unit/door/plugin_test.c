/* SPDX-License-Identifier: Apache-2.0 */
/* What was resolved is what is run, whatever has happened to the files since; what is said later
 * still counts. */
#include "../manifest/tree.h"

#include "door/door.h"
#include "host/plugin.h"
#include "resolved/resolved.h"

#define RUN "[plugin]\ncommand = [\"./x\", \"one\"]\n"

static mortise_error err;

static struct mor_resolved *resolve(const char *const *set)
{
	mortise_plugin_options opt = { .path = "p", .set = set };
	struct mor_resolved *resolved = NULL;

	assert_int_equal(mor_resolved_new(&opt, MOR_RESOLVED_MORE, &resolved, &err), 0);
	return resolved;
}

static mortise_plugin *make_plugin(mortise_host *host, struct mor_resolved *resolved,
				   const mortise_plugin_options *more)
{
	mortise_plugin *plugin = NULL;

	assert_int_equal(mor_resolved_more(resolved, more, &err), 0);
	assert_int_equal(mor_door_plugin(resolved, host, more, &plugin, &err), 0);
	return plugin;
}

static void test_files_that_change(void **state)
{
	mortise_plugin_options opt = { .path = "p" };
	struct mor_resolved *resolved;
	mortise_host *host = NULL;
	mortise_plugin *plugin;

	(void)state;
	put("p/mortise.toml", RUN "dialect = \"yams\"\n[timeouts]\n\"plugin.init\" = \"7s\"\n");
	resolved = resolve(NULL);
	assert_string_equal(resolved->dialect->name, "yams");
	put("p/mortise.toml", "not what was decided about");
	assert_int_equal(mortise_host_new(NULL, &host, &err), 0);
	plugin = make_plugin(host, resolved, &opt);
	assert_string_equal(mortise_plugin_dialect(plugin), "yams");
	expect_list(plugin->guarded.manifest->argv, "@/p/x|one");
	assert_int_equal(plugin->is.timeouts[0].ms, 7000);
	mortise_plugin_unref(plugin);
	assert_string_equal(resolved->manifest->name, "p"); /* it outlives the plugin */
	mortise_host_free(host);
	assert_null(mor_resolved_unref(resolved));
}

/* Defaults of a command come later than --set, and lose. */
static void test_what_comes_later(void **state)
{
	static const char *const first[] = { "limits.in_flight=3", "config.a=1", NULL };
	static const char *const all[] = { "limits.in_flight=9",     "limits.depth=5",
					   "limits.in_flight=3",     "config.a=1",
					   "timeouts.m=2s",          "plugin.framing=be32",
					   "sandbox.network=a.b:80", NULL };
	static const char *const env[] = { "A=2", NULL };
	mortise_plugin_options opt = { .path = "p", .set = all, .env = env, .config = { "{\"b\":2}", 7 } };
	struct mor_resolved *resolved;
	mortise_host *host = NULL;
	mortise_plugin *plugin;

	(void)state;
	put("p/mortise.toml", RUN "[limits]\nin_flight = 1\n[env]\nA = \"1\"\nB = \"1\"\n");
	resolved = resolve(first);
	assert_null(resolved->manifest->config);
	assert_string_equal(mor_manifest_setting(resolved->manifest, "limits", "in_flight")->json, "3");
	assert_int_equal(mortise_host_new(NULL, &host, &err), 0);
	plugin = make_plugin(host, resolved, &opt);
	assert_int_equal(plugin->is.max_in_flight, 3);
	assert_int_equal(plugin->is.link_options.max_depth, 5);
	assert_int_equal(plugin->is.link_options.framing, MOR_FRAMING_BE32);
	assert_int_equal(plugin->is.timeout_count, 1);
	assert_string_equal(plugin->guarded.manifest->config, "{\"b\":2,\"a\":1}");
	expect_list(plugin->guarded.manifest->env, "A=2|B=1");
	mortise_plugin_unref(plugin);
	mortise_host_free(host);
	mor_resolved_unref(resolved);
}

static void test_unknown_dialect(void **state)
{
	mortise_plugin_options opt = { .path = "p" };
	struct mor_resolved *resolved;
	mortise_host *host = NULL;
	mortise_plugin *plugin = NULL;

	(void)state;
	put("p/mortise.toml", RUN "dialect = \"yamz\"\n");
	resolved = resolve(NULL);
	assert_int_equal(mortise_host_new(NULL, &host, &err), 0);
	assert_int_equal(mor_door_plugin(resolved, host, &opt, &plugin, &err), MORTISE_EMANIFEST);
	assert_non_null(strstr(err.text, "p: "));
	assert_null(plugin);
	mortise_host_free(host);
	mor_resolved_unref(resolved);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TREE_TEST(test_files_that_change),
		TREE_TEST(test_what_comes_later),
		TREE_TEST(test_unknown_dialect),
	};

	return mor_run_group("door/plugin", tests);
}
