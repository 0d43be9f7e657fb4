/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many at once: what happens to 100,000 calls together costs no more for each than what happens to one, and is
 * done in slices between which everybody else has a turn. On the virtual clock, with the script link.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "leak.h"
#include "loop/inside.h"
#include "script.h"

#define MANY 100000

struct world {
	mortise_host *host;
	mortise_plugin *plugin;
	int settled[MANY]; /* how often each call was */
	int order[MANY];   /* which were, in this order */
	int statuses[MANY];
	int count, status;
};

static struct world world; /* large */

static void on_reply(const mortise_reply *reply, void *arg)
{
	int number = (int)(intptr_t)arg;

	assert_int_equal(reply->more, 0);
	world.settled[number]++;
	world.status = world.statuses[number] = reply->status;
	world.order[world.count++] = number;
}

static void advance(uint32_t ms)
{
	assert_true(mor_loop_advance(world.host->loop, ms) >= 0);
}

static void open_world(const char *const *set)
{
	static const char *const argv[] = { "script", NULL };
	mortise_plugin_options opt = { .size = sizeof(opt), .argv = argv, .dialect = "plain", .set = set };

	memset(&world, 0, sizeof(world));
	script_reset();
	assert_int_equal(mor_host_new_with(NULL, MOR_LOOP_VIRTUAL, script_link_new, &world.host, NULL), 0);
	assert_int_equal(mortise_plugin_new(world.host, &opt, &world.plugin, NULL), 0);
	assert_int_equal(mortise_plugin_start(world.plugin, NULL), 0);
	advance(0);
	assert_int_equal(mortise_plugin_state(world.plugin), MORTISE_READY);
}

static void close_world(void)
{
	mortise_plugin_unref(world.plugin);
	mortise_host_free(world.host);
}

static void start_calls(int from, int to, uint32_t timeout_ms, uint32_t queue_ms)
{
	for (int i = from; i < to; i++) {
		mortise_call_options opt = { .size = sizeof(opt),
					     .timeout_ms = timeout_ms,
					     .queue_ms = queue_ms,
					     .on_reply = on_reply,
					     .arg = (void *)(intptr_t)i };

		assert_int_equal(mortise_call_start(world.plugin, "x", (mortise_json){ 0 }, &opt, NULL, NULL),
				 0);
	}
}

static void answer(int id)
{
	char reply[64];

	snprintf(reply, sizeof(reply), "{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":0}\n", id);
	script_deliver(script_now, mor_slice_of(reply));
	advance(0);
}

static void all_settled(int from, int to)
{
	for (int i = from; i < to; i++)
		if (world.settled[i] != 1)
			fail_msg("call %d was settled %d times", i, world.settled[i]);
}

/* ---- time limits ---- */

static void many_calls_expire_together(void **state)
{
	(void)state;
	open_world(NULL);
	start_calls(0, MANY, 1000, 0);
	advance(999);
	assert_int_equal(world.count, 0);
	advance(1);
	assert_int_equal(world.count, MANY);
	assert_int_equal(world.status, MORTISE_ETIMEOUT);
	all_settled(0, MANY);
	for (int i = 0; i < MANY; i++)
		assert_int_equal(world.order[i], i);
	close_world();
}

/* A deadline for each millisecond, and 20,000 others that wait beside it. */
static void many_calls_expire_one_by_one(void **state)
{
	const int half = 20000;

	(void)state;
	open_world(NULL);
	for (int i = 0; i < half; i++)
		/* a prime: every number once, in disorder */
		start_calls(i, i + 1, 30000 + (uint32_t)(i * 7919 % half), 0);
	start_calls(half, 2 * half, 60000, 0);
	advance(30000 + (uint32_t)half);
	assert_int_equal(world.count, half);
	all_settled(0, half);
	for (int i = 1; i < half; i++)
		assert_true(world.order[i] * 7919 % half > world.order[i - 1] * 7919 % half);
	close_world();
	assert_int_equal(world.count, 2 * half);
}

/* The calls wait for a plugin that never has time for them. */
static void many_queued_calls_expire_together(void **state)
{
	static const char *const set[] = { "limits.in_flight=1", NULL };
	const int queued = 60000;

	(void)state;
	open_world(set);
	start_calls(0, 1, 50000, 0);
	start_calls(1, queued, 50000, 500);
	advance(499);
	assert_int_equal(world.count, 0);
	advance(1);
	assert_int_equal(world.count, queued - 1);
	assert_int_equal(world.status, MORTISE_ETIMEOUT);
	all_settled(1, queued);
	close_world();
}

/* Calls are used again, and a timer is left as it was when its call ended: the next call of the same memory may
 * have a sooner limit, a later one, or none. */
static void limits_of_reused_calls(void **state)
{
	static const uint32_t limits[] = { 500, 3000, 20, 20, 7000, 0, 1000 };
	const int count = (int)(sizeof(limits) / sizeof(*limits));

	(void)state;
	open_world(NULL);
	for (int i = 0; i < count; i++) {
		start_calls(i, i + 1, limits[i], 0);
		advance(10);
		answer(i + 1);
		assert_int_equal(world.count, i + 1);
		assert_int_equal(world.status, 0);
	}
	for (int i = 0; i < count; i++) {
		uint32_t limit = limits[i] ? limits[i] : 30000;

		start_calls(count + i, count + i + 1, limits[i], 0);
		advance(limit - 1);
		assert_int_equal(world.count, count + i);
		advance(1);
		assert_int_equal(world.count, count + i + 1);
		assert_int_equal(world.status, MORTISE_ETIMEOUT);
		answer(count + i + 1); /* too late */
	}
	close_world();
}

/* ---- in slices ---- */

/* One dispatch: how many calls it has settled. */
static int dispatch(void)
{
	int before = world.count;

	assert_true(mor_loop_dispatch(world.host->loop) >= 0);
	return world.count - before;
}

static bool readable(void)
{
	struct pollfd pfd = { .fd = mortise_host_fd(world.host), .events = POLLIN };

	return poll(&pfd, 1, 0) == 1;
}

/* Until `count` are settled: nobody waits for a dispatch that settles more than a slice, and the descriptor
 * says that there is more to do. */
static void settle_in_slices(int count)
{
	int most = 0, dispatches = 0;

	for (; world.count < count; dispatches++) {
		int some;

		assert_true(readable());
		some = dispatch();
		most = some > most ? some : most;
		assert_true(dispatches < 10 + 4 * count / MOR_LOOP_SLICE);
	}
	assert_in_range(most, MOR_LOOP_SLICE / 2, 3 * MOR_LOOP_SLICE);
	assert_int_equal(world.count, count);
}

static const struct mor_link_end crash = { .known = true, .status = 3, .text = "exited with status 3" };

static void crash_of_many(void **state)
{
	const int many = 20000;

	(void)state;
	open_world(NULL);
	start_calls(0, many, 30000, 0);
	advance(0);
	script_end(script_now, &crash);
	settle_in_slices(many);
	all_settled(0, many);
	assert_int_equal(world.status, MORTISE_ECRASHED);
	for (int i = 0; i < many; i++)
		assert_int_equal(world.order[i], i);
	close_world();
}

/* The next process is not touched by what is still told of the last one: it serves while the others fail. */
static void crash_and_go_on(void **state)
{
	static const char *const set[] = { "restart.first=1ms", NULL };
	const int many = 20000;

	(void)state;
	open_world(set);
	start_calls(0, many, 30000, 0);
	advance(0);
	script_end(script_now, &crash);
	dispatch();
	assert_in_range(world.count, 1, many / 2);
	start_calls(many, many + 1, 30000, 0);
	while (!script_now || !script_unclaimed(script_now)) {
		world.host->loop->clock.virtual_ms++; /* time passes between two dispatches */
		dispatch();
	}
	assert_in_range(world.count, 1, many - 1);
	script_deliver(script_now, MOR_SLICE("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":0}\n"));
	while (!world.settled[many])
		dispatch();
	assert_in_range(world.count, 1, many - 1);
	settle_in_slices(many + 1);
	all_settled(0, many + 1);
	close_world();
}

/* Released with most of them untold: they are told at once, with what ended them. */
static void released_with_calls_untold(void **state)
{
	const int many = 5000;

	(void)state;
	open_world(NULL);
	start_calls(0, many, 30000, 0);
	advance(0);
	script_end(script_now, &crash);
	dispatch();
	assert_in_range(world.count, 1, many - 1);
	close_world();
	assert_int_equal(world.status, MORTISE_ECRASHED);
	all_settled(0, many);
}

static mortise_call *handles[3];

static void release_in_callback(const mortise_reply *reply, void *arg)
{
	on_reply(reply, arg);
	world.plugin = mortise_plugin_unref(world.plugin);
}

/* The callback of one of the untold releases the plugin; another one was cancelled before its turn. */
static void released_by_one_that_was_untold(void **state)
{
	const int many = 5000;
	mortise_call_options opt = { .size = sizeof(opt),
				     .on_reply = release_in_callback,
				     .arg = (void *)3000 };

	(void)state;
	open_world(NULL);
	start_calls(0, 3000, 30000, 0);
	assert_int_equal(mortise_call_start(world.plugin, "x", (mortise_json){ 0 }, &opt, NULL, NULL), 0);
	start_calls(3001, many - 1, 30000, 0);
	opt.on_reply = on_reply;
	opt.arg = (void *)(intptr_t)(many - 1);
	assert_int_equal(mortise_call_start(world.plugin, "x", (mortise_json){ 0 }, &opt, &handles[0], NULL),
			 0);
	advance(0);
	script_end(script_now, &crash);
	dispatch();
	assert_in_range(world.count, 1, 2999);
	assert_int_equal(mortise_call_cancel(handles[0], NULL), 0);
	while (!world.settled[many - 1])
		dispatch();
	assert_int_equal(world.statuses[many - 1], MORTISE_ECANCELED);
	assert_in_range(world.count, 1, 2999);
	while (world.count < many)
		dispatch();
	all_settled(0, many);
	assert_null(world.plugin);
	close_world();
}

static void expiry_in_slices(void **state)
{
	const int many = 20000;

	(void)state;
	open_world(NULL);
	start_calls(0, many, 1000, 0);
	advance(0);
	world.host->loop->clock.virtual_ms += 1000;
	dispatch();
	settle_in_slices(many);
	all_settled(0, many);
	assert_int_equal(world.status, MORTISE_ETIMEOUT);
	close_world();
}

static int sent_messages(void)
{
	struct mor_slice body;
	int count = 0;

	while (script_now && script_claim(script_now, &body))
		count++;
	return count;
}

/* What waited for the plugin goes out in slices, in its order. */
static void queue_in_slices(void **state)
{
	static const char *const argv[] = { "script", NULL };
	mortise_plugin_options opt = { .size = sizeof(opt), .argv = argv, .dialect = "plain" };
	const int many = 20000;
	int sent = 0, most = 0;

	(void)state;
	open_world(NULL);
	mortise_plugin_unref(world.plugin);
	assert_int_equal(mortise_plugin_new(world.host, &opt, &world.plugin, NULL), 0);
	start_calls(0, many, 30000, 0);
	while (sent < many) {
		int some;

		assert_true(readable());
		dispatch();
		some = sent_messages();
		most = some > most ? some : most;
		sent += some;
	}
	assert_in_range(most, MOR_LOOP_SLICE / 2, 2 * MOR_LOOP_SLICE);
	close_world();
}

static mortise_pool *pool;

/* Jobs of a pool whose only worker cannot be started. */
static void pool_gives_up_in_slices(void **state)
{
	static const char *const argv[] = { "script", NULL }, *const set[] = { "restart.intensity=0", NULL };
	mortise_plugin_options opt = { .size = sizeof(opt), .argv = argv, .dialect = "plain", .set = set };
	mortise_pool_options pool_opt = { .size = sizeof(pool_opt), .workers = 1 };
	const int many = 20000;

	(void)state;
	open_world(NULL);
	assert_int_equal(mortise_pool_new(world.host, &opt, &pool_opt, &pool, NULL), 0);
	for (int i = 0; i < many; i++) {
		mortise_call_options call = { .size = sizeof(call),
					      .on_reply = on_reply,
					      .arg = (void *)(intptr_t)i };

		assert_int_equal(mortise_pool_call(pool, "x", (mortise_json){ 0 }, &call, NULL, NULL), 0);
	}
	dispatch();
	script_end(script_now, &crash);
	settle_in_slices(many);
	all_settled(0, many);
	mortise_pool_free(pool);
	close_world();
}

/* ---- what waits ---- */

static int call_with(const char *params, mortise_error *err)
{
	mortise_call_options opt = { .size = sizeof(opt), .on_reply = on_reply };

	return mortise_call_start(world.plugin, "x", (mortise_json){ params, strlen(params) }, &opt, NULL, err);
}

/* One may always wait, however large; then bytes count as calls do, until they are sent, time out or fail. */
static void queued_params_are_bounded(void **state)
{
	static const char *const set[] = { "limits.in_flight=1", "limits.queue=1000", NULL };
	char params[600], large[2000];
	mortise_error err = { 0 };

	(void)state;
	snprintf(params, sizeof(params), "[\"%0590d\"]", 0);
	snprintf(large, sizeof(large), "[\"%01990d\"]", 0);
	open_world(set);
	start_calls(0, 1, 0, 0);
	advance(0);
	assert_int_equal(call_with(large, &err), 0);
	assert_int_equal(call_with("[1]", &err), MORTISE_EOVERLOAD);
	assert_non_null(strstr(err.text, "(limits.queue)"));
	assert_non_null(strstr(err.text, "1000"));
	answer(1); /* the large one is sent */
	assert_int_equal(call_with(params, &err), 0);
	assert_int_equal(call_with(params, &err), MORTISE_EOVERLOAD);
	assert_int_equal(call_with("[1]", &err), 0);
	assert_int_equal(world.plugin->calls.waiting_bytes, strlen(params) + 3);
	assert_int_equal(mortise_plugin_stop(world.plugin, MORTISE_STOP_NOW, NULL), 0);
	assert_int_equal(world.plugin->calls.waiting_bytes, 0);
	assert_int_equal(world.count, 3);
	close_world();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(many_calls_expire_together),
		MOR_TEST(many_calls_expire_one_by_one),
		MOR_TEST(many_queued_calls_expire_together),
		MOR_TEST(limits_of_reused_calls),
		MOR_TEST(crash_of_many),
		MOR_TEST(crash_and_go_on),
		MOR_TEST(released_with_calls_untold),
		MOR_TEST(released_by_one_that_was_untold),
		MOR_TEST(expiry_in_slices),
		MOR_TEST(queue_in_slices),
		MOR_TEST(pool_gives_up_in_slices),
		MOR_TEST(queued_params_are_bounded),
	};

	return mor_run_group("host/bound", tests);
}
