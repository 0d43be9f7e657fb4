/* SPDX-License-Identifier: Apache-2.0 */
/* Sunscreen's two manifests: plugin.toml and sunscreen-plugin.json. Names of rules:
 * docs/reference/manifests.md. */
#include "tree.h"

/* As the specification prints it. */
static const char printed[] = "[plugin]\n"
			      "name = \"yellowstone-indexer\"\n"
			      "version = \"0.3.0\"\n"
			      "description = \"Scaffold a Yellowstone gRPC indexer slice.\"\n"
			      "entry = \"./bin/plugin\"\n"
			      "\n"
			      "[permissions]\n"
			      "workspace_write = true       # default: false\n"
			      "network = false              # if true, prompts user at install time\n"
			      "declared_paths = []          # extra read-only paths outside workspace\n"
			      "\n"
			      "[commands.scaffold]\n"
			      "indexer = \"Scaffold a Yellowstone indexer slice\"\n"
			      "listener = \"Scaffold an event listener\"\n"
			      "\n"
			      "[commands.hook]\n"
			      "after_build = \"Update indexer config when IDL changes\"\n";

static void expect_setting(const struct mor_manifest *m, const char *section, const char *key, const char *json,
			   const char *origin)
{
	const struct mor_setting *s = mor_manifest_setting(m, section, key);

	if (!s)
		fail_msg("no %s.%s", section, key);
	assert_string_equal(s->json, json);
	assert_string_equal(s->origin, origin);
}

static void expect_warning(const struct mor_manifest *m, const char *wanted)
{
	if (!wanted && !mor_list_empty(&m->warnings))
		fail_msg("unexpected: %s", mor_container_of(m->warnings.next, struct mor_warning, node)->text);
	if (!wanted)
		return;
	assert_false(mor_list_empty(&m->warnings));
	assert_string_equal(mor_container_of(m->warnings.next, struct mor_warning, node)->text, wanted);
}

/* ---- plugin.toml ---- */

static void test_printed(void **state)
{
	struct mor_manifest *m;

	(void)state;
	put("y/plugin.toml", printed);
	put("y/bin/plugin", "");
	m = load_path("y");
	expect_warning(m, NULL);
	assert_string_equal(m->name, "yellowstone-indexer");
	assert_string_equal(m->version, "0.3.0");
	assert_string_equal(m->description, "Scaffold a Yellowstone gRPC indexer slice.");
	assert_string_equal(m->dialect, "sunscreen");
	expect_list(m->argv, "@/y/bin/plugin");
	expect_path(m->cwd, "@/y");
	expect_path(m->file, "@/y/plugin.toml");
	expect_setting(m, "sandbox", "workspace_write", "true", "y/plugin.toml:8");
	expect_setting(m, "sandbox", "network", "false", "y/plugin.toml:9");
	expect_setting(m, "sandbox", "read", "[]", "y/plugin.toml:10");
	expect_setting(m, "plugin", "name", "\"yellowstone-indexer\"", "y/plugin.toml:2");
	assert_null(mor_manifest_setting(m, "sandbox", "spawn"));
	assert_string_equal(mor_json_text(mor_json_at(mor_doc_root(m->doc), "/commands/scaffold/indexer"), ""),
			    "Scaffold a Yellowstone indexer slice");
	expect_actions(
		m,
		"[{\"name\":\"hook:after_build\",\"kind\":\"hook\",\"description\":\"Update indexer config "
		"when IDL "
		"changes\"},{\"name\":\"scaffold:indexer\",\"kind\":\"scaffold\",\"description\":\"Scaffold a "
		"Yellowstone indexer "
		"slice\"},{\"name\":\"scaffold:listener\",\"kind\":\"scaffold\",\"description\":\"Scaffold an "
		"event listener\"}]");
	mor_manifest_free(m);
	m = load_path("y/plugin.toml");
	assert_string_equal(m->name, "yellowstone-indexer");
	mor_manifest_free(m);
}

#define PLUGIN "[plugin]\nname = \"p\"\nversion = \"1\"\nentry = \"run\"\n"

static void toml_refused(const char *toml, int status, const char *text)
{
	put("p/plugin.toml", toml);
	refuse("p", status, text);
}

static void test_toml_refused(void **state)
{
	static const struct {
		const char *toml, *text;
	} cases[] = {
		{ "", "p/plugin.toml:1:1: plugin is missing: it must be a table" },
		{ "[plugin\n", "p/plugin.toml:1:8: Error while parsing table header: expected ']', saw '\\n'" },
		{ "plugin = 1\n", "p/plugin.toml:1:1: plugin is of type number: it must be a table" },
		{ "[plugin]\nversion = \"1\"\nentry = \"run\"\n",
		  "p/plugin.toml:1:2: plugin.name is missing: it must be a string" },
		{ "[plugin]\nname = \"p\"\nentry = \"run\"\n",
		  "p/plugin.toml:1:2: plugin.version is missing: it must be a string" },
		{ "[plugin]\nname = \"p\"\nversion = \"1\"\n",
		  "p/plugin.toml:1:2: plugin.entry is missing: it must be a program in the plugin's directory, "
		  "such as \"./bin/plugin\"" },
		{ "[plugin]\nname = \"p\"\n  version = 1\n",
		  "p/plugin.toml:3:3: plugin.version is of type number: it must be a string" },
		{ "[plugin]\nname = \"../p\"\nversion = \"1\"\nentry = \"run\"\n",
		  "p/plugin.toml:2:1: plugin.name is \"../p\": use letters, digits and \"._+-\", a letter or "
		  "digit first" },
		{ "[plugin]\nname = \"\"\nversion = \"1\"\nentry = \"run\"\n",
		  "p/plugin.toml:2:1: plugin.name is \"\": use letters, digits and \"._+-\", a letter or digit "
		  "first" },
		{ "[plugin]\nname = \"p\"\nversion = \"1/2\"\nentry = \"run\"\n",
		  "p/plugin.toml:3:1: plugin.version is \"1/2\": use letters, digits and \"._+-\", a letter or "
		  "digit first" },
		{ "[plugin]\nname = \"p\"\nversion = \".1\"\nentry = \"run\"\n",
		  "p/plugin.toml:3:1: plugin.version is \".1\": use letters, digits and \"._+-\", a letter or "
		  "digit first" },
		{ "[plugin]\nname = \"p\"\nversion = \"1\"\nentry = \"\"\n",
		  "p/plugin.toml:4:1: plugin.entry is empty: name the program" },
		{ "[plugin]\nname = \"p\"\nversion = \"1\"\nentry = \"a\\u0000b\"\n",
		  "p/plugin.toml:4:1: plugin.entry holds a NUL character: name the program" },
		{ PLUGIN "[permissions]\nnetwork = \"yes\"\n",
		  "p/plugin.toml:6:1: permissions.network is \"yes\": it must be true or false" },
		{ PLUGIN "[permissions]\nspawn = true\n",
		  "p/plugin.toml:6:1: permissions.spawn is not known: use one of workspace_write, network, "
		  "declared_paths" },
		{ PLUGIN "[permissions]\ndeclared_paths = [\"data\"]\n",
		  "p/plugin.toml:6:1: permissions.declared_paths is \"data\": it must be an absolute path, or "
		  "one that begins with \"~/\"" },
		{ PLUGIN "[commands]\nscaffold = \"x\"\n",
		  "p/plugin.toml:6:1: commands.scaffold must be a table of commands and their descriptions" },
		{ PLUGIN "[commands.scaffold]\nx = 1\n",
		  "p/plugin.toml:6:1: commands.scaffold.x must be a string that describes the command" },
		{ PLUGIN "[commands.hook]\n\"a:b\" = \"x\"\n",
		  "p/plugin.toml:6:1: commands.hook.a:b is not a valid command name: use letters, digits and "
		  "\"._+-\", a letter or digit first" },
		{ PLUGIN,
		  "p/plugin.toml:4:1: plugin.entry is \"run\", which does not exist: build it, or correct the "
		  "path" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		toml_refused(cases[i].toml, MORTISE_EMANIFEST, cases[i].text);
}

/* What leaves the plugin's directory is a violation: exit 9. */
static void test_entry_stays_inside(void **state)
{
	static const struct {
		const char *entry, *why;
	} cases[] = {
		{ "/bin/sh", "is absolute" },
		{ "../run", "has a \\\"..\\\"" },
		{ "bin/../../run", "has a \\\"..\\\"" },
		{ "..", "has a \\\"..\\\"" },
		{ "link", "is a link to a file elsewhere" },
		{ "dir/run", "is a link to a file elsewhere" },
	};
	struct mor_manifest *m;

	(void)state;
	put("run", "");
	put("p/own", "");
	assert_int_equal(symlink("../run", "p/link"), 0);
	assert_int_equal(symlink("..", "p/dir"), 0);
	assert_int_equal(symlink("own", "p/alias"), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char toml[200], text[300], why[40], *c = why;

		for (const char *from = cases[i].why; *from; from++)
			if (*from != '\\')
				*c++ = *from;
		*c = '\0';
		snprintf(toml, sizeof(toml), "[plugin]\nname = \"p\"\nversion = \"1\"\nentry = \"%s\"\n",
			 cases[i].entry);
		snprintf(text, sizeof(text),
			 "p/plugin.toml:4:1: plugin.entry is \"%s\", which %s: it must be a file inside the "
			 "plugin's directory",
			 cases[i].entry, why);
		toml_refused(toml, MORTISE_EVIOLATION, text);
	}
	assert_int_equal(mortise_status_exit_code(MORTISE_EVIOLATION), 9);
	/* A link inside is fine, and so is a name with two dots in it. */
	put("p/plugin.toml", "[plugin]\nname = \"p\"\nversion = \"1\"\nentry = \"alias\"\n");
	m = load_path("p");
	expect_list(m->argv, "@/p/alias");
	mor_manifest_free(m);
	put("p/a..b", "");
	put("p/plugin.toml", "[plugin]\nname = \"p\"\nversion = \"1\"\nentry = \"./a..b\"\n");
	m = load_path("p");
	expect_list(m->argv, "@/p/a..b");
	mor_manifest_free(m);
}

static void test_toml_warnings(void **state)
{
	static const struct {
		const char *toml, *text;
	} cases[] = {
		{ PLUGIN "author = \"me\"\n",
		  "p/plugin.toml:5:1: plugin.author is not known and has no effect" },
		{ PLUGIN "[command.scaffold]\nx = \"y\"\n",
		  "p/plugin.toml:5:2: command is not known and has no effect: did you mean \"commands\"?" },
		{ PLUGIN "[commands.app]\nx = \"y\"\n",
		  "p/plugin.toml:5:11: commands.app is not a kind of command in Sunscreen: use scaffold or "
		  "hook" },
		{ PLUGIN "[permissions]\n[commands]\n", NULL },
	};

	(void)state;
	put("p/run", "");
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct mor_manifest *m;

		put("p/plugin.toml", cases[i].toml);
		m = load_path("p");
		expect_warning(m, cases[i].text);
		mor_manifest_free(m);
	}
}

/* Another dialect might be one without a sandbox. */
static void test_dialect_is_fixed(void **state)
{
	struct mor_manifest *m;

	(void)state;
	put("p/run", "");
	put("p/plugin.toml", PLUGIN);
	put("p/mortise.toml", "[timeouts]\n\"*\" = 5\n[plugin]\ndialect = \"plain\"\n");
	refuse("p", MORTISE_EMANIFEST,
	       "p/mortise.toml:4: plugin.dialect: plugin.toml beside it decides the protocol and the sandbox; "
	       "to change that, use --dialect or your own configuration");
	put("p/mortise.toml", "[timeouts]\n\"*\" = 5\n");
	put("home/mortise/plugins/p.toml", "[plugin]\ndialect = \"plain\"\n");
	m = load_path("p");
	assert_string_equal(m->dialect, "plain");
	mor_manifest_free(m);
}

/* ---- sunscreen-plugin.json ---- */

#define ID    "\"name\":\"hello\",\"version\":\"1.0.0\""
#define STDIO ID ",\"transport\":\"stdio-jsonrpc\""
#define RUN   STDIO ",\"entrypoint\":[\"./plugin.sh\"]"

static void test_json(void **state)
{
	struct mor_manifest *m;

	(void)state;
	put("h/sunscreen-plugin.json",
	    "{\n" STDIO
	    ",\n\"description\":\"Says hello\",\n\"entrypoint\":[\"./plugin.sh\",\"--serve\",\"x/y\"],\n"
	    "\"capabilities\":{\n\"network\":true,\n\"filesystem\":[\"workspace\",\"scratch\"]},\n"
	    "\"commands\":[{\"name\":\"hello\",\"kind\":\"app\",\"summary\":\"Greets\"},{\"name\":\"indexer\",\"kind\":\"scaffold\"}],\n"
	    "\"hooks\":[\"post-codama\"],\"engines\":{\"sunscreen\":\">=0.1\"}}");
	m = load_path("h");
	expect_warning(m, NULL);
	assert_string_equal(m->name, "hello");
	assert_string_equal(m->version, "1.0.0");
	assert_string_equal(m->description, "Says hello");
	assert_string_equal(m->dialect, "sunscreen-json");
	expect_list(m->argv, "@/h/plugin.sh|--serve|x/y");
	expect_path(m->cwd, "@/h");
	expect_setting(m, "sandbox", "network", "true", "h/sunscreen-plugin.json:6");
	expect_setting(m, "sandbox", "workspace_write", "true", "h/sunscreen-plugin.json:7");
	expect_setting(m, "sandbox", "spawn", "true", "h/sunscreen-plugin.json:5");
	expect_actions(m, "[{\"name\":\"app:hello\",\"kind\":\"app\",\"description\":\"Greets\"},"
			  "{\"name\":\"scaffold:indexer\",\"kind\":\"scaffold\",\"description\":null},"
			  "{\"name\":\"hook:post-codama\",\"kind\":\"hook\",\"description\":null}]");
	mor_manifest_free(m);
}

static void test_json_launch(void **state)
{
	static const struct {
		const char *entrypoint, *argv;
	} cases[] = {
		{ "[\"sh\",\"plugin.sh\"]", "sh|plugin.sh" }, /* PATH */
		{ "[\"bin/tool\"]", "@/h/bin/tool" },
		{ "[\"/opt/tool\",\"a..b\"]", "/opt/tool|a..b" },
	};
	struct mor_manifest *m;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char json[200];

		snprintf(json, sizeof(json), "{" STDIO ",\"entrypoint\":%s}", cases[i].entrypoint);
		put("h/sunscreen-plugin.json", json);
		m = load_path("h");
		expect_list(m->argv, cases[i].argv);
		mor_manifest_free(m);
	}
	/* A file that is named: run in the manifest's way where the manifest runs it. */
	put("h/sunscreen-plugin.json", "{" STDIO ",\"entrypoint\":[\"sh\",\"plugin.sh\"]}");
	put("h/plugin.sh", "");
	put("h/other.sh", "");
	m = load_path("h/plugin.sh");
	expect_list(m->argv, "sh|plugin.sh");
	mor_manifest_free(m);
	m = load_path("h/other.sh");
	expect_list(m->argv, "@/h/other.sh");
	mor_manifest_free(m);
}

struct json_fault {
	const char *json, *text;
};

static void refuse_jsons(const struct json_fault *cases, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		char text[400];

		snprintf(text, sizeof(text), "h/sunscreen-plugin.json%s", cases[i].text);
		put("h/sunscreen-plugin.json", cases[i].json);
		refuse("h", MORTISE_EMANIFEST, text);
	}
}

static void test_json_refused(void **state)
{
	static const struct json_fault cases[] = {
		{ "{\"version\":\"1.0.0\"}", ":1:1: /name is missing: it must be a string" },
		{ "{\"name\":\"x\"}", ":1:1: /version is missing: it must be a version such as \"1.2.0\"" },
		{ "{" ID "}", ":1:1: /transport is missing: it must be \"stdio-jsonrpc\" or \"grpc\"" },
		{ "{" STDIO "}", ":1:1: /entrypoint names no program: write it as [\"./plugin\"]" },
		{ "{" STDIO ",\"entrypoint\":[]}",
		  ":1:63: /entrypoint names no program: write it as [\"./plugin\"]" },
		{ "{" STDIO ",\"entrypoint\":[1]}",
		  ":1:63: /entrypoint holds something that is not a string: it must be an array with a program "
		  "and its arguments" },
		{ "{" RUN ",\n\"hook\":[]}", ":2:1: /hook is not known: did you mean \"hooks\"?" },
		{ "{" RUN ",\n\"zzz\":[]}",
		  ":2:1: /zzz is not known: use one of name version description transport entrypoint "
		  "capabilities commands hooks engines" },
		{ "{" RUN ",\n\"engines\":{\"node\":\"1\"}}",
		  ":2:12: /engines/node is not known: use one of sunscreen" },
		{ "{" RUN ",\n\"engines\":{\"sunscreen\":1}}",
		  ":2:12: /engines/sunscreen is of type number: it must be a string" },
		{ "{" RUN ",\n\"capabilities\":{\"spawn\":true}}",
		  ":2:17: /capabilities/spawn is not known: use one of network, filesystem" },
		{ "{" RUN ",\n\"capabilities\":{\"filesystem\":[\"home\"]}}",
		  ":2:17: /capabilities/filesystem is \"home\": it must be \"workspace\" or \"scratch\"" },
		{ "{\"name\":\"../../../T\",\"version\":\"1.0.0\",\"transport\":\"grpc\"}",
		  ":1:2: /name is \"../../../T\": use letters, digits and \"._+-\", a letter or digit first" },
		{ "{\"name\":\"x\",\"version\":\"1\",\"transport\":\"grpc\"}",
		  ":1:13: /version is \"1\": write it as MAJOR.MINOR.PATCH" },
		{ "{\"name\":\"x\",\"version\":\"vv1.0.0\",\"transport\":\"grpc\"}",
		  ":1:13: /version is \"vv1.0.0\": write it as MAJOR.MINOR.PATCH" },
		{ "{\"name\":\"x\",\"version\":\"1.0.0-\",\"transport\":\"grpc\"}",
		  ":1:13: /version is \"1.0.0-\": write it as MAJOR.MINOR.PATCH" },
		{ "{" ID ",\"transport\":\"tcp\"}",
		  ":1:35: /transport is \"tcp\": use \"stdio-jsonrpc\" or \"grpc\"" },
	};

	(void)state;
	refuse_jsons(cases, sizeof(cases) / sizeof(*cases));
	assert_int_equal(mortise_status_exit_code(MORTISE_EMANIFEST), 3);
}

static void test_json_commands_refused(void **state)
{
	static const struct json_fault cases[] = {
		{ "{" RUN ",\n\"commands\":[{\"name\":\"a\",\"kind\":\"app\",\"summry\":\"\"}]}",
		  ":2:38: /commands/0/summry is not known: did you mean \"summary\"?" },
		{ "{" RUN ",\n\"commands\":[{\"name\":\"a\"}]}",
		  ":2:13: /commands/0/kind is missing: it must be a string" },
		{ "{" RUN ",\n\"commands\":[{\"kind\":\"app\"}]}",
		  ":2:13: /commands/0/name is missing: it must be a string" },
		{ "{" RUN ",\n\"commands\":[{\"name\":\"a\",\"kind\":\"tool\"}]}",
		  ":2:25: /commands/0/kind is \"tool\": use \"app\" or \"scaffold\"" },
		{ "{" RUN ",\n\"commands\":[{\"name\":\"a\",\"kind\":\"app\",\"summary\":1}]}",
		  ":2:38: /commands/0/summary is of type number: it must be a string" },
		{ "{" RUN ",\n\"commands\":[{\"name\":\"a/b\",\"kind\":\"app\"}]}",
		  ":2:14: /commands/0/name is \"a/b\": use letters, digits and \"._+-\", a letter or digit "
		  "first" },
		{ "{" RUN ",\n\"commands\":[1]}",
		  ":2:13: /commands/0 is of type number: it must be an object with name and kind" },
		{ "{" RUN ",\n\"hooks\":[1]}",
		  ":2:1: /hooks holds something that is not a string: it must be an array of strings" },
		{ "{" RUN ",\n\"hooks\":[\"a:b\"]}",
		  ":2:10: /hooks/0 is \"a:b\": use letters, digits and \"._+-\", a letter or digit first" },
	};

	(void)state;
	refuse_jsons(cases, sizeof(cases) / sizeof(*cases));
}

static void test_json_versions(void **state)
{
	static const char *const fine[] = { "1.2.3", "v1.2.3", "0.0.1-rc.1", "1.0.0+build.7", "10.20.30-a+b" };

	(void)state;
	for (size_t i = 0; i < sizeof(fine) / sizeof(*fine); i++) {
		struct mor_manifest *m;
		char json[200];

		snprintf(json, sizeof(json),
			 "{\"name\":\"x\",\"version\":\"%s\",\"transport\":\"stdio-jsonrpc\",\"entrypoint\":[\"x\"]}",
			 fine[i]);
		put("h/sunscreen-plugin.json", json);
		m = load_path("h");
		assert_string_equal(m->version, fine[i]);
		mor_manifest_free(m);
	}
}

/* Over gRPC both manifests mean the same dialect. */
static void test_grpc(void **state)
{
	static const char *const places[] = { "h", "g" };

	(void)state;
	put("h/sunscreen-plugin.json", "{" ID ",\n\"transport\":\"grpc\",\"entrypoint\":[\"./x\"]}");
	put("g/plugin.toml",
	    "[plugin]\nname = \"g\"\nversion = \"1.0.0\"\nentry = \"./x\"\ntransport = \"grpc\"\n");
	put("g/x", "");
	for (size_t i = 0; i < 2; i++) {
		struct mor_manifest *m = load_path(places[i]);

		assert_string_equal(m->dialect, "sunscreen");
		assert_string_equal(mor_manifest_text(m, "plugin", "transport"), "grpc");
		mor_manifest_free(m);
	}
	put("g/plugin.toml",
	    "[plugin]\nname = \"g\"\nversion = \"1.0.0\"\nentry = \"./x\"\ntransport = \"tcp\"\n");
	refuse("g", MORTISE_EMANIFEST,
	       "g/plugin.toml:5:1: plugin.transport is \"tcp\": use \"stdio-jsonrpc\" or \"grpc\"");
}

static void test_entrypoint_stays_inside(void **state)
{
	static const char *const lists[] = { "[\"../x\"]", "[\"./a/../../x\"]", "[\"sh\",\"..\"]",
					     "[\"sh\",\"a/..\"]" };

	(void)state;
	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
		struct mor_manifest *m = NULL;
		mortise_error err = { 0 };
		char json[200];

		snprintf(json, sizeof(json), "{" STDIO ",\"entrypoint\":%s}", lists[i]);
		put("h/sunscreen-plugin.json", json);
		assert_int_equal(mor_manifest_load(&(struct mor_manifest_query){ .path = "h" }, &m, &err),
				 MORTISE_EVIOLATION);
		assert_non_null(
			strstr(err.text, "which has a \"..\": a plugin runs what is in its own directory"));
	}
	put("h/sunscreen-plugin.json", "{" STDIO ",\"entrypoint\":[\"sh\",\n\"../x\"]}");
	refuse("h", MORTISE_EVIOLATION,
	       "h/sunscreen-plugin.json:2:1: /entrypoint/1 is \"../x\", which has a \"..\": a plugin runs what "
	       "is in its own directory");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TREE_TEST(test_printed),
		TREE_TEST(test_toml_refused),
		TREE_TEST(test_entry_stays_inside),
		TREE_TEST(test_toml_warnings),
		TREE_TEST(test_dialect_is_fixed),
		TREE_TEST(test_json),
		TREE_TEST(test_json_launch),
		TREE_TEST(test_json_refused),
		TREE_TEST(test_json_commands_refused),
		TREE_TEST(test_json_versions),
		TREE_TEST(test_grpc),
		TREE_TEST(test_entrypoint_stays_inside),
	};

	return mor_run_group("manifest/sunscreen", tests);
}
