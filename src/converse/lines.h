/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines from a person or a file, while the host goes on: pings, time limits and what plugins send are minded between
 * two keystrokes. On a terminal with line editing and a history that lives as long as the chat (people type
 * passwords and keys into conversations: nothing is written to disk).
 */
#ifndef MOR_CONVERSE_LINES_H
#define MOR_CONVERSE_LINES_H

#include <stdbool.h>

#include "console/console.h"
#include "runner/runner.h"

struct mor_converse_lines;

enum mor_converse_line {
	MOR_CONVERSE_LINE_READ,
	MOR_CONVERSE_LINE_END,       /* Ctrl-D, or the end of the file                     */
	MOR_CONVERSE_LINE_INTERRUPT, /* Ctrl-C: what was typed so far is given up          */
	MOR_CONVERSE_LINE_STOP       /* another signal, or `stop` said so: leave the chat  */
};

#define MOR_CONVERSE_LINE_LIMIT (1 << 20) /* bytes of one line of a file */

/* NULL: out of memory. */
struct mor_converse_lines *mor_converse_lines_new(struct mor_runner *runner);
struct mor_converse_lines *mor_converse_lines_free(struct mor_converse_lines *lines);
bool mor_converse_lines_terminal(const struct mor_converse_lines *lines);
/* *ret_line lives until the next call, without its newline. MORTISE_EINPUT: a line over the limit. */
int mor_converse_lines_next(struct mor_converse_lines *lines, const char *prompt, enum mor_converse_line *ret_kind, const char **ret_line,
		   mortise_error *err);
/* Before and after something is printed while a prompt may stand on the screen. */
void mor_converse_lines_make_room(struct mor_converse_lines *lines);
void mor_converse_lines_redraw(struct mor_converse_lines *lines);

#endif
