/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A dialect is one constant table: how one public plugin protocol is spoken. The same table defines what
 * the host sends and accepts, validation in both directions, `mortise explain`, and the reference page. A
 * new dialect is one file here, one line in meson.build, a folder of .talk scripts, a docs page, and an
 * entry in tests/kit/tongue.c. docs/design/0001-dialect.md fills these structs for real protocols and says
 * why each field exists.
 *
 * The axes: identity; link (how bytes become messages); wire (what the core tolerates and requires); life
 * (of a process); and parts that are NULL if a dialect does not need them (health, watchdog, conversation,
 * serve, offer). A row of `methods` points to its timing and its outcome; similar rows share them.
 *
 * Rules for changes: a flag exists only if src/lib/host branches on it (tools/check looks for that). What only
 * one dialect needs is a part. If two dialects need the same hook, the hook becomes a field. No field may
 * need the C compiler to make sense (the structs will also be filled from TOML files).
 */
#ifndef MOR_DIALECT_DIALECT_H
#define MOR_DIALECT_DIALECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mortise/mortise.h>

#include "base/buf.h"
#include "base/slice.h"
#include "wire/framing.h"
#include "wire/json.h"

/* ---- fields: members of params, of a result, of an object in them ---- */

/* A mask: several may be allowed. */
enum mor_field_type {
	MOR_T_STRING = 1,
	MOR_T_INT = 2,
	MOR_T_NUMBER = 4,
	MOR_T_BOOL = 8,
	MOR_T_OBJECT = 16,
	MOR_T_ARRAY = 32,
	MOR_T_NULL = 64,
	MOR_T_ANY = 127
};

enum mor_field_flags {
	MOR_F_REQUIRED = 1,
	/* its absence or wrong value breaks only the specification: reported under --strict */
	MOR_F_STRICT_ONLY = 2,
	MOR_F_ANY_OF = 4, /* at least one of the fields in this list with this flag must be there */
	MOR_F_BEYOND = 8, /* in use, but not in the specification: reported under --strict */
	MOR_F_CLOSED = 16 /* of an object: members not in `fields` are reported under --strict */
};

struct mor_field {
	/* NULL ends the list; "*" stands for every other member; "[]" for an array's elements */
	const char *name;
	unsigned type; /* enum mor_field_type */
	unsigned flags;
	const char *also;   /* other accepted spellings: "a|b"                                       */
	const char *def;    /* default, as JSON text                                                 */
	const char *one_of; /* allowed values of a string: "ok|degraded|error"                       */
	const char *doc;
	const struct mor_field *fields; /* of the object, or of the array's elements                 */
	const char *when;               /* REQUIRED only if another member has this value: "type=path" */
	double min, max;                /* limits of a number, if min < max */
};

/* ---- methods: one row per message, in either direction ---- */

enum mor_side { MOR_FROM_HOST, MOR_FROM_PLUGIN };

enum mor_role {
	MOR_ROLE_HELLO,  /* host: sent after start, in table order: asks for the plugin's identity. plugin:
			  * it greets (see serve) */
	MOR_ROLE_INIT,   /* sent after HELLO, and again after each restart: configuration             */
	MOR_ROLE_CALL,   /* a call of the embedder */
	MOR_ROLE_INPUT,  /* a further turn of a conversation; refused outside one                     */
	MOR_ROLE_PING,   /* health. plugin: it asks us; the template is our answer                    */
	MOR_ROLE_BYE,    /* first step of a stop. The plugin's exit or the end of its output also answers it */
	MOR_ROLE_CANCEL, /* tells the plugin that a call is no longer wanted                          */
	MOR_ROLE_NOTE,   /* host: may be sent with MORTISE_NOTIFY. plugin: passed on as an event      */
	MOR_ROLE_LOG,    /* plugin: becomes a LOG event */
	MOR_ROLE_PIECE,  /* plugin: a part of a running call's result                                 */
	MOR_ROLE_DONE,   /* plugin: settles a call with success                                       */
	MOR_ROLE_FAIL,   /* plugin: settles a call with failure                                       */
	MOR_ROLE_SERVE,  /* plugin: a request that the embedder answers                               */
	MOR_ROLE_TAKE,   /* plugin: the same, and it takes work with it, one piece at a time: a second one
			      before the work has ended is a breach. BY_NOTE: the work ends with the FINISH
			      note; BY_REPLY: with our answer. An error as answer always ends it */
	MOR_ROLE_FINISH  /* plugin: the work that it took is done. Reported as a NOTE event. If nothing was
			      taken, it is a warning (STRICT: a breach) */
};

/* of a TAKE row: see there */
enum mor_settle {
	MOR_BY_REPLY, /* the response with the call's id                                               */
	MOR_BY_NOTE,  /* a DONE or FAIL note; the response only acknowledges (within ack_ms)           */
	MOR_BY_FIRST, /* whichever comes first                                                         */
	MOR_BY_WRITE  /* nothing comes back: a notification                                            */
};

enum mor_clock {
	MOR_FROM_WRITE,
	/* the last message of the plugin that is not an answer to a ping (under STRICT: FROM_WRITE) */
	MOR_FROM_SIGN,
	MOR_FROM_PIECE /* the last PIECE of this call */
};

enum mor_late {
	MOR_LATE_DROP,   /* the call fails, but its slot stays taken until the answer comes (it is dropped)
			      or late_ms pass in silence: then the plugin is wedged and restarted */
	MOR_LATE_CANCEL, /* the same, and the CANCEL message is sent at once */
	MOR_LATE_KILL,   /* the plugin is killed at once                                                */
	MOR_LATE_FORGET  /* the CANCEL message is sent if there is one, and the slot is free at once: for
			      protocols whose plugins must not answer a cancelled call */
};

/* How long a message may take, and what happens then. A row without it: no limit, DROP. */
struct mor_timing {
	uint32_t timeout_ms; /* 0: no limit                                                             */
	uint32_t ack_ms;     /* BY_NOTE: limit until the response; 0: no response is expected */
	uint32_t late_ms;    /* LATE_DROP: after so much silence it is wedged; 0: the same time again */
	uint32_t max_ms;     /* FROM_SIGN, FROM_PIECE: total limit from the write; 0: none */
	enum mor_clock clock;
	enum mor_late late;
};

/* A separate constant for one row; similar rows share a named one. */
#define MOR_TIMING(...)  (&(const struct mor_timing){ __VA_ARGS__ })
#define MOR_OUTCOME(...) (&(const struct mor_outcome){ __VA_ARGS__ })

/* Results in pages; each page needs its own call. MORTISE_PAGES tells the embedder about the next one. */
struct mor_page {
	/* JSON pointer in the result: true means that there is a next page; NULL: only `next` says so */
	const char *more;
	/* JSON pointer in the result: where the next page begins, any JSON value except null */
	const char *next;
	const char *param; /* where that value goes in the next call's params: "opts.offset" */
};

/* The meaning of a result or a note. All except page are JSON pointers; NULL: the protocol has no such
 * thing. */
struct mor_outcome {
	const char *ok;    /* a boolean, false means failure ("!/x": true does)                           */
	const char *why;   /* the text of a failure                                                       */
	const char *code;  /* in a FAIL note: the error's number                                          */
	const char *keep;  /* true opens or keeps a conversation, anything else ends it                   */
	const char *ref;   /* in a note: which call it belongs to; NULL: the only one                     */
	const char *data;  /* in a note: the payload; NULL: the whole params                              */
	const char *level; /* in a LOG note; integers 1..4: error, warning, info, debug                  */
	bool why_fails;    /* a value at `why` that is not null is itself a failure */
	const struct mor_page *page;
};

enum mor_method_flags {
	MOR_M_OPTIONAL = 1, /* -32601 means "not implemented", never a fault                            */
	MOR_M_NOTE = 2,     /* sent as a notification */
	MOR_M_TOLERANT = 4, /* HELLO, INIT: an error, null or silence is only a warning; the start goes on */
	MOR_M_PARAMS = 8    /* always sends a params object, {} without params */
};

struct mor_method {
	const char *name; /* NULL ends the table; "*" is every method not listed (after all others)     */
	enum mor_role role;
	const char *also;   /* other accepted spellings: "a|b"                                            */
	const char *action; /* the embedder's name for it; NULL: name; "*": any action that no other row has */
	enum mor_side from;
	enum mor_settle settle;
	unsigned flags;
	const struct mor_timing *timing;
	const struct mor_outcome *outcome;
	const struct mor_field *params, *result;
	/* Params that the host sends, as JSON text. In a SERVE, TAKE or PING row of the plugin: the result
	 * that we answer ourselves. Whole JSON values: ${params}, ${action} and ${extra} of the embedder's
	 * call, ${config}, ${name} and ${version} (the plugin's name; our version), ${pid} (ours), ${time}
	 * (Unix seconds), ${id} (of the call that a CANCEL is about). A member "..." spreads an object,
	 * later members win: {"x":1,"...":${params}}. NULL: params as the embedder gave them. */
	const char *template;
	const char *when;  /* "quirk=value": this row is used only then; NULL: always */
	const char *needs; /* interface the plugin must have announced for this call                     */
	const char *spec;  /* section of the specification                                               */
	const char *doc;
};

/* ---- the rest of the table ---- */

struct mor_code {
	int64_t code;
	const char *name, *doc; /* name NULL ends the table */
	int status;             /* MORTISE_E... that the core reports for this code; 0: none */
};

/* Quirks that the core itself uses. It reads each of them once, in host/settings.c. */
enum mor_core_quirk {
	MOR_QUIRK_OWN, /* not one of these: the dialect's rows (`when`) and hooks read it */
	/* a number: messages are padded with blanks to a multiple of this many bytes */
	MOR_QUIRK_FRAME_PAD,
	MOR_QUIRK_LEADING_ZEROS, /* true: 007 is a valid length */
	MOR_QUIRK_PIPELINE,      /* a number: life.max_in_flight                                              */
	/* true: BY_WRITE rows of the plugin that carry an id are answered with null */
	MOR_QUIRK_REPLY_TO_NOTES,
	/* learn: watchdog.learn as in the table; strict: without it; off: no watchdog */
	MOR_QUIRK_WATCHDOG
};

struct mor_quirk {        /* [quirks] in mortise.toml: how one plugin differs */
	const char *name; /* NULL ends the table */
	const char *def, *one_of, *doc;
	enum mor_core_quirk core;
};

/* ---- link: how bytes become messages ---- */

struct mor_dialect_link {
	enum mor_framing framing; /* what we write, and also read unless the configuration says otherwise */
	/* other framings accepted on input, as 1 << enum mor_framing: the first bytes decide */
	unsigned reads;
	size_t frame_limit; /* largest message from the plugin                                     */
	size_t send_limit;  /* largest message to it; 0: the same                                  */
	size_t queue_limit; /* bytes that may wait for the pipe                                    */
	bool grpc;          /* over gRPC, unless the configuration says otherwise (service/service.h)  */
};

/* ---- wire: what the core tolerates and requires ---- */

enum mor_wire_flags {
	MOR_WIRE_JSONRPC_OPTIONAL = 1,        /* a message without "jsonrpc" is accepted with a warning */
	MOR_WIRE_ERROR_NULL_OK = 2,           /* "error": null beside a result is not an error */
	MOR_WIRE_NULL_ID_FAILS_ONLY_CALL = 4, /* an error with id null fails the only call in flight       */
	MOR_WIRE_NAN_OK = 8,                  /* NaN and Infinity are numbers                              */
	/* with one call in flight, a response with another id or none counts as its answer */
	MOR_WIRE_ANY_REPLY_ID = 16,
	MOR_WIRE_ANY_REF = 32 /* a note with a missing or unknown ref is about the only
						   call, if the plugin can have read that call by then;
						   without this flag, only a note whose row has no ref is */
};

/* ---- life of a process ---- */

enum mor_shape {
	MOR_SHAPE_SESSION, /* one process, many calls                                                  */
	/* one process per call: stdin is closed after the request, then we wait for its exit */
	MOR_SHAPE_ONE_CALL,
	MOR_SHAPE_ONE_RUN /* one process per call: greeting, one call, stop                           */
};

enum mor_environ {
	MOR_ENVIRON_INHERIT,
	MOR_ENVIRON_CLEAN,
	MOR_ENVIRON_BARE /* only PATH and NO_COLOR=1 from our environment, confined or not */
};

enum mor_confine { MOR_GUARDED, MOR_CONFINED };

struct mor_stop {
	uint32_t bye_ms;  /* after BYE was written: time for its answer before stdin is closed */
	uint32_t term_ms; /* from the beginning of the stop to SIGTERM */
	uint32_t kill_ms; /* from SIGTERM to SIGKILL                                                    */
	bool hold;        /* the specification promises term_ms: every stop except STOP_NOW begins with
			       closing stdin, no signal comes earlier than term_ms after that, and the
			       guardian keeps both times after our death */
};

struct mor_restart {
	uint32_t first_ms, cap_ms;     /* backoff: doubling, with jitter                                  */
	uint32_t intensity, period_ms; /* more deaths than this in that time: FAILED */
	uint32_t clean; /* exits with status 0 that nobody asked for, with no call running and no work
			     taken: restarted at once, and not counted as deaths. After this many in a row
			     without work: FAILED. 0: they are deaths */
};

struct mor_dialect_life {
	enum mor_shape shape;
	enum mor_environ env;
	enum mor_confine confine;
	unsigned max_in_flight; /* calls that one process has at a time; 0: no limit                      */
	unsigned max_waiting;   /* calls that may wait for a slot; more fail with EOVERLOAD; 0: 65536     */
	struct mor_stop stop;
	struct mor_restart restart;
};

/* ---- parts: a dialect has them or not ---- */

/* The plugin is asked for its health (PING). Its answer marks it healthy or not. */
struct mor_health {
	bool first;         /* before the first CALL                                                    */
	bool after_timeout; /* when the slot of a call that timed out is free again */
	uint32_t every_ms;  /* while idle; 0: never */
	const char *at;     /* JSON pointer to the verdict in the PING's result; NULL: any answer is good */
	/* values there: "ok|healthy", "degraded", "error"; fair gives a warning */
	const char *good, *fair, *bad;
};

/* The plugin is asked whether it lives (PING); silence kills it. Any answer is good. */
struct mor_watchdog {
	uint32_t every_ms;
	unsigned misses;   /* this many misses in a row kill */
	bool beside_calls; /* also while a call runs: then a ping takes no slot                         */
	bool learn;        /* while a call runs, a miss counts only if the plugin has answered a ping
				 during a call before; until then at most one ping waits beside a call. Any
				 message of the plugin clears the misses */
};

/* A result or note with `keep` true opens one; INPUT rows continue it. */
struct mor_conversation {
	uint32_t total_ms; /* limit of the whole conversation, from its beginning; 0: no limit. Announced
				30 s before its end, which kills the plugin. No call of a row with `keep`
				lasts longer either, with or without a conversation */
};

/* The plugin is the client. It greets: ready only once its own HELLO request was answered (by template or hook;
 * told as a NOTE event with the answer). The limit of that row counts from the start of the process. Anything
 * else before, HELLO twice or as a note: breach. Such a plugin is wanted as long as nobody stopped it, so it is
 * restarted without a call; where we have closed its stdin the embedder decides. */
struct mor_serve {
	bool noise_is_breach; /* bytes that are not a frame end the session */
	/* a whole frame that is not JSON-RPC is answered with -32700 or -32600, id null */
	bool answer_faults;
};

/* What a plugin says it can do, in HELLO's result or in its foreign manifest. */
struct mor_inferred {          /* what a plugin without a list of interfaces must have */
	const char *at;        /* JSON pointer in HELLO's result or the manifest; NULL ends the table */
	const char *interface; /* interface of a plugin that has this member */
};
struct mor_offer {
	/* JSON pointer: a list of strings or {id}, or an object: its keys */
	const char *interfaces;
	const struct mor_inferred *inferred; /* used if that is missing; NULL: nothing is inferred */
};

struct mor_peer; /* see below */

/* What the tables cannot express. All optional; each gets the peer and may use peer->warn(). */
struct mor_hooks {
	/* Params of a HELLO, INIT, PING or BYE that a template cannot express. If it appends nothing: no
	 * params. */
	int (*greet)(struct mor_peer *peer, const struct mor_method *method, struct mor_buf *params);
	/* A HELLO or INIT was answered (already validated): accepts it, or refuses it with a text. */
	int (*greeted)(struct mor_peer *peer, const struct mor_method *method, const struct mor_value *result,
		       mortise_error *err);
	/* Turns the embedder's `action` into a row and params. Without this hook, action is the method's
	 * name. */
	int (*shape_call)(struct mor_peer *peer, const char *action, struct mor_slice params,
			  const struct mor_method **ret_method, struct mor_buf *ret_params, mortise_error *err);
	/* A request from the plugin that the dialect answers itself: 1 answered (result appended), 0 pass it
	 * on to the embedder, or a status with err (rpc_code set) for an error response. MORTISE_EPROTO is a
	 * breach: the error response is sent, stdin is closed and the stop begins. */
	int (*on_request)(struct mor_peer *peer, const struct mor_method *method,
			  const struct mor_value *params, struct mor_buf *ret_result, mortise_error *err);
};

struct mor_dialect {
	const char *name, *title, *spec_url, *doc;
	const char *example;  /* one command line for explain */
	const char *manifest; /* file name of its foreign manifest, for texts; NULL: none */
	const char *called;   /* JSON pointer in HELLO's result: its name, if no file gives one; NULL: none */
	struct mor_dialect_link link;
	unsigned wire; /* enum mor_wire_flags */
	struct mor_dialect_life life;
	const struct mor_health *health;
	const struct mor_watchdog *watchdog;
	const struct mor_conversation *conversation;
	const struct mor_serve *serve;
	const struct mor_offer *offer;
	const struct mor_method *methods;
	const struct mor_code *codes;
	const char *recoverable; /* JSON pointer in an error's data: true means that a pool may retry */
	const struct mor_quirk *quirks;
	const struct mor_hooks *hooks;
};

/* What hooks see of a plugin. Filled by host/, which embeds it. */
struct mor_peer {
	const struct mor_dialect *dialect;
	const char *name;
	bool strict;
	struct mor_slice config;              /* JSON object; {NULL, 0}: none was given                   */
	const struct mor_value *manifest;     /* the foreign manifest, or NULL                            */
	const struct mor_value *hello, *init; /* results of the greeting so far, or NULL */
	void (*warn)(struct mor_peer *peer, const char *format, ...) __attribute__((format(printf, 2, 3)));
	/* A quirk's value: from the configuration, else its default. */
	const char *(*quirk)(struct mor_peer *peer, const char *name);
};

/* ---- registry ---- */

const struct mor_dialect *mor_dialect_find(const char *name); /* NULL: unknown */
/* The same, but it must exist: MORTISE_EMANIFEST lists the known names and the nearest. */
int mor_dialect_require(const char *name, const struct mor_dialect **ret, mortise_error *err);
/* All of them, NULL-terminated. */
const struct mor_dialect *const *mor_dialects(void);
/* The row for a wire method, by name or other spelling; else the first "*" row of that side; else NULL. */
const struct mor_method *mor_dialect_method(const struct mor_dialect *dialect, enum mor_side from,
					    struct mor_slice name);
/* Rows without timing or outcome: all members are 0, no limit, nothing is read. */
extern const struct mor_timing mor_timing_none;
extern const struct mor_outcome mor_outcome_none;
static inline const struct mor_timing *mor_timing_of(const struct mor_method *row)
{
	return row->timing ? row->timing : &mor_timing_none;
}
static inline const struct mor_outcome *mor_outcome_of(const struct mor_method *row)
{
	return row->outcome ? row->outcome : &mor_outcome_none;
}
/* The first row of a role on one side, or the next after `after`; NULL: no row is left. Both sides may have a
 * row of the same role (MCP: either may ping and cancel). */
const struct mor_method *mor_dialect_role(const struct mor_dialect *dialect, enum mor_side from,
					  enum mor_role role, const struct mor_method *after);
/* The row for the embedder's `action`; else the row whose action is "*"; else the "*" row; else NULL. */
const struct mor_method *mor_dialect_action(const struct mor_dialect *dialect, struct mor_slice action);
/* False if an earlier row of the same side has the same wire name. */
bool mor_dialect_is_first(const struct mor_dialect *dialect, const struct mor_method *row);
const char *mor_dialect_code_name(const struct mor_dialect *dialect, int64_t code); /* NULL: unknown */
/* The code on this wire for one of our statuses: the table's code, else `fallback`. */
int64_t mor_dialect_code_for(const struct mor_dialect *dialect, int status, int64_t fallback);
/* The quirk that changes this behaviour of the core, or NULL if the dialect has none. */
const struct mor_quirk *mor_dialect_quirk(const struct mor_dialect *dialect, enum mor_core_quirk core);
/* Appends a JSON array of interface names: those that `identity` (HELLO's result or the foreign manifest)
 * lists as strings or {id}, or those that can be inferred if it has no list. Returns their number, or a
 * status. */
int mor_dialect_interfaces(const struct mor_dialect *dialect, const struct mor_value *identity,
			   struct mor_buf *out);
/* True if `identity` announces `interface` in one of these ways. */
bool mor_dialect_announces(const struct mor_dialect *dialect, const struct mor_value *identity,
			   const char *interface);

/* ---- validation: one walk over fields and value ---- */

struct mor_finding {
	char pointer[160]; /* JSON pointer of the wrong member */
	char text[256];    /* "/interfaces: required (array) but missing"; for the value itself "must be an
				object": to be put after "params: ", "answer: " and the like */
	bool fatal;        /* false: only the specification is broken (STRICT_ONLY, BEYOND, CLOSED) */
};
/* Several findings for one line of an error: the first ones complete, then the number of the others. */
#define MOR_FINDINGS_ROOM 24 /* "; and 31 more" */
struct mor_findings {
	char text[360];
	unsigned shown, count;
};
void mor_findings_add(struct mor_findings *all, const struct mor_finding *finding);
const char *mor_findings_text(struct mor_findings *all); /* call it once, at the end */
/* Calls `say` (which may be NULL) for each finding; returns their number. fields NULL: everything is
 * allowed. The walk ends after MOR_FINDINGS_MAX: a plugin must not make us write an endless report. */
#define MOR_FINDINGS_MAX 32
typedef void mor_finding_fn(const struct mor_finding *finding, void *arg);
unsigned mor_validate(const struct mor_field *fields, const struct mor_value *value, mor_finding_fn *say,
		      void *arg);
/* The member of `object` that `field` describes, also in another accepted spelling; or NULL. */
const struct mor_value *mor_field_get(const struct mor_field *field, const struct mor_value *object);
/* Has the object what the field's `when` wants? "type=path": the other member has this value, as a string or as
 * the word true or false. Without `when`: yes. */
bool mor_field_applies(const struct mor_field *field, const struct mor_value *object);

/* ---- names of types ---- */
/* Names of the bits of a mask; NULL ends the list. */
struct mor_bit_name {
	unsigned bit;
	const char *name;
};
extern const struct mor_bit_name mor_type_names[];

/* The type of a value, as a mask: a whole number is both INT and NUMBER. */
unsigned mor_field_type_of(const struct mor_value *value);
/* "string or null": at most about 60 bytes. */
const char *mor_field_type_text(unsigned type, char out[96]);

#endif
