/* SPDX-License-Identifier: Apache-2.0 */
/* mortise index --farm: this process is the owner of the run. Workers analyze; segments come back in order. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/path.h"
#include "base/text.h"
#include "cli/index.h"
#include "cli/inside.h"
#include "console/signals.h"
#include "crew/lead.h"
#include "crew/spec.h"
#include "kythe/entries/entries.h"
#include "wire/json.h"

#define BATCH_MOST 512 /* records */

struct index_farm {
	struct mor_index *x;
	struct mor_crew_spec spec;
	char *analyzer; /* absolute */
	char run[MOR_DIGEST_SIZE];
	struct mor_segment_list list; /* of a manifest */
	struct mor_unit *named;       /* who was asked for last */
};

static int open_farm(struct mor_index *x, mortise_error *err)
{
	const struct mor_farming *args = &x->args->farm;
	int r = mor_crew_meet(args->url, mor_index_on_warning, x, err);

	return r == 0 ? mor_depot_open(args->store, MOR_DEPOT_OWN, &x->depot, err) : r;
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
		r = mor_depot_put_file(f->x->depot, MOR_DEPOT_KZIP, x->cli->words.item[i], kzip->digest, err);
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
	mor_crew_spec_files(&f->spec, f->spec.files);
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
		r = mor_depot_put_file(f->x->depot, MOR_DEPOT_SPEC, args->vnames, f->spec.vnames, err);
	if (r == 0)
		r = put_kzips(f, err);
	return r < 0 ? r : mor_crew_spec_put(f->x->depot, &f->spec, f->run, err);
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

/* The title of a unit, as a failure is told in a local run; valid until the next question. */
static const char *unit_name(uint64_t unit, void *arg)
{
	struct index_farm *f = arg;
	const struct mor_record_ref *ref = &f->x->refs[unit];

	f->named = mor_unit_free(f->named);
	if (mor_kzip_unit_read(ref->kzip, ref->number, &f->named, NULL) == 0 && *mor_unit_title(f->named))
		return mor_unit_title(f->named);
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
	struct mor_result_output output = { .fd = -1,
					    .read = mor_segment_read,
					    .read_arg = &reading,
					    .size = segment->units[number].bytes,
					    .form = MOR_STREAM_PROTOBUF };
	int r;

	mor_segment_reading_begin(&reading, segment, number);
	/* entries are kept as they are: one sum is enough, that of the journal */
	reading.unsummed = strcmp(f->x->args->format, "entries") == 0;
	if (reading.unsummed)
		output.sum = &segment->units[number].sum;
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

		if (mor_result_state(f->x->result, unit, &reason) != MOR_RESULT_OPEN)
			continue;
		if (segment->units[i].code && segment->units[i].bytes) /* nobody would check them */
			r = mor_fail(err, MORTISE_EINPUT, "%s: unit %zu failed, and has bytes", segment->path,
				     i + 1);
		else
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

/* ---- the run ---- */

static uint64_t first_open(const struct mor_index *x)
{
	const char *reason;
	uint64_t unit = 0;

	while (unit < x->ref_count && mor_result_state(x->result, unit, &reason) != MOR_RESULT_OPEN)
		unit++;
	return unit;
}

static int lead_index(struct index_farm *f, mortise_error *err)
{
	struct mor_index *x = f->x;
	const struct mor_farming *args = &x->args->farm;
	struct mor_crew_lead_options opt = {
		.console = x->cli->console,
		.depot = x->depot,
		.url = args->url,
		.store = args->store,
		.run = f->run,
		.title = mor_base_name(x->cli->words.item[0]),
		.many = x->cli->words.count > 1,
		.units = x->ref_count,
		.next = first_open(x),
		.batch = args->batch,
		.most = BATCH_MOST,
		.window = args->window,
		.lease_ms = args->lease_ms,
		.report = args->report,
		.key = make_key,
		.name = unit_name,
		.take = take_segment,
		.on_warning = farm_warning,
		.arg = f,
	};

	return mor_crew_lead(&opt, &x->led, err);
}

static int write_manifest(struct index_farm *f, mortise_error *err)
{
	if (!f->x->args->manifest)
		return 0;
	snprintf(f->list.format, sizeof(f->list.format), "entries");
	f->list.units = f->x->ref_count;
	f->list.store = mor_strdup(mor_depot_path(f->x->depot));
	if (!f->list.store)
		return mor_fail_memory(err);
	return mor_segment_list_write(&f->list, f->x->args->output, err);
}

static void work_farm(struct mor_index *x)
{
	struct index_farm f = { .x = x };
	mortise_error *err = &x->failure;
	int r;

	mor_driver_adopt(x->driver, x->result);
	r = put_spec(&f, err);
	if (r == 0)
		r = lead_index(&f, err);
	if (r == 0)
		r = write_manifest(&f, err);
	if (r == MORTISE_ECANCELED) {
		x->signals = mor_signals_count();
		err->code = 0;
	}
	mor_unit_free(f.named);
	mor_segment_list_fini(&f.list);
	mor_free(f.spec.inputs);
	mor_free(f.spec.config.item);
	mor_free(f.analyzer);
}

int mor_cli_index_farm(struct mor_cli *cli)
{
	static const struct mor_index_by_farm by_farm = { open_farm, work_farm };

	return mor_index_run(cli, &by_farm);
}
