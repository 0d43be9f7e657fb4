/* SPDX-License-Identifier: Apache-2.0 */
/* mortise index: analyzers turn compilation records into one stream of entries. The work is in
 * src/work/index. */
#include <string.h>

#include "base/error.h"
#include "cli/inside.h"
#include "console/report.h"

static int check_farm(const struct index_args *args, mortise_error *err)
{
	int r = mor_farming_check(&args->farm, &args->plugin, args->want.output, args->want.shard, err);

	if (r < 0 || !args->farm.url)
		return !r && args->manifest ?
			       mor_fail(err, MORTISE_EINVAL, "--manifest belongs to --farm URL") :
			       r;
	if (strcmp(args->want.format, "raw") == 0)
		return mor_fail(err, MORTISE_EINVAL, "--farm writes entries or json, not raw");
	if (args->manifest && strcmp(args->want.format, "entries") != 0)
		return mor_fail(err, MORTISE_EINVAL, "--manifest is a list of entries: leave out --format");
	return 0;
}

static int check_words(const struct mor_cli *cli, const struct index_args *args, mortise_error *err)
{
	const struct mor_index_args *want = &args->want;

	if (want->kzip_count == 0)
		return mor_fail(err, MORTISE_EINVAL, "name a FILE.kzip");
	if (!want->analyzer == !want->command)
		return mor_fail(err, MORTISE_EINVAL,
				"name the analyzer: --analyzer PLUGIN, or -- COMMAND ARG… at the end");
	if (want->command && !want->command[0])
		return mor_fail(err, MORTISE_EINVAL, "write a command after \"--\"");
	if (args->plugin.dialect && strcmp(args->plugin.dialect, "kythe") != 0)
		return mor_fail(err, MORTISE_EINVAL, "index speaks kythe; --dialect %s does not fit",
				args->plugin.dialect);
	if (want->resume && !mor_index_to_file(want))
		return mor_fail(err, MORTISE_EINVAL, "--resume needs --output FILE: stdout has no journal");
	if (check_farm(args, err) < 0)
		return MORTISE_EINVAL;
	if (!want->output && cli->console->out_terminal && strcmp(want->format, "json") != 0)
		return mor_fail(
			err, MORTISE_EINVAL,
			"the result is not for a terminal: name a file with --output, or take --format=json");
	return 0;
}

int mor_farming_index_run(struct mor_cli *cli, mor_farming_index_fn *farm)
{
	struct index_args *args = cli->args;
	struct mor_index_args *want = &args->want;
	mortise_error err = { 0 };

	if (args->farm.url && !farm)
		return mor_cli_hand_over(cli, MOR_CLI_FARM);
	want->kzips = cli->words.item;
	want->kzip_count = cli->words.count;
	want->command = (const char *const *)cli->words.tail;
	want->format = want->format ? want->format : "entries";
	want->retries = args->retries.given ? args->retries.value : 2;
	want->plugin = &args->plugin;
	mor_farming_take(&args->farm);
	if (check_words(cli, args, &err) < 0)
		return mor_report_usage(cli->console, &err);
	if (want->analyzer && mor_cli_named(cli, &want->analyzer, &err) < 0)
		return mor_report_error(cli->console, &err);
	return farm && args->farm.url ? farm(cli->console, want, &args->farm, args->manifest) :
					mor_index_run(cli->console, want);
}

int mor_cli_index(struct mor_cli *cli)
{
	return mor_farming_index_run(cli, NULL);
}
