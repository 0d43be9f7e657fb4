/* SPDX-License-Identifier: Apache-2.0 */
/* FNV-1a, for tables and for telling unequal things apart quickly. An attacker who chooses the bytes can make
 * it collide: where that would do harm, equal sums are followed by a comparison. */
#ifndef MOR_BASE_HASH_H
#define MOR_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define MOR_HASH_BEGIN 0xcbf29ce484222325u

/* Goes on with `hash`, which begins as MOR_HASH_BEGIN. */
static inline uint64_t mor_hash_add(uint64_t hash, const void *bytes, size_t len)
{
	const unsigned char *p = bytes;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ p[i]) * 0x100000001b3u;
	return hash;
}

static inline uint64_t mor_hash(const void *bytes, size_t len)
{
	return mor_hash_add(MOR_HASH_BEGIN, bytes, len);
}

#endif
