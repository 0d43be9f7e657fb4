/* SPDX-License-Identifier: Apache-2.0 */
#include "bundle/sign.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/text.h"

#define KEY_BYTES    32
#define PEM_LIMIT    65536
#define PREFIX_BYTES (sizeof(MOR_SIGN_KEY_PREFIX) - 1)

static void evp_key_fini(EVP_PKEY **key)
{
	EVP_PKEY_free(*key);
	ERR_clear_error(); /* others in this process look at the same list */
}

static void evp_context_fini(EVP_MD_CTX **context)
{
	EVP_MD_CTX_free(*context);
}

static void bio_fini(BIO **bio)
{
	BIO_free(*bio);
}

/* OpenSSL would ask on the terminal. */
static int no_password(char *buffer, int size, int writing, void *arg)
{
	(void)buffer, (void)size, (void)writing, (void)arg;
	return -1;
}

static int read_pem(const char *path, bool private_only, EVP_PKEY **ret, mortise_error *err)
{
	MOR_CLEAN_TEXT char *text = NULL;
	MOR_CLEAN(bio) BIO *bio = NULL;
	EVP_PKEY *key = NULL;
	size_t len = 0;
	int r = mor_fd_read_file(path, PEM_LIMIT, &text, &len);

	if (r < 0)
		return mor_fail_errno(err, r == -ENOENT ? MORTISE_ENOTFOUND : MORTISE_EINPUT, -r, "%s", path);
	bio = BIO_new_mem_buf(text, (int)len);
	if (!bio)
		return mor_fail_memory(err);
	key = PEM_read_bio_PrivateKey(bio, NULL, no_password, NULL);
	if (!key && !private_only && BIO_reset(bio) == 1)
		key = PEM_read_bio_PUBKEY(bio, NULL, no_password, NULL);
	explicit_bzero(text, len);
	if (key && EVP_PKEY_get_base_id(key) == EVP_PKEY_ED25519) {
		*ret = key;
		return 0;
	}
	r = mor_fail(err, MORTISE_EINPUT,
		     key ? "%s: a key of another kind; 'mortise key new' makes one for Ed25519" :
		     private_only ?
			   "%s: not a private key in PEM form without a password; 'mortise key new' makes one" :
			   "%s: not a key in PEM form; 'mortise key new' makes one",
		     path);
	EVP_PKEY_free(key);
	ERR_clear_error();
	return r;
}

static int show_key(EVP_PKEY *key, char ret[MOR_SIGN_KEY_SIZE], mortise_error *err)
{
	unsigned char raw[KEY_BYTES];
	size_t len = sizeof(raw);

	if (EVP_PKEY_get_raw_public_key(key, raw, &len) != 1 || len != sizeof(raw))
		return mor_fail(err, MORTISE_ESYSTEM, "OpenSSL does not give the public key");
	memcpy(ret, MOR_SIGN_KEY_PREFIX, PREFIX_BYTES);
	mor_hex(raw, sizeof(raw), ret + PREFIX_BYTES);
	return 0;
}

int mor_sign_read_key(const char *path, char ret_key[MOR_SIGN_KEY_SIZE], mortise_error *err)
{
	MOR_CLEAN(evp_key) EVP_PKEY *key = NULL;
	int r = read_pem(path, false, &key, err);

	return r < 0 ? r : show_key(key, ret_key, err);
}

bool mor_sign_is_private(const char *path)
{
	MOR_CLEAN(evp_key) EVP_PKEY *key = NULL;

	return read_pem(path, true, &key, NULL) == 0;
}

static int take_bio(BIO *bio, struct mor_buf *out)
{
	char *text = NULL;
	long len = BIO_get_mem_data(bio, &text);

	mor_buf_append(out, text, len > 0 ? (size_t)len : 0);
	return out->status;
}

int mor_sign_new_key(struct mor_buf *ret_private, struct mor_buf *ret_public, mortise_error *err)
{
	MOR_CLEAN(evp_key) EVP_PKEY *key = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
	MOR_CLEAN(bio) BIO *private_bio = BIO_new(BIO_s_secmem());
	MOR_CLEAN(bio) BIO *public_bio = BIO_new(BIO_s_mem());

	if (!key || !private_bio || !public_bio ||
	    PEM_write_bio_PrivateKey(private_bio, key, NULL, NULL, 0, NULL, NULL) != 1 ||
	    PEM_write_bio_PUBKEY(public_bio, key) != 1)
		return mor_fail(err, MORTISE_ESYSTEM, "OpenSSL cannot make a key");
	if (take_bio(private_bio, ret_private) < 0 || take_bio(public_bio, ret_public) < 0)
		return mor_fail_memory(err);
	return 0;
}

int mor_sign(const char *path, struct mor_slice text, char ret_key[MOR_SIGN_KEY_SIZE],
	     unsigned char ret[MOR_SIGN_BYTES], mortise_error *err)
{
	MOR_CLEAN(evp_key) EVP_PKEY *key = NULL;
	MOR_CLEAN(evp_context) EVP_MD_CTX *context = EVP_MD_CTX_new();
	unsigned char signature[MOR_SIGN_BYTES];
	size_t len = sizeof(signature);
	int r = context ? read_pem(path, true, &key, err) : mor_fail_memory(err);

	if (r < 0)
		return r;
	if (EVP_DigestSignInit(context, NULL, NULL, NULL, key) != 1 ||
	    EVP_DigestSign(context, signature, &len, (const unsigned char *)text.ptr, text.len) != 1 ||
	    len != sizeof(signature))
		return mor_fail(err, MORTISE_ESYSTEM, "%s: OpenSSL cannot sign with it", path);
	r = show_key(key, ret_key, err);
	if (r == 0)
		memcpy(ret, signature, sizeof(signature));
	return r;
}

bool mor_sign_key_valid(const char *key)
{
	return strncmp(key, MOR_SIGN_KEY_PREFIX, PREFIX_BYTES) == 0 &&
	       mor_hex_count(key + PREFIX_BYTES) == 2 * KEY_BYTES && key[MOR_SIGN_KEY_SIZE - 1] == '\0';
}

bool mor_sign_verify(const char *key, struct mor_slice text, const unsigned char signature[MOR_SIGN_BYTES])
{
	MOR_CLEAN(evp_key) EVP_PKEY *public = NULL;
	MOR_CLEAN(evp_context) EVP_MD_CTX *context = EVP_MD_CTX_new();
	unsigned char raw[KEY_BYTES];

	if (!context || !mor_sign_key_valid(key))
		return false;
	for (size_t i = 0; i < KEY_BYTES; i++)
		raw[i] = (unsigned char)((unsigned)mor_hex_value(key[PREFIX_BYTES + 2 * i]) << 4 |
					 (unsigned)mor_hex_value(key[PREFIX_BYTES + 2 * i + 1]));
	public = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, raw, sizeof(raw));
	return public && EVP_DigestVerifyInit(context, NULL, NULL, NULL, public) == 1 &&
	       EVP_DigestVerify(context, signature, MOR_SIGN_BYTES, (const unsigned char *)text.ptr,
				text.len) == 1;
}
