/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The result of a run: what its units came to, in the order of the input, each exactly once and whole.
 *
 * Units end in any order. A unit's bytes are read once, checked on their way, and only what was checked is kept: its
 * analyzer still runs and could write more. Those whose turn has not come wait in an unnamed file, the spool.
 *
 * Until the run is finished they lie beside the output, in OUTPUT.partial: what lies at the output's path stays as it is till
 * then. A unit's bytes are appended, then its line to the journal (OUTPUT.journal, see journal.h); whoever is killed in between
 * finds, on the next start, a partial output that is longer than its journal says, and cuts it. Both are looked through then:
 * each line has a checksum, and one of the unit's bytes; the first that is not good, and all after it, is done again.
 *
 * What is there of an earlier run stays as well until there is something to write: a run whose analyzer cannot even be started
 * spoils nothing.
 */
#ifndef MOR_KYTHE_DRIVE_RESULT_H
#define MOR_KYTHE_DRIVE_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mortise/mortise.h>

#include "kythe/entries/entries.h"

enum mor_result_format { MOR_RESULT_ENTRIES, MOR_RESULT_JSON, MOR_RESULT_RAW };

struct mor_result_options {
	const char *path;     /* of the output; NULL: `fd`, without a journal                                  */
	int fd;
	enum mor_result_format format;
	size_t units;
	const char *identity; /* hex digest of what makes two runs the same: records and options               */
	bool resume;
	const char *spool_dir; /* where the spool may be                                                       */
};

enum mor_unit_state { MOR_UNIT_OPEN, MOR_UNIT_DONE, MOR_UNIT_FAILED };

struct mor_result;

/* MORTISE_EINPUT: the journal is of another run or version, or none; another process writes it; there can be none. */
int mor_result_open(const struct mor_result_options *opt, struct mor_result **ret, mortise_error *err);
/* The run has come to its end: the output gets its name, the journal goes. */
int mor_result_finish(struct mor_result *result, mortise_error *err);
struct mor_result *mor_result_free(struct mor_result *result); /* NULL is fine; returns NULL */

/* What an earlier run settled already: of each unit its state and, if it failed, why (else NULL). */
enum mor_unit_state mor_result_state(const struct mor_result *result, size_t unit, const char **ret_reason);

int mor_result_code(const struct mor_result *result, size_t unit); /* what it failed with; 0: it has not */
bool mor_result_empty(const struct mor_result *result, size_t unit); /* it is done, and has no bytes */

struct mor_unit_output {
	int fd;        /* at its beginning */
	uint64_t size; /* what lies beyond is not looked at */
	enum mor_stream_format form;
	uint64_t records, bytes; /* set: what was kept */
};

/* One unit is complete. MORTISE_EINPUT: its output is not made of whole records (of valid entries, unless the result's format
 * is raw) to the very end; record and offset are in the text, nothing was kept, and the unit is open as before. Any
 * other failure is the result's own. */
int mor_result_done(struct mor_result *result, size_t unit, struct mor_unit_output *output, mortise_error *err);
int mor_result_failed(struct mor_result *result, size_t unit, const mortise_error *why, mortise_error *err);

struct mor_result_stats {
	uint64_t bytes;   /* of the output, earlier runs included */
	size_t done, failed;
	size_t empty;     /* of those that are done: without a byte */
	size_t kept, dropped; /* of an earlier run: units that were good, lines that were not */
};
struct mor_result_stats mor_result_stats(const struct mor_result *result);
/* What was wrong with what an earlier run left, or NULL. */
const char *mor_result_damage(const struct mor_result *result);

#endif
