/* SPDX-License-Identifier: Apache-2.0 */
/* Plugins by name: those that sunscreen.yml declares. Nothing is started. */
#include "heard.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "top.h"
#include "workspace/workspace.h"

static mortise_error err;
static const struct mor_plugin_args plugin_args;

static void put(const char *name, const char *text)
{
	FILE *file = fopen(at(name), "w");

	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static void make_plugin(const char *dir, const char *name)
{
	char path[100], text[300];

	assert_int_equal(mkdir(at(dir), 0755), 0);
	snprintf(text, sizeof(text),
		 "[plugin]\nname = \"%s\"\nversion = \"1.2.0\"\ndescription = \"d\"\nentry = \"./run\"\n"
		 "[commands.app]\na = \"a\"\n",
		 name);
	snprintf(path, sizeof(path), "%s/plugin.toml", dir);
	put(path, text);
	snprintf(path, sizeof(path), "%s/run", dir);
	put(path, "#!/bin/sh\n");
	assert_int_equal(chmod(at(path), 0755), 0);
}

static int make_files(void **state)
{
	(void)state;
	if (top_make("declared") < 0 ||
	    mkdir(at("ws"), 0755) | mkdir(at("ws/p"), 0755) | mkdir(at("here"), 0755) | mkdir(at("ws/q"), 0755))
		return -1;
	setenv("HOME", top, 1);
	setenv("XDG_CONFIG_HOME", at("config"), 1);
	make_plugin("ws/p/alpha.git", "first");
	make_plugin("ws/p/beta", "second");
	make_plugin("ws/q/beta", "third");
	return chdir(at("here"));
}

static void declare(const char *plugins)
{
	char text[1000];

	snprintf(text, sizeof(text), "name: demo\n%s", plugins);
	put("ws/sunscreen.yml", text);
}

/* The paths that are declared, below our directory, with a bar behind each; or the error's text without
 * the workspace's. */
static const char *found(const char *hook, const char *const *words)
{
	static char text[1000];
	struct mor_text_list list = { 0 };
	struct mor_workspace_args args = {
		.hook = hook, .workspace = "../ws", .words = words, .plugin = &plugin_args
	};
	size_t len = 0, skip = strlen(top) + 1;
	int r;

	while (words[args.word_count])
		args.word_count++;
	err = (mortise_error){ 0 };
	r = mor_workspace_declared(&console, &args, &list, &err);
	assert_int_equal(r, r < 0 ? err.code : 0);
	text[0] = '\0';
	for (size_t i = 0; i < list.count && r == 0; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s|",
					list.item[i] + (strncmp(list.item[i], top, skip - 1) == 0 ? skip : 0));
	mor_text_list_free_texts(&list);
	if (r == 0)
		return text;
	return strncmp(err.text, top, skip - 1) == 0 ? err.text + skip : err.text;
}
#define COMMAND(word) found(NULL, (const char *const[]){ word, "cmd", NULL })
#define HOOK(...)     found("after_build", (const char *const[]){ __VA_ARGS__, NULL })

#define TWO "plugins:\n- source: p/alpha.git\n- source: ./p/beta/\n"

static void test_by_source_base_and_name(void **state)
{
	(void)state;
	declare(TWO);
	assert_string_equal(COMMAND("p/alpha.git"), "ws/p/alpha.git|");
	assert_string_equal(COMMAND("alpha"), "ws/p/alpha.git|"); /* its last part, without .git */
	assert_string_equal(COMMAND("first"), "ws/p/alpha.git|"); /* its manifest's name */
	assert_string_equal(COMMAND("beta"), "ws/./p/beta/|");
	assert_string_equal(COMMAND("second"), "ws/./p/beta/|");
	assert_non_null(strstr(COMMAND("git"), "git: no plugin of "));
	assert_int_equal(err.code, MORTISE_ENOTFOUND);
	assert_non_null(strstr(err.text, "(p/alpha.git, ./p/beta/)"));
}

static void test_what_lies_here_needs_a_slash(void **state)
{
	(void)state;
	declare(TWO);
	put("here/alpha", "");
	put("here/gamma", "");
	assert_string_equal(COMMAND("alpha"), "ws/p/alpha.git|");
	assert_string_equal(COMMAND("./alpha"), "./alpha|");
	assert_non_null(strstr(COMMAND("gamma"), "gamma: no plugin of "));
	assert_non_null(strstr(err.text, "; for what lies here under that name, write ./gamma"));
	assert_int_equal(unlink(at("here/alpha")), 0);
	assert_int_equal(unlink(at("here/gamma")), 0);
}

static void test_several_of_one_name(void **state)
{
	(void)state;
	declare("plugins:\n- source: p/beta\n- source: q/beta\n");
	assert_non_null(strstr(COMMAND("beta"), "beta: 2 plugins of "));
	assert_int_equal(err.code, MORTISE_EINPUT);
	assert_non_null(strstr(err.text, "type the exact source of one (p/beta, q/beta)"));
	assert_string_equal(COMMAND("q/beta"), "ws/q/beta|");
	assert_string_equal(COMMAND("third"), "ws/q/beta|");
}

static void test_an_absolute_source(void **state)
{
	char text[200];

	(void)state;
	snprintf(text, sizeof(text), "plugins:\n- source: %s/ws/q/beta\n", top);
	declare(text);
	assert_string_equal(COMMAND("third"), "ws/q/beta|");
}

/* Then the words are paths, and errors are those of paths. */
static void test_nothing_is_declared(void **state)
{
	(void)state;
	declare("");
	assert_string_equal(COMMAND("anything"), "anything|");
	declare("plugins:\n");
	assert_string_equal(COMMAND("anything"), "anything|");
	declare("plugins: []\n");
	assert_string_equal(COMMAND("anything"), "anything|");
	assert_non_null(strstr(HOOK(NULL), "name a PLUGIN: "));
	assert_int_equal(err.code, MORTISE_EUNSUPPORTED);
}

static void test_hooks(void **state)
{
	(void)state;
	declare(TWO);
	assert_string_equal(HOOK(NULL), "ws/p/alpha.git|ws/./p/beta/|"); /* all of them */
	assert_string_equal(HOOK("beta", "first"), "ws/./p/beta/|ws/p/alpha.git|");
	assert_string_equal(heard_err(), "");
	declare("plugins:\n- source: nowhere\n- source: p/beta\n");
	assert_string_equal(HOOK(NULL), "ws/p/beta|"); /* the others go on */
	assert_non_null(strstr(heard_err(), "nowhere is not here (nothing is downloaded)\n"));
	assert_non_null(strstr(COMMAND("nowhere"), "nowhere is not here (nothing is downloaded)"));
	assert_int_equal(err.code, MORTISE_ENOTFOUND);
}

/* A wish: the one that is here is used. */
static void test_versions(void **state)
{
	static const struct {
		const char *wish;
		bool told;
	} rows[] = {
		{ "1.2.0", false }, { "v1.2.0", false }, { "1.2.1", true }, { "\"\"", true }, { "2", false }
	};
	char text[200];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		snprintf(text, sizeof(text), "plugins:\n- source: p/beta\n  version: %s\n", rows[i].wish);
		declare(text);
		assert_string_equal(COMMAND("beta"), "ws/p/beta|");
		assert_int_equal(strstr(heard_err(), "warning: second: sunscreen.yml wants version") != NULL,
				 rows[i].told);
	}
}

static void test_entries_that_are_refused(void **state)
{
	static const char *const rows[][2] = {
		{ "plugins: 5\n", "plugins must be an array" },
		{ "plugins:\n  a: b\n", "plugins must be an array" },
		{ "plugins:\n- p/beta\n", "plugins[0] must be a mapping with a source" },
		{ "plugins:\n- version: 1\n", "plugins[0] must be a mapping with a source" },
		{ "plugins:\n- source: p/beta\n  transport: grpc\n",
		  "plugins[0].transport: this cannot replace the manifest: write it into the manifest of "
		  "p/beta" },
		{ "plugins:\n- source: p/beta\n  entrypoint: [x]\n",
		  "plugins[0].entrypoint: this cannot replace" },
		{ "plugins:\n- source: p/beta\n  capabilities: {}\n", "plugins[0].capabilities: this cannot" },
		{ "plugins:\n- source: p/beta\n  nmae: x\n",
		  "plugins[0].nmae is not known: use source, version" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		declare(rows[i][0]);
		if (!strstr(HOOK(NULL), rows[i][1]))
			assert_string_equal(err.text, rows[i][1]);
		assert_int_equal(err.code, MORTISE_EMANIFEST);
	}
	declare("plugins: [\n");
	HOOK(NULL);
	assert_int_equal(err.code, MORTISE_EMANIFEST);
}

static void test_no_memory(void **state)
{
	static const char *const words[] = { "second", NULL };
	struct mor_workspace_args args = {
		.hook = "h", .workspace = "../ws", .words = words, .word_count = 1, .plugin = &plugin_args
	};

	(void)state;
	declare(TWO);
	for (long n = 0, r = -1; r < 0; n++) {
		struct mor_text_list list = { 0 };

		err = (mortise_error){ 0 };
		mor_alloc_fail_after(n);
		r = mor_workspace_declared(&console, &args, &list, &err);
		mor_alloc_fail_after(-1);
		assert_true(r == 0 || err.code == r);
		mor_text_list_free_texts(&list);
		assert_true(n < 1000);
	}
}

static int drop_files(void **state)
{
	return chdir("/") | top_drop(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HEARD_TEST(test_by_source_base_and_name),
		HEARD_TEST(test_what_lies_here_needs_a_slash),
		HEARD_TEST(test_several_of_one_name),
		HEARD_TEST(test_an_absolute_source),
		HEARD_TEST(test_nothing_is_declared),
		HEARD_TEST(test_hooks),
		HEARD_TEST(test_versions),
		HEARD_TEST(test_entries_that_are_refused),
		HEARD_TEST(test_no_memory),
	};

	return mor_run_group_in("workspace/declared", tests, make_files, drop_files);
}
