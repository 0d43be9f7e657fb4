/* SPDX-License-Identifier: Apache-2.0 */
/* Pools: several processes of one plugin behind one queue. */
#include <unistd.h>

#include "api.h"
#include "tmp.h"

#define CALLS 64

struct pool_rig {
	struct rig rig;
	mortise_pool *pool;
	char file[TMP_ROOM]; /* does not exist at first: see bad's *_once modes */
};

static void pool_open(struct pool_rig *p, const char *mode, uint32_t workers, uint32_t retries,
		      uint32_t max_queue)
{
	const char *argv[3];
	mortise_plugin_options opt;
	mortise_pool_options pool_opt = {
		.size = sizeof(pool_opt), .workers = workers, .retries = retries, .max_queue = max_queue
	};
	mortise_error err = { 0 };
	int r, fd;

	p->pool = NULL;
	rig_open(&p->rig);
	opt = rig_options(&p->rig, mode, argv);
	opt.set = SET("restart.first=1ms");
	r = mortise_pool_new(p->rig.host, &opt, &pool_opt, &p->pool, &err);
	if (r < 0)
		fail_msg("mortise_pool_new: %d %s", r, err.text);
	assert_true((fd = mkstemp(tmp_name(p->file, "pool"))) >= 0);
	close(fd);
	unlink(p->file);
}

static void pool_close(struct pool_rig *p)
{
	assert_null(mortise_pool_free(p->pool));
	rig_close(&p->rig);
	unlink(p->file);
}

static void pool_start(struct pool_rig *p, struct got *got, const char *action, const char *params)
{
	mortise_call_options opt = got_options(&p->rig, got, NO_TIMER_MS);
	mortise_error err = { 0 };
	int r = mortise_pool_call(p->pool, action, json(params), &opt, NULL, &err);

	if (r < 0)
		fail_msg("mortise_pool_call: %d %s", r, err.text);
	assert_int_equal(got->finals, 0);
}

/* Calls that stay under way take a worker each: "on the least busy worker". */
static void calls_spread_over_the_workers(void **state)
{
	struct pool_rig p;
	struct got got[4];
	int pids[4];

	(void)state;
	pool_open(&p, "ok", 4, 0, 0);
	for (int i = 0; i < 4; i++)
		pool_start(&p, &got[i], "hang", NULL);
	rig_settle(&p.rig);
	for (int i = 0; i < 4; i++) {
		mortise_plugin *worker = mortise_pool_worker(p.pool, (uint32_t)i);

		assert_non_null(worker);
		p.rig.plugin = worker;
		rig_until_state(&p.rig, MORTISE_READY);
		pids[i] = ask_pid(&p.rig);
		for (int j = 0; j < i; j++)
			assert_int_not_equal(pids[i], pids[j]);
	}
	p.rig.plugin = NULL; /* borrowed */
	assert_null(mortise_pool_worker(p.pool, 4));
	pool_close(&p);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(got[i].finals, 1);
		/* "calls under way end with MORTISE_ECANCELED" */
		assert_int_equal(got[i].status, MORTISE_ECANCELED);
	}
}

struct roll {
	struct pool_rig p;
	int ready[2];
	uint64_t strange;
};

static void call_the_roll(const mortise_event *event, void *arg)
{
	struct roll *roll = arg;

	rig_event(event, &roll->p.rig);
	if (event->pool != roll->p.pool || mortise_pool_worker(event->pool, event->worker) != event->plugin)
		roll->strange++;
	else if (event->type == MORTISE_EVENT_STATE && event->state.now == MORTISE_READY)
		roll->ready[event->worker]++;
}

/* A program that shows its pool in rows needs to know whose row it is. */
static void events_name_pool_and_worker(void **state)
{
	mortise_pool_options pool_opt = { .size = sizeof(pool_opt), .workers = 2 };
	mortise_plugin_options opt;
	const char *argv[3];
	struct roll roll = { 0 };
	struct got got[2];

	(void)state;
	rig_open(&roll.p.rig);
	opt = rig_options(&roll.p.rig, "ok", argv);
	opt.on_event = call_the_roll;
	opt.arg = &roll;
	assert_int_equal(mortise_pool_new(roll.p.rig.host, &opt, &pool_opt, &roll.p.pool, NULL), 0);
	for (int i = 0; i < 2; i++)
		pool_start(&roll.p, &got[i], "hang", NULL);
	rig_until(&roll.p.rig, &roll.ready[0], 1, "the first worker");
	rig_until(&roll.p.rig, &roll.ready[1], 1, "the second worker");
	assert_int_equal(roll.ready[0] + roll.ready[1], 2);
	assert_int_equal(roll.strange, 0);
	assert_null(mortise_pool_free(roll.p.pool));
	rig_close(&roll.p.rig);
}

static void a_pool_describes_itself(void **state)
{
	struct pool_rig p;
	struct got got;
	char *text = NULL;
	const char *second;

	(void)state;
	pool_open(&p, "ok", 2, 1, 0);
	pool_start(&p, &got, "echo", "[1]");
	assert_int_equal(mortise_pool_describe(p.pool, &text, NULL), 0);
	assert_contains(text,
			"{\"waiting\":1,\"waiting_bytes\":3,\"max_queue\":65536,\"retries\":1,\"workers\":[{");
	mortise_free(text);
	until_done(&got);
	got_clear(&got);
	assert_int_equal(mortise_pool_describe(p.pool, &text, NULL), 0);
	assert_contains(text, "{\"waiting\":0,");
	assert_contains(text, "\"state\":\"ready\"");
	second = strstr(text, "\"state\":\"stopped\""); /* nothing needed it */
	assert_non_null(second);
	assert_null(strstr(second + 1, "\"state\":\"stopped\""));
	mortise_free(text);
	assert_int_equal(mortise_pool_describe(NULL, &text, NULL), MORTISE_EINVAL);
	pool_close(&p);
}

/* "The workers start as calls need them." */
static void workers_start_as_needed(void **state)
{
	struct pool_rig p;
	struct got got;
	int stopped = 0;

	(void)state;
	pool_open(&p, "ok", 4, 0, 0);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(mortise_plugin_state(mortise_pool_worker(p.pool, i)), MORTISE_STOPPED);
	pool_start(&p, &got, "echo", "[]");
	until_done(&got);
	assert_string_equal(got.result, "[]");
	got_clear(&got);
	for (uint32_t i = 0; i < 4; i++)
		stopped += mortise_plugin_state(mortise_pool_worker(p.pool, i)) == MORTISE_STOPPED;
	assert_int_equal(stopped, 3);
	pool_close(&p);
}

static void every_call_is_answered_once(void **state)
{
	static struct got got[1000];
	struct pool_rig p;

	(void)state;
	pool_open(&p, "ok", 3, 0, 0);
	for (int i = 0; i < 1000; i++) {
		char params[32];

		snprintf(params, sizeof(params), "[%d]", i);
		pool_start(&p, &got[i], "echo", params);
	}
	for (int i = 0; i < 1000; i++) {
		char want[32];

		until_done(&got[i]);
		snprintf(want, sizeof(want), "[%d]", i);
		assert_string_equal(got[i].result, want);
		got_clear(&got[i]);
	}
	rig_settle(&p.rig);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(got[i].finals, 1);
	pool_close(&p);
}

static void go(struct pool_rig *p, struct got *got)
{
	char params[256];

	snprintf(params, sizeof(params), "{\"file\":\"%s\"}", p->file);
	pool_start(p, got, "go", params);
	until_done(got);
	rig_settle(&p->rig);
	assert_int_equal(got->finals, 1);
}

/* "tried again elsewhere: after a crash of its worker" */
static void retried_after_a_crash(void **state)
{
	struct pool_rig p;
	struct got got;

	(void)state;
	pool_open(&p, "crashes_once", 2, 1, 0);
	go(&p, &got);
	assert_int_equal(got.status, MORTISE_OK);
	assert_true(strtol(got.result, NULL, 10) > 0);
	got_clear(&got);
	pool_close(&p);
}

/* "a pool … keeps no copy": a call that waits for its worker is sent with what the params are then */
static void lent_params_are_not_copied(void **state)
{
	struct pool_rig p;
	struct got got[2];

	(void)state;
	pool_open(&p, "ok", 1, 0, 0);
	for (int lent = 0; lent < 2; lent++) {
		char params[] = "{\"n\":1}";
		mortise_call_options opt = got_options(&p.rig, &got[lent], NO_TIMER_MS);

		opt.flags |= lent ? MORTISE_LENT : 0;
		assert_int_equal(mortise_pool_call(p.pool, "echo", json(params), &opt, NULL, NULL), 0);
		params[5] = '2';
		until_done(&got[lent]);
		assert_string_equal(got[lent].result, lent ? "{\"n\":2}" : "{\"n\":1}");
		got_clear(&got[lent]);
	}
	pool_close(&p);
}

/* "Default 0: never." */
static void not_retried_unless_asked(void **state)
{
	struct pool_rig p;
	struct got got;

	(void)state;
	pool_open(&p, "crashes_once", 2, 0, 0);
	go(&p, &got);
	assert_int_equal(got.status, MORTISE_ECRASHED);
	pool_close(&p);
	pool_open(&p, "fails_once", 2, 0, 0);
	go(&p, &got);
	assert_int_equal(got.status, MORTISE_EREMOTE);
	got_clear(&got);
	pool_close(&p);
}

/* "or an error whose data says "recoverable": true" */
static void retried_when_recoverable(void **state)
{
	struct pool_rig p;
	struct got got;

	(void)state;
	pool_open(&p, "fails_once", 2, 1, 0);
	go(&p, &got);
	assert_int_equal(got.status, MORTISE_OK);
	got_clear(&got);
	pool_close(&p);
	pool_open(&p, "fails_for_good", 2, 1, 0);
	go(&p, &got);
	assert_int_equal(got.status, MORTISE_EREMOTE);
	assert_int_equal(got.error.rpc_code, -32051);
	got_clear(&got);
	pool_close(&p);
}

/* A call that kills every worker it meets ends after its retries; the others are not lost. */
static void retries_are_bounded(void **state)
{
	struct pool_rig p;
	struct got poison, good[CALLS];

	(void)state;
	pool_open(&p, "crashes", 2, 2, 0);
	pool_start(&p, &poison, "go", NULL);
	for (int i = 0; i < CALLS; i++)
		pool_start(&p, &good[i], "echo", "[]");
	until_done(&poison);
	assert_int_equal(poison.status, MORTISE_ECRASHED);
	for (int i = 0; i < CALLS; i++) {
		until_done(&good[i]);
		got_clear(&good[i]);
	}
	pool_close(&p);
}

/* "calls that wait for a worker; more fail with MORTISE_EOVERLOAD" */
static void queue_is_bounded(void **state)
{
	static struct got got[200];
	struct pool_rig p;
	const char *argv[3];
	mortise_plugin_options opt = rig_options(&p.rig, "ok", argv);
	mortise_pool_options pool_opt = { .size = sizeof(pool_opt), .workers = 1, .max_queue = 10 };
	int taken = 0, r = 0;

	(void)state;
	rig_open(&p.rig);
	p.file[0] = '\0';
	opt.set = SET("limits.in_flight=1"); /* so that the rest has to wait */
	assert_int_equal(mortise_pool_new(p.rig.host, &opt, &pool_opt, &p.pool, NULL), 0);
	while (taken < 200 && r == 0) {
		mortise_call_options call = got_options(&p.rig, &got[taken], NO_TIMER_MS);

		r = mortise_pool_call(p.pool, "hang", json(NULL), &call, NULL, NULL);
		taken += r == 0;
	}
	assert_int_equal(r, MORTISE_EOVERLOAD);
	assert_in_range(taken, 10, 12); /* ten that wait, and what is on its way to the worker */
	pool_close(&p);
	for (int i = 0; i < taken; i++)
		assert_int_equal(got[i].finals, 1);
}

static void polite_stop(void **state)
{
	struct pool_rig p;
	struct got got[2];

	(void)state;
	pool_open(&p, "ok", 2, 0, 0);
	for (int i = 0; i < 2; i++)
		pool_start(&p, &got[i], "echo", "[]");
	for (int i = 0; i < 2; i++) {
		until_done(&got[i]);
		got_clear(&got[i]);
	}
	assert_int_equal(mortise_pool_stop(p.pool, MORTISE_STOP_POLITE, NULL), 0);
	for (uint32_t i = 0; i < 2; i++) {
		p.rig.plugin = mortise_pool_worker(p.pool, i);
		rig_until_state(&p.rig, MORTISE_STOPPED);
	}
	p.rig.plugin = NULL;
	pool_close(&p);
}

struct dropper {
	struct pool_rig p;
	int done;
};

static void free_the_pool(const mortise_reply *reply, void *arg)
{
	struct dropper *d = arg;

	if (d->done++ == 0)
		d->p.pool = mortise_pool_free(d->p.pool);
	assert_int_equal(reply->more, 0);
}

static void free_inside_a_reply(void **state)
{
	struct dropper d = { .done = 0 };
	mortise_call_options opt = { .size = sizeof(opt), .on_reply = free_the_pool, .arg = &d };

	(void)state;
	pool_open(&d.p, "ok", 2, 0, 0);
	for (int i = 0; i < 4; i++)
		assert_int_equal(mortise_pool_call(d.p.pool, "echo", json("[]"), &opt, NULL, NULL), 0);
	rig_until(&d.p.rig, &d.done, 4, "four last callbacks, the first of which frees the pool");
	pool_close(&d.p);
	assert_int_equal(d.done, 4);
}

/* "Fine in any callback, also of mortise_pool_stop()": outside of a dispatch, too. */
static void free_inside_stop(void **state)
{
	struct dropper d = { .done = 0 };
	mortise_call_options opt = { .size = sizeof(opt), .on_reply = free_the_pool, .arg = &d };

	(void)state;
	pool_open(&d.p, "ok", 2, 0, 0);
	for (int i = 0; i < 20; i++)
		assert_int_equal(mortise_pool_call(d.p.pool, "hang", json(NULL), &opt, NULL, NULL), 0);
	rig_settle(&d.p.rig);
	mortise_pool_stop(d.p.pool, MORTISE_STOP_POLITE, NULL);
	assert_int_equal(d.done, 20);
	assert_null(d.p.pool);
	pool_close(&d.p);
	assert_int_equal(d.done, 20);
}

/* "Kills the workers, also those that you hold" */
static void free_with_a_worker_held(void **state)
{
	struct pool_rig p;
	struct got got;
	mortise_plugin *worker;

	(void)state;
	pool_open(&p, "ok", 1, 0, 0);
	pool_start(&p, &got, "hang", NULL);
	rig_settle(&p.rig);
	worker = mortise_plugin_ref(mortise_pool_worker(p.pool, 0));
	p.pool = mortise_pool_free(p.pool);
	assert_int_equal(got.finals, 1);
	assert_int_equal(got.status, MORTISE_ECANCELED);
	rig_settle(&p.rig);
	assert_int_equal(mortise_plugin_state(worker), MORTISE_ECLOSED);
	mortise_plugin_unref(worker);
	pool_close(&p);
}

/* One worker has closed its stdin and lives on. Nobody is to notice that beside it another one works. */
static void a_broken_worker_takes_nothing(void **state)
{
	struct pool_rig p;
	struct got got;

	(void)state;
	pool_open(&p, "closes_stdin", 2, 0, 0);
	pool_start(&p, &got, "go", NULL);
	until_done(&got);
	assert_int_equal(got.status, MORTISE_OK);
	got_clear(&got);
	for (int i = 0; i < 5000; i++) {
		pool_start(&p, &got, "echo", "[]");
		until_done(&got);
		if (got.status != MORTISE_OK)
			fail_msg("call %d: %s", i, got.error.text);
		got_clear(&got);
	}
	pool_close(&p);
}

/* A process takes some ten of them. However few are left: the call waits, and is answered once there are
 * enough again. */
static void descriptors_may_be_short_for_a_moment(void **state)
{
	(void)state;
	for (int left = 1; left < 12; left++) {
		struct pool_rig p;
		struct got got;

		pool_open(&p, "ok", 1, 0, 0);
		pool_start(&p, &got, "echo", "[]");
		leave_descriptors(left);
		assert_true(mortise_host_wait(p.rig.host, 1000) >= 0); /* the pool's first start */
		leave_descriptors(-1);
		until_done(&got);
		if (got.status != MORTISE_OK)
			fail_msg("with %d descriptors: %s", left, got.error.text);
		got_clear(&got);
		pool_close(&p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		API_TEST(events_name_pool_and_worker),
		API_TEST(a_pool_describes_itself),
		API_TEST(calls_spread_over_the_workers),
		API_TEST(workers_start_as_needed),
		API_TEST(every_call_is_answered_once),
		API_TEST(retried_after_a_crash),
		API_TEST(lent_params_are_not_copied),
		API_TEST(not_retried_unless_asked),
		API_TEST(retried_when_recoverable),
		API_TEST(retries_are_bounded),
		API_TEST(queue_is_bounded),
		API_TEST(polite_stop),
		API_TEST(free_inside_a_reply),
		API_TEST(free_inside_stop),
		API_TEST(free_with_a_worker_held),
		API_TEST(a_broken_worker_takes_nothing),
		API_TEST(descriptors_may_be_short_for_a_moment),
	};

	return mor_run_group("api/pool", tests);
}
