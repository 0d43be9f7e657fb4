/* SPDX-License-Identifier: Apache-2.0 */
/* Where something stands among sorted items; bsearch() says only whether it is there. */
#ifndef MOR_BASE_SEARCH_H
#define MOR_BASE_SEARCH_H

#include <stddef.h>

/* The number of the first item that is not before `key`; `count`: all are. `compare` is that of qsort(). */
static inline size_t mor_lower_bound(const void *key, const void *items, size_t count, size_t size,
				     int (*compare)(const void *item, const void *key))
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare((const char *)items + middle * size, key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

#endif
