/* SIGINT, SIGTERM and SIGHUP as a count: the first asks for a polite end, the second for one at once. */
#ifndef MOR_CLI_SIGNALS_H
#define MOR_CLI_SIGNALS_H

#include <stdbool.h>

#include <mortise/mortise.h>

/* Ignores SIGPIPE, catches the others. Before anything else. */
void mor_signals_init(void);
/* Whom to wake; NULL: nobody. */
void mor_signals_host(mortise_host *host);
int mor_signals_count(void);
int mor_signals_exit_code(void); /* 128 + the first one */
/* Where only Ctrl-C has come since the last look: true, and it is forgotten. */
bool mor_signals_take_interrupt(void);

#endif
