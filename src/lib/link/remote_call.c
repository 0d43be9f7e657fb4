/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls over gRPC. The state machines of the host speak JSON-RPC: a request becomes a call of the service, and
 * its end becomes the answer. Neither has an envelope on its way: one is written only for a tap.
 */

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "link/remote.h"
#include "wire/digits.h"
#include "wire/json.h"
#include "wire/outgoing.h"

/* A plugin that is told the limit ends the call by itself at the same time: that is the host's time-out. */
#define DUE_SLACK_MS 200

struct mor_remote_call {
	struct mor_list node;
	struct mor_remote *remote;
	const struct mor_service_row *row;  /* NULL: `method` */
	const struct mor_pb_method *method; /* of a service that is described */
	char *path;                         /* with it */
	struct mor_grpc_call *call;
	mor_remote_done_fn *done; /* NULL: a request of the host */
	int64_t id, due_ms;       /* 0: no limit */
	struct mor_buf answer;    /* of a stream: the message with the result */
	unsigned answers;
	bool streams;
};

static void free_call(struct mor_remote_call *c)
{
	mor_list_remove(&c->node);
	mor_buf_fini(&c->answer);
	mor_free(c->path);
	mor_free(c);
}

void mor_remote_drop_calls(struct mor_remote *s)
{
	while (!mor_list_empty(&s->calls))
		free_call(mor_container_of(s->calls.next, struct mor_remote_call, node));
}

/* ---- to the host ---- */

static void tell_fault(struct mor_remote *s, int64_t id, enum mor_fault fault, const char *text)
{
	struct mor_message message = { .id_int = id };

	s->link.events->on_fault(s->link.arg, fault, &message, text);
}

/* `text`: what the message carries. It is JSON that we have written, or checked; but not how deep it is. */
static void hand_on(struct mor_remote *s, int64_t id, struct mor_message *message, struct mor_slice text)
{
	unsigned depth = s->opt->max_depth ? s->opt->max_depth : MOR_JSON_DEPTH;

	mor_envelope_imply(message);
	if (mor_json_depth_ok(text, depth - 1)) /* the envelope would be one level */
		s->link.events->on_message(s->link.arg, message);
	else
		tell_fault(s, id, MOR_FAULT_NO_MESSAGE, "nested too deep");
}

static void hand_on_reply(struct mor_remote *s, int64_t id, enum mor_message_kind kind, struct mor_slice text)
{
	char digits[MOR_DIGITS];
	size_t count = mor_digits((uint64_t)id, digits);
	struct mor_message message = { .kind = kind,
				       .id_kind = MOR_ID_NUMBER,
				       .id = { digits + MOR_DIGITS - count, count },
				       .id_int = id };

	if (kind == MOR_MSG_RESULT)
		message.result = text;
	else
		message.error = text;
	hand_on(s, id, &message, text);
}

static void tell_error(struct mor_remote *s, int64_t id, int64_t code, const char *text, struct mor_slice data)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;

	if (mor_write_error_object(&json, code, text, data) < 0)
		tell_fault(s, id, MOR_FAULT_NO_MESSAGE, mortise_status_text(MORTISE_ENOMEM));
	else
		hand_on_reply(s, id, MOR_MSG_ERROR, mor_buf_view(&json));
}

static void tell_status(struct mor_remote *s, int64_t id, unsigned status, const char *text)
{
	MOR_CLEAN(mor_buf) struct mor_buf data = MOR_BUF_INIT;
	struct mor_writer w = { .out = &data };
	struct mor_slice named = { 0 };
	char number[32];

	mor_w_object(&w);
	mor_w_pair(&w, "grpc_status", s->addon->status_name(status, number));
	mor_w_end(&w);
	if (!mor_buf_failed(&data))
		named = mor_buf_view(&data);
	/* The number of gRPC where JSON-RPC has none of the same meaning. */
	tell_error(s, id,
		   status == MOR_GRPC_UNIMPLEMENTED    ? -32601 :
		   status == MOR_GRPC_INVALID_ARGUMENT ? -32602 :
							 -32000 - (int64_t)status,
		   text, named);
}

/* A lost connection is told once, for all of them. */
static void tell_failure(struct mor_remote_call *c, unsigned status, const mortise_error *err)
{
	struct mor_remote *s = c->remote;

	switch (err->code) {
	case MORTISE_ECLOSED:
	case MORTISE_ESYSTEM:
		break;
	case MORTISE_ETIMEOUT:
		if (!c->due_ms || mor_loop_now_ms(s->link.loop) + DUE_SLACK_MS < c->due_ms)
			tell_status(s, c->id, status, err->text);
		break;
	case MORTISE_EREMOTE:
	case MORTISE_EUNSUPPORTED:
	case MORTISE_ECANCELED:
		tell_status(s, c->id, status, err->text);
		break;
	case MORTISE_ELIMIT:
		tell_fault(s, c->id, MOR_FAULT_TOO_BIG, err->text);
		break;
	default:
		tell_fault(s, c->id, MOR_FAULT_NO_MESSAGE, err->text);
	}
}

/* A message that may be as long as a frame becomes JSON that may be as long as one. */
static void tell_described(struct mor_remote_call *c, struct mor_slice message)
{
	MOR_CLEAN(mor_buf) struct mor_buf result = { .limit = c->remote->opt->frame_limit };
	struct mor_remote *s = c->remote;
	mortise_error err = { 0 };
	int r = s->addon->described_decode(s->described, c->method, message, &result, &err);

	if (r == 0)
		hand_on_reply(s, c->id, MOR_MSG_RESULT, mor_buf_view(&result));
	else
		tell_fault(s, c->id, r == MORTISE_ELIMIT ? MOR_FAULT_TOO_BIG : MOR_FAULT_NO_MESSAGE, err.text);
}

static void tell_answer(struct mor_remote_call *c, struct mor_slice message)
{
	MOR_CLEAN(mor_buf) struct mor_buf result = MOR_BUF_INIT;
	MOR_CLEAN(mor_buf) struct mor_buf data = MOR_BUF_INIT;
	struct mor_remote *s = c->remote;
	struct mor_slice more = { 0 };
	mortise_error err = { 0 };
	int r = c->row->answer(message, &result, &data, &err);

	s->streams |= s->service->offers_streams(c->row, message);
	if (r == 0) {
		hand_on_reply(s, c->id, MOR_MSG_RESULT, mor_buf_view(&result));
	} else if (r == MORTISE_EREMOTE) {
		if (data.len)
			more = mor_buf_view(&data);
		tell_error(s, c->id, err.rpc_code, err.text, more);
	} else {
		tell_fault(s, c->id, MOR_FAULT_NO_MESSAGE, err.text);
	}
}

/* Our own call: its result, or why it failed. */
static void tell_own(struct mor_remote_call *c, struct mor_slice message, unsigned status,
		     const mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf result = MOR_BUF_INIT;
	MOR_CLEAN(mor_buf) struct mor_buf data = MOR_BUF_INIT;
	mortise_error why = { 0 };

	if (!err && c->row->answer(message, &result, &data, &why) < 0)
		err = &why;
	c->done(c->remote, mor_buf_view(&result), status, err);
}

static void call_ended(struct mor_remote_call *c, struct mor_slice message, unsigned status,
		       const mortise_error *err)
{
	struct mor_remote *s = c->remote;

	mor_list_remove(&c->node);
	if (c->done)
		tell_own(c, message, status, err);
	else if (err)
		tell_failure(c, status, err);
	else if (c->method)
		tell_described(c, message);
	else
		tell_answer(c, message);
	free_call(c);
	if (!s->dead)
		mor_remote_leave_if_idle(s);
}

static void on_done(void *arg, struct mor_slice message, unsigned status, const mortise_error *err)
{
	call_ended(arg, message, status, err);
}

/* ---- streams ---- */

static void on_stream_message(void *arg, struct mor_slice message)
{
	MOR_CLEAN(mor_buf) struct mor_buf params = MOR_BUF_INIT;
	struct mor_remote_call *c = arg;
	struct mor_remote *s = c->remote;
	struct mor_message note = { .kind = MOR_MSG_NOTE, .id_int = -1 };
	struct mor_slice result = { 0 };
	const char *method = "";
	mortise_error err;
	int r = c->row->stream->hear(message, &method, &params, &result, &err);

	if (r == MOR_SERVICE_NOTE) {
		note.method = mor_slice_of(method);
		note.params = mor_buf_view(&params);
		hand_on(s, c->id, &note, note.params);
	} else if (r == MOR_SERVICE_RESULT) {
		if (c->answers++ == 0)
			mor_buf_slice(&c->answer, result);
	} else if (r < 0) {
		tell_fault(s, c->id, MOR_FAULT_NO_MESSAGE, err.text);
	}
}

static void on_stream_end(void *arg, unsigned status, const mortise_error *err)
{
	struct mor_remote_call *c = arg;
	mortise_error why = { 0 };

	if (!err && mor_buf_failed(&c->answer))
		mor_fail_memory(&why);
	else if (!err && c->answers != 1)
		mor_fail(&why, MORTISE_EPROTO, "ended \"%s\" with %u results where one is due",
			 c->row->stream->path, c->answers);
	call_ended(c, mor_buf_view(&c->answer), status, why.code ? &why : err);
}

/* ---- to the plugin ---- */

static int begin_stream(struct mor_remote_call *c, struct mor_slice message, uint32_t limit_ms,
			mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf first = MOR_BUF_INIT;
	const struct mor_addon *addon = c->remote->addon;
	struct mor_grpc_call_options options = { .method = c->row->stream->path,
						 .timeout_ms = limit_ms,
						 .on_message = on_stream_message,
						 .on_end = on_stream_end,
						 .arg = c };
	int r = c->row->stream->begin(message, &first);

	if (r < 0)
		return mor_fail_memory(err);
	if ((r = addon->call(c->remote->connection, &options, &c->call, err)) < 0)
		return r;
	/* On failure its end follows: it is told as that of any call. */
	if (addon->send(c->call, mor_buf_view(&first)) < 0)
		addon->cancel(c->call);
	return 0;
}

static int begin_unary(struct mor_remote_call *c, struct mor_slice message, uint32_t limit_ms,
		       mortise_error *err)
{
	struct mor_grpc_unary unary = { .method = c->row ? c->row->path : c->path,
					.message = message,
					.timeout_ms = limit_ms,
					.on_done = on_done,
					.arg = c };

	return c->remote->addon->unary(c->remote->connection, &unary, &c->call, err);
}

/* Takes `c` and frees it if the call cannot be made. */
static int begin_call_take(struct mor_remote_call *c, struct mor_slice params, uint32_t limit_ms,
			   mortise_error *err)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	MOR_CLEAN(mor_buf) struct mor_buf message = MOR_BUF_INIT;
	struct mor_remote *s = c->remote;
	const struct mor_value *root;
	int r = params.ptr ? mor_doc_parse(params, MOR_JSON_NAN, 0, &doc, err) : 0;

	/* Params of null mean no params, as everywhere. */
	root = doc && mor_json_type(mor_doc_root(doc)) != MOR_JSON_NULL ? mor_doc_root(doc) : NULL;
	if (r == 0)
		r = c->row ? c->row->ask(root, &message, err) :
			     s->addon->described_encode(s->described, c->method, root, &message, err);
	if (r == 0 && mor_buf_failed(&message))
		r = mor_fail_memory(err);
	if (r == 0)
		r = c->row && c->streams ? begin_stream(c, mor_buf_view(&message), limit_ms, err) :
					   begin_unary(c, mor_buf_view(&message), limit_ms, err);
	if (r < 0) {
		free_call(c);
		return r;
	}
	if (limit_ms)
		c->due_ms = mor_loop_now_ms(s->link.loop) + limit_ms;
	if (s->paused && !c->done)
		s->addon->pause(c->call, true);
	return 0;
}

static struct mor_remote_call *make_call(struct mor_remote *s, const struct mor_service_row *row)
{
	struct mor_remote_call *c = mor_zalloc(sizeof(*c));

	if (!c)
		return NULL;
	c->remote = s;
	c->row = row;
	mor_list_append(&s->calls, &c->node);
	return c;
}

int mor_remote_ask(struct mor_remote *s, const char *method, struct mor_slice params, mor_remote_done_fn *done,
		   mortise_error *err)
{
	struct mor_remote_call *c = make_call(s, s->service->find(mor_slice_of(method)));

	if (!c)
		return mor_fail_memory(err);
	c->done = done;
	return begin_call_take(c, params, 0, err);
}

/* ---- operations ---- */

/* A request that is answered here, later: it cannot be put into the words of the service, or it asks for what
 * the link knows. */
struct refusal {
	struct mor_list node;
	int64_t id, code; /* code 0: not an error */
	mortise_error why;
	struct mor_buf result;
};

static int refuse_request(struct mor_remote *s, int64_t id, int64_t code, const mortise_error *why)
{
	struct refusal *refusal = mor_zalloc(sizeof(*refusal));

	if (!refusal)
		return MORTISE_ENOMEM;
	*refusal = (struct refusal){ .id = id, .code = code, .why = *why };
	mor_list_append(&s->refusals, &refusal->node);
	return 0;
}

void mor_remote_tell_refusals(struct mor_remote *s)
{
	while (!mor_list_empty(&s->refusals)) {
		struct refusal *one = mor_container_of(s->refusals.next, struct refusal, node);

		mor_list_remove(&one->node);
		if (!s->dead && one->code == 0)
			hand_on_reply(s, one->id, MOR_MSG_RESULT, mor_buf_view(&one->result));
		else if (!s->dead)
			tell_error(s, one->id, one->code, one->why.text, (struct mor_slice){ 0 });
		mor_buf_fini(&one->result);
		mor_free(one);
	}
}

static int answer_services(struct mor_remote *s, int64_t id)
{
	struct refusal *answer = mor_zalloc(sizeof(*answer));

	if (!answer)
		return MORTISE_ENOMEM;
	answer->id = id;
	if (s->addon->described_list(s->described, &answer->result) < 0) {
		mor_buf_fini(&answer->result);
		mor_free(answer);
		return MORTISE_ENOMEM;
	}
	mor_list_append(&s->refusals, &answer->node);
	return 0;
}

/* Calls "package.Service/Method". */
static int send_described(struct mor_remote *s, const struct mor_outgoing *request)
{
	const struct mor_pb_method *method;
	struct mor_remote_call *c;
	mortise_error err = { 0 };
	bool slash = request->method.len && request->method.ptr[0] == '/';
	int r;

	if (mor_slice_is(request->method, MOR_SERVICE_LIST))
		return answer_services(s, request->id);
	if (s->addon->described_find(s->described, request->method, &method, &err) < 0)
		return refuse_request(s, request->id, -32601, &err);
	c = make_call(s, NULL);
	if (!c)
		return MORTISE_ENOMEM;
	c->id = request->id;
	c->method = method;
	c->path = mor_text_format("%s%.*s", slash ? "" : "/", (int)request->method.len, request->method.ptr);
	if (!c->path) {
		free_call(c);
		return MORTISE_ENOMEM;
	}
	r = begin_call_take(c, request->params, s->link.limit_ms, &err);
	return r == MORTISE_EINPUT ? refuse_request(s, request->id, -32602, &err) : r;
}

static int send_call(struct mor_remote *s, const struct mor_outgoing *request)
{
	const struct mor_service_row *row = s->service->find(request->method);
	struct mor_remote_call *c;
	mortise_error err = { 0 };
	char shown[60];
	int r;

	if (!row && s->described)
		return send_described(s, request);
	if (!row) {
		mor_fail(&err, MORTISE_EUNSUPPORTED, "\"%s\" is not a method of the plugin's gRPC service",
			 mor_excerpt(request->method, shown, sizeof(shown)));
		return refuse_request(s, request->id, -32601, &err);
	}
	c = make_call(s, row);
	if (!c)
		return MORTISE_ENOMEM;
	c->id = request->id;
	c->streams = row->stream && s->streams;
	r = begin_call_take(c, request->params, s->link.limit_ms, &err);
	return r == MORTISE_EINPUT ? refuse_request(s, request->id, -32602, &err) : r;
}

static int check_send(const struct mor_remote *s, size_t len)
{
	size_t limit = s->opt->send_limit ? s->opt->send_limit : s->opt->frame_limit;

	if (s->dead || s->exited || s->ended || s->close_wanted || s->phase != MOR_REMOTE_OPEN)
		return MORTISE_ECLOSED;
	return limit && len > limit ? MORTISE_ELIMIT : 0;
}

static int was_sent(struct mor_remote *s, size_t len)
{
	s->link.queued += len;
	mor_remote_wrote(s);
	return 0;
}

int mor_remote_send_request(struct mor_link *link, const struct mor_outgoing *request)
{
	struct mor_remote *s = mor_remote_of(link);
	int r = check_send(s, request->len);

	if (r == 0)
		r = send_call(s, request);
	return r < 0 ? r : was_sent(s, request->len);
}

int mor_remote_send(struct mor_link *link, struct mor_slice body)
{
	struct mor_remote *s = mor_remote_of(link);
	int r = check_send(s, body.len);

	return r < 0 ? r : was_sent(s, body.len);
}

void mor_remote_cancel(struct mor_link *link, int64_t id)
{
	struct mor_remote *s = mor_remote_of(link);

	MOR_LIST_EACH(node, after, &s->calls) {
		struct mor_remote_call *c = mor_container_of(node, struct mor_remote_call, node);

		if (c->done || c->id != id)
			continue;
		/* A stream is asked to end, and may say goodbye; the caller that waits for that has a limit. */
		if (!c->streams || s->addon->send(c->call, c->row->stream->cancel) < 0)
			s->addon->cancel(c->call);
		else
			s->addon->finish(c->call);
		return;
	}
}

void mor_remote_pause(struct mor_link *link, bool on)
{
	struct mor_remote *s = mor_remote_of(link);

	if (s->dead || s->exited || s->paused == on)
		return;
	s->paused = on;
	MOR_LIST_EACH(node, after, &s->calls) {
		struct mor_remote_call *c = mor_container_of(node, struct mor_remote_call, node);

		if (!c->done)
			s->addon->pause(c->call, on);
	}
}
