/* SPDX-License-Identifier: Apache-2.0 */
/* A pool is driven by whatever happens to its workers: no call waits for ever, none is given to one that
 * cannot take it. */
#include <stdio.h>
#include <string.h>

#include "leak.h"
#include "pool_rig.h"

#define HELLO "\"result\":{\"name\":\"x\",\"version\":\"1\",\"interfaces\":[\"content_extractor_v1\"]}"
#define INIT  "\"result\":{\"status\":\"initialized\"}"
#define REFUSAL \
	"\"error\":{\"code\":-32603,\"message\":\"External Dependency Missing\"," \
	"\"data\":{\"recoverable\":true}}"

/* The workers of a plain pool, READY and idle. */
static void warm_up(struct rig *rig)
{
	struct got got[8] = { 0 };

	for (uint32_t i = 0; i < rig->workers; i++)
		call(rig, &got[i]);
	turn(rig);
	for (uint32_t i = 0; i < rig->workers; i++)
		assert_true(serve(rig, i));
	for (uint32_t i = 0; i < rig->workers; i++) {
		expect(&got[i], MORTISE_OK);
		assert_int_equal(state_of(rig, i), MORTISE_READY);
	}
}

static void greet(struct rig *rig, uint32_t i, const char *init)
{
	say(rig, i, "{\"jsonrpc\":\"2.0\",\"id\":%lld,%s}", (long long)claim(rig, i), HELLO);
	say(rig, i, "{\"jsonrpc\":\"2.0\",\"id\":%lld,%s}", (long long)claim(rig, i), init);
}

/* ---- a plugin that refuses its configuration ---- */

static void refusal_ends_the_call_at_once(void **state)
{
	struct rig rig = { .dialect = "yams", .workers = 4, .retries = 1 };
	struct got got = { 0 };

	(void)state;
	rig_open(&rig);
	call(&rig, &got);
	turn(&rig);
	greet(&rig, 0, REFUSAL);
	expect(&got, MORTISE_EREMOTE); /* while the process is still there */
	assert_int_equal(state_of(&rig, 0), MORTISE_DRAINING);
	assert_int_equal(got.error.rpc_code, -32603);
	assert_non_null(strstr(got.error.text, "External Dependency Missing"));
	assert_string_equal(got.data, "{\"recoverable\":true}");
	assert_null(got.plugin);
	assert_int_equal(script_starts, 1); /* the others are the same program with the same configuration */
	rig_close(&rig);
}

static void all_have_refused(void **state)
{
	struct rig rig = { .dialect = "yams", .workers = 3 };
	struct got got[4] = { 0 };

	(void)state;
	rig_open_busy(&rig, got, 3);
	for (uint32_t i = 0; i < 3; i++) {
		for (int j = 0; j < 3; j++)
			expect_waiting(&got[j]);
		greet(&rig, i, REFUSAL);
	}
	for (int i = 0; i < 3; i++) {
		expect(&got[i], MORTISE_EREMOTE);
		assert_string_equal(got[i].data, "{\"recoverable\":true}");
	}
	for (uint32_t i = 0; i < 3; i++)
		die(&rig, i);
	assert_int_equal(state_of(&rig, 0), MORTISE_FAILED);
	call(&rig, &got[3]);
	turn(&rig);
	expect(&got[3], MORTISE_EREMOTE);
	assert_string_equal(got[3].data, "{\"recoverable\":true}");
	assert_int_equal(script_starts, 3);
	rig_close(&rig);
}

static void jobs_go_to_the_living(void **state)
{
	struct rig rig = { .dialect = "yams", .workers = 2 };
	struct got got[2] = { 0 };

	(void)state;
	rig_open(&rig);
	call(&rig, &got[0]);
	call(&rig, &got[1]);
	turn(&rig);
	greet(&rig, 0, REFUSAL);
	greet(&rig, 1, INIT);
	for (int i = 0; i < 3; i++) /* health, then the two calls */
		assert_true(serve(&rig, 1));
	expect(&got[0], MORTISE_OK);
	expect(&got[1], MORTISE_OK);
	rig_close(&rig);
}

static void a_worker_started_by_hand_is_used_again(void **state)
{
	struct rig rig = { .dialect = "yams", .workers = 1 };
	struct got got = { 0 }, later = { 0 };

	(void)state;
	rig_open(&rig);
	call(&rig, &got);
	turn(&rig);
	greet(&rig, 0, REFUSAL);
	die(&rig, 0);
	expect(&got, MORTISE_EREMOTE);
	assert_int_equal(mortise_plugin_start(worker(&rig, 0), NULL), 0);
	call(&rig, &later);
	turn(&rig);
	greet(&rig, 0, INIT);
	assert_true(serve(&rig, 0) && serve(&rig, 0));
	expect(&later, MORTISE_OK);
	rig_close(&rig);
}

/* ---- driven by states, slots and time ---- */

/* The worker drains as its reply arrives; then nothing is heard but its change of state. */
static void workers_that_drain_come_back(void **state)
{
	struct rig rig = { .workers = 2 };
	struct got got[4] = { 0 };

	(void)state;
	rig_open_busy(&rig, got, 4);
	for (uint32_t i = 0; i < 2; i++) {
		int64_t id = claim(&rig, i);

		assert_int_equal(mortise_plugin_stop(worker(&rig, i), MORTISE_STOP_POLITE, NULL), 0);
		say(&rig, i, "{\"jsonrpc\":\"2.0\",\"id\":%lld,\"result\":1}", (long long)id);
	}
	expect(&got[0], MORTISE_OK);
	expect(&got[1], MORTISE_OK);
	die(&rig, 0);
	die(&rig, 1);
	assert_true(serve(&rig, 0) && serve(&rig, 1));
	expect(&got[2], MORTISE_OK);
	expect(&got[3], MORTISE_OK);
	rig_close(&rig);
}

static void queue_ms_runs_in_the_pool(void **state)
{
	struct rig rig = { .workers = 1 };
	struct got busy = { 0 }, hasty = { 0 }, patient = { 0 };

	(void)state;
	rig_open(&rig);
	call(&rig, &busy);
	call_within(&rig, &hasty, 500);
	call_within(&rig, &patient, 0);
	pass(&rig, 499);
	expect_waiting(&hasty);
	pass(&rig, 1);
	expect(&hasty, MORTISE_ETIMEOUT);
	assert_non_null(strstr(hasty.error.text, "no worker was free"));
	assert_true(serve(&rig, 0) && serve(&rig, 0));
	expect(&busy, MORTISE_OK);
	expect(&patient, MORTISE_OK);
	rig_close(&rig);
}

/* 300 ms in the pool's queue, the rest in the worker's: it waits for a health check there. */
static void queue_ms_goes_on_in_the_worker(void **state)
{
	struct rig rig = { .dialect = "yams", .workers = 1 };
	struct got got = { 0 };

	(void)state;
	rig_open(&rig);
	call_within(&rig, &got, 500);
	pass(&rig, 300);
	greet(&rig, 0, INIT);
	assert_true(claim(&rig, 0) > 0); /* plugin.health */
	assert_int_equal(worker(&rig, 0)->calls.waiting, 1);
	pass(&rig, 199);
	expect_waiting(&got);
	pass(&rig, 1);
	expect(&got, MORTISE_ETIMEOUT);
	rig_close(&rig);
}

/* A call that timed out keeps its slot. The next one goes elsewhere; where there is no elsewhere, it goes out
 * as soon as the late answer frees the slot. */
static void a_ghost_takes_a_slot(void **state)
{
	struct rig rig = { .workers = 2 };
	struct got slow = { 0 }, next = { 0 }, last = { 0 };
	int64_t id;

	(void)state;
	rig_open(&rig);
	call(&rig, &slow);
	turn(&rig);
	id = claim(&rig, 0);
	pass(&rig, 30000);
	expect(&slow, MORTISE_ETIMEOUT);
	call(&rig, &next);
	call(&rig, &last);
	turn(&rig);
	assert_int_equal(claim(&rig, 0), 0);
	assert_true(serve(&rig, 1));
	expect(&next, MORTISE_OK);
	assert_true(claim(&rig, 1) > 0); /* `last`, which it does not answer */
	memset(&next, 0, sizeof(next));
	call(&rig, &next);
	turn(&rig);
	assert_int_equal(claim(&rig, 0), 0);
	say(&rig, 0, "{\"jsonrpc\":\"2.0\",\"id\":%lld,\"result\":1}", (long long)id);
	assert_true(serve(&rig, 0));
	expect(&next, MORTISE_OK);
	rig_close(&rig);
}

/* By bytes as well as by number; but one may always wait, however large. */
static void the_queue_is_bounded(void **state)
{
	static const char *const set[] = { "limits.in_flight=1", "limits.queue=1000", NULL };
	struct rig rig = { .workers = 2, .set = set };
	mortise_call_options opt = { .size = sizeof(opt) };
	char params[1002] = "[]";
	mortise_json large = { params, 1000 };
	mortise_error error;
	struct got got[2] = { 0 };

	(void)state;
	rig_open(&rig);
	memset(params + 2, ' ', 998);
	call(&rig, &got[0]);
	call(&rig, &got[1]);
	turn(&rig);
	for (int i = 0; i < 2; i++)
		assert_int_equal(mortise_pool_call(rig.pool, "x", large, &opt, NULL, NULL), 0);
	assert_int_equal(mortise_pool_call(rig.pool, "x", (mortise_json){ "[]", 2 }, &opt, NULL, &error),
			 MORTISE_EOVERLOAD);
	assert_non_null(strstr(error.text, "limits.queue"));
	assert_true(serve(&rig, 0));
	assert_int_equal(mortise_pool_call(rig.pool, "x", (mortise_json){ "[]", 2 }, &opt, NULL, NULL), 0);
	rig_close(&rig);
}

/* ---- who may be given a call ---- */

static void a_broken_pipe_takes_nothing(void **state)
{
	struct rig rig = { .workers = 2 };

	(void)state;
	for (int what = 0; what < 2; what++) {
		rig_open(&rig);
		warm_up(&rig);
		if (what)
			script_close_stdout(process(&rig, 0));
		else
			script_break_stdin(process(&rig, 0));
		turn(&rig);
		assert_int_equal(state_of(&rig, 0), MORTISE_READY); /* for 100 ms */
		for (int i = 0; i < 50; i++) {
			struct got got = { 0 };

			call(&rig, &got);
			turn(&rig);
			assert_true(serve(&rig, 1));
			expect(&got, MORTISE_OK);
		}
		pass(&rig, 100);
		assert_int_equal(state_of(&rig, 0), MORTISE_DRAINING);
		rig_close(&rig);
	}
}

static void nothing_is_bound_to_one_that_backs_off(void **state)
{
	struct rig rig = { .workers = 3 };
	struct got dead = { 0 }, busy = { 0 }, next = { 0 };

	(void)state;
	rig_open(&rig);
	call(&rig, &busy);
	call(&rig, &dead);
	turn(&rig);
	die(&rig, 1);
	expect(&dead, MORTISE_ECRASHED);
	assert_int_equal(state_of(&rig, 1), MORTISE_BACKOFF);
	call(&rig, &next); /* the third is started for it */
	turn(&rig);
	assert_int_equal(state_of(&rig, 2), MORTISE_READY);
	assert_true(serve(&rig, 2));
	expect(&next, MORTISE_OK);
	memset(&next, 0, sizeof(next));
	memset(&dead, 0, sizeof(dead));
	call(&rig, &dead); /* keeps the third busy */
	call(&rig, &next); /* waits: all are busy, but the first will be sooner */
	turn(&rig);
	assert_true(serve(&rig, 0) && serve(&rig, 0));
	expect(&busy, MORTISE_OK);
	expect(&next, MORTISE_OK);
	assert_int_equal(state_of(&rig, 1), MORTISE_BACKOFF);
	rig_close(&rig);
}

/* Few long calls: each gets a process, although one worker may have several at once. */
static void calls_are_spread_before_they_are_piled(void **state)
{
	static const char *const set[] = { "limits.in_flight=4", NULL };
	struct rig rig = { .workers = 2, .set = set };
	struct got got[5] = { 0 };

	(void)state;
	rig_open_busy(&rig, got, 5);
	assert_int_equal(worker(&rig, 0)->calls.in_flight, 3);
	assert_int_equal(worker(&rig, 1)->calls.in_flight, 2);
	rig_close(&rig);
}

/* ---- what comes back ---- */

/* READY and whole, it seems, but it takes nothing. */
static void what_was_not_sent_is_tried_elsewhere(void **state)
{
	struct rig rig = { .workers = 2 };
	struct got got = { 0 };

	(void)state;
	rig_open(&rig);
	warm_up(&rig);
	process(&rig, 0)->input_closed = true; /* send says ECLOSED */
	call(&rig, &got);
	call(&rig, &got);
	turn(&rig);
	assert_true(serve(&rig, 1) && serve(&rig, 1));
	assert_int_equal(got.finals, 2);
	assert_int_equal(got.status, MORTISE_OK);
	memset(&got, 0, sizeof(got));
	process(&rig, 1)->input_closed = true;
	call(&rig, &got);
	turn(&rig);
	expect(&got, MORTISE_ECLOSED); /* but not for ever */
	rig_close(&rig);
}

/* Without queue_ms its time limit runs from the last byte that the worker took; what waits behind it goes to
 * the next process. */
static void whoever_reads_nothing_is_not_waited_for(void **state)
{
	struct rig rig = { .workers = 1 };
	struct got got = { 0 }, next = { 0 };
	struct script_link *first;

	(void)state;
	rig_open(&rig);
	warm_up(&rig);
	first = process(&rig, 0);
	first->stuck = true;
	call(&rig, &got);
	call(&rig, &next);
	pass(&rig, 29000);
	first->link.events->on_written(first->link.arg, ++first->link.written);
	pass(&rig, 29000);
	expect_waiting(&got);
	pass(&rig, 1001);
	expect(&got, MORTISE_ETIMEOUT);
	assert_non_null(strstr(got.error.text, "the plugin has read nothing for 30000 ms"));
	for (int i = 0; i < 60 && process(&rig, 0) == first; i++)
		pass(&rig, 1000);
	die(&rig, 0);
	pass(&rig, 1000);
	assert_true(serve(&rig, 0));
	expect(&next, MORTISE_OK);
	rig_close(&rig);
}

/* "retries": 0. What never left the host may be given to another; what may have been read, even in
 * part, may not. */
static void only_what_was_not_written_is_sent_again(void **state)
{
	struct rig rig = { .workers = 2 };
	struct got got = { 0 }, half = { 0 };

	(void)state;
	rig_open(&rig);
	warm_up(&rig);
	process(&rig, 0)->stuck = true;
	call(&rig, &got);
	turn(&rig);
	die(&rig, 0);
	assert_true(serve(&rig, 1));
	expect(&got, MORTISE_OK);
	process(&rig, 1)->stuck = true;
	call(&rig, &half);
	turn(&rig);
	process(&rig, 1)->link.written++;
	die(&rig, 1);
	expect(&half, MORTISE_ECRASHED);
	rig_close(&rig);
}

/* The order of the calls holds when several come back at once. */
static void they_come_back_in_their_order(void **state)
{
	static const char *const set[] = { "limits.in_flight=4", NULL };
	struct rig rig = { .workers = 1, .retries = 1, .set = set };
	struct got got[6] = { 0 };

	(void)state;
	rig_open_busy(&rig, got, 6);
	die(&rig, 0);
	pass(&rig, 200);
	for (int i = 0; i < 6; i++) {
		expect_waiting(&got[i]);
		assert_true(serve(&rig, 0));
		expect(&got[i], MORTISE_OK);
	}
	rig_close(&rig);
}

/* ---- starts that fail ---- */

static void a_crash_at_the_start_is_survived(void **state)
{
	static const uint32_t retries[] = { 0, 1, UINT32_MAX };

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct rig rig = { .dialect = "yams", .workers = 1, .retries = retries[i] };
		struct got got = { 0 };

		rig_open(&rig);
		call(&rig, &got);
		turn(&rig);
		die(&rig, 0);
		expect_waiting(&got);
		assert_int_equal(state_of(&rig, 0), MORTISE_BACKOFF);
		pass(&rig, 200);
		greet(&rig, 0, INIT);
		assert_true(serve(&rig, 0) && serve(&rig, 0));
		expect(&got, MORTISE_OK);
		rig_close(&rig);
	}
}

static void die_whenever_started(const mortise_event *event, void *arg)
{
	struct rig *rig = arg;

	if (event->type == MORTISE_EVENT_STATE && event->state.now == MORTISE_GREETING)
		script_end(script_of(event->plugin), &(struct mor_link_end){ .known = true,
									     .status = 1,
									     .text = "exited with status 1" });
	rig->events++;
}

/* In whatever dialect and with whatever flags: so many starts, and no more. */
static void starts_in_vain_are_bounded(void **state)
{
	static const struct {
		const char *dialect;
		uint64_t flags;
	} kinds[] = { { "plain", 0 },
		      { "plain", MORTISE_NO_RESTART },
		      { "yams", 0 },
		      { "yams", MORTISE_NO_RESTART },
		      { "demo-call", 0 },
		      { "demo-run", 0 },
		      { "demo-run", MORTISE_NO_RESTART } };

	(void)state;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		struct rig rig = { .workers = 3,
				   .dialect = kinds[i].dialect,
				   .flags = kinds[i].flags,
				   .on_event = die_whenever_started };
		struct got got[5] = { 0 };

		rig_open(&rig);
		for (int j = 0; j < 5; j++)
			call(&rig, &got[j]);
		pass(&rig, 10000);
		for (int j = 0; j < 5; j++)
			expect(&got[j], MORTISE_ECRASHED);
		/* 5 calls, each given to 1 + 3 at most; and some that nobody got */
		assert_in_range(script_starts, 2, 30);
		rig_close(&rig);
	}
}

/* One cannot be started, the other has work for long: what waits, waits for that one, and nobody starts the
 * first over and over meanwhile. */
static void the_working_one_is_waited_for(void **state)
{
	struct rig rig = { .workers = 2, .dialect = "demo-run" };
	struct got got = { 0 }, waits = { 0 };

	(void)state;
	rig_open(&rig);
	call(&rig, &got);
	turn(&rig);
	assert_true(serve(&rig, 0)); /* hello */
	call(&rig, &waits);
	turn(&rig);
	die(&rig, 1);
	pass(&rig, 9000);
	assert_int_equal(script_starts, 2);
	expect_waiting(&waits);
	assert_true(serve(&rig, 0));
	expect(&got, MORTISE_OK);
	die(&rig, 0);
	expect_waiting(&waits);
	assert_true(script_starts > 2);
	rig_close(&rig);
}

/* Every third call kills its worker: the others are all answered, and no worker is given up. */
static void a_pool_that_gets_work_done_goes_on(void **state)
{
	enum { CALLS = 300, EVERY = 3 };
	static struct got got[CALLS];
	struct rig rig = { .workers = 2 };
	int answered = 0, crashed = 0;

	(void)state;
	memset(got, 0, sizeof(got));
	rig_open(&rig);
	call_all(&rig, got, CALLS);
	for (int i = 0; i < 100 * CALLS && answered + crashed < CALLS; i++) {
		uint32_t w = i % 2;
		bool last = (answered + crashed) % EVERY == EVERY - 1;

		pass(&rig, 10);
		if (state_of(&rig, w) == MORTISE_READY && last && claim(&rig, w)) {
			crashed++;
			die(&rig, w);
		} else if (state_of(&rig, w) == MORTISE_READY && !last) {
			answered += serve(&rig, w);
		}
	}
	assert_int_equal(answered, CALLS - CALLS / EVERY);
	for (int i = 0; i < CALLS; i++)
		assert_true(got[i].status == MORTISE_OK || got[i].status == MORTISE_ECRASHED);
	for (uint32_t w = 0; w < 2; w++)
		assert_int_not_equal(state_of(&rig, w), MORTISE_FAILED);
	rig_close(&rig);
}

/* ---- answers to no call ---- */

static void a_time_out_says_what_came_instead(void **state)
{
	struct rig rig = { .workers = 1 };
	struct got got = { 0 };

	(void)state;
	rig_open_busy(&rig, &got, 1);
	say(&rig, 0, "{\"jsonrpc\":\"2.0\",\"result\":7}");
	pass(&rig, 30000);
	expect(&got, MORTISE_ETIMEOUT);
	assert_non_null(strstr(got.error.text, "it printed 1 line on stdout that is not a message"));
	assert_non_null(strstr(got.error.text, "result\\\":7"));
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(refusal_ends_the_call_at_once),
		MOR_TEST(all_have_refused),
		MOR_TEST(jobs_go_to_the_living),
		MOR_TEST(a_worker_started_by_hand_is_used_again),
		MOR_TEST(workers_that_drain_come_back),
		MOR_TEST(queue_ms_runs_in_the_pool),
		MOR_TEST(queue_ms_goes_on_in_the_worker),
		MOR_TEST(whoever_reads_nothing_is_not_waited_for),
		MOR_TEST(a_ghost_takes_a_slot),
		MOR_TEST(the_queue_is_bounded),
		MOR_TEST(a_broken_pipe_takes_nothing),
		MOR_TEST(nothing_is_bound_to_one_that_backs_off),
		MOR_TEST(calls_are_spread_before_they_are_piled),
		MOR_TEST(what_was_not_sent_is_tried_elsewhere),
		MOR_TEST(only_what_was_not_written_is_sent_again),
		MOR_TEST(they_come_back_in_their_order),
		MOR_TEST(a_crash_at_the_start_is_survived),
		MOR_TEST(starts_in_vain_are_bounded),
		MOR_TEST(the_working_one_is_waited_for),
		MOR_TEST(a_time_out_says_what_came_instead),
		MOR_TEST(a_pool_that_gets_work_done_goes_on),
	};

	return mor_run_group("host/pool", tests);
}
