/* SPDX-License-Identifier: Apache-2.0 */
/* mortise run: a plugin's own commands, under their own names. Finds the dialect and calls its function. */
#include "cli/run.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "console/report.h"
#include "console/signals.h"
#include "runner/signature.h"

#define FIELD(name) offsetof(struct mor_run_args, name)
static const struct mor_option run_options[] = {
	{ "context", 0, "JSON",
	  "JSON or @FILE: more members of a hook's context; G-Assist: the conversation so far", MOR_OPT_TEXT,
	  FIELD(sunscreen.context), NULL },
	MOR_OPTION_RECORD(FIELD(plugin.record)),
	{ 0 },
};
static const struct mor_option sunscreen_options[] = {
	{ "workspace", 'w', "DIR", "the workspace; default: the nearest directory upwards with a sunscreen.yml",
	  MOR_OPT_TEXT, FIELD(sunscreen.workspace), NULL },
	{ "hook", 0, "NAME",
	  "run this hook of every PLUGIN, in order; no PLUGIN: of all that the workspace declares",
	  MOR_OPT_TEXT, FIELD(sunscreen.hook), NULL },
	{ "idl", 0, "FILE", "the hook's IDL; default: the one file in target/idl", MOR_OPT_TEXT,
	  FIELD(sunscreen.idl), NULL },
	{ "keep-going", 0, NULL, "run the other hooks even if one fails", MOR_OPT_FLAG,
	  FIELD(sunscreen.keep_going), NULL },
	{ "keep", 0, NULL, "keep the changes of a failed run in the workspace; default: undo them",
	  MOR_OPT_FLAG, FIELD(sunscreen.keep), NULL },
	{ "yes", 'y', NULL, "grant the network to a plugin that asks for it, and remember it", MOR_OPT_FLAG,
	  FIELD(sunscreen.yes), NULL },
	{ 0 },
};
static const struct mor_option_group groups[] = {
	{ "Options:", run_options, 0 },
	{ "Options for Sunscreen plugins:", sunscreen_options, 0 },
	{ "Options for G-Assist plugins:", mor_gassist_options, FIELD(gassist) },
	{ "Options for the plugin:", mor_plugin_option_table, FIELD(plugin) },
	{ "Common options:", mor_common_options, FIELD(common) },
	{ 0 },
};

/* As in mortise call: what looks like one of our options misspelt, and like no parameter, is refused. */
static int check_function_options(const struct mor_run *run, const char *function, mortise_error *err)
{
	const struct mor_words *words = &run->cli->words;
	struct mor_signature signature = { 0 };
	int r = 0;

	if (words->unknown && function)
		signature = mor_signature_find(run->resolved, function);
	for (const char **word = words->item; words->unknown && *word && r == 0; word++)
		if (strncmp(*word, "--", 2) == 0 && !mor_signature_knows(signature, *word) &&
		    mor_options_nearest(groups, *word))
			r = mor_options_refuse(groups, *word, err);
	return r;
}

static int run_gassist(struct mor_run *run, int *exit_code, mortise_error *err)
{
	const struct mor_workspace_args *not_ours = &run->args->sunscreen;
	const struct mor_words *words = &run->cli->words;
	size_t before = run->command ? 0 : 1; /* PLUGIN comes before FUNCTION */
	bool named = words->count > before;
	struct mor_converse_once once = {
		.typed = run->typed,
		.named = words->count ? words->item[0] : run->typed,
		.command = run->command,
		.resolved = run->resolved,
		.function = named ? words->item[before] : NULL,
		.words = words->item + before + named,
		.word_count = named ? words->count - before - 1 : 0,
		.tail = run->command ? NULL : words->tail,
		.extra = run->args->gassist,
		.plugin = &run->args->plugin,
	};

	int r = check_function_options(run, once.function, err);

	if (r < 0)
		return r;
	if (not_ours->workspace || not_ours->hook || not_ours->idl || not_ours->keep_going || not_ours->keep ||
	    not_ours->yes)
		return mor_fail(
			err, MORTISE_EINVAL,
			"--workspace, --hook, --idl, --keep-going, --keep and --yes are for Sunscreen plugins; "
			"%s speaks gassist",
			run->command ? run->command[0] : run->typed);
	once.extra.context = not_ours->context;
	return mor_converse_once(run->cli->console, &once, exit_code, err);
}

static int run_sunscreen(struct mor_run *run, int *exit_code, mortise_error *err)
{
	if (run->args->gassist.system_info || run->args->gassist.session_limit)
		return mor_fail(err, MORTISE_EINVAL,
				"--system-info and --session-limit are for G-Assist plugins");
	if (run->args->plugin.record && run->plugins.count > 1)
		return mor_fail(err, MORTISE_EINVAL, "--record is for one plugin; name one PLUGIN");
	return mor_workspace_run_plugins(run->cli->console, &run->args->sunscreen, &run->plugins, run->resolved,
					 exit_code, err);
}

/* One row per dialect. own_options: unknown long options belong to the plugin. */
static const struct {
	const char *dialect;
	bool own_options;
	mor_run_fn *run;
} rows[] = {
	{ "gassist", true, run_gassist },
	{ "sunscreen", true, run_sunscreen },
	{ "sunscreen-json", true, run_sunscreen },
	{ NULL, false, NULL },
};

/* plain: we know no more than that */
static const char guessed[] = ", or say what it speaks with --dialect or a manifest";

static int dispatch(struct mor_run *run, int *exit_code, mortise_error *err)
{
	const struct mor_words *words = &run->cli->words;
	const struct mor_manifest *manifest;

	assert(run->resolved);
	manifest = run->resolved->manifest;
	for (size_t i = 0; rows[i].dialect; i++) {
		if (strcmp(rows[i].dialect, manifest->dialect) != 0)
			continue;
		if (words->unknown && !rows[i].own_options)
			return mor_options_refuse(groups, words->unknown, err);
		return rows[i].run(run, exit_code, err);
	}
	if (!run->resolved->dialect) {
		mor_runner_dialect_unknown(manifest->dialect, err);
		err->code = MORTISE_EMANIFEST;
		return mor_fail_prefix(err, manifest->name);
	}
	return mor_fail(err, MORTISE_EINVAL,
			"%s speaks %s, which has methods, not commands: use 'mortise call'%s", run->typed,
			manifest->dialect, strcmp(manifest->dialect, "plain") == 0 ? guessed : "");
}

/* Words that the workspace does not declare. */
static int use_installed(struct mor_run *run, mortise_error *err)
{
	for (size_t i = 0; i < run->plugins.count; i++) {
		const char *word = run->plugins.item[i];
		/* a flag that has no place here */
		int r = *word == '-' ? 0 : mor_cli_named(run->cli, &word, err);
		char *path = r == 0 && word != run->plugins.item[i] ? mor_strdup(word) : NULL;

		if (r < 0)
			return r;
		if (word == run->plugins.item[i])
			continue;
		if (!path)
			return mor_fail_memory(err);
		mor_free((char *)run->plugins.item[i]);
		run->plugins.item[i] = path;
	}
	return 0;
}

/* What the workspace declares wins over what is installed: it is nearer. */
static int find_plugins(struct mor_run *run, mortise_error *err)
{
	const struct mor_workspace_args *args = &run->args->sunscreen;
	const struct mor_words *words = &run->cli->words;
	int r = mor_workspace_declared(run->cli->console, args, &run->plugins, err);

	if (r == 0)
		return use_installed(run, err);
	/* Without a hook the first word is the plugin, and the others are its words. */
	if (r == MORTISE_ENOTFOUND && words->count &&
	    mor_cli_named_all(run->cli, words->item, args->hook ? words->count : 1, NULL) == 0 &&
	    run->cli->named.paths.count)
		r = mor_workspace_declared(run->cli->console, args, &run->plugins, err);
	return r;
}

static int prepare_run(struct mor_run *run, mortise_error *err)
{
	const struct mor_words *words = &run->cli->words;
	const char *dialect = run->args->plugin.dialect;
	int r;

	/* -d gassist FUNCTION ... -- COMMAND. A plugin with a manifest needs no -d, and takes what is behind
	 * "--" as arguments. */
	if (words->tail && dialect && strcmp(dialect, "gassist") == 0) {
		if (!words->tail[0])
			return mor_fail(err, MORTISE_EINVAL, "write a command after \"--\"");
		run->command = words->tail;
		return mor_runner_resolve(&run->args->plugin, NULL, run->command, &run->resolved, err);
	}
	if (words->count == 0 && !run->args->sunscreen.hook)
		return mor_fail(err, MORTISE_EINVAL, "name a PLUGIN: its directory");
	if (words->count && words->item[0] == words->unknown)
		return mor_options_refuse(groups, words->unknown, err);
	if ((r = find_plugins(run, err)) < 0)
		return r;
	run->typed = run->plugins.item[0];
	return mor_runner_resolve(&run->args->plugin, run->typed, NULL, &run->resolved, err);
}

static int run_run(struct mor_cli *cli)
{
	struct mor_run_args *args = cli->args;
	struct mor_run run = { .cli = cli, .args = args };
	mortise_error err = { 0 };
	int exit_code = 0, r;

	args->sunscreen.words = cli->words.item;
	args->sunscreen.word_count = cli->words.count;
	args->sunscreen.tail = cli->words.tail;
	args->sunscreen.unknown = cli->words.unknown;
	args->sunscreen.line = (const char *const *)cli->argv;
	args->sunscreen.plugin = &args->plugin;
	r = prepare_run(&run, &err);
	if (r == 0)
		r = dispatch(&run, &exit_code, &err);
	if (mor_signals_count())
		exit_code = mor_report_interrupted(cli->console, mor_signals_exit_code());
	else if (r == MORTISE_EINVAL)
		exit_code = mor_report_usage(cli->console, &err);
	else if (r < 0)
		exit_code = mor_report_fail(cli->console,
					    &(struct mor_report){ .error = &err, .plugin = run.typed });
	mor_resolved_unref(run.resolved);
	mor_text_list_free_texts(&run.plugins);
	return exit_code;
}

const struct mor_cli_command mor_cli_command_run = {
	.row = MOR_CLI_ROW(run),
	.usage = "run PLUGIN COMMAND [ARG… | --FLAG[=VALUE]…] [OPTION…] [-- ARG…]\n"
		 "run PLUGIN FUNCTION [KEY=VALUE… | --KEY=VALUE… | VALUE… | JSON] [OPTION…]\n"
		 "run -d gassist FUNCTION [KEY=VALUE… | JSON] [OPTION…] -- COMMAND ARG…\n"
		 "run --hook NAME [PLUGIN…] [OPTION…] [-- ARG…]",
	.words = "plugin",
	.description =
		"Sunscreen plugins (plugin.toml, sunscreen-plugin.json): runs COMMAND, such as "
		"scaffold:indexer; the short\n"
		"name is enough if only one kind has it. Long options that are not listed here belong to the "
		"plugin, and so\n"
		"does everything after \"--\":\n"
		"  --FLAG=VALUE      a text; repeated: an array of texts\n"
		"  --FLAG VALUE      the same: a word that does not begin with \"-\" is the value of the flag "
		"before it\n"
		"  --FLAG            true, at the end or before another option\n"
		"  -- … --           a second \"--\" ends the flags too: what follows are arguments\n"
		"Prints the summary and the files that were written. The plugin is confined to its "
		"permissions; if it\n"
		"fails, what it has changed in the workspace is undone. PLUGIN is its directory, or the name "
		"of one that the\n"
		"workspace declares (plugins in sunscreen.yml).\n"
		"G-Assist plugins (manifest.json): runs FUNCTION and prints its answer as it comes. Arguments "
		"as for\n"
		"'mortise call'; for a function with one parameter the text alone is enough. With -d gassist "
		"the plugin may\n"
		"be a command after \"--\": it needs no manifest.",
	.examples = "mortise run build/plugins/yellowstone-indexer scaffold:indexer Trades --program app "
		    "--workspace ~/my-app\n"
		    "mortise run build/plugins/yellowstone-indexer listener Swaps -w ~/my-app -- --force\n"
		    "mortise run --hook after_build build/plugins/yellowstone-indexer -w ~/my-app\n"
		    "mortise run build/plugins/lookout disk path=/var\n"
		    "mortise run -d gassist hello name=Ada -- python3 plugin.py",
	.options = groups,
	.loose = true,
	.hint = "; options for the plugin go after \"--\"",
	MOR_CLI_ARGS(mor_run_args),
	.run = run_run,
};
