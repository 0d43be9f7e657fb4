/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts what is allocated and not given back. The linker sends every malloc of the program here (--wrap), so
 * the library is measured as it is; a sanitizer's allocator, or libc's, does the work.
 */
#include <malloc.h>
#include <stdlib.h>

#include "model.h"

struct live live;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void __real_free(void *memory);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void __wrap_free(void *memory);

static void *count(void *memory)
{
	if (!memory)
		return NULL;
	live.blocks++;
	live.bytes += (long)malloc_usable_size(memory);
	if (live.bytes > live.peak)
		live.peak = live.bytes;
	return memory;
}

static void discount(void *memory)
{
	if (!memory)
		return;
	live.blocks--;
	live.bytes -= (long)malloc_usable_size(memory);
}

void *__wrap_malloc(size_t size)
{
	return count(__real_malloc(size));
}

void *__wrap_calloc(size_t items, size_t size)
{
	return count(__real_calloc(items, size));
}

void *__wrap_realloc(void *memory, size_t size)
{
	void *moved;

	discount(memory);
	moved = __real_realloc(memory, size);
	count(moved ? moved : memory);
	return moved;
}

void __wrap_free(void *memory)
{
	discount(memory);
	__real_free(memory);
}
