/* SPDX-License-Identifier: Apache-2.0 */
/* FNV-1a, for tables and for telling unequal things apart quickly. An attacker who chooses the bytes can make
 * it collide: equal sums are always followed by a comparison. */
#ifndef MOR_BASE_HASH_H
#define MOR_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

static inline uint64_t mor_hash(const void *bytes, size_t len)
{
	const unsigned char *p = bytes;
	uint64_t hash = 0xcbf29ce484222325u;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ p[i]) * 0x100000001b3u;
	return hash;
}

#endif
