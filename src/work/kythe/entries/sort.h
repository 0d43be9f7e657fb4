/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sorts entries, however many: what does not fit into memory goes into unnamed files, as sorted runs, which are
 * merged. The order is that of Kythe's own tools: source (corpus, language, path, root, signature), edge kind,
 * fact name, target; then the fact's value, and the bytes of the record. So equal entries give equal streams,
 * whatever their order was.
 */
#ifndef MOR_KYTHE_ENTRIES_SORT_H
#define MOR_KYTHE_ENTRIES_SORT_H

#include "kythe/entries/entries.h"

#define MOR_SORT_FAN 64 /* runs that are merged at once */

struct mor_sorter;

/* `memory`: bytes of entries that are held at once; 0: 256 MiB. `dir`: where runs go. */
int mor_sorter_new(size_t memory, const char *dir, struct mor_sorter **ret, mortise_error *err);
struct mor_sorter *mor_sorter_free(struct mor_sorter *sorter); /* NULL is fine; returns NULL */
/* Both are copied. */
int mor_sorter_add(struct mor_sorter *sorter, const struct mor_entry *entry, mortise_error *err);
/* Gives all, as a stream of protobuf, in pieces. `unique`: of equal entries only one. */
int mor_sorter_finish(struct mor_sorter *sorter, bool unique, mor_entries_sink_fn *sink, void *arg,
		      mortise_error *err);

struct mor_sorter_stats {
	uint64_t entries, dropped; /* given; equal ones that were left out */
	uint64_t runs;             /* that went to the disk */
};
struct mor_sorter_stats mor_sorter_stats(const struct mor_sorter *sorter);

#endif
