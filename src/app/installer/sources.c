/* SPDX-License-Identifier: Apache-2.0 */
/* Plugins by their names: from a registry, or as a project's lock pins them. */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "console/report.h"
#include "console/signals.h"
#include "installer/inside.h"

/* ---- from a registry ---- */

/* NAME, and behind "@" the range, or NULL. *ret_name for mor_free(). */
static int split_word(const char *word, char **ret_name, const char **ret_range, mortise_error *err)
{
	const char *at = strchr(word, '@');
	MOR_CLEAN_TEXT char *name = mor_strndup(word, at ? (size_t)(at - word) : strlen(word));
	char shown[120];

	if (!name)
		return mor_fail_memory(err);
	if (!mor_store_is_name(name))
		return mor_fail(err, MORTISE_EINVAL, "\"%s\" cannot be the name of a plugin",
				mor_excerpt(mor_slice_of(name), shown, sizeof(shown)));
	*ret_name = mor_take(&name);
	*ret_range = at ? at + 1 : NULL;
	return 0;
}

static int visit_registry(const struct mor_installer_order *order, const char *dir, struct mor_registry *ret,
			  mortise_error *err)
{
	return mor_registry_visit(dir, order->allow & MOR_PERMISSION_DOWNGRADE, ret, err);
}

static int run_listed(struct mor_console *console, struct mor_installer_order *order,
		      const struct mor_registry *registry, const struct mor_registry_entry *entry,
		      mortise_error *err)
{
	MOR_CLEAN_TEXT char *path = mor_text_format("%s/%s", registry->path, entry->file);

	if (!path)
		return mor_fail_memory(err);
	order->from = path;
	order->registry = registry;
	order->listed = entry;
	return mor_installer_run(console, order, err);
}

int mor_installer_run_from(struct mor_console *console, struct mor_installer_order *order, const char *word,
			   const char *dir, mortise_error *err)
{
	MOR_CLEAN(mor_registry) struct mor_registry registry = MOR_REGISTRY_INIT;
	MOR_CLEAN_TEXT char *name = NULL;
	const struct mor_registry_entry *entry = NULL;
	const char *range;
	int r = split_word(word, &name, &range, err);

	if (r == 0)
		r = visit_registry(order, dir, &registry, err);
	if (r == 0)
		r = mor_registry_pick(&registry, name, range, &entry, err);
	return entry ? run_listed(console, order, &registry, entry, err) : r;
}

/* ---- what is newer ---- */

static int find_registry(const struct mor_installed *plugin, const char *dir, const char **ret,
			 mortise_error *err)
{
	*ret = dir ? dir : mor_registry_of(plugin->from);
	if (*ret)
		return 0;
	return mor_fail(
		err, MORTISE_EINVAL,
		"%s was not installed from a registry: name the DIR or ARCHIVE with the new version, or --from "
		"DIR",
		plugin->name);
}

/* Without a range, only forward. */
static bool is_news(const struct mor_installed *plugin, const struct mor_registry_entry *entry,
		    const char *range)
{
	int order = mor_store_compare_versions(entry->version, plugin->version);

	return order > 0 || (order == 0 ? strcmp(entry->digest, plugin->digest) != 0 : range != NULL);
}

static int upgrade_installed(struct mor_console *console, struct mor_installer_order *order,
			     const struct mor_installed *plugin, const char *range, const char *dir,
			     mortise_error *err)
{
	MOR_CLEAN(mor_registry) struct mor_registry registry = MOR_REGISTRY_INIT;
	const struct mor_registry_entry *entry = NULL;
	int r = find_registry(plugin, dir, &dir, err);

	if (r == 0)
		r = visit_registry(order, dir, &registry, err);
	if (r == 0)
		r = mor_registry_pick(&registry, plugin->name, range, &entry, err);
	if (!entry)
		return r;
	if (is_news(plugin, entry, range)) {
		order->name = plugin->name;
		order->confine |= plugin->confine;
		return run_listed(console, order, &registry, entry, err);
	}
	return mor_installer_tell_nothing(console, plugin->name, plugin->version, ": nothing newer is in ",
					  registry.path);
}

int mor_installer_run_newer(struct mor_console *console, struct mor_installer_order *order, const char *word,
			    const char *dir, mortise_error *err)
{
	struct mor_store store = { 0 };
	struct mor_installed plugin = { 0 };
	MOR_CLEAN_TEXT char *name = NULL;
	const char *range;
	int r = split_word(word, &name, &range, err);

	if (r == 0 && mor_store_open(NULL, NULL, &store) < 0)
		r = mor_fail_memory(err);
	if (r == 0)
		r = mor_store_find(&store, name, &plugin, err);
	if (r == 0)
		r = upgrade_installed(console, order, &plugin, range, dir, err);
	mor_installed_fini(&plugin);
	mor_store_fini(&store);
	return r;
}

/* ---- what is pinned ---- */

static int run_pinned_from(struct mor_console *console, struct mor_installer_order *order, const char *dir,
			   mortise_error *err)
{
	MOR_CLEAN(mor_registry) struct mor_registry registry = MOR_REGISTRY_INIT;
	const struct mor_registry_entry *entry = NULL;
	int r = visit_registry(order, dir, &registry, err);

	if (r == 0)
		r = mor_registry_pick(&registry, order->pinned->name, order->pinned->version, &entry, err);
	return entry ? run_listed(console, order, &registry, entry, err) : r;
}

/* From the place that the lock has. */
static int run_pinned_place(struct mor_console *console, struct mor_installer_order *order, mortise_error *err)
{
	const struct mor_lockfile_entry *pinned = order->pinned;
	const char *written = pinned->registry ? pinned->registry : pinned->path;
	MOR_CLEAN_TEXT char *place = written ? mor_lockfile_place(order->lock, written) : NULL;

	if (!written)
		return mor_fail(err, MORTISE_ENOTFOUND,
				"%s does not say where %s comes from; name a registry with --from DIR",
				order->lock->path, pinned->name);
	if (!place)
		return mor_fail_memory(err);
	if (pinned->registry)
		return run_pinned_from(console, order, place, err);
	order->from = place;
	return mor_installer_run(console, order, err);
}

/* The same files, with other permissions or without approval, are taken from the store itself. */
static int run_pinned(struct mor_console *console, const struct mor_store *store,
		      struct mor_installer_order *order, const char *dir, mortise_error *err)
{
	const struct mor_lockfile_entry *pinned = order->pinned;
	MOR_CLEAN_TEXT char *word = mor_text_format("%s@%s", pinned->name, pinned->version);
	MOR_CLEAN(mor_installed) struct mor_installed plugin = { 0 };
	struct mor_lockfile_facts facts;
	bool no_memory = false;

	if (!word)
		return mor_fail_memory(err);
	if (mor_store_find(store, word, &plugin, NULL) == 0) {
		facts = mor_lockfile_facts_of(&plugin);
		if (!mor_lockfile_differs(pinned, &facts, &no_memory) && plugin.approved)
			return mor_installer_tell_nothing(console, plugin.name, plugin.version,
							  ": is installed as pinned", "");
		if (no_memory)
			return mor_fail_memory(err);
		if (strcmp(plugin.digest, pinned->digest) == 0) {
			order->from = plugin.path;
			order->recorded = plugin.from;
			order->key = plugin.key;
			return mor_installer_run(console, order, err);
		}
	}
	return dir ? run_pinned_from(console, order, dir, err) : run_pinned_place(console, order, err);
}

static int check_wanted(const struct mor_lockfile *lock, const struct mor_text_list *names, mortise_error *err)
{
	for (size_t i = 0; i < names->count; i++)
		if (!mor_lockfile_get(lock, names->item[i]))
			return mor_fail(err, MORTISE_ENOTFOUND, "%s pins no plugin called \"%s\"", lock->path,
					names->item[i]);
	return 0;
}

static int find_lock(struct mor_lockfile *lock, const struct mor_text_list *names, mortise_error *err)
{
	int r = mor_lockfile_find(lock, err);

	if (r == 0)
		return mor_fail(err, MORTISE_ENOTFOUND,
				"there is no " MOR_LOCKFILE_NAME
				" here or in a directory above; 'mortise lock NAME' makes one");
	return r < 0 ? r : check_wanted(lock, names, err);
}

int mor_installer_run_locked(struct mor_console *console, struct mor_installer_order *order,
			     const struct mor_text_list *names, const char *dir)
{
	MOR_CLEAN(mor_lockfile) struct mor_lockfile lock = { 0 };
	struct mor_store store = { 0 };
	mortise_error err = { 0 };
	int exit_code = 0;

	if (mor_store_open(NULL, NULL, &store) < 0)
		mor_fail_memory(&err);
	else
		find_lock(&lock, names, &err);
	if (err.code)
		exit_code = mor_report_error(console, &err);
	for (size_t i = 0; !err.code && i < lock.count; i++) {
		struct mor_installer_order one = *order;
		mortise_error why = { 0 };

		one.lock = &lock;
		one.pinned = &lock.items[i];
		one.aside = true;
		one.confine |= lock.items[i].confine;
		if ((names->count && !mor_text_list_has(names, lock.items[i].name)) ||
		    run_pinned(console, &store, &one, dir, &why) == 0)
			continue;
		if (why.code == MORTISE_ECANCELED && mor_signals_count()) {
			exit_code = mor_report_interrupted(console, mor_signals_exit_code());
			break;
		}
		if (!exit_code)
			exit_code = mortise_status_exit_code(why.code);
		mor_report_error(console, &why);
	}
	mor_store_fini(&store);
	return exit_code;
}
