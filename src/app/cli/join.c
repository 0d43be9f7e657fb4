/* SPDX-License-Identifier: Apache-2.0 */
/* mortise join: the parts of a run that was spread over machines become its one result. */
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/outfile.h"
#include "base/text.h"
#include "cli/cli.h"
#include "console/report.h"
#include "part/part.h"
#include "wire/json.h"

struct join_args {
	const char *output;
	struct mor_common_args common;
};

#define FIELD(name) offsetof(struct join_args, name)
static const struct mor_option join_options[] = {
	{ "output", 'o', "FILE", "where the result goes; -: stdout", MOR_OPT_TEXT, FIELD(output), NULL },
	{ 0 },
};
static const struct mor_option_group groups[] = {
	{ "Options:", join_options, 0 },
	{ "Common options:", mor_common_options, FIELD(common) },
	{ 0 },
};

struct join {
	struct mor_cli *cli;
	const struct join_args *args;
	struct mor_part **parts;
	size_t count;
	size_t units, failed, breaches;
	uint64_t bytes;
};

static int check_words(const struct join *x, mortise_error *err)
{
	if (x->cli->words.count == 0)
		return mor_fail(err, MORTISE_EINVAL, "name the parts: PART…");
	if (!x->args->output)
		return mor_fail(err, MORTISE_EINVAL, "name the result: -o FILE, or -o - for stdout");
	return 0;
}

static int open_parts(struct join *x, mortise_error *err)
{
	x->parts = mor_zalloc(x->cli->words.count * sizeof(struct mor_part *));
	if (!x->parts)
		return mor_fail_memory(err);
	for (; x->count < x->cli->words.count; x->count++) {
		int r = mor_part_open(x->cli->words.item[x->count], &x->parts[x->count], err);

		if (r < 0)
			return r;
	}
	return mor_parts_order(x->parts, x->count, err);
}

/* Nothing has its name before everything is checked. */
static int write_result(struct join *x, mortise_error *err)
{
	struct mor_outfile out = MOR_OUTFILE_INIT;
	bool first = true;
	int r = mor_outfile_open(x->args->output, 0666, &out, err);

	for (size_t i = 0; i < x->count && r == 0; i++)
		r = mor_part_copy(x->parts[i], out.fd, &first, err);
	if (r == 0)
		r = mor_outfile_commit(&out, err);
	mor_outfile_drop(&out);
	return r;
}

static void tell_failure(struct join *x, const struct mor_part_piece *piece)
{
	struct mor_console *console = x->cli->console;
	char name[300], why[800];

	x->failed++;
	x->breaches += piece->code == MORTISE_EPROTO || piece->code == MORTISE_EVIOLATION;
	mor_note(console, "%sfailed%s: %s: %s", mor_style_err(console, MOR_STYLE_BAD),
		 mor_style_err_end(console), mor_printable(piece->name, name, sizeof(name)),
		 mor_printable(piece->why, why, sizeof(why)));
}

static void count_parts(struct join *x)
{
	for (size_t i = 0; i < x->count; i++) {
		const struct mor_part *part = x->parts[i];

		x->units += part->count;
		x->bytes += part->bytes;
		for (size_t k = 0; k < part->count; k++)
			if (part->pieces[k].code)
				tell_failure(x, &part->pieces[k]);
	}
}

static void write_failures(const struct join *x, struct mor_writer *w)
{
	mor_w_pair_array(w, "failures");
	for (size_t i = 0; i < x->count; i++)
		for (size_t k = 0; k < x->parts[i]->count; k++) {
			const struct mor_part_piece *piece = &x->parts[i]->pieces[k];

			if (!piece->code)
				continue;
			mor_w_object(w);
			mor_w_pair_slice(w, "name", piece->name);
			mor_w_pair_slice(w, "reason", piece->why);
			mor_w_pair(w, "kind", mortise_status_kind(piece->code));
			mor_w_end(w);
		}
	mor_w_end(w);
}

static void report_joined(const struct join *x)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	struct mor_writer w = { .out = &json };
	char bytes[32];

	if (!x->cli->console->json) {
		mor_note(x->cli->console, "%zu %s: %zu of %zu units, %zu failed, %s", x->count,
			 x->count == 1 ? "part" : "parts", x->units - x->failed, x->units, x->failed,
			 mor_format_bytes(x->bytes, bytes));
		return;
	}
	mor_w_object(&w);
	mor_w_pair_bool(&w, "ok", x->failed == 0);
	mor_w_pair_int(&w, "parts", (int64_t)x->count);
	mor_w_pair_int(&w, "units", (int64_t)x->units);
	mor_w_pair_int(&w, "done", (int64_t)(x->units - x->failed));
	mor_w_pair_int(&w, "failed", (int64_t)x->failed);
	mor_w_pair_int(&w, "bytes", (int64_t)x->bytes);
	write_failures(x, &w);
	mor_w_end(&w);
	/* The result itself may go to stdout. Then the report goes to stderr. */
	if (strcmp(x->args->output, "-") != 0)
		mor_out_json(x->cli->console, mor_buf_view(&json));
	else
		mor_note_slice(x->cli->console, mor_buf_view(&json));
}

/* As the run itself would have ended. */
static int exit_code(const struct join *x)
{
	if (x->breaches && strcmp(x->parts[0]->head.command, "index") == 0)
		return mortise_status_exit_code(MORTISE_EPROTO);
	return x->failed ? 1 : 0;
}

static int join_run(struct mor_cli *cli)
{
	struct join x = { .cli = cli, .args = cli->args };
	mortise_error err = { 0 };
	int code, r = check_words(&x, &err);

	if (r < 0)
		return mor_report_usage(cli->console, &err);
	r = open_parts(&x, &err);
	if (r == 0)
		r = write_result(&x, &err);
	if (r == 0) {
		count_parts(&x);
		report_joined(&x);
		code = exit_code(&x);
	} else {
		code = mor_report_error(cli->console, &err);
	}
	for (size_t i = 0; x.parts && i < cli->words.count; i++)
		mor_part_free(x.parts[i]);
	mor_free(x.parts);
	return code;
}

const struct mor_cli_command mor_cli_command_join = {
	.row = MOR_CLI_ROW(join),
	.usage = "join -o FILE PART… [OPTION…]",
	.words = "file",
	.description =
		"A part is what index and extract write with --shard K/N. Joined, the parts give the bytes "
		"that one\n"
		"run gives. A part that is missing, doubled, damaged or of another run is refused by its "
		"name,\n"
		"and FILE stays as it was. If a unit failed in its part, it is reported, and the exit code is "
		"1.",
	.examples = "mortise index app.kzip --analyzer build/plugins/kythe-clang --shard 1/2 -o part.1\n"
		    "mortise index app.kzip --analyzer build/plugins/kythe-clang --shard 2/2 -o part.2\n"
		    "mortise join -o app.entries part.1 part.2",
	.options = groups,
	MOR_CLI_ARGS(join_args),
	.run = join_run,
};
