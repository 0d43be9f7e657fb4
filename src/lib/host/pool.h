/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several workers of one plugin with one queue. A job (a call of the embedder, until its last reply) stays
 * in that queue until a worker is READY and has room for it. So no job is tied to a worker that starts,
 * breaks or waits for its restart.
 *
 *	pool.c       the embedder's functions; memory
 *	pool_job.c   a job: it waits, a worker has it, it is tried again or ends
 *	pool_task.c  which worker gets which job: a task, posted by every change that could matter
 *
 * Nothing waits for ever: a job's queue_ms runs in the queue; a worker that starts, greets, drains or backs
 * off has its own timers; and jobs give up if no worker is ready and too many starts failed.
 */
#ifndef MOR_HOST_POOL_H
#define MOR_HOST_POOL_H

#include <stddef.h>

#include "host/host.h"

struct mortise_pool {
	struct mor_list node;
	mortise_host *host;
	mortise_plugin **workers;
	uint32_t count, retries, max_queue, queued;
	unsigned per_worker;            /* calls a worker may have at once */
	struct mor_list jobs;           /* waiting jobs, in the order of the calls */
	struct mor_pool_job *last_back; /* of these, the last one that came back from a worker, or NULL */
	struct mor_list given;          /* jobs that a worker has */
	size_t queued_bytes, max_bytes; /* params of those that wait */
	uint64_t next_number;
	struct mor_task task;
	/* Processes that ended before they got a call. A failure that would come again counts several times. */
	uint64_t vain_starts;
	uint64_t vain_until;    /* its value when a worker last took a call */
	mortise_plugin *blamed; /* the worker of the last of them */
	unsigned holds;         /* functions on the stack that still use it */
	bool stopping, freed;
};

/* ---- pool_task.c ---- */

void mor_pool_on_task(struct mor_task *task);
/* A worker has changed its state. Only noted; the pool acts in its task. */
void mor_pool_worker_moved(mortise_plugin *worker, enum mortise_state from);
/* A slot may have become free. NULL is fine. */
static inline void mor_pool_wake(mortise_pool *pool)
{
	if (pool && pool->queued)
		mor_loop_post(pool->host->loop, &pool->task, mor_pool_on_task);
}

/* ---- pool.c ---- */

/* Like mortise_pool_free(), but the handle may still be used (it answers ECLOSED) until the list is freed. */
void mor_pool_close(mortise_pool *pool, struct mor_list *closed);
void mor_pool_free_closed(struct mor_list *closed);

/* Any callback may free the pool: code that uses it afterwards holds its memory. */
mortise_pool *mor_pool_hold(mortise_pool *pool);
void mor_pool_drop_at(mortise_pool **pool);
#define MOR_HOLD_POOL(pool) \
	__attribute__((cleanup(mor_pool_drop_at), unused)) mortise_pool *held_pool_ = mor_pool_hold(pool)

#endif
