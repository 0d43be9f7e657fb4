/* SPDX-License-Identifier: Apache-2.0 */
/* What loop.c and timer.c share. Nobody outside this room includes it. */
#ifndef MOR_LOOP_INSIDE_H
#define MOR_LOOP_INSIDE_H

#include <sys/epoll.h>

#include "loop/loop.h"

#define MOR_NEVER INT64_MAX

enum { MOR_LOOP_BATCH = 64, MOR_UNMEASURED = 4 };

struct mor_loop {
	int epoll_fd, timer_fd, wake_fd;
	bool is_virtual, dispatching, held;
	bool forsaken;    /* see mor_loop_forsake() */
	bool rang;        /* the timerfd fired since timers were last judged                */
	bool now_known;   /* now_ms was read in this dispatch                              */
	int64_t virtual_ms;
	int64_t now_ms;   /* of the current dispatch                                       */
	uint32_t tick_ms; /* how far now_ms may lie behind the true time                   */
	int64_t armed_ms; /* what the timerfd will fire for; MOR_NEVER: it will not        */
	unsigned steps, measured; /* of this part of the dispatch; when the clock is read next     */
	unsigned slice;   /* MOR_LOOP_SLICE; the model of the host makes it short              */
	int64_t until_ns;

	/* A judgement of timers, perhaps over several dispatches. */
	bool judging, caught_up; /* caught_up: all that was readable at judged_ms has been read    */
	int64_t judged_ms;
	uint64_t judged_order;   /* timers set since then are for the next one                    */
	uint32_t round;
	size_t calm;             /* ready watches seen in a row that were not behind              */

	struct mor_timer **heap;
	size_t timers, heap_room;
	size_t kept;      /* places of the heap that are reserved for timers which are not set */
	uint64_t next_order;

	struct mor_list tasks;
	struct mor_list again, due; /* watches: to be called in the next look, in this one */
	bool tasks_first;           /* the last wait ran tasks only                        */
	struct mor_grave *graves;
	char *scratch;
	size_t watches;
	struct mor_loop_counts counts;

	/* The look under way: what of it is left is done by the next dispatch. */
	uint32_t look_round; /* the judgement that it began in                                    */
	bool behind;         /* it met a watch that may hold something from before the judgement  */
	bool full;           /* more may be ready than it was shown                               */
	int found;           /* how many it met                                                   */
	int batch_len, batch_at;
	struct epoll_event batch[MOR_LOOP_BATCH];
};

/* Earliest deadline, MOR_NEVER when no timer is set. */
static inline int64_t mor_timers_next(const struct mor_loop *loop)
{
	return loop->timers ? loop->heap[0]->due_ms : MOR_NEVER;
}

/* Runs what was due at loop->judged_ms and was set before, as far as the slice reaches; ends the judgement where
 * nothing is left. Number of callbacks. */
int mor_timers_run(struct mor_loop *loop);
/* A part of the dispatch begins. */
static inline void mor_loop_begin_part(struct mor_loop *loop)
{
	loop->steps = 0;
	loop->measured = MOR_UNMEASURED; /* most are over by then, and read no clock for this */
	loop->until_ns = 0;
}

bool mor_loop_time_is_over(struct mor_loop *loop);
/* mor_loop_spent() for who knows that a dispatch is under way. */
static inline bool mor_loop_step(struct mor_loop *loop)
{
	return ++loop->steps >= loop->measured && mor_loop_time_is_over(loop);
}

/* ---- looks (watch.c) ---- */

/* Is a look unfinished, or one wanted without the kernel's saying so? */
static inline bool mor_look_pending(const struct mor_loop *loop)
{
	return loop->batch_at < loop->batch_len || !mor_list_empty(&loop->due) || !mor_list_empty(&loop->again);
}
/* Finds out what is ready, unless a look is unfinished. Number, or a status. */
int mor_look_begin(struct mor_loop *loop, int timeout_ms);
/* Runs it, as far as the slice reaches. Number of callbacks. */
int mor_look_run(struct mor_loop *loop);
/* Something has been left for the next dispatch: the descriptor must say so. */
void mor_loop_left_over(struct mor_loop *loop);
/* Arms the timerfd if the embedder could otherwise sleep past a deadline. */
void mor_loop_arm(struct mor_loop *loop);

#endif
