/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/farming.h"

#include <stddef.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"

#define FIELD(name) offsetof(struct mor_crew_farm, name)
const struct mor_option mor_farming_option_table[] = {
	{ "farm", 0, "URL", "let the workers of this farm do it: postgres://host/database", MOR_OPT_TEXT,
	  FIELD(url), NULL },
	{ "store", 0, "DIR", "the farm's store, a directory that all machines see", MOR_OPT_TEXT, FIELD(store),
	  NULL },
	{ "batch", 0, "N", "units in one batch; default: as many as take 8 to 16 seconds", MOR_OPT_UINT,
	  FIELD(batch), NULL },
	{ "window", 0, "N", "batches that may be under way at once; default 256", MOR_OPT_UINT, FIELD(window),
	  NULL },
	{ "lease", 0, "TIME", "a worker that is silent for so long has died; default 60s", MOR_OPT_TEXT,
	  FIELD(lease), NULL },
	{ "report", 0, "FILE", "write a page (HTML) with a plot of the pace, and what failed and why",
	  MOR_OPT_TEXT, FIELD(report), NULL },
	{ 0 },
};

void mor_farming_take(struct mor_crew_farm *args)
{
	if (args->lease)
		mor_parse_duration_ms(mor_slice_of(args->lease), &args->lease_ms);
}

static int check_environment(const struct mor_plugin_args *plugin, mortise_error *err)
{
	if (plugin->env.count || plugin->clean_env || plugin->inherit_env || plugin->framing || plugin->pidns ||
	    plugin->show_wire)
		return mor_fail(err, MORTISE_EINVAL,
				"with --farm the plugin has the environment of its worker: leave out --env, "
				"--clean-env, --inherit-env, --framing, --pidns and --show-wire");
	return 0;
}

int mor_farming_check(const struct mor_crew_farm *args, const struct mor_plugin_args *plugin,
		      const char *output, const char *shard, mortise_error *err)
{
	if (args->lease && !args->lease_ms)
		return mor_fail(err, MORTISE_EINVAL, "--lease \"%s\": expected a time such as 30s or 2m",
				args->lease);
	if (!args->url && (args->store || args->batch || args->window || args->lease || args->report))
		return mor_fail(err, MORTISE_EINVAL,
				"--store, --batch, --window, --lease and --report belong to --farm URL");
	if (!args->url)
		return 0;
	if (!args->store)
		return mor_fail(err, MORTISE_EINVAL,
				"--farm needs --store DIR, a directory that all workers see");
	if (shard)
		return mor_fail(err, MORTISE_EINVAL, "--farm shares the work out by itself: leave out --shard");
	if (!output || strcmp(output, "-") == 0)
		return mor_fail(err, MORTISE_EINVAL, "--farm needs --output FILE: stdout has no journal");
	return check_environment(plugin, err);
}
