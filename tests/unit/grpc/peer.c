/* SPDX-License-Identifier: Apache-2.0 */
#include "leak.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "peer.h"

struct rig rig;
const char *const plain_fields[] = { ":status", "200", "content-type", "application/grpc", NULL };
const char *const good_trailers[] = { "grpc-status", "0", NULL };

struct peer_stream *stream_of(int32_t stream)
{
	assert_true(stream % 2 == 1 && stream / 2 < PEER_STREAMS);
	return &rig.streams[(unsigned)stream / 2 % PEER_STREAMS]; /* gcc takes it that an assertion returns */
}

/* ---- what the server hears ---- */

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t name_len,
		     const uint8_t *value, size_t value_len, uint8_t flags, void *arg)
{
	(void)session;
	(void)flags;
	(void)arg;
	mor_buf_printf(&stream_of(frame->hd.stream_id)->fields, "%.*s: %.*s\n", (int)name_len,
		       (const char *)name, (int)value_len, (const char *)value);
	return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t stream, const uint8_t *bytes, size_t len,
		   void *arg)
{
	(void)session;
	(void)flags;
	(void)arg;
	mor_buf_append(&stream_of(stream)->got, bytes, len);
	return 0;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *arg)
{
	(void)session;
	(void)arg;
	if (frame->hd.type == NGHTTP2_PING && !(frame->hd.flags & NGHTTP2_FLAG_ACK))
		rig.pings++;
	if (frame->hd.type == NGHTTP2_RST_STREAM)
		stream_of(frame->hd.stream_id)->reset = frame->rst_stream.error_code + 1;
	if ((frame->hd.type == NGHTTP2_DATA || frame->hd.type == NGHTTP2_HEADERS) &&
	    frame->hd.flags & NGHTTP2_FLAG_END_STREAM)
		stream_of(frame->hd.stream_id)->got_end = true;
	return 0;
}

static int on_close(nghttp2_session *session, int32_t stream, uint32_t error, void *arg)
{
	(void)session;
	(void)error;
	(void)arg;
	stream_of(stream)->closed = true;
	return 0;
}

/* ---- what the server says ---- */

static size_t fields_of(const char *const *texts, nghttp2_nv out[8])
{
	size_t count = 0;

	for (; *texts; texts += 2, count++)
		out[count] = (nghttp2_nv){ (uint8_t *)(uintptr_t)texts[0], (uint8_t *)(uintptr_t)texts[1],
					   strlen(texts[0]), strlen(texts[1]), NGHTTP2_NV_FLAG_NONE };
	return count;
}

static ssize_t on_body(nghttp2_session *session, int32_t id, uint8_t *out, size_t room, uint32_t *flags,
		       nghttp2_data_source *source, void *arg)
{
	struct peer_stream *stream = stream_of(id);
	size_t left = stream->body.len - stream->body_done, len = left < room ? left : room;
	nghttp2_nv fields[8];

	(void)source;
	(void)arg;
	if (len)
		memcpy(out, stream->body.data + stream->body_done, len);
	stream->body_done += len;
	if (len == left && stream->body_ends) {
		*flags |= NGHTTP2_DATA_FLAG_EOF;
		if (stream->trailers) {
			*flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
			assert_int_equal(nghttp2_submit_trailer(session, id, fields,
								fields_of(stream->trailers, fields)),
					 0);
		}
		return (ssize_t)len;
	}
	return len ? (ssize_t)len : NGHTTP2_ERR_DEFERRED;
}

void prefixed(struct mor_buf *out, const char *text)
{
	uint32_t len = htonl((uint32_t)strlen(text));

	mor_buf_byte(out, '\0');
	mor_buf_append(out, &len, sizeof(len));
	mor_buf_text(out, text);
}

void answer(int32_t stream, const char *const *texts)
{
	nghttp2_data_provider provider = { .read_callback = on_body };
	nghttp2_nv fields[8];

	assert_int_equal(nghttp2_submit_response(rig.server, stream, fields, fields_of(texts, fields),
						 &provider),
			 0);
}

void answer_only(int32_t stream, const char *const *texts)
{
	nghttp2_nv fields[8];

	assert_int_equal(nghttp2_submit_response(rig.server, stream, fields, fields_of(texts, fields), NULL),
			 0);
}

void body_add(int32_t stream, const void *bytes, size_t len)
{
	assert_int_equal(mor_buf_append(&stream_of(stream)->body, bytes, len), 0);
	nghttp2_session_resume_data(rig.server, stream);
}

void body_message(int32_t stream, const char *text)
{
	prefixed(&stream_of(stream)->body, text);
	nghttp2_session_resume_data(rig.server, stream);
}

void body_end(int32_t stream, const char *const *trailers)
{
	stream_of(stream)->body_ends = true;
	stream_of(stream)->trailers = trailers;
	nghttp2_session_resume_data(rig.server, stream);
}

void answer_well(int32_t stream, const char *text)
{
	answer(stream, plain_fields);
	body_message(stream, text);
	body_end(stream, good_trailers);
}

void expect_field(int32_t stream, const char *line)
{
	struct mor_buf *fields = &stream_of(stream)->fields;

	mor_buf_byte(fields, '\0');
	fields->len--;
	if (!strstr(fields->data, line))
		fail_msg("no %s in:\n%s", line, fields->data);
}

void say_raw(const void *bytes, size_t len)
{
	assert_int_equal(send(rig.fd, bytes, len, MSG_NOSIGNAL), (ssize_t)len);
}

/* ---- bytes in motion ---- */

/* true: something moved. */
static bool pump_server(void)
{
	const uint8_t *out;
	char in[65536];
	ssize_t n, moved = 0;

	if (!rig.server || rig.stalled)
		return false;
	while ((n = recv(rig.fd, in, sizeof(in), MSG_DONTWAIT)) > 0) {
		moved += n;
		assert_int_equal(nghttp2_session_mem_recv(rig.server, (uint8_t *)in, (size_t)n), n);
	}
	while (rig.out.len < sizeof(in) && (n = nghttp2_session_mem_send(rig.server, &out)) > 0)
		assert_int_equal(mor_buf_append(&rig.out, out, (size_t)n), 0);
	if (!rig.out.len)
		return moved > 0;
	n = send(rig.fd, rig.out.data, rig.out.len, MSG_NOSIGNAL | MSG_DONTWAIT);
	assert_true(n > 0 || errno == EAGAIN || rig.ends > 0 || !rig.grpc);
	if (n < 0)
		return moved > 0;
	mor_buf_consume(&rig.out, (size_t)n);
	return true;
}

/* true: something moved. */
static bool dispatch_client(void)
{
	long before = mor_alloc_count();
	int count;

	if (rig.short_of_memory)
		mor_alloc_fail_after(rig.allocations > 0 ? rig.allocations : 0);
	count = mor_loop_dispatch(rig.loop);
	rig.allocations -= mor_alloc_count() - before;
	mor_alloc_fail_after(-1);
	return count > 0;
}

void settle(void)
{
	bool moved;

	do {
		moved = dispatch_client();
		moved |= pump_server();
	} while (moved);
}

static void on_broken(void *arg, const mortise_error *why)
{
	assert_ptr_equal(arg, &rig);
	rig.ends++;
	rig.why = *why;
}

static void open_server(void)
{
	nghttp2_session_callbacks *callbacks;

	assert_int_equal(nghttp2_session_callbacks_new(&callbacks), 0);
	nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
	nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
	nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
	assert_int_equal(nghttp2_session_server_new(&rig.server, callbacks, NULL), 0);
	nghttp2_session_callbacks_del(callbacks);
	assert_int_equal(nghttp2_submit_settings(rig.server, NGHTTP2_FLAG_NONE, NULL, 0), 0);
}

void set_up(uint32_t ping_ms, bool server)
{
	struct mor_grpc_options options = {
		.message_limit = MESSAGE_MAX,
		.queue_limit = QUEUE_MAX,
		.ping_ms = ping_ms,
		.on_end = on_broken,
		.arg = &rig,
	};
	int ends[2];

	memset(&rig, 0, sizeof(rig));
	assert_int_equal(mor_loop_new(MOR_LOOP_VIRTUAL, &rig.loop), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	rig.fd = ends[1];
	assert_int_equal(mor_grpc_new_take(rig.loop, ends[0], &options, &rig.grpc), 0);
	if (server)
		open_server();
}

void tear_down(void)
{
	rig.grpc = mor_grpc_free(rig.grpc);
	if (rig.server)
		nghttp2_session_del(rig.server);
	for (unsigned i = 0; i < PEER_STREAMS; i++) {
		mor_buf_fini(&rig.streams[i].fields);
		mor_buf_fini(&rig.streams[i].got);
		mor_buf_fini(&rig.streams[i].body);
	}
	mor_buf_fini(&rig.out);
	mor_loop_free(rig.loop);
	if (rig.fd >= 0)
		close(rig.fd);
}

/* ---- the caller ---- */

static void on_message(void *arg, struct mor_slice message)
{
	struct heard *heard = arg;

	heard->count++;
	if (message.len > 100)
		mor_buf_printf(&heard->messages, "%zu|", message.len);
	else
		mor_buf_printf(&heard->messages, "%.*s|", (int)message.len, message.ptr);
	if (heard->pause_at_once)
		mor_grpc_pause(heard->call, true);
	if (heard->cancel_at_once)
		mor_grpc_cancel(heard->call);
	if (heard->free_at_once)
		rig.grpc = mor_grpc_free(rig.grpc);
}

static void on_drained(void *arg)
{
	((struct heard *)arg)->drained++;
}

static void on_end(void *arg, unsigned status, const mortise_error *err)
{
	struct heard *heard = arg;

	heard->call = NULL;
	heard->ends++;
	heard->status = status;
	if (err)
		heard->err = *err;
}

void begin(struct heard *heard, const char *method, uint32_t timeout_ms)
{
	struct mor_grpc_call_options options = {
		.method = method,
		.timeout_ms = timeout_ms,
		.on_message = on_message,
		.on_drained = on_drained,
		.on_end = on_end,
		.arg = heard,
	};
	mortise_error err;

	if (mor_grpc_call(rig.grpc, &options, &heard->call, &err) < 0)
		fail_msg("%s", err.text);
}

void forget(struct heard *heard)
{
	mor_buf_fini(&heard->messages);
}

void expect_messages(struct heard *heard, const char *wanted)
{
	if (!mor_slice_is(mor_buf_view(&heard->messages), wanted))
		fail_msg("%.*s, not %s", (int)heard->messages.len, heard->messages.data, wanted);
	mor_buf_fini(&heard->messages);
}

void expect_end(const struct heard *heard, unsigned status, int code, const char *part)
{
	assert_int_equal(heard->ends, 1);
	if (heard->err.code != code || !strstr(heard->err.text, part))
		fail_msg("%d %s, not %d %s", heard->err.code, heard->err.text, code, part);
	assert_int_equal(heard->status, status);
}

void expect_broken(int code, const char *part)
{
	assert_int_equal(rig.ends, 1);
	if (rig.why.code != code || !strstr(rig.why.text, part))
		fail_msg("%d %s, not %d %s", rig.why.code, rig.why.text, code, part);
}
