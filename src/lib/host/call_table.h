/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of a plugin that hold an id, by that id. Chained; the number of slots is a power of two. */
#ifndef MOR_HOST_CALL_TABLE_H
#define MOR_HOST_CALL_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include <mortise/mortise.h>

struct mor_call_table {
	mortise_call **slots;
	size_t mask, count;
};

/* 0, or MORTISE_ENOMEM with nothing changed. */
int mor_call_table_add(struct mor_call_table *table, mortise_call *call);
mortise_call *mor_call_table_find(const struct mor_call_table *table, int64_t id); /* NULL: none */
void mor_call_table_remove(struct mor_call_table *table, mortise_call *call);
void mor_call_table_fini(struct mor_call_table *table);

#endif
