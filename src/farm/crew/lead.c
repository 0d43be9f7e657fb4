/* SPDX-License-Identifier: Apache-2.0 */
#include "crew/lead.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/path.h"
#include "base/text.h"
#include "console/signals.h"
#include "crew/report.h"
#include "wire/json.h"

#define DEFAULT_LEASE_S 60
#define DEFAULT_WINDOW  256
#define POLL_MS         100
#define FAILURES_MOST   1000  /* in the report */
#define QUIET_MS        10000 /* then it is said, once, that nobody works */
#define ASK_MS          3000  /* how often the farm is asked who is there */
#define SEEN_S          15    /* a worker that asked within this time is there: it asks twice a second */

struct lead {
	struct mor_crew_lead *opt;
	struct mor_farm_run run;
	struct mor_farm *farm;
	struct mor_crew_owner *owner;
	struct mor_crew_led *led; /* opt's */
	uint64_t taken;           /* units */
	unsigned workers, noted;
	int64_t quiet_ms, ask_ms;
	bool asked, quiet_told;
};

static void name_run(struct lead *x)
{
	char machine[100] = "", title[160];

	memcpy(x->run.run, x->opt->run, MOR_DIGEST_SIZE);
	gethostname(machine, sizeof(machine) - 1);
	mor_printable(mor_slice_of(x->opt->title), title, sizeof(title));
	snprintf(x->run.title, sizeof(x->run.title), "%s%s", title, x->opt->many ? ", …" : "");
	snprintf(x->run.owner, sizeof(x->run.owner), "%.80s, process %d", machine, (int)getpid());
	x->run.units = x->opt->owner.units;
	x->run.lease_ms = x->opt->farm->lease_ms ? x->opt->farm->lease_ms : DEFAULT_LEASE_S * 1000u;
}

/* ---- who is there ---- */

static bool is_leased(const struct lead *x, const struct mor_value *runs)
{
	struct mor_json_iter it = mor_json_iter(runs);

	while (mor_json_next(&it))
		if (strcmp(mor_json_text(it.value, ""), x->run.run) == 0)
			return true;
	return false;
}

static void tell_quiet(struct lead *x, unsigned idle, unsigned busy)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;

	x->quiet_told = true;
	if (idle)
		mor_buf_printf(
			&text,
			"nobody has done anything yet: %u %s for work, but cannot do this run; each worker "
			"says why on its stderr (another analyzer or plugin, another store, files with other "
			"bytes)",
			idle, idle == 1 ? "worker asks" : "workers ask");
	else if (busy)
		mor_buf_printf(&text, "nobody has done anything yet: %u %s busy with other runs", busy,
			       busy == 1 ? "worker is" : "workers are");
	else
		mor_buf_printf(&text, "nobody has claimed anything: start mortise worker --farm %s --store %s",
			       x->opt->farm->url, x->opt->farm->store);
	if (!mor_buf_failed(&text))
		mor_note_warning(text.data, x->opt->console);
}

/* Nothing was done for this run so far, although it is time. */
static bool is_quiet(const struct lead *x)
{
	struct mor_crew_owner_stats stats = mor_crew_owner_stats(x->owner);

	return !x->quiet_told && stats.batches == stats.cached && mor_clock_ms() >= x->quiet_ms;
}

/* A worker may come, do something and go between two questions: who has done something was there. */
static void note_workers(struct lead *x, unsigned seen)
{
	struct mor_crew_owner_stats stats = mor_crew_owner_stats(x->owner);

	x->workers = seen;
	if (x->led->workers < seen)
		x->led->workers = seen;
	if (stats.batches > stats.cached && !x->led->workers)
		x->workers = x->led->workers = 1;
}

static void take_status(const struct mor_farm_reply *reply, void *arg)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	struct lead *x = arg;
	const struct mor_value *root;
	unsigned idle, busy;

	x->asked = false;
	x->ask_ms = mor_clock_ms() + ASK_MS;
	if (mor_doc_parse(mor_slice_of(reply->text), 0, 0, &doc, NULL) < 0)
		return;
	root = mor_doc_root(doc);
	idle = (unsigned)mor_json_int(mor_json_get(root, "idle"), 0);
	busy = (unsigned)mor_json_int(mor_json_get(root, "busy"), 0);
	note_workers(x, idle + busy);
	if (is_quiet(x) && !is_leased(x, mor_json_get(root, "leased")))
		tell_quiet(x, idle, busy);
}

static int ask_status(struct lead *x, mortise_error *err)
{
	bool wanted = x->opt->farm->report || x->opt->console->progress.on || is_quiet(x);

	if (x->asked || !wanted || mor_clock_ms() < x->ask_ms)
		return 0;
	x->asked = true;
	return mor_farm_ask(x->farm, MOR_FARM_STATUS, SEEN_S, take_status, x) < 0 ? mor_fail_memory(err) : 0;
}

/* ---- progress ---- */

static void show_progress(struct lead *x)
{
	struct mor_progress *progress = &x->opt->console->progress;
	char left[32] = "";
	int64_t left_ms;

	note_workers(x, x->workers);
	mor_pace_note(&x->led->pace, mor_clock_ms(), x->taken, mor_crew_owner_stats(x->owner).failed,
		      x->workers);
	left_ms = mor_pace_left_ms(&x->led->pace, x->opt->owner.units);
	if (left_ms > 0)
		snprintf(left, sizeof(left), ", %" PRId64 ":%02" PRId64 " left", left_ms / 60000,
			 left_ms / 1000 % 60);
	progress->rate = mor_pace_rate(&x->led->pace);
	snprintf(progress->more, sizeof(progress->more), "  %u %s%s", x->workers,
		 x->workers == 1 ? "worker" : "workers", left);
	mor_progress_draw(progress);
}

/* ---- the loop ---- */

static void note_failures(struct lead *x, const struct mor_segment *segment)
{
	for (size_t i = 0; x->opt->farm->report && i < segment->count && x->noted < FAILURES_MOST; i++)
		if (segment->units[i].code) {
			mor_crew_report_failure(&x->led->failures, segment, i);
			x->noted++;
		}
}

/* To the farm: the first ones by name. */
static int tell_failures(struct lead *x, const struct mor_farm_batch *batch, const struct mor_segment *segment)
{
	struct mor_farm_unit units[MOR_FARM_NAMED] = { 0 };
	uint64_t failed = 0;
	size_t count = 0;

	for (size_t i = 0; i < segment->count; i++) {
		const struct mor_segment_unit *unit = &segment->units[i];

		failed += unit->code != 0;
		if (!unit->code || count == MOR_FARM_NAMED)
			continue;
		units[count].unit = batch->first + i;
		mor_printable(unit->name, units[count].name, sizeof(units[count].name));
		mor_printable(unit->why, units[count].why, sizeof(units[count].why));
		count++;
	}
	if (!failed)
		return 0;
	return mor_farm_failed(x->farm, mor_crew_owner_stats(x->owner).failed + failed, units, count);
}

static int take_batch(const struct mor_farm_batch *batch, const struct mor_segment *segment, const char *digest,
		      void *arg, mortise_error *err)
{
	struct lead *x = arg;
	int r = x->opt->owner.take(batch, segment, digest, x->opt->owner.arg, err);

	if (r == 0)
		note_failures(x, segment);
	if (r == 0 && tell_failures(x, batch, segment) < 0)
		r = mor_fail_memory(err);
	if (r == 0 && batch->first + batch->count > x->taken)
		x->taken = batch->first + batch->count;
	return r;
}

static int open_owner(struct lead *x, mortise_error *err)
{
	const struct mor_crew_lead *lead = x->opt;
	struct mor_farm_options farm = {
		.url = lead->farm->url, .run = &x->run, .on_warning = mor_note_warning, .arg = lead->console
	};
	struct mor_crew_owner_options opt = lead->owner;
	int r = mor_farm_open(&farm, &x->farm, err);

	opt.depot = lead->depot;
	opt.farm = x->farm;
	opt.batch = lead->farm->batch;
	opt.window = lead->farm->window ? lead->farm->window : DEFAULT_WINDOW;
	opt.lease_ms = x->run.lease_ms;
	opt.poll_ms = POLL_MS;
	opt.work = lead->spec.work;
	opt.take = take_batch;
	opt.take_arg = x;
	opt.console = lead->console;
	return r < 0 ? r : mor_crew_owner_new(&opt, &x->owner, err);
}

/* A turn of the owner; when it has everything, the farm is told, once. */
static int lead_turn(struct lead *x, bool *told, int *wait, mortise_error *err)
{
	if (!mor_crew_owner_finished(x->owner)) {
		int r = mor_crew_owner_step(x->owner, wait, err);

		return r < 0 ? r : ask_status(x, err);
	}
	*wait = -1;
	if (*told)
		return 0;
	*told = true;
	return mor_farm_ask(x->farm, MOR_FARM_FINISH, 0, NULL, NULL) < 0 ? mor_fail_memory(err) : 0;
}

/* Until every question has its answer. */
static int await_farm(struct mor_farm *farm, mortise_error *err)
{
	struct pollfd fd = { .fd = mor_farm_fd(farm), .events = POLLIN };

	while (!mor_farm_idle(farm)) {
		int wait = mor_farm_step(farm);
		const mortise_error *failure = mor_farm_failure(farm);

		if (failure) {
			*err = *failure;
			return failure->code;
		}
		if (!mor_farm_idle(farm))
			mor_signals_poll(&fd, wait);
		if (mor_signals_count())
			return MORTISE_ECANCELED;
	}
	return 0;
}

/* A question that only owners may ask. */
static int meet_farm(const struct mor_crew_lead *x, mortise_error *err)
{
	struct mor_farm_options opt = { .url = x->farm->url,
					.on_warning = mor_note_warning,
					.arg = x->console };
	struct mor_farm *farm = NULL;
	int r = mor_farm_open(&opt, &farm, err);

	if (r == 0 && mor_farm_ask(farm, MOR_FARM_STATUS, SEEN_S, NULL, NULL) < 0)
		r = mor_fail_memory(err);
	r = r ? r : await_farm(farm, err);
	mor_farm_free(farm);
	return r;
}

/* The run is ours, and it is known who is there, before anything is taken from the store: what is there could
 * be all, and a run that then fails would have said that it is done. */
static int begin_lead(struct lead *x, mortise_error *err)
{
	x->quiet_ms = mor_clock_ms() + QUIET_MS;
	x->asked = true;
	if (mor_farm_ask(x->farm, MOR_FARM_STATUS, SEEN_S, take_status, x) < 0)
		return mor_fail_memory(err);
	return await_farm(x->farm, err);
}

static int lead_run(struct lead *x, mortise_error *err)
{
	struct pollfd fd = { .fd = mor_farm_fd(x->farm), .events = POLLIN };
	bool told = false;
	int r = begin_lead(x, err), wait = 0;

	while (r == 0 && !(told && mor_farm_idle(x->farm))) {
		const mortise_error *failure;
		int farm_wait;

		r = lead_turn(x, &told, &wait, err);
		farm_wait = mor_farm_step(x->farm);
		failure = mor_farm_failure(x->farm);
		show_progress(x);
		if (r == 0 && failure) {
			*err = *failure;
			r = failure->code;
		}
		if (r == 0 && mor_signals_count())
			r = MORTISE_ECANCELED;
		if (r == 0 && !(told && mor_farm_idle(x->farm)))
			mor_signals_poll(&fd, mor_clock_sooner(farm_wait, wait));
	}
	return r;
}

/* ---- the run ---- */

int mor_crew_lead_open(struct mor_crew_lead *x, mortise_error *err)
{
	int r = meet_farm(x, err);

	return r < 0 ? r : mor_depot_open(x->farm->store, MOR_DEPOT_OWN, &x->depot, err);
}

int mor_crew_lead_program(struct mor_crew_lead *x, const char *path, mortise_error *err)
{
	char *absolute = mor_path_absolute(path);

	if (absolute && mor_text_list_add(&x->spec.programs, absolute) == 0)
		return 0;
	mor_free(absolute);
	return mor_fail_memory(err);
}

int mor_crew_lead_put(struct mor_crew_lead *x, const struct mor_runner *runner, mortise_error *err)
{
	struct mor_plugin_args *plugin = &x->spec.plugin;

	plugin->set = runner->args->set;
	plugin->timeout = runner->args->timeout;
	plugin->network = runner->args->network;
	plugin->level = runner->args->level;
	plugin->on_denial = runner->args->on_denial;
	plugin->confine = runner->args->confine;
	plugin->unconfined = runner->args->unconfined;
	/* --config FILE is read here: workers need not have that file */
	if (runner->config && mor_text_list_add(&plugin->config, runner->config) < 0)
		return mor_fail_memory(err);
	mor_crew_spec_files(&x->spec, x->spec.files);
	return mor_crew_spec_put(x->depot, &x->spec, x->run, err);
}

int mor_crew_lead_run(struct mor_crew_lead *opt, mortise_error *err)
{
	struct lead x = { .opt = opt, .led = &opt->led, .taken = opt->owner.next };
	mortise_error why = { 0 };
	int r;

	mor_pace_begin(&x.led->pace, mor_clock_ms(), opt->owner.next);
	name_run(&x);
	r = open_owner(&x, err);
	r = r ? r : lead_run(&x, err);
	if (x.owner)
		x.led->stats = mor_crew_owner_stats(x.owner);
	if (opt->farm->report && x.owner &&
	    mor_crew_report_write(opt->farm->report, x.run.title, opt->owner.units, x.led, &why) < 0)
		mor_note_warning(why.text, opt->console);
	mor_buf_fini(&x.led->failures);
	mor_crew_owner_free(x.owner);
	mor_farm_free(x.farm);
	return r;
}

void mor_crew_lead_close(struct mor_crew_lead *x)
{
	mor_depot_free(x->depot);
	mor_text_list_free_texts(&x->spec.programs);
	mor_free(x->spec.inputs);
	mor_free(x->spec.plugin.config.item);
}
