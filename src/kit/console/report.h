/* SPDX-License-Identifier: Apache-2.0 */
/* Errors, as a line for people and as JSON for machines. */
#ifndef MOR_CONSOLE_REPORT_H
#define MOR_CONSOLE_REPORT_H

#include "console/console.h"

struct mor_report {
	const mortise_error *error;
	mortise_json data;                                   /* of the plugin's error; may be absent  */
	const char *subject;                                 /* a file that the error is about, or NULL */
	const char *plugin;                                  /* as the user typed it, for hints; or NULL */
	const char *dialect;                                 /* the same                         */
	int exit_code;                                       /* 0: the error table's */
	void (*more)(const void *arg, struct mor_writer *w); /* more members, or NULL */
	const void *more_arg;
};

/* The line for people: the text, then reason, details and remedy from the data. */
int mor_report_text(const struct mor_report *report, struct mor_buf *out);
/* "KIND: text" on stderr. */
void mor_report_line(struct mor_console *console, const struct mor_report *report);
/* Members kind, code, message, data, rpc_code, exit_code, and `more` into an open object. */
void mor_report_members(struct mor_writer *w, const struct mor_report *report);
/* Prints the line; with --json also {"ok":false,...} on stdout. Returns the exit code. */
int mor_report_fail(struct mor_console *console, const struct mor_report *report);
int mor_report_error(struct mor_console *console, const mortise_error *error);
/* At the end of a command: a violation that no call has reported decides the exit code, which is returned. */
int mor_report_late(struct mor_console *console, int exit_code);
/* After a signal. */
int mor_report_interrupted(struct mor_console *console, int exit_code);
/* A usage error: the line ends with the command that shows the help. */
int mor_report_usage(struct mor_console *console, const mortise_error *error);
int mor_report_misuse(struct mor_console *console, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* A usage error if its code is MORTISE_EINVAL. */
int mor_report_cause(struct mor_console *console, const mortise_error *error);

#endif
