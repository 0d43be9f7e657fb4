/* SPDX-License-Identifier: Apache-2.0 */
/* A call is sent at once or waits for a slot: the queue, ids, the message itself, and the time when its last
 * byte has left. See call.h. */
#include <string.h>

#include "base/alloc.h"
#include "base/apart.h"
#include "base/error.h"
#include "base/text.h"
#include "host/embedder.h"
#include "host/pool.h"
#include "host/shape.h"
#include "host/supervise.h"
#include "wire/envelope.h"
#include "wire/outgoing.h"

#define MAX_WAITING 65536
#define DIRECT_MOST 65536 /* larger params are rare, and copied in other ways */

/* ---- into the link ---- */

static bool slot_free(const mortise_plugin *plugin)
{
	if (plugin->life.spent)
		return false;
	return plugin->is.max_in_flight == 0 || plugin->calls.in_flight < plugin->is.max_in_flight;
}

/* An id can be taken only after all of them have been given once. */
static int64_t next_id(mortise_plugin *plugin)
{
	do {
		if (plugin->life.next_id >= INT32_MAX) {
			plugin->life.next_id = 0;
			plugin->life.ids_again = true;
		}
		plugin->life.next_id++;
	} while (plugin->life.ids_again && mor_call_table_find(&plugin->calls.table, plugin->life.next_id));
	return plugin->life.next_id;
}

/* Absent, or one line. JSON allows raw newlines only between tokens, so removing them is safe. */
static int compose_params(mortise_plugin *plugin, struct mor_slice params, struct mor_buf *one_line,
			  struct mor_slice *ret)
{
	*ret = params;
	if (!params.ptr || plugin->is.link_options.framing != MOR_FRAMING_LINES ||
	    !memchr(params.ptr, '\n', params.len))
		return 0;
	int r = mor_json_one_line(params, one_line);

	*ret = mor_buf_view(one_line);
	return r;
}

MOR_APART static int compose_call(mortise_call *call, struct mor_slice params)
{
	MOR_CLEAN(mor_buf) struct mor_buf one_line = MOR_BUF_INIT;
	struct mor_buf *out = &call->plugin->host->compose;
	struct mor_slice name = { call->name, call->name_len };
	int r = call->one_line ? 0 : compose_params(call->plugin, params, &one_line, &params);

	if (r < 0)
		return r;
	mor_buf_reset(out, MOR_COMPOSE_KEEP);
	if (call->flags & MORTISE_NOTIFY)
		return mor_write_note(out, name, params);
	return mor_write_request(out, call->id, name, params);
}

static bool goes_large(const mortise_call *call)
{
	struct mor_link *link = call->plugin->life.link;

	return link->ops->takes_large && link->ops->takes_large(link) && !call->plugin->host->tap;
}

/* Large params in memory that stays until they are written: the embedder's, the call's own, or a copy. */
static int keep_params(mortise_call *call, struct mor_slice params, struct mor_large *part)
{
	int r = call->one_line ? 0 : compose_params(call->plugin, params, &part->owned, &part->bytes);

	if (r < 0 || part->owned.len)
		return r;
	if (params.ptr == call->params.data) {
		part->owned = call->params;
		call->params = (struct mor_buf)MOR_BUF_INIT;
	} else if (!mor_call_lends(call)) {
		r = mor_buf_slice(&part->owned, params);
		params = mor_buf_view(&part->owned);
	}
	part->bytes = params;
	return r;
}

/* The message up to its params. */
static int compose_head(mortise_call *call, struct mor_slice params, struct mor_large *part)
{
	struct mor_buf *out = &call->plugin->host->compose;
	int r = compose_call(call, (struct mor_slice){ 0 });

	if (r < 0)
		return r;
	out->len--; /* the brace */
	r = mor_buf_text(out, ",\"params\":");
	return r < 0 ? r : keep_params(call, params, part);
}

/* The message, or its head if the params go from their own memory. On failure `part` is empty. */
MOR_APART static int compose_large(mortise_call *call, struct mor_slice params, struct mor_large *part)
{
	int r;

	*part = (struct mor_large){ .owned = MOR_BUF_INIT };
	if (!goes_large(call))
		return compose_call(call, params);
	if ((r = compose_head(call, params, part)) < 0)
		mor_buf_fini(&part->owned);
	return r;
}

/* Of `part` only what is looked at is set: notifications come here too. */
static inline int compose(mortise_call *call, struct mor_slice params, struct mor_large *part)
{
	if (params.len >= MOR_LARGE)
		return compose_large(call, params, part);
	part->bytes.len = 0;
	part->owned.data = NULL;
	return compose_call(call, params);
}

MOR_APART static int send_error(mortise_call *call, int r, mortise_error *err)
{
	const mortise_plugin *plugin = call->plugin;
	char limit[32];

	if (r == MORTISE_EOVERLOAD)
		return mor_fail(err, r,
				"%s: \"%s\" not sent: the plugin does not read, and %s already wait for it",
				plugin->peer.name, call->name,
				mor_format_bytes(plugin->life.link->queued - plugin->life.link->written,
						 limit));
	if (r == MORTISE_ELIMIT)
		return mor_fail(err, r,
				"%s: \"%s\" not sent: larger than the limit of %s for one message "
				"(limits.send)",
				plugin->peer.name, call->name,
				mor_format_bytes(plugin->is.link_options.send_limit ?
							 plugin->is.link_options.send_limit :
							 plugin->is.link_options.frame_limit,
						 limit));
	return mor_fail(err, r, "%s: \"%s\" not sent: %s", plugin->peer.name, call->name,
			mortise_status_text(r));
}

/* A call with an id is in the table; this one is not, so its id is given back. */
MOR_APART static int not_sent(mortise_call *call, int r, mortise_error *err)
{
	if (call->id && call->id == call->plugin->life.next_id)
		call->plugin->life.next_id--;
	call->id = 0;
	return send_error(call, r, err);
}

static int send_to_link(mortise_call *call, struct mor_slice body)
{
	struct mor_link *link = call->plugin->life.link;

	call->begin = link->queued;
	link->limit_ms = call->timeout_ms;
	return link->ops->send(link, body);
}

/* Whatever it looks like. */
static bool goes_as_call(const mortise_call *call)
{
	return call->plugin->life.link->ops->calls && !(call->flags & MORTISE_NOTIFY);
}

/* The hot path: no tap sees it, and nothing in it has to be changed on its way. */
static bool goes_direct(const mortise_call *call, struct mor_slice params)
{
	const mortise_plugin *plugin = call->plugin;

	return call->plain_name && call->one_line && params.ptr && params.len <= DIRECT_MOST &&
	       !(call->flags & MORTISE_NOTIFY) && !plugin->host->tap && !plugin->is.link_options.frame_pad &&
	       plugin->life.link->ops->send_request;
}

static inline int send_request(mortise_call *call, const struct mor_outgoing *request)
{
	struct mor_link *link = call->plugin->life.link;
	int r;

	call->begin = link->queued;
	link->limit_ms = call->timeout_ms;
	r = link->ops->send_request(link, request);
	if (r == 0)
		call->plugin->now.counters.bytes_out += request->len;
	return r;
}

static int send_direct(mortise_call *call, struct mor_slice params)
{
	struct mor_outgoing request;

	mor_outgoing_init(&request, call->id, (struct mor_slice){ call->name, call->name_len }, params);
	return send_request(call, &request);
}

/* The tap may call, stop or free: it cannot reach the message meanwhile. False: there is no link any more. */
static bool show_composed(mortise_plugin *plugin)
{
	mortise_host *host = plugin->host;
	struct mor_buf body = host->compose;

	host->compose = (struct mor_buf)MOR_BUF_INIT;
	mor_event_show(plugin, MORTISE_TO_PLUGIN, mor_buf_view(&body));
	mor_buf_fini(&host->compose);
	host->compose = body;
	return plugin->life.link;
}

static void tidy_composed(mortise_host *host)
{
	if (host->compose.cap > MOR_COMPOSE_KEEP)
		mor_buf_reset(&host->compose, MOR_COMPOSE_KEEP);
}

/* The message is only written for a tap. */
MOR_APART static int send_as_call(mortise_call *call, struct mor_slice params)
{
	mortise_plugin *plugin = call->plugin;
	struct mor_outgoing request;
	int r = plugin->host->tap ? compose_call(call, params) : 0;

	if (r == 0 && plugin->host->tap && !show_composed(plugin))
		r = MORTISE_ECLOSED;
	tidy_composed(plugin->host);
	if (r < 0)
		return r;
	mor_outgoing_init(&request, call->id, (struct mor_slice){ call->name, call->name_len }, params);
	if (!params.ptr)
		request.len -= sizeof(",\"params\":") - 1;
	return send_request(call, &request);
}

MOR_APART static int send_large(mortise_call *call, struct mor_large *part)
{
	struct mor_link *link = call->plugin->life.link;
	size_t bytes = part->bytes.len + 1;
	int r;

	call->begin = link->queued;
	link->limit_ms = call->timeout_ms;
	r = link->ops->send_large(link, mor_buf_view(&call->plugin->host->compose), part);
	if (r == 0)
		call->plugin->now.counters.bytes_out += bytes;
	mor_buf_fini(&part->owned);
	return r;
}

static int send_composed(mortise_call *call, struct mor_large *part)
{
	mortise_host *host = call->plugin->host;
	int r = MORTISE_ECLOSED;

	if (part->bytes.len)
		r = send_large(call, part);
	else if (!host->tap || show_composed(call->plugin))
		r = send_to_link(call, mor_buf_view(&host->compose));
	if (r == 0)
		call->plugin->now.counters.bytes_out += host->compose.len;
	tidy_composed(host);
	return r;
}

/* The call's slot, or its process, is taken before anybody is told. */
static void occupy_slot(mortise_call *call, bool on)
{
	mortise_plugin *plugin = call->plugin;

	if (!(call->flags & MORTISE_NOTIFY) && !call->no_slot)
		plugin->calls.in_flight += on ? 1 : -1u;
	if (call->purpose == MOR_FOR_USER && !mor_shape_is_session(plugin))
		plugin->life.spent = on;
}

/* The message is in the link's queue. */
static inline void was_sent(mortise_call *call)
{
	mortise_plugin *plugin = call->plugin;

	call->end = plugin->life.link->queued;
	call->state = MOR_CALL_WRITING;
	mor_list_append(&plugin->calls.writing, &call->node);
	if (call->purpose == MOR_FOR_USER) {
		plugin->life.unproven = false;
		if (!mor_shape_is_session(plugin))
			mor_shape_sent(plugin);
	}
}

/* The call was in the table, and had its slot. */
MOR_APART static int take_back(mortise_call *call, int r, mortise_error *err)
{
	occupy_slot(call, false);
	if (!(call->flags & MORTISE_NOTIFY))
		mor_call_table_remove(&call->plugin->calls.table, call);
	return not_sent(call, r, err);
}

static int transmit_composed(mortise_call *call, struct mor_slice params, mortise_error *err)
{
	mortise_plugin *plugin = call->plugin;
	bool note = call->flags & MORTISE_NOTIFY;
	struct mor_large part;
	int r;

	call->id = note ? 0 : next_id(plugin);
	r = compose(call, params, &part);
	if (r == 0 && !note && (r = mor_call_table_add(&plugin->calls.table, call)) < 0)
		mor_buf_fini(&part.owned);
	if (r < 0)
		return not_sent(call, r, err);
	occupy_slot(call, true);
	if ((r = send_composed(call, &part)) < 0)
		return take_back(call, r, err);
	was_sent(call);
	return 0;
}

int mor_call_transmit(mortise_call *call, struct mor_slice params, mortise_error *err)
{
	mortise_plugin *plugin = call->plugin;
	bool direct;
	int r;

	if (!plugin->life.link) /* released by the callback of an earlier call */
		return send_error(call, MORTISE_ECLOSED, err);
	direct = goes_direct(call, params);
	if (!direct && !goes_as_call(call))
		return transmit_composed(call, params, err);
	call->id = next_id(plugin);
	if ((r = mor_call_table_add(&plugin->calls.table, call)) < 0)
		return not_sent(call, r, err);
	occupy_slot(call, true);
	r = direct ? send_direct(call, params) : send_as_call(call, params);
	if (r < 0)
		return take_back(call, r, err);
	was_sent(call);
	return 0;
}

/* Compares the interface that this method needs with those that the plugin announced. A plugin that
 * announced none is believed. */
MOR_APART static int check_interface(mortise_call *call, mortise_error *err)
{
	mortise_plugin *plugin = call->plugin;
	const char *needs = call->method->needs;
	const struct mor_value *identity = mor_plugin_identity(plugin);
	MOR_CLEAN(mor_buf) struct mor_buf has = MOR_BUF_INIT;

	if (!identity || (call->flags & MORTISE_RAW) ||
	    mor_dialect_announces(plugin->peer.dialect, identity, needs))
		return 0;
	mor_dialect_interfaces(plugin->peer.dialect, identity, &has);
	return mor_fail(err, MORTISE_EUNSUPPORTED,
			"%s: \"%s\" needs the interface %s, which this plugin does not offer (it has %.*s)",
			plugin->peer.name, call->name, needs, (int)has.len, has.data ? has.data : "");
}

/* Checked at the start and again when its turn comes: an earlier call may have ended the session, and before
 * the greeting nobody knows what the plugin offers. */
MOR_APART static int check_rules(mortise_call *call, mortise_error *err)
{
	int r = call->method->role == MOR_ROLE_INPUT ? mor_keep_check(call, err) : 0;

	if (r < 0 || !call->method->needs || call->plugin->now.state != MORTISE_READY)
		return r;
	return check_interface(call, err);
}

/* Most rows have no such rule. */
static inline int may_go(mortise_call *call, mortise_error *err)
{
	return call->method->role == MOR_ROLE_INPUT || call->method->needs ? check_rules(call, err) : 0;
}

/* ---- the queue ---- */

int mor_call_check_running(mortise_plugin *plugin, mortise_error *err)
{
	if (plugin->gone)
		return mor_fail(err, MORTISE_ECLOSED, "%s: has been released", plugin->peer.name);
	if (plugin->now.state == MORTISE_FAILED)
		return mor_supervise_blamed(plugin, err);
	if (plugin->now.state == MORTISE_DRAINING && !mor_drain_lets_wait(plugin->life.drain))
		return mor_fail(err, MORTISE_ECLOSED, "%s: is being stopped", plugin->peer.name);
	return 0;
}

static int check_queue(const mortise_call *call, size_t bytes, mortise_error *err)
{
	const mortise_plugin *plugin = call->plugin;
	unsigned most =
		plugin->peer.dialect->life.max_waiting ? plugin->peer.dialect->life.max_waiting : MAX_WAITING;
	size_t limit = plugin->is.link_options.queue_limit;
	char waiting[32], all[32];

	if (plugin->calls.waiting >= most)
		return mor_fail(err, MORTISE_EOVERLOAD,
				"%s: \"%s\" refused: %u calls already wait, which is the limit",
				plugin->peer.name, call->name, most);
	/* One call may always wait, of any size; the limit is for later ones. */
	if (limit && plugin->calls.waiting_bytes && plugin->calls.waiting_bytes + bytes > limit)
		return mor_fail(
			err, MORTISE_EOVERLOAD,
			"%s: \"%s\" refused: calls with %s of params already wait; with this one they would be "
			"over the limit of %s (limits.queue)",
			plugin->peer.name, call->name, mor_format_bytes(plugin->calls.waiting_bytes, waiting),
			mor_format_bytes(limit, all));
	return 0;
}

MOR_APART static int keep_waiting(mortise_call *call, struct mor_slice params)
{
	if (params.len >= MOR_LARGE && params.ptr == call->params.data)
		return 0;
	if (params.len < MOR_LARGE || !mor_call_lends(call))
		return mor_buf_slice(&call->params, params);
	call->lent = params;
	return 0;
}

static int queue_call(mortise_call *call, struct mor_slice params, mortise_error *err)
{
	mortise_plugin *plugin = call->plugin;
	int r = check_queue(call, params.len, err);

	if (r < 0)
		return r;
	if ((r = keep_waiting(call, params)) < 0)
		return mor_fail(err, r, "%s: %s", plugin->peer.name, mortise_status_text(r));
	/* Done before it waits: a start that fails at once fails all waiting calls, but this call is told by
	 * our return value. */
	if (plugin->now.state == MORTISE_STOPPED && (r = mor_supervise_start(plugin, err)) < 0)
		return r;
	if ((r = mor_call_check_running(plugin, err)) < 0) /* a callback of the start may have stopped it */
		return r;
	call->state = MOR_CALL_QUEUED;
	mor_list_append(&plugin->calls.queue, &call->node);
	plugin->calls.waiting++;
	plugin->calls.waiting_bytes += params.len;
	mor_call_set_due(call, call->queue_ms);
	return 0;
}

static bool may_send_now(const mortise_call *call)
{
	mortise_plugin *plugin = call->plugin;

	return plugin->now.state == MORTISE_READY && mor_list_empty(&plugin->calls.queue) &&
	       slot_free(plugin) && !mor_health_first(plugin, call->method);
}

int mor_call_launch(mortise_call *call, struct mor_slice params, mortise_error *err)
{
	int r = may_go(call, err);

	if (call->plugin->gone) /* the callback of a warning has released it */
		r = mor_call_check_running(call->plugin, err);
	if (r < 0)
		return r;
	if (!may_send_now(call))
		return queue_call(call, params, err);
	r = mor_call_transmit(call, params, err);
	if (r == 0 && call->queue_ms)
		mor_call_set_due(call, call->queue_ms);
	return r;
}

static void on_pump(struct mor_task *task)
{
	mortise_plugin *plugin = mor_container_of(task, mortise_plugin, calls.pump);

	MOR_HOLD(plugin);
	mor_call_pump(plugin);
}

void mor_call_pump(mortise_plugin *plugin)
{
	mor_pool_wake(plugin->seat.pool);
	if (plugin->calls.pumping)
		return;
	plugin->calls.pumping = true;
	while (plugin->now.state == MORTISE_READY && !mor_list_empty(&plugin->calls.queue) &&
	       slot_free(plugin)) {
		mortise_call *call = mor_container_of(plugin->calls.queue.next, mortise_call, node);
		struct mor_slice params;
		mortise_error error;
		int r;

		if (mor_loop_spent(plugin->host->loop)) {
			mor_loop_post(plugin->host->loop, &plugin->calls.pump, on_pump);
			break;
		}
		r = may_go(call, &error);
		/* The tap of that ping may end the plugin, and its queue with it. */
		if (r == 0 && (mor_health_first(plugin, call->method) || plugin->now.state != MORTISE_READY))
			break;
		params = mor_call_waiting(call);
		mor_call_leave_queue(call); /* its queue_ms runs on until the last byte is written */
		if (r == 0)
			r = mor_call_transmit(call, params, &error);
		if (r < 0)
			mor_call_fail(call, &error);
		else
			mor_buf_fini(&call->params);
	}
	plugin->calls.pumping = false;
}

/* ---- out of the link ---- */

void mor_call_watch_writing(mortise_plugin *plugin)
{
	uint64_t taken = plugin->life.link->written;

	MOR_LIST_EACH(node, after, &plugin->calls.writing) {
		mortise_call *call = mor_container_of(node, mortise_call, node);

		if (call->state == MOR_CALL_LATE)
			continue;
		if (!call->queue_ms && !(call->due_ms && call->taken == taken))
			mor_call_set_due(call, mor_call_limit_ms(call));
		call->taken = taken;
		return;
	}
}

void mor_call_written(mortise_plugin *plugin, uint64_t total)
{
	struct mor_loop *loop = plugin->host->loop;
	int64_t now;

	/* Time limits count from now, not from before the callbacks of this dispatch. */
	mor_loop_refresh_now(loop);
	if (mor_list_empty(&plugin->calls.writing))
		return;
	now = mor_loop_now_ms(loop);
	while (!mor_list_empty(&plugin->calls.writing)) {
		mortise_call *call = mor_container_of(plugin->calls.writing.next, mortise_call, node);

		if (call->end > total) {
			mor_call_watch_writing(plugin);
			return;
		}
		mor_list_remove(&call->node);
		mor_list_append(&plugin->calls.flight, &call->node);
		if (call->state == MOR_CALL_LATE)
			continue;
		call->state = MOR_CALL_SENT;
		call->older = plugin->life.link->older;
		call->reached = true;
		call->sent_ms = now;
		if (call->flags & MORTISE_NOTIFY)
			mor_call_settle(call, &(struct mor_verdict){ 0 }, false);
		else
			mor_call_set_due(call, mor_call_limit_ms(call));
	}
}
