/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tenon_run(): the wire, the frames, and which method gets what.
 *
 * Strictly serial: a message is read, answered and written before the next is looked at, so a method
 * needs no locks and a host that floods us is held by its own full pipe.
 */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/fd.h"
#include "call.h"
#include "private_wire.h"
#include "wire/envelope.h"
#include "wire/framing.h"

#define MESSAGE_LIMIT ((size_t)256 << 20)
#define KEEP_BYTES    ((size_t)1 << 20) /* what a buffer may hold on to between messages */

static const struct mor_slice absent = { NULL, 0 };
static const struct mor_slice null_id = { "null", 4 };

struct wire {
	const tenon_plugin *plugin;
	enum mor_framing framing;
	int in, out;
	struct mor_buf input, answer, frame;
};

static size_t message_limit(const tenon_plugin *plugin)
{
	return plugin->max_message_bytes ? plugin->max_message_bytes : MESSAGE_LIMIT;
}

/* ---- One message ---- */

/* Tables are short and a plugin's work is long: a hash would be for show. */
static const tenon_method *find_method(const tenon_plugin *plugin, struct mor_slice name)
{
	for (const tenon_method *method = plugin->methods; method && method->name; method++)
		if (mor_slice_is(name, method->name))
			return method;
	return NULL;
}

static void no_method(tenon_call *call, struct mor_slice name)
{
	tenon_object(call, NULL);
	tenon_put_text(call, "method", name.ptr, name.len);
	tenon_end(call);
	tenon_fail_built(call, TENON_EMETHOD, "Method not found");
}

/* An unanswered request would leave its host to a time-out that blames the wrong thing. */
static void call_method(tenon_call *call, struct mor_slice name)
{
	const tenon_method *method = find_method(call->plugin, name);
	int r;

	if (!method) {
		no_method(call, name);
		return;
	}
	if (call->params_text.ptr && mor_doc_parse(call->params_text, 0, 0, &call->params, NULL) < 0) {
		tenon_fail(call, TENON_EINTERNAL, "out of memory");
		return;
	}
	r = method->fn(call);
	if (!call->answered)
		tenon_fail(call, TENON_EINTERNAL,
			   r ? "the method failed without an answer" : "the method gave no answer");
}

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

/* params may be an object or an array; null is taken for absent, since hosts exist that send it. */
static bool take_params(tenon_call *call, struct mor_slice params)
{
	if (!params.ptr || mor_slice_is(params, "null"))
		return true;
	call->params_text = params;
	return *params.ptr == '{' || *params.ptr == '[';
}

static void answer_call(const tenon_plugin *plugin, const struct mor_message *message, struct mor_buf *out)
{
	tenon_call call;

	tenon_call_init(&call, plugin, out);
	if (message->kind == MOR_MSG_REQUEST)
		call.id = message->id;
	if (!take_params(&call, message->params))
		tenon_fail(&call, TENON_EREQUEST, "/params: neither object nor array");
	else
		call_method(&call, message->method);
	tenon_call_fini(&call);
}

/* Appends the answer to one message that stands alone or in a batch; nothing if none is due. */
static void answer_one(const tenon_plugin *plugin, struct mor_slice text, struct mor_buf *out)
{
	MOR_CLEAN(mor_buf) struct mor_buf method = MOR_BUF_INIT;
	struct mor_message message;
	mortise_error err;
	int r = mor_envelope_scan(text, 0, 0, &message, &err);

	if (r == 0 && message.method_escaped && mor_envelope_unescape(&message, &method) < 0)
		r = mor_fail(&err, MORTISE_ENOMEM, "out of memory");
	if (r < 0)
		refuse_message(text, err.text, out);
	else if (message.kind == MOR_MSG_BATCH)
		mor_write_error(out, null_id, TENON_EREQUEST, "a batch inside a batch", absent);
	else if (message.kind == MOR_MSG_REQUEST || message.kind == MOR_MSG_NOTE)
		answer_call(plugin, &message, out);
	else
		fprintf(stderr, "%s: an answer came, but nothing was asked\n", plugin->name);
}

/* One array, in the order of the batch, without the notifications; nothing at all when there were only
 * those (JSON-RPC 2.0, section 6). */
static void answer_batch(const tenon_plugin *plugin, struct mor_slice text, struct mor_buf *out)
{
	struct mor_slice element;
	size_t pos = 0, count = 0;

	mor_buf_byte(out, '[');
	for (; mor_batch_next(text, &pos, &element) > 0 && !mor_buf_failed(out); count++) {
		size_t before;

		if (out->len > 1)
			mor_buf_byte(out, ',');
		before = out->len;
		answer_one(plugin, element, out);
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

/* ---- Frames ---- */

/* False when the host has gone: then there is nothing left to do. */
static bool send_answer(struct wire *wire)
{
	bool sent = true;

	if (mor_buf_failed(&wire->answer)) {
		/* Not even an error fits, as in a batch of a million: the id is lost with it. */
		mor_buf_reset(&wire->answer, 0);
		mor_write_error(&wire->answer, null_id, TENON_EINTERNAL, "the answer does not fit", absent);
	}
	if (wire->answer.len > 0 || mor_buf_failed(&wire->answer))
		sent = mor_enframe(wire->framing, mor_buf_view(&wire->answer), &wire->frame) == 0 &&
		       mor_fd_write_all(wire->out, wire->frame.data, wire->frame.len) == 0;
	mor_buf_reset(&wire->answer, KEEP_BYTES);
	mor_buf_reset(&wire->frame, KEEP_BYTES);
	return sent;
}

static bool starts_array(struct mor_slice text)
{
	size_t i = 0;

	while (i < text.len && memchr(" \t\r\n", text.ptr[i], 4))
		i++;
	return i < text.len && text.ptr[i] == '[';
}

static bool answer_frame(struct wire *wire, struct mor_slice body)
{
	struct mor_message message;

	/* Looked at twice only when it can be a batch. */
	if (starts_array(body) && mor_envelope_scan(body, 0, 0, &message, NULL) == 0)
		answer_batch(wire->plugin, body, &wire->answer);
	else
		answer_one(wire->plugin, body, &wire->answer);
	return send_answer(wire);
}

/* The id stands somewhere in what was not kept, so the answer cannot bear it. */
static bool refuse_size(struct wire *wire)
{
	char text[96];

	snprintf(text, sizeof(text), "the message is over the limit of %zu bytes", message_limit(wire->plugin));
	mor_write_error(&wire->answer, null_id, TENON_EREQUEST, text, absent);
	return send_answer(wire);
}

static bool take_item(struct wire *wire, enum mor_item_kind kind, const struct mor_item *item)
{
	switch (kind) {
	case MOR_ITEM_FRAME:
	case MOR_ITEM_NOISE: /* no JSON, or a bare scalar: the sender is told which */
		return answer_frame(wire, item->body);
	case MOR_ITEM_CORRUPT:
		/* The last line without its newline. A cut one is no JSON and says so; a whole one counts. */
		return wire->framing == MOR_FRAMING_LINES && answer_frame(wire, item->body);
	case MOR_ITEM_TOO_BIG:
		return refuse_size(wire);
	default:
		return true;
	}
}

/* Answers all that stands in the input buffer. Bytes move once per read, not once per message. */
static bool drain(struct wire *wire, struct mor_deframer *deframer, bool at_eof)
{
	size_t pos = 0;
	bool alive = true;

	while (alive && pos < wire->input.len) {
		struct mor_item item;
		enum mor_item_kind kind =
			mor_deframe(deframer, wire->input.data + pos, wire->input.len - pos, at_eof, &item);

		if (kind == MOR_ITEM_MORE)
			break;
		alive = take_item(wire, kind, &item);
		pos += item.used;
	}
	mor_buf_consume(&wire->input, pos);
	if (wire->input.len == 0)
		mor_buf_reset(&wire->input, KEEP_BYTES);
	return alive;
}

static int serve(struct wire *wire)
{
	struct mor_deframer deframer;
	ssize_t n;

	mor_deframer_init(&deframer, wire->framing, message_limit(wire->plugin), 0);
	do {
		n = tenon_read_some(wire->in, &wire->input);
		if (n < 0 || !drain(wire, &deframer, n == 0))
			return 1;
	} while (n > 0);
	return 0;
}

int tenon_run(const tenon_plugin *plugin)
{
	struct wire wire = { .plugin = plugin, .framing = MOR_FRAMING_LINES, .in = -1, .out = -1 };
	int r = 1, moved = tenon_private_wire(&wire.in, &wire.out);

	wire.answer.limit = message_limit(plugin);
	if (moved < 0)
		fprintf(stderr, "%s: stdin or stdout: %s\n", plugin->name, strerror(-moved));
	else
		r = serve(&wire);
	mor_fd_close(&wire.in);
	mor_fd_close(&wire.out);
	mor_buf_fini(&wire.input);
	mor_buf_fini(&wire.answer);
	mor_buf_fini(&wire.frame);
	return r;
}
