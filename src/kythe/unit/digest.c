/* SPDX-License-Identifier: Apache-2.0 */
#include "kythe/unit/digest.h"

#include <string.h>

#include "base/text.h"

void mor_digest_begin(struct sha256_ctx *sha)
{
	sha256_init(sha);
}

void mor_digest_add(struct sha256_ctx *sha, const void *bytes, size_t len)
{
	if (len)
		sha256_update(sha, len, bytes);
}

void mor_digest_end(struct sha256_ctx *sha, char ret_hex[MOR_DIGEST_SIZE])
{
	unsigned char raw[SHA256_DIGEST_SIZE];

	sha256_digest(sha, sizeof(raw), raw);
	mor_hex(raw, sizeof(raw), ret_hex);
}

bool mor_digest_valid(const char *text)
{
	return strspn(text, "0123456789abcdef") == MOR_DIGEST_HEX && text[MOR_DIGEST_HEX] == '\0';
}
