/* SPDX-License-Identifier: Apache-2.0 */
/* The text being made: grows to a limit, then says it was cut and swallows the rest. */
#ifndef ELF_TEXT_TEXT_H
#define ELF_TEXT_TEXT_H

#include <stdbool.h>
#include <stddef.h>

struct text {
	char *data; /* owned; text_fini() */
	size_t len, cap, limit;
	bool cut;       /* the limit was reached            */
	bool no_memory; /* what is there is not to be used  */
};

void text_fini(struct text *text);
/* All or nothing: what does not fit is left out whole, and everything after it. */
void text_add(struct text *text, const char *bytes, size_t len);
void text_printf(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A name from the file: its bytes are the file author's. Control characters become \xNN, so that a name
 * cannot forge lines of the report; an over-long one ends in "...". */
void text_name(struct text *text, const char *name);
/* True when the next line can still be written: ask before a block of lines. */
bool text_has_room(const struct text *text);

#endif
