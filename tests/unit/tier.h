/* SPDX-License-Identifier: Apache-2.0 */
/* The second tier, inside a test program that counts rounds (tests/README.md, "Two tiers"). */
#ifndef TESTS_UNIT_TIER_H
#define TESTS_UNIT_TIER_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* False in the second tier, and for who starts the program by hand. */
static inline bool tier_first_only(void)
{
	const char *tier = getenv("MORTISE_TIER");

	return tier && strcmp(tier, "1") == 0;
}

static inline unsigned tier_rounds(unsigned first, unsigned all)
{
	return tier_first_only() ? first : all;
}

#endif
