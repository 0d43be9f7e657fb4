/* SPDX-License-Identifier: Apache-2.0 */
/* The searchable text of one binary, and the numbers beside it. */
#ifndef ELF_TEXT_REPORT_H
#define ELF_TEXT_REPORT_H

#include "arch.h"
#include "text.h"

struct report_options {
	const char *label; /* what "Binary:" says */
	size_t max_functions, disassemble_functions, max_instructions;
	size_t min_string_length, max_strings;
	size_t max_content_bytes;
	double function_sec; /* time limit for the disassembly of one function */
	int64_t deadline_ns; /* for all of it                                  */
};

struct report {
	struct text text;
	struct arch arch; /* set as soon as the header is read; else its name is "" */
	size_t functions_found, functions_listed, functions_disassembled, failures, strings;
	uint64_t entry;
	char type[64], build_id[65], functions_source[24];
	struct text libraries; /* "libc.so.6, libm.so.6" */
	const char *why;       /* with CORRUPT: what is wrong; a constant text */
};

enum report_status {
	REPORT_OK,
	REPORT_FOREIGN, /* no ELF file at all                           */
	REPORT_CORRUPT, /* one, but damaged                             */
	REPORT_TIMEOUT, /* the numbers say how far it got               */
	REPORT_NO_DISASSEMBLER,
	REPORT_NO_MEMORY
};

/* Needs report_fini() whatever the outcome. */
enum report_status report_make(unsigned char *image, size_t len, const struct report_options *options,
			       struct report *ret);
void report_fini(struct report *report);

#endif
