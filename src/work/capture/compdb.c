/* SPDX-License-Identifier: Apache-2.0 */
/* Every command of compile_commands.json becomes a unit; several compilers are asked at a time. */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/processors.h"
#include "capture/capture.h"
#include "console/args.h"
#include "console/report.h"
#include "console/signals.h"
#include "wire/json.h"

#define JOBS_MAX 256

/* One command of the file. */
struct job {
	size_t number; /* from 1 */
	char *directory;
	const char *file; /* in the document */
	struct mor_strings words;
	size_t skip; /* words before the compiler */
	struct mor_capture_asking asking;
};

struct compdb_run {
	struct mor_capture *capture;
	const char *path;
	char *base; /* directory of the file: relative paths are relative to it */
	struct job *jobs;
	size_t limit, busy, number, failed;
};

static void job_fini(struct job *job)
{
	mor_capture_asking_fini(&job->asking);
	mor_strings_fini(&job->words);
	mor_free(job->directory);
	*job = (struct job){ .asking = { .out = -1, .err = -1 } };
}

static int wrong_entry(const struct compdb_run *run, const char *why, mortise_error *err)
{
	return mor_fail(err, MORTISE_EINPUT, "%s: command %zu %s", run->path, run->number, why);
}

/* ---- reading an entry ---- */

static int read_words(const struct compdb_run *run, const struct mor_value *entry, struct job *job,
		      mortise_error *err)
{
	const struct mor_value *list = mor_json_get(entry, "arguments");
	struct mor_slice command = mor_json_string(mor_json_get(entry, "command"));
	struct mor_json_iter it = mor_json_iter(list);
	int r = 0;

	if (!list && !command.ptr)
		return wrong_entry(run, "has neither \"arguments\" nor \"command\"", err);
	if (!list && (r = mor_shell_split(command, &job->words, err)) < 0)
		return r;
	while (r == 0 && mor_json_next(&it)) {
		struct mor_slice word = mor_json_string(it.value);

		if (!word.ptr)
			return wrong_entry(run, "has \"arguments\" that are not strings", err);
		r = mor_strings_add(&job->words, word);
	}
	if (r == 0 && job->words.count < 2)
		return wrong_entry(run, "has no compiler with arguments", err);
	return r < 0 ? mor_fail_memory(err) : 0;
}

static int read_entry(const struct compdb_run *run, const struct mor_value *entry, struct job *job,
		      mortise_error *err)
{
	const char *directory = mor_json_text(mor_json_get(entry, "directory"), NULL);
	int r;

	job->number = run->number;
	job->file = mor_json_text(mor_json_get(entry, "file"), NULL);
	if (!directory || !*directory || !job->file || !*job->file)
		return wrong_entry(run, "lacks \"directory\" or \"file\"", err);
	job->directory =
		*directory == '/' ? mor_strdup(directory) : mor_text_format("%s/%s", run->base, directory);
	if (!job->directory)
		return mor_fail_memory(err);
	r = read_words(run, entry, job, err);
	if (r == 0)
		job->skip = mor_launcher_words((const char *const *)job->words.item, job->words.count);
	return r;
}

/* ---- running ---- */

/* A command that fails is reported by its name, and the others go on. */
static void told_failure(struct compdb_run *run, const struct job *job, const mortise_error *err)
{
	run->failed++;
	run->capture->console->progress.failed++;
	mor_report_line(run->capture->console, &(struct mor_report){ .error = err, .subject = job->file });
}

static int record_job(struct compdb_run *run, const struct job *job, const struct mor_strings *files,
		      mortise_error *err)
{
	const char *source = mor_capture_asked_source(files, job->directory, job->file);
	struct mor_capture_source what = {
		.directory = job->directory,
		.arguments = (const char *const *)job->words.item + job->skip,
		.argument_count = job->words.count - job->skip,
		.sources = &source,
		.source_count = 1,
		.inputs = (const char *const *)files->item,
		.input_count = files->count,
	};

	if (!source)
		return mor_fail(err, MORTISE_EINPUT, "the compiler does not read it: the command compiles %s",
				files->item[0]);
	return mor_capture_unit(run->capture, &what, err);
}

static void settle_job(struct compdb_run *run, struct job *job, int status)
{
	MOR_CLEAN(mor_strings) struct mor_strings files = { 0 };
	mortise_error err = { 0 };
	int r = mor_capture_asking_result(&job->asking, status, &files, &err);

	r = r ? r : record_job(run, job, &files, &err);
	if (r < 0)
		told_failure(run, job, &err);
	job_fini(job);
	run->busy--;
	run->capture->console->progress.done++;
	mor_progress_draw(&run->capture->console->progress);
}

/* All our children are compilers that were started here. After a signal we return to the caller, who checks
 * for it. */
static void wait_for_one(struct compdb_run *run)
{
	int status = 0;
	pid_t pid = waitpid(-1, &status, 0);

	for (size_t i = 0; pid > 0 && i < run->limit; i++) {
		if (run->jobs[i].asking.pid != pid)
			continue;
		settle_job(run, &run->jobs[i], status);
		return;
	}
}

static void start_job(struct compdb_run *run, const struct mor_value *entry)
{
	struct job *job = run->jobs;
	mortise_error err = { 0 };
	int r;

	while (job->asking.pid > 0)
		job++;
	r = read_entry(run, entry, job, &err);
	if (r == 0)
		r = mor_capture_asking_start(&job->asking, job->directory,
					     (const char *const *)job->words.item + job->skip,
					     job->words.count - job->skip, &err);
	if (r == 0) {
		run->busy++;
		return;
	}
	job->file = job->file ? job->file : "?";
	told_failure(run, job, &err);
	run->capture->console->progress.done++;
	job_fini(job);
}

static void work_jobs(struct compdb_run *run, const struct mor_value *root)
{
	struct mor_json_iter it = mor_json_iter(root);

	while (mor_signals_count() == 0 && mor_json_next(&it)) {
		run->number++;
		start_job(run, it.value);
		while (run->busy == run->limit && mor_signals_count() == 0)
			wait_for_one(run);
	}
	while (run->busy && mor_signals_count() == 0)
		wait_for_one(run);
}

/* For input from stdin: the working directory. */
static char *directory_of(const struct mor_capture *capture, const char *path)
{
	char *real, *slash, *copy = NULL;

	if (strcmp(path, "-") == 0)
		return mor_strdup(capture->cwd);
	real = realpath(path, NULL);
	slash = real ? strrchr(real, '/') : NULL;
	if (slash)
		copy = slash == real ? mor_strdup("/") : mor_strndup(real, (size_t)(slash - real));
	free(real);
	return copy;
}

static int run_all(struct compdb_run *run, const struct mor_value *root, mortise_error *err)
{
	struct mor_console *console = run->capture->console;

	if (mor_json_type(root) != MOR_JSON_ARRAY || mor_json_size(root) == 0)
		return mor_fail(err, MORTISE_EINPUT, "%s: expected an array of compile commands", run->path);
	run->limit = run->limit ? run->limit : mor_processors();
	run->limit = run->limit < JOBS_MAX ? run->limit : JOBS_MAX;
	run->base = directory_of(run->capture, run->path);
	run->jobs = mor_zalloc(run->limit * sizeof(*run->jobs));
	if (!run->base || !run->jobs)
		return mor_fail_memory(err);
	for (size_t i = 0; i < run->limit; i++)
		run->jobs[i].asking = (struct mor_capture_asking){ .out = -1, .err = -1 };
	mor_progress_start(&console->progress, console->err_terminal, mor_json_size(root));
	work_jobs(run, root);
	for (size_t i = 0; i < run->limit; i++)
		job_fini(&run->jobs[i]);
	mor_progress_clear(&console->progress);
	return 0;
}

int mor_capture_compdb(struct mor_capture *capture, const char *path, uint32_t jobs, size_t *ret_failed,
		       mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	struct compdb_run run = { .capture = capture, .path = path, .limit = jobs };
	int r = mor_args_read(run.path, MOR_ARGS_LIMIT, &text, err);

	if (r < 0)
		return r;
	if ((r = mor_doc_parse(mor_buf_view(&text), 0, 0, &doc, err)) < 0) {
		mor_fail_prefix(err, run.path);
		return r == MORTISE_EPROTO ? mor_fail(err, MORTISE_EINPUT, "%s", err->text) : r;
	}
	r = run_all(&run, mor_doc_root(doc), err);
	mor_free(run.jobs);
	mor_free(run.base);
	*ret_failed = run.failed;
	return r;
}
