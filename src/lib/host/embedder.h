/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every call into the embedder's code. A callback may do anything that its manual allows: call, stop or
 * release, also the plugin that it is told about. So code that calls back
 *
 *	- first puts its own state in order (a plugin's state changes before anybody is told);
 *	- holds what it looks at afterwards (MOR_HOLD);
 *	- enters through MOR_EMBEDDER(), for as long as the callback runs.
 */
#ifndef MOR_HOST_EMBEDDER_H
#define MOR_HOST_EMBEDDER_H

#include <stdarg.h>

#include "host/plugin.h"

static inline mortise_host *mor_embedder_enter(mortise_host *host)
{
	host->in_callback++;
	return host;
}

static inline void mor_embedder_leave(mortise_host **host)
{
	(*host)->in_callback--;
}

/* Until the end of the scope we are in the embedder's code: functions that run the loop are refused
 * meanwhile. */
#define MOR_EMBEDDER(host) \
	__attribute__((cleanup(mor_embedder_leave), unused)) mortise_host *entered_ = mor_embedder_enter(host)

/* events.c: what the embedder is told besides replies. Nothing about a plugin that is gone. */
void mor_event(mortise_plugin *plugin, enum mortise_event_type type, const char *text);
void mor_event_full(mortise_plugin *plugin, mortise_event *event);
void mor_event_printf(mortise_plugin *plugin, enum mortise_event_type type, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void mor_event_vprintf(mortise_plugin *plugin, enum mortise_event_type type, const char *format, va_list args)
	__attribute__((format(printf, 3, 0)));
/* A tap that does nothing. It is set while messages are traced and nobody taps, so that they go through
 * mor_event_show(). */
mortise_tap_fn mor_event_untapped;
/* Shows a message to the tap, and traces it. */
void mor_event_show(mortise_plugin *plugin, enum mortise_tap_direction direction, struct mor_slice body);
static inline void mor_event_tap(mortise_plugin *plugin, enum mortise_tap_direction direction,
				 struct mor_slice body)
{
	if (plugin->host->tap)
		mor_event_show(plugin, direction, body);
}

#endif
