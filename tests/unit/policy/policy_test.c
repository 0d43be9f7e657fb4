/* SPDX-License-Identifier: Apache-2.0 */
/* The policy: keys, levels, what is said of it. */
#include "leak.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "policy/plan.h"
#include "policy/policy.h"

static void set(struct mor_policy *p, const char *key, const char *value)
{
	mortise_error err = { 0 };

	if (mor_policy_set(p, key, value, &err) < 0)
		fail_msg("%s=%s: %s", key, value ? value : "(none)", err.text);
}

static char *json_of(const struct mor_policy *p)
{
	struct mor_buf out = MOR_BUF_INIT;

	assert_int_equal(mor_policy_json(p, &out), 0);
	return mor_buf_detach(&out);
}

/* The lines of "text", the last member: no line has a quote in it. */
static char *text_of(const struct mor_policy *p)
{
	struct mor_buf out = MOR_BUF_INIT;
	char *json = json_of(p), *next = strstr(json, "\"text\":[");

	assert_non_null(next);
	next += strlen("\"text\":[");
	for (char *line = strtok_r(next, "\"", &next); *line != ']'; line = strtok_r(NULL, "\"", &next))
		if (*line != ',')
			mor_buf_printf(&out, "%s\n", line);
	mor_free(json);
	return mor_buf_detach(&out);
}

static void test_values(void **state)
{
	struct mor_policy p = MOR_POLICY_INIT;

	(void)state;
	setenv("HOME", "/home/u", 1);
	set(&p, "level", "t1");
	set(&p, "workspace", "/w/");
	set(&p, "workspace_write", "true");
	set(&p, "network", "true");
	set(&p, "network", "false");
	set(&p, "read", "/a//");
	set(&p, "read", "~/b");
	set(&p, "protected_paths", "Makefile");
	set(&p, "unprotect", ".vscode");
	set(&p, "git", "true");
	set(&p, "memory", "64MiB");
	set(&p, "cpu", "1500ms");
	set(&p, "files", "32");
	set(&p, "file_size", "1KiB");
	set(&p, "wall", "2m");
	set(&p, "processes", "5");
	assert_int_equal(p.level, MOR_LEVEL_T1);
	assert_string_equal(p.workspace, "/w");
	assert_true(p.workspace_write);
	assert_false(p.network.all);
	assert_string_equal(p.read_paths[0], "/a");
	assert_string_equal(p.read_paths[1], "/home/u/b");
	assert_null(p.read_paths[2]);
	assert_string_equal(mor_policy_protected(&p)[0], "Makefile");
	assert_int_equal(p.limits.memory_bytes, 64 << 20);
	assert_int_equal(p.limits.cpu_s, 2); /* rounded up: 1 s would be less than asked */
	assert_int_equal(p.limits.open_files, 32);
	assert_int_equal(p.limits.file_bytes, 1024);
	assert_int_equal(p.limits.wall_ms, 120000);
	assert_int_equal(p.limits.processes, 5);
	mor_policy_fini(&p);
}

static void test_refused(void **state)
{
	static const struct {
		const char *key, *value, *text;
	} cases[] = {
		{ "level", "t2", "level is \"t2\": it must be one of guarded, auto, t0, t1" },
		{ "network", "yes", "network is \"yes\": it must be " MOR_NET_WANTED },
		{ "read", "etc",
		  "read is \"etc\": it must be an absolute path, or one that begins with \"~/\"" },
		{ "read", "./etc",
		  "read is \"./etc\": it must be an absolute path, or one that begins with \"~/\"" },
		{ "read", "~bob/x",
		  "read is \"~bob/x\": it must be an absolute path, or one that begins with \"~/\"" },
		{ "read", "", "read is \"\": it must be an absolute path, or one that begins with \"~/\"" },
		{ "protected_paths", "/etc",
		  "protected_paths is \"/etc\": it must be relative to the workspace, without \".\" and "
		  "\"..\"" },
		{ "protected_paths", "a/../b",
		  "protected_paths is \"a/../b\": it must be relative to the workspace, without \".\" and "
		  "\"..\"" },
		{ "memory", "0", "memory is \"0\": it must be a size above 0, such as 4096, 64K or 10M" },
		{ "memory", "lots", "memory is \"lots\": it must be a size above 0, such as 4096, 64K or 10M" },
		{ "cpu", "0s", "cpu is \"0s\": it must be a time above 0, such as 500ms, 30s or 2m" },
		{ "files", "-1", "files is \"-1\": it must be a whole number above 0" },
		{ "processes", "0", "processes is \"0\": it must be a whole number above 0" },
		{ "colour", "red", "there is no permission \"colour\"" },
		{ "spawn", NULL, "spawn has no value" },
	};
	struct mor_policy p = MOR_POLICY_INIT;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		mortise_error err = { 0 };

		assert_int_equal(mor_policy_set(&p, cases[i].key, cases[i].value, &err), MORTISE_EMANIFEST);
		assert_string_equal(err.text, cases[i].text);
	}
	/* Nothing of it stuck. */
	assert_int_equal(p.level, MOR_LEVEL_GUARDED);
	assert_null(p.read_paths);
	assert_false(p.rules_given);
	mor_policy_fini(&p);
}

/* "~/" must not become "/" for a process without HOME. */
static void test_no_home(void **state)
{
	struct mor_policy p = MOR_POLICY_INIT;

	(void)state;
	unsetenv("HOME");
	assert_int_equal(mor_policy_set(&p, "read", "~/x", NULL), MORTISE_EMANIFEST);
	setenv("HOME", "relative", 1);
	assert_int_equal(mor_policy_set(&p, "read", "~/x", NULL), MORTISE_EMANIFEST);
	assert_null(p.read_paths);
	mor_policy_fini(&p);
}

static void test_spawn_never(void **state)
{
	struct mor_policy p = { .never_spawn = true };
	mortise_error err = { 0 };

	(void)state;
	assert_int_equal(mor_policy_set(&p, "spawn", "true", &err), MORTISE_EMANIFEST);
	assert_non_null(strstr(err.text, "plugin.toml"));
	set(&p, "spawn", "false");
	assert_false(p.spawn);
	mor_policy_fini(&p);
}

/* Who decides on the level: unconfined, then a key, then any rule, then the dialect. */
static void test_level(void **state)
{
	static const struct {
		const char *key, *value;
		bool confined;
		enum mor_level level;
	} cases[] = {
		{ NULL, NULL, false, MOR_LEVEL_GUARDED },
		{ NULL, NULL, true, MOR_LEVEL_AUTO },
		{ "level", "t0", false, MOR_LEVEL_T0 },
		{ "level", "guarded", true, MOR_LEVEL_GUARDED },
		{ "network", "false", false, MOR_LEVEL_AUTO },
		{ "read", "/etc", false, MOR_LEVEL_AUTO },
		{ "memory", "1MiB", false, MOR_LEVEL_GUARDED },
		{ "pidns", "true", false, MOR_LEVEL_GUARDED },
		{ "unconfined", "true", true, MOR_LEVEL_GUARDED },
		{ "unconfined", "false", true, MOR_LEVEL_AUTO },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct mor_policy p = MOR_POLICY_INIT;

		if (cases[i].key)
			set(&p, cases[i].key, cases[i].value);
		assert_int_equal(mor_policy_finish(&p, cases[i].confined, NULL), 0);
		assert_int_equal(p.level, cases[i].level);
		mor_policy_fini(&p);
	}
}

static void test_write_needs_workspace(void **state)
{
	struct mor_policy p = MOR_POLICY_INIT;
	mortise_error err = { 0 };

	(void)state;
	set(&p, "workspace_write", "true");
	assert_int_equal(mor_policy_finish(&p, true, &err), MORTISE_EMANIFEST);
	set(&p, "workspace", "/w");
	assert_int_equal(mor_policy_finish(&p, true, &err), 0);
	mor_policy_fini(&p);
}

/* Asks for no confinement by itself, and is refused where it could not be kept. */
static void test_view(void **state)
{
	static const enum mor_level levels[] = { MOR_LEVEL_GUARDED, MOR_LEVEL_AUTO, MOR_LEVEL_T1 };
	struct mor_policy p = MOR_POLICY_INIT;
	mortise_error err = { 0 };

	(void)state;
	set(&p, "view", "true");
	assert_int_equal(mor_policy_finish(&p, false, &err), 0);
	assert_int_equal(p.level, MOR_LEVEL_GUARDED);
	for (size_t i = 0; i < sizeof(levels) / sizeof(*levels); i++) {
		set(&p, "level", mor_level_name(levels[i]));
		assert_int_equal(mor_policy_finish(&p, false, &err), 0);
		assert_int_equal(p.level, levels[i]);
	}
	set(&p, "level", "t0");
	assert_int_equal(mor_policy_finish(&p, false, &err), MORTISE_EMANIFEST);
	assert_string_equal(
		err.text,
		"view is true, but level t0 cannot switch mounts (Landlock forbids them): use guarded, auto or "
		"t1");
	mor_policy_fini(&p);
}

static void test_limits(void **state)
{
	struct mor_policy p = MOR_POLICY_INIT;

	(void)state;
	assert_int_equal(mor_policy_limits(&p).open_files, 0);
	p.level = MOR_LEVEL_T0;
	assert_int_equal(mor_policy_limits(&p).open_files, 256);
	assert_int_equal(mor_policy_limits(&p).processes, 0);
	p.spawn = true;
	assert_int_equal(mor_policy_limits(&p).processes, 64);
	p.limits.processes = 3;
	assert_int_equal(mor_policy_limits(&p).processes, 3);
}

/* deny, unless somebody or the plugin's specification says kill. */
static void test_on_denial(void **state)
{
	struct mor_policy usual = MOR_POLICY_INIT, given = MOR_POLICY_INIT, strict = MOR_POLICY_INIT;
	mortise_error err = { 0 };

	(void)state;
	assert_int_equal(mor_policy_finish(&usual, true, NULL), 0);
	assert_int_equal(usual.on_denial, MOR_ON_DENIAL_DENY);
	set(&given, "on_denial", "kill");
	assert_int_equal(mor_policy_finish(&given, true, NULL), 0);
	assert_int_equal(given.on_denial, MOR_ON_DENIAL_KILL);
	assert_false(given.rules_given); /* it is no wish for confinement */
	assert_int_equal(mor_policy_set(&given, "on_denial", "ask", &err), MORTISE_EMANIFEST);
	assert_string_equal(err.text, "on_denial is \"ask\": it must be kill or deny");
	strict.always_kill = true;
	set(&strict, "on_denial", "kill");
	assert_int_equal(mor_policy_set(&strict, "on_denial", "deny", &err), MORTISE_EMANIFEST);
	assert_non_null(strstr(err.text, "its specification ends it"));
	assert_int_equal(mor_policy_finish(&strict, true, NULL), 0);
	assert_int_equal(strict.on_denial, MOR_ON_DENIAL_KILL);
}

/* An empty list takes the protection away, and nobody claims it. */
static void test_empty_list(void **state)
{
	struct mor_policy p = MOR_POLICY_INIT;
	char *text;

	(void)state;
	assert_string_equal(mor_policy_protected(&p)[0], ".git");
	set(&p, "protected_paths", NULL);
	assert_null(mor_policy_protected(&p)[0]);
	set(&p, "workspace", "/w");
	set(&p, "workspace_write", "true");
	assert_int_equal(mor_policy_finish(&p, true, NULL), 0);
	text = text_of(&p);
	assert_null(strstr(text, "may not write these"));
	mor_free(text);
	mor_policy_fini(&p);
}

static void test_text(void **state)
{
	struct mor_policy p = MOR_POLICY_INIT;
	char *text;

	(void)state;
	set(&p, "level", "t0");
	set(&p, "workspace", "/w");
	set(&p, "workspace_write", "true");
	set(&p, "read", "/a");
	set(&p, "read", "/b");
	set(&p, "memory", "64MiB");
	set(&p, "cpu", "90s");
	text = text_of(&p);
	assert_string_equal(
		text,
		"confined (t0: Landlock, seccomp and a broker)\n"
		"the first thing that is not permitted kills it\n"
		"may read the workspace /w\n"
		"may write in the workspace\n"
		"may not write these, anywhere in it: .git, .husky, .githooks, .hg/hgrc, .envrc, .vscode, "
		".idea, .devcontainer, .claude, .cursor, .mcp.json, .cargo/config.toml, .cargo/config, .npmrc, "
		"mortise.toml, plugin.toml\n"
		"may write its own scratch directory, which is removed at the end\n"
		"may read, with everything below: /a, /b\n"
		"may not use the network\n"
		"may not start programs\n"
		"memory: at most 64 MiB\n"
		"processor time: at most 90 s\n"
		"open files: at most 256\n"
		"threads of all its processes: at most 512\n"
		"what it keeps in its scratch directory: at most 1 GiB\n");
	mor_free(text);
	mor_policy_fini(&p);
}

/* Rules that nobody enforces are not told as if somebody did. */
static void test_guarded_promises_nothing(void **state)
{
	struct mor_policy p = MOR_POLICY_INIT;
	char *text, *json;

	(void)state;
	set(&p, "network", "false");
	set(&p, "workspace", "/w");
	set(&p, "unconfined", "true");
	set(&p, "files", "9");
	assert_int_equal(mor_policy_finish(&p, true, NULL), 0);
	text = text_of(&p);
	assert_int_equal(strncmp(text, "NOT CONFINED", 12), 0);
	assert_null(strstr(text, "network"));
	assert_null(strstr(text, "/w"));
	assert_non_null(strstr(text, "open files: at most 9\n"));
	json = json_of(&p);
	assert_non_null(strstr(json, "\"network\":null"));
	assert_non_null(strstr(json, "\"workspace\":null"));
	assert_non_null(strstr(json, "\"unconfined\":true"));
	mor_free(text);
	mor_free(json);
	mor_policy_fini(&p);
}

static void test_json(void **state)
{
	struct mor_policy p = MOR_POLICY_INIT;
	char *json;

	(void)state;
	set(&p, "level", "t1");
	set(&p, "read", "/a \"b\"");
	assert_int_equal(mor_policy_finish(&p, false, NULL), 0);
	json = json_of(&p);
	assert_string_equal(
		json,
		"{\"level\":\"t1\",\"on_denial\":\"deny\",\"unconfined\":false,\"workspace\":null,\"workspace_write\":false,\"protected_paths\":[\".git\",\".husky\",\".githooks\",\".hg/hgrc\",\".envrc\",\".vscode\",\".idea\",\".devcontainer\",\".claude\",\".cursor\",\".mcp.json\",\".cargo/config.toml\",\".cargo/config\",\".npmrc\",\"mortise.toml\",\"plugin.toml\"],\"unprotect\":[],\"git\":false,\"plugin_dir\":null,\"scratch\":null,\"undo\":null,\"read\":[\"/a "
		"\\\"b\\\"\"],\"network\":false,\"spawn\":false,\"quiet_tmp\":false,\"pidns\":true,\"view\":false,\"memory\":null,\"cpu\":null,\"files\":256,\"file_size\":null,\"wall\":null,\"processes\":null,\"threads\":512,\"scratch_size\":1073741824,\"text\":[\"confined "
		"(t1: Landlock, seccomp and a broker, in namespaces with a minimal root)\",\"what is not "
		"permitted fails, and it goes on\",\"has no workspace\",\"may write its own scratch directory, "
		"which is removed at the end\",\"may read, with everything below: /a \\\"b\\\"\",\"may not use "
		"the network\",\"may not start programs\",\"runs in its own PID namespace\",\"open files: at "
		"most 256\",\"threads of all its processes: at most 512\",\"what it keeps in its scratch "
		"directory: at most 1 GiB\"]}");
	mor_free(json);
	mor_policy_fini(&p);
}

static void expect_violation(const struct mor_violation *v, const char *text)
{
	struct mor_buf out = MOR_BUF_INIT;
	char *got;

	assert_int_equal(mor_violation_text(v, &out), 0);
	got = mor_buf_detach(&out);
	assert_string_equal(got, text);
	mor_free(got);
}

static void test_violation(void **state)
{
	struct mor_violation v = {
		"indexer", "openat", "/home/u/id.json", MOR_RULE_READ, MOR_POLICY_OF_PLUGIN_TOML, NULL, false
	};
	struct mor_buf out = MOR_BUF_INIT;
	char *json;

	(void)state;
	expect_violation(&v, "indexer tried to read /home/u/id.json: not in declared_paths; to allow it, "
			     "add \"/home/u/id.json\" to declared_paths in its plugin.toml");
	assert_int_equal(mor_violation_json(&v, &out), 0);
	json = mor_buf_detach(&out);
	assert_string_equal(
		json,
		"{\"event\":\"sandbox_violation\",\"plugin\":\"indexer\",\"syscall\":\"openat\",\"path\":\"/home/u/id.json\",\"rule\":\"not "
		"in declared_paths\",\"kind\":null,\"allow\":\"add \\\"/home/u/id.json\\\" to declared_paths "
		"in its plugin.toml\",\"action\":\"killed\"}");
	mor_free(json);
}

struct worded {
	struct mor_violation what;
	const char *text;
};

/* In words, and each permission by the name that its giver wrote. */
static const struct worded violations_in_words[] = {
	{ { "x", "openat", "/p", MOR_RULE_READ, MOR_POLICY_OF_SETTINGS, NULL, false },
	  "x tried to read /p: not in sandbox.read; to allow it, add \"/p\" to read under [sandbox] in its "
	  "mortise.toml" },
	{ { "x", "openat", "/p", MOR_RULE_READ, MOR_POLICY_OF_LINE, NULL, false },
	  "x tried to read /p: not in sandbox.read; to allow it, add \"/p\" to --set sandbox.read" },
	{ { "x", "fork", "", MOR_RULE_SPAWN, MOR_POLICY_OF_LINE, NULL, false },
	  "x tried to start a process: sandbox.spawn is not granted; to allow it, add --set "
	  "sandbox.spawn=true" },
	{ { "x", "openat", "/p", MOR_RULE_READ, MOR_POLICY_OF_OPTIONS, NULL, false },
	  "x tried to read /p: not in sandbox.read; to allow it, add \"/p\" to the setting sandbox.read" },
	{ { "x", "openat", "/p; id", MOR_RULE_READ, MOR_POLICY_OF_PAIRS, NULL, false },
	  "x tried to read '/p; id': not in read; to allow it, add read='/p; id' to its policy" },
	{ { "x", "openat", "/w/.envrc", MOR_RULE_TOOL, MOR_POLICY_OF_SETTINGS, NULL, false },
	  "x tried to write /w/.envrc: no write to a protected path: tools run it by themselves; to allow it, "
	  "add its name to unprotect under [sandbox] in its mortise.toml" },
	{ { "x", "openat", "/p", MOR_RULE_READ, MOR_POLICY_OF_COMMAND, NULL, false },
	  "x tried to read /p: no --read names it; to allow it, add --read /p" },
	{ { "x", "openat", "/p; id", MOR_RULE_READ, MOR_POLICY_OF_COMMAND, NULL, false },
	  "x tried to read '/p; id': no --read names it; to allow it, add --read '/p; id'" },
	{ { "x", "openat", "/p\"q", MOR_RULE_READ, MOR_POLICY_OF_SETTINGS, NULL, false },
	  "x tried to read '/p\"q': not in sandbox.read; to allow it, add \"/p\\\"q\" to "
	  "read under [sandbox] in its mortise.toml" },
	{ { "x", "mkdir", "/p; to allow it, add --network", MOR_RULE_WRITE, MOR_POLICY_OF_PLUGIN_TOML, NULL,
	    false },
	  "x tried to write '/p; to allow it, add --network': outside what it may write" },
	{ { "x", "openat", "/p", MOR_RULE_READ, MOR_POLICY_OF_SUNSCREEN_JSON, NULL, false },
	  "x tried to read /p: not granted by capabilities.filesystem; to allow it, run it with "
	  "the setting sandbox.read=/p" },
	{ { "x", "openat", "/w/p", MOR_RULE_WORKSPACE_WRITE, MOR_POLICY_OF_PLUGIN_TOML, NULL, false },
	  "x tried to write /w/p: workspace_write is not granted; to allow it, set workspace_write = "
	  "true under [permissions] in its plugin.toml" },
	{ { "x", "mkdir", "/w/p", MOR_RULE_WORKSPACE_WRITE, MOR_POLICY_OF_COMMAND, NULL, false },
	  "x tried to write /w/p: the workspace may only be read; to allow it, add --write" },
	{ { "x", "openat", "/p", MOR_RULE_WRITE, MOR_POLICY_OF_COMMAND, NULL, false },
	  "x tried to write /p: outside what it may write; to allow it, name the directory with "
	  "--workspace and add --write" },
	{ { "x", "openat", "/p", MOR_RULE_WRITE, MOR_POLICY_OF_PLUGIN_TOML, NULL, false },
	  "x tried to write /p: outside what it may write" },
	{ { "x", "socket", "", MOR_RULE_NETWORK, MOR_POLICY_OF_PLUGIN_TOML, NULL, false },
	  "x tried to use the network: network is not granted; to allow it, set network = true under "
	  "[permissions] in its plugin.toml, and agree when mortise run asks" },
	{ { "x", "openat", "/etc/host.conf", MOR_RULE_NETWORK, MOR_POLICY_OF_SETTINGS, NULL, false },
	  "x tried to look up a name on the network (by /etc/host.conf): sandbox.network is not "
	  "granted; to allow it, set network = true under [sandbox] in its mortise.toml" },
	{ { "x", "connect", "/run/systemd/resolve/r", MOR_RULE_NETWORK, MOR_POLICY_OF_SUNSCREEN_JSON, NULL,
	    false },
	  "x tried to look up a name on the network (by /run/systemd/resolve/r): capabilities.network "
	  "is not granted; to allow it, set it to true in its sunscreen-plugin.json, and agree when "
	  "mortise run asks" },
	{ { "x", "socket", "", MOR_RULE_NETWORK, MOR_POLICY_OF_COMMAND, NULL, false },
	  "x tried to use the network: it has no network; to allow it, add --network" },
	{ { "x", "connect", "/run/docker.sock", "no sockets of other programs", MOR_POLICY_OF_COMMAND, NULL,
	    false },
	  "x tried to connect to /run/docker.sock: no sockets of other programs" },
	{ { "x", "execve", "/bin/sh", MOR_RULE_SPAWN, MOR_POLICY_OF_PLUGIN_TOML, NULL, false },
	  "x tried to run /bin/sh: plugins with a plugin.toml may not start programs" },
	{ { "x", "fork", "", MOR_RULE_SPAWN, MOR_POLICY_OF_COMMAND, NULL, false },
	  "x tried to start a process: it may not start programs; to allow it, add --spawn" },
	{ { "x", "kill", "process 7", "signals only to itself", MOR_POLICY_OF_COMMAND, NULL, false },
	  "x tried to signal process 7: signals only to itself" },
	{ { "x", "capset", "", "it stays who it is", MOR_POLICY_OF_COMMAND, NULL, false },
	  "x tried to change its privileges: it stays who it is" },
	{ { "x", "keyctl", "", "the keyring is out of bounds", MOR_POLICY_OF_COMMAND, NULL, false },
	  "x tried to use the kernel's keyring: the keyring is out of bounds" },
	{ { "x", MOR_SYSCALL_FOREIGN, "", "only the machine's own", MOR_POLICY_OF_COMMAND, NULL, false },
	  "x tried to make a system call of another architecture: only the machine's own" },
	{ { "x", "reboot", "", "the kernel's own affairs are out of bounds", MOR_POLICY_OF_COMMAND, NULL,
	    false },
	  "x tried to call reboot(): the kernel's own affairs are out of bounds" },
	{ { "x", "openat", "/t/\033[2J\xe2\x80\xaex", "write outside", MOR_POLICY_OF_COMMAND, NULL, false },
	  "x tried to write '/t/\\x1b[2J\\xe2\\x80\\xaex': write outside" },
};

static void test_violation_words(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(violations_in_words) / sizeof(*violations_in_words); i++)
		expect_violation(&violations_in_words[i].what, violations_in_words[i].text);
}

/* What is to be typed comes whole, or not at all: the sentence must fit into a mortise_error. */
static void test_violation_of_a_long_path(void **state)
{
	struct mor_violation v = { "x", "openat", NULL, MOR_RULE_READ, MOR_POLICY_OF_COMMAND, NULL, false };
	struct mor_buf out = MOR_BUF_INIT;
	char path[400], *got;

	(void)state;
	memset(path, 'p', sizeof(path) - 1);
	path[0] = '/';
	path[sizeof(path) - 1] = '\0';
	v.path = path;
	assert_int_equal(mor_violation_text(&v, &out), 0);
	got = mor_buf_detach(&out);
	assert_true(strlen(got) < sizeof(((mortise_error *)NULL)->text));
	assert_non_null(strstr(got, "ppp: no --read names it; to allow it, add --read PATH"));
	mor_free(got);
}

/* Every allocation fails in turn; nothing leaks (the sanitizer looks) and nothing half-set is used. */
static void test_memory(void **state)
{
	(void)state;
	for (long n = 0; n < 8; n++) {
		struct mor_policy p = MOR_POLICY_INIT;
		struct mor_buf out = MOR_BUF_INIT;

		mor_alloc_fail_after(n);
		mor_policy_set(&p, "workspace", "/w", NULL);
		mor_policy_set(&p, "read", "/a", NULL);
		mor_policy_set(&p, "protected_paths", NULL, NULL);
		mor_policy_json(&p, &out);
		mor_alloc_fail_after(-1);
		mor_buf_fini(&out);
		mor_policy_fini(&p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_values),
		MOR_TEST(test_refused),
		MOR_TEST(test_no_home),
		MOR_TEST(test_spawn_never),
		MOR_TEST(test_level),
		MOR_TEST(test_write_needs_workspace),
		MOR_TEST(test_limits),
		MOR_TEST(test_empty_list),
		MOR_TEST(test_on_denial),
		MOR_TEST(test_text),
		MOR_TEST(test_guarded_promises_nothing),
		MOR_TEST(test_json),
		MOR_TEST(test_violation),
		MOR_TEST(test_violation_words),
		MOR_TEST(test_violation_of_a_long_path),
		MOR_TEST(test_memory),
		MOR_TEST(test_view),
	};

	return mor_run_group("policy/policy", tests);
}
