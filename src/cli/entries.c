/* SPDX-License-Identifier: Apache-2.0 */
/* mortise entries: entry streams, and the manifests that stand for them. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/outfile.h"
#include "base/text.h"
#include "cli/cli.h"
#include "console/report.h"
#include "depot/segment.h"
#include "kythe/entries/entries.h"
#include "wire/json.h"

struct entries_args {
	const char *output, *store;
	struct mor_common_args common;
};

#define FIELD(name) offsetof(struct entries_args, name)
static const struct mor_option entries_options[] = {
	{ "output", 'o', "FILE", "where the stream goes; default, and -: stdout", MOR_OPT_TEXT, FIELD(output),
	  NULL },
	{ "store", 0, "DIR", "where the segments are; default: as the manifest says", MOR_OPT_TEXT,
	  FIELD(store), NULL },
	{ 0 },
};
static const struct mor_option_group groups[] = {
	{ "Options:", entries_options, 0 },
	{ "Common options:", mor_common_options, FIELD(common) },
	{ 0 },
};

struct input {
	const struct entries_args *args;
	const char *path;
	mor_segment_sink_fn *sink;
	void *arg;
};

static int read_manifest(const struct input *x, const struct mor_segment_list *list, mortise_error *err)
{
	struct mor_depot *depot = NULL;
	int r = mor_depot_open(x->args->store ? x->args->store : list->store, false, &depot, err);

	if (r == 0)
		r = mor_segment_list_unpack(list, depot, x->sink, x->arg, err);
	mor_depot_free(depot);
	return r;
}

static int read_stream(const struct input *x, mortise_error *err)
{
	int fd = strcmp(x->path, "-") == 0 ? STDIN_FILENO : open(x->path, O_RDONLY | O_CLOEXEC);
	struct mor_fd_source source = { .fd = fd };
	char piece[65536];
	ssize_t n;
	int r = 0;

	if (fd < 0)
		return mor_fail_errno(err, errno == ENOENT ? MORTISE_ENOTFOUND : MORTISE_EINPUT, errno, "%s",
				      x->path);
	while (r == 0 && (n = mor_entries_read_fd(&source, piece, sizeof(piece))) != 0)
		r = n < 0 ? mor_fail_errno(err, MORTISE_EINPUT, (int)-n, "%s", x->path) :
			    x->sink(piece, (size_t)n, x->arg);
	if (fd != STDIN_FILENO)
		mor_fd_close(&fd);
	return r;
}

/* All bytes of the stream, wherever they are. */
static int read_input(const struct input *x, mortise_error *err)
{
	struct mor_segment_list list = { 0 };
	int r = strcmp(x->path, "-") == 0 ? 0 : mor_segment_list_read(x->path, &list, err);

	if (r >= 0)
		r = r > 0 ? read_manifest(x, &list, err) : read_stream(x, err);
	mor_segment_list_fini(&list);
	return r;
}

/* ---- cat ---- */

struct copy {
	int fd;
	mortise_error *err;
};

static int put_copy(const void *bytes, size_t len, void *arg)
{
	struct copy *copy = arg;
	int r = mor_fd_write_all(copy->fd, bytes, len);

	return r < 0 ? mor_fail_errno(copy->err, MORTISE_ESYSTEM, -r, "writing the stream") : 0;
}

static int run_cat(struct mor_cli *cli, mortise_error *err)
{
	const struct entries_args *args = cli->args;
	struct mor_outfile out = MOR_OUTFILE_INIT;
	struct copy copy = { .err = err };
	int r = mor_outfile_open(args->output ? args->output : "-", 0666, &out, err);

	copy.fd = out.fd;
	for (size_t i = 1; i < cli->words.count && r == 0; i++) {
		struct input input = { args, cli->words.item[i], put_copy, &copy };

		r = read_input(&input, err);
	}
	if (r == 0)
		r = mor_outfile_commit(&out, err);
	mor_outfile_drop(&out);
	return r;
}

/* ---- stat ---- */

/* The reader of entries pulls, a manifest pushes: so what comes is kept until whole records are in it. */
struct count {
	struct mor_buf bytes;
	size_t taken;
	uint64_t total, entries, edges, nodes;
	mortise_error *err;
};

static ssize_t take_bytes(void *arg, void *buffer, size_t len)
{
	struct count *count = arg;
	size_t left = count->bytes.len - count->taken;

	len = len < left ? len : left;
	if (len)
		memcpy(buffer, count->bytes.data + count->taken, len);
	count->taken += len;
	return (ssize_t)len;
}

static void count_entry(struct count *count, const struct mor_entry *entry)
{
	static const char kind[] = "/kythe/node/kind";

	count->entries++;
	count->edges += entry->edge_kind.len > 0;
	count->nodes += entry->edge_kind.len == 0 && entry->fact_name.len == sizeof(kind) - 1 &&
			memcmp(entry->fact_name.ptr, kind, sizeof(kind) - 1) == 0;
}

/* The records that are complete; `last`: there must be no other bytes. */
static int count_records(struct count *count, bool last)
{
	struct mor_entries entries = { .records = { .read = take_bytes, .arg = count } };
	struct mor_entry entry;
	uint64_t whole = 0;
	mortise_error err = { 0 };
	int r;

	count->taken = 0;
	while ((r = mor_entries_next(&entries, &entry, &err)) > 0) {
		count_entry(count, &entry);
		whole = entries.records.offset;
	}
	mor_entries_fini(&entries);
	/* half a record at the end is no error yet */
	if (r < 0 && (last || count->taken < count->bytes.len || r != MORTISE_EINPUT || whole == 0)) {
		*count->err = err;
		return r;
	}
	mor_buf_consume(&count->bytes, (size_t)whole);
	return 0;
}

#define COUNT_PIECE ((size_t)65 << 20) /* more than the largest record */

static int put_count(const void *bytes, size_t len, void *arg)
{
	struct count *count = arg;

	count->total += len;
	if (mor_buf_append(&count->bytes, bytes, len) < 0)
		return mor_fail_memory(count->err);
	return count->bytes.len < COUNT_PIECE ? 0 : count_records(count, false);
}

static void report_counts(struct mor_cli *cli, const struct count *count)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	struct mor_writer w = { .out = &json };
	char bytes[32];

	if (!cli->console->json) {
		mor_outf(cli->console, "%" PRIu64 " entries: %" PRIu64 " nodes, %" PRIu64 " edges; %s\n",
			 count->entries, count->nodes, count->edges, mor_format_bytes(count->total, bytes));
		return;
	}
	mor_w_object(&w);
	mor_w_pair_int(&w, "entries", (int64_t)count->entries);
	mor_w_pair_int(&w, "nodes", (int64_t)count->nodes);
	mor_w_pair_int(&w, "edges", (int64_t)count->edges);
	mor_w_pair_int(&w, "bytes", (int64_t)count->total);
	mor_w_end(&w);
	mor_out_json(cli->console, mor_buf_view(&json));
}

static int run_stat(struct mor_cli *cli, mortise_error *err)
{
	struct count count = { .err = err };
	int r = 0;

	for (size_t i = 1; i < cli->words.count && r == 0; i++) {
		struct input input = { cli->args, cli->words.item[i], put_count, &count };

		r = read_input(&input, err);
		if (r == 0)
			r = count_records(&count, true);
		if (r == MORTISE_EINPUT)
			mor_fail_prefix(err, cli->words.item[i]);
	}
	if (r == 0)
		report_counts(cli, &count);
	mor_buf_fini(&count.bytes);
	return r;
}

static int entries_run(struct mor_cli *cli)
{
	const char *verb = cli->words.count ? cli->words.item[0] : "";
	bool cat = strcmp(verb, "cat") == 0;
	mortise_error err = { 0 };
	int r;

	if (!cat && strcmp(verb, "stat") != 0) {
		mor_fail(&err, MORTISE_EINVAL, "say what to do: entries cat, or entries stat");
		return mor_report_usage(cli->console, &err);
	}
	if (cli->words.count < 2) {
		mor_fail(&err, MORTISE_EINVAL, "name a stream or a manifest: FILE…, or - for stdin");
		return mor_report_usage(cli->console, &err);
	}
	r = cat ? run_cat(cli, &err) : run_stat(cli, &err);
	return r < 0 ? mor_report_error(cli->console, &err) : 0;
}

const struct mor_cli_command mor_cli_command_entries = {
	.name = "entries",
	.group = "Kythe:",
	.summary = "read entry streams, and the manifests of a farm",
	.usage = "entries cat FILE… [-o FILE] [OPTION…]\nentries stat FILE… [OPTION…]",
	.words = "cat|stat",
	.description =
		"FILE is a stream of entries (delimited protobuf), or a manifest: the list of a farm's "
		"segments. cat gives the one\n"
		"stream; every segment is checked before its bytes are written. stat counts entries, nodes "
		"(their kinds) and edges.",
	.examples = "mortise entries stat app.entries\n"
		    "mortise entries cat app.manifest -o app.entries\n"
		    "mortise entries cat app.manifest | mortise verify-entries - main.c",
	.options = groups,
	.args_size = sizeof(struct entries_args),
	.common = FIELD(common),
	.run = entries_run,
};
