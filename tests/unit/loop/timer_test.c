/* SPDX-License-Identifier: Apache-2.0 */
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "leak.h"
#include "loop/loop.h"

struct alarm_clock {
	struct mor_timer timer;
	struct mor_loop *loop;
	int64_t rang_ms;
	uint32_t again_ms;
	int rings, limit;
	struct alarm_clock *stops;
};

static int order[4096];
static int ring_count;
static struct alarm_clock clocks[4096];

static void on_ring(struct mor_timer *timer)
{
	struct alarm_clock *clock = mor_container_of(timer, struct alarm_clock, timer);

	clock->rang_ms = mor_loop_now_ms(clock->loop);
	clock->rings++;
	if (clock >= clocks && clock < clocks + 4096)
		order[ring_count++] = (int)(clock - clocks);
	if (clock->stops)
		mor_timer_stop(&clock->stops->timer);
	if (clock->rings < clock->limit)
		assert_int_equal(mor_timer_set(clock->loop, timer, clock->again_ms, on_ring), 0);
}

static struct mor_loop *fresh(unsigned flags)
{
	struct mor_loop *loop = NULL;

	ring_count = 0;
	memset(clocks, 0, sizeof(clocks));
	assert_int_equal(mor_loop_new(flags, &loop), 0);
	for (int i = 0; i < 4096; i++)
		clocks[i].loop = loop;
	return loop;
}

static void set(struct alarm_clock *clock, uint32_t in_ms)
{
	assert_int_equal(mor_timer_set(clock->loop, &clock->timer, in_ms, on_ring), 0);
}

/* ---- the virtual clock ---- */

static void test_virtual_order(void **state)
{
	struct mor_loop *loop = fresh(MOR_LOOP_VIRTUAL);

	(void)state;
	set(&clocks[0], 30);
	set(&clocks[1], 10);
	set(&clocks[2], 20);
	set(&clocks[3], 10);
	set(&clocks[4], 31);
	assert_int_equal(mor_loop_advance(loop, 30), 4);
	assert_int_equal(order[0], 1);
	assert_int_equal(order[1], 3);
	assert_int_equal(order[2], 2);
	assert_int_equal(order[3], 0);
	assert_int_equal(clocks[2].rang_ms, 20);
	assert_int_equal(mor_loop_now_ms(loop), 30);
	assert_int_equal(mor_loop_advance(loop, 1), 1);
	mor_loop_free(loop);
}

static void test_virtual_repeats(void **state)
{
	struct mor_loop *loop = fresh(MOR_LOOP_VIRTUAL);

	(void)state;
	clocks[0].again_ms = 7;
	clocks[0].limit = 1000;
	set(&clocks[0], 7);
	assert_int_equal(mor_loop_advance(loop, 70), 10);
	assert_int_equal(clocks[0].rang_ms, 70);
	mor_timer_stop(&clocks[0].timer);
	assert_int_equal(mor_loop_advance(loop, 7000), 0);
	mor_loop_free(loop);
}

struct relay {
	struct mor_task task;
	struct mor_timer timer;
	struct mor_loop *loop;
	int64_t ran_ms;
};

static void on_relay(struct mor_task *task)
{
	struct relay *relay = mor_container_of(task, struct relay, task);

	relay->ran_ms = mor_loop_now_ms(relay->loop);
}

static void on_relay_timer(struct mor_timer *timer)
{
	struct relay *relay = mor_container_of(timer, struct relay, timer);

	mor_loop_post(relay->loop, &relay->task, on_relay);
}

static void test_virtual_tasks_between_timers(void **state)
{
	struct mor_loop *loop = fresh(MOR_LOOP_VIRTUAL);
	struct relay relay = { .loop = loop };

	(void)state;
	mor_loop_post(loop, &relay.task, on_relay);
	assert_int_equal(mor_loop_advance(loop, 5), 1);
	assert_int_equal(relay.ran_ms, 0);
	assert_int_equal(mor_timer_set(loop, &relay.timer, 10, on_relay_timer), 0);
	set(&clocks[0], 50);
	assert_int_equal(mor_loop_advance(loop, 100), 3);
	assert_int_equal(relay.ran_ms, 15);
	assert_int_equal(mor_loop_now_ms(loop), 105);
	mor_loop_free(loop);
}

static void test_advance_needs_virtual(void **state)
{
	struct mor_loop *loop = fresh(0);

	(void)state;
	assert_int_equal(mor_loop_advance(loop, 5), MORTISE_EINVAL);
	mor_loop_free(loop);
}

/* ---- the heap ---- */

static void check_sorted(const int64_t *due)
{
	for (int i = 1; i < ring_count; i++) {
		int64_t before = due[order[i - 1]], here = due[order[i]];

		assert_true(before <= here);
	}
}

static void test_many(void **state)
{
	static int64_t due[4096];
	struct mor_loop *loop = fresh(MOR_LOOP_VIRTUAL);
	unsigned seed = 12345;
	int left = 0;

	(void)state;
	for (int i = 0; i < 4096; i++) {
		due[i] = rand_r(&seed) % 1000;
		set(&clocks[i], (uint32_t)due[i]);
	}
	for (int i = 0; i < 4096; i++) {
		int what = rand_r(&seed) % 3;

		if (what == 0) {
			mor_timer_stop(&clocks[i].timer);
			mor_timer_stop(&clocks[i].timer);
		} else if (what == 1) {
			due[i] = rand_r(&seed) % 1000;
			set(&clocks[i], (uint32_t)due[i]);
		}
		left += what != 0;
	}
	assert_int_equal(mor_loop_advance(loop, 1000), left);
	assert_int_equal(ring_count, left);
	check_sorted(due);
	mor_loop_free(loop);
}

static void test_equal_deadlines_keep_order(void **state)
{
	struct mor_loop *loop = fresh(MOR_LOOP_VIRTUAL);

	(void)state;
	for (int i = 0; i < 1000; i++)
		set(&clocks[i], 5);
	for (int i = 0; i < 1000; i += 2) /* set again: goes to the back */
		set(&clocks[i], 5);
	assert_int_equal(mor_loop_advance(loop, 5), 1000);
	for (int i = 0; i < 500; i++) {
		assert_int_equal(order[i], 2 * i + 1);
		assert_int_equal(order[500 + i], 2 * i);
	}
	mor_loop_free(loop);
}

static void test_stopped_by_earlier_callback(void **state)
{
	struct mor_loop *loop = fresh(MOR_LOOP_VIRTUAL);

	(void)state;
	clocks[0].stops = &clocks[1];
	set(&clocks[0], 5);
	set(&clocks[1], 5);
	set(&clocks[2], 5);
	assert_int_equal(mor_loop_advance(loop, 5), 2);
	assert_int_equal(clocks[1].rings, 0);
	mor_loop_free(loop);
}

static bool wait_readable(struct mor_loop *loop, int ms)
{
	struct pollfd pfd = { .fd = mor_loop_fd(loop), .events = POLLIN };

	return poll(&pfd, 1, ms) == 1;
}

static void test_zero_runs_in_a_later_round(void **state)
{
	struct mor_loop *loop = fresh(0);

	(void)state;
	clocks[0].limit = 3;
	set(&clocks[0], 0);
	set(&clocks[1], 0);
	assert_true(wait_readable(loop, 10000));
	assert_int_equal(mor_loop_dispatch(loop), 2);
	assert_int_equal(mor_loop_wait(loop, -1), 1);
	assert_int_equal(mor_loop_wait(loop, -1), 1);
	assert_int_equal(clocks[0].rings, 3);
	mor_loop_free(loop);
}

static void test_no_memory(void **state)
{
	struct mor_loop *loop = fresh(MOR_LOOP_VIRTUAL);
	int i = 0;

	(void)state;
	set(&clocks[i++], 1);
	mor_alloc_fail_after(0);
	while (mor_timer_set(loop, &clocks[i].timer, 1, on_ring) == 0)
		i++;
	assert_null(clocks[i].timer.loop);
	set(&clocks[0], 2); /* moving one needs no memory */
	mor_alloc_fail_after(-1);
	assert_int_equal(mor_loop_advance(loop, 2), i);
	mor_loop_free(loop);
}

/* ---- the timerfd ---- */

static void test_lazy_timerfd(void **state)
{
	struct mor_loop *loop = fresh(0);

	(void)state;
	for (int i = 0; i < 100000; i++) {
		set(&clocks[0], 600000);
		mor_timer_stop(&clocks[0].timer);
	}
	assert_int_equal(mor_loop_counts(loop).arms, 1);
	mor_loop_free(loop);
}

/* A wait needs no clock and no time-out of its own: the timerfd ends it, armed once for each
 * deadline reached. */
static void test_wait_is_ended_by_the_timerfd(void **state)
{
	struct mor_loop *loop = fresh(0);

	(void)state;
	mor_loop_hold(loop, true);
	for (int i = 0; i < 20; i++) {
		set(&clocks[0], 1);
		while (clocks[0].rings == i)
			mor_loop_wait(loop, -1);
	}
	assert_int_equal(mor_loop_counts(loop).arms, 20);
	assert_int_equal(mor_loop_counts(loop).wakes, 0);
	mor_loop_hold(loop, false);
	mor_loop_free(loop);
}

/* The embedder's way: poll the one descriptor, dispatch, no time-out of its own. */
static void test_polled_from_outside(void **state)
{
	struct mor_loop *loop = fresh(0);

	(void)state;
	clocks[0].again_ms = 1;
	clocks[0].limit = 20;
	set(&clocks[0], 1);
	while (clocks[0].rings < 20) {
		assert_true(wait_readable(loop, 10000));
		assert_true(mor_loop_dispatch(loop) >= 0);
	}
	assert_false(wait_readable(loop, 0));
	mor_loop_free(loop);
}

static void test_earlier_deadline_rearms(void **state)
{
	struct mor_loop *loop = fresh(0);

	(void)state;
	set(&clocks[0], 600000);
	set(&clocks[1], 1);
	assert_int_equal(mor_loop_counts(loop).arms, 2);
	assert_true(wait_readable(loop, 10000));
	assert_int_equal(mor_loop_dispatch(loop), 1);
	assert_int_equal(clocks[1].rings, 1);
	assert_false(wait_readable(loop, 0));
	mor_timer_stop(&clocks[0].timer);
	mor_loop_free(loop);
}

/* The timerfd fires for a timer that was cancelled; the one behind it must still come. */
static void test_stale_expiry_rearms(void **state)
{
	struct mor_loop *loop = fresh(0);

	(void)state;
	set(&clocks[0], 1);
	mor_timer_stop(&clocks[0].timer);
	set(&clocks[1], 20);
	assert_int_equal(mor_loop_counts(loop).arms, 1);
	while (clocks[1].rings == 0) {
		assert_true(wait_readable(loop, 10000));
		assert_true(mor_loop_dispatch(loop) >= 0);
	}
	assert_true(mor_loop_counts(loop).arms <= 2);
	mor_loop_free(loop);
}

/* mor_loop_wait() outran the timerfd, whose expiry is still unseen when the next timer is set. */
static void test_wait_then_poll(void **state)
{
	struct mor_loop *loop = fresh(0);

	(void)state;
	for (int i = 0; i < 30; i++) {
		set(&clocks[0], 1);
		while (clocks[0].rings == 2 * i)
			assert_true(mor_loop_wait(loop, -1) >= 0);
		set(&clocks[0], 1);
		while (clocks[0].rings == 2 * i + 1) {
			assert_true(wait_readable(loop, 10000));
			assert_true(mor_loop_dispatch(loop) >= 0);
		}
	}
	mor_loop_free(loop);
}

static void test_never_early(void **state)
{
	struct mor_loop *loop = fresh(0);

	(void)state;
	for (int i = 0; i < 20; i++) {
		int64_t began = mor_clock_ns();

		set(&clocks[0], 2);
		while (clocks[0].rings == i)
			mor_loop_wait(loop, -1);
		assert_true(mor_clock_ns() - began >= 2000000);
	}
	mor_loop_free(loop);
}

static void test_wait_gives_up(void **state)
{
	struct mor_loop *loop = fresh(0);

	(void)state;
	set(&clocks[0], 600000);
	assert_int_equal(mor_loop_wait(loop, 1), 0);
	mor_timer_stop(&clocks[0].timer);
	assert_int_equal(mor_loop_wait(loop, 1), 0);
	mor_loop_free(loop);
}

/* A place is kept: set, stopped and set again without memory, however many others there are. */
static void test_reserved(void **state)
{
	struct mor_loop *loop = fresh(MOR_LOOP_VIRTUAL);
	int others = 0;

	(void)state;
	for (int i = 0; i < 1000; i++)
		assert_int_equal(mor_timer_reserve(loop, &clocks[i].timer), 0);
	mor_alloc_fail_after(0);
	for (int i = 1000; mor_timer_set(loop, &clocks[i].timer, 1, on_ring) == 0; i++)
		others++;
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 1000; i++)
			assert_int_equal(mor_timer_set(loop, &clocks[i].timer, 5, on_ring), 0);
		for (int i = 0; i < 1000; i += 2)
			mor_timer_stop(&clocks[i].timer);
		assert_int_equal(mor_timer_set(loop, &clocks[4000].timer, 1, on_ring), MORTISE_ENOMEM);
	}
	mor_alloc_fail_after(-1);
	assert_int_equal(mor_loop_advance(loop, 5), others + 500);
	for (int i = 0; i < 1000; i++)
		mor_timer_release(loop, &clocks[i].timer);
	mor_loop_free(loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_reserved),
		MOR_TEST(test_virtual_order),
		MOR_TEST(test_virtual_repeats),
		MOR_TEST(test_virtual_tasks_between_timers),
		MOR_TEST(test_advance_needs_virtual),
		MOR_TEST(test_many),
		MOR_TEST(test_equal_deadlines_keep_order),
		MOR_TEST(test_stopped_by_earlier_callback),
		MOR_TEST(test_zero_runs_in_a_later_round),
		MOR_TEST(test_no_memory),
		MOR_TEST(test_lazy_timerfd),
		MOR_TEST(test_wait_is_ended_by_the_timerfd),
		MOR_TEST(test_polled_from_outside),
		MOR_TEST(test_earlier_deadline_rearms),
		MOR_TEST(test_stale_expiry_rearms),
		MOR_TEST(test_wait_then_poll),
		MOR_TEST(test_never_early),
		MOR_TEST(test_wait_gives_up),
	};

	return mor_run_group("timer", tests);
}
