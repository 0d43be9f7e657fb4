/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call: started, queued until a slot is free, written, answered or not, settled exactly once.
 *
 *	QUEUED --slot--> WRITING --last byte--> SENT --answer--> settled
 *	   |                |                     |--time-out, cancel--> settled, and LATE keeps the slot
 *	   `-- queue_ms, cancel, death: settled ---'                      until the answer comes or silence
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "host/host.h"
#include "wire/envelope.h"

#define MAX_WAITING 65536

/* Rows that no dialect needs to write down. */
static const struct mor_method any_method = { .name = "*", .from = MOR_FROM_HOST, .role = MOR_ROLE_CALL,
					      .timing = MOR_TIMING(.timeout_ms = 30000) };

/* ---- making ---- */

static mortise_call *take_call(mortise_host *host)
{
	struct mor_list *node = mor_list_pop(&host->spare_calls);
	mortise_call *call;

	if (node) {
		host->spare_count--;
		return mor_container_of(node, mortise_call, node);
	}
	call = mor_alloc(sizeof(mortise_call));
	if (!call)
		return NULL;
	call->timer = (struct mor_timer){ 0 };
	if (mor_timer_reserve(host->loop, &call->timer) < 0) {
		mor_free(call);
		return NULL;
	}
	return call;
}

static mortise_call *make_call(mortise_plugin *plugin, const struct mor_method *row, const char *name)
{
	mortise_call *call = take_call(plugin->host);
	size_t len = strlen(name);

	if (!call)
		return NULL;
	memset(call, 0, offsetof(mortise_call, timer));
	mor_list_init(&call->node);
	call->name = len < sizeof(call->short_name) ? call->short_name : mor_alloc(len + 1);
	if (!call->name) {
		mor_call_recycle(plugin->host, call);
		return NULL;
	}
	memcpy(call->name, name, len + 1);
	call->plugin = plugin;
	call->method = row;
	call->timeout_ms = mor_plugin_timeout(plugin, row, name);
	return call;
}

/* ---- sending ---- */

static bool slot_free(const mortise_plugin *plugin)
{
	if (plugin->spent)
		return false;
	return plugin->max_in_flight == 0 || plugin->in_flight < plugin->max_in_flight;
}

static int64_t next_id(mortise_plugin *plugin)
{
	do {
		if (plugin->next_id >= INT32_MAX)
			plugin->next_id = 0;
		plugin->next_id++;
	} while (mor_table_find(&plugin->table, plugin->next_id));
	return plugin->next_id;
}

/* Absent, or one line. JSON allows raw newlines between tokens only, so cutting them is safe. */
static int compose_params(mortise_plugin *plugin, struct mor_slice params, struct mor_buf *one_line, struct mor_slice *ret)
{
	*ret = params;
	if (!params.ptr || plugin->link_options.framing != MOR_FRAMING_LINES ||
	    !memchr(params.ptr, '\n', params.len))
		return 0;
	int r = mor_json_one_line(params, one_line);

	*ret = mor_buf_view(one_line);
	return r;
}

static int compose(mortise_call *call, struct mor_slice params)
{
	MOR_CLEAN(mor_buf) struct mor_buf one_line = MOR_BUF_INIT;
	struct mor_buf *out = &call->plugin->host->compose;
	struct mor_slice name = mor_slice_of(call->name);
	int r = compose_params(call->plugin, params, &one_line, &params);

	if (r < 0)
		return r;
	mor_buf_reset(out, 65536);
	if (call->flags & MORTISE_NOTIFY)
		return mor_write_note(out, name, params);
	return mor_write_request(out, call->id, name, params);
}

static int send_error(mortise_call *call, int r, mortise_error *err)
{
	const mortise_plugin *plugin = call->plugin;
	char limit[32];

	if (r == MORTISE_EOVERLOAD)
		return mor_fail(err, r, "%s: \"%s\" not sent: %s wait already for a plugin that does not read", plugin->session.name,
				call->name, mor_format_bytes(plugin->link->queued - plugin->link->written, limit));
	if (r == MORTISE_ELIMIT)
		return mor_fail(err, r, "%s: \"%s\" not sent: larger than the limit of %s for one message (limits.send)",
				plugin->session.name, call->name,
				mor_format_bytes(plugin->link_options.send_limit ? plugin->link_options.send_limit
										: plugin->link_options.frame_limit, limit));
	return mor_fail(err, r, "%s: \"%s\" not sent: %s", plugin->session.name, call->name, mortise_status_text(r));
}

/* The id goes back: a call that holds one is in the table. */
static int not_sent(mortise_call *call, int r, mortise_error *err)
{
	if (call->id && call->id == call->plugin->next_id)
		call->plugin->next_id--;
	call->id = 0;
	return send_error(call, r, err);
}

static int send_body(mortise_call *call, struct mor_slice body)
{
	struct mor_link *link = call->plugin->link;

	call->begin = link->queued;
	return link->ops->send(link, body);
}

/* Whoever taps may call, stop or free: the message is out of his reach meanwhile. */
static int send_tapped(mortise_call *call)
{
	mortise_plugin *plugin = call->plugin;
	mortise_host *host = plugin->host;
	struct mor_buf body = host->compose;
	int r;

	host->compose = (struct mor_buf)MOR_BUF_INIT;
	mor_host_tap(plugin, MORTISE_TO_PLUGIN, mor_buf_view(&body));
	r = plugin->link ? send_body(call, mor_buf_view(&body)) : MORTISE_ECLOSED;
	mor_buf_fini(&host->compose);
	host->compose = body;
	return r;
}

/* Its slot, or its process, is taken before anybody hears of it. */
static void occupy(mortise_call *call, bool on)
{
	mortise_plugin *plugin = call->plugin;

	if (!(call->flags & MORTISE_NOTIFY) && !call->no_slot)
		plugin->in_flight += on ? 1 : -1u;
	if (call->purpose == MOR_FOR_USER && !mor_shape_is_session(plugin))
		plugin->spent = on;
}

/* Hands the call to the link. On failure nothing has changed. */
static int transmit(mortise_call *call, struct mor_slice params, mortise_error *err)
{
	mortise_plugin *plugin = call->plugin;
	bool note = call->flags & MORTISE_NOTIFY;
	int r;

	if (!plugin->link) /* released by whoever was told of what was sent before it */
		return send_error(call, MORTISE_ECLOSED, err);
	call->id = note ? 0 : next_id(plugin);
	r = compose(call, params);
	if (r == 0 && !note)
		r = mor_table_add(&plugin->table, call);
	if (r < 0)
		return not_sent(call, r, err);
	occupy(call, true);
	r = plugin->host->tap ? send_tapped(call) : send_body(call, mor_buf_view(&plugin->host->compose));
	if (r < 0) {
		occupy(call, false);
		if (!note)
			mor_table_remove(&plugin->table, call);
		return not_sent(call, r, err);
	}
	plugin->counters.bytes_out += plugin->host->compose.len;
	call->end = plugin->link->queued;
	call->state = MOR_CALL_WRITING;
	mor_list_append(&plugin->writing, &call->node);
	if (call->purpose == MOR_FOR_USER) {
		plugin->unproven = false;
		if (!mor_shape_is_session(plugin))
			mor_shape_sent(plugin);
	}
	return 0;
}

/* What the specification says this method needs, against what the plugin announced. A plugin that announced
 * nothing at all is believed. */
static int check_interface(mortise_call *call, mortise_error *err)
{
	mortise_plugin *plugin = call->plugin;
	const char *needs = call->method->needs;
	const struct mor_value *identity = needs ? mor_plugin_identity(plugin) : NULL;
	MOR_CLEAN(mor_buf) struct mor_buf has = MOR_BUF_INIT;

	if (!identity || (call->flags & MORTISE_RAW) || mor_dialect_announces(plugin->dialect, identity, needs))
		return 0;
	mor_dialect_interfaces(plugin->dialect, identity, &has);
	return mor_fail(err, MORTISE_EUNSUPPORTED, "%s: \"%s\" needs the interface %s, which this plugin does not offer (it has %.*s)",
			plugin->session.name, call->name, needs, (int)has.len, has.data ? has.data : "");
}

/* What is asked again when its turn comes: the turn before may have ended the session. */
static int may_go(mortise_call *call, mortise_error *err)
{
	int r = mor_keep_check(call, err);

	return r < 0 ? r : check_interface(call, err);
}

static void on_pump(struct mor_task *task)
{
	mortise_plugin *plugin = mor_container_of(task, mortise_plugin, pump);

	MOR_HOLD(plugin);
	mor_call_pump(plugin);
}

void mor_call_pump(mortise_plugin *plugin)
{
	mor_pool_wake(plugin->pool);
	if (plugin->pumping)
		return;
	plugin->pumping = true;
	while (plugin->state == MORTISE_READY && !mor_list_empty(&plugin->queue) && slot_free(plugin)) {
		mortise_call *call = mor_container_of(plugin->queue.next, mortise_call, node);
		mortise_error error;
		int r;

		if (mor_loop_spent(plugin->host->loop)) {
			mor_loop_post(plugin->host->loop, &plugin->pump, on_pump);
			break;
		}
		r = may_go(call, &error);
		/* Whoever taps that ping may end the plugin, and its queue with it. */
		if (r == 0 && (mor_health_first(plugin, call->method) || plugin->state != MORTISE_READY))
			break;
		mor_call_leave_queue(call); /* its queue_ms goes on until the last byte is written */
		if (r == 0)
			r = transmit(call, call->params.len ? mor_buf_view(&call->params) : (struct mor_slice){ 0 }, &error);
		if (r < 0)
			mor_call_fail(call, &error);
		else
			mor_buf_fini(&call->params);
	}
	plugin->pumping = false;
}

void mor_call_written(mortise_plugin *plugin, uint64_t total)
{
	/* Time limits count from now, not from before the callbacks that have run in this dispatch. */
	mor_loop_refresh_now(plugin->host->loop);
	while (!mor_list_empty(&plugin->writing)) {
		mortise_call *call = mor_container_of(plugin->writing.next, mortise_call, node);

		if (call->end > total)
			return;
		mor_list_remove(&call->node);
		mor_list_append(&plugin->flight, &call->node);
		if (call->state == MOR_CALL_LATE)
			continue;
		call->state = MOR_CALL_SENT;
		call->older = plugin->link->older;
		call->reached = true;
		call->sent_ms = mor_loop_now_ms(plugin->host->loop);
		if (call->flags & MORTISE_NOTIFY)
			mor_call_settle(call, &(struct mor_verdict){ 0 }, false);
		else
			mor_call_set_due(call, mor_call_limit_ms(call));
	}
}

/* ---- starting ---- */

static int check_params(mortise_plugin *plugin, const char *action, struct mor_slice params, mortise_error *err)
{
	size_t at = 0;

	if (!params.ptr)
		return 0;
	if (!mor_json_valid(params, 0, 0, &at))
		return mor_fail(err, MORTISE_EINVAL, "%s: params of \"%s\" are not JSON (byte %zu)", plugin->session.name, action, at);
	while (params.len && strchr(" \t\r\n", *params.ptr))
		params.ptr++, params.len--;
	if (*params.ptr != '{' && *params.ptr != '[')
		return mor_fail(err, MORTISE_EINVAL, "%s: params of \"%s\" must be an object or an array", plugin->session.name, action);
	return 0;
}

static int check_extra(mortise_plugin *plugin, const char *action, struct mor_slice extra, mortise_error *err)
{
	while (extra.len && strchr(" \t\r\n", *extra.ptr))
		extra.ptr++, extra.len--;
	if (extra.ptr && (!extra.len || *extra.ptr != '{' || !mor_json_valid(extra, 0, 0, NULL)))
		return mor_fail(err, MORTISE_EINVAL, "%s: what goes beside the params of \"%s\" must be a JSON object", plugin->session.name, action);
	return 0;
}

static int check_running(mortise_plugin *plugin, mortise_error *err)
{
	if (plugin->gone)
		return mor_fail(err, MORTISE_ECLOSED, "%s: has been released", plugin->session.name);
	if (plugin->state == MORTISE_FAILED) {
		if (err)
			*err = plugin->failure;
		return plugin->failure.code;
	}
	if (plugin->state == MORTISE_DRAINING && plugin->after_drain != MORTISE_BACKOFF && !plugin->resumes)
		return mor_fail(err, MORTISE_ECLOSED, "%s: is being stopped", plugin->session.name);
	return 0;
}

struct started {
	const struct mor_method *row;
	const char *name;
	struct mor_slice params;
	struct mor_buf shaped;
};

static int warn_of_params(mortise_plugin *plugin, struct started *call, mortise_error *err);

/* Embedders mostly call one thing over and over: the last answer is remembered. */
static const struct mor_method *find_action(mortise_plugin *plugin, const char *action)
{
	size_t len = strlen(action);

	if (plugin->last_row && strcmp(action, plugin->last_action) == 0)
		return plugin->last_row;
	plugin->last_row = NULL;
	if (len >= sizeof(plugin->last_action))
		return mor_dialect_action(plugin->dialect, mor_slice_of(action));
	memcpy(plugin->last_action, action, len + 1);
	plugin->last_row = mor_dialect_action(plugin->dialect, mor_slice_of(action));
	return plugin->last_row;
}

/* Whoever asks for the health without params asks as the host does: plugins may count on its params. */
static int own_params(mortise_plugin *plugin, struct started *call)
{
	int r = 0;

	if (call->row->role == MOR_ROLE_PING && call->row->template)
		r = mor_template_fill(plugin, call->row->template, NULL, &call->shaped);
	if (call->shaped.len)
		call->params = mor_buf_view(&call->shaped);
	return r;
}

/* Action and params of the embedder -> row, wire method and wire params. */
static int shape(mortise_plugin *plugin, const char *action, const mortise_call_options *opt, struct started *call, mortise_error *err)
{
	const struct mor_hooks *hooks = plugin->dialect->hooks;
	int r = check_params(plugin, action, call->params, err);

	if (r == 0)
		r = check_extra(plugin, action, (struct mor_slice){ opt->extra.text, opt->extra.len }, err);
	if (r < 0)
		return r;
	call->name = action;
	call->row = opt->flags & MORTISE_RAW ? mor_dialect_method(plugin->dialect, MOR_FROM_HOST, mor_slice_of(action))
					: find_action(plugin, action);
	if (!call->row && plugin->dialect->serve)
		return mor_fail(err, MORTISE_EINVAL, "%s: \"%s\" cannot be called: plugins of the dialect %s call, the host answers",
				plugin->session.name, action, plugin->dialect->name);
	if (!call->row)
		call->row = &any_method;
	if (opt->flags & MORTISE_RAW)
		return call->params.ptr ? 0 : own_params(plugin, call);
	if (call->row->action)
		call->name = call->row->name;
	if (hooks && hooks->shape_call) {
		r = hooks->shape_call(&plugin->session, action, call->params, &call->row, &call->shaped, err);
		call->name = call->row->name;
	} else if (call->row->template && (call->row->role == MOR_ROLE_CALL || call->row->role == MOR_ROLE_INPUT)) {
		struct mor_template_words words = { .action = action, .params = call->params,
						    .extra = { opt->extra.text, opt->extra.len } };

		r = mor_template_fill(plugin, call->row->template, &words, &call->shaped);
	}
	if (r < 0)
		return r;
	if (call->shaped.len)
		call->params = mor_buf_view(&call->shaped);
	if (!call->params.ptr && (call->row->flags & MOR_M_PARAMS))
		call->params = MOR_SLICE("{}");
	return call->row->params ? warn_of_params(plugin, call, err) : 0;
}

struct params_check {
	mortise_plugin *plugin;
	const char *name;
	struct mor_findings findings; /* of STRICT */
};

static void params_finding(const struct mor_finding *finding, void *arg)
{
	struct params_check *check = arg;

	if (check->plugin->session.strict)
		mor_findings_add(&check->findings, finding);
	else if (finding->fatal)
		mor_event_printf(check->plugin, MORTISE_EVENT_WARNING, "params of \"%s\": %s", check->name, finding->text);
}

/* What the specification says of our own params: told, and under STRICT refused before anything is sent. */
static int warn_of_params(mortise_plugin *plugin, struct started *call, mortise_error *err)
{
	struct params_check check = { .plugin = plugin, .name = call->name };
	struct mor_doc *doc = NULL;
	struct mor_slice text = call->params.ptr ? call->params : MOR_SLICE("{}");
	int r = mor_doc_parse(text, MOR_JSON_NAN, 0, &doc, err);

	if (r < 0)
		return r;
	mor_validate(call->row->params, mor_doc_root(doc), params_finding, &check);
	mor_doc_free(doc);
	if (check.findings.count)
		return mor_fail(err, MORTISE_EINPUT, "%s: params of \"%s\" break the specification: %s", plugin->session.name,
				call->name, mor_findings_text(&check.findings));
	return 0;
}

static int check_queue(const mortise_call *call, size_t bytes, mortise_error *err)
{
	const mortise_plugin *plugin = call->plugin;
	unsigned most = plugin->dialect->life.max_waiting ? plugin->dialect->life.max_waiting : MAX_WAITING;
	size_t limit = plugin->link_options.queue_limit;
	char waiting[32], all[32];

	if (plugin->waiting >= most)
		return mor_fail(err, MORTISE_EOVERLOAD, "%s: \"%s\" refused: %u calls wait already, which is the limit", plugin->session.name,
				call->name, most);
	/* One may always wait, however large; the limit is for those behind it. */
	if (limit && plugin->waiting_bytes && plugin->waiting_bytes + bytes > limit)
		return mor_fail(err, MORTISE_EOVERLOAD, "%s: \"%s\" refused: calls with %s of params wait already, and with this one they would be over the limit of %s (limits.queue)",
				plugin->session.name, call->name, mor_format_bytes(plugin->waiting_bytes, waiting), mor_format_bytes(limit, all));
	return 0;
}

static int queue_call(mortise_call *call, struct mor_slice params, mortise_error *err)
{
	mortise_plugin *plugin = call->plugin;
	int r = check_queue(call, params.len, err);

	if (r < 0)
		return r;
	r = mor_buf_slice(&call->params, params);
	if (r < 0)
		return mor_fail(err, r, "%s: %s", plugin->session.name, mortise_status_text(r));
	/* Before it waits: a start that fails at once fails those that wait, and this call is told by our return. */
	if (plugin->state == MORTISE_STOPPED && (r = mor_supervise_start(plugin, err)) < 0)
		return r;
	if ((r = check_running(plugin, err)) < 0) /* whoever was told of the start may have stopped it */
		return r;
	call->state = MOR_CALL_QUEUED;
	mor_list_append(&plugin->queue, &call->node);
	plugin->waiting++;
	plugin->waiting_bytes += params.len;
	mor_call_set_due(call, call->queue_ms);
	return 0;
}

static bool may_send_now(const mortise_call *call)
{
	mortise_plugin *plugin = call->plugin;

	return plugin->state == MORTISE_READY && mor_list_empty(&plugin->queue) && slot_free(plugin) &&
	       !mor_health_first(plugin, call->method);
}

static int launch(mortise_call *call, struct mor_slice params, mortise_error *err)
{
	int r = call->plugin->state == MORTISE_READY ? may_go(call, err) : mor_keep_check(call, err);

	if (call->plugin->gone) /* whoever was warned of its params has released it */
		r = check_running(call->plugin, err);
	if (r < 0)
		return r;
	if (!may_send_now(call))
		return queue_call(call, params, err);
	r = transmit(call, params, err);
	if (r == 0 && call->queue_ms)
		mor_call_set_due(call, call->queue_ms);
	return r;
}

static int start_call(mortise_plugin *plugin, const struct started *started, const mortise_call_options *opt,
		      mortise_call **ret_call, mortise_error *err)
{
	mortise_call *call = make_call(plugin, started->row, started->name);
	int r;

	if (!call)
		return mor_fail(err, MORTISE_ENOMEM, "%s: out of memory", plugin->session.name);
	call->flags = opt->flags | (started->row->flags & MOR_M_NOTE ? MORTISE_NOTIFY : 0);
	call->queue_ms = opt->queue_ms;
	call->timeout_ms = opt->timeout_ms ? opt->timeout_ms : call->timeout_ms;
	call->on_reply = opt->on_reply;
	call->arg = opt->arg;
	r = launch(call, started->params, err);
	if (r < 0) {
		mor_call_recycle(plugin->host, call);
		return r;
	}
	plugin->counters.calls++;
	if (ret_call)
		*ret_call = call;
	return 0;
}

int mor_call_start(mortise_plugin *plugin, const char *action, mortise_json params, const mortise_call_options *opt,
		   mortise_call **ret_call, mortise_error *err)
{
	struct started started = { .params = { params.text, params.len } };
	int r;

	if (!action || !*action)
		return mor_fail(err, MORTISE_EINVAL, "%s: no method given", plugin->session.name);
	MOR_HOLD(plugin);
	r = plugin->state == MORTISE_READY ? 0 : check_running(plugin, err);
	if (r == 0)
		r = shape(plugin, action, opt, &started, err);
	if (r == 0)
		r = start_call(plugin, &started, opt, ret_call, err);
	mor_buf_fini(&started.shaped);
	return r;
}

int mortise_call_start(mortise_plugin *plugin, const char *action, mortise_json params,
		       const mortise_call_options *given, mortise_call **ret_call, mortise_error *err)
{
	mortise_call_options opt;
	int r = mor_plugin_check(plugin, err);

	if (r < 0 || (r = mor_import_options(given, &opt, sizeof(opt), err)) < 0)
		return r;
	return mor_call_start(plugin, action, params, &opt, ret_call, err);
}

int mor_call_internal(mortise_plugin *plugin, const struct mor_method *row, enum mor_call_purpose purpose,
		      struct mor_slice params, mortise_error *err)
{
	mortise_call *call = make_call(plugin, row, row->name);
	int r;

	if (!call)
		return mor_fail(err, MORTISE_ENOMEM, "%s: out of memory", plugin->session.name);
	call->purpose = purpose;
	call->no_slot = purpose == MOR_FOR_PING && (plugin->health.asks & MOR_ASK_BUSY);
	if (row->flags & MOR_M_NOTE)
		call->flags |= MORTISE_NOTIFY;
	if (purpose == MOR_FOR_BYE)
		call->timeout_ms = 0; /* the ladder has its own clock */
	if (!params.ptr && (row->flags & MOR_M_PARAMS))
		params = MOR_SLICE("{}");
	r = transmit(call, params, err);
	if (r < 0)
		mor_call_recycle(plugin->host, call);
	return r;
}

/* ---- cancelling ---- */

void mor_call_send_cancel(mortise_call *call)
{
	mortise_plugin *plugin = call->plugin;
	const struct mor_method *row = mor_dialect_role(plugin->dialect, MOR_ROLE_CANCEL, NULL);
	MOR_CLEAN(mor_buf) struct mor_buf params = MOR_BUF_INIT;
	struct mor_template_words words = { .id = call->id };
	enum mor_late late = mor_timing_of(call->method)->late;

	if (!row || !row->template || !call->id || (late != MOR_LATE_CANCEL && late != MOR_LATE_FORGET))
		return;
	/* Best effort: a plugin that cannot be told is dealt with by its time limits. */
	if (mor_template_fill(plugin, row->template, &words, &params) == 0)
		(void)mor_call_internal(plugin, row, MOR_FOR_CANCEL, mor_buf_view(&params), NULL);
}

static void on_cancel(struct mor_task *task)
{
	mortise_call *call = mor_container_of(task, mortise_call, cancel_task);
	mortise_plugin *plugin = call->plugin;
	bool kill = call->id && mor_timing_of(call->method)->late == MOR_LATE_KILL;
	mortise_error error;

	MOR_HOLD(plugin);
	mor_fail(&error, MORTISE_ECANCELED, "%s: \"%s\" was cancelled", plugin->session.name, call->name);
	call->in_hand = true;
	mor_call_send_cancel(call);
	mor_call_settle(call, &(struct mor_verdict){ .status = error.code, .error = &error }, mor_call_keeps_slot(call));
	if (kill)
		mor_supervise_breach(plugin, &error, MOR_RUNG_KILL);
}

int mortise_call_cancel(mortise_call *call)
{
	int r = call ? mor_plugin_check(call->plugin, NULL) : MORTISE_EINVAL;

	if (r == 0 && call->state == MOR_CALL_LATE)
		r = MORTISE_EINVAL;
	if (r == 0)
		mor_loop_post(call->plugin->host->loop, &call->cancel_task, on_cancel);
	return r;
}
