/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plugin at work: its wire, its state, its threads.
 *
 * Threads. One thread has the *baton*: it reads the wire and calls the author's functions. At first it is the
 * one that called tenon_run(). A function that waits in tenon_ask() keeps its thread; the baton goes to another
 * (hands.c). A thread without the baton touches nothing here but under `lock`.
 *
 * The watcher (watcher.c) reads the wire in place of the baton's holder while a call lasts long. `watching`
 * says which of the two it is; the hand-over is under `lock`.
 */
#ifndef TENON_SESSION_H
#define TENON_SESSION_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "call.h"
#include "wire/envelope.h"
#include "wire/framing.h"

struct tn_dialect;
struct tn_hand;
struct tn_wait;

struct tn_kept { /* a message that the watcher read and left for later */
	struct tn_kept *next;
	size_t len;
	bool acked;     /* its acknowledgement has been sent */
	bool cancelled; /* before its turn came */
	char body[];
};

struct tn_turn { /* one message at work, on the stack of the thread that works on it */
	struct mor_slice body;
	size_t used;          /* bytes of the input that it takes; 0: it is no part of it any more */
	struct tn_kept *kept; /* owns the body */
	struct mor_buf held;  /* owns the body, after it was detached from the input */
};

/* Where lines come from and go to, if that is not a pair of descriptors (sdk/grpc). */
struct tn_wire {
	/* Waits until something has happened, and appends what has come, if anything. False at the end. */
	bool (*read)(struct tn_wire *wire, struct mor_buf *input);
	/* Sends one message. Two threads may, and one may read meanwhile. */
	void (*write)(struct tn_wire *wire, struct mor_slice body);
};

struct tn_session {
	const tenon_plugin *plugin;
	const struct tn_dialect *dialect; /* NULL until the first bytes have told it */
	bool plain;                       /* it is plain; the first bytes tell the framing */
	enum mor_framing framing;
	size_t limit; /* bytes of a message */
	int in, out;
	struct tn_wire *wire; /* instead of both; it ends a read when `wake` is readable. NULL: none */
	int64_t born_ms;

	/* Reading. */
	struct mor_deframer deframer;
	struct mor_buf input;
	size_t taken; /* bytes of it that are over */
	bool eof;
	int read_errno;
	struct tn_kept *kept, *kept_last;
	size_t kept_bytes;

	/* Writing. */
	pthread_mutex_t out_lock; /* never held together with `lock` */
	struct mor_buf frame;     /* under out_lock */
	atomic_bool gone;         /* nobody reads what we write */
	struct mor_buf answer;    /* of the message at work */
	struct mor_buf note;      /* a notification that is being made */

	/* Life. */
	atomic_bool started;
	bool ending; /* the loop is over: what waits gets no answer */
	struct mor_doc *config;
	atomic_bool stop; /* SIGTERM, or nobody listens: end as soon as possible */

	/* Threads. All under `lock`. */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct tn_hand *hands, *holder, *spare;
	struct tn_wait *waiting, *waiting_last; /* conversations, the oldest first */
	unsigned waiting_count;
	bool quit;                          /* threads end */
	struct tn_turn *turn;               /* at work; NULL: none */
	uint64_t seq;                       /* counts turns; written by the baton's holder alone */
	atomic_uint_fast64_t cancelled_seq; /* the turn whose call is cancelled */
	pthread_t watcher, grace;
	bool has_watcher, asleep, watching, give_back, has_grace, grace_over, calm;
	int wake;      /* eventfd: wakes the watcher */
	int interrupt; /* the signal that ends a read of the holder's; 0: none */
};

int tn_session_init(struct tn_session *s, const tenon_plugin *plugin, const struct tn_dialect *dialect);
void tn_session_fini(struct tn_session *s);
/* From now on; called once, before the first message. */
void tn_session_speak(struct tn_session *s, const struct tn_dialect *dialect, enum mor_framing framing);
/* Serves in and out until the end; 0, or 1 if reading failed. The thread that calls it is the first. */
int tn_serve(struct tn_session *s);

/* The same, and SIGTERM ends it in order. */
int tn_serve_signals(struct tn_session *s);
/* PROGRAM --manifest, --help. -1: nothing was asked for. Else the program's status. */
int tn_answer_option(const tenon_plugin *plugin);

/* What a thread does that has the baton. */
void tn_lead(struct tn_session *s);
/* The loop ends after this message. */
void tn_end(struct tn_session *s);

/* ---- reader.c ---- */

enum tn_step { TN_STEP_MORE, TN_STEP_MESSAGE, TN_STEP_BROKEN };
/* The next message of the input. MORE: read first. BROKEN: nothing can be read any more. */
enum tn_step tn_step(struct tn_session *s, struct tn_turn *ret);
/* Reads what there is. Sets eof at the end and on error. */
void tn_read(struct tn_session *s);
/* Waits for the next message: true, or false at the end. */
bool tn_next(struct tn_session *s, struct tn_turn *ret);
/* The input may go on without the message's bytes: the turn owns them now. */
void tn_turn_detach(struct tn_session *s, struct tn_turn *turn);
void tn_turn_end(struct tn_session *s, struct tn_turn *turn);
int tn_keep(struct tn_session *s, struct mor_slice body, bool acked);

/* ---- send.c ---- */

void tn_send(struct tn_session *s, struct mor_slice body);
void tn_send_answer(struct tn_session *s); /* what is in s->answer, if anything */
/* A notification with what `put` writes as its params. */
void tn_send_note(struct tn_session *s, const char *method, const struct mor_buf *params);
void tn_say(const struct tn_session *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- message.c ---- */

void tn_answer_turn(struct tn_session *s, struct tn_turn *turn);
/* Calls the author's function and sees that it answers. */
void tn_call_function(tenon_call *call, const char *name, tenon_method_fn *fn);
/* on_start, unless it has been called. False: the call was refused. */
bool tn_ensure_started(tenon_call *call);

/* ---- life.c ---- */

/* Runs on_start for the dialect's own init. 0, or the call has failed. What on_start answered is appended to
 * `applied`. `config` (may be NULL) is kept for tenon_config(). */
int tn_start(tenon_call *call, const struct mor_value *config, struct mor_buf *applied);
void tn_stop(struct tn_session *s); /* on_stop, if started */

/* ---- watcher.c ---- */

int tn_watcher_start(struct tn_session *s);
void tn_watcher_stop(struct tn_session *s);
/* Around the work on a message: between them the watcher may read. */
void tn_busy(struct tn_session *s, struct tn_turn *turn);
void tn_idle(struct tn_session *s);
/* Tells the running call that nobody wants it; if it does not end in time the process does. */
void tn_cancel(struct tn_session *s);
/* From a signal handler too. */
void tn_request_stop(struct tn_session *s);

/* ---- hands.c ---- */

struct tn_wait { /* a conversation that waits for its user */
	struct tn_wait *next;
	tenon_call *call;
	struct tn_hand *hand;
	const char *answer; /* NULL: no answer came */
};

int tn_hands_init(struct tn_session *s);
void tn_hands_fini(struct tn_session *s); /* all other threads have ended then */
/* Waits in the middle of a call for an answer; NULL: no answer comes. */
const char *tn_wait_answer(tenon_call *call);
/* Gives a waiting call the message that answers it, and comes back when it waits again or has ended. `text`
 * NULL: there is no answer. */
void tn_resume(struct tn_session *s, struct tn_wait *wait, const struct mor_message *message, const char *text);
/* No answer, in the middle of other work. */
void tn_give_up(struct tn_session *s, struct tn_wait *wait);
/* A conversation has ended on this thread: who resumed it goes on. */
void tn_conversed(struct tn_session *s, tenon_call *call);
/* This thread waited for the baton until everything ended: it must touch nothing but its own. */
bool tn_lost(void);
/* Ends what waits. True on the first thread; all others have nothing left to do. */
bool tn_wind_up(struct tn_session *s);

#endif
