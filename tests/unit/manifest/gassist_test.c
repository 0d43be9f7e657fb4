/* SPDX-License-Identifier: Apache-2.0 */
/* manifest.json of G-Assist. Names of rules: docs/reference/manifests.md. */
#include "tree.h"

#define HEAD "\"manifestVersion\":1,\"protocol_version\":\"2.0\",\"persistent\":true"
#define FN   "{\"name\":\"f\",\"description\":\"d\"}"
#define ONE  HEAD ",\"executable\":\"plugin.py\",\"functions\":[" FN "]"

static int gassist_setup(void **state)
{
	int r = tree_setup(state);

	unsetenv("GA_PYTHON_DEV");
	setenv("XDG_STATE_HOME", "/state", 1);
	return r;
}

#define GASSIST_TEST(fn) cmocka_unit_test_setup_teardown(fn, gassist_setup, tree_teardown)

static void put_plugin(const char *json)
{
	put("demo/manifest.json", json);
	put("demo/plugin.py", "");
}

/* The plugin with these members beside the usual ones. */
static struct mor_manifest *load_with(const char *members)
{
	char json[600];

	snprintf(json, sizeof(json), "{" HEAD ",\"executable\":\"plugin.py\",%s}", members);
	put_plugin(json);
	return load_path("demo");
}

static void expect_warning(const struct mor_manifest *m, size_t index, const char *wanted)
{
	const struct mor_list *node = m->warnings.next;

	for (; index > 0 && node != &m->warnings; index--)
		node = node->next;
	if (!wanted) {
		if (node != &m->warnings)
			fail_msg("unexpected: %s", mor_container_of(node, struct mor_warning, node)->text);
		return;
	}
	assert_true(node != &m->warnings);
	assert_string_equal(mor_container_of(node, struct mor_warning, node)->text, wanted);
}

static void warned(const char *json, const char *text)
{
	struct mor_manifest *m;

	put_plugin(json);
	m = load_path("demo");
	expect_warning(m, 0, text);
	expect_warning(m, 1, NULL);
	mor_manifest_free(m);
}

static void refused(const char *json, const char *text)
{
	put_plugin(json);
	refuse("demo", MORTISE_EMANIFEST, text);
}

static void test_identity(void **state)
{
	struct mor_manifest *m;

	(void)state;
	put_plugin("\xef\xbb\xbf{\n" ONE
		   ",\"name\":\"demo\",\n\"version\":\"1.2\",\"description\":\"says it\",\"tags\":[\"a\"]}");
	m = load_path("demo");
	expect_warning(m, 0, NULL);
	assert_string_equal(m->name, "demo");
	assert_string_equal(m->version, "1.2");
	assert_string_equal(m->description, "says it");
	assert_string_equal(m->dialect, "gassist");
	expect_path(m->dir, "@/demo");
	expect_path(m->cwd, "@/demo");
	expect_path(m->file, "@/demo/manifest.json");
	expect_list(m->argv, "@/demo/plugin.py");
	assert_string_equal(mor_manifest_setting(m, "plugin", "version")->origin, "demo/manifest.json:3");
	assert_string_equal(mor_manifest_setting(m, "plugin", "command")->origin, "demo/manifest.json:2");
	mor_manifest_free(m);
	/* The file itself may be named, and so may its program: it stays the plugin of that directory. */
	m = load_path("demo/manifest.json");
	assert_string_equal(m->name, "demo");
	mor_manifest_free(m);
	m = load_path("demo/plugin.py");
	assert_string_equal(m->name, "demo");
	assert_string_equal(m->dialect, "gassist");
	expect_list(m->argv, "@/demo/plugin.py");
	mor_manifest_free(m);
}

#define STEPS \
	"V1 is no longer supported. To migrate: 1. copy gassist_sdk (plugins/sdk/python in NVIDIA's " \
	"G-Assist repository) into libs/; " \
	"2. replace the code with SDK-based code; 3. put \"protocol_version\": \"2.0\" into manifest.json; " \
	"4. remove all " \
	"heartbeat/threading code; 5. remove all pipe I/O code (the SDK does both)"

static void test_protocol_version(void **state)
{
	static const char *const fine[] = { "\"2.0\"", "\"2\"", "\"2.1\"", "2.0", "2" };
	struct mor_manifest *m;

	(void)state;
	refused("{\"manifestVersion\":1,\"executable\":\"plugin.py\",\"persistent\":false,\"functions\":[]}",
		"demo/manifest.json:1:1: /protocol_version is missing, so this is a V1 plugin: " STEPS);
	refused("{\n\"protocol_version\":\"1.0\"}",
		"demo/manifest.json:2:1: /protocol_version is \"1.0\": " STEPS);
	refused("{\"protocol_version\":1}", "demo/manifest.json:1:2: /protocol_version is \"1\": " STEPS);
	refused("{\"protocol_version\":\"3.0\"}",
		"demo/manifest.json:1:2: /protocol_version is \"3.0\": this host speaks \"2.0\"");
	refused("{\"protocol_version\":\"20\"}",
		"demo/manifest.json:1:2: /protocol_version is \"20\": this host speaks \"2.0\"");
	for (size_t i = 0; i < sizeof(fine) / sizeof(*fine); i++) {
		char json[200];

		snprintf(json, sizeof(json),
			 "{\"manifestVersion\":1,\"persistent\":true,\"executable\":\"plugin.py\",\"functions\":[" FN
			 "],\"protocol_version\":%s}",
			 fine[i]);
		put_plugin(json);
		m = load_path("demo");
		expect_warning(m, 0, NULL);
		mor_manifest_free(m);
	}
}

static void test_refused(void **state)
{
	(void)state;
	refused("{" HEAD "}",
		"demo/manifest.json:1:1: /executable is missing: it must be a file in the plugin's directory, "
		"such as \"plugin.py\"");
	refused("{" HEAD ",\"executable\":5}",
		"demo/manifest.json:1:65: /executable is of type number: it must be a file in the plugin's "
		"directory, such as \"plugin.py\"");
	refused("{\"protocol_version\":\"2.0\",\"manifestVersion\":2,\"executable\":\"plugin.py\"}",
		"demo/manifest.json:1:27: /manifestVersion is 2: only 1 is known");
	refused("{\"protocol_version\":\"2.0\",\n \"executable\":\"plugin.py\",\n \"persistent\":\"yes\"}",
		"demo/manifest.json:3:2: /persistent is of type string: it must be true or false");
	refused("{\"executable\":", "demo/manifest.json:1:15: unexpected end of data: correct the JSON there");
	refused("not json at all",
		"demo/manifest.json:1:1: invalid literal, expected a valid literal such as 'null': correct the "
		"JSON there");
	refused("{" ONE ",\"mcp\":[]}",
		"demo/manifest.json:1:135: /mcp is of type array: it must be an object");
	refused("{" ONE ",\"mcp\":{\"enabled\":1}}",
		"demo/manifest.json:1:142: /mcp/enabled is of type number: it must be true or false");
	refused("{" ONE ",\"tether_config\":{\"onboarding_timeout\":\"5\"}}",
		"demo/manifest.json:1:152: /tether_config/onboarding_timeout is of type string: it must be a "
		"number of seconds");
	/* A file of that name that is somebody else's is not ours. */
	put("web/manifest.json", "{\"short_name\":\"x\",\"start_url\":\"/\"}");
	put("web/mortise.toml", "[plugin]\ncommand = \"./x\"\n");
	mor_manifest_free(load_path("web"));
}

static void test_functions(void **state)
{
	static const char flat[] =
		"[{\"name\":\"say\",\"kind\":\"function\",\"description\":\"Says\",\"parameters\":{\"properties\":{\"who\":{\"type\":\"string\"}},\"required\":[\"who\"]}}]";
	static const struct {
		const char *json, *actions;
	} cases[] = {
		{ "\"functions\":[{\"name\":\"say\",\"description\":\"Says\",\"tags\":[\"a\"],\"properties\":{\"who\":{\"type\":\"string\"}},\"required\":[\"who\"]}]",
		  flat },
		{ "\"functions\":[{\"name\":\"say\",\"description\":\"Says\",\"parameters\":{\"type\":\"object\",\"properties\":{\"who\":{\"type\":\"string\"}},\"required\":[\"who\"]}}]",
		  flat },
		{ "\"schema\":{\"anyOf\":[{\"title\":\"say\",\"description\":\"Says\",\"properties\":{\"who\":{\"type\":\"string\"}},\"required\":[\"who\"]}]}",
		  flat },
		{ "\"schema\":{\"oneOf\":[{\"function\":{\"name\":\"say\",\"description\":\"Says\",\"parameters\":{\"properties\":{\"who\":{\"type\":\"string\"}},\"required\":[\"who\"]}}}]}",
		  flat },
		{ "\"schema\":{\"name\":\"say\",\"description\":\"Says\",\"properties\":{\"who\":{\"type\":\"string\"}},\"required\":[\"who\"]}",
		  flat },
		{ "\"schema\":{\"$schema\":\"x\",\"type\":{},\"say\":{\"description\":\"Says\",\"properties\":{\"who\":{\"type\":\"string\"}},\"required\":[\"who\"]}}",
		  flat },
		{ "\"functions\":[" FN "]",
		  "[{\"name\":\"f\",\"kind\":\"function\",\"description\":\"d\",\"parameters\":{\"properties\":{},\"required\":[]}}]" },
		{ "\"mcp\":{\"enabled\":true,\"server_url\":null,\"launch_on_startup\":true,\"poll_interval\":0,\"auto_refresh_session\":false}",
		  "[]" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct mor_manifest *m = load_with(cases[i].json);

		expect_actions(m, cases[i].actions);
		expect_warning(m, 0, NULL);
		mor_manifest_free(m);
	}
}

/* Marked where it has an effect; a plugin that looks for functions says that there may be more. */
static void test_passthrough(void **state)
{
	static const struct {
		const char *json;
		bool passthrough, more;
	} cases[] = {
		{ "\"functions\":[" FN "],\"passthrough\":true", true, false },
		{ "\"functions\":[" FN "],\"passthrough\":false", false, false },
		{ "\"functions\":[" FN "]", false, false },
		{ "\"functions\":[" FN "," FN "],\"passthrough\":true", false, false },
		{ "\"functions\":[" FN "],\"mcp\":{\"enabled\":true}", false, true },
		{ "\"functions\":[" FN "],\"mcp\":{\"enabled\":false}", false, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct mor_manifest *m = load_with(cases[i].json);

		assert_string_equal(mor_json_text(mor_json_at(mor_doc_root(m->actions), "/0/name"), ""), "f");
		assert_int_equal(mor_json_bool(mor_json_at(mor_doc_root(m->actions), "/0/passthrough"), false),
				 cases[i].passthrough);
		assert_int_equal(m->more_actions, cases[i].more);
		mor_manifest_free(m);
	}
}

static void test_functions_refused(void **state)
{
	static const struct {
		const char *json, *text;
	} cases[] = {
		{ "\"functions\":[" FN ",\n{\"name\":\"rise_up\",\"description\":\"d\"}]",
		  "demo/manifest.json:3:1: /functions/1 is called \"rise_up\": names that begin with \"rise_\" "
		  "are the engine's own: rename it" },
		{ "\"functions\":[{\"name\":\"f\"}]",
		  "demo/manifest.json:2:14: /functions/0 is the function \"f\" without a description: add "
		  "one" },
		{ "\"functions\":[{\"description\":\"d\"}]",
		  "demo/manifest.json:2:14: /functions/0 has no name: add one" },
		{ "\"functions\":[\"f\"]",
		  "demo/manifest.json:2:14: /functions/0 is of type string: it must be a function, an object "
		  "with name and description" },
		{ "\"functions\":{}",
		  "demo/manifest.json:2:1: /functions is of type object: it must be an array of functions" },
		{ "\"functions\":[{\"name\":\"f\",\"description\":\"d\",\"properties\":[]}]",
		  "demo/manifest.json:2:14: /functions/0 has properties of type array: it must be an object" },
		{ "\"functions\":[{\"name\":\"f\",\"description\":\"d\",\"parameters\":{\"properties\":{},\"required\":{}}}]",
		  "demo/manifest.json:2:14: /functions/0 has parameters.required of type object: it must be an "
		  "array" },
		{ "\"functions\":[{\"name\":\"f\",\"description\":\"d\",\"parameters\":[]}]",
		  "demo/manifest.json:2:14: /functions/0 has parameters of type array: they must be an "
		  "object" },
		{ "\"schema\":{\"rise_x\":{\"description\":\"d\"}}",
		  "demo/manifest.json:2:11: /schema/rise_x is called \"rise_x\": names that begin with "
		  "\"rise_\" are the engine's own: rename it" },
		{ "\"schema\":[]", "demo/manifest.json:2:1: /schema is of type array: it must be an object" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char json[400];

		snprintf(json, sizeof(json), "{" HEAD ",\"executable\":\"plugin.py\",\n%s}", cases[i].json);
		refused(json, cases[i].text);
	}
}

static void test_warnings(void **state)
{
	struct mor_manifest *m;

	(void)state;
	warned("{\"protocol_version\":\"2.0\",\"manifestVersion\":1,\"executable\":\"plugin.py\",\"functions\":[" FN
	       "]}",
	       "demo/manifest.json:1:1: /persistent is missing: false is assumed");
	warned("{\"protocol_version\":\"2.0\",\"persistent\":false,\"executable\":\"plugin.py\",\"functions\":[" FN
	       "]}",
	       "demo/manifest.json:1:1: /manifestVersion is missing: 1 is assumed");
	warned("{" HEAD ",\"executable\":\"plugin.py\",\"functions\":[]}",
	       "demo/manifest.json:1:90: /functions names no function");
	warned("{" HEAD ",\"executable\":\"plugin.py\",\"functions\":[" FN "," FN "],\"passthrough\":true}",
	       "demo/manifest.json:1:166: /passthrough has no effect: it is for plugins with exactly one "
	       "function, and this one has 2");
	warned("{" ONE ",\"passthrough\":true}", NULL);
	warned("{" ONE ",\n\"name\":\"other\"}",
	       "demo/manifest.json:2:1: /name is \"other\", but a G-Assist plugin has the name of its "
	       "directory: \"demo\"");
	warned("{" ONE ",\n\"tethred\":true}",
	       "demo/manifest.json:2:1: /tethred is not known and has no effect: did you mean \"tethered\"?");
	warned("{" ONE ",\n\"zzz\":true}", "demo/manifest.json:2:1: /zzz is not known and has no effect");
	warned("{" ONE ",\n\"mcp\":{\"enabled\":true,\"x\":1}}",
	       "demo/manifest.json:2:23: /mcp/x is not known and has no effect");
	warned("{" ONE ",\"tethered\":true,\n\"tether_config\":{\"heartbeat_interval\":5,\"y\":1}}",
	       "demo/manifest.json:2:41: /tether_config/y is not known and has no effect");
	put("1 st/manifest.json", "{" ONE "}");
	put("1 st/plugin.py", "");
	m = load_path("1 st");
	assert_string_equal(m->name, "1 st");
	expect_warning(m, 0,
		       "1 st: G-Assist itself would refuse a plugin in a directory called \"1 st\": use "
		       "letters, digits, \"_\" and \"-\", a letter first");
	mor_manifest_free(m);
	put("Con/manifest.json", "{" ONE "}");
	put("Con/plugin.py", "");
	m = load_path("Con");
	expect_warning(m, 0,
		       "Con: G-Assist itself would refuse a plugin in a directory called \"Con\": use letters, "
		       "digits, \"_\" and \"-\", a letter first");
	mor_manifest_free(m);
}

/* The author's own statement raises the limit of a call, never lowers it; the user's configuration wins. */
static void test_onboarding(void **state)
{
	static const char *const set[] = { "timeouts.execute=1s", NULL };
	struct mor_manifest *m;
	uint32_t ms = 0;

	(void)state;
	put_plugin(
		"{" ONE
		",\"tethered\":true,\n\"tether_config\":{\"heartbeat_interval\":5,\"heartbeat_timeout\":20,\n"
		"\"onboarding_timeout\":300,\"allow_passthrough\":true}}");
	m = load_path("demo");
	expect_warning(m, 0, NULL);
	assert_int_equal(mor_manifest_duration(m, "timeouts", "execute", &ms, NULL), 1);
	assert_int_equal(ms, 300000);
	assert_string_equal(mor_manifest_setting(m, "timeouts", "execute")->origin, "demo/manifest.json:3");
	mor_manifest_free(m);
	m = load_query((struct mor_manifest_query){ .path = "demo", .set = set });
	assert_int_equal(mor_manifest_duration(m, "timeouts", "execute", &ms, NULL), 1);
	assert_int_equal(ms, 1000);
	mor_manifest_free(m);
	put_plugin("{" ONE ",\"tether_config\":{\"onboarding_timeout\":30}}");
	m = load_path("demo");
	assert_null(mor_manifest_setting(m, "timeouts", "execute"));
	mor_manifest_free(m);
	refused("{" ONE ",\"tether_config\":{\"onboarding_timeout\":1e99}}",
		"demo/manifest.json:1: timeouts.execute is 1e99: it must be a time such as \"30s\", \"500ms\" "
		"or \"2m\"");
}

static void runs(const char *executable, const char *argv)
{
	struct mor_manifest *m;
	char json[300];

	snprintf(json, sizeof(json), "{" HEAD ",\"functions\":[" FN "],\"executable\":\"%s\"}", executable);
	put("demo/manifest.json", json);
	m = load_path("demo");
	expect_list(m->argv, argv);
	expect_path(m->cwd, "@/demo");
	mor_manifest_free(m);
}

static void put_program(const char *name, const char *text)
{
	put(name, text);
	assert_int_equal(chmod(name, 0755), 0);
}

/* What was made for Windows is replaced by a sibling; what runs here runs. */
static void test_launch(void **state)
{
	static const struct {
		const char *make, *argv;
	} steps[] = {
		/* each is preferred to those before it */
		{ "demo/index.py", "@/demo/index.py" },   { "demo/main.js", "@/demo/main.js" },
		{ "demo/plugin.py", "@/demo/plugin.py" }, { "demo/plugin.js", "@/demo/plugin.js" },
		{ "demo/launch.py", "@/demo/launch.py" }, { "demo/launch.js", "@/demo/launch.js" },
	};

	(void)state;
	put("demo/launch.bat", "@echo off\r\nnode plugin.js\r\n");
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		put(steps[i].make, "");
		runs("launch.bat", steps[i].argv);
		/* not there under this name */
		runs("./Launch.BAT", i < 4 ? steps[i].argv : "@/demo/plugin.js");
	}
	put("demo/launch", "not executable");
	runs("launch.bat", "@/demo/launch.js");
	put_program("demo/launch", "#!/bin/sh\n");
	runs("launch.bat", "@/demo/launch");
	put_program("demo/launch.bat", "#!/bin/sh\n");
	runs("launch.bat", "@/demo/launch.bat");
	put_program("demo/plugin.exe", "MZ\x90");
	runs("./plugin.exe", "@/demo/plugin.js");
	put_program("demo/plugin.exe", "\177ELF");
	runs("./plugin.exe", "@/demo/plugin.exe");
	put("demo/bin/tool.py", "");
	runs("bin\\\\tool.exe", "@/demo/bin/tool.py");
	put("demo/program", "");
	runs("program", "@/demo/program");
}

static void test_launch_refused(void **state)
{
	static const char *const set[] = { "plugin.command=true", NULL };

	(void)state;
	put("demo/manifest.json", "{" HEAD ",\"functions\":[" FN "],\n\"executable\":\"gone.py\"}");
	refuse("demo", MORTISE_EMANIFEST,
	       "demo/manifest.json:2:1: /executable is \"gone.py\", which does not exist: build it, or correct "
	       "the name");
	/* A user who gives a command needs none from the manifest. */
	mor_manifest_free(load_query((struct mor_manifest_query){ .path = "demo", .set = set }));
	put("demo/manifest.json", "{" HEAD ",\"functions\":[" FN "],\n\"executable\":\"run.bat\"}");
	refuse("demo", MORTISE_EMANIFEST,
	       "demo/manifest.json:2:1: /executable is \"run.bat\", which does not exist; looked beside it for "
	       "run, run.js, run.py, plugin, plugin.js, plugin.py, main, main.js, main.py, index, index.js, "
	       "index.py: add one of these, or a mortise.toml with command = \"./program\" below [plugin]");
	put("demo/run.bat", "@echo off");
	refuse("demo", MORTISE_EMANIFEST,
	       "demo/manifest.json:2:1: /executable is \"run.bat\", which cannot run here; looked beside it "
	       "for run, run.js, run.py, plugin, plugin.js, plugin.py, main, main.js, main.py, index, "
	       "index.js, index.py: add one of these, or a mortise.toml with command = \"./program\" below "
	       "[plugin]");
	put("demo/manifest.json", "{" HEAD ",\"functions\":[" FN "],\n\"executable\":\"\"}");
	refuse("demo", MORTISE_EMANIFEST,
	       "demo/manifest.json:2:1: /executable is \"\", which does not exist: build it, or correct the "
	       "name");
}

static void test_python(void **state)
{
	struct mor_manifest *m;

	(void)state;
	put_plugin("{" ONE "}");
	setenv("GA_PYTHON_DEV", "/opt/py/bin/python", 1);
	m = load_path("demo");
	expect_list(m->argv, "/opt/py/bin/python|-u|@/demo/plugin.py");
	assert_null(m->env_front); /* no libs/ */
	mor_manifest_free(m);
	put("demo/libs/", "");
	m = load_path("demo");
	assert_memory_equal(m->env_front[0], "PYTHONPATH=", 11);
	assert_memory_equal(m->env_front[0] + 11, tree, strlen(tree));
	assert_non_null(strstr(m->env_front[0], "/demo/libs"));
	assert_null(m->env_front[1]);
	mor_manifest_free(m);
	unsetenv("GA_PYTHON_DEV");
	put("demo/mortise.toml", "[plugin]\ncommand = [\"python3\", \"plugin.py\"]\n");
	m = load_path("demo");
	assert_non_null(m->env_front);
	mor_manifest_free(m);
	/* Not for what is no Python program. */
	put("demo/mortise.toml", "[plugin]\ncommand = [\"node\", \"plugin.js\"]\n");
	m = load_path("demo");
	assert_null(m->env_front);
	mor_manifest_free(m);
}

static void test_program_data(void **state)
{
	static const char *const env[] = { "PROGRAMDATA=/mine", NULL };
	struct mor_manifest *m;
	char home[100];

	(void)state;
	put_plugin("{" ONE "}");
	m = load_path("demo");
	expect_list(m->env, "PROGRAMDATA=/state/mortise/gassist/demo");
	expect_list(m->make_dirs, "/state/mortise/gassist/demo");
	mor_manifest_free(m);
	m = load_query((struct mor_manifest_query){ .path = "demo", .env = env });
	expect_list(m->env, "PROGRAMDATA=/mine");
	mor_manifest_free(m);
	/* Made when it starts, not when its manifest is read. */
	snprintf(home, sizeof(home), "%s/home", tree);
	setenv("HOME", home, 1);
	unsetenv("XDG_STATE_HOME");
	m = load_path("demo");
	expect_list(m->make_dirs, "@/home/.local/state/mortise/gassist/demo");
	assert_int_equal(access(m->make_dirs[0], F_OK), -1);
	assert_int_equal(mor_manifest_prepare(m, NULL), 0);
	assert_int_equal(access(m->make_dirs[0], W_OK), 0);
	assert_int_equal(mor_manifest_prepare(m, NULL), 0);
	mor_manifest_free(m);
	put("file", "");
	snprintf(home, sizeof(home), "%s/file", tree);
	setenv("XDG_STATE_HOME", home, 1);
	m = load_path("demo");
	assert_int_equal(mor_manifest_prepare(m, NULL), MORTISE_ESYSTEM);
	mor_manifest_free(m);
	unsetenv("HOME");
	unsetenv("XDG_STATE_HOME");
	m = load_path("demo");
	assert_null(m->env);
	assert_null(m->make_dirs);
	mor_manifest_free(m);
}

static void test_limits(void **state)
{
	char *big = malloc(MOR_MANIFEST_LIMIT + 1);

	(void)state;
	assert_non_null(big);
	memset(big, ' ', MOR_MANIFEST_LIMIT + 1);
	put_bytes("demo/manifest.json", big, MOR_MANIFEST_LIMIT + 1);
	refuse("demo", MORTISE_EMANIFEST, "demo/manifest.json: larger than 1 MiB: make it smaller");
	memset(big, '[', 500);
	put_bytes("demo/manifest.json", big, 500);
	refuse("demo", MORTISE_EMANIFEST, "demo/manifest.json: nested deeper than 128 levels");
	free(big);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		GASSIST_TEST(test_identity),          GASSIST_TEST(test_protocol_version),
		GASSIST_TEST(test_refused),           GASSIST_TEST(test_functions),
		GASSIST_TEST(test_functions_refused), GASSIST_TEST(test_warnings),
		GASSIST_TEST(test_onboarding),        GASSIST_TEST(test_launch),
		GASSIST_TEST(test_launch_refused),    GASSIST_TEST(test_python),
		GASSIST_TEST(test_program_data),      GASSIST_TEST(test_limits),
		GASSIST_TEST(test_passthrough),
	};

	return mor_run_group("manifest/gassist", tests);
}
