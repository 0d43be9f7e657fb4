/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was found wrong with a plugin although the command went on: for the member "warnings" of --json. Without
 * --json nothing is kept.
 */
#ifndef MOR_CONSOLE_WARNED_H
#define MOR_CONSOLE_WARNED_H

#include "console/console.h"

#define MOR_WARNED_MAX 100 /* then no more are kept until they are written */

/* One line. The same line is kept once. */
void mor_warned_keep(struct mor_console *console, const char *text);
/* "warnings": [...] with those since the last time, into an open object. Without any, nothing. */
void mor_warned_write(struct mor_console *console, struct mor_writer *w);
/* Only the texts, into an open array. */
void mor_warned_write_items(struct mor_console *console, struct mor_writer *w);

#endif
