/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines from a person or a file, while the host goes on: pings, time limits and messages from plugins are
 * handled between two keystrokes. A terminal gets line editing and a history for this chat only. Nothing is
 * written to disk, because people type passwords and keys into conversations.
 */
#ifndef MOR_CONVERSE_LINES_H
#define MOR_CONVERSE_LINES_H

#include <stdbool.h>

#include "base/textlist.h"
#include "runner/runner.h"

struct mor_converse_lines;

enum mor_converse_line {
	MOR_CONVERSE_LINE_READ,
	MOR_CONVERSE_LINE_END,       /* Ctrl-D, or the end of the file                     */
	MOR_CONVERSE_LINE_INTERRUPT, /* Ctrl-C: the line typed so far is dropped */
	MOR_CONVERSE_LINE_STOP       /* another signal, or `stop` returned true: leave the chat */
};

#define MOR_CONVERSE_LINE_LIMIT (1 << 20) /* bytes of one line of a file */

/* NULL: out of memory. */
struct mor_converse_lines *mor_converse_lines_new(struct mor_runner *runner);
struct mor_converse_lines *mor_converse_lines_free(struct mor_converse_lines *lines);
bool mor_converse_lines_terminal(const struct mor_converse_lines *lines);
/* What Tab offers, as in complete.h. */
typedef void mor_converse_complete_fn(void *arg, const char *line, size_t *ret_from, struct mor_text_list *ret);
void mor_converse_lines_complete(struct mor_converse_lines *lines, mor_converse_complete_fn *complete,
				 void *arg);
/* *ret_line lives until the next call, without its newline. MORTISE_EINPUT: a line over the limit. */
int mor_converse_lines_next(struct mor_converse_lines *lines, const char *prompt,
			    enum mor_converse_line *ret_kind, const char **ret_line, mortise_error *err);
/* Call these before and after printing while a prompt may be on the screen. */
void mor_converse_lines_make_room(struct mor_converse_lines *lines);
void mor_converse_lines_redraw(struct mor_converse_lines *lines);

#endif
