/* SPDX-License-Identifier: Apache-2.0 */
/* "Did you mean": offer candidates one by one, then ask for the best that is near enough. One that
 * would steer a terminal is never the best.
 *	struct mor_nearest near = { .word = typed };
 *	for (...) mor_nearest_offer(&near, name);
 *	mor_nearest_best(&near)   the name, or NULL */
#ifndef MOR_BASE_NEAR_H
#define MOR_BASE_NEAR_H

#include <stddef.h>

struct mor_nearest {
	const char *word, *best;
	size_t distance;
};
void mor_nearest_offer(struct mor_nearest *nearest, const char *candidate);
const char *mor_nearest_best(const struct mor_nearest *nearest);

#endif
