/* SPDX-License-Identifier: Apache-2.0 */
/* The result's struct. Only for result.c and files.c. */
#ifndef MOR_RESULT_INSIDE_H
#define MOR_RESULT_INSIDE_H

#include "base/outfile.h"
#include "base/sum.h"
#include "result/journal.h"
#include "result/result.h"

struct ended {
	enum mor_result_end state;
	int code;       /* of a failed unit: its status */
	char *reason;   /* and why */
	bool empty;     /* done, without a byte */
	uint64_t bytes; /* in the output */
	uint64_t sum;   /* of them */
	/* while it waits for its turn: its bytes in the spool, or in memory */
	uint64_t at, size;
	struct mor_buf held;
};

struct mor_result {
	struct mor_result_options opt;
	struct mor_outplace place;    /* of the output */
	char *partial, *journal_path; /* beside it */
	int out, journal, spool;
	bool locked; /* the journal; we own it */
	/* journal and partial belong to this run. Until there is something to write, old files stay */
	bool begun;
	uint64_t check;          /* of the journal's last line */
	uint64_t bytes, spooled; /* of the output; of the spool */
	uint64_t held;           /* bytes of units in memory */
	uint64_t reserved;       /* the output has disk space up to here; 0: up to its end */
	size_t waiting;          /* units in the spool */
	size_t next;             /* the first unit that is not in the output */
	struct ended *units;
	struct mor_result_stats stats;
	mortise_error damage;  /* damage in an earlier run's files; code 0: none */
	mortise_error broken;  /* the first failure: after it nothing is written */
	struct mor_buf spare;  /* memory of a unit that waited, for the next one that does */
	struct mor_buf buffer; /* read buffer, kept from unit to unit: new memory costs more than the copying */
};

/* files.c */
/* before anything is written; may be called again */
int mor_result_begin(struct mor_result *result, mortise_error *err);
int mor_result_note(struct mor_result *result, const struct mor_journal_line *line, mortise_error *err);

#endif
