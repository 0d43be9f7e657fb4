/* SPDX-License-Identifier: Apache-2.0 */
/* What the command writes: results on stdout, one line per error on stderr, colour on terminals only. */
#ifndef MOR_CONSOLE_CONSOLE_H
#define MOR_CONSOLE_CONSOLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <mortise/mortise.h>

#include "base/outfile.h"
#include "base/slice.h"
#include "base/textlist.h"
#include "console/progress.h"
#include "wire/json.h"

/* Where one run of one command writes, and how. */
struct mor_console {
	const char *command; /* the command's name, to say where help is; NULL: not known yet */
	int own_exit;        /* exit status of all errors of this command; 0: that of the error table */
	bool json, verbose;
	bool strict;       /* --strict: every breach of the protocol is shown */
	bool notes;        /* notifications of plugins are shown, without --verbose too */
	uint64_t told[32]; /* hashes of warnings already shown; new ones replace the oldest */
	size_t told_count;
	char late[496]; /* a violation after the last answer, which no call has reported; "": none */
	struct mor_text_list warned; /* warned.h */
	struct {
		const char *kind; /* NULL: none */
		bool mistake;     /* it was the user's: a wrong word, kind of file, method or parameter */
		char text[200];
	} failed; /* the last error that was reported */
	bool out_terminal, err_terminal, out_color, err_color;
	FILE *out;
	int out_errno;           /* why writing to it failed, or 0 */
	struct mor_outfile file; /* the file behind `out`, with -o FILE; see mor_out_to() */
	/* a progress line on the terminal, which other lines must not be mixed with */
	struct mor_progress progress;
};

enum mor_style {
	MOR_STYLE_TITLE,
	MOR_STYLE_LABEL,
	MOR_STYLE_GOOD,
	MOR_STYLE_BAD,
	MOR_STYLE_WARN,
	MOR_STYLE_DIM
};

void mor_out_init(struct mor_console *console);
/* The escape sequences that begin and end a colour, "" without colour. */
const char *mor_style(const struct mor_console *console, enum mor_style style);
const char *mor_style_end(const struct mor_console *console);
const char *mor_style_err(const struct mor_console *console, enum mor_style style);
const char *mor_style_err_end(const struct mor_console *console);

/* To stdout (or -o FILE). mor_out_finish() reports failures. */
void mor_out(struct mor_console *console, struct mor_slice bytes);
void mor_out_text(struct mor_console *console, const char *text);
void mor_outf(struct mor_console *console, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* An empty line, and the title of what follows. */
void mor_out_title(struct mor_console *console, const char *text);
/* A JSON text and a newline: indented on a terminal, else on one line. */
void mor_out_json(struct mor_console *console, struct mor_slice json);
/* The same, always on one line: NDJSON. */
void mor_out_json_line(struct mor_console *console, struct mor_slice json);
void mor_out_flush(struct mor_console *console);
/* True once nobody reads our output any more: time to stop. */
bool mor_out_broken(const struct mor_console *console);
/* Flushes. `exit_code`, or that of a failed write (141 as for SIGPIPE when the reader went away). */
int mor_out_finish(struct mor_console *console, int exit_code);

/* From here on, results go to a file that appears complete or not at all, until mor_out_end(). */
int mor_out_to(struct mor_console *console, const char *path, mortise_error *err);
/* keep: everything is written, and the file gets its name. Without `keep`, or if a write failed, the old
 * file stays. After that, results go to stdout again. Returns what mor_out_finish() would return; without
 * mor_out_to() before it, `exit_code`. */
int mor_out_end(struct mor_console *console, bool keep, int exit_code);

/* Prints one line on stderr. The progress line is removed first. */
void mor_note(struct mor_console *console, const char *format, ...) __attribute__((format(printf, 2, 3)));
void mor_note_slice(struct mor_console *console, struct mor_slice line);
/* "warning: TEXT", printable, as a callback of rooms that know no console. */
void mor_note_warning(const char *text, void *console);

/* A string's content, anything else as JSON, printable. */
const char *mor_printable_value(const struct mor_value *value, char *out, size_t size);

#endif
