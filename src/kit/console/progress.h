/* SPDX-License-Identifier: Apache-2.0 */
/* One line on the terminal that shows the progress of a long task. It prints nothing if stderr is not a
 * terminal. */
#ifndef MOR_CONSOLE_PROGRESS_H
#define MOR_CONSOLE_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mor_progress {
	bool on;    /* stderr is a terminal */
	bool shown; /* the line is on the screen right now */
	size_t done, failed, total;
	int64_t begun_ms, drawn_ms;
	double rate;    /* per second; 0: of the whole time */
	char more[60];  /* at the end of the line */
	char said[120]; /* by mor_progress_say() */
};

void mor_progress_start(struct mor_progress *progress, bool on, size_t total);
/* Draws the line again, at most ten times a second. */
void mor_progress_draw(struct mor_progress *progress);
/* Another line, for a terminal: a bar if the fraction (0 to 1; above is 1) is known, else < 0 or NaN; and a
 * text, which is cut. */
void mor_progress_say(struct mor_progress *progress, double fraction, const char *text);
/* That line once more, after something else was printed. */
void mor_progress_say_again(struct mor_progress *progress);
/* There is no such line any more. */
void mor_progress_said(struct mor_progress *progress);
/* Removes the line from the screen, so that another line can be printed there. */
void mor_progress_clear(struct mor_progress *progress);

#endif
