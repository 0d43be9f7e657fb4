/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changing the store. One writer at a time (flock on PLUGINS/.lock). The rename of state.json is the one moment
 * in which something happens: a process that is killed before it leaves the old state, after it the new one,
 * and rubbish that the next writer removes. Every error says what could not be written, where and why, and then
 * nothing has changed.
 *
 * Making a plugin takes two steps, because between them a person may think: mor_store_stage() gives a directory
 * to fill, mor_store_put() makes it the plugin.
 */
#ifndef MOR_STORE_KEEP_H
#define MOR_STORE_KEEP_H

#include "store/store.h"

struct mor_staging {
	const struct mor_store *store;
	char *top;  /* PLUGINS/.new-XXXXXX */
	char *path; /* the directory in it that is to be filled */
	int dir;    /* the same, open */
	int hold;   /* while it is open, nobody takes `top` for rubbish */
};
/* Makes the store if it is missing. `from` is where the plugin comes from: its last part names the directory,
 * since some plugins are called like their directory. MORTISE_ESYSTEM. */
int mor_store_stage(const struct mor_store *store, const char *from, struct mor_staging *ret,
		    mortise_error *err);
void mor_staging_fini(struct mor_staging *staging); /* removes what is still there */
/* The directory gets another name: that of the plugin was inside. Nothing happens if it cannot be one. */
int mor_staging_rename(struct mor_staging *staging, const char *name, mortise_error *err);
/* Copies a plugin's directory into it. Version control and bytecode caches (.git, __pycache__) stay behind. */
int mor_staging_copy(struct mor_staging *staging, const char *from, mortise_error *err);

struct mor_store_facts {
	const char *name, *version, *dialect, *description, *from, *key; /* NULL: null */
	struct mor_slice offers, permissions, interface;                 /* JSON; empty: null */
	bool confine;
	/* `approve`: somebody has changed the files of this version where they lie. What they were is gone, and
	 * the current version stays the current one. */
	bool in_place;
	bool aside;     /* a version that is there stays the current one */
	unsigned allow; /* enum mor_permission: what the user has granted */
	/* digest of the current version when the user was asked; "": none was installed; NULL:
	 * does not matter */
	const char *seen;
};
/* The staged files become the current version. A version that is there already is replaced; if its files were
 * others, they stay as VERSION~DIGEST8, and are what one goes back to. `content` is a scan
 * of the staging, with identities. MORTISE_EINPUT: a name or version that cannot be used, or another install
 * was faster than the user's answer. */
int mor_store_put(struct mor_staging *staging, const struct mor_content *content,
		  const struct mor_store_facts *facts, mortise_error *err);

/* NULL: all versions. Then what it wrote beside itself goes, too. */
int mor_store_remove(const struct mor_store *store, const char *name, const char *version, mortise_error *err);
/* Which version the name alone means. NULL: the one before the present one. *ret_version for mor_free(). */
int mor_store_use(const struct mor_store *store, const char *name, const char *version, char **ret_version,
		  mortise_error *err);

#endif
