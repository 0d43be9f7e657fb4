/* SPDX-License-Identifier: Apache-2.0 */
/* What must hold: of each callback, whenever the loops rest, and in the end. */
#include <string.h>

#include "host/pool.h"
#include "loop/inside.h"
#include "model.h"

#define PEAK_BYTES (8 << 20)

static unsigned number(const struct place *place)
{
	return (unsigned)(place - world.places);
}

static int64_t now_of(const struct host *host)
{
	return mor_loop_now_ms(host->handle->loop);
}

/* A process that has dealt with all it was told, whose answers have all arrived, and that can be told more. */
static bool is_idle(const struct place *place)
{
	const struct proc *p = place->proc;

	if (place->state != MORTISE_READY || !p || p->muddled || p->in_closed || p->close_wanted || p->ends ||
	    p->killed || p->stdout_shut || p->out.len || p->intake.pending.len || place->handle->now.paused ||
	    p->link.written < p->link.queued)
		return false;
	for (unsigned i = 0; i < p->heard_count; i++)
		if (!p->heard[i].over)
			return false;
	return true;
}

/* ---- of a callback ---- */

static bool carries(mortise_json json, const char *text)
{
	return json.text && memmem(json.text, json.len, text, strlen(text));
}

static bool is_ready(const mortise_reply *reply)
{
	return reply->plugin && mortise_plugin_state(reply->plugin) == MORTISE_READY;
}

/* Where a process has one call only, what it did not read before it closed a pipe counts as read. */
static bool counts_as_read(const struct call *call)
{
	return call->proc && (call->proc->link.input_broken || call->proc->stdout_shut);
}

/* The answer is this call's own. A message that names no call may speak of the only one, once that has
 * been written. */
static void check_owner(const struct call *call, const mortise_reply *reply)
{
	mortise_json json = reply->status ? reply->error_data : reply->result;
	char token[32];

	snprintf(token, sizeof(token), "\"t\":%u}", call->token);
	if (carries(json, token) ||
	    (snprintf(token, sizeof(token), "\"t\":%u,", call->token) && carries(json, token)))
		return;
	if (carries(json, "\"t\":"))
		model_fault("call %u got the answer of another: %.*s", call->token, (int)json.len, json.text);
	/* What a refused greeting says is the end of all that wait. */
	if (carries(json, "\"w\":") && call->written_ms < 0 && is_ready(reply) && !counts_as_read(call))
		model_fault("call %u got an answer before it was written: %.*s", call->token, (int)json.len,
			    json.text);
	if (!json.len && reply->plugin && (reply->plugin->peer.dialect->wire & MOR_WIRE_ANY_REF))
		return;
	if (reply->status == MORTISE_OK && !call->note && !carries(json, "\"w\":") && !carries(json, "\"x\":"))
		model_fault("call %u got an answer that nobody gave: %.*s", call->token, (int)json.len,
			    json.text ? json.text : "");
}

static uint32_t least(uint32_t a, uint32_t b)
{
	return a && (!b || a < b) ? a : b;
}

static uint32_t shortest_limit(const struct call *call, const mortise_plugin *plugin)
{
	const struct mor_method *row = call->row;
	uint32_t ms = call->timeout_ms;

	if (!row)
		return ms;
	ms = least(ms, mor_timing_of(row)->max_ms);
	if (row->settle == MOR_BY_NOTE)
		ms = least(ms, mor_timing_of(row)->ack_ms);
	return mor_outcome_of(row)->keep ? least(ms, plugin->now.keep.total_ms) : ms;
}

/* A time-out of a plugin that goes on must be the call's own, and not early. */
static void check_not_early(const struct call *call, const mortise_reply *reply)
{
	int64_t now = now_of(call->host);

	if (call->orphaned || world.freeing || !is_ready(reply))
		return;
	if (!call->proc || counts_as_read(call))
		return;
	if (call->queue_ms && now - call->since_ms >= call->queue_ms)
		return;
	/* It takes nothing more: the limit runs from the last byte that it took. */
	if (call->written_ms < 0 && !call->queue_ms &&
	    now - call->proc->taken_ms >= shortest_limit(call, reply->plugin) &&
	    now - call->since_ms >= shortest_limit(call, reply->plugin))
		return;
	if (call->written_ms < 0)
		model_fault("call %u timed out before it was written, after %lld ms: %s", call->token,
			    (long long)(now - call->since_ms), reply->error->text);
	if (now - call->written_ms < shortest_limit(call, reply->plugin))
		model_fault("call %u timed out %lld ms after it was written: %s", call->token,
			    (long long)(now - call->written_ms), reply->error->text);
}

static void check_cancelled(const struct call *call, const mortise_reply *reply)
{
	if (!call->cancelled && !call->orphaned && !world.freeing)
		model_fault("call %u ends as cancelled, but nobody has: %s", call->token, reply->error->text);
}

/* Calls of one plugin go out in the order in which they were started, unless one was started
 * inside the other. */
void check_order(const struct call *call)
{
	for (unsigned i = 0; i < world.open_count && !world.tapping; i++) {
		const struct call *other = &world.calls[world.open[i]];

		/* Those that are about to fail do not wait any more. */
		if (other->place == call->place && other->order && other->order <= call->begun &&
		    !other->orphaned && other->handle->state == MOR_CALL_QUEUED)
			model_fault("call %u is sent before call %u", call->token, other->token);
	}
}

/* What waits, of a plugin or a pool, is within its limit. What a pool has given to a worker need not have
 * been sent yet. */
void check_queue(const struct call *call)
{
	const mortise_plugin *plugin =
		call->pool ? mortise_pool_worker(call->pool->handle, 0) : call->place->handle;
	size_t waiting = 0, most;

	if (!plugin || call->orphaned)
		return;
	most = plugin->peer.dialect->life.max_waiting ? plugin->peer.dialect->life.max_waiting : 65536;
	if (call->pool)
		most = call->pool->max_queue + call->pool->count * call->pool->handle->per_worker;
	for (unsigned i = 0; i < world.open_count; i++) {
		const struct call *other = &world.calls[world.open[i]];

		if (!other->orphaned && !other->starting)
			waiting += call->pool ? other->pool == call->pool :
						other->place == call->place && !other->sends;
	}
	if (waiting > most)
		model_fault("%zu calls wait, allowed are %zu", waiting, most);
}

/* A pool does not give up a call that nobody has read while one of its workers has nothing to do; unless the
 * call has seen several of them end. */
static void check_not_given_up(const struct call *call, const mortise_reply *reply)
{
	if (!call->pool || call->orphaned || call->pool->stopped || call->touched || world.freeing ||
	    call->pool->ends - call->ends > 2 ||
	    (reply->status != MORTISE_ECLOSED && reply->status != MORTISE_ECRASHED))
		return;
	for (unsigned i = 0; i < call->pool->count; i++)
		if (is_idle(&call->pool->workers[i]) && !call->pool->workers[i].handle->seat.load)
			model_fault("call %u of a pool fails unread, and a worker has nothing to do: %s",
				    call->token, reply->error->text);
}

void check_reply(struct call *call, const mortise_reply *reply)
{
	if (call->settled)
		model_fault("call %u gets a callback after its last: %s", call->token,
			    reply->more ? "a piece" : mortise_status_name(reply->status));
	if (call->starting)
		model_fault("call %u gets a callback before the function that started it has returned",
			    call->token);
	if ((reply->status == MORTISE_OK) != !reply->error || (reply->more && reply->status))
		model_fault("call %u: status %d, more %d, and %s error", call->token, reply->status,
			    reply->more, reply->error ? "an" : "no");
	if (reply->error && (reply->error->code != reply->status || !reply->error->text[0]))
		model_fault("call %u: status %d, but its error says %d \"%s\"", call->token, reply->status,
			    reply->error->code, reply->error->text);
	if (reply->call != call->handle)
		model_fault("call %u: the callback names another call", call->token);
	if (!call->pool && !call->orphaned && reply->plugin != call->place->handle)
		model_fault("call %u: the callback names another plugin", call->token);
	if (!world.foreign)
		check_owner(call, reply);
	if (reply->status == MORTISE_ETIMEOUT && !world.foreign)
		check_not_early(call, reply);
	if (reply->status == MORTISE_ECANCELED)
		check_cancelled(call, reply);
	check_not_given_up(call, reply);
}

/* ---- at rest ---- */

/* Something of this worker's own will come to pass without us. */
static bool is_busy(const struct place *place)
{
	switch (place->state) {
	case MORTISE_STOPPED:
	case MORTISE_FAILED:
		return false;
	case MORTISE_READY:
		return !is_idle(place);
	default:
		return true;
	}
}

static void check_place(const struct place *place)
{
	static const bool runs[] = { [MORTISE_STARTING] = true,
				     [MORTISE_GREETING] = true,
				     [MORTISE_READY] = true,
				     [MORTISE_DRAINING] = true,
				     [MORTISE_FAILED] = false };
	const mortise_plugin *plugin = place->handle;
	unsigned flying = 0;

	if (mortise_plugin_state(place->handle) != (int)place->state)
		model_fault("place %u is %s, but was told to be %s", number(place),
			    mortise_state_name(mortise_plugin_state(place->handle)),
			    mortise_state_name(place->state));
	if (runs[place->state] != (place->proc != NULL))
		model_fault("place %u is %s with%s a process", number(place), mortise_state_name(place->state),
			    place->proc ? "" : "out");
	if (place->state == MORTISE_BACKOFF && !plugin->ends.restart_timer.loop)
		model_fault("place %u waits for a restart, and no timer is set", number(place));
	if (place->state == MORTISE_DRAINING && !plugin->ends.ladder.loop && !place->proc->killed)
		model_fault("place %u is being stopped, and no timer is set", number(place));
	for (unsigned i = 0; place->proc && i < place->proc->heard_count; i++) {
		const struct heard *heard = &place->proc->heard[i];
		const struct call *call = call_of(heard->token);

		flying += call && !call->settled && !heard->over;
	}
	if (plugin->is.max_in_flight && flying > plugin->is.max_in_flight)
		model_fault("place %u has %u calls in flight, allowed are %u", number(place), flying,
			    plugin->is.max_in_flight);
}

/* A pool may have taken it back to try again: then only the pool knows where it is. */
static bool is_with(const struct call *call, const struct proc *p)
{
	for (unsigned i = 0; i < p->heard_count && p->place->state == MORTISE_READY; i++)
		if (p->heard[i].token == call->token && !p->heard[i].over)
			return true;
	return false;
}

static void check_time(const struct call *call)
{
	int64_t now = now_of(call->host), from = call->written_ms;
	bool first_try = !call->pool || call->sends == 0;

	if (from < 0 && call->queue_ms && first_try && !counts_as_read(call) &&
	    now - call->since_ms >= call->queue_ms)
		model_fault("call %u has waited for %lld ms, allowed were %u", call->token,
			    (long long)(now - call->since_ms), call->queue_ms);
	if (from < 0 || !call->proc || !call->timeout_ms || call->note ||
	    (call->pool && !is_with(call, call->proc)))
		return;
	if (call->row && mor_timing_of(call->row)->clock != MOR_FROM_WRITE && call->proc->heard_ms > from)
		from = call->proc->heard_ms;
	if (now - from >= call->timeout_ms)
		model_fault("call %u has been under way for %lld ms, allowed were %u", call->token,
			    (long long)(now - from), call->timeout_ms);
}

static void check_call(const struct call *call)
{
	if (call->cancelled || call->orphaned)
		model_fault("call %u was %s, and its last callback has not come", call->token,
			    call->cancelled ? "cancelled" : "left by a free");
	check_time(call);
	if (call->place) {
		if (call->place->state == MORTISE_STOPPED || call->place->state == MORTISE_FAILED)
			model_fault("call %u waits for a plugin that is %s", call->token,
				    mortise_state_name(call->place->state));
		if (!call->proc && is_idle(call->place) && !call->note)
			model_fault("call %u waits, and its plugin is idle", call->token);
		return;
	}
	for (unsigned i = 0; i < call->pool->count; i++)
		if (is_busy(&call->pool->workers[i]) ||
		    (call->proc && call->proc->place == &call->pool->workers[i]))
			return;
	model_fault("call %u waits in a pool whose workers have nothing to do", call->token);
}

void check_rest(void)
{
	for (unsigned i = 0; i < PLACES; i++)
		if (world.places[i].handle && !world.places[i].shell)
			check_place(&world.places[i]);
	for (unsigned i = 0; i < world.open_count; i++)
		check_call(&world.calls[world.open[i]]);
	if (live.peak > PEAK_BYTES)
		model_fault("%ld bytes are in use", live.peak);
}

/* ---- time ---- */

static bool has_tasks(void)
{
	for (unsigned i = 0; i < HOSTS; i++)
		if (world.hosts[i].handle && !mor_list_empty(&world.hosts[i].handle->loop->tasks))
			return true;
	return false;
}

/* A callback of one host may leave work for another. */
void run_loops(uint32_t ms)
{
	do {
		for (unsigned i = 0; i < HOSTS; i++)
			if (world.hosts[i].handle && mor_loop_advance(world.hosts[i].handle->loop, ms) < 0)
				model_fault("the loop refuses to run");
		ms = 0;
	} while (has_tasks());
}

/* Milliseconds until the next timer of any host; -1: none is set. */
static int64_t until_next(void)
{
	int64_t least_ms = -1;

	for (unsigned i = 0; i < HOSTS; i++) {
		struct mor_loop *loop = world.hosts[i].handle ? world.hosts[i].handle->loop : NULL;
		int64_t ms = loop && loop->timers.count ? mor_timers_next(loop) - loop->clock.virtual_ms : -1;

		if (ms >= 0 && (least_ms < 0 || ms < least_ms))
			least_ms = ms;
	}
	return least_ms;
}

static void all_behave(void)
{
	world.draining = true;
	world.reaction_count = 0;
	for (unsigned i = 0; i < PLACES; i++) {
		struct place *place = &world.places[i];

		place->lack_count = 0;
		if (place->handle)
			mortise_plugin_pause(place->handle, 0, NULL);
		if (place->proc)
			proc_behave(place->proc);
	}
}

static void check_requests_answered(void)
{
	for (unsigned i = 0; i < PLACES; i++) {
		const struct proc *p = world.places[i].proc;

		if (!p || p->muddled || world.places[i].state != MORTISE_READY || p->in_closed ||
		    p->stdout_shut)
			continue;
		for (unsigned ask = 0; ask < p->next_ask; ask++)
			if (p->answered[ask] < p->owed[ask])
				model_fault("place %u: request %u has no answer", i, ask);
	}
}

/* Two hours are more than any number of ladders, backoffs and time limits in a row can take here. */
void check_drain(void)
{
	int64_t passed = 0, ms;

	all_behave();
	for (unsigned turn = 0; turn < 20000; turn++) {
		run_loops(0);
		for (unsigned i = 0; i < HOSTS; i++)
			embed_answer_all(&world.hosts[i]);
		run_loops(0);
		check_rest();
		ms = until_next();
		if (!world.open_count || ms < 0 || passed > 7200000)
			break;
		run_loops((uint32_t)ms);
		passed += ms;
	}
	if (world.open_count)
		model_fault("call %u is not settled although everybody behaves, after %lld ms%s",
			    world.calls[world.open[0]].token, (long long)passed,
			    until_next() < 0 ? ": no timer is set" : "");
	check_requests_answered();
}

void check_empty(void)
{
	if (world.open_count)
		model_fault("call %u never gets its last callback", world.calls[world.open[0]].token);
	for (unsigned i = 0; i < world.view_count; i++)
		if (world.views[i] != 1)
			model_fault("view %u is never told", i);
	for (unsigned i = 0; i < PLACES; i++)
		if (world.places[i].proc)
			model_fault("place %u: its process is left", i);
}
