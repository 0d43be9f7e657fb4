/* SPDX-License-Identifier: Apache-2.0 */
/*
 * WebSockets (RFC 6455) over TCP or TLS, as client and as server, on a mor_loop: nothing blocks, and what
 * follows from a turn of the loop comes as a callback. wslay cuts and makes the frames, OpenSSL encrypts; both
 * stay inside this room.
 *
 * What a peer may do to us: send whatever it likes, at whatever pace. A message is at most `limit` bytes, a
 * handshake has HANDSHAKE_MS in all, one turn of the loop takes at most 64 KiB of input, and from a peer that
 * takes none of our bytes none are read. Silence is answered with pings, and silence on these with the end.
 *
 *	host names       looked up by glibc's resolver thread: a slow name server holds up nobody
 *	certificates     verified, names included, always; `ca_file` replaces the system's authorities
 *	extensions       none (no compression)
 */
#ifndef MOR_WSOCK_WSOCK_H
#define MOR_WSOCK_WSOCK_H

#include <stdbool.h>
#include <stdint.h>

#include <mortise/mortise.h>

#include "base/slice.h"
#include "base/url.h"
#include "loop/loop.h"

#define MOR_WS_HANDSHAKE_MS 10000 /* from the first packet to an open connection */
#define MOR_WS_CLOSE_MS     2000  /* time that a peer has for the close */

struct mor_ws;
struct mor_ws_server;
struct mor_tls;

/* ---- TLS: our certificate, and those we trust ---- */

/* `ca_file` NULL: the system's authorities. NULL with err, which names the file. */
struct mor_tls *mor_tls_client(const char *ca_file, mortise_error *err);
struct mor_tls *mor_tls_server(const char *cert_file, const char *key_file, mortise_error *err);
/* Call it after the connections that use it have ended. NULL is fine. */
struct mor_tls *mor_tls_free(struct mor_tls *tls);

/* ---- connections ---- */

/* Callbacks may call every function here. mor_ws_free() then takes effect when they have returned. */
struct mor_ws_handler {
	void (*opened)(struct mor_ws *ws);
	void (*message)(struct mor_ws *ws, struct mor_slice text); /* valid UTF-8, whole, borrowed */
	void (*binary)(struct mor_ws *ws, size_t len);             /* messages that are not text are dropped */
	/* The last callback: the connection could not be opened, or has ended. `why` is one line for people.
	 * After this only mor_ws_free() may be called. */
	void (*closed)(struct mor_ws *ws, const char *why);
};

struct mor_ws_options {
	const struct mor_ws_handler *handler;
	void *arg;
	size_t limit;     /* of one message                                                    */
	uint32_t ping_ms; /* after so much silence: a ping; after twice that: the end */
};

/* `url`, `token` (NULL: none) and `tls` (NULL: only for ws) are used until the connection is open. 0, or
 * MORTISE_ENOMEM. All other errors are reported by closed(), never from inside this call. */
int mor_ws_connect(struct mor_loop *loop, const struct mor_url *url, const char *token, struct mor_tls *tls,
		   const struct mor_ws_options *options, struct mor_ws **ret);
/* Never calls back. An open connection is simply dropped: call mor_ws_close() first to end it politely. NULL
 * is fine. */
void mor_ws_free(struct mor_ws *ws);
void *mor_ws_arg(const struct mor_ws *ws);
/* Queues one text message; it is sent as fast as the peer takes it. 0, MORTISE_ENOMEM, MORTISE_ECLOSED. */
int mor_ws_send(struct mor_ws *ws, struct mor_slice text);
size_t mor_ws_waiting(const struct mor_ws *ws); /* bytes that the peer has not taken yet, about */
/* Sends what is queued and then a close frame, with an RFC 6455 status (1001: going away). closed() follows,
 * after MOR_WS_CLOSE_MS at the latest. */
void mor_ws_close(struct mor_ws *ws, uint16_t status, const char *reason);
/* While this is on, nothing is read. Then the peer's silence does not count. */
void mor_ws_pause(struct mor_ws *ws, bool on);

/* ---- a server ---- */

struct mor_http;
/* A header by its name, in any case; the first of several. {NULL, 0}: no such header. */
struct mor_slice mor_http_header(const struct mor_http *head, const char *name);
/* The path, and the text after "?", as they came. */
struct mor_slice mor_http_path(const struct mor_http *head);
struct mor_slice mor_http_query(const struct mor_http *head);

struct mor_ws_server_options {
	const struct mor_url *url; /* host: an address of this machine */
	struct mor_tls *tls;       /* needed if the url is wss */
	unsigned most;             /* handshakes at a time; further ones wait in the kernel */
	struct mor_ws_options connection;
	/* A client wants to connect. 0: yes, and *ret_arg belongs to the connection; else the HTTP status of
	 * the refusal. */
	int (*judge)(struct mor_ws_server *server, const struct mor_http *head, const char *from,
		     void **ret_arg);
	/* It is accepted; its handshake is not done yet. opened() or closed() follows. */
	void (*accepted)(struct mor_ws *ws);
	/* It is not accepted: a broken handshake, or a refusal. */
	void (*refused)(struct mor_ws_server *server, const char *from, const char *why);
	void *arg;
};
int mor_ws_listen(struct mor_loop *loop, const struct mor_ws_server_options *options,
		  struct mor_ws_server **ret, mortise_error *err);
/* Accepts no more. Open connections belong to the caller; those in their handshake are dropped. NULL is
 * fine. */
void mor_ws_server_free(struct mor_ws_server *server);
void *mor_ws_server_arg(const struct mor_ws_server *server);

#endif
