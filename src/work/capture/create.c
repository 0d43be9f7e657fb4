/* SPDX-License-Identifier: Apache-2.0 */
/* An archive from named files, from one compiler command, or from all of compile_commands.json. */
#include <errno.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "capture/capture.h"
#include "console/report.h"
#include "console/signals.h"

/* Only the named files are recorded. Nothing is run, so any language works. */
static int record_named(struct mor_capture *capture, const struct mor_capture_args *args, mortise_error *err)
{
	return mor_capture_unit(capture,
				&(struct mor_capture_source){ .directory = capture->cwd,
							      .arguments = args->command,
							      .argument_count = args->command_words,
							      .sources = args->sources.item,
							      .source_count = args->sources.count,
							      .inputs = args->inputs.item,
							      .input_count = args->inputs.count },
				err);
}

static int ask_one(const char *directory, const char *const *arguments, size_t count, struct mor_strings *ret,
		   mortise_error *err)
{
	struct mor_capture_asking asking;
	int status = 0, r = mor_capture_asking_start(&asking, directory, arguments, count, err);

	if (r < 0)
		return r;
	while (waitpid(asking.pid, &status, 0) < 0 && errno == EINTR && mor_signals_count() == 0)
		;
	r = mor_signals_count() ? mor_fail(err, MORTISE_ECANCELED, "interrupted") :
				  mor_capture_asking_result(&asking, status, ret, err);
	mor_capture_asking_fini(&asking);
	return r;
}

/* The compiler's rule names the main source first. The compiler does not know the named inputs: only an
 * analyzer reads them. */
static int record_command(struct mor_capture *capture, const struct mor_capture_args *args, mortise_error *err)
{
	size_t skip = mor_launcher_words(args->command, args->command_words);
	const char *const *words = args->command + skip;
	size_t count = args->command_words - skip;
	MOR_CLEAN(mor_strings) struct mor_strings files = { 0 };
	int r = ask_one(capture->cwd, words, count, &files, err);

	for (size_t i = 0; r == 0 && i < args->inputs.count; i++)
		if (mor_strings_add(&files, mor_slice_of(args->inputs.item[i])) < 0)
			r = mor_fail_memory(err);
	if (r < 0)
		return r;
	return mor_capture_unit(capture,
				&(struct mor_capture_source){ .directory = capture->cwd,
							      .arguments = words,
							      .argument_count = count,
							      .sources = (const char *const *)files.item,
							      .source_count = 1,
							      .inputs = (const char *const *)files.item,
							      .input_count = files.count },
				err);
}

static int record_all(struct mor_capture *capture, const struct mor_capture_args *args, size_t *ret_failed,
		      mortise_error *err)
{
	capture->cwd = getcwd(NULL, 0);
	if (!capture->cwd)
		return mor_fail_errno(err, MORTISE_ESYSTEM, errno, "the current directory");
	if (mor_kzip_writer_new(args->output, args->encoding, &capture->writer, err) < 0)
		return err->code;
	if (args->compile_commands)
		return mor_capture_compdb(capture, args->compile_commands, args->jobs, ret_failed, err);
	return args->sources.count ? record_named(capture, args, err) : record_command(capture, args, err);
}

/* If nothing could be recorded, no archive is written. */
static int finish_create(struct mor_capture *capture, const char *output, size_t failed, mortise_error *err)
{
	int r;

	if (mor_signals_count())
		return mor_report_interrupted(capture->console, mor_signals_exit_code());
	if (mor_kzip_writer_units(capture->writer) == 0)
		return mor_fail(err, MORTISE_EINPUT, "%s: none of the commands could be recorded", output);
	if ((r = mor_kzip_writer_finish(capture->writer, err)) < 0)
		return r;
	mor_capture_told(capture->console, output, capture->writer, failed);
	return failed ? 1 : 0;
}

int mor_capture_create(struct mor_console *console, const struct mor_capture_args *args, mortise_error *err)
{
	struct mor_capture capture = { .console = console, .language = args->language, .corpus = args->corpus };
	size_t failed = 0;
	int r = args->vnames ? mor_vname_rules_load(args->vnames, &capture.rules, err) : 0;

	r = r ? r : record_all(&capture, args, &failed, err);
	if (r == 0 || r == MORTISE_ECANCELED)
		r = finish_create(&capture, args->output, failed, err);
	mor_capture_forget(&capture);
	mor_kzip_writer_free(capture.writer);
	mor_vname_rules_free(capture.rules);
	free(capture.cwd);
	return r;
}
