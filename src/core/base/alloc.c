/* SPDX-License-Identifier: Apache-2.0 */
/* The counters are relaxed atomics: hosts on several threads share them. Tests that make the n-th allocation
 * fail run on one thread. */
#include "base/alloc.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static atomic_long calls;
static atomic_long fail_in = -1; /* how many calls may still succeed; negative: all of them */

static bool may_allocate(void)
{
	long left = atomic_load_explicit(&fail_in, memory_order_relaxed);

	atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
	/* The counter stops at 0: 0 means "fail", for this call and for all later ones. */
	while (left > 0)
		if (atomic_compare_exchange_weak(&fail_in, &left, left - 1))
			return true;
	return left < 0;
}

void *mor_alloc(size_t size)
{
	return may_allocate() ? malloc(size ? size : 1) : NULL;
}

void *mor_zalloc(size_t size)
{
	return may_allocate() ? calloc(1, size ? size : 1) : NULL;
}

void *mor_realloc(void *memory, size_t size)
{
	return may_allocate() ? realloc(memory, size ? size : 1) : NULL;
}

char *mor_strdup(const char *text)
{
	return text ? mor_strndup(text, strlen(text)) : NULL;
}

char *mor_strndup(const char *text, size_t len)
{
	char *copy = mor_alloc(len + 1);

	if (!copy)
		return NULL;
	if (len)
		memcpy(copy, text, len);
	copy[len] = '\0';
	return copy;
}

void *mor_free(void *memory)
{
	free(memory);
	return NULL;
}

void mor_alloc_fail_after(long count)
{
	atomic_store(&fail_in, count);
}

long mor_alloc_count(void)
{
	return atomic_load_explicit(&calls, memory_order_relaxed);
}

int mor_grow(void *array, size_t count, size_t *cap, size_t element_size)
{
	size_t more = *cap ? *cap * 2 : 32;
	void **at = array, *bigger;

	if (count < *cap)
		return 0;
	if (more > (size_t)-1 / element_size)
		return -1;
	bigger = mor_realloc(*at, more * element_size);
	if (!bigger)
		return -1;
	*at = bigger;
	*cap = more;
	return 0;
}

int mor_texts_push_take(char ***list, char *text)
{
	size_t count = 0;
	char **grown;

	while (*list && (*list)[count])
		count++;
	grown = text ? mor_realloc(*list, (count + 2) * sizeof(*grown)) : NULL;
	if (!grown) {
		mor_free(text);
		return -1;
	}
	grown[count] = text;
	grown[count + 1] = NULL;
	*list = grown;
	return 0;
}

char **mor_texts_free(char **list)
{
	for (char **text = list; text && *text; text++)
		mor_free(*text);
	return mor_free(list);
}
