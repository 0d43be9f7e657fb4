/* SPDX-License-Identifier: Apache-2.0 */
/* The embedder's calls, and the callbacks that they get. */
#include <string.h>

#include "base/alloc.h"
#include "host/settings.h"
#include "model.h"

/* ---- callbacks ---- */

void callback_enter(void)
{
	world.depth++;
	world.callbacks++;
	if (world.reaction_count && world.depth <= 2) {
		struct op op = world.reactions[0];

		world.reaction_count--;
		memmove(world.reactions, world.reactions + 1, world.reaction_count * sizeof(op));
		SAY("  in this callback:");
		op_run(&op);
	}
}

void callback_leave(void)
{
	world.depth--;
}

/* ---- what is open ---- */

struct call *call_of(unsigned token)
{
	return token && token <= world.call_count ? &world.calls[token - 1] : NULL;
}

static void close_call(struct call *call)
{
	call->settled = true;
	for (unsigned i = 0; i < world.open_count; i++) {
		if (world.open[i] == call->token - 1) {
			memmove(world.open + i, world.open + i + 1,
				(world.open_count - i - 1) * sizeof(*world.open));
			world.open_count--;
			return;
		}
	}
}

static struct call *open_call(void)
{
	struct call *call;

	if (world.call_count == CALLS || world.open_count == OPEN)
		return NULL;
	world.open[world.open_count++] = world.call_count;
	call = &world.calls[world.call_count++];
	*call = (struct call){ .token = world.call_count, .written_ms = -1, .begun = world.orders };
	return call;
}

void calls_orphan(const struct place *place, const struct pool *pool, const struct host *host)
{
	for (unsigned i = 0; i < world.open_count; i++) {
		struct call *call = &world.calls[world.open[i]];

		if ((place && call->place == place) || (pool && call->pool == pool) ||
		    (host && call->host == host))
			call->orphaned = true;
	}
}

void call_written(struct proc *p)
{
	for (unsigned i = 0; i < world.open_count; i++) {
		struct call *call = &world.calls[world.open[i]];

		if (call->proc != p || call->written_ms >= 0)
			continue;
		call->touched |= p->link.written >= call->begin;
		if (call->end <= p->link.written)
			call->written_ms = mor_loop_now_ms(p->link.loop);
	}
}

static void on_reply(const mortise_reply *reply, void *arg)
{
	struct call *call = arg;

	SAY("  call %u: %s%s%s%s", call->token, reply->more ? "a piece" : mortise_status_name(reply->status),
	    reply->error ? ": " : "", reply->error ? reply->error->text : "", call->settled ? " (again!)" : "");
	check_reply(call, reply);
	if (!reply->more)
		close_call(call);
	callback_enter();
	if (!reply->more)
		call->handle = NULL;
	callback_leave();
}

/* ---- starting ---- */

struct wish {
	const char *action;
	char params[320];
	mortise_call_options opt;
};

/* All of a call that a byte can say. */
static void make_wish(struct wish *wish, const struct tongue *tongue, struct call *call, unsigned how)
{
	static const uint32_t timeouts[] = { 0, 50, 1000, 7000 }, queues[] = { 0, 0, 20, 3000 };
	static const uint64_t flags[] = { 0, MORTISE_NOTIFY, MORTISE_RAW };
	unsigned rest = how / 6;
	const char *blank = call->token % 7 == 0 ? "\n " : "";

	wish->action = tongue->actions[how % 6];
	wish->opt = (mortise_call_options){ .size = sizeof(wish->opt),
					    .timeout_ms = timeouts[rest & 3],
					    .queue_ms = queues[rest >> 2 & 3],
					    .flags = flags[(rest >> 4) % 3],
					    .on_reply = on_reply,
					    .arg = call };
	if (call->token % 11 == 0)
		snprintf(wish->params, sizeof(wish->params), "{\"t\":%u,\"pad\":\"%0200d\"}", call->token, 0);
	else
		snprintf(wish->params, sizeof(wish->params), "{%s\"t\":%u}", blank, call->token);
}

/* What is in force for it, as the header and the dialect's table say. */
static void note_limits(struct call *call, const mortise_plugin *plugin, const struct wish *wish)
{
	struct mor_slice action = mor_slice_of(wish->action);

	call->row = wish->opt.flags & MORTISE_RAW ?
			    mor_dialect_method(plugin->peer.dialect, MOR_FROM_HOST, action) :
			    mor_dialect_action(plugin->peer.dialect, action);
	call->queue_ms = wish->opt.queue_ms;
	call->timeout_ms = wish->opt.timeout_ms;
	if (!call->timeout_ms)
		call->timeout_ms = call->row ? mor_plugin_timeout(plugin, call->row, call->row->name) : 30000;
	call->note = (wish->opt.flags & MORTISE_NOTIFY) || (call->row && (call->row->flags & MOR_M_NOTE));
	call->since_ms = mor_loop_now_ms(call->host->handle->loop);
}

struct call *call_start(struct place *place, unsigned how)
{
	struct call *call;
	struct wish wish;
	mortise_error error = { 0 };
	bool shell;
	int r;

	if (!place_usable(place) || !(call = open_call()))
		return NULL;
	make_wish(&wish, place->tongue, call, how);
	call->place = place;
	call->host = place->host;
	if (!place->shell)
		note_limits(call, place->handle, &wish);
	shell = place->shell;
	call->starting = true;
	r = mortise_call_start(place->handle, wish.action, (mortise_json){ wish.params, strlen(wish.params) },
			       &wish.opt, &call->handle, &error);
	call->starting = false;
	SAY("  call %u at %u: %s: %s", call->token, (unsigned)(place - world.places), wish.action,
	    r < 0 ? error.text : "started");
	if (r < 0 && (error.code != r || !error.text[0]))
		model_fault("a call is refused with %d and an error that says %d \"%s\"", r, error.code,
			    error.text);
	if (r == 0 && shell)
		model_fault("a plugin whose host is gone took a call");
	call->order = ++world.orders;
	if (r < 0)
		close_call(call);
	else
		check_queue(call);
	return call;
}

void call_start_raw(struct place *place, const char *action, mortise_json params, mortise_json extra,
		    uint64_t flags)
{
	mortise_call_options opt = {
		.size = sizeof(opt), .flags = flags, .extra = extra, .on_reply = on_reply
	};
	struct call *call = open_call();
	mortise_error error = { 0 };

	if (!call)
		return;
	call->place = place;
	call->host = place->host;
	call->note = true; /* of its limits nothing is known */
	opt.arg = call;
	if (mortise_call_start(place->handle, action, params, &opt, &call->handle, &error) < 0) {
		if (!error.text[0])
			model_fault("a call is refused without a word");
		close_call(call);
	}
}

void pool_call_start(struct pool *pool, unsigned how)
{
	struct call *call;
	struct wish wish;
	mortise_error error = { 0 };
	int r;

	if (!pool->handle || !(call = open_call()))
		return;
	make_wish(&wish, pool->tongue, call, how);
	call->pool = pool;
	call->ends = pool->ends;
	call->host = pool->host;
	if (mortise_pool_worker(pool->handle, 0)) /* none: its host is being freed */
		note_limits(call, mortise_pool_worker(pool->handle, 0), &wish);
	call->starting = true;
	r = mortise_pool_call(pool->handle, wish.action, (mortise_json){ wish.params, strlen(wish.params) },
			      &wish.opt, &call->handle, &error);
	call->starting = false;
	SAY("  call %u of a pool: %s: %s", call->token, wish.action, r < 0 ? error.text : "started");
	if (r < 0)
		close_call(call);
	else
		check_queue(call);
}

void call_cancel_recent(unsigned which)
{
	struct call *call;
	int r;

	if (!world.open_count)
		return;
	call = &world.calls[world.open[world.open_count - 1 - which % world.open_count]];
	if (!call->handle)
		return;
	r = mortise_call_cancel(call->handle, NULL);
	SAY("  call %u is cancelled: %d", call->token, r);
	if (r == 0)
		call->cancelled = true;
}
