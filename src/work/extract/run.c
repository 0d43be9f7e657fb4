/* SPDX-License-Identifier: Apache-2.0 */
/* The run: jobs start here, and their rows leave in the order of the files. */
#include "base/processors.h"
#include "extract/extract.h"

#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "console/report.h"
#include "console/signals.h"

#define COST_PER_WORKER ((size_t)256 << 20)
#define COST_WORKERS    2 /* no further file is read while this many bytes are in work */
#define REDRAW_MS       200
#define JOB_KEEP        ((size_t)32 << 20)

/* ---- jobs ---- */

const char *mor_extract_job_name(const struct mor_extract_job *job)
{
	return strcmp(job->path, "-") == 0 ? "standard input" : job->path;
}

/* The slot in the ring stays taken until the row is printed. That limits the number of waiting rows. */
void mor_extract_job_settle(struct mor_extract_job *job)
{
	struct mor_extract *x = job->extract;

	job->state = MOR_EXTRACT_JOB_DONE;
	x->busy--;
	x->cost -= job->cost;
	job->cost = 0;
	mor_buf_fini(&job->data);
	mor_extract_spare_put(x, &job->params);
	x->console->progress.done++;
	x->console->progress.failed += job->err.code != 0;
}

void mor_extract_job_fail(struct mor_extract_job *job, int code, const char *format, ...)
{
	char text[sizeof(job->err.text)];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	mor_fail(&job->err, code, "%s", text);
}

/* While we stop, calls end as cancelled. That is not reported for each file. */
static void on_extract(const mortise_reply *reply, void *arg)
{
	struct mor_extract_job *job = arg;

	if (reply->more || job->extract->stopping)
		return;
	mor_extract_job_take_reply(job, reply);
	mor_extract_job_settle(job);
}

void mor_extract_job_send(struct mor_extract_job *job, struct mor_extract_plugin *extractor)
{
	struct mor_extract *x = job->extract;
	mortise_call_options opt = { .size = sizeof(opt),
				     .timeout_ms = x->runner.timeout_ms,
				     .flags = MORTISE_LENT,
				     .on_reply = on_extract,
				     .arg = job };
	int r = mor_extract_job_params(job);

	job->extractor = extractor;
	job->begun_ms = mor_clock_ms();
	if (r < 0)
		mor_extract_job_fail(job, r, "%s", mortise_status_text(r));
	else
		r = mortise_pool_call(extractor->pool, "extractor.extract",
				      (mortise_json){ job->params.data, job->params.len }, &opt, NULL,
				      &job->err);
	if (r < 0)
		mor_extract_job_settle(job);
}

/* Files are read here, one after the other. If reading fails, the job ends at once. */
static void start_job(struct mor_extract *x)
{
	size_t number = x->started++;
	struct mor_extract_job *job = &x->ring[number % x->window];

	job->extract = x;
	job->state = MOR_EXTRACT_JOB_BUSY;
	job->path = x->files[number];
	job->given = x->args->given ? &x->args->given[number] : NULL;
	x->busy++;
	mor_extract_job_prepare(job);
	if (mor_signals_count())
		return;
	job->cost = job->params.len;
	x->cost += job->cost;
	if (job->err.code == 0)
		mor_extract_kind_route(job);
	if (job->err.code && job->state == MOR_EXTRACT_JOB_BUSY)
		mor_extract_job_settle(job);
}

/* The next job in this place uses up to `keep` bytes of the row's memory again. */
static void clear_job(struct mor_extract_job *job, size_t keep)
{
	mor_buf_fini(&job->data);
	mor_buf_fini(&job->params);
	mor_buf_reset(&job->row, keep);
	mor_free(job->mime);
	mor_free(job->extension);
	mor_free(job->err_data);
	*job = (struct mor_extract_job){ .state = MOR_EXTRACT_JOB_FREE, .row = job->row };
}

void mor_extract_job_clear(struct mor_extract_job *job)
{
	clear_job(job, 0);
}

/* ---- the loop ---- */

/* Two limits: the number of files, and their bytes. A single file over the limit is still sent, alone. */
static void fill_window(struct mor_extract *x)
{
	while (x->started < x->file_count && x->started - x->printed < x->window &&
	       (x->busy == 0 || x->cost < x->cost_limit) && !x->fatal.code && !mor_signals_count())
		start_job(x);
}

/* In the order of the command line: rows wait for the oldest job. */
static void print_done(struct mor_extract *x)
{
	while (x->printed < x->started && x->ring[x->printed % x->window].state == MOR_EXTRACT_JOB_DONE) {
		struct mor_extract_job *job = &x->ring[x->printed % x->window];

		if (job->err.code)
			x->last_exit_code = mortise_status_exit_code(job->err.code);
		if (x->args->settled)
			x->args->settled(job, x->printed, x->args->arg);
		else
			mor_extract_job_print(job);
		clear_job(job, JOB_KEEP);
		x->printed++;
	}
	mor_out_flush(x->console);
}

static bool run_is_over(struct mor_extract *x)
{
	return x->printed == x->file_count || x->fatal.code || mor_signals_count() ||
	       mor_out_broken(x->console);
}

static void work_files(struct mor_extract *x)
{
	for (;;) {
		fill_window(x);
		print_done(x);
		mor_extract_stop_refused(x);
		if (run_is_over(x))
			return;
		mor_progress_draw(&x->console->progress);
		/* Files that failed while reading leave room for others, so we do not wait. */
		if (x->busy)
			mortise_host_wait(x->runner.host, x->console->progress.on ? REDRAW_MS : -1);
	}
}

/* All pools get the order to stop before we wait for any of them, so that their grace times run in parallel. */
static void stop_plugins(struct mor_extract *x)
{
	x->stopping = true;
	for (size_t i = 0; i < x->extractor_count; i++)
		mortise_pool_stop(x->extractors[i].pool, MORTISE_STOP_POLITE, NULL);
	for (size_t i = 0; i < x->extractor_count; i++)
		mor_runner_stop_pool(&x->runner, x->extractors[i].pool);
}

static int finish_run(struct mor_extract *x)
{
	mortise_json data = { x->fatal_data, x->fatal_data ? strlen(x->fatal_data) : 0 };

	mor_progress_clear(&x->console->progress);
	stop_plugins(x);
	if (mor_signals_count() || x->fatal.code)
		/* half an output is useless; stdout is used for the report */
		mor_out_end(x->console, false, 0);
	if (mor_signals_count())
		return mor_report_interrupted(x->console, mor_signals_exit_code());
	if (x->fatal.code)
		return mor_report_fail(x->console, &(struct mor_report){ .error = &x->fatal, .data = data });
	if (mor_extract_shard_end(x) < 0) {
		mor_fail_memory(&x->fatal);
		mor_out_end(x->console, false, 0);
		return mor_report_error(x->console, &x->fatal);
	}
	if (x->last_exit_code && x->args->file_count > 1)
		return 1;
	return x->last_exit_code;
}

/* ---- set-up ---- */

/* extract is made for YAMS plugins: a script or command without a manifest speaks yams. */
static const char *choose_dialect(const struct mor_extract *x, const struct mor_resolved *resolved)
{
	if (x->args->plugin->dialect)
		return x->args->plugin->dialect;
	return strcmp(resolved->manifest->dialect, "plain") == 0 ? "yams" : NULL;
}

/* Never more processes than files. The pool starts fewer if fewer are busy. */
static uint32_t worker_count(const struct mor_extract *x)
{
	size_t count = x->args->jobs ? x->args->jobs : mor_processors();

	if (count > x->file_count)
		count = x->file_count;
	return count ? (uint32_t)count : 1; /* a shard may have no file */
}

static int add_extractor(struct mor_extract *x, const char *typed, const char *const *argv, mortise_error *err)
{
	struct mor_extract_plugin *e = &x->extractors[x->extractor_count];
	mortise_pool_options pool = {
		.size = sizeof(pool),
		.workers = worker_count(x),
		.retries = x->args->retries,
	};
	struct mor_resolved *resolved = NULL;
	mortise_plugin_options opt;
	int r = mor_runner_resolve(x->args->plugin, typed, argv, &resolved, err);

	if (r < 0)
		return r;
	if (x->args->picked && !mor_extract_claim_extracts(resolved->manifest)) {
		mor_resolved_unref(resolved);
		return 0;
	}
	mor_runner_pool_options(&x->runner, typed, argv, resolved, &opt);
	opt.dialect = choose_dialect(x, resolved);
	if ((r = mortise_pool_new(x->runner.host, &opt, &pool, &e->pool, err)) < 0) {
		mor_resolved_unref(resolved);
		return r;
	}
	e->extract = x;
	e->typed = typed;
	e->resolved = resolved;
	e->manifest = resolved->manifest;
	x->extractor_count++;
	return 0;
}

/* Of plugins that nobody has named, one that cannot be used is passed over. */
static int add_named(struct mor_extract *x, const char *path, mortise_error *err)
{
	int r = add_extractor(x, path, NULL, err);

	if (r == 0 || r == MORTISE_ENOMEM || !x->args->picked)
		return r;
	mor_note(x->console, "%swarning%s: %s; going on without it", mor_style_err(x->console, MOR_STYLE_WARN),
		 mor_style_err_end(x->console), err->text);
	return 0;
}

static int add_extractors(struct mor_extract *x, mortise_error *err)
{
	const struct mor_text_list *plugins = &x->args->plugins;
	int r = 0;

	x->extractors = mor_zalloc((plugins->count + 1) * sizeof(*x->extractors));
	if (!x->extractors)
		return mor_fail_memory(err);
	for (size_t i = 0; i < plugins->count && r == 0; i++)
		r = add_named(x, plugins->item[i], err);
	if (r == 0 && x->args->command)
		r = add_extractor(x, NULL, x->args->command, err);
	if (r == 0 && !x->extractor_count)
		r = mor_fail(err, MORTISE_ENOTFOUND,
			     "none of the plugins that were found extracts text: name "
			     "one with --plugin PLUGIN");
	return r;
}

/* The options are parsed into a tree. For each file we ask it which of the file's own options are replaced. */
static int take_options(struct mor_extract *x, mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	int r = 0;

	for (size_t i = 0; i < x->args->options.count && r == 0; i++)
		r = mor_args_pair(&x->option_tree, "--option", x->args->options.item[i], err);
	if (r < 0)
		return r;
	r = mor_tree_write(&x->option_tree, &json);
	return r ? r : mor_doc_parse(mor_buf_view(&json), 0, 0, &x->options, err);
}

/* No user wants a file to be replaced by its own text. */
static int check_output(const struct mor_extract *x, mortise_error *err)
{
	struct stat out, in;

	if (stat(x->args->output, &out) < 0 || !S_ISREG(out.st_mode))
		return 0;
	for (size_t i = 0; i < x->args->file_count; i++)
		if (stat(x->args->files[i], &in) == 0 && in.st_dev == out.st_dev && in.st_ino == out.st_ino)
			return mor_fail(err, MORTISE_EINPUT, "--output %s is one of the input files",
					x->args->output);
	return 0;
}

static int open_output(struct mor_extract *x, mortise_error *err)
{
	int r;

	if (!x->args->output || strcmp(x->args->output, "-") == 0)
		return 0;
	r = check_output(x, err);
	r = r ? r : mor_out_to(x->console, x->args->output, err);
	return r == MORTISE_ENOTFOUND ? mor_fail(err, MORTISE_EINPUT, "--output %s", err->text) : r;
}

/* The manifests are checked before the output is opened: a mistake must not empty a file. */
static int prepare_run(struct mor_extract *x, mortise_error *err)
{
	/* A crash is usually caused by a bad file, not by the plugin. So the run goes on after any number of
	 * crashes. */
	static const char *const defaults[] = { "restart.intensity=64", "restart.cap=200ms", NULL };
	int r = take_options(x, err);

	r = r ? r : mor_extract_shard_take(x, err);
	r = r ? r : mor_runner_open(&x->runner, x->console, x->args->plugin, defaults, err);
	r = r ? r : add_extractors(x, err);
	if (r == 0 && !x->args->mime)
		r = mor_extract_magic_open(x, err);
	r = r ? r : open_output(x, err);
	if (r < 0)
		return r;
	x->window = 2 * (size_t)worker_count(x) * x->extractor_count + 2;
	/* Together with one more file of MOR_EXTRACT_MAX_SIZE this is still less than what a pool with so
	 * many workers queues. */
	x->cost_limit = COST_PER_WORKER * (worker_count(x) < COST_WORKERS ? worker_count(x) : COST_WORKERS);
	x->ring = mor_zalloc(x->window * sizeof(*x->ring));
	x->spares = mor_zalloc(mor_extract_spares_most(x) * sizeof(*x->spares));
	return x->ring && x->spares ? 0 : mor_fail_memory(err);
}

/* The pools are freed first: their last callbacks still use jobs and kinds. */
static void clean_up_run(struct mor_extract *x)
{
	for (size_t i = 0; i < x->extractor_count; i++) {
		mortise_pool_free(x->extractors[i].pool);
		mor_resolved_unref(x->extractors[i].resolved);
		mor_doc_free(x->extractors[i].described);
	}
	mor_runner_close(&x->runner);
	for (size_t i = 0; x->ring && i < x->window; i++)
		clear_job(&x->ring[i], 0);
	mor_extract_kinds_free(x);
	mor_extract_spares_free(x);
	mor_free(x->ring);
	mor_free(x->extractors);
	mor_free(x->fatal_data);
	mor_buf_fini(&x->part);
	mor_buf_fini(&x->block);
	mor_doc_free(x->options);
	mor_tree_fini(&x->option_tree);
	if (x->magic)
		magic_close(x->magic);
}

/* ---- step by step ---- */

int mor_extract_new(struct mor_console *console, const struct mor_extract_args *args, struct mor_extract **ret,
		    mortise_error *err)
{
	struct mor_extract *x = mor_zalloc(sizeof(*x));
	int r;

	if (!x)
		return mor_fail_memory(err);
	*x = (struct mor_extract){ .console = console, .args = args };
	if ((r = prepare_run(x, err)) < 0) {
		clean_up_run(x);
		mor_free(x);
		return r;
	}
	*ret = x;
	return 0;
}

void mor_extract_again(struct mor_extract *x)
{
	x->files = x->args->files;
	x->file_count = x->args->file_count;
	x->started = x->printed = 0;
}

mortise_host *mor_extract_host(const struct mor_extract *x)
{
	return x->runner.host;
}

void mor_extract_step(struct mor_extract *x)
{
	size_t before;

	mortise_host_dispatch(x->runner.host);
	/* files that fail while they are read leave room for others, and nobody would wake us */
	do {
		before = x->printed;
		fill_window(x);
		print_done(x);
	} while (x->printed != before && x->started < x->file_count);
	mor_extract_stop_refused(x);
}

bool mor_extract_over(const struct mor_extract *x, const mortise_error **ret_failure)
{
	*ret_failure = x->fatal.code ? &x->fatal : NULL;
	return x->printed == x->file_count || x->fatal.code;
}

struct mor_extract *mor_extract_free(struct mor_extract *x)
{
	if (!x)
		return NULL;
	stop_plugins(x);
	clean_up_run(x);
	return mor_free(x);
}

void mor_extract_look_end(struct mor_extract *x)
{
	if (x->magic)
		magic_close(x->magic);
	x->magic = NULL;
}

/* ---- the command ---- */

int mor_extract_run(struct mor_console *console, const struct mor_extract_args *args)
{
	struct mor_extract x = { .console = console, .args = args };
	mortise_error err = { 0 };
	int r = prepare_run(&x, &err), exit_code;

	if (r == 0) {
		mor_progress_start(&console->progress, console->err_terminal && x.file_count > 1, x.file_count);
		work_files(&x);
		exit_code = finish_run(&x);
	} else {
		exit_code = mor_report_cause(console, &err);
	}
	clean_up_run(&x);
	return mor_out_end(console, true, exit_code);
}
