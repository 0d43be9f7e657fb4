/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of this room. */
#ifndef MOR_EXPLAIN_INSIDE_H
#define MOR_EXPLAIN_INSIDE_H

#include "base/alloc.h"
#include "explain/explain.h"
#include "wire/json.h"

const char *mor_role_name(enum mor_role role);
const char *mor_late_text(enum mor_late late);

/* A member with ["a","b","c"] of "a|b|c"; NULL: no member. */
void mor_alternatives(struct mor_writer *w, const char *key, const char *list);

/* A failure in a buffer on the way is one of `out`. */
static inline void mor_explain_pass_on(const struct mor_buf *text, struct mor_buf *out)
{
	if (!out->status)
		out->status = text->status;
}

/* False: a row that only another value of its quirk uses. */
bool mor_explain_in_force(const struct mor_dialect *dialect, const struct mor_method *method);
void mor_explain_heading(struct mor_buf *out, const char *title);
/* Draws the session; in a separate file. */
void mor_explain_session(const struct mor_dialect *dialect, struct mor_buf *out);
/* Is there a message that carries [config]? */
bool mor_explain_sends_config(const struct mor_dialect *dialect);
/* "any other method" for "*". */
const char *mor_explain_name(const struct mor_dialect *dialect, const struct mor_method *method);
/* The same, with what distinguishes rows of one name: the embedder's name for it, or its part in a session. */
const char *mor_explain_label(const struct mor_dialect *dialect, const struct mor_method *method, char out[80]);
/* The part of `explain` for each method; in a separate file. */
void mor_explain_methods(const struct mor_dialect *dialect, struct mor_buf *out);
/* Text wrapped at 100 columns, every line after `indent` blanks; the first begins at column `at`. */
void mor_explain_wrap(struct mor_buf *out, unsigned at, unsigned indent, const char *text);

#endif
