/* SPDX-License-Identifier: Apache-2.0 */
/* From a connected socket to a WebSocket: the HTTP handshake, on both sides. */
#include <nettle/base64.h>
#include <stdio.h>
#include <sys/random.h>

#include "wsock/conn.h"

/* The client sends first. */
void mor_ws_begin_upgrade(struct mor_ws *ws)
{
	unsigned char random[16];

	if (ws->came)
		return;
	if (getrandom(random, sizeof(random), 0) != sizeof(random)) {
		mor_ws_fail(ws, "the kernel gives no random bytes");
		return;
	}
	base64_encode_raw(ws->key, sizeof(random), random);
	if (mor_http_write_request(&ws->url, ws->token, ws->key, &ws->out) < 0)
		mor_ws_fail_memory(ws);
}

static void take_response(struct mor_ws *ws, struct mor_slice head, struct mor_slice rest)
{
	struct mor_http http;
	const char *wrong = mor_http_parse_response(head, &http);

	if (wrong) {
		mor_ws_fail(ws, "%s", wrong);
		return;
	}
	wrong = mor_http_check_response(&http, ws->key);
	if (!wrong)
		mor_ws_on_upgraded(ws, rest);
	else
		mor_ws_fail(ws, "%s (HTTP %d)", wrong, http.status);
}

/* Sends the refusal and then ends. */
static void refuse_upgrade(struct mor_ws *ws, int status, const char *why)
{
	snprintf(ws->why, sizeof(ws->why), "%s (refused with %d)", why, status);
	mor_buf_reset(&ws->out, MOR_HTTP_LIMIT);
	if (mor_http_write_refusal(status, &ws->out) < 0)
		mor_ws_fail_memory(ws);
	else
		ws->state = MOR_WS_CLOSING;
}

static void take_request(struct mor_ws *ws, struct mor_slice head, struct mor_slice rest)
{
	const struct mor_ws_server_options *server = &ws->server->options;
	struct mor_http http;
	const char *wrong = mor_http_parse_request(head, &http);
	int status = wrong ? 400 : mor_http_check_request(&http, &wrong);

	if (status == 0 && mor_http_write_response(&http, &ws->out) < 0) {
		mor_ws_fail_memory(ws);
		return;
	}
	if (status == 0) { /* from here on, what the callback made for the connection is used */
		status = server->judge(ws->server, &http, ws->from, &ws->options.arg);
		wrong = status == 401 ? "it has no access token" :
			status == 403 ? "its access token is wrong" :
					"it asks for a path that does not exist here";
	}
	if (status) {
		refuse_upgrade(ws, status, wrong);
		return;
	}
	mor_ws_server_forget(ws->server, ws);
	ws->server = NULL;
	server->accepted(ws);
	if (!ws->gone)
		mor_ws_on_upgraded(ws, rest);
}

/* The head comes in pieces of any size. The bytes after it are already frames. */
void mor_ws_upgrade(struct mor_ws *ws)
{
	size_t end = 0;

	while (!end && ws->state == MOR_WS_UPGRADING) {
		ssize_t got;

		if (ws->in.len >= MOR_HTTP_LIMIT || mor_buf_reserve(&ws->in, 2048) < 0) {
			mor_ws_fail(ws, "its handshake is too long");
			return;
		}
		got = mor_stream_read(&ws->stream, ws->in.data + ws->in.len, 2048);
		if (got == MOR_WS_STREAM_WAIT) {
			ws->read_wants = ws->stream.wants;
			return;
		}
		if (got <= 0) {
			mor_ws_fail(ws, "%s",
				    got == MOR_WS_STREAM_FAILED ?
					    ws->stream.why :
					    "the connection was closed during the handshake");
			return;
		}
		ws->in.len += (size_t)got;
		end = mor_http_end(mor_buf_view(&ws->in));
	}
	if (ws->state == MOR_WS_UPGRADING)
		(ws->came ? take_request :
			    take_response)(ws, (struct mor_slice){ ws->in.data, end },
					   (struct mor_slice){ ws->in.data + end, ws->in.len - end });
}
