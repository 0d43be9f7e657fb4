/* SPDX-License-Identifier: Apache-2.0 */
/* Every allocation of a load fails in turn: each time the load is refused and nothing leaks (ASan looks). */
#include "tree.h"

static const char *const set[] = { "timeouts.a.b=3s", "config.a.b=1", "plugin.cwd=sub", "quirks.q:=[1]", NULL };
static const char *const env[] = { "A=1", "NOT_SET_ANYWHERE", NULL };
static const char *const more[] = { "-x", NULL };

static void fail_each(struct mor_manifest_query query)
{
	query.config_home = "home";
	for (long n = 0; n < 5000; n++) {
		struct mor_manifest *m = NULL;
		mortise_error err = { 0 };
		int r;

		mor_alloc_fail_after(n);
		r = mor_manifest_load(&query, &m, &err);
		mor_alloc_fail_after(-1);
		if (r == 0) {
			mor_manifest_free(m);
			assert_true(n > 10);
			return;
		}
		if (r != MORTISE_ENOMEM)
			fail_msg("allocation %ld: %d %s", n, r, err.text);
		assert_null(m);
	}
	fail_msg("it never succeeds");
}

static void put_everything(void)
{
	put("p/yams-plugin.json",
	    "{\"name\":\"demo\",\"version\":\"1\",\"entry\":{\"binary\":{\"linux\":\"no\"},\"cmd\":[\"python3\",\"${plugin_dir}/main.py\"],\"env\":{\"B\":\"${plugin_dir}\"}}}");
	put("p/main.py", "");
	put("p/mortise.toml", "[timeouts]\nx.y = 1\n[env]\nC = 5\n[config]\nz = {q = 1}\n");
	put("home/mortise/plugins/demo.toml", "[plugin]\nargs = [\"-v\"]\n");
	put("own/mortise.toml", "[plugin]\ncommand = [\"./x\", \"y\"]\n");
}

static void test_directory(void **state)
{
	(void)state;
	put_everything();
	fail_each((struct mor_manifest_query){
		.path = "p", .set = set, .env = env, .argv = more, .config = { "{\"c\":1}", 7 } });
	fail_each((struct mor_manifest_query){ .path = "own", .set = set });
}

static void test_formats(void **state)
{
	(void)state;
	put("g/manifest.json",
	    "{\"protocol_version\":\"2.0\",\"executable\":\"x.bat\",\"zzz\":1,\"name\":\"h\",\"passthrough\":true,\"functions\":[{\"name\":\"a\",\"description\":\"b\"},{\"name\":\"c\",\"description\":\"d\"}],\"tether_config\":{\"onboarding_timeout\":60}}");
	put("g/plugin.py", "");
	put("g/libs/", "");
	put("t/plugin.toml",
	    "[plugin]\nname = \"t\"\nversion = \"1\"\nentry = \"p\"\nx = 1\n[permissions]\nnetwork = true\n"
	    "declared_paths = [\"/a\"]\n[commands.scaffold]\ni = \"I\"\n[commands.app]\nj = \"J\"\n");
	put("t/p", "");
	put("j/sunscreen-plugin.json",
	    "{\"name\":\"j\",\"version\":\"1.0.0\",\"transport\":\"stdio-jsonrpc\",\"entrypoint\":[\"./p\",\"q\"],\"capabilities\":{\"network\":true,\"filesystem\":[]},\"commands\":[{\"name\":\"n\",\"kind\":\"app\"}],\"hooks\":[\"h\"]}");
	fail_each((struct mor_manifest_query){ .path = "g" });
	fail_each((struct mor_manifest_query){ .path = "g/plugin.py" });
	fail_each((struct mor_manifest_query){ .path = "t" });
	fail_each((struct mor_manifest_query){ .path = "j" });
	put("j/q", "");
	fail_each((struct mor_manifest_query){ .path = "j/q" });
	fail_each((struct mor_manifest_query){ .path = "t/p" });
}

static void test_file(void **state)
{
	(void)state;
	put_everything();
	fail_each((struct mor_manifest_query){ .path = "p/main.py", .env = env });
}

static void test_command(void **state)
{
	static const char *const argv[] = { "./a/b", "c", NULL };

	(void)state;
	fail_each((struct mor_manifest_query){ .argv = argv, .set = set, .env = env });
}

int main(void)
{
	const struct CMUnitTest tests[] = { TREE_TEST(test_directory), TREE_TEST(test_formats),
					    TREE_TEST(test_file), TREE_TEST(test_command) };

	return mor_run_group("manifest/fault", tests);
}
