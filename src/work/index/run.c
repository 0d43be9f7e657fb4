/* SPDX-License-Identifier: Apache-2.0 */
#include "index/index.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/processors.h"
#include "base/text.h"
#include "console/report.h"
#include "console/signals.h"
#include "kythe/drive/atype.h"
#include "runner/show.h"

#define REDRAW_MS       100
#define DEFAULT_UNIT_MS (10u * 60 * 1000)
#define HELD            ((uint64_t)32 << 20) /* of units that are done before their turn */

/* ---- what the driver tells ---- */

static void on_warning(const char *text, void *arg)
{
	mor_note_warning(text, ((struct mor_index *)arg)->console);
}

void mor_index_on_unit(const struct mor_unit_end *end, void *arg)
{
	struct mor_index *x = arg;

	x->console->progress.done++;
	x->records += end->records;
	if (end->empty)
		mor_index_note_empty(x, end);
	if (!end->reason)
		return;
	x->console->progress.failed++;
	mor_index_note_failure(x, end);
	mor_index_shard_note(x, end);
}

void mor_index_on_line(struct mor_index *x, struct mor_slice line)
{
	char text[1100];

	mor_printable(line, text, sizeof(text));
	mor_note(x->console, "%s", text);
	if (x->log)
		fprintf(x->log, "%s\n", text);
}

static void on_log(const struct mor_unit_log *log, void *arg)
{
	struct mor_index *x = arg;
	MOR_CLEAN(mor_buf) struct mor_buf line = MOR_BUF_INIT;

	mor_unit_log_write(log, &line);
	mor_index_on_line(x, mor_buf_view(&line));
	mor_index_note_message(x, log);
}

static void on_event(const mortise_event *event, void *arg)
{
	mor_show_event(event, ((struct mor_index *)arg)->console);
}

/* ---- records ---- */

static int open_kzips(struct mor_index *x, mortise_error *err)
{
	struct mor_kzip_options opt = { .on_warning = x->console->verbose ? mor_note_warning : NULL,
					.arg = x->console };
	size_t cap = 0;

	x->kzips = mor_zalloc((x->args->kzip_count + 1) * sizeof(*x->kzips));
	if (!x->kzips)
		return mor_fail_memory(err);
	for (size_t i = 0; i < x->args->kzip_count; i++) {
		int r = mor_kzip_open(x->args->kzips[i], &opt, &x->kzips[i], err);

		if (r < 0)
			return r;
		for (size_t k = 0; k < mor_kzip_unit_count(x->kzips[i]); k++) {
			if (mor_grow(&x->all, x->all_count, &cap, sizeof(*x->all)) < 0)
				return mor_fail_memory(err);
			x->all[x->all_count++] = (struct mor_record_ref){ x->kzips[i], k };
		}
	}
	return 0;
}

static int load_rules(struct mor_index *x, struct sha256_ctx *sha, mortise_error *err)
{
	MOR_CLEAN_TEXT char *text = NULL;
	size_t len = 0;
	int r;

	if (!x->args->vnames)
		return 0;
	if ((r = mor_fd_read_file(x->args->vnames, (size_t)64 << 20, &text, &len)) < 0)
		return mor_fail_errno(err, r == -ENOENT ? MORTISE_ENOTFOUND : MORTISE_EINPUT, -r, "%s",
				      x->args->vnames);
	mor_digest_add(sha, text, len);
	return mor_vname_rules_parse(x->args->vnames, (struct mor_slice){ text, len }, &x->rules, err);
}

static int check_types(struct mor_index *x, struct sha256_ctx *sha, mortise_error *err)
{
	for (size_t i = 0; i < x->args->types.count; i++) {
		const char *type = x->args->types.item[i];

		if (!mor_atype_valid(mor_slice_of(type)))
			return mor_fail(err, MORTISE_EINVAL,
					"--type %s: expected words after slashes, such as /kythe/index/java",
					type);
		mor_digest_add(sha, type, strlen(type) + 1);
	}
	return 0;
}

/* Decides whether two runs are the same: the records in their order, and every option that changes the
 * result. */
static void digest_records(const struct mor_index *x, struct sha256_ctx *sha)
{
	for (size_t i = 0; i < x->all_count; i++)
		mor_digest_add(sha, mor_kzip_unit_digest(x->all[i].kzip, x->all[i].number), MOR_DIGEST_HEX);
	mor_digest_add(sha, x->args->format, strlen(x->args->format));
}

/* ---- set-up ---- */

static enum mor_driver_format result_format(const char *name)
{
	return strcmp(name, "json") == 0 ? MOR_DRIVER_JSON :
	       strcmp(name, "raw") == 0  ? MOR_DRIVER_RAW :
					   MOR_DRIVER_ENTRIES;
}

static bool is_kept_elsewhere(const struct mor_index *x)
{
	return x->args->elsewhere && x->args->elsewhere->keeps;
}

static int open_result(struct mor_index *x, mortise_error *err)
{
	const char *path = is_kept_elsewhere(x) ? "/dev/null" : x->args->output;
	struct mor_result_options opt = { .path = mor_index_to_file(x->args) ? path : NULL,
					  .fd = STDOUT_FILENO,
					  .check = &mor_driver_checks[result_format(x->args->format)],
					  .units = x->ref_count,
					  .identity = x->identity,
					  .resume = x->args->resume && !is_kept_elsewhere(x),
					  .spool_dir = mor_stager_path(x->stager),
					  .hold = HELD };

	return mor_result_open(&opt, &x->result, err);
}

enum mor_driver_view mor_index_view(const char *name)
{
	if (!name || strcmp(name, "auto") == 0)
		return MOR_DRIVER_VIEW_AUTO;
	return strcmp(name, "namespace") == 0 ? MOR_DRIVER_VIEW_NAMESPACE : MOR_DRIVER_VIEW_DIRECTORY;
}

static unsigned worker_count(const struct mor_index *x)
{
	/* the driver of a run that is done elsewhere never starts */
	size_t count = x->args->elsewhere ? 1 : x->args->jobs ? x->args->jobs : mor_processors();

	return (unsigned)(count < x->ref_count ? count : x->ref_count ? x->ref_count : 1);
}

uint32_t mor_index_unit_ms(const struct mor_index *x)
{
	return x->runner.timeout_ms ? x->runner.timeout_ms : DEFAULT_UNIT_MS;
}

static int make_driver(struct mor_index *x, mortise_error *err)
{
	struct mor_driver_options opt = {
		.host = x->runner.host,
		.analyzer = &x->analyzer,
		.records = x->refs,
		.record_count = x->ref_count,
		.workers = worker_count(x),
		.retries = x->args->retries,
		.unit_ms = mor_index_unit_ms(x),
		.view = mor_index_view(x->args->view),
		.types = x->args->types.item,
		.rules = x->rules,
		.stager = x->stager,
		.events = { mor_index_on_unit, on_log, on_warning, on_event, x },
	};

	mor_runner_pool_options(&x->runner, x->args->analyzer, x->args->command, NULL, &x->analyzer);
	x->analyzer.dialect = "kythe";
	return mor_driver_new(&opt, &x->driver, err);
}

static int open_log(struct mor_index *x, mortise_error *err)
{
	if (!x->args->log)
		return 0;
	x->log = fopen(x->args->log, x->args->resume ? "ae" : "we");
	return x->log ? 0 : mor_fail_errno(err, MORTISE_EINPUT, errno, "--log %s", x->args->log);
}

/* The result is opened last: a mistake in the options must not empty a file. */
static int prepare_index(struct mor_index *x, mortise_error *err)
{
	static const char *const strict[] = { NULL };
	static const char *const lenient[] = { "quirks.leading_zeros=true", NULL };
	const struct mor_index_elsewhere *elsewhere = x->args->elsewhere;
	struct sha256_ctx sha;
	int r;

	mor_digest_begin(&sha);
	if ((r = mor_shard_parse(x->args->shard, &x->shard, err)) < 0 || (r = check_types(x, &sha, err)) < 0 ||
	    (r = open_kzips(x, err)) < 0 || (r = load_rules(x, &sha, err)) < 0 ||
	    (elsewhere && (r = elsewhere->open(x, elsewhere->arg, err)) < 0) ||
	    (r = mor_runner_open(&x->runner, x->console, x->args->plugin, x->args->lenient ? lenient : strict,
				 err)) < 0 ||
	    (r = mor_stager_new(x->args->cache, &x->stager, err)) < 0 || (r = open_log(x, err)) < 0)
		return r;
	digest_records(x, &sha);
	if ((r = mor_index_take_shard(x, &sha, err)) < 0 || (r = make_driver(x, err)) < 0)
		return r;
	return open_result(x, err);
}

/* ---- the loop ---- */

static void tell_resumed(struct mor_index *x)
{
	struct mor_result_stats found = mor_result_stats(x->result);
	const char *damage = mor_result_damage(x->result);

	if (damage)
		mor_note(x->console, "warning: %s; going back to the last good record", damage);
	if (is_kept_elsewhere(x))
		return; /* what is done is in the store */
	if (x->args->resume && !found.kept && !found.dropped)
		mor_note(x->console, "nothing to resume: starting with all %zu units%s", x->ref_count,
			 x->args->elsewhere ? "; what the store has is not done again" : "");
	else if (x->args->resume)
		mor_note(x->console, "resuming: %zu of %zu units are done%s", found.kept, x->ref_count,
			 found.dropped ? ", the units after them are done again" : "");
}

/* First Ctrl-C: analyzers get the 10 s that their protocol promises. Second Ctrl-C: they are killed at once. */
static void mind_signals(struct mor_index *x)
{
	int count = mor_signals_count();

	if (count == x->signals)
		return;
	if (x->signals == 0)
		mor_note(x->console,
			 "stopping: analyzers have 10 s to end; press Ctrl-C again to kill them at once");
	else if (x->signals == 1)
		mor_note(x->console, "killing the analyzers");
	mor_driver_stop(x->driver, count > 1);
	x->signals = count;
}

static void work_here(struct mor_index *x)
{
	mor_driver_start(x->driver, x->result);
	while (!mor_driver_finished(x->driver)) {
		int wait = mor_driver_step(x->driver);

		mind_signals(x);
		mor_progress_draw(&x->console->progress);
		if (!mor_driver_finished(x->driver))
			mortise_host_wait(x->runner.host,
					  mor_clock_sooner(wait, x->console->progress.on ? REDRAW_MS : -1));
	}
}

static void work_elsewhere(struct mor_index *x)
{
	mor_driver_adopt(x->driver, x->result);
	if (x->args->elsewhere->work(x, x->args->elsewhere->arg, &x->failure) == MORTISE_ECANCELED) {
		x->signals = mor_signals_count();
		x->failure.code = 0;
	}
}

static void clean_up(struct mor_index *x)
{
	mor_driver_free(x->driver);
	mor_result_free(x->result);
	mor_stager_free(x->stager);
	mor_runner_close(&x->runner);
	mor_vname_rules_free(x->rules);
	for (size_t i = 0; x->kzips && i < x->args->kzip_count; i++)
		mor_kzip_free(x->kzips[i]);
	mor_free(x->kzips);
	mor_index_shard_free(x);
	mor_free(x->all);
	if (x->log)
		fclose(x->log);
	mor_buf_fini(&x->failures);
	mor_buf_fini(&x->empties);
	mor_buf_fini(&x->messages);
}

static void finish_result(struct mor_index *x)
{
	MOR_CLEAN(mor_buf) struct mor_buf list = MOR_BUF_INIT;

	mor_index_shard_list(x, &list);
	if (mor_buf_failed(&list))
		mor_fail_memory(&x->failure);
	else
		mor_result_finish(x->result, mor_buf_view(&list), &x->failure);
}

int mor_index_run(struct mor_console *console, const struct mor_index_args *args)
{
	struct mor_index x = { .console = console, .args = args, .begun_ms = mor_clock_ms() };
	mortise_error err = { 0 };
	int r = prepare_index(&x, &err), exit_code;

	if (r == 0) {
		tell_resumed(&x);
		mor_progress_start(&console->progress, console->err_terminal, x.ref_count);
		if (args->elsewhere)
			work_elsewhere(&x);
		else
			work_here(&x);
		mor_driver_tidy(x.driver);
		mor_progress_clear(&console->progress);
		if (!x.signals && !x.failure.code && !mor_driver_failure(x.driver))
			finish_result(&x);
		exit_code = mor_index_report(&x);
	} else if (r == MORTISE_ECANCELED && mor_signals_count()) {
		exit_code = mor_report_interrupted(console, mor_signals_exit_code());
	} else {
		exit_code = mor_report_cause(console, &err);
	}
	clean_up(&x);
	return exit_code;
}
