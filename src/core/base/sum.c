/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sum.h"

#define XXH_INLINE_ALL /* header only: nothing to link or to load */
#include <xxhash.h>

_Static_assert(sizeof(struct mor_summer) >= sizeof(XXH3_state_t), "room for its state");

uint64_t mor_sum(const void *bytes, size_t len, uint64_t before)
{
	return XXH3_64bits_withSeed(bytes, len, before);
}

void mor_summer_begin(struct mor_summer *summer)
{
	XXH3_64bits_reset((XXH3_state_t *)summer->state);
}

void mor_summer_add(struct mor_summer *summer, const void *bytes, size_t len)
{
	XXH3_64bits_update((XXH3_state_t *)summer->state, bytes, len);
}

uint64_t mor_summer_end(const struct mor_summer *summer)
{
	return XXH3_64bits_digest((const XXH3_state_t *)summer->state);
}
