/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One process per call: dialects with the shape ONE_CALL or ONE_RUN. ONE_CALL: no greeting, one request, its
 * input is closed, and the answer counts when the process has ended well. ONE_RUN: greeting, one call, the
 * stop. In both cases the end of a process is not a death: the plugin is STOPPED, and waiting calls get
 * their own process.
 */
#ifndef MOR_HOST_SHAPE_H
#define MOR_HOST_SHAPE_H

#include "host/plugin.h"

struct mor_link_end;
struct mor_message;

/* One process for many calls. The functions below are for the others, and are not called for these. */
static inline bool mor_shape_is_session(const mortise_plugin *plugin)
{
	return plugin->peer.dialect->life.shape == MOR_SHAPE_SESSION;
}

/* A user's call was given to the link. */
void mor_shape_sent(mortise_plugin *plugin);
/* An answer has come. True: it is kept until the exit. */
bool mor_shape_hold(mortise_call *call, const struct mor_message *message);
/* A user's call is settled: the work of ONE_RUN's process is done. */
void mor_shape_settled(mortise_plugin *plugin);
/* The process has ended; `error` says how. The state moves, the calls are settled, the next process is
 * started. */
void mor_shape_end(mortise_plugin *plugin, const struct mor_link_end *how, const mortise_error *error);

#endif
