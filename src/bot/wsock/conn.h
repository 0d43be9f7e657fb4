/* SPDX-License-Identifier: Apache-2.0 */
/* One connection. Shared by the files that open it and the file that runs it. */
#ifndef MOR_WSOCK_CONN_H
#define MOR_WSOCK_CONN_H

#include "wsock/inside.h"

enum mor_ws_state {
	MOR_WS_RESOLVING,
	MOR_WS_CONNECTING,
	MOR_WS_SECURING,  /* the handshake of TLS        */
	MOR_WS_UPGRADING, /* the handshake of HTTP       */
	MOR_WS_OPEN,
	MOR_WS_CLOSING, /* queued bytes are sent, then it ends */
	MOR_WS_CLOSED
};

struct mor_ws {
	struct mor_loop *loop;
	struct mor_ws_options options;
	enum mor_ws_state state;
	struct mor_stream stream;
	struct mor_watch watch;
	struct mor_timer timer; /* of the handshake; then of silence; then of the close */
	struct mor_task again;  /* there is more to read, but the descriptor does not show it */
	struct mor_task end;    /* reports the end */
	struct mor_grave grave;

	/* Until it is open. */
	struct mor_url url;
	char *token;
	char key[MOR_WS_KEY];
	struct mor_tls *tls;
	struct mor_resolve *resolve;
	struct addrinfo *addresses, *address;
	struct mor_buf in;            /* the head of HTTP */
	struct mor_ws_server *server; /* the server it came to; NULL: we opened it, or its handshake is done */
	char from[64];

	struct mor_frames *frames;
	struct mor_buf out;
	size_t sent; /* of out */
	unsigned read_wants, write_wants;
	int64_t heard_ms, wrote_ms;
	bool came; /* a client of our server */
	bool pinged, paused, gone;
	bool mute; /* writing is not possible any more */
	char why[256];
};

#define MOR_WS_DOORS 4 /* "localhost" has two addresses */

/* One address of the host. */
struct mor_ws_door {
	struct mor_ws_server *server;
	struct mor_watch watch;
	int fd;
};

struct mor_ws_server {
	struct mor_loop *loop;
	struct mor_ws_server_options options;
	struct mor_url url;
	struct mor_ws_door doors[MOR_WS_DOORS];
	unsigned door_count;
	struct mor_timer rest;
	struct mor_ws **young; /* connections whose handshake is not done yet */
	size_t count;
};

/* conn.c */
struct mor_ws *mor_ws_new(struct mor_loop *loop, const struct mor_ws_options *options);
/* Ends the connection; the callback comes later. The first reason is kept. */
void mor_ws_fail(struct mor_ws *ws, const char *format, ...) __attribute__((format(printf, 2, 3)));
void mor_ws_fail_memory(struct mor_ws *ws);
/* Reads and writes what is possible, updates the state, and tells the loop what to wait for. */
void mor_ws_turn(struct mor_ws *ws);
void mor_ws_on_watch(struct mor_watch *watch, unsigned events);
/* The socket is connected: TLS or HTTP comes next. */
void mor_ws_on_connected(struct mor_ws *ws);

/* upgrade.c: HTTP. `bytes` have just come; bytes of frames are left in ws->in. */
void mor_ws_begin_upgrade(struct mor_ws *ws);
void mor_ws_upgrade(struct mor_ws *ws);
/* conn.c: the handshake is done; `rest` holds the first frames. */
void mor_ws_on_upgraded(struct mor_ws *ws, struct mor_slice rest);

/* connect.c: tries the next address, or ends. */
void mor_ws_try_next(struct mor_ws *ws);

#endif
