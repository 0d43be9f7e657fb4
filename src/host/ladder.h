/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stop ladder: the dialect's goodbyes, the end of stdin, SIGTERM, SIGKILL, each with its grace. When to begin, and
 * what follows the end, is decided in supervise.c.
 */
#ifndef MOR_HOST_LADDER_H
#define MOR_HOST_LADDER_H

#include <mortise/mortise.h>

enum mor_rung { MOR_RUNG_NONE, MOR_RUNG_BYE, MOR_RUNG_INPUT, MOR_RUNG_TERM, MOR_RUNG_KILL };

/* To this rung, and on from there as the graces pass. */
void mor_ladder_climb(mortise_plugin *plugin, enum mor_rung rung);
void mor_ladder_bye_answered(mortise_call *bye);

#endif
