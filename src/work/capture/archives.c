/* SPDX-License-Identifier: Apache-2.0 */
/* Archives that are there: opened for a person, merged, and taken apart. */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "capture/capture.h"
#include "console/report.h"
#include "console/signals.h"

static void on_warning(const char *text, void *arg)
{
	const struct mor_capture_warned *warned = arg;

	mor_note(warned->console, "warning: %s: %s", warned->path, text);
}

int mor_capture_open(struct mor_console *console, const char *path, struct mor_capture_warned *warned,
		     struct mor_kzip **ret, mortise_error *err)
{
	*warned = (struct mor_capture_warned){ console, path };
	return mor_kzip_open(path, &(struct mor_kzip_options){ .on_warning = on_warning, .arg = warned }, ret,
			     err);
}

void mor_capture_told(struct mor_console *console, const char *output, const struct mor_kzip_writer *writer,
		      size_t failed)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	struct mor_writer w = { .out = &json };
	size_t units = mor_kzip_writer_units(writer), files = mor_kzip_writer_files(writer);
	bool to_stdout = strcmp(output, "-") == 0 || strcmp(output, "/dev/stdout") == 0;

	if (!console->json) {
		mor_buf_printf(&json, "%s: %zu %s, %zu %s", output, units, units == 1 ? "unit" : "units", files,
			       files == 1 ? "file" : "files");
		if (to_stdout)
			mor_note_slice(console, mor_buf_view(&json));
		else
			mor_outf(console, "%.*s\n", (int)json.len, json.data);
		return;
	}
	mor_w_object(&w);
	mor_w_pair_bool(&w, "ok", failed == 0);
	mor_w_pair(&w, "file", output);
	mor_w_pair_int(&w, "units", (int64_t)units);
	mor_w_pair_int(&w, "files", (int64_t)files);
	mor_w_pair_int(&w, "failed", (int64_t)failed);
	mor_w_end(&w);
	/* The archive itself may go to stdout. Then the report goes to stderr. */
	if (to_stdout)
		mor_note_slice(console, mor_buf_view(&json));
	else
		mor_out_json(console, mor_buf_view(&json));
}

static int add_archive(struct mor_console *console, struct mor_kzip_writer *writer, const char *path,
		       mortise_error *err)
{
	MOR_CLEAN(mor_kzip) struct mor_kzip *kzip = NULL;
	struct mor_capture_warned warned;
	int r = mor_capture_open(console, path, &warned, &kzip, err);

	return r < 0 ? r : mor_kzip_writer_add_kzip(writer, kzip, err);
}

int mor_capture_merge(struct mor_console *console, const char *output, enum mor_kzip_encoding encoding,
		      const char *const *paths, mortise_error *err)
{
	MOR_CLEAN(mor_kzip_writer) struct mor_kzip_writer *writer = NULL;
	int r = mor_kzip_writer_new(output, encoding, &writer, err);

	for (; r == 0 && *paths; paths++) {
		r = add_archive(console, writer, *paths, err);
		if (mor_signals_count())
			return mor_report_interrupted(console, mor_signals_exit_code());
	}
	r = r ? r : mor_kzip_writer_finish(writer, err);
	if (r == 0)
		mor_capture_told(console, output, writer, 0);
	else if (r == MORTISE_EUNSUPPORTED)
		mor_fail(err, r, "%s; use --encoding json", err->text);
	return r;
}

/* ---- cat ---- */

static int to_stdout(const void *bytes, size_t len, void *console)
{
	mor_out(console, (struct mor_slice){ bytes, len });
	return mor_out_broken(console) || mor_signals_count() ? MORTISE_ECANCELED : 0;
}

static int cat_unit(struct mor_console *console, struct mor_kzip *kzip, size_t number, mortise_error *err)
{
	MOR_CLEAN(mor_unit) struct mor_unit *unit = NULL;
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	int r = mor_kzip_unit_read(kzip, number, &unit, err);

	r = r ? r : mor_unit_write_json(unit, &json, err);
	if (r == 0)
		mor_out_json(console, mor_buf_view(&json));
	return r;
}

int mor_capture_cat(struct mor_console *console, const char *path, const char *unit, const char *word,
		    mortise_error *err)
{
	MOR_CLEAN(mor_kzip) struct mor_kzip *kzip = NULL;
	struct mor_capture_warned warned;
	struct mor_kzip_found found = { 0 };
	int r = mor_capture_open(console, path, &warned, &kzip, err);

	r = r ? r : mor_kzip_find_typed(kzip, unit, word, &found, err);
	if (r == 0)
		r = *found.file ? mor_kzip_file_read(kzip, found.file, to_stdout, console, err) :
				  cat_unit(console, kzip, found.unit, err);
	if (mor_signals_count())
		return mor_report_interrupted(console, mor_signals_exit_code());
	return r == MORTISE_ECANCELED ? 0 : r; /* our reader has gone: main() chooses the exit code for that */
}
