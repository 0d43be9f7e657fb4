/* SPDX-License-Identifier: Apache-2.0 */
/* A question to the person at the terminal. */
#ifndef MOR_CONSOLE_CONFIRM_H
#define MOR_CONSOLE_CONFIRM_H

#include <stdbool.h>

/* Asks on stderr and reads one line from stdin. Every answer except yes means no. The caller has seen that both
 * are terminals. */
bool mor_console_confirm(const char *question);

#endif
