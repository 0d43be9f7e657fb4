/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The event loop: epoll + timerfd + eventfd + pidfds behind ONE pollable descriptor.
 *
 * mor_loop_fd() is readable whenever something is due; mor_loop_dispatch() does what is due and never
 * blocks. The order inside one dispatch, on which the time limits depend:
 *   1. one look at the descriptors; every ready watch runs once (a reader takes a limited amount)
 *   2. if the timerfd has fired, expired timers run, all by one reading of the clock. Before they do, the loop
 *      looks at its descriptors again, without blocking, until everything that was readable at that reading has
 *      been read: nothing is ready, or only watches that have since taken as much as a pipe holds. So an answer
 *      that was in the pipe in time is seen before its time-out, even if dispatch came late. A dispatch without
 *      an expired timer makes only one wait
 *   3. tasks posted with mor_loop_post() run until none is left, also those that they post
 *   4. what was handed to mor_loop_free_later() is freed
 * A watch, timer or task removed by an earlier callback of the same dispatch does not run.
 *
 * No part of a dispatch is long: each of the first three ends after MOR_LOOP_SLICE steps (callbacks, and what
 * they add with mor_loop_charge()) or 2 ms. What is left over is done by the next dispatch, in the same
 * order, and the descriptor is readable until then.
 *
 * Watches, timers and tasks are embedded in their owner's struct, zero-initialised, and owned by it.
 *
 * A loop made with MOR_LOOP_VIRTUAL has a clock that stands still: mor_loop_advance() moves it from timer
 * to timer. Real children and virtual time do not mix.
 *
 * The timerfd is touched rarely: it is checked only when control goes back to the embedder (the end of
 * a dispatch, a timer set outside one), and armed only if the earliest deadline is earlier than what it is
 * armed for. Cancelling never touches it. So a call's time limit of T that is set and cancelled 100,000
 * times a second costs one system call every T.
 */
#ifndef MOR_LOOP_LOOP_H
#define MOR_LOOP_LOOP_H

#include "base/list.h"
#include "loop/spin.h"

struct mor_loop;
struct mor_watch;
struct mor_timer;
struct mor_task;

enum mor_loop_flags { MOR_LOOP_VIRTUAL = 1 << 0 };

int mor_loop_new(unsigned flags, struct mor_loop **ret); /* 0, MORTISE_ENOMEM, MORTISE_ESYSTEM (errno set) */
struct mor_loop *mor_loop_free(struct mor_loop *loop);   /* all watches and timers must be stopped before */
/* From the first question on somebody may sleep on it, so it is kept right (an eventfd write for each task that
 * is posted outside a dispatch). Before, mor_loop_wait() runs such tasks without a look at the descriptors. */
int mor_loop_fd(struct mor_loop *loop);
/* Number of callbacks run, or a status (MORTISE_ECALLBACK inside a callback). */
int mor_loop_dispatch(struct mor_loop *loop);
/* Waits for at most timeout_ms (-1: no limit), then dispatches: one epoll_wait, no poll() in front. May come
 * back early with 0: a wake-up, a signal handler of the embedder, a cancelled timer. */
int mor_loop_wait(struct mor_loop *loop, int timeout_ms);
/* Whether mor_loop_wait() may spin at all; false at first. */
void mor_loop_allow_spin(struct mor_loop *loop, bool on);
/* Something was asked, and the answer is expected at this watch: the next mor_loop_wait() may spin for it, as
 * `spin` has learned. Only for what is asked in a task that was posted before the wait: by a caller, who waits.
 * The spin looks at all descriptors, so nothing else waits longer. */
void mor_loop_expect(struct mor_loop *loop, struct mor_watch *watch, struct mor_spin *spin);
/* From any thread or signal handler: makes the descriptor readable once. 0 or MORTISE_ESYSTEM. A running
 * dispatch may already take the wake-up, so read what the other thread left for you after dispatch. */
int mor_loop_wakeup(struct mor_loop *loop);
/* Did the last wait or dispatch meet such a wake-up? The loop's own words do not count. */
bool mor_loop_was_woken(const struct mor_loop *loop);
/* In a forked child: from here on the kernel's part, which the parent shares, is not touched. After this you
 * may only stop watches, timers and tasks, and free the loop, which closes the child's descriptors. */
void mor_loop_forsake(struct mor_loop *loop);
bool mor_loop_is_forsaken(const struct mor_loop *loop);
/* While this is on, the owner promises to call mor_loop_wait() or mor_loop_dispatch() before anybody polls
 * the descriptor. So tasks posted outside a dispatch need no eventfd write. Turning it off makes the
 * descriptor right again: a wake-up that was met meanwhile makes it readable once more. */
void mor_loop_hold(struct mor_loop *loop, bool on);
bool mor_loop_dispatching(const struct mor_loop *loop);
/* Milliseconds on this loop's clock. In a dispatch: one reading of the kernel's coarse clock, at the first
 * question. It may be a tick (1 to 10 ms) behind. Outside a dispatch, and while timers are checked: exact. */
int64_t mor_loop_now_ms(struct mor_loop *loop);
/* Forgets that reading: the next question reads the clock again. */
void mor_loop_refresh_now(struct mor_loop *loop);
/* The time when `in_ms` from mor_loop_now_ms() have surely passed: one tick is added, because that clock may
 * be behind. */
int64_t mor_loop_due_ms(struct mor_loop *loop, uint32_t in_ms);
/* In a timer's callback: the clock reading by which it was due. Everything readable then has been read,
 * perhaps some dispatches ago. */
int64_t mor_loop_judged_ms(const struct mor_loop *loop);
/* Virtual clock only: moves time forward, running everything that becomes due on the way, in order. */
int mor_loop_advance(struct mor_loop *loop, uint32_t ms);

/* ---- bounded work ---- */

#define MOR_LOOP_SLICE 512 /* steps; one step is about the cost of a small message */
/* Counts work beyond the one step that each callback counts. */
void mor_loop_charge(struct mor_loop *loop, unsigned steps);
/* For a callback that could go on for long: counts one step. true: enough for this dispatch; do the rest in
 * a task, or after mor_watch_again(). Outside a dispatch always false: there the caller decides how long it
 * takes. */
bool mor_loop_spent(struct mor_loop *loop);

/* System calls the loop has made by itself, for tests and the bench. */
struct mor_loop_counts {
	uint64_t waits, arms, wakes;
};
struct mor_loop_counts mor_loop_counts(const struct mor_loop *loop);

/* --- descriptors --- */
/* A hang-up or error is always reported, together with what was asked for. The read or write that the owner
 * then makes shows what it was. */
enum mor_watch_events { MOR_READABLE = 1, MOR_WRITABLE = 2, MOR_HANGUP = 4 };
typedef void mor_watch_fn(struct mor_watch *watch, unsigned events);
struct mor_watch {
	mor_watch_fn *fn;
	struct mor_loop *loop; /* NULL: not watching */
	int fd;
	uint16_t events; /* the events that are wanted */
	/* set by the owner: it adds what it reads to `taken`. Otherwise 16 calls count as a whole pipe */
	bool counts;
	bool waits;           /* private: in the list of those to be called again */
	uint32_t slot;        /* private: place of its event in the present batch, plus 1 */
	uint32_t round;       /* private: the check of timers that `goal` belongs to */
	uint64_t taken, goal; /* bytes */
	struct mor_list node; /* private */
};
/* The watch must not be watching. events may be 0: then a hang-up is reported only once, so that a paused
 * reader does not spin. 0 or a status with errno. */
int mor_watch_start(struct mor_loop *loop, struct mor_watch *watch, int fd, unsigned events, mor_watch_fn *fn);
int mor_watch_change(struct mor_watch *watch, unsigned events);
/* Fine for a watch that is not watching. Always call it before the fd is closed; it does not close it. */
void mor_watch_stop(struct mor_watch *watch);
/* In the next look the watch is called with MOR_READABLE, whatever its descriptor and `events` say. For a
 * reader that has read more than it may process at once. Until then timers wait, as they do for readable
 * data. */
void mor_watch_again(struct mor_watch *watch);
#define MOR_LOOP_PIPE (1024 * 1024) /* the largest pipe that we make */
#define MOR_LOOP_BITE (256 * 1024)  /* limit for a watch that `counts` in one call */

/* --- timers (binary heap) --- */
typedef void mor_timer_fn(struct mor_timer *timer);
struct mor_timer {
	mor_timer_fn *fn;
	struct mor_loop *loop; /* NULL: not set */
	int64_t due_ms;
	uint64_t order; /* private: equal deadlines run in the order they were set */
	uint32_t index; /* private: place in the heap, plus 1 */
	bool reserved;  /* private: its place in the heap is reserved */
};
/* Sets or moves it. The time counts from this moment, not from the start of the dispatch. Never early. 0 ms
 * set by a timer's callback runs in a later dispatch. Fails only with MORTISE_ENOMEM, if the heap must grow;
 * moving a timer cannot fail. */
int mor_timer_set(struct mor_loop *loop, struct mor_timer *timer, uint32_t in_ms, mor_timer_fn *fn);
/* The same for a time of the loop's clock, as mor_loop_due_ms() returns it. No clock is read. */
int mor_timer_set_at(struct mor_loop *loop, struct mor_timer *timer, int64_t due_ms, mor_timer_fn *fn);
void mor_timer_stop(struct mor_timer *timer);
/* Reserves a place for it: from here on, setting it cannot fail. 0 or MORTISE_ENOMEM. Release it before the
 * loop is freed. That also stops it, and is fine if it was never reserved. */
int mor_timer_reserve(struct mor_loop *loop, struct mor_timer *timer);
void mor_timer_release(struct mor_loop *loop, struct mor_timer *timer);

/* --- tasks: run once, later in this dispatch or in the next --- */
typedef void mor_task_fn(struct mor_task *task);
struct mor_task {
	struct mor_list node; /* private */
	mor_task_fn *fn;
	bool queued;
};
/* Outside a dispatch this makes the descriptor readable (one eventfd write for the first task). Posting a
 * queued task again changes nothing. */
void mor_loop_post(struct mor_loop *loop, struct mor_task *task, mor_task_fn *fn);
void mor_task_stop(struct mor_task *task);

/* --- memory that callbacks up the stack may still use --- */
struct mor_grave {
	struct mor_grave *next; /* private */
	void (*free)(struct mor_grave *grave);
};
/* Runs free(grave) at the end of the current dispatch, or at once outside one. */
void mor_loop_free_later(struct mor_loop *loop, struct mor_grave *grave, void (*free)(struct mor_grave *));

/* --- a block of scratch memory for reads, shared by everything on this loop; valid until the callback
 * that asked returns. At least 64 KiB, allocated on first use. NULL: out of memory. --- */
#define MOR_LOOP_SCRATCH (64 * 1024)
char *mor_loop_scratch(struct mor_loop *loop);

/* --- exits of children, by pidfd --- */
struct mor_child_exit {
	/* false: another part of the program reaped it (the embedder ignores SIGCHLD): "status unknown" */
	bool known;
	int status; /* as in waitid: exit code, or signal if by_signal */
	bool by_signal, core;
	uint64_t cpu_us; /* processor time of it and of what it waited for; 0: not known */
};
struct mor_child;
typedef void mor_child_fn(struct mor_child *child, const struct mor_child_exit *how);
struct mor_child {
	struct mor_watch watch;
	struct mor_task gone; /* private: reports a child that was gone before we could watch it */
	mor_child_fn *fn;
	int pidfd; /* -1: none */
	int pid;
	bool leads_group; /* set by the owner before mor_child_watch(): when it ends, the rest of its
				   group is killed before it is reaped, while the number is surely ours */
};
/* Watches our own child; opens the pidfd. Reaps only this child when it ends. A child that is gone already
 * (SIGCHLD is ignored) is reported like any other, status unknown. 0 or a status with errno. */
int mor_child_watch(struct mor_loop *loop, struct mor_child *child, int pid, mor_child_fn *fn);
/* Stops watching and closes the pidfd. A child not reaped yet is left to the caller (see mor_child_reap). */
void mor_child_stop(struct mor_child *child);
/* Sends a signal through the pidfd: never to a reused pid. 0 or -errno. */
int mor_child_signal(struct mor_child *child, int signal);
/* The same to the process group it leads: through the pidfd since Linux 6.9. Before that by number, but only
 * while the child is not reaped, so that the number is still its own. 0 or -errno. */
int mor_child_signal_group(struct mor_child *child, int signal);
/* Waits, blocking, for a child that was sent SIGKILL, reaps it and stops watching. For tearing down. `ret` may
 * be NULL. */
void mor_child_reap(struct mor_child *child, struct mor_child_exit *ret);

#endif
