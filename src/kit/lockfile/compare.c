/* SPDX-License-Identifier: Apache-2.0 */
/* Is a plugin what the lock pins? */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/textlist.h"
#include "lockfile/inside.h"

/* ---- the same on every machine ---- */

/* "~/x" for a path below the home directory. NULL: no memory. */
static char *without_home(const char *path)
{
	const char *home = getenv("HOME");
	size_t len = home ? strlen(home) : 0;

	while (len && home[len - 1] == '/')
		len--;
	if (len && strncmp(path, home, len) == 0 && (!path[len] || path[len] == '/'))
		return mor_text_format("~%s", path + len);
	return mor_strdup(path);
}

static void write_paths(struct mor_writer *w, const struct mor_value *paths)
{
	struct mor_text_list texts = { 0 };
	struct mor_json_iter it = mor_json_iter(paths);

	while (mor_json_next(&it))
		if (mor_text_list_add_take(&texts, without_home(mor_json_text(it.value, ""))) < 0)
			w->out->status = MORTISE_ENOMEM;
	mor_text_list_sort(&texts);
	mor_w_array(w);
	for (size_t i = 0; i < texts.count; i++)
		mor_w_string(w, texts.item[i]);
	mor_w_end(w);
	mor_text_list_free_texts(&texts);
}

void mor_lockfile_write_permissions(struct mor_writer *w, const struct mor_value *permissions)
{
	struct mor_json_iter it = mor_json_iter(permissions);

	mor_w_object(w);
	while (mor_json_next(&it)) {
		mor_w_key_slice(w, it.name);
		if (mor_slice_is(it.name, "read"))
			write_paths(w, it.value);
		else
			mor_w_value(w, it.value);
	}
	mor_w_end(w);
}

static void write_list(struct mor_writer *w, const char *name, const struct mor_value *list)
{
	mor_w_key(w, name);
	if (mor_json_type(list) == MOR_JSON_ARRAY) {
		mor_w_value(w, list);
		return;
	}
	mor_w_array(w);
	mor_w_end(w);
}

void mor_lockfile_write_interface(struct mor_writer *w, const struct mor_lockfile_facts *facts)
{
	mor_w_object(w);
	mor_w_pair(w, "dialect", facts->dialect);
	write_list(w, "offers", facts->offers);
	write_list(w, "interfaces", facts->interface);
	mor_w_end(w);
}

/* ---- comparing ---- */

static bool is_text(const struct mor_value *value, const struct mor_buf *text, bool *ret_memory)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;

	if (mor_buf_failed(text) || mor_doc_parse(mor_buf_view(text), 0, 0, &doc, NULL) < 0) {
		*ret_memory = true;
		return false;
	}
	return mor_json_equal(value, mor_doc_root(doc));
}

const char *mor_lockfile_differs(const struct mor_lockfile_entry *entry, const struct mor_lockfile_facts *facts,
				 bool *ret_memory)
{
	MOR_CLEAN(mor_buf) struct mor_buf permissions = MOR_BUF_INIT, interface = MOR_BUF_INIT;
	struct mor_writer first = { .out = &permissions }, second = { .out = &interface };

	*ret_memory = false;
	mor_lockfile_write_permissions(&first, facts->permissions);
	mor_lockfile_write_interface(&second, facts);
	if (strcmp(entry->version, facts->version) != 0)
		return "version";
	if (strcmp(entry->digest, facts->digest) != 0)
		return "content";
	if (!is_text(entry->permissions, &permissions, ret_memory))
		return "permissions";
	return is_text(entry->interface, &interface, ret_memory) ? NULL : "interface";
}

struct mor_lockfile_facts mor_lockfile_facts_of(const struct mor_installed *plugin)
{
	return (struct mor_lockfile_facts){
		.name = plugin->name,
		.version = plugin->version,
		.digest = plugin->digest,
		.dialect = plugin->dialect,
		.from = plugin->from,
		.offers = plugin->offers,
		.interface = plugin->interface,
		.permissions = plugin->permissions,
		.confine = plugin->confine,
	};
}

/* ---- using what is pinned ---- */

static int fail_pinned(const struct mor_lockfile *lock, const struct mor_lockfile_entry *entry,
		       const char *what, mortise_error *err)
{
	if (!what)
		return mor_fail(err, MORTISE_EINPUT,
				"%s pins %s %s, which is not installed; to install it, type: mortise install "
				"--locked %s",
				lock->path, entry->name, entry->version, entry->name);
	return mor_fail(err, MORTISE_EINPUT,
			"%s %s is installed with another %s than %s pins; to install what it pins, type: "
			"mortise install --locked %s; to pin what is installed: mortise lock %s@%s",
			entry->name, entry->version, what, lock->path, entry->name, entry->name,
			entry->version);
}

static int find_pinned(const struct mor_store *store, const struct mor_lockfile *lock,
		       const struct mor_lockfile_entry *entry, struct mor_installed *ret, mortise_error *err)
{
	MOR_CLEAN_TEXT char *word = mor_text_format("%s@%s", entry->name, entry->version);
	struct mor_lockfile_facts facts;
	const char *what;
	bool no_memory;
	int r = word ? mor_store_find(store, word, ret, err) : mor_fail_memory(err);

	if (r == MORTISE_ENOTFOUND)
		return fail_pinned(lock, entry, NULL, err);
	if (r < 0)
		return r;
	facts = mor_lockfile_facts_of(ret);
	what = mor_lockfile_differs(entry, &facts, &no_memory);
	if (!what)
		return 1;
	mor_installed_fini(ret);
	return no_memory ? mor_fail_memory(err) : fail_pinned(lock, entry, what, err);
}

int mor_lockfile_installed(const struct mor_store *store, const char *word, struct mor_installed *ret,
			   mortise_error *err)
{
	MOR_CLEAN(mor_lockfile) struct mor_lockfile lock = { 0 };
	const struct mor_lockfile_entry *entry;
	int r = strchr(word, '@') ? 0 : mor_lockfile_find(&lock, err);

	if (r < 0)
		return r;
	entry = mor_lockfile_get(&lock, word);
	if (entry)
		return find_pinned(store, &lock, entry, ret, err);
	if (!store->plugins || access(store->plugins, F_OK) < 0)
		return 0;
	r = mor_store_pick(store, word, ret, err);
	return r < 0 ? r : 1;
}
