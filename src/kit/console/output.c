/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two streams have different rules. stdout carries only results, so that it can be piped. The reason of
 * a failed write is kept, because the exit code depends on it. stderr carries one line per thing that a
 * person should know.
 */
#include "console/report.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/text.h"

static const char *const styles[] = {
	[MOR_STYLE_TITLE] = "\033[1m", [MOR_STYLE_LABEL] = "\033[36m", [MOR_STYLE_GOOD] = "\033[32m",
	[MOR_STYLE_BAD] = "\033[31m",  [MOR_STYLE_WARN] = "\033[33m",  [MOR_STYLE_DIM] = "\033[2m",
};

/* https://no-color.org: set and not empty means no colour. */
void mor_out_init(struct mor_console *console)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
	bool color = !(no_color && *no_color) && term && strcmp(term, "dumb") != 0;

	console->out = stdout;
	console->file = (struct mor_outfile)MOR_OUTFILE_INIT;
	console->out_terminal = isatty(STDOUT_FILENO);
	console->err_terminal = isatty(STDERR_FILENO);
	console->out_color = color && console->out_terminal;
	console->err_color = color && console->err_terminal;
}

const char *mor_style(const struct mor_console *console, enum mor_style style)
{
	return console->out_color ? styles[style] : "";
}

const char *mor_style_end(const struct mor_console *console)
{
	return console->out_color ? "\033[0m" : "";
}

const char *mor_style_err(const struct mor_console *console, enum mor_style style)
{
	return console->err_color ? styles[style] : "";
}

const char *mor_style_err_end(const struct mor_console *console)
{
	return console->err_color ? "\033[0m" : "";
}

/* ---- stdout ---- */

/* On a terminal the progress line would be mixed with what we print. */
static void make_room(struct mor_console *console)
{
	mor_progress_clear(&console->progress);
}

/* stdio remembers that a write failed, but not why. */
static void remember_failure(struct mor_console *console)
{
	if (!console->out_errno && ferror(console->out))
		console->out_errno = errno ? errno : EIO;
}

void mor_out_flush(struct mor_console *console)
{
	errno = 0;
	fflush(console->out);
	remember_failure(console);
}

void mor_out(struct mor_console *console, struct mor_slice bytes)
{
	make_room(console);
	errno = 0;
	if (bytes.len)
		fwrite(bytes.ptr, 1, bytes.len, console->out);
	remember_failure(console);
}

void mor_out_text(struct mor_console *console, const char *text)
{
	mor_out(console, mor_slice_of(text));
}

void mor_outf(struct mor_console *console, const char *format, ...)
{
	va_list args;

	make_room(console);
	errno = 0;
	va_start(args, format);
	vfprintf(console->out, format, args);
	va_end(args);
	remember_failure(console);
}

void mor_out_title(struct mor_console *console, const char *text)
{
	mor_outf(console, "\n%s%s%s\n", mor_style(console, MOR_STYLE_TITLE), text, mor_style_end(console));
}

/* Written again with our own blanks. If the text does not parse (it is deeper than our limit), it is printed
 * as it came. */
static void out_json(struct mor_console *console, struct mor_slice json, bool pretty)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;

	if (mor_doc_parse(json, MOR_JSON_NAN, 0, &doc, NULL) < 0 ||
	    mor_json_write(mor_doc_root(doc), pretty, &text) < 0) {
		mor_buf_reset(&text, SIZE_MAX);
		mor_json_one_line(json, &text);
	}
	mor_buf_byte(&text, '\n');
	mor_out(console, mor_buf_view(&text));
	mor_out_flush(console);
}

void mor_out_json(struct mor_console *console, struct mor_slice json)
{
	out_json(console, json, console->out_terminal);
}

void mor_out_json_line(struct mor_console *console, struct mor_slice json)
{
	out_json(console, json, false);
}

bool mor_out_broken(const struct mor_console *console)
{
	return console->out_errno != 0;
}

/* A result that did not reach its reader is a failure, even if everything before went well. */
int mor_out_finish(struct mor_console *console, int exit_code)
{
	mor_out_flush(console);
	mor_text_list_free_texts(&console->warned);
	if (!console->out_errno)
		return exit_code;
	/* SIGPIPE is ignored so that plugins can still be stopped politely. The shell expects the exit code
	 * of SIGPIPE. */
	if (console->out_errno == EPIPE)
		return 128 + SIGPIPE;
	mor_note(console, "system: writing the output: %s", strerror(console->out_errno));
	return exit_code ? exit_code : 1;
}

/* ---- -o FILE ---- */

int mor_out_to(struct mor_console *console, const char *path, mortise_error *err)
{
	FILE *out;
	int copy, r = mor_outfile_open(path, 0666, &console->file, err);

	if (r < 0)
		return r;
	copy = fcntl(console->file.fd, F_DUPFD_CLOEXEC, 0);
	out = copy < 0 ? NULL : fdopen(copy, "w");
	if (!out) {
		r = mor_fail_errno(err, MORTISE_ESYSTEM, errno, "%s", path);
		mor_fd_close(&copy);
		mor_outfile_drop(&console->file);
		return r;
	}
	console->out = out;
	console->out_terminal = console->out_color = false;
	return 0;
}

int mor_out_end(struct mor_console *console, bool keep, int exit_code)
{
	mortise_error err = { 0 };

	if (console->file.fd < 0)
		return exit_code;
	exit_code = mor_out_finish(console, exit_code);
	keep = keep && !console->out_errno;
	fclose(console->out);
	console->out = stdout;
	console->out_errno = 0;
	if (keep && mor_outfile_commit(&console->file, &err) < 0) {
		mor_report_line(console, &(struct mor_report){ .error = &err });
		return exit_code ? exit_code : 1;
	}
	mor_outfile_drop(&console->file);
	return exit_code;
}

/* ---- stderr ---- */

void mor_note_slice(struct mor_console *console, struct mor_slice line)
{
	make_room(console);
	mor_out_flush(console); /* keep the order of what a person sees */
	fwrite(line.ptr, 1, line.len, stderr);
	fputc('\n', stderr);
	fflush(stderr);
}

void mor_note(struct mor_console *console, const char *format, ...)
{
	MOR_CLEAN(mor_buf) struct mor_buf line = MOR_BUF_INIT;
	va_list args;

	va_start(args, format);
	mor_buf_vprintf(&line, format, args);
	va_end(args);
	if (!mor_buf_failed(&line))
		mor_note_slice(console, mor_buf_view(&line));
}

void mor_note_warning(const char *text, void *console)
{
	char line[1100];

	mor_note(console, "warning: %s", mor_printable(mor_slice_of(text), line, sizeof(line)));
}

/* ---- what plugins say ---- */

const char *mor_printable_value(const struct mor_value *value, char *out, size_t size)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	struct mor_slice text = mor_json_string(value);

	if (!text.ptr && mor_json_write(value, false, &json) == 0)
		text = mor_buf_view(&json);
	return mor_printable(text, out, size);
}
