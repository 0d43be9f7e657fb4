/* SPDX-License-Identifier: Apache-2.0 */
/* What the command writes: results on stdout, one line per error on stderr, colour on terminals only. */
#ifndef MOR_CONSOLE_CONSOLE_H
#define MOR_CONSOLE_CONSOLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <mortise/mortise.h>

#include "base/buf.h"
#include "base/outfile.h"
#include "base/slice.h"
#include "console/progress.h"
#include "wire/json.h"

/* Where one run of one command writes, and how. */
struct mor_console {
	const char *command; /* its name, for where help is; NULL: none is known yet */
	bool json, verbose;
	bool strict; /* the plugin is held to the letter: what breaks it is shown */
	uint64_t told[32]; /* hashes of warnings that were shown; the oldest make room */
	size_t told_count;
	bool out_terminal, err_terminal, out_color, err_color;
	FILE *out;
	int out_errno; /* why writing to it failed, or 0 */
	struct mor_outfile file; /* where `out` leads, with -o FILE; see mor_out_to() */
	struct mor_progress progress; /* a line on the terminal that other lines must not run into */
};

enum mor_style { MOR_STYLE_TITLE, MOR_STYLE_LABEL, MOR_STYLE_GOOD, MOR_STYLE_BAD, MOR_STYLE_WARN, MOR_STYLE_DIM };

void mor_out_init(struct mor_console *console);
/* The escape sequence to begin and to end with, "" where there is no colour. */
const char *mor_style(const struct mor_console *console, enum mor_style style);
const char *mor_style_end(const struct mor_console *console);
const char *mor_style_err(const struct mor_console *console, enum mor_style style);
const char *mor_style_err_end(const struct mor_console *console);

/* To stdout (or -o FILE); failures show in mor_out_finish(). */
void mor_out(struct mor_console *console, struct mor_slice bytes);
void mor_out_text(struct mor_console *console, const char *text);
void mor_outf(struct mor_console *console, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A JSON text and a newline: indented on a terminal, else on one line. */
void mor_out_json(struct mor_console *console, struct mor_slice json);
/* The same without a look at the terminal: NDJSON. */
void mor_out_json_line(struct mor_console *console, struct mor_slice json);
void mor_out_flush(struct mor_console *console);
/* True once nobody reads our output any more: time to stop. */
bool mor_out_broken(const struct mor_console *console);
/* Flushes. `exit_code`, or that of a failed write (141 as for SIGPIPE when the reader went away). */
int mor_out_finish(struct mor_console *console, int exit_code);

/* From here on results go to a file that is there whole or not at all, until mor_out_end(). */
int mor_out_to(struct mor_console *console, const char *path, mortise_error *err);
/* keep: all of it is written, and it gets its name. Without it, or when a write failed, what lay there before stays. Results go
 * to stdout again. Returns what mor_out_finish() would; without mor_out_to() before it, `exit_code`. */
int mor_out_end(struct mor_console *console, bool keep, int exit_code);

/* One line on stderr, the progress line out of the way. */
void mor_note(struct mor_console *console, const char *format, ...) __attribute__((format(printf, 2, 3)));
void mor_note_slice(struct mor_console *console, struct mor_slice line);

/* A string's content, anything else as JSON, printable. */
const char *mor_printable_value(const struct mor_value *value, char *out, size_t size);

#endif
