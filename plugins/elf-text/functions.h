/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of a binary: collected, put in order, and the ones worth showing chosen. */
#ifndef ELF_TEXT_FUNCTIONS_H
#define ELF_TEXT_FUNCTIONS_H

#include "elf_file.h"

struct function {
	uint64_t addr, size;
	const char *name;          /* NULL: the binary does not say                                     */
	uint32_t section;          /* 0: not known                                                      */
	uint8_t rank;              /* which of several names at one address goes first: the lower       */
	bool thumb;                /* ARM code in its 16-bit form                                       */
	bool guessed;              /* the size is our guess                                             */
	bool listed, disassembled; /* chosen for the report                                     */
	uint32_t aliases;          /* the next so many entries are other names for the same code        */
};

struct functions {
	struct function *items; /* by address; aliases right behind the one they repeat         */
	size_t count, cap;
	size_t total;         /* without aliases                                              */
	const char *source;   /* "symtab", "dynsym", "dynsym+eh_frame", "eh_frame", "entry", "none" */
	const char **imports; /* sorted, each once                                            */
	size_t import_count, import_cap;
};

enum collect_status { COLLECT_OK, COLLECT_NO_MEMORY, COLLECT_TIMEOUT };

/* Names live as long as the file is open. On failure nothing needs to be freed. */
enum collect_status functions_collect(const struct elf_file *file, int64_t deadline_ns, struct functions *ret);
void functions_fini(struct functions *functions);

/* Marks at most `max_listed` functions, those with names first, then the larger; and of these the
 * `max_disassembled` largest. False when memory is short. */
bool functions_choose(struct functions *functions, size_t max_listed, size_t max_disassembled);

#endif
