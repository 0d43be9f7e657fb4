/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contents of the cache: CACHE/blobs/DIGEST, written once, read-only, with a constant time. Only for
 * staging.
 *
 * Before its first use in a run a content is hashed and must match its name. Before each further use its
 * mode, size and time are checked. A changed file is written again from the archive.
 */
#ifndef MOR_KYTHE_STAGE_BLOBS_H
#define MOR_KYTHE_STAGE_BLOBS_H

#include <stddef.h>
#include <stdint.h>

#include <mortise/mortise.h>

#include "kythe/archive/kzip.h"

struct mor_blobs {
	int dir;           /* directory of the contents; the owner's */
	int work;          /* directory where they are made; the owner's */
	const char *place; /* path of the cache, for texts; borrowed */
	unsigned next;
	uint64_t *known; /* hashed in this run: open addressing by the digest's first 64 bits, 0 is free */
	size_t count, slots;
	uint64_t written, written_bytes, mended;
};

/* MORTISE_EINPUT: the archive's content does not match the digest. `number` is its place in the archive. */
int mor_blobs_ensure(struct mor_blobs *blobs, struct mor_kzip *kzip, size_t number, mortise_error *err);
void mor_blobs_fini(struct mor_blobs *blobs); /* closes nothing */

#endif
