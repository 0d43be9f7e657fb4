/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps of a stop: the dialect's goodbyes, the end of stdin, SIGTERM, SIGKILL, each with its grace time.
 * supervise.c decides when to begin and what follows the end.
 */
#ifndef MOR_HOST_LADDER_H
#define MOR_HOST_LADDER_H

#include <mortise/mortise.h>

enum mor_rung { MOR_RUNG_NONE, MOR_RUNG_BYE, MOR_RUNG_INPUT, MOR_RUNG_TERM, MOR_RUNG_KILL };

/* Goes to this step, and on from there when the grace times are over. */
/* Where it begins for a plugin whose late call must end it (MOR_LATE_KILL): one that was told that the call is
 * over may clean up first. */
enum mor_rung mor_ladder_late(const mortise_plugin *plugin);
void mor_ladder_climb(mortise_plugin *plugin, enum mor_rung rung);
void mor_ladder_bye_answered(mortise_call *bye);

#endif
