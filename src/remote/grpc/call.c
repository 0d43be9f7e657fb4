/* SPDX-License-Identifier: Apache-2.0 */
/* One call: its messages both ways, and its end. */
#include <arpa/inet.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "grpc/inside.h"

#define HEADER_LIMIT  (16 * 1024)
#define KEEP_MESSAGES (16 * 1024) /* a larger buffer is freed when it is empty */

static void on_turn(struct mor_task *task);

/* ---- the end ---- */

static void free_call(struct mor_grave *grave)
{
	struct mor_grpc_call *call = mor_container_of(grave, struct mor_grpc_call, grave);

	mor_buf_fini(&call->in);
	mor_buf_fini(&call->out);
	mor_buf_fini(&call->answer);
	mor_free(call);
}

/* Functions further up the stack may still use it. */
void mor_grpc_drop(struct mor_grpc_call *call)
{
	call->phase = MOR_GRPC_GONE;
	mor_list_remove(&call->node);
	mor_timer_stop(&call->deadline);
	mor_task_stop(&call->turn);
	mor_loop_free_later(call->grpc->loop, &call->grave, free_call);
}

static void settle_with(struct mor_grpc_call *call, unsigned status, const mortise_error *err)
{
	if (call->phase != MOR_GRPC_LIVE)
		return;
	call->phase = MOR_GRPC_SETTLED;
	call->status = status;
	call->err = *err;
	mor_timer_stop(&call->deadline);
	mor_h2_detach(call);
	mor_loop_post(call->grpc->loop, &call->turn, on_turn);
}

void mor_grpc_settle(struct mor_grpc_call *call, unsigned status, int code, const char *format, ...)
{
	mortise_error err = { 0 };
	char text[400];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (code)
		mor_fail(&err, code, "%s", text);
	if (code == MORTISE_EREMOTE)
		err.rpc_code = status;
	settle_with(call, status, &err);
}

/* ---- what comes in ---- */

static const struct {
	const char *name;
	size_t at, size;
} fields[] = {
#define FIELD(name, member) \
	{ \
		name, offsetof(struct mor_grpc_reply, member), sizeof(((struct mor_grpc_reply *)NULL)->member) \
	}
	FIELD(":status", http_status), FIELD("content-type", content_type), FIELD("grpc-encoding", encoding),
	FIELD("grpc-status", status),  FIELD("grpc-message", message),
};

void mor_grpc_take_header(struct mor_grpc_call *call, struct mor_slice name, struct mor_slice value)
{
	call->header_bytes += name.len + value.len + 32; /* as HTTP/2 counts them */
	if (call->header_bytes > HEADER_LIMIT) {
		mor_grpc_settle(call, MOR_GRPC_INTERNAL, MORTISE_EPROTO,
				"sent header fields of more than %d bytes", HEADER_LIMIT);
		return;
	}
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (mor_slice_is(name, fields[i].name))
			snprintf((char *)&call->reply + fields[i].at, fields[i].size, "%.*s", (int)value.len,
				 value.ptr);
}

static bool is_grpc(struct mor_slice content_type)
{
	static const char wanted[] = "application/grpc";
	size_t len = sizeof(wanted) - 1;

	return content_type.len >= len && strncasecmp(content_type.ptr, wanted, len) == 0 &&
	       (content_type.len == len || content_type.ptr[len] == '+' || content_type.ptr[len] == ';');
}

/* A status below 200 only announces the answer. */
void mor_grpc_take_headers_end(struct mor_grpc_call *call)
{
	char excerpt[80];
	uint32_t status = 0;

	mor_parse_u32(mor_slice_of(call->reply.http_status), &status);
	if (status >= 100 && status < 200) {
		call->reply = (struct mor_grpc_reply){ 0 };
		return;
	}
	if (is_grpc(mor_slice_of(call->reply.content_type)))
		return;
	mor_excerpt(mor_slice_of(call->reply.content_type), excerpt, sizeof(excerpt));
	if (status != 200)
		mor_grpc_settle(call, mor_grpc_status_of_http(status), MORTISE_EPROTO,
				"answered \"%s\" with HTTP status %u, not with gRPC", call->options.method,
				status);
	else
		mor_grpc_settle(call, MOR_GRPC_UNKNOWN, MORTISE_EPROTO,
				"answered \"%s\" with content-type \"%s\", not with application/grpc",
				call->options.method, excerpt);
}

/* The next message that is there as a whole. false: no message is there as a whole; the call may have been
 * settled for it. */
static bool next_message(struct mor_grpc_call *call, struct mor_slice *ret)
{
	const char *at;
	size_t left = call->in.len - call->in_done, limit = call->grpc->options.message_limit;
	uint32_t len;

	if (call->dropped || left < MOR_GRPC_PREFIX)
		return false;
	at = call->in.data + call->in_done;
	memcpy(&len, at + 1, sizeof(len));
	len = ntohl(len);
	if (at[0] != 0) {
		char excerpt[40];

		mor_excerpt(mor_slice_of(call->reply.encoding), excerpt, sizeof(excerpt));
		call->dropped = true;
		mor_grpc_settle(call, MOR_GRPC_INTERNAL, MORTISE_EPROTO,
				"sent a compressed message (grpc-encoding \"%s\"), though we said that we take "
				"none: turn compression off in the plugin",
				excerpt);
		return false;
	}
	if (len > limit) {
		call->dropped = true;
		mor_grpc_settle(call, MOR_GRPC_RESOURCE_EXHAUSTED, MORTISE_ELIMIT,
				"sent a message of %u bytes; the limit is %zu", len, limit);
		return false;
	}
	*ret = (struct mor_slice){ at + MOR_GRPC_PREFIX, len };
	return left - MOR_GRPC_PREFIX >= len;
}

/* Forgets what was handed on, and lets the peer send as much again. */
static void give_back(struct mor_grpc_call *call)
{
	if (call->in_done == call->in.len)
		mor_buf_reset(&call->in, KEEP_MESSAGES);
	else if (call->in_done)
		mor_buf_consume(&call->in, call->in_done);
	call->in_done = 0;
	if (call->held && call->phase == MOR_GRPC_LIVE)
		mor_h2_credit(call, call->held);
	call->held = 0;
}

/* true: everything that can be handed on is. */
static bool hand_on(struct mor_grpc_call *call)
{
	struct mor_slice message;

	while (!call->paused && next_message(call, &message)) {
		if (mor_loop_spent(call->grpc->loop)) {
			mor_loop_post(call->grpc->loop, &call->turn, on_turn);
			return false;
		}
		call->in_done += MOR_GRPC_PREFIX + message.len;
		call->options.on_message(call->options.arg, message);
		if (call->phase == MOR_GRPC_GONE)
			return false;
	}
	if (call->paused && !call->dropped)
		return false;
	give_back(call);
	return true;
}

void mor_grpc_take_data(struct mor_grpc_call *call, struct mor_slice bytes)
{
	if (mor_buf_slice(&call->in, bytes) < 0) {
		call->dropped = true;
		mor_grpc_settle(call, MOR_GRPC_RESOURCE_EXHAUSTED, MORTISE_ENOMEM, "%s",
				mortise_status_text(MORTISE_ENOMEM));
		return;
	}
	call->held += bytes.len;
	if (!call->turn.queued)
		hand_on(call);
}

/* What the plugin itself says of its answer. */
static void settle_by_status(struct mor_grpc_call *call)
{
	char raw[512], text[300], number[32];
	uint32_t status;
	size_t len = mor_grpc_unescape(mor_slice_of(call->reply.message), raw, sizeof(raw));

	if (!mor_parse_u32(mor_slice_of(call->reply.status), &status)) {
		mor_excerpt(mor_slice_of(call->reply.status), text, sizeof(text));
		mor_grpc_settle(call, MOR_GRPC_UNKNOWN, MORTISE_EPROTO,
				"ended its answer with grpc-status \"%s\"", text);
	} else if (status == MOR_GRPC_OK) {
		mor_grpc_settle(call, status, 0, " ");
	} else {
		mor_printable((struct mor_slice){ raw, len }, text, sizeof(text));
		mor_grpc_settle(call, status, mor_grpc_status_code(status), "%s%s%s",
				mor_grpc_status_name(status, number), len ? ": " : "", text);
	}
}

void mor_grpc_take_end(struct mor_grpc_call *call)
{
	if (call->phase != MOR_GRPC_LIVE)
		return;
	call->peer_done = true;
	if (!call->reply.status[0])
		mor_grpc_settle(call, MOR_GRPC_UNKNOWN, MORTISE_EPROTO,
				"ended its answer to \"%s\" without grpc-status: the trailers are missing",
				call->options.method);
	else
		settle_by_status(call);
}

void mor_grpc_take_close(struct mor_grpc_call *call, uint32_t error, const char *error_name)
{
	unsigned status = mor_grpc_status_of_reset(error);

	call->stream_gone = true;
	if (call->grpc->leaving && status == MOR_GRPC_UNAVAILABLE)
		mor_grpc_settle(call, status, MORTISE_ECLOSED, "%s", call->grpc->reason.text);
	else if (!call->peer_reset && status == MOR_GRPC_UNAVAILABLE) /* by nghttp2, which could not send it */
		mor_grpc_settle(call, MOR_GRPC_RESOURCE_EXHAUSTED, MORTISE_ENOMEM, "%s",
				mortise_status_text(MORTISE_ENOMEM));
	else if (!call->peer_reset)
		mor_grpc_settle(call, status, MORTISE_EPROTO, "broke the rules of HTTP/2: %s", error_name);
	else
		mor_grpc_settle(call, status, MORTISE_EREMOTE, "broke the call \"%s\" off: %s",
				call->options.method, error_name);
}

static void on_turn(struct mor_task *task)
{
	struct mor_grpc_call *call = mor_container_of(task, struct mor_grpc_call, turn);

	if (call->drained && call->phase == MOR_GRPC_LIVE) {
		call->drained = false;
		call->options.on_drained(call->options.arg);
	}
	if (call->phase == MOR_GRPC_GONE || !hand_on(call) || call->phase != MOR_GRPC_SETTLED)
		return;
	if (call->in.len && !call->dropped && !call->err.code) { /* an end inside a message is not good */
		call->status = MOR_GRPC_INTERNAL;
		mor_fail(&call->err, MORTISE_EPROTO, "ended its answer to \"%s\" inside a message",
			 call->options.method);
	}
	mor_grpc_drop(call); /* it is freed at the end of the dispatch */
	call->options.on_end(call->options.arg, call->status, call->err.code ? &call->err : NULL);
}

/* ---- what goes out ---- */

size_t mor_grpc_give_data(struct mor_grpc_call *call, void *out, size_t room, bool *ret_last)
{
	size_t left = call->out.len - call->out_done, len = left < room ? left : room;

	if (len)
		memcpy(out, call->out.data + call->out_done, len);
	call->out_done += len;
	if (len == left) {
		mor_buf_reset(&call->out, KEEP_MESSAGES);
		call->out_done = 0;
	}
	if (len && len == left && call->options.on_drained) {
		call->drained = true;
		mor_loop_post(call->grpc->loop, &call->turn, on_turn);
	}
	*ret_last = len == left && call->finished;
	return len;
}

static int queue_message(struct mor_grpc_call *call, struct mor_slice message)
{
	char prefix[MOR_GRPC_PREFIX] = { 0 };
	uint32_t len = htonl((uint32_t)message.len);
	int r;

	if (call->out_done > KEEP_MESSAGES && call->out_done >= call->out.len / 2) { /* not for every message */
		mor_buf_consume(&call->out, call->out_done);
		call->out_done = 0;
	}
	memcpy(prefix + 1, &len, sizeof(len));
	if ((r = mor_buf_reserve(&call->out, sizeof(prefix) + message.len)) < 0) {
		call->out.status = 0; /* what waited before still goes out */
		return r;
	}
	mor_buf_append(&call->out, prefix, sizeof(prefix));
	return mor_buf_slice(&call->out, message);
}

int mor_grpc_send(struct mor_grpc_call *call, struct mor_slice message)
{
	const struct mor_grpc_options *limits = &call->grpc->options;
	size_t waiting = call->out.len - call->out_done;
	int r;

	if (call->phase != MOR_GRPC_LIVE)
		return MORTISE_ECLOSED;
	if (call->finished)
		return MORTISE_EINVAL;
	if (message.len > limits->message_limit || message.len > UINT32_MAX)
		return MORTISE_ELIMIT;
	if (waiting && waiting + message.len > limits->queue_limit)
		return MORTISE_EOVERLOAD;
	r = queue_message(call, message);
	if (r == 0)
		mor_h2_resume(call);
	return r;
}

void mor_grpc_finish(struct mor_grpc_call *call)
{
	if (call->phase != MOR_GRPC_LIVE || call->finished)
		return;
	call->finished = true;
	mor_h2_resume(call);
}

/* ---- the owner's side ---- */

void mor_grpc_pause(struct mor_grpc_call *call, bool on)
{
	if (call->paused == on || call->phase == MOR_GRPC_GONE)
		return;
	call->paused = on;
	if (!on)
		mor_loop_post(call->grpc->loop, &call->turn, on_turn);
}

void mor_grpc_cancel(struct mor_grpc_call *call)
{
	if (call->phase != MOR_GRPC_LIVE)
		return;
	call->dropped = true;
	mor_grpc_settle(call, MOR_GRPC_CANCELLED, MORTISE_ECANCELED, "%s",
			mortise_status_text(MORTISE_ECANCELED));
}

static void on_deadline(struct mor_timer *timer)
{
	struct mor_grpc_call *call = mor_container_of(timer, struct mor_grpc_call, deadline);
	char time[32];

	call->dropped = true;
	mor_grpc_settle(call, MOR_GRPC_DEADLINE_EXCEEDED, MORTISE_ETIMEOUT, "no reply to \"%s\" in %s",
			call->options.method, mor_format_ms(call->options.timeout_ms, time));
}

/* "/package.Service/Method", in printable ASCII. */
static bool is_method(const char *method)
{
	const char *slash = method[0] == '/' ? strchr(method + 1, '/') : NULL;

	for (const char *c = method; *c; c++)
		if (*c <= ' ' || *c > '~')
			return false;
	return slash && slash > method + 1 && slash[1] && !strchr(slash + 1, '/');
}

static int begin_call(struct mor_grpc_call *call, mortise_error *err)
{
	const struct mor_grpc_call_options *options = &call->options;

	if (options->timeout_ms &&
	    mor_timer_set(call->grpc->loop, &call->deadline, options->timeout_ms, on_deadline) < 0)
		return mor_fail_memory(err);
	return mor_h2_request(call) < 0 ? mor_fail_memory(err) : 0;
}

int mor_grpc_call(struct mor_grpc *grpc, const struct mor_grpc_call_options *options,
		  struct mor_grpc_call **ret, mortise_error *err)
{
	struct mor_grpc_call *call;
	int r;

	if (!is_method(options->method))
		return mor_fail(err, MORTISE_EINVAL, "\"%s\" is not a method: write /package.Service/Method",
				options->method);
	if (grpc->ended || grpc->leaving)
		return mor_fail(err, MORTISE_ECLOSED, "%s", grpc->ended ? grpc->why.text : grpc->reason.text);
	call = mor_zalloc(sizeof(*call) + strlen(options->method) + 1);
	if (!call)
		return mor_fail_memory(err);
	call->grpc = grpc;
	call->options = *options;
	call->options.method = memcpy(call + 1, options->method, strlen(options->method) + 1);
	mor_list_append(&grpc->calls, &call->node);
	if ((r = begin_call(call, err)) < 0) {
		mor_grpc_drop(call);
		return r;
	}
	*ret = call;
	return 0;
}
