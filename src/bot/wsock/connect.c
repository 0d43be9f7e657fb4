/* SPDX-License-Identifier: Apache-2.0 */
/* A connection that we open: looks up the name and tries its addresses, one after the other. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "wsock/conn.h"

/* ---- sockets ---- */

/* Small messages go out at once. */
static void set_options(int fd)
{
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
}

static int open_socket(const struct addrinfo *address)
{
	int fd = socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, address->ai_protocol);

	if (fd < 0)
		return -errno;
	set_options(fd);
	if (connect(fd, address->ai_addr, address->ai_addrlen) < 0 && errno != EINPROGRESS) {
		int error = errno;

		mor_fd_close(&fd);
		return -error;
	}
	return fd;
}

/* Tries another address, if there is one. The reported reason is that of the last address. */
void mor_ws_try_next(struct mor_ws *ws)
{
	int fd = -ENOENT;

	for (; ws->address && fd < 0; ws->address = ws->address->ai_next)
		fd = open_socket(ws->address);
	if (fd < 0) {
		mor_ws_fail(ws, "%s", strerrordesc_np(-fd));
		return;
	}
	ws->stream.fd = fd;
	ws->state = MOR_WS_CONNECTING;
	if (mor_watch_start(ws->loop, &ws->watch, fd, MOR_WRITABLE, mor_ws_on_watch) < 0)
		mor_ws_fail(ws, "the connection cannot be watched");
}

void mor_ws_on_connected(struct mor_ws *ws)
{
	int error = 0;
	socklen_t len = sizeof(error);

	if (getsockopt(ws->stream.fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
		error = errno;
	if (error && ws->address) {
		mor_watch_stop(&ws->watch);
		mor_fd_close(&ws->stream.fd);
		mor_ws_try_next(ws);
	} else if (error)
		mor_ws_fail(ws, "%s", strerrordesc_np(error));
	else if (ws->tls) {
		ws->state = MOR_WS_SECURING;
		if (!mor_tls_begin(&ws->stream, ws->tls, ws->came ? NULL : ws->url.host))
			mor_ws_fail(ws, "TLS cannot be set up");
	} else {
		ws->state = MOR_WS_UPGRADING;
		mor_ws_begin_upgrade(ws);
	}
}

/* ---- we connect ---- */

static void on_resolved(void *arg, struct addrinfo *list, const char *error)
{
	struct mor_ws *ws = arg;

	mor_resolve_free(mor_take(&ws->resolve));
	if (error) {
		mor_ws_fail(ws, "%s: %s", ws->url.host, error);
		return;
	}
	ws->addresses = ws->address = list;
	mor_ws_try_next(ws);
}

int mor_ws_connect(struct mor_loop *loop, const struct mor_url *url, const char *token, struct mor_tls *tls,
		   const struct mor_ws_options *options, struct mor_ws **ret)
{
	struct mor_ws *ws = mor_ws_new(loop, options);

	if (!ws)
		return MORTISE_ENOMEM;
	ws->url = *url;
	ws->tls = url->tls ? tls : NULL;
	ws->token = mor_strdup(token);
	ws->resolve = mor_resolve(loop, url->host, url->port, on_resolved, ws);
	if (!ws->resolve || (token && !ws->token)) {
		mor_ws_free(ws);
		return MORTISE_ENOMEM;
	}
	*ret = ws;
	return 0;
}

/* ---- somebody connects to us ---- */

struct mor_ws *mor_ws_incoming_take(struct mor_ws_server *server, int fd, const char *from)
{
	const struct mor_ws_server_options *options = &server->options;
	struct mor_ws *ws = mor_ws_new(server->loop, &options->connection);

	if (!ws) {
		mor_fd_close(&fd);
		return NULL;
	}
	set_options(fd);
	ws->stream.fd = fd;
	ws->came = true;
	ws->server = server;
	ws->tls = options->url->tls ? options->tls : NULL;
	snprintf(ws->from, sizeof(ws->from), "%s", from);
	if (mor_watch_start(ws->loop, &ws->watch, fd, MOR_READABLE, mor_ws_on_watch) < 0) {
		ws->server = NULL; /* not in its list yet */
		mor_ws_free(ws);
		return NULL;
	}
	mor_ws_on_connected(ws);
	return ws;
}
