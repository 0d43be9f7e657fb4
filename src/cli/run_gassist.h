/* What G-Assist plugins need beside the options that every plugin has: for run and chat. */
#ifndef MOR_CLI_RUN_GASSIST_H
#define MOR_CLI_RUN_GASSIST_H

#include "base/buf.h"
#include "cli/options.h"
#include "runner/runner.h"

struct mor_gassist_args {
	const char *context;       /* JSON or @FILE: the array of an execute's context */
	const char *system_info;   /* TEXT or @FILE */
	const char *session_limit; /* DURATION; "0": none */
};
extern const struct mor_option mor_gassist_options[]; /* fill a struct mor_gassist_args, all but context */

/* --session-limit becomes a setting of the session, the other two members of *ret_extra (empty: neither was given). */
int mor_gassist_prepare(struct mor_runner *session, const struct mor_gassist_args *args, struct mor_buf *ret_extra,
			mortise_error *err);

#endif
