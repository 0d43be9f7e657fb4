/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between gRPC and the session that serves stdin: a call of the host becomes a JSON-RPC request in memory, and
 * the answer comes back the same way. The bridge has no thread: the thread that reads for the session turns its
 * loop, and the thread that sends sees to it that the bytes leave. So a short call costs no change of threads.
 *
 * What is in here belongs to the thread that turns the loop, or else to the one that holds `lock`.
 */
#ifndef TENON_BRIDGE_H
#define TENON_BRIDGE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <tenon/tenon.h>

#include "base/buf.h"
#include "base/list.h"
#include "grpc/server.h"
#include "loop/loop.h"
#include "session.h"

struct tn_bridge {
	const tenon_plugin *plugin;
	const char *usual_kind; /* of a command with a bare name */
	struct mor_loop *loop;
	struct tn_wire wire; /* for the session */
	int listener;
	struct mor_watch listening, woken;
	pthread_mutex_t lock;
	pthread_cond_t turned;
	bool turning;           /* a thread turns the loop, without the lock */
	unsigned senders;       /* threads that want it */
	struct mor_list guests; /* connections */
	struct mor_list asked;  /* calls that the session has not answered */
	int64_t last_id;
	struct mor_buf lines;     /* that the session has not read yet */
	struct mor_buf workspace; /* as Initialize has said it */
	bool over;                /* the session has ended */
};

/* A call that the session has. */
struct tn_asked {
	struct mor_list node;
	int64_t id;
	bool streams;
	void (*answer)(struct mor_grpc_inbound *call, bool ok, struct mor_slice json);
	struct mor_grpc_inbound *call;
};

/* Takes `listener`; `wake` is that of the session. 0 or -1. */
int tn_bridge_init_take(struct tn_bridge *bridge, const tenon_plugin *plugin, int listener, int wake);
/* The session has ended, but is not gone yet. What waits still leaves, for at most two seconds. */
void tn_bridge_leave(struct tn_bridge *bridge);
void tn_bridge_fini(struct tn_bridge *bridge);

/* Sends a request to the session. NULL without memory. */
struct tn_asked *tn_bridge_ask(struct tn_bridge *bridge, const char *method, const struct mor_buf *params);
/* The host does not want its answer any more. */
void tn_bridge_cancel(struct tn_bridge *bridge, const struct tn_asked *asked);

/* ---- services.c ---- */

void tn_services_call(struct tn_bridge *bridge, struct mor_grpc_inbound *call);
void tn_services_message(struct tn_bridge *bridge, struct mor_grpc_inbound *call, struct mor_slice message);
/* The host has said everything: without a message it has asked nothing. */
void tn_services_finish(struct mor_grpc_inbound *call);
/* A note of a call that streams. */
void tn_services_note(struct mor_grpc_inbound *call, struct mor_slice method, struct mor_slice params);

#endif
