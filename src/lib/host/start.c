/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes are started here, also again: start, what follows a death, backoff. A start that fails for lack
 * of descriptors, processes or memory is an ordinary death: backoff, restart, counted.
 */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "host/embedder.h"
#include "host/pool.h"
#include "host/shape.h"
#include "host/state.h"
#include "host/supervise.h"
#include "policy/cgroup.h"

/* ---- death and what follows ---- */

void mor_supervise_blame(mortise_plugin *plugin, const mortise_error *error, struct mor_slice data)
{
	struct mor_failure *failure = &plugin->ends.failure;

	failure->code = error->code;
	failure->os_errno = error->os_errno;
	failure->rpc_code = error->rpc_code;
	mor_kept_set(&failure->text, error->text, sizeof(error->text));
	mor_buf_fini(&failure->data);
	/* Without memory for the data, the error is reported without them. */
	if (data.ptr && mor_buf_slice(&failure->data, data) < 0)
		mor_buf_fini(&failure->data);
}

int mor_supervise_blamed(const mortise_plugin *plugin, mortise_error *ret)
{
	const struct mor_failure *failure = &plugin->ends.failure;
	mortise_error error = { failure->code, failure->os_errno, failure->rpc_code, "" };

	snprintf(error.text, sizeof(error.text), "%s", mor_kept_text(&failure->text));
	if (ret)
		*ret = error;
	return error.code;
}

/* One death more. How many were in the last restart.period? Without memory for their times: all of them. */
static unsigned count_deaths(mortise_plugin *plugin)
{
	unsigned recent = 0, ring = plugin->is.restart.intensity + 1;
	int64_t now = mor_loop_now_ms(plugin->host->loop);

	if (!plugin->ends.deaths)
		plugin->ends.deaths = mor_zalloc(ring * sizeof(*plugin->ends.deaths));
	if (!plugin->ends.deaths)
		return ++plugin->ends.death_count;
	plugin->ends.deaths[plugin->ends.death_count++ % ring] = now;
	for (unsigned i = 0; i < ring && i < plugin->ends.death_count; i++)
		recent += now - plugin->ends.deaths[i] < (int64_t)plugin->is.restart.period_ms;
	return recent;
}

enum { WORKER_STEPS = 3 }; /* of the backoff, where others of the pool get work done */

/* Has the pool of a worker answered calls since this worker died last? Then what ended it is a job among many:
 * the deaths before are forgotten, and the pool goes on as long as work gets done. One that has done some of it
 * starts again soon. */
static bool pool_gets_on(mortise_plugin *worker)
{
	uint64_t answered = 0, before = worker->seat.answered;

	for (uint32_t i = 0; worker->seat.pool && i < worker->seat.pool->count; i++)
		answered += worker->seat.pool->workers[i]->now.counters.answered;
	worker->seat.answered = answered;
	if (answered <= before)
		return false;
	worker->ends.death_count = 0;
	if (worker->now.counters.answered > worker->life.answered)
		worker->ends.backoff_step = 0;
	else if (worker->ends.backoff_step > WORKER_STEPS)
		worker->ends.backoff_step = WORKER_STEPS;
	return true;
}

enum mortise_state mor_supervise_after_death(mortise_plugin *plugin, mortise_error *failure)
{
	const struct mor_restart *restart = &plugin->is.restart;
	unsigned recent;
	char period[32];

	if (!mor_shape_is_session(plugin))
		return MORTISE_STOPPED; /* a process ends with its call: nothing to count, nothing to restart */
	recent = pool_gets_on(plugin) ? 0 : count_deaths(plugin);
	if (recent > restart->intensity) {
		char text[sizeof(failure->text)];

		memcpy(text, failure->text, sizeof(text));
		mor_fail(failure, MORTISE_ECLOSED,
			 "%s: ended %u times in %s and is not started again (restart.intensity, "
			 "restart.period); the last time: %s",
			 plugin->peer.name, recent, mor_format_ms(restart->period_ms, period), text);
		return MORTISE_FAILED;
	}
	return plugin->guarded.flags & MORTISE_NO_RESTART ? MORTISE_STOPPED : MORTISE_BACKOFF;
}

static void on_restart(struct mor_timer *timer)
{
	mortise_plugin *plugin = mor_container_of(timer, mortise_plugin, ends.restart_timer);
	mortise_error error;

	MOR_HOLD(plugin);
	plugin->now.counters.restarts++;
	if (mor_supervise_start(plugin, &error) < 0)
		mor_call_fail_queued(plugin, &(struct mor_verdict){ .status = error.code, .error = &error });
}

static uint32_t backoff_ms(mortise_plugin *plugin)
{
	const struct mor_restart *restart = &plugin->is.restart;
	uint64_t ms = (uint64_t)restart->first_ms
		      << (plugin->ends.backoff_step < 20 ? plugin->ends.backoff_step : 20);

	plugin->ends.backoff_step++;
	if (ms > restart->cap_ms)
		ms = restart->cap_ms;
	/* xorshift: only so that plugins that died together do not start together. */
	plugin->host->random ^= plugin->host->random << 13;
	plugin->host->random ^= plugin->host->random >> 17;
	plugin->host->random ^= plugin->host->random << 5;
	return (uint32_t)(ms - ms / 4 + plugin->host->random % (ms / 2 + 1));
}

void mor_supervise_settle_down(mortise_plugin *plugin, enum mortise_state next, const mortise_error *error)
{
	mor_state_set(plugin, next, error->text);
	if (plugin->gone || plugin->now.state != next)
		return;
	if (next == MORTISE_BACKOFF)
		mor_plugin_set_timer(plugin, &plugin->ends.restart_timer,
				     plugin->life.restart_ms < 0 ? backoff_ms(plugin) :
								   (uint32_t)plugin->life.restart_ms,
				     on_restart);
	else
		mor_call_fail_queued(plugin, &(struct mor_verdict){ .status = error->code, .error = error });
}

/* ---- starting ---- */

/* A wrong thing will be wrong next time too. A lack of resources may be over soon: that is an ordinary
 * death. */
static int start_failed(mortise_plugin *plugin, mortise_error *error)
{
	mortise_error failure;
	enum mortise_state next = MORTISE_FAILED;

	if (plugin->life.link)
		plugin->life.link->ops->free(plugin->life.link);
	plugin->life.link = NULL;
	mor_fail_prefix(error, plugin->peer.name);
	mor_plugin_keep_error(plugin, error);
	plugin->life.cause = error->code;
	failure = *error;
	if (mor_error_is_lack(error))
		next = mor_supervise_after_death(plugin, &failure);
	mor_supervise_blame(plugin, &failure, (struct mor_slice){ 0 });
	mor_supervise_settle_down(plugin, next, &failure);
	return error->code;
}

/* About its rights: the commands show it, whatever else they keep to themselves. */
static void warn_at_start(mortise_plugin *plugin, const char *text)
{
	mor_event_full(plugin, &(mortise_event){ .type = MORTISE_EVENT_WARNING,
						 .text = text,
						 .warning = { .about_rights = 1 } });
}

/* A limit that this machine cannot hold for all processes together. */
static void warn_of_loose_limits(mortise_plugin *plugin)
{
	struct mor_cgroups groups;
	const char *text;

	if (!mor_cgroup_wanted(&plugin->guarded.policy))
		return;
	mor_cgroup_find_own(&groups);
	for (size_t i = 0;
	     !plugin->gone && (text = mor_cgroup_loose(&plugin->guarded.policy, mor_cgroup_held(&groups), i));
	     i++)
		warn_at_start(plugin, text);
}

static void warn_of_own_code(mortise_plugin *plugin)
{
	char text[600];

	if (!mor_policy_writes_own_code(&plugin->guarded.policy))
		return;
	snprintf(text, sizeof(text),
		 "it can change its own code, because it may write %.300s; protected are its manifest, "
		 "mortise.toml and the files that its command names",
		 plugin->guarded.policy.workspace);
	warn_at_start(plugin, text);
}

static int make_process(mortise_plugin *plugin, mortise_error *err)
{
	mortise_host *host = plugin->host;
	/* A test that brings its own link has it for all. */
	bool remote = plugin->is.link_options.remote && host->make_link == mor_link_stdio_new;
	mor_link_make_fn *make = remote ? mor_link_remote_new : host->make_link;
	int r = make(host->loop, &plugin->is.link_options, &mor_plugin_link_events, plugin, &plugin->life.link);

	if (r < 0)
		return mor_fail(err, r, "%s", mortise_status_text(r));
	r = mor_manifest_prepare(plugin->guarded.manifest, err);
	if (r == 0)
		r = mor_policy_look_up(&plugin->guarded.policy, err);
	return r < 0 ? r : plugin->life.link->ops->start(plugin->life.link, err);
}

static int ask_embedder(void *arg, const mortise_trust *trust)
{
	mortise_plugin *plugin = arg;
	mortise_host *host = plugin->host;
	MOR_EMBEDDER(host);
	int answer = host->on_trust ? host->on_trust(trust, host->arg) : 0;

	return plugin->gone ? 0 : answer;
}

int mor_supervise_start(mortise_plugin *plugin, mortise_error *err)
{
	const struct mor_vetting_asker asker = { .ask = ask_embedder, .arg = plugin };
	mortise_error error = { 0 };
	int r = 0;

	if (plugin->now.state == MORTISE_DRAINING)
		return mor_fail(err, MORTISE_ECLOSED, "%s: is being stopped", plugin->peer.name);
	if (plugin->life.link || plugin->now.state == MORTISE_STARTING)
		return 0;
	mor_timer_stop(&plugin->ends.restart_timer);
	mor_life_begin(plugin);
	mor_state_set(plugin, MORTISE_STARTING, "starting");
	if (!plugin->gone && plugin->now.state == MORTISE_STARTING)
		warn_of_loose_limits(plugin);
	if (!plugin->gone && plugin->now.state == MORTISE_STARTING)
		warn_of_own_code(plugin);
	if (!plugin->gone && plugin->now.state == MORTISE_STARTING && !plugin->life.link)
		r = mor_vetting_check(&plugin->guarded, &asker, &error);
	/* The callback may have stopped or released it, or even started it again. */
	if (plugin->gone || plugin->now.state != MORTISE_STARTING)
		return mor_fail(err, MORTISE_ECLOSED, "%s: was stopped while it was being started",
				plugin->peer.name);
	if (plugin->life.link)
		return 0;
	if (r == 0)
		r = make_process(plugin, &error);
	if (r == 0) {
		plugin->life.link->ops->pause(plugin->life.link, plugin->now.paused);
		return 0;
	}
	r = start_failed(plugin, &error);
	if (err)
		*err = error;
	return r;
}

int mortise_plugin_start(mortise_plugin *plugin, mortise_error *err)
{
	int r = mor_plugin_check(plugin, err);

	if (r < 0)
		return r;
	MOR_HOLD(plugin);
	if (plugin->now.state == MORTISE_FAILED)
		/* an explicit start: it gets a new chance */
		plugin->ends.death_count = plugin->ends.backoff_step = plugin->ends.clean_exits = 0;
	return mor_supervise_start(plugin, err);
}
