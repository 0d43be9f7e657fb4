/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory. Everything the library allocates goes through here, so that tests/fault can fail the n-th
 * allocation: mor_alloc_fail_after(n) makes the n-th call from now (0: the next) return NULL, and
 * every later one too until it is turned off with a negative number. One counter per process, atomic.
 */
#ifndef MOR_BASE_ALLOC_H
#define MOR_BASE_ALLOC_H

#include <stddef.h>

void *mor_alloc(size_t size); /* not zeroed; size 0 gives 1 byte */
void *mor_zalloc(size_t size);
void *mor_realloc(void *memory, size_t size); /* the old block stays valid on failure */
char *mor_strdup(const char *text);           /* NULL in, NULL out */
char *mor_strndup(const char *text, size_t len);
void *mor_free(void *memory); /* NULL in, NULL out */
/* Makes room for one more element in an array of `count` elements: `array` points to the pointer, which may
 * move. 0 or -1; the array stays valid in both cases. */
int mor_grow(void *array, size_t count, size_t *cap, size_t element_size);
/* Adds a text at the end of a NULL-terminated list (NULL: an empty one). Takes `text`; NULL is a failed
 * allocation. 0 or -1; the list stays valid in both cases. */
int mor_texts_push_take(char ***list, char *text);
char **mor_texts_free(char **list); /* such a list with its texts; returns NULL */

void mor_alloc_fail_after(long count);
/* The number of all allocations since the start of the process (calls, not bytes). */
long mor_alloc_count(void);

/* MOR_CLEAN(mor_buf) struct mor_buf b = ...; runs mor_buf_fini(&b) at the end of the scope. */
#define MOR_CLEAN(type) __attribute__((cleanup(type##_fini)))
static inline void mor_text_fini(char **text)
{
	mor_free(*text);
}
/* For MOR_CLEAN: mor_graph_fini(), which frees by mor_graph_free(). */
#define MOR_FINI_BY_FREE(name) \
	static inline void name##_fini(struct name **it) \
	{ \
		*it = name##_free(*it); \
	} \
	struct name
/* MOR_CLEAN_TEXT char *t = NULL; */
#define MOR_CLEAN_TEXT __attribute__((cleanup(mor_text_fini)))

/* Hands a pointer over: returns it and leaves NULL behind. */
#define mor_take(pointer_to) \
	({ \
		__typeof__(*(pointer_to)) taken_ = *(pointer_to); \
		*(pointer_to) = NULL; \
		taken_; \
	})

#endif
