/* SPDX-License-Identifier: Apache-2.0 */
/* SIGINT, SIGTERM and SIGHUP as a count. The first asks for a polite end, the second ends at once. */
#ifndef MOR_CONSOLE_SIGNALS_H
#define MOR_CONSOLE_SIGNALS_H

#include <poll.h>
#include <stdbool.h>

#include <mortise/mortise.h>

/* Ignores SIGPIPE and catches the others. Call it before anything else. */
void mor_signals_init(void);
/* For a command that has nothing to stop and no named file to remove: a signal ends it, as without us. One that
 * has come already ends it now. */
void mor_signals_end_at_once(void);
/* The host to wake; NULL: none. */
void mor_signals_host(mortise_host *host);
int mor_signals_count(void);
/* poll() of one descriptor that a signal ends, also one that came just before: then it returns -1 at once.
 * Below 0: no limit of time. */
int mor_signals_poll(struct pollfd *fd, int timeout_ms);
int mor_signals_exit_code(void); /* 128 + the first one */
/* While this is on, SIGHUP does not end the program. It means that a file should be read again. A SIGHUP
 * that came before still counts. */
void mor_signals_keep_hangup(bool on);
/* True if a SIGHUP has come since the last call. If it came because our terminal is gone, it counts as an
 * end. */
bool mor_signals_take_hangup(void);
/* Has our terminal hung up? Then that counts as an end, whether or not its signal has come. */
bool mor_signals_terminal_gone(void);
/* If only Ctrl-C has come since the last call: returns true and forgets it. */
bool mor_signals_take_interrupt(void);

#endif
