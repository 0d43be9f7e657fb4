/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The user's installed plugins, for those who read: docs/design/0008-store.md. The library uses it before it
 * starts a plugin. Nothing here asks or prints. What changes the store is in store/keep.h.
 */
#ifndef MOR_STORE_STORE_H
#define MOR_STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mortise/mortise.h>

#include "content/content.h"
#include "wire/json.h"

#define MOR_STORE_NAME_MAX    100
#define MOR_STORE_VERSION_MAX 64
/* In `from`, before the path of a registry's directory (src/kit/registry). */
#define MOR_STORE_FROM_REGISTRY "registry:"

/* Where it is. Opening looks at no file. */
struct mor_store {
	char *plugins; /* $XDG_DATA_HOME/mortise/plugins; NULL: there is no place for it */
	char *runs;    /* $XDG_STATE_HOME/mortise/plugins; NULL: the same                */
};
/* `data_home`, `state_home`: instead of the variables; NULL: they are used. 0 or MORTISE_ENOMEM. */
int mor_store_open(const char *data_home, const char *state_home, struct mor_store *ret);
void mor_store_fini(struct mor_store *store);
/* MORTISE_ESYSTEM "plugins cannot be …: neither XDG_DATA_HOME nor HOME …", or 0 if there is a place. */
int mor_store_has_place(const struct mor_store *store, mortise_error *err);

/* Can nobody else change what was approved? MORTISE_EVIOLATION: the store, or a plugin in it (`name`; NULL:
 * none), belongs to somebody else or may be written by others; with the command that mends it. */
int mor_store_check_owner(const struct mor_store *store, const char *name, mortise_error *err);

/* One version of one plugin. Texts and values belong to `doc`. */
struct mor_installed {
	struct mor_doc *doc; /* its state.json */
	char *path;          /* absolute directory of its files: PLUGINS/NAME/DIRECTORY/NAME */
	char *record;        /* PLUGINS/NAME/DIRECTORY.json */
	const char *name, *version, *directory, *digest;
	const char *dialect, *description; /* description: or NULL */
	const char *from, *key;            /* where it came from; whose signature it had, or NULL */
	const struct mor_value *offers, *permissions, *interface;
	const struct mor_value *allow; /* what was granted: array of words */
	/* its manifest has no permissions, and the user wants it confined: sandbox.level "auto" */
	bool confine;
	bool approved; /* the approval fits the permissions */
	bool current;  /* the version that its name alone means */
};
void mor_installed_fini(struct mor_installed *plugin);
bool mor_installed_allows(const struct mor_installed *plugin, const char *word); /* "network" */

/* May a word be the name of an installed plugin, or NAME@VERSION? It decides without looking at the disk. */
bool mor_store_is_name(const char *word);
/* By NAME (its current version) or NAME@VERSION. MORTISE_ENOTFOUND offers the nearest name; MORTISE_ESYSTEM:
 * its state cannot be read; MORTISE_EVIOLATION: others can write it, or it lies elsewhere. */
int mor_store_find(const struct mor_store *store, const char *word, struct mor_installed *ret,
		   mortise_error *err);
/* The same, and NAME@RANGE (store/semver.h): the newest version that fits. A version of that very name goes
 * first. */
int mor_store_pick(const struct mor_store *store, const char *word, struct mor_installed *ret,
		   mortise_error *err);
/* May a word be one of these? */
bool mor_store_is_pick(const char *word);
/* By directory. 1: it is installed; 0: the path is not in the store; below 0: it lies in the store, and no
 * state names it (MORTISE_EVIOLATION), or the state cannot be read. */
int mor_store_at(const struct mor_store *store, const char *path, struct mor_installed *ret,
		 mortise_error *err);

/* All, sorted by name, the current version of each first, then the others from the newest to the oldest. */
struct mor_store_list {
	struct mor_installed *items;
	size_t count, cap;
	char **damaged; /* names whose state cannot be read; NULL: none */
};
/* `every`: all versions; else only the current ones. A missing store is an empty one. */
int mor_store_list(const struct mor_store *store, bool every, struct mor_store_list *ret, mortise_error *err);
/* The versions of one plugin, in the same order. MORTISE_ENOTFOUND as mor_store_find(). */
int mor_store_versions(const struct mor_store *store, const char *name, struct mor_store_list *ret,
		       mortise_error *err);
void mor_store_list_fini(struct mor_store_list *list);
/* "plugins":[...],"damaged":[...] into an open object, with how the last run of each ended. */
void mor_store_list_json(const struct mor_store *store, const struct mor_store_list *list,
			 struct mor_writer *w);

/* Is a plugin what was approved? 0, also with changes. MORTISE_EVIOLATION: there is no record, it is not that
 * of the approval, or something lies among the files that no plugin can have, or that cannot be read. Writes
 * the record again when that saves reading files next time. */
struct mor_store_check {
	struct mor_content record;
	struct mor_content_check found;
};
int mor_store_verify(const struct mor_installed *plugin, struct mor_store_check *ret, mortise_error *err);
void mor_store_check_fini(struct mor_store_check *check);
/* The record alone. */
int mor_store_record(const struct mor_installed *plugin, struct mor_content *ret, mortise_error *err);

/* How its last run ended. */
struct mor_store_run {
	int64_t at;      /* seconds since 1970; 0: it has not run */
	char status[32]; /* "ok", or the kind of error: "crashed" */
	char text[200];  /* one line about it, or "" */
	char version[MOR_STORE_VERSION_MAX + 1];
};
void mor_store_run_read(const struct mor_store *store, const char *name, struct mor_store_run *ret);
/* What cannot be written is left out: a run does not fail for that. */
void mor_store_run_write(const struct mor_store *store, const char *name, const struct mor_store_run *run);
/* The directory for what a plugin writes beside itself; it is made. NULL: there is no place, or no memory. */
char *mor_store_work(const struct mor_store *store, const char *name);

/* -1, 0, 1: semantic versions by their rules, others part by part, numbers as numbers. */
int mor_store_compare_versions(const char *a, const char *b);

#endif
