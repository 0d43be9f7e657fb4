/* SPDX-License-Identifier: Apache-2.0 */
/* Options of a command become settings of a host, in their order; what is wrong is refused before it exists. */
#include "heard.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "runner/answer.h"
#include "runner/network.h"
#include "runner/runner.h"
#include "top.h"

#define LIST(...) list_of((const char *[]){ __VA_ARGS__, NULL })

static mortise_error err;

/* A NULL-terminated array as such a list; nothing in it is freed. */
static struct mor_text_list list_of(const char **items)
{
	struct mor_text_list list = { .item = items };

	while (items[list.count])
		list.count++;
	return list;
}

/* The settings, with a blank behind each; or the error's text. */
static const char *settings_of(const struct mor_plugin_args *args, const char *const *defaults)
{
	static char text[1000];
	struct mor_runner runner = { 0 };
	size_t len = 0;
	int r;

	err = (mortise_error){ 0 };
	r = mor_runner_open(&runner, &console, args, defaults, &err);
	assert_int_equal(r, err.code);
	for (size_t i = 0; i < runner.set.count && r == 0; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s ", runner.set.item[i]);
	text[len] = '\0';
	mor_runner_close(&runner);
	return r < 0 ? err.text : text;
}
#define SETTINGS(...) settings_of(&(struct mor_plugin_args){ __VA_ARGS__ }, NULL)

/* ---- what becomes a setting ---- */

static void test_nothing_is_set_by_itself(void **state)
{
	(void)state;
	assert_string_equal(SETTINGS(0), "");
	assert_string_equal(heard_err(), "");
}

/* Who comes later wins: the command's own words, then --set, then options. */
static void test_order(void **state)
{
	struct mor_plugin_args args = { .set = LIST("timeouts.a=1s", "x.y=2"),
					.timeout = LIST("a=2s", "30s", "b.c=1.5s"),
					.framing = "line",
					.proto = "/p.proto",
					.level = "t0",
					.on_denial = "kill",
					.pidns = true,
					.network = LIST("a:1", "b:2") };

	(void)state;
	assert_string_equal(settings_of(&args, (const char *const[]){ "own.one=1", "own.two=2", NULL }),
			    "own.one=1 own.two=2 timeouts.a=1s x.y=2 plugin.framing=line grpc.proto=/p.proto "
			    "timeouts.a=2s timeouts.b.c=1.5s sandbox.level=t0 sandbox.on_denial=kill "
			    "sandbox.pidns=true sandbox.network=a:1,b:2 ");
}

static void test_confinement(void **state)
{
	(void)state;
	assert_string_equal(SETTINGS(.confine = true), "sandbox.level=auto ");
	assert_string_equal(SETTINGS(.confine = true, .level = "t1"), "sandbox.level=t1 ");
	assert_string_equal(SETTINGS(.network = LIST("true")), "sandbox.network=true ");
	assert_string_equal(heard_err(), "");
	assert_string_equal(SETTINGS(.unconfined = true), "sandbox.unconfined=true ");
	assert_non_null(strstr(heard_err(), "warning: --unconfined: no permission of the plugin is enforced"));
}

/* A path as it was typed: from our directory, not from the plugin's. */
static void test_a_proto_file_is_absolute(void **state)
{
	char wanted[4200], *here = getcwd(NULL, 0);

	(void)state;
	snprintf(wanted, sizeof(wanted), "grpc.proto=%s/a.proto ", here);
	assert_string_equal(SETTINGS(.proto = "a.proto"), wanted);
	free(here);
}

static void test_what_is_refused(void **state)
{
	static const struct {
		struct mor_plugin_args args;
		const char *text;
	} rows[] = {
		{ { .clean_env = true, .inherit_env = true },
		  "--clean-env and --inherit-env cannot be used together" },
		{ { .confine = true, .level = "guarded" },
		  "--confine and --level guarded cannot be used together" },
		{ { .dialect = "yamz" }, "no dialect \"yamz\"; did you mean yams? There are: " },
		{ { .dialect = "qqqqqqqq" }, "no dialect \"qqqqqqqq\"; there are: " },
		{ { .dialect = "" }, "no dialect \"\"" },
	};
	static const struct {
		const char *set, *timeout, *env, *network, *text;
	} words[] = {
		{ .set = "a=1", .text = "--set \"a=1\": expected SECTION.KEY=VALUE" },
		{ .set = "a.b", .text = "--set \"a.b\": expected SECTION.KEY=VALUE" },
		{ .set = ".b=1", .text = "--set \".b=1\": expected SECTION.KEY=VALUE" },
		{ .set = "a=b.c", .text = "--set \"a=b.c\": expected SECTION.KEY=VALUE" },
		{ .set = "", .text = "--set \"\": expected SECTION.KEY=VALUE" },
		{ .timeout = "0", .text = "--timeout \"0\": expected [METHOD=]DURATION" },
		{ .timeout = "=3s", .text = "--timeout \"=3s\": expected [METHOD=]DURATION" },
		{ .timeout = "a=", .text = "--timeout \"a=\": expected [METHOD=]DURATION" },
		{ .timeout = "a=0s", .text = "--timeout \"a=0s\": expected [METHOD=]DURATION" },
		{ .timeout = "-1s", .text = "--timeout \"-1s\": expected [METHOD=]DURATION" },
		{ .timeout = "99999999h", .text = "--timeout \"99999999h\": expected [METHOD=]DURATION" },
		{ .env = "=x", .text = "--env \"=x\": expected NAME or NAME=VALUE" },
		{ .env = "", .text = "--env \"\": expected NAME or NAME=VALUE" },
		{ .network = "true", .text = "--network alone grants every host: leave it out, or the others" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(strncmp(settings_of(&rows[i].args, NULL), rows[i].text, strlen(rows[i].text)),
				 0);
		assert_int_equal(err.code, rows[i].args.dialect ? MORTISE_ENOTFOUND : MORTISE_EINVAL);
	}
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		struct mor_plugin_args args = { .set = LIST("fine.set=1", words[i].set),
						.timeout = LIST("fine=1s", words[i].timeout),
						.env = LIST("FINE=", "FINE", words[i].env),
						.network = LIST("a:1", words[i].network) };

		if (strncmp(settings_of(&args, NULL), words[i].text, strlen(words[i].text)) != 0)
			assert_string_equal(err.text, words[i].text);
		assert_int_equal(err.code, MORTISE_EINVAL);
	}
}

static void test_timeout_of_calls(void **state)
{
	struct mor_plugin_args args = { .timeout = LIST("3s", "500ms", "m=1s") };
	struct mor_runner runner;

	(void)state;
	assert_int_equal(mor_runner_open(&runner, &console, &args, NULL, &err), 0);
	assert_int_equal(runner.timeout_ms, 500); /* the last */
	mor_runner_close(&runner);
}

/* No --config is not the same as {}: then only files decide. */
static void test_config(void **state)
{
	struct mor_plugin_args none = { 0 }, some = { .config = LIST("a=1", "b.c=x") },
			       empty = { .config = LIST("{}") };
	struct mor_runner runner;

	(void)state;
	assert_int_equal(mor_runner_open(&runner, &console, &none, NULL, &err), 0);
	assert_null(runner.config);
	mor_runner_close(&runner);
	assert_int_equal(mor_runner_open(&runner, &console, &empty, NULL, &err), 0);
	assert_string_equal(runner.config, "{}");
	mor_runner_close(&runner);
	assert_int_equal(mor_runner_open(&runner, &console, &some, NULL, &err), 0);
	assert_string_equal(runner.config, "{\"a\":1,\"b\":{\"c\":\"x\"}}");
	mor_runner_close(&runner);
}

static void test_flags_of_a_plugin(void **state)
{
	static const struct {
		struct mor_plugin_args args;
		uint64_t flags;
	} rows[] = {
		{ { 0 }, 0 },
		{ { .strict = true }, MORTISE_STRICT },
		{ { .clean_env = true, .strict = true }, MORTISE_CLEAN_ENV | MORTISE_STRICT },
		{ { .inherit_env = true }, MORTISE_INHERIT_ENV },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		static const char *const argv[] = { "p", NULL };
		mortise_plugin_options opt;
		struct mor_runner runner;

		assert_int_equal(mor_runner_open(&runner, &console, &rows[i].args, NULL, &err), 0);
		mor_runner_plugin_options(&runner, NULL, argv, &opt);
		assert_int_equal(opt.flags, rows[i].flags);
		assert_ptr_equal(opt.argv, argv);
		assert_int_equal(console.strict, rows[i].args.strict);
		mor_runner_close(&runner);
	}
}

/* ---- the greeting ---- */

/* The settings that --timeout adds for a greeting. */
static const char *cap_of(const struct mor_plugin_args *args)
{
	static char text[400];
	static const char *const argv[] = { "p", NULL };
	struct mor_resolved *resolved = NULL;
	struct mor_runner runner;
	size_t len = 0, before;

	assert_int_equal(mor_runner_open(&runner, &console, args, NULL, &err), 0);
	before = runner.set.count;
	assert_int_equal(mor_runner_resolve(args, NULL, argv, &resolved, &err), 0);
	assert_int_equal(mor_runner_cap_greeting(&runner, resolved, &err), 0);
	mor_resolved_unref(resolved);
	for (size_t i = before; i < runner.set.count; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s ", runner.set.item[i]);
	text[len] = '\0';
	mor_runner_close(&runner);
	return text;
}
#define CAP(...) cap_of(&(struct mor_plugin_args){ __VA_ARGS__ })

/* How long a person waits: a greeting that may take longer is limited by it, unless it has its own limit. */
static void test_timeout_limits_the_greeting(void **state)
{
	(void)state;
	assert_string_equal(CAP(.dialect = "yams"), "");
	assert_string_equal(CAP(.dialect = "yams", .timeout = LIST("1s")),
			    "timeouts.handshake.manifest=1000ms timeouts.plugin.init=1000ms ");
	assert_string_equal(CAP(.dialect = "yams", .timeout = LIST("1h")), "");
	assert_string_equal(CAP(.dialect = "yams", .timeout = LIST("1s", "plugin.init=9s")),
			    "timeouts.handshake.manifest=1000ms ");
	assert_string_equal(CAP(.dialect = "yams", .timeout = LIST("1s"),
				.set = LIST("timeouts.plugin.init=9s")),
			    "timeouts.handshake.manifest=1000ms ");
	assert_string_equal(CAP(.dialect = "plain", .timeout = LIST("1ms")), ""); /* it has none */
}

/* ---- dialects ---- */

static void test_dialects(void **state)
{
	MOR_CLEAN(mor_buf) struct mor_buf names = MOR_BUF_INIT;

	(void)state;
	assert_true(mor_runner_dialect_exists("plain"));
	assert_false(mor_runner_dialect_exists("plai"));
	assert_false(mor_runner_dialect_exists(""));
	assert_null(mor_runner_dialect_table("no such"));
	assert_int_equal(mor_runner_dialect_names("|", &names), 0);
	mor_buf_byte(&names, '\0');
	assert_non_null(strstr(names.data, "plain|"));
	assert_true(names.data[0] != '|' && names.data[names.len - 2] != '|');
}

/* ---- answers ---- */

static int check_answers(struct mor_text_list answers)
{
	return mor_runner_answers_check(&answers, &err);
}

static void test_answers(void **state)
{
	static const char *const good[] = { "m=1", "m={\"a\":[]}", "a/b=null", "m=\"=\"" };
	static const char *const bad[] = { "", "m", "=1", "m=", "m=x", "m=1 2" };

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_int_equal(check_answers(LIST(good[i])), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(check_answers(LIST("fine=1", bad[i])), MORTISE_EINVAL);
		assert_non_null(strstr(err.text, ": expected METHOD=JSON"));
	}
}

/* ---- the network ---- */

static void put(const char *name, const char *text)
{
	FILE *file = fopen(at(name), "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

/* A plugin.toml with these permissions. */
static void make_plugin(const char *permissions)
{
	char text[400];

	snprintf(text, sizeof(text),
		 "[plugin]\nname = \"p\"\nversion = \"1\"\ndescription = \"d\"\nentry = \"./run\"\n"
		 "[permissions]\n%s\n[commands.app]\na = \"a\"\n",
		 permissions);
	put("p/plugin.toml", text);
}

/* The runner's settings, and what was said. */
static const char *run_settings(struct mor_plugin_args args)
{
	static char text[600];
	mortise_plugin_options opt;
	struct mor_runner runner;
	size_t len = 0;

	assert_int_equal(mor_runner_open(&runner, &console, &args, NULL, &err), 0);
	heard_err();
	mor_runner_pool_options(&runner, at("p"), NULL, NULL, &opt);
	for (size_t i = 0; i < runner.set.count; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s ", runner.set.item[i]);
	text[len] = '\0';
	mor_runner_close(&runner);
	return text;
}
#define RUN(...) run_settings((struct mor_plugin_args){ __VA_ARGS__ })

/* Who does not ask the person runs it without; the person's own word is enough. */
static void test_nobody_has_granted_the_network(void **state)
{
	(void)state;
	make_plugin("network = true");
	assert_string_equal(RUN(0), "sandbox.network=false ");
	assert_non_null(
		strstr(heard_err(), "asks for the network, but nobody has granted it: it runs without"));
	assert_string_equal(RUN(.network = LIST("a:1")), "sandbox.network=a:1 ");
	assert_string_equal(RUN(.unconfined = true), "sandbox.unconfined=true ");
	assert_string_equal(RUN(.set = LIST("sandbox.network=true")), "sandbox.network=true ");
	make_plugin("workspace_write = true");
	assert_string_equal(RUN(0), "");
	assert_string_equal(heard_err(), "");
}

static void test_a_grant_is_remembered(void **state)
{
	struct mor_plugin_args args = { 0 };
	struct mor_resolved *resolved = NULL;
	struct mor_approval approval;

	(void)state;
	make_plugin("network = true");
	assert_int_equal(mor_runner_resolve(&args, at("p"), NULL, &resolved, &err), 0);
	assert_true(mor_network_withheld(resolved));
	approval = mor_network_approval(resolved);
	assert_int_equal(mor_approval_grant(&approval, &err), 0);
	assert_false(mor_network_withheld(resolved));
	assert_string_equal(RUN(0), "");
	mor_resolved_unref(resolved);
}

static void test_words_of_network(void **state)
{
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;
	struct mor_text_list words = LIST("a:1,b:2", "c:*");

	(void)state;
	assert_int_equal(mor_network_value(&(struct mor_text_list){ 0 }, &out, &err), 0);
	assert_int_equal(out.len, 0);
	assert_int_equal(mor_network_value(&words, &out, &err), 0);
	assert_true(mor_slice_is(mor_buf_view(&out), "a:1,b:2,c:*"));
}

static void test_no_memory(void **state)
{
	struct mor_plugin_args args = { .set = LIST("a.b=1"),
					.timeout = LIST("m=1s"),
					.framing = "line",
					.config = LIST("a=1"),
					.level = "t0" };

	(void)state;
	for (long n = 0, r = MORTISE_ENOMEM; r == MORTISE_ENOMEM; n++) {
		struct mor_runner runner = { 0 };

		err = (mortise_error){ 0 };
		mor_alloc_fail_after(n);
		r = mor_runner_open(&runner, &console, &args, NULL, &err);
		mor_alloc_fail_after(-1);
		assert_int_equal(err.code, r);
		assert_true(r == MORTISE_ENOMEM || (r == 0 && n > 5));
		mor_runner_close(&runner);
	}
}

static int make_top(void **state)
{
	(void)state;
	if (top_make("settings") < 0 || mkdir(at("p"), 0755) < 0)
		return -1;
	setenv("HOME", top, 1);
	setenv("XDG_STATE_HOME", at("state"), 1);
	setenv("XDG_CONFIG_HOME", at("config"), 1);
	setenv("XDG_DATA_HOME", at("data"), 1);
	put("p/run", "#!/bin/sh\n"); /* never run, but it must be there */
	return chmod(at("p/run"), 0755);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HEARD_TEST(test_nothing_is_set_by_itself),
		HEARD_TEST(test_order),
		HEARD_TEST(test_confinement),
		HEARD_TEST(test_a_proto_file_is_absolute),
		HEARD_TEST(test_what_is_refused),
		HEARD_TEST(test_timeout_of_calls),
		HEARD_TEST(test_config),
		HEARD_TEST(test_flags_of_a_plugin),
		HEARD_TEST(test_timeout_limits_the_greeting),
		HEARD_TEST(test_dialects),
		HEARD_TEST(test_answers),
		HEARD_TEST(test_nobody_has_granted_the_network),
		HEARD_TEST(test_a_grant_is_remembered),
		HEARD_TEST(test_words_of_network),
		HEARD_TEST(test_no_memory),
	};

	return mor_run_group_in("runner/settings", tests, make_top, top_drop);
}
