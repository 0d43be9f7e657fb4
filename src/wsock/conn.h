/* SPDX-License-Identifier: Apache-2.0 */
/* One connection, between the files that open it and the one that runs it. */
#ifndef MOR_WSOCK_CONN_H
#define MOR_WSOCK_CONN_H

#include "wsock/inside.h"

enum mor_ws_state {
	MOR_WS_RESOLVING,
	MOR_WS_CONNECTING,
	MOR_WS_SECURING,  /* the handshake of TLS        */
	MOR_WS_UPGRADING, /* the handshake of HTTP       */
	MOR_WS_OPEN,
	MOR_WS_CLOSING,   /* what is queued goes out, then it ends */
	MOR_WS_CLOSED
};

struct mor_ws {
	struct mor_loop *loop;
	struct mor_ws_options options;
	enum mor_ws_state state;
	struct mor_stream stream;
	struct mor_watch watch;
	struct mor_timer timer; /* of the handshake; then of silence; then of the end */
	struct mor_task again;  /* there is more to read, and the descriptor does not tell */
	struct mor_task end;    /* tells that it is over */
	struct mor_grave grave;

	/* Until it is open. */
	struct mor_url url;
	char *token;
	char key[MOR_WS_KEY];
	struct mor_tls *tls;
	struct mor_resolve *resolve;
	struct addrinfo *addresses, *address;
	struct mor_buf in; /* the head of HTTP */
	struct mor_ws_server *server; /* that it came to; NULL: we have opened it, or it is in */
	char from[64];

	struct mor_frames *frames;
	struct mor_buf out;
	size_t sent; /* of out */
	unsigned read_wants, write_wants;
	int64_t heard_ms, wrote_ms;
	bool came;   /* to us, as to a server */
	bool pinged, paused, gone;
	bool mute;   /* nothing can be written any more */
	int refusal;
	char why[256];
};

/* conn.c */
struct mor_ws *mor_ws_new(struct mor_loop *loop, const struct mor_ws_options *options);
/* The end, told later. The first reason stays. */
void mor_ws_fail(struct mor_ws *ws, const char *format, ...) __attribute__((format(printf, 2, 3)));
void mor_ws_fail_memory(struct mor_ws *ws);
/* Reads and writes what can be, judges where it stands, and asks the loop for what it waits for. */
void mor_ws_turn(struct mor_ws *ws);
void mor_ws_on_watch(struct mor_watch *watch, unsigned events);
/* A socket is connected: on to TLS, or to HTTP. */
void mor_ws_on_connected(struct mor_ws *ws);

/* upgrade.c: HTTP. `bytes` came now; what belongs to frames is left in ws->in. */
void mor_ws_begin_upgrade(struct mor_ws *ws);
void mor_ws_upgrade(struct mor_ws *ws);
/* conn.c: the handshake is done; `rest` are the first frames. */
void mor_ws_on_upgraded(struct mor_ws *ws, struct mor_slice rest);

/* connect.c: the next address, or the end. */
void mor_ws_try_next(struct mor_ws *ws);

#endif
