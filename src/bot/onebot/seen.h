/* SPDX-License-Identifier: Apache-2.0 */
/* The last MOR_SEEN messages, to know which ones have come before. */
#ifndef MOR_ONEBOT_SEEN_H
#define MOR_ONEBOT_SEEN_H

#include <stdbool.h>
#include <stdint.h>

#include "onebot/onebot.h"

#define MOR_SEEN 8192

/* Hashes in the order of arrival, and a table of twice the size to find them, with linear probing. */
struct mor_seen {
	uint64_t seed;
	uint64_t ring[MOR_SEEN];
	uint64_t table[2 * MOR_SEEN]; /* 0: free */
	size_t count, next;
};

void mor_seen_init(struct mor_seen *seen);
/* True: this message has come before. A message is identified by its account, place, writer and id. A
 * message without an id is always new. */
bool mor_seen_before(struct mor_seen *seen, const struct mor_onebot_event *event);

#endif
