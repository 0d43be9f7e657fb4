/* SPDX-License-Identifier: Apache-2.0 */
/* mortise entries: entry streams, and the manifests that stand for them. */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/outfile.h"
#include "base/text.h"
#include "cli/inflow.h"
#include "cli/inside.h"
#include "console/report.h"
#include "console/signals.h"
#include "kythe/entries/sort.h"
#include "wire/json.h"

/* ---- cat ---- */

struct copy {
	int fd;
	mortise_error *err;
	struct mor_inflow from;
	bool failed; /* writing */
};

static int put_copy(const void *bytes, size_t len, void *arg)
{
	struct copy *copy = arg;
	int r = mor_fd_write_all(copy->fd, bytes, len);

	copy->failed = r < 0;
	return r < 0 ? mor_fail_errno(copy->err, MORTISE_ESYSTEM, -r, "writing the stream") : 0;
}

static ssize_t read_and_copy(void *arg, void *buffer, size_t len)
{
	struct copy *copy = arg;
	ssize_t n = mor_inflow_read(&copy->from, buffer, len);

	return n > 0 && put_copy(buffer, (size_t)n, copy) < 0 ? -EIO : n;
}

/* Bytes are written on unchanged, and checked at the same time. */
static int cat_one(struct copy *copy, const char *path, const char *store, mortise_error *err)
{
	struct mor_entries entries = { .records = { .read = read_and_copy, .arg = copy } };
	mortise_error why = { 0 };
	int r = mor_inflow_open(path, store, &copy->from, err);

	if (r == 0)
		while ((r = mor_entries_skip(&entries, &why)) > 0)
			;
	if (r < 0 && why.code && !copy->failed) {
		r = mor_inflow_why(&copy->from, path, &why);
		*err = why;
	}
	mor_entries_fini(&entries);
	mor_inflow_close(&copy->from);
	return r;
}

static int run_cat(struct mor_cli *cli, mortise_error *err)
{
	const struct entries_args *args = cli->args;
	struct mor_outfile out = MOR_OUTFILE_INIT;
	struct copy copy = { .err = err };
	int r = mor_outfile_open(args->output ? args->output : "-", 0666, &out, err);

	copy.fd = out.fd;
	for (size_t i = 1; i < cli->words.count && r == 0; i++)
		r = cat_one(&copy, cli->words.item[i], args->store, err);
	if (r == 0)
		r = mor_outfile_commit(&out, err);
	mor_outfile_drop(&out);
	return r;
}

/* ---- stat ---- */

struct count {
	uint64_t bytes, entries, edges, nodes;
};

static void count_entry(struct count *count, const struct mor_entry *entry)
{
	static const char kind[] = "/kythe/node/kind";

	count->entries++;
	count->edges += entry->edge_kind.len > 0;
	count->nodes += entry->edge_kind.len == 0 && entry->fact_name.len == sizeof(kind) - 1 &&
			memcmp(entry->fact_name.ptr, kind, sizeof(kind) - 1) == 0;
}

static void report_counts(struct mor_cli *cli, const struct count *count)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	struct mor_writer w = { .out = &json };
	char bytes[32];

	if (!cli->console->json) {
		mor_outf(cli->console, "%" PRIu64 " entries: %" PRIu64 " nodes, %" PRIu64 " edges; %s\n",
			 count->entries, count->nodes, count->edges, mor_format_bytes(count->bytes, bytes));
		return;
	}
	mor_w_object(&w);
	mor_w_pair_int(&w, "entries", (int64_t)count->entries);
	mor_w_pair_int(&w, "nodes", (int64_t)count->nodes);
	mor_w_pair_int(&w, "edges", (int64_t)count->edges);
	mor_w_pair_int(&w, "bytes", (int64_t)count->bytes);
	mor_w_end(&w);
	mor_out_json(cli->console, mor_buf_view(&json));
}

/* Each entry of all streams. */
static int each_entry(struct mor_cli *cli,
		      int (*fn)(const struct mor_entry *entry, void *arg, mortise_error *err), void *arg,
		      uint64_t *ret_bytes, mortise_error *err)
{
	const struct entries_args *args = cli->args;
	int r = 0;

	for (size_t i = 1; i < cli->words.count && r == 0; i++) {
		struct mor_inflow stream;
		struct mor_entries entries = { .records = { .read = mor_inflow_read, .arg = &stream } };
		struct mor_entry entry;

		r = mor_inflow_open(cli->words.item[i], args->store, &stream, err);
		while (r == 0 && (r = mor_entries_next(&entries, &entry, err)) > 0)
			r = fn(&entry, arg, err);
		if (r == MORTISE_EINPUT || stream.why.code)
			r = mor_inflow_why(&stream, cli->words.item[i], err);
		*ret_bytes += entries.records.offset;
		mor_entries_fini(&entries);
		mor_inflow_close(&stream);
	}
	return r;
}

static int note_entry(const struct mor_entry *entry, void *arg, mortise_error *err)
{
	(void)err;
	count_entry(arg, entry);
	return 0;
}

static int run_stat(struct mor_cli *cli, mortise_error *err)
{
	struct count count = { 0 };
	int r = each_entry(cli, note_entry, &count, &count.bytes, err);

	if (r == 0)
		report_counts(cli, &count);
	return r;
}

/* ---- sort ---- */

static int sort_entry(const struct mor_entry *entry, void *arg, mortise_error *err)
{
	return mor_sorter_add(arg, entry, err);
}

static int run_sort(struct mor_cli *cli, mortise_error *err)
{
	const struct entries_args *args = cli->args;
	const char *dir = getenv("TMPDIR");
	struct mor_outfile out = MOR_OUTFILE_INIT;
	struct copy copy = { .err = err };
	struct mor_sorter *sorter = NULL;
	struct mor_sorter_stats stats;
	uint64_t bytes = 0;
	int r = mor_sorter_new((size_t)args->memory, dir && *dir ? dir : "/tmp", &sorter, err);

	if (r == 0)
		r = each_entry(cli, sort_entry, sorter, &bytes, err);
	if (r == 0)
		r = mor_outfile_open(args->output ? args->output : "-", 0666, &out, err);
	copy.fd = out.fd;
	if (r == 0)
		r = mor_sorter_finish(sorter, args->unique, put_copy, &copy, err);
	if (r == 0)
		r = mor_outfile_commit(&out, err);
	if (r == 0 && cli->console->verbose) {
		stats = mor_sorter_stats(sorter);
		mor_note(cli->console,
			 "%" PRIu64 " entries, %" PRIu64 " of them left out; %" PRIu64 " runs on disk",
			 stats.entries, stats.dropped, stats.runs);
	}
	mor_outfile_drop(&out);
	mor_sorter_free(sorter);
	return r;
}

static const struct {
	const char *name;
	int (*run)(struct mor_cli *cli, mortise_error *err);
} verbs[] = { { "cat", run_cat }, { "sort", run_sort }, { "stat", run_stat } };

static bool binary_on_terminal(const struct mor_cli *cli, size_t verb)
{
	const struct entries_args *args = cli->args;

	return verbs[verb].run != run_stat && !args->output && cli->console->out_terminal;
}

int mor_cli_entries(struct mor_cli *cli)
{
	const char *word = cli->words.count ? cli->words.item[0] : "";
	mortise_error err = { 0 };
	size_t verb = 0;
	int r;

	while (verb < sizeof(verbs) / sizeof(*verbs) && strcmp(word, verbs[verb].name) != 0)
		verb++;
	if (verb == sizeof(verbs) / sizeof(*verbs))
		return mor_report_misuse(cli->console,
					 "say what to do: entries cat, entries sort, or entries stat");
	if (cli->words.count < 2)
		return mor_report_misuse(cli->console, "name a stream or a manifest: FILE…, or - for stdin");
	if (binary_on_terminal(cli, verb))
		return mor_report_misuse(cli->console,
					 "the stream is not for a terminal: name a file with --output");
	mor_signals_end_at_once(); /* of a hostile stream it may read for hours */
	r = verbs[verb].run(cli, &err);
	return r < 0 ? mor_report_error(cli->console, &err) : 0;
}
