/* SPDX-License-Identifier: Apache-2.0 */
/* The next state.json, and what goes with a version: remove, go back, approve. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/fd.h"
#include "store/inside.h"
#include "store/keep_inside.h"
#include "store/permissions.h"

/* ---- writing ---- */

static const char *version_of(const struct mor_value *entry)
{
	return mor_json_text(mor_json_get(entry, "version"), "");
}

static bool has_text(const struct mor_value *entry, const char *member, const char *text)
{
	return text && strcmp(mor_json_text(mor_json_get(entry, member), ""), text) == 0;
}

static bool goes(const struct mor_store_change *change, const struct mor_value *entry)
{
	return has_text(entry, "directory", change->directory) ||
	       (has_text(entry, "version", change->drop) && !change->keep_as);
}

/* A version under another name, with an approval that fits, if it had one. */
static void write_renamed(struct mor_writer *w, const struct mor_store_change *change,
			  const struct mor_value *entry)
{
	struct mor_json_iter it = mor_json_iter(entry), in;
	char seal[MOR_DIGEST_SIZE] = "";

	if (mor_store_seal_fits(change->name, entry))
		mor_store_seal(change->name, change->keep_as, entry, seal);
	mor_w_object(w);
	while (mor_json_next(&it)) {
		if (strcmp(it.name.ptr, "version") == 0) {
			mor_w_pair(w, "version", change->keep_as);
			continue;
		}
		mor_w_key(w, it.name.ptr);
		if (strcmp(it.name.ptr, "approved") != 0) {
			mor_w_value(w, it.value);
			continue;
		}
		mor_w_object(w);
		for (in = mor_json_iter(it.value); mor_json_next(&in);)
			if (strcmp(in.name.ptr, "seal") != 0)
				mor_w_pair_value(w, in.name.ptr, in.value);
		mor_w_pair(w, "seal", seal);
		mor_w_end(w);
	}
	mor_w_end(w);
}

/* Of what is left; NULL: nothing. */
static const char *newest_left(const struct mor_value *old, const struct mor_store_change *change)
{
	struct mor_json_iter it = mor_json_iter(mor_json_get(old, "versions"));
	const char *newest = NULL;

	while (mor_json_next(&it))
		if (!goes(change, it.value) &&
		    (!newest || mor_store_compare_versions(version_of(it.value), newest) > 0))
			newest = version_of(it.value);
	return newest;
}

static const char *next_current(const struct mor_value *old, const struct mor_store_change *change)
{
	const char *now = mor_json_text(mor_json_get(old, "current"), NULL);

	if (change->current)
		return change->current;
	if (now && (!change->drop || strcmp(now, change->drop) != 0 || change->add.len))
		return now;
	return newest_left(old, change);
}

static void write_change(const struct mor_value *old, const struct mor_store_change *change,
			 const char *current, struct mor_buf *out)
{
	struct mor_json_iter it = mor_json_iter(mor_json_get(old, "versions"));
	const char *before = mor_json_text(mor_json_get(old, "current"), NULL);
	struct mor_writer w = { .out = out };

	if (before && change->keep_as && strcmp(before, change->drop) == 0)
		before = change->keep_as;
	else if (!before || strcmp(before, current) == 0) /* the way back stays */
		before = mor_json_text(mor_json_get(old, "previous"), NULL);
	mor_w_object(&w);
	mor_w_pair(&w, "name", change->name);
	mor_w_pair(&w, "current", current);
	mor_w_pair(&w, "previous", before);
	mor_w_pair_array(&w, "versions");
	while (mor_json_next(&it)) {
		if (goes(change, it.value))
			continue;
		if (has_text(it.value, "version", change->drop))
			write_renamed(&w, change, it.value);
		else
			mor_w_value(&w, it.value);
	}
	if (change->add.len)
		mor_w_raw(&w, change->add);
	mor_w_end(&w);
	mor_w_end(&w);
	mor_buf_byte(out, '\n');
}

int mor_store_change(const struct mor_store *store, const struct mor_value *old,
		     const struct mor_store_change *change, mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	MOR_CLEAN_TEXT char *path = mor_text_format("%s/%s/state.json", store->plugins, change->name);
	const char *current = next_current(old, change);

	if (!path)
		return mor_fail_memory(err);
	if (!current)
		return unlink(path) < 0 ? mor_store_fail_write(path, errno, err) : 0;
	write_change(old, change, current, &json);
	return mor_buf_failed(&json) ? mor_fail_memory(err) :
				       mor_store_write_state(path, mor_buf_view(&json), err);
}

/* ---- under the lock ---- */

/* The lock, and the state that it protects. */
struct held_state {
	int lock;
	struct mor_doc *doc;
	const struct mor_value *root;
};

static void held_state_fini(struct held_state *held)
{
	mor_doc_free(held->doc);
	mor_fd_close(&held->lock);
}

/* MORTISE_ESYSTEM with a lock: the state is damaged. */
static int hold_state(const struct mor_store *store, const char *name, struct held_state *held,
		      mortise_error *err)
{
	int r = MORTISE_ENOTFOUND;

	if (store->plugins && mor_store_name_valid(name, strlen(name)))
		r = mor_store_state_read(store, name, &held->doc, err);
	if (r == MORTISE_ENOTFOUND) /* without making a store */
		return mor_store_unknown(store, name, err);
	held->doc = mor_doc_free(held->doc);
	held->lock = mor_store_lock(store, err);
	if (held->lock < 0)
		return held->lock;
	r = mor_store_state_read(store, name, &held->doc, err);
	held->root = mor_doc_root(held->doc);
	return r == MORTISE_ENOTFOUND ? mor_store_unknown(store, name, err) : r;
}

static int no_version(const char *name, const char *version, mortise_error *err)
{
	return mor_fail(err, MORTISE_ENOTFOUND,
			"%s is installed, but not its version %s; mortise list --all shows what there is", name,
			version);
}

/* ---- remove ---- */

static int remove_all_versions(const struct mor_store *store, const char *name, mortise_error *err)
{
	MOR_CLEAN_TEXT char *state = mor_text_format("%s/%s/state.json", store->plugins, name);
	MOR_CLEAN_TEXT char *files = mor_text_format("%s/%s", store->plugins, name);
	MOR_CLEAN_TEXT char *runs = store->runs ? mor_text_format("%s/%s", store->runs, name) : NULL;
	struct stat st;

	if (!state || !files)
		return mor_fail_memory(err);
	/* Not through a link, which leads elsewhere. A state that is a directory goes with the rest. */
	if (lstat(files, &st) == 0 && S_ISDIR(st.st_mode) && unlink(state) < 0 && errno != EISDIR)
		return mor_store_fail_write(state, errno, err);
	mor_dir_remove_all(AT_FDCWD, files);
	if (runs)
		mor_dir_remove_all(AT_FDCWD, runs);
	return 0;
}

int mor_store_remove(const struct mor_store *store, const char *name, const char *version, mortise_error *err)
{
	MOR_CLEAN(held_state) struct held_state held = { .lock = -1 };
	struct mor_store_change change = { .name = name, .drop = version };
	const struct mor_value *entry;
	MOR_CLEAN_TEXT char *files = NULL;
	int r = hold_state(store, name, &held, err);

	if (r == MORTISE_ESYSTEM && held.lock >= 0 && !version)
		return remove_all_versions(store, name, err);
	if (r < 0)
		return r;
	if (!version || (mor_json_size(mor_json_get(held.root, "versions")) == 1 &&
			 mor_store_entry(held.root, "version", version)))
		return remove_all_versions(store, name, err);
	entry = mor_store_entry(held.root, "version", version);
	if (!entry)
		return no_version(name, version, err);
	files = mor_text_format("%s/%s/%s", store->plugins, name,
				mor_json_text(mor_json_get(entry, "directory"), "."));
	r = files ? mor_store_change(store, held.root, &change, err) : mor_fail_memory(err);
	if (r == 0) {
		MOR_CLEAN_TEXT char *record = mor_text_format("%s.json", files);

		mor_dir_remove_all(AT_FDCWD, files);
		if (record)
			unlink(record);
	}
	return r;
}

/* ---- go back ---- */

int mor_store_use(const struct mor_store *store, const char *name, const char *version, char **ret_version,
		  mortise_error *err)
{
	MOR_CLEAN(held_state) struct held_state held = { .lock = -1 };
	struct mor_store_change change = { .name = name };
	char *copy;
	int r = hold_state(store, name, &held, err);

	if (r < 0)
		return r;
	change.current = version ? version : mor_json_text(mor_json_get(held.root, "previous"), NULL);
	if (!change.current || !mor_store_entry(held.root, "version", change.current))
		return version ? no_version(name, version, err) :
				 mor_fail(err, MORTISE_ENOTFOUND,
					  "there is no version of %s to go back to; mortise list --all shows "
					  "what is installed",
					  name);
	copy = mor_strdup(change.current);
	if (!copy)
		return mor_fail_memory(err);
	r = mor_store_change(store, held.root, &change, err);
	if (r == 0)
		*ret_version = copy;
	else
		mor_free(copy);
	return r;
}

/* ---- the approval ---- */

void mor_store_write_approval(struct mor_writer *w, unsigned allow, const char *seal)
{
	MOR_CLEAN(mor_buf) struct mor_buf words = MOR_BUF_INIT;
	const char *word;

	mor_permissions_words(allow, ",", &words);
	mor_buf_byte(&words, '\0');
	mor_w_pair_object(w, "approved");
	mor_w_pair_int(w, "at", time(NULL));
	mor_w_pair(w, "seal", seal);
	mor_w_pair_array(w, "allow");
	for (word = words.data; word && *word;) {
		size_t len = strcspn(word, ",");

		mor_w_slice(w, (struct mor_slice){ word, len });
		word += len + (word[len] == ',');
	}
	mor_w_end(w);
	mor_w_end(w);
}
