/* SPDX-License-Identifier: Apache-2.0 */
/* Calls: what starts them, what ends them, what callbacks may rely on. */
#include "api.h"

static void sync_gives_the_result(void **state)
{
	struct rig rig;

	(void)state;
	rig_open_bad(&rig, "ok", NO_SET);
	ask_expect(&rig, "echo", "{\"a\":[1,2,{\"b\":null}]}", "{\"a\":[1,2,{\"b\":null}]}");
	ask_expect(&rig, "echo", "[1,\"\\u00e9\"]", "[1,\"\\u00e9\"]");
	ask_expect(&rig, "echo", NULL, "null");
	assert_int_equal(mortise_plugin_state(rig.plugin), MORTISE_READY);
	rig_close(&rig);
}

/* "`err` is written on failure only", and everything optional may be left out. */
static void sync_with_the_least(void **state)
{
	struct rig rig;
	mortise_error err = { .code = 4711 };

	(void)state;
	rig_open_bad(&rig, "ok", NO_SET);
	assert_int_equal(mortise_call_sync(rig.plugin, "echo", json(NULL), NULL, NULL, NULL), 0);
	assert_int_equal(mortise_call_sync(rig.plugin, "echo", json(NULL), NULL, NULL, &err), 0);
	assert_int_equal(err.code, 4711);
	assert_int_equal(mortise_call_sync(rig.plugin, "fail", json(NULL), NULL, NULL, NULL), MORTISE_EREMOTE);
	rig_close(&rig);
}

static void remote_error_sync(void **state)
{
	struct rig rig;
	mortise_error err = { 0 };
	char *data = NULL;

	(void)state;
	rig_open_bad(&rig, "ok", NO_SET);
	assert_int_equal(mortise_call_sync(rig.plugin, "fail", json("{}"), NULL, &data, &err), MORTISE_EREMOTE);
	assert_int_equal(err.code, MORTISE_EREMOTE);
	assert_int_equal(err.rpc_code, -32042);
	assert_contains(err.text, "would not");
	assert_string_equal(data, "{\"why\":\"asked to\"}");
	mortise_free(data);
	assert_echoes(&rig);
	rig_close(&rig);
}

static void remote_error_async(void **state)
{
	struct rig rig;
	struct got got;

	(void)state;
	rig_open_bad(&rig, "ok", NO_SET);
	start(&rig, &got, "fail", NULL, 0);
	until_done(&got);
	assert_int_equal(got.status, MORTISE_EREMOTE);
	assert_int_equal(got.error.rpc_code, -32042);
	assert_string_equal(got.data, "{\"why\":\"asked to\"}");
	assert_contains(got.error.text, "ok"); /* "for which plugin" */
	got_clear(&got);
	start(&rig, &got, "no_such_method", NULL, 0);
	until_done(&got);
	assert_int_equal(got.status, MORTISE_EREMOTE);
	assert_int_equal(got.error.rpc_code, -32601);
	got_clear(&got);
	rig_close(&rig);
}

static void check_fields(const mortise_reply *reply, void *arg)
{
	struct got *got = arg;

	assert_int_equal(reply->status, MORTISE_OK);
	assert_int_equal(reply->more, 0);
	assert_null(reply->error);
	assert_null(reply->error_data.text);
	assert_ptr_equal(reply->plugin, got->rig->plugin);
	assert_ptr_equal(reply->call, got->call);
	got->finals++;
}

static void reply_tells_plugin_and_call(void **state)
{
	struct rig rig;
	struct got got = { .rig = &rig };
	mortise_call_options opt = { .size = sizeof(opt), .on_reply = check_fields, .arg = &got };

	(void)state;
	rig_open_bad(&rig, "ok", NO_SET);
	assert_int_equal(mortise_call_start(rig.plugin, "echo", json("{}"), &opt, &got.call, NULL), 0);
	assert_int_equal(got.finals, 0);
	until_done(&got);
	rig_settle(&rig);
	assert_int_equal(got.finals, 1);
	rig_close(&rig);
}

#define MANY 1000

static void many_at_once_are_matched_by_id(void **state)
{
	static struct got got[MANY];
	struct rig rig;

	(void)state;
	rig_open_bad(&rig, "ok", NO_SET);
	for (int i = 0; i < MANY; i++) {
		char params[64];

		snprintf(params, sizeof(params), "{\"i\":%d}", i);
		start(&rig, &got[i], "echo", params, 0);
	}
	for (int i = 0; i < MANY; i++) {
		char want[64];

		until_done(&got[i]);
		snprintf(want, sizeof(want), "{\"i\":%d}", i);
		assert_int_equal(got[i].status, 0);
		assert_string_equal(got[i].result, want);
		got_clear(&got[i]);
	}
	rig_settle(&rig);
	for (int i = 0; i < MANY; i++)
		assert_int_equal(got[i].finals, 1);
	rig_close(&rig);
}

static void replies_in_any_order(void **state)
{
	struct rig rig;
	struct got got[8];

	(void)state;
	rig_open_bad(&rig, "reverse_order", NO_SET);
	for (int i = 0; i < 8; i++)
		start(&rig, &got[i], "go", NULL, 0);
	for (int i = 0; i < 8; i++) {
		char want[32];

		until_done(&got[i]);
		snprintf(want, sizeof(want), "{\"was\":%d}", i);
		assert_string_equal(got[i].result, want);
		got_clear(&got[i]);
	}
	rig_close(&rig);
}

/* "settled with an absent result once written" */
static void notification(void **state)
{
	struct rig rig;
	struct got got;
	mortise_call_options opt;

	(void)state;
	rig_open_bad(&rig, "ok", NO_SET);
	opt = got_options(&rig, &got, 0);
	opt.flags = MORTISE_NOTIFY;
	assert_int_equal(mortise_call_start(rig.plugin, "hello", json("{}"), &opt, NULL, NULL), 0);
	until_done(&got);
	assert_int_equal(got.status, 0);
	assert_null(got.result);
	rig_until(&rig, &rig.events[MORTISE_EVENT_STDERR], 1, "the plugin's word that it got the note");
	assert_string_equal(rig.last[MORTISE_EVENT_STDERR], "note hello");
	assert_echoes(&rig);
	rig_close(&rig);
}

static void raw_goes_out_as_it_is(void **state)
{
	struct rig rig;
	struct got got;
	mortise_call_options opt;

	(void)state;
	rig_open_bad(&rig, "ok", NO_SET);
	opt = got_options(&rig, &got, 0);
	opt.flags = MORTISE_RAW;
	assert_int_equal(mortise_call_start(rig.plugin, "echo", json("{\"x\":1.50}"), &opt, NULL, NULL), 0);
	until_done(&got);
	assert_string_equal(got.result, "{\"x\":1.50}");
	got_clear(&got);
	rig_close(&rig);
}

/* A raw newline inside params would tear the line in two. */
static void params_with_newlines(void **state)
{
	struct rig rig;
	char *result;

	(void)state;
	rig_open_bad(&rig, "ok", NO_SET);
	result = ask(&rig, "echo", "{\n\t\"a\": [\r\n1,\n2],\n\"b\": \"x\\ny\"\n}\n");
	assert_contains(result, "\"a\"");
	assert_contains(result, "\"x\\ny\"");
	mortise_free(result);
	assert_echoes(&rig);
	rig_close(&rig);
}

static void refuse(struct rig *rig, const char *action, const char *params)
{
	mortise_error err = { 0 };
	struct got got;
	mortise_call_options opt = got_options(rig, &got, 0);
	mortise_call *call = (mortise_call *)rig;
	int r = mortise_call_start(rig->plugin, action, json(params), &opt, &call, &err);

	if (r != MORTISE_EINVAL && r != MORTISE_EINPUT)
		fail_msg("%s gave %d", params ? params : action, r);
	assert_ptr_equal(call, rig); /* "`ret_...` parameters are untouched on failure" */
	assert_int_equal(err.code, r);
	rig_settle(rig);
	assert_int_equal(got.finals, 0); /* what was not started has no callback */
}

/* "`params` is an object, an array, or absent." */
static void refuses_what_is_no_params(void **state)
{
	struct rig rig;

	(void)state;
	rig_open_bad(&rig, "ok", NO_SET);
	refuse(&rig, "echo", "1");
	refuse(&rig, "echo", "\"text\"");
	refuse(&rig, "echo", "{\"a\":}");
	refuse(&rig, "echo", "{} {}");
	refuse(&rig, NULL, "{}");
	assert_echoes(&rig);
	rig_close(&rig);
}

static void time_out(void **state)
{
	struct rig rig;
	struct got got;

	(void)state;
	rig_open_bad(&rig, "hangs", NO_SET);
	assert_echoes(&rig);
	start(&rig, &got, "hang", NULL, 50);
	until_done(&got);
	assert_int_equal(got.status, MORTISE_ETIMEOUT);
	assert_contains(got.error.text, "hangs");
	assert_contains(got.error.text, "hang\"");
	assert_contains(got.error.text, "50 ms");
	rig_settle(&rig);
	assert_int_equal(got.finals, 1);
	rig_close(&rig);
}

static void time_out_sync(void **state)
{
	struct rig rig;
	mortise_call_options opt = { .size = sizeof(opt), .timeout_ms = 50 };
	mortise_error err = { 0 };
	char *untouched = (char *)&rig;

	(void)state;
	rig_open_bad(&rig, "hangs", NO_SET);
	assert_int_equal(mortise_call_sync(rig.plugin, "hang", json(NULL), &opt, &untouched, &err),
			 MORTISE_ETIMEOUT);
	assert_int_equal(err.code, MORTISE_ETIMEOUT);
	assert_ptr_equal(untouched, &rig);
	rig_close(&rig);
}

/* docs/reference/wire.md, rule 6: as long again in silence, and the plugin is wedged and restarted */
static void wedged_plugin_is_restarted(void **state)
{
	struct rig rig;
	struct got got;
	int pid;

	(void)state;
	rig_open_bad(&rig, "hangs", SET("restart.first=1ms"));
	pid = ask_pid(&rig);
	start(&rig, &got, "hang", NULL, 50);
	until_done(&got);
	assert_int_equal(got.status, MORTISE_ETIMEOUT);
	rig.state_count = 0;
	rig_until(&rig, &rig.state_count, 1, "a change of state");
	rig_until_state(&rig, MORTISE_READY);
	assert_int_not_equal(ask_pid(&rig), pid);
	assert_int_equal(got.finals, 1);
	rig_close(&rig);
}

static char *megabyte_params(void)
{
	size_t len = 1 << 20;
	char *text = test_malloc(len + 1);

	memset(text, 'x', len);
	memcpy(text, "[\"", 2);
	memcpy(text + len - 2, "\"]", 3);
	return text;
}

/* "queue_ms: until the last byte is written" */
static void queue_time_out(void **state)
{
	struct rig rig;
	struct got got;
	mortise_call_options opt;
	char *big = megabyte_params();

	(void)state;
	rig_open_bad(&rig, "never_reads", NO_SET);
	opt = got_options(&rig, &got, NO_TIMER_MS);
	opt.queue_ms = 50;
	assert_int_equal(mortise_call_start(rig.plugin, "echo", json(big), &opt, NULL, NULL), 0);
	until_done(&got);
	assert_int_equal(got.status, MORTISE_ETIMEOUT);
	rig_close(&rig);
	assert_int_equal(got.finals, 1);
	test_free(big);
}

/* Large params are written from the caller's memory; when the call returns, that memory is the
 * caller's again. */
static void large_params_stall(void **state)
{
	mortise_call_options opt = { .size = sizeof(opt), .timeout_ms = 50 };
	struct rig rig;
	mortise_error error;
	char *big = test_malloc((16 << 20) + 1);

	(void)state;
	memset(big, 'x', 16 << 20);
	memcpy(big, "[\"", 2);
	memcpy(big + (16 << 20) - 2, "\"]", 3);
	rig_open_bad(&rig, "never_reads", NO_SET);
	assert_int_equal(mortise_call_sync(rig.plugin, "echo", json(big), &opt, NULL, &error),
			 MORTISE_ETIMEOUT);
	test_free(big);
	rig_settle(&rig);
	rig_close(&rig);
}

#define OVERLOAD_MAX 1024

/* docs/reference/wire.md, rule 4: what the pipe refuses is queued to a limit, then the call fails */
static void queue_limit(void **state)
{
	static struct got got[OVERLOAD_MAX];
	struct rig rig;
	char *big = megabyte_params();
	int n = 0, taken = 0, r = 0;

	(void)state;
	rig_open_bad(&rig, "never_reads", NO_SET);
	mortise_plugin_start(rig.plugin, NULL);
	rig_until_state(&rig, MORTISE_READY);
	for (; n < OVERLOAD_MAX && r == 0; n++) {
		mortise_call_options opt = got_options(&rig, &got[n], NO_TIMER_MS);

		r = mortise_call_start(rig.plugin, "echo", json(big), &opt, NULL, NULL);
		taken += r == 0;
		assert_true(mortise_host_dispatch(rig.host) >= 0);
		if (got[n].finals)
			r = got[n].status;
	}
	assert_int_equal(r, MORTISE_EOVERLOAD);
	assert_true(taken > 0);
	diag("overloaded after %d MiB", n);
	rig_close(&rig);
	for (int i = 0; i < taken; i++)
		assert_int_equal(got[i].finals, 1);
	test_free(big);
}

static void cancel(void **state)
{
	struct rig rig;
	struct got got;

	(void)state;
	rig_open_bad(&rig, "hangs", NO_SET);
	assert_echoes(&rig);
	start(&rig, &got, "hang", NULL, NO_TIMER_MS);
	rig_settle(&rig);
	assert_int_equal(mortise_call_cancel(got.call, NULL), 0);
	assert_int_equal(got.finals, 0); /* "comes in a later turn" */
	until_done(&got);
	assert_int_equal(got.status, MORTISE_ECANCELED);
	assert_echoes(&rig);
	assert_int_equal(got.finals, 1);
	rig_close(&rig);
}

/* Cancelled before the process even runs, and twice. */
static void cancel_early_and_twice(void **state)
{
	struct rig rig;
	struct got got;

	(void)state;
	rig_open_bad(&rig, "ok", NO_SET);
	start(&rig, &got, "echo", NULL, 0);
	assert_int_equal(mortise_call_cancel(got.call, NULL), 0);
	mortise_call_cancel(got.call, NULL);
	assert_int_equal(got.finals, 0);
	until_done(&got);
	assert_int_equal(got.status, MORTISE_ECANCELED);
	assert_echoes(&rig);
	rig_settle(&rig);
	assert_int_equal(got.finals, 1);
	rig_close(&rig);
}

static void answer_to_a_cancelled_call_is_dropped(void **state)
{
	struct rig rig;
	struct got got;

	(void)state;
	rig_open_bad(&rig, "late_reply", NO_SET);
	assert_echoes(&rig);
	start(&rig, &got, "go", NULL, NO_TIMER_MS);
	rig_settle(&rig);
	mortise_call_cancel(got.call, NULL);
	until_done(&got);
	assert_int_equal(got.status, MORTISE_ECANCELED);
	assert_echoes(&rig);
	assert_int_equal(rig.events[MORTISE_EVENT_DROPPED], 1);
	assert_int_equal(got.finals, 1);
	rig_close(&rig);
}

/* "Ends every call with MORTISE_ECANCELED" */
static void host_free_ends_calls(void **state)
{
	struct rig rig;
	struct got under_way, waiting;

	(void)state;
	rig_open_bad(&rig, "hangs", NO_SET);
	assert_echoes(&rig);
	start(&rig, &under_way, "hang", NULL, NO_TIMER_MS);
	rig_settle(&rig);
	start(&rig, &waiting, "hang", NULL, NO_TIMER_MS);
	mortise_host_free(rig.host);
	assert_int_equal(under_way.finals, 1);
	assert_int_equal(under_way.status, MORTISE_ECANCELED);
	assert_int_equal(waiting.finals, 1);
	assert_int_equal(waiting.status, MORTISE_ECANCELED);
	mortise_plugin_unref(rig.plugin); /* ours outlives the host */
}

/* Every started call has its last callback, also when the plugin goes away under it. */
static void last_unref_ends_calls(void **state)
{
	struct rig rig;
	struct got got;

	(void)state;
	rig_open_bad(&rig, "hangs", NO_SET);
	assert_echoes(&rig);
	start(&rig, &got, "hang", NULL, NO_TIMER_MS);
	rig_settle(&rig);
	rig.plugin = mortise_plugin_unref(rig.plugin);
	rig_settle(&rig);
	rig_close(&rig);
	assert_int_equal(got.finals, 1);
	assert_int_not_equal(got.status, MORTISE_OK);
}

static void settings_time_limit(void **state)
{
	struct rig rig;
	struct got got;

	(void)state;
	rig_open_bad(&rig, "hangs", SET("timeouts.hang=50ms"));
	start(&rig, &got, "hang", NULL, 0);
	until_done(&got);
	assert_int_equal(got.status, MORTISE_ETIMEOUT);
	rig_close(&rig);
}

/* The settings would end it after a moment; this call says that it waits as long as it takes. */
static void no_limit_can_be_said(void **state)
{
	struct rig rig;
	struct got got;

	(void)state;
	rig_open_bad(&rig, "hangs", SET("timeouts.hang=20ms"));
	assert_echoes(&rig);
	start(&rig, &got, "hang", NULL, MORTISE_NO_LIMIT);
	for (int i = 0; i < 10; i++)
		assert_true(mortise_host_wait(rig.host, 10) >= 0);
	assert_int_equal(got.finals, 0);
	assert_int_equal(mortise_call_cancel(got.call, NULL), 0);
	until_done(&got);
	assert_int_equal(got.status, MORTISE_ECANCELED);
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		API_TEST(no_limit_can_be_said),
		API_TEST(sync_gives_the_result),
		API_TEST(sync_with_the_least),
		API_TEST(remote_error_sync),
		API_TEST(remote_error_async),
		API_TEST(reply_tells_plugin_and_call),
		API_TEST(many_at_once_are_matched_by_id),
		API_TEST(replies_in_any_order),
		API_TEST(notification),
		API_TEST(raw_goes_out_as_it_is),
		API_TEST(params_with_newlines),
		API_TEST(refuses_what_is_no_params),
		API_TEST(time_out),
		API_TEST(time_out_sync),
		API_TEST(wedged_plugin_is_restarted),
		API_TEST(queue_time_out),
		API_TEST(large_params_stall),
		API_TEST(queue_limit),
		API_TEST(cancel),
		API_TEST(cancel_early_and_twice),
		API_TEST(answer_to_a_cancelled_call_is_dropped),
		API_TEST(host_free_ends_calls),
		API_TEST(last_unref_ends_calls),
		API_TEST(settings_time_limit),
	};

	return mor_run_group("api/call", tests);
}
