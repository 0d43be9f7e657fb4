/* SPDX-License-Identifier: Apache-2.0 */
#include "crew/worker.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/processors.h"
#include "console/report.h"
#include "console/signals.h"
#include "crew/inside.h"

#define POLL_MS  500
#define LEAVE_MS 2000

/* Unique, also after a machine was reset and process ids begin again. */
static int name_worker(struct crew_worker *worker, mortise_error *err)
{
	uint32_t number;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return mor_fail_errno(err, MORTISE_ESYSTEM, errno, "getrandom");
	if (gethostname(worker->who.machine, sizeof(worker->who.machine) - 1) < 0)
		snprintf(worker->who.machine, sizeof(worker->who.machine), "unknown");
	snprintf(worker->who.name, sizeof(worker->who.name), "%.40s/%d-%08" PRIx32, worker->who.machine,
		 (int)getpid(), number);
	worker->who.jobs = worker->count;
	return 0;
}

static int open_worker(struct crew_worker *worker, mortise_error *err)
{
	struct mor_farm_options farm = { .url = worker->opt.url,
					 .on_warning = mor_note_warning,
					 .arg = worker->opt.console };
	struct epoll_event event = { .events = EPOLLIN };
	int r = name_worker(worker, err);

	worker->slots = mor_zalloc(worker->count * sizeof(struct worker_slot));
	if (r == 0 && !worker->slots)
		r = mor_fail_memory(err);
	for (uint32_t i = 0; r == 0 && i < worker->count; i++)
		worker->slots[i] = (struct worker_slot){ .worker = worker };
	r = r ? r : mor_depot_open(worker->opt.store, MOR_DEPOT_WORK, &worker->depot, err);
	r = r ? r : mor_farm_open(&farm, &worker->farm, err);
	r = r ? r : mor_stager_new(worker->opt.cache, &worker->stager, err);
	worker->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (r == 0 && (worker->epoll < 0 ||
		       epoll_ctl(worker->epoll, EPOLL_CTL_ADD, mor_farm_fd(worker->farm), &event) < 0))
		r = mor_fail_errno(err, MORTISE_ESYSTEM, errno, "epoll");
	return r;
}

static void close_worker(struct crew_worker *worker)
{
	for (uint32_t i = 0; worker->slots && i < worker->count; i++)
		mor_slot_fini(&worker->slots[i]);
	mor_free(worker->slots);
	mor_known_free_all(worker);
	mor_refused_free(worker);
	mor_stager_free(worker->stager);
	mor_farm_free(worker->farm);
	mor_depot_free(worker->depot);
	mor_fd_close(&worker->epoll);
}

/* ---- the loop ---- */

/* First Ctrl-C: batches are given back, analyzers have the time that their protocol promises.
 * Second: killed. */
static void mind_worker_signals(struct crew_worker *worker)
{
	int count = mor_signals_count();

	if (count == worker->signals)
		return;
	worker->ending = true;
	for (uint32_t i = 0; i < worker->count; i++)
		mor_slot_stop(&worker->slots[i], count > 1);
	worker->signals = count;
}

static bool is_over(const struct crew_worker *worker)
{
	if (!worker->ending)
		return false;
	if (worker->signals > 1)
		return true; /* the server may be gone for good: leases end by themselves */
	for (uint32_t i = 0; i < worker->count; i++)
		if (worker->slots[i].phase != SLOT_IDLE || worker->slots[i].kept)
			return false;
	return true;
}

/* --once: every slot has asked, and none got anything. */
static void mind_once(struct crew_worker *worker)
{
	bool idle = worker->opt.once;

	for (uint32_t i = 0; idle && i < worker->count; i++)
		idle = worker->slots[i].phase == SLOT_IDLE && worker->slots[i].next_ms > 0;
	worker->ending = worker->ending || idle;
}

static int step_slots(struct crew_worker *worker)
{
	int wait = -1;

	for (uint32_t i = 0; i < worker->count; i++)
		wait = mor_clock_sooner(wait, mor_slot_step(&worker->slots[i]));
	return wait < -1 ? 0 : wait;
}

static void wait_worker(const struct crew_worker *worker, int wait)
{
	struct pollfd fd = { .fd = worker->epoll, .events = POLLIN };

	if (worker->signals)
		poll(&fd, 1, wait);
	else
		mor_signals_poll(&fd, wait);
}

static void work_on(struct crew_worker *worker)
{
	while (!is_over(worker) && !mor_farm_failure(worker->farm)) {
		int wait = mor_farm_step(worker->farm);

		wait = mor_clock_sooner(wait, step_slots(worker));
		mind_worker_signals(worker);
		mind_once(worker);
		/* what the slots asked is sent at once; an answer may come as fast */
		worker->moved = false;
		wait = mor_clock_sooner(wait, mor_farm_step(worker->farm));
		if (worker->moved)
			continue;
		if (!is_over(worker) && !mor_farm_failure(worker->farm))
			wait_worker(worker, wait);
	}
}

/* In order: the farm forgets this worker. Not if its server is away, or a second Ctrl-C comes. */
static void leave_farm(struct crew_worker *worker)
{
	int64_t until = mor_clock_ms() + LEAVE_MS;
	struct pollfd fd = { .fd = mor_farm_fd(worker->farm), .events = POLLIN };

	if (mor_farm_leave(worker->farm, &worker->who) < 0)
		return;
	while (!mor_farm_failure(worker->farm) && mor_signals_count() < 2) {
		int wait = mor_farm_step(worker->farm);
		int64_t left = until - mor_clock_ms();

		if (mor_farm_idle(worker->farm) || left <= 0)
			return;
		poll(&fd, 1, mor_clock_sooner(wait, (int)left));
	}
}

static int report_worker(const struct crew_worker *worker)
{
	const mortise_error *failure = mor_farm_failure(worker->farm);
	mortise_error idle = { 0 };

	if (!failure || worker->who.units) /* who never got as far has nothing to tell but why */
		mor_note(worker->opt.console, "%" PRIu64 " %s done, %" PRIu64 " of them failed",
			 worker->who.units, worker->who.units == 1 ? "unit" : "units", worker->who.failed);
	if (failure)
		return mor_report_error(worker->opt.console, failure);
	if (worker->opt.once && !worker->signals && worker->refusals && !worker->who.units) {
		mor_fail(&idle, MORTISE_EINPUT, "this worker could do none of the work: the warnings say why");
		return mor_report_error(worker->opt.console, &idle);
	}
	return worker->signals ? mor_signals_exit_code() : 0;
}

int mor_crew_work(const struct mor_crew_worker_options *opt)
{
	struct crew_worker worker = { .opt = *opt, .epoll = -1 };
	mortise_error err = { 0 };
	int exit_code;

	worker.count = opt->jobs ? opt->jobs : (uint32_t)mor_processors();
	worker.opt.poll_ms = opt->poll_ms ? opt->poll_ms : POLL_MS;
	if (open_worker(&worker, &err) == 0) {
		work_on(&worker);
		leave_farm(&worker);
		exit_code = report_worker(&worker);
	} else {
		exit_code = mor_report_cause(opt->console, &err);
	}
	close_worker(&worker);
	return exit_code;
}
