/* SPDX-License-Identifier: Apache-2.0 */
/* The bot's TOML: [external-plugin-bridge]. */
#include "manifest/tree.h"

#include "botfile/botfile.h"

#define HEAD "[external-plugin-bridge]\nenabled = true\n"
#define ONE  HEAD "[external-plugin-bridge.plugins.a]\n"

static struct mor_botfile *load_bot(const char *text)
{
	struct mor_botfile *bot = NULL;
	mortise_error err = { 0 };

	put("bot.toml", text);
	if (mor_botfile_load("bot.toml", &bot, &err) < 0)
		fail_msg("%s", err.text);
	return bot;
}

static void refuse_bot(const char *text, const char *wanted)
{
	struct mor_botfile *bot = NULL;
	mortise_error err = { 0 };

	put("bot.toml", text);
	assert_int_equal(mor_botfile_load("bot.toml", &bot, &err), MORTISE_EMANIFEST);
	assert_null(bot);
	assert_string_equal(err.text, wanted);
}

static void expect_warning(const char *text, const char *wanted)
{
	struct mor_botfile *bot = load_bot(text);

	assert_non_null(bot->warnings);
	assert_string_equal(bot->warnings[0], wanted);
	assert_null(bot->warnings[1]);
	mor_botfile_free(bot);
}

/* As the bridge's own documentation prints it. */
static void test_all_keys(void **state)
{
	struct mor_botfile *bot = load_bot(
		"[bot]\nname = \"x\"\n[other]\nanything = 1\n" HEAD
		"[external-plugin-bridge.plugins.weather]\ncommand = \"python3\"\nargs = [\"-u\", "
		"\"weather.py\"]\n"
		"cwd = \"plugins\"\nenv = { KEY = \"a b\", EMPTY = \"\" }\nauto_restart = true\nmax_restarts = "
		"7\n"
		"priority = -5\ntimeout = \"90s\"\nprefilter = true\n");

	(void)state;
	assert_null(bot->warnings);
	assert_int_equal(bot->count, 1);
	assert_string_equal(bot->plugins[0].name, "weather");
	expect_list(bot->plugins[0].argv, "python3|-u|weather.py");
	expect_list(bot->plugins[0].env, "EMPTY=|KEY=a b");
	assert_true(bot->plugins[0].auto_restart && bot->plugins[0].prefilter);
	assert_int_equal(bot->plugins[0].priority, -5);
	assert_int_equal(bot->plugins[0].line, 7);
	assert_string_equal(bot->plugins[0].set[1], "timeouts.handle=90000ms");
	assert_string_equal(bot->plugins[0].set[2], "restart.intensity=7");
	assert_null(bot->plugins[0].set[3]);
	assert_null(mor_botfile_free(bot));
	assert_null(mor_botfile_free(NULL));
}

static void test_defaults(void **state)
{
	struct mor_botfile *bot = load_bot(ONE "command = \"./a.py\"\n");
	char cwd[128];

	(void)state;
	expect_list(bot->plugins[0].argv, "@/a.py");
	assert_null(bot->plugins[0].env);
	assert_false(bot->plugins[0].auto_restart || bot->plugins[0].prefilter);
	assert_int_equal(bot->plugins[0].priority, 100);
	snprintf(cwd, sizeof(cwd), "plugin.cwd:=\"%s\"", tree);
	assert_string_equal(bot->plugins[0].set[0], cwd);
	assert_string_equal(bot->plugins[0].set[1], "restart.intensity=3");
	assert_string_equal(bot->plugins[0].set[2], "restart.enabled=false");
	mor_botfile_free(bot);
}

/* Relative to the file, not to where we are; a command with a slash to where it will run. */
static void test_paths(void **state)
{
	struct mor_botfile *bot = NULL;
	mortise_error err = { 0 };

	(void)state;
	put("deep/bot.toml", ONE "command = \"bin/a\"\ncwd = \"work\"\n");
	assert_int_equal(mor_botfile_load("deep/bot.toml", &bot, &err), 0);
	expect_list(bot->plugins[0].argv, "@/deep/work/bin/a");
	assert_non_null(strstr(bot->plugins[0].set[0], "/deep/work\""));
	mor_botfile_free(bot);
	assert_int_equal(mor_botfile_load("none.toml", &bot, &err), MORTISE_ENOTFOUND);
	assert_string_equal(err.text, "none.toml: no such file: name the bot's TOML file");
}

/* By priority, then in the order of the file, whatever the names are. */
static void test_order(void **state)
{
	struct mor_botfile *bot =
		load_bot(HEAD "[external-plugin-bridge.plugins]\n"
			      "z = { command = \"z\" }\nb = { command = \"b\", priority = 200 }\n"
			      "a = { command = \"a\" }\nfirst = { command = \"f\", priority = 1 }\n"
			      "[external-plugin-bridge.plugins.m]\ncommand = \"m\"\npriority = 100\n");
	static const char *const wanted[] = { "first", "z", "a", "m", "b" };

	(void)state;
	assert_int_equal(bot->count, 5);
	for (size_t i = 0; i < 5; i++)
		assert_string_equal(bot->plugins[i].name, wanted[i]);
	mor_botfile_free(bot);
}

static void test_timeouts(void **state)
{
	struct mor_botfile *bot = load_bot(ONE "command = \"x\"\ntimeout = 1.5\n");

	(void)state;
	assert_string_equal(bot->plugins[0].set[1], "timeouts.handle=1500ms");
	mor_botfile_free(bot);
	bot = load_bot(ONE "command = \"x\"\ntimeout = { handle = \"2m\", matches = \"500ms\" }\n");
	assert_string_equal(bot->plugins[0].set[1], "timeouts.handle=120000ms");
	assert_string_equal(bot->plugins[0].set[2], "timeouts.matches=500ms");
	mor_botfile_free(bot);
}

static void test_warnings(void **state)
{
	(void)state;
	expect_warning("[external-plugin-bridge]\nplugins.a.command = \"x\"\n",
		       "bot.toml:1:2: external-plugin-bridge.enabled is missing: here that means true, in "
		       "Ayiou itself false: write enabled = true");
	expect_warning(
		ONE "command = \"x\"\nautorestart = true\n",
		"bot.toml:5:1: external-plugin-bridge.plugins.a.autorestart is not known and ignored: did you "
		"mean \"auto_restart\"?");
	expect_warning(HEAD "hot_reload = 1\nplugins.a.command = \"x\"\n",
		       "bot.toml:3:1: external-plugin-bridge.hot_reload is not known and ignored");
	expect_warning(ONE "command = \"x\"\n[bot]\nws_uri = \"ws://x\"\n",
		       "bot.toml:6:1: bot.ws_uri is not known and ignored: did you mean \"ws_url\"?");
	expect_warning(ONE "command = \"x\"\n[bot]\nadmins = [1]\n",
		       "bot.toml:6:1: bot.admins is not known and ignored");
}

struct bot_fault {
	const char *toml, *text;
};

static void refuse_bots(const struct bot_fault *cases, size_t count)
{
	for (size_t i = 0; i < count; i++)
		refuse_bot(cases[i].toml, cases[i].text);
}

static void test_faults(void **state)
{
	static const struct bot_fault cases[] = {
		{ "", "bot.toml:1:1: [external-plugin-bridge] is missing: write it with its plugins, "
		      "[external-plugin-bridge.plugins.NAME] command = \"…\"" },
		{ "[external-plugin-bridge]\nenabled = false\n",
		  "bot.toml:2:1: external-plugin-bridge.enabled is false, so no plugin will run: write enabled "
		  "= true" },
		{ "[external-plugin-bridge]\n enabled = 1\n",
		  "bot.toml:2:2: external-plugin-bridge.enabled must be true or false" },
		{ HEAD, "bot.toml:1:2: external-plugin-bridge names no plugin: add "
			"[external-plugin-bridge.plugins.NAME] with a command" },
		{ HEAD "plugins = 1\n",
		  "bot.toml:3:1: external-plugin-bridge.plugins must be a table of plugins: "
		  "[external-plugin-bridge.plugins.NAME]" },
		{ HEAD "plugins.a = 1\n",
		  "bot.toml:3:9: external-plugin-bridge.plugins.a must be a table with a name: "
		  "[external-plugin-bridge.plugins.NAME]" },
	};

	(void)state;
	refuse_bots(cases, sizeof(cases) / sizeof(cases[0]));
}

static void test_faults_of_a_plugin(void **state)
{
	static const struct bot_fault cases[] = {
		{ ONE,
		  "bot.toml:3:33: external-plugin-bridge.plugins.a.command is missing: name the program to "
		  "run" },
		{ ONE "comand = \"x\"\n",
		  "bot.toml:3:33: external-plugin-bridge.plugins.a.command is missing: name the program to run "
		  "(there is \"comand\", which is not known)" },
		{ ONE "command = [\"x\"]\n",
		  "bot.toml:4:1: external-plugin-bridge.plugins.a.command must be a string: the program, "
		  "without its arguments" },
		{ ONE "command = \"\"\n",
		  "bot.toml:4:1: external-plugin-bridge.plugins.a.command must be a string: the program, "
		  "without its arguments" },
		{ ONE "command = \"a\\u0000\"\n",
		  "bot.toml:4:1: external-plugin-bridge.plugins.a.command must be a string: the program, "
		  "without its arguments" },
		{ ONE "command = \"x\"\nargs = \"y\"\n",
		  "bot.toml:5:1: external-plugin-bridge.plugins.a.args must be an array of strings" },
		{ ONE "command = \"x\"\nargs = [1]\n",
		  "bot.toml:5:1: external-plugin-bridge.plugins.a.args must be an array of strings" },
		{ ONE "command = \"x\"\ncwd = 1\n",
		  "bot.toml:5:1: external-plugin-bridge.plugins.a.cwd must be a string: a directory" },
		{ ONE "command = \"x\"\nenv = { N = 1 }\n",
		  "bot.toml:5:1: external-plugin-bridge.plugins.a.env must be a table from names to strings: { "
		  "NAME = \"value\" }" },
		{ ONE "command = \"x\"\nauto_restart = \"yes\"\n",
		  "bot.toml:5:1: external-plugin-bridge.plugins.a.auto_restart must be true or false" },
		{ ONE "command = \"x\"\nmax_restarts = -1\n",
		  "bot.toml:5:1: external-plugin-bridge.plugins.a.max_restarts must be a whole number from 0 "
		  "to 64" },
		{ ONE "command = \"x\"\nmax_restarts = 65\n",
		  "bot.toml:5:1: external-plugin-bridge.plugins.a.max_restarts must be a whole number from 0 "
		  "to 64" },
		{ ONE "command = \"x\"\npriority = 1.5\n",
		  "bot.toml:5:1: external-plugin-bridge.plugins.a.priority must be a whole number; smaller is "
		  "earlier" },
		{ ONE "command = \"x\"\ntimeout = \"soon\"\n",
		  "bot.toml:5:1: external-plugin-bridge.plugins.a.timeout must be a duration such as \"60s\", "
		  "or { handle = \"60s\", matches = \"5s\" }" },
		{ ONE "command = \"x\"\ntimeout = { ping = 1 }\n",
		  "bot.toml:5:1: external-plugin-bridge.plugins.a.timeout must be a table whose keys are "
		  "handle, matches, lifecycle or metadata" },
		{ ONE "command = \"x\"\nprefilter = 1\n",
		  "bot.toml:5:1: external-plugin-bridge.plugins.a.prefilter must be true or false" },
	};

	(void)state;
	refuse_bots(cases, sizeof(cases) / sizeof(cases[0]));
}

#define BOT ONE "command = \"x\"\n[bot]\n"

static void test_network(void **state)
{
	struct mor_botfile *bot = load_bot(ONE "command = \"x\"\n"), *other;
	char path[160];

	(void)state;
	assert_null(bot->network.connect);
	assert_null(bot->network.listen);
	assert_null(bot->network.access_token);
	assert_int_equal(bot->network.api_ms, 30000);
	assert_int_equal(bot->network.ping_ms, 30000);
	other = load_bot(BOT
			 "name = \"n\"\nws_url = \"wss://h/p?q\"\naccess_token = \"t\"\nlisten = "
			 "\"wss://[::]:1\"\nca_file = \"ca.pem\"\n"
			 "cert_file = \"/c.pem\"\nkey_file = \"k/k.pem\"\napi_timeout = \"500ms\"\nping = 2\n");
	assert_null(other->warnings);
	assert_string_equal(other->network.name, "n");
	assert_string_equal(other->network.connect->host, "h");
	assert_string_equal(other->network.connect->target, "/p?q");
	assert_string_equal(other->network.access_token, "t");
	assert_int_equal(other->network.listen->port, 1);
	snprintf(path, sizeof(path), "%s/ca.pem", tree);
	assert_string_equal(other->network.ca_file, path);
	assert_string_equal(other->network.cert_file, "/c.pem");
	assert_int_equal(other->network.api_ms, 500);
	assert_int_equal(other->network.ping_ms, 2000);
	assert_false(mor_botfile_network_same(&bot->network, &other->network));
	assert_true(mor_botfile_network_same(&other->network, &other->network));
	mor_botfile_free(bot);
	mor_botfile_free(other);
	bot = load_bot(BOT "access_token = \"\"\n");
	assert_null(bot->network.access_token);
	mor_botfile_free(bot);
}

static void test_network_faults(void **state)
{
	static const struct {
		const char *toml, *text;
	} cases[] = {
		{ "bot = 1\n" ONE "command = \"x\"\n", "bot.toml:1:1: bot must be a table: [bot]" },
		{ BOT "ws_url = 1\n",
		  "bot.toml:6:1: bot.ws_url must be a string: \"ws://HOST:PORT/\", or \"wss://…\"" },
		{ BOT "ws_url = \"http://x\"\n", "bot.toml:6:1: bot.ws_url must begin with ws:// or wss://" },
		{ BOT "access_token = \"a b\"\n",
		  "bot.toml:6:1: bot.access_token must be a string of letters, digits and signs without "
		  "blanks" },
		{ BOT "listen = \"wss://x\"\n",
		  "bot.toml:6:1: bot.listen is wss, which needs cert_file and key_file" },
		{ BOT "key_file = \"x\"\n", "bot.toml:6:1: bot.key_file is only for listen = \"wss://…\"" },
		{ BOT "listen = \"ws://x/?y\"\n",
		  "bot.toml:6:1: bot.listen has a part after \"?\": use access_token" },
		{ BOT "ca_file = \"\"\n",
		  "bot.toml:6:1: bot.ca_file must be a string: a file with certificates (PEM)" },
		{ BOT "ping = \"0s\"\n", "bot.toml:6:1: bot.ping must be a duration such as \"30s\"" },
		{ BOT "api_timeout = true\n",
		  "bot.toml:6:1: bot.api_timeout must be a duration such as \"30s\"" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		refuse_bot(cases[i].toml, cases[i].text);
}

/* What makes another process of it, and what does not. */
static void test_same(void **state)
{
	static const struct {
		const char *keys;
		bool same;
	} cases[] = {
		{ "command = \"x\"\n", true },
		{ "command = \"x\"\nargs = []\nenv = {}\n", true },
		{ "command = \"x\"\npriority = 3\nprefilter = true\n", true },
		{ "command = \"y\"\n", false },
		{ "command = \"x\"\nargs = [\"1\"]\n", false },
		{ "command = \"x\"\nenv = { A = \"b\" }\n", false },
		{ "command = \"x\"\ncwd = \"d\"\n", false },
		{ "command = \"x\"\ntimeout = 3\n", false },
		{ "command = \"x\"\nauto_restart = true\n", false },
	};
	struct mor_botfile *bot = load_bot(ONE "command = \"x\"\n");

	(void)state;
	assert_true(bot->plugins[0].enabled);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[200];
		struct mor_botfile *other;

		snprintf(text, sizeof(text), ONE "%s", cases[i].keys);
		other = load_bot(text);
		assert_int_equal(mor_botfile_plugin_same(&bot->plugins[0], &other->plugins[0]), cases[i].same);
		mor_botfile_free(other);
	}
	mor_botfile_free(bot);
	bot = load_bot(ONE "command = \"x\"\nenabled = false\n");
	assert_false(bot->plugins[0].enabled);
	mor_botfile_free(bot);
}

static void test_no_toml(void **state)
{
	struct mor_botfile *bot = NULL;
	mortise_error err = { 0 };

	(void)state;
	put("bot.toml", "[external-plugin-bridge\n");
	assert_int_equal(mor_botfile_load("bot.toml", &bot, &err), MORTISE_EMANIFEST);
	assert_non_null(strstr(err.text, "bot.toml:1:"));
	put("dir/", "");
	assert_int_equal(mor_botfile_load("dir", &bot, &err), MORTISE_EMANIFEST);
	assert_null(bot);
}

static void test_allocations(void **state)
{
	struct mor_botfile *bot = NULL;
	mortise_error err = { 0 };
	int r = MORTISE_ENOMEM;

	(void)state;
	put("bot.toml", ONE
	    "command = \"x\"\nargs = [\"1\", \"2\"]\nenv = { A = \"b\" }\ntimeout = \"1s\"\nodd = 1\n"
	    "[external-plugin-bridge.plugins.b]\ncommand = \"y\"\n[bot]\nname = \"n\"\nws_url = \"ws://x\"\n"
	    "listen = \"ws://y\"\nca_file = \"c\"\naccess_token = \"t\"\nodd = 1\n");
	for (long n = 0; r == MORTISE_ENOMEM; n++) {
		assert_true(n < 2000);
		mor_alloc_fail_after(n);
		r = mor_botfile_load("bot.toml", &bot, &err);
		mor_alloc_fail_after(-1);
	}
	assert_int_equal(r, 0);
	mor_botfile_free(bot);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TREE_TEST(test_all_keys),    TREE_TEST(test_defaults),           TREE_TEST(test_paths),
		TREE_TEST(test_order),       TREE_TEST(test_timeouts),           TREE_TEST(test_warnings),
		TREE_TEST(test_faults),      TREE_TEST(test_faults_of_a_plugin), TREE_TEST(test_no_toml),
		TREE_TEST(test_network),     TREE_TEST(test_network_faults),     TREE_TEST(test_same),
		TREE_TEST(test_allocations),
	};

	return mor_run_group("botfile/botfile", tests);
}
