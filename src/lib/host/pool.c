/* SPDX-License-Identifier: Apache-2.0 */
/* A pool as the embedder holds it: making, calling, stopping and freeing it. */
#include "host/pool.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/options.h"
#include "base/processors.h"
#include "base/text.h"
#include "host/plugin.h"
#include "host/pool_job.h"

#define PIPELINED 4 /* calls a worker without an in-flight limit may have at once */

/* ---- holding: any callback may free the pool ---- */

void mor_pool_drop_at(mortise_pool **pool)
{
	if (--(*pool)->holds || !(*pool)->freed)
		return;
	mor_task_stop(&(*pool)->task);
	mor_free((*pool)->workers);
	mor_free(*pool);
}

mortise_pool *mor_pool_hold(mortise_pool *pool)
{
	pool->holds++;
	return pool;
}

/* ---- the public functions ---- */

static int make_workers(mortise_pool *pool, const mortise_plugin_options *opt, mortise_error *err)
{
	for (uint32_t i = 0; i < pool->count; i++) {
		int r = mortise_plugin_new(pool->host, opt, &pool->workers[i], err);

		if (r < 0)
			return r;
		pool->workers[i]->seat.pool = pool;
		pool->workers[i]->seat.index = i;
	}
	pool->per_worker = pool->workers[0]->is.max_in_flight ? pool->workers[0]->is.max_in_flight : PIPELINED;
	pool->max_bytes = pool->workers[0]->is.link_options.queue_limit * pool->count;
	return 0;
}

int mortise_pool_new(mortise_host *host, const mortise_plugin_options *plugin_opt,
		     const mortise_pool_options *given, mortise_pool **ret_pool, mortise_error *err)
{
	mortise_pool_options opt;
	mortise_pool *pool;
	int r = mor_host_check_thread(host, err);

	if (r < 0 || (r = mor_import_options(given, &opt, sizeof(opt), err)) < 0)
		return r;
	pool = mor_zalloc(sizeof(*pool));
	if (!pool)
		return mor_fail_memory(err);
	pool->host = host;
	pool->count = opt.workers ? opt.workers : mor_processors();
	pool->retries = opt.retries;
	pool->max_queue = opt.max_queue ? opt.max_queue : 65536;
	mor_list_init(&pool->node);
	mor_list_init(&pool->jobs);
	mor_list_init(&pool->given);
	pool->workers = mor_zalloc(pool->count * sizeof(mortise_plugin *));
	r = pool->workers ? make_workers(pool, plugin_opt, err) : mor_fail_memory(err);
	if (r < 0) {
		mortise_pool_free(pool);
		return r;
	}
	mor_list_append(&host->pools, &pool->node);
	*ret_pool = pool;
	return 0;
}

static void fail_waiting(mortise_pool *pool, int code, const char *why)
{
	mortise_error error;

	mor_fail(&error, code, "%s", why);
	while (pool->queued)
		mor_pool_job_fail(mor_pool_job_take(mor_pool_job_first(pool)), &error, (struct mor_slice){ 0 });
}

/* Jobs that did not end with their worker: a function up the stack will end them after we return, when the
 * embedder no longer expects it. So their last callback comes now. */
static void end_given(mortise_pool *pool)
{
	mortise_error error;

	mor_fail(&error, MORTISE_ECANCELED, "the pool was released");
	while (!mor_list_empty(&pool->given)) {
		struct mor_pool_job *job =
			mor_container_of(mor_list_pop(&pool->given), struct mor_pool_job, node);

		mor_pool_job_tell(job, &(mortise_reply){
					       .status = error.code, .error = &error, .plugin = job->worker });
		job->pool = NULL;
	}
}

/* The workers end with the pool, even those that the embedder holds: their work belongs to the pool. */
mortise_pool *mortise_pool_free(mortise_pool *pool)
{
	uint32_t made = 0;

	if (!pool || mor_host_check_leaving(pool->host) < 0)
		return pool;
	if (pool->freed)
		return NULL;
	MOR_HOLD_POOL(pool);
	pool->freed = pool->stopping = true;
	mor_list_remove(&pool->node);
	for (; pool->workers && made < pool->count && pool->workers[made]; made++)
		pool->workers[made]->seat.pool = NULL;
	for (uint32_t i = 0; i < made; i++) {
		if (!pool->workers[i]->gone)
			mor_plugin_destroy(pool->workers[i]);
	}
	fail_waiting(pool, MORTISE_ECANCELED, "the pool was released");
	end_given(pool);
	/* Only now: replies name the worker that had the call. */
	for (uint32_t i = 0; i < made; i++)
		pool->workers[i] = mortise_plugin_unref(pool->workers[i]);
	return NULL;
}

void mor_pool_close(mortise_pool *pool, struct mor_list *closed)
{
	mor_pool_hold(pool);
	mortise_pool_free(pool);
	mor_list_append(closed, &pool->node);
}

void mor_pool_free_closed(struct mor_list *closed)
{
	struct mor_list *node;

	while ((node = mor_list_pop(closed))) {
		mortise_pool *pool = mor_container_of(node, mortise_pool, node);

		mor_pool_drop_at(&pool);
	}
}

static int check_room(const mortise_pool *pool, size_t bytes, mortise_error *err)
{
	char waiting[32], all[32];

	if (pool->stopping)
		return mor_fail(err, MORTISE_ECLOSED, "the pool is being stopped");
	if (pool->queued >= pool->max_queue)
		return mor_fail(err, MORTISE_EOVERLOAD,
				"%u calls already wait for a worker, which is the limit", pool->queued);
	/* One call may always wait, of any size; the limit is for later ones. */
	if (pool->max_bytes && pool->queued_bytes && pool->queued_bytes + bytes > pool->max_bytes)
		return mor_fail(
			err, MORTISE_EOVERLOAD,
			"calls with %s of params already wait for a worker; with this one they would be over "
			"the limit of %s (limits.queue for each worker)",
			mor_format_bytes(pool->queued_bytes, waiting), mor_format_bytes(pool->max_bytes, all));
	return 0;
}

int mortise_pool_call(mortise_pool *pool, const char *action, mortise_json params,
		      const mortise_call_options *given, mortise_call **ret_call, mortise_error *err)
{
	mortise_call_options opt;
	struct mor_pool_job *job;
	int r;

	if (!pool || !action)
		return mor_fail(err, MORTISE_EINVAL, "pool and action must be given");
	if ((r = mor_host_check_thread(pool->host, err)) < 0 ||
	    (r = mor_import_options(given, &opt, sizeof(opt), err)) < 0)
		return r;
	if ((r = check_room(pool, params.len, err)) < 0)
		return r;
	job = mor_pool_job_new(pool, action, params, &opt);
	if (!job)
		return mor_fail_memory(err);
	if (mor_pool_job_wait(job) < 0) {
		mor_pool_job_free(job);
		return mor_fail_memory(err);
	}
	if (ret_call)
		*ret_call = (mortise_call *)job;
	return 0;
}

int mortise_pool_stop(mortise_pool *pool, enum mortise_stop how, mortise_error *err)
{
	int r = pool ? mor_host_check_thread(pool->host, err) :
		       mor_fail(err, MORTISE_EINVAL, "a pool must be given");

	if (r < 0)
		return r;
	MOR_HOLD_POOL(pool);
	pool->stopping = true;
	fail_waiting(pool, MORTISE_ECLOSED, "the pool is being stopped");
	for (uint32_t i = 0; !pool->freed && i < pool->count && r == 0; i++)
		r = mortise_plugin_stop(pool->workers[i], how, err);
	return r;
}

mortise_plugin *mortise_pool_worker(mortise_pool *pool, uint32_t index)
{
	return pool && mor_owner_is_us(pool->host->owner) && index < pool->count ? pool->workers[index] : NULL;
}
