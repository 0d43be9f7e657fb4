/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A list at the end of a file, as text: of parts (part.h), of a farm's segments and manifests (src/farm/depot).
 * Its last line says how long it is, and has its checksum, so that a file that was cut or changed is found:
 *
 *	end LENGTH CHECK
 */
#ifndef MOR_PART_LINES_H
#define MOR_PART_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mortise/mortise.h>

#include "base/buf.h"

#define MOR_LINES_END 38 /* bytes of the last line */

/* Adds the last line. */
void mor_lines_end(struct mor_buf *list);
/* A text of any bytes, on one line. */
void mor_lines_text(struct mor_buf *list, struct mor_slice text);

struct mor_lines_place {
	int fd;
	const char *path; /* for errors */
	uint64_t size;    /* of the file */
	const char *magic;
	const char *none; /* the error if there is no list */
};
/* The list without its last line, for mor_free(); NUL-terminated. *ret_at: where it begins in the file.
 * MORTISE_EINPUT: the file has no list, or the list is damaged. */
int mor_lines_read(const struct mor_lines_place *place, char **ret, size_t *ret_len, uint64_t *ret_at,
		   mortise_error *err);

/* The text up to `end`, taken off the front, as it is or as a number. */
bool mor_lines_word(struct mor_slice *text, char end, struct mor_slice *ret);
bool mor_lines_number(struct mor_slice *text, char end, uint64_t *ret);
bool mor_lines_u32(struct mor_slice *text, char end, uint32_t *ret);
bool mor_lines_hex(struct mor_slice *text, char end, uint64_t *ret); /* 16 digits */
bool mor_lines_copy(struct mor_slice *text, char end, char *to, size_t size);

#endif
