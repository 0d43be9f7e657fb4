/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the command may do with a plugin beyond the public headers: make it from what was read already, and
 * start its process without its protocol, for tools that play a plugin's wire by hand (`mortise replay`).
 */
#ifndef MOR_DOOR_DOOR_H
#define MOR_DOOR_DOOR_H

#include <mortise/mortise.h>

#include "loop/loop.h"
#include "proc/proc.h"
#include "resolved/resolved.h"
#include "wire/framing.h"

/* As mortise_plugin_new(), on the host's own thread. Of the options only flags, callbacks and the path that it
 * was resolved from are used. The plugin takes a reference of its own. */
int mor_door_plugin(struct mor_resolved *resolved, mortise_host *host, const mortise_plugin_options *opt,
		    mortise_plugin **ret_plugin, mortise_error *err);

struct mor_loop *mor_door_loop(mortise_host *host);
enum mor_framing mor_door_framing(const mortise_plugin *plugin);
/* As mor_proc_start(), with all settings of the plugin, guarded and confined as ever; but the caller speaks to
 * the process. The plugin must be stopped, and stay so while the process lives. */
int mor_door_start(mortise_plugin *plugin, const struct mor_proc_events *events, void *arg,
		   struct mor_proc **ret, mortise_error *err);

#endif
