/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of a pool that nobody wants any longer. What the plugin is told is for tests/talk. */
#include "api.h"

static mortise_pool *pool_open(struct rig *rig, uint32_t workers, const char *const *set)
{
	mortise_pool_options pool_opt = { .size = sizeof(pool_opt), .workers = workers };
	mortise_plugin_options opt;
	mortise_pool *pool = NULL;
	const char *argv[3];

	rig_open(rig);
	opt = rig_options(rig, "ok", argv);
	opt.set = set;
	assert_int_equal(mortise_pool_new(rig->host, &opt, &pool_opt, &pool, NULL), 0);
	return pool;
}

static void until_ready(struct rig *rig)
{
	while (!rig_saw_state(rig, MORTISE_READY))
		rig_turn(rig);
}

static mortise_call *pool_start(struct rig *rig, mortise_pool *pool, struct got *got, const char *action,
				const char *params)
{
	mortise_call_options opt = got_options(rig, got, NO_TIMER_MS);
	mortise_call *call = NULL;

	assert_int_equal(mortise_pool_call(pool, action, json(params), &opt, &call, NULL), 0);
	assert_non_null(call);
	return call;
}

/* A call that waits is sent to nobody. */
static void while_it_waits(void **state)
{
	struct rig rig;
	mortise_pool *pool = pool_open(&rig, 1, NO_SET);
	struct got got;
	mortise_call *call = pool_start(&rig, pool, &got, "hang", NULL);

	(void)state;
	assert_int_equal(mortise_call_cancel(call, NULL), 0);
	assert_int_equal(mortise_call_cancel(call, NULL), 0); /* twice is once */
	assert_int_equal(got.finals, 0);                      /* not before the next dispatch */
	until_done(&got);
	assert_int_equal(got.status, MORTISE_ECANCELED);
	assert_ptr_equal(got.call, call);
	assert_null(got.plugin);
	got_clear(&got);
	pool_start(&rig, pool, &got, "echo", "[1]");
	until_done(&got);
	assert_string_equal(got.result, "[1]");
	got_clear(&got);
	assert_null(mortise_pool_free(pool));
	rig_close(&rig);
}

/* cancel.grace: the only slot of the only worker is free again, in a new process. */
static void under_way(void **state)
{
	struct rig rig;
	mortise_pool *pool =
		pool_open(&rig, 1, SET("restart.first=1ms", "limits.in_flight=1", "cancel.grace=20ms"));
	struct got got, next;
	mortise_call *call = pool_start(&rig, pool, &got, "hang", NULL);

	(void)state;
	until_ready(&rig);
	rig_settle(&rig);
	pool_start(&rig, pool, &next, "echo", "[2]");
	assert_int_equal(mortise_call_cancel(call, NULL), 0);
	until_done(&got);
	assert_int_equal(got.status, MORTISE_ECANCELED);
	assert_ptr_equal(got.call, call);
	until_done(&next);
	assert_string_equal(next.result, "[2]");
	assert_true(rig_saw_state(&rig, MORTISE_DRAINING));
	got_clear(&got);
	got_clear(&next);
	assert_null(mortise_pool_free(pool));
	rig_close(&rig);
}

struct swept {
	struct rig rig;
	mortise_pool *pool;
	mortise_call *calls[8];
	int ended;
};

static void sweep_all(const mortise_reply *reply, void *arg)
{
	struct swept *swept = arg;
	int known = 0;

	assert_int_equal(reply->status, MORTISE_ECANCELED);
	for (int i = 0; i < 8; i++)
		known += reply->call == swept->calls[i];
	assert_int_equal(known, 1);
	assert_int_equal(mortise_call_cancel(reply->call, NULL), 0); /* still valid, and for nothing */
	if (++swept->ended == 4)
		mortise_pool_free(swept->pool);
}

/* All are cancelled, and the pool is freed in the callback of one of them. */
static void and_the_pool_is_freed(void **state)
{
	struct swept swept = { 0 };
	mortise_call_options opt = { .size = sizeof(opt), .on_reply = sweep_all, .arg = &swept };

	(void)state;
	swept.pool = pool_open(&swept.rig, 2, NO_SET);
	for (int i = 0; i < 8; i++)
		assert_int_equal(mortise_pool_call(swept.pool, "hang", json(NULL), &opt, &swept.calls[i], NULL),
				 0);
	until_ready(&swept.rig);
	for (int i = 0; i < 8; i++)
		assert_int_equal(mortise_call_cancel(swept.calls[i], NULL), 0);
	rig_until(&swept.rig, &swept.ended, 8, "the last call");
	rig_close(&swept.rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		API_TEST(while_it_waits),
		API_TEST(under_way),
		API_TEST(and_the_pool_is_freed),
	};

	return mor_run_group("api/cancel", tests);
}
