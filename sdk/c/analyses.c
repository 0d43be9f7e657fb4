/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin's table of analyses, for the one function that tenon_analyze() takes. */
#include <errno.h>
#include <string.h>

#include "analyzer_inside.h"
#include "base/alloc.h"

static int analyze_by_type(tenon_analyzer *analyzer, const tenon_unit *unit, void *arg)
{
	const tenon_plugin *plugin = arg;
	const tenon_analysis *row = plugin->analyses;

	while (row->type && strcmp(row->type, unit->type) != 0)
		row++;
	if (!row->type)
		row = plugin->analyses;
	return row->fn(analyzer, unit, plugin->arg);
}

int tn_run_analyses(const tenon_plugin *plugin)
{
	const char **types;
	size_t count = 0;
	int r;

	while (plugin->analyses && plugin->analyses[count].type)
		count++;
	types = count ? mor_zalloc((count + 1) * sizeof(char *)) : NULL;
	if (!types)
		return 1;
	for (size_t i = 0; i < count; i++)
		types[i] = plugin->analyses[i].type;
	r = tenon_analyze(&(tenon_analyzer_options){
		.name = plugin->name,
		.types = types,
		.analyze = analyze_by_type,
		.arg = (void *)(uintptr_t)plugin,
		.max_analyses = plugin->max_analyses,
	});
	mor_free(types);
	return r;
}
