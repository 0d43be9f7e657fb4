/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include <stdint.h>

#include "base/alloc.h"

#define BLOCK ((size_t)16 << 10)
#define ALIGN _Alignof(max_align_t)

struct mor_arena_block {
	struct mor_arena_block *next;
	size_t size;
	max_align_t data[];
};

static int add_block(struct mor_arena *arena, size_t size)
{
	struct mor_arena_block *block;

	if (arena->limit && size > arena->limit - arena->taken) {
		arena->full = true;
		return -1;
	}
	block = mor_alloc(sizeof(*block) + size);
	if (!block)
		return -1;
	block->next = arena->blocks;
	block->size = arena->left = size;
	arena->blocks = block;
	arena->taken += size;
	return 0;
}

void *mor_arena_take(struct mor_arena *arena, size_t size)
{
	size_t rounded = (size + ALIGN - 1) / ALIGN * ALIGN;

	if (size > SIZE_MAX / 2 ||
	    (rounded > arena->left && add_block(arena, rounded > BLOCK ? rounded : BLOCK) < 0))
		return NULL;
	if (!arena->blocks) /* nothing was asked for, and nothing is there */
		return add_block(arena, BLOCK) < 0 ? NULL : arena->blocks->data;
	arena->left -= rounded;
	return (char *)arena->blocks->data + (arena->blocks->size - arena->left - rounded);
}

void *mor_arena_array(struct mor_arena *arena, size_t count, size_t size)
{
	size_t total;
	void *array;

	if (__builtin_mul_overflow(count, size, &total))
		return NULL;
	array = mor_arena_take(arena, total);
	return array ? memset(array, 0, total) : NULL;
}

struct mor_slice mor_arena_text(struct mor_arena *arena, struct mor_slice text)
{
	char *copy = mor_arena_take(arena, text.len + 1);

	if (!copy)
		return (struct mor_slice){ 0 };
	if (text.len)
		memcpy(copy, text.ptr, text.len);
	copy[text.len] = '\0';
	return (struct mor_slice){ copy, text.len };
}

void mor_arena_fini(struct mor_arena *arena)
{
	for (struct mor_arena_block *block = arena->blocks, *next; block; block = next) {
		next = block->next;
		mor_free(block);
	}
	*arena = (struct mor_arena){ .limit = arena->limit };
}
