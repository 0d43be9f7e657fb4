/* SPDX-License-Identifier: Apache-2.0 */
/* One plugin, by its name or by its directory. */
#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/near.h"
#include "base/path.h"
#include "base/text.h"
#include "store/inside.h"

int mor_store_unknown(const struct mor_store *store, const char *name, mortise_error *err)
{
	struct mor_nearest near = { .word = name };
	DIR *dir = store->plugins ? opendir(store->plugins) : NULL;
	char shown[150], best[MOR_STORE_NAME_MAX + 1] = "";
	struct dirent *item;

	while (dir && (item = readdir(dir))) {
		if (!mor_store_name_valid(item->d_name, strlen(item->d_name)))
			continue;
		mor_nearest_offer(&near, item->d_name);
		if (near.best == item->d_name) { /* which readdir() will overwrite */
			mor_text_keep(best, sizeof(best), item->d_name, sizeof(best));
			near.best = best;
		}
	}
	if (dir)
		closedir(dir);
	mor_excerpt(mor_slice_of(name), shown, sizeof(shown));
	if (mor_nearest_best(&near) && strcmp(best, name) != 0)
		return mor_fail(err, MORTISE_ENOTFOUND,
				"no plugin called \"%s\" is installed; did you mean %s?", shown, best);
	return mor_fail(err, MORTISE_ENOTFOUND,
			"no plugin called \"%s\" is installed; mortise list shows what is installed", shown);
}

static int unknown_version(const struct mor_value *root, const char *version, mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf have = MOR_BUF_INIT;
	struct mor_json_iter it = mor_json_iter(mor_json_get(root, "versions"));
	char shown[100];

	while (mor_json_next(&it))
		mor_buf_printf(&have, "%s%s", have.len ? ", " : "",
			       mor_json_text(mor_json_get(it.value, "version"), "?"));
	return mor_fail(err, MORTISE_ENOTFOUND, "%s is installed, but not its version %s; there is: %.*s",
			mor_json_text(mor_json_get(root, "name"), "?"),
			mor_excerpt(mor_slice_of(version), shown, sizeof(shown)), (int)have.len,
			have.data ? have.data : "");
}

const struct mor_value *mor_store_entry(const struct mor_value *root, const char *member, const char *text)
{
	struct mor_json_iter it = mor_json_iter(mor_json_get(root, "versions"));

	while (mor_json_next(&it))
		if (strcmp(mor_json_text(mor_json_get(it.value, member), ""), text) == 0)
			return it.value;
	return NULL;
}

static int take_version(const struct mor_store *store, struct mor_doc **doc, const char *version,
			struct mor_installed *ret, mortise_error *err)
{
	const struct mor_value *root = mor_doc_root(*doc);
	const char *wanted = version ? version : mor_json_text(mor_json_get(root, "current"), "");
	const struct mor_value *entry = mor_store_entry(root, "version", wanted);

	if (!entry)
		return unknown_version(root, wanted, err);
	if (mor_store_state_entry(store, root, entry, ret) < 0)
		return mor_fail_memory(err);
	ret->doc = mor_take(doc);
	return 0;
}

/* "NAME/DIRECTORY" below the store; false: the path is elsewhere. Links are followed, so that nobody gets past
 * the check by another way to the same files. */
static bool below_store(const struct mor_store *store, const char *path, char real[PATH_MAX], const char **ret)
{
	char root[PATH_MAX];

	if (!store->plugins || !realpath(store->plugins, root) || !realpath(path, real))
		return false;
	*ret = mor_path_below(root, real);
	return *ret;
}

/* A link inside the store leads to files that nobody compares: the library would take them for a plugin that is
 * not installed. */
static int check_place(const struct mor_store *store, const struct mor_installed *found, mortise_error *err)
{
	char real[PATH_MAX];
	const char *below = NULL;

	if (!found->path || access(found->path, F_OK) < 0)
		return 0; /* the start says so */
	if (below_store(store, found->path, real, &below) &&
	    strcmp(below, mor_path_below(store->plugins, found->path)) == 0)
		return 0;
	return mor_fail(err, MORTISE_EVIOLATION,
			"%s %s: a link leads out of the installed plugins: install it again", found->name,
			found->version);
}

int mor_store_find(const struct mor_store *store, const char *word, struct mor_installed *ret,
		   mortise_error *err)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	const char *at = strchr(word, '@');
	MOR_CLEAN_TEXT char *name = mor_strndup(word, at ? (size_t)(at - word) : strlen(word));
	struct mor_installed found = { 0 };
	int r;

	if (!name)
		return mor_fail_memory(err);
	if (!store->plugins || !mor_store_is_name(word))
		return mor_store_unknown(store, name, err);
	r = mor_store_state_read(store, name, &doc, err);
	if (r == MORTISE_ENOTFOUND)
		return mor_store_unknown(store, name, err);
	if (r == 0)
		r = mor_store_check_owner(store, name, err);
	if (r == 0)
		r = take_version(store, &doc, at ? at + 1 : NULL, &found, err);
	if (r == 0)
		r = check_place(store, &found, err);
	if (r < 0)
		mor_installed_fini(&found);
	else
		*ret = found;
	return r;
}

/* ---- by directory ---- */

static int take_directory(const struct mor_store *store, const char *name, const char *directory,
			  struct mor_installed *ret, mortise_error *err)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	const struct mor_value *entry;
	int r = mor_store_state_read(store, name, &doc, err);

	if (r == 0)
		r = mor_store_check_owner(store, name, err);
	if (r < 0)
		return r;
	entry = mor_store_entry(mor_doc_root(doc), "directory", directory);
	if (!entry)
		return MORTISE_ENOTFOUND;
	if (mor_store_state_entry(store, mor_doc_root(doc), entry, ret) < 0)
		return mor_fail_memory(err);
	ret->doc = mor_take(&doc);
	return 1;
}

int mor_store_at(const struct mor_store *store, const char *path, struct mor_installed *ret, mortise_error *err)
{
	char real[PATH_MAX], *name, *directory;
	const char *below;
	int r = MORTISE_ENOTFOUND;

	if (!below_store(store, path, real, &below))
		return 0;
	name = real + (below - real);
	directory = strchr(name, '/');
	if (directory) {
		*directory++ = '\0';
		directory[strcspn(directory, "/")] = '\0';
		if (mor_store_name_valid(name, strlen(name)))
			r = take_directory(store, name, directory, ret, err);
	}
	if (r != MORTISE_ENOTFOUND)
		return r;
	return mor_fail(err, MORTISE_EVIOLATION,
			"%s lies among the installed plugins, but nobody has installed it: mortise install "
			"does that",
			path);
}
