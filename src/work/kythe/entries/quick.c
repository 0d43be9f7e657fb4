/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver checks every record of every analyzer, and nearly all have one form: fields in number order,
 * lengths of one byte, ASCII. Such records are checked in one pass without building anything. "No" means
 * "look closer", not "wrong".
 *
 * Lengths are read as one byte without checking their high bit. At the end, the high bit is checked in the
 * whole record, for lengths and texts. And most records have the same source as the one before, which is not
 * checked again. A few have lengths of two bytes: those are checked field by field.
 */
#include <string.h>

#include "kythe/entries/entries.h"
#include "pb/pb.h"

typedef uint64_t vector __attribute__((vector_size(16)));

static inline vector load_vector(const unsigned char *from)
{
	vector bytes;

	memcpy(&bytes, from, sizeof(bytes));
	return bytes;
}

static inline bool is_ascii(const unsigned char *at, const unsigned char *end)
{
	vector high = { 0, 0 };
	unsigned char rest = 0;
	size_t len = (size_t)(end - at);

	if (len >= sizeof(high)) {
		const unsigned char *last = end - sizeof(high);

		/* From both ends, some bytes twice. There is no loop that depends on the length, because the
		 * processor would predict it wrongly for nearly every record. */
		high = load_vector(at) | load_vector(last);
		if (len > 32)
			high |= load_vector(at + 16) | load_vector(last - 16);
		if (len > 64) {
			high |= load_vector(at + 32) | load_vector(last - 32);
			for (at += 48, last -= 32; at < last; at += 32)
				high |= load_vector(at) | load_vector(at + 16);
		}
		return !((high[0] | high[1]) & 0x8080808080808080u);
	}
	while (at < end)
		rest |= *at++;
	return rest < 0x80;
}

enum {
	TAG_1 = 1 << 3 | MOR_PB_BYTES,
	TAG_2 = 2 << 3 | MOR_PB_BYTES,
	TAG_3 = 3 << 3 | MOR_PB_BYTES,
	TAG_4 = 4 << 3 | MOR_PB_BYTES,
	TAG_5 = 5 << 3 | MOR_PB_BYTES
};

/* The end of the field with this tag at `at`; NULL: no such field, or it is too long. */
static inline const unsigned char *behind_field(const unsigned char *at, const unsigned char *end, unsigned tag)
{
	if (end - at < 2 || at[0] != tag || end - at - 2 < at[1])
		return NULL;
	return at + 2 + at[1];
}

/* Checks its form, not yet its bytes. */
static inline bool is_vname(const unsigned char *at, const unsigned char *end)
{
	unsigned last = TAG_1 - 1;

	while (end - at >= 2) {
		if (at[0] <= last || at[0] > TAG_5 || (at[0] & 7) != MOR_PB_BYTES)
			return false;
		last = at[0];
		at += 2 + at[1];
	}
	return at == end;
}

static bool is_value(const unsigned char *at, const unsigned char *end)
{
	uint64_t len;
	int head = at[0] == TAG_5 ? mor_pb_varint((const char *)at + 1, (size_t)(end - at - 1), &len) : 0;

	return head > 0 && (size_t)(end - at - 1 - head) == len;
}

static inline bool is_same(const unsigned char *a, const unsigned char *b, size_t len)
{
	vector differs;

	if (len < 16)
		return memcmp(a, b, len) == 0;
	differs = (load_vector(a) ^ load_vector(b)) | (load_vector(a + len - 16) ^ load_vector(b + len - 16));
	for (size_t i = 16; i + 16 < len; i += 16)
		differs |= load_vector(a + i) ^ load_vector(b + i);
	return !(differs[0] | differs[1]);
}

/* The source of the record before, with its tag. */
struct source {
	const unsigned char *at;
	size_t len;
};

static inline bool is_entry(const unsigned char *at, const unsigned char *end, struct source *source)
{
	const unsigned char *rest = behind_field(at, end, TAG_1), *target, *name;

	if (!rest)
		return false;
	if (((size_t)(rest - at) != source->len || !is_same(at, source->at, source->len)) &&
	    (!is_vname(at + 2, rest) || !is_ascii(at, rest)))
		return false;
	*source = (struct source){ at, (size_t)(rest - at) };
	name = rest;
	if (rest < end && *rest == TAG_2) {
		target = behind_field(rest, end, TAG_2);
		name = target && rest[1] ? behind_field(target, end, TAG_3) : NULL;
		if (!name || !is_vname(target + 2, name))
			return false;
	}
	at = behind_field(name, end, TAG_4);
	return at && name[1] && is_ascii(rest, at) && (at == end || is_value(at, end));
}

/* ---- lengths of two bytes ---- */

/* The field with this tag at *at: its bytes; *at moves past it. */
static inline bool take_field(const unsigned char **at, const unsigned char *end, unsigned tag,
			      const unsigned char *ret[2])
{
	const unsigned char *p = *at;
	size_t len;

	if (end - p < 3 || *p != tag)
		return false;
	len = p[1];
	p += 2;
	if (len >= 0x80) {
		if (*p >= 0x80)
			return false;
		len = (len & 0x7f) | (size_t)*p++ << 7;
	}
	if ((size_t)(end - p) < len)
		return false;
	ret[0] = p;
	ret[1] = *at = p + len;
	return true;
}

static bool is_long_vname(const unsigned char *field[2])
{
	const unsigned char *at = field[0], *part[2];

	for (unsigned tag = TAG_1; tag <= TAG_5; tag += TAG_2 - TAG_1)
		if (take_field(&at, field[1], tag, part) && !is_ascii(part[0], part[1]))
			return false;
	return at == field[1];
}

static bool is_long_entry(const unsigned char *at, const unsigned char *end)
{
	const unsigned char *field[2];

	if (!take_field(&at, end, TAG_1, field) || !is_long_vname(field))
		return false;
	if (take_field(&at, end, TAG_2, field) &&
	    (field[0] == field[1] || !is_ascii(field[0], field[1]) || !take_field(&at, end, TAG_3, field) ||
	     !is_long_vname(field)))
		return false;
	return take_field(&at, end, TAG_4, field) && field[0] < field[1] && is_ascii(field[0], field[1]) &&
	       (at == end || is_value(at, end));
}

size_t mor_entries_quick(struct mor_slice bytes, uint64_t *count)
{
	const unsigned char *begin = (const unsigned char *)bytes.ptr, *at = begin, *end = begin + bytes.len;
	struct source source = { begin, 0 };

	while (end - at >= 2) {
		const unsigned char *record = at + 1;
		size_t len = at[0];

		if (len >= 0x80) {
			if (*record >= 0x80)
				break;
			len = (len & 0x7f) | (size_t)*record++ << 7;
		}
		if ((size_t)(end - record) < len ||
		    (!is_entry(record, record + len, &source) && !is_long_entry(record, record + len)))
			break;
		at = record + len;
		++*count;
	}
	return (size_t)(at - begin);
}
