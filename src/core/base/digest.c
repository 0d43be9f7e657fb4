/* SPDX-License-Identifier: Apache-2.0 */
#include "base/digest.h"

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

void mor_digest_text(struct sha256_ctx *sha, const char *text)
{
	text = text ? text : "";
	mor_digest_add(sha, text, strlen(text) + 1);
}

void mor_digest_texts(struct sha256_ctx *sha, const char *const *texts)
{
	for (; texts && *texts; texts++)
		mor_digest_text(sha, *texts);
	mor_digest_text(sha, "");
}

void mor_digest_end(struct sha256_ctx *sha, char ret_hex[MOR_DIGEST_SIZE])
{
	unsigned char raw[SHA256_DIGEST_SIZE];

	sha256_digest(sha, sizeof(raw), raw);
	mor_hex(raw, sizeof(raw), ret_hex);
}

void mor_digest_of(const void *bytes, size_t len, char ret_hex[MOR_DIGEST_SIZE])
{
	struct sha256_ctx sha;

	mor_digest_begin(&sha);
	mor_digest_add(&sha, bytes, len);
	mor_digest_end(&sha, ret_hex);
}

bool mor_digest_valid(const char *text)
{
	return mor_hex_count(text) == MOR_DIGEST_HEX && text[MOR_DIGEST_HEX] == '\0';
}
