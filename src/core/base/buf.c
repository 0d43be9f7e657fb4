/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two decisions shape this file. A failure is kept, so callers need not check each append. And the block is
 * always one byte longer than `cap`, so that mor_buf_detach() always has room for its NUL.
 */
#include "base/buf.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include <mortise/mortise.h>

#include "base/alloc.h"
#include "base/text.h"

#define SMALLEST 256
#define LARGE    ((size_t)4 * 1024 * 1024)
#define SPARE    64 /* room that a text may be left with */

void mor_buf_release(struct mor_buf *buf)
{
	mor_free(buf->data);
	*buf = (struct mor_buf){ .limit = buf->limit };
}

void mor_buf_reset(struct mor_buf *buf, size_t keep)
{
	if (buf->cap > keep) {
		mor_buf_fini(buf);
		return;
	}
	buf->len = 0;
	buf->status = 0;
}

static int buf_fail(struct mor_buf *buf, int status)
{
	buf->status = status;
	return status;
}

static size_t next_cap(const struct mor_buf *buf, size_t need)
{
	size_t cap = buf->cap < SMALLEST ? SMALLEST : buf->cap;

	while (cap < need)
		cap = cap > SIZE_MAX / 4 ? need : cap * 2;
	if (need > LARGE && !buf->cap) /* mostly everything at once */
		cap = need;
	return buf->limit && cap > buf->limit ? buf->limit : cap;
}

/* A page fault for each 4 KiB costs more than copying them: large blocks ask for large pages. For the whole
 * mapping, with malloc's own bytes before `data`: of a part the kernel would make a mapping of its own, and
 * then the block could not grow without a copy. */
static void want_large_pages(const struct mor_buf *buf)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t begin = (uintptr_t)buf->data & ~(page - 1), end = (uintptr_t)buf->data + buf->cap + page;

	(void)madvise((void *)begin, (end & ~(page - 1)) - begin, MADV_HUGEPAGE);
}

/* One byte more than `cap` is always held, so that mor_buf_detach() has room for its NUL. */
static int buf_grow(struct mor_buf *buf, size_t need)
{
	size_t cap = next_cap(buf, need);
	char *data = mor_realloc(buf->data, cap + 1);

	if (!data && cap > LARGE) /* where address space is limited */
		data = mor_realloc(buf->data, (cap = need) + 1);
	if (!data)
		return buf_fail(buf, MORTISE_ENOMEM);
	buf->data = data;
	buf->cap = cap;
	if (cap >= MOR_BUF_MAPPED)
		want_large_pages(buf);
	return 0;
}

int mor_buf_make_room(struct mor_buf *buf, size_t more)
{
	if (buf->status)
		return buf->status;
	if (buf->limit && (buf->len > buf->limit || more > buf->limit - buf->len))
		return buf_fail(buf, MORTISE_ELIMIT);
	if (more <= buf->cap - buf->len)
		return 0;
	if (more > SIZE_MAX / 2 - buf->len)
		return buf_fail(buf, MORTISE_ENOMEM);
	return buf_grow(buf, buf->len + more);
}

int mor_buf_append(struct mor_buf *buf, const void *bytes, size_t len)
{
	int r = mor_buf_reserve(buf, len);

	if (r == 0 && len) {
		memcpy(buf->data + buf->len, bytes, len);
		buf->len += len;
	}
	return r;
}

int mor_buf_text(struct mor_buf *buf, const char *text)
{
	return mor_buf_append(buf, text, strlen(text));
}

int mor_buf_slice(struct mor_buf *buf, struct mor_slice slice)
{
	return mor_buf_append(buf, slice.ptr, slice.len);
}

int mor_buf_byte(struct mor_buf *buf, char byte)
{
	return mor_buf_append(buf, &byte, 1);
}

int mor_buf_vprintf(struct mor_buf *buf, const char *format, va_list args)
{
	va_list again;
	int need, r;

	va_copy(again, args);
	need = vsnprintf(NULL, 0, format, args);
	r = need < 0 ? buf_fail(buf, MORTISE_ENOMEM) : mor_buf_reserve(buf, (size_t)need);
	if (r == 0) {
		/* The terminating NUL may use the spare byte after cap. */
		if (need)
			vsnprintf(buf->data + buf->len, (size_t)need + 1, format, again);
		buf->len += (size_t)need;
	}
	va_end(again);
	return r;
}

int mor_buf_printf(struct mor_buf *buf, const char *format, ...)
{
	va_list args;
	int r;

	va_start(args, format);
	r = mor_buf_vprintf(buf, format, args);
	va_end(args);
	return r;
}

static void json_escape(struct mor_buf *buf, unsigned char c)
{
	static const char shorts[] = "\bb\ff\nn\rr\tt\"\"\\\\";

	for (const char *s = shorts; *s; s += 2)
		if ((unsigned char)*s == c) {
			mor_buf_byte(buf, '\\');
			mor_buf_byte(buf, s[1]);
			return;
		}
	mor_buf_printf(buf, "\\u%04x", c);
}

int mor_buf_json_string(struct mor_buf *buf, struct mor_slice text)
{
	size_t start = 0, i = 0;

	mor_buf_byte(buf, '"');
	while (i < text.len) {
		unsigned char c = (unsigned char)text.ptr[i];
		size_t step = c < 0x80 ? 1 : mor_utf8_sequence(text.ptr + i, text.len - i);

		if (step && c >= 0x20 && c != '"' && c != '\\') {
			i += step;
			continue;
		}
		mor_buf_append(buf, text.ptr + start, i - start);
		if (step)
			json_escape(buf, c);
		else
			mor_buf_text(buf, "\xef\xbf\xbd");
		start = ++i;
	}
	mor_buf_append(buf, text.ptr ? text.ptr + start : NULL, i - start);
	return mor_buf_byte(buf, '"');
}

int mor_buf_shell_word(struct mor_buf *buf, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=@%+,-";

	if (*word && !word[strspn(word, plain)])
		return mor_buf_text(buf, word);
	mor_buf_byte(buf, '\'');
	for (; *word; word++) {
		if (*word == '\'')
			mor_buf_text(buf, "'\\''");
		else
			mor_buf_byte(buf, *word);
	}
	return mor_buf_byte(buf, '\'');
}

void mor_buf_consume(struct mor_buf *buf, size_t count)
{
	if (count >= buf->len) {
		buf->len = 0;
		return;
	}
	if (count) {
		memmove(buf->data, buf->data + count, buf->len - count);
		buf->len -= count;
	}
}

char *mor_buf_detach(struct mor_buf *buf)
{
	char *text, *shorter;

	if (buf->status)
		return NULL;
	if (!buf->data)
		return mor_strndup("", 0);
	text = buf->data;
	text[buf->len] = '\0';
	if (buf->cap - buf->len > SPARE && (shorter = mor_realloc(text, buf->len + 1)))
		text = shorter;
	*buf = (struct mor_buf){ .limit = buf->limit };
	return text;
}

char *mor_text_format(const char *format, ...)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	va_list args;

	va_start(args, format);
	mor_buf_vprintf(&text, format, args);
	va_end(args);
	return mor_buf_detach(&text);
}
