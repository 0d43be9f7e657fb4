/* SPDX-License-Identifier: Apache-2.0 */
/* Conversations: when one begins, and its time limit. See keep.h. */
#include <stdio.h>

#include "base/error.h"
#include "base/text.h"
#include "host/embedder.h"
#include "host/keep.h"
#include "host/supervise.h"

#define ANNOUNCED_MS 30000 /* before the end */

static void on_session_timer(struct mor_timer *timer);

bool mor_keep_asked(const struct mor_method *row, const struct mor_value *value)
{
	const char *keep = mor_outcome_of(row)->keep;

	return keep && mor_json_bool(mor_json_at(value, keep), false);
}

static void tell_session(mortise_plugin *plugin, enum mortise_session_step step, int64_t left_ms,
			 const char *text)
{
	mortise_event event = { .type = MORTISE_EVENT_SESSION, .text = text, .session = { step, left_ms } };

	mor_event_full(plugin, &event);
}

static int64_t left_ms(const mortise_plugin *plugin)
{
	return plugin->life.keep.since_ms + plugin->now.keep.total_ms - mor_loop_now_ms(plugin->host->loop);
}

static void wait_ms(mortise_plugin *plugin, int64_t ms)
{
	mor_plugin_set_timer(plugin, &plugin->now.keep.timer, ms > 0 ? (uint32_t)ms : 0, on_session_timer);
}

static void announce_end(mortise_plugin *plugin)
{
	int64_t left = left_ms(plugin);
	char text[128], time[32];

	plugin->life.keep.announced = true;
	wait_ms(plugin, left);
	snprintf(text, sizeof(text), "the session ends in %s (limits.session gives it longer; 0: no limit)",
		 mor_format_ms((uint64_t)(left + 999) / 1000 * 1000, time));
	tell_session(plugin, MORTISE_SESSION_ENDS_SOON, left, text);
}

static void session_time_is_up(mortise_plugin *plugin)
{
	mortise_error error;
	char total[32];

	mor_fail(&error, MORTISE_ETIMEOUT,
		 "%s: killed: its session has lasted %s, which is the limit (limits.session gives it longer; "
		 "0: no limit)",
		 plugin->peer.name, mor_format_ms(plugin->now.keep.total_ms, total));
	error.rpc_code = mor_dialect_code_for(plugin->peer.dialect, MORTISE_ETIMEOUT, error.rpc_code);
	plugin->now.counters.timeouts++;
	mor_supervise_breach(plugin, &error, MOR_RUNG_KILL);
}

static void on_session_timer(struct mor_timer *timer)
{
	mortise_plugin *plugin = mor_container_of(timer, mortise_plugin, now.keep.timer);

	MOR_HOLD(plugin);
	if (!plugin->life.keep.announced && left_ms(plugin) > 0)
		announce_end(plugin);
	else
		session_time_is_up(plugin);
}

static void begin_session(mortise_plugin *plugin)
{
	uint32_t total_ms = plugin->now.keep.total_ms;

	plugin->life.keep =
		(struct mor_keep_life){ .open = true, .since_ms = mor_loop_now_ms(plugin->host->loop) };
	if (total_ms)
		wait_ms(plugin, (int64_t)total_ms - ANNOUNCED_MS);
	tell_session(plugin, MORTISE_SESSION_BEGINS, total_ms ? (int64_t)total_ms : -1,
		     "a session begins: the plugin waits for input");
}

bool mor_keep_ended(mortise_plugin *plugin)
{
	bool open = plugin->life.keep.open;

	plugin->life.keep.open = false;
	mor_timer_stop(&plugin->now.keep.timer);
	return open;
}

void mor_keep_tell_ended(mortise_plugin *plugin, const char *why)
{
	tell_session(plugin, MORTISE_SESSION_OVER, 0, why);
}

void mor_keep_settled(mortise_plugin *plugin, bool keep)
{
	if (plugin->gone)
		return;
	if (keep && plugin->now.state == MORTISE_READY && !plugin->life.keep.open)
		begin_session(plugin);
	else if ((!keep || plugin->now.state != MORTISE_READY) && mor_keep_ended(plugin))
		mor_keep_tell_ended(plugin, "the session is over: the plugin waits for no further input");
}

int mor_keep_check(const mortise_call *call, mortise_error *err)
{
	if (call->method->role != MOR_ROLE_INPUT || call->plugin->life.keep.open || (call->flags & MORTISE_RAW))
		return 0;
	return mor_fail(err, MORTISE_EINPUT,
			"%s: \"%s\" refused: no session is open, the plugin has not asked for further input",
			call->plugin->peer.name, call->name);
}
