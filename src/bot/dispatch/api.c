/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls to the network, and their answers. Each call has its own echo, which finds its answer, and a time
 * limit. Two calls to the same person or group go out one after the other: the second waits for the answer
 * to the first. Implementations work on several calls at once, and could send a picture before its text. A
 * call whose connection is lost is not sent again: nobody knows whether it was done, and twice is worse than
 * not at all.
 */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/text.h"
#include "dispatch/bot.h"

#define MOST 1024
#define FULL ((size_t)1 << 20)

/* ---- calls ---- */

static void call_free(struct mor_bot_api_call *call)
{
	mor_free(call->plugin);
	mor_free(call->self_id);
	mor_free(call->target);
	mor_free(call->json);
	mor_free(call);
}

struct mor_bot_api_call *mor_bot_api_new(const struct mor_bot_seat *seat, const struct mor_bot_walk *walk,
					 struct mor_onebot_target target, int index)
{
	struct mor_bot_api_call *call = mor_zalloc(sizeof(*call));

	if (!call)
		return NULL;
	mor_list_init(&call->node);
	call->number = ++seat->run->api.last;
	call->event = walk->number;
	call->group = target.group;
	call->index = index;
	call->plugin = mor_strdup(seat->name);
	call->target = mor_strdup(target.id);
	call->self_id = mor_strdup(walk->event.self_id);
	if (call->plugin && call->target && (call->self_id || !walk->event.self_id))
		return call;
	call_free(call);
	return NULL;
}

static void mark_calls(struct mor_bot_run *run)
{
	unsigned by = run->out.full ? 2 : 1;
	char text[120];

	snprintf(text, sizeof(text),
		 "%u calls wait for the chat network: no event is read until it has caught up", run->api.count);
	mor_bot_set_full(run, run->api.count > MOST / by || run->api.bytes > FULL / by, text);
}

int mor_bot_api_put_take(struct mor_bot_run *run, struct mor_bot_api_call *call, struct mor_slice json)
{
	call->json = json.ptr ? mor_strndup(json.ptr, json.len) : NULL;
	if (!call->json) {
		call_free(call);
		return MORTISE_ENOMEM;
	}
	call->len = json.len;
	mor_list_append(&run->api.calls, &call->node);
	run->api.count++;
	run->api.bytes += call->len;
	run->api.look = true;
	mark_calls(run);
	return 0;
}

static void drop_call(struct mor_bot_run *run, struct mor_bot_api_call *call)
{
	mor_list_remove(&call->node);
	run->api.count--;
	run->api.bytes -= call->len;
	run->api.look = true;
	call_free(call);
	mark_calls(run);
}

void mor_bot_api_free(struct mor_bot_run *run)
{
	while (!mor_list_empty(&run->api.calls))
		drop_call(run, mor_container_of(run->api.calls.next, struct mor_bot_api_call, node));
}

/* ---- the end of a call ---- */

/* How a call ended. */
struct outcome {
	const char *status; /* "ok", "failed", "timeout", "lost" */
	const char *what;   /* the first word of the line; NULL: shown only with -v */
	const char *why;
	int64_t retcode;
	const char *data; /* JSON, or NULL */
};

static void write_result(const struct mor_bot_api_call *call, const struct outcome *outcome,
			 struct mor_buf *out)
{
	struct mor_writer w = { .out = out };

	mor_w_object(&w);
	mor_w_pair(&w, "target_type", call->group ? "group" : "private");
	mor_w_pair_raw(&w, "target_id", mor_slice_of(call->target));
	mor_w_key(&w, "index");
	if (call->index < 0)
		mor_w_null(&w);
	else
		mor_w_int(&w, call->index);
	mor_w_pair(&w, "status", outcome->status);
	mor_w_pair_int(&w, "retcode", outcome->retcode);
	mor_w_pair(&w, "message", outcome->why);
	mor_w_pair_raw(&w, "data", mor_slice_of(outcome->data ? outcome->data : "null"));
	mor_w_end(&w);
}

/* Only for a plugin that asks for it in its metadata. The specification has no such event, and does not say
 * what a plugin does with an unknown event. */
static void tell_plugin(struct mor_bot_seat *seat, const struct mor_bot_api_call *call,
			const struct outcome *outcome)
{
	MOR_CLEAN(mor_buf) struct mor_buf params = MOR_BUF_INIT;
	struct mor_bot_job *job;

	if (!seat->wants_results || !seat->body || seat->dead || seat->run->stopping)
		return;
	if (seat->waiting >= MOR_BOT_QUEUE) {
		mor_bot_tell(seat->run, seat, "overloaded", call->event,
			     "%u events wait for it already: it gets no result of its call", seat->waiting);
		return;
	}
	write_result(call, outcome, &params);
	job = mor_zalloc(sizeof(*job));
	if (job && (job->params = mor_buf_detach(&params))) {
		mor_list_init(&job->node);
		job->seat = seat;
		job->kind = MOR_BOT_JOB_RESULT;
		mor_bot_seat_queue(seat, job, false);
		return;
	}
	mor_free(job);
	mor_bot_tell(seat->run, seat, "internal", call->event, "out of memory: it gets no result of its call");
}

static void settle_call(struct mor_bot_run *run, struct mor_bot_api_call *call, struct outcome outcome)
{
	struct mor_bot_seat *seat = mor_bot_seat_find(run, call->plugin);

	if (outcome.what || run->console->verbose)
		mor_bot_tell(run, seat, outcome.what ? outcome.what : "done", call->event, "%s to %s: %s",
			     call->group ? "send_group_msg" : "send_private_msg", call->target, outcome.why);
	if (!outcome.what)
		outcome.why = NULL;
	if (seat)
		tell_plugin(seat, call, &outcome);
	drop_call(run, call);
}

/* "weather/7/12": the last number is the call's. */
static struct mor_bot_api_call *find_call(const struct mor_bot_run *run, const char *echo)
{
	const char *slash = echo ? strrchr(echo, '/') : NULL;
	uint64_t number;

	if (!slash || !mor_parse_u64(mor_slice_of(slash + 1), &number))
		return NULL;
	MOR_LIST_EACH(node, after, &run->api.calls) {
		struct mor_bot_api_call *call = mor_container_of(node, struct mor_bot_api_call, node);

		if (call->number == number)
			return call->peer ? call : NULL;
	}
	return NULL;
}

/* An answer that nobody waits for, or no longer waits for, is only a line with -v. */
void mor_bot_api_answered(struct mor_bot_run *run, const struct mor_onebot_event *response)
{
	struct mor_bot_api_call *call = find_call(run, response->echo);
	struct outcome outcome = { .status = response->failed ? "failed" : "ok",
				   .what = response->failed ? "refused" : NULL,
				   .why = response->failed ? response->why : "done",
				   .retcode = response->retcode,
				   .data = response->data };

	if (call)
		settle_call(run, call, outcome);
	else if (run->console->verbose || (response->failed && !response->echo))
		mor_bot_tell(run, NULL, response->failed ? "refused" : "dropped", 0,
			     "an answer to an unknown call%s%s", response->failed ? ": " : "",
			     response->failed ? response->why : "");
}

void mor_bot_api_lost(void *arg, uint64_t peer)
{
	struct mor_bot_run *run = arg;

	MOR_LIST_EACH(node, after, &run->api.calls) {
		struct mor_bot_api_call *call = mor_container_of(node, struct mor_bot_api_call, node);

		if (call->peer == peer)
			settle_call(run, call,
				    (struct outcome){
					    .status = "lost",
					    .what = "lost",
					    .retcode = -1,
					    .why = "the connection was lost before the answer: nobody knows "
						   "whether the call was done" });
	}
}

/* ---- time ---- */

static void give_up_call(struct mor_bot_run *run, struct mor_bot_api_call *call)
{
	char limit[32], why[120];

	mor_format_ms(run->config->network.api_ms, limit);
	if (call->peer)
		snprintf(why, sizeof(why), "no answer in %s (api_timeout in the bot's file sets the limit)",
			 limit);
	else
		snprintf(why, sizeof(why), "not sent: for %s there was no connection that accepts calls",
			 limit);
	settle_call(run, call,
		    (struct outcome){ .status = call->peer ? "timeout" : "lost",
				      .what = call->peer ? "timeout" : "lost",
				      .why = why,
				      .retcode = -1 });
}

/* Does an earlier call go to the same place? */
static bool call_is_blocked(const struct mor_bot_run *run, const struct mor_bot_api_call *call)
{
	for (const struct mor_list *node = call->node.prev; node != &run->api.calls; node = node->prev) {
		const struct mor_bot_api_call *other = mor_container_of(node, struct mor_bot_api_call, node);

		if (other->group == call->group && strcmp(other->target, call->target) == 0)
			return true;
	}
	return false;
}

static void send_call(struct mor_bot_run *run, struct mor_bot_api_call *call)
{
	if (!call->due_ms)
		call->due_ms = mor_clock_ms() + run->config->network.api_ms;
	call->peer =
		mor_onebot_link_send(run->net.link, call->self_id, (struct mor_slice){ call->json, call->len });
	if (call->peer)
		call->due_ms = mor_clock_ms() + run->config->network.api_ms;
}

void mor_bot_api_tend(struct mor_bot_run *run)
{
	int64_t now = mor_clock_ms();

	MOR_LIST_EACH(node, after, &run->api.calls) {
		struct mor_bot_api_call *call = mor_container_of(node, struct mor_bot_api_call, node);

		if (call->due_ms && now >= call->due_ms && !(call->peer && run->net.paused))
			give_up_call(run, call);
	}
	if (!run->api.look)
		return;
	run->api.look = false;
	MOR_LIST_EACH(node, after, &run->api.calls) {
		struct mor_bot_api_call *call = mor_container_of(node, struct mor_bot_api_call, node);

		if (!call->peer && !call_is_blocked(run, call))
			send_call(run, call);
	}
}

void mor_bot_api_renew(struct mor_bot_run *run)
{
	MOR_LIST_EACH(node, after, &run->api.calls) {
		struct mor_bot_api_call *call = mor_container_of(node, struct mor_bot_api_call, node);

		if (call->peer)
			call->due_ms = mor_clock_ms() + run->config->network.api_ms;
	}
}

int mor_bot_api_wait_ms(const struct mor_bot_run *run)
{
	int64_t first = 0, rest;

	MOR_LIST_EACH(node, after, &run->api.calls) {
		const struct mor_bot_api_call *call = mor_container_of(node, struct mor_bot_api_call, node);

		if (call->due_ms && !(call->peer && run->net.paused) && (!first || call->due_ms < first))
			first = call->due_ms;
	}
	rest = first - mor_clock_ms();
	return !first ? -1 : rest > 0 ? (int)rest : 0;
}
