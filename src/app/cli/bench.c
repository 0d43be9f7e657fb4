/* SPDX-License-Identifier: Apache-2.0 */
/* mortise bench: how fast a plugin is, and where the time goes (src/app/gauge). */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/arguments.h"
#include "console/report.h"
#include "console/signals.h"
#include "console/warned.h"
#include "gauge/gauge.h"
#include "session/session.h"

struct bench_args {
	const char *time, *concurrency;
	uint32_t count, starts;
	struct mor_opt_count warmup;
	bool raw, unchecked;
	struct mor_plugin_args plugin;
	struct mor_common_args common;
};

#define FIELD(name) offsetof(struct bench_args, name)
static const struct mor_option bench_options[] = {
	{ "time", 0, "DURATION", "how long calls are made one after the other; default: 2s", MOR_OPT_TEXT,
	  FIELD(time), NULL },
	{ "count", 'n', "NUMBER", "make so many calls in each measurement, however long it takes", MOR_OPT_UINT,
	  FIELD(count), NULL },
	{ "concurrency", 0, "LIST", "calls in flight to try; default: 1,2,4,8,16,32,64", MOR_OPT_TEXT,
	  FIELD(concurrency), NULL },
	{ "starts", 0, "NUMBER", "how often it is started; default: 5, fewer if they take long", MOR_OPT_UINT,
	  FIELD(starts), NULL },
	{ "warmup", 0, "NUMBER", "calls at the beginning that do not count; default: 100", MOR_OPT_COUNT,
	  FIELD(warmup), NULL },
	{ "raw", 0, NULL, "METHOD is the name on the wire, not an action of the dialect", MOR_OPT_FLAG,
	  FIELD(raw), NULL },
	{ "unchecked", 0, NULL, "send the arguments even if the method does not take them", MOR_OPT_FLAG,
	  FIELD(unchecked), NULL },
	{ 0 },
};
static const struct mor_option_group groups[] = {
	{ "Options:", bench_options, 0 },
	{ "Options for the plugin:", mor_plugin_option_table, FIELD(plugin) },
	{ "Common options:", mor_common_options, FIELD(common) },
	{ 0 },
};

struct bench_command {
	struct mor_cli *cli;
	const struct bench_args *args;
	const char *path;
	const char *const *argv;
	struct mor_cli_arguments words;
	struct mor_gauge_method method; /* ours, if none was typed */
	struct mor_resolved *resolved;
	struct mor_runner runner;
	struct mor_gauge_plan plan;
	struct mor_gauge gauge;
};

/* ---- options ---- */

static int take_time(const struct bench_args *args, struct mor_gauge_plan *plan, mortise_error *err)
{
	if (!args->time)
		return 0;
	if (args->count)
		return mor_fail(err, MORTISE_EINVAL, "--time and --count cannot be used together");
	if (!mor_parse_duration_ms(mor_slice_of(args->time), &plan->time_ms) || !plan->time_ms)
		return mor_fail(err, MORTISE_EINVAL,
				"--time \"%s\": expected a duration, such as 500ms, 2s or 1m", args->time);
	return 0;
}

/* Rising, so that the last one is the most that was tried. */
static int take_concurrency(const char *list, struct mor_gauge_plan *plan, mortise_error *err)
{
	struct mor_slice rest = mor_slice_of(list);

	while (rest.len) {
		uint32_t number = 0, before = plan->steps ? plan->in_flight[plan->steps - 1] : 0;

		if (!mor_parse_u32(mor_slice_cut(&rest, ','), &number) || number <= before ||
		    number > MOR_GAUGE_IN_FLIGHT || plan->steps == MOR_GAUGE_STEPS)
			return mor_fail(
				err, MORTISE_EINVAL,
				"--concurrency \"%s\": expected rising numbers from 1 to %d, such as 1,4,16",
				list, MOR_GAUGE_IN_FLIGHT);
		plan->in_flight[plan->steps++] = number;
	}
	return 0;
}

static int take_plan(struct bench_command *run, mortise_error *err)
{
	const struct bench_args *args = run->args;

	run->plan = (struct mor_gauge_plan){
		.count = args->count,
		.starts = args->starts,
		.warmup = args->warmup.given ? (int64_t)args->warmup.value : -1,
		.flags = args->raw ? MORTISE_RAW : 0,
	};
	if (take_time(args, &run->plan, err) < 0)
		return err->code;
	return take_concurrency(args->concurrency, &run->plan, err);
}

/* ---- what is called ---- */

static int take_typed(struct bench_command *run, mortise_error *err)
{
	struct mor_signature signature = { 0 };
	int r;

	if (!run->args->raw)
		signature = mor_signature_find(run->resolved, run->words.method);
	r = mor_cli_arguments_take(&run->words, signature, err);
	run->plan.method = run->words.method;
	if (run->words.json.len)
		run->plan.params = (mortise_json){ run->words.json.data, run->words.json.len };
	return r;
}

static int take_harmless(struct bench_command *run, mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf names = MOR_BUF_INIT;
	int r = mor_signature_names(run->resolved, &names, err);

	if (r < 0 || (r = mor_gauge_method(run->resolved->manifest->dialect, run->cli->typed,
					   mor_buf_view(&names), &run->method, err)) < 0)
		return r;
	run->plan.method = run->method.name;
	run->plan.flags |= MORTISE_RAW; /* it is the name on the wire */
	if (run->method.params)
		run->plan.params = (mortise_json){ run->method.params, strlen(run->method.params) };
	return 0;
}

/* ---- the run ---- */

static int prepare_bench(struct bench_command *run, mortise_error *err)
{
	int r;

	run->words.unchecked = run->args->unchecked;
	r = mor_cli_arguments_begin(&run->words, run->cli, &run->path, &run->argv, err);
	if (r == 0 && mor_session_is_meant(run->path))
		r = mor_fail(err, MORTISE_EINVAL,
			     "bench starts the plugin itself: name the plugin, not the session %s", run->path);
	if (r < 0 || (r = take_plan(run, err)) < 0 ||
	    (r = mor_runner_open(&run->runner, run->cli->console, &run->args->plugin, NULL, err)) < 0 ||
	    (r = mor_runner_resolve(&run->args->plugin, run->path, run->argv, &run->resolved, err)) < 0 ||
	    (r = mor_runner_cap_greeting(&run->runner, run->resolved, err)) < 0 ||
	    (r = mor_gauge_is_called(run->resolved->manifest->dialect, err)) < 0 ||
	    (r = run->words.method ? take_typed(run, err) : take_harmless(run, err)) < 0)
		return r;
	return mor_gauge_open(&run->gauge, &run->runner, run->path, run->argv, run->resolved, err);
}

static void write_measured(const void *gauge, struct mor_writer *w)
{
	mor_gauge_json(gauge, w);
}

/* Does `mortise info` list anything to call? */
static bool is_listed(const struct mor_gauge *gauge)
{
	const struct mor_value *about = mor_doc_root(gauge->about);

	return mor_json_size(mor_json_get(about, "actions")) ||
	       mor_json_size(mor_json_get(about, "interfaces"));
}

/* What was measured comes first; the error follows it, and decides the exit code. */
static int report_end(struct bench_command *run, const mortise_error *error, const char *data, int exit_code)
{
	struct mor_report report = { .error = error,
				     .data = { data, data ? strlen(data) : 0 },
				     .plugin = is_listed(&run->gauge) ? run->cli->typed : NULL,
				     .dialect = run->args->plugin.dialect,
				     .exit_code = exit_code,
				     .more = write_measured,
				     .more_arg = &run->gauge };

	return mor_report_fail(run->cli->console, &report);
}

static int report_good(struct bench_command *run)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	struct mor_writer w = { .out = &json };

	if (!run->cli->console->json)
		return 0;
	mor_w_object(&w);
	mor_w_pair_bool(&w, "ok", true);
	mor_gauge_json(&run->gauge, &w);
	mor_warned_write(run->cli->console, &w);
	mor_w_end(&w);
	mor_out_json(run->cli->console, mor_buf_view(&json));
	return 0;
}

/* If not one call has worked, the exit code is that of the first error. */
static int measure(struct bench_command *run)
{
	struct mor_gauge *gauge = &run->gauge;
	mortise_error err = { 0 };
	int r = mor_gauge_run(gauge, &run->plan);

	if (!run->cli->console->json)
		mor_gauge_page(gauge, run->cli->console);
	mor_out_flush(run->cli->console);
	if (gauge->interrupted) {
		mor_fail(&err, MORTISE_ECANCELED, "interrupted by signal %d", mor_signals_exit_code() - 128);
		return report_end(run, &err, NULL, mor_signals_exit_code());
	}
	if (r < 0)
		return report_end(run, &gauge->failed, gauge->failed_data, 0);
	if (gauge->steps[0].errors == gauge->steps[0].calls)
		return report_end(run, &gauge->first_error, gauge->first_data, 0);
	return report_good(run);
}

static int bench_run(struct mor_cli *cli)
{
	struct bench_command *run = mor_zalloc(sizeof(*run));
	mortise_error err = { 0 };
	int exit_code, r;

	if (!run) {
		mor_fail_memory(&err);
		return mor_report_error(cli->console, &err);
	}
	run->cli = cli;
	run->args = cli->args;
	r = prepare_bench(run, &err);
	if (r == 0)
		exit_code = measure(run);
	else
		exit_code = mor_report_cause(cli->console, &err);
	mor_runner_close(&run->runner);
	mor_gauge_close(&run->gauge);
	mor_resolved_unref(run->resolved);
	mor_cli_arguments_fini(&run->words);
	mor_free(run);
	return exit_code;
}

const struct mor_cli_command mor_cli_command_bench = {
	.row = MOR_CLI_ROW(bench),
	.usage = "bench PLUGIN [METHOD [JSON | KEY=VALUE… | --KEY=VALUE… | VALUE…]] [OPTION…]\n"
		 "bench [METHOD [JSON | KEY=VALUE…]] [OPTION…] -- COMMAND ARG…",
	.words = "plugin",
	.description =
		"Starts the plugin several times, calls METHOD one call after the other, then with more in "
		"flight, and\n"
		"prints latency, throughput, start time, memory, and where the time of a call goes: host, "
		"guardian,\n"
		"plugin, or waiting. All of it takes about five seconds. METHOD is really called, thousands of "
		"times:\n"
		"name one that may be. Without METHOD it is the protocol's question for the plugin's health "
		"(yams,\n"
		"gassist), or a message for the bot (ayiou); other protocols have none, and want METHOD. "
		"PLUGIN and the\n"
		"arguments are as in 'mortise call'. The plugin is confined as in other commands; compare with "
		"--level.",
	.examples = "mortise bench build/plugins/elf-text\n"
		    "mortise bench build/plugins/elf-text extractor.extract source.type=path "
		    "source.path=/bin/true\n"
		    "mortise bench greet name=world --concurrency 1,8 --json -- examples/echo-plugin.py",
	.options = groups,
	.loose = true,
	MOR_CLI_ARGS(bench_args),
	.run = bench_run,
};
