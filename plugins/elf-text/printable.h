/* SPDX-License-Identifier: Apache-2.0 */
/* Readable text in the data of a binary. */
#ifndef ELF_TEXT_PRINTABLE_H
#define ELF_TEXT_PRINTABLE_H

#include "elf_file.h"
#include "text.h"

struct strings_options {
	size_t min_length; /* characters */
	size_t max_count;
	int64_t deadline_ns;
};

enum strings_status { STRINGS_DONE, STRINGS_NO_MEMORY, STRINGS_TIMEOUT };

/* Appends each different string once, in the order of the file, one per line. */
enum strings_status strings_run(const struct elf_file *file, const struct strings_options *options,
				struct text *out, size_t *ret_count);

#endif
