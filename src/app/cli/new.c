/* SPDX-License-Identifier: Apache-2.0 */
/* mortise new: a plugin's first files (src/app/starter). */
#include "base/alloc.h"
#include "base/error.h"
#include "cli/cli.h"
#include "console/report.h"
#include "starter/starter.h"

struct new_args {
	const char *dialect;
	bool no_sdk;
	struct mor_common_args common;
};

#define FIELD(name) offsetof(struct new_args, name)
static const struct mor_option new_options[] = {
	{ "dialect", 'd', "DIALECT", "the protocol that it speaks; 'mortise explain' lists them", MOR_OPT_TEXT,
	  FIELD(dialect), NULL },
	{ "no-sdk", 0, NULL, "leave out the copy of Tenon; its README says how to install that", MOR_OPT_FLAG,
	  FIELD(no_sdk), NULL },
	{ 0 },
};
static const struct mor_option_group groups[] = {
	{ "Options:", new_options, 0 },
	{ "Common options:", mor_common_options, FIELD(common) },
	{ 0 },
};

/* Takes the first line off, without its newline. false: no line is left. */
static bool next_line(struct mor_slice *text, struct mor_slice *ret)
{
	*ret = mor_slice_cut(text, '\n');
	return ret->len > 0;
}

static void show_json(struct mor_cli *cli, const struct mor_starter_order *order,
		      const struct mor_starter_made *made, struct mor_slice steps)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	struct mor_writer w = { .out = &json };
	struct mor_slice line;

	mor_w_object(&w);
	mor_w_pair_bool(&w, "ok", true);
	mor_w_pair(&w, "path", order->path);
	mor_w_pair(&w, "name", order->name);
	mor_w_pair(&w, "language", order->language->name);
	mor_w_pair(&w, "dialect", order->dialect->name);
	mor_w_pair_array(&w, "files");
	for (size_t i = 0; i < made->files.count; i++)
		mor_w_string(&w, made->files.item[i]);
	mor_w_end(&w);
	mor_w_pair_array(&w, "steps");
	while (next_line(&steps, &line))
		mor_w_slice(&w, line);
	mor_w_end(&w);
	mor_w_end(&w);
	mor_out_json(cli->console, mor_buf_view(&json));
}

static void show_text(struct mor_cli *cli, const struct mor_starter_order *order,
		      const struct mor_starter_made *made, struct mor_slice steps)
{
	struct mor_slice line;

	mor_outf(cli->console, "made %s: a plugin in %s for %s\n", order->path, order->language->title,
		 order->dialect->name);
	for (size_t i = 0; i < made->files.count; i++)
		mor_outf(cli->console, "  %s\n", made->files.item[i]);
	mor_outf(cli->console, "next:\n");
	while (next_line(&steps, &line))
		mor_outf(cli->console, "  %.*s\n", (int)line.len, line.ptr);
}

static int show_made(struct mor_cli *cli, const struct mor_starter_order *order,
		     const struct mor_starter_made *made, mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf steps = MOR_BUF_INIT;

	mor_buf_text(&steps, "cd ");
	mor_buf_shell_word(&steps, order->path);
	mor_buf_byte(&steps, '\n');
	mor_buf_slice(&steps, mor_buf_view(&made->steps));
	if (mor_buf_failed(&steps))
		return mor_fail_memory(err);
	(cli->console->json ? show_json : show_text)(cli, order, made, mor_buf_view(&steps));
	return 0;
}

static int new_run(struct mor_cli *cli)
{
	const struct new_args *args = cli->args;
	const struct mor_words *words = &cli->words;
	struct mor_starter_order order = { .no_sdk = args->no_sdk };
	struct mor_starter_made made = { 0 };
	mortise_error err = { 0 };
	int r, exit_code = 0;

	if (words->count > 2 || words->tail)
		r = mor_fail(&err, MORTISE_EINVAL, "new takes a LANGUAGE and a NAME");
	else
		r = mor_starter_order_take(&order, words->count ? words->item[0] : NULL, args->dialect,
					   words->count > 1 ? words->item[1] : NULL, &err);
	if (r < 0 || mor_starter_make(&order, &made, &err) < 0 || show_made(cli, &order, &made, &err) < 0)
		exit_code = mor_report_cause(cli->console, &err);
	mor_starter_made_fini(&made);
	mor_starter_order_fini(&order);
	return exit_code;
}

const struct mor_cli_command mor_cli_command_new = {
	.row = MOR_CLI_ROW(new),
	.usage = "new LANGUAGE NAME --dialect DIALECT [--no-sdk]",
	.words = "c|python|node",
	.description =
		"Makes the folder NAME with a small plugin that works: its program, manifest, test, README.md, "
		".gitignore,\n"
		"and a conversation (plugin.talk). Then prints what to type next.\n"
		"LANGUAGE is c, python or node. NAME may be a path: its last part is the plugin's name, which "
		"the dialect may\n"
		"restrict. For Python and Node the library Tenon is copied into the folder, so that it runs "
		"under every host,\n"
		"also confined, and nothing has to be installed. C uses pkg-config tenon.\n"
		"A folder that exists and is not empty is not touched.",
	.examples = "mortise new python dice --dialect ayiou\n"
		    "mortise new c words --dialect yams\n"
		    "mortise new node ~/plugins/weather -d gassist --no-sdk",
	.options = groups,
	MOR_CLI_ARGS(new_args),
	.run = new_run,
};
