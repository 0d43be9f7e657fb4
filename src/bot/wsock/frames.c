/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages and frames, by wslay: the only file that uses it. It has no socket here: we give it bytes, and
 * move what it wants to send to a buffer. It answers pings and close frames itself, and checks UTF-8 and
 * masks.
 *
 * Messages are put together here, not in wslay: wslay makes two allocations per frame, so a message in
 * frames of one byte would take a hundred times its length.
 */
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <wslay/wslay.h>

#include "base/alloc.h"
#include "base/text.h"
#include "wsock/inside.h"

#define KEEP 65536 /* memory of a message that is kept for the next one */

struct mor_frames {
	wslay_event_context_ptr context;
	const struct mor_frames_handler *handler;
	void *arg;
	struct mor_slice in;    /* bytes that are not processed yet */
	struct mor_buf message; /* the part of the message so far */
	bool broken;            /* the input was not a frame */
	bool control;           /* the present frame is not part of a message */
	struct mor_buf *out;    /* while mor_frames_write() runs */
	size_t most;
	char reason[128]; /* from the peer's close frame */
};

/* ---- what wslay asks for ---- */

static ssize_t on_recv(wslay_event_context_ptr context, uint8_t *bytes, size_t len, int flags, void *arg)
{
	struct mor_frames *frames = arg;
	size_t taken = frames->in.len < len ? frames->in.len : len;

	(void)flags;
	if (!taken) {
		wslay_event_set_error(context, WSLAY_ERR_WOULDBLOCK);
		return -1;
	}
	memcpy(bytes, frames->in.ptr, taken);
	frames->in.ptr += taken;
	frames->in.len -= taken;
	return (ssize_t)taken;
}

static ssize_t on_send(wslay_event_context_ptr context, const uint8_t *bytes, size_t len, int flags, void *arg)
{
	struct mor_frames *frames = arg;
	size_t room = frames->out->len < frames->most ? frames->most - frames->out->len : 0;
	size_t taken = room < len ? room : len;

	(void)flags;
	if (!taken || mor_buf_append(frames->out, bytes, taken) < 0) {
		wslay_event_set_error(context, taken ? WSLAY_ERR_CALLBACK_FAILURE : WSLAY_ERR_WOULDBLOCK);
		return -1;
	}
	return (ssize_t)taken;
}

static int on_mask(wslay_event_context_ptr context, uint8_t *bytes, size_t len, void *arg)
{
	(void)arg;
	if (getrandom(bytes, len, 0) == (ssize_t)len)
		return 0;
	wslay_event_set_error(context, WSLAY_ERR_CALLBACK_FAILURE);
	return -1;
}

/* Too long, or no memory for it: the peer is told, and nothing more is read. */
static void give_up(struct mor_frames *frames)
{
	bool too_long = frames->message.status == MORTISE_ELIMIT;

	wslay_event_queue_close(frames->context,
				too_long ? WSLAY_CODE_MESSAGE_TOO_BIG : WSLAY_CODE_INTERNAL_SERVER_ERROR, NULL,
				0);
	wslay_event_shutdown_read(frames->context);
}

static void on_frame(wslay_event_context_ptr context, const struct wslay_event_on_frame_recv_start_arg *frame,
		     void *arg)
{
	struct mor_frames *frames = arg;

	(void)context;
	frames->control = wslay_is_ctrl_frame(frame->opcode);
	if (frames->control)
		return;
	if (frame->opcode != WSLAY_CONTINUATION_FRAME)
		mor_buf_reset(&frames->message, KEEP);
	if (frame->payload_length <= frames->message.limit - frames->message.len)
		return;
	frames->message.status = MORTISE_ELIMIT;
	give_up(frames);
}

static void on_chunk(wslay_event_context_ptr context, const struct wslay_event_on_frame_recv_chunk_arg *chunk,
		     void *arg)
{
	struct mor_frames *frames = arg;

	(void)context;
	if (!frames->control && !mor_buf_failed(&frames->message) &&
	    mor_buf_append(&frames->message, chunk->data, chunk->data_length) < 0)
		give_up(frames);
}

static void on_message(wslay_event_context_ptr context, const struct wslay_event_on_msg_recv_arg *got,
		       void *arg)
{
	struct mor_frames *frames = arg;
	struct mor_slice bytes = { (const char *)got->msg, got->msg_length };

	(void)context;
	if (mor_buf_failed(&frames->message))
		return;
	if (got->opcode == WSLAY_TEXT_FRAME)
		frames->handler->message(frames->arg, mor_buf_view(&frames->message));
	else if (got->opcode == WSLAY_BINARY_FRAME)
		frames->handler->binary(frames->arg, frames->message.len);
	else if (got->opcode == WSLAY_CONNECTION_CLOSE && bytes.len > 2)
		mor_printable((struct mor_slice){ bytes.ptr + 2, bytes.len - 2 }, frames->reason,
			      sizeof(frames->reason));
}

/* ---- life ---- */

struct mor_frames *mor_frames_new(bool server, size_t limit, const struct mor_frames_handler *handler,
				  void *arg)
{
	static const struct wslay_event_callbacks callbacks = {
		.recv_callback = on_recv,
		.send_callback = on_send,
		.genmask_callback = on_mask,
		.on_frame_recv_start_callback = on_frame,
		.on_frame_recv_chunk_callback = on_chunk,
		.on_msg_recv_callback = on_message,
	};
	struct mor_frames *frames = mor_zalloc(sizeof(*frames));

	if (!frames)
		return NULL;
	frames->handler = handler;
	frames->arg = arg;
	if ((server ? wslay_event_context_server_init :
		      wslay_event_context_client_init)(&frames->context, &callbacks, frames) != 0) {
		mor_free(frames);
		return NULL;
	}
	wslay_event_config_set_no_buffering(frames->context, 1);
	wslay_event_config_set_max_recv_msg_length(frames->context, limit);
	frames->message.limit = limit;
	return frames;
}

void mor_frames_free(struct mor_frames *frames)
{
	if (!frames)
		return;
	wslay_event_context_free(frames->context);
	mor_buf_fini(&frames->message);
	mor_free(frames);
}

/* ---- bytes in and out ---- */

static int judge_frames(int done)
{
	return done == 0 ? 0 : done == WSLAY_ERR_NO_MORE_MSG ? MORTISE_ECLOSED : MORTISE_ENOMEM;
}

/* Bytes after a close frame or after an error are ignored. */
int mor_frames_feed(struct mor_frames *frames, struct mor_slice bytes)
{
	int done = 0;

	frames->in = bytes;
	if (wslay_event_want_read(frames->context))
		done = wslay_event_recv(frames->context);
	frames->in = (struct mor_slice){ 0 };
	/* a bad frame head: wslay has queued a close frame without a status */
	if (done == WSLAY_ERR_CALLBACK_FAILURE) {
		frames->broken = true;
		wslay_event_shutdown_read(frames->context);
	}
	return done == WSLAY_ERR_NOMEM ? MORTISE_ENOMEM : 0;
}

int mor_frames_write(struct mor_frames *frames, struct mor_buf *out, size_t most)
{
	int r = 0;

	frames->out = out;
	frames->most = most;
	if (wslay_event_want_write(frames->context))
		r = judge_frames(wslay_event_send(frames->context));
	frames->out = NULL;
	return r;
}

int mor_frames_send(struct mor_frames *frames, struct mor_slice text)
{
	struct wslay_event_msg message = { WSLAY_TEXT_FRAME, (const uint8_t *)text.ptr, text.len };

	return judge_frames(wslay_event_queue_msg(frames->context, &message));
}

int mor_frames_ping(struct mor_frames *frames)
{
	struct wslay_event_msg message = { WSLAY_PING, NULL, 0 };

	return judge_frames(wslay_event_queue_msg(frames->context, &message));
}

int mor_frames_close(struct mor_frames *frames, uint16_t status, const char *reason)
{
	return judge_frames(
		wslay_event_queue_close(frames->context, status, (const uint8_t *)reason, strlen(reason)));
}

size_t mor_frames_waiting(const struct mor_frames *frames)
{
	return wslay_event_get_queued_msg_length(frames->context);
}

/* ---- the end ---- */

bool mor_frames_ending(const struct mor_frames *frames)
{
	return !wslay_event_want_read(frames->context);
}

bool mor_frames_closed_by_peer(const struct mor_frames *frames)
{
	return wslay_event_get_close_received(frames->context);
}

/* The names in RFC 6455. */
static const char *status_text(uint16_t status)
{
	static const struct {
		uint16_t status;
		const char *text;
	} names[] = {
		{ 1000, "normal" },
		{ 1001, "going away" },
		{ 1002, "broken rules of the protocol" },
		{ 1003, "binary data" },
		{ 1007, "no UTF-8" },
		{ 1008, "against its policy" },
		{ 1009, "too long a message" },
		{ 1010, "an extension is missing" },
		{ 1011, "internal error" },
		{ 1012, "restart" },
		{ 1013, "try again later" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].status == status)
			return names[i].text;
	return "no known reason";
}

const char *mor_frames_why(const struct mor_frames *frames, char *out, size_t size)
{
	uint16_t status = mor_frames_closed_by_peer(frames) ?
				  wslay_event_get_status_code_received(frames->context) :
				  wslay_event_get_status_code_sent(frames->context);
	const char *who =
		mor_frames_closed_by_peer(frames) ? "it closed the connection" : "we closed the connection";

	if (frames->broken)
		status = WSLAY_CODE_PROTOCOL_ERROR;
	if (!status || status == WSLAY_CODE_NO_STATUS_RCVD)
		snprintf(out, size, "%s", who);
	else
		snprintf(out, size, "%s (%u %s%s%s)", who, status, status_text(status),
			 *frames->reason ? ": " : "", frames->reason);
	return out;
}
