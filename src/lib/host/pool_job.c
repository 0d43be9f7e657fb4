/* SPDX-License-Identifier: Apache-2.0 */
/* A job of a pool: it waits, a worker has it, it is tried again or ends. See pool.h. */
#include "host/pool_job.h"
#include "base/alloc.h"
#include "base/error.h"
#include "host/embedder.h"

/* ---- making ---- */

struct mor_pool_job *mor_pool_job_new(mortise_pool *pool, const char *action, mortise_json params,
				      const mortise_call_options *opt)
{
	struct mor_pool_job *job = mor_zalloc(sizeof(*job));
	bool lent = opt->flags & MORTISE_LENT && opt->on_reply; /* without it nobody knows how long */

	if (!job)
		return NULL;
	job->kind.of_pool = true;
	mor_list_init(&job->node);
	job->pool = pool;
	job->action = mor_strdup(action);
	if (params.text && !lent)
		job->copy = mor_strndup(params.text, params.len);
	job->params = lent ? params.text : job->copy;
	job->params_len = params.len;
	job->extra = opt->extra.text ? mor_strndup(opt->extra.text, opt->extra.len) : NULL;
	if (!job->action || (params.text && !job->params) || (opt->extra.text && !job->extra)) {
		mor_pool_job_free(job);
		return NULL;
	}
	job->opt = *opt;
	job->opt.extra.text = job->extra;
	job->number = pool->next_number++;
	return job;
}

void mor_pool_job_free(struct mor_pool_job *job)
{
	mor_task_stop(&job->cancel_task);
	mor_free(job->action);
	mor_free(job->copy);
	mor_free(job->extra);
	mor_free(job);
}

/* ---- telling ---- */

void mor_pool_job_tell(const struct mor_pool_job *job, const mortise_reply *reply)
{
	mortise_host *host = job->pool->host;
	mortise_reply ours = *reply;

	if (!job->opt.on_reply || host->is_copy)
		return;
	ours.call = (mortise_call *)job; /* not that of the worker: there may be several, one after the other */
	MOR_EMBEDDER(host);
	job->opt.on_reply(&ours, job->opt.arg);
}

static void finish_job(struct mor_pool_job *job, const mortise_reply *reply)
{
	mor_pool_job_tell(job, reply);
	mor_pool_job_free(job);
}

void mor_pool_job_fail(struct mor_pool_job *job, const mortise_error *error, struct mor_slice data)
{
	finish_job(job, &(mortise_reply){ .status = error->code,
					  .error = error,
					  .plugin = job->worker,
					  .error_data = { data.ptr, data.len } });
}

/* ---- waiting ---- */

struct mor_pool_job *mor_pool_job_first(const mortise_pool *pool)
{
	return mor_container_of(pool->jobs.next, struct mor_pool_job, node);
}

static uint32_t rest_ms(const struct mor_pool_job *job)
{
	int64_t rest = job->due_ms - mor_loop_now_ms(job->pool->host->loop);

	return rest > 0 ? (uint32_t)rest : 0;
}

struct mor_pool_job *mor_pool_job_take(struct mor_pool_job *job)
{
	mor_timer_stop(&job->timer);
	mor_list_remove(&job->node);
	if (job->pool->last_back == job)
		job->pool->last_back = NULL;
	job->pool->queued--;
	job->pool->queued_bytes -= job->params_len;
	return job;
}

static void on_queue_timer(struct mor_timer *timer)
{
	struct mor_pool_job *job = mor_container_of(timer, struct mor_pool_job, timer);
	const mortise_plugin *any = job->pool->workers[0];
	mortise_error error;

	MOR_HOLD_POOL(job->pool);
	mor_fail(&error, MORTISE_ETIMEOUT, "%s: \"%s\" could not be sent in %u ms: no worker was free",
		 any->peer.name, job->action, job->opt.queue_ms);
	error.rpc_code = mor_dialect_code_for(any->peer.dialect, MORTISE_ETIMEOUT, error.rpc_code);
	mor_pool_job_fail(mor_pool_job_take(job), &error, (struct mor_slice){ 0 });
}

/* The job's queue_ms and its patience begin. */
static void begin_to_wait(struct mor_pool_job *job)
{
	job->due_ms = job->opt.queue_ms ? mor_loop_due_ms(job->pool->host->loop, job->opt.queue_ms) : 0;
	job->vain_since = job->pool->vain_starts;
}

/* Into the queue before `next`. Fails only with MORTISE_ENOMEM, and then it is in no list. */
static int enqueue_job(struct mor_pool_job *job, struct mor_list *next)
{
	mortise_pool *pool = job->pool;

	if (job->due_ms && mor_timer_set(pool->host->loop, &job->timer, rest_ms(job), on_queue_timer) < 0)
		return MORTISE_ENOMEM;
	mor_list_append(next, &job->node);
	pool->queued++;
	pool->queued_bytes += job->params_len;
	mor_pool_wake(pool);
	return 0;
}

int mor_pool_job_wait(struct mor_pool_job *job)
{
	begin_to_wait(job);
	return enqueue_job(job, &job->pool->jobs);
}

/* The job's place is before all jobs that were called later. The jobs of one worker come back in the order of
 * the calls, so the search begins behind the last one that came back. */
static struct mor_list *place_of(const struct mor_pool_job *job)
{
	mortise_pool *pool = job->pool;
	bool behind = pool->last_back && pool->last_back->number < job->number;
	struct mor_list *next = behind ? pool->last_back->node.next : pool->jobs.next;

	while (next != &pool->jobs && mor_container_of(next, struct mor_pool_job, node)->number < job->number)
		next = next->next;
	return next;
}

static void requeue_job(struct mor_pool_job *job)
{
	mortise_error error;

	if (enqueue_job(job, place_of(job)) == 0) {
		job->pool->last_back = job;
		return;
	}
	mor_fail_memory_of(&error, job->worker->peer.name);
	mor_pool_job_fail(job, &error, (struct mor_slice){ 0 });
}

/* ---- trying ---- */

/* Does the error's data say so, at the dialect's pointer? */
static bool says_recoverable(const mortise_reply *reply)
{
	const char *pointer = reply->plugin->peer.dialect->recoverable;
	struct mor_doc *doc = NULL;
	bool recoverable;

	if (!pointer || !reply->error_data.text ||
	    mor_doc_parse((struct mor_slice){ reply->error_data.text, reply->error_data.len }, MOR_JSON_NAN, 0,
			  &doc, NULL) < 0)
		return false;
	recoverable = mor_json_bool(mor_json_at(mor_doc_root(doc), pointer), false);
	mor_doc_free(doc);
	return recoverable;
}

/* The job's worker ended before a byte of it was written. That does not count as a try, but may happen
 * only so often. */
static bool has_bounced(struct mor_pool_job *job, int status)
{
	if (job->pool->stopping ||
	    (status != MORTISE_ECLOSED && status != MORTISE_ECRASHED && status != MORTISE_EPROTO))
		return false;
	job->tries--;
	return job->bounces++ < job->pool->count;
}

static bool worth_another_try(struct mor_pool_job *job, const mortise_reply *reply)
{
	if (job->pool->stopping || job->tries > job->pool->retries)
		return false;
	if (reply->status != MORTISE_ECRASHED && !(reply->status == MORTISE_EREMOTE && says_recoverable(reply)))
		return false;
	begin_to_wait(job);
	return true;
}

static void on_job_reply(const mortise_reply *reply, void *arg)
{
	struct mor_pool_job *job = arg;

	if (!job->pool) {
		if (!reply->more)
			mor_pool_job_free(job);
		return;
	}
	if (reply->more) {
		mor_pool_job_tell(job, reply);
		return;
	}
	MOR_HOLD_POOL(job->pool);
	mor_list_remove(&job->node);
	job->call = NULL;
	job->worker->seat.load--;
	if (reply->call->reached ? worth_another_try(job, reply) : has_bounced(job, reply->status))
		requeue_job(job);
	else
		finish_job(job, reply);
}

void mor_pool_job_run(struct mor_pool_job *job, mortise_plugin *worker)
{
	mortise_pool *pool = job->pool;
	mortise_call_options opt = job->opt;
	mortise_error error;
	int r;

	opt.size = sizeof(opt);
	opt.flags |= MORTISE_LENT; /* by the job, if not by the embedder */
	opt.queue_ms = !job->due_ms ? 0 : rest_ms(job) ? rest_ms(job) : 1;
	opt.on_reply = on_job_reply;
	opt.arg = job;
	MOR_HOLD(worker);
	job->worker = worker;
	job->tries++;
	mor_list_append(&pool->given, &job->node);
	worker->seat.load++;
	r = mortise_call_start(worker, job->action, (mortise_json){ job->params, job->params_len }, &opt,
			       &job->call, &error);
	if (r == 0) {
		pool->vain_until = pool->vain_starts;
		return;
	}
	if (!job->pool) { /* the warnings about its params have freed the pool */
		mor_pool_job_free(job);
		return;
	}
	mor_list_remove(&job->node);
	worker->seat.load--;
	if (has_bounced(job, r))
		requeue_job(job);
	else
		mor_pool_job_fail(job, &error, (struct mor_slice){ 0 });
}

/* ---- cancelling ---- */

static void on_job_cancel(struct mor_task *task)
{
	struct mor_pool_job *job = mor_container_of(task, struct mor_pool_job, cancel_task);
	mortise_error error;

	if (!job->pool) /* freed meanwhile: its last callback has been */
		return;
	MOR_HOLD_POOL(job->pool);
	if (job->call) {
		mor_call_cancel_now(job->call);
		return;
	}
	mor_fail(&error, MORTISE_ECANCELED, "%s: \"%s\" was cancelled", job->pool->workers[0]->peer.name,
		 job->action);
	mor_pool_job_fail(mor_pool_job_take(job), &error, (struct mor_slice){ 0 });
}

int mor_pool_job_cancel(struct mor_pool_job *job, mortise_error *err)
{
	int r = job->pool ? mor_host_check_thread(job->pool->host, err) :
			    mor_fail(err, MORTISE_EINVAL, "the call has ended already");

	if (r == 0)
		mor_loop_post(job->pool->host->loop, &job->cancel_task, on_job_cancel);
	return r;
}
