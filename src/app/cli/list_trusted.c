/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/text.h"
#include "cli/list.h"
#include "trusted/trusted.h"

static void find_plugins(struct mor_cli *cli, struct mor_trusted_plugins *ret)
{
	MOR_CLEAN(mor_trusted) struct mor_trusted list = { 0 };
	mortise_error err = { 0 };

	if (mor_trusted_read(&list, &err) < 0 || mor_trusted_scan(&list, ret, &err) < 0)
		mor_note(cli->console, "%s", err.text);
}

/* The names and paths of these plugins are whatever somebody has put there. */
void mor_cli_list_trusted_show(struct mor_cli *cli)
{
	MOR_CLEAN(mor_trusted_plugins) struct mor_trusted_plugins all = { 0 };
	char name[100], version[60], path[600];

	find_plugins(cli, &all);
	if (all.count)
		mor_out_title(cli->console, "In directories of YAMS:");
	for (size_t i = 0; i < all.count; i++) {
		const struct mor_trusted_plugin *plugin = &all.items[i];

		mor_printable(mor_slice_of(plugin->name), name, sizeof(name));
		mor_printable(mor_slice_of(plugin->version ? plugin->version : "-"), version, sizeof(version));
		mor_printable(mor_slice_of(plugin->path), path, sizeof(path));
		if (plugin->why)
			mor_outf(cli->console, "%s  %s  not trusted: it %s\n", name, version, plugin->why);
		else
			mor_outf(cli->console, "%s  %s  trusted: %s\n", name, version, path);
	}
}

void mor_cli_list_trusted_json(struct mor_cli *cli, struct mor_writer *w)
{
	MOR_CLEAN(mor_trusted_plugins) struct mor_trusted_plugins all = { 0 };

	find_plugins(cli, &all);
	mor_w_pair_array(w, "yams");
	for (size_t i = 0; i < all.count; i++) {
		const struct mor_trusted_plugin *plugin = &all.items[i];

		mor_w_object(w);
		mor_w_pair(w, "name", plugin->name);
		mor_w_pair(w, "version", plugin->version);
		mor_w_pair(w, "path", plugin->path);
		mor_w_pair_bool(w, "trusted", !plugin->why);
		mor_w_pair(w, "why", plugin->why);
		mor_w_end(w);
	}
	mor_w_end(w);
}
