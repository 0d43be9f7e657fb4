/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a person approves, as one JSON text that is the same for the same permissions:
 *
 *	{"confined":true,"network":false|true|["HOST:PORT",…],"read":["/path",…],"spawn":false,"write":false}
 *	{"confined":false}      it may do everything that the user may
 *
 * Lists are sorted. `write` is the workspace. Its words (network, read, spawn, write, unconfined) are those of
 * --allow.
 */
#ifndef MOR_STORE_PERMISSIONS_H
#define MOR_STORE_PERMISSIONS_H

#include <stdbool.h>

#include "base/buf.h"
#include "wire/json.h"

enum mor_permission {
	MOR_PERMISSION_NETWORK = 1 << 0,
	MOR_PERMISSION_READ = 1 << 1,
	MOR_PERMISSION_SPAWN = 1 << 2,
	MOR_PERMISSION_WRITE = 1 << 3,
	MOR_PERMISSION_UNCONFINED = 1 << 4,
	/* not of a plugin: of a change */
	MOR_PERMISSION_DOWNGRADE = 1 << 5,
	MOR_PERMISSION_REPLACE = 1 << 6 /* the same version, other files */
};
/* "network,read"; nothing for 0. */
void mor_permissions_words(unsigned permissions, const char *separator, struct mor_buf *out);
/* One of the words; 0: there is no such one. */
unsigned mor_permissions_of_word(struct mor_slice word);

/* From what describe says (confinement.policy). 0 or MORTISE_ENOMEM. */
int mor_permissions_write(const struct mor_value *policy, struct mor_buf *out);
/* The text that we would write, whatever spaces and order a file has. */
void mor_permissions_canonical(const struct mor_value *permissions, struct mor_writer *w);
bool mor_permissions_confined(const struct mor_value *permissions);
/* Which of them need somebody's yes. */
unsigned mor_permissions_asked(const struct mor_value *permissions);
/* Which are wider in `now` than in `before` (NULL: nothing was allowed). */
unsigned mor_permissions_wider(const struct mor_value *before, const struct mor_value *now);

#endif
