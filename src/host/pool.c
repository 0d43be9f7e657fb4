/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several workers of one plugin behind one queue. A job stays in that queue until a worker is READY and has room for it, so
 * none is bound to one that starts, breaks or waits for its restart. The pool acts in a task, which every change that
 * could matter posts: a new job, a worker's change of state, a slot that became free.
 *
 * Nothing waits without an end: a job's queue_ms runs here; a worker that starts, greets, drains or backs off has timers
 * of its own; and jobs give up where no worker is ready and too many starts were in vain.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "host/host.h"

#define PIPELINED 4 /* calls a worker without an in-flight limit may have at once */
#define SPAWN_STEPS 128 /* what a start counts for in a dispatch: some hundred microseconds */

struct job {
	struct mor_list node;    /* in the pool's queue, or in `given` */
	struct mor_timer timer;  /* queue_ms, while it is in the queue */
	int64_t due_ms;          /* when that is over */
	mortise_pool *pool;      /* NULL: freed, and so this job is over; only its call is not */
	mortise_plugin *worker;  /* who had it last; NULL: nobody yet */
	char *action, *params, *extra;
	size_t params_len;
	mortise_call_options opt;
	uint64_t number;         /* its place in the order of the calls */
	uint64_t vain_since;     /* pool->vain_starts when it began to wait */
	unsigned tries;          /* that reached a worker's process */
	unsigned bounces;        /* back from a worker without having reached it */
};

/* ---- holding: any callback may free the pool ---- */

static void free_memory(mortise_pool *pool)
{
	mor_task_stop(&pool->task);
	mor_free(pool->workers);
	mor_free(pool);
}

static void drop_at(mortise_pool **pool)
{
	if (--(*pool)->holds == 0 && (*pool)->freed)
		free_memory(*pool);
}

static mortise_pool *hold(mortise_pool *pool)
{
	pool->holds++;
	return pool;
}
#define HOLD(pool) __attribute__((cleanup(drop_at), unused)) mortise_pool *held_ = hold(pool)

/* ---- workers ---- */

static bool has_failed(const mortise_plugin *worker)
{
	return worker->state == MORTISE_FAILED || (worker->state == MORTISE_DRAINING && worker->after_drain == MORTISE_FAILED);
}

static bool is_coming(const mortise_plugin *worker)
{
	return worker->state == MORTISE_STARTING || worker->state == MORTISE_GREETING;
}

static bool is_ready(const mortise_plugin *worker)
{
	return worker->state == MORTISE_READY;
}

static uint32_t count_if(const mortise_pool *pool, bool (*is)(const mortise_plugin *))
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < pool->count; i++)
		count += is(pool->workers[i]);
	return count;
}

/* Ghosts, pings and what the embedder itself calls take slots, too; notes take none. */
static unsigned load(const mortise_plugin *worker)
{
	unsigned slots = worker->in_flight + worker->waiting;

	return slots > worker->pool_load ? slots : worker->pool_load;
}

/* One whose pipe broke stays READY for a moment, until its exit tells why; idle as it looks, it takes nothing any more. */
static bool is_whole(const mortise_plugin *worker)
{
	return is_ready(worker) && !worker->broken && worker->link && !worker->link->input_broken;
}

static bool takes_calls(const mortise_pool *pool, const mortise_plugin *worker)
{
	return is_whole(worker) && !worker->spent && load(worker) < pool->per_worker;
}

/* One whose last process came to nothing is left alone as long as others do the work: nothing would pace its starts. */
static bool may_be_started(const mortise_plugin *worker, bool others_work)
{
	return worker->state == MORTISE_STOPPED && !(worker->came_to_nothing && others_work);
}

/* How many starts in vain a job sits out. They cost no work, so even one that is not tried again sits out one. */
static uint64_t patience(const mortise_pool *pool)
{
	return pool->retries ? pool->retries : 1;
}

/* A crash or a lack may not happen again; a refusal or a time-out would. */
static bool may_do_better(const mortise_plugin *worker)
{
	int code = worker->failure.code;

	return !has_failed(worker) && (code == MORTISE_ECRASHED || code == MORTISE_ECLOSED || mor_error_is_lack(&worker->failure));
}

void mor_pool_worker_moved(mortise_plugin *worker, enum mortise_state from)
{
	mortise_pool *pool = worker->pool;
	bool was_up = from == MORTISE_STARTING || from == MORTISE_GREETING || from == MORTISE_READY;

	if (was_up && !is_coming(worker) && !is_ready(worker)) {
		worker->came_to_nothing = worker->unproven;
		if (worker->unproven)
			pool->blamed = worker;
		if (worker->unproven && !count_if(pool, is_ready))
			pool->vain_starts += may_do_better(worker) ? 1 : patience(pool) + 1;
	}
	if (has_failed(worker))
		pool->blamed = worker;
	mor_pool_wake(pool);
}

/* ---- jobs ---- */

static struct job *first_job(const mortise_pool *pool)
{
	return mor_container_of(pool->jobs.next, struct job, node);
}

static void free_job(struct job *job)
{
	mor_free(job->action);
	mor_free(job->params);
	mor_free(job->extra);
	mor_free(job);
}

static void tell(const struct job *job, const mortise_reply *reply)
{
	mortise_host *host = job->pool->host;
	mortise_reply ours = *reply;

	if (!job->opt.on_reply || host->is_copy)
		return;
	ours.call = NULL; /* it may have several, one after the other */
	host->in_callback++;
	job->opt.on_reply(&ours, job->opt.arg);
	host->in_callback--;
}

/* The job is in no list. */
static void finish(struct job *job, const mortise_reply *reply)
{
	tell(job, reply);
	free_job(job);
}

static void fail_job(struct job *job, const mortise_error *error, struct mor_slice data)
{
	finish(job, &(mortise_reply){ .status = error->code, .error = error, .plugin = job->worker,
				      .error_data = { data.ptr, data.len } });
}

static uint32_t rest_ms(const struct job *job)
{
	int64_t rest = job->due_ms - mor_loop_now_ms(job->pool->host->loop);

	return rest > 0 ? (uint32_t)rest : 0;
}

static struct job *unqueue(struct job *job)
{
	mor_timer_stop(&job->timer);
	mor_list_remove(&job->node);
	job->pool->queued--;
	job->pool->queued_bytes -= job->params_len;
	return job;
}

static void on_queue_timer(struct mor_timer *timer)
{
	struct job *job = mor_container_of(timer, struct job, timer);
	const mortise_plugin *any = job->pool->workers[0];
	mortise_error error;

	HOLD(job->pool);
	mor_fail(&error, MORTISE_ETIMEOUT, "%s: \"%s\" could not be sent in %u ms: no worker was free", any->session.name,
		 job->action, job->opt.queue_ms);
	error.rpc_code = mor_dialect_code_for(any->dialect, MORTISE_ETIMEOUT, error.rpc_code);
	fail_job(unqueue(job), &error, (struct mor_slice){ 0 });
}

/* Its queue_ms and its patience begin. */
static void begin_to_wait(struct job *job)
{
	job->due_ms = job->opt.queue_ms ? mor_loop_due_ms(job->pool->host->loop, job->opt.queue_ms) : 0;
	job->vain_since = job->pool->vain_starts;
}

/* Into the queue before `next`. Fails only with MORTISE_ENOMEM, and then it is in no list. */
static int enqueue(struct job *job, struct mor_list *next)
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

/* Back to its old place: before all that were called later. Those before it are few: they have come back, too. */
static void requeue(struct job *job)
{
	struct mor_list *next = job->pool->jobs.next;
	mortise_error error;

	while (next != &job->pool->jobs && mor_container_of(next, struct job, node)->number < job->number)
		next = next->next;
	if (enqueue(job, next) < 0) {
		mor_fail(&error, MORTISE_ENOMEM, "%s: out of memory", job->worker->session.name);
		fail_job(job, &error, (struct mor_slice){ 0 });
	}
}

/* ---- trying ---- */

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

/* Its worker's end took it along before a byte of it was written. That was no try; but so often at most. */
static bool has_bounced(struct job *job, int status)
{
	if (job->pool->stopping || (status != MORTISE_ECLOSED && status != MORTISE_ECRASHED && status != MORTISE_EPROTO))
		return false;
	job->tries--;
	return job->bounces++ < job->pool->count;
}

static bool worth_another_try(struct job *job, const mortise_reply *reply)
{
	if (job->pool->stopping || job->tries > job->pool->retries)
		return false;
	if (reply->status != MORTISE_ECRASHED && !(reply->status == MORTISE_EREMOTE && says_recoverable(reply)))
		return false;
	begin_to_wait(job);
	return true;
}

static void on_reply(const mortise_reply *reply, void *arg)
{
	struct job *job = arg;

	if (!job->pool) {
		if (!reply->more)
			free_job(job);
		return;
	}
	if (reply->more) {
		tell(job, reply);
		return;
	}
	HOLD(job->pool);
	mor_list_remove(&job->node);
	job->worker->pool_load--;
	if (reply->call->reached ? worth_another_try(job, reply) : has_bounced(job, reply->status))
		requeue(job);
	else
		finish(job, reply);
}

static void run_job(struct job *job, mortise_plugin *worker)
{
	mortise_pool *pool = job->pool;
	mortise_call_options opt = job->opt;
	mortise_error error;
	int r;

	opt.size = sizeof(opt);
	opt.queue_ms = !job->due_ms ? 0 : rest_ms(job) ? rest_ms(job) : 1;
	opt.on_reply = on_reply;
	opt.arg = job;
	MOR_HOLD(worker);
	job->worker = worker;
	job->tries++;
	mor_list_append(&pool->given, &job->node);
	worker->pool_load++;
	r = mortise_call_start(worker, job->action, (mortise_json){ job->params, job->params_len }, &opt, NULL, &error);
	if (r == 0) {
		pool->vain_until = pool->vain_starts;
		return;
	}
	if (!job->pool) { /* the warnings about its params have freed the pool */
		free_job(job);
		return;
	}
	mor_list_remove(&job->node);
	worker->pool_load--;
	if (has_bounced(job, r))
		requeue(job);
	else
		fail_job(job, &error, (struct mor_slice){ 0 });
}

/* ---- the task ---- */

/* Is there, or will there be, anybody but this one? */
static bool has_others(const mortise_pool *pool, const mortise_plugin *than)
{
	for (uint32_t i = 0; i < pool->count; i++) {
		const mortise_plugin *worker = pool->workers[i];

		if (worker != than && (is_whole(worker) || is_coming(worker) || may_be_started(worker, true)))
			return true;
	}
	return false;
}

/* The least busy worker with room. But nothing is put behind a call as long as a worker comes up, or can, that has none: so
 * that few long calls use all processors, and "-j 8" with two files starts two processes, not eight. */
static mortise_plugin *pick(const mortise_pool *pool, const struct job *job)
{
	const mortise_plugin *shunned = job->bounces && has_others(pool, job->worker) ? job->worker : NULL;
	mortise_plugin *best = NULL;
	bool another = false;

	for (uint32_t i = 0; i < pool->count; i++) {
		mortise_plugin *worker = pool->workers[i];

		another |= is_coming(worker) || may_be_started(worker, true);
		if (worker != shunned && takes_calls(pool, worker) && (!best || load(worker) < load(best)))
			best = worker;
	}
	return best && load(best) && another ? NULL : best;
}

/* Is it time for others? Then the task runs again. */
static bool pauses(mortise_pool *pool)
{
	if (!mor_loop_spent(pool->host->loop))
		return false;
	mor_pool_wake(pool);
	return true;
}

/* Each loop below looks at no more jobs than were there when it began: callbacks may add some. */
static void hand_out(mortise_pool *pool)
{
	mortise_plugin *worker;

	for (uint32_t n = pool->queued; n && !pool->freed && pool->queued && (worker = pick(pool, first_job(pool))); n--) {
		if (pauses(pool))
			return;
		run_job(unqueue(first_job(pool)), worker);
	}
}

/* One for each job that nobody comes for. */
static void start_workers(mortise_pool *pool)
{
	uint32_t coming = pool->freed ? 0 : count_if(pool, is_coming);

	for (uint32_t i = 0; !pool->freed && i < pool->count && pool->queued > coming; i++) {
		mortise_plugin *worker = pool->workers[i];

		if (!may_be_started(worker, count_if(pool, is_ready)))
			continue;
		if (pauses(pool))
			return;
		MOR_HOLD(worker);
		mor_loop_charge(pool->host->loop, SPAWN_STEPS);
		coming += mor_supervise_start(worker, NULL) == 0;
	}
}

/* Where no worker is ready: has this job seen enough? While one comes up it waits for that; unless it has come to that
 * again and again, with workers that come and go in turn. */
static bool has_seen_enough(const struct job *job)
{
	const mortise_pool *pool = job->pool;
	uint64_t since = job->vain_since > pool->vain_until ? job->vain_since : pool->vain_until;
	uint64_t vain = pool->vain_starts - since, enough = patience(pool) + 1;

	if (count_if(pool, has_failed) == pool->count)
		return true;
	return vain >= (count_if(pool, is_coming) ? enough * pool->count : enough);
}

static void give_up(mortise_pool *pool)
{
	MOR_CLEAN(mor_buf) struct mor_buf data = MOR_BUF_INIT;
	mortise_error error;

	if (pool->freed || !pool->queued || !pool->blamed || count_if(pool, is_ready))
		return;
	/* Copies: a callback may start the worker again. */
	error = pool->blamed->failure;
	if (mor_buf_slice(&data, mor_buf_view(&pool->blamed->failure_data)) < 0)
		mor_buf_fini(&data);
	for (uint32_t n = pool->queued; n && !pool->freed && pool->queued && has_seen_enough(first_job(pool)); n--) {
		if (pauses(pool))
			return;
		fail_job(unqueue(first_job(pool)), &error, mor_buf_view(&data));
	}
}

void mor_pool_on_task(struct mor_task *task)
{
	mortise_pool *pool = mor_container_of(task, mortise_pool, task);

	HOLD(pool);
	hand_out(pool);
	give_up(pool); /* before others are started: they would be refused as well */
	start_workers(pool);
}

/* ---- the public functions ---- */

static int make_workers(mortise_pool *pool, const mortise_plugin_options *opt, mortise_error *err)
{
	for (uint32_t i = 0; i < pool->count; i++) {
		int r = mortise_plugin_new(pool->host, opt, &pool->workers[i], err);

		if (r < 0)
			return r;
		pool->workers[i]->pool = pool;
	}
	pool->per_worker = pool->workers[0]->max_in_flight ? pool->workers[0]->max_in_flight : PIPELINED;
	pool->max_bytes = pool->workers[0]->link_options.queue_limit * pool->count;
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
	mor_list_init(&pool->given);
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

static void fail_waiting(mortise_pool *pool, int code, const char *why)
{
	mortise_error error;

	mor_fail(&error, code, "%s", why);
	while (pool->queued)
		fail_job(unqueue(first_job(pool)), &error, (struct mor_slice){ 0 });
}

/* What has not ended with its worker is in the hands of somebody up the stack, who will tell of its end when we have
 * returned and the embedder does not expect it any more. */
static void end_given(mortise_pool *pool)
{
	mortise_error error;

	mor_fail(&error, MORTISE_ECANCELED, "the pool was released");
	while (!mor_list_empty(&pool->given)) {
		struct job *job = mor_container_of(mor_list_pop(&pool->given), struct job, node);

		tell(job, &(mortise_reply){ .status = error.code, .error = &error, .plugin = job->worker });
		job->pool = NULL;
	}
}

/* The workers end with the pool, even those that the embedder holds: what they were doing was the pool's. */
mortise_pool *mortise_pool_free(mortise_pool *pool)
{
	uint32_t made = 0;

	if (!pool || mor_host_check_leaving(pool->host) < 0)
		return pool;
	if (pool->freed)
		return NULL;
	HOLD(pool);
	pool->freed = pool->stopping = true;
	mor_list_remove(&pool->node);
	for (; pool->workers && made < pool->count && pool->workers[made]; made++)
		pool->workers[made]->pool = NULL;
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
	hold(pool);
	mortise_pool_free(pool);
	mor_list_append(closed, &pool->node);
}

void mor_pool_free_closed(struct mor_list *closed)
{
	struct mor_list *node;

	while ((node = mor_list_pop(closed))) {
		mortise_pool *pool = mor_container_of(node, mortise_pool, node);

		drop_at(&pool);
	}
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

static int check_room(const mortise_pool *pool, size_t bytes, mortise_error *err)
{
	char waiting[32], all[32];

	if (pool->stopping)
		return mor_fail(err, MORTISE_ECLOSED, "the pool is being stopped");
	if (pool->queued >= pool->max_queue)
		return mor_fail(err, MORTISE_EOVERLOAD, "%u calls wait for a worker already", pool->queued);
	/* One may always wait, however large; the limit is for those behind it. */
	if (pool->max_bytes && pool->queued_bytes && pool->queued_bytes + bytes > pool->max_bytes)
		return mor_fail(err, MORTISE_EOVERLOAD, "calls with %s of params wait for a worker already, and with this one they would be over the limit of %s (limits.queue for each worker)",
				mor_format_bytes(pool->queued_bytes, waiting), mor_format_bytes(pool->max_bytes, all));
	return 0;
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
	if ((r = check_room(pool, params.len, err)) < 0)
		return r;
	job = make_job(pool, action, params);
	if (!job)
		return mor_fail(err, MORTISE_ENOMEM, "out of memory");
	job->opt = opt;
	if (opt.extra.text && !(job->extra = mor_strndup(opt.extra.text, opt.extra.len))) {
		free_job(job);
		return mor_fail(err, MORTISE_ENOMEM, "out of memory");
	}
	job->opt.extra.text = job->extra;
	job->number = pool->next_number++;
	begin_to_wait(job);
	r = enqueue(job, &pool->jobs);
	if (r < 0) {
		free_job(job);
		return mor_fail(err, r, "out of memory");
	}
	return 0;
}

int mortise_pool_stop(mortise_pool *pool, enum mortise_stop how)
{
	int r = pool ? mor_host_check_thread(pool->host, NULL) : MORTISE_EINVAL;

	if (r < 0)
		return r;
	HOLD(pool);
	pool->stopping = true;
	fail_waiting(pool, MORTISE_ECLOSED, "the pool is being stopped");
	for (uint32_t i = 0; !pool->freed && i < pool->count && r == 0; i++)
		r = mortise_plugin_stop(pool->workers[i], how);
	return r;
}

mortise_plugin *mortise_pool_worker(mortise_pool *pool, uint32_t index)
{
	return pool && mor_owner_is_us(pool->host->owner) && index < pool->count ? pool->workers[index] : NULL;
}
