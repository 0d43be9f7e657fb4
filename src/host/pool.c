/* Several workers of one plugin behind one queue. Built on the public calls; knows nothing of links. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "host/host.h"

#define PIPELINED 4 /* calls a worker without an in-flight limit may have at once */

struct job {
	struct mor_list node;
	mortise_pool *pool;
	mortise_plugin *worker;
	char *action, *params, *extra;
	size_t params_len;
	mortise_call_options opt;
	unsigned tries;
};

static void on_task(struct mor_task *task);

static void free_job(struct job *job)
{
	mor_list_remove(&job->node);
	mor_free(job->action);
	mor_free(job->params);
	mor_free(job->extra);
	mor_free(job);
}

static void finish(struct job *job, const mortise_reply *reply)
{
	mortise_host *host = job->pool->host;

	mor_list_remove(&job->node);
	if (job->opt.on_reply) {
		host->in_callback++;
		job->opt.on_reply(reply, job->opt.arg);
		host->in_callback--;
	}
	free_job(job);
}

static void fail_job(struct job *job, const mortise_error *error)
{
	finish(job, &(mortise_reply){ .status = error->code, .error = error, .plugin = job->worker });
}

static void pump_later(mortise_pool *pool)
{
	mor_loop_post(pool->host->loop, &pool->task, on_task);
}

/* An error whose data says so, at the dialect's pointer. */
static bool says_recoverable(const mortise_reply *reply)
{
	const char *pointer = reply->plugin->dialect->recoverable;
	struct mor_doc *doc = NULL;
	bool recoverable;

	if (!pointer || !reply->error_data.text ||
	    mor_doc_parse((struct mor_slice){ reply->error_data.text, reply->error_data.len }, MOR_JSON_NAN, 0, &doc, NULL) < 0)
		return false;
	recoverable = mor_json_bool(mor_json_at(mor_doc_root(doc), pointer), false);
	mor_doc_free(doc);
	return recoverable;
}

static bool worth_another_try(const struct job *job, const mortise_reply *reply)
{
	if (job->tries > job->pool->retries || job->pool->stopping)
		return false;
	return reply->status == MORTISE_ECRASHED || (reply->status == MORTISE_EREMOTE && says_recoverable(reply));
}

static void on_reply(const mortise_reply *reply, void *arg)
{
	struct job *job = arg;
	mortise_pool *pool = job->pool;

	if (reply->more) {
		if (job->opt.on_reply)
			job->opt.on_reply(reply, job->opt.arg);
		return;
	}
	job->worker->pool_load--;
	pump_later(pool);
	if (worth_another_try(job, reply)) {
		mor_list_remove(&job->node);
		mor_list_prepend(&pool->jobs, &job->node);
		pool->queued++;
		return;
	}
	finish(job, reply);
}

/* The least busy worker with room; among equals one that already runs, so that -j 8 with two files starts
 * two processes, not eight. */
static mortise_plugin *pick(const mortise_pool *pool)
{
	mortise_plugin *best = NULL;

	for (uint32_t i = 0; i < pool->count; i++) {
		mortise_plugin *worker = pool->workers[i];

		if (worker->pool_load >= pool->per_worker || worker->state == MORTISE_FAILED || worker->state == MORTISE_DRAINING)
			continue;
		if (!best || worker->pool_load < best->pool_load ||
		    (worker->pool_load == best->pool_load && worker->state == MORTISE_READY && best->state != MORTISE_READY))
			best = worker;
	}
	return best;
}

static bool all_failed(const mortise_pool *pool)
{
	for (uint32_t i = 0; i < pool->count; i++) {
		if (pool->workers[i]->state != MORTISE_FAILED)
			return false;
	}
	return true;
}

static void run_job(struct job *job, mortise_plugin *worker)
{
	mortise_call_options opt = job->opt;
	mortise_error error;

	opt.size = sizeof(opt);
	opt.on_reply = on_reply;
	opt.arg = job;
	job->worker = worker;
	job->tries++;
	mor_list_append(&job->pool->active, &job->node);
	worker->pool_load++;
	if (mortise_call_start(worker, job->action, (mortise_json){ job->params, job->params_len }, &opt, NULL, &error) < 0) {
		worker->pool_load--;
		fail_job(job, &error);
	}
}

static void on_task(struct mor_task *task)
{
	mortise_pool *pool = mor_container_of(task, mortise_pool, task);

	while (!pool->freed && !mor_list_empty(&pool->jobs)) {
		struct job *job = mor_container_of(pool->jobs.next, struct job, node);
		mortise_plugin *worker = pick(pool);

		if (!worker && !all_failed(pool))
			return;
		mor_list_remove(&job->node);
		pool->queued--;
		if (worker)
			run_job(job, worker);
		else
			fail_job(job, &pool->workers[0]->failure);
	}
}

static int make_workers(mortise_pool *pool, const mortise_plugin_options *opt, mortise_error *err)
{
	for (uint32_t i = 0; i < pool->count; i++) {
		int r = mortise_plugin_new(pool->host, opt, &pool->workers[i], err);

		if (r < 0)
			return r;
	}
	pool->per_worker = pool->workers[0]->max_in_flight ? pool->workers[0]->max_in_flight : PIPELINED;
	return 0;
}

int mortise_pool_new(mortise_host *host, const mortise_plugin_options *plugin_opt, const mortise_pool_options *given,
		     mortise_pool **ret_pool, mortise_error *err)
{
	mortise_pool_options opt;
	mortise_pool *pool;
	int r = mor_host_check_thread(host, err);

	if (r < 0 || (r = mor_import_options(given, &opt, sizeof(opt), err)) < 0)
		return r;
	pool = mor_zalloc(sizeof(*pool));
	if (!pool)
		return mor_fail(err, MORTISE_ENOMEM, "out of memory");
	pool->host = host;
	pool->count = opt.workers ? opt.workers : (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
	pool->retries = opt.retries;
	pool->max_queue = opt.max_queue ? opt.max_queue : 65536;
	mor_list_init(&pool->node);
	mor_list_init(&pool->jobs);
	mor_list_init(&pool->active);
	pool->workers = mor_zalloc(pool->count * sizeof(mortise_plugin *));
	r = pool->workers ? make_workers(pool, plugin_opt, err) : mor_fail(err, MORTISE_ENOMEM, "out of memory");
	if (r < 0) {
		mortise_pool_free(pool);
		return r;
	}
	mor_list_append(&host->pools, &pool->node);
	*ret_pool = pool;
	return 0;
}

static void free_memory(struct mor_grave *grave)
{
	mortise_pool *pool = mor_container_of(grave, mortise_pool, grave);

	mor_free(pool->workers);
	mor_free(pool);
}

mortise_pool *mortise_pool_free(mortise_pool *pool)
{
	mortise_error error;

	if (!pool || pool->freed || mor_host_check_thread(pool->host, NULL) < 0)
		return NULL;
	pool->freed = pool->stopping = true;
	mor_list_remove(&pool->node);
	for (uint32_t i = 0; pool->workers && i < pool->count; i++) {
		if (pool->workers[i])
			mortise_plugin_unref(pool->workers[i]);
	}
	mor_fail(&error, MORTISE_ECANCELED, "the pool was released");
	while (!mor_list_empty(&pool->jobs))
		fail_job(mor_container_of(pool->jobs.next, struct job, node), &error);
	mor_task_stop(&pool->task);
	mor_loop_free_later(pool->host->loop, &pool->grave, free_memory);
	return NULL;
}

static struct job *make_job(mortise_pool *pool, const char *action, mortise_json params)
{
	struct job *job = mor_zalloc(sizeof(*job));

	if (!job)
		return NULL;
	mor_list_init(&job->node);
	job->pool = pool;
	job->action = mor_strdup(action);
	job->params = params.text ? mor_strndup(params.text, params.len) : NULL;
	job->params_len = params.len;
	if (!job->action || (params.text && !job->params)) {
		free_job(job);
		return NULL;
	}
	return job;
}

int mortise_pool_call(mortise_pool *pool, const char *action, mortise_json params, const mortise_call_options *given,
		      mortise_error *err)
{
	mortise_call_options opt;
	struct job *job;
	int r;

	if (!pool || !action)
		return mor_fail(err, MORTISE_EINVAL, "pool and action must be given");
	if ((r = mor_host_check_thread(pool->host, err)) < 0 || (r = mor_import_options(given, &opt, sizeof(opt), err)) < 0)
		return r;
	if (pool->stopping)
		return mor_fail(err, MORTISE_ECLOSED, "the pool is being stopped");
	if (pool->queued >= pool->max_queue)
		return mor_fail(err, MORTISE_EOVERLOAD, "%u calls wait for a worker already", pool->queued);
	job = make_job(pool, action, params);
	if (!job)
		return mor_fail(err, MORTISE_ENOMEM, "out of memory");
	job->opt = opt;
	if (opt.extra.text && !(job->extra = mor_strndup(opt.extra.text, opt.extra.len))) {
		free_job(job);
		return mor_fail(err, MORTISE_ENOMEM, "out of memory");
	}
	job->opt.extra.text = job->extra;
	mor_list_append(&pool->jobs, &job->node);
	pool->queued++;
	pump_later(pool);
	return 0;
}

int mortise_pool_stop(mortise_pool *pool, enum mortise_stop how)
{
	int r = pool ? mor_host_check_thread(pool->host, NULL) : MORTISE_EINVAL;
	mortise_error error;

	if (r < 0)
		return r;
	pool->stopping = true;
	mor_fail(&error, MORTISE_ECLOSED, "the pool is being stopped");
	while (!pool->freed && !mor_list_empty(&pool->jobs)) {
		pool->queued--;
		fail_job(mor_container_of(pool->jobs.next, struct job, node), &error);
	}
	for (uint32_t i = 0; !pool->freed && i < pool->count && r == 0; i++)
		r = mortise_plugin_stop(pool->workers[i], how);
	return r;
}

mortise_plugin *mortise_pool_worker(mortise_pool *pool, uint32_t index)
{
	return pool && index < pool->count ? pool->workers[index] : NULL;
}
