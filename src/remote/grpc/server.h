/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The other end of grpc.h: a gRPC server on one connected socket, on a mor_loop. For plugins, whose only client
 * is the host that has started them.
 *
 *	connection  mor_grpc_serve_take() .. on_end, once .. freed by itself
 *	call        on_call .. on_message* .. on_finish .. mor_grpc_reply()* .. mor_grpc_close(), or on_gone
 *
 * After mor_grpc_close() and after on_gone the call must not be used. Events come from the loop. A deadline is
 * the client's: it breaks the call off, which is on_gone.
 *
 * A client may have 100 calls at a time, each with one message of message_limit bytes that is not complete yet;
 * header fields of 16 KiB; no compression.
 */
#ifndef MOR_GRPC_SERVER_H
#define MOR_GRPC_SERVER_H

#include "base/buf.h"
#include "grpc/grpc.h"

#define MOR_GRPC_METHOD 128 /* no method of ours has a longer name */

struct mor_grpc_server;

struct mor_grpc_inbound {
	void *owner; /* of the code that serves it; NULL at first */
	char method[MOR_GRPC_METHOD];
	struct mor_grpc_server *server;
	/* the rest is server.c's */
	struct mor_list node;
	struct mor_grave grave;
	int32_t stream;
	struct mor_buf in, out;
	size_t out_done;
	bool wrong_type, begun, responded, closed;
	unsigned status;
	char text[300]; /* as it is sent: escaped */
};

struct mor_grpc_server_options {
	size_t message_limit;
	void (*on_call)(void *arg, struct mor_grpc_inbound *call);
	void (*on_message)(void *arg, struct mor_grpc_inbound *call, struct mor_slice message);
	void (*on_finish)(void *arg, struct mor_grpc_inbound *call); /* no more messages will come */
	void (*on_gone)(void *arg, struct mor_grpc_inbound *call);   /* broken off, or the connection is lost */
	void (*on_end)(void *arg, struct mor_grpc_server *server);   /* the connection, after its calls */
	void *arg;
};

/* Takes `fd`, also on failure. 0, MORTISE_ENOMEM, MORTISE_ESYSTEM. */
int mor_grpc_serve_take(struct mor_loop *loop, int fd, const struct mor_grpc_server_options *options,
			struct mor_grpc_server **ret);
/* Ends it now: on_gone for its calls, and on_end. */
void mor_grpc_server_end(struct mor_grpc_server *server);
/* Tells the client that no more calls are taken; those that run go on. */
void mor_grpc_server_leave(struct mor_grpc_server *server);
/* Both sides have said everything in all calls, and the client has taken it. */
bool mor_grpc_server_idle(const struct mor_grpc_server *server);
/* Bytes that its client has not taken yet. */
size_t mor_grpc_server_waiting(const struct mor_grpc_server *server);

/* Queues one message; without memory the connection ends. */
void mor_grpc_reply(struct mor_grpc_inbound *call, struct mor_slice message);
/* The end of the answer. `text` may be "". */
void mor_grpc_close(struct mor_grpc_inbound *call, enum mor_grpc_status status, const char *text);

#endif
