/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process of a plugin without its protocol: started with all its settings, guarded and confined as ever,
 * but the caller speaks to it. For tools that play a plugin's wire by hand (`mortise replay`).
 */
#ifndef MOR_HOST_BARE_H
#define MOR_HOST_BARE_H

#include <mortise/mortise.h>

#include "loop/loop.h"
#include "proc/proc.h"
#include "wire/framing.h"

struct mor_loop *mor_bare_loop(mortise_host *host);
enum mor_framing mor_bare_framing(const mortise_plugin *plugin);
/* As mor_proc_start(). The plugin must be stopped, and stay so while the process lives. */
int mor_bare_start(mortise_plugin *plugin, const struct mor_proc_events *events, void *arg,
		   struct mor_proc **ret, mortise_error *err);

#endif
