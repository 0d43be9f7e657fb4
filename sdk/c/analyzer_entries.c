/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Entries: protobuf written by hand, because it is two message types, all fields strings, and a prefix. They
 * are collected in memory and written in large pieces.
 */
#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "analyzer_inside.h"
#include "private_wire.h"

#include "base/alloc.h"
#include "base/fd.h"

#define OUTPUT_STEP ((size_t)1 << 20)

static void put_varint(struct mor_buf *out, uint64_t number)
{
	for (; number >= 0x80; number >>= 7)
		mor_buf_byte(out, (char)(number | 0x80));
	mor_buf_byte(out, (char)number);
}

static size_t varint_size(uint64_t number)
{
	size_t size = 1;

	while (number >>= 7)
		size++;
	return size;
}

/* Strings that are "" are left out, as proto3 does. */
static size_t field_size(size_t len)
{
	return len ? 1 + varint_size(len) + len : 0;
}

static void put_field(struct mor_buf *out, unsigned number, const void *bytes, size_t len)
{
	if (!len)
		return;
	mor_buf_byte(out, (char)(number << 3 | 2));
	put_varint(out, len);
	mor_buf_append(out, bytes, len);
}

#define VNAME_PARTS 5
static void vname_parts(const tenon_vname *vname, struct mor_slice ret[VNAME_PARTS])
{
	const char *parts[VNAME_PARTS] = { vname->signature, vname->corpus, vname->root, vname->path,
					   vname->language };

	for (int i = 0; i < VNAME_PARTS; i++)
		ret[i] = mor_slice_of(parts[i]);
}

static size_t vname_size(const struct mor_slice part[VNAME_PARTS])
{
	size_t size = 0;

	for (int i = 0; i < VNAME_PARTS; i++)
		size += field_size(part[i].len);
	return size;
}

static void put_vname(struct mor_buf *out, unsigned number, const struct mor_slice part[VNAME_PARTS],
		      size_t size)
{
	mor_buf_byte(out, (char)(number << 3 | 2));
	put_varint(out, size);
	for (unsigned i = 0; i < VNAME_PARTS; i++)
		put_field(out, i + 1, part[i].ptr, part[i].len);
}

void tn_flush_entries(tenon_analyzer *a)
{
	if (!a->output_errno && mor_buf_failed(&a->entries))
		a->output_errno = ENOMEM;
	if (!a->output_errno)
		a->output_errno = -mor_fd_write_all(a->output, a->entries.data, a->entries.len);
	mor_buf_reset(&a->entries, TN_ENTRIES_KEPT);
}

static int put_entry(tenon_analyzer *a, const tenon_vname *source, struct mor_slice kind,
		     const tenon_vname *target, struct mor_slice name, struct mor_slice value)
{
	struct mor_slice from[VNAME_PARTS], to[VNAME_PARTS];
	size_t from_size, to_size = 0, size;

	vname_parts(source, from);
	from_size = vname_size(from);
	size = 1 + varint_size(from_size) + from_size + field_size(kind.len) + field_size(name.len) +
	       field_size(value.len);
	if (target) {
		vname_parts(target, to);
		to_size = vname_size(to);
		size += 1 + varint_size(to_size) + to_size;
	}
	put_varint(&a->entries, size);
	put_vname(&a->entries, 1, from, from_size);
	put_field(&a->entries, 2, kind.ptr, kind.len);
	if (target)
		put_vname(&a->entries, 3, to, to_size);
	put_field(&a->entries, 4, name.ptr, name.len);
	put_field(&a->entries, 5, value.ptr, value.len);
	a->entry_count++;
	if (a->entries.len >= OUTPUT_STEP || mor_buf_failed(&a->entries))
		tn_flush_entries(a);
	return a->output_errno ? -a->output_errno : 0;
}

int tenon_fact(tenon_analyzer *a, const tenon_vname *source, const char *name, const void *value, size_t len)
{
	return put_entry(a, source, MOR_SLICE(""), NULL, mor_slice_of(name), (struct mor_slice){ value, len });
}

int tenon_fact_text(tenon_analyzer *a, const tenon_vname *source, const char *name, const char *value)
{
	return tenon_fact(a, source, name, value, strlen(value));
}

int tenon_fact_format(tenon_analyzer *a, const tenon_vname *source, const char *name, const char *format, ...)
{
	MOR_CLEAN(mor_buf) struct mor_buf value = MOR_BUF_INIT;
	va_list args;

	va_start(args, format);
	mor_buf_vprintf(&value, format, args);
	va_end(args);
	if (mor_buf_failed(&value))
		return -ENOMEM;
	return tenon_fact(a, source, name, value.len ? value.data : "", value.len);
}

int tenon_edge(tenon_analyzer *a, const tenon_vname *source, const char *kind, const tenon_vname *target)
{
	return put_entry(a, source, mor_slice_of(kind), target, MOR_SLICE("/"), MOR_SLICE(""));
}

uint64_t tenon_entries(const tenon_analyzer *a)
{
	return a->entry_count;
}
