/* SPDX-License-Identifier: Apache-2.0 */
/* A pool may be freed at any moment, from any callback, while others hold its workers: each call ends once,
 * nothing dangles. */
#include <string.h>

#include "leak.h"
#include "pool_rig.h"

static void free_it(struct rig *rig)
{
	rig->pool = mortise_pool_free(rig->pool);
}

static void free_in_reply(const mortise_reply *reply, void *arg)
{
	(void)reply;
	free_it(arg);
}

/* ---- a worker that the embedder holds ---- */

static void a_held_worker_ends_with_its_pool(void **state)
{
	struct rig rig = { .workers = 1 };
	struct got running = { 0 }, waiting = { 0 }, own = { 0 };
	mortise_plugin *held;
	mortise_call_options opt = { .size = sizeof(opt) };
	char *text = NULL;

	(void)state;
	rig_open(&rig);
	call(&rig, &running);
	call(&rig, &waiting);
	turn(&rig);
	held = mortise_plugin_ref(worker(&rig, 0));
	assert_int_equal(mortise_call_start(held, "x", (mortise_json){ 0 }, &opt, NULL, NULL), 0);
	free_it(&rig);
	expect(&running, MORTISE_ECANCELED);
	expect(&waiting, MORTISE_ECANCELED);
	pass(&rig, 60000);
	assert_int_equal(mortise_plugin_state(held), MORTISE_ECLOSED);
	assert_int_equal(mortise_plugin_start(held, NULL), MORTISE_ECLOSED);
	assert_int_equal(mortise_plugin_describe(held, &text, NULL), MORTISE_ECLOSED);
	assert_int_equal(own.finals, 0);
	assert_null(mortise_plugin_unref(held));
	rig_close(&rig);
}

/* ---- from callbacks ---- */

static void inside_replies_of_stop(void **state)
{
	struct rig rig = { .workers = 2 };
	struct got got[5] = { 0 };

	(void)state;
	rig_open_busy(&rig, got, 5);
	got[2].then = free_in_reply; /* the first that waits */
	got[2].arg = &rig;
	assert_true(mortise_pool_stop(rig.pool, MORTISE_STOP_POLITE, NULL) <= 0); /* outside of any dispatch */
	for (int i = 0; i < 5; i++)
		assert_int_equal(got[i].finals, 1);
	assert_int_equal(got[2].status, MORTISE_ECLOSED);
	assert_int_equal(got[0].status, MORTISE_ECANCELED);
	rig_close(&rig);
}

static void inside_a_last_reply(void **state)
{
	struct rig rig = { .workers = 2, .retries = 1 };
	struct got got[5] = { 0 };

	(void)state;
	rig_open(&rig);
	for (int i = 0; i < 5; i++) {
		call(&rig, &got[i]);
		got[i].then = free_in_reply;
		got[i].arg = &rig;
	}
	turn(&rig);
	assert_true(serve(&rig, 1));
	for (int i = 0; i < 5; i++)
		assert_int_equal(got[i].finals, 1);
	rig_close(&rig);
}

static void inside_a_piece(void **state)
{
	struct rig rig = { .workers = 1, .dialect = "demo" };
	struct got got = { 0 };
	int64_t id;

	(void)state;
	rig_open(&rig);
	call(&rig, &got);
	got.then = free_in_reply;
	got.arg = &rig;
	turn(&rig);
	assert_true(serve(&rig, 0) && serve(&rig, 0)); /* hello, extra */
	assert_int_equal(claim(&rig, 0), -1);          /* ready */
	id = claim(&rig, 0);
	say(&rig, 0, "{\"jsonrpc\":\"2.0\",\"method\":\"stream\",\"params\":{\"request_id\":%lld,\"data\":1}}",
	    (long long)id);
	assert_int_equal(got.pieces, 1);
	expect(&got, MORTISE_ECANCELED);
	rig_close(&rig);
}

/* A refusal, a queue_ms, a crash: the replies that the pool itself makes. */
static void inside_its_own_replies(void **state)
{
	struct rig rig = { .workers = 1 };
	struct got busy = { 0 }, got[3] = { 0 };

	(void)state;
	rig_open(&rig);
	call(&rig, &busy);
	for (int i = 0; i < 3; i++) {
		call_within(&rig, &got[i], 100);
		got[i].then = free_in_reply;
		got[i].arg = &rig;
	}
	pass(&rig, 1000);
	for (int i = 0; i < 3; i++)
		assert_int_equal(got[i].finals, 1);
	expect(&busy, MORTISE_ECANCELED);
	rig_close(&rig);
}

static void free_at_event(const mortise_event *event, void *arg)
{
	struct rig *rig = arg;

	if (event->type == MORTISE_EVENT_STATE && rig->events-- == 0)
		free_it(rig);
}

/* At each change of state in turn, from the start to the restart. */
static void inside_events(void **state)
{
	bool freed = true;

	(void)state;
	for (int at = 0; freed; at++) {
		struct rig rig = { .workers = 2, .retries = 1, .on_event = free_at_event, .events = at };
		struct got got[3] = { 0 };

		rig_open_busy(&rig, got, 3);
		if (rig.pool)
			die(&rig, 0);
		if (rig.pool)
			pass(&rig, 1000);
		if (rig.pool)
			mortise_pool_stop(rig.pool, MORTISE_STOP_NOW, NULL);
		freed = !rig.pool;
		rig_close(&rig);
		for (int i = 0; i < 3; i++)
			assert_int_equal(got[i].finals, 1);
		assert_true(at < 100);
	}
}

static void stop_at_event(const mortise_event *event, void *arg)
{
	struct rig *rig = arg;

	if (event->type == MORTISE_EVENT_STATE && rig->events-- == 0)
		mortise_plugin_stop(event->plugin, MORTISE_STOP_NOW, NULL);
}

/* A caller who stops a worker at any change of its state gets the calls ended all the same, mostly well. */
static void workers_stopped_inside_events(void **state)
{
	(void)state;
	for (int at = 0; at < 12; at++) {
		struct rig rig = { .workers = 2, .on_event = stop_at_event, .events = at };
		struct got got[4] = { 0 };
		int ended = 0;

		rig_open(&rig);
		call_all(&rig, got, 4);
		for (int turns = 0; turns < 50 && ended < 4; turns++) {
			pass(&rig, 50);
			for (uint32_t i = 0; i < 2; i++) {
				if (process(&rig, i) && process(&rig, i)->killed)
					die(&rig, i);
				else
					serve(&rig, i);
			}
			ended = got[0].finals + got[1].finals + got[2].finals + got[3].finals;
		}
		assert_int_equal(ended, 4);
		rig_close(&rig);
	}
}

/* ---- with the host ---- */

static void make_another(const mortise_reply *reply, void *arg)
{
	static const char *const argv[] = { "script", NULL };
	mortise_plugin_options opt = { .size = sizeof(opt), .argv = argv, .dialect = "plain" };
	mortise_pool_options pool_opt = { .size = sizeof(pool_opt), .workers = 1 };
	struct rig *rig = arg;

	(void)reply;
	assert_int_equal(mortise_pool_new(rig->host, &opt, &pool_opt, &rig->pool, NULL), 0);
}

static void the_host_takes_its_pools_along(void **state)
{
	struct rig rig = { .workers = 2 };
	struct got got[4] = { 0 };
	mortise_plugin *held;

	(void)state;
	rig_open(&rig);
	call_all(&rig, got, 4);
	got[0].then = got[3].then = make_another;
	got[0].arg = got[3].arg = &rig;
	turn(&rig);
	held = mortise_plugin_ref(worker(&rig, 0));
	assert_null(mortise_host_free(rig.host));
	for (int i = 0; i < 4; i++)
		expect(&got[i], MORTISE_ECANCELED);
	assert_int_equal(mortise_plugin_state(held), MORTISE_ECLOSED);
	mortise_plugin_unref(held);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(a_held_worker_ends_with_its_pool),
		MOR_TEST(inside_replies_of_stop),
		MOR_TEST(inside_a_last_reply),
		MOR_TEST(inside_a_piece),
		MOR_TEST(inside_its_own_replies),
		MOR_TEST(inside_events),
		MOR_TEST(workers_stopped_inside_events),
		MOR_TEST(the_host_takes_its_pools_along),
	};

	return mor_run_group("host/pool-free", tests);
}
