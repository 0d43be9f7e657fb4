/*
 * The driver looks at every record that analyzers write, and nearly all have one form: fields in number order, lengths of one
 * or two bytes, ASCII. Such a record is seen to be right in one pass without building anything. "No" means "look
 * closer", not "wrong".
 */
#include <stdint.h>

#include "kythe/entries.h"

/* A field of this tag at *at: its bytes, and *at behind it. */
static inline __attribute__((always_inline)) bool take(const unsigned char **at, const unsigned char *end, unsigned tag, struct mor_slice *ret)
{
	const unsigned char *p = *at;
	size_t len;

	if (end - p < 2 || *p != tag)
		return false;
	len = p[1];
	p += 2;
	if (len >= 0x80) {
		if (p == end || *p >= 0x80)
			return false;
		len = (len & 0x7f) | (size_t)*p++ << 7;
	}
	if ((size_t)(end - p) < len)
		return false;
	*ret = (struct mor_slice){ (const char *)p, len };
	*at = p + len;
	return true;
}

static inline bool is_ascii(struct mor_slice text)
{
	uint64_t high = 0, eight;
	size_t i = 0;

	for (; i + sizeof(eight) <= text.len; i += sizeof(eight)) {
		memcpy(&eight, text.ptr + i, sizeof(eight));
		high |= eight;
	}
	for (; i < text.len; i++)
		high |= (unsigned char)text.ptr[i];
	return !(high & 0x8080808080808080u);
}

static unsigned tag_of(unsigned field)
{
	return field << 3 | 2;
}

static bool plain_vname(struct mor_slice bytes)
{
	const unsigned char *at = (const unsigned char *)bytes.ptr, *end = at + bytes.len;
	struct mor_slice part;

	for (unsigned field = 1; field <= MOR_VNAME_PARTS; field++)
		if (take(&at, end, tag_of(field), &part) && !is_ascii(part))
			return false;
	return at == end;
}

bool mor_entry_quick(struct mor_slice record)
{
	const unsigned char *at = (const unsigned char *)record.ptr, *end = at + record.len;
	struct mor_slice source, kind = { 0 }, target, name, value;

	if (!take(&at, end, tag_of(1), &source) || !plain_vname(source))
		return false;
	if (take(&at, end, tag_of(2), &kind) &&
	    (!kind.len || !is_ascii(kind) || !take(&at, end, tag_of(3), &target) || !plain_vname(target)))
		return false;
	if (!take(&at, end, tag_of(4), &name) || !name.len || !is_ascii(name))
		return false;
	return at == end || (take(&at, end, tag_of(5), &value) && at == end);
}
