/* SPDX-License-Identifier: Apache-2.0 */
/* One batch: claimed, analyzed, written, committed. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/text.h"
#include "crew/inside.h"

#define TROUBLE_MS 5000 /* after a failure of our own, such as a full disk */
#define REFUSED_MS 60000
#define LOGS_LIMIT 1000

static void warn_slot(struct worker_slot *slot, const char *text)
{
	char line[600];

	mor_note(slot->worker->opt.console, "warning: %s",
		 mor_printable(mor_slice_of(text), line, sizeof(line)));
}

/* ---- the end of a batch ---- */

static void forget_batch(struct worker_slot *slot)
{
	slot->driver = mor_driver_free(slot->driver);
	slot->result = mor_result_free(slot->result);
	if (slot->open)
		mor_runner_close(&slot->runner);
	slot->open = false;
	mor_fd_close(&slot->out);
	for (uint32_t i = 0; slot->units && i < slot->batch.count; i++)
		mor_free(slot->units[i].name);
	mor_free(slot->units);
	slot->units = NULL;
	for (size_t i = 0; i < slot->log_count; i++)
		mor_free(slot->logs[i].text);
	mor_free(slot->logs);
	slot->logs = NULL;
	slot->log_count = slot->log_cap = slot->failed = 0;
	mor_free(slot->refs);
	slot->refs = NULL;
	if (slot->known)
		mor_known_release(slot->known);
	slot->known = NULL;
}

static void become_idle(struct worker_slot *slot, uint32_t wait_ms)
{
	forget_batch(slot);
	slot->worker->moved = true;
	slot->phase = SLOT_IDLE;
	slot->next_ms = mor_clock_ms() + wait_ms;
}

static void on_committed(const struct mor_farm_reply *reply, void *arg)
{
	struct worker_slot *slot = arg;

	if (!reply->claimed && slot->worker->opt.console->verbose)
		mor_note(slot->worker->opt.console, "another worker was faster");
	become_idle(slot, 0);
}

static void on_given_back(const struct mor_farm_reply *reply, void *arg)
{
	(void)reply;
	become_idle(arg, TROUBLE_MS);
}

static void give_back(struct worker_slot *slot)
{
	struct crew_worker *worker = slot->worker;

	slot->phase = SLOT_GIVES_BACK;
	if (mor_farm_beat(worker->farm, &worker->who, slot->run, slot->batch.first, 0, on_given_back, slot) < 0)
		become_idle(slot, TROUBLE_MS);
}

/* This worker cannot do this run; others may. */
static void refuse_run(struct worker_slot *slot, const mortise_error *why)
{
	struct crew_worker *worker = slot->worker;
	char *run = mor_strdup(slot->run);
	struct mor_buf text = MOR_BUF_INIT;

	mor_buf_printf(&text, "run %.10s cannot be done here: %s", slot->run, why->text);
	warn_slot(slot, text.data ? text.data : why->text);
	mor_buf_fini(&text);
	if (run && mor_text_list_add(&worker->refused, run) < 0)
		mor_free(run);
	worker->refused_ms = mor_clock_ms() + REFUSED_MS;
	worker->refusals++;
	give_back(slot);
}

/* ---- the segment ---- */

static int write_unit(struct worker_slot *slot, struct mor_segment_writer *writer, size_t number, uint64_t at,
		      uint64_t *ret_bytes, mortise_error *err)
{
	const char *reason = NULL;
	struct mor_segment_unit unit = { .records = slot->units[number].records,
					 .attempts = slot->units[number].attempts,
					 .code = mor_result_code(slot->result, number) };
	int r;

	mor_result_state(slot->result, number, &reason);
	mor_result_bytes(slot->result, number, &unit.bytes, &unit.sum);
	unit.name = mor_slice_of(slot->units[number].name ? slot->units[number].name : "?");
	unit.why = mor_slice_of(reason ? reason : "");
	r = mor_segment_writer_add(writer, &unit, slot->out, at, err);
	*ret_bytes = unit.bytes;
	for (size_t i = 0; r == 0 && i < slot->log_count; i++)
		if (slot->logs[i].unit == number)
			mor_segment_writer_log(writer, number, mor_slice_of(slot->logs[i].text));
	return r;
}

static int write_segment(struct worker_slot *slot, char ret_digest[MOR_DIGEST_SIZE], mortise_error *err)
{
	struct mor_segment_writer *writer = NULL;
	uint64_t at = 0, bytes = 0;
	int r = mor_segment_writer_new(slot->worker->depot, slot->batch.key, slot->batch.count, &writer, err);

	for (uint32_t i = 0; r == 0 && i < slot->batch.count; i++, at += bytes)
		r = write_unit(slot, writer, i, at, &bytes, err);
	if (r == 0)
		r = mor_segment_writer_finish(writer, ret_digest, err);
	mor_segment_writer_free(writer);
	/* a batch with failures may do better in a later run */
	if (r == 0 && !slot->failed)
		r = mor_depot_key_set(slot->worker->depot, slot->batch.key, ret_digest, err);
	return r;
}

static void commit_batch(struct worker_slot *slot)
{
	struct crew_worker *worker = slot->worker;
	char digest[MOR_DIGEST_SIZE];
	mortise_error err = { 0 };

	if (write_segment(slot, digest, &err) < 0) {
		warn_slot(slot, err.text);
		give_back(slot);
		return;
	}
	worker->who.units += slot->batch.count;
	worker->who.failed += slot->failed;
	slot->phase = SLOT_COMMITS;
	if (mor_farm_commit(worker->farm, &worker->who, slot->run, &slot->batch, digest, on_committed, slot) <
	    0)
		become_idle(slot, TROUBLE_MS);
}

/* ---- what the driver tells ---- */

static void slot_unit_ended(const struct mor_unit_end *end, void *arg)
{
	struct worker_slot *slot = arg;
	struct slot_unit *unit = &slot->units[end->unit];

	unit->records = end->records;
	unit->attempts = end->attempts;
	if (!end->reason)
		return;
	slot->failed++;
	unit->name = mor_strdup(*end->title ? end->title : end->digest);
}

static void keep_log(struct worker_slot *slot, size_t unit, const char *text)
{
	char *copy;

	if (unit >= slot->batch.count || slot->log_count >= LOGS_LIMIT ||
	    mor_grow(&slot->logs, slot->log_count, &slot->log_cap, sizeof(*slot->logs)) < 0)
		return;
	copy = mor_strdup(text);
	if (copy)
		slot->logs[slot->log_count++] = (struct slot_log){ unit, copy };
}

static void slot_log(const struct mor_unit_log *log, void *arg)
{
	MOR_CLEAN(mor_buf) struct mor_buf line = MOR_BUF_INIT;

	mor_unit_log_write(log, &line);
	mor_buf_byte(&line, '\0');
	if (!mor_buf_failed(&line))
		keep_log(arg, log->unit, line.data);
}

static void slot_warning(const char *text, void *arg)
{
	struct worker_slot *slot = arg;

	if (slot->worker->opt.console->verbose)
		warn_slot(slot, text);
}

/* ---- the beginning of a batch ---- */

static int open_slot_result(struct worker_slot *slot, mortise_error *err)
{
	const char *dir = mor_stager_path(slot->worker->stager);
	struct mor_result_options opt = {
		.format = MOR_RESULT_ENTRIES, .units = slot->batch.count, .identity = "", .spool_dir = dir
	};

	slot->out = mor_fd_unnamed(dir);
	if (slot->out < 0)
		return mor_fail_errno(err, MORTISE_ESYSTEM, -slot->out, "%s", dir);
	opt.fd = slot->out;
	return mor_result_open(&opt, &slot->result, err);
}

static int open_slot_driver(struct worker_slot *slot, mortise_error *err)
{
	static const char *const strict[] = { NULL };
	static const char *const lenient[] = { "quirks.leading_zeros=true", NULL };
	const struct mor_crew_spec *spec = &slot->known->spec;
	struct epoll_event event = { .events = EPOLLIN };
	struct mor_driver_options opt = {
		.analyzer = &slot->analyzer,
		.records = slot->refs,
		.record_count = slot->batch.count,
		.workers = 1,
		.retries = spec->retries,
		.unit_ms = spec->unit_ms,
		.view = !spec->view || strcmp(spec->view, "auto") == 0 ? MOR_DRIVER_VIEW_AUTO :
			strcmp(spec->view, "namespace") == 0           ? MOR_DRIVER_VIEW_NAMESPACE :
									 MOR_DRIVER_VIEW_DIRECTORY,
		.types = spec->types.item,
		.rules = slot->known->rules,
		.stager = slot->worker->stager,
		.events = { slot_unit_ended, slot_log, slot_warning, NULL, slot },
	};
	int r = mor_runner_open(&slot->runner, slot->worker->opt.console, &slot->known->args,
				spec->lenient ? lenient : strict, err);

	slot->open = true;
	if (r < 0)
		return r;
	mor_runner_plugin_options(&slot->runner, spec->analyzer, spec->argv, NULL, &slot->analyzer);
	slot->analyzer.dialect = "kythe";
	opt.host = slot->runner.host;
	r = mor_driver_new(&opt, &slot->driver, err);
	if (r == 0 && epoll_ctl(slot->worker->epoll, EPOLL_CTL_ADD, mortise_host_fd(opt.host), &event) < 0)
		r = mor_fail_errno(err, MORTISE_ESYSTEM, errno, "epoll");
	return r;
}

static int begin_batch(struct worker_slot *slot, mortise_error *err)
{
	int r = mor_known_get(slot->worker, slot->run, &slot->known, err);

	if (r == 0)
		r = mor_known_refs(slot->worker, slot->known, &slot->batch, &slot->refs, err);
	if (r < 0)
		return r;
	slot->units = mor_zalloc(slot->batch.count * sizeof(*slot->units));
	if (!slot->units)
		return mor_fail_memory(err);
	r = open_slot_driver(slot, err);
	if (r == 0)
		r = open_slot_result(slot, err);
	if (r == 0)
		mor_driver_start(slot->driver, slot->result);
	return r;
}

/* Said once: a worker that stands still does not look broken. */
static void tell_waiting(struct crew_worker *worker)
{
	if (!worker->waited && !worker->opt.once && !worker->refusals && !worker->who.units)
		mor_note(worker->opt.console,
			 "nothing to do yet: waiting for mortise index --farm %s --store %s", worker->opt.url,
			 worker->opt.store);
	worker->waited = true;
}

static void on_claimed(const struct mor_farm_reply *reply, void *arg)
{
	struct worker_slot *slot = arg;
	mortise_error err = { 0 };

	if (!reply->claimed) {
		tell_waiting(slot->worker);
		become_idle(slot, slot->worker->opt.poll_ms);
		return;
	}
	slot->worker->moved = true;
	memcpy(slot->run, reply->run, sizeof(slot->run));
	slot->batch = reply->batch;
	slot->lease_ms = reply->lease_ms;
	slot->next_ms = mor_clock_ms() + slot->lease_ms / 3;
	slot->stopping = false;
	slot->phase = SLOT_WORKS;
	if (slot->worker->ending)
		give_back(slot);
	else if (begin_batch(slot, &err) < 0)
		refuse_run(slot, &err);
}

void mor_slot_claim(struct worker_slot *slot)
{
	struct crew_worker *worker = slot->worker;

	slot->phase = SLOT_CLAIMS;
	if (worker->refused.count && mor_clock_ms() >= worker->refused_ms)
		mor_text_list_free_texts(&worker->refused);
	if (mor_farm_claim(worker->farm, &worker->who, ++worker->ticket,
			   (const char *const *)worker->refused.item, on_claimed, slot) < 0)
		become_idle(slot, TROUBLE_MS);
}

/* ---- on the way ---- */

static void mind_end(struct worker_slot *slot)
{
	const mortise_error *failure = mor_driver_failure(slot->driver);

	mor_driver_tidy(slot->driver);
	if (slot->stopping)
		give_back(slot);
	else if (failure)
		refuse_run(slot, failure);
	else
		commit_batch(slot);
}

static int beat_slot(struct worker_slot *slot)
{
	struct crew_worker *worker = slot->worker;
	int64_t now = mor_clock_ms();

	if (now >= slot->next_ms) {
		slot->next_ms = now + slot->lease_ms / 3;
		mor_farm_beat(worker->farm, &worker->who, slot->run, slot->batch.first, slot->lease_ms, NULL,
			      NULL);
	}
	return (int)(slot->next_ms - now);
}

int mor_slot_step(struct worker_slot *slot)
{
	int64_t now = mor_clock_ms();
	int wait;

	if (slot->phase == SLOT_IDLE && !slot->worker->ending && now >= slot->next_ms)
		mor_slot_claim(slot);
	if (slot->phase == SLOT_IDLE)
		return slot->worker->ending ? -1 : (int)(slot->next_ms - now);
	if (slot->phase != SLOT_WORKS)
		return -1;
	mortise_host_dispatch(slot->runner.host);
	wait = mor_driver_step(slot->driver);
	if (mor_driver_finished(slot->driver)) {
		mind_end(slot);
		return 0;
	}
	return mor_clock_sooner(wait, beat_slot(slot));
}

void mor_slot_stop(struct worker_slot *slot, bool now)
{
	slot->stopping = true;
	if (slot->phase == SLOT_WORKS)
		mor_driver_stop(slot->driver, now);
}

void mor_slot_fini(struct worker_slot *slot)
{
	forget_batch(slot);
}
