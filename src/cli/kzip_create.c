/* kzip create: from files that are named, or from one command whose compiler is asked; see kzip_compdb.c for many. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "cli/kzip.h"
#include "console/report.h"
#include "console/signals.h"

static size_t tail_count(const char *const *tail)
{
	size_t count = 0;

	while (tail && tail[count])
		count++;
	return count;
}

static int check_words(const struct mor_cli *cli, const struct mor_kzip_args *args, mortise_error *err)
{
	bool explicit_files = args->sources.count || args->inputs.count;

	if (!args->output)
		return mor_fail(err, MORTISE_EINVAL, "name the archive to write: -o OUT.kzip");
	if (cli->words.count > 1)
		return mor_fail(err, MORTISE_EINVAL, "\"%s\": name files with --source and --input", cli->words.item[1]);
	if (args->compile_commands && (explicit_files || cli->words.tail))
		return mor_fail(err, MORTISE_EINVAL, "--compile-commands goes with neither --source, --input nor a command");
	if (!args->compile_commands && !explicit_files && tail_count(cli->words.tail) < 2)
		return mor_fail(err, MORTISE_EINVAL,
				"say what to record: --source FILE, or -- COMPILER ARG… , or --compile-commands FILE");
	if (!args->compile_commands && explicit_files && !args->sources.count && tail_count(cli->words.tail) < 2)
		return mor_fail(err, MORTISE_EINVAL, "--input needs a --source, too, or -- COMPILER ARG…");
	return 0;
}

/* What is named is what is recorded; nothing is run, and any language will do. */
static int record_named(struct mor_creation *creation, mortise_error *err)
{
	const struct mor_kzip_args *args = creation->args;
	const char *const *tail = creation->cli->words.tail;

	return mor_creation_record(creation, &(struct mor_compilation){
		.directory = creation->cwd, .arguments = tail, .argument_count = tail_count(tail),
		.sources = args->sources.item, .source_count = args->sources.count,
		.inputs = args->inputs.item, .input_count = args->inputs.count }, err);
}

static int ask_one(const char *directory, const char *const *arguments, size_t count, struct mor_strings *ret,
		   mortise_error *err)
{
	struct mor_asking asking;
	int status = 0, r = mor_asking_start(&asking, directory, arguments, count, err);

	if (r < 0)
		return r;
	while (waitpid(asking.pid, &status, 0) < 0 && errno == EINTR && mor_signals_count() == 0)
		;
	r = mor_signals_count() ? mor_fail(err, MORTISE_ECANCELED, "interrupted") :
				  mor_asking_result(&asking, status, ret, err);
	mor_asking_fini(&asking);
	return r;
}

/* What the compiler cannot know of: files that only an analyzer reads. */
static int add_named_inputs(const struct mor_kzip_args *args, struct mor_strings *files, mortise_error *err)
{
	for (size_t i = 0; i < args->inputs.count; i++)
		if (mor_strings_add(files, mor_slice_of(args->inputs.item[i])) < 0)
			return mor_fail(err, MORTISE_ENOMEM, "out of memory");
	return 0;
}

/* The main source is what the rule names first. */
static int record_command(struct mor_creation *creation, mortise_error *err)
{
	const char *const *tail = creation->cli->words.tail;
	size_t count = tail_count(tail), skip = mor_launcher_words(tail, count);
	MOR_CLEAN(mor_strings) struct mor_strings files = { 0 };
	int r = ask_one(creation->cwd, tail + skip, count - skip, &files, err);

	if (r == 0)
		r = add_named_inputs(creation->args, &files, err);
	if (r < 0)
		return r;
	return mor_creation_record(creation, &(struct mor_compilation){
		.directory = creation->cwd, .arguments = tail + skip, .argument_count = count - skip,
		.sources = (const char *const *)files.item, .source_count = 1,
		.inputs = (const char *const *)files.item, .input_count = files.count }, err);
}

static int record_all(struct mor_creation *creation, size_t *ret_failed, mortise_error *err)
{
	if (creation->args->compile_commands)
		return mor_creation_compdb(creation, ret_failed, err);
	return creation->args->sources.count ? record_named(creation, err) : record_command(creation, err);
}

static int prepare(struct mor_creation *creation, mortise_error *err)
{
	const struct mor_kzip_args *args = creation->args;
	enum mor_kzip_encoding encoding = MOR_KZIP_PROTO;
	int r = check_words(creation->cli, args, err);

	if (r == 0)
		r = mor_kzip_encoding_cli(args, &encoding, err);
	if (r == 0 && args->vnames)
		r = mor_vname_rules_load(args->vnames, &creation->rules, err);
	if (r < 0)
		return r;
	creation->cwd = getcwd(NULL, 0);
	if (!creation->cwd)
		return mor_fail_errno(err, MORTISE_ESYSTEM, errno, "the current directory");
	return mor_kzip_writer_new(args->output, encoding, &creation->writer, err);
}

/* An archive of which nothing could be recorded is not written. */
static int finish(struct mor_creation *creation, size_t failed, mortise_error *err)
{
	int r;

	if (mor_signals_count())
		return mor_report_interrupted(creation->cli->console, mor_signals_exit_code());
	if (mor_kzip_writer_units(creation->writer) == 0)
		return mor_fail(err, MORTISE_EINPUT, "%s: none of the commands could be recorded", creation->args->output);
	r = mor_kzip_writer_finish(creation->writer, err);
	if (r < 0)
		return r;
	mor_kzip_told(creation->cli, creation->writer, failed);
	return failed ? 1 : 0;
}

int mor_kzip_create(struct mor_cli *cli, mortise_error *err)
{
	struct mor_creation creation = { .cli = cli, .args = cli->args };
	size_t failed = 0;
	int r = prepare(&creation, err);

	if (r == 0)
		r = record_all(&creation, &failed, err);
	if (r == 0 || r == MORTISE_ECANCELED)
		r = finish(&creation, failed, err);
	mor_creation_forget(&creation);
	mor_kzip_writer_free(creation.writer);
	mor_vname_rules_free(creation.rules);
	free(creation.cwd);
	return r;
}
