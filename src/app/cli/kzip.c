/* SPDX-License-Identifier: Apache-2.0 */
/* mortise kzip: archives of compilation records. */
#include "cli/kzip.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/path.h"
#include "base/text.h"
#include "cli/inside.h"
#include "console/report.h"
#include "console/signals.h"

/* ---- what the actions share ---- */

static void on_warning(const char *text, void *arg)
{
	const struct mor_cli_kzip_warned *warned = arg;

	mor_note(warned->cli->console, "warning: %s: %s", warned->path, text);
}

int mor_cli_kzip_open(struct mor_cli *cli, const char *path, struct mor_cli_kzip_warned *warned,
		      struct mor_kzip **ret, mortise_error *err)
{
	*warned = (struct mor_cli_kzip_warned){ cli, path };
	return mor_kzip_open(path, &(struct mor_kzip_options){ .on_warning = on_warning, .arg = warned }, ret,
			     err);
}

int mor_cli_kzip_encoding(const struct mor_cli_kzip_args *args, enum mor_kzip_encoding *ret, mortise_error *err)
{
	const char *set = getenv("KYTHE_KZIP_ENCODING"), *name = args->encoding ? args->encoding :
								 set && *set    ? set :
										  "proto";

	if (mor_kzip_encoding_parse(name, ret))
		return 0;
	return mor_fail(err, MORTISE_EINVAL, "KYTHE_KZIP_ENCODING is \"%s\": it must be json, proto or all",
			name);
}

void mor_cli_kzip_told(struct mor_cli *cli, const struct mor_kzip_writer *writer, size_t failed)
{
	const struct mor_cli_kzip_args *args = cli->args;
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	struct mor_writer w = { .out = &json };
	size_t units = mor_kzip_writer_units(writer), files = mor_kzip_writer_files(writer);

	bool to_stdout = strcmp(args->output, "-") == 0 || strcmp(args->output, "/dev/stdout") == 0;

	if (!cli->console->json) {
		mor_buf_printf(&json, "%s: %zu %s, %zu %s", args->output, units, units == 1 ? "unit" : "units",
			       files, files == 1 ? "file" : "files");
		if (to_stdout)
			mor_note_slice(cli->console, mor_buf_view(&json));
		else
			mor_outf(cli->console, "%.*s\n", (int)json.len, json.data);
		return;
	}
	mor_w_object(&w);
	mor_w_pair_bool(&w, "ok", failed == 0);
	mor_w_pair(&w, "file", args->output);
	mor_w_pair_int(&w, "units", (int64_t)units);
	mor_w_pair_int(&w, "files", (int64_t)files);
	mor_w_pair_int(&w, "failed", (int64_t)failed);
	mor_w_end(&w);
	/* The archive itself may go to stdout. Then the report goes to stderr. */
	if (to_stdout)
		mor_note_slice(cli->console, mor_buf_view(&json));
	else
		mor_out_json(cli->console, mor_buf_view(&json));
}

/* ---- merge ---- */

static int add_archive(struct mor_cli *cli, struct mor_kzip_writer *writer, const char *path,
		       mortise_error *err)
{
	MOR_CLEAN(mor_kzip) struct mor_kzip *kzip = NULL;
	struct mor_cli_kzip_warned warned;
	int r = mor_cli_kzip_open(cli, path, &warned, &kzip, err);

	return r < 0 ? r : mor_kzip_writer_add_kzip(writer, kzip, err);
}

static int merge(struct mor_cli *cli, mortise_error *err)
{
	const struct mor_cli_kzip_args *args = cli->args;
	MOR_CLEAN(mor_kzip_writer) struct mor_kzip_writer *writer = NULL;
	enum mor_kzip_encoding encoding = MOR_KZIP_PROTO;
	int r;

	if (!args->output)
		return mor_fail(err, MORTISE_EINVAL, "name the archive to write: -o OUT.kzip");
	if (cli->words.count < 2)
		return mor_fail(err, MORTISE_EINVAL, "merge takes one FILE.kzip or more");
	r = mor_cli_kzip_encoding(args, &encoding, err);
	if (r == 0)
		r = mor_kzip_writer_new(args->output, encoding, &writer, err);
	for (size_t i = 1; r == 0 && i < cli->words.count; i++) {
		r = add_archive(cli, writer, cli->words.item[i], err);
		if (mor_signals_count())
			return mor_report_interrupted(cli->console, mor_signals_exit_code());
	}
	if (r == 0)
		r = mor_kzip_writer_finish(writer, err);
	if (r == 0)
		mor_cli_kzip_told(cli, writer, 0);
	else if (r == MORTISE_EUNSUPPORTED)
		mor_fail(err, r, "%s; use --encoding json", err->text);
	return r;
}

/* ---- cat ---- */

struct cat {
	struct mor_cli *cli;
	struct mor_kzip *kzip;
	mortise_error *err;
};

typedef const char *digest_fn(const struct mor_kzip *kzip, size_t number);

/* By its digest or the first digits of it. If several match, it is an error. */
static int find_digest(const struct cat *cat, const char *what, const char *typed, size_t count,
		       digest_fn *digest_of, size_t *ret)
{
	size_t len = strlen(typed), found = 0;

	for (size_t i = 0; i < count; i++) {
		if (strncmp(digest_of(cat->kzip, i), typed, len) != 0)
			continue;
		*ret = i;
		found++;
	}
	if (found == 1)
		return 0;
	if (found == 0)
		return mor_fail(cat->err, MORTISE_ENOTFOUND, "%s: no %s %s in it", mor_kzip_path(cat->kzip),
				what, typed);
	return mor_fail(cat->err, MORTISE_EINPUT, "%s: %zu %ss begin with %s: write more of it",
			mor_kzip_path(cat->kzip), found, what, typed);
}

static int to_stdout(const void *bytes, size_t len, void *arg)
{
	struct cat *cat = arg;

	mor_out(cat->cli->console, (struct mor_slice){ bytes, len });
	return mor_out_broken(cat->cli->console) || mor_signals_count() ?
		       mor_fail(cat->err, MORTISE_ECANCELED, "stopped") :
		       0;
}

static int cat_file(struct cat *cat, const char *digest)
{
	int r = mor_kzip_file_read(cat->kzip, digest, to_stdout, cat, cat->err);

	/* Our reader has gone. main() chooses the exit code for that. */
	return r == MORTISE_ECANCELED && !mor_signals_count() ? 0 : r;
}

static int cat_unit(struct cat *cat, size_t number)
{
	MOR_CLEAN(mor_unit) struct mor_unit *unit = NULL;
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	int r = mor_kzip_unit_read(cat->kzip, number, &unit, cat->err);

	if (r == 0)
		r = mor_unit_write_json(unit, &json, cat->err);
	if (r == 0)
		mor_out_json(cat->cli->console, mor_buf_view(&json));
	return r;
}

/* As spelled, or as the same path from the working directory, or as the path of its VName. */
static bool is_path(const struct mor_unit *unit, const struct mor_input *input, const char *typed)
{
	MOR_CLEAN(mor_buf) struct mor_buf a = MOR_BUF_INIT;
	MOR_CLEAN(mor_buf) struct mor_buf b = MOR_BUF_INIT;

	if (strcmp(input->path, typed) == 0 || strcmp(input->vname.path, typed) == 0)
		return true;
	mor_path_clean(unit->working_directory, input->path, &a);
	mor_path_clean(unit->working_directory, typed, &b);
	return !mor_buf_failed(&a) && !mor_buf_failed(&b) && mor_slice_eq(mor_buf_view(&a), mor_buf_view(&b));
}

/* Notes the digest that this unit has for the path. If another unit has a different one, it is an error. */
static int look_in_unit(struct cat *cat, size_t number, const char *typed, char digest[65])
{
	MOR_CLEAN(mor_unit) struct mor_unit *unit = NULL;
	int r = mor_kzip_unit_read(cat->kzip, number, &unit, cat->err);

	for (size_t i = 0; r == 0 && i < unit->input_count; i++) {
		const struct mor_input *input = &unit->inputs[i];

		if (!is_path(unit, input, typed))
			continue;
		if (*digest && strcmp(digest, input->digest) != 0)
			return mor_fail(cat->err, MORTISE_EINPUT,
					"%s: units have different contents for the path %s: choose one with "
					"--unit DIGEST",
					mor_kzip_path(cat->kzip), typed);
		mor_printable(mor_slice_of(input->digest), digest, 65);
	}
	return r;
}

static int cat_path(struct cat *cat, const char *typed, const size_t *unit)
{
	size_t first = unit ? *unit : 0, end = unit ? *unit + 1 : mor_kzip_unit_count(cat->kzip);
	char digest[65] = "";
	int r = 0;

	for (size_t i = first; r == 0 && i < end; i++)
		r = look_in_unit(cat, i, typed, digest);
	if (r < 0)
		return r;
	if (!*digest)
		return mor_fail(cat->err, MORTISE_ENOTFOUND, "%s: no file %s in it", mor_kzip_path(cat->kzip),
				typed);
	return cat_file(cat, digest);
}

static bool looks_like_digest(const char *word)
{
	size_t len = mor_hex_count(word);

	return len >= 8 && len <= 64 && word[len] == '\0';
}

static int cat_word(struct cat *cat, const char *word)
{
	size_t number = 0;
	int r;

	if (!looks_like_digest(word))
		return cat_path(cat, word, NULL);
	r = find_digest(cat, "file", word, mor_kzip_file_count(cat->kzip), mor_kzip_file_digest, &number);
	return r < 0 ? r : cat_file(cat, mor_kzip_file_digest(cat->kzip, number));
}

static int cat_of_unit(struct cat *cat, const char *unit, const char *path)
{
	size_t number = 0;
	int r = find_digest(cat, "unit", unit, mor_kzip_unit_count(cat->kzip), mor_kzip_unit_digest, &number);

	if (r < 0)
		return r;
	return path ? cat_path(cat, path, &number) : cat_unit(cat, number);
}

static int cat(struct mor_cli *cli, mortise_error *err)
{
	const struct mor_cli_kzip_args *args = cli->args;
	MOR_CLEAN(mor_kzip) struct mor_kzip *kzip = NULL;
	struct mor_cli_kzip_warned warned;
	struct cat cat = { .cli = cli, .err = err };
	const char *word = cli->words.count == 3 ? cli->words.item[2] : NULL;
	int r;

	if (cli->words.count < 2 || cli->words.count > 3 || (!word && !args->unit))
		return mor_fail(err, MORTISE_EINVAL,
				"cat takes FILE.kzip and a DIGEST or PATH, or --unit DIGEST");
	r = mor_cli_kzip_open(cli, cli->words.item[1], &warned, &kzip, err);
	if (r < 0)
		return r;
	cat.kzip = kzip;
	r = args->unit ? cat_of_unit(&cat, args->unit, word) : cat_word(&cat, word);
	if (mor_signals_count())
		return mor_report_interrupted(cli->console, mor_signals_exit_code());
	return r;
}

/* ---- the command ---- */

static const struct {
	const char *name;
	int (*run)(struct mor_cli *cli, mortise_error *err);
} actions[] = {
	{ "create", mor_cli_kzip_create }, { "info", mor_cli_kzip_info }, { "cat", cat }, { "merge", merge }
};

static int unknown_action(const char *typed, mortise_error *err)
{
	struct mor_nearest near = { .word = typed };

	for (size_t i = 0; i < sizeof(actions) / sizeof(*actions); i++)
		mor_nearest_offer(&near, actions[i].name);
	if (mor_nearest_best(&near))
		return mor_fail(err, MORTISE_EINVAL, "kzip cannot \"%s\"; did you mean %s?", typed,
				mor_nearest_best(&near));
	return mor_fail(err, MORTISE_EINVAL, "kzip takes one of create, info, cat, merge%s%s%s",
			*typed ? ", not \"" : "", typed, *typed ? "\"" : "");
}

static int run_action(struct mor_cli *cli, mortise_error *err)
{
	const char *typed = cli->words.count ? cli->words.item[0] : "";

	for (size_t i = 0; i < sizeof(actions) / sizeof(*actions); i++)
		if (strcmp(actions[i].name, typed) == 0)
			return actions[i].run(cli, err);
	return unknown_action(typed, err);
}

int mor_cli_kzip(struct mor_cli *cli)
{
	mortise_error err = { 0 };
	int r = run_action(cli, &err);

	if (r == MORTISE_EINVAL)
		return mor_report_usage(cli->console, &err);
	return r < 0 ? mor_report_error(cli->console, &err) : r;
}
