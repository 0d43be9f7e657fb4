/* SPDX-License-Identifier: Apache-2.0 */
/* Rules that hold for every function: callbacks, threads, options that grow, tables. */
#include <poll.h>
#include <pthread.h>

#include "api.h"

/* ---- inside a callback ---- */

static void try_what_is_not_allowed(const mortise_reply *reply, void *arg)
{
	struct got *got = arg;
	mortise_host *host = got->rig->host;
	mortise_error err = { 0 };
	char *result = (char *)got;

	assert_int_equal(mortise_call_sync(reply->plugin, "echo", json(NULL), NULL, &result, &err),
			 MORTISE_ECALLBACK);
	assert_int_equal(err.code, MORTISE_ECALLBACK);
	assert_ptr_equal(result, got);
	assert_int_equal(mortise_host_dispatch(host), MORTISE_ECALLBACK);
	assert_int_equal(mortise_host_wait(host, 0), MORTISE_ECALLBACK);
	got->finals++;
}

static void not_from_a_callback(void **state)
{
	struct rig rig;
	struct got got;
	mortise_call_options opt;

	(void)state;
	rig_open_bad(&rig, "ok", NO_SET);
	opt = got_options(&rig, &got, 0);
	opt.on_reply = try_what_is_not_allowed;
	assert_int_equal(mortise_call_start(rig.plugin, "echo", json(NULL), &opt, NULL, NULL), 0);
	until_done(&got);
	assert_echoes(&rig);
	rig_close(&rig);
}

static void start_next(const mortise_reply *reply, void *arg)
{
	struct got *got = arg;
	mortise_call_options opt = { .size = sizeof(opt), .on_reply = start_next, .arg = got };

	assert_int_equal(reply->status, 0);
	if (++got->finals < 100)
		assert_int_equal(mortise_call_start(reply->plugin, "echo", json("{}"), &opt, NULL, NULL), 0);
}

static void calls_from_callbacks(void **state)
{
	struct rig rig;
	struct got got;
	mortise_call_options opt;

	(void)state;
	rig_open_bad(&rig, "ok", NO_SET);
	opt = got_options(&rig, &got, 0);
	opt.on_reply = start_next;
	assert_int_equal(mortise_call_start(rig.plugin, "echo", json("{}"), &opt, NULL, NULL), 0);
	rig_until(&rig, &got.finals, 100, "a hundred calls, each from the callback of the one before");
	rig_close(&rig);
}

static void drop_plugin(const mortise_reply *reply, void *arg)
{
	struct got *got = arg;

	got->finals++;
	got->status = reply->status;
	got->rig->plugin = mortise_plugin_unref(got->rig->plugin);
}

/* "nothing you free in a callback goes away under the feet of the dispatch that called you" */
static void unref_inside_the_reply(void **state)
{
	struct rig rig;
	struct got got[8];

	(void)state;
	rig_open_bad(&rig, "reverse_order", NO_SET); /* eight replies in one read */
	for (int i = 0; i < 8; i++) {
		mortise_call_options opt = got_options(&rig, &got[i], NO_TIMER_MS);

		if (i == 5)
			opt.on_reply = drop_plugin;
		assert_int_equal(mortise_call_start(rig.plugin, "go", json(NULL), &opt, NULL, NULL), 0);
	}
	rig_until(&rig, &got[5].finals, 1, "the callback that drops the plugin");
	rig_settle(&rig);
	rig_close(&rig);
	for (int i = 0; i < 8; i++) {
		assert_int_equal(got[i].finals, 1);
		got_clear(&got[i]);
	}
}

static void unref_on_event(const mortise_event *event, void *arg)
{
	struct rig *rig = arg;

	rig_event(event, rig);
	if (event->type == MORTISE_EVENT_STDERR)
		rig->plugin = mortise_plugin_unref(rig->plugin);
}

static void unref_inside_an_event(void **state)
{
	struct rig rig;
	struct got got;
	const char *argv[3];
	mortise_plugin_options opt = rig_options(&rig, "stderr_flood", argv);

	(void)state;
	rig_open(&rig);
	opt.on_event = unref_on_event;
	rig.plugin = rig_plugin(&rig, &opt);
	start(&rig, &got, "echo", NULL, NO_TIMER_MS);
	rig_until(&rig, &rig.events[MORTISE_EVENT_STDERR], 1, "a line of stderr");
	assert_null(rig.plugin);
	rig_settle(&rig);
	rig_close(&rig);
	assert_int_equal(got.finals, 1);
	got_clear(&got);
}

static void cancel_the_other(const mortise_reply *reply, void *arg)
{
	struct got *pair = arg;

	assert_int_equal(reply->status, 0);
	pair[0].finals++;
	assert_int_equal(mortise_call_cancel(pair[1].call, NULL), 0);
	mortise_plugin_stop(reply->plugin, MORTISE_STOP_POLITE, NULL);
}

static void cancel_and_stop_inside_a_callback(void **state)
{
	struct rig rig;
	struct got pair[2];
	mortise_call_options opt;

	(void)state;
	rig_open_bad(&rig, "hangs", NO_SET);
	start(&rig, &pair[1], "hang", NULL, NO_TIMER_MS);
	opt = got_options(&rig, &pair[0], 0);
	opt.on_reply = cancel_the_other;
	opt.arg = pair;
	assert_int_equal(mortise_call_start(rig.plugin, "echo", json("{}"), &opt, NULL, NULL), 0);
	until_done(&pair[1]);
	assert_int_equal(pair[1].status, MORTISE_ECANCELED);
	rig_until_state(&rig, MORTISE_STOPPED);
	rig_close(&rig);
	assert_int_equal(pair[0].finals, 1);
	assert_int_equal(pair[1].finals, 1);
}

/* ---- from another thread ---- */

static void *wake(void *host)
{
	return mortise_host_wakeup(host) == 0 ? host : NULL;
}

/* "Makes the descriptor readable once. Any thread"; wait returns "0 when ... a wake-up came" */
static void wakeup(void **state)
{
	struct rig rig;
	pthread_t thread;
	void *done = NULL;
	struct pollfd fd = { .events = POLLIN };

	(void)state;
	rig_open(&rig);
	fd.fd = mortise_host_fd(rig.host);
	assert_int_equal(poll(&fd, 1, 0), 0);
	assert_int_equal(pthread_create(&thread, NULL, wake, rig.host), 0);
	assert_int_equal(mortise_host_wait(rig.host, -1), 0);
	pthread_join(thread, &done);
	assert_ptr_equal(done, rig.host);
	assert_int_equal(mortise_host_wakeup(rig.host), 0);
	assert_int_equal(poll(&fd, 1, 0), 1);
	assert_true(mortise_host_dispatch(rig.host) >= 0);
	assert_int_equal(poll(&fd, 1, 0), 0);
	assert_int_equal(mortise_host_wait(rig.host, 0), 0);
	rig_close(&rig);
}

/* mortise_call_sync() runs the loop, but a wake-up that comes meanwhile is for the wait after it. */
static void wakeup_during_a_call(void **state)
{
	struct rig rig;
	struct pollfd fd = { .events = POLLIN };

	(void)state;
	rig_open_bad(&rig, "ok", NO_SET);
	fd.fd = mortise_host_fd(rig.host);
	while (poll(&fd, 1, 0) == 1) /* what the start has left */
		assert_true(mortise_host_dispatch(rig.host) >= 0);
	assert_int_equal(mortise_host_wakeup(rig.host), 0);
	assert_echoes(&rig);
	assert_int_equal(poll(&fd, 1, 0), 1);
	assert_int_equal(mortise_host_wait(rig.host, -1), 0);
	rig_close(&rig);
}

static void *adopt_and_call(void *arg)
{
	struct rig *rig = arg;
	char *result = NULL;
	int r = mortise_host_adopt(rig->host, NULL);

	if (r == 0)
		r = mortise_call_sync(rig->plugin, "echo", json("[1]"), NULL, &result, NULL);
	mortise_free(result);
	return r == 0 ? rig : NULL;
}

static void adopt(void **state)
{
	struct rig rig;
	pthread_t thread;
	void *done = NULL;

	(void)state;
	rig_open_bad(&rig, "ok", NO_SET);
	assert_echoes(&rig);
	assert_int_equal(pthread_create(&thread, NULL, adopt_and_call, &rig), 0);
	pthread_join(thread, &done);
	assert_ptr_equal(done, &rig);
	assert_int_equal(mortise_host_dispatch(rig.host), MORTISE_ETHREAD);
	assert_int_equal(mortise_host_adopt(rig.host, NULL), 0);
	assert_echoes(&rig);
	rig_close(&rig);
}

/* ---- options that grow ---- */

/* An older program: its struct ends before on_event. What lies behind must not be read. */
static void smaller_options(void **state)
{
	struct rig rig;
	struct got got = { 0 };
	const char *argv[3];
	mortise_plugin_options opt;
	mortise_call_options call;

	(void)state;
	rig_open(&rig);
	opt = rig_options(&rig, "ok", argv);
	opt.size = offsetof(mortise_plugin_options, on_event);
	opt.on_event = (mortise_event_fn *)(uintptr_t)1;
	opt.on_request = (mortise_request_fn *)(uintptr_t)1;
	rig.plugin = rig_plugin(&rig, &opt);
	call = got_options(&rig, &got, 0);
	call.size = offsetof(mortise_call_options, on_reply);
	call.on_reply = (mortise_reply_fn *)(uintptr_t)1;
	assert_int_equal(mortise_call_start(rig.plugin, "echo", json(NULL), &call, NULL, NULL), 0);
	assert_echoes(&rig);
	rig_close(&rig);
}

/* A newer program: what we do not know is zero, and is ignored. */
static void larger_options(void **state)
{
	struct {
		mortise_host_options known;
		char more[64];
	} host_opt = { .known.size = sizeof(host_opt) };
	struct {
		mortise_plugin_options known;
		char more[64];
	} opt = { .known.size = 0 };
	struct {
		mortise_call_options known;
		char more[64];
	} call = { .known.size = 0 };
	struct rig rig;
	struct got got;
	const char *argv[3];

	(void)state;
	memset(&rig, 0, sizeof(rig));
	host_opt.known.on_event = rig_event;
	host_opt.known.arg = &rig;
	assert_int_equal(mortise_host_new(&host_opt.known, &rig.host, NULL), 0);
	opt.known = rig_options(&rig, "ok", argv);
	opt.known.size = sizeof(opt);
	opt.known.on_event = NULL; /* the host's is then used */
	rig.plugin = rig_plugin(&rig, &opt.known);
	call.known = got_options(&rig, &got, 0);
	call.known.size = sizeof(call);
	assert_int_equal(mortise_call_start(rig.plugin, "echo", json("[]"), &call.known, NULL, NULL), 0);
	until_done(&got);
	assert_string_equal(got.result, "[]");
	got_clear(&got);
	assert_true(rig.events[MORTISE_EVENT_STATE] > 0);
	rig_close(&rig);
}

static void options_without_a_size(void **state)
{
	struct rig rig;
	const char *argv[3];
	mortise_plugin_options opt;
	mortise_call_options call = { .size = 0 };
	mortise_plugin *plugin = NULL;
	mortise_host_options host_opt = { .size = 0 };
	mortise_host *host = NULL;

	(void)state;
	rig_open_bad(&rig, "ok", NO_SET);
	opt = rig_options(&rig, "ok", argv);
	opt.size = 0;
	assert_int_equal(mortise_plugin_new(rig.host, &opt, &plugin, NULL), MORTISE_EINVAL);
	assert_int_equal(mortise_call_start(rig.plugin, "echo", json(NULL), &call, NULL, NULL), MORTISE_EINVAL);
	assert_int_equal(mortise_host_new(&host_opt, &host, NULL), MORTISE_EINVAL);
	assert_null(plugin);
	assert_null(host);
	rig_close(&rig);
}

/* ---- the rest ---- */

static void null_is_fine(void **state)
{
	(void)state;
	assert_null(mortise_host_free(NULL));
	assert_null(mortise_plugin_unref(NULL));
	assert_null(mortise_pool_free(NULL));
	mortise_free(NULL);
}

static void status_tables(void **state)
{
	(void)state;
#define X(name, value, kind, text, rpc, exit_code) \
	assert_string_equal(mortise_status_kind(value), kind); \
	assert_string_equal(mortise_status_text(value), text); \
	assert_int_equal(mortise_status_exit_code(value), exit_code); \
	assert_contains(mortise_status_name(value), #name);
	MORTISE_ERRORS(X)
#undef X
	assert_string_equal(mortise_status_text(-9999), "unknown");
	assert_int_equal(mortise_status_exit_code(-9999), 1);
	assert_int_equal(mortise_status_exit_code(0), 0);
	assert_string_equal(mortise_version(), MORTISE_VERSION);
	assert_int_equal(sizeof(mortise_error), 512);
	for (int i = 0; i < MORTISE_STATES; i++)
		assert_true(strlen(mortise_state_name(i)) > 0);
	for (int i = 0; i < MORTISE_EVENT_TYPES; i++)
		assert_true(strlen(mortise_event_name(i)) > 0);
	assert_non_null(mortise_state_name(99));
	assert_non_null(mortise_event_name(-1));
}

struct tapped {
	char out[256], in[256];
	int frames;
};

static void tap(const mortise_tap_frame *frame, void *arg)
{
	struct tapped *t = arg;
	char *to = frame->direction == MORTISE_TO_PLUGIN ? t->out : t->in;

	t->frames++;
	assert_non_null(frame->plugin);
	assert_true(frame->time_ns > 0);
	snprintf(to, sizeof(t->out), "%.*s", (int)frame->body.len, frame->body.text);
}

/* "Sees every message both ways"; "the message without its framing" */
static void tap_sees_both_ways(void **state)
{
	struct rig rig;
	struct tapped t = { .frames = 0 };

	(void)state;
	rig_open_bad(&rig, "ok", NO_SET);
	assert_int_equal(mortise_host_set_tap(rig.host, tap, &t, NULL), 0);
	ask_expect(&rig, "echo", "{\"a\":1}", "{\"a\":1}");
	assert_int_equal(t.frames, 2);
	assert_contains(t.out, "\"method\":\"echo\"");
	assert_contains(t.out, "\"params\":{\"a\":1}");
	assert_null(strchr(t.out, '\n'));
	assert_contains(t.in, "\"result\":{\"a\":1}}");
	assert_null(strchr(t.in, '\n'));
	assert_int_equal(mortise_host_set_tap(rig.host, NULL, NULL, NULL), 0);
	assert_echoes(&rig);
	assert_int_equal(t.frames, 2);
	rig_close(&rig);
}

static void describe(void **state)
{
	static const char *const members[] = { "name",       "version",      "dialect",
					       "state",      "pid",          "health",
					       "interfaces", "capabilities", "config_applied",
					       "timeouts",   "counters",     "confinement" };
	struct rig rig;
	char *text = NULL, pid[32];

	(void)state;
	rig_open_bad(&rig, "ok", NO_SET);
	assert_string_equal(mortise_plugin_name(rig.plugin), "ok");
	assert_string_equal(mortise_plugin_dialect(rig.plugin), "plain");
	/* "already tells", before it runs */
	assert_int_equal(mortise_plugin_describe(rig.plugin, &text, NULL), 0);
	assert_contains(text, "\"stopped\"");
	mortise_free(text);
	snprintf(pid, sizeof(pid), "%d", ask_pid(&rig));
	assert_int_equal(mortise_plugin_describe(rig.plugin, &text, NULL), 0);
	assert_contains(text, "\"ready\"");
	assert_contains(text, pid);
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		char key[32];

		snprintf(key, sizeof(key), "\"%s\"", members[i]);
		assert_contains(text, key);
	}
	mortise_free(text);
	rig_close(&rig);
}

static void dialects(void **state)
{
	char *text = NULL;

	(void)state;
	assert_int_equal(mortise_dialect_describe(NULL, "text", &text, NULL), 0);
	assert_contains(text, "plain");
	mortise_free(text);
	assert_int_equal(mortise_dialect_describe(NULL, "json", &text, NULL), 0);
	assert_int_equal(text[0], '[');
	mortise_free(text);
	for (int i = 0; i < 4; i++) {
		static const char *const formats[] = { "text", "command", "json", "openrpc" };

		assert_int_equal(mortise_dialect_describe("plain", formats[i], &text, NULL), 0);
		assert_true(strlen(text) > 0);
		if (i < 2)
			assert_int_equal(strstr(text, " --set ") != NULL, i == 1);
		mortise_free(text);
	}
	text = NULL;
	assert_int_equal(mortise_dialect_describe("no-such-dialect", "text", &text, NULL), MORTISE_ENOTFOUND);
	assert_int_equal(mortise_dialect_describe("plain", "no-such-format", &text, NULL), MORTISE_EINVAL);
	assert_null(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		API_TEST(not_from_a_callback),
		API_TEST(calls_from_callbacks),
		API_TEST(unref_inside_the_reply),
		API_TEST(unref_inside_an_event),
		API_TEST(cancel_and_stop_inside_a_callback),
		API_TEST(wakeup),
		API_TEST(wakeup_during_a_call),
		API_TEST(adopt),
		API_TEST(smaller_options),
		API_TEST(larger_options),
		API_TEST(options_without_a_size),
		API_TEST(null_is_fine),
		API_TEST(status_tables),
		API_TEST(tap_sees_both_ways),
		API_TEST(describe),
		API_TEST(dialects),
	};

	return mor_run_group("api/rules", tests);
}
