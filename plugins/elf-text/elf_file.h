/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An ELF file in memory. The file is the attacker's: libelf checks its tables, and every offset used
 * past them is checked here once, so that a section or segment with data has all of it in the image.
 */
#ifndef ELF_TEXT_ELF_FILE_H
#define ELF_TEXT_ELF_FILE_H

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct section {
	const char *name; /* "" when it has none                       */
	uint32_t type;
	uint64_t flags, addr, size;
	const unsigned char *data; /* `size` bytes; NULL: none in the file */
};

struct segment {
	uint32_t type, flags;
	uint64_t addr, size; /* what the file holds of it                */
	const unsigned char *data;
};

#define NEEDED_MAX 256

struct elf_file {
	Elf *elf;
	const unsigned char *image; /* borrowed */
	size_t len;
	GElf_Ehdr header;
	struct section *sections; /* by section number; [0] is the null section */
	size_t section_count;
	struct segment *segments;
	size_t segment_count;
	/* What the dynamic section says. Borrowed from libelf; NULL: nothing. */
	const char *needed[NEEDED_MAX];
	size_t needed_count;
	const char *soname, *runpath, *interpreter;
	bool pie;
	char build_id[65]; /* hexadecimal, "" without one */
};

enum elf_status { ELF_OK, ELF_FOREIGN, ELF_CORRUPT, ELF_NO_MEMORY };

/* `image` must stay until elf_file_close(). *ret_why says what is wrong with a corrupt one; a constant
 * text. On any failure nothing needs closing. */
enum elf_status elf_file_open(struct elf_file *file, unsigned char *image, size_t len, const char **ret_why);
void elf_file_close(struct elf_file *file);

/* "64-bit LSB shared object" */
void elf_file_type(const struct elf_file *file, char *out, size_t out_size);

/* The bytes at a virtual address, or at an offset in `section` when the file is relocatable; `section`
 * 0 when it is not known. NULL when the file has none there, else *ret_avail bytes are good. */
const unsigned char *elf_file_at(const struct elf_file *file, size_t section, uint64_t addr,
				 uint64_t *ret_avail);

const struct section *elf_file_section(const struct elf_file *file, const char *name);

#endif
