/* What loop.c and timer.c share. Nobody outside this room includes it. */
#ifndef MOR_LOOP_INSIDE_H
#define MOR_LOOP_INSIDE_H

#include <sys/epoll.h>

#include "loop/loop.h"

#define MOR_NEVER INT64_MAX

enum { MOR_LOOP_BATCH = 64 };

struct mor_loop {
	int epoll_fd, timer_fd, wake_fd;
	bool is_virtual, dispatching, held;
	bool rang;        /* the timerfd fired since timers were last judged                */
	bool now_known;   /* now_ms was read in this dispatch                              */
	int64_t virtual_ms;
	int64_t now_ms;   /* of the current dispatch                                       */
	uint32_t tick_ms; /* how far now_ms may lie behind the true time                   */
	int64_t armed_ms; /* what the timerfd will fire for; MOR_NEVER: it will not        */

	struct mor_timer **heap;
	size_t timers, heap_room;
	size_t kept;      /* places of the heap that are reserved for timers which are not set */
	uint64_t next_order;

	struct mor_list tasks;
	struct mor_grave *graves;
	char *scratch;
	size_t watches;
	struct mor_loop_counts counts;

	int batch_len;
	struct epoll_event batch[MOR_LOOP_BATCH];
};

/* Earliest deadline, MOR_NEVER when no timer is set. */
static inline int64_t mor_timers_next(const struct mor_loop *loop)
{
	return loop->timers ? loop->heap[0]->due_ms : MOR_NEVER;
}

/* Runs what was due at loop->now_ms and was set before this call. Number of callbacks. */
int mor_timers_run(struct mor_loop *loop);
/* Arms the timerfd if the embedder could otherwise sleep past a deadline. */
void mor_loop_arm(struct mor_loop *loop);

#endif
