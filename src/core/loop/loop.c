/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One epoll descriptor holds everything: the owners' descriptors, a timerfd and an eventfd. It is itself
 * pollable, so an embedder needs neither a time-out nor a signal handler of ours.
 *
 * The hot path is one epoll_wait per dispatch. Everything else that costs a system call (a second look, the
 * timerfd, the eventfd) is left out where nobody could notice: see turn_loop(), mor_loop_arm(),
 * mor_loop_hold().
 */
#include "loop/loop.h"

#include <assert.h>
#include <errno.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/apart.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/trace.h"
#include "loop/inside.h"

enum { SLICE_NS = 2000000 }; /* limit of one part of a dispatch */
enum { MOST_SKIPPED = 16 };  /* waits in a row without a look at the descriptors */

/* ---- making and freeing ---- */

/* Edge-triggered: an event comes once per expiry or wake-up, so the timerfd and the eventfd are never read.
 * The eventfd's counter only grows; with one wake-up per nanosecond it is full after 584 years. */
static int watch_own(struct mor_loop *loop, int *fd)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLET, .data.ptr = fd };

	return epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, *fd, &event);
}

static int open_fds(struct mor_loop *loop)
{
	loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	loop->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	loop->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (loop->epoll_fd < 0 || loop->timer_fd < 0 || loop->wake_fd < 0)
		return MORTISE_ESYSTEM;
	if (watch_own(loop, &loop->timer_fd) < 0 || watch_own(loop, &loop->wake_fd) < 0)
		return MORTISE_ESYSTEM;
	return 0;
}

int mor_loop_new(unsigned flags, struct mor_loop **ret)
{
	struct mor_loop *loop = mor_zalloc(sizeof(*loop));
	int r;

	if (!loop)
		return MORTISE_ENOMEM;
	loop->epoll_fd = loop->timer_fd = loop->wake_fd = -1;
	loop->clock.is_virtual = flags & MOR_LOOP_VIRTUAL;
	loop->part.slice = MOR_LOOP_SLICE;
	loop->timers.armed_ms = MOR_NEVER;
	loop->clock.tick_ms = loop->clock.is_virtual ? 0 : mor_clock_tick_ms();
	mor_list_init(&loop->tasks);
	mor_list_init(&loop->look.again);
	mor_list_init(&loop->look.due);
	if ((r = open_fds(loop)) < 0) {
		mor_loop_free(loop);
		return r;
	}
	*ret = loop;
	return 0;
}

struct mor_loop *mor_loop_free(struct mor_loop *loop)
{
	if (!loop)
		return NULL;
	assert(!loop->dispatching && loop->watches == 0 && loop->timers.count == 0 && loop->timers.kept == 0);
	while (!mor_list_empty(&loop->tasks))
		mor_task_stop(mor_container_of(loop->tasks.next, struct mor_task, node));
	mor_fd_close(&loop->timer_fd);
	mor_fd_close(&loop->wake_fd);
	mor_fd_close(&loop->epoll_fd);
	mor_free(loop->timers.heap);
	mor_free(loop->scratch);
	mor_free(loop);
	return NULL;
}

/* ---- small questions ---- */

bool mor_loop_dispatching(const struct mor_loop *loop)
{
	return loop->dispatching;
}

struct mor_loop_counts mor_loop_counts(const struct mor_loop *loop)
{
	return loop->counts;
}

static int64_t clock_ms(const struct mor_loop *loop)
{
	return loop->clock.is_virtual ? loop->clock.virtual_ms : mor_clock_ms();
}

int64_t mor_loop_now_ms(struct mor_loop *loop)
{
	if (!loop->dispatching)
		return clock_ms(loop);
	if (!loop->clock.now_known)
		loop->clock.now_ms = loop->clock.is_virtual ? loop->clock.virtual_ms : mor_clock_coarse_ms();
	loop->clock.now_known = true;
	return loop->clock.now_ms;
}

void mor_loop_refresh_now(struct mor_loop *loop)
{
	loop->clock.now_known = false;
}

int64_t mor_loop_due_ms(struct mor_loop *loop, uint32_t in_ms)
{
	return mor_loop_now_ms(loop) + in_ms + loop->clock.tick_ms;
}

int64_t mor_loop_judged_ms(const struct mor_loop *loop)
{
	return loop->check.judged_ms;
}

char *mor_loop_scratch(struct mor_loop *loop)
{
	if (!loop->scratch)
		loop->scratch = mor_alloc(MOR_LOOP_SCRATCH);
	return loop->scratch;
}

/* ---- bounded work ---- */

void mor_loop_charge(struct mor_loop *loop, unsigned steps)
{
	loop->part.steps += steps;
}

/* With the virtual clock only steps count: the result must not depend on the machine. */
bool mor_loop_time_is_over(struct mor_loop *loop)
{
	int64_t now;

	if (loop->part.steps >= loop->part.slice || loop->clock.is_virtual)
		return loop->part.steps >= loop->part.slice;
	now = mor_clock_ns();
	loop->part.measured = loop->part.steps + MOR_UNMEASURED;
	if (!loop->part.until_ns)
		loop->part.until_ns = now + SLICE_NS;
	return now >= loop->part.until_ns;
}

bool mor_loop_spent(struct mor_loop *loop)
{
	return loop->dispatching && mor_loop_step(loop);
}

static bool has_work(const struct mor_loop *loop)
{
	return !mor_list_empty(&loop->tasks) || mor_look_pending(loop) || loop->check.judging;
}

/* Would somebody who sleeps on the descriptor miss what is to do? A caller of mor_loop_wait() needs no
 * word: it looks before it sleeps. */
static bool needs_word(const struct mor_loop *loop)
{
	return loop->sleeper.polled && !loop->dispatching && !loop->sleeper.held && has_work(loop);
}

/* ---- keeping the descriptor right ---- */

static int write_word(struct mor_loop *loop)
{
	const uint64_t one = 1;
	int saved = errno;
	ssize_t n;

	if (loop->forsaken)
		return 0;
	do
		n = write(loop->wake_fd, &one, sizeof(one));
	while (n < 0 && errno == EINTR);
	errno = saved;
	return n < 0 ? MORTISE_ESYSTEM : 0;
}

/* Runs in signal handlers and other threads: uses only the descriptor and the flag, and keeps errno. */
int mor_loop_wakeup(struct mor_loop *loop)
{
	atomic_store(&loop->sleeper.called, true);
	return write_word(loop);
}

bool mor_loop_was_woken(const struct mor_loop *loop)
{
	return loop->sleeper.heard;
}

void mor_loop_forsake(struct mor_loop *loop)
{
	loop->forsaken = true;
}

bool mor_loop_is_forsaken(const struct mor_loop *loop)
{
	return loop->forsaken;
}

MOR_APART static void wake_self(struct mor_loop *loop)
{
	loop->counts.wakes++;
	write_word(loop);
}

int mor_loop_fd(struct mor_loop *loop)
{
	bool first = !loop->sleeper.polled;

	loop->sleeper.polled = true;
	if (first && needs_word(loop))
		wake_self(loop);
	return loop->epoll_fd;
}

MOR_APART static void arm_for(struct mor_loop *loop, int64_t due)
{
	struct itimerspec at = { .it_value = { (time_t)(due / 1000), (long)(due % 1000) * 1000000 } };

	if (loop->dispatching || loop->clock.is_virtual || loop->check.judging || loop->forsaken)
		return;
	/* Cannot fail: the descriptor is a timerfd and the time is valid. It also clears an expiry that
	 * nobody has seen yet. Nothing is lost, because the new deadline is earlier. */
	timerfd_settime(loop->timer_fd, TFD_TIMER_ABSTIME, &at, NULL);
	loop->timers.armed_ms = due;
	loop->counts.arms++;
}

void mor_loop_arm(struct mor_loop *loop)
{
	int64_t due = mor_timers_next(loop);

	if (due < loop->timers.armed_ms)
		arm_for(loop, due);
}

static void settle_loop(struct mor_loop *loop)
{
	if (needs_word(loop))
		wake_self(loop);
	mor_loop_arm(loop);
}

/* Inside a dispatch, its end does that. */
void mor_loop_left_over(struct mor_loop *loop)
{
	if (loop->sleeper.polled && !loop->dispatching && !loop->sleeper.held)
		wake_self(loop);
}

void mor_loop_hold(struct mor_loop *loop, bool on)
{
	bool was = loop->sleeper.held;

	loop->sleeper.held = on;
	loop->skips.count = 0;
	if (!was || on)
		return;
	/* Another thread's word was for the owner, not for the call that ran the loop meanwhile. */
	if (loop->sleeper.woken)
		mor_loop_wakeup(loop);
	else if (needs_word(loop))
		wake_self(loop);
	loop->sleeper.woken = false;
}

/* ---- tasks ---- */

void mor_loop_post(struct mor_loop *loop, struct mor_task *task, mor_task_fn *fn)
{
	bool first = mor_list_empty(&loop->tasks);

	if (task->queued)
		return;
	task->fn = fn;
	task->queued = true;
	mor_list_append(&loop->tasks, &task->node);
	if (first)
		mor_loop_left_over(loop);
}

void mor_task_stop(struct mor_task *task)
{
	if (!task->queued)
		return;
	task->queued = false;
	mor_list_remove(&task->node);
}

static int run_tasks(struct mor_loop *loop)
{
	int ran = 0;

	mor_loop_begin_part(loop);
	while (!mor_list_empty(&loop->tasks) && !mor_loop_step(loop)) {
		struct mor_task *task = mor_container_of(mor_list_pop(&loop->tasks), struct mor_task, node);

		task->queued = false;
		task->fn(task);
		ran++;
	}
	return ran;
}

/* ---- graves ---- */

void mor_loop_free_later(struct mor_loop *loop, struct mor_grave *grave, void (*free)(struct mor_grave *))
{
	if (!loop->dispatching) {
		free(grave);
		return;
	}
	grave->free = free;
	grave->next = loop->graves;
	loop->graves = grave;
}

/* One at a time from the head: freeing one may add more. */
static void bury_graves(struct mor_loop *loop)
{
	while (loop->graves) {
		struct mor_grave *grave = loop->graves;

		loop->graves = grave->next;
		grave->free(grave);
	}
}

/* ---- dispatch ---- */

/* Timers are checked only when the timerfd says that the earliest deadline has passed. So a dispatch without
 * an expired timer reads no clock. */
static bool begin_judging(struct mor_loop *loop)
{
	if (!loop->timers.rang && !loop->clock.is_virtual)
		return false;
	loop->timers.rang = false;
	loop->clock.now_ms = clock_ms(loop);
	loop->clock.now_known = true;
	if (mor_timers_next(loop) > loop->clock.now_ms)
		return false;
	loop->check.judging = true;
	loop->check.caught_up = false;
	loop->check.judged_ms = loop->clock.now_ms;
	loop->check.judged_order = loop->timers.next_order;
	loop->check.round++;
	loop->check.calm = 0;
	return true;
}

/* Everything readable by then is read before the timers are decided. */
static int judge_timers(struct mor_loop *loop)
{
	int ran = 0;

	if (!loop->check.judging && !begin_judging(loop))
		return 0;
	mor_loop_begin_part(loop);
	while (!loop->check.caught_up) {
		if (mor_loop_step(loop) || mor_look_begin(loop, 0) < 0)
			return ran;
		ran += mor_look_run(loop);
	}
	mor_loop_begin_part(loop);
	return ran + mor_timers_run(loop);
}

static int turn_loop(struct mor_loop *loop, int timeout_ms)
{
	int found = mor_look_begin(loop, has_work(loop) ? 0 : timeout_ms), ran;

	if (found < 0)
		return found;
	loop->dispatching = true;
	loop->clock.now_known = false;
	if (found)
		mor_loop_begin_part(loop);
	ran = mor_look_run(loop);
	ran += judge_timers(loop);
	ran += run_tasks(loop);
	/* what was asked in here is nobody's who waits: the next ping, for example */
	loop->spinning.expected = NULL;
	bury_graves(loop);
	loop->dispatching = false;
	settle_loop(loop);
	mor_trace(MOR_TRACE_LOOP, "%d ready, %d callbacks, %zu timers", found, ran, loop->timers.count);
	return ran;
}

int mor_loop_dispatch(struct mor_loop *loop)
{
	if (loop->dispatching)
		return MORTISE_ECALLBACK;
	loop->sleeper.heard = false;
	return turn_loop(loop, 0);
}

/* The others get their turn at the next wait if tasks are left, if it takes longer than a tick of the clock, or
 * if nobody has asked for the time (then nothing was written). */
static void count_skipped(struct mor_loop *loop)
{
	bool first = loop->skips.count == 0;

	if (!mor_list_empty(&loop->tasks) || !loop->clock.now_known ||
	    (!first && loop->clock.now_ms != loop->skips.first_ms)) {
		loop->skips.count = MOST_SKIPPED;
		return;
	}
	loop->skips.count++;
	loop->skips.first_ms = loop->clock.now_ms;
}

/* Runs only tasks that were posted before the wait. The caller calls again at once, and that call may sleep.
 * So a call is written before the wait for its answer, without an extra look. */
static int run_tasks_only(struct mor_loop *loop)
{
	int ran;

	loop->dispatching = true;
	loop->clock.now_known = false;
	ran = run_tasks(loop);
	bury_graves(loop);
	loop->dispatching = false;
	count_skipped(loop);
	settle_loop(loop);
	return ran;
}

void mor_loop_allow_spin(struct mor_loop *loop, bool on)
{
	loop->spinning.allowed = on && !loop->clock.is_virtual;
	loop->spinning.expected = NULL;
}

void mor_loop_expect(struct mor_loop *loop, struct mor_watch *watch, struct mor_spin *spin)
{
	if (!loop->spinning.allowed || !watch->loop)
		return;
	loop->spinning.expected = watch;
	loop->spinning.learned = spin;
}

/* Looks, without sleeping, until something is there. What came is left for the turn that follows. An end by
 * another descriptor, a deadline or a wake-up says nothing about the plugin. */
static void spin_loop(struct mor_loop *loop)
{
	int64_t until;

	if (!mor_spin_begin(loop->spinning.learned))
		return;
	until = mor_clock_ns() + MOR_SPIN_NS;
	do {
		if (mor_look_begin(loop, 0) < 0)
			return;
		if (loop->look.batch_len > 0) {
			if (loop->spinning.expected->slot)
				mor_spin_end(loop->spinning.learned, true);
			return;
		}
	} while (mor_clock_ns() < until);
	mor_spin_end(loop->spinning.learned, false);
}

int mor_loop_wait(struct mor_loop *loop, int timeout_ms)
{
	if (loop->dispatching)
		return MORTISE_ECALLBACK;
	loop->sleeper.heard = false;
	/* Not for ever: the others get their turn. And not where the descriptor was made readable for them:
	 * only a look takes that back. */
	if ((loop->sleeper.held || !loop->sleeper.polled) && loop->skips.count < MOST_SKIPPED &&
	    !mor_list_empty(&loop->tasks))
		return run_tasks_only(loop);
	loop->skips.count = 0;
	if (loop->spinning.expected && timeout_ms != 0 && !has_work(loop))
		spin_loop(loop);
	/* The timerfd ends the sleep at a deadline: no clock is read, and no other timer is needed. */
	return turn_loop(loop, timeout_ms);
}

int mor_loop_advance(struct mor_loop *loop, uint32_t ms)
{
	int64_t target = loop->clock.virtual_ms + ms;
	int ran = 0, r;

	if (!loop->clock.is_virtual)
		return MORTISE_EINVAL;
	if (loop->dispatching)
		return MORTISE_ECALLBACK;
	/* One dispatch per deadline: so each timer sees its own time, and its tasks and graves are done
	 * before the next timer runs. */
	do {
		int64_t next = mor_timers_next(loop);

		if (has_work(loop) && next > loop->clock.virtual_ms)
			next = loop->clock.virtual_ms;
		if (next > target)
			next = target;
		if (next > loop->clock.virtual_ms)
			loop->clock.virtual_ms = next;
		if ((r = turn_loop(loop, 0)) < 0)
			return r;
		ran += r;
	} while (loop->clock.virtual_ms < target || mor_timers_next(loop) <= target || has_work(loop));
	return ran;
}
