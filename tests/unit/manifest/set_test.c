/* SPDX-License-Identifier: Apache-2.0 */
/* --set section.key=value */
#include "tree.h"

static struct mor_manifest *load_set(const char *one)
{
	const char *const set[] = { one, NULL };

	return load_query((struct mor_manifest_query){ .path = "p", .set = set });
}

static int prepare(void **state)
{
	int r = tree_setup(state);

	put("p/mortise.toml", "[plugin]\ncommand = \"./x\"\n");
	return r;
}

static void test_values(void **state)
{
	static const struct {
		const char *set, *section, *key, *json;
	} cases[] = {
		{ "timeouts.extractor.extract=300s", "timeouts", "extractor.extract", "\"300s\"" },
		{ "timeouts.x=5", "timeouts", "x", "5" },
		{ "limits.in_flight=4", "limits", "in_flight", "4" },
		{ "restart.enabled=false", "restart", "enabled", "false" },
		{ "plugin.version=1.0", "plugin", "version", "\"1.0\"" },
		{ "plugin.name=true", "plugin", "name", "\"true\"" },
		{ "plugin.args=[\"a\",\"b c\"]", "plugin", "args", "[\"a\",\"b c\"]" },
		{ "plugin.args:=[\"a\"]", "plugin", "args", "[\"a\"]" },
		{ "plugin.command=prog", "plugin", "command", "\"prog\"" },
		{ "quirks.q=[1]", "quirks", "q", "\"[1]\"" },
		{ "quirks.q:=[1]", "quirks", "q", "[1]" },
		{ "quirks.q=", "quirks", "q", "\"\"" },
		{ "quirks.q=a=b", "quirks", "q", "\"a=b\"" },
		{ "env.A=5", "env", "A", "\"5\"" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct mor_manifest *m = load_set(cases[i].set);
		const struct mor_setting *s = mor_manifest_setting(m, cases[i].section, cases[i].key);

		if (!s)
			fail_msg("%s: not set", cases[i].set);
		assert_string_equal(s->json, cases[i].json);
		assert_string_equal(s->origin, "--set");
		mor_manifest_free(m);
	}
}

static void test_config(void **state)
{
	static const struct {
		const char *set, *config;
	} cases[] = {
		{ "config.a=1", "{\"a\":1}" },         { "config.a.b.c=x", "{\"a\":{\"b\":{\"c\":\"x\"}}}" },
		{ "config.a=null", "{\"a\":null}" },   { "config.a:={\"b\":[1]}", "{\"a\":{\"b\":[1]}}" },
		{ "config.a=\"q\"", "{\"a\":\"q\"}" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct mor_manifest *m = load_set(cases[i].set);

		assert_string_equal(m->config, cases[i].config);
		mor_manifest_free(m);
	}
}

/* What is typed is relative to where it is typed. */
static void test_paths(void **state)
{
	struct mor_manifest *m = load_set("plugin.command=./bin/y");

	(void)state;
	expect_list(m->argv, "@/bin/y");
	mor_manifest_free(m);
	m = load_set("plugin.cwd=sub");
	expect_path(m->cwd, "@/sub");
	expect_list(m->argv, "@/p/x");
	mor_manifest_free(m);
}

static void test_refused(void **state)
{
	static const struct {
		const char *set, *text;
	} cases[] = {
		{ "foo", "--set \"foo\": write it as section.key=value" },
		{ "foo=1", "--set \"foo=1\": write it as section.key=value" },
		{ ".a=1", "--set \".a=1\": write it as section.key=value" },
		{ "plugin.=1", "--set \"plugin.=1\": write it as section.key=value" },
		{ "plugin.:=1", "--set \"plugin.:=1\": write it as section.key=value" },
		{ "a=b.c", "--set \"a=b.c\": write it as section.key=value" },
		{ "timeout.x=1s", "--set: no section \"timeout\": did you mean \"timeouts\"?" },
		{ "plugin.nmae=x", "--set: [plugin] has no key \"nmae\": did you mean \"name\"?" },
		{ "timeouts.x=soon",
		  "--set: timeouts.x is \"soon\": it must be a time such as \"30s\", \"500ms\" or \"2m\"" },
		{ "limits.frame=x",
		  "--set: limits.frame is \"x\": it must be a size such as 4096, \"64K\" or \"10M\"" },
		{ "config.a..b=1", "--set config.a..b: a name between the dots is missing" },
		{ "config.a.=1", "--set config.a.: a name between the dots is missing" },
		{ "plugin.args=x", "--set: plugin.args is \"x\": it must be an array of strings" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const char *const set[] = { cases[i].set, NULL };

		refuse_query((struct mor_manifest_query){ .path = "p", .set = set }, MORTISE_EINVAL,
			     cases[i].text);
	}
}

static void test_deep_config(void **state)
{
	const char *set[] = { NULL, NULL };
	struct mor_buf deep = MOR_BUF_INIT;
	struct mor_manifest_query query = { .path = "p", .set = set, .config_home = "home" };
	struct mor_manifest *m = NULL;
	mortise_error err;

	(void)state;
	mor_buf_text(&deep, "config");
	for (unsigned i = 0; i < 100; i++)
		mor_buf_text(&deep, ".a");
	mor_buf_text(&deep, "=1");
	set[0] = mor_buf_detach(&deep);
	assert_int_equal(mor_manifest_load(&query, &m, &err), MORTISE_EINVAL);
	assert_non_null(strstr(err.text, "nested deeper than 32 levels"));
	mor_free((char *)(uintptr_t)set[0]);
}

#define SET_TEST(fn) cmocka_unit_test_setup_teardown(fn, prepare, tree_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		SET_TEST(test_values),  SET_TEST(test_config),      SET_TEST(test_paths),
		SET_TEST(test_refused), SET_TEST(test_deep_config),
	};

	return mor_run_group("manifest/set", tests);
}
