/* SPDX-License-Identifier: Apache-2.0 */
/* Decides which worker of a pool gets which job, which one is started, and when a job gives up. See pool.h. */
#include "base/alloc.h"
#include "base/error.h"
#include "host/plugin.h"
#include "host/pool_job.h"
#include "host/supervise.h"

#define SPAWN_STEPS 128 /* the cost of a start in a dispatch: some hundred microseconds */

/* ---- workers ---- */

static bool has_failed(const mortise_plugin *worker)
{
	return worker->now.state == MORTISE_FAILED ||
	       (worker->now.state == MORTISE_DRAINING && worker->life.drain == MOR_DRAIN_GIVEN_UP);
}

static bool is_coming(const mortise_plugin *worker)
{
	return worker->now.state == MORTISE_STARTING || worker->now.state == MORTISE_GREETING;
}

static bool is_ready(const mortise_plugin *worker)
{
	return worker->now.state == MORTISE_READY;
}

static uint32_t count_if(const mortise_pool *pool, bool (*is)(const mortise_plugin *))
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < pool->count; i++)
		count += is(pool->workers[i]);
	return count;
}

/* Ghosts, pings and the embedder's own calls take slots too; notes take none. */
static unsigned load_of(const mortise_plugin *worker)
{
	unsigned slots = worker->calls.in_flight + worker->calls.waiting;

	return slots > worker->seat.load ? slots : worker->seat.load;
}

/* A worker whose pipe broke stays READY for a moment, until its exit shows why. It looks idle, but can take
 * nothing any more. */
static bool is_whole(const mortise_plugin *worker)
{
	return is_ready(worker) && !worker->life.broken && worker->life.link &&
	       !worker->life.link->input_broken;
}

/* If the last process of a worker got no call, it is left alone while others do the work: nothing would slow
 * down its starts. */
static bool may_be_started(const mortise_plugin *worker, bool others_work)
{
	return worker->now.state == MORTISE_STOPPED && !(worker->seat.came_to_nothing && others_work);
}

/* How many failed starts a job waits through. They cost no work, so even a job that is not tried again waits
 * through one. */
static uint64_t patience(const mortise_pool *pool)
{
	return pool->retries ? pool->retries : 1;
}

/* A crash or a lack of resources may not happen again; a refusal or a time-out would. */
static bool may_do_better(const mortise_plugin *worker)
{
	mortise_error failure;
	int code = mor_supervise_blamed(worker, &failure);

	return !has_failed(worker) &&
	       (code == MORTISE_ECRASHED || code == MORTISE_ECLOSED || mor_error_is_lack(&failure));
}

void mor_pool_worker_moved(mortise_plugin *worker, enum mortise_state from)
{
	mortise_pool *pool = worker->seat.pool;
	bool was_up = from == MORTISE_STARTING || from == MORTISE_GREETING || from == MORTISE_READY;

	if (was_up && !is_coming(worker) && !is_ready(worker)) {
		worker->seat.came_to_nothing = worker->life.unproven;
		if (worker->life.unproven)
			pool->blamed = worker;
		if (worker->life.unproven && !count_if(pool, is_ready))
			pool->vain_starts += may_do_better(worker) ? 1 : patience(pool) + 1;
	}
	if (has_failed(worker))
		pool->blamed = worker;
	mor_pool_wake(pool);
}

/* ---- the task ---- */

/* Is there, or will there be, another worker? */
static bool has_others(const mortise_pool *pool, const mortise_plugin *than)
{
	for (uint32_t i = 0; i < pool->count; i++) {
		const mortise_plugin *worker = pool->workers[i];

		if (worker != than && (is_whole(worker) || is_coming(worker) || may_be_started(worker, true)))
			return true;
	}
	return false;
}

/* The least busy worker with room. But no job is put behind a running call while an idle worker starts, or
 * can start. So few long calls use all processors, and "-j 8" with two files starts two processes, not
 * eight. */
static mortise_plugin *pick_worker(const mortise_pool *pool, const struct mor_pool_job *job)
{
	const mortise_plugin *shunned = job->bounces && has_others(pool, job->worker) ? job->worker : NULL;
	mortise_plugin *best = NULL;
	bool another = false;

	for (uint32_t i = 0; i < pool->count; i++) {
		mortise_plugin *worker = pool->workers[i];

		another |= is_coming(worker) || may_be_started(worker, true);
		if (worker != shunned && is_whole(worker) && !worker->life.spent &&
		    load_of(worker) < pool->per_worker && (!best || load_of(worker) < load_of(best)))
			best = worker;
	}
	return best && load_of(best) && another ? NULL : best;
}

/* Is it time for others? Then the task runs again. */
static bool pool_pauses(mortise_pool *pool)
{
	if (!mor_loop_spent(pool->host->loop))
		return false;
	mor_pool_wake(pool);
	return true;
}

/* Each loop below handles at most the jobs that were there when it began: callbacks may add some. */
static void hand_out_jobs(mortise_pool *pool)
{
	mortise_plugin *worker;

	for (uint32_t n = pool->queued;
	     n && !pool->freed && pool->queued && (worker = pick_worker(pool, mor_pool_job_first(pool))); n--) {
		if (pool_pauses(pool))
			return;
		mor_pool_job_run(mor_pool_job_take(mor_pool_job_first(pool)), worker);
	}
}

/* Starts one worker for each job that has none. */
static void start_workers(mortise_pool *pool)
{
	uint32_t coming = pool->freed ? 0 : count_if(pool, is_coming);

	for (uint32_t i = 0; !pool->freed && i < pool->count && pool->queued > coming; i++) {
		mortise_plugin *worker = pool->workers[i];

		if (!may_be_started(worker, count_if(pool, is_ready)))
			continue;
		if (pool_pauses(pool))
			return;
		MOR_HOLD(worker);
		mor_loop_charge(pool->host->loop, SPAWN_STEPS);
		coming += mor_supervise_start(worker, NULL) == 0;
	}
}

/* If no worker is ready: should this job give up? While a worker starts, the job waits for it; unless this
 * has happened many times already. */
static bool has_seen_enough(const struct mor_pool_job *job)
{
	const mortise_pool *pool = job->pool;
	uint64_t since = job->vain_since > pool->vain_until ? job->vain_since : pool->vain_until;
	uint64_t vain = pool->vain_starts - since, enough = patience(pool) + 1;

	if (count_if(pool, has_failed) == pool->count)
		return true;
	return vain >= (count_if(pool, is_coming) ? enough * pool->count : enough);
}

static void give_up_jobs(mortise_pool *pool)
{
	MOR_CLEAN(mor_buf) struct mor_buf data = MOR_BUF_INIT;
	mortise_error error;

	if (pool->freed || !pool->queued || !pool->blamed || count_if(pool, is_ready))
		return;
	/* Copies: a callback may start the worker again. */
	mor_supervise_blamed(pool->blamed, &error);
	if (mor_buf_slice(&data, mor_buf_view(&pool->blamed->ends.failure.data)) < 0)
		mor_buf_fini(&data);
	for (uint32_t n = pool->queued;
	     n && !pool->freed && pool->queued && has_seen_enough(mor_pool_job_first(pool)); n--) {
		if (pool_pauses(pool))
			return;
		mor_pool_job_fail(mor_pool_job_take(mor_pool_job_first(pool)), &error, mor_buf_view(&data));
	}
}

void mor_pool_on_task(struct mor_task *task)
{
	mortise_pool *pool = mor_container_of(task, mortise_pool, task);

	MOR_HOLD_POOL(pool);
	hand_out_jobs(pool);
	give_up_jobs(pool); /* before others are started: they would be refused as well */
	start_workers(pool);
}
