/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contents of the cache: CACHE/blobs/DIGEST, written once, read-only, with a constant time. Inside of staging.
 *
 * Before its first use in a run a content is hashed, and must be what its name says; before each further use mode, size and time
 * are looked at. What was altered is written anew out of the archive.
 */
#ifndef MOR_KYTHE_STAGE_BLOBS_H
#define MOR_KYTHE_STAGE_BLOBS_H

#include <stddef.h>
#include <stdint.h>

#include <mortise/mortise.h>

#include "kythe/archive/kzip.h"

struct mor_blobs {
	int dir;  /* of the contents; the owner's */
	int work; /* where they are made; the owner's */
	const char *place; /* of the cache, for texts; borrowed */
	unsigned next;
	uint64_t *known; /* hashed in this run: open addressing by the digest's first 64 bits, 0 is free */
	size_t count, slots;
	uint64_t written, written_bytes, mended;
};

/* MORTISE_EINPUT: the archive's content is not that of the digest. `number` is its place in the archive. */
int mor_blobs_ensure(struct mor_blobs *blobs, struct mor_kzip *kzip, size_t number, mortise_error *err);
void mor_blobs_fini(struct mor_blobs *blobs); /* closes nothing */

#endif
