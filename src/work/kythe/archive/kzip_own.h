/* SPDX-License-Identifier: Apache-2.0 */
/* An archive, as the files of this room see it: kzip.c opens it, kzip_read.c reads what is in it, write.c
 * collects what becomes one, and pack.c packs it. */
#ifndef MOR_KYTHE_ARCHIVE_KZIP_OWN_H
#define MOR_KYTHE_ARCHIVE_KZIP_OWN_H

#include <zip.h>

#include "base/digest.h"
#include "kythe/archive/kzip.h"

/* The directories below the root, in the order in which they are written. */
enum mor_kzip_place { MOR_KZIP_IN_FILES, MOR_KZIP_IN_PBUNITS, MOR_KZIP_IN_UNITS, MOR_KZIP_PLACES };
extern const char *const mor_kzip_places[MOR_KZIP_PLACES]; /* "files/" … */

struct mor_kzip_entry {
	char digest[MOR_DIGEST_SIZE];
	uint64_t index, size; /* in the archive; unpacked */
	size_t number;        /* number among its kind, in the archive's order */
};

struct mor_kzip_entries {
	struct mor_kzip_entry *item; /* sorted by digest when all are read */
	size_t count, room;
};

struct mor_kzip {
	char *path, *root;
	zip_t *zip;
	struct mor_kzip_options opt;
	struct mor_kzip_entries items[MOR_KZIP_PLACES];
	size_t *unit_order; /* number of a unit -> its index in the sorted list */
	enum mor_kzip_encoding encoding;
};

/* NULL: no entry has that name. */
const struct mor_kzip_entry *mor_kzip_find(const struct mor_kzip_entries *items, const char *digest);
/* The units that are read: where units are there in both encodings, the ones on the wire. */
struct mor_kzip_entries *mor_kzip_units(const struct mor_kzip *kzip);
void mor_kzip_warn(const struct mor_kzip *kzip, const char *text);

/* What a writer has collected. */
struct mor_kzip_item {
	char digest[MOR_DIGEST_SIZE];
	enum mor_kzip_place place;
	char *source;          /* of a unit: its first source file, cleaned; else NULL */
	uint64_t offset, size; /* its place in the spool */
};
/* Sorts the items and writes them to `to`, an empty regular file (libzip seeks back while it writes). */
int mor_kzip_pack(int spool, struct mor_kzip_item *items, size_t count, int to, mortise_error *err);

#endif
