/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The watcher: a thread that reads the wire while a call lasts longer than TICK_MS. It answers what needs none
 * of the author's code, notices that nobody wants the call any more, and keeps the rest in order.
 *
 * It costs a short call nothing but two uncontended locks: it looks at a counter every TICK_MS, and if nothing
 * has been called for a while it sleeps until the next call wakes it.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "dialect.h"
#include "hands.h"
#include "session.h"

#define TICK_MS    20
#define IDLE_TICKS 5
#define STOP_MS    10   /* how often a thread that waits for input is told to stop */
#define GRACE_MS   2000 /* what a cancelled call has to end */
#define KEPT_MAX   ((size_t)64 << 20)

static void wake_watcher(struct tn_session *s)
{
	uint64_t one = 1;

	if (write(s->wake, &one, sizeof(one)) < 0)
		return; /* its counter is full: it will wake up */
}

/* ---- The other side: who works on a call ---- */

void tn_busy(struct tn_session *s, struct tn_turn *turn)
{
	bool asleep;

	pthread_mutex_lock(&s->lock);
	s->turn = turn;
	s->seq++;
	if (turn->kept && turn->kept->cancelled)
		atomic_store(&s->cancelled_seq, s->seq);
	asleep = s->asleep;
	s->asleep = false;
	pthread_mutex_unlock(&s->lock);
	if (asleep)
		wake_watcher(s);
}

void tn_idle(struct tn_session *s)
{
	pthread_mutex_lock(&s->lock);
	if (s->watching) {
		s->give_back = true;
		wake_watcher(s);
		while (s->watching)
			pthread_cond_wait(&s->changed, &s->lock);
		s->give_back = false;
	}
	s->turn = NULL;
	if (s->has_grace)
		pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

void tn_request_stop(struct tn_session *s)
{
	if (!atomic_exchange(&s->stop, true))
		wake_watcher(s);
}

/* ---- The grace of a call that nobody wants ---- */

static bool still_at_work(const struct tn_session *s)
{
	return s->turn || (s->ending && !s->calm);
}

static void *grace_thread(void *arg)
{
	struct tn_session *s = arg;
	struct timespec end;
	int64_t end_ns = mor_clock_ns() + GRACE_MS * INT64_C(1000000);
	int r = 0;

	end = (struct timespec){ .tv_sec = end_ns / 1000000000, .tv_nsec = end_ns % 1000000000 };
	pthread_mutex_lock(&s->lock);
	while (still_at_work(s) && !s->quit && r != ETIMEDOUT)
		r = pthread_cond_timedwait(&s->changed, &s->lock, &end);
	if (still_at_work(s) && !s->quit) {
		tn_say(s, "a call did not end within %d ms; the end comes without on_stop", GRACE_MS);
		_exit(0);
	}
	s->grace_over = true;
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

static bool grace_runs(struct tn_session *s)
{
	bool over;

	pthread_mutex_lock(&s->lock);
	over = s->grace_over;
	s->grace_over = false;
	pthread_mutex_unlock(&s->lock);
	if (over) {
		pthread_join(s->grace, NULL);
		s->has_grace = false;
	}
	return s->has_grace;
}

/* A thread of its own: the watcher may be held by a pipe that nobody reads. */
void tn_cancel(struct tn_session *s)
{
	sigset_t all, before;

	atomic_store(&s->cancelled_seq, s->seq);
	if (grace_runs(s))
		return;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	s->has_grace = pthread_create(&s->grace, NULL, grace_thread, s) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* ---- Reading in place of the caller ---- */

static bool has_id(struct mor_slice body, struct mor_slice id)
{
	struct mor_message message;

	return mor_envelope_scan(body, 0, 0, &message, NULL) == 0 && message.id.ptr &&
	       mor_slice_eq(message.id, id);
}

/* The call that runs, or one that waits: its code then sees it from the first. */
static void cancel_one(struct tn_session *s, const struct mor_message *message)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	MOR_CLEAN(mor_buf) struct mor_buf id = MOR_BUF_INIT;

	if (!message->params.ptr || mor_doc_parse(message->params, 0, 0, &doc, NULL) < 0 ||
	    mor_json_write(mor_json_get(mor_doc_root(doc), "id"), false, &id) < 0)
		return;
	if (has_id(s->turn->body, mor_buf_view(&id)))
		atomic_store(&s->cancelled_seq, s->seq);
	for (struct tn_kept *kept = s->kept; kept; kept = kept->next)
		if (has_id((struct mor_slice){ kept->body, kept->len }, mor_buf_view(&id)))
			kept->cancelled = true;
}

static enum tn_quick look_at(struct tn_session *s, struct mor_slice body)
{
	struct mor_message message;

	if (mor_envelope_scan(body, 0, 0, &message, NULL) < 0 ||
	    (message.kind != MOR_MSG_REQUEST && message.kind != MOR_MSG_NOTE))
		return TN_QUICK_KEEP;
	if (mor_slice_is(message.method, "$/cancelRequest")) {
		cancel_one(s, &message);
		return TN_QUICK_DONE;
	}
	for (const struct tn_route *route = s->dialect->routes; route->method; route++)
		if (mor_slice_is(message.method, route->method))
			return route->quick ? route->quick(s, &message) : TN_QUICK_KEEP;
	return TN_QUICK_KEEP;
}

/* All messages that are there. What cannot be kept for lack of memory ends the wire. */
static void look_at_all(struct tn_session *s)
{
	struct tn_turn turn;

	while (tn_step(s, &turn) == TN_STEP_MESSAGE) {
		enum tn_quick quick = look_at(s, turn.body);

		if (quick == TN_QUICK_STOP)
			tn_cancel(s);
		if (quick != TN_QUICK_DONE && tn_keep(s, turn.body, quick == TN_QUICK_ACK) < 0)
			s->eof = true;
		s->taken += turn.used;
	}
}

static bool wants_back(struct tn_session *s)
{
	bool back;

	pthread_mutex_lock(&s->lock);
	back = s->give_back;
	pthread_mutex_unlock(&s->lock);
	return back;
}

static void clear_wake(struct tn_session *s)
{
	uint64_t count;

	if (read(s->wake, &count, sizeof(count)) < 0)
		return; /* nobody had written */
}

/* The end of stdin cancels nothing by itself: what was asked may still be read. */
static void read_for_caller(struct tn_session *s)
{
	bool told = false;

	while (!wants_back(s)) {
		struct pollfd fds[] = {
			{ .fd = s->wake, .events = POLLIN },
			{ .fd = s->eof || s->kept_bytes > KEPT_MAX ? -1 : s->in, .events = POLLIN },
			{ .fd = s->eof && !told ? s->out : -1 },
		};

		look_at_all(s);
		if ((atomic_load(&s->stop) || atomic_load(&s->gone)) && !told) {
			told = true;
			tn_cancel(s);
		}
		if (s->wire && !s->eof && s->kept_bytes <= KEPT_MAX) {
			tn_read(s);
			clear_wake(s);
			continue;
		}
		if (poll(fds, 3, -1) < 0)
			continue;
		if (fds[0].revents)
			clear_wake(s);
		if (fds[1].revents)
			tn_read(s);
		if (fds[2].revents & (POLLERR | POLLHUP))
			atomic_store(&s->gone, true);
	}
}

/* ---- The thread ---- */

static void take_over(struct tn_session *s)
{
	tn_turn_detach(s, s->turn);
	s->watching = true;
	pthread_mutex_unlock(&s->lock);
	read_for_caller(s);
	pthread_mutex_lock(&s->lock);
	s->watching = false;
	pthread_cond_broadcast(&s->changed);
}

/* Who waits for input when SIGTERM came has not heard of it, if another thread got the signal or it came just
 * before the read. So it is told until it has. */
static int tell_stop(struct tn_session *s)
{
	if (!s->turn && s->holder && s->interrupt)
		pthread_kill(s->holder->thread, s->interrupt);
	return STOP_MS;
}

/* Under the lock: how long to sleep. */
static int next_sleep(struct tn_session *s, uint64_t *last_seq, int *idle)
{
	bool same = s->seq == *last_seq;

	*last_seq = s->seq;
	if (s->turn && same) {
		take_over(s);
		return 0;
	}
	if (atomic_load(&s->stop) && !s->ending)
		return tell_stop(s);
	*idle = same ? *idle + 1 : 0;
	if (*idle < IDLE_TICKS || s->turn)
		return TICK_MS;
	s->asleep = true;
	return -1;
}

static void *watcher_thread(void *arg)
{
	struct tn_session *s = arg;
	uint64_t last_seq = 0;
	int idle = 0;

	pthread_mutex_lock(&s->lock);
	while (!s->quit) {
		int sleep_ms = next_sleep(s, &last_seq, &idle);

		if (s->quit)
			break;
		pthread_mutex_unlock(&s->lock);
		if (poll(&(struct pollfd){ .fd = s->wake, .events = POLLIN }, 1, sleep_ms) > 0)
			clear_wake(s);
		pthread_mutex_lock(&s->lock);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

int tn_watcher_start(struct tn_session *s)
{
	sigset_t all, before;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(&s->watcher, NULL, watcher_thread, s);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	s->has_watcher = r == 0;
	return -r;
}

void tn_watcher_stop(struct tn_session *s)
{
	pthread_mutex_lock(&s->lock);
	s->quit = true;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	wake_watcher(s);
	if (s->has_watcher)
		pthread_join(s->watcher, NULL);
	if (s->has_grace)
		pthread_join(s->grace, NULL);
	s->has_watcher = s->has_grace = false;
}
