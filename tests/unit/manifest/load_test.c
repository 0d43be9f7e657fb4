/* SPDX-License-Identifier: Apache-2.0 */
/* What the user names -> what is run: directories, files, command lines, environment. */
#include "tree.h"

static void test_no_manifest(void **state)
{
	(void)state;
	put("empty/", "");
	refuse("empty", MORTISE_EMANIFEST,
	       "empty: no manifest here (looked for yams-plugin.json, plugin.toml, sunscreen-plugin.json, "
	       "manifest.json of G-Assist, mortise.toml): add one, or name the plugin's program");
	put("empty/plugin.py", "");
	refuse("empty/", MORTISE_EMANIFEST,
	       "empty/: no manifest here (looked for yams-plugin.json, plugin.toml, sunscreen-plugin.json, "
	       "manifest.json of G-Assist, mortise.toml): add one, or name the plugin's program");
}

/* Two manifests in one directory: the first in our order, and a word about the other. Naming one settles it. */
static void test_two_manifests(void **state)
{
	struct mor_manifest *m;

	(void)state;
	put("a/plugin.toml", "[plugin]\nname = \"t\"\nversion = \"1\"\nentry = \"p\"\n");
	put("a/sunscreen-plugin.json",
	    "{\"name\":\"j\",\"version\":\"1.0.0\",\"transport\":\"stdio-jsonrpc\",\"entrypoint\":[\"./p\"]}");
	put("a/p", "");
	m = load_path("a");
	assert_string_equal(m->name, "t");
	assert_string_equal(mor_container_of(m->warnings.next, struct mor_warning, node)->text,
			    "a: plugin.toml is used, sunscreen-plugin.json is not; to use it, name that file");
	mor_manifest_free(m);
	m = load_path("a/sunscreen-plugin.json");
	assert_string_equal(m->name, "j");
	assert_true(mor_list_empty(&m->warnings));
	mor_manifest_free(m);
}

static void test_no_path(void **state)
{
	static const char *const none[] = { NULL }, *const blank[] = { "", NULL };
	static const char text[] = "no plugin is named: give a directory, a file or a command";

	(void)state;
	refuse("nowhere", MORTISE_ENOTFOUND,
	       "nowhere: no such file or directory: name a plugin's directory or file");
	put("file", "");
	refuse("file/x", MORTISE_ENOTFOUND,
	       "file/x: no such file or directory: name a plugin's directory or file");
	refuse("", MORTISE_EINVAL, text);
	refuse(NULL, MORTISE_EINVAL, text);
	refuse_query((struct mor_manifest_query){ .argv = none }, MORTISE_EINVAL, text);
	refuse_query((struct mor_manifest_query){ .argv = blank }, MORTISE_EINVAL, text);
	refuse("/dev/null", MORTISE_EMANIFEST,
	       "/dev/null: neither a directory nor a regular file: it cannot be a plugin");
}

static void test_bare_file(void **state)
{
	static const char *const more[] = { "-v", "x y", NULL };
	struct mor_manifest *m;

	(void)state;
	put("d/tool-1.2", "");
	m = load_query((struct mor_manifest_query){ .path = "d/tool-1.2", .argv = more });
	assert_string_equal(m->name, "tool-1.2");
	assert_string_equal(m->dialect, "plain");
	expect_list(m->argv, "@/d/tool-1.2|-v|x y");
	expect_path(m->cwd, "@/d");
	assert_null(m->version);
	assert_null(m->framing);
	assert_null(m->env);
	assert_null(m->doc);
	assert_null(m->config);
	mor_manifest_free(m);
	put("plugin.py", "");
	m = load_query((struct mor_manifest_query){ .path = "plugin.py", .dialect = "yams", .name = "other" });
	assert_string_equal(m->name, "other");
	assert_string_equal(m->dialect, "yams");
	expect_list(m->argv, "@/plugin.py");
	expect_path(m->cwd, "@");
	mor_manifest_free(m);
}

/* The python of a virtual environment is a link; resolving it would leave the environment. */
static void test_link_is_kept(void **state)
{
	struct mor_manifest *m;

	(void)state;
	put("real/prog", "");
	put("bin/", "");
	assert_int_equal(symlink("../real/prog", "bin/link"), 0);
	assert_int_equal(symlink("bin", "linked-dir"), 0);
	m = load_path("linked-dir/link");
	expect_list(m->argv, "@/bin/link");
	expect_path(m->cwd, "@/bin");
	mor_manifest_free(m);
}

static void test_command_line(void **state)
{
	static const struct {
		const char *argv[5], *name;
	} cases[] = {
		{ { "./bin/elf-text" }, "elf-text" },
		{ { "prog", "a.py" }, "prog" },
		{ { "python3", "-u", "dir/x.py", "y.py" }, "x" },
		{ { "/usr/bin/python3.11", "x.py" }, "x" },
		{ { "python3", "-m", "pkg.mod", "z" }, "pkg" },
		{ { "python3", "-c", "print()" }, "python3" },
		{ { "python3" }, "python3" },
		{ { "node", "--no-warnings", "srv.mjs" }, "srv" },
		{ { "/bin/sh", "-c", "cat" }, "sh" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct mor_manifest *m = load_query((struct mor_manifest_query){ .argv = cases[i].argv });

		assert_string_equal(m->name, cases[i].name);
		assert_string_equal(m->dialect, "plain");
		assert_null(m->cwd);
		for (size_t j = 0; cases[i].argv[j]; j++)
			assert_string_equal(m->argv[j], cases[i].argv[j]);
		mor_manifest_free(m);
	}
}

/* What was typed runs, whatever a file says; the rest of that file counts. */
static void test_command_line_wins(void **state)
{
	static const char *const argv[] = { "./tool", "-x", NULL }, *const set[] = { "plugin.cwd=sub", NULL };
	struct mor_manifest *m;

	(void)state;
	put("home/mortise/plugins/tool.toml",
	    "[plugin]\ncommand = \"/bin/other\"\nargs = [\"no\"]\n[limits]\nin_flight = 3\n");
	m = load_query((struct mor_manifest_query){ .argv = argv });
	expect_list(m->argv, "./tool|-x");
	assert_non_null(mor_manifest_setting(m, "limits", "in_flight"));
	mor_manifest_free(m);
	m = load_query((struct mor_manifest_query){ .argv = argv, .set = set });
	expect_list(m->argv, "@/tool|-x");
	expect_path(m->cwd, "@/sub");
	mor_manifest_free(m);
}

static void test_environment(void **state)
{
	static const char *const env[] = { "B=query", "PASSED", "NOT_SET_ANYWHERE", "EMPTY=", "C=a=b", NULL };
	static const char *const bad[] = { "=x", NULL }, *const set[] = { "env.D=1.50", "env.B=set", NULL };
	struct mor_manifest *m;
	struct mor_warning *warning;

	(void)state;
	setenv("PASSED", "through", 1);
	put("p/mortise.toml",
	    "[plugin]\ncommand = \"./x\"\n[env]\nA = \"toml\"\nB = \"toml\"\nPORT = 8080\nON = true\n");
	m = load_query((struct mor_manifest_query){ .path = "p", .env = env, .set = set });
	expect_list(m->env, "A=toml|B=query|ON=true|PORT=8080|D=1.50|PASSED=through|EMPTY=|C=a=b");
	assert_false(mor_list_empty(&m->warnings));
	warning = mor_container_of(m->warnings.next, struct mor_warning, node);
	assert_string_equal(
		warning->text,
		"--env NOT_SET_ANYWHERE: this variable is not set here, so the plugin does not get it");
	mor_manifest_free(m);
	refuse_query((struct mor_manifest_query){ .path = "p", .env = bad }, MORTISE_EINVAL,
		     "--env \"=x\": write it as NAME or NAME=VALUE");
	unsetenv("PASSED");
}

static void test_config(void **state)
{
	static const char *const set[] = { "config.b.y=9", "config.new.deep=text", NULL };
	struct mor_manifest_query query = { .path = "p", .config = { "{\"c\":{\"only\":1}}", 16 } };
	struct mor_manifest *m;

	(void)state;
	put("p/mortise.toml",
	    "[plugin]\nname = \"p\"\ncommand = \"./x\"\n[config]\na = 1\n[config.b]\nx = 1\ny = "
	    "2\n[config.c]\nz = 3\n");
	m = load_path("p");
	assert_string_equal(m->config, "{\"a\":1,\"b\":{\"x\":1,\"y\":2},\"c\":{\"z\":3}}");
	mor_manifest_free(m);
	m = load_query(query); /* the whole member is replaced */
	assert_string_equal(m->config, "{\"a\":1,\"b\":{\"x\":1,\"y\":2},\"c\":{\"only\":1}}");
	mor_manifest_free(m);
	put("home/mortise/plugins/p.toml", "[config.b]\nx = \"user\"\n");
	query.set = set;
	m = load_query(query);
	assert_string_equal(
		m->config,
		"{\"a\":1,\"b\":{\"x\":\"user\",\"y\":9},\"c\":{\"only\":1},\"new\":{\"deep\":\"text\"}}");
	mor_manifest_free(m);
	query.config = (mortise_json){ "[1]", 3 };
	refuse_query(query, MORTISE_EINVAL, "config: must be a JSON object, not array");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TREE_TEST(test_no_manifest),       TREE_TEST(test_two_manifests), TREE_TEST(test_no_path),
		TREE_TEST(test_bare_file),         TREE_TEST(test_link_is_kept),  TREE_TEST(test_command_line),
		TREE_TEST(test_command_line_wins), TREE_TEST(test_environment),   TREE_TEST(test_config),
	};

	return mor_run_group("manifest/load", tests);
}
