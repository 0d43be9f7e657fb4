/* SPDX-License-Identifier: Apache-2.0 */
#include "lockfile/outdated.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "registry/registry.h"

struct comparing {
	const struct mor_lockfile *lock;
	const struct mor_store *store;
	mor_outdated_fn *on_plugin;
	void *arg;
	/* the registries that were read, each once */
	struct comparing_place {
		char *path;
		struct mor_registry registry;
		mortise_error err; /* why it cannot be read */
	} * places;
	size_t count, cap;
};

/* NULL: no memory. */
static const struct comparing_place *open_place(struct comparing *all, const char *path)
{
	struct comparing_place *place;

	for (size_t i = 0; i < all->count; i++)
		if (strcmp(all->places[i].path, path) == 0)
			return &all->places[i];
	if (mor_grow(&all->places, all->count, &all->cap, sizeof(*all->places)) < 0)
		return NULL;
	place = &all->places[all->count];
	*place = (struct comparing_place){ .path = mor_strdup(path), .registry = MOR_REGISTRY_INIT };
	if (!place->path)
		return NULL;
	all->count++;
	(void)mor_registry_visit(path, false, &place->registry, &place->err);
	return place;
}

static void tell_difference(struct mor_outdated *plugin, const char *text, const char *more)
{
	size_t len = strlen(plugin->differs);

	snprintf(plugin->differs + len, sizeof(plugin->differs) - len, "%s%s%s", len ? "; " : "", text, more);
}

static void compare_installed(struct mor_outdated *plugin, const struct mor_lockfile_entry *pinned,
			      const struct mor_installed *used)
{
	struct mor_lockfile_facts facts = mor_lockfile_facts_of(used);
	const char *differs;
	bool no_memory;

	if (!used->doc) {
		tell_difference(plugin, "not installed", "");
		return;
	}
	differs = pinned ? mor_lockfile_differs(pinned, &facts, &no_memory) : NULL;
	if (differs)
		tell_difference(plugin,
				strcmp(differs, "permissions") == 0 ? "installed with other " :
								      "installed with another ",
				differs);
	else if (!used->approved)
		tell_difference(plugin, "not approved", "");
}

/* What the registry has of the version that is used, and what is newer. */
static void compare_registry(struct mor_outdated *plugin, const struct mor_registry *registry,
			     const char *version, const char *digest)
{
	static const struct mor_semver_range any = { .count = 0 };
	const struct mor_registry_entry *newest = mor_registry_newest(registry, plugin->name, &any);
	const struct mor_registry_entry *same = registry->items, *end = same + registry->count;

	while (same < end && (strcmp(same->name, plugin->name) != 0 || strcmp(same->version, version) != 0))
		same++;
	if (same == end)
		tell_difference(plugin, "the registry does not have ", version);
	else if (strcmp(same->digest, digest) != 0)
		tell_difference(plugin, "the registry has another content of ", version);
	if (!newest)
		return;
	plugin->newest = newest->version;
	if (mor_store_compare_versions(newest->version, version) > 0)
		tell_difference(plugin, "newer: ", newest->version);
}

/* `pinned` is NULL outside of the lock, `used` without a doc if the plugin is not installed. */
static int compare_plugin(struct comparing *all, const struct mor_lockfile_entry *pinned,
			  const struct mor_installed *used, const char *registry, mortise_error *err)
{
	struct mor_outdated plugin = { .name = pinned ? pinned->name : used->name,
				       .locked = pinned ? pinned->version : NULL,
				       .installed = used->doc ? used->version : NULL,
				       .registry = registry };
	const struct comparing_place *place = registry ? open_place(all, registry) : NULL;

	if (registry && !place)
		return mor_fail_memory(err);
	compare_installed(&plugin, pinned, used);
	if (place && place->err.code)
		tell_difference(&plugin, "the registry cannot be read: ", place->err.text);
	else if (place)
		compare_registry(&plugin, &place->registry, pinned ? pinned->version : used->version,
				 pinned ? pinned->digest : used->digest);
	all->on_plugin(&plugin, all->arg);
	return 0;
}

static int compare_pinned(struct comparing *all, const struct mor_lockfile_entry *pinned, mortise_error *err)
{
	MOR_CLEAN_TEXT char *word = mor_text_format("%s@%s", pinned->name, pinned->version);
	MOR_CLEAN_TEXT char *registry =
		pinned->registry ? mor_lockfile_place(all->lock, pinned->registry) : NULL;
	MOR_CLEAN(mor_installed) struct mor_installed used = { 0 };
	int r;

	if (!word || (pinned->registry && !registry))
		return mor_fail_memory(err);
	r = mor_store_find(all->store, word, &used, err);
	return r == 0 || r == MORTISE_ENOTFOUND ? compare_plugin(all, pinned, &used, registry, err) : r;
}

int mor_lockfile_outdated(const struct mor_lockfile *lock, const struct mor_store *store, bool all,
			  mor_outdated_fn *on_plugin, void *arg, mortise_error *err)
{
	struct comparing run = { .lock = lock, .store = store, .on_plugin = on_plugin, .arg = arg };
	MOR_CLEAN(mor_store_list) struct mor_store_list installed = { 0 };
	int r = 0;

	for (size_t i = 0; r == 0 && i < lock->count; i++)
		r = compare_pinned(&run, &lock->items[i], err);
	if (r == 0 && (all || !lock->doc))
		r = mor_store_list(store, false, &installed, err);
	for (size_t i = 0; r == 0 && i < installed.count; i++)
		if (!mor_lockfile_get(lock, installed.items[i].name))
			r = compare_plugin(&run, NULL, &installed.items[i],
					   mor_registry_of(installed.items[i].from), err);
	for (size_t i = 0; i < run.count; i++) {
		mor_free(run.places[i].path);
		mor_registry_fini(&run.places[i].registry);
	}
	mor_free(run.places);
	return r;
}
