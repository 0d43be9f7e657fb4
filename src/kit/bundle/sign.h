/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ed25519 through OpenSSL. Keys are PEM files as `openssl genpkey -algorithm ed25519` makes them. A public key
 * is 32 bytes; as a text it is "ed25519:" and 64 digits, and this text is the key's name everywhere.
 */
#ifndef MOR_BUNDLE_SIGN_H
#define MOR_BUNDLE_SIGN_H

#include <stdbool.h>

#include <mortise/mortise.h>

#include "base/buf.h"
#include "base/slice.h"

#define MOR_SIGN_KEY_PREFIX "ed25519:"
#define MOR_SIGN_KEY_SIZE   (sizeof(MOR_SIGN_KEY_PREFIX) + 64)
#define MOR_SIGN_BYTES      64

/* A new pair as PEM. MORTISE_ESYSTEM: OpenSSL says no. */
int mor_sign_new_key(struct mor_buf *ret_private, struct mor_buf *ret_public, mortise_error *err);
/* The public key of a file that holds it, or the private one. MORTISE_EINPUT: it is neither, or of another
 * kind; MORTISE_ENOTFOUND. */
int mor_sign_read_key(const char *path, char ret_key[MOR_SIGN_KEY_SIZE], mortise_error *err);
/* Does a file hold a private key? What cannot be read holds none. */
bool mor_sign_is_private(const char *path);
/* `path` must hold the private key, without a password. */
int mor_sign(const char *path, struct mor_slice text, char ret_key[MOR_SIGN_KEY_SIZE],
	     unsigned char ret[MOR_SIGN_BYTES], mortise_error *err);
bool mor_sign_verify(const char *key, struct mor_slice text, const unsigned char signature[MOR_SIGN_BYTES]);
/* "ed25519:" and 64 lower-case digits. */
bool mor_sign_key_valid(const char *key);

#endif
