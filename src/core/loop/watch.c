/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptors, and looks at them. A look is one epoll_wait and one call of each watch that is ready, or that
 * has asked to be called again. If that is too much for one dispatch, the next one goes on with the same
 * look.
 */
#include <assert.h>
#include <errno.h>

#include "base/error.h"
#include "loop/inside.h"

/* ---- watches ---- */

static struct epoll_event interest(struct mor_watch *watch)
{
	struct epoll_event event = { .data.ptr = watch };

	if (watch->events & MOR_READABLE)
		event.events |= EPOLLIN;
	if (watch->events & MOR_WRITABLE)
		event.events |= EPOLLOUT;
	/* epoll always reports a hang-up. Edge-triggered, it comes only once. */
	if (watch->events == 0)
		event.events = EPOLLET;
	return event;
}

int mor_watch_start(struct mor_loop *loop, struct mor_watch *watch, int fd, unsigned events, mor_watch_fn *fn)
{
	struct epoll_event event;

	assert(!watch->loop);
	watch->events = events;
	event = interest(watch);
	if (epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0)
		return MORTISE_ESYSTEM;
	watch->loop = loop;
	watch->fd = fd;
	watch->fn = fn;
	watch->slot = 0;
	watch->waits = false;
	loop->watches++;
	return 0;
}

int mor_watch_change(struct mor_watch *watch, unsigned events)
{
	unsigned before = watch->events;
	struct epoll_event event;

	assert(watch->loop);
	if (events == before)
		return 0;
	watch->events = events;
	event = interest(watch);
	if (epoll_ctl(watch->loop->epoll_fd, EPOLL_CTL_MOD, watch->fd, &event) < 0) {
		watch->events = before;
		return MORTISE_ESYSTEM;
	}
	return 0;
}

static void forget_wait(struct mor_watch *watch)
{
	if (!watch->waits)
		return;
	watch->waits = false;
	mor_list_remove(&watch->node);
}

void mor_watch_stop(struct mor_watch *watch)
{
	struct mor_loop *loop = watch->loop;
	int r;

	if (!loop)
		return;
	r = loop->forsaken ? 0 : epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, watch->fd, NULL);
	/* Fails only if the descriptor was closed first; then its event could reach freed memory. */
	assert(r == 0);
	(void)r;
	if (watch->slot)
		loop->look.batch[watch->slot - 1].data.ptr = NULL;
	if (loop->spinning.expected == watch)
		loop->spinning.expected = NULL;
	forget_wait(watch);
	watch->slot = 0;
	watch->loop = NULL;
	loop->watches--;
}

void mor_watch_again(struct mor_watch *watch)
{
	struct mor_loop *loop = watch->loop;

	assert(loop);
	if (watch->waits)
		return;
	watch->waits = true;
	mor_list_append(&loop->look.again, &watch->node);
	mor_loop_left_over(loop);
}

/* ---- looks ---- */

/* Our own two descriptors, or a watch. */
static void sort_event(struct mor_loop *loop, int at)
{
	void *who = loop->look.batch[at].data.ptr;

	if (who == &loop->timer_fd || who == &loop->wake_fd) {
		if (who == &loop->timer_fd) {
			loop->timers.armed_ms = MOR_NEVER;
			loop->timers.rang = true;
		} else if (atomic_exchange(&loop->sleeper.called, false)) {
			loop->sleeper.heard = true;
			loop->sleeper.woken = loop->sleeper.woken || loop->sleeper.held;
		}
		loop->look.batch[at].data.ptr = NULL;
		return;
	}
	((struct mor_watch *)who)->slot = (uint32_t)at + 1;
	loop->look.found++;
}

static void call_waiting(struct mor_loop *loop)
{
	struct mor_list *node;

	while ((node = mor_list_pop(&loop->look.again))) {
		mor_list_append(&loop->look.due, node);
		loop->look.found++;
	}
}

int mor_look_begin(struct mor_loop *loop, int timeout_ms)
{
	int count;

	if (loop->look.batch_at < loop->look.batch_len || !mor_list_empty(&loop->look.due))
		return loop->look.found;
	count = epoll_wait(loop->epoll_fd, loop->look.batch, MOR_LOOP_BATCH, timeout_ms);
	loop->counts.waits++;
	loop->look.batch_len = loop->look.batch_at = loop->look.found = 0;
	loop->look.round = loop->check.round;
	/* interrupted: it has seen nothing, which does not mean "nothing is ready" */
	loop->look.behind = count < 0;
	if (count < 0)
		return errno == EINTR ? 0 : MORTISE_ESYSTEM;
	for (int i = 0; i < count; i++)
		sort_event(loop, i);
	if (!mor_list_empty(&loop->look.again))
		call_waiting(loop);
	loop->look.batch_len = count;
	loop->look.full = count == MOR_LOOP_BATCH;
	return loop->look.found;
}

/* The kernel's events that this watch wants now: an earlier callback may have changed that. */
static unsigned news(const struct mor_watch *watch, uint32_t happened)
{
	bool ended = happened & (EPOLLHUP | EPOLLERR);
	unsigned events = ended ? MOR_HANGUP : 0;

	if (ended || (happened & EPOLLIN))
		events |= watch->events & MOR_READABLE;
	if (ended || (happened & EPOLLOUT))
		events |= watch->events & MOR_WRITABLE;
	return events;
}

/* May it still hold something that was there when the clock was read? A pipe holds MOR_LOOP_PIPE. And the
 * last bytes read may not be processed yet, because a watch processes before it reads again. */
static bool is_behind(struct mor_loop *loop, struct mor_watch *watch)
{
	const uint64_t all = MOR_LOOP_PIPE + MOR_LOOP_BITE;
	bool behind;

	if (watch->round != loop->check.round) {
		watch->round = loop->check.round;
		watch->goal = watch->taken + all;
	}
	behind = watch->taken < watch->goal;
	if (!watch->counts)
		watch->taken += all / 16;
	return behind;
}

/* The next watch of the look with an event; NULL: the look is over. */
static struct mor_watch *next_of_look(struct mor_loop *loop, unsigned *ret_events)
{
	while (loop->look.batch_at < loop->look.batch_len) {
		const struct epoll_event *event = &loop->look.batch[loop->look.batch_at++];
		struct mor_watch *watch = event->data.ptr;

		if (!watch) /* our own descriptor, or stopped by an earlier callback */
			continue;
		watch->slot = 0;
		*ret_events = news(watch, event->events);
		if (*ret_events)
			return watch;
	}
	*ret_events = MOR_READABLE;
	return mor_list_empty(&loop->look.due) ? NULL :
						 mor_container_of(loop->look.due.next, struct mor_watch, node);
}

/* Has everything been read that was readable at the clock reading? If more are ready than one look shows,
 * they take turns: as many in a row as there are watches must have nothing old left. */
static void look_is_over(struct mor_loop *loop)
{
	loop->look.batch_len = loop->look.batch_at = 0;
	if (!loop->check.judging || loop->look.round != loop->check.round)
		return;
	loop->check.calm = loop->look.behind ? 0 : loop->check.calm + (size_t)loop->look.found;
	if (!loop->look.behind && (!loop->look.full || loop->check.calm >= loop->watches))
		loop->check.caught_up = true;
}

int mor_look_run(struct mor_loop *loop)
{
	int ran = 0;

	if (!loop->look.found) { /* one of our own two, or nothing */
		look_is_over(loop);
		return 0;
	}
	while (!mor_loop_step(loop)) {
		unsigned events;
		struct mor_watch *watch = next_of_look(loop, &events);

		if (!watch) {
			look_is_over(loop);
			break;
		}
		forget_wait(watch);
		if (loop->check.judging && is_behind(loop, watch))
			loop->look.behind = true;
		watch->fn(watch, events);
		ran++;
	}
	return ran;
}
