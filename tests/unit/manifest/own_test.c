/* SPDX-License-Identifier: Apache-2.0 */
/* mortise.toml and the user's own file. */
#include "tree.h"

#define RUN "[plugin]\ncommand = \"./x\"\n"

static void test_plugin_section(void **state)
{
	struct mor_manifest *m;

	(void)state;
	put("p/mortise.toml",
	    "[plugin]\nname = \"n\"\ndialect = \"plain\"\ncommand = [\"./bin/tool\", \"./a\"]\n"
	    "args = [\"-b\"]\ncwd = \"work\"\nframing = \"headers\"\nversion = \"1\"\ndescription = \"d\"\n");
	m = load_path("p");
	assert_string_equal(m->name, "n");
	assert_string_equal(m->dialect, "plain");
	assert_string_equal(m->framing, "headers");
	assert_string_equal(m->version, "1");
	assert_string_equal(m->description, "d");
	expect_list(m->argv, "@/p/bin/tool|./a|-b");
	expect_path(m->cwd, "@/p/work");
	assert_null(m->file);
	mor_manifest_free(m);
}

static void test_command_forms(void **state)
{
	static const struct {
		const char *command, *argv;
	} cases[] = {
		{ "\"./x\"", "@/p/x" },
		{ "\"bin/x\"", "@/p/bin/x" },
		{ "\"/abs/x\"", "/abs/x" },
		{ "\"in-path\"", "in-path" },
		{ "\"../x\"", "@/p/../x" },
		{ "[\"python3\", \"x.py\"]", "python3|x.py" },
		{ "[\"a/b\", \"c/d\"]", "@/p/a/b|c/d" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct mor_manifest *m;
		char text[100];

		snprintf(text, sizeof(text), "[plugin]\ncommand = %s\n", cases[i].command);
		put("p/mortise.toml", text);
		m = load_path("p");
		expect_list(m->argv, cases[i].argv);
		expect_path(m->cwd, "@/p");
		assert_string_equal(m->name, "p");
		mor_manifest_free(m);
	}
}

static void test_refused(void **state)
{
	static const struct {
		const char *toml, *text;
	} cases[] = {
		{ "[plugin]\nname = \"n\"\n",
		  "p/mortise.toml: nothing to run: add command = \"./program\" below [plugin]" },
		{ "[plugin]\ncomand = \"x\"\n",
		  "p/mortise.toml:2: [plugin] has no key \"comand\": did you mean \"command\"?" },
		{ "[plugin]\nzzzzzz = \"x\"\n",
		  "p/mortise.toml:2: [plugin] has no key \"zzzzzz\": use one of name, dialect, command, args, "
		  "cwd, framing, transport, version, description" },
		{ "[timeout]\nx = \"1s\"\n",
		  "p/mortise.toml:1: no section \"timeout\": did you mean \"timeouts\"?" },
		{ "[qqqqqqq]\n",
		  "p/mortise.toml:1: no section \"qqqqqqq\": use one of plugin, env, timeouts, restart, "
		  "cancel, stop, health, grpc, limits, sandbox, quirks, config" },
		{ "name = \"x\"\n", "p/mortise.toml:1: \"name\" is in no section: write it below [plugin]" },
		{ "plugin = 5\n", "p/mortise.toml:1: plugin is a section: write its keys below [plugin]" },
		{ "[plugin]\nname = 5\n", "p/mortise.toml:2: plugin.name is 5: it must be a string" },
		{ "[plugin]\ncommand = []\n",
		  "p/mortise.toml:2: plugin.command is []: it must be a program, or an array with a program "
		  "and its arguments" },
		{ "[plugin]\ncommand = [\"./a\", 1]\n",
		  "p/mortise.toml:2: plugin.command is [\"./a\",1]: it must be a program, or an array with a "
		  "program and its arguments" },
		{ "[plugin]\ncommand = \"\"\n",
		  "p/mortise.toml:2: plugin.command is \"\": it must be a program, or an array with a program "
		  "and its arguments" },
		{ "[plugin]\nargs = \"-x\"\n",
		  "p/mortise.toml:2: plugin.args is \"-x\": it must be an array of strings" },
		{ "\n\n[timeouts]\n\"a.b\" = \"soon\"\n",
		  "p/mortise.toml:4: timeouts.a.b is \"soon\": it must be a time such as \"30s\", \"500ms\" or "
		  "\"2m\"" },
		{ "[limits]\nframe = \"10 parsecs\"\n",
		  "p/mortise.toml:2: limits.frame is \"10 parsecs\": it must be a size such as 4096, \"64K\" "
		  "or \"10M\"" },
		{ "[limits]\nin_flight = -1\n",
		  "p/mortise.toml:2: limits.in_flight is -1: it must be a whole number that is not negative" },
		{ "[restart]\nenabled = \"yes\"\n",
		  "p/mortise.toml:2: restart.enabled is \"yes\": it must be true or false" },
		{ "[env]\nA = [1]\n", "p/mortise.toml:2: env.A is [1]: it must be a string" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		put("p/mortise.toml", cases[i].toml);
		refuse("p", MORTISE_EMANIFEST, cases[i].text);
	}
}

/* What toml++ says after the position is its own. */
static void test_no_toml(void **state)
{
	struct mor_manifest_query query = { .path = "p", .config_home = "home" };
	mortise_error err = { 0 };
	struct mor_manifest *m = NULL;

	(void)state;
	put("p/mortise.toml", "[plugin]\nname = \"x\n");
	assert_int_equal(mor_manifest_load(&query, &m, &err), MORTISE_EMANIFEST);
	assert_int_equal(strncmp(err.text, "p/mortise.toml:2:", 17), 0);
}

static void test_timeouts(void **state)
{
	struct mor_manifest *m;
	mortise_error err;
	uint32_t ms = 7;

	(void)state;
	put("p/mortise.toml",
	    RUN "[timeouts]\nextractor.extract = \"300s\"\n\"plugin.init\" = 1.5\nx = 2\n\"*\" = \"500ms\"\n");
	m = load_path("p");
	assert_int_equal(mor_manifest_duration(m, "timeouts", "extractor.extract", &ms, &err), 1);
	assert_int_equal(ms, 300000);
	assert_int_equal(mor_manifest_duration(m, "timeouts", "plugin.init", &ms, &err), 1);
	assert_int_equal(ms, 1500);
	assert_int_equal(mor_manifest_duration(m, "timeouts", "x", &ms, &err), 1);
	assert_int_equal(ms, 2000);
	assert_int_equal(mor_manifest_duration(m, "timeouts", "*", &ms, &err), 1);
	assert_int_equal(ms, 500);
	assert_int_equal(mor_manifest_duration(m, "timeouts", "y", &ms, &err), 0);
	assert_int_equal(ms, 500);
	assert_string_equal(mor_manifest_setting(m, "timeouts", "extractor.extract")->origin,
			    "p/mortise.toml:4");
	mor_manifest_free(m);
}

static void test_typed(void **state)
{
	struct mor_manifest *m;
	mortise_error err;
	uint32_t number = 0;
	size_t size = 0;
	bool on = true;

	(void)state;
	put("p/mortise.toml",
	    RUN "[restart]\nenabled = false\nintensity = 3\n[limits]\nframe = \"10MiB\"\nqueue = 4096\n"
		"[quirks]\ninit_params = \"raw\"\nbroken = \"x\"\n[sandbox]\nread = [\"/etc\"]\n");
	m = load_path("p");
	assert_int_equal(mor_manifest_bool(m, "restart", "enabled", &on, &err), 1);
	assert_false(on);
	assert_int_equal(mor_manifest_uint(m, "restart", "intensity", &number, &err), 1);
	assert_int_equal(number, 3);
	assert_int_equal(mor_manifest_bytes(m, "limits", "frame", &size, &err), 1);
	assert_int_equal(size, 10 * 1024 * 1024);
	assert_int_equal(mor_manifest_bytes(m, "limits", "queue", &size, &err), 1);
	assert_int_equal(size, 4096);
	assert_string_equal(mor_manifest_text(m, "quirks", "init_params"), "raw");
	assert_null(mor_manifest_text(m, "restart", "enabled"));
	assert_null(mor_manifest_text(m, "quirks", "none"));
	assert_string_equal(mor_manifest_setting(m, "sandbox", "read")->json, "[\"/etc\"]");
	/* Quirks are free, so their types are judged when somebody reads them. */
	assert_int_equal(mor_manifest_uint(m, "quirks", "broken", &number, &err), MORTISE_EMANIFEST);
	assert_string_equal(
		err.text,
		"p/mortise.toml:11: quirks.broken is \"x\": it must be a whole number that is not negative");
	assert_int_equal(mor_manifest_bool(m, "quirks", "broken", &on, &err), MORTISE_EMANIFEST);
	assert_int_equal(mor_manifest_bytes(m, "quirks", "broken", &size, &err), MORTISE_EMANIFEST);
	assert_int_equal(mor_manifest_duration(m, "quirks", "broken", &number, &err), MORTISE_EMANIFEST);
	assert_int_equal(number, 3);
	mor_manifest_free(m);
}

/* Foreign manifest, mortise.toml, the user's file, --set: later wins. */
static void test_order(void **state)
{
	static const char *const set[] = { "plugin.version=4", NULL };
	struct mor_manifest_query query = { .path = "p" };
	struct mor_manifest *m;

	(void)state;
	put("p/yams-plugin.json", "{\"name\":\"demo\",\"version\":\"1\",\"description\":\"foreign\"}");
	put("p/plugin.py", "");
	m = load_path("p");
	assert_string_equal(m->version, "1");
	mor_manifest_free(m);
	put("p/mortise.toml", "[plugin]\nversion = \"2\"\nargs = [\"-v\"]\n");
	m = load_path("p");
	assert_string_equal(m->version, "2");
	assert_string_equal(m->dialect, "yams");
	assert_string_equal(m->description, "foreign");
	expect_list(m->argv, "@/p/plugin.py|-v");
	mor_manifest_free(m);
	put("home/mortise/plugins/demo.toml", "[plugin]\nversion = \"3\"\n[timeouts]\nx = 1\n");
	m = load_path("p");
	assert_string_equal(m->version, "3");
	assert_string_equal(mor_manifest_setting(m, "timeouts", "x")->origin,
			    "home/mortise/plugins/demo.toml:4");
	mor_manifest_free(m);
	query.set = set;
	m = load_query(query);
	assert_string_equal(m->version, "4");
	mor_manifest_free(m);
	put("home/mortise/plugins/demo.toml", "[plugn]\n");
	refuse("p", MORTISE_EMANIFEST,
	       "home/mortise/plugins/demo.toml:1: no section \"plugn\": did you mean \"plugin\"?");
}

static void test_config_home(void **state)
{
	struct mor_manifest_query query = { .path = "p" };
	struct mor_manifest *m = NULL;
	char home[200];
	mortise_error err;

	(void)state;
	put("p/mortise.toml", RUN);
	put("xdg/mortise/plugins/p.toml", "[plugin]\nversion = \"xdg\"\n");
	put("h/.config/mortise/plugins/p.toml", "[plugin]\nversion = \"home\"\n");
	snprintf(home, sizeof(home), "%s/h", tree);
	setenv("HOME", home, 1);
	assert_int_equal(mor_manifest_load(&query, &m, &err), 0);
	assert_string_equal(m->version, "home");
	mor_manifest_free(m);
	setenv("XDG_CONFIG_HOME", "xdg", 1); /* not an absolute path: as if it were not set */
	assert_int_equal(mor_manifest_load(&query, &m, &err), 0);
	assert_string_equal(m->version, "home");
	mor_manifest_free(m);
	snprintf(home, sizeof(home), "%s/xdg", tree);
	setenv("XDG_CONFIG_HOME", home, 1);
	assert_int_equal(mor_manifest_load(&query, &m, &err), 0);
	assert_string_equal(m->version, "xdg");
	mor_manifest_free(m);
	unsetenv("XDG_CONFIG_HOME");
	/* A name that leaves the directory is no file name. */
	put("h/.config/mortise/x.toml", "[nonsense]\n");
	query.name = "../x";
	assert_int_equal(mor_manifest_load(&query, &m, &err), 0);
	mor_manifest_free(m);
}

/* mortise.toml beside a named file counts when it is about that file. */
static void test_beside_file(void **state)
{
	struct mor_manifest *m;

	(void)state;
	put("p/x.py", "");
	put("p/y.py", "");
	put("p/mortise.toml",
	    "[plugin]\nname = \"ex\"\ndialect = \"yams\"\ncommand = [\"python3\", \"-O\", \"x.py\"]\n");
	m = load_path("p/x.py");
	assert_string_equal(m->name, "ex");
	assert_string_equal(m->dialect, "yams");
	expect_list(m->argv, "python3|-O|x.py");
	mor_manifest_free(m);
	m = load_path("p/y.py");
	assert_string_equal(m->name, "y");
	assert_string_equal(m->dialect, "plain");
	expect_list(m->argv, "@/p/y.py");
	mor_manifest_free(m);
	put("p/mortise.toml", "[plugin]\ncommand = \"./x.py\"\nversion = \"5\"\n");
	m = load_path("p/x.py");
	assert_string_equal(m->version, "5");
	mor_manifest_free(m);
	put("p/mortise.toml", "[plugin]\nversion = \"6\"\n");
	m = load_path("p/y.py");
	assert_string_equal(m->version, "6");
	expect_list(m->argv, "@/p/y.py");
	mor_manifest_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TREE_TEST(test_plugin_section), TREE_TEST(test_command_forms), TREE_TEST(test_refused),
		TREE_TEST(test_no_toml),        TREE_TEST(test_timeouts),      TREE_TEST(test_typed),
		TREE_TEST(test_order),          TREE_TEST(test_config_home),   TREE_TEST(test_beside_file),
	};

	return mor_run_group("manifest/own", tests);
}
