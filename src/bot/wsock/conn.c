/* SPDX-License-Identifier: Apache-2.0 */
/* A connection, from its socket to its end. */
#include "wsock/conn.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/text.h"

#define TURN_BYTES 65536 /* limit of bytes read in one turn */
#define OUT_BYTES  65536 /* limit of bytes that wait for the socket; wslay keeps the rest */
/* with so much waiting, we stop reading from the peer: its pings would make us answer */
#define HOLD_BYTES (1 << 20)

/* ---- life ---- */

static void on_timer(struct mor_timer *timer);

struct mor_ws *mor_ws_new(struct mor_loop *loop, const struct mor_ws_options *options)
{
	struct mor_ws *ws = mor_zalloc(sizeof(*ws));

	if (!ws)
		return NULL;
	ws->loop = loop;
	ws->options = *options;
	ws->stream.fd = -1;
	ws->read_wants = MOR_READABLE;
	ws->write_wants = MOR_WRITABLE;
	if (mor_timer_set(loop, &ws->timer, MOR_WS_HANDSHAKE_MS, on_timer) < 0) {
		mor_free(ws);
		return NULL;
	}
	return ws;
}

static void bury(struct mor_grave *grave)
{
	struct mor_ws *ws = mor_container_of(grave, struct mor_ws, grave);

	mor_frames_free(ws->frames);
	mor_buf_fini(&ws->in);
	mor_buf_fini(&ws->out);
	mor_free(ws->token);
	mor_free(ws);
}

/* Frees what uses the loop or the socket. The memory may still be in use further up the stack. */
static void let_go(struct mor_ws *ws)
{
	mor_resolve_free(mor_take(&ws->resolve));
	if (ws->addresses)
		freeaddrinfo(mor_take(&ws->addresses));
	mor_watch_stop(&ws->watch);
	mor_timer_stop(&ws->timer);
	mor_task_stop(&ws->again);
	mor_stream_close(&ws->stream);
}

void mor_ws_free(struct mor_ws *ws)
{
	if (!ws)
		return;
	if (ws->server)
		mor_ws_server_forget(ws->server, ws);
	let_go(ws);
	mor_task_stop(&ws->end);
	ws->gone = true;
	mor_loop_free_later(ws->loop, &ws->grave, bury);
}

void *mor_ws_arg(const struct mor_ws *ws)
{
	return ws->options.arg;
}

/* ---- the end ---- */

/* A connection whose handshake is not done belongs to the server only. */
static void on_end(struct mor_task *task)
{
	struct mor_ws *ws = mor_container_of(task, struct mor_ws, end);
	struct mor_ws_server *server = ws->server;

	if (!server) {
		ws->options.handler->closed(ws, ws->why);
		return;
	}
	server->options.refused(server, ws->from, ws->why);
	mor_ws_free(ws);
}

void mor_ws_fail(struct mor_ws *ws, const char *format, ...)
{
	va_list args;

	if (ws->state == MOR_WS_CLOSED || ws->gone)
		return;
	ws->state = MOR_WS_CLOSED;
	if (!*ws->why) {
		va_start(args, format);
		vsnprintf(ws->why, sizeof(ws->why), format, args);
		va_end(args);
	}
	let_go(ws);
	mor_loop_post(ws->loop, &ws->end, on_end);
}

static void fail_stream(struct mor_ws *ws)
{
	mor_ws_fail(ws, "%s", ws->stream.why);
}

static void fail_frames(struct mor_ws *ws)
{
	char why[sizeof(ws->why)];

	mor_ws_fail(ws, "%s", mor_frames_why(ws->frames, why, sizeof(why)));
}

void mor_ws_fail_memory(struct mor_ws *ws)
{
	mor_ws_fail(ws, "%s", mortise_status_text(MORTISE_ENOMEM));
}

static bool may_read(const struct mor_ws *ws)
{
	if (ws->state == MOR_WS_CLOSING)
		return ws->frames && !mor_frames_ending(ws->frames);
	return ws->state == MOR_WS_UPGRADING ||
	       (ws->state == MOR_WS_OPEN && !ws->paused && mor_ws_waiting(ws) < HOLD_BYTES);
}

/* ---- time ---- */

static void set_timer(struct mor_ws *ws, uint32_t ms)
{
	(void)mor_timer_set(ws->loop, &ws->timer, ms, on_timer); /* moving a timer cannot fail */
}

/* After silence we send a ping. Any message counts as a pong. While we do not read, the silence is our fault
 * and does not count. */
static void judge_silence(struct mor_ws *ws)
{
	int64_t now = mor_loop_now_ms(ws->loop), silent = may_read(ws) ? now - ws->heard_ms : 0;
	char shown[32];

	if (mor_ws_waiting(ws) && now - ws->wrote_ms >= 2 * (int64_t)ws->options.ping_ms)
		mor_ws_fail(ws, "it has read nothing for %s",
			    mor_format_ms((uint64_t)(now - ws->wrote_ms), shown));
	else if (ws->pinged && silent >= (int64_t)ws->options.ping_ms)
		mor_ws_fail(ws, "no sign of life for %s, not even an answer to a ping",
			    mor_format_ms((uint64_t)silent, shown));
	if (ws->state != MOR_WS_OPEN)
		return;
	if (silent >= (int64_t)ws->options.ping_ms) {
		ws->pinged = true;
		if (mor_frames_ping(ws->frames) < 0)
			mor_ws_fail_memory(ws);
	}
	if (ws->state == MOR_WS_OPEN)
		set_timer(ws, ws->options.ping_ms);
}

static void on_timer(struct mor_timer *timer)
{
	static const char *const waits[] = {
		[MOR_WS_RESOLVING] = "its name was not found",
		[MOR_WS_CONNECTING] = "it was not reached",
		[MOR_WS_SECURING] = "it did not finish the TLS handshake",
		[MOR_WS_UPGRADING] = "it did not finish the handshake",
	};
	struct mor_ws *ws = mor_container_of(timer, struct mor_ws, timer);

	if (ws->mute)
		fail_stream(ws);
	else if (ws->state == MOR_WS_OPEN) {
		judge_silence(ws);
		mor_ws_turn(ws);
	} else if (ws->state == MOR_WS_CLOSING)
		mor_ws_fail(ws, "it did not answer our close");
	else
		mor_ws_fail(ws, "%s within %d s", waits[ws->state], MOR_WS_HANDSHAKE_MS / 1000);
}

/* ---- reading ---- */

/* 64 KiB at a time, so that a peer that sends too much does not block the others. */
static void read_frames(struct mor_ws *ws)
{
	char *bytes = mor_loop_scratch(ws->loop);
	size_t left = TURN_BYTES;
	ssize_t got = 1;

	if (!bytes) {
		mor_ws_fail_memory(ws);
		return;
	}
	while (left && got > 0 && !ws->gone && ws->state != MOR_WS_CLOSED) {
		got = mor_stream_read(&ws->stream, bytes, left);
		if (got <= 0)
			break;
		left -= (size_t)got;
		ws->heard_ms = mor_loop_now_ms(ws->loop);
		ws->pinged = false;
		if (mor_frames_feed(ws->frames, (struct mor_slice){ bytes, (size_t)got }) < 0)
			mor_ws_fail_memory(ws);
	}
	if (ws->gone || ws->state == MOR_WS_CLOSED)
		return;
	if (got == MOR_WS_STREAM_WAIT)
		ws->read_wants = ws->stream.wants;
	else if (got == MOR_WS_STREAM_FAILED && !mor_frames_closed_by_peer(ws->frames))
		fail_stream(ws);
	else if (got <= 0 && mor_frames_closed_by_peer(ws->frames))
		fail_frames(ws);
	else if (got <= 0)
		mor_ws_fail(ws, "the connection was lost");
}

/* ---- writing ---- */

size_t mor_ws_waiting(const struct mor_ws *ws)
{
	if (ws->mute)
		return 0;
	return ws->out.len - ws->sent + (ws->frames ? mor_frames_waiting(ws->frames) : 0);
}

static int fill_output(struct mor_ws *ws)
{
	if (ws->sent) {
		mor_buf_consume(&ws->out, ws->sent);
		ws->sent = 0;
	}
	return ws->frames ? mor_frames_write(ws->frames, &ws->out, OUT_BYTES) : 0;
}

static void write_out(struct mor_ws *ws)
{
	while (!ws->mute) {
		ssize_t done;

		if (ws->sent == ws->out.len && fill_output(ws) < 0) {
			mor_ws_fail_memory(ws);
			return;
		}
		if (ws->sent == ws->out.len) {
			ws->wrote_ms = mor_loop_now_ms(ws->loop);
			return;
		}
		done = mor_stream_write(&ws->stream, ws->out.data + ws->sent, ws->out.len - ws->sent);
		if (done == MOR_WS_STREAM_WAIT) {
			ws->write_wants = ws->stream.wants;
			return;
		}
		if (done <= 0) {
			/* The peer accepts no more bytes. What it sent before may still be there. We read it to
			 * its end, but with a time limit. */
			ws->mute = true;
			set_timer(ws, MOR_WS_CLOSE_MS);
			return;
		}
		ws->sent += (size_t)done;
		ws->wrote_ms = mor_loop_now_ms(ws->loop);
	}
}

/* ---- turns ---- */

static void on_again(struct mor_task *task)
{
	mor_ws_turn(mor_container_of(task, struct mor_ws, again));
}

/* The events that the loop must report. */
static void ask(struct mor_ws *ws)
{
	unsigned wants = 0;

	if (ws->state == MOR_WS_CONNECTING)
		wants = MOR_WRITABLE;
	else if (ws->state == MOR_WS_SECURING)
		wants = ws->stream.wants;
	else
		wants = (may_read(ws) ? ws->read_wants : 0) | (mor_ws_waiting(ws) ? ws->write_wants : 0);
	if (ws->watch.loop && mor_watch_change(&ws->watch, wants) < 0)
		mor_ws_fail(ws, "the connection cannot be watched");
	else if (may_read(ws) && mor_stream_has_more(&ws->stream))
		mor_loop_post(ws->loop, &ws->again, on_again);
}

static void go_on_securing(struct mor_ws *ws)
{
	int done = mor_tls_handshake(&ws->stream);

	if (done == MOR_WS_STREAM_FAILED)
		fail_stream(ws);
	else if (done == 1) {
		ws->state = MOR_WS_UPGRADING;
		mor_ws_begin_upgrade(ws);
	}
}

/* One side has begun to close: from now on there is a time limit. */
static void look_for_end(struct mor_ws *ws)
{
	if (ws->state == MOR_WS_OPEN && mor_frames_ending(ws->frames)) {
		ws->state = MOR_WS_CLOSING;
		set_timer(ws, MOR_WS_CLOSE_MS);
	}
	if (ws->state != MOR_WS_CLOSING || mor_ws_waiting(ws))
		return;
	if (!ws->frames)
		mor_ws_fail(ws, "it was refused");
	else if (mor_frames_ending(ws->frames))
		fail_frames(ws);
}

void mor_ws_turn(struct mor_ws *ws)
{
	if (ws->state == MOR_WS_SECURING)
		go_on_securing(ws);
	if (ws->state == MOR_WS_UPGRADING)
		mor_ws_upgrade(ws);
	else if ((ws->state == MOR_WS_OPEN || ws->state == MOR_WS_CLOSING) && may_read(ws))
		read_frames(ws);
	if (!ws->gone && ws->state >= MOR_WS_UPGRADING && ws->state < MOR_WS_CLOSED)
		write_out(ws);
	if (!ws->gone && ws->state < MOR_WS_CLOSED)
		look_for_end(ws);
	if (!ws->gone && ws->state < MOR_WS_CLOSED)
		ask(ws);
}

void mor_ws_on_watch(struct mor_watch *watch, unsigned events)
{
	struct mor_ws *ws = mor_container_of(watch, struct mor_ws, watch);

	(void)events;
	if (ws->state == MOR_WS_CONNECTING)
		mor_ws_on_connected(ws);
	mor_ws_turn(ws);
}

/* ---- open ---- */

static void on_text(void *arg, struct mor_slice text)
{
	struct mor_ws *ws = arg;

	if (!ws->gone && ws->state == MOR_WS_OPEN)
		ws->options.handler->message(ws, text);
}

static void on_binary(void *arg, size_t len)
{
	struct mor_ws *ws = arg;

	if (!ws->gone && ws->state == MOR_WS_OPEN)
		ws->options.handler->binary(ws, len);
}

void mor_ws_on_upgraded(struct mor_ws *ws, struct mor_slice rest)
{
	static const struct mor_frames_handler handler = { on_text, on_binary };

	ws->frames = mor_frames_new(ws->came, ws->options.limit, &handler, ws);
	if (!ws->frames) {
		mor_ws_fail_memory(ws);
		return;
	}
	ws->state = MOR_WS_OPEN;
	ws->heard_ms = ws->wrote_ms = mor_loop_now_ms(ws->loop);
	set_timer(ws, ws->options.ping_ms);
	ws->options.handler->opened(ws);
	if (!ws->gone && ws->state == MOR_WS_OPEN && rest.len && mor_frames_feed(ws->frames, rest) < 0)
		mor_ws_fail_memory(ws);
	if (!ws->gone)
		mor_buf_fini(&ws->in);
}

/* ---- what users do ---- */

int mor_ws_send(struct mor_ws *ws, struct mor_slice text)
{
	int r = ws->state == MOR_WS_OPEN ? mor_frames_send(ws->frames, text) : MORTISE_ECLOSED;

	if (r == 0)
		mor_loop_post(ws->loop, &ws->again, on_again);
	return r;
}

void mor_ws_close(struct mor_ws *ws, uint16_t status, const char *reason)
{
	if (ws->state == MOR_WS_CLOSING || ws->state == MOR_WS_CLOSED)
		return;
	if (ws->state != MOR_WS_OPEN || mor_frames_close(ws->frames, status, reason) < 0) {
		mor_ws_fail(ws, "we closed it");
		return;
	}
	snprintf(ws->why, sizeof(ws->why), "we closed it");
	ws->state = MOR_WS_CLOSING;
	ws->paused = false;
	set_timer(ws, MOR_WS_CLOSE_MS);
	mor_loop_post(ws->loop, &ws->again, on_again);
}

void mor_ws_pause(struct mor_ws *ws, bool on)
{
	if (ws->paused == on)
		return;
	ws->paused = on;
	ws->heard_ms = mor_loop_now_ms(ws->loop);
	ws->pinged = false;
	if (ws->state == MOR_WS_OPEN)
		mor_loop_post(ws->loop, &ws->again, on_again);
}
