/* SPDX-License-Identifier: Apache-2.0 */
/* mortise index --farm: this process is the owner of the run. Workers analyze; segments come back in order. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "crew/inside.h"
#include "crew/lead.h"
#include "index/index.h"
#include "kythe/entries/entries.h"

#define BATCH_MOST 512 /* records */

struct lead_index {
	struct mor_crew_lead lead;
	struct mor_crew_index_spec own;
	struct mor_index *x;
	bool manifest;
	struct mor_segment_list list; /* of a manifest */
	struct mor_unit *named;       /* the unit that was asked for last */
};

/* ---- the run ---- */

static int open_farm(struct mor_index *x, void *arg, mortise_error *err)
{
	struct lead_index *f = arg;

	f->x = x;
	return mor_crew_lead_open(&f->lead, err);
}

static int put_kzips(struct lead_index *f, mortise_error *err)
{
	const struct mor_index_args *args = f->x->args;
	struct mor_crew_spec *spec = &f->lead.spec;
	int r = 0;

	spec->inputs = mor_zalloc((args->kzip_count + 1) * sizeof(*spec->inputs));
	if (!spec->inputs)
		return mor_fail_memory(err);
	for (size_t i = 0; i < args->kzip_count && r == 0; i++) {
		struct mor_crew_input *kzip = &spec->inputs[spec->input_count++];

		kzip->units = mor_kzip_unit_count(f->x->kzips[i]);
		r = mor_depot_put_file(f->lead.depot, MOR_DEPOT_KZIP, args->kzips[i], kzip->digest, err);
	}
	return r;
}

static int put_run(struct lead_index *f, mortise_error *err)
{
	const struct mor_index_args *args = f->x->args;
	struct mor_crew_spec *spec = &f->lead.spec;
	int r = 0;

	spec->kind = &mor_crew_kind_index;
	spec->own = &f->own;
	spec->argv = args->command;
	spec->retries = args->retries;
	f->own.view = args->view;
	f->own.types = args->types;
	f->own.lenient = args->lenient;
	f->own.unit_ms = mor_index_unit_ms(f->x);
	if (args->analyzer)
		r = mor_crew_lead_program(&f->lead, args->analyzer, err);
	if (r == 0 && args->vnames)
		r = mor_depot_put_file(f->lead.depot, MOR_DEPOT_SPEC, args->vnames, f->own.vnames, err);
	r = r ? r : put_kzips(f, err);
	return r < 0 ? r : mor_crew_lead_put(&f->lead, &f->x->runner, err);
}

/* ---- what the owner asks ---- */

static const char *unit_digest(uint64_t unit, void *arg)
{
	const struct mor_record_ref *ref = &((struct lead_index *)arg)->x->refs[unit];

	return mor_kzip_unit_digest(ref->kzip, ref->number);
}

/* The title of a unit, as a failure is told in a local run; valid until the next question. */
static const char *unit_name(uint64_t unit, void *arg)
{
	struct lead_index *f = arg;
	const struct mor_record_ref *ref = &f->x->refs[unit];

	f->named = mor_unit_free(f->named);
	if (mor_kzip_unit_read(ref->kzip, ref->number, &f->named, NULL) == 0 && *mor_unit_title(f->named))
		return mor_unit_title(f->named);
	return unit_digest(unit, f);
}

/* ---- segments ---- */

/* Checked as an analyzer's output is checked: a worker may lie. */
static int add_unit_bytes(struct lead_index *f, size_t unit, const struct mor_segment *segment, size_t number,
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

static void tell_unit(struct lead_index *f, size_t unit, const struct mor_segment *segment, size_t number)
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

static int add_failed(struct lead_index *f, size_t unit, const struct mor_segment_unit *from,
		      mortise_error *err)
{
	mortise_error why = { 0 };

	mor_fail(&why, from->code, "%.*s", (int)from->why.len, from->why.ptr);
	return mor_result_failed(f->x->result, unit, &why, err);
}

static int take_segment(const struct mor_farm_batch *batch, const struct mor_segment *segment,
			const char *digest, void *arg, mortise_error *err)
{
	struct lead_index *f = arg;
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
	if (r == 0 && f->manifest && mor_segment_list_add(&f->list, &part) < 0)
		r = mor_fail_memory(err);
	return r;
}

/* ---- the whole ---- */

static int write_manifest(struct lead_index *f, mortise_error *err)
{
	if (!f->manifest)
		return 0;
	snprintf(f->list.format, sizeof(f->list.format), "entries");
	f->list.units = f->x->ref_count;
	f->list.store = mor_strdup(mor_depot_path(f->lead.depot));
	if (!f->list.store)
		return mor_fail_memory(err);
	return mor_segment_list_write(&f->list, f->x->args->output, err);
}

static int do_records(struct mor_index *x, void *arg, mortise_error *err)
{
	struct lead_index *f = arg;
	int r = put_run(f, err);

	f->lead.owner = (struct mor_crew_owner_options){ .units = x->ref_count,
							 .next = mor_result_stats(x->result).kept,
							 .most = BATCH_MOST,
							 .digest = unit_digest,
							 .name = unit_name,
							 .take = take_segment,
							 .arg = f };
	r = r ? r : mor_crew_lead_run(&f->lead, err);
	x->stored = f->lead.led.stats.cached_units;
	return r < 0 ? r : write_manifest(f, err);
}

static void write_farm(struct mor_writer *w, void *arg)
{
	const struct mor_crew_owner_stats *stats = &((struct lead_index *)arg)->lead.led.stats;

	mor_w_pair_object(w, "farm");
	mor_w_pair_int(w, "batches", (int64_t)stats->batches);
	mor_w_pair_int(w, "cached", (int64_t)stats->cached);
	mor_w_pair_int(w, "cached_units", (int64_t)stats->cached_units);
	mor_w_pair_int(w, "again", (int64_t)stats->again);
	mor_w_end(w);
}

int mor_crew_index(struct mor_console *console, const struct mor_index_args *want,
		   const struct mor_crew_farm *farm, bool manifest)
{
	struct lead_index f = { .lead = { .farm = farm,
					  .console = console,
					  .title = mor_base_name(want->kzips[0]),
					  .many = want->kzip_count > 1 },
				.manifest = manifest };
	struct mor_index_elsewhere elsewhere = { open_farm, do_records, write_farm, manifest, &f };
	struct mor_index_args args = *want;
	int exit_code;

	args.elsewhere = &elsewhere;
	exit_code = mor_index_run(console, &args);
	mor_unit_free(f.named);
	mor_segment_list_fini(&f.list);
	mor_crew_lead_close(&f.lead);
	return exit_code;
}
