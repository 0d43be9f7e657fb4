/* SPDX-License-Identifier: Apache-2.0 */
/* The library's texts name its own settings. A program that gives them other names puts its own
 * words instead. */
#ifndef MOR_CONSOLE_REWORD_H
#define MOR_CONSOLE_REWORD_H

#include <stddef.h>

#include "base/buf.h"

struct mor_rewording {
	const char *begin, *end; /* the library's words; the words between them stay */
	const char *our_begin, *our_end;
};

/* Rows in the order in which their words can come. Only the first occurrence is replaced; a
 * text has it once. */
void mor_reword(const char *text, const struct mor_rewording *rows, size_t count, struct mor_buf *out);

#endif
