/* SPDX-License-Identifier: Apache-2.0 */
/* mortise index --farm: this process is the owner of the run. Workers analyze; segments come back in order. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/path.h"
#include "base/text.h"
#include "cli/index.h"
#include "console/signals.h"
#include "crew/owner.h"
#include "crew/spec.h"
#include "wire/json.h"

#define DEFAULT_LEASE_S 60
#define DEFAULT_WINDOW  256
#define BATCH_MOST      32
#define BATCHES_LEAST   16
#define POLL_MS         100
#define QUIET_MS        10000 /* then it is said, once, that nobody works */
#define SEEN_S          15    /* a worker that asked within this time is there: it asks twice a second */

struct index_farm {
	struct mor_index *x;
	struct mor_crew_spec spec;
	char *analyzer; /* absolute */
	struct mor_farm_run run;
	struct mor_depot *depot;
	struct mor_farm *farm;
	struct mor_crew_owner *owner;
	struct mor_segment_list list; /* of a manifest */
	int64_t quiet_ms;
	bool quiet_asked;
};

/* ---- words ---- */

int mor_index_farm_check(const struct mor_index *x, mortise_error *err)
{
	const struct mor_index_args *args = x->args;
	const struct mor_plugin_args *plugin = &args->plugin;

	if (!args->farm && (args->store || args->manifest))
		return mor_fail(err, MORTISE_EINVAL, "--store and --manifest belong to --farm URL");
	if (!args->farm)
		return 0;
	if (!args->store)
		return mor_fail(err, MORTISE_EINVAL,
				"--farm needs --store DIR, a directory that all workers see");
	if (args->shard)
		return mor_fail(err, MORTISE_EINVAL, "--farm shares the work out by itself: leave out --shard");
	if (!args->output || strcmp(args->output, "-") == 0)
		return mor_fail(err, MORTISE_EINVAL, "--farm needs --output FILE: stdout has no journal");
	if (strcmp(args->format, "raw") == 0)
		return mor_fail(err, MORTISE_EINVAL, "--farm writes entries or json, not raw");
	if (args->manifest && strcmp(args->format, "entries") != 0)
		return mor_fail(err, MORTISE_EINVAL, "--manifest is a list of entries: leave out --format");
	if (plugin->env.count || plugin->clean_env || plugin->inherit_env || plugin->framing || plugin->pidns ||
	    plugin->show_wire)
		return mor_fail(err, MORTISE_EINVAL,
				"with --farm the analyzer has the environment of its worker: leave out --env, "
				"--clean-env, --inherit-env, --framing, --pidns and --show-wire");
	return 0;
}

/* ---- the run ---- */

static int put_kzips(struct index_farm *f, mortise_error *err)
{
	struct mor_index *x = f->x;
	size_t count = x->cli->words.count;
	int r = 0;

	f->spec.inputs = mor_zalloc((count + 1) * sizeof(*f->spec.inputs));
	if (!f->spec.inputs)
		return mor_fail_memory(err);
	for (size_t i = 0; i < count && r == 0; i++) {
		struct mor_crew_input *kzip = &f->spec.inputs[f->spec.input_count++];

		kzip->units = mor_kzip_unit_count(x->kzips[i]);
		r = mor_depot_put_file(f->depot, MOR_DEPOT_KZIP, x->cli->words.item[i], kzip->digest, err);
	}
	return r;
}

static int put_spec(struct index_farm *f, mortise_error *err)
{
	const struct mor_index_args *args = f->x->args;
	const struct mor_plugin_args *plugin = &args->plugin;
	int r = 0;

	f->spec.command = "index";
	f->spec.argv = (const char *const *)f->x->cli->words.tail;
	if (args->analyzer) {
		f->spec.analyzer = f->analyzer = mor_path_absolute(args->analyzer);
		if (!f->analyzer)
			return mor_fail_memory(err);
	}
	mor_crew_analyzer(f->spec.analyzer, f->spec.argv, f->spec.files);
	f->spec.set = plugin->set;
	f->spec.timeout = plugin->timeout;
	f->spec.network = plugin->network;
	f->spec.types = args->types;
	f->spec.level = plugin->level;
	f->spec.on_denial = plugin->on_denial;
	f->spec.view = args->view;
	f->spec.confine = plugin->confine;
	f->spec.unconfined = plugin->unconfined;
	f->spec.lenient = args->lenient;
	f->spec.retries = mor_index_retries(f->x);
	f->spec.unit_ms = mor_index_unit_ms(f->x);
	/* --config FILE is read here: workers need not have that file */
	if (f->x->runner.config)
		r = mor_text_list_add(&f->spec.config, f->x->runner.config) < 0 ? mor_fail_memory(err) : 0;
	if (r == 0 && args->vnames)
		r = mor_depot_put_file(f->depot, MOR_DEPOT_SPEC, args->vnames, f->spec.vnames, err);
	if (r == 0)
		r = put_kzips(f, err);
	return r < 0 ? r : mor_crew_spec_put(f->depot, &f->spec, f->run.run, err);
}

static void name_run(struct index_farm *f)
{
	const struct mor_index *x = f->x;
	char machine[100] = "", title[160];

	gethostname(machine, sizeof(machine) - 1);
	mor_printable(mor_slice_of(mor_base_name(x->cli->words.item[0])), title, sizeof(title));
	snprintf(f->run.title, sizeof(f->run.title), "%s%s", title, x->cli->words.count > 1 ? ", …" : "");
	snprintf(f->run.owner, sizeof(f->run.owner), "%.80s, process %d", machine, (int)getpid());
	f->run.units = x->ref_count;
	f->run.lease_ms = x->args->lease_ms ? x->args->lease_ms : DEFAULT_LEASE_S * 1000u;
}

/* ---- what the owner asks ---- */

static const char *unit_digest(uint64_t unit, void *arg)
{
	const struct mor_index *x = arg;

	return mor_kzip_unit_digest(x->refs[unit].kzip, x->refs[unit].number);
}

static void make_key(uint64_t first, uint32_t count, char ret[MOR_DIGEST_SIZE], void *arg)
{
	struct index_farm *f = arg;

	mor_crew_key(f->spec.work, first, count, unit_digest, f->x, ret);
}

static const char *unit_name(uint64_t unit, void *arg)
{
	struct index_farm *f = arg;

	return unit_digest(unit, f->x);
}

static void farm_warning(const char *text, void *arg)
{
	mor_index_on_warning(text, ((struct index_farm *)arg)->x);
}

/* ---- segments ---- */

/* Checked as an analyzer's output is checked: a worker may lie. */
static int add_unit_bytes(struct index_farm *f, size_t unit, const struct mor_segment *segment, size_t number,
			  mortise_error *err)
{
	struct mor_segment_reading reading;
	struct mor_unit_output output = { .fd = -1,
					  .read = mor_segment_read,
					  .read_arg = &reading,
					  .size = segment->units[number].bytes,
					  .form = MOR_STREAM_PROTOBUF };
	int r;

	mor_segment_reading_begin(&reading, segment, number);
	r = mor_result_done(f->x->result, unit, &output, err);
	if (r < 0 && reading.why.code) {
		*err = reading.why;
		return reading.why.code;
	}
	if (r == MORTISE_ELIMIT)
		err->code = r = MORTISE_EINPUT;
	if (r == MORTISE_EINPUT)
		mor_fail_prefix(err, segment->path);
	return r;
}

static void tell_unit(struct index_farm *f, size_t unit, const struct mor_segment *segment, size_t number)
{
	const struct mor_segment_unit *from = &segment->units[number];
	const struct mor_record_ref *ref = &f->x->refs[unit];
	char name[600], why[1024];
	struct mor_unit_end end = { .unit = unit,
				    .digest = mor_kzip_unit_digest(ref->kzip, ref->number),
				    .title = "",
				    .kzip = mor_kzip_path(ref->kzip),
				    .attempts = from->attempts,
				    .records = from->records,
				    .bytes = from->bytes,
				    .code = from->code,
				    .empty = !from->code && from->bytes == 0 };

	if (from->code) {
		end.title = mor_printable(from->name, name, sizeof(name));
		end.reason = mor_printable(from->why, why, sizeof(why));
	}
	for (size_t i = 0; i < segment->log_count; i++)
		if (segment->logs[i].unit == number)
			mor_index_on_line(f->x, segment->logs[i].text);
	mor_index_on_unit(&end, f->x);
}

static int add_failed(struct index_farm *f, size_t unit, const struct mor_segment_unit *from,
		      mortise_error *err)
{
	mortise_error why = { 0 };

	mor_fail(&why, from->code, "%.*s", (int)from->why.len, from->why.ptr);
	return mor_result_failed(f->x->result, unit, &why, err);
}

static int take_segment(const struct mor_farm_batch *batch, const struct mor_segment *segment,
			const char *digest, void *arg, mortise_error *err)
{
	struct index_farm *f = arg;
	struct mor_manifest_part part = { .first = batch->first,
					  .count = batch->count,
					  .bytes = segment->bytes };
	int r = 0;

	for (size_t i = 0; i < segment->count && r == 0; i++) {
		size_t unit = (size_t)batch->first + i;
		const char *reason;

		if (mor_result_state(f->x->result, unit, &reason) != MOR_UNIT_OPEN)
			continue;
		r = segment->units[i].code ? add_failed(f, unit, &segment->units[i], err) :
					     add_unit_bytes(f, unit, segment, i, err);
		if (r == 0)
			tell_unit(f, unit, segment, i);
	}
	memcpy(part.segment, digest, sizeof(part.segment));
	if (r == 0 && f->x->args->manifest && mor_segment_list_add(&f->list, &part) < 0)
		r = mor_fail_memory(err);
	return r;
}

/* ---- the loop ---- */

static uint32_t batch_size(const struct mor_index *x)
{
	size_t share = x->ref_count / BATCHES_LEAST;

	if (x->args->batch)
		return x->args->batch;
	return share < 1 ? 1 : share > BATCH_MOST ? BATCH_MOST : (uint32_t)share;
}

static uint64_t first_open(const struct mor_index *x)
{
	const char *reason;
	uint64_t unit = 0;

	while (unit < x->ref_count && mor_result_state(x->result, unit, &reason) != MOR_UNIT_OPEN)
		unit++;
	return unit;
}

static int open_owner(struct index_farm *f, mortise_error *err)
{
	struct mor_index *x = f->x;
	struct mor_farm_options farm = {
		.url = x->args->farm, .run = &f->run, .on_warning = farm_warning, .arg = f
	};
	struct mor_crew_owner_options opt = {
		.units = x->ref_count,
		.next = first_open(x),
		.batch = batch_size(x),
		.window = x->args->window ? x->args->window : DEFAULT_WINDOW,
		.lease_ms = f->run.lease_ms,
		.poll_ms = POLL_MS,
		.key = make_key,
		.name = unit_name,
		.take = take_segment,
		.on_warning = farm_warning,
		.arg = f,
	};
	int r = mor_farm_open(&farm, &f->farm, err);

	opt.depot = f->depot;
	opt.farm = f->farm;
	return r < 0 ? r : mor_crew_owner_new(&opt, &f->owner, err);
}

/* ---- nobody works ---- */

/* Of the workers that are there: those that do nothing, or those that have a batch. */
static unsigned count_workers(const struct mor_value *workers, bool busy)
{
	struct mor_json_iter it = mor_json_iter(workers);
	unsigned count = 0;

	while (mor_json_next(&it))
		count += mor_json_int(mor_json_get(it.value, "seen_s"), SEEN_S) < SEEN_S &&
			 (mor_json_int(mor_json_get(it.value, "busy"), 0) > 0) == busy;
	return count;
}

static bool is_leased(const struct index_farm *f, const struct mor_value *runs)
{
	struct mor_json_iter it = mor_json_iter(runs);

	while (mor_json_next(&it))
		if (strcmp(mor_json_text(mor_json_get(it.value, "run"), ""), f->run.run) == 0)
			return mor_json_int(mor_json_get(it.value, "leased"), 0) > 0;
	return false;
}

static void tell_quiet(const struct mor_farm_reply *reply, void *arg)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	struct index_farm *f = arg;
	const struct mor_value *workers;
	unsigned idle, busy;

	if (mor_doc_parse(mor_slice_of(reply->text), 0, 0, &doc, NULL) < 0 ||
	    is_leased(f, mor_json_get(mor_doc_root(doc), "runs")))
		return;
	workers = mor_json_get(mor_doc_root(doc), "workers");
	idle = count_workers(workers, false);
	busy = count_workers(workers, true);
	if (idle)
		mor_buf_printf(&text,
			       "nobody has done anything yet: %u %s for work, but cannot do this run; each "
			       "worker says why on its stderr (another analyzer, another store)",
			       idle, idle == 1 ? "worker asks" : "workers ask");
	else if (busy)
		mor_buf_printf(&text, "nobody has done anything yet: %u %s busy with other runs", busy,
			       busy == 1 ? "worker is" : "workers are");
	else
		mor_buf_printf(&text, "nobody has claimed anything: start mortise worker --farm %s --store %s",
			       f->x->args->farm, f->x->args->store);
	if (text.data)
		farm_warning(text.data, f);
}

static int mind_quiet(struct index_farm *f, mortise_error *err)
{
	struct mor_crew_owner_stats stats = mor_crew_owner_stats(f->owner);

	if (f->quiet_asked || stats.batches > stats.cached || mor_clock_ms() < f->quiet_ms)
		return 0;
	f->quiet_asked = true;
	return mor_farm_ask(f->farm, MOR_FARM_STATUS, 0, tell_quiet, f) < 0 ? mor_fail_memory(err) : 0;
}

/* A turn of the owner; when it has everything, the farm is told, once. */
static int own_turn(struct index_farm *f, bool *told, int *wait, mortise_error *err)
{
	if (!mor_crew_owner_finished(f->owner)) {
		int r = mor_crew_owner_step(f->owner, wait, err);

		return r < 0 ? r : mind_quiet(f, err);
	}
	*wait = -1;
	if (*told)
		return 0;
	*told = true;
	return mor_farm_ask(f->farm, MOR_FARM_FINISH, 0, NULL, NULL) < 0 ? mor_fail_memory(err) : 0;
}

static int own_run(struct index_farm *f, mortise_error *err)
{
	struct pollfd fd = { .fd = mor_farm_fd(f->farm), .events = POLLIN };
	bool told = false;
	int r = 0, wait = 0;

	f->quiet_ms = mor_clock_ms() + QUIET_MS;
	while (r == 0 && !(told && mor_farm_idle(f->farm))) {
		const mortise_error *failure;
		int farm_wait;

		r = own_turn(f, &told, &wait, err);
		farm_wait = mor_farm_step(f->farm);
		failure = mor_farm_failure(f->farm);
		mor_progress_draw(&f->x->cli->console->progress);
		if (r == 0 && failure) {
			*err = *failure;
			r = failure->code;
		}
		if (r == 0 && mor_signals_count())
			r = MORTISE_ECANCELED;
		if (r == 0 && !(told && mor_farm_idle(f->farm)))
			mor_signals_poll(&fd, mor_clock_sooner(farm_wait, wait));
	}
	return r;
}

static int write_manifest(struct index_farm *f, mortise_error *err)
{
	if (!f->x->args->manifest)
		return 0;
	snprintf(f->list.format, sizeof(f->list.format), "entries");
	f->list.units = f->x->ref_count;
	f->list.store = mor_strdup(mor_depot_path(f->depot));
	if (!f->list.store)
		return mor_fail_memory(err);
	return mor_segment_list_write(&f->list, f->x->args->output, err);
}

static void tell_farm(struct index_farm *f)
{
	struct mor_crew_owner_stats stats = mor_crew_owner_stats(f->owner);

	f->x->farm_batches = stats.batches;
	f->x->farm_cached = stats.cached;
	f->x->farm_again = stats.again;
}

void mor_index_farm_work(struct mor_index *x)
{
	struct index_farm f = { .x = x };
	mortise_error *err = &x->failure;
	int r = mor_depot_open(x->args->store, true, &f.depot, err);

	mor_driver_adopt(x->driver, x->result);
	if (r == 0)
		r = put_spec(&f, err);
	name_run(&f);
	if (r == 0)
		r = open_owner(&f, err);
	if (r == 0)
		r = own_run(&f, err);
	if (r == 0)
		r = write_manifest(&f, err);
	if (f.owner)
		tell_farm(&f);
	if (r == MORTISE_ECANCELED) {
		x->signals = mor_signals_count();
		err->code = 0;
	}
	mor_crew_owner_free(f.owner);
	mor_farm_free(f.farm);
	mor_depot_free(f.depot);
	mor_segment_list_fini(&f.list);
	mor_free(f.spec.inputs);
	mor_free(f.spec.config.item);
	mor_free(f.analyzer);
}
