/* SPDX-License-Identifier: Apache-2.0 */
#include "onebot/seen.h"

#include <string.h>
#include <sys/random.h>

#include "base/hash.h"

#define PLACES (2 * MOR_SEEN)

/* The seed is secret, so that nobody can make an id that hides another person's message. */
void mor_seen_init(struct mor_seen *seen)
{
	memset(seen, 0, sizeof(*seen));
	if (getrandom(&seen->seed, sizeof(seen->seed), 0) != sizeof(seen->seed))
		seen->seed = MOR_HASH_BEGIN;
}

static uint64_t mix(uint64_t hash, const char *text)
{
	hash = mor_hash_add(hash, text, text ? strlen(text) : 0);
	hash = mor_hash_add(hash, "\xff", 1); /* separates one part from the next */
	return hash ^ hash >> 29;
}

static uint64_t hash_of(const struct mor_seen *seen, const struct mor_onebot_event *event)
{
	uint64_t hash = mix(mix(mix(mix(seen->seed, event->self_id), event->group_id), event->user_id),
			    event->message_id);

	return hash ? hash : 1;
}

static size_t find_hash(const struct mor_seen *seen, uint64_t hash)
{
	size_t at = hash % PLACES;

	while (seen->table[at] && seen->table[at] != hash)
		at = (at + 1) % PLACES;
	return at;
}

/* Later entries that a probe would no longer find are moved up. */
static void forget_hash(struct mor_seen *seen, uint64_t hash)
{
	size_t hole = find_hash(seen, hash);

	if (!seen->table[hole])
		return;
	seen->table[hole] = 0;
	for (size_t at = (hole + 1) % PLACES; seen->table[at]; at = (at + 1) % PLACES) {
		uint64_t moved = seen->table[at];

		seen->table[at] = 0;
		seen->table[find_hash(seen, moved)] = moved;
	}
}

bool mor_seen_before(struct mor_seen *seen, const struct mor_onebot_event *event)
{
	uint64_t hash;
	size_t at;

	if (!event->message_id)
		return false;
	hash = hash_of(seen, event);
	at = find_hash(seen, hash);
	if (seen->table[at])
		return true;
	if (seen->count == MOR_SEEN) {
		forget_hash(seen, seen->ring[seen->next]);
		at = find_hash(seen, hash);
	}
	seen->table[at] = hash;
	seen->ring[seen->next] = hash;
	seen->next = (seen->next + 1) % MOR_SEEN;
	seen->count += seen->count < MOR_SEEN;
	return false;
}
