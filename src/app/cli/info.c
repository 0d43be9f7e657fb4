/* SPDX-License-Identifier: Apache-2.0 */
/* mortise info: what a plugin is, offers and needs, and its health. */
#include "about/about.h"
#include "base/error.h"
#include "cli/cli.h"
#include "console/report.h"

struct info_args {
	bool no_start;
	struct mor_plugin_args plugin;
	struct mor_common_args common;
};

#define FIELD(name) offsetof(struct info_args, name)
static const struct mor_option info_options[] = {
	{ "no-start", 0, NULL, "only read manifest and configuration; run nothing", MOR_OPT_FLAG,
	  FIELD(no_start), NULL },
	{ 0 },
};
static const struct mor_option_group groups[] = {
	{ "Options:", info_options, 0 },
	{ "Options for the plugin:", mor_plugin_option_table, FIELD(plugin) },
	{ "Common options:", mor_common_options, FIELD(common) },
	{ 0 },
};

static int info_run(struct mor_cli *cli)
{
	const struct info_args *args = cli->args;
	struct mor_about_plan plan = { .plugin = &args->plugin, .no_start = args->no_start };
	mortise_error err = { 0 };
	int r = mor_cli_target(cli, &plan.path, &plan.argv, &err);

	if (r == 0 && cli->words.count)
		r = mor_fail(&err, MORTISE_EINVAL, "info takes one PLUGIN");
	if (r < 0)
		return mor_report_cause(cli->console, &err);
	return mor_about_plugin(cli->console, &plan);
}

const struct mor_cli_command mor_cli_command_info = {
	.row = MOR_CLI_ROW(info),
	.usage = "info PLUGIN [OPTION…]\ninfo [OPTION…] -- COMMAND ARG…",
	.words = "plugin",
	.description = "Starts the plugin, greets it, asks for its health, prints what is known, and stops it "
		       "politely.\n"
		       "Configuration that the plugin applied with other values is marked.",
	.examples = "mortise info build/plugins/elf-text\nmortise info --no-start build/plugins/elf-text\n"
		    "mortise info --dialect yams --config max_functions=10 --json ./plugin.py",
	.options = groups,
	MOR_CLI_ARGS(info_args),
	.run = info_run,
};
