/* SPDX-License-Identifier: Apache-2.0 */
/* Rows with `when` exist only with that quirk. A plugin that lacks some of them gets its own table. */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "host/plugin.h"
#include "host/settings.h"

/* "quirk=value" */
static bool is_met(mortise_plugin *plugin, const char *when)
{
	const char *equals = when ? strchr(when, '=') : NULL, *value;
	char quirk[48];

	if (!equals || (size_t)(equals - when) >= sizeof(quirk))
		return true;
	memcpy(quirk, when, (size_t)(equals - when));
	quirk[equals - when] = '\0';
	value = plugin->peer.quirk(&plugin->peer, quirk);
	return value && strcmp(value, equals + 1) == 0;
}

int mor_rows_choose(mortise_plugin *plugin, mortise_error *err)
{
	const struct mor_dialect *all = plugin->peer.dialect;
	struct mor_method *rows;
	size_t count = 0, left_out = 0, kept = 0;

	for (; all->methods && all->methods[count].name; count++)
		left_out += !is_met(plugin, all->methods[count].when);
	if (!left_out)
		return 0;
	plugin->is.own_dialect = mor_alloc(sizeof(*plugin->is.own_dialect));
	rows = plugin->is.own_dialect ? mor_zalloc((count + 1) * sizeof(*rows)) : NULL;
	if (!rows) {
		mor_free(plugin->is.own_dialect);
		plugin->is.own_dialect = NULL;
		return mor_fail_memory(err);
	}
	for (size_t i = 0; i < count; i++)
		if (is_met(plugin, all->methods[i].when))
			rows[kept++] = all->methods[i];
	*plugin->is.own_dialect = *all;
	plugin->is.own_dialect->methods = rows;
	plugin->peer.dialect = plugin->is.own_dialect;
	return 0;
}

void mor_rows_free(mortise_plugin *plugin)
{
	if (plugin->is.own_dialect)
		mor_free((struct mor_method *)plugin->is.own_dialect->methods);
	mor_free(plugin->is.own_dialect);
}
