/* What the command writes: results on stdout, one line per error on stderr, colour on terminals only. */
#ifndef MOR_CLI_OUTPUT_H
#define MOR_CLI_OUTPUT_H

#include <mortise/mortise.h>

#include "base/buf.h"
#include "base/slice.h"
#include "cli/cli.h"
#include "wire/json.h"

enum mor_style { MOR_STYLE_TITLE, MOR_STYLE_LABEL, MOR_STYLE_GOOD, MOR_STYLE_BAD, MOR_STYLE_WARN, MOR_STYLE_DIM };

void mor_out_init(struct mor_cli *cli);
/* The escape sequence to begin and to end with, "" where there is no colour. */
const char *mor_style(const struct mor_cli *cli, enum mor_style style);
const char *mor_style_end(const struct mor_cli *cli);
const char *mor_style_err(const struct mor_cli *cli, enum mor_style style);
const char *mor_style_err_end(const struct mor_cli *cli);

/* To stdout (or -o FILE); failures show in mor_out_finish(). */
void mor_out(struct mor_cli *cli, struct mor_slice bytes);
void mor_out_text(struct mor_cli *cli, const char *text);
void mor_outf(struct mor_cli *cli, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A JSON text and a newline: indented on a terminal, else on one line. */
void mor_out_json(struct mor_cli *cli, struct mor_slice json);
/* The same without a look at the terminal: NDJSON. */
void mor_out_json_line(struct mor_cli *cli, struct mor_slice json);
void mor_out_flush(struct mor_cli *cli);
/* True once nobody reads our output any more: time to stop. */
bool mor_out_broken(const struct mor_cli *cli);
/* Flushes. `exit_code`, or that of a failed write (141 as for SIGPIPE when the reader went away). */
int mor_out_finish(struct mor_cli *cli, int exit_code);

/* From here on results go to a file that is there whole or not at all, until mor_out_end(). */
int mor_out_to(struct mor_cli *cli, const char *path, mortise_error *err);
/* keep: all of it is written, and it gets its name. Without it, or when a write failed, what lay there before stays. Results go
 * to stdout again. Returns what mor_out_finish() would; without mor_out_to() before it, `exit_code`. */
int mor_out_end(struct mor_cli *cli, bool keep, int exit_code);

/* One line on stderr, the progress line out of the way. */
void mor_note(struct mor_cli *cli, const char *format, ...) __attribute__((format(printf, 2, 3)));
void mor_note_slice(struct mor_cli *cli, struct mor_slice line);

/* A string's content, anything else as JSON, printable. */
const char *mor_printable_value(const struct mor_value *value, char *out, size_t size);

/* ---- errors ---- */

struct mor_undoing;
struct mor_report {
	const mortise_error *error;
	mortise_json data;   /* of the plugin's error; may be absent  */
	const char *subject; /* a file that the error is about, or NULL */
	const char *plugin;  /* as the user typed it, for hints; or NULL */
	const char *dialect; /* the same                         */
	int exit_code;       /* 0: the error table's */
	const struct mor_undoing *undoing; /* what was undone, or NULL */
};

/* What a person should read: the text, then reason, details and remedy out of the data. One line. */
int mor_report_text(const struct mor_report *report, struct mor_buf *out);
/* "KIND: text" on stderr. */
void mor_report_line(struct mor_cli *cli, const struct mor_report *report);
/* Members kind, code, message, data, rpc_code, exit_code, undone into an open object. */
void mor_report_members(struct mor_writer *w, const struct mor_report *report);
/* The line, with --json also {"ok":false,...} on stdout. Returns the exit code. */
int mor_fail_cli(struct mor_cli *cli, const struct mor_report *report);
int mor_fail_error(struct mor_cli *cli, const mortise_error *error);
/* After a signal. */
int mor_fail_interrupted(struct mor_cli *cli, int exit_code);
/* A usage error: the line ends with where help is. */
int mor_fail_usage(struct mor_cli *cli, const mortise_error *error);

#endif
