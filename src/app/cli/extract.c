/* SPDX-License-Identifier: Apache-2.0 */
/* mortise extract: reads files, prints their text. The work is done in src/work/extract. */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/farming.h"
#include "console/report.h"
#include "extract/extract.h"
#include "store/store.h"
#include "trusted/trusted.h"

struct extract_args {
	struct mor_extract_args want;
	struct mor_opt_count retries;
	const char *shard;
	struct mor_crew_farm farm;
	struct mor_plugin_args plugin;
	struct mor_common_args common;
};

#define FIELD(name) offsetof(struct extract_args, name)
static const struct mor_option extract_options[] = {
	{ "plugin", 'p', "PLUGIN", "plugin that extracts; of several, the most confident one gets the file",
	  MOR_OPT_LIST, FIELD(want.plugins), NULL },
	{ "jobs", 'j', "N", "processes per plugin; default: one per processor", MOR_OPT_UINT, FIELD(want.jobs),
	  NULL },
	{ "source", 0, "HOW", "send a file's bytes (the default) or its path", MOR_OPT_TEXT, FIELD(want.source),
	  "bytes|path" },
	{ "option", 'O', "KEY=VALUE", "an option for extractor.extract; as in mortise call", MOR_OPT_LIST,
	  FIELD(want.options), NULL },
	{ "mime", 0, "TYPE", "MIME type of all files; default: what libmagic says", MOR_OPT_TEXT,
	  FIELD(want.mime), NULL },
	{ "extension", 0, "EXT", "extension of all files; default: that of the name", MOR_OPT_TEXT,
	  FIELD(want.extension), NULL },
	{ "max-size", 0, "SIZE", "largest file to send as bytes; default: 190MiB", MOR_OPT_BYTES,
	  FIELD(want.max_size), NULL },
	{ "retries", 0, "N", "tries after a crash or a recoverable error; default: 1", MOR_OPT_COUNT,
	  FIELD(retries), NULL },
	{ "metadata", 'm', NULL, "in text output, metadata before the content", MOR_OPT_FLAG,
	  FIELD(want.metadata), NULL },
	{ "shard", 0, "K/N", "do only the K-th of N equal shares of the files, as a part for mortise join",
	  MOR_OPT_TEXT, FIELD(shard), NULL },
	{ "output", 'o', "FILE", "write to FILE, when everything is complete; -: stdout", MOR_OPT_TEXT,
	  FIELD(want.output), NULL },
	{ "resume", 0, NULL, "with --farm: continue an interrupted run with the same output", MOR_OPT_FLAG,
	  FIELD(farm.resume), NULL },
	{ 0 },
};
static const struct mor_option_group groups[] = {
	{ "Options:", extract_options, 0 },
	{ "Options for a farm:", mor_farming_option_table, FIELD(farm) },
	{ "Options for the plugin:", mor_plugin_option_table, FIELD(plugin) },
	{ "Common options:", mor_common_options, FIELD(common) },
	{ 0 },
};

/* A part on a terminal helps nobody: its list is for mortise join. */
static int check_shard(const struct mor_cli *cli, const struct mor_extract_args *want, mortise_error *err)
{
	bool to_file = want->output && strcmp(want->output, "-") != 0;

	if (!want->shard.shards || to_file || !cli->console->out_terminal)
		return 0;
	return mor_fail(err, MORTISE_EINVAL,
			"--shard writes a part for mortise join, which no terminal can show: add -o part-%u",
			want->shard.shard);
}

static int check_words(const struct mor_cli *cli, const struct mor_extract_args *want, const char *untrusted,
		       mortise_error *err)
{
	const struct extract_args *args = cli->args;
	size_t streams = 0;

	if (want->file_count == 0)
		return mor_fail(err, MORTISE_EINVAL, "name a FILE, or - for stdin");
	if (cli->words.tail && !cli->words.tail[0])
		return mor_fail(err, MORTISE_EINVAL, "write a command after \"--\"");
	if (want->plugins.count == 0 && !cli->words.tail)
		return mor_fail(err, MORTISE_EINVAL,
				"name the plugin: --plugin PLUGIN, or -- COMMAND ARG… at the end; no plugin "
				"that extracts is installed%s%s",
				*untrusted ? ", and " : "", untrusted);
	for (size_t i = 0; i < want->file_count; i++)
		streams += strcmp(want->files[i], "-") == 0;
	if (streams > 1)
		return mor_fail(err, MORTISE_EINVAL, "stdin (-) can be read only once");
	if (streams && want->shard.shards)
		return mor_fail(err, MORTISE_EINVAL, "stdin (-) is not the same for every shard: name files");
	if (streams && args->farm.url)
		return mor_fail(err, MORTISE_EINVAL,
				"stdin (-) has no name that a farm could keep: name files");
	if (args->farm.resume && !args->farm.url)
		return mor_fail(err, MORTISE_EINVAL, "--resume belongs to --farm URL: a local run starts anew");
	if (mor_farming_check(&args->farm, &args->plugin, want->output, args->shard, err) < 0)
		return MORTISE_EINVAL;
	return check_shard(cli, want, err);
}

/* Installed plugins that speak yams, by name. */
static int add_installed(struct mor_cli *cli, struct mor_extract_args *want, mortise_error *err)
{
	struct mor_store store = { 0 };
	struct mor_store_list list = { 0 };
	int r = mor_store_open(NULL, NULL, &store) < 0 ? mor_fail_memory(err) :
							 mor_store_list(&store, false, &list, err);

	for (size_t i = 0; i < list.count && r == 0; i++) {
		MOR_CLEAN_TEXT char *word = mor_text_format("%s@%s", list.items[i].name, list.items[i].version);
		const char *path = word;

		if (strcmp(list.items[i].dialect, "yams") != 0)
			continue;
		r = word ? mor_cli_named(cli, &path, err) : mor_fail_memory(err);
		if (r == 0 && path != word && mor_text_list_add(&want->plugins, path) < 0)
			r = mor_fail_memory(err);
	}
	mor_store_list_fini(&list);
	mor_store_fini(&store);
	return r;
}

static int add_one_trusted(struct mor_cli *cli, struct mor_extract_args *want, const char *found,
			   mortise_error *err)
{
	char *path = mor_strdup(found);

	if (!path || mor_text_list_add(&cli->named.paths, path) < 0) {
		mor_free(path);
		return mor_fail_memory(err);
	}
	return mor_text_list_add(&want->plugins, path) < 0 ? mor_fail_memory(err) : 0;
}

/* Then the YAMS plugins in trusted directories, in the order of mor_trusted_scan(). `untrusted` gets a line
 * about the first that must not run. A list that does not count is a warning: it only makes fewer plugins. */
static int add_trusted(struct mor_cli *cli, struct mor_extract_args *want, char *untrusted, size_t size,
		       mortise_error *err)
{
	MOR_CLEAN(mor_trusted) struct mor_trusted list = { 0 };
	MOR_CLEAN(mor_trusted_plugins) struct mor_trusted_plugins all = { 0 };
	char name[100];
	int r = mor_trusted_read(&list, err);

	if (r < 0 && r != MORTISE_ENOMEM) {
		mor_note(cli->console, "warning: %s", err->text);
		return 0;
	}
	if (r == 0)
		r = mor_trusted_scan(&list, &all, err);
	for (size_t i = 0; i < all.count && r == 0; i++) {
		const struct mor_trusted_plugin *plugin = &all.items[i];

		mor_printable(mor_slice_of(plugin->name), name, sizeof(name));
		if (!plugin->why)
			r = add_one_trusted(cli, want, plugin->path, err);
		else if (cli->console->verbose)
			mor_note(cli->console, "not used: %s %s", name, plugin->why);
		if (plugin->why && !*untrusted)
			snprintf(untrusted, size, "%s %s", name, plugin->why);
	}
	return r;
}

static int find_plugins(struct mor_cli *cli, struct mor_extract_args *want, char *untrusted, size_t size,
			mortise_error *err)
{
	int r;

	if (want->plugins.count || cli->words.tail)
		return mor_cli_named_all(cli, want->plugins.item, want->plugins.count, err);
	want->picked = true;
	r = add_installed(cli, want, err);
	if (r == 0)
		r = add_trusted(cli, want, untrusted, size, err);
	if (want->plugins.count > 1)
		cli->named.installed = 0; /* who knows which of them runs */
	return r;
}

int mor_farming_extract_run(struct mor_cli *cli, mor_farming_extract_fn *farm)
{
	struct extract_args *args = cli->args;
	struct mor_extract_args *want = &args->want;
	mortise_error err = { 0 };
	char untrusted[1000] = "";

	if (args->farm.url && !farm)
		return mor_cli_hand_over(cli, MOR_CLI_FARM);
	want->files = cli->words.item;
	want->file_count = cli->words.count;
	want->command = (const char *const *)cli->words.tail;
	want->retries = args->retries.given ? args->retries.value : 1;
	want->source = want->source ? want->source : "bytes";
	want->max_size = want->max_size ? want->max_size : MOR_EXTRACT_MAX_SIZE;
	want->plugin = &args->plugin;
	want->json = cli->console->json;
	mor_farming_take(&args->farm);
	if (find_plugins(cli, want, untrusted, sizeof(untrusted), &err) < 0)
		return mor_report_error(cli->console, &err);
	if (mor_shard_parse(args->shard, &want->shard, &err) < 0 || check_words(cli, want, untrusted, &err) < 0)
		return mor_report_usage(cli->console, &err);
	return farm && args->farm.url ? farm(cli->console, want, &args->farm) :
					mor_extract_run(cli->console, want);
}

static int extract_run(struct mor_cli *cli)
{
	return mor_farming_extract_run(cli, NULL);
}

const struct mor_cli_command mor_cli_command_extract = {
	.row = MOR_CLI_ROW(extract),
	.usage = "extract FILE… [--plugin PLUGIN] [OPTION…]\n"
		 "extract FILE… [OPTION…] -- COMMAND ARG…",
	.words = "file",
	.description =
		"Without --plugin, the manifests of the installed YAMS plugins, and of those in trusted "
		"directories\n"
		"(mortise trust), say which are started for a file; of these, the most confident one gets it. "
		"-v shows\n"
		"which one, and why.\n"
		"FILE - is stdin. One file gives its content, several give a heading each; --json gives one "
		"line\n"
		"per file with content, metadata and stats. A file that fails is reported on stderr, and the "
		"others go\n"
		"on; the exit code is then 1 (with a single file: the code of its error).",
	.examples = "mortise extract /bin/true --plugin build/plugins/elf-text\n"
		    "mortise extract -j 8 --json /bin/true /bin/false --plugin build/plugins/elf-text > "
		    "rows.ndjson\n"
		    "mortise extract scans/*.bin -o text --plugin /opt/ocr --farm postgres://db/farm --store "
		    "/net/farm\n"
		    "cat /bin/true | mortise extract - --metadata --plugin build/plugins/elf-text",
	.options = groups,
	MOR_CLI_ARGS(extract_args),
	.run = extract_run,
};
