/* mortise extract: files in, text out. See extract.h for the parts. */
#include "cli/extract.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "console/report.h"
#include "console/signals.h"

#define MAX_SIZE ((uint64_t)190 << 20)  /* its base64 still fits the dialect's 256 MiB */
#define COST_PER_WORKER ((size_t)256 << 20)
#define COST_WORKERS 2                  /* bytes under way beyond which no further file is read: what so many may have */
#define REDRAW_MS 200

#define FIELD(name) offsetof(struct mor_extract_args, name)
static const struct mor_option extract_options[] = {
	{ "plugin", 'p', "PLUGIN",
	  "who extracts; of several the most confident takes a file",
	  MOR_OPT_LIST, FIELD(plugins), NULL },
	{ "jobs", 'j', "N", "processes per plugin; default: one per processor", MOR_OPT_UINT, FIELD(jobs), NULL },
	{ "source", 0, "HOW",
	  "send a file's bytes (the default) or its path",
	  MOR_OPT_TEXT, FIELD(source), "bytes|path" },
	{ "option", 'O', "KEY=VALUE",
	  "an option for extractor.extract; as in mortise call",
	  MOR_OPT_LIST, FIELD(options), NULL },
	{ "mime", 0, "TYPE",
	  "MIME type of all files; default: what libmagic says",
	  MOR_OPT_TEXT, FIELD(mime), NULL },
	{ "extension", 0, "EXT",
	  "extension of all files; default: that of the name",
	  MOR_OPT_TEXT, FIELD(extension), NULL },
	{ "max-size", 0, "SIZE",
	  "largest file to send as bytes; default: 190MiB",
	  MOR_OPT_BYTES, FIELD(max_size), NULL },
	{ "retries", 0, "N",
	  "tries after a crash or a recoverable error; default: 1",
	  MOR_OPT_COUNT, FIELD(retries), NULL },
	{ "metadata", 'm', NULL,
	  "in text output, metadata before the content",
	  MOR_OPT_FLAG, FIELD(metadata), NULL },
	{ "output", 'o', "FILE", "write to FILE, once all is there; -: stdout", MOR_OPT_TEXT, FIELD(output), NULL },
	{ 0 },
};
static const struct mor_option_group groups[] = {
	{ "Options:", extract_options, 0 },
	{ "Options for the plugin:", mor_plugin_option_table, FIELD(plugin) },
	{ "Common options:", mor_common_options, FIELD(common) },
	{ 0 },
};

/* ---- jobs ---- */

const char *mor_job_name(const struct mor_job *job)
{
	return strcmp(job->path, "-") == 0 ? "standard input" : job->path;
}

/* The slot in the ring stays taken until the row is printed: that is what bounds the rows that wait. */
void mor_job_settle(struct mor_job *job)
{
	struct mor_extract *x = job->extract;

	job->state = MOR_JOB_DONE;
	x->busy--;
	x->cost -= job->cost;
	job->cost = 0;
	mor_buf_fini(&job->data);
	x->cli->console->progress.done++;
	x->cli->console->progress.failed += job->err.code != 0;
}

void mor_job_fail(struct mor_job *job, int code, const char *format, ...)
{
	char text[sizeof(job->err.text)];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	mor_fail(&job->err, code, "%s", text);
}

/* Once we are stopping, calls end as cancelled; nobody is to be told file by file. */
static void on_extract(const mortise_reply *reply, void *arg)
{
	struct mor_job *job = arg;

	if (reply->more || job->extract->stopping)
		return;
	mor_job_take_reply(job, reply);
	mor_job_settle(job);
}

void mor_job_send(struct mor_job *job, struct mor_extractor *extractor)
{
	MOR_CLEAN(mor_buf) struct mor_buf params = MOR_BUF_INIT;
	struct mor_extract *x = job->extract;
	mortise_call_options opt = {
		.size = sizeof(opt), .timeout_ms = x->session.timeout_ms, .on_reply = on_extract, .arg = job
	};
	int r = mor_job_params(job, &params);

	job->extractor = extractor;
	job->begun_ms = mor_clock_ms();
	if (r < 0)
		mor_job_fail(job, r, "%s", mortise_status_text(r));
	else
		r = mortise_pool_call(extractor->pool, "extractor.extract", (mortise_json){ params.data, params.len },
				      &opt, &job->err);
	if (r < 0)
		mor_job_settle(job);
}

/* Reading happens here, one file after the other, and may fail here: such a job is settled at once. */
static void start_job(struct mor_extract *x, const char *path)
{
	struct mor_job *job = &x->ring[x->started++ % x->window];

	*job = (struct mor_job){ .extract = x, .state = MOR_JOB_BUSY, .path = path };
	x->busy++;
	mor_job_prepare(job);
	if (mor_signals_count())
		return;
	job->cost = job->data.len / 3 * 4;
	x->cost += job->cost;
	if (job->err.code == 0)
		mor_kind_route(job);
	if (job->err.code && job->state == MOR_JOB_BUSY)
		mor_job_settle(job);
}

static void clear_job(struct mor_job *job)
{
	mor_buf_fini(&job->data);
	mor_buf_fini(&job->row);
	mor_free(job->mime);
	mor_free(job->extension);
	mor_free(job->err_data);
	*job = (struct mor_job){ .state = MOR_JOB_FREE };
}

/* ---- the loop ---- */

/* Bounded twice: by the number of files, and by their bytes. A single file over the limit still goes alone. */
static void fill_window(struct mor_extract *x)
{
	while (x->started < x->file_count && x->started - x->printed < x->window &&
	       (x->busy == 0 || x->cost < x->cost_limit) && !x->fatal.code && !mor_signals_count())
		start_job(x, x->cli->words.item[x->started]);
}

/* In the order of the command line: the oldest job holds back those that finished before it. */
static void print_done(struct mor_extract *x)
{
	while (x->printed < x->started && x->ring[x->printed % x->window].state == MOR_JOB_DONE) {
		struct mor_job *job = &x->ring[x->printed % x->window];

		if (job->err.code)
			x->last_exit_code = mortise_status_exit_code(job->err.code);
		mor_job_print(job);
		clear_job(job);
		x->printed++;
	}
	mor_out_flush(x->cli->console);
}

static bool over(struct mor_extract *x)
{
	return x->printed == x->file_count || x->fatal.code || mor_signals_count() || mor_out_broken(x->cli->console);
}

static void work(struct mor_extract *x)
{
	for (;;) {
		fill_window(x);
		print_done(x);
		mor_extract_stop_refused(x);
		if (over(x))
			return;
		mor_progress_draw(&x->cli->console->progress);
		/* Files that failed on the way in leave room for others: no need to wait. */
		if (x->busy)
			mortise_host_wait(x->session.host, x->cli->console->progress.on ? REDRAW_MS : -1);
	}
}

/* All pools get their order before any is waited for, so that their graces run side by side. */
static int finish(struct mor_extract *x)
{
	mortise_json data = { x->fatal_data, x->fatal_data ? strlen(x->fatal_data) : 0 };

	x->stopping = true;
	mor_progress_clear(&x->cli->console->progress);
	for (size_t i = 0; i < x->extractor_count; i++)
		mortise_pool_stop(x->extractors[i].pool, MORTISE_STOP_POLITE);
	for (size_t i = 0; i < x->extractor_count; i++)
		mor_runner_stop_pool(&x->session, x->extractors[i].pool);
	if (mor_signals_count() || x->fatal.code)
		mor_out_end(x->cli->console, false, 0); /* half of it is nothing; what is to be said goes to stdout */
	if (mor_signals_count())
		return mor_report_interrupted(x->cli->console, mor_signals_exit_code());
	if (x->fatal.code)
		return mor_report_fail(x->cli->console, &(struct mor_report){ .error = &x->fatal, .data = data });
	if (x->last_exit_code && x->file_count > 1)
		return 1;
	return x->last_exit_code;
}

/* ---- set-up ---- */

/* The files of extract are YAMS plugins' business: a bare script or command speaks that. */
static int choose_dialect(struct mor_extract *x, mortise_plugin_options *opt, mortise_error *err)
{
	mortise_plugin *plugin = NULL;
	int r;

	if (opt->dialect)
		return 0;
	r = mortise_plugin_new(x->session.host, opt, &plugin, err);
	if (r < 0)
		return r;
	if (strcmp(mortise_plugin_dialect(plugin), "plain") == 0)
		opt->dialect = "yams";
	mortise_plugin_unref(plugin);
	return 0;
}

/* Never more processes than files; the pool starts fewer if fewer are busy. */
static uint32_t worker_count(const struct mor_extract *x)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	size_t count = x->args->jobs ? x->args->jobs : processors > 0 ? (size_t)processors : 1;

	return (uint32_t)(count < x->file_count ? count : x->file_count);
}

static int add_extractor(struct mor_extract *x, const char *typed, const char *const *argv, mortise_error *err)
{
	struct mor_extractor *e = &x->extractors[x->extractor_count];
	mortise_pool_options pool = {
		.size = sizeof(pool),
		.workers = worker_count(x),
		.retries = x->args->retries.given ? x->args->retries.value : 1,
	};
	mortise_plugin_options opt;
	int r;

	mor_runner_plugin_options(&x->session, typed, argv, &opt);
	r = choose_dialect(x, &opt, err);
	if (r == 0)
		r = mortise_pool_new(x->session.host, &opt, &pool, &e->pool, err);
	if (r < 0)
		return r;
	e->extract = x;
	e->typed = typed;
	x->extractor_count++;
	return 0;
}

static int add_extractors(struct mor_extract *x, mortise_error *err)
{
	const struct mor_text_list *plugins = &x->args->plugins;
	int r = 0;

	x->extractors = mor_zalloc((plugins->count + 1) * sizeof(*x->extractors));
	if (!x->extractors)
		return mor_fail(err, MORTISE_ENOMEM, "out of memory");
	for (size_t i = 0; i < plugins->count && r == 0; i++)
		r = add_extractor(x, plugins->item[i], NULL, err);
	if (r == 0 && x->cli->words.tail)
		r = add_extractor(x, NULL, x->cli->words.tail, err);
	return r;
}

/* Parsed back into a tree that is asked for each file which of its own options are overridden. */
static int take_options(struct mor_extract *x, mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	int r = 0;

	for (size_t i = 0; i < x->args->options.count && r == 0; i++)
		r = mor_args_pair(&x->option_tree, "--option", x->args->options.item[i], err);
	if (r < 0)
		return r;
	r = mor_tree_write(&x->option_tree, &json);
	if (r == 0)
		r = mor_doc_parse(mor_buf_view(&json), 0, 0, &x->options, err);
	return r;
}

/* Nobody means to have a file replaced by its own text. */
static int check_output(const struct mor_extract *x, mortise_error *err)
{
	struct stat out, in;

	if (stat(x->args->output, &out) < 0 || !S_ISREG(out.st_mode))
		return 0;
	for (size_t i = 0; i < x->file_count; i++)
		if (stat(x->cli->words.item[i], &in) == 0 && in.st_dev == out.st_dev && in.st_ino == out.st_ino)
			return mor_fail(err, MORTISE_EINPUT, "--output %s is one of the input files", x->args->output);
	return 0;
}

static int open_output(struct mor_extract *x, mortise_error *err)
{
	int r;

	if (!x->args->output || strcmp(x->args->output, "-") == 0)
		return 0;
	r = check_output(x, err);
	if (r == 0)
		r = mor_out_to(x->cli->console, x->args->output, err);
	return r == MORTISE_ENOTFOUND ? mor_fail(err, MORTISE_EINPUT, "--output %s", err->text) : r;
}

static int check_words(struct mor_extract *x, mortise_error *err)
{
	size_t streams = 0;

	if (x->file_count == 0)
		return mor_fail(err, MORTISE_EINVAL, "name a FILE, or - for stdin");
	if (x->cli->words.tail && !x->cli->words.tail[0])
		return mor_fail(err, MORTISE_EINVAL, "after \"--\" a command is expected");
	if (x->args->plugins.count == 0 && !x->cli->words.tail)
		return mor_fail(err, MORTISE_EINVAL, "name who extracts: --plugin PLUGIN, or -- COMMAND ARG… at the end");
	for (size_t i = 0; i < x->file_count; i++)
		streams += strcmp(x->cli->words.item[i], "-") == 0;
	if (streams > 1)
		return mor_fail(err, MORTISE_EINVAL, "stdin (-) can be read once only");
	return 0;
}

/* The plugins' manifests are judged before the output is opened: a slip must not empty a file. */
static int prepare(struct mor_extract *x, mortise_error *err)
{
	/* A crash here is a bad file's fault, rarely the plugin's: however many there are, the rest goes on. */
	static const char *const defaults[] = { "restart.intensity=64", "restart.cap=200ms", NULL };
	int r = check_words(x, err);

	if (r == 0)
		r = take_options(x, err);
	if (r == 0)
		r = mor_runner_open(&x->session, x->cli->console, &x->args->plugin, defaults, err);
	if (r == 0)
		r = add_extractors(x, err);
	if (r == 0 && !x->args->mime)
		r = mor_extract_magic_open(x, err);
	if (r == 0)
		r = open_output(x, err);
	if (r < 0)
		return r;
	x->window = 2 * (size_t)worker_count(x) * x->extractor_count + 2;
	/* With one more file of MAX_SIZE that is still less than what a pool of so many workers lets wait. */
	x->cost_limit = COST_PER_WORKER * (worker_count(x) < COST_WORKERS ? worker_count(x) : COST_WORKERS);
	x->ring = mor_zalloc(x->window * sizeof(*x->ring));
	return x->ring ? 0 : mor_fail(err, MORTISE_ENOMEM, "out of memory");
}

/* The pools go first: their last callbacks still look at jobs and kinds. */
static void clean_up(struct mor_extract *x)
{
	for (size_t i = 0; i < x->extractor_count; i++) {
		mortise_pool_free(x->extractors[i].pool);
		mor_doc_free(x->extractors[i].described);
	}
	mor_runner_close(&x->session);
	for (size_t i = 0; x->ring && i < x->window; i++)
		clear_job(&x->ring[i]);
	mor_kinds_free(x);
	mor_free(x->ring);
	mor_free(x->extractors);
	mor_free(x->fatal_data);
	mor_doc_free(x->options);
	mor_tree_fini(&x->option_tree);
	if (x->magic)
		magic_close(x->magic);
}

static int extract_run(struct mor_cli *cli)
{
	struct mor_extract_args *args = cli->args;
	struct mor_extract x = { .cli = cli, .args = args, .file_count = cli->words.count };
	mortise_error err = { 0 };
	int r, exit_code;

	args->source = args->source ? args->source : "bytes";
	args->max_size = args->max_size ? args->max_size : MAX_SIZE;
	r = prepare(&x, &err);
	if (r == 0) {
		mor_progress_start(&cli->console->progress, cli->console->err_terminal && x.file_count > 1, x.file_count);
		work(&x);
		exit_code = finish(&x);
	} else if (r == MORTISE_EINVAL) {
		exit_code = mor_report_usage(cli->console, &err);
	} else {
		exit_code = mor_report_error(cli->console, &err);
	}
	clean_up(&x);
	return mor_out_end(cli->console, true, exit_code);
}

const struct mor_command mor_command_extract = {
	.name = "extract",
	.group = "Use a plugin:",
	.summary = "extract the text of files with a YAMS plugin",
	.usage = "extract FILE… --plugin PLUGIN [OPTION…]\n"
		 "extract FILE… [OPTION…] -- COMMAND ARG…",
	.words = "file",
	.description = "FILE - is stdin. One file gives its content, several give a heading each; --json gives one line\n"
		       "per file with content, metadata and stats. A file that fails is told on stderr, and the others go\n"
		       "on; the exit code is then 1 (of a single file: that of its error).",
	.examples = "mortise extract /bin/true --plugin ./plugins/elf-text\n"
		    "mortise extract -j 8 --json /usr/lib/*.so --plugin ./plugins/elf-text > rows.ndjson\n"
		    "cat core | mortise extract - --mime application/x-coredump --plugin ./plugins/elf-text",
	.options = groups,
	.args_size = sizeof(struct mor_extract_args),
	.common = FIELD(common),
	.run = extract_run,
};
