/* SPDX-License-Identifier: Apache-2.0 */
/* SIGINT, SIGTERM and SIGHUP as a count: the first asks for a polite end, the second for one at once. */
#ifndef MOR_CONSOLE_SIGNALS_H
#define MOR_CONSOLE_SIGNALS_H

#include <stdbool.h>

#include <mortise/mortise.h>

/* Ignores SIGPIPE, catches the others. Before anything else. */
void mor_signals_init(void);
/* Whom to wake; NULL: nobody. */
void mor_signals_host(mortise_host *host);
int mor_signals_count(void);
int mor_signals_exit_code(void); /* 128 + the first one */
/* While on, SIGHUP is no end: it means that something is to be read again. One that came before still counts. */
void mor_signals_keep_hangup(bool on);
/* One has come since the last look. Where it came because our terminal is gone it counts as an end after all. */
bool mor_signals_take_hangup(void);
/* Has our terminal hung up? Then that counts as an end, whether or not its signal has come. */
bool mor_signals_terminal_gone(void);
/* Where only Ctrl-C has come since the last look: true, and it is forgotten. */
bool mor_signals_take_interrupt(void);

#endif
