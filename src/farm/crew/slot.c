/* SPDX-License-Identifier: Apache-2.0 */
/* One batch: claimed, done by its kind of work, written, committed. */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "crew/inside.h"

#define TROUBLE_MS 5000 /* after a failure of our own, such as a full disk */
#define LOGS_LIMIT 1000
#define KEPT_MS    10000 /* a plugin waits so long for a next batch: starting one costs as much as a unit */

/* ---- the end of a batch ---- */

static void drop_kept(struct worker_slot *slot)
{
	if (!slot->kept)
		return;
	slot->kept->spec.kind->drop(slot);
	mor_known_release(slot->kept);
	slot->kept = NULL;
	slot->leaving = false;
}

static void forget_batch(struct worker_slot *slot)
{
	slot->writer = mor_segment_writer_free(slot->writer);
	slot->broken.code = 0;
	if (slot->known && slot->known->spec.kind->end(slot)) {
		slot->kept = mor_take(&slot->known);
		slot->kept_ms = mor_clock_ms() + KEPT_MS;
	}
	for (size_t i = 0; i < slot->log_count; i++)
		mor_free(slot->logs[i].text);
	slot->logs = mor_free(slot->logs);
	slot->log_count = slot->log_cap = slot->failed = 0;
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

/* Something keeps this worker from its work: who watches it hears it, and the owner of the run. */
static void tell_trouble(struct worker_slot *slot, const char *text)
{
	mor_note_warning(text, slot->worker->opt.console);
	mor_farm_trouble(slot->worker->farm, &slot->worker->who, slot->run, text); /* no memory: not told */
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
	struct mor_buf text = MOR_BUF_INIT;

	mor_buf_printf(&text, "run %.10s cannot be done here: %s%s", slot->run, why->text,
		       worker->opt.once ? "" : "; it is tried again from time to time");
	if (mor_refused_add(worker, slot->run, why->text))
		tell_trouble(slot, text.data ? text.data : why->text);
	mor_buf_fini(&text);
	worker->refusals++;
	give_back(slot);
}

/* ---- the segment ---- */

static int write_unit(struct worker_slot *slot, size_t number, mortise_error *err)
{
	struct mor_segment_unit unit = { 0 };
	int r;

	slot->known->spec.kind->unit(slot, number, &unit);
	r = mor_segment_writer_add(slot->writer, &unit, err);
	for (size_t i = 0; r == 0 && i < slot->log_count; i++)
		if (slot->logs[i].unit == number)
			mor_segment_writer_log(slot->writer, number, mor_slice_of(slot->logs[i].text));
	return r;
}

static int write_segment(struct worker_slot *slot, char ret_digest[MOR_DIGEST_SIZE], mortise_error *err)
{
	int r = slot->broken.code;

	if (r < 0)
		*err = slot->broken;
	for (uint32_t i = 0; r == 0 && i < slot->batch.count; i++)
		r = write_unit(slot, i, err);
	r = r ? r : mor_segment_writer_finish(slot->writer, ret_digest, err);
	/* a batch with failures may do better in a later run */
	if (r == 0 && !slot->failed)
		r = mor_depot_key_set(slot->worker->depot, slot->batch.key, ret_digest, err);
	return r;
}

static void commit_batch(struct worker_slot *slot)
{
	struct crew_worker *worker = slot->worker;
	struct mor_farm_made made = { .slowest = slot->slowest };
	mortise_error err = { 0 };

	if (write_segment(slot, made.segment, &err) < 0) {
		tell_trouble(slot, err.text);
		give_back(slot);
		return;
	}
	worker->who.units += slot->batch.count;
	worker->who.failed += slot->failed;
	mor_refused_remove(worker, slot->run);
	made.took_ms = (uint32_t)(mor_clock_ms() - slot->begun_ms);
	slot->phase = SLOT_COMMITS;
	if (mor_farm_commit(worker->farm, &worker->who, slot->run, &slot->batch, &made, on_committed, slot) < 0)
		become_idle(slot, TROUBLE_MS);
}

int mor_slot_watch(struct worker_slot *slot, mortise_host *host, mortise_error *err)
{
	struct epoll_event event = { .events = EPOLLIN };

	if (epoll_ctl(slot->worker->epoll, EPOLL_CTL_ADD, mortise_host_fd(host), &event) < 0)
		return mor_fail_errno(err, MORTISE_ESYSTEM, errno, "epoll");
	return 0;
}

void mor_slot_ended(struct worker_slot *slot, size_t unit, const char *name)
{
	int64_t now = mor_clock_ms();
	uint32_t ms = (uint32_t)(now - slot->ended_ms);

	slot->ended_ms = now;
	if (ms <= slot->slowest.ms)
		return;
	slot->slowest.unit = slot->batch.first + unit;
	slot->slowest.ms = ms;
	mor_printable(mor_slice_of(name), slot->slowest.name, sizeof(slot->slowest.name));
}

void mor_slot_log(struct worker_slot *slot, size_t unit, const char *text)
{
	char *copy;

	if (unit >= slot->batch.count || slot->log_count >= LOGS_LIMIT ||
	    mor_grow(&slot->logs, slot->log_count, &slot->log_cap, sizeof(*slot->logs)) < 0)
		return;
	copy = mor_strdup(text);
	if (copy)
		slot->logs[slot->log_count++] = (struct slot_log){ unit, copy };
}

/* ---- the beginning of a batch ---- */

static int begin_batch(struct worker_slot *slot, mortise_error *err)
{
	int r = mor_known_get(slot->worker, slot->run, &slot->known, err);

	if (r < 0)
		return r;
	if (slot->kept == slot->known && !slot->leaving) {
		mor_known_release(slot->kept); /* what was kept goes on with this batch */
		slot->kept = NULL;
	}
	drop_kept(slot);
	r = mor_segment_writer_new(slot->worker->depot, slot->batch.key, slot->batch.count, &slot->writer, err);
	return r < 0 ? r : slot->known->spec.kind->begin(slot, err);
}

/* Said once: a worker that stands still does not look broken. */
static void tell_waiting(struct crew_worker *worker)
{
	if (!worker->waited && !worker->opt.once && !worker->refusals && !worker->who.units)
		mor_note(worker->opt.console,
			 "nothing to do yet: waiting for mortise index or extract --farm %s --store %s",
			 worker->opt.url, worker->opt.store);
	worker->waited = true;
}

/* There is work again: slots that waited, because another one got nothing, need not wait longer. */
static void mind_dry(struct crew_worker *worker, bool dry)
{
	int64_t now = mor_clock_ms();

	worker->dry_ms = now + worker->opt.poll_ms;
	for (uint32_t i = 0; worker->dry && !dry && i < worker->count; i++)
		if (worker->slots[i].phase == SLOT_IDLE && worker->slots[i].next_ms <= worker->dry_ms)
			worker->slots[i].next_ms = now;
	worker->dry = dry;
}

static void on_claimed(const struct mor_farm_reply *reply, void *arg)
{
	struct worker_slot *slot = arg;
	mortise_error err = { 0 };

	slot->worker->asking--;
	mind_dry(slot->worker, !reply->claimed);
	if (!reply->claimed) {
		tell_waiting(slot->worker);
		become_idle(slot, slot->worker->opt.poll_ms);
		return;
	}
	slot->worker->moved = true;
	memcpy(slot->run, reply->run, sizeof(slot->run));
	slot->batch = reply->batch;
	slot->lease_ms = reply->lease_ms;
	slot->begun_ms = slot->ended_ms = mor_clock_ms();
	slot->slowest = (struct mor_farm_unit){ 0 };
	slot->next_ms = slot->begun_ms + slot->lease_ms / 3;
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
	if (mor_farm_claim(worker->farm, &worker->who, ++worker->ticket, mor_refused_now(worker), on_claimed,
			   slot) < 0)
		become_idle(slot, TROUBLE_MS);
	else
		worker->asking++;
}

/* ---- on the way ---- */

static void mind_end(struct worker_slot *slot)
{
	const mortise_error *failure = slot->known->spec.kind->failure(slot);

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

/* A plugin that was kept: it may say something, and it leaves when its time is over. */
static int mind_kept(struct worker_slot *slot, int64_t now)
{
	const struct mor_crew_kind *kind = slot->kept->spec.kind;
	int wait = kind->step(slot);

	if (!slot->leaving && slot->phase == SLOT_IDLE && (slot->worker->ending || now >= slot->kept_ms)) {
		slot->leaving = true;
		kind->stop(slot, false);
	}
	if (slot->leaving && kind->finished(slot)) {
		drop_kept(slot);
		return 0;
	}
	return slot->leaving ? wait : mor_clock_sooner(wait, (int)(slot->kept_ms - now));
}

/* The slot has no batch to work on. */
static int mind_pause(struct worker_slot *slot, int64_t now)
{
	int wait = slot->kept ? mind_kept(slot, now) : slot->known ? slot->known->spec.kind->step(slot) : -1;

	if (slot->phase != SLOT_IDLE || slot->worker->ending)
		return wait;
	return mor_clock_sooner(wait, (int)(slot->next_ms - now));
}

int mor_slot_step(struct worker_slot *slot)
{
	int64_t now = mor_clock_ms();
	int wait;

	if (slot->phase == SLOT_IDLE && !slot->worker->ending && now >= slot->next_ms) {
		if (slot->worker->dry && slot->worker->asking)
			slot->next_ms = now + slot->worker->opt.poll_ms;
		else if (slot->worker->dry && now < slot->worker->dry_ms)
			slot->next_ms = slot->worker->dry_ms;
		else
			mor_slot_claim(slot);
	}
	if (slot->phase != SLOT_WORKS)
		return mind_pause(slot, now);
	wait = slot->known->spec.kind->step(slot);
	if (slot->known->spec.kind->finished(slot)) {
		mind_end(slot);
		return 0;
	}
	return mor_clock_sooner(wait, beat_slot(slot));
}

void mor_slot_stop(struct worker_slot *slot, bool now)
{
	slot->stopping = true;
	if (slot->phase == SLOT_WORKS)
		slot->known->spec.kind->stop(slot, now);
	else if (slot->kept && now)
		slot->kept->spec.kind->stop(slot, true);
}

void mor_slot_fini(struct worker_slot *slot)
{
	forget_batch(slot);
	drop_kept(slot);
}
