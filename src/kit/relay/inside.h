/* SPDX-License-Identifier: Apache-2.0 */
/* What start.c and carry.c must agree on. */
#ifndef MOR_RELAY_INSIDE_H
#define MOR_RELAY_INSIDE_H

#include <signal.h>

/* All signals that we read from a descriptor. They are blocked before it exists, so that none is lost. */
void mor_relay_signals(sigset_t *set);

#endif
