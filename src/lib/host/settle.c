/* SPDX-License-Identifier: Apache-2.0 */
/* How a call ends: settled exactly once, by an answer, by time, or with its plugin; and the ghosts that
 * stay. */
#include <assert.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/apart.h"
#include "base/error.h"
#include "host/diagnosis.h"
#include "host/embedder.h"
#include "host/greet.h"
#include "host/settings.h"
#include "host/shape.h"
#include "host/supervise.h"

#define SPARE_CALLS    256
#define UNANSWERED_MAX 3     /* after this many in a row the plugin is wedged, whatever else it sends */
#define LATE_MS        30000 /* how long we wait for a ghost if neither row nor time limit says */

/* ---- recycling ---- */

void mor_call_recycle(mortise_host *host, mortise_call *call)
{
	mor_task_stop(&call->cancel_task);
	if (call->name != call->short_name)
		mor_free(call->name);
	mor_buf_fini(&call->params);
	call->lent = (struct mor_slice){ 0 }; /* one that could not wait has them still */
	if (host->spare_count >= SPARE_CALLS) {
		mor_call_free(host, call);
		return;
	}
	call->state = MOR_CALL_IDLE;
	call->due_ms = 0;
	/* The last one is used again first: it is still in the cache, and its timer is the one that is set. */
	mor_list_prepend(&host->spare_calls, &call->node);
	host->spare_count++;
}

void mor_call_free(mortise_host *host, mortise_call *call)
{
	mor_timer_release(host->loop, &call->timer);
	mor_free(call);
}

void mor_call_free_spares(mortise_host *host)
{
	struct mor_list *node;

	while ((node = mor_list_pop(&host->spare_calls)))
		mor_call_free(host, mor_container_of(node, mortise_call, node));
}

/* ---- settling ---- */

static void deliver_to_user(mortise_call *call, mortise_reply_fn *fn, void *arg,
			    const struct mor_verdict *verdict, int more)
{
	mortise_plugin *plugin = call->plugin;
	mortise_reply reply = {
		.status = verdict->status,
		.more = more,
		.result = { verdict->result.ptr, verdict->result.len },
		.error_data = { verdict->error_data.ptr, verdict->error_data.len },
		.error = verdict->error,
		.plugin = plugin,
		.call = call,
		.next = { verdict->next.ptr, verdict->next.len },
	};

	if (!fn || plugin->host->is_copy)
		return;
	MOR_EMBEDDER(plugin->host);
	fn(&reply, arg);
}

static void count_end(mortise_plugin *plugin, const struct mor_verdict *verdict)
{
	if (verdict->status == 0) {
		plugin->now.counters.answered++;
		plugin->ends.clean_exits = 0;
	} else {
		plugin->now.counters.failed++;
	}
	if (verdict->error)
		mor_plugin_keep_error(plugin, verdict->error);
}

/* The call ends before its last byte is written: the embedder gets its params back. */
MOR_APART static void return_lent(const mortise_call *call)
{
	struct mor_link *link = call->plugin->life.link;

	if (mor_call_lends(call) && link && link->ops->disown)
		link->ops->disown(link);
}

MOR_APART static void keep_as_ghost(mortise_call *call)
{
	mortise_plugin *plugin = call->plugin;
	uint32_t late_ms = mor_timing_of(call->method)->late_ms;

	if (call->state == MOR_CALL_WRITING)
		return_lent(call);
	if (plugin->is.cancel.grace_ms)
		late_ms = plugin->is.cancel.grace_ms;
	if (!late_ms)
		late_ms = call->timeout_ms ? call->timeout_ms : LATE_MS;

	call->state = MOR_CALL_LATE;
	call->in_hand = false;
	call->late_since_ms = mor_loop_now_ms(plugin->host->loop);
	call->on_reply = NULL;
	/* A ping beside a long call: its answer may come when the call is over. */
	mor_call_set_due(call, call->no_slot ? 0 : late_ms);
}

void mor_call_leave_queue(mortise_call *call)
{
	mortise_plugin *plugin = call->plugin;

	if (call->state != MOR_CALL_QUEUED)
		return;
	mor_list_remove(&call->node);
	plugin->calls.waiting--;
	plugin->calls.waiting_bytes -= mor_call_waiting(call).len;
	call->lent = (struct mor_slice){ 0 };
	call->state = MOR_CALL_TAKEN;
}

/* Removes it from its list, its slot and the id table. After that only the caller's pointer knows it. */
void mor_call_unlink(mortise_call *call)
{
	mortise_plugin *plugin = call->plugin;

	call->due_ms = 0;
	mor_call_leave_queue(call);
	if (call->state == MOR_CALL_WRITING) {
		call->reached =
			call->begin < (plugin->life.link ? plugin->life.link->written : plugin->life.written);
		return_lent(call);
	}
	mor_list_remove(&call->node);
	if (call->id) {
		mor_call_table_remove(&plugin->calls.table, call);
		plugin->calls.in_flight -= !call->no_slot;
	}
	call->id = 0;
	if (call->state != MOR_CALL_LATE)
		call->state = MOR_CALL_TAKEN;
}

/* The process of the call has ended, perhaps long ago: only the callback is left to do. */
MOR_APART static void settle_doomed(mortise_call *call, const struct mor_verdict *verdict)
{
	mortise_plugin *plugin = call->plugin;

	MOR_HOLD(plugin);
	mor_task_stop(&call->cancel_task);
	mor_list_remove(&call->node);
	count_end(plugin, verdict);
	deliver_to_user(call, call->on_reply, call->arg, verdict, 0);
	mor_call_recycle(plugin->host, call);
}

void mor_call_settle(mortise_call *call, const struct mor_verdict *verdict, bool keep_slot)
{
	mortise_plugin *plugin = call->plugin;
	mortise_host *host = plugin->host;
	enum mor_call_purpose purpose = call->purpose;
	mortise_reply_fn *fn = call->on_reply;
	bool writing = call->state == MOR_CALL_WRITING, sent = writing || call->state == MOR_CALL_SENT;

	if (call->state == MOR_CALL_DOOMED) {
		settle_doomed(call, verdict);
		return;
	}
	MOR_HOLD(plugin);
	assert(call->state != MOR_CALL_LATE && call->state != MOR_CALL_IDLE);
	mor_task_stop(&call->cancel_task);
	if (keep_slot)
		keep_as_ghost(call);
	else
		mor_call_unlink(call);
	switch (purpose) {
	case MOR_FOR_USER:
		count_end(plugin, verdict);
		if (mor_outcome_of(call->method)->keep && sent)
			mor_keep_settled(plugin, verdict->keep);
		if (call->method->role == MOR_ROLE_PING)
			mor_health_answered(call, verdict); /* a health call of the embedder counts too */
		deliver_to_user(call, fn, call->arg, verdict, 0);
		/* a call that only waited leaves the process to the running call */
		if (!mor_shape_is_session(plugin) && sent)
			mor_shape_settled(plugin);
		break;
	case MOR_FOR_GREETING:
		mor_greet_answered(call, verdict);
		break;
	case MOR_FOR_PING:
		mor_health_answered(call, verdict);
		break;
	case MOR_FOR_BYE:
		if (verdict->said)
			mor_event(plugin, MORTISE_EVENT_WARNING, verdict->error->text);
		mor_ladder_bye_answered(call);
		break;
	case MOR_FOR_CANCEL:
		break;
	}
	/* A ghost belongs to the plugin's lists now, and the callback may have ended the plugin. */
	if (!keep_slot)
		mor_call_recycle(host, call);
	if (writing && plugin->life.link)
		mor_call_watch_writing(plugin); /* the next one's time begins */
	if (plugin->seat.pool || !mor_list_empty(&plugin->calls.queue))
		mor_call_pump(plugin);
}

void mor_call_fail(mortise_call *call, const mortise_error *error)
{
	mor_call_settle(call, &(struct mor_verdict){ .status = error->code, .error = error }, false);
}

void mor_call_piece(mortise_call *call, struct mor_slice data)
{
	struct mor_verdict verdict = { .result = data };

	MOR_HOLD(call->plugin);
	call->piece_ms = mor_loop_now_ms(call->plugin->host->loop);
	call->acked = true; /* a plugin that streams has read the request */
	if (call->state != MOR_CALL_LATE && call->purpose == MOR_FOR_USER)
		deliver_to_user(call, call->on_reply, call->arg, &verdict, 1);
}

void mor_call_release(mortise_call *call)
{
	mortise_plugin *plugin = call->plugin;

	mor_call_unlink(call);
	mor_call_recycle(plugin->host, call);
	mor_health_after_timeout(plugin);
	mor_call_pump(plugin);
}

mortise_call *mor_call_only(mortise_plugin *plugin)
{
	struct mor_list *const lists[] = { &plugin->calls.flight, &plugin->calls.writing };
	mortise_call *only = NULL;

	for (size_t i = 0; i < 2; i++) {
		MOR_LIST_EACH(node, after, lists[i]) {
			mortise_call *call = mor_container_of(node, mortise_call, node);

			if ((call->flags & MORTISE_NOTIFY) || call->no_slot)
				continue;
			if (only)
				return NULL;
			only = call;
		}
	}
	return only;
}

/* ---- time ---- */

bool mor_call_keeps_slot(const mortise_call *call)
{
	bool sent = call->state == MOR_CALL_WRITING || call->state == MOR_CALL_SENT;
	enum mor_late late = mor_timing_of(call->method)->late;

	if (!sent || (call->flags & MORTISE_NOTIFY))
		return false;
	/* A greeting that may fail must not delay the next one. */
	if (call->method->flags & MOR_M_TOLERANT)
		return false;
	return late == MOR_LATE_DROP || late == MOR_LATE_CANCEL;
}

/* A call that a note settles must be acknowledged first, within a shorter time; unless its whole limit is
 * not longer. */
static bool owes_ack(const mortise_call *call)
{
	uint32_t ms;

	if (call->method->settle != MOR_BY_NOTE || call->acked)
		return false;
	ms = mor_timing_of(call->method)->ack_ms;
	return ms && (!call->timeout_ms || ms < call->timeout_ms);
}

/* The total limit of a call, however often it shows signs of life; 0: no such limit. */
static uint32_t total_ms(const mortise_call *call)
{
	uint32_t total = mor_timing_of(call->method)->max_ms;
	uint32_t session = mor_outcome_of(call->method)->keep ? call->plugin->now.keep.total_ms : 0;

	return session && (!total || session < total) ? session : total;
}

uint32_t mor_call_limit_ms(const mortise_call *call)
{
	if (owes_ack(call))
		return mor_timing_of(call->method)->ack_ms;
	return call->timeout_ms ? call->timeout_ms : total_ms(call);
}

/* Which of its limits was it, and what sets that? */
static void describe_timeout(const mortise_call *call, uint32_t ms, mortise_error *error)
{
	const mortise_plugin *plugin = call->plugin;
	int64_t took = mor_loop_now_ms(plugin->host->loop) - call->sent_ms;
	char who[MOR_WHO_SETS_SIZE], limit[MOR_WHO_SETS_SIZE + 3] = "";
	struct mor_diagnosis why;

	mor_diagnosis_silence(plugin, call, &why);
	/* What sets the limit helps only somebody who would wait. */
	if (!why.certain)
		snprintf(limit, sizeof(limit), " (%s)",
			 mor_who_sets_timeout(plugin, call->method, call->name, call->own_limit, who));
	if (owes_ack(call))
		mor_fail(error, MORTISE_ETIMEOUT, "%s: \"%s\" was not acknowledged in %u ms%s",
			 plugin->peer.name, call->name, ms, why.text);
	else if (total_ms(call) && took >= total_ms(call))
		mor_fail(error, MORTISE_ETIMEOUT, "%s: \"%s\" was not done after %u ms in all%s%s",
			 plugin->peer.name, call->name, total_ms(call),
			 total_ms(call) == plugin->now.keep.total_ms ?
				 " (limits.session sets the limit; 0: no limit)" :
				 "",
			 why.text);
	else
		mor_fail(error, MORTISE_ETIMEOUT, "%s: %s \"%s\" in %u ms%s%s", plugin->peer.name,
			 plugin->life.held.len ? "did not exit after it had answered" : "no reply to",
			 call->name, ms, limit, why.text);
	error->rpc_code = mor_dialect_code_for(plugin->peer.dialect, MORTISE_ETIMEOUT, error->rpc_code);
}

/* The plugin has stopped reading, and the rest of the request does not fit into its pipe. This limit is not
 * queue_ms: for the embedder the call is under way. */
static void describe_stall(const mortise_call *call, uint32_t ms, mortise_error *error)
{
	const mortise_plugin *plugin = call->plugin;
	struct mor_diagnosis why;

	mor_fail(error, MORTISE_ETIMEOUT,
		 "%s: \"%s\" could not be written: the plugin has read nothing for %u ms%s", plugin->peer.name,
		 call->name, ms, mor_diagnosis_stall(plugin, &why));
	error->rpc_code = mor_dialect_code_for(plugin->peer.dialect, MORTISE_ETIMEOUT, error->rpc_code);
}

void mor_call_give_up(mortise_call *call, const mortise_error *error, const mortise_error *killed)
{
	mortise_plugin *plugin = call->plugin;

	call->in_hand = true;
	mor_call_send_cancel(call);
	mor_call_settle(call, &(struct mor_verdict){ .status = error->code, .error = error },
			mor_call_keeps_slot(call));
	if (killed)
		mor_supervise_breach(plugin, killed, mor_ladder_late(plugin));
}

static void timed_out(mortise_call *call, uint32_t ms)
{
	mortise_plugin *plugin = call->plugin;
	bool kill = mor_timing_of(call->method)->late == MOR_LATE_KILL;
	mortise_error error;

	plugin->now.counters.timeouts++;
	if (call->state == MOR_CALL_SENT)
		describe_timeout(call, ms, &error);
	else
		describe_stall(call, ms, &error);
	mor_call_give_up(call, &error, kill ? &error : NULL);
}

static void queue_timed_out(mortise_call *call)
{
	mortise_plugin *plugin = call->plugin;
	bool started = call->state == MOR_CALL_WRITING;
	bool kill = started && mor_timing_of(call->method)->late == MOR_LATE_KILL;
	struct mor_diagnosis why = { .text = "" };
	mortise_error error;

	plugin->now.counters.timeouts++;
	if (started)
		mor_diagnosis_stall(plugin, &why);
	mor_fail(&error, MORTISE_ETIMEOUT, "%s: \"%s\" could not be sent in %u ms: the plugin %s%s",
		 plugin->peer.name, call->name, call->queue_ms,
		 started ? "does not read its input" : "is busy or not ready", why.text);
	error.rpc_code = mor_dialect_code_for(plugin->peer.dialect, MORTISE_ETIMEOUT, error.rpc_code);
	mor_call_settle(call, &(struct mor_verdict){ .status = error.code, .error = &error },
			mor_call_keeps_slot(call));
	/* Its unwritten rest blocks every later call, and their limits do not run before they are written. */
	if (kill)
		mor_supervise_breach(plugin, &error, MOR_RUNG_KILL);
}

/* A ghost's time is over. A plugin that has sent something since then may forget an answer once or twice.
 * One that is silent, or sends much and answers nothing, is wedged. */
static void late_timed_out(mortise_call *call)
{
	mortise_plugin *plugin = call->plugin;
	bool talks = plugin->life.last_sign_ms > call->late_since_ms;
	char why[256];

	if (plugin->is.cancel.grace_ms) {
		snprintf(why, sizeof(why), "\"%s\" was given up and not answered in %u ms (cancel.grace)",
			 call->name, plugin->is.cancel.grace_ms);
		mor_supervise_wedged(plugin, why);
		return;
	}
	if (talks && ++plugin->life.unanswered < UNANSWERED_MAX) {
		mor_call_release(call);
		return;
	}
	if (talks)
		snprintf(why, sizeof(why), "no answer to %d calls in a row, the last was \"%s\"",
			 UNANSWERED_MAX, call->name);
	else
		snprintf(why, sizeof(why), "silent since \"%s\" timed out", call->name);
	mor_supervise_wedged(plugin, why);
}

/* When the time limit of a sent call is over, by its own clock. */
static int64_t deadline_of(const mortise_call *call)
{
	const struct mor_timing *timing = mor_timing_of(call->method);
	int64_t from = call->sent_ms, due;

	if (timing->clock == MOR_FROM_SIGN && !call->plugin->peer.strict &&
	    call->plugin->life.last_word_ms > from)
		from = call->plugin->life.last_word_ms;
	if (timing->clock == MOR_FROM_PIECE && call->piece_ms > from)
		from = call->piece_ms;
	if (owes_ack(call))
		return call->sent_ms + timing->ack_ms;
	due = from + call->timeout_ms;
	if (total_ms(call) && (!call->timeout_ms || due > call->sent_ms + total_ms(call)))
		due = call->sent_ms + total_ms(call);
	return due;
}

static void on_due(struct mor_timer *timer);

static void wait_until_due(mortise_call *call, int64_t due_ms)
{
	call->due_ms = due_ms;
	/* Its place is reserved, so this cannot fail. */
	if (!call->timer.loop || call->timer.due_ms > due_ms)
		(void)mor_timer_set_at(call->plugin->host->loop, &call->timer, due_ms, on_due);
}

static void call_time_is_up(mortise_call *call, int64_t now)
{
	call->due_ms = 0;
	if (call->state == MOR_CALL_LATE)
		late_timed_out(call);
	else if (call->state == MOR_CALL_SENT && deadline_of(call) > now)
		wait_until_due(call, deadline_of(call));
	else if (call->state == MOR_CALL_SENT || (call->state == MOR_CALL_WRITING && !call->queue_ms))
		timed_out(call, mor_call_limit_ms(call));
	else
		queue_timed_out(call);
}

static void on_due(struct mor_timer *timer)
{
	mortise_call *call = mor_container_of(timer, mortise_call, timer);
	int64_t now;

	if (!call->due_ms) /* it was for a call that has ended since; perhaps for no call now */
		return;
	MOR_HOLD(call->plugin);
	now = mor_loop_judged_ms(call->plugin->host->loop);
	if (call->due_ms > now)
		wait_until_due(call, call->due_ms);
	else
		call_time_is_up(call, now);
}

void mor_call_set_due(mortise_call *call, uint32_t in_ms)
{
	if (in_ms)
		wait_until_due(call, mor_loop_due_ms(call->plugin->host->loop, in_ms));
	else
		call->due_ms = 0;
}
