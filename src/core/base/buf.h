/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A growing byte buffer with a limit. Appending to a failed buffer does nothing. So a caller may append many
 * times and check mor_buf_failed() once. All memory is one block.
 */
#ifndef MOR_BASE_BUF_H
#define MOR_BASE_BUF_H

#include <stdarg.h>

#include "base/slice.h"

/* malloc() maps blocks of this size (mallopt(3), M_MMAP_THRESHOLD): they grow without a copy, what was not
 * written to is no memory, and all of it is given back when they are freed. */
#define MOR_BUF_MAPPED ((size_t)33 * 1024 * 1024)

struct mor_buf {
	char *data;
	size_t len, cap;
	size_t limit; /* 0: none */
	int status;   /* 0, MORTISE_ENOMEM or MORTISE_ELIMIT; kept until mor_buf_fini/reset */
};

/* clang-format off */
#define MOR_BUF_INIT { 0 }
/* clang-format on */

void mor_buf_release(struct mor_buf *buf);
/* Most buffers on a stack are never written to: then this costs nothing. */
static inline void mor_buf_fini(struct mor_buf *buf)
{
	if (buf->data)
		mor_buf_release(buf);
	buf->status = 0;
}
/* Empties it. Keeps the memory if it is at most keep bytes, else frees it. */
void mor_buf_reset(struct mor_buf *buf, size_t keep);
int mor_buf_make_room(struct mor_buf *buf, size_t more);
/* Makes room for `more` bytes at data + len. Returns 0 or a status. */
static inline int mor_buf_reserve(struct mor_buf *buf, size_t more)
{
	return !buf->status && !buf->limit && more <= buf->cap - buf->len ? 0 : mor_buf_make_room(buf, more);
}
int mor_buf_append(struct mor_buf *buf, const void *bytes, size_t len);
int mor_buf_text(struct mor_buf *buf, const char *text);
int mor_buf_slice(struct mor_buf *buf, struct mor_slice slice);
int mor_buf_byte(struct mor_buf *buf, char byte);
int mor_buf_printf(struct mor_buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));
int mor_buf_vprintf(struct mor_buf *buf, const char *format, va_list args)
	__attribute__((format(printf, 2, 0)));
/* `text` as a JSON string with its quotes; bytes that are not UTF-8 become U+FFFD. */
int mor_buf_json_string(struct mor_buf *buf, struct mor_slice text);
/* `word` as one word of a shell's command line, in quotes where it needs them. */
int mor_buf_shell_word(struct mor_buf *buf, const char *word);
/* Drops `count` bytes from the front. */
void mor_buf_consume(struct mor_buf *buf, size_t count);
/* The content as a NUL-terminated text that the caller frees, in a block of its size; NULL if the buffer has
 * failed. */
char *mor_buf_detach(struct mor_buf *buf);

/* A formatted text that the caller frees; NULL: no memory. */
char *mor_text_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

static inline bool mor_buf_failed(const struct mor_buf *buf)
{
	return buf->status != 0;
}

static inline struct mor_slice mor_buf_view(const struct mor_buf *buf)
{
	return (struct mor_slice){ buf->data, buf->len };
}

#endif
