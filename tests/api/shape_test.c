/* SPDX-License-Identifier: Apache-2.0 */
/* One process per call, as an embedder sees it: real processes, both shapes of Sunscreen, guarded. */
#include "api.h"

#define READ_ALL "cat >/dev/null; "
#define ANSWER   "printf '{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":%s}' $$; "
#define WORK     "sunscreen.command/run"

static mortise_plugin_options shell(struct rig *rig, const char *dialect, const char *const *argv)
{
	static const char *const set[] = { "sandbox.level=guarded", NULL };

	return (mortise_plugin_options){
		.size = sizeof(mortise_plugin_options),
		.argv = argv,
		.name = "sh",
		.dialect = dialect,
		.set = set,
		.on_event = rig_event,
		.arg = rig,
	};
}

static void open_shell(struct rig *rig, const char *dialect, const char *script)
{
	const char *argv[] = { "/bin/sh", "-c", script, NULL };
	mortise_plugin_options opt;

	rig_open(rig);
	opt = shell(rig, dialect, argv);
	rig->plugin = rig_plugin(rig, &opt);
}

/* Answers with its pid, so that two processes can be told apart. */
static void each_call_has_its_process(void **state)
{
	struct rig rig;
	struct got got[4];

	(void)state;
	open_shell(&rig, "sunscreen-json", READ_ALL ANSWER);
	for (int i = 0; i < 4; i++)
		start(&rig, &got[i], WORK, "{}", NO_TIMER_MS);
	for (int i = 0; i < 4; i++) {
		until_done(&got[i]);
		assert_int_equal(got[i].status, 0);
		for (int k = 0; k < i; k++)
			assert_string_not_equal(got[k].result, got[i].result);
	}
	rig_until_state(&rig, MORTISE_STOPPED);
	assert_false(rig_saw_state(&rig, MORTISE_BACKOFF));
	for (int i = 0; i < 4; i++)
		got_clear(&got[i]);
	rig_close(&rig);
}

static void failures_are_one_calls_own(void **state)
{
	struct rig rig;
	struct got bad, good;

	(void)state;
	open_shell(&rig, "sunscreen-json", "case $(cat) in *bad*) exit 23;; esac; " ANSWER);
	start(&rig, &bad, WORK, "{\"a\":\"bad\"}", NO_TIMER_MS);
	start(&rig, &good, WORK, "{\"a\":\"good\"}", NO_TIMER_MS);
	until_done(&bad);
	assert_int_equal(bad.status, MORTISE_ECRASHED);
	assert_contains(bad.error.text, "exited with status 23");
	until_done(&good);
	assert_int_equal(good.status, 0);
	got_clear(&bad);
	got_clear(&good);
	rig_close(&rig);
}

static void time_out_kills_one_process(void **state)
{
	struct rig rig;
	struct got slow, next;

	(void)state;
	open_shell(&rig, "sunscreen-json", "case $(cat) in *slow*) sleep 600;; esac; " ANSWER);
	start(&rig, &slow, WORK, "{\"a\":\"slow\"}", 50);
	start(&rig, &next, WORK, "{}", NO_TIMER_MS);
	until_done(&slow);
	assert_int_equal(slow.status, MORTISE_ETIMEOUT);
	until_done(&next);
	assert_int_equal(next.status, 0);
	got_clear(&slow);
	got_clear(&next);
	rig_close(&rig);
}

/* A callback may end everything: the plugin goes while its process is being judged. */
static void drop_plugin(const mortise_reply *reply, void *arg)
{
	struct rig *rig = arg;

	assert_int_equal(reply->status, 0);
	rig->plugin = mortise_plugin_unref(rig->plugin);
	rig->turn = -1000;
}

static void callback_may_drop_it(void **state)
{
	struct rig rig;
	mortise_call_options opt = { .size = sizeof(opt), .on_reply = drop_plugin, .arg = &rig };

	(void)state;
	open_shell(&rig, "sunscreen-json", READ_ALL ANSWER);
	assert_int_equal(mortise_call_start(rig.plugin, WORK, json("{}"), &opt, NULL, NULL), 0);
	while (rig.turn >= 0)
		mortise_host_wait(rig.host, -1);
	rig_close(&rig);
}

static void greeting_then_one_call(void **state)
{
	static const char script[] =
		"while read -r line; do case $line in *'\"commands\"'*) echo "
		"'{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"scaffold\":{\"a\":\"b\"}}}';; *) echo "
		"'{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"summary\":\"'$$'\",\"files_written\":[]}}';; "
		"esac; done";
	struct rig rig;
	struct got one, two;

	(void)state;
	open_shell(&rig, "sunscreen", script);
	start(&rig, &one, "scaffold:a", "{\"workspace_root\":\"/\"}", NO_TIMER_MS);
	start(&rig, &two, "scaffold:a", "{\"workspace_root\":\"/\"}", NO_TIMER_MS);
	until_done(&one);
	until_done(&two);
	assert_int_equal(one.status, 0);
	assert_int_equal(two.status, 0);
	assert_string_not_equal(one.result, two.result);
	rig_until_state(&rig, MORTISE_STOPPED);
	got_clear(&one);
	got_clear(&two);
	rig_close(&rig);
}

static void pool_of_them(void **state)
{
	const char *argv[] = { "/bin/sh", "-c", READ_ALL ANSWER, NULL };
	mortise_pool_options pool_opt = { .size = sizeof(pool_opt), .workers = 2 };
	mortise_plugin_options opt;
	mortise_pool *pool = NULL;
	struct got got[8];
	struct rig rig;

	(void)state;
	rig_open(&rig);
	opt = shell(&rig, "sunscreen-json", argv);
	assert_int_equal(mortise_pool_new(rig.host, &opt, &pool_opt, &pool, NULL), 0);
	for (int i = 0; i < 8; i++) {
		mortise_call_options call_opt = got_options(&rig, &got[i], NO_TIMER_MS);

		assert_int_equal(mortise_pool_call(pool, WORK, json("{}"), &call_opt, NULL, NULL), 0);
	}
	for (int i = 0; i < 8; i++) {
		until_done(&got[i]);
		assert_int_equal(got[i].status, 0);
		got_clear(&got[i]);
	}
	assert_null(mortise_pool_free(pool));
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		API_TEST(each_call_has_its_process),  API_TEST(failures_are_one_calls_own),
		API_TEST(time_out_kills_one_process), API_TEST(callback_may_drop_it),
		API_TEST(greeting_then_one_call),     API_TEST(pool_of_them),
	};

	return mor_run_group("api/shape", tests);
}
