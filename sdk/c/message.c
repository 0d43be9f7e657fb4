/* SPDX-License-Identifier: Apache-2.0 */
/* One message: which function gets it, and that it is answered as JSON-RPC wants it. */
#include <string.h>

#include "base/error.h"
#include "dialect.h"
#include "session.h"

static const struct mor_slice absent = { NULL, 0 };
static const struct mor_slice null_id = { "null", 4 };

/* ---- A call ---- */

/* An unanswered request would leave its host to a time-out that blames the wrong thing. */
void tn_call_function(tenon_call *call, const char *name, tenon_method_fn *fn)
{
	struct tn_session *s = call->session;
	int r;

	call->name = name;
	call->writer.out = &call->built;
	call->seq = s->seq;
	r = fn(call);
	if (call->over)
		return;
	if (call->no_memory && !call->answered)
		tenon_fail(call, TENON_EINTERNAL, "out of memory");
	if (!call->answered)
		tenon_fail(call, TENON_EFAILED,
			   r ? "the method failed without an answer" : "the method gave no answer");
}

/* Tables are short and a plugin's work is long: a hash would be for show. */
const tenon_method *tn_find_method(const tenon_plugin *plugin, struct mor_slice name)
{
	for (const tenon_method *method = plugin->methods; method && method->name; method++)
		if (mor_slice_is(name, method->name))
			return method;
	return NULL;
}

static const struct tn_route *find_route(const struct tn_dialect *dialect, struct mor_slice name)
{
	for (const struct tn_route *route = dialect->routes; route->method; route++)
		if (mor_slice_is(name, route->method))
			return route;
	return NULL;
}

const tenon_command *tn_find_command(const tenon_command *table, struct mor_slice name)
{
	for (const tenon_command *command = table; command && command->name; command++)
		if (mor_slice_is(name, command->name) || tn_has_word(command->aliases, name))
			return command;
	return NULL;
}

/* A plugin that takes init in its own hands also decides what needs it. */
static bool ready_for(tenon_call *call)
{
	struct tn_session *s = call->session;

	if (!s->dialect->needs_init || tn_find_method(s->plugin, MOR_SLICE("plugin.init")))
		return true;
	if (atomic_load(&s->started))
		return true;
	tn_refuse(call, -32003, "Not initialized: call plugin.init first",
		  MOR_SLICE("{\"reason\":\"NotInitialized\",\"required_method\":\"plugin.init\"}"));
	return false;
}

bool tn_ensure_started(tenon_call *call)
{
	if (atomic_load_explicit(&call->session->started, memory_order_relaxed))
		return true;
	if (call->session->dialect->needs_init)
		return ready_for(call);
	return tn_start(call, NULL, NULL) == 0;
}

static void call_by_name(tenon_call *call, struct mor_slice name)
{
	struct tn_session *s = call->session;
	const tenon_command *command = s->dialect->by_name ? tn_find_command(s->plugin->commands, name) : NULL;

	if (!command) {
		tn_refuse_name(call, "method", name);
		return;
	}
	if (!tn_ensure_started(call) || !tn_take_fields(call, command->fields, tn_call_sent(call)))
		return;
	call->shape = s->dialect->by_name;
	tn_call_function(call, command->name, command->fn);
}

/* The author's own comes first: what a plugin has written itself it keeps. */
static void route_call(tenon_call *call, struct mor_slice name, struct tn_turn *turn)
{
	struct tn_session *s = call->session;
	const tenon_method *method = tn_find_method(s->plugin, name);
	const struct tn_route *route;

	if (method) {
		if ((!s->dialect->needs_init || !find_route(s->dialect, name)) && !tn_ensure_started(call))
			return;
		tn_call_function(call, method->name, method->fn);
		return;
	}
	route = find_route(s->dialect, name);
	if (route)
		route->serve(call, turn);
	else
		call_by_name(call, name);
}

/* params may be an object or an array; null is taken for absent, since hosts exist that send it. */
static bool take_params(tenon_call *call, struct mor_slice params)
{
	if (!params.ptr || mor_slice_is(params, "null"))
		return true;
	call->params_text = params;
	return *params.ptr == '{' || *params.ptr == '[';
}

static void answer_call(struct tn_session *s, const struct mor_message *message, struct tn_turn *turn,
			bool in_batch)
{
	tenon_call call;

	tn_call_init(&call, s);
	call.in_batch = in_batch;
	if (message->kind == MOR_MSG_REQUEST)
		call.id = message->id;
	if (!take_params(&call, message->params))
		tn_refuse(&call, TENON_EREQUEST, "/params: neither object nor array", absent);
	else
		route_call(&call, message->method, turn);
	if (call.asked) {
		if (!call.over)
			tn_send_answer(s);
		tn_conversed(s, &call);
	}
	tn_call_fini(&call);
}

/* ---- A message ---- */

/* The id of a message that is JSON but no request, so that its sender learns which one went wrong. The
 * scanner stops at the first fault; the id may stand behind it. */
static void refuse_message(struct mor_slice text, const char *why, struct mor_buf *out)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	MOR_CLEAN(mor_buf) struct mor_buf id = MOR_BUF_INIT;
	const struct mor_value *value;
	bool known;
	int r = mor_doc_parse(text, 0, 0, &doc, NULL);

	if (r < 0) {
		mor_write_error(out, null_id, r == MORTISE_ENOMEM ? TENON_EINTERNAL : TENON_EPARSE, why,
				absent);
		return;
	}
	value = mor_json_get(mor_doc_root(doc), "id");
	known = (mor_json_type(value) == MOR_JSON_NUMBER || mor_json_type(value) == MOR_JSON_STRING) &&
		mor_json_write(value, false, &id) == 0;
	mor_write_error(out, known ? mor_buf_view(&id) : null_id, TENON_EREQUEST, why, absent);
}

/* Appends the answer to one message that stands alone or in a batch; nothing if none is due. */
static void answer_one(struct tn_session *s, struct mor_slice text, struct tn_turn *turn, bool in_batch)
{
	MOR_CLEAN(mor_buf) struct mor_buf method = MOR_BUF_INIT;
	struct mor_message message;
	mortise_error err;
	int r = mor_envelope_scan(text, 0, 0, &message, &err);

	if (r == 0 && message.method_escaped && mor_envelope_unescape(&message, &method) < 0)
		r = mor_fail(&err, MORTISE_ENOMEM, "out of memory");
	if (r < 0)
		refuse_message(text, err.text, &s->answer);
	else if (message.kind == MOR_MSG_BATCH)
		mor_write_error(&s->answer, null_id, TENON_EREQUEST, "a batch inside a batch", absent);
	else if (message.kind == MOR_MSG_REQUEST || message.kind == MOR_MSG_NOTE)
		answer_call(s, &message, turn, in_batch);
	else
		tn_say(s, "an answer came, but nothing was asked");
}

/* One array, in the order of the batch, without the notifications; nothing at all when there were only
 * those (JSON-RPC 2.0, section 6). */
static void answer_batch(struct tn_session *s, struct mor_slice text, struct tn_turn *turn)
{
	struct mor_buf *out = &s->answer;
	struct mor_slice element;
	size_t pos = 0, count = 0;

	mor_buf_byte(out, '[');
	for (; mor_batch_next(text, &pos, &element) > 0 && !mor_buf_failed(out); count++) {
		size_t before;

		if (out->len > 1)
			mor_buf_byte(out, ',');
		before = out->len;
		answer_one(s, element, turn, true);
		if (out->len == before && before > 1)
			out->len--;
	}
	if (mor_buf_failed(out))
		return;
	if (count == 0) {
		out->len = 0;
		mor_write_error(out, null_id, TENON_EREQUEST, "an empty batch", absent);
	} else if (out->len == 1) {
		out->len = 0; /* notifications only */
	} else {
		mor_buf_byte(out, ']');
	}
}

static bool starts_array(struct mor_slice text)
{
	size_t i = 0;

	while (i < text.len && memchr(" \t\r\n", text.ptr[i], 4))
		i++;
	return i < text.len && text.ptr[i] == '[';
}

void tn_answer_turn(struct tn_session *s, struct tn_turn *turn)
{
	struct mor_message message;

	tn_busy(s, turn);
	/* Looked at twice only when it can be a batch. */
	if (starts_array(turn->body) && mor_envelope_scan(turn->body, 0, 0, &message, NULL) == 0)
		answer_batch(s, turn->body, turn);
	else
		answer_one(s, turn->body, turn, false);
	if (tn_lost())
		return;
	tn_idle(s);
	tn_send_answer(s);
}
