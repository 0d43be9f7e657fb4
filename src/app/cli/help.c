/* SPDX-License-Identifier: Apache-2.0 */
/* --help, made from the same tables as the parser. */
#include <string.h>

#include "cli/cli.h"
#include "console/report.h"

#define COLUMN 30 /* where the descriptions begin */

/* Every line of `text`, after `indent`. */
static void lines(struct mor_cli *cli, const char *indent, const char *text)
{
	while (*text) {
		size_t len = strcspn(text, "\n");

		mor_outf(cli->console, "%s%.*s\n", len ? indent : "", (int)len, text);
		text += len + (text[len] == '\n');
	}
}

/* A spelling that is too long for its column gets a line of its own. */
static void option_line(struct mor_cli *cli, const struct mor_option *option)
{
	char spelling[80];
	int len = snprintf(spelling, sizeof(spelling), "%c%c%s--%s%s%s", option->letter ? '-' : ' ',
			   option->letter ? option->letter : ' ', option->letter ? ", " : "  ", option->name,
			   option->arg && !mor_option_is_optional(option) ? " " : "",
			   option->arg ? option->arg : "");

	mor_outf(cli->console, "  %s", spelling);
	if (len >= COLUMN - 1)
		mor_outf(cli->console, "\n%*s", COLUMN + 2, "");
	else
		mor_outf(cli->console, "%*s", COLUMN - len, "");
	mor_outf(cli->console, "%s\n", option->help);
}

void mor_help_command(struct mor_cli *cli, const struct mor_cli_command *command)
{
	mor_outf(cli->console, "%smortise %s%s: %s\n", mor_style(cli->console, MOR_STYLE_TITLE),
		 command->row->name, mor_style_end(cli->console), command->row->summary);
	mor_out_title(cli->console, "Usage:");
	lines(cli, "  mortise ", command->usage);
	if (command->description) {
		mor_out_text(cli->console, "\n");
		lines(cli, "", command->description);
	}
	for (const struct mor_option_group *g = command->options; g->title; g++) {
		mor_out_title(cli->console, g->title);
		for (const struct mor_option *o = g->options; o->name; o++)
			option_line(cli, o);
	}
	mor_out_title(cli->console, "Examples:");
	lines(cli, "  ", command->examples);
	if (strstr(command->examples, "build/plugins/") || strstr(command->examples, "examples/"))
		mor_out_text(cli->console, "  Installed: build/plugins is lib/mortise/plugins, and examples is "
					   "share/doc/mortise/examples, below its prefix.\n");
}

/* Commands and their groups are listed in the order of the table. */
void mor_help_all(struct mor_cli *cli)
{
	const char *group = NULL;

	mor_outf(cli->console,
		 "%smortise%s hosts plugins that run as separate processes and speak JSON-RPC over stdio.\n",
		 mor_style(cli->console, MOR_STYLE_TITLE), mor_style_end(cli->console));
	mor_out_title(cli->console, "Usage:");
	lines(cli, "  ", "mortise COMMAND [ARGUMENT…] [OPTION…]\nmortise COMMAND --help\nmortise --version\n");
	for (unsigned i = 0; i < mor_cli_row_count; i++) {
		const struct mor_cli_row *row = &mor_cli_rows[i];

		if (!group || strcmp(group, row->group) != 0)
			mor_out_title(cli->console, row->group);
		group = row->group;
		mor_outf(cli->console, "  %s%-14s%s %s\n", mor_style(cli->console, MOR_STYLE_LABEL), row->name,
			 mor_style_end(cli->console), row->summary);
	}
	mor_out_title(cli->console, "A plugin is");
	lines(cli, "  ",
	      "an installed one, by its NAME or NAME@VERSION; or, with a slash, a directory with a manifest\n"
	      "(./mine with yams-plugin.json, manifest.json, plugin.toml, sunscreen-plugin.json or "
	      "mortise.toml)\n"
	      "or a file (./plugin.py); or a command at the end of the line: -- COMMAND ARG…\n");
	mor_out_title(cli->console, "Exit codes:");
	lines(cli, "  ",
	      "0 ok   1 plugin error, or some of several inputs failed   2 usage   3 manifest or "
	      "configuration\n"
	      "4 input   5 not found   6 time-out   7 crashed   9 protocol breach or sandbox violation\n"
	      "125 jail not set up   128+n signal\n"
	      "The first word on stderr, and \"kind\" with --json, name the exact kind of error.\n");
}

/* ---- mortise help COMMAND ---- */

struct help_args {
	struct mor_common_args common;
};

static const struct mor_option_group help_groups[] = {
	{ "Options:", mor_common_options, offsetof(struct help_args, common) },
	{ 0 },
};

static int help_run(struct mor_cli *cli)
{
	const struct mor_cli_command *command;
	mortise_error err = { 0 };

	if (cli->words.count == 0) {
		mor_help_all(cli);
		return 0;
	}
	command = mor_cli_command_find(cli->words.item[0]);
	if (!command) {
		mor_cli_command_unknown(cli->words.item[0], &err);
		return mor_report_usage(cli->console, &err);
	}
	mor_help_command(cli, command);
	return 0;
}

const struct mor_cli_command mor_cli_command_help = {
	.row = MOR_CLI_ROW(help),
	.usage = "help [COMMAND]",
	.words = "command",
	.examples = "mortise help extract",
	.options = help_groups,
	MOR_CLI_ARGS(help_args),
	.run = help_run,
};
