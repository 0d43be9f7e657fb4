/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of a stripped binary, from the call frame information that exceptions and debuggers need. */
#ifndef ELF_TEXT_UNWIND_H
#define ELF_TEXT_UNWIND_H

#include "elf_file.h"

/* Calls `found` for each address range in .eh_frame; it returns false to stop. Entries that make no
 * sense are left out; the first broken length ends the walk. */
typedef bool unwind_found_fn(uint64_t addr, uint64_t size, void *arg);
void unwind_walk(const struct elf_file *file, unwind_found_fn *found, void *arg);

#endif
