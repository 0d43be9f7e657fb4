/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The usual frame: whole, within the limit, an object from its first byte on, and before it exactly what a
 * plain writer writes. Everything else is for mor_deframe_any(), which says the same of these.
 */
#include <endian.h>
#include <string.h>

#include "wire/framing.h"

#define DIGITS_MAX 8  /* of a usual size */
#define HEAD_MAX   28 /* "Content-Length: ", DIGITS_MAX, two line ends: so many bytes are looked at unchecked */

/* Nothing is half done, and no other framing may come. */
static inline bool is_fresh(const struct mor_deframer *d)
{
	return !(d->scanned | d->blanks | d->skip | d->reads) && !d->skip_line;
}

static inline bool is_whole(const struct mor_deframer *d, size_t head, size_t size, size_t len)
{
	return size <= len - head && (!d->limit || size <= d->limit);
}

/* The number at p; *ret_end after its digits. 0: none, or an unusual one. */
static inline size_t usual_size(const char *p, const char **ret_end)
{
	const char *first = p;
	size_t size = 0;

	if (*p == '0')
		return 0;
	while (p < first + DIGITS_MAX && *p >= '0' && *p <= '9')
		size = size * 10 + (size_t)(*p++ - '0');
	*ret_end = p;
	return size;
}

/* The length of the head before a body of *ret_size bytes; 0: not a usual head. */
static inline size_t usual_head(enum mor_framing framing, const char *w, size_t *ret_size)
{
	static const char name[] = "Content-Length: ";
	const char *end;
	uint32_t size;

	switch (framing) {
	case MOR_FRAMING_DECIMAL:
		*ret_size = usual_size(w, &end);
		return *ret_size && *end == '\n' ? (size_t)(end - w) + 1 : 0;
	case MOR_FRAMING_HEADERS:
		if (memcmp(w, name, sizeof(name) - 1) != 0)
			return 0;
		*ret_size = usual_size(w + sizeof(name) - 1, &end);
		return *ret_size && memcmp(end, "\r\n\r\n", 4) == 0 ? (size_t)(end - w) + 4 : 0;
	case MOR_FRAMING_BE32:
		memcpy(&size, w, 4);
		*ret_size = be32toh(size);
		return *ret_size && *w == '\0' ? 4 : 0;
	default:
		return 0;
	}
}

static bool is_usual_line(const struct mor_deframer *d, const char *window, size_t len, struct mor_item *item)
{
	const char *newline;

	if (d->flags & MOR_DEFRAME_EOF_ENDS || !len || *window != '{')
		return false;
	newline = memchr(window, '\n', len);
	if (!newline || newline[-1] == '\r' || (d->limit && (size_t)(newline - window) > d->limit))
		return false;
	item->body = (struct mor_slice){ window, (size_t)(newline - window) };
	item->used = item->body.len + 1;
	return true;
}

static bool is_usual_sized(const struct mor_deframer *d, const char *window, size_t len, struct mor_item *item)
{
	size_t size = 0, head = len > HEAD_MAX ? usual_head(d->framing, window, &size) : 0;

	if (!head || !is_whole(d, head, size, len) || window[head] != '{')
		return false;
	item->body = (struct mor_slice){ window + head, size };
	item->used = head + size;
	return true;
}

enum mor_item_kind mor_deframe(struct mor_deframer *deframer, const char *window, size_t len, bool at_eof,
			       struct mor_item *ret_item)
{
	*ret_item = (struct mor_item){ .used = 0 };
	if (is_fresh(deframer) &&
	    (deframer->framing == MOR_FRAMING_LINES ? is_usual_line(deframer, window, len, ret_item) :
						      is_usual_sized(deframer, window, len, ret_item)))
		return MOR_ITEM_FRAME;
	return mor_deframe_any(deframer, window, len, at_eof, ret_item);
}
