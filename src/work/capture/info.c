/* SPDX-License-Identifier: Apache-2.0 */
/* What an archive holds, as a page. */
#include <inttypes.h>
#include <libsmartcols/libsmartcols.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "capture/capture.h"
#include "console/report.h"
#include "console/signals.h"

#define SHORT_DIGEST 16

struct info {
	struct mor_console *console;
	struct mor_kzip *kzip;
	struct libscols_table *table; /* NULL with --json */
	struct mor_writer w;          /* out is NULL without --json */
	size_t broken;                /* units or files that cannot be read */
	size_t missing;               /* contents that units require but the archive lacks */
	mortise_error last;
};

enum { UNIT, LANGUAGE, INPUTS, BYTES, MISSING, SOURCE, COLUMNS };

static void told(struct info *info, const mortise_error *err)
{
	info->broken++;
	info->last = *err;
	mor_report_line(info->console, &(struct mor_report){ .error = err });
}

/* ---- units ---- */

struct counts {
	uint64_t bytes;
	size_t missing;
};

static struct counts count_inputs(const struct info *info, const struct mor_unit *unit)
{
	struct counts counts = { 0 };
	size_t number;

	for (size_t i = 0; i < unit->input_count; i++) {
		if (mor_kzip_file_find(info->kzip, unit->inputs[i].digest, &number))
			counts.bytes += mor_kzip_file_size(info->kzip, number);
		else
			counts.missing++;
	}
	return counts;
}

static void set_number(struct libscols_line *line, size_t column, uint64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, number);
	scols_line_set_data(line, column, text);
}

static void unit_line(struct info *info, const char *digest, const struct mor_unit *unit,
		      const struct counts *counts)
{
	struct libscols_line *line = scols_table_new_line(info->table, NULL);
	char text[SHORT_DIGEST + 1], shown[200];

	if (!line)
		return;
	snprintf(text, sizeof(text), "%.*s", SHORT_DIGEST, digest);
	scols_line_set_data(line, UNIT, text);
	scols_line_set_data(line, LANGUAGE,
			    mor_printable(mor_slice_of(unit->vname.language), shown, sizeof(shown)));
	set_number(line, INPUTS, unit->input_count);
	scols_line_set_data(line, BYTES, mor_format_bytes(counts->bytes, shown));
	set_number(line, MISSING, counts->missing);
	scols_line_set_data(line, SOURCE,
			    mor_printable(mor_slice_of(mor_unit_title(unit)), shown, sizeof(shown)));
}

static void unit_json(struct info *info, const char *digest, const struct mor_unit *unit,
		      const struct counts *counts)
{
	struct mor_writer *w = &info->w;

	mor_w_object(w);
	mor_w_pair(w, "digest", digest);
	mor_w_key(w, "v_name");
	mor_vname_json(&unit->vname, w);
	mor_unit_texts_json(w, "source_file", unit->sources, unit->source_count);
	mor_w_pair(w, "output_key", unit->output_key);
	mor_w_pair(w, "working_directory", unit->working_directory);
	mor_w_pair_int(w, "arguments", (int64_t)unit->argument_count);
	mor_w_pair_int(w, "inputs", (int64_t)unit->input_count);
	mor_w_pair_int(w, "input_bytes", (int64_t)counts->bytes);
	mor_w_pair_int(w, "missing", (int64_t)counts->missing);
	mor_w_pair_array(w, "details");
	for (size_t i = 0; i < unit->detail_count; i++)
		mor_w_string(w, unit->details[i].type_url);
	mor_w_end(w);
	mor_w_end(w);
}

static void show_unit(struct info *info, size_t number)
{
	MOR_CLEAN(mor_unit) struct mor_unit *unit = NULL;
	const char *digest = mor_kzip_unit_digest(info->kzip, number);
	mortise_error err = { 0 };
	struct counts counts;

	if (mor_kzip_unit_read(info->kzip, number, &unit, &err) < 0) {
		told(info, &err);
		return;
	}
	counts = count_inputs(info, unit);
	info->missing += counts.missing;
	if (info->w.out)
		unit_json(info, digest, unit, &counts);
	else
		unit_line(info, digest, unit, &counts);
}

static void show_units(struct info *info)
{
	for (size_t i = 0; i < mor_kzip_unit_count(info->kzip) && !mor_signals_count(); i++)
		show_unit(info, i);
}

/* ---- files ---- */

static uint64_t all_bytes(const struct mor_kzip *kzip)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < mor_kzip_file_count(kzip); i++)
		bytes += mor_kzip_file_size(kzip, i);
	return bytes;
}

static int drop_bytes(const void *bytes, size_t len, void *arg)
{
	(void)bytes;
	(void)len;
	(void)arg;
	return 0;
}

static void verify_files(struct info *info)
{
	mortise_error err = { 0 };

	for (size_t i = 0; i < mor_kzip_file_count(info->kzip) && !mor_signals_count(); i++)
		if (mor_kzip_file_read(info->kzip, mor_kzip_file_digest(info->kzip, i), drop_bytes, NULL,
				       &err) < 0)
			told(info, &err);
}

/* ---- the page ---- */

static struct libscols_table *new_table(void)
{
	static const char *const columns[COLUMNS] = {
		"UNIT", "LANGUAGE", "INPUTS", "BYTES", "MISSING", "SOURCE"
	};
	struct libscols_table *table = scols_new_table();

	for (int i = 0; table && i < COLUMNS; i++)
		if (!scols_table_new_column(table, columns[i], 0,
					    i >= INPUTS && i <= MISSING ? SCOLS_FL_RIGHT : 0))
			break;
	if (table)
		scols_table_set_termforce(table, SCOLS_TERMFORCE_NEVER);
	return table;
}

static void show_page(struct info *info)
{
	const struct mor_kzip *kzip = info->kzip;
	char bytes[32], *text = NULL;

	mor_outf(info->console, "%s: %zu %s (%s), %zu %s of %s\n", mor_kzip_path(kzip),
		 mor_kzip_unit_count(kzip), mor_kzip_unit_count(kzip) == 1 ? "unit" : "units",
		 mor_kzip_encoding_name(mor_kzip_encoding(kzip)), mor_kzip_file_count(kzip),
		 mor_kzip_file_count(kzip) == 1 ? "file" : "files", mor_format_bytes(all_bytes(kzip), bytes));
	if (mor_kzip_unit_count(kzip) && scols_print_table_to_string(info->table, &text) == 0)
		mor_outf(info->console, "%s\n", text);
	free(text);
}

static int print_page(struct info *info, mortise_error *err)
{
	info->table = new_table();
	if (!info->table)
		return mor_fail_memory(err);
	show_units(info);
	show_page(info);
	scols_unref_table(info->table);
	return 0;
}

static int page_json(struct info *info, mortise_error *err)
{
	struct mor_writer *w = &info->w;

	mor_w_object(w);
	mor_w_pair(w, "file", mor_kzip_path(info->kzip));
	mor_w_pair(w, "root", mor_kzip_root(info->kzip));
	mor_w_pair(w, "encoding", mor_kzip_encoding_name(mor_kzip_encoding(info->kzip)));
	mor_w_pair_int(w, "files", (int64_t)mor_kzip_file_count(info->kzip));
	mor_w_pair_int(w, "bytes", (int64_t)all_bytes(info->kzip));
	mor_w_pair_array(w, "units");
	show_units(info);
	mor_w_end(w);
	mor_w_pair_int(w, "broken", (int64_t)info->broken);
	mor_w_pair_int(w, "missing", (int64_t)info->missing);
	mor_w_end(w);
	if (mor_buf_failed(w->out))
		return mor_fail(err, w->out->status, "%s", mortise_status_text(w->out->status));
	mor_out_json(info->console, mor_buf_view(w->out));
	return 0;
}

/* Each broken part has been reported already. Only the exit code is left. */
int mor_capture_info(struct mor_console *console, const char *path, bool verify, mortise_error *err)
{
	MOR_CLEAN(mor_kzip) struct mor_kzip *kzip = NULL;
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	struct mor_capture_warned warned;
	struct info info = { .console = console, .w = { .out = console->json ? &json : NULL } };
	int r = mor_capture_open(console, path, &warned, &kzip, err);

	if (r < 0)
		return r;
	info.kzip = kzip;
	if (verify)
		verify_files(&info);
	r = console->json ? page_json(&info, err) : print_page(&info, err);
	if (r < 0)
		return r;
	if (mor_signals_count())
		return mor_report_interrupted(console, mor_signals_exit_code());
	if (info.missing)
		mor_note(console, "warning: %s: %zu required %s not in the archive", mor_kzip_path(kzip),
			 info.missing, info.missing == 1 ? "input is" : "inputs are");
	return info.broken ? mortise_status_exit_code(info.last.code) : 0;
}
