/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Remembers what a user has granted to a plugin: for one directory and one set of permissions, which is
 * name, version and the manifest's bytes. If any of them changes, the user is asked again. One file per
 * approval, below $XDG_STATE_HOME/mortise/approvals (~/.local/state), for this user only.
 *
 * What was agreed when a plugin was installed is in the store (store/store.h): for its directory that counts.
 */
#ifndef MOR_STORE_APPROVAL_H
#define MOR_STORE_APPROVAL_H

#include <mortise/mortise.h>

struct mor_approval {
	const char *directory; /* absolute path of the plugin */
	const char *name, *version;
	const char *manifest;   /* the SHA-256 of the file that asks, as it was read */
	const char *permission; /* "network"                                        */
	const char *state_home; /* NULL: $XDG_STATE_HOME, else ~/.local/state        */
};

/* 1: granted; 0: not; or a status with err: out of memory. A damaged file grants nothing. */
int mor_approval_find(const struct mor_approval *approval, mortise_error *err);
/* Remembers the approval. MORTISE_ESYSTEM names the place where that failed. */
int mor_approval_grant(const struct mor_approval *approval, mortise_error *err);

#endif
