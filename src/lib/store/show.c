/* SPDX-License-Identifier: Apache-2.0 */
/* An installed plugin as JSON: for mortise_installed_list() and `mortise list`. */
#include "store/store.h"

static void put_run(struct mor_writer *w, const struct mor_store_run *run)
{
	mor_w_key(w, "last_run");
	if (!run->at) {
		mor_w_null(w);
		return;
	}
	mor_w_object(w);
	mor_w_pair_int(w, "at", run->at);
	mor_w_pair(w, "version", run->version);
	mor_w_pair(w, "status", run->status);
	mor_w_pair(w, "text", run->text);
	mor_w_end(w);
}

static void put_plugin(struct mor_writer *w, const struct mor_store *store, const struct mor_installed *plugin)
{
	struct mor_store_run run;

	mor_store_run_read(store, plugin->name, &run);
	mor_w_object(w);
	mor_w_pair(w, "name", plugin->name);
	mor_w_pair(w, "version", plugin->version);
	mor_w_pair_bool(w, "current", plugin->current);
	mor_w_pair(w, "dialect", plugin->dialect);
	mor_w_pair(w, "description", plugin->description);
	mor_w_pair_value(w, "offers", plugin->offers);
	mor_w_pair_value(w, "interface", plugin->interface);
	mor_w_pair_value(w, "permissions", plugin->permissions);
	mor_w_pair_bool(w, "approved", plugin->approved);
	mor_w_pair_value(w, "allow", plugin->allow);
	mor_w_pair_bool(w, "confine", plugin->confine);
	mor_w_pair(w, "digest", plugin->digest);
	mor_w_pair(w, "directory", plugin->path);
	mor_w_pair(w, "from", plugin->from);
	mor_w_pair(w, "key", plugin->key);
	put_run(w, &run);
	mor_w_end(w);
}

void mor_store_list_json(const struct mor_store *store, const struct mor_store_list *list, struct mor_writer *w)
{
	mor_w_pair_array(w, "plugins");
	for (size_t i = 0; i < list->count; i++)
		put_plugin(w, store, &list->items[i]);
	mor_w_end(w);
	mor_w_pair_array(w, "damaged");
	for (char **name = list->damaged; name && *name; name++)
		mor_w_string(w, *name);
	mor_w_end(w);
}
