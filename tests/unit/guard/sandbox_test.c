/* SPDX-License-Identifier: Apache-2.0 */
/* [sandbox] in files and on the command line -> the policy, with the place of a fault. */
#include "../manifest/tree.h"

#include <limits.h>

#include "guard/env.h"
#include "guard/sandbox.h"

#define RUN "[plugin]\ncommand = \"./x\"\n"

static int load(const char *toml, const char *set, bool confined, struct mor_policy *ret,
		struct mor_manifest **m, mortise_error *err)
{
	const char *const sets[] = { set, NULL };
	struct mor_manifest_query query = { .path = "p", .config_home = "home", .set = set ? sets : NULL };
	int r;

	put("p/mortise.toml", toml);
	*m = NULL;
	r = mor_manifest_load(&query, m, err);
	return r < 0 ? r : mor_sandbox_load(*m, confined, ret, err);
}

/* The first one; but not that this machine has no control groups, which only some have. */
static const char *warning(const struct mor_manifest *m)
{
	for (struct mor_list *at = m->warnings.next; at != &m->warnings; at = at->next) {
		const char *text = mor_container_of(at, struct mor_warning, node)->text;

		if (!strstr(text, "no control group can be made here"))
			return text;
	}
	return "";
}

static void test_all_keys(void **state)
{
	struct mor_policy p = MOR_POLICY_INIT;
	struct mor_manifest *m;
	mortise_error err = { 0 };

	(void)state;
	put("p/work/", "");
	if (load(RUN "[sandbox]\nlevel = \"t1\"\nworkspace = \"work\"\nworkspace_write = true\nnetwork = "
		     "true\nspawn = true\n"
		     "read = [\"/etc\", \"/usr\"]\nprotected_paths = []\npidns = true\nview = true\nmemory = "
		     "\"1GiB\"\ncpu = \"2m\"\nfiles = 9\n"
		     "file_size = 4096\nwall = 1.5\nprocesses = 3\nthreads = 30\nscratch_size = \"2M\"\n",
		 NULL, false, &p, &m, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(p.level, MOR_LEVEL_T1);
	expect_path(p.workspace, "@/p/work");
	expect_path(p.plugin_dir, "@/p");
	assert_true(p.workspace_write && p.network.all && p.spawn && p.pidns && p.view);
	expect_list(p.read_paths, "/etc|/usr");
	assert_null(mor_policy_protected(&p)[0]);
	assert_int_equal(p.limits.memory_bytes, 1 << 30);
	assert_int_equal(p.limits.cpu_s, 120);
	assert_int_equal(p.limits.open_files, 9);
	assert_int_equal(p.limits.file_bytes, 4096);
	assert_int_equal(p.limits.wall_ms, 1500);
	assert_int_equal(p.limits.processes, 3);
	assert_int_equal(p.limits.threads, 30);
	assert_int_equal(p.limits.scratch_bytes, 2 << 20);
	assert_string_equal(warning(m), "");
	assert_true(mor_policy_writes_own_code(&p));
	mor_policy_fini(&p);
	mor_manifest_free(m);
}

static void refuse_policy(const char *toml, const char *set, int status, const char *text)
{
	struct mor_policy p = MOR_POLICY_INIT;
	struct mor_manifest *m;
	mortise_error err = { 0 };

	assert_int_equal(load(toml, set, false, &p, &m, &err), status);
	assert_string_equal(err.text, text);
	mor_manifest_free(m);
}

static void test_refused(void **state)
{
	(void)state;
	refuse_policy(RUN "[sandbox]\nread = [\"/etc\",\n\"data\"]\n", NULL, MORTISE_EMANIFEST,
		      "p/mortise.toml:4: sandbox.read is \"data\": it must be an absolute path, or one that "
		      "begins with \"~/\"");
	refuse_policy(RUN "[sandbox]\nread = \"/etc\"\n", NULL, MORTISE_EMANIFEST,
		      "p/mortise.toml:4: sandbox.read is \"/etc\": it must be an array of strings");
	refuse_policy(RUN "[sandbox]\nlevel = \"max\"\n", NULL, MORTISE_EMANIFEST,
		      "p/mortise.toml:4: sandbox.level is \"max\": it must be one of guarded, auto, t0, t1");
	refuse_policy(RUN "[sandbox]\nnetwrk = true\n", NULL, MORTISE_EMANIFEST,
		      "p/mortise.toml:4: [sandbox] has no key \"netwrk\": did you mean \"network\"?");
	refuse_policy(RUN "[sandbox]\nfiles = 0\n", NULL, MORTISE_EMANIFEST,
		      "p/mortise.toml:4: sandbox.files is \"0\": it must be a whole number above 0");
	refuse_policy(RUN "[sandbox]\nworkspace_write = true\n", NULL, MORTISE_EMANIFEST,
		      "workspace_write is true, but there is no workspace: set workspace");
	refuse_policy(
		RUN, "sandbox.read=data", MORTISE_EINVAL,
		"--set: sandbox.read is \"data\": it must be an absolute path, or one that begins with \"~/\"");
	/* Keys of the struct that are no settings. */
	refuse_policy(RUN, "sandbox.plugin_dir=/tmp", MORTISE_EINVAL,
		      "--set: [sandbox] has no key \"plugin_dir\": use one of level, on_denial, unconfined, "
		      "workspace, workspace_write, protected_paths, unprotect, git, scratch, undo, read, "
		      "network, spawn, quiet_tmp, pidns, view, memory, cpu, files, file_size, wall, processes, "
		      "threads, scratch_size");
}

static void expect_level(const char *toml, const char *set, bool confined, enum mor_level level,
			 const char *warns)
{
	struct mor_policy p = MOR_POLICY_INIT;
	struct mor_manifest *m;
	mortise_error err = { 0 };

	if (load(toml, set, confined, &p, &m, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(p.level, level);
	if (!strstr(warning(m), warns) || (!*warns && *warning(m)))
		fail_msg("warning \"%s\", not \"%s\"", warning(m), warns);
	mor_policy_fini(&p);
	mor_manifest_free(m);
}

static void test_level_and_warnings(void **state)
{
	(void)state;
	expect_level(RUN, NULL, false, MOR_LEVEL_GUARDED, "");
	expect_level(RUN, NULL, true, MOR_LEVEL_AUTO, "");
	expect_level(RUN, "sandbox.level=t1", false, MOR_LEVEL_T1, "");
	expect_level(RUN, "sandbox.memory=1GiB", false, MOR_LEVEL_GUARDED, "");
	expect_level(RUN "[sandbox]\nnetwork = false\n", NULL, false, MOR_LEVEL_AUTO, "");
	expect_level(RUN "[sandbox]\nnetwork = false\n", "sandbox.level=guarded", false, MOR_LEVEL_GUARDED,
		     "not enforced");
	expect_level(RUN, "sandbox.unconfined=true", true, MOR_LEVEL_GUARDED,
		     "unconfined: p may do whatever this user may");
	expect_level(RUN, "sandbox.read=/no/such/path", false, MOR_LEVEL_AUTO,
		     "/no/such/path: there is no such path");
	expect_level(RUN, "sandbox.workspace=none", false, MOR_LEVEL_AUTO, "/none does not exist");
}

/* Later wins as a whole: a list on the command line replaces the file's. */
static void test_order(void **state)
{
	struct mor_policy p = MOR_POLICY_INIT;
	struct mor_manifest *m;
	mortise_error err = { 0 };

	(void)state;
	assert_int_equal(load(RUN "[sandbox]\nread = [\"/etc\"]\n", "sandbox.read=[\"/usr\",\"/var\"]", false,
			      &p, &m, &err),
			 0);
	expect_list(p.read_paths, "/usr|/var");
	mor_policy_fini(&p);
	mor_manifest_free(m);
}

static void test_modules(void **state)
{
	static const char *const script[] = { "python3", "s/x.py", NULL }, *const inline_code[] = { "python3",
												    "-c", "1",
												    NULL };
	struct mor_policy p = { .level = MOR_LEVEL_T0 };
	char real[PATH_MAX], path[PATH_MAX + 2];

	(void)state;
	put("s/x.py", "");
	assert_true(mor_sandbox_hides_modules(&p, script, NULL));
	assert_true(mor_sandbox_hides_modules(&p, inline_code, NULL));
	assert_non_null(realpath("s/x.py", real));
	assert_int_equal(mor_policy_set(&p, "read", real, NULL), 0); /* the file itself is not its directory */
	assert_true(mor_sandbox_hides_modules(&p, script, NULL));
	assert_non_null(realpath("s", real));
	assert_int_equal(mor_policy_set(&p, "plugin_dir", real, NULL), 0);
	assert_false(mor_sandbox_hides_modules(&p, script, NULL));
	assert_true(mor_sandbox_hides_modules(&p, inline_code, NULL));
	assert_false(mor_sandbox_hides_modules(&p, inline_code, "s"));
	/* A name that only begins the same is another directory. */
	snprintf(path, sizeof(path), "%sx", real);
	assert_false(mor_policy_covers(&p, path));
	p.level = MOR_LEVEL_GUARDED;
	assert_false(mor_sandbox_hides_modules(&p, script, NULL));
	mor_policy_fini(&p);
}

/* What an interpreter on a typed line is given to run, and only that. */
static void test_script(void **state)
{
	static const char *const argv[] = { "python3", "-u", "s/x.py", "arg", NULL };
	struct mor_manifest_query query = { .argv = argv, .config_home = "home" };
	struct mor_policy p = MOR_POLICY_INIT;
	struct mor_manifest *m = NULL;

	(void)state;
	put("s/x.py", "");
	assert_int_equal(mor_manifest_load(&query, &m, NULL), 0);
	assert_int_equal(mor_sandbox_load(m, false, &p, NULL), 0);
	expect_path(p.read_paths[0], "@/s/x.py");
	assert_null(p.read_paths[1]);
	assert_null(p.plugin_dir);
	assert_int_equal(p.level, MOR_LEVEL_GUARDED); /* our grant is nobody's wish */
	mor_policy_fini(&p);
	mor_manifest_free(m);
}

static void test_plugin_toml_never_spawns(void **state)
{
	static const char *const set[] = { "sandbox.spawn=true", NULL };
	struct mor_manifest_query query = { .path = "p", .config_home = "home", .set = set };
	struct mor_policy p = MOR_POLICY_INIT;
	struct mor_manifest *m = NULL;
	mortise_error err = { 0 };

	(void)state;
	put("p/mortise.toml", RUN);
	assert_int_equal(mor_manifest_load(&query, &m, NULL), 0);
	m->file = mor_strdup("/x/plugin.toml");
	assert_int_equal(mor_sandbox_load(m, true, &p, &err), MORTISE_EINVAL);
	assert_non_null(strstr(err.text, "cannot be granted"));
	mor_manifest_free(m);
}

/* A file beside the manifest of a dialect that demands a sandbox grants nothing. */
static void test_second_file_grants_nothing(void **state)
{
	static const struct {
		const char *toml, *set;
		bool confined;
		int status;
	} cases[] = {
		{ RUN "[sandbox]\nnetwork = true\n", NULL, true, MORTISE_EMANIFEST },
		{ RUN "[sandbox]\nunconfined = true\n", NULL, true, MORTISE_EMANIFEST },
		{ RUN "[sandbox]\nlevel = \"guarded\"\n", NULL, true, MORTISE_EMANIFEST },
		{ RUN "[sandbox]\nmemory = \"1GiB\"\n", NULL, true, 0 },
		{ RUN, "sandbox.network=true", true, 0 },
		{ RUN "[sandbox]\nnetwork = true\n", NULL, false, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const char *const set[] = { cases[i].set, NULL };
		struct mor_manifest_query query = { .path = "p", .config_home = "home", .set = set };
		struct mor_policy p = MOR_POLICY_INIT;
		struct mor_manifest *m = NULL;

		put("p/mortise.toml", cases[i].toml);
		assert_int_equal(mor_manifest_load(&query, &m, NULL), 0);
		m->file = mor_strdup("/x/plugin.toml");
		assert_int_equal(mor_sandbox_load(m, cases[i].confined, &p, NULL), cases[i].status);
		mor_policy_fini(&p);
		mor_manifest_free(m);
	}
}

static bool has(char **env, const char *entry)
{
	for (; *env; env++)
		if (strcmp(*env, entry) == 0)
			return true;
	return false;
}

static void test_environment(void **state)
{
	static const char *const more[] = { "A=1", "MOR_TEST_PASSED", "MOR_TEST_ABSENT", "PATH=/opt", NULL };
	char **env;

	(void)state;
	setenv("MOR_TEST_TOKEN", "secret", 1);
	setenv("MOR_TEST_PASSED", "yes", 1);
	setenv("LC_TIME", "C", 1);
	setenv("LD_PRELOAD_NOT", "x", 1);
	env = mor_env_jail(false, more);
	assert_non_null(env);
	assert_true(has(env, "A=1") && has(env, "MOR_TEST_PASSED=yes") && has(env, "LC_TIME=C") &&
		    has(env, "PATH=/opt"));
	assert_false(has(env, "MOR_TEST_TOKEN=secret") || has(env, "LD_PRELOAD_NOT=x") ||
		     has(env, "PATH=/usr/bin:/bin"));
	for (char **entry = env; *entry; entry++)
		assert_true(strncmp(*entry, "HOME=", 5) != 0 && strncmp(*entry, "MOR_TEST_ABSENT", 15) != 0);
	mor_texts_free(env);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TREE_TEST(test_all_keys),
		TREE_TEST(test_refused),
		TREE_TEST(test_level_and_warnings),
		TREE_TEST(test_order),
		TREE_TEST(test_script),
		TREE_TEST(test_modules),
		TREE_TEST(test_plugin_toml_never_spawns),
		TREE_TEST(test_environment),
		TREE_TEST(test_second_file_grants_nothing),
	};

	return mor_run_group("guard/sandbox", tests);
}
