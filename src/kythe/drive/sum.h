/* SPDX-License-Identifier: Apache-2.0 */
/* A sum over bytes that tells one flipped bit, or a thousand, from none. It is quick (XXH3) and no secret: against accidents, not
 * against people; see base/digest.h for those. */
#ifndef MOR_KYTHE_DRIVE_SUM_H
#define MOR_KYTHE_DRIVE_SUM_H

#include <stddef.h>
#include <stdint.h>

uint64_t mor_sum(const void *bytes, size_t len, uint64_t before); /* and of what came before, if that is its sum */

/* Over pieces: however they are cut, the sum is the same. On the stack only: malloc() would not align it so. */
struct mor_summer {
	_Alignas(64) unsigned char state[576];
};
void mor_summer_begin(struct mor_summer *summer);
void mor_summer_add(struct mor_summer *summer, const void *bytes, size_t len);
uint64_t mor_summer_end(const struct mor_summer *summer);

#endif
