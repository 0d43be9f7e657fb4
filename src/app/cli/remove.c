/* SPDX-License-Identifier: Apache-2.0 */
/* mortise remove, rollback: what is installed, and which version of it counts. */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "cli/cli.h"
#include "console/report.h"
#include "store/keep.h"

struct remove_args {
	struct mor_common_args common;
};

#define FIELD(name) offsetof(struct remove_args, name)
static const struct mor_option_group groups[] = {
	{ "Common options:", mor_common_options, FIELD(common) },
	{ 0 },
};

/* NAME[@VERSION], taken apart. */
struct store_word {
	char *name;
	const char *version; /* or NULL */
};

static int take_word(struct mor_cli *cli, struct store_word *ret, mortise_error *err)
{
	const char *word = cli->words.count == 1 && !cli->words.tail ? cli->words.item[0] : NULL;
	const char *at = word ? strchr(word, '@') : NULL;

	if (!word)
		return mor_fail(err, MORTISE_EINVAL, "%s takes one NAME or NAME@VERSION",
				cli->command->row->name);
	ret->name = mor_strndup(word, at ? (size_t)(at - word) : strlen(word));
	ret->version = at ? at + 1 : NULL;
	return ret->name ? 0 : mor_fail_memory(err);
}

static void tell_word(struct mor_cli *cli, const char *done, const char *name, const char *version)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	struct mor_writer w = { .out = &json };

	if (!cli->console->json) {
		mor_outf(cli->console, "%s %s%s%s\n", done, name, version ? " " : "", version ? version : "");
		return;
	}
	mor_w_object(&w);
	mor_w_pair_bool(&w, "ok", true);
	mor_w_pair(&w, "name", name);
	mor_w_pair(&w, "version", version);
	mor_w_end(&w);
	mor_out_json(cli->console, mor_buf_view(&json));
}

static int remove_word(struct mor_cli *cli, const struct mor_store *store, const struct store_word *word,
		       mortise_error *err)
{
	int r = mor_store_remove(store, word->name, word->version, err);

	if (r == 0)
		tell_word(cli, "removed", word->name, word->version);
	return r;
}

static int roll_back(struct mor_cli *cli, const struct mor_store *store, const struct store_word *word,
		     mortise_error *err)
{
	char *version = NULL;
	int r = mor_store_use(store, word->name, word->version, &version, err);

	if (r == 0)
		tell_word(cli, "now in use:", word->name, version);
	mor_free(version);
	return r;
}

static int with_store(struct mor_cli *cli, int (*act)(struct mor_cli *cli, const struct mor_store *store,
						      const struct store_word *word, mortise_error *err))
{
	struct mor_store store = { 0 };
	struct store_word word = { 0 };
	mortise_error err = { 0 };
	int r = take_word(cli, &word, &err), exit_code = 0;

	if (r == 0)
		r = mor_store_open(NULL, NULL, &store) < 0 ? mor_fail_memory(&err) :
							     act(cli, &store, &word, &err);
	if (r < 0)
		exit_code = mor_report_cause(cli->console, &err);
	mor_free(word.name);
	mor_store_fini(&store);
	return exit_code;
}

static int remove_run(struct mor_cli *cli)
{
	return with_store(cli, remove_word);
}

static int rollback_run(struct mor_cli *cli)
{
	return with_store(cli, roll_back);
}

const struct mor_cli_command mor_cli_command_remove = {
	.row = MOR_CLI_ROW(remove),
	.usage = "remove NAME[@VERSION]",
	.words = "installed",
	.description =
		"Removes all versions of NAME with what it wrote beside itself, or one VERSION. If that is the "
		"one in use, the\n"
		"newest of the others takes its place.",
	.examples = "mortise remove csv-sql\nmortise remove csv-sql@0.1.0",
	.options = groups,
	MOR_CLI_ARGS(remove_args),
	.run = remove_run,
};

const struct mor_cli_command mor_cli_command_rollback = {
	.row = MOR_CLI_ROW(rollback),
	.usage = "rollback NAME[@VERSION]",
	.words = "installed",
	.description = "From now on NAME means the version that was in use before the present one, or VERSION. "
		       "Both stay installed, with\n"
		       "the approval that each of them has. The same command goes forward again.",
	.examples = "mortise rollback csv-sql\nmortise rollback csv-sql@0.1.0",
	.options = groups,
	MOR_CLI_ARGS(remove_args),
	.run = rollback_run,
};
