/* SPDX-License-Identifier: Apache-2.0 */
/* The rungs of the stop ladder, and how long each is waited on. See ladder.h. */
#include "host/ladder.h"
#include "base/alloc.h"
#include "host/plugin.h"
#include "host/template.h"

/* The rest of the time that the specification promises. It counts from the end of its stdin, which comes
 * late if the plugin reads slowly. Bytes that it has not read by now are dropped. */
static uint32_t held_ms(mortise_plugin *plugin)
{
	int64_t rest;

	if (!plugin->is.stop.hold || !plugin->life.link || plugin->life.end_seen)
		return 0;
	if (!plugin->life.link->closed)
		plugin->life.link->ops->close_input(plugin->life.link);
	rest = plugin->life.link->closed_ms + plugin->is.stop.term_ms - mor_loop_now_ms(plugin->host->loop);
	return rest > 0 ? (uint32_t)rest : 0;
}

static void wait_on_rung(mortise_plugin *plugin, uint32_t ms);

static void on_ladder(struct mor_timer *timer)
{
	mortise_plugin *plugin = mor_container_of(timer, mortise_plugin, ends.ladder);

	uint32_t rest = plugin->life.rung == MOR_RUNG_INPUT ? held_ms(plugin) : 0;

	MOR_HOLD(plugin);
	if (rest)
		wait_on_rung(plugin, rest);
	else
		mor_ladder_climb(plugin, plugin->life.rung + 1);
}

static void wait_on_rung(mortise_plugin *plugin, uint32_t ms)
{
	mor_plugin_set_timer(plugin, &plugin->ends.ladder, ms, on_ladder);
}

/* Goodbyes are sent in table order, the next one when the one before is answered (a note: at once). True if
 * there is an answer to wait for. */
static bool say_bye(mortise_plugin *plugin)
{
	MOR_CLEAN(mor_buf) struct mor_buf params = MOR_BUF_INIT;
	mortise_error error;

	while (plugin->life.was_ready &&
	       (plugin->life.bye = mor_dialect_role(plugin->peer.dialect, MOR_FROM_HOST, MOR_ROLE_BYE,
						    plugin->life.bye))) {
		mor_buf_reset(&params, 0);
		if (plugin->life.bye->template &&
		    mor_template_fill(plugin, plugin->life.bye->template, NULL, &params) < 0)
			return false;
		if (mor_call_internal(plugin, plugin->life.bye, MOR_FOR_BYE,
				      params.len ? mor_buf_view(&params) : (struct mor_slice){ 0 }, &error) < 0)
			return false;
		if (!(plugin->life.bye->flags & MOR_M_NOTE))
			return plugin->is.stop.bye_ms > 0;
	}
	return false;
}

enum mor_rung mor_ladder_late(const mortise_plugin *plugin)
{
	return plugin->life.link && plugin->life.link->ops->cancel ? MOR_RUNG_INPUT : MOR_RUNG_KILL;
}

void mor_ladder_climb(mortise_plugin *plugin, enum mor_rung rung)
{
	int64_t left = plugin->life.ladder_ms + plugin->is.stop.term_ms - mor_loop_now_ms(plugin->host->loop);
	uint32_t rest = left > 0 ? (uint32_t)left : 0; /* until SIGTERM */
	bool answered;

	if (!plugin->life.link || plugin->life.end_seen)
		return;
	if (rung == MOR_RUNG_BYE) {
		plugin->life.rung = rung;
		answered = say_bye(plugin);
		/* the tap may have ended it, or gone further */
		if (!plugin->life.link || plugin->life.rung != MOR_RUNG_BYE)
			return;
		if (answered) {
			wait_on_rung(plugin, plugin->is.stop.bye_ms < rest ? plugin->is.stop.bye_ms : rest);
			return;
		}
		rung = MOR_RUNG_INPUT;
	}
	plugin->life.rung = rung;
	if (rung == MOR_RUNG_INPUT) {
		plugin->life.link->ops->close_input(plugin->life.link);
		wait_on_rung(plugin, rest);
	} else if (rung == MOR_RUNG_TERM) {
		plugin->life.link->ops->order(plugin->life.link, MOR_ORDER_TERM);
		wait_on_rung(plugin, plugin->is.stop.kill_ms);
	} else {
		mor_timer_stop(&plugin->ends.ladder);
		plugin->life.link->ops->order(plugin->life.link, MOR_ORDER_KILL);
	}
}

void mor_ladder_bye_answered(mortise_call *bye)
{
	mortise_plugin *plugin = bye->plugin;

	if (plugin->now.state != MORTISE_DRAINING || plugin->life.rung != MOR_RUNG_BYE || !plugin->life.link ||
	    plugin->life.end_seen)
		return;
	/* A note counts as answered when it is written. Nobody waited for it, and a request may have
	 * followed it. */
	if (bye->method != plugin->life.bye || (plugin->life.bye->flags & MOR_M_NOTE) ||
	    !plugin->is.stop.bye_ms)
		return;
	if (!say_bye(plugin) && plugin->life.rung == MOR_RUNG_BYE)
		mor_ladder_climb(plugin, MOR_RUNG_INPUT);
}
