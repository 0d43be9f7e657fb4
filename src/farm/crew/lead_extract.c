/* SPDX-License-Identifier: Apache-2.0 */
/* mortise extract --farm: the owner of a run whose units are files. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "console/report.h"
#include "console/signals.h"
#include "console/warned.h"
#include "content/content.h"
#include "crew/files.h"
#include "crew/inside.h"
#include "crew/lead.h"
#include "extract/extract.h"
#include "result/result.h"
#include "wire/envelope.h"

#define BATCH_MOST  64 /* files */
#define BATCH_BYTES ((uint64_t)32 << 20)

struct lead_extract {
	struct mor_crew_lead lead;
	struct mor_crew_extract_spec own;
	struct mor_extract x; /* without plugins: it looks at files, and makes rows of failures */
	struct mor_runner runner;
	char (*digests)[MOR_DIGEST_SIZE]; /* of the files, as units */
	uint64_t *sizes;                  /* of them, in bytes */
	struct mor_result *result;
	struct mor_buf bytes; /* of a unit */
	bool headed;
	int last_exit_code; /* of a file that failed */
};

/* ---- looking at the files ---- */

static void digest_place(const char *path, char ret[MOR_DIGEST_SIZE], struct mor_extract_job *job)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		mor_fail_errno(&job->err, MORTISE_EINPUT, errno, "reading it");
	else
		mor_content_hash_fd(fd, (uint64_t)st.st_size, ret, path, &job->err);
	mor_fd_close(&fd);
}

/* Puts it into the store, or remembers its bytes: --source path sends its name, which must mean the same file
 * on all machines. Errors of the file are the job's; what is returned is an error of the store. */
static int keep_file(struct lead_extract *f, struct mor_extract_job *job, struct mor_crew_file *file,
		     char **ret_place, mortise_error *err)
{
	if (job->err.code)
		return 0;
	if (strcmp(f->x.args->source, "bytes") == 0)
		return mor_depot_put_file(f->lead.depot, MOR_DEPOT_FILE, job->path, file->digest, err);
	*ret_place = mor_path_absolute(job->path);
	if (!*ret_place)
		return mor_fail_memory(err);
	file->place = *ret_place;
	digest_place(*ret_place, file->digest, job);
	return 0;
}

static int add_file(struct lead_extract *f, size_t number, struct mor_writer *list, mortise_error *err)
{
	MOR_CLEAN_TEXT char *place = NULL;
	struct mor_crew_file file = { .name = f->x.args->files[number], .place = "" };
	struct mor_extract_job job;
	struct stat st;
	int r;

	if (!mor_utf8_valid(mor_slice_of(file.name)))
		return mor_fail(err, MORTISE_EINPUT, "file %zu: with --farm, names must be UTF-8", number + 1);
	mor_extract_look(&f->x, file.name, &job);
	r = keep_file(f, &job, &file, &place, err);
	file.mime = job.mime ? job.mime : "";
	file.extension = job.extension ? job.extension : "";
	file.code = job.err.code;
	file.why = job.err.code ? job.err.text : "";
	if (r == 0) {
		mor_crew_files_add(list, &file);
		mor_crew_file_digest(&file, f->digests[number]);
		f->sizes[number] = stat(file.name, &st) == 0 ? (uint64_t)st.st_size : 0;
	}
	mor_extract_job_clear(&job);
	return r;
}

static int put_list(struct lead_extract *f, size_t first, size_t count, mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	struct mor_crew_input *input = &f->lead.spec.inputs[f->lead.spec.input_count++];
	struct mor_writer list = { .out = &text };
	int r = 0;

	mor_w_array(&list);
	for (size_t i = 0; r == 0 && i < count; i++)
		r = mor_signals_count() ? MORTISE_ECANCELED : add_file(f, first + i, &list, err);
	mor_w_end(&list);
	if (r == 0 && mor_buf_failed(&text))
		r = mor_fail_memory(err);
	input->units = count;
	return r < 0 ? r :
		       mor_depot_put_text(f->lead.depot, MOR_DEPOT_SPEC, mor_buf_view(&text), input->digest,
					  err);
}

static int put_lists(struct lead_extract *f, mortise_error *err)
{
	size_t count = f->x.args->file_count, first = 0;
	int r = 0;

	f->lead.spec.inputs = mor_zalloc((count / MOR_CREW_LIST + 1) * sizeof(*f->lead.spec.inputs));
	f->digests = mor_zalloc(count * sizeof(*f->digests));
	f->sizes = mor_zalloc(count * sizeof(*f->sizes));
	if (!f->lead.spec.inputs || !f->digests || !f->sizes)
		return mor_fail_memory(err);
	for (; r == 0 && first < count; first += MOR_CREW_LIST)
		r = put_list(f, first, count - first < MOR_CREW_LIST ? count - first : MOR_CREW_LIST, err);
	return r;
}

/* ---- the run ---- */

static int put_run(struct lead_extract *f, mortise_error *err)
{
	const struct mor_extract_args *want = f->x.args;
	struct mor_crew_spec *spec = &f->lead.spec;
	int r = 0;

	spec->kind = &mor_crew_kind_extract;
	spec->own = &f->own;
	spec->argv = want->command;
	spec->retries = want->retries;
	spec->plugin.dialect = want->plugin->dialect;
	spec->plugin.strict = want->plugin->strict;
	f->own.options = want->options;
	f->own.source = want->source;
	f->own.picked = want->picked;
	f->own.metadata = want->metadata;
	f->own.json = want->json;
	for (size_t i = 0; r == 0 && i < want->plugins.count; i++)
		r = mor_crew_lead_program(&f->lead, want->plugins.item[i], err);
	r = r ? r : put_lists(f, err);
	return r < 0 ? r : mor_crew_lead_put(&f->lead, &f->runner, err);
}

static const char *unit_digest(uint64_t unit, void *arg)
{
	return ((struct lead_extract *)arg)->digests[unit];
}

static uint64_t file_size(uint64_t unit, void *arg)
{
	return ((struct lead_extract *)arg)->sizes[unit];
}

static const char *unit_name(uint64_t unit, void *arg)
{
	return ((struct lead_extract *)arg)->x.args->files[unit];
}

/* ---- segments ---- */

/* A small segment can hold any amount. The longest message, and what its row's escapes may add. */
#define ROW_LIMIT ((size_t)256 << 20)

static int put_bytes(const void *bytes, size_t len, void *arg)
{
	struct mor_buf *row = &((struct lead_extract *)arg)->bytes;

	if (row->len + len > ROW_LIMIT)
		return MORTISE_ELIMIT;
	return mor_buf_append(row, bytes, len) < 0 ? MORTISE_ENOMEM : 0;
}

/* A worker may lie: a row must be one line of JSON about this file. */
static int check_row(const struct mor_extract_job *job, const struct mor_segment *segment, mortise_error *err)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	struct mor_slice row = mor_buf_view(&job->row);
	bool line = row.len > 1 && memchr(row.ptr, '\n', row.len) == row.ptr + row.len - 1;

	if (line && mor_doc_parse(row, MOR_JSON_NAN, 0, &doc, NULL) == 0 &&
	    strcmp(mor_json_text(mor_json_get(mor_doc_root(doc), "file"), ""), job->path) == 0)
		return 0;
	return mor_fail(err, MORTISE_EINPUT, "%s: it has no row for %s", segment->path, job->path);
}

/* Error data goes into a row as it is: it must be one JSON value in one line. */
static int take_data(const struct mor_value *data, struct mor_extract_job *job)
{
	const char *text = mor_json_text(data, NULL);

	if (!data)
		return 0;
	if (!text || strchr(text, '\n') || !mor_json_valid(mor_slice_of(text), MOR_JSON_NAN, 0, NULL))
		return MORTISE_EINPUT;
	job->err_data = mor_strdup(text);
	return job->err_data ? 0 : MORTISE_ENOMEM;
}

static int take_failure(struct lead_extract *f, const struct mor_segment *segment,
			const struct mor_segment_unit *unit, struct mor_extract_job *job, mortise_error *err)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	struct mor_json_iter it;
	char why[sizeof(job->err.text)];
	int r = 0;

	mor_fail(&job->err, unit->code, "%s", mor_printable(unit->why, why, sizeof(why)));
	if (f->bytes.len && mor_doc_parse(mor_buf_view(&f->bytes), 0, 0, &doc, NULL) == 0) {
		const struct mor_value *root = mor_doc_root(doc);

		job->err.rpc_code = mor_json_int(mor_json_get(root, "rpc_code"), job->err.rpc_code);
		job->err.os_errno = (int)mor_json_int(mor_json_get(root, "os_errno"), 0);
		r = take_data(mor_json_get(root, "data"), job);
		it = mor_json_iter(mor_json_get(root, "warnings"));
		while (mor_json_next(&it))
			mor_warned_keep(f->lead.console, mor_json_text(it.value, ""));
	}
	if (r < 0)
		return mor_fail(err, r, "%s: the error data for %s is no JSON", segment->path, job->path);
	f->last_exit_code = mortise_status_exit_code(unit->code);
	mor_extract_job_tell(job);
	return 0;
}

static ssize_t read_joined(void *arg, void *buffer, size_t len)
{
	struct mor_slice *left = arg;

	len = len < left->len ? len : left->len;
	if (len)
		memcpy(buffer, left->ptr, len);
	*left = (struct mor_slice){ left->ptr + len, left->len - len };
	return (ssize_t)len;
}

/* The heading and the row of a unit, as the local run prints them. */
static int write_unit(struct lead_extract *f, size_t unit, const struct mor_extract_job *job,
		      mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf joined = MOR_BUF_INIT;
	struct mor_slice left;
	struct mor_result_output output = { .fd = -1, .read = read_joined, .read_arg = &left };

	mor_extract_job_heading(job, !f->headed, &joined);
	f->headed = f->headed || joined.len;
	mor_buf_slice(&joined, mor_buf_view(&job->row));
	if (mor_buf_failed(&joined) || mor_buf_failed(&job->row))
		return mor_fail_memory(err);
	left = mor_buf_view(&joined);
	output.size = left.len;
	return job->err.code ? mor_result_failed_with(f->result, unit, &job->err, &output, err) :
			       mor_result_done(f->result, unit, &output, err);
}

static int take_unit(struct lead_extract *f, size_t unit, const struct mor_segment *segment, size_t number,
		     mortise_error *err)
{
	struct mor_extract_job job = { .extract = &f->x, .path = f->x.args->files[unit] };
	int r;

	mor_buf_reset(&f->bytes, SIZE_MAX);
	r = segment->units[number].bytes ? mor_segment_unpack(segment, number, put_bytes, f, err) : 0;
	if (r == MORTISE_ENOMEM)
		return mor_fail_memory(err);
	if (r == MORTISE_ELIMIT)
		return mor_fail(err, MORTISE_EINPUT, "%s: the row for %s is longer than 256 MiB", segment->path,
				job.path);
	if (r < 0)
		return r;
	if (segment->units[number].code) {
		r = take_failure(f, segment, &segment->units[number], &job, err);
	} else {
		job.row = f->bytes;
		f->bytes = (struct mor_buf)MOR_BUF_INIT;
		r = job.extract->args->json ? check_row(&job, segment, err) : 0;
	}
	r = r ? r : write_unit(f, unit, &job, err);
	if (r == 0) {
		f->lead.console->progress.done++;
		f->lead.console->progress.failed += job.err.code != 0;
	}
	mor_extract_job_clear(&job);
	return r;
}

static int take_segment(const struct mor_farm_batch *batch, const struct mor_segment *segment,
			const char *digest, void *arg, mortise_error *err)
{
	struct lead_extract *f = arg;
	const char *reason;
	int r = 0;

	(void)digest;
	for (size_t i = 0; i < segment->count && r == 0; i++)
		if (mor_result_state(f->result, (size_t)batch->first + i, &reason) == MOR_RESULT_OPEN)
			r = take_unit(f, (size_t)batch->first + i, segment, i, err);
	return r;
}

/* ---- the whole ---- */

/* Of an earlier run, what failed is told again. Returns the first file that is open. */
static size_t tell_earlier(struct lead_extract *f)
{
	size_t count = f->x.args->file_count, kept = mor_result_stats(f->result).kept;
	struct mor_console *console = f->lead.console;

	if (mor_result_damage(f->result))
		mor_note(console, "warning: %s; going back to the last good file",
			 mor_result_damage(f->result));
	if (f->lead.farm->resume)
		mor_note(console,
			 kept ? "resuming: %zu of %zu files are done" :
				"nothing to resume: starting with all files; what the store has is not done "
				"again",
			 kept, count);
	console->progress.done = kept;
	for (size_t unit = 0; unit < kept; unit++) {
		mortise_error why = { 0 };
		const char *reason;

		if (mor_result_state(f->result, unit, &reason) == MOR_RESULT_DONE) {
			f->headed = true;
			continue;
		}
		console->progress.failed++;
		mor_fail(&why, mor_result_code(f->result, unit), "%s", reason ? reason : "");
		f->last_exit_code = mortise_status_exit_code(why.code);
		mor_report_line(console,
				&(struct mor_report){ .error = &why, .subject = f->x.args->files[unit] });
	}
	return kept;
}

static int open_result(struct lead_extract *f, mortise_error *err)
{
	struct mor_result_options opt = { .path = f->x.args->output,
					  .units = f->x.args->file_count,
					  .identity = f->lead.run,
					  .resume = f->lead.farm->resume,
					  .spool_dir = "/tmp" };

	return mor_result_open(&opt, &f->result, err);
}

static int lead_files(struct lead_extract *f, mortise_error *err)
{
	size_t count = f->x.args->file_count;
	int r;

	mor_progress_start(&f->lead.console->progress, f->lead.console->err_terminal, count);
	f->lead.owner = (struct mor_crew_owner_options){ .units = count,
							 .next = tell_earlier(f),
							 .most = BATCH_MOST,
							 .weight = BATCH_BYTES,
							 .weigh = file_size,
							 .digest = unit_digest,
							 .name = unit_name,
							 .take = take_segment,
							 .arg = f };
	r = mor_crew_lead_run(&f->lead, err);
	mor_progress_clear(&f->lead.console->progress);
	return r < 0 ? r : mor_result_finish(f->result, (struct mor_slice){ "", 0 }, err);
}

static int run_extract(struct lead_extract *f, mortise_error *err)
{
	int r = mor_runner_open(&f->runner, f->lead.console, f->x.args->plugin, NULL, err);

	if (r < 0 || (r = mor_crew_lead_open(&f->lead, err)) < 0 || (r = put_run(f, err)) < 0 ||
	    (r = open_result(f, err)) < 0)
		return r;
	return lead_files(f, err);
}

int mor_crew_extract(struct mor_console *console, const struct mor_extract_args *want,
		     const struct mor_crew_farm *farm)
{
	struct lead_extract f = { .lead = { .farm = farm,
					    .console = console,
					    .title = mor_base_name(want->files[0]),
					    .many = want->file_count > 1 },
				  .x = { .console = console, .args = want } };
	mortise_error err = { 0 };
	int r, exit_code;

	console->out_color = false; /* headings go to a file */
	r = run_extract(&f, &err);
	if (r == MORTISE_ECANCELED && mor_signals_count()) {
		mor_note(console, "run the same command with --resume to go on");
		exit_code = mor_report_interrupted(console, mor_signals_exit_code());
	} else if (r < 0) {
		exit_code = mor_report_cause(console, &err);
	} else {
		exit_code = f.last_exit_code && want->file_count > 1 ? 1 : f.last_exit_code;
	}
	if (r == 0 && console->verbose)
		mor_note(console, "%zu batches, %zu of them found in the store",
			 (size_t)f.lead.led.stats.batches, (size_t)f.lead.led.stats.cached);
	mor_result_free(f.result);
	mor_crew_lead_close(&f.lead);
	mor_runner_close(&f.runner);
	mor_extract_look_end(&f.x);
	mor_free(f.digests);
	mor_free(f.sizes);
	mor_buf_fini(&f.bytes);
	return exit_code;
}
