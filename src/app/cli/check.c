/* SPDX-License-Identifier: Apache-2.0 */
/* mortise check: its options, and where the report goes. */
#include "check/check.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/outfile.h"
#include "base/text.h"
#include "cli/cli.h"
#include "console/report.h"
#include "console/signals.h"
#include "runner/runner.h"

struct check_args {
	const char *dialect, *framing, *junit, *baseline, *write_baseline, *timeout, *limit;
	struct mor_text_list only, call, set, env;
	bool host, tap, strict, list;
	struct mor_common_args common;
};

#define FIELD(name) offsetof(struct check_args, name)
static const struct mor_option check_options[] = {
	{ "host", 0, NULL, "check a host: COMMAND gets a plugin for {}, and a workspace for {workspace}",
	  MOR_OPT_FLAG, FIELD(host), NULL },
	{ "only", 0, "ID", "only this check, or those whose ids begin with ID; may be repeated", MOR_OPT_LIST,
	  FIELD(only), NULL },
	{ "call", 0, "[=NAME]", "also call the author's function NAME; alone: all of the manifest",
	  MOR_OPT_SOME, FIELD(call), NULL },
	{ "list", 0, NULL, "list the checks, and run nothing", MOR_OPT_FLAG, FIELD(list), NULL },
	{ "strict", 0, NULL, "the letter of the specification: warnings are failures", MOR_OPT_FLAG,
	  FIELD(strict), NULL },
	{ "tap", 0, NULL, "report as TAP", MOR_OPT_FLAG, FIELD(tap), NULL },
	{ "junit", 0, "FILE", "also write a JUnit report to FILE", MOR_OPT_TEXT, FIELD(junit), NULL },
	{ "baseline", 0, "FILE",
	  "failures that are expected; an entry that does not fail any more is a failure", MOR_OPT_TEXT,
	  FIELD(baseline), NULL },
	{ "write-baseline", 0, "FILE", "write the failures and warnings of this run to FILE", MOR_OPT_TEXT,
	  FIELD(write_baseline), NULL },
	{ "dialect", 'd', "DIALECT", "protocol to check; default: the manifest's, else plain", MOR_OPT_TEXT,
	  FIELD(dialect), NULL },
	{ "framing", 0, "FRAMING", "framing of messages: lines, headers, be32 or decimal", MOR_OPT_TEXT,
	  FIELD(framing), "lines|headers|be32|decimal" },
	{ "timeout", 't', "DURATION", "how long an answer may take; default: 5s", MOR_OPT_TEXT, FIELD(timeout),
	  NULL },
	{ "limit", 0, "DURATION", "how long the whole run may take; default: 5m", MOR_OPT_TEXT, FIELD(limit),
	  NULL },
	{ "set", 's', "SECTION.KEY=VALUE", "any setting of mortise.toml", MOR_OPT_LIST, FIELD(set), NULL },
	{ "env", 'e', "NAME[=VALUE]", "environment variable for the plugin", MOR_OPT_LIST, FIELD(env), NULL },
	{ 0 },
};
static const struct mor_option_group groups[] = {
	{ "Options:", check_options, 0 },
	{ "Common options:", mor_common_options, FIELD(common) },
	{ 0 },
};

/* ---- options ---- */

static int read_time(const char *option, const char *text, uint32_t *ret, mortise_error *err)
{
	if (text && (!mor_parse_duration_ms(mor_slice_of(text), ret) || !*ret))
		return mor_fail(err, MORTISE_EINVAL, "--%s \"%s\": expected a duration, such as 500ms or 2s",
				option, text);
	return 0;
}

static int read_options(struct mor_cli *cli, struct mor_check_options *opt, mortise_error *err)
{
	const struct check_args *args = cli->args;
	int r = read_time("timeout", args->timeout, &opt->answer_ms, err);

	if (r == 0)
		r = read_time("limit", args->limit, &opt->total_ms, err);
	if (r == 0 && args->dialect && !mor_runner_dialect_exists(args->dialect))
		r = mor_runner_dialect_unknown(args->dialect, err);
	opt->only = args->only.item;
	opt->call = args->call.item;
	opt->strict = args->strict;
	opt->dialect = args->dialect;
	return r;
}

static int load_manifest(struct mor_cli *cli, struct mor_check_options *opt, struct mor_manifest **ret,
			 mortise_error *err)
{
	const struct check_args *args = cli->args;
	MOR_CLEAN_TEXT char *framing =
		args->framing ? mor_text_format("plugin.framing=%s", args->framing) : NULL;
	struct mor_text_list set = { 0 };
	struct mor_manifest_query query = { .dialect = args->dialect, .env = args->env.item };
	int r = 0;

	for (size_t i = 0; r == 0 && i < args->set.count; i++)
		r = mor_text_list_add(&set, args->set.item[i]);
	if (r == 0 && framing)
		r = mor_text_list_add(&set, framing);
	if (r == 0)
		r = mor_cli_target_bare(cli, &opt->path, &opt->argv, err);
	if (r == 0 && cli->words.count)
		r = mor_fail(err, MORTISE_EINVAL, "check takes one PLUGIN; \"%s\" is one word too many",
			     cli->words.item[0]);
	query.path = opt->path;
	query.argv = opt->argv;
	query.set = set.item;
	if (r == 0)
		r = mor_manifest_load(&query, ret, err);
	if (r == 0)
		r = mor_manifest_need_stdio(*ret, "mortise check", err);
	mor_free(set.item);
	if (r == 0 && !opt->dialect)
		opt->dialect = (*ret)->dialect;
	opt->manifest = *ret;
	return r;
}

/* ---- reports ---- */

static int write_files(const struct check_args *args, const struct mor_check_report *report, mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf junit = MOR_BUF_INIT, baseline = MOR_BUF_INIT;
	int r = 0;

	if (args->junit) {
		mor_check_write_junit(report, &junit);
		r = mor_outfile_write(args->junit, 0644, mor_buf_view(&junit), err);
	}
	if (r == 0 && args->write_baseline) {
		mor_check_baseline_write(report, &baseline);
		r = mor_outfile_write(args->write_baseline, 0644, mor_buf_view(&baseline), err);
	}
	return r;
}

static void show_report(struct mor_cli *cli, const struct mor_check_report *report)
{
	const struct check_args *args = cli->args;
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;

	if (args->tap)
		mor_check_write_tap(report, &text);
	else if (cli->console->json)
		mor_check_write_json(report, false, &text);
	else
		mor_check_print_people(cli->console, report);
	if (args->tap)
		mor_out(cli->console, mor_buf_view(&text));
	else if (cli->console->json)
		mor_out_json(cli->console, mor_buf_view(&text));
}

static int show_list(struct mor_cli *cli, const struct check_args *args, struct mor_check_report *report,
		     mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	int r = mor_check_list(args->dialect, args->host, report, err);

	if (r < 0)
		return r;
	if (cli->console->json) {
		mor_check_write_json(report, true, &text);
		mor_out_json(cli->console, mor_buf_view(&text));
	} else {
		mor_check_print_list(cli->console, report);
	}
	return 0;
}

/* ---- the run ---- */

static void show_progress(const struct mor_check_result *result, void *arg)
{
	struct mor_cli *cli = arg;

	if (cli->console->verbose)
		mor_note(cli->console, "%s: %s", result->id, mor_check_verdict_name(result->verdict));
}

static int run_check(struct mor_cli *cli, struct mor_check_report *report, mortise_error *err)
{
	const struct check_args *args = cli->args;
	struct mor_check_options opt = { .on_result = show_progress, .arg = cli };
	struct mor_manifest *manifest = NULL;
	int r = read_options(cli, &opt, err);

	if (r == 0 && args->host && (!args->dialect || !cli->words.tail))
		r = mor_fail(err, MORTISE_EINVAL,
			     "--host needs --dialect, and the host's COMMAND after \"--\"");
	if (r == 0)
		r = load_manifest(cli, &opt, &manifest, err);
	if (r == 0) {
		report->subject = opt.path ? opt.path : opt.argv ? opt.argv[0] : "";
		r = args->host ? mor_check_host(&opt, report, err) : mor_check_run(&opt, report, err);
	}
	if (r == 0 && args->baseline)
		r = mor_check_baseline_read(args->baseline, report, err);
	if (r == 0 || r == MORTISE_ECANCELED)
		show_report(cli, report);
	mor_manifest_free(manifest);
	return r;
}

static int check_run(struct mor_cli *cli)
{
	const struct check_args *args = cli->args;
	struct mor_check_report report = { 0 };
	mortise_error err = { 0 };
	int exit_code, r;

	if (mor_check_play(&exit_code))
		return exit_code;
	r = args->list ? show_list(cli, args, &report, &err) : run_check(cli, &report, &err);
	if (r == 0 && !args->list)
		r = write_files(args, &report, &err);
	exit_code = args->list || args->write_baseline ? 0 : mor_check_exit_code(&report);
	mor_check_report_fini(&report);
	if (r == MORTISE_EINVAL)
		return mor_report_usage(cli->console, &err);
	if (r == MORTISE_ECANCELED)
		return mor_report_interrupted(cli->console, mor_signals_exit_code());
	return r < 0 ? mor_report_error(cli->console, &err) : exit_code;
}

const struct mor_cli_command mor_cli_command_check = {
	.row = MOR_CLI_ROW(check),
	.usage = "check [OPTION…] PLUGIN\ncheck [OPTION…] -- COMMAND [ARG…]\n"
		 "check --host -d DIALECT [OPTION…] -- COMMAND [ARG…] {} [ARG…]\ncheck --list [-d DIALECT] "
		 "[--host]",
	.words = "file",
	.description =
		"Sends a plugin what hosts of its protocol send, also in pieces, in large and in wrong form, "
		"and looks at\n"
		"every byte that comes back. Each check has an id, the section of the specification, and what "
		"to do if it\n"
		"fails. A plugin that crashes or hangs is started again for the next check. Functions of the "
		"author are\n"
		"called only with --call.",
	.examples = "mortise check build/plugins/elf-text\n"
		    "mortise check -d gassist --call=hello -- python3 plugin.py\n"
		    "mortise check --strict --junit report.xml --baseline expected.txt ./my-plugin\n"
		    "mortise check --host -d plain -- mortise call {} ping\n"
		    "mortise check --host -d sunscreen -- mortise run {} played -w {workspace}",
	.options = groups,
	MOR_CLI_ARGS(check_args),
	.run = check_run,
};
