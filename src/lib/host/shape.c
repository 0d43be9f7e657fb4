/* SPDX-License-Identifier: Apache-2.0 */
/* One process per call: what its call and its end mean for each other. See shape.h. */
#include <stdio.h>

#include "base/error.h"
#include "host/embedder.h"
#include "host/shape.h"
#include "host/state.h"
#include "host/supervise.h"
#include "wire/envelope.h"

void mor_shape_sent(mortise_plugin *plugin)
{
	plugin->life.spent = true;
	if (plugin->peer.dialect->life.shape == MOR_SHAPE_ONE_CALL)
		plugin->life.link->ops->close_input(plugin->life.link); /* when the request is written */
}

bool mor_shape_hold(mortise_call *call, const struct mor_message *message)
{
	mortise_plugin *plugin = call->plugin;

	if (plugin->peer.dialect->life.shape != MOR_SHAPE_ONE_CALL || call->purpose != MOR_FOR_USER)
		return false;
	if (plugin->life.held.len) {
		plugin->now.counters.dropped++;
		mor_event_printf(plugin, MORTISE_EVENT_DROPPED, "a second answer to \"%s\"", call->name);
		return true;
	}
	return mor_envelope_copy(&plugin->life.held, message) == 0;
}

/* There is still a process: ONE_CALL's call was given up, ONE_RUN's is over. */
void mor_shape_settled(mortise_plugin *plugin)
{
	if (!plugin->life.spent || !plugin->life.link || plugin->now.state != MORTISE_READY)
		return;
	mor_supervise_stop(plugin,
			   plugin->peer.dialect->life.shape == MOR_SHAPE_ONE_RUN ? MOR_RUNG_BYE :
										   MOR_RUNG_INPUT,
			   MOR_DRAIN_SPENT, "its call is over");
}

/* The error of a call whose process has ended without an answer. */
static void describe_silence(const mortise_plugin *plugin, const struct mor_link_end *how, mortise_error *error)
{
	if (plugin->peer.dialect->life.shape != MOR_SHAPE_ONE_CALL || !how->clean || !plugin->life.spent)
		return;
	mor_fail(error, MORTISE_EPROTO, "%s: %s without an answer%s%s%s%s", plugin->peer.name, how->text,
		 mor_kept_is_set(&plugin->life.truncated) ? "; " : "", mor_kept_text(&plugin->life.truncated),
		 plugin->now.counters.noise_bytes ? "; what it wrote to stdout is no message: " : "",
		 !plugin->now.counters.noise_bytes ? "" :
		 plugin->host->command_words       ? "--verbose shows it" :
						     "its NOISE events show it");
}

static void answer_with_held(mortise_call *call, struct mor_slice whole)
{
	mortise_plugin *plugin = call->plugin;
	struct mor_message message = { .id_int = -1 };
	mortise_error error;

	/* It was parsed before: only memory can be missing. */
	if (mor_envelope_scan(whole, plugin->is.link_options.envelope_flags, plugin->is.link_options.max_depth,
			      &message, &error) < 0)
		mor_call_fail(call, &error);
	else
		mor_call_answer(call, &message);
}

void mor_shape_end(mortise_plugin *plugin, const struct mor_link_end *how, const mortise_error *said)
{
	bool stopped = plugin->now.state == MORTISE_DRAINING && plugin->life.drain != MOR_DRAIN_SPENT;
	/* it ended by itself, before anybody could call it */
	bool early = plugin->now.state != MORTISE_DRAINING && !plugin->life.spent;
	mortise_call *call = plugin->life.spent ? mor_call_only(plugin) : NULL;
	struct mor_buf held = plugin->life.held;
	mortise_error error = *said;
	struct mor_list taken;

	plugin->life.held = (struct mor_buf)MOR_BUF_INIT;
	if (call && !held.len)
		describe_silence(plugin, how, &error);
	if (early)
		plugin->life.cause = error.code;
	if (early || (call && !(held.len && how->clean)))
		mor_plugin_keep_error(plugin, &error);
	mor_supervise_blame(plugin, &error, (struct mor_slice){ 0 });
	mor_supervise_drop_link(plugin);
	/* A process that ended before its call would do no better next time. */
	mor_call_take(plugin, &taken, stopped || !plugin->life.spent);
	mor_health_ended(plugin, NULL);
	mor_state_set(plugin, MORTISE_STOPPED, how->text);
	if (call && call->state != MOR_CALL_LATE && held.len && how->clean)
		answer_with_held(call, mor_buf_view(&held));
	mor_call_fail_taken(plugin, &taken, &(struct mor_verdict){ .status = error.code, .error = &error });
	mor_buf_fini(&held);
	if (!plugin->gone && plugin->now.state == MORTISE_STOPPED && !mor_list_empty(&plugin->calls.queue) &&
	    mor_supervise_start(plugin, &error) < 0)
		mor_call_fail_queued(plugin, &(struct mor_verdict){ .status = error.code, .error = &error });
}
