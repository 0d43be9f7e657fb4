/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a unit as places in a tree: paths cleaned, sorted and checked, as text. The file system is
 * asked only for files that MOR_STAGE_DIR cannot show. Only for staging. */
#ifndef MOR_KYTHE_STAGE_ITEMS_H
#define MOR_KYTHE_STAGE_ITEMS_H

#include "base/digest.h"
#include "kythe/stage/stage.h"

struct mor_stage_item {
	char *path;                   /* clean, relative to the tree */
	const char *spelled;          /* the unit's: valid while its tree is made */
	char digest[MOR_DIGEST_SIZE]; /* "": a directory */
	bool optional;                /* not an input: an input replaces it */
};

#define MOR_SKETCH_WORDS 32

struct mor_stage_items {
	struct mor_stage_item *at;
	size_t count;
	char *working_dir;
	const struct mor_kzip *kzip; /* the archive of the contents */
	/* one bit per path and content: a quick estimate of how much two units differ */
	uint64_t sketch[MOR_SKETCH_WORDS];
};

/* Sorted, each path once. MORTISE_EINPUT with a text that names the path: the record contradicts itself, or
 * the mode cannot show it. Free *ret in every case. */
int mor_stage_items_list(const struct mor_unit *unit, enum mor_stage_mode mode, struct mor_stage_items **ret,
			 mortise_error *err);
struct mor_stage_items *mor_stage_items_free(struct mor_stage_items *items); /* NULL is fine; returns NULL */
/* two struct mor_stage_item, for qsort(): what lies below a path follows it */
int mor_stage_items_compare(const void *a, const void *b);
bool mor_stage_item_is_dir(const struct mor_stage_item *item);
/* length of its directory in its path; of a directory: all of it */
size_t mor_stage_item_dir_len(const struct mor_stage_item *item);
/* The deepest directories, with the working directory: NULL-terminated, one block; NULL: no memory. */
const char **mor_stage_items_directories(const struct mor_stage_items *items);
/* one tree fits both */
bool mor_stage_items_equal(const struct mor_stage_items *a, const struct mor_stage_items *b);
/* An estimate of the number of files that only one of them has. */
unsigned mor_stage_items_distance(const struct mor_stage_items *a, const struct mor_stage_items *b);

#endif
