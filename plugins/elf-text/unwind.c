/* SPDX-License-Identifier: Apache-2.0 */
/* .eh_frame, as in the Linux Standard Base (chapter "Exception Frames") and DWARF 4, section 6.4.1. */
#include "unwind.h"

#include <string.h>

enum {
	PE_ABSPTR = 0x00,
	PE_UDATA2 = 0x02,
	PE_UDATA4 = 0x03,
	PE_UDATA8 = 0x04,
	PE_SDATA2 = 0x0a,
	PE_SDATA4 = 0x0b,
	PE_SDATA8 = 0x0c,
	PE_FORMAT = 0x0f,
	PE_PCREL = 0x10,
	PE_BASE = 0x70,
	PE_OMIT = 0xff
};

/* Reads from `p` and never past `end`; after the first read that does not fit, all give 0. */
struct cursor {
	const struct elf_file *file;
	const unsigned char *start, *p, *end;
	uint64_t addr; /* of `start`, once loaded */
	bool broken;
};

static uint64_t take(struct cursor *c, unsigned bytes)
{
	bool big = c->file->header.e_ident[EI_DATA] == ELFDATA2MSB;
	uint64_t value = 0;

	if ((size_t)(c->end - c->p) < bytes) {
		c->broken = true;
		return 0;
	}
	for (unsigned i = 0; i < bytes; i++)
		value |= (uint64_t)c->p[big ? bytes - 1 - i : i] << (8 * i);
	c->p += bytes;
	return value;
}

/* Signed and unsigned alike: only ever skipped. Bits past 64 are dropped, the bytes still consumed. */
static uint64_t take_leb(struct cursor *c)
{
	uint64_t value = 0;

	for (unsigned shift = 0; !c->broken; shift += 7) {
		uint64_t byte = take(c, 1);

		if (shift < 64)
			value |= (byte & 0x7f) << shift;
		if (!(byte & 0x80))
			break;
	}
	return value;
}

static uint64_t take_format(struct cursor *c, unsigned format)
{
	switch (format) {
	case PE_ABSPTR:
		return take(c, c->file->header.e_ident[EI_CLASS] == ELFCLASS64 ? 8 : 4);
	case PE_UDATA2:
		return take(c, 2);
	case PE_UDATA4:
		return take(c, 4);
	case PE_UDATA8:
	case PE_SDATA8:
		return take(c, 8);
	case PE_SDATA2:
		return (uint64_t)(int64_t)(int16_t)take(c, 2);
	case PE_SDATA4:
		return (uint64_t)(int64_t)(int32_t)take(c, 4);
	default:
		c->broken = true;
		return 0;
	}
}

/* pc-relative to the field itself, which is why the cursor knows its address. */
static uint64_t take_pointer(struct cursor *c, unsigned encoding)
{
	uint64_t here = c->addr + (uint64_t)(c->p - c->start);
	uint64_t value = take_format(c, encoding & PE_FORMAT);

	if ((encoding & PE_BASE) == PE_PCREL)
		value += here;
	else if (encoding & PE_BASE)
		c->broken = true; /* relative to text, data or function start: nobody emits it here */
	return c->file->header.e_ident[EI_CLASS] == ELFCLASS64 ? value : (uint32_t)value;
}

/* The pointer encoding that a CIE sets for its FDEs; false when it cannot be told. `c` stands behind the
 * CIE's id field. */
static bool cie_encoding(struct cursor *c, unsigned *ret)
{
	unsigned version = (unsigned)take(c, 1);
	const unsigned char *letters = c->p;
	const unsigned char *nul = c->broken ? NULL : memchr(c->p, '\0', (size_t)(c->end - c->p));
	unsigned encoding = PE_ABSPTR;

	if (!nul || (*letters != 'z' && *letters != '\0'))
		return false;
	c->p = nul + 1;
	take_leb(c);
	take_leb(c);
	if (version == 1)
		take(c, 1);
	else
		take_leb(c);
	if (*letters == 'z')
		take_leb(c);
	for (; *letters && !c->broken; letters++)
		if (*letters == 'R')
			encoding = (unsigned)take(c, 1);
		else if (*letters == 'L')
			take(c, 1);
		else if (*letters == 'P')
			take_pointer(c, (unsigned)take(c, 1) & (PE_FORMAT | PE_PCREL));
	*ret = encoding;
	return !c->broken && encoding != PE_OMIT;
}

/* One record: `c` covers what stands behind its length field. False stops the walk. */
static bool read_record(struct cursor *c, const struct cursor *all, unwind_found_fn *found, void *arg)
{
	const unsigned char *id_at = c->p;
	uint64_t id = take(c, 4), addr, size;
	struct cursor cie = *all;
	unsigned encoding;

	if (c->broken || id == 0 || id > (uint64_t)(id_at - all->start))
		return true;
	/* The id of an FDE is the way back to its CIE, whose own length is read anew: it may lie anywhere. */
	cie.p = id_at - id;
	if (take(&cie, 4) == 0xffffffff || take(&cie, 4) != 0 || cie.broken || !cie_encoding(&cie, &encoding))
		return true;
	addr = take_pointer(c, encoding);
	size = take_format(c, encoding & PE_FORMAT);
	if (c->broken || addr == 0 || size == 0)
		return true;
	return found(addr, size, arg);
}

void unwind_walk(const struct elf_file *file, unwind_found_fn *found, void *arg)
{
	const struct section *frame = elf_file_section(file, ".eh_frame");
	struct cursor all = { .file = file };

	/* In a relocatable file the addresses are still to be filled in. */
	if (!frame || !frame->data || file->header.e_type == ET_REL)
		return;
	all.start = all.p = frame->data;
	all.end = frame->data + frame->size;
	all.addr = frame->addr;
	for (;;) {
		uint64_t length = take(&all, 4);
		struct cursor record = all;

		/* 0 ends the section; 0xffffffff begins a 64-bit length, which no linker writes here. */
		if (all.broken || length == 0 || length > (uint64_t)(all.end - all.p))
			return;
		record.end = all.p + length;
		if (!read_record(&record, &all, found, arg))
			return;
		all.p = record.end;
	}
}
