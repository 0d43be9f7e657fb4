/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP/2, by nghttp2: the only file that uses it. It has no socket here: it is given bytes, and what it wants
 * to send is moved to a buffer.
 *
 * The connection as a whole is credited for every byte at once, and a stream when its call has handed the
 * bytes on. So a paused call holds up its own stream only.
 */
#include <nghttp2/nghttp2.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "grpc/inside.h"

#define STREAM_WINDOW     (256 * 1024)
#define CONNECTION_WINDOW (4 * 1024 * 1024)
#define HEADER_LIMIT      (16 * 1024)
#define ANSWERS_MAX       1000 /* to SETTINGS and PING, that the peer does not take */
#define FRAMES_MAX        4000 /* of any kind, that it does not take */

/* ---- memory ---- */

static void *h2_malloc(size_t size, void *arg)
{
	(void)arg;
	return mor_alloc(size);
}

static void h2_free(void *memory, void *arg)
{
	(void)arg;
	mor_free(memory);
}

static void *h2_calloc(size_t count, size_t size, void *arg)
{
	(void)arg;
	return size && count > SIZE_MAX / size ? NULL : mor_zalloc(count * size);
}

static void *h2_realloc(void *memory, size_t size, void *arg)
{
	(void)arg;
	return mor_realloc(memory, size);
}

static nghttp2_mem h2_memory = { NULL, h2_malloc, h2_free, h2_calloc, h2_realloc };

/* ---- callbacks: a stream without a call is one whose call is over ---- */

static struct mor_grpc_call *call_of(nghttp2_session *session, int32_t stream)
{
	struct mor_grpc_call *call = stream ? nghttp2_session_get_stream_user_data(session, stream) : NULL;

	return call && call->phase == MOR_GRPC_LIVE ? call : NULL;
}

static struct mor_slice slice_of(const uint8_t *bytes, size_t len)
{
	return (struct mor_slice){ (const char *)bytes, len };
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t name_len,
		     const uint8_t *value, size_t value_len, uint8_t flags, void *arg)
{
	struct mor_grpc_call *call = call_of(session, frame->hd.stream_id);

	(void)flags;
	(void)arg;
	if (call)
		mor_grpc_take_header(call, slice_of(name, name_len), slice_of(value, value_len));
	return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t stream, const uint8_t *bytes, size_t len,
		   void *arg)
{
	struct mor_grpc_call *call = call_of(session, stream);

	(void)flags;
	(void)arg;
	nghttp2_session_consume_connection(session, len);
	if (call)
		mor_grpc_take_data(call, slice_of(bytes, len));
	return 0;
}

/* The debug data of GOAWAY is a text for people, such as "too_many_pings". */
static void take_goaway(struct mor_grpc *grpc, const nghttp2_goaway *goaway)
{
	char said[100];

	mor_printable(slice_of(goaway->opaque_data, goaway->opaque_data_len), said, sizeof(said));
	grpc->leaving = true;
	mor_fail(&grpc->reason, MORTISE_ECLOSED, "takes no more calls on this connection (GOAWAY, %s%s%s)",
		 nghttp2_http2_strerror(goaway->error_code), said[0] ? ": " : "", said);
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *arg)
{
	struct mor_grpc *grpc = arg;
	struct mor_grpc_call *call = call_of(session, frame->hd.stream_id);
	bool headers = frame->hd.type == NGHTTP2_HEADERS;

	grpc->spoke = true;
	if (frame->hd.type == NGHTTP2_GOAWAY)
		take_goaway(grpc, &frame->goaway);
	if (call && frame->hd.type == NGHTTP2_RST_STREAM)
		call->peer_reset = true;
	if (!call || (!headers && frame->hd.type != NGHTTP2_DATA))
		return 0;
	if (headers)
		mor_grpc_take_headers_end(call);
	if (frame->hd.flags & NGHTTP2_FLAG_END_STREAM)
		mor_grpc_take_end(call);
	return 0;
}

static int on_stream_close(nghttp2_session *session, int32_t stream, uint32_t error, void *arg)
{
	struct mor_grpc_call *call = call_of(session, stream);

	(void)arg;
	if (call)
		mor_grpc_take_close(call, error, nghttp2_http2_strerror(error));
	return 0;
}

/* nghttp2 resets the stream, or ends the connection after this. */
static int on_invalid_frame(nghttp2_session *session, const nghttp2_frame *frame, int error, void *arg)
{
	struct mor_grpc *grpc = arg;
	struct mor_grpc_call *call = call_of(session, frame->hd.stream_id);

	if (!grpc->reason.code)
		mor_fail(&grpc->reason, MORTISE_EPROTO, "broke the rules of HTTP/2: %s",
			 nghttp2_strerror(error));
	if (call)
		mor_grpc_settle(call, MOR_GRPC_INTERNAL, MORTISE_EPROTO, "broke the rules of HTTP/2: %s",
				nghttp2_strerror(error));
	return 0;
}

static int on_error(nghttp2_session *session, int code, const char *text, size_t len, void *arg)
{
	struct mor_grpc *grpc = arg;
	char said[160];

	(void)session;
	(void)code;
	mor_printable((struct mor_slice){ text, len }, said, sizeof(said));
	mor_fail(&grpc->reason, MORTISE_EPROTO, "broke the rules of HTTP/2: %s", said);
	return 0;
}

static ssize_t on_read(nghttp2_session *session, int32_t stream, uint8_t *out, size_t room, uint32_t *ret_flags,
		       nghttp2_data_source *source, void *arg)
{
	struct mor_grpc_call *call = call_of(session, stream);
	bool last = true;
	size_t len = 0;

	(void)source;
	(void)arg;
	if (call)
		len = mor_grpc_give_data(call, out, room, &last);
	if (last)
		*ret_flags |= NGHTTP2_DATA_FLAG_EOF;
	return len || last ? (ssize_t)len : NGHTTP2_ERR_DEFERRED;
}

/* ---- the session ---- */

static int make_callbacks(nghttp2_session_callbacks **ret)
{
	if (nghttp2_session_callbacks_new(ret) != 0)
		return MORTISE_ENOMEM;
	nghttp2_session_callbacks_set_on_header_callback(*ret, on_header);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(*ret, on_data);
	nghttp2_session_callbacks_set_on_frame_recv_callback(*ret, on_frame);
	nghttp2_session_callbacks_set_on_stream_close_callback(*ret, on_stream_close);
	nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(*ret, on_invalid_frame);
	nghttp2_session_callbacks_set_error_callback2(*ret, on_error);
	return 0;
}

/* Pushed streams and priorities would only cost memory. */
static int make_options(nghttp2_option **ret)
{
	if (nghttp2_option_new(ret) != 0)
		return MORTISE_ENOMEM;
	nghttp2_option_set_no_auto_window_update(*ret, 1);
	nghttp2_option_set_no_closed_streams(*ret, 1);
	nghttp2_option_set_max_reserved_remote_streams(*ret, 0);
	nghttp2_option_set_max_outbound_ack(*ret, ANSWERS_MAX);
	return 0;
}

static int greet_peer(nghttp2_session *session)
{
	static const nghttp2_settings_entry settings[] = {
		{ NGHTTP2_SETTINGS_ENABLE_PUSH, 0 },
		{ NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, STREAM_WINDOW },
		{ NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, HEADER_LIMIT },
	};

	return nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings,
				       sizeof(settings) / sizeof(settings[0])) == 0 &&
			       nghttp2_session_set_local_window_size(session, NGHTTP2_FLAG_NONE, 0,
								     CONNECTION_WINDOW) == 0 ?
		       0 :
		       MORTISE_ENOMEM;
}

int mor_h2_open(struct mor_grpc *grpc)
{
	nghttp2_session_callbacks *callbacks = NULL;
	nghttp2_option *option = NULL;
	int r = MORTISE_ENOMEM;

	if (make_callbacks(&callbacks) == 0 && make_options(&option) == 0 &&
	    nghttp2_session_client_new3(&grpc->session, callbacks, grpc, option, &h2_memory) == 0)
		r = greet_peer(grpc->session);
	nghttp2_session_callbacks_del(callbacks);
	nghttp2_option_del(option);
	return r;
}

void mor_h2_close(struct mor_grpc *grpc)
{
	nghttp2_session_del(grpc->session);
	grpc->session = NULL;
}

/* An error that ends everything: out of memory, a flood, or not HTTP/2 at all. */
static int fail_session(struct mor_grpc *grpc, struct mor_slice bytes, int error, mortise_error *err)
{
	char said[60];

	if (error == NGHTTP2_ERR_NOMEM)
		return mor_fail_memory(err);
	if (error == NGHTTP2_ERR_FLOODED)
		return mor_fail(err, MORTISE_EPROTO, "floods us with frames, and takes no answers");
	if (!grpc->spoke && bytes.len)
		return mor_fail(err, MORTISE_EPROTO, "does not speak HTTP/2 on its socket: it sent \"%s\"",
				mor_excerpt(bytes, said, sizeof(said)));
	return mor_fail(err, MORTISE_EPROTO, "broke the rules of HTTP/2: %s", nghttp2_strerror(error));
}

int mor_h2_feed(struct mor_grpc *grpc, struct mor_slice bytes, mortise_error *err)
{
	ssize_t n = nghttp2_session_mem_recv(grpc->session, (const uint8_t *)bytes.ptr, bytes.len);

	if (n < 0)
		return fail_session(grpc, bytes, (int)n, err);
	if (nghttp2_session_get_outbound_queue_size(grpc->session) > FRAMES_MAX)
		return fail_session(grpc, bytes, NGHTTP2_ERR_FLOODED, err);
	/* It answers some breaches with GOAWAY and ignores what comes. */
	if (grpc->leaving || nghttp2_session_check_request_allowed(grpc->session))
		return 0;
	if (!grpc->spoke || !grpc->reason.code)
		return fail_session(grpc, bytes, NGHTTP2_ERR_PROTO, err);
	*err = grpc->reason;
	return err->code;
}

int mor_h2_pull(struct mor_grpc *grpc, struct mor_buf *out, size_t most, mortise_error *err)
{
	const uint8_t *bytes;
	ssize_t n = 1;

	while (n > 0 && out->len < most) {
		n = nghttp2_session_mem_send(grpc->session, &bytes);
		if (n < 0)
			return fail_session(grpc, (struct mor_slice){ 0 }, (int)n, err);
		if (n > 0 && mor_buf_append(out, bytes, (size_t)n) < 0)
			return mor_fail_memory(err);
	}
	return 0;
}

bool mor_h2_is_over(const struct mor_grpc *grpc)
{
	return !nghttp2_session_want_read(grpc->session) && !nghttp2_session_want_write(grpc->session);
}

int mor_h2_ping(struct mor_grpc *grpc)
{
	return nghttp2_submit_ping(grpc->session, NGHTTP2_FLAG_NONE, NULL) == 0 ? 0 : MORTISE_ENOMEM;
}

/* ---- streams ---- */

static nghttp2_nv h2_field(const char *name, const char *value)
{
	return (nghttp2_nv){ (uint8_t *)(uintptr_t)name, (uint8_t *)(uintptr_t)value, strlen(name),
			     strlen(value), NGHTTP2_NV_FLAG_NONE };
}

int mor_h2_request(struct mor_grpc_call *call)
{
	char timeout[16];
	const nghttp2_nv fields[] = {
		h2_field(":method", "POST"),
		h2_field(":scheme", "http"),
		h2_field(":path", call->options.method),
		h2_field(":authority", "localhost"),
		h2_field("te", "trailers"),
		h2_field("content-type", "application/grpc"),
		h2_field("user-agent", "mortise/" MORTISE_VERSION),
		h2_field("grpc-accept-encoding", "identity"),
		h2_field("grpc-timeout", mor_grpc_timeout(call->options.timeout_ms, timeout)), /* the last */
	};
	size_t count = sizeof(fields) / sizeof(fields[0]) - (call->options.timeout_ms == 0);
	nghttp2_data_provider data = { .read_callback = on_read };

	call->stream = nghttp2_submit_request(call->grpc->session, NULL, fields, count, &data, call);
	if (call->stream < 0) /* no memory, or all 2^30 numbers of streams are used up */
		return MORTISE_ENOMEM;
	mor_grpc_wake(call->grpc);
	return 0;
}

/* A stream that has not asked for data yet will do so by itself: that is no error. */
void mor_h2_resume(struct mor_grpc_call *call)
{
	nghttp2_session_resume_data(call->grpc->session, call->stream);
	mor_grpc_wake(call->grpc);
}

void mor_h2_credit(struct mor_grpc_call *call, size_t len)
{
	nghttp2_session_consume_stream(call->grpc->session, call->stream, len);
	mor_grpc_wake(call->grpc);
}

/* The whole answer may come before we have said everything: then the rest is not wanted (NO_ERROR). */
void mor_h2_detach(struct mor_grpc_call *call)
{
	nghttp2_session *session = call->grpc->session;

	if (call->stream_gone || call->grpc->ended)
		return;
	nghttp2_session_set_stream_user_data(session, call->stream, NULL);
	if (!call->peer_done || nghttp2_session_get_stream_local_close(session, call->stream) != 1)
		nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, call->stream,
					  call->peer_done ? NGHTTP2_NO_ERROR : NGHTTP2_CANCEL);
	mor_grpc_wake(call->grpc);
}
