/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 as lower-case hex. */
#ifndef MOR_BASE_DIGEST_H
#define MOR_BASE_DIGEST_H

#include <stdbool.h>
#include <stddef.h>

#include <nettle/sha2.h>

#define MOR_DIGEST_HEX  64
#define MOR_DIGEST_SIZE (MOR_DIGEST_HEX + 1)

void mor_digest_begin(struct sha256_ctx *sha);
void mor_digest_add(struct sha256_ctx *sha, const void *bytes, size_t len);
/* With its end, so that "ab", "c" is not "a", "bc". NULL is as "". */
void mor_digest_text(struct sha256_ctx *sha, const char *text);
void mor_digest_texts(struct sha256_ctx *sha, const char *const *texts); /* NULL-terminated, or NULL */
void mor_digest_end(struct sha256_ctx *sha, char ret_hex[MOR_DIGEST_SIZE]);
void mor_digest_of(const void *bytes, size_t len, char ret_hex[MOR_DIGEST_SIZE]); /* all three in one */
bool mor_digest_valid(const char *text); /* 64 lower-case digits and nothing else */

#endif
