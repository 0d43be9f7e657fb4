/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the plugins in sunscreen.yml as upstream's runtime does: their source, and a preferred version. Keys
 * that would replace parts of a manifest are refused: the start command and the permissions of a plugin are
 * written in one place only. Nothing is downloaded.
 */
#include "workspace/workspace.h"

#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/path.h"
#include "base/text.h"
#include "workspace/place.h"

struct declared {
	struct mor_console *console;
	const struct mor_workspace_args *args;
	struct mor_text_list *paths; /* plugins that were found */
	char *workspace;
	struct mor_doc *doc;
	const struct mor_value *plugins; /* an array, or NULL */
};

/* ---- the file ---- */

static int open_list(struct declared *list, mortise_error *err)
{
	static const struct mor_text_list own = { 0 };
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	int r = mor_workspace_find(list->args->workspace, &list->workspace, err);

	r = r ? r : mor_workspace_config(list->workspace, &own, &json, err);
	r = r ? r : mor_doc_parse(mor_buf_view(&json), 0, 0, &list->doc, err);
	if (r < 0)
		return r;
	list->plugins = mor_json_get(mor_doc_root(list->doc), "plugins");
	if (mor_json_type(list->plugins) > MOR_JSON_NULL && mor_json_type(list->plugins) != MOR_JSON_ARRAY)
		return mor_fail(err, MORTISE_EMANIFEST, "%s/" MOR_SUNSCREEN_YML ": plugins must be an array",
				list->workspace);
	return 0;
}

static const char *source_of(const struct mor_value *entry)
{
	return mor_json_text(mor_json_get(entry, "source"), "");
}

static char *path_of(const struct declared *list, const char *source)
{
	return *source == '/' ? mor_strdup(source) : mor_text_format("%s/%s", list->workspace, source);
}

static int check_entry(const struct declared *list, size_t at, const struct mor_value *entry,
		       mortise_error *err)
{
	struct mor_json_iter it = mor_json_iter(entry);
	char key[60];

	if (mor_json_type(entry) != MOR_JSON_OBJECT || !*source_of(entry))
		return mor_fail(err, MORTISE_EMANIFEST,
				"%s/" MOR_SUNSCREEN_YML ": plugins[%zu] must be a mapping with a source",
				list->workspace, at);
	while (mor_json_next(&it)) {
		mor_excerpt(it.name, key, sizeof(key));
		if (mor_text_in(it.name, "manifest|transport|entrypoint|capabilities"))
			return mor_fail(err, MORTISE_EMANIFEST,
					"%s/" MOR_SUNSCREEN_YML
					": plugins[%zu].%s: this cannot replace the manifest: write it into "
					"the manifest of %s",
					list->workspace, at, key, source_of(entry));
		if (!mor_text_in(it.name, "source|version"))
			return mor_fail(err, MORTISE_EMANIFEST,
					"%s/" MOR_SUNSCREEN_YML
					": plugins[%zu].%s is not known: use source, version",
					list->workspace, at, key);
	}
	return 0;
}

/* ---- find the plugin ---- */

/* The last part of the source, without ".git" at its end. */
static bool has_base(const char *source, const char *typed)
{
	size_t len = strlen(source), begin;

	while (len && source[len - 1] == '/')
		len--;
	if (len > 4 && memcmp(source + len - 4, ".git", 4) == 0)
		len -= 4;
	for (begin = len; begin && source[begin - 1] != '/'; begin--)
		;
	return mor_slice_is((struct mor_slice){ source + begin, len - begin }, typed);
}

static struct mor_manifest *manifest_of(const struct declared *list, const char *source)
{
	MOR_CLEAN_TEXT char *path = path_of(list, source);
	struct mor_manifest_query query = { .path = path };
	struct mor_manifest *manifest = NULL;

	return path && mor_manifest_load(&query, &manifest, NULL) == 0 ? manifest : NULL;
}

static bool has_name(const struct declared *list, const char *source, const char *typed)
{
	struct mor_manifest *manifest = manifest_of(list, source);
	bool same = manifest && strcmp(manifest->name, typed) == 0;

	mor_manifest_free(manifest);
	return same;
}

static void name_all(const struct declared *list, struct mor_buf *out)
{
	struct mor_json_iter it = mor_json_iter(list->plugins);
	char shown[80];

	while (mor_json_next(&it))
		mor_buf_printf(out, "%s%s", out->len ? ", " : "",
			       mor_printable(mor_slice_of(source_of(it.value)), shown, sizeof(shown)));
	mor_buf_byte(out, '\0');
}

/* Index in the list. An exact source wins over every other match. */
static int find_declared(const struct declared *list, const char *typed, const struct mor_value **ret,
			 size_t *ret_at, mortise_error *err)
{
	struct mor_json_iter it = mor_json_iter(list->plugins);
	MOR_CLEAN(mor_buf) struct mor_buf names = MOR_BUF_INIT;
	bool here = access(typed, F_OK) == 0;
	size_t found = 0;

	for (size_t at = 0; mor_json_next(&it); at++) {
		const char *source = source_of(it.value);
		bool exact = strcmp(source, typed) == 0;

		if (!exact && !has_base(source, typed) && !has_name(list, source, typed))
			continue;
		found++;
		*ret = it.value;
		*ret_at = at;
		if (exact)
			return 0;
	}
	if (found == 1)
		return 0;
	name_all(list, &names);
	if (found)
		return mor_fail(err, MORTISE_EINPUT,
				"%s: %zu plugins of %s/" MOR_SUNSCREEN_YML
				" have this name: type the exact source of one (%s)",
				typed, found, list->workspace, names.data ? names.data : "");
	return mor_fail(err, MORTISE_ENOTFOUND,
			"%s: no plugin of %s/" MOR_SUNSCREEN_YML " (%s), and none that is installed%s%s", typed,
			list->workspace, names.data ? names.data : "",
			here ? "; for what lies here under that name, write ./" : "", here ? typed : "");
}

/* ---- taking it ---- */

/* A preferred version only: the installed version is used in any case. */
static void compare_version(const struct declared *list, const struct mor_value *entry)
{
	const char *wish = mor_json_text(mor_json_get(entry, "version"), NULL);
	struct mor_manifest *manifest = wish ? manifest_of(list, source_of(entry)) : NULL;
	const char *is = manifest && manifest->version ? manifest->version : NULL;

	if (is && strcmp(wish + (*wish == 'v'), is + (*is == 'v')) != 0)
		mor_note(list->console,
			 "warning: %s: " MOR_SUNSCREEN_YML " wants version %s, its manifest says %s",
			 manifest->name, wish, is);
	mor_manifest_free(manifest);
}

static int add_path_take(struct mor_text_list *paths, char *path, mortise_error *err)
{
	if (path && mor_text_list_add(paths, path) == 0)
		return 0;
	mor_free(path);
	return mor_fail_memory(err);
}

static int take_declared(const struct declared *list, size_t at, const struct mor_value *entry,
			 mortise_error *err)
{
	MOR_CLEAN_TEXT char *path = path_of(list, source_of(entry));
	int r = check_entry(list, at, entry, err);

	if (r < 0)
		return r;
	if (path && access(path, F_OK) < 0)
		return mor_fail(err, MORTISE_ENOTFOUND,
				"%s/" MOR_SUNSCREEN_YML
				": plugins[%zu]: %s is not here (nothing is downloaded)",
				list->workspace, at, path);
	compare_version(list, entry);
	return add_path_take(list->paths, mor_take(&path), err);
}

/* A plugin that is not here is skipped, as upstream does, but with a warning. */
static int take_all_declared(const struct declared *list, mortise_error *err)
{
	struct mor_json_iter it = mor_json_iter(list->plugins);
	int r = 0;

	for (size_t at = 0; r == 0 && mor_json_next(&it); at++) {
		r = take_declared(list, at, it.value, err);
		if (r == MORTISE_ENOTFOUND) {
			mor_note(list->console, "warning: %s", err->text);
			r = 0;
		}
	}
	if (r == 0 && !list->paths->count)
		r = mor_fail(err, MORTISE_EUNSUPPORTED,
			     "name a PLUGIN: %s/" MOR_SUNSCREEN_YML " declares none that is here",
			     list->workspace);
	return r;
}

/* 1: the word is looked up. 0: it is a path that exists, or no workspace declares plugins: then the caller
 * looks for an installed one of that name. */
static int is_looked_up(struct declared *list, const char *typed, mortise_error *err)
{
	int r = 0;

	if (!mor_path_is_name(typed) && access(typed, F_OK) == 0)
		return 0;
	if (!list->workspace)
		r = open_list(list, err);
	return r < 0 ? (r == MORTISE_ENOTFOUND ? 0 : r) : mor_json_size(list->plugins) > 0;
}

static int take_word(struct declared *list, const char *typed, mortise_error *err)
{
	const struct mor_value *entry = NULL;
	size_t at = 0;
	int r = is_looked_up(list, typed, err);

	if (r == 0)
		return add_path_take(list->paths, mor_strdup(typed), err);
	if (r > 0)
		r = find_declared(list, typed, &entry, &at, err);
	return r < 0 ? r : take_declared(list, at, entry, err);
}

int mor_workspace_declared(struct mor_console *console, const struct mor_workspace_args *args,
			   struct mor_text_list *ret, mortise_error *err)
{
	size_t count = args->hook ? args->word_count : 1;
	struct declared list = { .console = console, .args = args, .paths = ret };
	int r = 0;

	if (count == 0) {
		r = open_list(&list, err);
		r = r ? r : take_all_declared(&list, err);
	}
	for (size_t i = 0; i < count && r == 0; i++)
		r = take_word(&list, args->words[i], err);
	mor_doc_free(list.doc);
	mor_free(list.workspace);
	return r;
}
