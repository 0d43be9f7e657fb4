/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call: started, queued until a slot is free, written, answered or not, settled exactly once.
 *
 *	QUEUED --slot--> WRITING --last byte--> SENT --answer--> settled
 *	   |                |                     |--time-out, cancel--> settled, and LATE keeps the slot
 *	   `-- queue_ms, cancel, death: settled ---'                      until the answer comes or silence
 *
 *	call.c    what the embedder asks for becomes a call    settle.c  how a call ends; time limits; ghosts
 *	send.c    into the queue and into the link             doom.c    calls that end together
 *	answer.c  is this answer a success? synchronous calls
 *
 * Greetings, pings and goodbyes are calls too. They have another purpose and skip the queue.
 */
#ifndef MOR_HOST_CALL_H
#define MOR_HOST_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include <mortise/mortise.h>

#include "base/buf.h"
#include "base/list.h"
#include "base/slice.h"
#include "loop/loop.h"

struct mor_message;
struct mor_method;
struct mor_value;

enum mor_call_state {
	MOR_CALL_IDLE,    /* in the spare list                                                       */
	MOR_CALL_QUEUED,  /* waits for the plugin to be ready and for a slot                         */
	MOR_CALL_WRITING, /* given to the link */
	MOR_CALL_SENT,    /* its last byte is written: the time limit runs                           */
	MOR_CALL_TAKEN,   /* in no list: about to be sent or settled                                 */
	MOR_CALL_LATE,    /* settled (time-out, cancel), but its slot is kept; nobody is told any more */
	MOR_CALL_DOOMED   /* its process has ended; its callback comes in a later dispatch */
};

enum mor_call_purpose { MOR_FOR_USER, MOR_FOR_GREETING, MOR_FOR_PING, MOR_FOR_BYE, MOR_FOR_CANCEL };

#define MOR_SHORT_NAME 40 /* a length that the compiler knows is copied without a call */

/* At the same place in both kinds of calls that an embedder can hold: of a plugin, and of a pool (struct
 * mor_pool_job). Behind the node, which is found most often. */
struct mor_call_kind {
	bool of_pool;
};

struct mortise_call {
	struct mor_list node; /* queue, writing, flight or spare */
	struct mor_call_kind kind;
	struct mortise_call *chain; /* in the id table */
	mortise_plugin *plugin;
	const struct mor_method *method; /* the row; never NULL */
	char *name;                      /* wire method: short_name, or separate memory */
	size_t name_len;
	/* Set when it is sent, not before. */
	uint64_t begin, end; /* link->queued before and after it was given to the link */
	uint64_t taken;      /* link->written when due_ms was set, while it is written */
	uint64_t older;      /* link->older when its last byte was written */
	/* From here to `timeout_ms`: zero in a new call (clear_call()). */
	enum mor_call_state state;
	enum mor_call_purpose purpose;
	uint64_t flags;
	int64_t id;
	int64_t sent_ms, piece_ms, late_since_ms;
	bool acked, no_slot; /* no_slot: a ping that may be sent beside a call */
	bool own_limit;      /* timeout_ms was given with the call */
	/* a function up the stack is about to end it: code that ends the plugin leaves it to that function */
	bool in_hand;
	/* the plugin may have seen some of it; not known before the writing has ended */
	bool reached;
	bool one_line;   /* no newline between the tokens of its params */
	bool plain_name; /* it needs no escape in JSON */
	int64_t due_ms;  /* when the time of its state is over; 0: never */
	mortise_reply_fn *on_reply;
	void *arg;
	uint32_t queue_ms;
	uint32_t timeout_ms;
	/* Empty when a call ends, and so in the next one. */
	struct mor_task cancel_task;
	struct mor_buf params; /* only while queued; or large ones, until they are sent */
	/* instead of `params`: the embedder's memory, which waits with it (only while queued) */
	struct mor_slice lent;
	/* Kept when a call struct is used again. The timer is set for due_ms or earlier. It is not touched when
	 * a call ends or its limit moves further away, so that nearly no call costs more than a comparison. */
	struct mor_timer timer;
	char short_name[MOR_SHORT_NAME];
};

/* How a call ends. Everything is borrowed during mor_call_settle(). */
struct mor_verdict {
	int status;
	bool keep; /* it opens or keeps a session */
	struct mor_slice result, error_data;
	const mortise_error *error;
	struct mor_slice next; /* MORTISE_PAGES: params of the next page */
	bool said;             /* EREMOTE inside the result ("ok": false), not an error response */
};

/* ---- call.c: beginning ---- */

/* mortise_call_start() after its checks: the options are our own. */
int mor_call_start(mortise_plugin *plugin, const char *action, mortise_json params,
		   const mortise_call_options *opt, mortise_call **ret_call, mortise_error *err);
/* Internal calls (greeting, ping, bye) skip the queue. `params` may be absent. */
int mor_call_internal(mortise_plugin *plugin, const struct mor_method *method, enum mor_call_purpose purpose,
		      struct mor_slice params, mortise_error *err);
/* Tells the plugin that nobody waits for it any longer, if its dialect has a message for that, or
 * cancel.method names one. */
void mor_call_send_cancel(mortise_call *call);
/* Ends it with MORTISE_ECANCELED, now. Not a ghost. */
void mor_call_cancel_now(mortise_call *call);

/* ---- send.c: into the link ---- */

/* 0, or why every call would be refused: released, FAILED, or being stopped. */
int mor_call_check_running(mortise_plugin *plugin, mortise_error *err);
/* Sends it now, or lets it wait; starts the plugin if needed. On failure it is in no list. */
int mor_call_launch(mortise_call *call, struct mor_slice params, mortise_error *err);
/* Hands the call to the link. On failure nothing has changed. */
int mor_call_transmit(mortise_call *call, struct mor_slice params, mortise_error *err);
/* Sends what the slots allow. Called when a slot, the state or the health changes. */
void mor_call_pump(mortise_plugin *plugin);
/* The link's pipe has taken this many bytes since the start. */
void mor_call_written(mortise_plugin *plugin, uint64_t total);

/* ---- answer.c: what came ---- */

/* An answer arrived: result or error. The row judges it (ok, why, fields) before it is settled. */
void mor_call_answer(mortise_call *call, const struct mor_message *message);
/* The params of a call that is queued; {NULL, 0}: none. */
static inline struct mor_slice mor_call_waiting(const mortise_call *call)
{
	if (call->lent.ptr)
		return call->lent;
	return call->params.len ? mor_buf_view(&call->params) : (struct mor_slice){ 0 };
}
/* The params of the call stay where they are until it is settled: mortise_call_sync() waits for that, others
 * say MORTISE_LENT. Before it is settled, its link gives them back. */
bool mor_call_lends(const mortise_call *call);
/* The rule behind mor_outcome.ok. */
bool mor_says_failure(const char *ok, const struct mor_value *value);

/* ---- settle.c: ending ---- */

/* A piece: the call goes on. */
void mor_call_piece(mortise_call *call, struct mor_slice data);
/* The last callback. keep_slot: the plugin may still answer, so the call stays as a ghost (LATE). */
void mor_call_settle(mortise_call *call, const struct mor_verdict *verdict, bool keep_slot);
void mor_call_fail(mortise_call *call, const mortise_error *error);
/* Nobody waits for it any longer: the plugin is told. `killed`: it is ended for that, and its other calls fail
 * so; NULL: it goes on. The caller holds the plugin. */
void mor_call_give_up(mortise_call *call, const mortise_error *error, const mortise_error *killed);
/* May the plugin still answer after the end of the call? Then its slot stays taken. */
bool mor_call_keeps_slot(const mortise_call *call);
/* Ends a ghost: its slot is free again. */
void mor_call_release(mortise_call *call);
/* The only call in flight that still waits for an answer, or NULL. */
mortise_call *mor_call_only(mortise_plugin *plugin);
/* The time limit from now on: until its acknowledgement, if one is missing, else until its answer. */
uint32_t mor_call_limit_ms(const mortise_call *call);
/* The call's time is over in `in_ms` from now (0: no limit). */
void mor_call_set_due(mortise_call *call, uint32_t in_ms);
/* Sets the time limit of the first call that is not completely written, unless it has a queue_ms. The
 * limit runs from the last byte that the plugin took, so that we do not wait for ever for a plugin that
 * reads nothing. */
void mor_call_watch_writing(mortise_plugin *plugin);
/* Removes it from its list, its slot and the id table. After that only the caller's pointer knows it. */
void mor_call_unlink(mortise_call *call);
/* Removes it from the queue, if it waits there. */
void mor_call_leave_queue(mortise_call *call);
/* Gives back a call that is in no list: kept for reuse, or freed with its timer. */
void mor_call_recycle(mortise_host *host, mortise_call *call);
void mor_call_free(mortise_host *host, mortise_call *call);
void mor_call_free_spares(mortise_host *host);

/* ---- doom.c: ending together ---- */

/* Takes running calls (and, if asked, waiting ones) and ghosts away from the plugin, so that a new process
 * can begin. Then the state changes, then the calls fail. The order matters, because callbacks start calls. */
void mor_call_take(mortise_plugin *plugin, struct mor_list *ret_taken, bool queued_too);
void mor_call_fail_taken(mortise_plugin *plugin, struct mor_list *taken, const struct mor_verdict *verdict);
/* Fails the calls that wait. */
void mor_call_fail_queued(mortise_plugin *plugin, const struct mor_verdict *verdict);
/* Calls at once all callbacks that were left for later. */
void mor_call_end_dooms(mortise_plugin *plugin);

#endif
