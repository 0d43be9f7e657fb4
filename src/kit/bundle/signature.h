/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signatures of plugins. What is signed is the plugin and not its archive, so that an archive may
 * be packed again:
 *
 *	mortise-bundle 1
 *	name NAME
 *	version VERSION
 *	the content's canonical text: sum, mode, size and path of each file (docs/design/0008-store.md)
 *
 * The signature lies beside the archive, as ARCHIVE.sig. It is one JSON object:
 *
 *	{"mortise_signature":1,"name","version","digest","key":"ed25519:…","signature":"base64"}
 *
 * Only `key` and `signature` count; the others are for people. A signature says who made a plugin. It allows
 * nothing.
 */
#ifndef MOR_BUNDLE_SIGNATURE_H
#define MOR_BUNDLE_SIGNATURE_H

#include "bundle/pack.h"
#include "bundle/sign.h"
#include "wire/json.h"

/* Signs with the private key in the file `key_path`; appends the JSON text and a newline. */
int mor_bundle_sign(const struct mor_bundle_plugin *plugin, const char *key_path, struct mor_buf *ret,
		    mortise_error *err);
/* Is the JSON text a signature of this plugin? MORTISE_EINPUT: it is not, and the plugin must not be
 * used. *ret_key is who signed; whether that key is trusted is another question (bundle/keys.h).
 * `plugin->dir` is not used. */
int mor_bundle_verify(const struct mor_bundle_plugin *plugin, struct mor_slice signature,
		      char ret_key[MOR_SIGN_KEY_SIZE], mortise_error *err);

/* For other signed texts (src/kit/registry): the members "key" and "signature" of an object that is open,
 * and the way back. MORTISE_EPROTO: `object` has no such members; MORTISE_EINPUT: it is not the
 * signature of this text. */
int mor_bundle_sign_text(struct mor_writer *w, struct mor_slice text, const char *key_path, mortise_error *err);
int mor_bundle_verify_text(const struct mor_value *object, struct mor_slice text,
			   char ret_key[MOR_SIGN_KEY_SIZE], mortise_error *err);

/* Where an archive comes from, as far as it can be proved. */
struct mor_bundle_origin {
	char key[MOR_SIGN_KEY_SIZE]; /* "": it is not signed */
	char owner[100];             /* the name that the user gave to the key; "": it is not trusted */
};
/* Reads `archive`.sig, if it is there, and looks the key up. `config_home` as in bundle/keys.h. MORTISE_EINPUT:
 * the signature is not of this plugin, or cannot be read. */
int mor_bundle_origin_find(const struct mor_bundle_plugin *plugin, const char *archive, const char *config_home,
			   struct mor_bundle_origin *ret, mortise_error *err);

#endif
