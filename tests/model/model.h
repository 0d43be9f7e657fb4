/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A model of the host: an embedder and its plugins that do anything, in any order, and an observer that knows
 * what must follow. README.md tells how to use it.
 *
 *	main.c    seeds, time, corpus
 *	ops.c     the script: bytes <-> operations <-> text; the interpreter
 *	embed.c   what the embedder does
 *	calls.c   its calls, and their callbacks
 *	proc.c    a process that exists as a link only
 *	mouth.c   what such a process says
 *	tongue.c  what there is to say in each dialect
 *	check.c   what must hold whenever the loop rests
 *	live.c    counts what is allocated
 *	shrink.c  a long script -> a short one
 *
 * Everything is a function of the script: no clock, no randomness, no memory address decides anything.
 */
#ifndef TESTS_MODEL_MODEL_H
#define TESTS_MODEL_MODEL_H

#include <stdint.h>
#include <stdio.h>

#include "host/call.h"
#include "host/host.h"
#include "host/plugin.h"
#include "link/intake.h"

enum {
	HOSTS = 2,
	SINGLES = 4, /* plugins by themselves: places 0..3                       */
	POOLS = 2,
	WORKERS = 3, /* of a pool at most                                        */
	PLACES = SINGLES + POOLS * WORKERS,
	CALLS = 4096,  /* in one script                                            */
	OPEN = 192,    /* of them not settled at one time                          */
	REQUESTS = 32, /* handles of plugins' requests that are held at one time   */
	VIEWS = 512,   /* orders in one script                                     */
	HEARD = 48,    /* requests that a process keeps in mind                    */
	ASKS = 256,    /* requests that it makes itself                            */
	REACTIONS = 4
};

/* ---- the script ---- */

struct op {
	uint8_t code, a, b;
	bool same_turn; /* the loop does not run after it */
};
#define OP_BYTES     3
#define OP_SAME_TURN 0x80

struct op_kind {
	const char *name;
	unsigned weight; /* of 1000 or so */
	void (*run)(const struct op *op);
	const char *doc;
};
extern const struct op_kind op_kinds[];
extern const unsigned op_kind_count;

struct op op_decode(const uint8_t bytes[OP_BYTES]);
void op_encode(const struct op *op, uint8_t bytes[OP_BYTES]);
void op_print(const uint8_t *bytes, size_t len, FILE *out);
/* Number of bytes, or -1: `line` (NULL is fine) is where the text is wrong. */
long op_parse(const char *text, uint8_t *bytes, size_t room, unsigned *line);

/* ---- what there is ---- */

struct place;

/* One request of the host's that a process has heard. */
struct heard {
	int64_t id;
	unsigned token; /* of the call; 0: none of the embedder's */
	const struct mor_method *row;
	uint64_t end; /* it can have read it once so many bytes are written */
	bool over;    /* answered, or never to be */
};

enum manners {
	GREETS = 1,
	PONGS = 2,
	SAYS_BYE = 4,
	ANSWERS = 8,
	HEEDS_EOF = 16,
	HEEDS_TERM = 32,
	ALL_MANNERS = 63
};

struct proc {
	struct mor_link link;
	struct mor_intake intake;
	const struct mor_link_options *opt;
	struct place *place;
	struct mor_task announce, flush, act;
	struct mor_grave grave;
	bool announced, dead, in_closed, close_wanted, slow, killed;
	bool muddled; /* it has said what is no message, or left something unanswered */
	unsigned manners;
	uint64_t may_take; /* a slow reader: of the bytes since the start */
	unsigned lingers;  /* operations that pass between SIGKILL and the end */
	struct heard heard[HEARD];
	unsigned heard_count;
	uint8_t asked[ASKS], owed[ASKS], answered[ASKS]; /* owed: as often there must be an answer in the end */
	unsigned next_ask;
	unsigned views; /* orders that it owes an answer */
	/* what the next act delivers */
	struct mor_buf out;
	size_t drip; /* at most so many bytes at a time; 0: all */
	bool stderr_waits, shuts_stdout, stdout_shut, breaks_stdin, ends;
	unsigned end_kind;
	int64_t heard_ms; /* when the host last got bytes of it */
	int64_t taken_ms; /* when it last took bytes of the host's */
};

struct call {
	unsigned token;      /* its index, plus 1: what its params, and every answer to it, carry */
	struct place *place; /* NULL: a pool's */
	struct pool *pool;
	struct host *host;
	mortise_call *handle;
	/* orphaned: the plugin that should answer was freed */
	bool note, starting, settled, cancelled, orphaned;
	const struct mor_method *row;  /* NULL: none names it */
	uint32_t timeout_ms, queue_ms; /* in force */
	int64_t since_ms, written_ms;
	unsigned sends;
	/* how many had returned when its function was called; when that returned (0: it has not) */
	unsigned begun, order;
	struct proc *proc; /* that it was given to last, while that lives */
	uint64_t begin, end;
	bool touched;  /* some of it was written */
	unsigned ends; /* of its pool's, when it was started */
};

struct held_request {
	mortise_request *handle;
	struct host *host;
};

struct host {
	mortise_host *handle;
};

struct place {                  /* where a plugin may be */
	mortise_plugin *handle; /* NULL: none, or not ours to touch any more */
	struct host *host;
	struct pool *pool; /* whose worker it is; NULL: none's, or no longer */
	unsigned refs;     /* the embedder's own */
	bool shell;        /* its host is gone */
	enum mortise_state state;
	struct proc *proc;
	const struct tongue *tongue;
	unsigned manners, lack; /* of its next processes; how so many starts fail */
	unsigned lack_count;
};

struct pool {
	mortise_pool *handle;
	struct host *host;
	struct place *workers;
	uint32_t count, max_queue;
	bool stopped;
	unsigned ends; /* of its workers' processes, so far */
	const struct tongue *tongue;
};

struct world {
	struct host hosts[HOSTS];
	struct place places[PLACES];
	struct pool pools[POOLS];
	struct call calls[CALLS];
	unsigned call_count, orders;
	unsigned open[OPEN], open_count; /* indexes */
	struct held_request held[REQUESTS];
	unsigned held_count;
	uint8_t views[VIEWS]; /* how often each has been told */
	unsigned view_count;
	struct op reactions[REACTIONS];
	unsigned reaction_count;
	unsigned depth;     /* callbacks that we are in */
	unsigned freeing;   /* a host or a pool is being freed */
	struct host *going; /* that one; NULL: none */
	unsigned tapping;   /* a message is being shown and has not been sent yet */
	bool abrupt, draining;
	/* processes say what the script did not make: whose answer it is, is not known */
	bool foreign;
	const uint8_t *script;
	size_t script_len, at;
	uint64_t steps, callbacks;
};
extern struct world world;
extern bool model_verbose;

/* ---- running ---- */

struct model_counts {
	uint64_t steps, calls, callbacks;
};
extern struct model_counts model_counts;
/* From an empty world to an empty world. */
void model_run(const uint8_t *script, size_t len);
/* The same in two parts, for a caller who does the middle. */
void model_begin(const uint8_t *script, size_t len);
void model_end(void);
/* What is found. The text is one line; does not return. */
void model_fault(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
extern void (*model_on_fault)(const char *text);
/* For a person who watches (-v). */
void model_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
#define SAY(...) \
	do { \
		if (model_verbose) \
			model_say(__VA_ARGS__); \
	} while (0)

void op_run(const struct op *op);

/* check.c */
void check_rest(void);  /* the loops have run and nothing is posted */
void check_drain(void); /* everybody behaves from now on: every call must come to its end */
void check_reply(struct call *call, const mortise_reply *reply);
void check_order(const struct call *call); /* it is being sent */
void check_queue(const struct call *call); /* it was taken */
void check_empty(void);
void run_loops(uint32_t ms);

/* calls.c */
struct call *call_start(struct place *place, unsigned how);
/* One whose words come from elsewhere. */
void call_start_raw(struct place *place, const char *action, mortise_json params, mortise_json extra,
		    uint64_t flags);
void pool_call_start(struct pool *pool, unsigned how);
void call_cancel_recent(unsigned which);
void call_written(struct proc *proc);
struct call *call_of(unsigned token);
void calls_orphan(const struct place *place, const struct pool *pool, const struct host *host);
/* Every callback begins and ends with these: in between an operation of the script may run. */
void callback_enter(void);
void callback_leave(void);

/* embed.c */
void on_event(const mortise_event *event, void *arg);
void on_request(mortise_request *request, const char *method, mortise_json params, void *arg);
void on_tap(const mortise_tap_frame *frame, void *arg);
struct place *place_of(const mortise_plugin *plugin);
bool place_usable(const struct place *place);
void embed_answer_all(struct host *host);
void embed_free_all(void);
void embed_host(const struct op *op);
void embed_plugin(const struct op *op);
void embed_ref(const struct op *op);
void embed_unref(const struct op *op);
void embed_start(const struct op *op);
void embed_stop(const struct op *op);
void embed_pause(const struct op *op);
void embed_pool(const struct op *op);
void embed_pool_stop(const struct op *op);
void embed_pool_free(const struct op *op);
void embed_host_free(const struct op *op);
void embed_reply(const struct op *op);
void embed_describe(const struct op *op);
void embed_tap(const struct op *op);
void embed_view(const struct op *op);

/* proc.c */
int proc_new(struct mor_loop *loop, const struct mor_link_options *opt, const struct mor_link_events *events,
	     void *arg, struct mor_link **ret);
void proc_act(struct proc *proc);                /* what is prepared takes effect when the loop runs */
void proc_take(struct proc *proc, size_t bytes); /* a slow reader reads so much more */
void proc_behave(struct proc *proc);             /* from now on it does all that is right, at once */
void proc_tick(struct proc *proc);               /* an operation has passed */

/* mouth.c */
struct proc *proc_at(unsigned place);
void mouth_say_frame(struct proc *proc, struct mor_slice body, bool framed);
void mouth_greet(struct proc *proc);
void mouth_listen(struct proc *proc, struct mor_slice body);
void mouth_answer_duties(struct proc *proc); /* what its manners answer by themselves */
void mouth_answer(const struct op *op);
void mouth_ignore(const struct op *op);
void mouth_note(const struct op *op);
void mouth_ask(const struct op *op);
void mouth_noise(const struct op *op);
void mouth_stray(const struct op *op);

/* tongue.c: what there is to say in each dialect */
struct tongue {
	const char *dialect;
	const char *hello, *init, *ping, *bye; /* results */
	/* of the plugin's own, as a request without id; NULL: it is greeted */
	const char *greeting;
	const char *actions[6];
	const char *asks[4]; /* methods of the plugin's requests and notes */
};
extern const struct tongue tongues[];
extern const unsigned tongue_count;
const struct mor_dialect *tongue_dialect(const char *name);

/* live.c */
struct live {
	long blocks, bytes, peak;
};
extern struct live live;

/* shrink.c */
typedef bool shrink_fails_fn(const uint8_t *script, size_t len, void *arg);
/* A script that still fails, as short and plain as leaving out and making smaller can get it. Its
 * length in bytes. */
size_t shrink(uint8_t *script, size_t len, shrink_fails_fn *fails, void *arg);

#endif
