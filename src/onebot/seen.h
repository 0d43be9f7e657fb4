/* SPDX-License-Identifier: Apache-2.0 */
/* Which messages have come already: the last MOR_SEEN of them. */
#ifndef MOR_ONEBOT_SEEN_H
#define MOR_ONEBOT_SEEN_H

#include <stdbool.h>
#include <stdint.h>

#include "onebot/onebot.h"

#define MOR_SEEN 8192

/* Hashes in the order they came, and where each is found: a table of twice the size, probed one after the other. */
struct mor_seen {
	uint64_t seed;
	uint64_t ring[MOR_SEEN];
	uint64_t table[2 * MOR_SEEN]; /* 0: free */
	size_t count, next;
};

void mor_seen_init(struct mor_seen *seen);
/* True: this message has come before. A message is who wrote which one where, to which account; one without an id is
 * always new. */
bool mor_seen_before(struct mor_seen *seen, const struct mor_onebot_event *event);

#endif
