/* SPDX-License-Identifier: Apache-2.0 */
/* As strings(1) does it, with UTF-8, in data only, and each string once. */
#include "printable.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"

#define STRING_MAX_BYTES 2048 /* of one string; the rest of it counts as the next one */

struct seen { /* a slot of the table of strings that are already out; ptr NULL: free */
	const unsigned char *ptr;
	uint32_t len, hash;
};

struct scan {
	const struct strings_options *options;
	struct text *out;
	struct seen *seen;
	size_t mask, count;
	uint64_t budget; /* bytes still to be looked at: sections may overlap, on purpose */
	unsigned steps;
	bool timeout;
};

/* Length of a printable UTF-8 character, 0 when it is none. Controls of the C1 range do not print. */
static size_t printable(const unsigned char *p, size_t left)
{
	unsigned code = p[0];
	size_t len = code < 0x80 ? 1 :
		     code < 0xc2 ? 0 :
		     code < 0xe0 ? 2 :
		     code < 0xf0 ? 3 :
		     code < 0xf5 ? 4 :
				   0;

	if (len == 1)
		return (code >= 0x20 && code < 0x7f) || code == '\t';
	if (len == 0 || len > left)
		return 0;
	code &= 0x7fU >> len;
	for (size_t i = 1; i < len; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (p[i] & 0x3f);
	}
	if (code < 0xa0 || (len == 3 && code < 0x800) || (len == 4 && (code < 0x10000 || code > 0x10ffff)))
		return 0;
	return code >= 0xd800 && code < 0xe000 ? 0 : len;
}

/* FNV-1a. Whoever aims for collisions meets the time limit. */
static uint32_t hash_of(const unsigned char *p, size_t len)
{
	uint32_t hash = 2166136261U;

	while (len--)
		hash = (hash ^ *p++) * 16777619U;
	return hash;
}

static bool out_of_time(struct scan *scan)
{
	if (++scan->steps % 256 == 0 && clock_passed(scan->options->deadline_ns))
		scan->timeout = true;
	return scan->timeout;
}

/* True when it was not there before. The table is never more than half full. */
static bool remember(struct scan *scan, const unsigned char *p, size_t len)
{
	uint32_t hash = hash_of(p, len);
	size_t i = hash & scan->mask;

	for (; scan->seen[i].ptr; i = (i + 1) & scan->mask) {
		const struct seen *s = &scan->seen[i];

		if (s->hash == hash && s->len == len && memcmp(s->ptr, p, len) == 0)
			return false;
	}
	scan->seen[i] = (struct seen){ p, (uint32_t)len, hash };
	return true;
}

static bool full(const struct scan *scan)
{
	return scan->count >= scan->options->max_count || !text_has_room(scan->out);
}

static void emit(struct scan *scan, const unsigned char *p, size_t len)
{
	if (!remember(scan, p, len))
		return;
	text_add(scan->out, (const char *)p, len);
	text_add(scan->out, "\n", 1);
	scan->count++;
}

static void scan_bytes(struct scan *scan, const unsigned char *p, uint64_t len)
{
	const unsigned char *end = p + (len < scan->budget ? len : scan->budget);

	scan->budget -= (uint64_t)(end - p);
	while (p < end && !full(scan) && !out_of_time(scan)) {
		const unsigned char *start = p;
		size_t characters = 0, step = 0;

		while (p < end && p - start < STRING_MAX_BYTES && (step = printable(p, (size_t)(end - p)))) {
			p += step;
			characters++;
		}
		if (characters >= scan->options->min_length)
			emit(scan, start, (size_t)(p - start));
		/* Runs of what does not print are passed in one go: .data is mostly zeroes. */
		while (p < end && !printable(p, (size_t)(end - p)))
			p++;
	}
}

/* Not code, not symbol or relocation tables, not what the compiler keeps for unwinding; but the compiler's
 * own name in .comment. */
static bool is_data(const struct section *s)
{
	static const char *const machinery[] = { ".eh_frame", ".eh_frame_hdr", ".gcc_except_table", ".got",
						 ".got.plt" };

	if (!s->data || s->type != SHT_PROGBITS || s->flags & (SHF_EXECINSTR | SHF_COMPRESSED))
		return false;
	for (size_t i = 0; i < sizeof(machinery) / sizeof(machinery[0]); i++)
		if (strcmp(s->name, machinery[i]) == 0)
			return false;
	return (s->flags & SHF_ALLOC) || strcmp(s->name, ".comment") == 0;
}

static void scan_file(struct scan *scan, const struct elf_file *file)
{
	for (size_t i = 0; i < file->section_count && !scan->timeout; i++)
		if (is_data(&file->sections[i]))
			scan_bytes(scan, file->sections[i].data, file->sections[i].size);
	if (file->section_count > 0)
		return;
	/* Core files and those robbed of their section table. */
	for (size_t i = 0; i < file->segment_count && !scan->timeout; i++)
		if (file->segments[i].type == PT_LOAD && !(file->segments[i].flags & PF_X))
			scan_bytes(scan, file->segments[i].data, file->segments[i].size);
}

enum strings_status strings_run(const struct elf_file *file, const struct strings_options *options,
				struct text *out, size_t *ret_count)
{
	struct scan scan = { .options = options, .out = out, .budget = 2 * (uint64_t)file->len };
	size_t slots = 16;

	while (slots < 2 * options->max_count)
		slots *= 2;
	scan.mask = slots - 1;
	scan.seen = calloc(slots, sizeof(*scan.seen));
	if (!scan.seen)
		return STRINGS_NO_MEMORY;
	scan_file(&scan, file);
	free(scan.seen);
	*ret_count = scan.count;
	return scan.timeout ? STRINGS_TIMEOUT : STRINGS_DONE;
}
