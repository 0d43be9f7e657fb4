/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MOR_JAILED_INSIDE_H
#define MOR_JAILED_INSIDE_H

#include <limits.h>

#include "jailed/jailed.h"
#include "policy/learn.h"

/* ---- policy.c ---- */

/* The plan as the library takes it: "KEY=VALUE" texts, which the caller frees, also after a failure. Paths are
 * relative to the directory where the user types them; one that does not exist is a mistake of the user. */
int mor_jailed_policy(const struct mor_jailed_plan *plan, struct mor_text_list *ret, mortise_error *err);
int mor_jailed_policy_add(struct mor_text_list *policy, const char *key, const char *value, mortise_error *err);

/* ---- learn.c ---- */

struct mor_learner {
	struct mor_learn learn;
	char login[1024];   /* memory of the user's entry in the database */
	char dir[PATH_MAX]; /* where the file of -o belongs, before the program could change it; "": no -o */
};

/* What the options say against each other; and, for --learn, the user's yes. 0, or an error to report. Free it
 * with mor_learn_fini(). */
int mor_learner_begin(struct mor_console *console, const struct mor_jailed_plan *plan,
		      struct mor_learner *learner, mortise_error *err);
/* A record of the run: what it needed is collected. */
void mor_learner_collect(struct mor_learner *learner, mortise_json record);
/* Folds, and writes the policy to the file of -o, or to stderr. 0, or an error to report. */
int mor_learner_tell(struct mor_console *console, const struct mor_jailed_plan *plan,
		     struct mor_learner *learner, mortise_error *err);

/* ---- learnt.c ---- */

/* What was asked for and what was learnt, in one plan. Only its `read` is to be freed, not the texts in it.
 * MORTISE_ENOMEM. */
int mor_learnt_plan(const struct mor_jailed_plan *plan, const struct mor_learn *learn,
		    struct mor_jailed_plan *ret);
/* The command line that grants it. */
void mor_learnt_options(const struct mor_jailed_plan *granted, struct mor_buf *out);
/* As [sandbox]. The first `typed` paths of its `read` are the user's: they become absolute. What was not
 * granted follows as comments. */
void mor_learnt_table(const struct mor_jailed_plan *granted, size_t typed, const struct mor_learn *learn,
		      struct mor_buf *out);

#endif
