/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How processes begin (start.c) and end (supervise.c). The rule of both: first take the calls that end with the
 * process, then move the state, then tell what else has changed, then fail the calls. Callbacks may call, stop
 * or release at any of these points, so none comes while state and process do not fit each other.
 */
#ifndef MOR_HOST_SUPERVISE_H
#define MOR_HOST_SUPERVISE_H

#include "host/life.h"

struct mor_link_events;
struct mor_verdict;

/* The events of a plugin's link, and their receivers. */
extern const struct mor_link_events mor_plugin_link_events;

/* ---- start.c ---- */

/* On failure the plugin is FAILED or, after a lack of resources, in the same state as after a death; waiting
 * calls have failed. */
int mor_supervise_start(mortise_plugin *plugin, mortise_error *err);
/* Counts a death; returns the plugin's next state. FAILED: `failure` says that it was one too many. */
enum mortise_state mor_supervise_after_death(mortise_plugin *plugin, mortise_error *failure);
/* There is no process any more: moves to STOPPED, BACKOFF or FAILED. Waiting calls fail, unless the plugin
 * comes back. */
void mor_supervise_settle_down(mortise_plugin *plugin, enum mortise_state next, const mortise_error *error);
/* Why it ends, for later questions. Call it before the state moves. */
void mor_supervise_blame(mortise_plugin *plugin, const mortise_error *error, struct mor_slice data);
/* The answer, into *ret (NULL is fine). Returns its code; 0: nobody was blamed. */
int mor_supervise_blamed(const mortise_plugin *plugin, mortise_error *ret);

/* ---- supervise.c ---- */

void mor_supervise_ready(mortise_plugin *plugin);
/* Stops it, beginning with step `rung`; `drain` says what follows when the process has ended. */
void mor_supervise_stop(mortise_plugin *plugin, enum mor_rung rung, enum mor_drain drain, const char *why);
/* The process is gone: frees its link and everything that belongs to it. */
void mor_supervise_drop_link(mortise_plugin *plugin);
/* The plugin does not react: fails the running calls, stops it with SIGTERM, and restarts it. */
void mor_supervise_wedged(mortise_plugin *plugin, const char *why);
/* The protocol cannot go on: everything fails with `error`, and the stop begins at `rung`. */
void mor_supervise_breach(mortise_plugin *plugin, const mortise_error *error, enum mor_rung rung);
/* The greeting failed: waiting calls fail with its error. retry: it may work next time. */
void mor_supervise_refused(mortise_plugin *plugin, const struct mor_verdict *verdict, bool retry);

#endif
