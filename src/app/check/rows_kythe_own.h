/* SPDX-License-Identifier: Apache-2.0 */
/* The driver's part of a conversation with a Kythe analyzer, for rows_kythe.c. */
#ifndef MOR_CHECK_ROWS_KYTHE_OWN_H
#define MOR_CHECK_ROWS_KYTHE_OWN_H

#include "check/own.h"

/* What the record has that is not usual. */
struct mor_check_kythe_record {
	const char *prefix; /* of the input's name */
	const char *more;   /* members, with a comma before them */
	bool split, big;    /* the answer is sent in pieces; it has 1 MiB more */
	bool missing;       /* the input does not exist */
	bool empty;         /* there is no input */
	bool refuse_vname;
};

/* All of them return false or NULL if the case is over. */
bool mor_check_kythe_begin(struct mor_check_case *at);                           /* a process */
const struct mor_check_message *mor_check_kythe_init(struct mor_check_case *at); /* its init came */
bool mor_check_kythe_greet(struct mor_check_case *at);                           /* ... and was answered */
const struct mor_check_message *mor_check_kythe_asks(struct mor_check_case *at); /* its analyze came */
/* Answers analyze with a record, then vname until the analysis ends in any way. */
void mor_check_kythe_give(struct mor_check_case *at, const struct mor_check_message *asked,
			  const struct mor_check_kythe_record *record);
bool mor_check_kythe_done(struct mor_check_case *at); /* done came */
/* All of it, from the start of a process to done. */
bool mor_check_kythe_work(struct mor_check_case *at, const struct mor_check_kythe_record *record);
/* Does one of these come within half a second? */
bool mor_check_kythe_hears(struct mor_check_case *at, const char *methods);
/* Did it go on, or end without a crash? */
bool mor_check_kythe_goes_on(struct mor_check_case *at);
void mor_check_kythe_reply(struct mor_check_case *at, const struct mor_check_message *asked,
			   const char *result);
void mor_check_kythe_error(struct mor_check_case *at, const struct mor_check_message *asked, int code);
mor_check_fn mor_check_kythe_check_output, mor_check_kythe_check_written;

#endif
