/* SPDX-License-Identifier: Apache-2.0 */
/* Packs the archive of a writer. Used only by write.c. */
#ifndef MOR_KYTHE_ARCHIVE_PACK_H
#define MOR_KYTHE_ARCHIVE_PACK_H

#include <stddef.h>
#include <stdint.h>

#include <mortise/mortise.h>

#include "base/digest.h"
#include "kythe/archive/kzip_place.h"

struct mor_kzip_item {
	char digest[MOR_DIGEST_SIZE];
	enum mor_kzip_place place;
	char *source;          /* of a unit: its first source file, cleaned; else NULL */
	uint64_t offset, size; /* its place in the spool */
};

/* Sorts the items and writes them to `to`, an empty regular file (libzip seeks back while it writes). */
int mor_kzip_pack(int spool, struct mor_kzip_item *items, size_t count, int to, mortise_error *err);

#endif
