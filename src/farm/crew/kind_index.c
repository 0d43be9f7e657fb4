/* SPDX-License-Identifier: Apache-2.0 */
/* Batches of mortise index: units are the records of archives, the inputs of a run. */
#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/fd.h"
#include "crew/inside.h"
#include "index/index.h"

#define RULES_LIMIT ((size_t)64 << 20)

/* A run. */
struct known_index {
	struct mor_kzip **kzips; /* one for each input, opened when it is needed */
	struct mor_vname_rules *rules;
};

/* How a unit ended, beside what the result knows. */
struct slot_unit {
	uint64_t records;
	unsigned attempts;
	uint64_t at; /* its bytes in the segment */
	char *name;
};

/* A batch of records. */
struct slot_index {
	struct mor_record_ref *refs;
	struct mor_runner runner;
	bool open; /* runner */
	mortise_plugin_options analyzer;
	struct mor_driver *driver;
	struct mor_result *result;
	struct mor_result_taker taker;
	struct slot_unit *units;
};

static struct slot_index *index_of(const struct worker_slot *slot)
{
	return slot->own;
}

static struct known_index *archives_of(const struct known *known)
{
	return known->own;
}

/* ---- the run ---- */

#define AT(name) offsetof(struct mor_crew_index_spec, name)
static const struct mor_crew_member index_members[] = {
	{ "view", AT(view) },     { "lenient", AT(lenient) }, { "unit_ms", AT(unit_ms) },
	{ "vnames", AT(vnames) }, { "types", AT(types) },     { 0 },
};

static int load_known_rules(const struct crew_worker *worker, struct known *known, mortise_error *err)
{
	const struct mor_crew_index_spec *own = known->spec.own;
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	int r;

	if (!own->vnames[0])
		return 0;
	r = mor_depot_get_text(worker->depot, MOR_DEPOT_SPEC, own->vnames, RULES_LIMIT, &text, err);
	return r < 0 ? r :
		       mor_vname_rules_parse("vnames", mor_buf_view(&text), &archives_of(known)->rules, err);
}

static int load_index(struct crew_worker *worker, struct known *known, mortise_error *err)
{
	struct known_index *own = known->own = mor_zalloc(sizeof(*own));

	if (own)
		own->kzips = mor_zalloc((known->spec.input_count + 1) * sizeof(*own->kzips));
	return own && own->kzips ? load_known_rules(worker, known, err) : mor_fail_memory(err);
}

static void unload_index(struct known *known)
{
	struct known_index *own = known->own;

	if (!own)
		return;
	for (size_t i = 0; own->kzips && i < known->spec.input_count; i++)
		mor_kzip_free(own->kzips[i]);
	mor_free(own->kzips);
	mor_vname_rules_free(own->rules);
	mor_free(own);
}

/* ---- records ---- */

/* The bytes of a kzip are checked once. */
static int open_known_kzip(struct crew_worker *worker, struct known *known, size_t number, mortise_error *err)
{
	const struct mor_crew_input *kzip = &known->spec.inputs[number];
	MOR_CLEAN_TEXT char *path = mor_depot_name(worker->depot, MOR_DEPOT_KZIP, kzip->digest);
	int fd, r;

	if (archives_of(known)->kzips[number])
		return 0;
	if (!path)
		return mor_fail_memory(err);
	if ((fd = mor_depot_open_file(worker->depot, MOR_DEPOT_KZIP, kzip->digest, err)) < 0)
		return fd;
	mor_fd_close(&fd);
	r = mor_kzip_open(path, &(struct mor_kzip_options){ 0 }, &archives_of(known)->kzips[number], err);
	if (r == 0 && mor_kzip_unit_count(archives_of(known)->kzips[number]) != kzip->units)
		r = mor_fail(err, MORTISE_EINPUT, "%s has another number of records than the owner saw", path);
	return r;
}

static const char *ref_digest(uint64_t unit, void *arg)
{
	const struct mor_record_ref *refs = arg;

	return mor_kzip_unit_digest(refs[unit].kzip, refs[unit].number);
}

static int fill_refs(struct crew_worker *worker, struct known *known, const struct mor_farm_batch *batch,
		     struct mor_record_ref *refs, mortise_error *err)
{
	uint64_t first = 0;
	size_t filled = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < known->spec.input_count; i++) {
		uint64_t end = first + known->spec.inputs[i].units;

		for (uint64_t unit = batch->first + filled; r == 0 && filled < batch->count && unit < end;
		     unit++) {
			r = open_known_kzip(worker, known, i, err);
			refs[filled++] =
				(struct mor_record_ref){ archives_of(known)->kzips[i], (size_t)(unit - first) };
		}
		first = end;
	}
	return r < 0 ? r :
	       filled == batch->count ?
		       0 :
		       mor_fail(err, MORTISE_EINPUT, "the batch has units that the run does not have");
}

static int find_refs(struct crew_worker *worker, struct known *known, const struct mor_farm_batch *batch,
		     struct mor_record_ref **ret, mortise_error *err)
{
	uint64_t units = mor_crew_spec_units(&known->spec);
	struct mor_record_ref *refs;
	char key[MOR_DIGEST_SIZE];
	int r;

	if (batch->count == 0 || batch->first >= units || batch->count > units - batch->first)
		return mor_fail(err, MORTISE_EINPUT, "the batch has units that the run does not have");
	refs = mor_zalloc(batch->count * sizeof(*refs));
	if (!refs)
		return mor_fail_memory(err);
	r = fill_refs(worker, known, batch, refs, err);
	if (r == 0) {
		mor_crew_key(known->spec.work, 0, batch->count, ref_digest, refs, key);
		if (strcmp(key, batch->key) != 0)
			r = mor_fail(err, MORTISE_EINPUT,
				     "its records are not those that the owner saw: an archive has changed");
	}
	if (r < 0) {
		mor_free(refs);
		return r;
	}
	*ret = refs;
	return 0;
}

/* ---- what the driver tells ---- */

static void slot_unit_ended(const struct mor_unit_end *end, void *arg)
{
	struct worker_slot *slot = arg;
	struct slot_unit *unit = &index_of(slot)->units[end->unit];

	unit->records = end->records;
	unit->attempts = end->attempts;
	mor_slot_ended(slot, end->unit, *end->title ? end->title : end->digest);
	if (!end->reason)
		return;
	slot->failed++;
	unit->name = mor_strdup(*end->title ? end->title : end->digest);
}

static void slot_log(const struct mor_unit_log *log, void *arg)
{
	MOR_CLEAN(mor_buf) struct mor_buf line = MOR_BUF_INIT;

	mor_unit_log_write(log, &line);
	mor_buf_byte(&line, '\0');
	if (!mor_buf_failed(&line))
		mor_slot_log(arg, log->unit, line.data);
}

static void slot_warning(const char *text, void *arg)
{
	struct worker_slot *slot = arg;

	if (slot->worker->opt.console->verbose)
		mor_note_warning(text, slot->worker->opt.console);
}

/* ---- the batch ---- */

/* A store that is full is told when the batch has ended: until then its bytes go nowhere. */
static int put_result(const void *bytes, size_t len, void *arg)
{
	struct worker_slot *slot = arg;

	if (!slot->broken.code)
		mor_segment_writer_put(slot->writer, bytes, len, &slot->broken);
	return 0;
}

static void end_result(size_t unit, bool kept, void *arg)
{
	struct worker_slot *slot = arg;

	if (!slot->broken.code)
		mor_segment_writer_end(slot->writer, kept, &index_of(slot)->units[unit].at, &slot->broken);
}

static int open_slot_result(struct worker_slot *slot, mortise_error *err)
{
	struct mor_result_options opt = { .check = &mor_driver_checks[MOR_DRIVER_ENTRIES],
					  .units = slot->batch.count,
					  .identity = "",
					  .fd = -1,
					  .taker = &index_of(slot)->taker };

	index_of(slot)->taker = (struct mor_result_taker){ put_result, end_result, slot };
	return mor_result_open(&opt, &index_of(slot)->result, err);
}

static int open_slot_driver(struct worker_slot *slot, mortise_error *err)
{
	static const char *const strict[] = { NULL };
	static const char *const lenient[] = { "quirks.leading_zeros=true", NULL };
	const struct mor_crew_spec *spec = &slot->known->spec;
	const struct mor_crew_index_spec *own = spec->own;
	struct mor_driver_options opt = {
		.analyzer = &index_of(slot)->analyzer,
		.records = index_of(slot)->refs,
		.record_count = slot->batch.count,
		.expected = (size_t)mor_crew_spec_units(spec),
		.keep = true,
		.workers = 1,
		.retries = spec->retries,
		.unit_ms = own->unit_ms,
		.view = mor_index_view(own->view),
		.types = own->types.item,
		.rules = archives_of(slot->known)->rules,
		.stager = slot->worker->stager,
		.events = { slot_unit_ended, slot_log, slot_warning, NULL, slot },
	};
	int r = mor_runner_open(&index_of(slot)->runner, slot->worker->opt.console, &spec->plugin,
				own->lenient ? lenient : strict, err);

	index_of(slot)->open = true;
	if (r < 0)
		return r;
	mor_runner_pool_options(&index_of(slot)->runner, spec->programs.item ? spec->programs.item[0] : NULL,
				spec->argv, NULL, &index_of(slot)->analyzer);
	index_of(slot)->analyzer.dialect = "kythe";
	opt.host = index_of(slot)->runner.host;
	r = mor_driver_new(&opt, &index_of(slot)->driver, err);
	return r < 0 ? r : mor_slot_watch(slot, opt.host, err);
}

static int begin_index(struct worker_slot *slot, mortise_error *err)
{
	struct slot_index *index = slot->own ? slot->own : (slot->own = mor_zalloc(sizeof(*index)));
	int r = index ? find_refs(slot->worker, slot->known, &slot->batch, &index->refs, err) :
			mor_fail_memory(err);

	if (r < 0)
		return r;
	index->units = mor_zalloc(slot->batch.count * sizeof(*index->units));
	if (!index->units)
		return mor_fail_memory(err);
	r = open_slot_result(slot, err);
	if (r == 0 && index->driver)
		return mor_driver_next(index->driver, index->refs, slot->batch.count, index->result, err);
	r = r ? r : open_slot_driver(slot, err);
	if (r == 0)
		mor_driver_start(index->driver, index->result);
	return r;
}

static int step_index(struct worker_slot *slot)
{
	if (!slot->own || !index_of(slot)->driver)
		return -1;
	mortise_host_dispatch(index_of(slot)->runner.host);
	return mor_driver_step(index_of(slot)->driver);
}

static bool index_finished(const struct worker_slot *slot)
{
	return mor_driver_finished(index_of(slot)->driver) || mor_driver_rests(index_of(slot)->driver);
}

static const mortise_error *index_failure(const struct worker_slot *slot)
{
	return mor_driver_failure(index_of(slot)->driver);
}

static void stop_index(struct worker_slot *slot, bool now)
{
	mor_driver_stop(index_of(slot)->driver, now);
}

static void tell_index_unit(struct worker_slot *slot, size_t number, struct mor_segment_unit *unit)
{
	struct slot_index *index = slot->own;
	const char *reason = NULL;

	unit->records = index->units[number].records;
	unit->attempts = index->units[number].attempts;
	unit->code = mor_result_code(index->result, number);
	mor_result_state(index->result, number, &reason);
	mor_result_bytes(index->result, number, &unit->bytes, &unit->sum);
	unit->name = mor_slice_of(index->units[number].name ? index->units[number].name : "?");
	unit->why = mor_slice_of(reason ? reason : "");
	unit->at = index->units[number].at;
}

static void close_slot_driver(struct slot_index *index)
{
	index->driver = mor_driver_free(index->driver);
	if (index->open)
		mor_runner_close(&index->runner);
	index->open = false;
}

static void drop_index(struct worker_slot *slot)
{
	close_slot_driver(slot->own);
	mor_free(slot->own);
	slot->own = NULL;
}

static bool end_index(struct worker_slot *slot)
{
	struct slot_index *index = slot->own;

	if (!index)
		return false;
	if (index->driver && !mor_driver_rests(index->driver))
		close_slot_driver(index);
	index->result = mor_result_free(index->result);
	for (uint32_t i = 0; index->units && i < slot->batch.count; i++)
		mor_free(index->units[i].name);
	mor_free(index->units);
	index->units = NULL;
	mor_free(index->refs);
	index->refs = NULL;
	if (!index->driver)
		drop_index(slot);
	return slot->own;
}

const struct mor_crew_kind mor_crew_kind_index = {
	.command = "index",
	.program = "analyzer",
	.programs = "analyzer",
	.own_size = sizeof(struct mor_crew_index_spec),
	.members = index_members,
	.load = load_index,
	.unload = unload_index,
	.begin = begin_index,
	.step = step_index,
	.finished = index_finished,
	.failure = index_failure,
	.stop = stop_index,
	.unit = tell_index_unit,
	.end = end_index,
	.drop = drop_index,
};
