/* SPDX-License-Identifier: Apache-2.0 */
/* A checksum that finds changed bits. It is fast (XXH3), but not secret: it protects against accidents, not
 * against attackers; see base/digest.h for those. */
#ifndef MOR_BASE_SUM_H
#define MOR_BASE_SUM_H

#include <stddef.h>
#include <stdint.h>

/* and of the bytes before, if `before` is their checksum */
uint64_t mor_sum(const void *bytes, size_t len, uint64_t before);

/* Over pieces of any size; the result is the same. Only for the stack: malloc() does not align it enough. */
struct mor_summer {
	_Alignas(64) unsigned char state[576];
};
void mor_summer_begin(struct mor_summer *summer);
void mor_summer_add(struct mor_summer *summer, const void *bytes, size_t len);
uint64_t mor_summer_end(const struct mor_summer *summer);

#endif
