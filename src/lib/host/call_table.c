/* SPDX-License-Identifier: Apache-2.0 */
/* Pending calls by id: a chained hash table. Ids count up, so their low bits are a perfect hash. */
#include "host/call_table.h"
#include "base/alloc.h"
#include "base/apart.h"
#include "host/call.h"

#define FIRST_SLOTS 8

static mortise_call **slot_of(const struct mor_call_table *table, int64_t id)
{
	return &table->slots[(size_t)id & table->mask];
}

MOR_APART static int grow(struct mor_call_table *table)
{
	size_t old_count = table->slots ? table->mask + 1 : 0;
	size_t count = old_count ? old_count * 2 : FIRST_SLOTS;
	struct mor_call_table wider = { mor_zalloc(count * sizeof(*wider.slots)), count - 1, table->count };

	if (!wider.slots)
		return MORTISE_ENOMEM;
	for (size_t i = 0; i < old_count; i++) {
		for (mortise_call *call = table->slots[i], *next; call; call = next) {
			next = call->chain;
			call->chain = *slot_of(&wider, call->id);
			*slot_of(&wider, call->id) = call;
		}
	}
	mor_free(table->slots);
	*table = wider;
	return 0;
}

int mor_call_table_add(struct mor_call_table *table, mortise_call *call)
{
	if (!table->slots || table->count > table->mask) {
		int r = grow(table);

		if (r < 0)
			return r;
	}
	call->chain = *slot_of(table, call->id);
	*slot_of(table, call->id) = call;
	table->count++;
	return 0;
}

mortise_call *mor_call_table_find(const struct mor_call_table *table, int64_t id)
{
	mortise_call *call = table->slots && id > 0 ? *slot_of(table, id) : NULL;

	while (call && call->id != id)
		call = call->chain;
	return call;
}

void mor_call_table_remove(struct mor_call_table *table, mortise_call *call)
{
	for (mortise_call **at = slot_of(table, call->id); *at; at = &(*at)->chain) {
		if (*at == call) {
			*at = call->chain;
			table->count--;
			return;
		}
	}
}

void mor_call_table_fini(struct mor_call_table *table)
{
	mor_free(table->slots);
	*table = (struct mor_call_table){ 0 };
}
