/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of this room. */
#ifndef MOR_GRPC_INSIDE_H
#define MOR_GRPC_INSIDE_H

#include "base/buf.h"
#include "grpc/grpc.h"

#define MOR_GRPC_PREFIX 5 /* bytes before a message: compressed or not, and its length */

struct nghttp2_session;

struct mor_grpc {
	struct mor_loop *loop;
	struct mor_grpc_options options;
	int fd;                          /* -1: it has ended */
	struct nghttp2_session *session; /* until it is freed */
	struct mor_watch watch;
	struct mor_task flush, tell;
	struct mor_timer ping;
	struct mor_buf out; /* bytes for the socket */
	size_t out_done;
	struct mor_list calls;
	struct mor_grave grave;
	bool spoke;           /* a frame has come */
	bool heard, pinged;   /* since the timer was set; a ping waits for its answer */
	bool leaving;         /* it sent GOAWAY */
	bool deaf;            /* it takes no more bytes; what it still says is read */
	bool ended;           /* `why` says why; no frame comes or goes any more */
	bool freed;           /* by its owner: no event any more */
	mortise_error reason; /* what nghttp2 or the peer said last; code 0: nothing */
	mortise_error why;
};

/* What is kept of the answer's header fields. An empty text: no such field came. */
struct mor_grpc_reply {
	char http_status[8], content_type[80], encoding[32], status[16], message[1024];
};

enum mor_grpc_phase {
	MOR_GRPC_LIVE,
	MOR_GRPC_SETTLED, /* how it ended is known; the owner is not told yet */
	MOR_GRPC_GONE     /* the owner knows, or has freed the connection */
};

struct mor_grpc_call {
	struct mor_grpc *grpc;
	struct mor_grpc_call_options options;
	struct mor_list node; /* in grpc->calls, until GONE */
	struct mor_grave grave;
	enum mor_grpc_phase phase;
	int32_t stream; /* of HTTP/2 */
	struct mor_timer deadline;
	struct mor_task turn; /* hands on what could not be handed on at once, and the end */
	struct mor_grpc_reply reply;
	size_t header_bytes;
	struct mor_buf in; /* messages with their prefixes, not handed on yet */
	size_t in_done;    /* bytes of it that are */
	size_t held;       /* bytes of it that the peer has not been credited for */
	struct mor_buf out;
	size_t out_done;
	bool finished;              /* no more messages from us */
	bool peer_done, peer_reset; /* all of the answer has come; the peer has reset the stream */
	bool stream_gone;           /* the stream is closed, by us or by the server */
	bool drained;               /* all of `out` has left, and on_drained is due */
	bool paused;
	bool dropped; /* what is in `in` is not handed on any more */
	unsigned status;
	mortise_error err; /* code 0: a good end */
	/* unary.c: `method` and `message` of it are not kept */
	struct mor_grpc_unary unary;
	struct mor_buf answer;
	unsigned answers;
};

/* ---- client.c: the connection ---- */

/* There are frames to send. */
void mor_grpc_wake(struct mor_grpc *grpc);
/* Ends it: the first reason counts. */
void mor_grpc_break(struct mor_grpc *grpc, const mortise_error *why);

/* ---- call.c ---- */

/* How it ends. The stream is reset if it is still open. Nothing happens if that was known before. */
void mor_grpc_settle(struct mor_grpc_call *call, unsigned status, int code, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* From the session: */
void mor_grpc_take_header(struct mor_grpc_call *call, struct mor_slice name, struct mor_slice value);
void mor_grpc_take_headers_end(struct mor_grpc_call *call); /* one block of header fields is complete */
void mor_grpc_take_data(struct mor_grpc_call *call, struct mor_slice bytes);
void mor_grpc_take_end(struct mor_grpc_call *call); /* the peer has sent everything */
/* The stream was closed before: by the peer, or by nghttp2 because the peer broke a rule. */
void mor_grpc_take_close(struct mor_grpc_call *call, uint32_t error, const char *error_name);
/* Next bytes for the stream; 0: none now, or none any more if ret_last. */
size_t mor_grpc_give_data(struct mor_grpc_call *call, void *out, size_t room, bool *ret_last);
/* Frees it without an event. */
void mor_grpc_drop(struct mor_grpc_call *call);

/* ---- status.c: numbers and texts; pure ---- */

/* "%41b%" is "Ab%": what is no escape stays. */
size_t mor_grpc_unescape(struct mor_slice text, char *out, size_t size);
/* The value of grpc-timeout: at most eight digits and a unit. */
const char *mor_grpc_timeout(uint32_t ms, char out[16]);
/* The status of MORTISE for what a plugin has answered. */
int mor_grpc_status_code(unsigned status);
unsigned mor_grpc_status_of_http(unsigned http_status);
unsigned mor_grpc_status_of_reset(uint32_t error);

/* ---- session.c: HTTP/2, by nghttp2 ---- */

int mor_h2_open(struct mor_grpc *grpc); /* 0 or MORTISE_ENOMEM */
void mor_h2_close(struct mor_grpc *grpc);
/* Reads frames, with callbacks. 0, or a status with `err`. */
int mor_h2_feed(struct mor_grpc *grpc, struct mor_slice bytes, mortise_error *err);
/* Appends frames to `out` until it holds `most` bytes or more. */
int mor_h2_pull(struct mor_grpc *grpc, struct mor_buf *out, size_t most, mortise_error *err);
/* Neither side has anything to say any more. */
bool mor_h2_is_over(const struct mor_grpc *grpc);
int mor_h2_request(struct mor_grpc_call *call); /* sets call->stream */
void mor_h2_resume(struct mor_grpc_call *call); /* there is data again */
/* Cuts the call from its stream, and resets the stream if the peer does not know that the call is over. */
void mor_h2_detach(struct mor_grpc_call *call);
void mor_h2_credit(struct mor_grpc_call *call, size_t len); /* the peer may send so much more */
int mor_h2_ping(struct mor_grpc *grpc);

#endif
