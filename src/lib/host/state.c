/* SPDX-License-Identifier: Apache-2.0 */
/* The states of a plugin: the legal moves as a table, and the only function that writes the state. */
#include <assert.h>

#include "base/trace.h"
#include "host/embedder.h"
#include "host/pool.h"
#include "host/state.h"

#define TO(state) (1u << MORTISE_##state)

/* Any other move is a fault of ours. tests/unit/host/state_test.c walks all pairs; docs/design/0002-core.md
 * shows them as a diagram. */
static const unsigned moves[MORTISE_STATES] = {
	[MORTISE_STOPPED] = TO(STARTING),
	[MORTISE_STARTING] = TO(GREETING) | TO(BACKOFF) | TO(FAILED) | TO(STOPPED) | TO(DRAINING),
	[MORTISE_GREETING] = TO(READY) | TO(DRAINING) | TO(BACKOFF) | TO(FAILED) | TO(STOPPED),
	/* STOPPED: it ended while idle and starts again with the next call. FAILED: a sandbox violation. */
	[MORTISE_READY] = TO(DRAINING) | TO(BACKOFF) | TO(STOPPED) | TO(FAILED),
	/* BACKOFF: a wedged plugin that will be restarted. FAILED: it refused its configuration. */
	[MORTISE_DRAINING] = TO(STOPPED) | TO(BACKOFF) | TO(FAILED),
	[MORTISE_BACKOFF] = TO(STARTING) | TO(FAILED) | TO(STOPPED),
	[MORTISE_FAILED] = TO(STARTING) | TO(STOPPED),
};

static const char *const names[MORTISE_STATES] = {
	[MORTISE_STOPPED] = "stopped", [MORTISE_STARTING] = "starting", [MORTISE_GREETING] = "greeting",
	[MORTISE_READY] = "ready",     [MORTISE_DRAINING] = "draining", [MORTISE_BACKOFF] = "backoff",
	[MORTISE_FAILED] = "failed",
};

const char *mortise_state_name(int state)
{
	return state >= 0 && state < MORTISE_STATES ? names[state] : "unknown";
}

bool mor_state_may(enum mortise_state from, enum mortise_state to)
{
	return moves[from] & (1u << to);
}

void mor_state_set(mortise_plugin *plugin, enum mortise_state to, const char *why)
{
	int64_t now = mor_loop_now_ms(plugin->host->loop);
	mortise_event event = {
		.type = MORTISE_EVENT_STATE,
		.text = why,
		.state = { .now = to,
			   .before = plugin->now.state,
			   .status = to == MORTISE_STOPPED || to >= MORTISE_DRAINING ? plugin->life.cause : 0 },
	};

	assert(mor_state_may(plugin->now.state, to));
	mor_trace(MOR_TRACE_HOST, "%s: %s -> %s after %lld ms: %s", plugin->peer.name, names[plugin->now.state],
		  names[to], (long long)(now - plugin->now.state_ms), why);
	plugin->now.state = to;
	plugin->now.state_ms = now;
	if (plugin->seat.pool)
		mor_pool_worker_moved(plugin, event.state.before);
	mor_event_full(plugin, &event);
}
