/* SPDX-License-Identifier: Apache-2.0 */
/* mortise talk: .talk files in their canonical form, and what differs between two. */
#include "talk/talk.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/outfile.h"
#include "cli/cli.h"
#include "console/args.h"
#include "console/report.h"
#include "replay/replay.h"

#define TALK_FILE_LIMIT ((size_t)1 << 30)

struct talk_args {
	bool in_place, check, ids;
	struct mor_text_list ignore;
	struct mor_common_args common;
};

#define FIELD(name) offsetof(struct talk_args, name)
static const struct mor_option fmt_options[] = {
	{ "in-place", 'i', NULL, "change the files, instead of printing them", MOR_OPT_FLAG, FIELD(in_place),
	  NULL },
	{ "check", 0, NULL, "print the names of files that fmt would change; status 1 if there are any",
	  MOR_OPT_FLAG, FIELD(check), NULL },
	{ 0 },
};
static const struct mor_option diff_options[] = {
	{ "ids", 0, NULL, "compare the ids of messages too", MOR_OPT_FLAG, FIELD(ids), NULL },
	{ "ignore", 0, "POINTER", "do not compare this value (/result/time, /params/*/id); may be repeated",
	  MOR_OPT_LIST, FIELD(ignore), NULL },
	{ 0 },
};
static const struct mor_option_group groups[] = {
	{ "Options of fmt:", fmt_options, 0 },
	{ "Options of diff:", diff_options, 0 },
	{ "Common options:", mor_common_options, FIELD(common) },
	{ 0 },
};

/* ---- fmt ---- */

/* 1: the file is not in its canonical form. */
static int format_file(struct mor_cli *cli, const char *path, mortise_error *err)
{
	const struct talk_args *args = cli->args;
	MOR_CLEAN(mor_buf) struct mor_buf before = MOR_BUF_INIT, after = MOR_BUF_INIT;
	int r = mor_args_read(path, TALK_FILE_LIMIT, &before, err);
	bool same;

	if (r < 0)
		return r;
	if ((r = mor_talk_format(mor_buf_view(&before), &after, err)) < 0) {
		mor_fail_prefix(err, path);
		return r;
	}
	same = mor_slice_eq(mor_buf_view(&before), mor_buf_view(&after));
	if (args->check && !same)
		mor_outf(cli->console, "%s\n", path);
	else if (args->in_place && !same)
		r = mor_outfile_write(path, 0666, mor_buf_view(&after), err);
	else if (!args->check && !args->in_place)
		mor_out(cli->console, mor_buf_view(&after));
	return r < 0 ? r : !same;
}

static int format_files(struct mor_cli *cli, const char *const *paths, mortise_error *err)
{
	const struct talk_args *args = cli->args;
	bool changed = false;
	int r = 0;

	if (!*paths)
		return mor_fail(err, MORTISE_EINVAL, "talk fmt: name a FILE");
	for (; r >= 0 && *paths; paths++) {
		r = format_file(cli, *paths, err);
		changed |= r > 0;
	}
	return r < 0 ? r : changed && args->check;
}

/* ---- diff ---- */

struct comparison {
	struct mor_console *console;
	struct mor_buf json;
	struct mor_writer w;
	bool open; /* --json: a change that may get more differences */
};

static void show_step(struct mor_console *console, char sign, const struct mor_talk_step *step)
{
	MOR_CLEAN(mor_buf) struct mor_buf line = MOR_BUF_INIT;

	mor_talk_write_step(&line, step);
	mor_outf(console, "%s%c%u %.*s%s\n", mor_style(console, sign == '-' ? MOR_STYLE_BAD : MOR_STYLE_GOOD),
		 sign, step->line, (int)line.len - 1, line.data, mor_style_end(console));
}

static void write_step(struct mor_writer *w, const char *name, const struct mor_talk_step *step)
{
	MOR_CLEAN(mor_buf) struct mor_buf line = MOR_BUF_INIT;

	mor_w_key(w, name);
	if (!step) {
		mor_w_null(w);
		return;
	}
	mor_talk_write_step(&line, step);
	mor_w_object(w);
	mor_w_pair_int(w, "line", step->line);
	mor_w_pair_slice(w, "text", (struct mor_slice){ line.data, line.len - 1 });
	mor_w_end(w);
}

static void end_change(struct comparison *c)
{
	if (!c->open)
		return;
	mor_w_end(&c->w);
	mor_w_end(&c->w);
	mor_out_json_line(c->console, mor_buf_view(&c->json));
	mor_buf_reset(&c->json, SIZE_MAX);
	c->open = false;
}

static void on_change(void *arg, const struct mor_talk_step *a, const struct mor_talk_step *b)
{
	struct comparison *c = arg;

	if (!c->console->json) {
		if (a)
			show_step(c->console, '-', a);
		if (b)
			show_step(c->console, '+', b);
		return;
	}
	end_change(c);
	c->w = (struct mor_writer){ .out = &c->json };
	c->open = true;
	mor_w_object(&c->w);
	write_step(&c->w, "a", a);
	write_step(&c->w, "b", b);
	mor_w_pair_array(&c->w, "differences");
}

static void on_difference(void *arg, struct mor_slice pointer, struct mor_slice a, struct mor_slice b)
{
	struct comparison *c = arg;

	if (!c->console->json) {
		mor_outf(c->console, "    %.*s: %.*s -> %.*s\n", (int)pointer.len, pointer.ptr,
			 a.len ? (int)a.len : 7, a.len ? a.ptr : "nothing", b.len ? (int)b.len : 7,
			 b.len ? b.ptr : "nothing");
		return;
	}
	mor_w_object(&c->w);
	mor_w_pair_slice(&c->w, "pointer", pointer);
	mor_w_pair_slice(&c->w, "a", a);
	mor_w_pair_slice(&c->w, "b", b);
	mor_w_end(&c->w);
}

static int compare_files(struct mor_cli *cli, const char *const *paths, mortise_error *err)
{
	struct talk_args *args = cli->args;
	struct comparison c = { .console = cli->console };
	struct mor_talk_diff_options opt = {
		.ids = args->ids, .on_change = on_change, .on_difference = on_difference, .arg = &c
	};
	struct mor_talk a = { 0 }, b = { 0 };
	int r;

	if (!paths[0] || !paths[1] || paths[2])
		return mor_fail(err, MORTISE_EINVAL, "talk diff: name two files");
	if (!args->ids && mor_text_list_add(&args->ignore, "/id") < 0)
		return mor_fail_memory(err);
	opt.ignored = args->ignore.item;
	r = mor_replay_read(paths[0], &a, err);
	if (r == 0)
		r = mor_replay_read(paths[1], &b, err);
	if (r == 0) {
		r = mor_talk_diff(&a, &b, &opt);
		end_change(&c);
		if (r < 0)
			mor_fail_memory(err);
	}
	mor_buf_fini(&c.json);
	mor_talk_fini(&a);
	mor_talk_fini(&b);
	return r < 0 ? r : r > 0;
}

static int talk_run(struct mor_cli *cli)
{
	const char *const *words = cli->words.item;
	const char *verb = cli->words.count ? words[0] : "";
	mortise_error err = { 0 };
	int r;

	if (strcmp(verb, "fmt") == 0)
		r = format_files(cli, words + 1, &err);
	else if (strcmp(verb, "diff") == 0)
		r = compare_files(cli, words + 1, &err);
	else
		r = mor_fail(&err, MORTISE_EINVAL, "talk takes fmt or diff%s%s", *verb ? ", not " : "", verb);
	return r < 0 ? mor_report_cause(cli->console, &err) : r;
}

const struct mor_cli_command mor_cli_command_talk = {
	.row = MOR_CLI_ROW(talk),
	.usage = "talk fmt [-i | --check] FILE…\ntalk diff [--ids] [--ignore POINTER] A B",
	.words = "file",
	.description =
		"fmt prints .talk files in their canonical form: one spelling of each line, compact JSON. "
		"Comments stay.\n"
		"diff compares two conversations message by message: what only A has (-), what only B has (+), "
		"and which\n"
		"values differ in messages that both have. Order of members, ids, times, stderr and comments "
		"do not count.\n"
		"Its status is 0 if nothing differs, 1 if something does.",
	.examples = "mortise talk fmt -i session.talk\n"
		    "mortise talk diff --ignore /result/time yesterday.talk today.talk",
	.options = groups,
	MOR_CLI_ARGS(talk_args),
	.run = talk_run,
};
