/* SPDX-License-Identifier: Apache-2.0 */
/* Writing a lock: sorted, one member per line, so that git shows what changes. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/outfile.h"
#include "base/path.h"
#include "lockfile/inside.h"

/* One plugin of the next lock. */
struct pin {
	const char *name;
	const struct mor_value *old;            /* stays as it is, or ... */
	const struct mor_lockfile_facts *facts; /* ... is new */
};

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct pin *)a)->name, ((const struct pin *)b)->name);
}

/* Inside the project: relative to it, "." for itself. */
static void write_place(struct mor_writer *w, const struct mor_lockfile *lock, const char *from)
{
	size_t prefix = sizeof(MOR_STORE_FROM_REGISTRY) - 1;
	bool registry = strncmp(from, MOR_STORE_FROM_REGISTRY, prefix) == 0;
	const char *path = registry ? from + prefix : from;
	const char *below = mor_path_below(lock->dir, path);

	if (strcmp(lock->dir, path) == 0)
		below = ".";
	mor_w_pair(w, registry ? "registry" : "path", below ? below : path);
}

static void write_pin(struct mor_writer *w, const struct mor_lockfile *lock, const struct pin *pin)
{
	const struct mor_lockfile_facts *facts = pin->facts;

	if (pin->old) {
		mor_w_value(w, pin->old);
		return;
	}
	mor_w_object(w);
	mor_w_pair(w, "name", facts->name);
	mor_w_pair(w, "version", facts->version);
	mor_w_pair(w, "digest", facts->digest);
	if (facts->from && *facts->from)
		write_place(w, lock, facts->from);
	if (facts->confine)
		mor_w_pair_bool(w, "confine", true);
	mor_w_key(w, "permissions");
	mor_lockfile_write_permissions(w, facts->permissions);
	mor_w_key(w, "interface");
	mor_lockfile_write_interface(w, facts);
	mor_w_end(w);
}

static const struct mor_lockfile_edit *find_edit(const struct mor_lockfile_edit *edits, size_t count,
						 const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(edits[i].name, name) == 0)
			return &edits[i];
	return NULL;
}

/* The old ones that nobody edits, and the new ones. Returns how many. */
static size_t join_pins(const struct mor_lockfile *lock, const struct mor_lockfile_edit *edits, size_t count,
			struct pin *pins)
{
	size_t used = 0;

	for (size_t i = 0; i < lock->count; i++)
		if (!find_edit(edits, count, lock->items[i].name))
			pins[used++] = (struct pin){ lock->items[i].name, lock->items[i].value, NULL };
	for (size_t i = 0; i < count; i++)
		if (edits[i].facts && find_edit(edits, i, edits[i].name) == NULL)
			pins[used++] = (struct pin){ edits[i].name, NULL, edits[i].facts };
	qsort(pins, used, sizeof(*pins), by_name);
	return used;
}

static int write_text(const struct mor_lockfile *lock, const struct pin *pins, size_t count,
		      struct mor_buf *out, mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	struct mor_writer w = { .out = &json };

	mor_w_object(&w);
	mor_w_pair_int(&w, "mortise_lock", 1);
	mor_w_pair_array(&w, "plugins");
	for (size_t i = 0; i < count; i++)
		write_pin(&w, lock, &pins[i]);
	mor_w_end(&w);
	mor_w_end(&w);
	if (mor_buf_failed(&json) || mor_doc_parse(mor_buf_view(&json), 0, 0, &doc, NULL) < 0 ||
	    mor_json_write(mor_doc_root(doc), true, out) < 0 || mor_buf_byte(out, '\n') < 0)
		return mor_fail_memory(err);
	return 0;
}

static bool is_there(const char *path, struct mor_slice text)
{
	MOR_CLEAN_TEXT char *old = NULL;
	size_t len = 0;

	return mor_fd_read_file(path, MOR_LOCKFILE_BYTES, &old, &len) == 0 &&
	       mor_slice_eq((struct mor_slice){ old, len }, text);
}

int mor_lockfile_write(const struct mor_lockfile *lock, const struct mor_lockfile_edit *edits, size_t count,
		       bool *ret_changed, mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	struct pin *pins = mor_alloc((lock->count + count + 1) * sizeof(*pins));
	int r = pins ? write_text(lock, pins, join_pins(lock, edits, count, pins), &text, err) :
		       mor_fail_memory(err);

	mor_free(pins);
	if (r < 0)
		return r;
	*ret_changed = !is_there(lock->path, mor_buf_view(&text));
	return *ret_changed ? mor_outfile_write(lock->path, 0644, mor_buf_view(&text), err) : 0;
}
