/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mortise.lock: which plugins a project uses, exactly (docs/design/0008-store.md). It lies in the project's
 * directory, and counts in all directories below it.
 *
 *	{"mortise_lock":1,
 *	 "plugins":[{"name","version","digest","registry":"DIR"|"path":"DIR or ARCHIVE","confine":true,
 *		     "permissions":{…},"interface":{"dialect","offers":[…],"interfaces":[…]}},…]}
 *
 * Sorted by name, one member per line. Paths inside the project are relative to it. `confine` is there if it is
 * true. Permissions are those of the store, with "~" for the home directory. A lock is a project's word: it
 * approves nothing.
 */
#ifndef MOR_LOCKFILE_LOCKFILE_H
#define MOR_LOCKFILE_LOCKFILE_H

#include <stdbool.h>
#include <stddef.h>

#include <mortise/mortise.h>

#include "store/store.h"
#include "wire/json.h"

#define MOR_LOCKFILE_NAME "mortise.lock"

/* One plugin. Texts and values belong to the lock. */
struct mor_lockfile_entry {
	const char *name, *version, *digest;
	const char *registry, *path; /* where to get it, as written; both NULL: nowhere */
	bool confine;
	const struct mor_value *permissions, *interface;
	const struct mor_value *value; /* all of it */
};

struct mor_lockfile {
	char *path, *dir; /* of the file; of its directory */
	struct mor_doc *doc;
	struct mor_lockfile_entry *items; /* sorted by name */
	size_t count, cap;
};
/* The nearest one, from the working directory upwards. 1; 0: no lock is there; MORTISE_EINPUT:
 * it is damaged. */
int mor_lockfile_find(struct mor_lockfile *ret, mortise_error *err);
void mor_lockfile_fini(struct mor_lockfile *lock);
/* For fuzzing and tests: fills doc and items. */
int mor_lockfile_parse(struct mor_slice text, struct mor_lockfile *lock, mortise_error *err);
const struct mor_lockfile_entry *mor_lockfile_get(const struct mor_lockfile *lock, const char *name);
/* A path as it is written in the lock, as an absolute one. NULL: no memory. */
char *mor_lockfile_place(const struct mor_lockfile *lock, const char *written);

/* ---- comparing ---- */

/* A plugin that is installed, or about to be. */
struct mor_lockfile_facts {
	const char *name, *version, *digest, *dialect;
	const char *from; /* as in the store */
	const struct mor_value *offers, *interface, *permissions;
	bool confine;
};
struct mor_lockfile_facts mor_lockfile_facts_of(const struct mor_installed *plugin);
/* What is not as pinned: "version", "content", "permissions" or "interface"; NULL: nothing. *ret_memory:
 * whether it could not be told. */
const char *mor_lockfile_differs(const struct mor_lockfile_entry *entry, const struct mor_lockfile_facts *facts,
				 bool *ret_memory);

/* As mor_store_find(), for a plugin that is about to be used: NAME alone is the version that the lock pins, if
 * there is one. 1: found; 0: there is no store, so nobody means a name. MORTISE_EINPUT: the pinned version is
 * not installed, or differs; the text says what to type. (It is not MORTISE_ENOTFOUND, with which one looks
 * elsewhere: what is pinned is nowhere else.) */
int mor_lockfile_installed(const struct mor_store *store, const char *word, struct mor_installed *ret,
			   mortise_error *err);

/* ---- writing ---- */

struct mor_lockfile_edit {
	const char *name;
	const struct mor_lockfile_facts *facts; /* NULL: it goes */
};
/* Replaces the file by rename. `lock` without a doc: there was no file, and `lock->path` and `lock->dir` say
 * where it is to be. *ret_changed: false: nothing is different, and nothing was written. */
int mor_lockfile_write(const struct mor_lockfile *lock, const struct mor_lockfile_edit *edits, size_t count,
		       bool *ret_changed, mortise_error *err);
/* Where a new one is to be: the working directory. */
int mor_lockfile_new(struct mor_lockfile *ret, mortise_error *err);

#endif
