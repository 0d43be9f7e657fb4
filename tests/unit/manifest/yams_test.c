/* SPDX-License-Identifier: Apache-2.0 */
/* yams-plugin.json. */
#include "tree.h"

#define ID "\"name\":\"demo\",\"version\":\"1.2.3\",\"interfaces\":[\"content_extractor_v1\"]"

static void test_identity(void **state)
{
	struct mor_manifest *m;

	(void)state;
	put("p/yams-plugin.json",
	    "\xef\xbb\xbf{" ID
	    ",\"description\":\"d\",\"transport\":\"external\",\"unknown\":[1],\"entry\":{\"env\":{\"DIR\":\"${plugin_dir}/x:${plugin_dir}\"}}}\n");
	put("p/plugin.py", "");
	m = load_path("p");
	assert_string_equal(m->name, "demo");
	assert_string_equal(m->version, "1.2.3");
	assert_string_equal(m->description, "d");
	assert_string_equal(m->dialect, "yams");
	expect_list(m->argv, "@/p/plugin.py");
	expect_path(m->cwd, "@/p");
	expect_path(m->file, "@/p/yams-plugin.json");
	assert_string_equal(mor_json_text(mor_json_at(mor_doc_root(m->doc), "/interfaces/0"), ""),
			    "content_extractor_v1");
	assert_memory_equal(m->env[0], "DIR=", 4);
	assert_memory_equal(m->env[0] + 4, tree, strlen(tree));
	assert_non_null(strstr(m->env[0], "/p/x:/"));
	mor_manifest_free(m);
	/* Naming the manifest is naming its directory; no name in it: the directory's. */
	put("q/yams-plugin.json", "{}");
	put("q/plugin", "");
	m = load_path("q/yams-plugin.json");
	assert_string_equal(m->name, "q");
	expect_list(m->argv, "@/q/plugin");
	mor_manifest_free(m);
}

/* The order of the real host, each step taken away in turn. */
static void test_launch_order(void **state)
{
	static const struct {
		const char *remove, *argv;
	} steps[] = {
		{ NULL, "@/p/bin/tool|--dir|@/p" },
		{ "p/bin/tool", "@/p/plugin|--dir|@/p" },
		{ "p/plugin", "python|-u|@/p/fallback.py" },
		{ "p/fallback.py", "@/p/run.sh|x" },
		{ "p/run.sh", "@/p/plugin.py" },
	};

	(void)state;
	put("p/yams-plugin.json",
	    "{" ID
	    ",\"entry\":{\"binary\":{\"linux\":\"bin/tool\",\"windows\":\"no.exe\"},\"args\":[\"--dir\",\"${plugin_dir}\"],\"fallback_cmd\":[\"python\",\"-u\",\"${plugin_dir}/fallback.py\"],\"cmd\":[\"./run.sh\",\"x\"]}}");
	put("p/bin/tool", "");
	put("p/plugin", "");
	put("p/fallback.py", "");
	put("p/run.sh", "");
	put("p/plugin.py", "");
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		struct mor_manifest *m;

		if (steps[i].remove)
			assert_int_equal(unlink(steps[i].remove), 0);
		m = load_path("p");
		expect_list(m->argv, steps[i].argv);
		mor_manifest_free(m);
	}
}

static void test_commands(void **state)
{
	static const struct {
		const char *cmd, *argv;
	} cases[] = {
		{ "[\"python3\",\"-m\",\"my.module\"]", "python3|-m|my.module" },
		{ "[\"some-program\",\"missing.py\"]", "some-program|missing.py" },
		{ "[\"python3\",\"here.py\",\"missing.cfg\"]", "python3|here.py|missing.cfg" },
		{ "[\"${plugin_dir}/here.py\"]", "@/p/here.py" },
	};

	(void)state;
	put("p/here.py", "");
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct mor_manifest *m;
		char json[200];

		snprintf(json, sizeof(json), "{\"entry\":{\"cmd\":%s}}", cases[i].cmd);
		put("p/yams-plugin.json", json);
		m = load_path("p");
		expect_list(m->argv, cases[i].argv);
		mor_manifest_free(m);
	}
}

static void test_missing_files(void **state)
{
	char text[400];

	(void)state;
	put("p/yams-plugin.json", "{\"entry\":{\"binary\":{\"linux\":\"bin/elf-text\"}}}");
	snprintf(text, sizeof(text),
		 "p/yams-plugin.json: entry.binary.linux names \"%s/p/bin/elf-text\", which does not exist; "
		 "nor is there a ./plugin or plugin.py: build it, or correct the entry",
		 tree);
	refuse("p", MORTISE_EMANIFEST, text);
	put("p/plugin/", ""); /* a directory is no program */
	put("p/yams-plugin.json", "{\"entry\":{\"cmd\":[\"python3\",\"gone.py\"]}}");
	snprintf(text, sizeof(text),
		 "p/yams-plugin.json: entry.cmd names \"%s/p/gone.py\", which does not exist; nor is there a "
		 "./plugin or plugin.py: build it, or correct the entry",
		 tree);
	refuse("p", MORTISE_EMANIFEST, text);
	put("p/yams-plugin.json", "{}");
	refuse("p", MORTISE_EMANIFEST,
	       "p/yams-plugin.json: nothing to run: name it in entry.binary.linux or entry.cmd, or add "
	       "./plugin or plugin.py");
	/* A user who gives a command needs none from the manifest. */
	put("p/mortise.toml", "[plugin]\ncommand = \"./mine\"\n");
	mor_manifest_free(load_path("p"));
}

static void test_broken(void **state)
{
	static const struct {
		const char *json, *text;
	} cases[] = {
		{ "{\n  \"name\": \"x\",\n  \"version\" \"1\"\n}",
		  "p/yams-plugin.json:3:13: unexpected character, expected a colon after object key: correct "
		  "the JSON there" },
		{ "", "p/yams-plugin.json:1:1: empty text: correct the JSON there" },
		{ "[]", "p/yams-plugin.json:1:1: must hold an object, not array" },
		{ "{\"name\":5}", "p/yams-plugin.json:1:2: /name is of type number: it must be a string" },
		{ "{\"interfaces\":\"x\"}",
		  "p/yams-plugin.json:1:2: /interfaces is of type string: it must be an array of interface "
		  "names" },
		{ "{\"entry\":[]}", "p/yams-plugin.json:1:2: /entry is of type array: it must be an object" },
		{ "{\"entry\":{\"cmd\":\"x\"}}",
		  "p/yams-plugin.json:1:11: /entry/cmd is of type string: it must be an array of strings" },
		{ "{\"entry\":{\"cmd\":[\"x\",1]}}",
		  "p/yams-plugin.json:1:11: /entry/cmd holds something that is not a string: it must be an "
		  "array of strings" },
		{ "{\"entry\":{\"env\":{\"A\":1}}}",
		  "p/yams-plugin.json:1:11: /entry/env holds something that is not a string: it must be an "
		  "object of strings" },
		{ "{\"entry\":{\"env\":{\"A=B\":\"1\"}}}",
		  "p/yams-plugin.json:1: env.A=B is \"1\": it must be set under a name without \"=\"" },
		{ "{\"name\":\"a\\u0000b\"}",
		  "p/yams-plugin.json:1: plugin.name is \"a\\u0000b\": it must be free of NUL characters" },
		{ "{\"transport\":\"abi\"}",
		  "p/yams-plugin.json:1:2: /transport is \"abi\": only \"external\" plugins are programs that "
		  "can be hosted" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		put("p/yams-plugin.json", cases[i].json);
		refuse("p", MORTISE_EMANIFEST, cases[i].text);
	}
}

static void test_limits(void **state)
{
	char *big = malloc(MOR_MANIFEST_LIMIT + 1);
	struct mor_manifest *m = NULL;

	(void)state;
	assert_non_null(big);
	memset(big, ' ', MOR_MANIFEST_LIMIT + 1);
	put_bytes("p/yams-plugin.json", big, MOR_MANIFEST_LIMIT + 1);
	refuse("p", MORTISE_EMANIFEST, "p/yams-plugin.json: larger than 1 MiB: make it smaller");
	memset(big, '[', 500);
	put_bytes("p/yams-plugin.json", big, 500);
	refuse("p", MORTISE_EMANIFEST, "p/yams-plugin.json: nested deeper than 128 levels");
	/* Exactly at the limit it is read. */
	memset(big, ' ', MOR_MANIFEST_LIMIT);
	memcpy(big, "{}", 2);
	put_bytes("p/yams-plugin.json", big, MOR_MANIFEST_LIMIT);
	put("p/plugin.py", "");
	m = load_path("p");
	mor_manifest_free(m);
	free(big);
	unlink("p/yams-plugin.json");
	put("p/yams-plugin.json/", "");
	refuse("p", MORTISE_EMANIFEST, "p/yams-plugin.json: not a regular file");
}

/* A file that is named itself: the manifest beside it says who it is, and how to run it if it runs it. */
static void test_named_file(void **state)
{
	struct mor_manifest *m;

	(void)state;
	put("p/yams-plugin.json",
	    "{" ID ",\"entry\":{\"cmd\":[\"python3\",\"-u\",\"${plugin_dir}/main.py\",\"--serve\"]}}");
	put("p/main.py", "");
	put("p/other.py", "");
	m = load_path("p/main.py");
	assert_string_equal(m->name, "demo");
	assert_string_equal(m->dialect, "yams");
	expect_list(m->argv, "python3|-u|@/p/main.py|--serve");
	mor_manifest_free(m);
	m = load_path("p/other.py");
	assert_string_equal(m->name, "demo");
	expect_list(m->argv, "@/p/other.py");
	mor_manifest_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TREE_TEST(test_identity),      TREE_TEST(test_launch_order), TREE_TEST(test_commands),
		TREE_TEST(test_missing_files), TREE_TEST(test_broken),       TREE_TEST(test_limits),
		TREE_TEST(test_named_file),
	};

	return mor_run_group("manifest/yams", tests);
}
