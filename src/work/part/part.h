/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The result of one shard of a run, to be joined with the results of the others: `--shard K/N` of index and
 * extract write a part, `mortise join` reads them.
 *
 * A shard is a range of consecutive units (records, or files). Its part has the pieces of these units, in the
 * order of the input, and then the list of them, as text:
 *
 *	mortise-part 1 COMMAND RUN SHARD SHARDS UNITS GAP
 *	done BYTES SUM
 *	failed BYTES SUM CODE NAME<tab>why it failed
 *	end LENGTH CHECK
 *
 * RUN is equal for all parts of one run. UNITS is their number in the whole run, SUM the checksum of a piece
 * (base/sum.h), GAP 1 if a blank line separates pieces. The last line has 16 digits each: the length of
 * everything before it in the list, and its checksum. The list is at the end because a run appends its pieces
 * as they come; and a part that was cut has no list.
 */
#ifndef MOR_PART_PART_H
#define MOR_PART_PART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mortise/mortise.h>

#include "base/buf.h"
#include "base/digest.h"

#define MOR_PART_SHARDS_LIMIT 1000000u

/* "K/N"; both 0: the whole run. */
struct mor_shard {
	uint32_t shard, shards;
};
/* MORTISE_EINVAL names what is wrong. NULL text: the whole run. */
int mor_shard_parse(const char *text, struct mor_shard *ret, mortise_error *err);
/* The range of units that belongs to it. */
void mor_shard_range(struct mor_shard shard, size_t units, size_t *ret_first, size_t *ret_count);

struct mor_part_head {
	char command[16]; /* "index", "extract" */
	char run[MOR_DIGEST_SIZE];
	struct mor_shard shard;
	uint64_t units; /* of the whole run */
	bool gap;
};

struct mor_part_piece {
	uint64_t bytes, sum;
	int code;              /* 0: done; else the status of its failure */
	struct mor_slice name; /* of a failed unit ... */
	struct mor_slice why;  /* ... one line */
};

/* ---- writing: one of these for a part, one of these for each of its units, and one of these ---- */

void mor_part_list_begin(const struct mor_part_head *head, struct mor_buf *list);
void mor_part_list_add(const struct mor_part_piece *piece, struct mor_buf *list);
void mor_part_list_end(struct mor_buf *list);

/* ---- reading ---- */

struct mor_part {
	const char *path; /* borrowed */
	int fd;
	struct mor_part_head head;
	struct mor_part_piece *pieces;
	size_t count;
	uint64_t bytes; /* of all pieces */
	char *list;     /* its text: names and reasons point into it */
};

/* Reads head and list; the pieces themselves are checked while they are copied. MORTISE_ENOTFOUND,
 * MORTISE_EINPUT: it is not a part, or not a complete one. */
int mor_part_open(const char *path, struct mor_part **ret, mortise_error *err);
struct mor_part *mor_part_free(struct mor_part *part); /* NULL is fine; returns NULL */

/* Puts them in their order. MORTISE_EINPUT: one is missing, doubled, or belongs to another run; the text has
 * its path, or its number. */
int mor_parts_order(struct mor_part **parts, size_t count, mortise_error *err);
/* Copies the pieces. `first`: nothing was written before; it is kept up to date. MORTISE_EINPUT: a piece is not
 * what its run wrote. */
int mor_part_copy(struct mor_part *part, int to, bool *first, mortise_error *err);

#endif
