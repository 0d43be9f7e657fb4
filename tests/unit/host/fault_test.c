/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every allocation of a whole session fails in turn: the n-th and all after it, then memory comes back and
 * everything is torn down. Whatever step that hits, the host must neither crash nor leak, every call that was
 * accepted is settled exactly once, and an error says "out of memory".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "demo.h"
#include "leak.h"
#include "script.h"

struct session {
	mortise_host *host;
	mortise_plugin *plugin;
	int accepted, settled, asked;
};

static void on_reply(const mortise_reply *reply, void *arg)
{
	((struct session *)arg)->settled += !reply->more;
}

static void on_request(mortise_request *request, const char *method, mortise_json params, void *arg)
{
	(void)method;
	(void)params;
	((struct session *)arg)->asked++;
	mortise_request_reply(request, (mortise_json){ "{}", 2 }, NULL);
}

static void turn(struct session *s)
{
	mor_loop_advance(s->host->loop, 0);
}

static void say(struct session *s, const char *line)
{
	if (script_now)
		script_deliver(script_now, mor_slice_of(line));
	turn(s);
}

static void call(struct session *s, const char *action, const char *params)
{
	mortise_call_options opt = { .size = sizeof(opt), .on_reply = on_reply, .arg = s };

	s->accepted +=
		mortise_call_start(s->plugin, action, (mortise_json){ params, params ? strlen(params) : 0 },
				   &opt, NULL, NULL) == 0;
	turn(s);
}

static void say_frame(struct session *s, const char *body)
{
	char frame[512];

	snprintf(frame, sizeof(frame), "%zu\n%s", strlen(body), body);
	say(s, frame);
}

/* The plugin asks: greeting, work, faults, a batch, and at last a breach. */
static void be_asked(struct session *s)
{
	mortise_plugin_start(s->plugin, NULL);
	turn(s);
	say_frame(s, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"init\",\"params\":{\"protocol\":\"kythe1\"}}");
	say_frame(s, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"analyze\",\"params\":{\"types\":[\"/\"]}}");
	say_frame(s, "{\"jsonrpc\":\"2.0\",\"method\":\"log\",\"params\":{\"message\":{\"message\":\"m\"}}}");
	say_frame(
		s,
		"[{\"jsonrpc\":\"2.0\",\"method\":\"done\"},{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"analyze\"},7]");
	say_frame(s, "{\"a\":");
	say_frame(s, "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"vname\",\"params\":[]}");
	say_frame(
		s,
		"[{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"vname\"},{\"jsonrpc\":\"2.0\",\"id\":6,\"method\":\"analyze\"}]");
}

/* As far as it gets. */
static int play(struct session *s, const char *dialect)
{
	static const char *const argv[] = { "script", NULL }, *const set[] = { "timeouts.a=5s",
									       "limits.in_flight=4", NULL };
	mortise_plugin_options opt = { .size = sizeof(opt),
				       .argv = argv,
				       .dialect = dialect,
				       .set = set,
				       .arg = s,
				       .on_request = on_request,
				       .config = { "{\"a\":1}", 7 } };
	char *text = NULL;
	int r = mor_host_new_with(NULL, MOR_LOOP_VIRTUAL, script_link_new, &s->host, NULL);

	if (r < 0)
		return r;
	s->host->dialect = demo_find(dialect);
	r = mortise_plugin_new(s->host, &opt, &s->plugin, NULL);
	if (r < 0)
		return r;
	if (strcmp(dialect, "kythe") == 0)
		be_asked(s);
	for (int i = 0; i < 6; i++)
		call(s, "extractor.extract", "{\"source\":{\"type\":\"path\",\"path\":\"/x\"}}");
	say(s,
	    "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"name\":\"x\",\"version\":\"1\",\"interfaces\":[\"content_extractor_v1\"]}}\n");
	say(s, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"status\":\"initialized\"}}\n");
	say(s, "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"status\":\"ok\"}}\n");
	say(s, "{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{\"success\":true,\"content\":\"c\"}}\n");
	say(s,
	    "{\"jsonrpc\":\"2.0\",\"id\":5,\"error\":{\"code\":-32000,\"message\":\"m\",\"data\":{\"a\":1}}}\n");
	say(s,
	    "[{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"ask\",\"params\":{}},{\"jsonrpc\":\"2.0\",\"method\":\"tell\"}]\n");
	say(s,
	    "{\"jsonrpc\":\"2.0\",\"method\":\"log\",\"params\":{\"level\":1,\"message\":\"m\"}}\nnoise\n{\"half\":");
	r = mortise_plugin_describe(s->plugin, &text, NULL);
	mortise_free(text);
	mor_loop_advance(s->host->loop, 40000);
	if (script_now)
		script_end(script_now, &(struct mor_link_end){
					       .known = true, .status = 1, .text = "exited with status 1" });
	turn(s);
	mor_loop_advance(s->host->loop, 1000);
	mortise_plugin_stop(s->plugin, MORTISE_STOP_POLITE, NULL);
	mor_loop_advance(s->host->loop, 10000);
	return r;
}

static void fail_each(const char *dialect)
{
	long needed, n = 0;

	do {
		struct session s = { 0 };
		long before = mor_alloc_count();

		script_reset();
		mor_alloc_fail_after(n);
		play(&s, dialect);
		mor_alloc_fail_after(-1);
		needed = mor_alloc_count() - before;
		mortise_host_free(s.host);
		mortise_plugin_unref(s.plugin);
		if (s.settled != s.accepted)
			fail_msg("%s: with allocation %ld failing, %d calls were accepted and %d settled",
				 dialect, n, s.accepted, s.settled);
	} while (++n <= needed);
	assert_true(n > 50);
}

/* A pool: two workers, one of which crashes; calls that wait, with and without a limit. */
static void play_pool(struct session *s)
{
	static const char *const argv[] = { "script", NULL };
	mortise_plugin_options opt = { .size = sizeof(opt), .argv = argv, .dialect = "yams", .arg = s };
	mortise_pool_options pool_opt = { .size = sizeof(pool_opt), .workers = 2, .retries = 1 };
	mortise_call_options call_opt = { .size = sizeof(call_opt), .on_reply = on_reply, .arg = s };
	mortise_pool *pool = NULL;

	if (mor_host_new_with(NULL, MOR_LOOP_VIRTUAL, script_link_new, &s->host, NULL) < 0 ||
	    mortise_pool_new(s->host, &opt, &pool_opt, &pool, NULL) < 0)
		return;
	for (int i = 0; i < 6; i++) {
		call_opt.queue_ms = i % 3 ? 0 : 5000;
		s->accepted += mortise_pool_call(pool, "extractor.extract", (mortise_json){ "{}", 2 },
						 &call_opt, NULL, NULL) == 0;
	}
	turn(s);
	for (int id = 1; id <= 6; id++) {
		char line[128];

		snprintf(line, sizeof(line),
			 "{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":{\"name\":\"x\",\"version\":\"1\",\"status\":\"ok\"}}\n",
			 id);
		for (uint32_t i = 0; i < 2; i++) {
			const mortise_plugin *worker = mortise_pool_worker(pool, i);

			if (worker->life.link && id == 5 && i == 0)
				script_end(script_of(worker),
					   &(struct mor_link_end){ .known = true,
								   .status = 1,
								   .text = "exited with status 1" });
			else if (worker->life.link)
				script_deliver(script_of(worker), mor_slice_of(line));
		}
		turn(s);
	}
	mor_loop_advance(s->host->loop, 6000);
	mortise_pool_stop(pool, MORTISE_STOP_POLITE, NULL);
	mor_loop_advance(s->host->loop, 10000);
}

static void pool(void **state)
{
	long needed, n = 0;

	(void)state;
	do {
		struct session s = { 0 };
		long before = mor_alloc_count();

		script_reset();
		mor_alloc_fail_after(n);
		play_pool(&s);
		mor_alloc_fail_after(-1);
		needed = mor_alloc_count() - before;
		mortise_host_free(s.host);
		if (s.settled != s.accepted)
			fail_msg("with allocation %ld failing, %d calls were accepted and %d settled", n,
				 s.accepted, s.settled);
	} while (++n <= needed);
	assert_true(n > 50);
}

/* The same over real pipes: a shell answers one call. */
static int play_for_real(mortise_host **host, mortise_plugin **plugin)
{
	static const char *const argv[] = {
		"/bin/sh", "-c",
		"echo words >&2; read x; echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":1}}'; read x",
		NULL
	};
	mortise_plugin_options opt = {
		.size = sizeof(opt), .argv = argv, .dialect = "plain", .flags = MORTISE_NO_RESTART
	};
	char *result = NULL;
	int r = mortise_host_new(NULL, host, NULL);

	if (r == 0)
		r = mortise_plugin_new(*host, &opt, plugin, NULL);
	if (r == 0)
		r = mortise_call_sync(*plugin, "echo", (mortise_json){ "{}", 2 }, NULL, &result, NULL);
	mortise_free(result);
	return r;
}

static void for_real(void **state)
{
	long needed, n = 0;
	int r, worked = 0;

	(void)state;
	alarm(1800); /* a lost answer would wait for ever: there may be no memory for the timer */
	do {
		mortise_host *host = NULL;
		mortise_plugin *plugin = NULL;
		long before = mor_alloc_count();

		mor_alloc_fail_after(n);
		r = play_for_real(&host, &plugin);
		mor_alloc_fail_after(-1);
		needed = mor_alloc_count() - before;
		worked += r == 0;
		assert_true(r <= 0);
		mortise_host_free(host);
		mortise_plugin_unref(plugin);
	} while (++n <= needed);
	alarm(0);
	assert_true(worked >= 1 && n > 20);
}

static void plain(void **state)
{
	(void)state;
	fail_each("plain");
}

static void yams(void **state)
{
	(void)state;
	fail_each("yams");
}

static void demo(void **state)
{
	(void)state;
	fail_each("demo");
	fail_each("demo-call");
	fail_each("demo-run");
}

static void kythe(void **state)
{
	(void)state;
	fail_each("kythe");
}

int main(void)
{
	const struct CMUnitTest tests[] = { MOR_TEST(plain), MOR_TEST(yams), MOR_TEST(demo),
					    MOR_TEST(kythe), MOR_TEST(pool), MOR_TEST(for_real) };

	return mor_run_group("host/fault", tests);
}
