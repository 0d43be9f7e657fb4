/* SPDX-License-Identifier: Apache-2.0 */
/* A call to a pool. Shared by the files of the pool. */
#ifndef MOR_HOST_POOL_JOB_H
#define MOR_HOST_POOL_JOB_H

#include "host/call.h"
#include "host/pool.h"

struct mor_pool_job {
	struct mor_list node;      /* in the pool's queue, or in `given` */
	struct mor_call_kind kind; /* the embedder holds it as a mortise_call */
	struct mor_timer timer;    /* queue_ms, while it is in the queue */
	int64_t due_ms;            /* when that is over */
	mortise_pool *pool;        /* NULL: the pool is freed, and this job is over; only its call is not */
	mortise_plugin *worker;    /* the last worker that had it; NULL: none yet */
	mortise_call *call;        /* the call of that worker; NULL: it waits */
	struct mor_task cancel_task;
	char *action, *copy, *extra; /* copy: of the params, unless they are lent */
	const char *params;
	size_t params_len;
	mortise_call_options opt;
	uint64_t number;     /* its place in the order of the calls */
	uint64_t vain_since; /* pool->vain_starts when it began to wait */
	unsigned tries;      /* tries that reached a worker's process */
	unsigned bounces;    /* times that it came back from a worker without reaching its process */
};

_Static_assert(offsetof(struct mor_pool_job, kind) == offsetof(struct mortise_call, kind), "one handle");

/* A copy of what the embedder gave. NULL: out of memory. */
struct mor_pool_job *mor_pool_job_new(mortise_pool *pool, const char *action, mortise_json params,
				      const mortise_call_options *opt);
void mor_pool_job_free(struct mor_pool_job *job);
/* Puts it at the end of the queue; its queue_ms and its patience begin. Fails only with MORTISE_ENOMEM, then
 * it is in no list. */
int mor_pool_job_wait(struct mor_pool_job *job);
/* The next one; only while the pool has jobs that wait. */
struct mor_pool_job *mor_pool_job_first(const mortise_pool *pool);
/* Out of the queue. Returns it. */
struct mor_pool_job *mor_pool_job_take(struct mor_pool_job *job);
/* Gives it to a worker and handles the result. The job is in no list. */
void mor_pool_job_run(struct mor_pool_job *job, mortise_plugin *worker);
/* As mortise_call_cancel(). */
int mor_pool_job_cancel(struct mor_pool_job *job, mortise_error *err);
/* A reply on its way to the embedder. */
void mor_pool_job_tell(const struct mor_pool_job *job, const mortise_reply *reply);
/* The last reply; the job is in no list, and freed. */
void mor_pool_job_fail(struct mor_pool_job *job, const mortise_error *error, struct mor_slice data);

#endif
