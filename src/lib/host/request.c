/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of a plugin, and their answers: sent alone, or collected into the array of their batch.
 * See request.h. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/apart.h"
#include "base/error.h"
#include "base/text.h"
#include "host/client.h"
#include "host/embedder.h"
#include "host/receive.h"
#include "host/request.h"
#include "host/supervise.h"
#include "host/template.h"
#include "wire/envelope.h"

/* ---- sending answers ---- */

static int send_body(mortise_plugin *plugin, struct mor_slice body)
{
	mortise_error error;
	int r;

	if (!plugin->life.link || plugin->life.end_seen)
		return MORTISE_ECLOSED;
	mor_event_tap(plugin, MORTISE_TO_PLUGIN, body);
	/* the tap may have released it */
	r = plugin->life.link ? plugin->life.link->ops->send(plugin->life.link, body) : MORTISE_ECLOSED;
	if (r == 0)
		plugin->now.counters.bytes_out += body.len;
	if (r == MORTISE_EOVERLOAD) {
		/* It does not read the answers, so the queue would only grow. */
		mor_fail(&error, r, "%s: does not read the answers to its requests", plugin->peer.name);
		mor_supervise_breach(plugin, &error, MOR_RUNG_TERM);
	}
	return r;
}

/* Sent instead of an answer that cannot be sent, so that the plugin does not wait for it. */
static void send_failure(mortise_plugin *plugin, struct mor_slice id, struct mor_batch *batch, int why)
{
	const struct mor_link_options *opt = &plugin->is.link_options;
	size_t limit = opt->send_limit ? opt->send_limit : opt->frame_limit;
	char text[160], bytes[32];

	if (why == MORTISE_ELIMIT)
		snprintf(text, sizeof(text),
			 "Internal error: the answer is larger than the limit of %s for one message "
			 "(limits.send)",
			 mor_format_bytes(limit, bytes));
	else
		snprintf(text, sizeof(text), "Internal error: %s",
			 why == MORTISE_EINVAL ? "the answer is not JSON" : mortise_status_text(why));
	mor_request_refuse(plugin, id, batch, -32603, text);
}

/* Too large, or out of memory: a smaller answer may still work. After any other failure the plugin
 * cannot be reached. */
static bool is_replaceable(int status)
{
	return status == MORTISE_ELIMIT || status == MORTISE_ENOMEM;
}

static void batch_send(mortise_plugin *plugin, struct mor_batch *batch)
{
	bool any = batch->out.len || mor_buf_failed(&batch->out);
	int r;

	if (plugin && any && !batch->sent) {
		r = mor_buf_byte(&batch->out, ']');
		if (r == 0)
			r = send_body(plugin, mor_buf_view(&batch->out));
		if (is_replaceable(r))
			send_failure(plugin, MOR_SLICE("null"), NULL, r);
	}
	batch->sent = true;
}

static void batch_done(mortise_plugin *plugin, struct mor_batch *batch)
{
	if (--batch->open)
		return;
	batch_send(plugin, batch);
	mor_buf_fini(&batch->out);
	mor_free(batch);
}

static int send_answer(mortise_plugin *plugin, struct mor_batch *batch, struct mor_buf *body)
{
	if (mor_buf_failed(body))
		return body->status;
	if (!batch)
		return send_body(plugin, mor_buf_view(body));
	if (batch->sent)
		return MORTISE_ECLOSED;
	mor_buf_byte(&batch->out, batch->out.len ? ',' : '[');
	return mor_buf_slice(&batch->out, mor_buf_view(body));
}

void mor_request_refuse(mortise_plugin *plugin, struct mor_slice id, struct mor_batch *batch, int64_t code,
			const char *message)
{
	MOR_CLEAN(mor_buf) struct mor_buf body = MOR_BUF_INIT;

	mor_write_error(&body, id, code, message, (struct mor_slice){ 0 });
	send_answer(plugin, batch, &body);
}

/* ---- the handle ---- */

static void release_request(mortise_request *request)
{
	mor_list_remove(&request->node);
	if (request->plugin)
		request->plugin->calls.open_requests--;
	if (request->batch)
		batch_done(request->plugin, request->batch);
	mor_free(request->id);
	mor_free(request);
}

void mor_request_drop_all(mortise_plugin *plugin)
{
	/* The embedder may still hold the handles: they stay, without a plugin, until they are answered. */
	MOR_LIST_EACH(node, after, &plugin->calls.requests) {
		mortise_request *request = mor_container_of(node, mortise_request, node);

		mor_list_remove(&request->node);
		if (request->batch)
			batch_done(NULL, request->batch);
		request->batch = NULL;
		request->plugin = NULL;
		mor_list_append(&plugin->host->orphans, &request->node);
	}
	plugin->calls.open_requests = 0;
}

void mor_request_free_orphans(mortise_host *host)
{
	while (!mor_list_empty(&host->orphans))
		release_request(mor_container_of(host->orphans.next, mortise_request, node));
}

static int check_request(const mortise_request *request, mortise_error *err)
{
	return request ? mor_host_check_thread(request->host, err) :
			 mor_fail(err, MORTISE_EINVAL, "no request is given");
}

mortise_plugin *mortise_request_plugin(mortise_request *request)
{
	return check_request(request, NULL) == 0 ? request->plugin : NULL;
}

/* `given`: the fault of the answer itself; 0: none, it is in the body. */
static int answer_request(mortise_request *request, struct mor_buf *body, bool success, int given,
			  mortise_error *err)
{
	mortise_plugin *plugin = request->plugin;
	int r = MORTISE_ECLOSED;

	if (plugin) {
		MOR_HOLD(plugin);
		r = given ? given : send_answer(plugin, request->batch, body);
		if (r < 0)
			mor_fail(err, r, "%s: its request was not answered: %s", plugin->peer.name,
				 given ? "the answer is not JSON" : mortise_status_text(r));
		if (given || is_replaceable(r))
			send_failure(plugin, mor_slice_of(request->id), request->batch, r);
		mor_client_answered(plugin, request->row, success && r == 0);
		/* A breach in there may have taken it from the plugin; release works in both cases. */
		release_request(request);
		return r;
	}
	release_request(request);
	return mor_fail(err, r, "the process that asked has ended");
}

int mortise_request_reply(mortise_request *request, mortise_json result, mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf body = MOR_BUF_INIT, line = MOR_BUF_INIT;
	struct mor_slice text = { result.text ? result.text : "null", result.text ? result.len : 4 };
	int r = check_request(request, err);

	if (r < 0)
		return r;
	if (!mor_json_valid(text, 0, 0, NULL))
		return answer_request(request, &body, false, MORTISE_EINVAL, err);
	if (memchr(text.ptr, '\n', text.len) || memchr(text.ptr, '\r', text.len)) {
		mor_json_one_line(text, &line);
		text = mor_buf_view(&line);
	}
	mor_write_result(&body, mor_slice_of(request->id), text);
	return answer_request(request, &body, true, 0, err);
}

int mortise_request_fail(mortise_request *request, int64_t rpc_code, const char *message, mortise_json data,
			 mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf body = MOR_BUF_INIT, line = MOR_BUF_INIT;
	struct mor_slice text = { data.text, data.len };
	int r = check_request(request, err);

	if (r < 0)
		return r;
	if (data.text && !mor_json_valid(text, 0, 0, NULL))
		return answer_request(request, &body, false, MORTISE_EINVAL, err);
	if (data.text) {
		mor_json_one_line(text, &line);
		text = mor_buf_view(&line);
	}
	mor_write_error(&body, mor_slice_of(request->id), rpc_code, message ? message : "error", text);
	return answer_request(request, &body, false, 0, err);
}

/* ---- receiving ---- */

static mortise_request *make_request(mortise_plugin *plugin, const struct mor_method *row, struct mor_slice id,
				     struct mor_batch *batch)
{
	mortise_request *request = mor_zalloc(sizeof(*request));

	if (!request)
		return NULL;
	request->id = mor_strndup(id.ptr, id.len);
	if (!request->id) {
		mor_free(request);
		return NULL;
	}
	request->host = plugin->host;
	request->plugin = plugin;
	request->batch = batch;
	request->row = row;
	if (batch)
		batch->open++;
	plugin->calls.open_requests++;
	mor_list_append(&plugin->calls.requests, &request->node);
	mor_client_asked(plugin, row);
	return request;
}

void mor_request_error(mortise_plugin *plugin, const struct mor_message *message, struct mor_batch *batch,
		       mortise_error *error)
{
	if (message->kind == MOR_MSG_REQUEST)
		mor_request_refuse(plugin, message->id, batch, error->rpc_code, error->text);
	if (error->code != MORTISE_EPROTO)
		return;
	/* Its stdin is about to be closed; an element that is not answered yet never will be. */
	if (batch)
		batch_send(plugin, batch);
	mor_fail_prefix(error, plugin->peer.name);
	mor_supervise_breach(plugin, error, MOR_RUNG_INPUT);
}

/* The message has an id, but the specification wants no answer: handled as the note that it
 * should have been. */
static void receive_as_note(mortise_plugin *plugin, const struct mor_message *message, struct mor_batch *batch)
{
	MOR_CLEAN(mor_buf) struct mor_buf body = MOR_BUF_INIT;

	mor_receive_route(plugin, &(struct mor_message){ .kind = MOR_MSG_NOTE,
							 .method = message->method,
							 .params = message->params,
							 .whole = message->whole });
	if (plugin->is.replies_to_notes && !plugin->life.deaf &&
	    mor_write_result(&body, message->id, MOR_SLICE("null")) == 0)
		send_answer(plugin, batch, &body);
}

static void params_finding(const struct mor_finding *finding, void *arg)
{
	mortise_error *error = arg;

	if (finding->fatal && !error->code)
		mor_fail(error, MORTISE_EINPUT, "Invalid params: %s", finding->text);
}

/* The embedder never sees wrong params. An array is refused, because its params would have no names. */
static int check_params(const struct mor_method *row, const struct mor_value *params, mortise_error *error)
{
	if (mor_json_type(params) == MOR_JSON_ARRAY)
		mor_fail(error, MORTISE_EINPUT, "Invalid params: \"%s\" takes an object, not an array",
			 row->name);
	else
		mor_validate(row->params, params, params_finding, error);
	if (error->code)
		error->rpc_code = -32602;
	return error->code;
}

static int answer_ourselves(mortise_plugin *plugin, struct mor_slice id, struct mor_batch *batch,
			    struct mor_buf *result)
{
	MOR_CLEAN(mor_buf) struct mor_buf body = MOR_BUF_INIT;
	int r = mor_buf_failed(result) ? result->status : mor_write_result(&body, id, mor_buf_view(result));

	if (r == 0)
		r = send_answer(plugin, batch, &body);
	if (is_replaceable(r))
		send_failure(plugin, id, batch, r);
	return r;
}

/* 1: the dialect has answered, or the specification wants no answer. */
static int ask_dialect(mortise_plugin *plugin, const struct mor_method *row, const struct mor_message *message,
		       struct mor_batch *batch)
{
	const struct mor_hooks *hooks = plugin->peer.dialect->hooks;
	MOR_CLEAN(mor_buf) struct mor_buf result = MOR_BUF_INIT;
	struct mor_doc *doc = NULL;
	mortise_error error = { 0 };
	int r = 0;

	if (row && message->params.ptr && mor_doc_parse(message->params, MOR_JSON_NAN, 0, &doc, &error) < 0) {
		send_failure(plugin, message->id, batch, error.code);
		return 1;
	}
	if (row && row->template)
		r = mor_template_fill(plugin, row->template, NULL, &result) < 0 ? 0 : 1;
	else if (row && (row->role == MOR_ROLE_SERVE || row->role == MOR_ROLE_TAKE) && row->params)
		r = check_params(row, mor_doc_root(doc), &error);
	if (r == 0 && row && hooks && hooks->on_request)
		r = hooks->on_request(&plugin->peer, row, mor_doc_root(doc), &result, &error);
	mor_doc_free(doc);
	if (r < 0) {
		error.code = r;
		mor_request_error(plugin, message, batch, &error);
	}
	if (r > 0) {
		r = answer_ourselves(plugin, message->id, batch, &result);
		if (r == 0 && row->role == MOR_ROLE_HELLO)
			mor_client_greeted(plugin, row, mor_buf_view(&result));
		r = r ? r : 1;
	}
	/* the time limit of its greeting stopped when it asked */
	if (is_replaceable(r) && row && row->role == MOR_ROLE_HELLO)
		mor_supervise_wedged(plugin, "its greeting could not be answered");
	if (r == 0 && row && row->settle == MOR_BY_WRITE) {
		receive_as_note(plugin, message, batch);
		return 1;
	}
	return r != 0;
}

static void ask_embedder(mortise_plugin *plugin, const struct mor_method *row,
			 const struct mor_message *message, struct mor_batch *batch)
{
	mortise_request *request;
	char *method;

	if (!plugin->is.on_request || !row) {
		mor_request_refuse(plugin, message->id, batch, -32601, "Method not found");
		return;
	}
	if (plugin->calls.open_requests >= MOR_OPEN_REQUESTS) {
		mor_request_refuse(plugin, message->id, batch, -32000,
				   "too many requests are waiting for an answer");
		return;
	}
	request = make_request(plugin, row, message->id, batch);
	method = mor_strndup(message->method.ptr, message->method.len);
	if (request && method) {
		MOR_EMBEDDER(plugin->host);
		plugin->is.on_request(request, method,
				      (mortise_json){ message->params.ptr, message->params.len },
				      plugin->is.arg);
	} else {
		if (request) {
			mor_client_answered(plugin, row, false);
			release_request(request);
		}
		mor_request_refuse(plugin, message->id, batch, -32603, mortise_status_text(MORTISE_ENOMEM));
	}
	mor_free(method);
}

MOR_APART void mor_request_receive(mortise_plugin *plugin, const struct mor_message *message,
				   struct mor_batch *batch)
{
	const struct mor_method *row =
		mor_dialect_method(plugin->peer.dialect, MOR_FROM_PLUGIN, message->method);

	mor_heard_request(plugin, message);
	if (!row || *row->name == '*')
		mor_heard_odd_method(plugin, message->method);
	if (plugin->life.rung >= MOR_RUNG_INPUT) {
		mor_receive_drop(plugin, "a request that cannot be answered: its stdin is closed", message->id);
		return;
	}
	if (!mor_client_admits(plugin, row, message, batch) ||
	    !mor_client_has_place(plugin, row, message, batch))
		return;
	/* A dialect without a row for other methods lists everything that its plugins may ask. */
	if (!row)
		mor_request_refuse(plugin, message->id, batch, -32601, "Method not found");
	else if (!ask_dialect(plugin, row, message, batch))
		ask_embedder(plugin, row, message, batch);
}

static void receive_element(mortise_plugin *plugin, struct mor_slice element, struct mor_batch *batch)
{
	const struct mor_link_options *opt = &plugin->is.link_options;
	MOR_CLEAN(mor_buf) struct mor_buf method = MOR_BUF_INIT;
	struct mor_message message = { 0 };
	int r = mor_envelope_scan(element, opt->envelope_flags, opt->max_depth, &message, NULL);

	if (r == 0 && message.method_escaped)
		r = mor_envelope_unescape(&message, &method);
	if (r < 0 || message.kind == MOR_MSG_BATCH)
		mor_request_refuse(plugin, MOR_SLICE("null"), batch, -32600, "Invalid Request");
	else if (message.kind == MOR_MSG_REQUEST)
		mor_request_receive(plugin, &message, batch);
	else
		mor_receive_route(plugin, &message);
}

/* The rest of the batch is ignored, requests and answers. */
static void refuse_rest(mortise_plugin *plugin, struct mor_batch *batch, size_t count)
{
	char text[128];

	if (count >= MOR_BATCH_ELEMENTS)
		snprintf(text, sizeof(text), "a batch has at most %d elements: the rest of it was ignored",
			 MOR_BATCH_ELEMENTS);
	else
		snprintf(text, sizeof(text),
			 "the answers to the first %zu elements of a batch are %d bytes or more: the rest of "
			 "it was ignored",
			 count, MOR_BATCH_BYTES);
	mor_event(plugin, MORTISE_EVENT_WARNING, text);
	if (!plugin->gone && plugin->life.link)
		mor_request_refuse(plugin, MOR_SLICE("null"), batch, -32600, text);
}

MOR_APART void mor_request_batch(mortise_plugin *plugin, const struct mor_message *message)
{
	struct mor_batch *batch = mor_zalloc(sizeof(*batch));
	struct mor_slice element;
	size_t pos = 0, count = 0;

	if (!batch)
		return;
	batch->open = 1;
	for (; !plugin->gone && plugin->life.link && !plugin->life.deaf &&
	       mor_batch_next(message->whole, &pos, &element);
	     count++) {
		if (count >= MOR_BATCH_ELEMENTS || batch->out.len >= MOR_BATCH_BYTES) {
			refuse_rest(plugin, batch, count);
			break;
		}
		receive_element(plugin, element, batch);
	}
	/* JSON-RPC 2.0: an empty batch is one invalid request, answered by one object, not an array. */
	if (!count && plugin->life.link)
		mor_request_refuse(plugin, MOR_SLICE("null"), NULL, -32600, "Invalid Request");
	batch_done(plugin->gone || !plugin->life.link ? NULL : plugin, batch);
}
