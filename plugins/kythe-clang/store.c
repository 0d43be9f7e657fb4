/* SPDX-License-Identifier: Apache-2.0 */
#include "index.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK ((size_t)256 << 10)

struct block {
	struct block *next;
	char data[];
};

/* An indexer without memory cannot tell half of the truth: the driver tries the unit again in a new process. */
static void *must(void *memory)
{
	if (!memory) {
		fputs("kythe-clang: out of memory\n", stderr);
		exit(1);
	}
	return memory;
}

void *arena_take(struct arena *arena, size_t size)
{
	void *result;

	size = (size + 15) & ~(size_t)15;
	if (!arena->blocks || arena->used + size > arena->size) {
		size_t room = size > BLOCK ? size : BLOCK;
		struct block *block = must(calloc(1, sizeof(*block) + 16 + room));

		block->next = arena->blocks;
		arena->blocks = block;
		arena->used = 0;
		arena->size = room;
	}
	result = arena->blocks->data + arena->used;
	arena->used += size;
	return result;
}

char *arena_copy(struct arena *arena, const char *text)
{
	size_t size = strlen(text) + 1;

	return memcpy(arena_take(arena, size), text, size);
}

char *arena_printf(struct arena *arena, const char *format, ...)
{
	va_list args, again;
	char *text;
	int len;

	va_start(args, format);
	va_copy(again, args);
	len = vsnprintf(NULL, 0, format, args);
	va_end(args);
	text = arena_take(arena, (size_t)len + 1);
	vsnprintf(text, (size_t)len + 1, format, again);
	va_end(again);
	return text;
}

void arena_free(struct arena *arena)
{
	while (arena->blocks) {
		struct block *block = arena->blocks;

		arena->blocks = block->next;
		free(block);
	}
}

/* ---- tables ---- */

void *table_find(const struct table *table, uint64_t hash, same_fn *same, const void *key)
{
	if (!table->slots)
		return NULL;
	for (size_t i = hash & table->mask; table->slots[i].value; i = (i + 1) & table->mask)
		if (table->slots[i].hash == hash && (!same || same(table->slots[i].value, key)))
			return table->slots[i].value;
	return NULL;
}

static void put(struct table *table, struct slot slot)
{
	size_t i = slot.hash & table->mask;

	while (table->slots[i].value)
		i = (i + 1) & table->mask;
	table->slots[i] = slot;
}

static void grow(struct table *table)
{
	struct table bigger = { .mask = table->slots ? table->mask * 2 + 1 : 255, .count = table->count };

	bigger.slots = must(calloc(bigger.mask + 1, sizeof(struct slot)));
	for (size_t i = 0; table->slots && i <= table->mask; i++)
		if (table->slots[i].value)
			put(&bigger, table->slots[i]);
	free(table->slots);
	*table = bigger;
}

void table_add(struct table *table, uint64_t hash, void *value)
{
	if (!table->slots || table->count * 2 > table->mask)
		grow(table);
	table->count++;
	put(table, (struct slot){ hash, value });
}

void table_free(struct table *table)
{
	free(table->slots);
	*table = (struct table){ 0 };
}

static uint64_t hash_more(uint64_t hash, const char *text)
{
	for (const unsigned char *p = (const unsigned char *)text; *p; p++)
		hash = (hash ^ *p) * 0x100000001b3u;
	return (hash ^ 0xff) * 0x100000001b3u; /* where one text ends and the next begins counts */
}

static uint64_t mix(uint64_t hash)
{
	return (hash ^ hash >> 31) * 0x9e3779b97f4a7c15u;
}

uint64_t hash_text(const char *text)
{
	return mix(hash_more(0xcbf29ce484222325u, text));
}

/* ---- entries, each once ---- */

static uint64_t hash_vname(uint64_t hash, const tenon_vname *vname)
{
	hash = hash_more(hash, vname->signature);
	hash = hash_more(hash, vname->corpus);
	hash = hash_more(hash, vname->root);
	hash = hash_more(hash, vname->path);
	return hash_more(hash, vname->language);
}

/* Two 64-bit hashes over everything: one places the entry, the other is what is compared. */
struct seen {
	uint64_t other;
};

static bool same_seen(const void *value, const void *key)
{
	return ((const struct seen *)value)->other == *(const uint64_t *)key;
}

static bool is_new(struct index *ix, const tenon_vname *source, const char *label, const tenon_vname *target,
		   const char *value)
{
	uint64_t hash[2] = { 0xcbf29ce484222325u, 0x84222325cbf29ce4u };
	struct seen *seen;

	for (int i = 0; i < 2; i++) {
		hash[i] = hash_more(hash_vname(hash[i], source), label);
		hash[i] = mix(target ? hash_vname(hash[i], target) : hash_more(hash[i], value));
	}
	if (table_find(&ix->seen, hash[0], same_seen, &hash[1]))
		return false;
	seen = arena_take(&ix->arena, sizeof(*seen));
	seen->other = hash[1];
	table_add(&ix->seen, hash[0], seen);
	return true;
}

void emit_fact(struct index *ix, const tenon_vname *source, const char *name, const char *value)
{
	if (is_new(ix, source, name, NULL, value))
		tenon_fact_text(ix->analyzer, source, name, value);
}

void emit_edge(struct index *ix, const tenon_vname *source, const char *kind, const tenon_vname *target)
{
	if (source && target && is_new(ix, source, kind, target, ""))
		tenon_edge(ix->analyzer, source, kind, target);
}

void emit_ordinal(struct index *ix, const tenon_vname *source, const char *kind, unsigned n,
		  const tenon_vname *target)
{
	char label[64];

	snprintf(label, sizeof(label), "%s.%u", kind, n);
	emit_edge(ix, source, label, target);
}

void index_fini(struct index *ix)
{
	table_free(&ix->files);
	table_free(&ix->decls);
	table_free(&ix->types);
	table_free(&ix->seen);
	table_free(&ix->macros);
	table_free(&ix->macro_names);
	table_free(&ix->macro_uses);
	table_free(&ix->globals);
	arena_free(&ix->arena);
}
