/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside of the host room: the structs behind the public handles, and who may call what.
 *
 *	host.c       the host itself: loop, thread rule, tap          plugin.c     making, reading settings, refs
 *	state.c      states, legal moves, the one writer              greet.c      HELLO and INIT after a start
 *	call.c       a call is started, queued, sent, cancelled       settle.c     how calls end; time limits; ghosts
 *	answer.c     is this answer a success? synchronous calls      table.c      id -> call
 *	receive.c    what arrives: replies, notes, faults             request.c    what the plugin asks; batches
 *	supervise.c  end, stop, breach                                health.c     pings and their verdicts
 *	start.c      start, backoff, restart
 *	client.c     plugins that call and are served                 describe.c   describe JSON
 *	pool.c       several workers, one queue                       ladder.c     the rungs of a stop
 *	stdio.c      the stdio link                                   intake.c     bytes in, messages out, for any link
 *	settings.c   configuration -> numbers                         options.c    versioned option structs
 *	rows.c       the rows a plugin's quirks leave                 session.c    conversations (keep) and their total
 *	template.c   params from a row's template                     shape.c      one process per call: how such a process ends
 *	view.c       what a plugin sees of the file system            doom.c       calls that end together
 *	owner.c      whose thread may call; forked children           events.c, env.c
 *
 * Everything runs in the loop's dispatch or in a public function; user callbacks only through the three
 * mor_host_... wrappers in host.c, which count how deep we are in them.
 */
#ifndef MOR_HOST_HOST_H
#define MOR_HOST_HOST_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <mortise/mortise.h>

#include "base/buf.h"
#include "base/list.h"
#include "dialect/dialect.h"
#include "host/link.h"
#include "host/policy.h"
#include "loop/loop.h"
#include "manifest/manifest.h"
#include "proc/proc.h"

/* ---- host ---- */

/* owner.c: whose thread may call */
struct mor_owner {
	_Atomic pthread_t thread; /* 0, which is nobody's: a copy in a forked child */
	pid_t pid;
	unsigned refs;
};
struct mor_owner *mor_owner_new(void); /* the calling thread; NULL: out of memory */
struct mor_owner *mor_owner_ref(struct mor_owner *owner);
void mor_owner_unref(struct mor_owner *owner); /* NULL is fine */
static inline bool mor_owner_is_us(const struct mor_owner *owner)
{
	return atomic_load_explicit(&owner->thread, memory_order_relaxed) == pthread_self();
}
/* Are we a child that was forked from the host's process? A system call: for ways out only. */
bool mor_owner_is_copy(const struct mor_owner *owner);

struct mortise_host {
	struct mor_loop *loop;
	struct mor_owner *owner;
	bool is_copy;                /* in a forked child, being freed: nobody is told, nothing outside is touched */
	mortise_event_fn *on_event;
	void *arg;
	mortise_tap_fn *tap;
	void *tap_arg;
	struct mor_list plugins, pools;
	struct mor_list orphans;     /* requests whose plugin is gone, until they are answered */
	struct mor_list spare_calls; /* calls are recycled: no allocation on the hot path */
	unsigned spare_count;
	unsigned in_callback;
	struct mor_buf compose;      /* the message being written; reused */
	mor_link_make_fn *make_link;
	const struct mor_dialect *dialect; /* one more than the registry has, or NULL: tests bring theirs */
	uint32_t random;             /* jitter of the backoff */
	char *helper;                /* where mortise-jail is; NULL: where it was installed */
};

/* For tests: a virtual clock and another kind of link. */
int mor_host_new_with(const mortise_host_options *opt, unsigned loop_flags, mor_link_make_fn *make_link,
		      mortise_host **ret_host, mortise_error *err);

/* 0, or MORTISE_ETHREAD on a foreign thread. */
int mor_host_check_thread(const mortise_host *host, mortise_error *err);
int mor_host_fail_thread(mortise_error *err);
/* The same, and MORTISE_ECALLBACK inside a callback or dispatch. */
int mor_host_check_outside(const mortise_host *host, mortise_error *err);
/* For ways out: the same as mor_host_check_thread(), but a forked child may free its copy, which is made harmless first. */
int mor_host_check_leaving(mortise_host *host);
void mor_host_tap(mortise_plugin *plugin, enum mortise_tap_direction direction, struct mor_slice body);

/* ---- options.c: caller's struct of any known size -> ours ---- */
int mor_import_options(const void *given, void *ret, size_t known_size, mortise_error *err);

/* ---- calls ---- */

enum mor_call_state {
	MOR_CALL_IDLE,    /* in the spare list                                                       */
	MOR_CALL_QUEUED,  /* waits for the plugin to be ready and for a slot                         */
	MOR_CALL_WRITING, /* given to the link                                                       */
	MOR_CALL_SENT,    /* its last byte is written: the time limit runs                           */
	MOR_CALL_TAKEN,   /* in no list: about to be sent or settled                                 */
	MOR_CALL_LATE,    /* settled (time-out, cancel), but its slot is kept: nobody is told any more */
	MOR_CALL_DOOMED   /* its process has ended; its turn to be told comes in a later dispatch     */
};

enum mor_call_purpose { MOR_FOR_USER, MOR_FOR_GREETING, MOR_FOR_PING, MOR_FOR_BYE, MOR_FOR_CANCEL };

struct mor_verdict; /* below */

struct mortise_call {
	struct mor_list node;         /* queue, writing, flight or spare */
	struct mortise_call *chain;   /* in the id table */
	mortise_plugin *plugin;
	const struct mor_method *method; /* the row; never NULL */
	char *name;                   /* wire method: short_name, or memory of its own */
	char short_name[40];
	enum mor_call_state state;
	enum mor_call_purpose purpose;
	uint64_t flags;
	int64_t id;
	uint64_t begin, end;          /* link->queued before and after it was given to the link */
	uint64_t older;               /* link->older when its last byte was written */
	uint32_t timeout_ms, queue_ms;
	int64_t sent_ms, piece_ms, late_since_ms;
	bool acked, no_slot;          /* no_slot: a ping that may go out beside a call */
	bool in_hand;                 /* a frame on the stack is about to end it: whoever ends the plugin leaves it to that one */
	bool reached;                 /* the plugin may have seen some of it; of what is being written: known at its end */
	int64_t due_ms;               /* when its state's time is up; 0: never */
	struct mor_task cancel_task;
	mortise_reply_fn *on_reply;
	void *arg;
	struct mor_buf params;        /* only while queued */
	/* What a call keeps when it is used again; last. Set for due_ms or earlier: it is not touched when a call ends,
	 * nor when its limit moves further away, so that nearly no call costs more than a comparison. */
	struct mor_timer timer;
};

/* How a call ends. Everything is borrowed for the length of mor_call_settle(). */
struct mor_verdict {
	int status;
	bool keep;                    /* it opens or keeps a session */
	struct mor_slice result, error_data;
	const mortise_error *error;
	struct mor_slice next;        /* MORTISE_PAGES: what the next page's params have */
	bool said; /* EREMOTE that stands in the result ("ok": false), not an error response */
};

struct mor_call_table { /* id -> call, chained, power of two */
	mortise_call **slots;
	size_t mask, count;
};
int mor_table_add(struct mor_call_table *table, mortise_call *call);
mortise_call *mor_table_find(const struct mor_call_table *table, int64_t id);
void mor_table_remove(struct mor_call_table *table, mortise_call *call);
void mor_table_fini(struct mor_call_table *table);

/* mortise_call_start() behind its checks: the options are our own. */
int mor_call_start(mortise_plugin *plugin, const char *action, mortise_json params, const mortise_call_options *opt,
		   mortise_call **ret_call, mortise_error *err);
/* Internal calls (greeting, ping, bye) skip the queue. `params` may be absent. */
int mor_call_internal(mortise_plugin *plugin, const struct mor_method *method, enum mor_call_purpose purpose,
		      struct mor_slice params, mortise_error *err);
/* Sends what the slots allow. Called whenever a slot, the state or the health changes. */
void mor_call_pump(mortise_plugin *plugin);
void mor_call_written(mortise_plugin *plugin, uint64_t total);
/* A piece: the call goes on. */
void mor_call_piece(mortise_call *call, struct mor_slice data);
/* The last callback. keep_slot: the plugin may still answer, so the call stays as a ghost (LATE). */
void mor_call_settle(mortise_call *call, const struct mor_verdict *verdict, bool keep_slot);
/* An answer arrived: result or error, judged by the row (ok, why, fields) before it is settled. */
void mor_call_answer(mortise_call *call, const struct mor_message *message);
void mor_call_fail(mortise_call *call, const mortise_error *error);
/* The rule behind mor_method.ok. */
bool mor_says_failure(const char *ok, const struct mor_value *value);
/* Takes what runs (and, if asked, what waits) out of the plugin's hands, ghosts included, so that a new
 * process can begin; then the state changes; then they fail. In that order, because callbacks start calls. */
void mor_call_take(mortise_plugin *plugin, struct mor_list *ret_taken, bool queued_too);
void mor_call_fail_taken(mortise_plugin *plugin, struct mor_list *taken, const struct mor_verdict *verdict);
/* Tells at once whom that has left for later. */
void mor_call_end_dooms(mortise_plugin *plugin);
/* May the plugin still answer after the call is over? Then its slot stays taken. */
bool mor_call_keeps_slot(const mortise_call *call);
void mor_call_send_cancel(mortise_call *call);
void mor_call_unlink(mortise_call *call);
/* Out of the queue, where it waits in one. */
void mor_call_leave_queue(mortise_call *call);
void mor_call_recycle(mortise_host *host, mortise_call *call);
/* Gives back one that is in no list. */
void mor_call_free(mortise_host *host, mortise_call *call);
/* How long it may take from now on: until its acknowledgement, where it owes one, else until its answer. */
uint32_t mor_call_limit_ms(const mortise_call *call);
/* For the text of a time-out: what whoever never got a message of the plugin should look at; "" for others. */
enum { MOR_MUTE_SIZE = 160 };
const char *mor_plugin_mute(const mortise_plugin *plugin, char text[static MOR_MUTE_SIZE]);
/* The call's time is up in `in_ms` from now (0: no limit). */
void mor_call_set_due(mortise_call *call, uint32_t in_ms);
/* Ends a ghost: its slot is free again. */
void mor_call_release(mortise_call *call);
/* Fails what waits. */
void mor_call_fail_queued(mortise_plugin *plugin, const struct mor_verdict *verdict);
/* The only call in flight that still waits for an answer, or NULL. */
mortise_call *mor_call_only(mortise_plugin *plugin);
void mor_call_free_spares(mortise_host *host);

/* ---- requests from the plugin ---- */

#define MOR_BATCH_ELEMENTS 4096    /* of one batch; and what their answers may come to while it is read: the rest */
#define MOR_BATCH_BYTES (1 << 20) /* is refused with one error                                                   */

struct mor_batch {
	unsigned open;       /* elements not answered yet, plus one while the batch is being read */
	struct mor_buf out;  /* "[...": replies so far */
	bool sent;           /* before its time, with a breach: nothing is added any more */
};

struct mortise_request {
	struct mor_list node;
	mortise_host *host;
	mortise_plugin *plugin; /* NULL once it died */
	struct mor_batch *batch;
	const struct mor_method *row; /* NULL: no row names it */
	char *id;               /* verbatim JSON */
	bool answered;
};
#define MOR_OPEN_REQUESTS 4096 /* per plugin; more are refused with -32000 */
void mor_request_receive(mortise_plugin *plugin, const struct mor_message *message, struct mor_batch *batch);
void mor_request_batch(mortise_plugin *plugin, const struct mor_message *message);
void mor_request_drop_all(mortise_plugin *plugin);
void mor_request_free_orphans(mortise_host *host);
/* Answers on behalf of nobody: no handle was made. */
void mor_request_refuse(mortise_plugin *plugin, struct mor_slice id, struct mor_batch *batch, int64_t code,
			const char *message);
/* An error response, where the message has an id. code MORTISE_EPROTO is a breach: what the batch holds so far goes out,
 * and the session ends. */
void mor_request_error(mortise_plugin *plugin, const struct mor_message *message, struct mor_batch *batch,
		       mortise_error *error);

/* ---- client.c: plugins that call and are served ---- */

struct mor_work { /* what the plugin has taken (TAKE) */
	const struct mor_method *row; /* NULL: the place is free */
	bool handed_out;              /* answered: until DONE it is under way */
};
/* The time limit of the plugin's own greeting begins. */
void mor_client_await_hello(mortise_plugin *plugin);
/* May this request or note be heard yet, or still? false: it was a breach, and that has been seen to. */
bool mor_client_admits(mortise_plugin *plugin, const struct mor_method *row, const struct mor_message *message,
		       struct mor_batch *batch);
void mor_client_greeted(mortise_plugin *plugin, const struct mor_method *row, struct mor_slice answer);
/* As mor_client_admits(), of the one place for such requests; asked() takes it. */
bool mor_client_has_place(mortise_plugin *plugin, const struct mor_method *row, const struct mor_message *message,
			  struct mor_batch *batch);
void mor_client_asked(mortise_plugin *plugin, const struct mor_method *row);
void mor_client_answered(mortise_plugin *plugin, const struct mor_method *row, bool success);
/* DONE came. true: it ended something, tell the embedder. */
bool mor_client_finished(mortise_plugin *plugin, const struct mor_message *message);
/* An end that is no death (restart.clean), and where the plugin goes after it. */
bool mor_client_left(const mortise_plugin *plugin, const struct mor_link_end *how);
enum mortise_state mor_client_after_leaving(mortise_plugin *plugin, mortise_error *failure);
void mor_client_answer_fault(mortise_plugin *plugin, enum mor_fault fault, const char *text);

/* ---- plugins ---- */

enum mor_rung { MOR_RUNG_NONE, MOR_RUNG_BYE, MOR_RUNG_INPUT, MOR_RUNG_TERM, MOR_RUNG_KILL };

struct mor_counters {
	uint64_t calls, answered, failed, timeouts, restarts, noise_bytes, stderr_bytes, dropped, bytes_in, bytes_out;
	uint64_t cpu_us; /* of processes that have ended */
};

/* When the plugin is asked how it is, and what silence means: the dialect's health and watchdog as one mask. */
enum mor_ask {
	MOR_ASK_FIRST = 1,
	MOR_ASK_AFTER_TIMEOUT = 2,
	MOR_ASK_IDLE = 4,
	MOR_ASK_BUSY = 8,
	MOR_ASK_KILL = 16,
	MOR_ASK_LEARN = 32
};

struct mor_health_state {
	int healthy;          /* 1, 0, -1: not known                                    */
	bool unimplemented;   /* -32601: never asked again                              */
	bool asked;           /* in this process                                        */
	bool pinging, holding; /* holding: calls wait for this ping's answer            */
	unsigned asks;        /* enum mor_ask, less what the quirk `watchdog` takes     */
	bool learned;         /* has answered a ping during a call, in this process     */
	bool owed;            /* a ping was given up and has not been answered since    */
	int64_t during;       /* id of the call beside which the last ping went out; 0: none */
	unsigned misses;
	int64_t since_ms;
	uint32_t every_ms;
	char status[32], reason[256];
	struct mor_timer timer;
};

/* A conversation that `keep` opened. */
struct mor_keep_state {
	bool open, announced;
	uint32_t total_ms;    /* 0: no limit */
	int64_t since_ms;
	struct mor_timer timer;
};

struct mor_timeout {
	char *method;
	uint32_t ms;
};

#define MOR_DEATHS 64 /* the highest restart intensity */

struct mortise_plugin {
	struct mor_peer session;  /* what the dialect's hooks see; keep first */
	mortise_host *host;
	struct mor_owner *owner;     /* the host's; it may be gone */
	struct mor_list node;
	unsigned refs;               /* the embedder's */
	unsigned holds;              /* ours: frames on the stack that still look at it */
	bool gone;                   /* no reference left: it only waits for the holds */
	/* what it is */
	struct mor_manifest *manifest;
	const struct mor_dialect *dialect;
	struct mor_dialect *own_dialect; /* what `dialect` points to where rows had to be left out; or NULL */
	struct mor_policy policy;    /* what it may do: asked for; what is in force the link's start tells */
	uint64_t flags;
	mortise_event_fn *on_event;
	mortise_request_fn *on_request;
	void *arg;
	struct mor_command command;
	char **env;
	struct mor_link_options link_options;
	struct mor_stop stop;
	struct mor_restart restart;
	unsigned max_in_flight;
	struct mor_timeout *timeouts;
	size_t timeout_count;
	/* how it is */
	struct mor_link *link;       /* NULL: no process */
	enum mortise_state state;
	int64_t state_ms;
	int pid;
	bool end_seen;               /* on_end came: nobody to signal any more */
	uint64_t written;            /* bytes that the last link's pipe had taken */
	/* calls */
	struct mor_list queue, writing, flight;
	struct mor_list dooms;       /* what is still to be told to calls that ended with a process */
	struct mor_task pump;        /* what of the queue is still to be sent */
	struct mor_call_table table;
	unsigned in_flight;          /* slots taken, ghosts included */
	unsigned waiting;            /* in the queue */
	size_t waiting_bytes;        /* their params */
	int64_t next_id;
	int64_t last_sign_ms;        /* any message */
	int64_t last_word_ms;        /* any but the answer to a ping */
	unsigned unanswered;         /* calls given up in a row, while it said other things */
	/* one process per call: shape.c */
	bool spent;                  /* this process has got its call; the next call gets the next process */
	bool resumes;                /* DRAINING is the end of one run, not of the plugin: calls may wait  */
	struct mor_buf held;         /* ONE_CALL: the answer, until the exit tells whether it counts       */
	bool pumping;
	const struct mor_method *last_row; /* what last_action means; NULL: not known */
	char last_action[40];
	/* greeting */
	const struct mor_method *greeting;
	struct mor_doc *hello, *init;
	char *said_name; /* of the first greeting, where nothing else names it; stays: the embedder may hold it */
	/* ladder and restart */
	enum mor_rung rung;
	const struct mor_method *bye; /* the goodbye that was said last */
	enum mortise_state after_drain;
	int64_t ladder_ms;
	struct mor_timer ladder, restart_timer, broken_timer, hello_timer;
	const char *broken;
	int64_t deaths[MOR_DEATHS];
	unsigned death_count, backoff_step;
	unsigned clean_exits;        /* in a row, without work between                       */
	int32_t restart_ms;          /* until the restart that follows; -1: as the backoff says */
	struct mor_work work;
	bool deaf;                   /* after a breach: what still comes is read and discarded  */
	bool walked_out;             /* it closed its stdout by itself with nothing under way   */
	struct mor_health_state health;
	struct mor_keep_state keep;
	bool replies_to_notes;       /* a quirk: an id on a note gets null for an answer */
	bool failed_without_ref;     /* the last message was such a FAIL note */
	struct mor_list requests;
	unsigned open_requests;
	struct mor_list views;       /* orders that wait for their answer, in their order */
	mortise_pool *pool;          /* whose worker it is; NULL: nobody's */
	unsigned pool_load;          /* calls that its pool has given it */
	bool unproven;               /* this process has not been given a call */
	bool came_to_nothing;        /* the last process ended unproven */
	struct mor_counters counters;
	bool paused, was_ready, lax_told; /* the last two: in this process */
	mortise_error failure;       /* why it is FAILED, or what ended its last process */
	struct mor_buf failure_data; /* the error's data, where there were any */
	int cause;                   /* why this process goes down, as a status; 0: it does not, or was asked to */
	char last_error[512], last_stderr[256], truncated[192];
};

/* plugin.c */
/* Sets one of the plugin's own timers. Their places are reserved when it is made: this cannot fail. */
static inline void mor_plugin_set_timer(mortise_plugin *plugin, struct mor_timer *timer, uint32_t in_ms, mor_timer_fn *fn)
{
	(void)mor_timer_set(plugin->host->loop, timer, in_ms, fn);
}
int mor_plugin_check(mortise_plugin *plugin, mortise_error *err); /* thread; gone */
uint32_t mor_plugin_timeout(const mortise_plugin *plugin, const struct mor_method *row, const char *method);
/* Every way in (public function, link event, timer, task) holds the plugin while it runs: a callback may
 * drop the last reference. */
mortise_plugin *mor_plugin_hold(mortise_plugin *plugin);
void mor_plugin_drop(mortise_plugin *plugin);
static inline void mor_plugin_drop_at(mortise_plugin **plugin)
{
	mor_plugin_drop(*plugin);
}
#define MOR_HOLD(plugin) \
	__attribute__((cleanup(mor_plugin_drop_at), unused)) mortise_plugin *held_ = mor_plugin_hold(plugin)
/* Kills the process and ends the calls with MORTISE_ECANCELED; what is left is a shell that says ECLOSED. */
void mor_plugin_destroy(mortise_plugin *plugin);
/* What tells the interfaces: the manifest on disk where it does, else HELLO's result; NULL: neither. */
const struct mor_value *mor_plugin_identity(const mortise_plugin *plugin);

/* settings.c, env.c */
int mor_plugin_read_settings(mortise_plugin *plugin, mortise_error *err);
char **mor_env_build(const mortise_plugin *plugin); /* NULL: out of memory */
/* The same without a plugin; more: "NAME=VALUE" or "NAME", or NULL. safe_path: see mor_policy_hides_modules(). */
char **mor_env_jail(bool safe_path, const char *const *more);
void mor_env_free(char **list);

/* events.c */
void mor_event(mortise_plugin *plugin, enum mortise_event_type type, const char *text);
void mor_event_full(mortise_plugin *plugin, mortise_event *event);
void mor_event_printf(mortise_plugin *plugin, enum mortise_event_type type, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* state.c */
bool mor_state_may(enum mortise_state from, enum mortise_state to);
void mor_state_set(mortise_plugin *plugin, enum mortise_state to, const char *why);

/* view.c */
void mor_view_answered(void *arg, const mortise_error *error); /* the link's on_view */
/* The process is gone: what it was ordered goes to `ret`; fails once the state has moved. */
void mor_view_take(mortise_plugin *plugin, struct mor_list *ret);
void mor_view_fail_taken(mortise_plugin *plugin, struct mor_list *taken, const mortise_error *error);

/* start.c, supervise.c */
extern const struct mor_link_events mor_plugin_link_events;
/* On failure the plugin is FAILED, or, where something was only lacking, as after a death; what waited has failed. */
int mor_supervise_start(mortise_plugin *plugin, mortise_error *err);
/* Counts a death; says where the plugin goes from here. FAILED: `failure` says that it was one too many. */
enum mortise_state mor_supervise_after_death(mortise_plugin *plugin, mortise_error *failure);
/* No process any more: into STOPPED, BACKOFF or FAILED. What waits fails, unless the plugin comes back. */
void mor_supervise_settle_down(mortise_plugin *plugin, enum mortise_state next, const mortise_error *error);
/* Why it ends, for whoever asks later. Before the state moves. */
void mor_supervise_blame(mortise_plugin *plugin, const mortise_error *error, struct mor_slice data);
void mor_supervise_ready(mortise_plugin *plugin);
/* The stop ladder from `rung` on; when the process has ended the plugin goes to `after`. */
void mor_supervise_stop(mortise_plugin *plugin, enum mor_rung rung, enum mortise_state after, const char *why);
/* The process is gone: its link and all that hung on it. */
void mor_supervise_drop_link(mortise_plugin *plugin);
/* The plugin does not react: fail what runs, SIGTERM on, restart. */
void mor_supervise_wedged(mortise_plugin *plugin, const char *why);
/* Protocol cannot go on: everything fails with `error`, the ladder begins at `rung`. */
void mor_supervise_breach(mortise_plugin *plugin, const mortise_error *error, enum mor_rung rung);
/* The greeting failed: what waits fails with the verdict. retry: it may do better next time. */
void mor_supervise_refused(mortise_plugin *plugin, const struct mor_verdict *verdict, bool retry);

/* ladder.c */
/* To this rung, and on from there as the graces pass. */
void mor_ladder_climb(mortise_plugin *plugin, enum mor_rung rung);
void mor_ladder_bye_answered(mortise_call *bye);

/* shape.c: MOR_SHAPE_ONE_CALL and MOR_SHAPE_ONE_RUN */
static inline bool mor_shape_is_session(const mortise_plugin *plugin)
{
	return plugin->dialect->life.shape == MOR_SHAPE_SESSION;
}
/* A user's call was given to the link. */
void mor_shape_sent(mortise_plugin *plugin);
/* An answer has come. True: it is kept until the exit. */
bool mor_shape_hold(mortise_call *call, const struct mor_message *message);
/* A user's call is settled: ONE_RUN's process has done what it was for. */
void mor_shape_settled(mortise_plugin *plugin);
/* The process has ended; `error` says how. The state moves, the calls are settled, the next process is started. */
void mor_shape_end(mortise_plugin *plugin, const struct mor_link_end *how, const mortise_error *error);

/* template.c */
/* A row's template with its ${words} replaced by JSON values; what a word stands for is in dialect.h. */
struct mor_template_words {
	int64_t id;
	const char *action;
	struct mor_slice params, extra;
};
int mor_template_fill(mortise_plugin *plugin, const char *template, const struct mor_template_words *words,
		      struct mor_buf *out);

/* greet.c */
void mor_greet_begin(mortise_plugin *plugin);
void mor_greet_answered(mortise_call *call, const struct mor_verdict *verdict);

/* receive.c */
void mor_receive_message(void *arg, const struct mor_message *message);
void mor_receive_route(mortise_plugin *plugin, const struct mor_message *message); /* no tap, no counting */
void mor_receive_fault(void *arg, enum mor_fault fault, const struct mor_message *message, const char *text);
void mor_receive_noise(void *arg, struct mor_slice bytes, uint64_t count);
/* A DROPPED event: `what`, and whose. */
void mor_receive_drop(mortise_plugin *plugin, const char *what, struct mor_slice id);

/* ---- pools ---- */

struct mortise_pool {
	struct mor_list node;
	mortise_host *host;
	mortise_plugin **workers;
	uint32_t count, retries, max_queue, queued;
	unsigned per_worker;   /* calls a worker may have at once */
	struct mor_list jobs;  /* waiting, in the order of the calls */
	struct mor_list given; /* those that a worker has */
	size_t queued_bytes, max_bytes; /* params of those that wait */
	uint64_t next_number;
	struct mor_task task;
	/* Processes that ended before they could be given a call; one that nobody should try again counts for several. */
	uint64_t vain_starts;
	uint64_t vain_until;   /* what that was when a worker took a call last */
	mortise_plugin *blamed; /* the worker of the last of them */
	unsigned holds;        /* frames on the stack that still look at it */
	bool stopping, freed;
};
void mor_pool_on_task(struct mor_task *task);
/* A worker has changed its state. Only takes note; the pool acts in a task. */
void mor_pool_worker_moved(mortise_plugin *worker, enum mortise_state from);
/* A slot may have become free. NULL is fine. */
static inline void mor_pool_wake(mortise_pool *pool)
{
	if (pool && pool->queued)
		mor_loop_post(pool->host->loop, &pool->task, mor_pool_on_task);
}

/* As mortise_pool_free(), but who still has the handle may use it (and hears ECLOSED) until the list is freed. */
void mor_pool_close(mortise_pool *pool, struct mor_list *closed);
void mor_pool_free_closed(struct mor_list *closed);

/* health.c */
void mor_health_started(mortise_plugin *plugin); /* a new process is ready */
/* Its process is gone, or will be. true: that is news, to be told once the state has moved. */
bool mor_health_ended(mortise_plugin *plugin, const char *why);
void mor_health_tell_ended(mortise_plugin *plugin, const char *why);
/* Before calls are sent: true when a ping was sent first and they must wait. */
bool mor_health_first(mortise_plugin *plugin, const struct mor_method *next);
void mor_health_after_timeout(mortise_plugin *plugin);
void mor_health_answered(mortise_call *call, const struct mor_verdict *verdict);
/* A ping that was given up has been answered after all. */
void mor_health_late(mortise_call *call);
/* Any message is a sign of life. */
void mor_health_heard(mortise_plugin *plugin);

/* rows.c */
/* Leaves out the rows whose `when` the plugin's quirks do not meet. */
int mor_rows_choose(mortise_plugin *plugin, mortise_error *err);
void mor_rows_free(mortise_plugin *plugin);

/* session.c */
/* Does this result, or this note's params, ask for a further turn? */
bool mor_keep_asked(const struct mor_method *row, const struct mor_value *value);
/* A user's call of a row with `keep` has ended. */
void mor_keep_settled(mortise_plugin *plugin, bool keep);
/* The same of a conversation. */
bool mor_keep_ended(mortise_plugin *plugin);
void mor_keep_tell_ended(mortise_plugin *plugin, const char *why);
/* 0, or MORTISE_EINPUT: there is no session for this INPUT row. */
int mor_keep_check(const mortise_call *call, mortise_error *err);

#endif
