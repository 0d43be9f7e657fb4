/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The journal of a run, as text: what is settled, one line per unit in the order of the input. Pure: files are result's.
 *
 *	mortise-index 2 IDENTITY CHECK
 *	CHECK done UNIT BYTES SUM
 *	CHECK failed UNIT BYTES SUM CODE why it failed
 *
 * CODE is the status that it failed with, without its sign. BYTES is how long the output is after the unit, SUM the sum of the unit's own bytes in it (sum.h). CHECK is the sum of its line
 * without it, after the CHECK of the line before: a bit that flips, a line that goes or one that comes from elsewhere shows.
 */
#ifndef MOR_KYTHE_DRIVE_JOURNAL_H
#define MOR_KYTHE_DRIVE_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mortise/mortise.h>

#include "base/buf.h"

struct mor_journal_line {
	bool failed;
	uint64_t unit, bytes, sum;
	int code; /* of a failed one: its status */
	struct mor_slice reason; /* and why: one line. When read it lies in the text */
};

/* Appends the first line, or the next. `check` goes from one to the other. */
void mor_journal_head(const char *identity, uint64_t *check, struct mor_buf *out);
void mor_journal_add(const struct mor_journal_line *line, uint64_t *check, struct mor_buf *out);

struct mor_journal_reader {
	struct mor_slice text;
	size_t at;       /* behind the last line that is good */
	uint64_t check;  /* of that line */
	unsigned number; /* of the line that was read last, from 1 */
};

/* 1: the first line is good. 0: there is none, because a run was killed as it began. MORTISE_EINPUT with a text: this is no
 * journal, one of another run, or of another version; MORTISE_EPROTO: its first line is damaged. */
int mor_journal_open(struct mor_journal_reader *reader, struct mor_slice text, const char *identity, mortise_error *err);
/* 1: a line. 0: the end; half a line there is that of a run that was killed. MORTISE_EPROTO: the line is damaged. */
int mor_journal_next(struct mor_journal_reader *reader, struct mor_journal_line *ret, mortise_error *err);
size_t mor_journal_left(const struct mor_journal_reader *reader); /* lines behind the last good one */

#endif
