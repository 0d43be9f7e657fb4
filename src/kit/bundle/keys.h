/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keys whose owners the user knows: one file per key, $XDG_CONFIG_HOME/mortise/keys/DIGITS.json, for this
 * user only. A key proves where a plugin comes from. It never approves one.
 *
 * `config_home`: instead of the variable; NULL: it is used. Without a place, the user knows no key, and none
 * can be added: MORTISE_ESYSTEM says so.
 */
#ifndef MOR_BUNDLE_KEYS_H
#define MOR_BUNDLE_KEYS_H

#include <stddef.h>

#include <mortise/mortise.h>

#include "bundle/sign.h"

struct mor_keys_entry {
	char key[MOR_SIGN_KEY_SIZE];
	char owner[100]; /* as the user calls them */
};
struct mor_keys_all {
	struct mor_keys_entry *items; /* sorted by owner, then by key */
	size_t count, cap;
};

/* Adds it, or gives it another owner. MORTISE_EINPUT: an owner without a name, longer than 99 bytes, or with
 * characters that nobody sees. */
int mor_keys_add(const char *config_home, const char *key, const char *owner, mortise_error *err);
int mor_keys_list(const char *config_home, struct mor_keys_all *ret, mortise_error *err);
void mor_keys_all_fini(struct mor_keys_all *list);
/* `word` is a key, the beginning of one of at least 8 digits, or an owner. MORTISE_ENOTFOUND; MORTISE_EINPUT:
 * it means more than one. *ret: what was removed. */
int mor_keys_remove(const char *config_home, const char *word, struct mor_keys_entry *ret, mortise_error *err);
/* The owner of a key, "" if the user does not know it. A file that is damaged is no key. */
int mor_keys_find(const char *config_home, const char *key, char *ret_owner, size_t size, mortise_error *err);

#endif
