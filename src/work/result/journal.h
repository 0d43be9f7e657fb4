/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The journal of a run, as text: one line per settled unit, in the order of the input. The files themselves
 * are in result.h.
 *
 *	mortise-index 2 IDENTITY CHECK
 *	CHECK done UNIT BYTES SUM
 *	CHECK failed UNIT BYTES SUM CODE why it failed
 *
 * CODE is the status of the failure, without its sign. BYTES is the length of the output after the unit, SUM
 * the checksum of the unit's own bytes in it (sum.h). CHECK is the checksum of the rest of the line, and
 * depends on the CHECK of the line before: so a changed bit, a missing line or a foreign line is found.
 */
#ifndef MOR_RESULT_JOURNAL_H
#define MOR_RESULT_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mortise/mortise.h>

#include "base/buf.h"

struct mor_journal_line {
	bool failed;
	uint64_t unit, bytes, sum;
	int code;                /* of a failed unit: its status */
	struct mor_slice reason; /* and why: one line. After reading, it points into the text */
};

/* Appends the first line, or the next. `check` is carried from one line to the next. */
void mor_journal_head(const char *identity, uint64_t *check, struct mor_buf *out);
void mor_journal_add(const struct mor_journal_line *line, uint64_t *check, struct mor_buf *out);

struct mor_journal_reader {
	struct mor_slice text;
	size_t at;       /* place after the last good line */
	uint64_t check;  /* of that line */
	unsigned number; /* number of the last line read, from 1 */
};

/* 1: the first line is good. 0: the journal is empty, because a run was killed at its start. MORTISE_EINPUT
 * with a text: not a journal, or one of another run or version. MORTISE_EPROTO: its first line is damaged. */
int mor_journal_open(struct mor_journal_reader *reader, struct mor_slice text, const char *identity,
		     mortise_error *err);
/* 1: a line. 0: the end; half a line there comes from a run that was killed. MORTISE_EPROTO: the line is
 * damaged. */
int mor_journal_next(struct mor_journal_reader *reader, struct mor_journal_line *ret, mortise_error *err);
size_t mor_journal_left(const struct mor_journal_reader *reader); /* lines after the last good one */

#endif
