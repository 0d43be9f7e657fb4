/* SPDX-License-Identifier: Apache-2.0 */
/* mortise verify-entries: checks that an entry stream says what comments in the sources claim. */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/fd.h"
#include "cli/inflow.h"
#include "cli/inside.h"
#include "console/report.h"
#include "kythe/entries/verify.h"
#include "wire/json.h"

#define SOURCE_LIMIT ((size_t)64 << 20)

static enum mor_stream_format stream_format(const char *name)
{
	if (name && strcmp(name, "json") == 0)
		return MOR_STREAM_LINES;
	return name && strcmp(name, "delimited-json") == 0 ? MOR_STREAM_JSON : MOR_STREAM_PROTOBUF;
}

static int read_graph(const char *path, enum mor_stream_format format, struct mor_graph *graph,
		      mortise_error *err)
{
	struct mor_inflow stream;
	struct mor_entries entries = { .records = {
					       .read = mor_inflow_read, .arg = &stream, .format = format } };
	struct mor_entry entry;
	int r = mor_inflow_open(path, NULL, &stream, err);
	bool opened = r == 0;

	while (r == 0 && (r = mor_entries_next(&entries, &entry, err)) > 0)
		r = mor_graph_add(graph, &entry);
	if (r < 0 && opened)
		r = mor_inflow_why(&stream, path, err);
	if (r == MORTISE_EINPUT && opened && !stream.depot && entries.records.count <= 1) {
		mortise_error why = *err;

		/* Even the first record cannot be read. Then the --format is wrong more often
		 * than the stream. */
		mor_fail(err, why.code, "%s; is the stream in another --format?", why.text);
	}
	mor_entries_fini(&entries);
	mor_inflow_close(&stream);
	return r < 0 ? r : mor_graph_close(graph);
}

static int add_source(struct mor_verifier *verifier, const char *path, mortise_error *err)
{
	MOR_CLEAN_TEXT char *text = NULL;
	size_t len;
	int r = mor_fd_read_file(path, SOURCE_LIMIT, &text, &len);

	if (r < 0)
		return mor_fail_errno(err, r == -ENOENT ? MORTISE_ENOTFOUND : MORTISE_EINPUT, -r, "%s", path);
	return mor_verifier_add(verifier, path, (struct mor_slice){ text, len }, err);
}

struct telling {
	struct mor_cli *cli;
	struct mor_writer *w; /* with --json */
	unsigned failed;
};

static void tell_finding(const struct mor_verify_finding *finding, void *arg)
{
	struct telling *telling = arg;
	struct mor_cli *cli = telling->cli;
	bool failed = finding->kind == MOR_VERIFY_FAILED;

	telling->failed += failed;
	if (!cli->console->json) {
		mor_outf(cli->console, "%s:%u:%u: %s%s%s\n", finding->file, finding->line, finding->column,
			 mor_style(cli->console, failed ? MOR_STYLE_BAD : MOR_STYLE_DIM), finding->text,
			 mor_style_end(cli->console));
		return;
	}
	mor_w_object(telling->w);
	mor_w_pair(telling->w, "kind", failed ? "failed" : "shown");
	mor_w_pair(telling->w, "file", finding->file);
	mor_w_pair_int(telling->w, "line", finding->line);
	mor_w_pair_int(telling->w, "column", finding->column);
	mor_w_pair(telling->w, "text", finding->text);
	mor_w_end(telling->w);
}

static int load_goals(struct mor_cli *cli, struct mor_graph *graph, struct mor_verifier *verifier,
		      mortise_error *err)
{
	const struct verify_args *args = cli->args;
	int r = read_graph(cli->words.item[0], stream_format(args->format), graph, err);

	for (size_t i = 1; r == 0 && i < cli->words.count; i++)
		r = add_source(verifier, cli->words.item[i], err);
	if (r == 0 && mor_verifier_goals(verifier) == 0)
		return mor_fail(err, MORTISE_EINPUT, "no goals in %s: %s %s", cli->words.item[1],
				args->goal_regex ? "no line matches" : "a goal begins with",
				args->goal_regex  ? args->goal_regex :
				args->goal_prefix ? args->goal_prefix :
						    "//-");
	return r;
}

static int solve_goals(struct mor_cli *cli, struct mor_graph *graph, struct mor_verifier *verifier,
		       mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	struct mor_writer w = { .out = &json };
	struct telling telling = { .cli = cli, .w = &w };
	int r;

	mor_w_object(&w);
	mor_w_pair_array(&w, "findings");
	if ((r = mor_verifier_run(verifier, tell_finding, &telling, err)) < 0)
		return r;
	mor_w_end(&w);
	mor_w_pair_bool(&w, "ok", r == 0);
	mor_w_pair_int(&w, "goals", (int64_t)mor_verifier_goals(verifier));
	mor_w_pair_int(&w, "failed", telling.failed);
	mor_w_end(&w);
	if (cli->console->json)
		mor_out_json(cli->console, mor_buf_view(&json));
	else if (r == 0)
		mor_outf(cli->console, "%zu goals met by %zu facts and edges\n", mor_verifier_goals(verifier),
			 mor_graph_size(graph));
	return r;
}

static int check_words(const struct mor_cli *cli, mortise_error *err)
{
	const struct verify_args *args = cli->args;

	if (args->goal_prefix && !*args->goal_prefix)
		return mor_fail(err, MORTISE_EINVAL, "--goal-prefix must not be empty");
	if (args->goal_prefix && args->goal_regex)
		return mor_fail(err, MORTISE_EINVAL, "use --goal-prefix or --goal-regex, not both");
	if (cli->words.count < 2 || cli->words.tail)
		return mor_fail(err, MORTISE_EINVAL, "verify-entries takes a STREAM and at least one SOURCE");
	return 0;
}

int mor_cli_verify_entries(struct mor_cli *cli)
{
	const struct verify_args *args = cli->args;
	struct mor_verify_options opt = { .prefix = args->goal_prefix,
					  .regex = args->goal_regex,
					  .singletons = args->singletons };
	MOR_CLEAN(mor_graph) struct mor_graph *graph = NULL;
	MOR_CLEAN(mor_verifier) struct mor_verifier *verifier = NULL;
	mortise_error err = { 0 };
	int r;

	if (check_words(cli, &err) < 0)
		return mor_report_usage(cli->console, &err);
	if ((r = mor_graph_new(&graph)) == 0 && (r = mor_verifier_new(graph, &opt, &verifier, &err)) == 0 &&
	    (r = load_goals(cli, graph, verifier, &err)) == 0)
		r = solve_goals(cli, graph, verifier, &err);
	if (r == MORTISE_ENOMEM)
		mor_fail_memory(&err);
	return r < 0 ? mor_report_cause(cli->console, &err) : r;
}
