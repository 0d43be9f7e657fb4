/* SPDX-License-Identifier: Apache-2.0 */
/* For the files of src/lib/store alone. */
#ifndef MOR_STORE_INSIDE_H
#define MOR_STORE_INSIDE_H

#include "store/store.h"

#define MOR_STORE_STATE_MAX  (4 * 1024 * 1024)  /* bytes of one state.json */
#define MOR_STORE_RECORD_MAX (16 * 1024 * 1024) /* of one record: 20,000 files */

bool mor_store_name_valid(const char *name, size_t len);
bool mor_store_version_valid(const char *version, size_t len);
/* PLUGINS/NAME/state.json as a tree that is whole: about this plugin, with a current version, every version
 * described. 0, MORTISE_ENOTFOUND (without a text: no such file), MORTISE_ESYSTEM: it is damaged, with what to
 * do; MORTISE_ENOMEM. */
int mor_store_state_read(const struct mor_store *store, const char *name, struct mor_doc **ret,
			 mortise_error *err);
/* One entry of "versions". Does not take `doc`. 0 or MORTISE_ENOMEM. */
int mor_store_state_entry(const struct mor_store *store, const struct mor_value *root,
			  const struct mor_value *entry, struct mor_installed *ret);
/* The SHA-256 of what the approval of a version is for: {"name","version","directory","digest","dialect",
 * "confine","permissions","allow"}, as JSON without blanks. If one of them is edited, or an old file comes
 * back, nobody has approved it. It is no signature: a user who may write the store may write a seal. */
void mor_store_seal(const char *name, const char *version, const struct mor_value *entry,
		    char ret_hex[MOR_DIGEST_SIZE]);
bool mor_store_seal_fits(const char *name, const struct mor_value *entry);
/* The entry of "versions" whose member has this text; NULL: no such version. */
const struct mor_value *mor_store_entry(const struct mor_value *root, const char *member, const char *text);
/* MORTISE_ENOTFOUND with the nearest name. */
int mor_store_unknown(const struct mor_store *store, const char *name, mortise_error *err);
/* MORTISE_ESYSTEM: what, where, why, and what to do. */
int mor_store_fail_write(const char *path, int error, mortise_error *err);
/* Replaces a file by rename. 0 or a status with a text that says where and why. _state(): when it has its name,
 * its bytes are on the disk, so that a power cut leaves no empty file. */
int mor_store_write_file(const char *path, struct mor_slice text, mortise_error *err);
int mor_store_write_state(const char *path, struct mor_slice text, mortise_error *err);

#endif
