/* SPDX-License-Identifier: Apache-2.0 */
/* The result's struct. For result.c and result_files.c only. */
#ifndef MOR_KYTHE_DRIVE_RESULT_INSIDE_H
#define MOR_KYTHE_DRIVE_RESULT_INSIDE_H

#include "base/outfile.h"
#include "kythe/drive/journal.h"
#include "kythe/drive/result.h"
#include "kythe/drive/sum.h"

struct ended {
	enum mor_unit_state state;
	int code; /* of one that failed: its status */
	char *reason; /* and why */
	bool empty;   /* done, without a byte */
	uint64_t sum; /* of its bytes */
	uint64_t at, size; /* its bytes in the spool, while they wait for their turn */
};

struct mor_result {
	struct mor_result_options opt;
	struct mor_outplace place; /* of the output */
	char *partial, *journal_path; /* beside it */
	int out, journal, spool;
	bool locked; /* the journal: it is ours */
	bool begun;  /* journal and partial are of this run. Until there is something to write, what lay there before stays */
	uint64_t check; /* of the journal's last line */
	uint64_t bytes, spooled; /* of the output; of the spool */
	uint64_t reserved; /* up to there the output has space on the disk; 0: as far as it goes */
	size_t waiting; /* units in the spool */
	size_t next; /* the first unit that is not in the output */
	struct ended *units;
	struct mor_result_stats stats;
	mortise_error damage; /* of what an earlier run left; code 0: none */
	mortise_error broken; /* the first failure: nothing is written after it */
	struct mor_buf buffer; /* of reading; kept from unit to unit: fresh memory costs more than the bytes in it */
};

/* result_files.c */
int mor_result_begin(struct mor_result *result, mortise_error *err); /* before anything is written; again is fine */
int mor_result_note(struct mor_result *result, const struct mor_journal_line *line, mortise_error *err);

#endif
