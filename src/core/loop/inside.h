/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by loop.c, timer.c and watch.c. Nobody outside this room includes it. */
#ifndef MOR_LOOP_INSIDE_H
#define MOR_LOOP_INSIDE_H

#include <stdatomic.h>
#include <sys/epoll.h>

#include "loop/loop.h"

#define MOR_NEVER INT64_MAX

enum { MOR_LOOP_BATCH = 64, MOR_UNMEASURED = 4 };

/* loop.c: the time of this loop. */
struct mor_loop_clock {
	bool is_virtual;
	bool now_known; /* now_ms was read in this dispatch                              */
	int64_t virtual_ms;
	int64_t now_ms;   /* of the current dispatch                                       */
	uint32_t tick_ms; /* how far now_ms may be behind the true time */
};

/* loop.c: who sleeps on the descriptor, and who wakes it. */
struct mor_loop_sleeper {
	bool polled;        /* somebody has asked for the descriptor, and may sleep on it */
	bool held;          /* see mor_loop_hold() */
	bool woken;         /* a wake-up was met while held: it is for the next look */
	bool heard;         /* a wake-up was met in this turn */
	atomic_bool called; /* mor_loop_wakeup() was, and nobody has met it yet; not by ourselves */
};

/* loop.c: how much a part of the dispatch may do. */
struct mor_loop_part {
	unsigned steps, measured; /* so far; when the clock is read next */
	unsigned slice;           /* MOR_LOOP_SLICE; tests/model makes it short */
	int64_t until_ns;
};

/* loop.c: waits in a row that ran tasks only, and when the first of them was. */
struct mor_loop_skips {
	unsigned count;
	int64_t first_ms;
};

/* loop.c: an answer that a caller waits for. */
struct mor_loop_spinning {
	bool allowed;
	struct mor_watch *expected; /* NULL: no answer is */
	struct mor_spin *learned;   /* for it */
};

/* timer.c */
struct mor_loop_timers {
	struct mor_timer **heap;
	size_t count, room;
	size_t kept; /* places of the heap reserved for timers that are not set */
	uint64_t next_order;
	int64_t armed_ms; /* what the timerfd will fire for; MOR_NEVER: it will not */
	bool rang;        /* the timerfd fired since timers were last checked */
};

/* timer.c: one check of the timers, perhaps over several dispatches. */
struct mor_loop_check {
	bool judging, caught_up; /* caught_up: everything that was readable at judged_ms has been read */
	int64_t judged_ms;
	uint64_t judged_order; /* timers set after this belong to the next check */
	uint32_t round;
	size_t calm; /* ready watches in a row that had nothing old left */
};

/* watch.c: the present look. The next dispatch does what is left of it. */
struct mor_loop_look {
	struct mor_list again, due; /* watches to be called in the next look; in this look */
	uint32_t round;             /* the check of timers in which it began */
	bool behind;                /* it met a watch that may hold something from before the check */
	bool full;                  /* more may be ready than it was given */
	int found;                  /* how many watches it met */
	int batch_len, batch_at;
	struct epoll_event batch[MOR_LOOP_BATCH];
};

struct mor_loop {
	int epoll_fd, timer_fd, wake_fd;
	bool dispatching;
	bool forsaken; /* see mor_loop_forsake() */
	struct mor_loop_clock clock;
	struct mor_loop_sleeper sleeper;
	struct mor_loop_part part;
	struct mor_loop_timers timers;
	struct mor_loop_check check;
	struct mor_loop_spinning spinning;
	struct mor_loop_skips skips;
	struct mor_list tasks;
	struct mor_grave *graves;
	char *scratch;
	size_t watches;
	struct mor_loop_counts counts;
	struct mor_loop_look look;
};

/* The earliest deadline; MOR_NEVER if no timer is set. */
static inline int64_t mor_timers_next(const struct mor_loop *loop)
{
	return loop->timers.count ? loop->timers.heap[0]->due_ms : MOR_NEVER;
}

/* Runs the timers that were due at loop->check.judged_ms and set before, as far as the slice allows. Ends the
 * check if none is left. Returns the number of callbacks. */
int mor_timers_run(struct mor_loop *loop);
/* A part of the dispatch begins. */
static inline void mor_loop_begin_part(struct mor_loop *loop)
{
	loop->part.steps = 0;
	loop->part.measured = MOR_UNMEASURED; /* most parts end earlier, and never read the clock for this */
	loop->part.until_ns = 0;
}

bool mor_loop_time_is_over(struct mor_loop *loop);
/* mor_loop_spent() for code that runs inside a dispatch. */
static inline bool mor_loop_step(struct mor_loop *loop)
{
	return ++loop->part.steps >= loop->part.measured && mor_loop_time_is_over(loop);
}

/* ---- looks (watch.c) ---- */

/* Is a look unfinished, or is one needed without an event from the kernel? */
static inline bool mor_look_pending(const struct mor_loop *loop)
{
	return loop->look.batch_at < loop->look.batch_len || !mor_list_empty(&loop->look.due) ||
	       !mor_list_empty(&loop->look.again);
}
/* Finds out what is ready, unless a look is unfinished. Returns the number, or a status. */
int mor_look_begin(struct mor_loop *loop, int timeout_ms);
/* Runs the look, as far as the slice allows. Returns the number of callbacks. */
int mor_look_run(struct mor_loop *loop);
/* Something is left for the next dispatch: the descriptor must become readable. */
void mor_loop_left_over(struct mor_loop *loop);
/* Arms the timerfd if the embedder could otherwise sleep past a deadline. */
void mor_loop_arm(struct mor_loop *loop);

#endif
