/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A gRPC client over a connected socket, on a mor_loop: no thread, nothing blocks. nghttp2 makes and reads the
 * frames of HTTP/2, and stays inside this room. A message is bytes here: who calls knows its protobuf type.
 *
 *	connection  mor_grpc_new_take() .. on_end, at most once .. mor_grpc_free()
 *	call        mor_grpc_call() .. on_message* .. on_end, exactly once; then the call is freed
 *
 * Events come from the loop, never from inside a function here. A callback may call every function,
 * mor_grpc_free() too: after that no event comes, not even the end of the calls.
 *
 * A unary call is one mor_grpc_send(), mor_grpc_finish(), one message (or mor_grpc_unary() for all of it). A
 * stream is as many as both sides like, in any order.
 *
 * What a peer may do to us: send whatever it likes, at whatever pace.
 *	one message         at most message_limit bytes, both ways
 *	what is not taken   while a call is paused, its peer may send one window (256 KiB) and then waits
 *	what is not read    our messages wait in the call, at most queue_limit bytes; then MORTISE_EOVERLOAD
 *	header lists        at most 16 KiB for each answer; only the fields that count are kept
 *	SETTINGS, PING, ..  answers that it does not take: at most 1,000, then the connection ends
 *	silence             ping_ms, and the deadline of each call
 *	compression         refused: we say that we take none
 */
#ifndef MOR_GRPC_GRPC_H
#define MOR_GRPC_GRPC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mortise/mortise.h>

#include "base/slice.h"
#include "loop/loop.h"

struct mor_grpc;
struct mor_grpc_call;

/* The numbers of gRPC. */
enum mor_grpc_status {
	MOR_GRPC_OK,
	MOR_GRPC_CANCELLED,
	MOR_GRPC_UNKNOWN,
	MOR_GRPC_INVALID_ARGUMENT,
	MOR_GRPC_DEADLINE_EXCEEDED,
	MOR_GRPC_NOT_FOUND,
	MOR_GRPC_ALREADY_EXISTS,
	MOR_GRPC_PERMISSION_DENIED,
	MOR_GRPC_RESOURCE_EXHAUSTED,
	MOR_GRPC_FAILED_PRECONDITION,
	MOR_GRPC_ABORTED,
	MOR_GRPC_OUT_OF_RANGE,
	MOR_GRPC_UNIMPLEMENTED,
	MOR_GRPC_INTERNAL,
	MOR_GRPC_UNAVAILABLE,
	MOR_GRPC_DATA_LOSS,
	MOR_GRPC_UNAUTHENTICATED,
	MOR_GRPC_STATUSES
};
/* "UNAVAILABLE"; "status 77" for a number that gRPC does not have, written into `out`. */
const char *mor_grpc_status_name(unsigned status, char out[32]);

/* ---- a connection ---- */

struct mor_grpc_options {
	size_t message_limit; /* of one message */
	size_t queue_limit;   /* of what waits in one call; one message may always wait */
	/* After so much silence a ping, and without an answer in the same time the end; 0: never. A server on
	 * gRPC's own library sends us away for more than one ping in 5 minutes while no data comes. */
	uint32_t ping_ms;
	/* The connection has ended by itself; calls that are not paused have got their ends before. No new call
	 * can be made. `why`: MORTISE_ECLOSED, _EPROTO, _ETIMEOUT (ping), _ENOMEM, _ESYSTEM; a text without the
	 * plugin's name. May be NULL. */
	void (*on_end)(void *arg, const mortise_error *why);
	void *arg;
};

/* Takes `fd`, also on failure: a connected stream socket, which becomes non-blocking. The options are copied.
 * 0, MORTISE_ENOMEM, MORTISE_ESYSTEM. */
int mor_grpc_new_take(struct mor_loop *loop, int fd, const struct mor_grpc_options *options,
		      struct mor_grpc **ret);
/* Drops the connection and all its calls, without an event. NULL is fine; returns NULL. */
struct mor_grpc *mor_grpc_free(struct mor_grpc *grpc);

/* ---- a call ---- */

struct mor_grpc_call_options {
	const char *method;  /* "/package.Service/Method" */
	uint32_t timeout_ms; /* 0: none. The peer is told (grpc-timeout), and we watch it ourselves */
	void (*on_message)(void *arg, struct mor_slice message);
	/* All that was sent has left; more may be sent. NULL: not of interest. */
	void (*on_drained)(void *arg);
	/* `err` NULL: status is MOR_GRPC_OK. Else code and text, without the plugin's name; rpc_code is the
	 * number of gRPC if the plugin itself said it (MORTISE_EREMOTE). */
	void (*on_end)(void *arg, unsigned status, const mortise_error *err);
	void *arg;
};

/* 0, MORTISE_EINVAL (not such a method), MORTISE_ECLOSED (it has ended, or is going away), MORTISE_ENOMEM. */
int mor_grpc_call(struct mor_grpc *grpc, const struct mor_grpc_call_options *options,
		  struct mor_grpc_call **ret, mortise_error *err);
/* Queues one message. 0, MORTISE_EINVAL after mor_grpc_finish(), MORTISE_ELIMIT, MORTISE_EOVERLOAD,
 * MORTISE_ECLOSED (its end is on the way), MORTISE_ENOMEM. */
int mor_grpc_send(struct mor_grpc_call *call, struct mor_slice message);
/* No more messages from us. */
void mor_grpc_finish(struct mor_grpc_call *call);
/* While this is on, no message is handed on, nor the end that the peer sends, and the peer has to wait. The
 * deadline and mor_grpc_cancel() still end the call. */
void mor_grpc_pause(struct mor_grpc_call *call, bool on);
/* Tells the peer (RST_STREAM). on_end follows with MORTISE_ECANCELED, unless it was on the way already;
 * messages that were not handed on are dropped. */
void mor_grpc_cancel(struct mor_grpc_call *call);

/* One message there and one back; 0, or as mor_grpc_call() and mor_grpc_send(). on_done comes exactly once;
 * `err` NULL: `message` is the answer. No answer, or a second one, is MORTISE_EPROTO. `ret` may be NULL; the
 * call can be cancelled until on_done. */
struct mor_grpc_unary {
	const char *method;
	struct mor_slice message;
	uint32_t timeout_ms;
	void (*on_done)(void *arg, struct mor_slice message, unsigned status, const mortise_error *err);
	void *arg;
};
int mor_grpc_unary(struct mor_grpc *grpc, const struct mor_grpc_unary *unary, struct mor_grpc_call **ret,
		   mortise_error *err);

#endif
