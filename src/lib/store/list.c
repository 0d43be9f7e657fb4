/* SPDX-License-Identifier: Apache-2.0 */
/* All plugins, or all versions of one. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "store/inside.h"

void mor_store_list_fini(struct mor_store_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		mor_installed_fini(&list->items[i]);
	mor_free(list->items);
	mor_texts_free(list->damaged);
	*list = (struct mor_store_list){ 0 };
}

/* Each has a document of its own, so that one can be taken out of the list. */
static int add_version(const struct mor_store *store, struct mor_store_list *list, size_t index,
		       struct mor_doc *doc)
{
	MOR_CLEAN(mor_doc) struct mor_doc *own = doc;
	const struct mor_value *root = mor_doc_root(doc);
	const struct mor_value *entry = mor_json_item(mor_json_get(root, "versions"), index);
	struct mor_installed plugin;

	if (mor_grow(&list->items, list->count, &list->cap, sizeof(*list->items)) < 0)
		return MORTISE_ENOMEM;
	if (mor_store_state_entry(store, root, entry, &plugin) < 0)
		return MORTISE_ENOMEM;
	plugin.doc = mor_take(&own);
	list->items[list->count++] = plugin;
	return 0;
}

static bool is_current(const struct mor_value *root, size_t index)
{
	const struct mor_value *entry = mor_json_item(mor_json_get(root, "versions"), index);
	const char *current = mor_json_text(mor_json_get(root, "current"), NULL);

	return current && strcmp(mor_json_text(mor_json_get(entry, "version"), ""), current) == 0;
}

/* 0, MORTISE_ENOTFOUND (it is no plugin), or a status. */
static int add_plugin(const struct mor_store *store, struct mor_store_list *list, const char *name, bool every,
		      mortise_error *err)
{
	struct mor_doc *doc = NULL;
	size_t before = list->count, count;
	int r = mor_store_state_read(store, name, &doc, err);

	count = r == 0 ? mor_json_size(mor_json_get(mor_doc_root(doc), "versions")) : 0;
	for (size_t i = 0; r == 0 && i < count; i++) {
		if (!every && !is_current(mor_doc_root(doc), i))
			continue;
		r = add_version(store, list, i, mor_take(&doc));
		if (r == 0 && every && i + 1 < count)
			r = mor_store_state_read(store, name, &doc, err);
		if (!every)
			break;
	}
	mor_doc_free(doc);
	if (r == MORTISE_ESYSTEM || (r == 0 && list->count == before))
		r = mor_texts_push_take(&list->damaged, mor_strdup(name)) < 0 ? MORTISE_ENOMEM : 0;
	return r == MORTISE_ENOMEM ? mor_fail_memory(err) : r;
}

static int by_name(const void *a, const void *b)
{
	const struct mor_installed *first = a, *second = b;
	int order = strcmp(first->name, second->name);

	if (order == 0)
		order = (int)second->current - (int)first->current;
	return order ? order : mor_store_compare_versions(second->version, first->version);
}

static int each_name(const struct mor_store *store, DIR *dir, bool every, struct mor_store_list *list,
		     mortise_error *err)
{
	struct dirent *item;
	int r = 0;

	while (r == 0 && (item = readdir(dir))) {
		if (!mor_store_name_valid(item->d_name, strlen(item->d_name)))
			continue;
		r = add_plugin(store, list, item->d_name, every, err);
		if (r == MORTISE_ENOTFOUND) /* the lock, or one that is being removed */
			r = 0;
	}
	return r;
}

/* In the order of names, to the caller. */
static void hand_over(struct mor_store_list *list, struct mor_store_list *ret)
{
	if (list->count)
		qsort(list->items, list->count, sizeof(*list->items), by_name);
	*ret = *list;
	*list = (struct mor_store_list){ 0 };
}

int mor_store_list(const struct mor_store *store, bool every, struct mor_store_list *ret, mortise_error *err)
{
	MOR_CLEAN(mor_store_list) struct mor_store_list list = { 0 };
	DIR *dir = store->plugins ? opendir(store->plugins) : NULL;
	int r;

	if (!dir && store->plugins && errno != ENOENT)
		return mor_fail_errno(err, MORTISE_ESYSTEM, errno, "%s: it cannot be read", store->plugins);
	r = dir ? each_name(store, dir, every, &list, err) : 0;
	if (dir)
		closedir(dir);
	if (r < 0)
		return r;
	hand_over(&list, ret);
	return 0;
}

int mor_store_versions(const struct mor_store *store, const char *name, struct mor_store_list *ret,
		       mortise_error *err)
{
	MOR_CLEAN(mor_store_list) struct mor_store_list list = { 0 };
	bool valid = store->plugins && mor_store_name_valid(name, strlen(name));
	int r = valid ? add_plugin(store, &list, name, true, err) : MORTISE_ENOTFOUND;

	if (r == MORTISE_ENOTFOUND)
		return mor_store_unknown(store, name, err);
	if (r < 0)
		return r;
	hand_over(&list, ret);
	return 0;
}
