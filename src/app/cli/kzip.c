/* SPDX-License-Identifier: Apache-2.0 */
/* mortise kzip: archives of compilation records. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "capture/capture.h"
#include "cli/inside.h"
#include "console/report.h"

/* ---- the actions ---- */

/* --encoding, else KYTHE_KZIP_ENCODING, else protobuf. */
static int take_encoding(const struct kzip_args *args, enum mor_kzip_encoding *ret, mortise_error *err)
{
	const char *set = getenv("KYTHE_KZIP_ENCODING"), *name = args->encoding ? args->encoding :
								 set && *set    ? set :
										  "proto";

	if (mor_kzip_encoding_parse(name, ret))
		return 0;
	return mor_fail(err, MORTISE_EINVAL, "KYTHE_KZIP_ENCODING is \"%s\": it must be json, proto or all",
			name);
}

static int check_create(const struct mor_cli *cli, const struct kzip_args *args, size_t tail,
			mortise_error *err)
{
	bool explicit_files = args->sources.count || args->inputs.count;

	if (!args->output)
		return mor_fail(err, MORTISE_EINVAL, "name the archive to write: -o OUT.kzip");
	if (args->language && !*args->language)
		return mor_fail(
			err, MORTISE_EINVAL,
			"--language must not be empty: leave it out, and the names of the sources tell it");
	if (cli->words.count > 1)
		return mor_fail(err, MORTISE_EINVAL, "\"%s\": name files with --source and --input",
				cli->words.item[1]);
	if (args->compile_commands && (explicit_files || cli->words.tail))
		return mor_fail(err, MORTISE_EINVAL,
				"--compile-commands cannot be used together with --source, --input or a "
				"command");
	if (!args->compile_commands && !explicit_files && tail < 2)
		return mor_fail(
			err, MORTISE_EINVAL,
			"say what to record: --source FILE, or -- COMPILER ARG… , or --compile-commands FILE");
	if (!args->compile_commands && explicit_files && !args->sources.count && tail < 2)
		return mor_fail(err, MORTISE_EINVAL, "--input also needs --source, or -- COMPILER ARG…");
	return 0;
}

static int run_create(struct mor_cli *cli, mortise_error *err)
{
	const struct kzip_args *args = cli->args;
	struct mor_capture_args want = { .output = args->output,
					 .language = args->language,
					 .corpus = args->corpus,
					 .vnames = args->vnames,
					 .compile_commands = args->compile_commands,
					 .sources = args->sources,
					 .inputs = args->inputs,
					 .command = (const char *const *)cli->words.tail,
					 .jobs = args->jobs };
	int r;

	while (want.command && want.command[want.command_words])
		want.command_words++;
	r = check_create(cli, args, want.command_words, err);
	if (r == 0)
		r = take_encoding(args, &want.encoding, err);
	return r < 0 ? r : mor_capture_create(cli->console, &want, err);
}

static int run_info(struct mor_cli *cli, mortise_error *err)
{
	const struct kzip_args *args = cli->args;

	if (cli->words.count != 2)
		return mor_fail(err, MORTISE_EINVAL, "info takes one FILE.kzip");
	return mor_capture_info(cli->console, cli->words.item[1], args->verify, err);
}

static int run_cat(struct mor_cli *cli, mortise_error *err)
{
	const struct kzip_args *args = cli->args;
	const char *word = cli->words.count == 3 ? cli->words.item[2] : NULL;

	if (cli->words.count < 2 || cli->words.count > 3 || (!word && !args->unit))
		return mor_fail(err, MORTISE_EINVAL,
				"cat takes FILE.kzip and a DIGEST or PATH, or --unit DIGEST");
	return mor_capture_cat(cli->console, cli->words.item[1], args->unit, word, err);
}

static int run_merge(struct mor_cli *cli, mortise_error *err)
{
	const struct kzip_args *args = cli->args;
	enum mor_kzip_encoding encoding = MOR_KZIP_PROTO;
	int r;

	if (!args->output)
		return mor_fail(err, MORTISE_EINVAL, "name the archive to write: -o OUT.kzip");
	if (cli->words.count < 2)
		return mor_fail(err, MORTISE_EINVAL, "merge takes one FILE.kzip or more");
	r = take_encoding(args, &encoding, err);
	return r < 0 ? r : mor_capture_merge(cli->console, args->output, encoding, cli->words.item + 1, err);
}

/* ---- the command ---- */

static const struct {
	const char *name;
	int (*run)(struct mor_cli *cli, mortise_error *err);
} actions[] = { { "create", run_create }, { "info", run_info }, { "cat", run_cat }, { "merge", run_merge } };

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
