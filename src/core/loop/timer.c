/* SPDX-License-Identifier: Apache-2.0 */
/* Timers: a binary heap of pointers. Each timer knows its own place in it, plus 1. */
#include <assert.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "loop/inside.h"

static bool is_sooner(const struct mor_timer *a, const struct mor_timer *b)
{
	return a->due_ms != b->due_ms ? a->due_ms < b->due_ms : a->order < b->order;
}

static void put_timer(struct mor_loop *loop, size_t at, struct mor_timer *timer)
{
	loop->timers.heap[at] = timer;
	timer->index = (uint32_t)at + 1;
}

static size_t sift_up(struct mor_loop *loop, size_t at, struct mor_timer *timer)
{
	while (at > 0) {
		size_t parent = (at - 1) / 2;

		if (!is_sooner(timer, loop->timers.heap[parent]))
			break;
		put_timer(loop, at, loop->timers.heap[parent]);
		at = parent;
	}
	return at;
}

static size_t sift_down(struct mor_loop *loop, size_t at, struct mor_timer *timer)
{
	for (;;) {
		size_t child = 2 * at + 1;

		if (child >= loop->timers.count)
			return at;
		if (child + 1 < loop->timers.count &&
		    is_sooner(loop->timers.heap[child + 1], loop->timers.heap[child]))
			child++;
		if (!is_sooner(loop->timers.heap[child], timer))
			return at;
		put_timer(loop, at, loop->timers.heap[child]);
		at = child;
	}
}

/* `at` is a free place; the timer goes there, or up or down to its right place. */
static void settle_at(struct mor_loop *loop, size_t at, struct mor_timer *timer)
{
	at = sift_up(loop, at, timer);
	put_timer(loop, sift_down(loop, at, timer), timer);
}

static int grow_heap(struct mor_loop *loop)
{
	return mor_grow(&loop->timers.heap, loop->timers.count + loop->timers.kept, &loop->timers.room,
			sizeof(struct mor_timer *)) < 0 ?
		       MORTISE_ENOMEM :
		       0;
}

int mor_timer_reserve(struct mor_loop *loop, struct mor_timer *timer)
{
	assert(!timer->loop && !timer->reserved);
	if (grow_heap(loop) < 0)
		return MORTISE_ENOMEM;
	loop->timers.kept++;
	timer->reserved = true;
	return 0;
}

void mor_timer_release(struct mor_loop *loop, struct mor_timer *timer)
{
	mor_timer_stop(timer);
	loop->timers.kept -= timer->reserved;
	timer->reserved = false;
}

/* Deadlines are whole milliseconds of a clock that is rounded down, so "now" is rounded up: a limit of 5 ms
 * must not fire after 4.1. For 0, which means "in the next round", nothing can be early. */
static int64_t deadline_in(const struct mor_loop *loop, uint32_t in_ms)
{
	int64_t ns;

	if (loop->clock.is_virtual)
		return loop->clock.virtual_ms + in_ms;
	ns = mor_clock_ns();
	return in_ms ? (ns + 999999) / 1000000 + in_ms : ns / 1000000;
}

int mor_timer_set(struct mor_loop *loop, struct mor_timer *timer, uint32_t in_ms, mor_timer_fn *fn)
{
	return mor_timer_set_at(loop, timer, deadline_in(loop, in_ms), fn);
}

int mor_timer_set_at(struct mor_loop *loop, struct mor_timer *timer, int64_t due_ms, mor_timer_fn *fn)
{
	size_t at = timer->loop ? timer->index - 1 : loop->timers.count;

	assert(!timer->loop || timer->loop == loop);
	if (!timer->loop) {
		int r = timer->reserved ? 0 : grow_heap(loop);

		if (r < 0)
			return r;
		loop->timers.kept -= timer->reserved;
		loop->timers.count++;
		timer->loop = loop;
	}
	timer->fn = fn;
	timer->due_ms = due_ms;
	timer->order = loop->timers.next_order++;
	settle_at(loop, at, timer);
	mor_loop_arm(loop);
	return 0;
}

void mor_timer_stop(struct mor_timer *timer)
{
	struct mor_loop *loop = timer->loop;
	struct mor_timer *last;

	if (!loop)
		return;
	assert(loop->timers.heap[timer->index - 1] == timer);
	last = loop->timers.heap[--loop->timers.count];
	loop->timers.kept += timer->reserved;
	if (last != timer)
		settle_at(loop, timer->index - 1, last);
	timer->loop = NULL;
	timer->index = 0;
}

int mor_timers_run(struct mor_loop *loop)
{
	int ran = 0;

	/* A timer set since the check began is due after the older ones. So the first one with a newer order
	 * ends the round, and a timer of 0 ms that is set again and again cannot keep us here. */
	while (mor_timers_next(loop) <= loop->check.judged_ms &&
	       loop->timers.heap[0]->order < loop->check.judged_order) {
		struct mor_timer *timer = loop->timers.heap[0];

		if (mor_loop_step(loop))
			return ran;
		mor_timer_stop(timer);
		timer->fn(timer);
		ran++;
	}
	loop->check.judging = false;
	return ran;
}
