/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The result of a run: the output of its units, in the order of the input, each exactly once and complete.
 *
 * Units end in any order. A unit's bytes are read once and checked while reading. Only checked bytes are
 * kept, because its analyzer still runs and could write more. Units whose turn has not come wait in an
 * unnamed file, the spool.
 *
 * Until the run is finished, the bytes are in OUTPUT.partial, beside the output. The old output stays
 * unchanged until then. A unit's bytes are appended, then its line to the journal (OUTPUT.journal, see
 * journal.h). If a run is killed in between, the partial output is longer than its journal says, and the
 * next run cuts it. The next run also checks both files: each line has a checksum, and one for the unit's
 * bytes. The first bad unit, and all units after it, are done again.
 *
 * Files of an earlier run also stay until there is something to write: a run whose analyzer cannot be
 * started destroys nothing.
 */
#ifndef MOR_RESULT_RESULT_H
#define MOR_RESULT_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mortise/mortise.h>

#include "base/buf.h"
#include "base/fd.h"

/* The way of a unit's bytes into the result, for who checks or converts them. */
struct mor_result_pass {
	mor_read_fn *read;                                    /* the next bytes ... */
	mor_read_fn *copy;                                    /* ... and they are kept, unchanged */
	int (*put)(const void *bytes, size_t len, void *arg); /* keeps others instead. 0 or a status */
	void *arg;                                            /* of all three */
	int form;                                             /* the output's own; see mor_result_output */
	struct mor_buf buffer; /* memory for who reads; it is kept from unit to unit */
	uint64_t records;      /* set */
};
enum { MOR_RESULT_NO_FORM = -2, MOR_RESULT_ANY_FORM = -1 };
struct mor_result_check {
	int kept; /* the form whose bytes are kept as they are. Others are converted: more bytes, or fewer */
	/* Reads all bytes. MORTISE_EINPUT: they are not good. */
	int (*pass)(struct mor_result_pass *pass, mortise_error *err);
};

/* Who takes the bytes of units as they are checked, in the order in which units end. */
struct mor_result_taker {
	int (*put)(const void *bytes, size_t len, void *arg); /* 0, or -errno: an error of the result */
	/* The unit's bytes were put. Not `kept`: they were not good. */
	void (*end)(size_t unit, bool kept, void *arg);
	void *arg;
};

struct mor_result_options {
	const char *path; /* of the output; NULL: `fd`, without a journal */
	int fd;
	const struct mor_result_check *check; /* NULL: any bytes, as they are */
	size_t units;
	const char *identity; /* hex digest of records and options: equal for runs that may be continued */
	bool resume;
	const char *spool_dir; /* directory for the spool */
	/* so many bytes wait for their turn in memory, before the spool */
	uint64_t hold;
	const struct mor_result_taker *taker; /* borrowed; instead of any file. NULL: none */
};

enum mor_result_end { MOR_RESULT_OPEN, MOR_RESULT_DONE, MOR_RESULT_FAILED };

struct mor_result;

/* MORTISE_EINPUT: the journal belongs to another run or version, or is not a journal; another process writes
 * it; or it cannot be made. */
int mor_result_open(const struct mor_result_options *opt, struct mor_result **ret, mortise_error *err);
/* The run is complete: the output gets its name, the journal is removed. `tail` goes to its end; it
 * may be empty. */
int mor_result_finish(struct mor_result *result, struct mor_slice tail, mortise_error *err);
struct mor_result *mor_result_free(struct mor_result *result); /* NULL is fine; returns NULL */

/* What an earlier run settled: for each unit its state and, if it failed, why (else NULL). */
enum mor_result_end mor_result_state(const struct mor_result *result, size_t unit, const char **ret_reason);

/* status of its failure; 0: it has not failed */
int mor_result_code(const struct mor_result *result, size_t unit);
bool mor_result_empty(const struct mor_result *result, size_t unit); /* it is done, and has no bytes */
/* The bytes of a settled unit in the output, and their checksum (base/sum.h). */
void mor_result_bytes(const struct mor_result *result, size_t unit, uint64_t *ret_bytes, uint64_t *ret_sum);

struct mor_result_output {
	int fd;            /* positioned at its beginning */
	mor_read_fn *read; /* instead of `fd`; NULL: none. Its failure is MORTISE_ESYSTEM */
	void *read_arg;
	uint64_t size;           /* later bytes are ignored */
	int form;                /* of its records: what `check` knows it by */
	const uint64_t *sum;     /* what the bytes that are kept must have (base/sum.h); NULL: not known */
	uint64_t records, bytes; /* set: what was kept */
};

/* One unit is complete. MORTISE_EINPUT: its output is not what the check wants. The text says why, nothing was
 * kept, and the unit is still open. Any other failure is an error of the result itself. */
int mor_result_done(struct mor_result *result, size_t unit, struct mor_result_output *output,
		    mortise_error *err);
int mor_result_failed(struct mor_result *result, size_t unit, const mortise_error *why, mortise_error *err);
/* The same for a unit that has bytes in the output although it failed: a row that says so. */
int mor_result_failed_with(struct mor_result *result, size_t unit, const mortise_error *why,
			   struct mor_result_output *output, mortise_error *err);

struct mor_result_stats {
	uint64_t bytes; /* bytes of the output, with earlier runs */
	size_t done, failed;
	size_t empty;         /* units that are done, but without a byte */
	size_t kept, dropped; /* of an earlier run: units that were good, lines that were bad */
};
struct mor_result_stats mor_result_stats(const struct mor_result *result);
/* The damage in the files of an earlier run, or NULL. */
const char *mor_result_damage(const struct mor_result *result);

#endif
