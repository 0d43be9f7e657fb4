/* SPDX-License-Identifier: Apache-2.0 */
/* Many small pieces of memory that live and die together, in few blocks. Begin with { 0 }, or with a limit. */
#ifndef MOR_BASE_ARENA_H
#define MOR_BASE_ARENA_H

#include "base/slice.h"

struct mor_arena {
	struct mor_arena_block *blocks;
	size_t left;  /* in the newest */
	size_t taken; /* by all blocks */
	size_t limit; /* of `taken`; 0: none */
	bool full;    /* the limit has refused something */
};

/* Aligned for any type, not zeroed. NULL: no memory, or the limit is reached. */
void *mor_arena_take(struct mor_arena *arena, size_t size);
/* The same for an array, all bytes zero. */
void *mor_arena_array(struct mor_arena *arena, size_t count, size_t size);
/* A copy with a NUL behind it; {NULL,0} as above. */
struct mor_slice mor_arena_text(struct mor_arena *arena, struct mor_slice text);
void mor_arena_fini(struct mor_arena *arena);

#endif
