/* SPDX-License-Identifier: Apache-2.0 */
/* What the embedder is told besides replies: events, and the messages themselves. */
#include <stdio.h>

#include "base/clock.h"
#include "base/text.h"
#include "base/trace.h"
#include "host/embedder.h"

static const char *const names[MORTISE_EVENT_TYPES] = {
	[MORTISE_EVENT_STATE] = "state",     [MORTISE_EVENT_STDERR] = "stderr",
	[MORTISE_EVENT_NOISE] = "noise",     [MORTISE_EVENT_NOTE] = "note",
	[MORTISE_EVENT_LOG] = "log",         [MORTISE_EVENT_WARNING] = "warning",
	[MORTISE_EVENT_HEALTH] = "health",   [MORTISE_EVENT_DROPPED] = "dropped",
	[MORTISE_EVENT_SESSION] = "session", [MORTISE_EVENT_VIOLATION] = "sandbox_violation",
};

const char *mortise_event_name(int type)
{
	return type >= 0 && type < MORTISE_EVENT_TYPES ? names[type] : "unknown";
}

void mor_event_full(mortise_plugin *plugin, mortise_event *event)
{
	mortise_host *host = plugin->host;
	mortise_event_fn *fn = plugin->is.on_event ? plugin->is.on_event : host->on_event;
	void *arg = plugin->is.on_event ? plugin->is.arg : host->arg;

	if (!fn || plugin->gone || host->is_copy)
		return;
	event->plugin = plugin;
	event->pool = plugin->seat.pool;
	event->worker = plugin->seat.index;
	event->time_ms = mor_loop_now_ms(host->loop);
	if (!event->text)
		event->text = "";
	MOR_EMBEDDER(host);
	fn(event, arg);
}

void mor_event(mortise_plugin *plugin, enum mortise_event_type type, const char *text)
{
	mortise_event event = { .type = type, .text = text };

	mor_event_full(plugin, &event);
}

void mor_event_vprintf(mortise_plugin *plugin, enum mortise_event_type type, const char *format, va_list args)
{
	char text[512];

	vsnprintf(text, sizeof(text), format, args);
	mor_event(plugin, type, text);
}

void mor_event_printf(mortise_plugin *plugin, enum mortise_event_type type, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	mor_event_vprintf(plugin, type, format, args);
	va_end(args);
}

/* ---- messages ---- */

void mor_event_untapped(const mortise_tap_frame *frame, void *arg)
{
	(void)frame;
	(void)arg;
}

void mor_event_show(mortise_plugin *plugin, enum mortise_tap_direction direction, struct mor_slice body)
{
	mortise_host *host = plugin->host;
	mortise_tap_frame frame = { plugin, direction, 0, { body.ptr, body.len } };

	if (mor_trace_mask & MOR_TRACE_WIRE) {
		char text[600];

		mor_trace_write(MOR_TRACE_WIRE, "%s %c %s", plugin->peer.name,
				direction == MORTISE_TO_PLUGIN ? '>' : '<',
				mor_printable(body, text, sizeof(text)));
	}
	if (host->tap == mor_event_untapped)
		return;
	frame.time_ns = mor_clock_ns();
	MOR_EMBEDDER(host);
	host->tap(&frame, host->tap_arg);
}
