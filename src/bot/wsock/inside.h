/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of this room. */
#ifndef MOR_WSOCK_INSIDE_H
#define MOR_WSOCK_INSIDE_H

#include <netdb.h>
#include <sys/types.h>

#include "base/buf.h"
#include "wsock/wsock.h"

/* ---- stream.c, tls.c: bytes over a socket ---- */

struct mor_stream {
	int fd;    /* -1: none */
	void *ssl; /* NULL: plain */
	/* MOR_READABLE, MOR_WRITABLE: what the last call that returned MOR_WS_STREAM_WAIT waits for */
	unsigned wants;
	char why[160]; /* what was wrong, after MOR_WS_STREAM_FAILED */
};

enum { MOR_WS_STREAM_END = 0, MOR_WS_STREAM_WAIT = -1, MOR_WS_STREAM_FAILED = -2 };

/* Returns the number of bytes, or one of the above. */
ssize_t mor_stream_read(struct mor_stream *stream, void *bytes, size_t len);
ssize_t mor_stream_write(struct mor_stream *stream, const void *bytes, size_t len);
void mor_stream_close(struct mor_stream *stream);
/* Decrypted bytes that wait: the descriptor does not show them. */
bool mor_stream_has_more(const struct mor_stream *stream);

/* Sets up our side of TLS. The certificate must name `host`; NULL: we are the server. false: out of memory. */
bool mor_tls_begin(struct mor_stream *stream, struct mor_tls *tls, const char *host);
/* 1: done; or MOR_WS_STREAM_WAIT, MOR_WS_STREAM_FAILED. */
int mor_tls_handshake(struct mor_stream *stream);
ssize_t mor_tls_read(struct mor_stream *stream, void *bytes, size_t len);
ssize_t mor_tls_write(struct mor_stream *stream, const void *bytes, size_t len);
void mor_tls_end(struct mor_stream *stream);
bool mor_tls_has_more(const struct mor_stream *stream);

/* ---- http.c: the handshake of a WebSocket; pure ---- */

#define MOR_HTTP_LIMIT   16384 /* limit of a head in bytes */
#define MOR_HTTP_HEADERS 100

struct mor_http {
	int status;                           /* of a response   */
	struct mor_slice method, path, query; /* of a request    */
	struct {
		struct mor_slice name, value;
	} headers[MOR_HTTP_HEADERS];
	size_t count;
};

/* The length of the head with its blank line; 0: not complete yet. */
size_t mor_http_end(struct mor_slice bytes);
/* `ret` borrows. NULL, or what is wrong. */
const char *mor_http_parse_request(struct mor_slice head, struct mor_http *ret);
const char *mor_http_parse_response(struct mor_slice head, struct mor_http *ret);

#define MOR_WS_KEY    25 /* 16 random bytes in base64 */
#define MOR_WS_ACCEPT 29 /* a SHA-1 in base64         */
void mor_http_accept(struct mor_slice key, char ret[MOR_WS_ACCEPT]);
int mor_http_write_request(const struct mor_url *url, const char *token, const char *key, struct mor_buf *out);
/* NULL: the server agrees to a WebSocket; else what is wrong. */
const char *mor_http_check_response(const struct mor_http *head, const char *key);
/* 0, or the HTTP status of the refusal, with what is wrong. */
int mor_http_check_request(const struct mor_http *head, const char **ret_wrong);
int mor_http_write_response(const struct mor_http *head, struct mor_buf *out);
int mor_http_write_refusal(int status, struct mor_buf *out);

/* ---- frames.c: messages and frames, by wslay ---- */

struct mor_frames;
struct mor_frames_handler {
	void (*message)(void *arg, struct mor_slice text);
	void (*binary)(void *arg, size_t len);
};
struct mor_frames *mor_frames_new(bool server, size_t limit, const struct mor_frames_handler *handler,
				  void *arg);
void mor_frames_free(struct mor_frames *frames);
/* Processes all of them, with callbacks. 0 or MORTISE_ENOMEM. */
int mor_frames_feed(struct mor_frames *frames, struct mor_slice bytes);
int mor_frames_send(struct mor_frames *frames, struct mor_slice text);
int mor_frames_ping(struct mor_frames *frames);
int mor_frames_close(struct mor_frames *frames, uint16_t status, const char *reason);
/* Moves queued bytes to `out` until it holds `most` bytes. */
int mor_frames_write(struct mor_frames *frames, struct mor_buf *out, size_t most);
size_t mor_frames_waiting(const struct mor_frames *frames);
/* Nothing more is read: the peer has closed, or has broken the rules and is told so. */
bool mor_frames_ending(const struct mor_frames *frames);
/* The peer has sent a close frame. */
bool mor_frames_closed_by_peer(const struct mor_frames *frames);
/* How it ended, for people: "it closed the connection (1001 going away)". */
const char *mor_frames_why(const struct mor_frames *frames, char *out, size_t size);

/* ---- resolve.c: from names to addresses ---- */

struct mor_resolve;
/* `error` is NULL, or why there are no addresses. The callback owns the list: freeaddrinfo(). It is never
 * called from inside mor_resolve(). */
typedef void mor_resolve_fn(void *arg, struct addrinfo *list, const char *error);
struct mor_resolve *mor_resolve(struct mor_loop *loop, const char *host, uint16_t port, mor_resolve_fn *fn,
				void *arg);
void mor_resolve_free(struct mor_resolve *resolve); /* no callback after this; NULL is fine */

/* ---- conn.c ---- */

/* A connection that somebody opened to us. Takes the descriptor, also on failure. NULL: out of memory. */
struct mor_ws *mor_ws_incoming_take(struct mor_ws_server *server, int fd, const char *from);
/* server.c: the handshake of `ws` is done, or it has ended before: the server removes it from its list. */
void mor_ws_server_forget(struct mor_ws_server *server, struct mor_ws *ws);

#endif
