/* SPDX-License-Identifier: Apache-2.0 */
/* kzip create from named files, or from one compiler command. src/work/capture does the rest. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "capture/capture.h"
#include "cli/kzip.h"
#include "console/report.h"
#include "console/signals.h"

struct creating {
	struct mor_cli *cli;
	const struct mor_cli_kzip_args *args;
	struct mor_capture capture;
};

static size_t tail_count(const char *const *tail)
{
	size_t count = 0;

	while (tail && tail[count])
		count++;
	return count;
}

static int check_words(const struct mor_cli *cli, const struct mor_cli_kzip_args *args, mortise_error *err)
{
	bool explicit_files = args->sources.count || args->inputs.count;

	if (!args->output)
		return mor_fail(err, MORTISE_EINVAL, "name the archive to write: -o OUT.kzip");
	if (args->language && !*args->language)
		return mor_fail(
			err, MORTISE_EINVAL,
			"--language must not be empty: leave it out, and the names of the sources tell it");
	if (cli->words.count > 1)
		return mor_fail(err, MORTISE_EINVAL, "\"%s\": name files with --source and --input",
				cli->words.item[1]);
	if (args->compile_commands && (explicit_files || cli->words.tail))
		return mor_fail(err, MORTISE_EINVAL,
				"--compile-commands cannot be used together with --source, --input or a "
				"command");
	if (!args->compile_commands && !explicit_files && tail_count(cli->words.tail) < 2)
		return mor_fail(
			err, MORTISE_EINVAL,
			"say what to record: --source FILE, or -- COMPILER ARG… , or --compile-commands FILE");
	if (!args->compile_commands && explicit_files && !args->sources.count &&
	    tail_count(cli->words.tail) < 2)
		return mor_fail(err, MORTISE_EINVAL, "--input also needs --source, or -- COMPILER ARG…");
	return 0;
}

/* Only the named files are recorded. Nothing is run, so any language works. */
static int record_named(struct creating *c, mortise_error *err)
{
	const struct mor_cli_kzip_args *args = c->args;
	const char *const *tail = c->cli->words.tail;

	return mor_capture_unit(&c->capture,
				&(struct mor_capture_source){ .directory = c->capture.cwd,
							      .arguments = tail,
							      .argument_count = tail_count(tail),
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

/* Files that only an analyzer reads. The compiler does not know them. */
static int add_named_inputs(const struct mor_cli_kzip_args *args, struct mor_strings *files, mortise_error *err)
{
	for (size_t i = 0; i < args->inputs.count; i++)
		if (mor_strings_add(files, mor_slice_of(args->inputs.item[i])) < 0)
			return mor_fail_memory(err);
	return 0;
}

/* The compiler's rule names the main source first. */
static int record_command(struct creating *c, mortise_error *err)
{
	const char *const *tail = c->cli->words.tail;
	size_t count = tail_count(tail), skip = mor_launcher_words(tail, count);
	MOR_CLEAN(mor_strings) struct mor_strings files = { 0 };
	int r = ask_one(c->capture.cwd, tail + skip, count - skip, &files, err);

	if (r == 0)
		r = add_named_inputs(c->args, &files, err);
	if (r < 0)
		return r;
	return mor_capture_unit(&c->capture,
				&(struct mor_capture_source){ .directory = c->capture.cwd,
							      .arguments = tail + skip,
							      .argument_count = count - skip,
							      .sources = (const char *const *)files.item,
							      .source_count = 1,
							      .inputs = (const char *const *)files.item,
							      .input_count = files.count },
				err);
}

static int record_all(struct creating *c, size_t *ret_failed, mortise_error *err)
{
	if (c->args->compile_commands)
		return mor_capture_compdb(&c->capture, c->args->compile_commands, c->args->jobs, ret_failed,
					  err);
	return c->args->sources.count ? record_named(c, err) : record_command(c, err);
}

static int prepare_create(struct creating *c, mortise_error *err)
{
	const struct mor_cli_kzip_args *args = c->args;
	enum mor_kzip_encoding encoding = MOR_KZIP_PROTO;
	int r = check_words(c->cli, args, err);

	if (r == 0)
		r = mor_cli_kzip_encoding(args, &encoding, err);
	if (r == 0 && args->vnames)
		r = mor_vname_rules_load(args->vnames, &c->capture.rules, err);
	if (r < 0)
		return r;
	c->capture.cwd = getcwd(NULL, 0);
	if (!c->capture.cwd)
		return mor_fail_errno(err, MORTISE_ESYSTEM, errno, "the current directory");
	return mor_kzip_writer_new(args->output, encoding, &c->capture.writer, err);
}

/* If nothing could be recorded, no archive is written. */
static int finish_create(struct creating *c, size_t failed, mortise_error *err)
{
	int r;

	if (mor_signals_count())
		return mor_report_interrupted(c->cli->console, mor_signals_exit_code());
	if (mor_kzip_writer_units(c->capture.writer) == 0)
		return mor_fail(err, MORTISE_EINPUT, "%s: none of the commands could be recorded",
				c->args->output);
	r = mor_kzip_writer_finish(c->capture.writer, err);
	if (r < 0)
		return r;
	mor_cli_kzip_told(c->cli, c->capture.writer, failed);
	return failed ? 1 : 0;
}

int mor_cli_kzip_create(struct mor_cli *cli, mortise_error *err)
{
	const struct mor_cli_kzip_args *args = cli->args;
	struct creating c = {
		.cli = cli,
		.args = args,
		.capture = { .console = cli->console, .language = args->language, .corpus = args->corpus }
	};
	size_t failed = 0;
	int r = prepare_create(&c, err);

	if (r == 0)
		r = record_all(&c, &failed, err);
	if (r == 0 || r == MORTISE_ECANCELED)
		r = finish_create(&c, failed, err);
	mor_capture_forget(&c.capture);
	mor_kzip_writer_free(c.capture.writer);
	mor_vname_rules_free(c.capture.rules);
	free(c.capture.cwd);
	return r;
}
