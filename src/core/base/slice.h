/* SPDX-License-Identifier: Apache-2.0 */
/* A borrowed run of bytes. Not NUL-terminated: compare with mor_slice_eq(), never with str*. */
#ifndef MOR_BASE_SLICE_H
#define MOR_BASE_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct mor_slice {
	const char *ptr; /* NULL: absent */
	size_t len;
};

#define MOR_SLICE(literal) ((struct mor_slice){ (literal), sizeof(literal) - 1 })

static inline struct mor_slice mor_slice_of(const char *text)
{
	return (struct mor_slice){ text, text ? strlen(text) : 0 };
}

static inline bool mor_slice_eq(struct mor_slice a, struct mor_slice b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

static inline bool mor_slice_is(struct mor_slice a, const char *text)
{
	return mor_slice_eq(a, mor_slice_of(text));
}

/* Without its first `count` bytes. */
static inline struct mor_slice mor_slice_from(struct mor_slice text, size_t count)
{
	return (struct mor_slice){ count ? text.ptr + count : text.ptr, text.len - count };
}

/* Takes the text up to `end`, which goes too; all of it, if there is no `end`. */
static inline struct mor_slice mor_slice_cut(struct mor_slice *rest, char end)
{
	const char *at = rest->len ? (const char *)memchr(rest->ptr, end, rest->len) : NULL;
	struct mor_slice piece = { rest->ptr, at ? (size_t)(at - rest->ptr) : rest->len };

	*rest = mor_slice_from(*rest, piece.len + (at != NULL));
	return piece;
}

/* Without the bytes of `blanks` at both ends. */
static inline struct mor_slice mor_slice_trim(struct mor_slice text, const char *blanks)
{
	size_t count = strlen(blanks);

	while (text.len && memchr(blanks, text.ptr[0], count))
		text = (struct mor_slice){ text.ptr + 1, text.len - 1 };
	while (text.len && memchr(blanks, text.ptr[text.len - 1], count))
		text.len--;
	return text;
}

#endif
