/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a call (row, wire name, wire params) from what the embedder asks for. Then it is sent or
 * waits. See call.h. */
#include <string.h>

#include "base/alloc.h"
#include "base/apart.h"
#include "base/error.h"
#include "base/options.h"
#include "host/call.h"
#include "host/embedder.h"
#include "host/pool_job.h"
#include "host/settings.h"
#include "host/template.h"
#include "wire/outgoing.h"

/* The row of methods that the dialect does not list. */
static const struct mor_method any_method = {
	.name = "*", .from = MOR_FROM_HOST, .role = MOR_ROLE_CALL, .timing = MOR_TIMING(.timeout_ms = 30000)
};

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
	call->kind.of_pool = false;
	call->cancel_task = (struct mor_task){ 0 };
	call->params = (struct mor_buf)MOR_BUF_INIT;
	call->lent = (struct mor_slice){ 0 };
	call->timer = (struct mor_timer){ 0 };
	if (mor_timer_reserve(host->loop, &call->timer) < 0) {
		mor_free(call);
		return NULL;
	}
	return call;
}

/* One by one: for so many bytes compilers use "rep stos", whose start takes longer than all of this. */
static void clear_call(mortise_call *call)
{
	call->state = MOR_CALL_IDLE;
	call->purpose = MOR_FOR_USER;
	call->flags = 0;
	call->id = call->sent_ms = call->piece_ms = call->late_since_ms = call->due_ms = 0;
	call->acked = call->no_slot = call->own_limit = call->in_hand = call->reached = false;
	call->one_line = call->plain_name = false;
	call->on_reply = NULL;
	call->arg = NULL;
	call->queue_ms = call->timeout_ms = 0;
}

static mortise_call *make_call(mortise_plugin *plugin, const struct mor_method *row, struct mor_slice name)
{
	mortise_call *call = take_call(plugin->host);

	if (!call)
		return NULL;
	clear_call(call);
	mor_list_init(&call->node);
	call->plugin = plugin;
	call->method = row;
	call->name_len = name.len;
	if (name.ptr == plugin->calls.last_action) { /* the hot path */
		memcpy(call->short_name, plugin->calls.last_action, sizeof(call->short_name));
		call->name = call->short_name;
		call->plain_name = plugin->calls.last_plain;
		call->timeout_ms = mor_plugin_timeout(plugin, row, call->name);
		return call;
	}
	call->name = name.len < sizeof(call->short_name) ? call->short_name : mor_alloc(name.len + 1);
	if (!call->name) {
		mor_call_recycle(plugin->host, call);
		return NULL;
	}
	memcpy(call->name, name.ptr, name.len);
	call->name[name.len] = '\0';
	call->timeout_ms = mor_plugin_timeout(plugin, row, call->name);
	return call;
}

/* ---- starting ---- */

struct started {
	const struct mor_method *row;
	const char *name;
	size_t name_len;
	struct mor_slice params;
	bool spaced;   /* the params have blanks between their tokens */
	bool outlined; /* their outline is in host->compose, until the call is sent */
	struct mor_buf shaped;
};

/* Large params are looked at once, not again to compare them with the row. */
MOR_APART static bool outline_is_valid(mortise_plugin *plugin, struct started *call)
{
	struct mor_buf *out = &plugin->host->compose;
	size_t at;

	mor_buf_reset(out, SIZE_MAX);
	call->outlined = mor_json_outline(call->params, out) &&
			 mor_json_valid_params(mor_buf_view(out), &call->spaced, &at);
	return call->outlined;
}

static int check_params(mortise_plugin *plugin, const char *action, struct started *call, mortise_error *err)
{
	struct mor_slice params = call->params;
	size_t at;

	if (!params.ptr)
		return 0;
	if (!(params.len >= MOR_LARGE && outline_is_valid(plugin, call)) &&
	    !mor_json_valid_params(params, &call->spaced, &at))
		return mor_fail(err, MORTISE_EINVAL, "%s: params of \"%s\" are not JSON (byte %zu)",
				plugin->peer.name, action, at);
	if (*params.ptr == '{')
		return 0;
	while (*params.ptr == ' ' || *params.ptr == '\t' || *params.ptr == '\r' || *params.ptr == '\n')
		params.ptr++; /* valid JSON has more than blanks */
	if (*params.ptr != '{' && *params.ptr != '[')
		return mor_fail(err, MORTISE_EINVAL, "%s: params of \"%s\" must be an object or an array",
				plugin->peer.name, action);
	return 0;
}

static int check_extra(mortise_plugin *plugin, const char *action, struct mor_slice extra, mortise_error *err)
{
	while (extra.len && strchr(" \t\r\n", *extra.ptr))
		extra.ptr++, extra.len--;
	if (extra.ptr && (!extra.len || *extra.ptr != '{' || !mor_json_valid(extra, 0, 0, NULL)))
		return mor_fail(err, MORTISE_EINVAL,
				"%s: the members beside the params of \"%s\" must be given as a JSON object",
				plugin->peer.name, action);
	return 0;
}

MOR_APART static int warn_of_params(mortise_plugin *plugin, struct started *call, mortise_error *err);

/* Embedders mostly call one method over and over, so the last row found is kept. */
static const struct mor_method *find_action(mortise_plugin *plugin, const char *action, size_t *ret_len)
{
	struct mor_slice name;

	if (plugin->calls.last_row && strcmp(action, plugin->calls.last_action) == 0) {
		*ret_len = plugin->calls.last_len;
		return plugin->calls.last_row;
	}
	plugin->calls.last_row = NULL;
	name = mor_slice_of(action);
	*ret_len = name.len;
	if (name.len >= sizeof(plugin->calls.last_action))
		return mor_dialect_action(plugin->peer.dialect, name);
	memcpy(plugin->calls.last_action, action, name.len + 1);
	plugin->calls.last_len = name.len;
	plugin->calls.last_plain = mor_is_plain(name);
	plugin->calls.last_row = mor_dialect_action(plugin->peer.dialect, name);
	return plugin->calls.last_row;
}

/* The row knows its name on the wire. */
static void name_by_row(struct started *call)
{
	call->name = call->row->name;
	call->name_len = strlen(call->name);
}

static int fill_template(mortise_plugin *plugin, struct started *call, const struct mor_template_words *words,
			 mortise_error *err)
{
	int r = mor_template_fill(plugin, call->row->template, words, &call->shaped);

	return r < 0 ? mor_fail(err, r, "%s: params of \"%s\": %s", plugin->peer.name, call->name,
				mortise_status_text(r)) :
		       0;
}

/* A health call without params gets the params of the host's own pings: plugins may rely on them. */
static int own_params(mortise_plugin *plugin, struct started *call, mortise_error *err)
{
	int r = 0;

	if (call->row->role == MOR_ROLE_PING && call->row->template)
		r = fill_template(plugin, call, NULL, err);
	if (call->shaped.len)
		call->params = mor_buf_view(&call->shaped);
	return r;
}

/* Action and params of the embedder -> row, wire method and wire params. */
static int shape_call(mortise_plugin *plugin, const char *action, const mortise_call_options *opt,
		      struct started *call, mortise_error *err)
{
	const struct mor_hooks *hooks = plugin->peer.dialect->hooks;
	int r = check_params(plugin, action, call, err);

	if (r == 0)
		r = check_extra(plugin, action, (struct mor_slice){ opt->extra.text, opt->extra.len }, err);
	if (r < 0)
		return r;
	call->name = action;
	if (opt->flags & MORTISE_RAW) {
		call->name_len = strlen(action);
		call->row = mor_dialect_method(plugin->peer.dialect, MOR_FROM_HOST,
					       (struct mor_slice){ action, call->name_len });
	} else {
		call->row = find_action(plugin, action, &call->name_len);
	}
	if (!call->row && plugin->peer.dialect->serve)
		return mor_fail(err, MORTISE_EINVAL,
				"%s: \"%s\" cannot be called: in the dialect %s only plugins call, and the "
				"host answers",
				plugin->peer.name, action, plugin->peer.dialect->name);
	if (!call->row)
		call->row = &any_method;
	if (opt->flags & MORTISE_RAW)
		return call->params.ptr ? 0 : own_params(plugin, call, err);
	if (call->row->action)
		name_by_row(call);
	if (hooks && hooks->shape_call) {
		r = hooks->shape_call(&plugin->peer, action, call->params, &call->row, &call->shaped, err);
		name_by_row(call);
	} else if (call->row->template &&
		   (call->row->role == MOR_ROLE_CALL || call->row->role == MOR_ROLE_INPUT)) {
		struct mor_template_words words = { .action = action,
						    .params = call->params,
						    .extra = { opt->extra.text, opt->extra.len } };

		r = fill_template(plugin, call, &words, err);
	}
	if (r < 0)
		return r;
	if (call->shaped.len)
		call->params = mor_buf_view(&call->shaped);
	if (!call->params.ptr && (call->row->flags & MOR_M_PARAMS))
		call->params = MOR_SLICE("{}");
	if (call->row->params)
		return warn_of_params(plugin, call, err);
	/* No callback has come meanwhile, so what find_action() keeps is still this name. */
	if (call->name == action && plugin->calls.last_row == call->row)
		call->name = plugin->calls.last_action;
	return 0;
}

struct params_check {
	mortise_plugin *plugin;
	const char *name;
	struct mor_findings findings; /* only under STRICT */
};

static void on_params_finding(const struct mor_finding *finding, void *arg)
{
	struct params_check *check = arg;

	if (check->plugin->peer.strict)
		mor_findings_add(&check->findings, finding);
	else if (finding->fatal)
		mor_event_printf(check->plugin, MORTISE_EVENT_WARNING, "params of \"%s\": %s", check->name,
				 finding->text);
}

/* Checks our own params against the specification. Faults are warnings; under STRICT the call is refused before
 * anything is sent. */
static int warn_of_params(mortise_plugin *plugin, struct started *call, mortise_error *err)
{
	struct params_check check = { .plugin = plugin, .name = call->name };
	struct mor_doc *doc = NULL;
	struct mor_slice text = call->outlined && !call->shaped.len ? mor_buf_view(&plugin->host->compose) :
				call->params.ptr                    ? call->params :
								      MOR_SLICE("{}");
	int r = mor_doc_outline(text, MOR_JSON_NAN, 0, &doc, err);

	if (r < 0)
		return r;
	mor_validate(call->row->params, mor_doc_root(doc), on_params_finding, &check);
	mor_doc_free(doc);
	if (check.findings.count)
		return mor_fail(err, MORTISE_EINPUT, "%s: params of \"%s\" break the specification: %s",
				plugin->peer.name, call->name, mor_findings_text(&check.findings));
	return 0;
}

static int start_call(mortise_plugin *plugin, struct started *started, const mortise_call_options *opt,
		      mortise_call **ret_call, mortise_error *err)
{
	mortise_call *call =
		make_call(plugin, started->row, (struct mor_slice){ started->name, started->name_len });
	int r;

	if (!call)
		return mor_fail_memory_of(err, plugin->peer.name);
	call->flags = opt->flags | (started->row->flags & MOR_M_NOTE ? MORTISE_NOTIFY : 0);
	call->queue_ms = opt->queue_ms;
	call->own_limit = opt->timeout_ms;
	if (opt->timeout_ms)
		call->timeout_ms = opt->timeout_ms == MORTISE_NO_LIMIT ? 0 : opt->timeout_ms;
	call->one_line = !started->spaced && !started->shaped.len;
	call->on_reply = opt->on_reply;
	call->arg = opt->arg;
	if (started->shaped.len >= MOR_LARGE) { /* moved, not copied: `params` is still its content */
		call->params = started->shaped;
		started->shaped = (struct mor_buf)MOR_BUF_INIT;
	}
	if ((r = mor_call_launch(call, started->params, err)) < 0) {
		mor_call_recycle(plugin->host, call);
		return r;
	}
	plugin->now.counters.calls++;
	if (ret_call)
		*ret_call = call;
	return 0;
}

/* Apart, so that it is one piece: inlined into both of its callers, its parts would be calls. */
MOR_APART int mor_call_start(mortise_plugin *plugin, const char *action, mortise_json params,
			     const mortise_call_options *opt, mortise_call **ret_call, mortise_error *err)
{
	struct started started; /* not cleared as a whole: see clear_call() */
	int r;

	if (!action || !*action)
		return mor_fail(err, MORTISE_EINVAL, "%s: no method given", plugin->peer.name);
	started.params = (struct mor_slice){ params.text, params.len };
	started.spaced = started.outlined = false;
	started.shaped = (struct mor_buf)MOR_BUF_INIT;
	MOR_HOLD(plugin);
	r = plugin->now.state == MORTISE_READY ? 0 : mor_call_check_running(plugin, err);
	if (r == 0)
		r = shape_call(plugin, action, opt, &started, err);
	if (r == 0)
		r = start_call(plugin, &started, opt, ret_call, err);
	mor_buf_fini(&started.shaped);
	if (started.outlined)
		mor_buf_reset(&plugin->host->compose, MOR_COMPOSE_KEEP);
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

static int start_internal(mortise_plugin *plugin, const struct mor_method *row, const char *name,
			  enum mor_call_purpose purpose, struct mor_slice params, mortise_error *err)
{
	mortise_call *call = make_call(plugin, row, mor_slice_of(name));
	int r;

	if (!call)
		return mor_fail_memory_of(err, plugin->peer.name);
	call->purpose = purpose;
	call->no_slot = purpose == MOR_FOR_PING && (plugin->now.health.asks & MOR_ASK_BUSY);
	if (row->flags & MOR_M_NOTE)
		call->flags |= MORTISE_NOTIFY;
	if (purpose == MOR_FOR_BYE)
		call->timeout_ms = 0; /* the ladder has its own clock */
	if (!params.ptr && (row->flags & MOR_M_PARAMS))
		params = MOR_SLICE("{}");
	if ((r = mor_call_transmit(call, params, err)) < 0)
		mor_call_recycle(plugin->host, call);
	return r;
}

int mor_call_internal(mortise_plugin *plugin, const struct mor_method *row, enum mor_call_purpose purpose,
		      struct mor_slice params, mortise_error *err)
{
	return start_internal(plugin, row, row->name, purpose, params, err);
}

/* ---- cancelling ---- */

/* The message of a plugin whose protocol has none for all: cancel.method names it. */
static void send_own_cancel(mortise_plugin *plugin, int64_t id)
{
	static const struct mor_method row = {
		.name = "*", .from = MOR_FROM_HOST, .role = MOR_ROLE_CANCEL, .flags = MOR_M_NOTE
	};
	MOR_CLEAN(mor_buf) struct mor_buf params = MOR_BUF_INIT;
	struct mor_writer w = { .out = &params };

	mor_w_object(&w);
	mor_w_pair_int(&w, plugin->is.cancel.member ? plugin->is.cancel.member : "id", id);
	mor_w_end(&w);
	if (!mor_buf_failed(&params))
		(void)start_internal(plugin, &row, plugin->is.cancel.method, MOR_FOR_CANCEL,
				     mor_buf_view(&params), NULL);
}

void mor_call_send_cancel(mortise_call *call)
{
	mortise_plugin *plugin = call->plugin;
	const struct mor_method *row =
		mor_dialect_role(plugin->peer.dialect, MOR_FROM_HOST, MOR_ROLE_CANCEL, NULL);
	MOR_CLEAN(mor_buf) struct mor_buf params = MOR_BUF_INIT;
	struct mor_template_words words = { .id = call->id };
	enum mor_late late = mor_timing_of(call->method)->late;

	if (plugin->life.link && plugin->life.link->ops->cancel) {
		plugin->life.link->ops->cancel(plugin->life.link, call->id);
		return;
	}
	/* Best effort: if this cannot be sent, the time limits still apply. */
	if (plugin->is.cancel.method && plugin->life.link && call->id && late != MOR_LATE_KILL) {
		send_own_cancel(plugin, call->id);
		return;
	}
	if (!row || !row->template || !call->id || (late != MOR_LATE_CANCEL && late != MOR_LATE_FORGET))
		return;
	if (mor_template_fill(plugin, row->template, &words, &params) == 0)
		(void)mor_call_internal(plugin, row, MOR_FOR_CANCEL, mor_buf_view(&params), NULL);
}

void mor_call_cancel_now(mortise_call *call)
{
	mortise_plugin *plugin = call->plugin;
	bool kill = call->id && mor_timing_of(call->method)->late == MOR_LATE_KILL;
	mortise_error error, killed;

	MOR_HOLD(plugin);
	mor_fail(&error, MORTISE_ECANCELED, "%s: \"%s\" was cancelled", plugin->peer.name, call->name);
	/* Nobody cancelled its other calls. */
	mor_fail(&killed, MORTISE_ECLOSED, "%s: killed, because \"%s\" was cancelled", plugin->peer.name,
		 call->name);
	mor_call_give_up(call, &error, kill ? &killed : NULL);
}

static void on_cancel(struct mor_task *task)
{
	mor_call_cancel_now(mor_container_of(task, mortise_call, cancel_task));
}

/* Whatever it is, this part of it is a struct mor_call_kind. */
static bool is_of_pool(const mortise_call *handle)
{
	const char *kind = (const char *)handle + offsetof(mortise_call, kind);

	return ((const struct mor_call_kind *)(const void *)kind)->of_pool;
}

int mortise_call_cancel(mortise_call *call, mortise_error *err)
{
	int r;

	if (call && is_of_pool(call))
		return mor_pool_job_cancel((struct mor_pool_job *)call, err);
	r = call ? mor_plugin_check(call->plugin, err) : mor_fail(err, MORTISE_EINVAL, "no call is given");
	if (r == 0 && call->state == MOR_CALL_LATE)
		r = mor_fail(err, MORTISE_EINVAL, "%s: the call has ended already", call->plugin->peer.name);
	if (r == 0)
		mor_loop_post(call->plugin->host->loop, &call->cancel_task, on_cancel);
	return r;
}
