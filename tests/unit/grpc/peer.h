/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The other end of a connection, for tests: a real HTTP/2 server (nghttp2) that does what the test tells it, on
 * a socketpair. The loop has the virtual clock. settle() moves bytes both ways until nothing moves any more.
 */
#ifndef TESTS_UNIT_GRPC_PEER_H
#define TESTS_UNIT_GRPC_PEER_H

#include <nghttp2/nghttp2.h>

#include "base/buf.h"
#include "grpc/grpc.h"

#define PEER_STREAMS 8
#define MESSAGE_MAX  (1024 * 1024)
#define QUEUE_MAX    (64 * 1024)

/* What the server has got and gives on one stream: number 1, 3, 5 .. is at 0, 1, 2 .. */
struct peer_stream {
	struct mor_buf fields; /* "name: value\n" */
	struct mor_buf got;    /* bytes of DATA */
	bool got_end, closed;
	uint32_t reset; /* the code of RST_STREAM, plus 1; 0: none */
	struct mor_buf body;
	size_t body_done;
	const char *const *trailers; /* name, value, .., NULL */
	bool body_ends;              /* else more may follow */
};

/* What the caller has got. */
struct heard {
	struct mor_grpc_call *call;
	struct mor_buf messages; /* each with a bar behind it; long ones as their length */
	unsigned ends, drained, count;
	unsigned status;
	mortise_error err;
	bool pause_at_once, cancel_at_once, free_at_once;
};

struct rig {
	struct mor_loop *loop;
	struct mor_grpc *grpc;
	int fd; /* the server's end */
	nghttp2_session *server;
	struct mor_buf out; /* its bytes that the socket has not taken */
	struct peer_stream streams[PEER_STREAMS];
	unsigned pings;
	bool stalled; /* the server neither reads nor writes */
	unsigned ends;
	mortise_error why;
	bool short_of_memory; /* the client gets `allocations` more, and then none */
	long allocations;
};
extern struct rig rig;

/* `server` false: the other end is a bare socket, rig.fd. */
void set_up(uint32_t ping_ms, bool server);
void tear_down(void);
void settle(void);

/* Begins a call; everything that it hears is kept in `heard`. */
void begin(struct heard *heard, const char *method, uint32_t timeout_ms);
void forget(struct heard *heard);
void expect_messages(struct heard *heard, const char *wanted);
/* The call has ended exactly once, with this code and a text that contains `part`. */
void expect_end(const struct heard *heard, unsigned status, int code, const char *part);
/* The connection has ended exactly once. */
void expect_broken(int code, const char *part);

/* ---- the server's side; `fields` and `trailers` are name, value, .., NULL ---- */

extern const char *const plain_fields[], *const good_trailers[];
/* The length and the bytes, as gRPC has them. */
void prefixed(struct mor_buf *out, const char *text);
/* The head of an answer; then body_add() and body_end(). */
void answer(int32_t stream, const char *const *fields);
void answer_only(int32_t stream, const char *const *fields); /* a head that is the end, too */
void body_add(int32_t stream, const void *bytes, size_t len);
void body_message(int32_t stream, const char *text);
void body_end(int32_t stream, const char *const *trailers); /* NULL: none */
/* All of it: one message, status 0. */
void answer_well(int32_t stream, const char *text);
struct peer_stream *stream_of(int32_t stream);
void expect_field(int32_t stream, const char *line);
/* Raw bytes from the other end. */
void say_raw(const void *bytes, size_t len);

#endif
