/* SPDX-License-Identifier: Apache-2.0 */
/* One call, from the message to its answer. Shared by what functions use (values.c, answer.c, ask.c) and by
 * what brings them their calls (message.c, and one file per dialect). */
#ifndef TENON_CALL_H
#define TENON_CALL_H

#include <stdbool.h>

#include <tenon/tenon.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/slice.h"
#include "wire/json.h"

struct tn_session;
struct tn_hand;

struct tn_bytes { /* what the call owns until it ends: decoded data, copies of messages */
	struct tn_bytes *next;
	struct mor_buf buf;
};

struct tn_trees { /* documents of earlier messages of a conversation */
	struct tn_trees *next;
	struct mor_doc *doc;
};

/* An error without its id. */
struct tn_fault {
	int64_t code;
	const char *message;
	struct mor_slice data; /* JSON; ptr NULL: none */
};

/* How the answers to a call look. Each appends the response to call->out, or sends a notification. 0, or
 * negative if it does not fit. */
struct tn_shape {
	int (*result)(tenon_call *call, struct mor_slice json);
	int (*error)(tenon_call *call, const struct tn_fault *fault);
	int64_t failed; /* the code of TENON_EFAILED */
};
extern const struct tn_shape tn_shape_rpc; /* JSON-RPC's own response */

struct tenon_call {
	struct tn_session *session;
	const tenon_plugin *plugin;
	const struct tn_shape *shape;
	const char *name;             /* of the method, command or hook */
	struct mor_slice id;          /* verbatim; ptr NULL: a notification     */
	struct mor_slice params_text; /* verbatim; ptr NULL: absent             */
	struct mor_doc *sent;         /* the same, parsed when first asked for  */
	/* parameters made from it: checked, with fallbacks; NULL: not needed */
	struct mor_doc *filled;
	const struct mor_value *given; /* parameters that are a part of `sent`; NULL: all of it */
	struct mor_buf *out;           /* the answer is appended here            */
	size_t out_start;              /* where it begins                        */
	bool answered;
	bool over;               /* nobody listens any more: a conversation that got no answer */
	bool in_batch;           /* cannot converse */
	bool asked;              /* a conversation: other calls may have been served since it began */
	struct tn_hand *resumer; /* of a conversation: the thread that gave it its last answer */
	bool no_memory;
	uint64_t seq;         /* the turn that its function runs in */
	struct mor_buf built; /* what the tenon_put_... functions write */
	struct mor_writer writer;
	bool misbuilt;
	struct mor_buf pieces; /* streamed, where the dialect has no stream */
	struct mor_buf files;  /* tenon_wrote(): JSON texts with commas */
	tenon_message message;
	struct tn_bytes *bytes;
	struct tn_trees *trees;
};

void tn_call_init(tenon_call *call, struct tn_session *session);
void tn_call_fini(tenon_call *call);
/* Forgets the message but keeps what it handed out: a conversation goes on with another. */
void tn_call_renew(tenon_call *call);
/* Memory that lives as long as the call, NUL behind it (so there is a block even for no bytes); NULL without
 * memory. _take leaves *from empty. */
const struct mor_buf *tn_call_take(tenon_call *call, struct mor_buf *from);
const char *tn_call_keep(tenon_call *call, struct mor_slice bytes);
/* Params of the message, parsed; NULL: absent, or no memory (which the call remembers). */
const struct mor_value *tn_call_sent(const tenon_call *call);
/* A part of the params as the parameters of the function. */
void tn_call_give(tenon_call *call, const struct mor_value *given);

/* JSON-RPC's error, whatever the call's shape: for what was refused before the function was called. */
int tn_refuse(tenon_call *call, int64_t code, const char *message, struct mor_slice data);
int tn_refuse_text(tenon_call *call, int64_t code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* -32601 with the name that nobody has: {"method": name} or {"function": name}. */
int tn_refuse_name(tenon_call *call, const char *what, struct mor_slice name);

/* Whether this JSON text is a string; the pieces and its content in front of each other, as JSON text. */
bool tn_is_text(struct mor_slice json);
/* Writes a text: the pieces of the call, then the JSON text's own (a string; anything else counts as empty). */
void tn_put_pieced(struct mor_writer *w, tenon_call *call, struct mor_slice json);

static inline const tenon_value *tn_outer(const struct mor_value *value)
{
	return (const tenon_value *)value;
}

static inline const struct mor_value *tn_inner(const tenon_value *value)
{
	return (const struct mor_value *)value;
}

#endif
