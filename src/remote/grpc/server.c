/* SPDX-License-Identifier: Apache-2.0 */
/* A server on one connection, by nghttp2. */
#include "grpc/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <nghttp2/nghttp2.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "base/alloc.h"
#include "base/fd.h"

#define CALLS_MAX         100
#define STREAM_WINDOW     (1024 * 1024)
#define CONNECTION_WINDOW (8 * 1024 * 1024)
#define HEADER_LIMIT      (16 * 1024)
#define WRITE_AT_ONCE     (128 * 1024)
#define KEEP_FRAMES_BYTES (64 * 1024)
#define PREFIX            5 /* bytes before a message: compressed or not, and its length */

struct mor_grpc_server {
	struct mor_loop *loop;
	struct mor_grpc_server_options options;
	int fd;
	nghttp2_session *session;
	struct mor_watch watch;
	struct mor_task flush;
	struct mor_buf out;
	size_t out_done;
	struct mor_list calls;
	struct mor_grave grave;
	size_t waiting; /* in `out` of the calls */
	bool ended;
};

/* ---- the end ---- */

static void free_inbound(struct mor_grave *grave)
{
	struct mor_grpc_inbound *call = mor_container_of(grave, struct mor_grpc_inbound, grave);

	mor_buf_fini(&call->in);
	mor_buf_fini(&call->out);
	mor_free(call);
}

static void drop_inbound(struct mor_grpc_inbound *call)
{
	struct mor_grpc_server *server = call->server;

	server->waiting -= call->out.len - call->out_done;
	mor_list_remove(&call->node);
	if (!call->closed && call->begun)
		server->options.on_gone(server->options.arg, call);
	mor_loop_free_later(server->loop, &call->grave, free_inbound);
}

static void free_server(struct mor_grave *grave)
{
	struct mor_grpc_server *server = mor_container_of(grave, struct mor_grpc_server, grave);

	nghttp2_session_del(server->session);
	mor_buf_fini(&server->out);
	mor_free(server);
}

void mor_grpc_server_end(struct mor_grpc_server *server)
{
	if (server->ended)
		return;
	server->ended = true;
	mor_watch_stop(&server->watch);
	mor_task_stop(&server->flush);
	mor_fd_close(&server->fd);
	MOR_LIST_EACH(node, after, &server->calls)
		drop_inbound(mor_container_of(node, struct mor_grpc_inbound, node));
	server->options.on_end(server->options.arg, server);
	mor_loop_free_later(server->loop, &server->grave, free_server);
}

/* ---- what goes out ---- */

static void want_events(struct mor_grpc_server *server, unsigned events)
{
	if (server->watch.events != events)
		mor_watch_change(&server->watch, events);
}

/* false: the socket takes no more. */
static bool write_frames(struct mor_grpc_server *server)
{
	size_t left = server->out.len - server->out_done;
	ssize_t n = send(server->fd, server->out.data + server->out_done, left, MSG_NOSIGNAL | MSG_DONTWAIT);

	if (n < 0 && errno != EAGAIN && errno != EINTR) {
		mor_grpc_server_end(server);
		return false;
	}
	server->out_done += n > 0 ? (size_t)n : 0;
	if (server->out_done < server->out.len) {
		want_events(server, MOR_READABLE | MOR_WRITABLE);
		return false;
	}
	mor_buf_reset(&server->out, KEEP_FRAMES_BYTES);
	server->out_done = 0;
	want_events(server, MOR_READABLE);
	return true;
}

/* Fills the buffer with frames. false: there is nothing to send. */
static bool pull_frames(struct mor_grpc_server *server)
{
	const uint8_t *bytes;
	ssize_t n = 1;

	while (n > 0 && server->out.len < WRITE_AT_ONCE) {
		n = nghttp2_session_mem_send(server->session, &bytes);
		if (n < 0 || (n > 0 && mor_buf_append(&server->out, bytes, (size_t)n) < 0)) {
			mor_grpc_server_end(server);
			return false;
		}
	}
	return server->out.len > 0;
}

static void flush_server(struct mor_grpc_server *server)
{
	while (!server->ended && (server->out.len || pull_frames(server)))
		if (!write_frames(server))
			break;
	if (!server->ended && !nghttp2_session_want_read(server->session) &&
	    !nghttp2_session_want_write(server->session))
		mor_grpc_server_end(server);
}

static void on_server_flush(struct mor_task *task)
{
	flush_server(mor_container_of(task, struct mor_grpc_server, flush));
}

/* Frames of one dispatch leave together. */
static void flush_soon(struct mor_grpc_server *server)
{
	if (!server->ended)
		mor_loop_post(server->loop, &server->flush, on_server_flush);
}

static nghttp2_nv field_of(const char *name, const char *value)
{
	return (nghttp2_nv){ (uint8_t *)(uintptr_t)name, (uint8_t *)(uintptr_t)value, strlen(name),
			     strlen(value), NGHTTP2_NV_FLAG_NONE };
}

static int send_trailers(struct mor_grpc_inbound *call)
{
	char number[16];
	nghttp2_nv fields[2];

	snprintf(number, sizeof(number), "%u", call->status);
	fields[0] = field_of("grpc-status", number);
	fields[1] = field_of("grpc-message", call->text);
	return nghttp2_submit_trailer(call->server->session, call->stream, fields, call->text[0] ? 2 : 1);
}

static ssize_t on_server_read(nghttp2_session *session, int32_t stream, uint8_t *out, size_t room,
			      uint32_t *ret_flags, nghttp2_data_source *source, void *arg)
{
	struct mor_grpc_inbound *call = source->ptr;
	size_t left = call->out.len - call->out_done, len = left < room ? left : room;

	(void)session;
	(void)stream;
	(void)arg;
	if (len)
		memcpy(out, call->out.data + call->out_done, len);
	call->out_done += len;
	call->server->waiting -= len;
	if (len == left) {
		mor_buf_reset(&call->out, KEEP_FRAMES_BYTES);
		call->out_done = 0;
	}
	if (len < left || !call->closed)
		return len ? (ssize_t)len : NGHTTP2_ERR_DEFERRED;
	*ret_flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
	return send_trailers(call) == 0 ? (ssize_t)len : NGHTTP2_ERR_CALLBACK_FAILURE;
}

static void respond_call(struct mor_grpc_inbound *call)
{
	static const char type[] = "application/grpc";
	const nghttp2_nv fields[] = { field_of(":status", "200"), field_of("content-type", type) };
	nghttp2_data_provider data = { .source.ptr = call, .read_callback = on_server_read };

	if (call->responded)
		nghttp2_session_resume_data(call->server->session, call->stream);
	else
		nghttp2_submit_response(call->server->session, call->stream, fields, 2, &data);
	call->responded = true;
	flush_soon(call->server);
}

void mor_grpc_reply(struct mor_grpc_inbound *call, struct mor_slice message)
{
	char prefix[PREFIX] = { 0 };
	uint32_t len = htonl((uint32_t)message.len);

	memcpy(prefix + 1, &len, sizeof(len));
	if (call->out_done) {
		mor_buf_consume(&call->out, call->out_done);
		call->out_done = 0;
	}
	if (mor_buf_reserve(&call->out, PREFIX + message.len) < 0) {
		mor_grpc_server_end(call->server);
		return;
	}
	mor_buf_append(&call->out, prefix, PREFIX);
	mor_buf_slice(&call->out, message);
	call->server->waiting += PREFIX + message.len;
	respond_call(call);
}

/* The text of a status: what is not printable ASCII is escaped by percent signs. */
static void escape_text(const char *text, char *out, size_t size)
{
	size_t at = 0;

	for (; *text && at + 4 < size; text++) {
		if (*text < ' ' || *text > '~' || *text == '%')
			at += (size_t)snprintf(out + at, size - at, "%%%02X", (unsigned char)*text);
		else
			out[at++] = *text;
	}
	out[at] = '\0';
}

void mor_grpc_close(struct mor_grpc_inbound *call, enum mor_grpc_status status, const char *text)
{
	if (call->closed)
		return;
	call->closed = true;
	call->status = status;
	escape_text(text, call->text, sizeof(call->text));
	respond_call(call);
}

/* ---- what comes in ---- */

static struct mor_grpc_inbound *inbound_of(nghttp2_session *session, int32_t stream)
{
	return stream ? nghttp2_session_get_stream_user_data(session, stream) : NULL;
}

static int on_server_begin(nghttp2_session *session, const nghttp2_frame *frame, void *arg)
{
	struct mor_grpc_server *server = arg;
	struct mor_grpc_inbound *call;

	if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST)
		return 0;
	call = mor_zalloc(sizeof(*call));
	if (!call)
		return NGHTTP2_ERR_CALLBACK_FAILURE;
	call->server = server;
	call->stream = frame->hd.stream_id;
	call->wrong_type = true; /* until it says otherwise */
	mor_list_append(&server->calls, &call->node);
	return nghttp2_session_set_stream_user_data(session, call->stream, call);
}

static int on_server_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
			    size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags, void *arg)
{
	struct mor_grpc_inbound *call = inbound_of(session, frame->hd.stream_id);
	struct mor_slice key = { (const char *)name, name_len };
	static const char type[] = "application/grpc";

	(void)flags;
	(void)arg;
	if (call && mor_slice_is(key, ":path"))
		snprintf(call->method, sizeof(call->method), "%.*s", (int)value_len, (const char *)value);
	if (call && mor_slice_is(key, "content-type") && value_len >= sizeof(type) - 1)
		call->wrong_type = strncasecmp((const char *)value, type, sizeof(type) - 1) != 0;
	return 0;
}

static bool refuse_message(struct mor_grpc_inbound *call, const char *prefix, uint32_t len)
{
	size_t limit = call->server->options.message_limit;
	char text[100];

	if (prefix[0] != 0) {
		mor_grpc_close(call, MOR_GRPC_UNIMPLEMENTED, "compressed messages are not taken");
		return true;
	}
	if (len <= limit)
		return false;
	snprintf(text, sizeof(text), "a message of %u bytes; the limit is %zu", len, limit);
	mor_grpc_close(call, MOR_GRPC_RESOURCE_EXHAUSTED, text);
	return true;
}

static void hand_messages(struct mor_grpc_inbound *call)
{
	const struct mor_grpc_server_options *options = &call->server->options;
	size_t done = 0;
	uint32_t len;

	while (!call->closed && call->in.len - done >= PREFIX) {
		memcpy(&len, call->in.data + done + 1, sizeof(len));
		len = ntohl(len);
		if (refuse_message(call, call->in.data + done, len) || call->in.len - done - PREFIX < len)
			break;
		options->on_message(options->arg, call,
				    (struct mor_slice){ call->in.data + done + PREFIX, len });
		done += PREFIX + len;
	}
	mor_buf_consume(&call->in, done);
	if (!call->in.len)
		mor_buf_reset(&call->in, KEEP_FRAMES_BYTES);
}

static int on_server_data(nghttp2_session *session, uint8_t flags, int32_t stream, const uint8_t *bytes,
			  size_t len, void *arg)
{
	struct mor_grpc_inbound *call = inbound_of(session, stream);

	(void)flags;
	(void)arg;
	if (!call || call->closed)
		return 0;
	if (mor_buf_append(&call->in, bytes, len) < 0)
		return NGHTTP2_ERR_CALLBACK_FAILURE;
	hand_messages(call);
	return 0;
}

static int on_server_frame(nghttp2_session *session, const nghttp2_frame *frame, void *arg)
{
	struct mor_grpc_server *server = arg;
	struct mor_grpc_inbound *call = inbound_of(session, frame->hd.stream_id);
	bool headers = frame->hd.type == NGHTTP2_HEADERS;

	if (!call || (!headers && frame->hd.type != NGHTTP2_DATA))
		return 0;
	if (headers && !call->begun) {
		call->begun = true;
		if (call->wrong_type)
			mor_grpc_close(call, MOR_GRPC_INTERNAL, "content-type must be application/grpc");
		else
			server->options.on_call(server->options.arg, call);
	}
	if (!call->closed && frame->hd.flags & NGHTTP2_FLAG_END_STREAM)
		server->options.on_finish(server->options.arg, call);
	return 0;
}

static int on_server_close(nghttp2_session *session, int32_t stream, uint32_t error, void *arg)
{
	struct mor_grpc_inbound *call = inbound_of(session, stream);

	(void)error;
	(void)arg;
	if (call)
		drop_inbound(call);
	return 0;
}

static void on_server_ready(struct mor_watch *watch, unsigned events)
{
	struct mor_grpc_server *server = mor_container_of(watch, struct mor_grpc_server, watch);
	char *scratch = mor_loop_scratch(server->loop);
	ssize_t n = scratch ? recv(server->fd, scratch, MOR_LOOP_SCRATCH, MSG_DONTWAIT) : 0;
	bool nothing = n < 0 && (errno == EAGAIN || errno == EINTR);

	(void)events;
	if (!nothing &&
	    (n <= 0 || nghttp2_session_mem_recv(server->session, (uint8_t *)scratch, (size_t)n) < 0))
		mor_grpc_server_end(server);
	if (!server->ended)
		flush_server(server);
}

/* ---- begin ---- */

static int make_session(struct mor_grpc_server *server)
{
	static const nghttp2_settings_entry settings[] = {
		{ NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, CALLS_MAX },
		{ NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, STREAM_WINDOW },
		{ NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, HEADER_LIMIT },
	};
	nghttp2_session_callbacks *callbacks = NULL;
	int r = MORTISE_ENOMEM;

	if (nghttp2_session_callbacks_new(&callbacks) != 0)
		return MORTISE_ENOMEM;
	nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_server_begin);
	nghttp2_session_callbacks_set_on_header_callback(callbacks, on_server_header);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_server_data);
	nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_server_frame);
	nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_server_close);
	if (nghttp2_session_server_new(&server->session, callbacks, server) == 0 &&
	    nghttp2_submit_settings(server->session, NGHTTP2_FLAG_NONE, settings, 3) == 0 &&
	    nghttp2_session_set_local_window_size(server->session, NGHTTP2_FLAG_NONE, 0, CONNECTION_WINDOW) ==
		    0)
		r = 0;
	nghttp2_session_callbacks_del(callbacks);
	return r;
}

int mor_grpc_serve_take(struct mor_loop *loop, int fd, const struct mor_grpc_server_options *options,
			struct mor_grpc_server **ret)
{
	struct mor_grpc_server *server = mor_zalloc(sizeof(*server));
	int r = server ? 0 : MORTISE_ENOMEM;

	if (server) {
		*server = (struct mor_grpc_server){ .loop = loop, .fd = fd, .options = *options };
		mor_list_init(&server->calls);
		r = mor_fd_nonblock(fd) < 0 ? MORTISE_ESYSTEM : make_session(server);
	}
	if (r == 0)
		r = mor_watch_start(loop, &server->watch, fd, MOR_READABLE, on_server_ready);
	if (r < 0) {
		mor_fd_close(&fd);
		if (server)
			free_server(&server->grave);
		return r;
	}
	flush_soon(server);
	*ret = server;
	return 0;
}

size_t mor_grpc_server_waiting(const struct mor_grpc_server *server)
{
	return server->waiting + server->out.len - server->out_done;
}

bool mor_grpc_server_idle(const struct mor_grpc_server *server)
{
	return mor_list_empty(&server->calls) && !mor_grpc_server_waiting(server) &&
	       !nghttp2_session_want_write(server->session);
}

void mor_grpc_server_leave(struct mor_grpc_server *server)
{
	nghttp2_submit_goaway(server->session, NGHTTP2_FLAG_NONE,
			      nghttp2_session_get_last_proc_stream_id(server->session), NGHTTP2_NO_ERROR, NULL,
			      0);
	flush_soon(server);
}
