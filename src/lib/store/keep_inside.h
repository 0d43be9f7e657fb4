/* SPDX-License-Identifier: Apache-2.0 */
/* What the files that change the store share. */
#ifndef MOR_STORE_KEEP_INSIDE_H
#define MOR_STORE_KEEP_INSIDE_H

#include "store/keep.h"

#define MOR_STORE_LOCK ".lock" /* no plugin can be called so */

/* Waits for the lock and removes what killed writers left. A descriptor that holds it, or a status. Makes the
 * store's directory. */
int mor_store_lock(const struct mor_store *store, mortise_error *err);

/* A new state.json from the old one. */
struct mor_store_change {
	const char *name;
	const char *drop;      /* this version goes; NULL: none */
	const char *keep_as;   /* or stays under this name; NULL: it goes */
	const char *directory; /* of what is added: an older version in it goes, too; NULL: none */
	struct mor_slice add;  /* one entry of "versions", as JSON, or empty */
	const char *current;   /* NULL: stays, or the newest of what is left */
};
/* `old`: the root of the present state, or NULL. MORTISE_ENOTFOUND: no version would be left, and the file is
 * removed instead. */
int mor_store_change(const struct mor_store *store, const struct mor_value *old,
		     const struct mor_store_change *change, mortise_error *err);
/* "approved":{…} into an open object; `seal`: NULL as long as it is not known. */
void mor_store_write_approval(struct mor_writer *w, unsigned allow, const char *seal);

#endif
