/* SPDX-License-Identifier: Apache-2.0 */
/* What a link holds. */
#ifndef MOR_ONEBOT_INSIDE_H
#define MOR_ONEBOT_INSIDE_H

#include "base/list.h"
#include "loop/loop.h"
#include "onebot/link.h"
#include "onebot/seen.h"
#include "wsock/wsock.h"

/* what a connection is for */
enum mor_onebot_role { MOR_ONEBOT_UNIVERSAL, MOR_ONEBOT_EVENTS, MOR_ONEBOT_CALLS };

/* One connection. */
struct mor_onebot_peer {
	struct mor_list node;
	struct mor_onebot_link *link;
	struct mor_ws *ws;
	uint64_t id;
	bool forward, is_open;
	enum mor_onebot_role role;
	char *self_id;        /* NULL: not known yet                    */
	char from[64];        /* reverse                                */
	uint32_t interval_ms; /* of its heartbeat; 0: it has none */
	struct mor_timer beat;
	bool offline;
	unsigned rubbish; /* one after the other */
	char why[100];    /* we are ending it */
};

struct mor_onebot_link {
	struct mor_onebot_link_options options;
	struct mor_loop *loop;
	struct mor_tls *trust, *identity;
	struct mor_ws_server *server;
	struct mor_list peers; /* oldest first */
	unsigned count;
	uint64_t last_id, refusals, rubbish;
	struct mor_timer retry;
	unsigned failures; /* one after the other */
	bool paused, closing;
	struct mor_seen seen;
};

#endif
