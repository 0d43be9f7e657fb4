/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A dialect is one constant table: how one public plugin protocol is spoken. From the same table come
 * what the host sends and accepts, validation in both directions, `mortise explain`, and the reference
 * page. Adding one = one file here, one line in registry.c, a folder of .talk scripts, a docs page.
 * docs/design/0001-dialect.md fills these structs for eight protocols and says why each field is there.
 *
 * Rules for whoever extends this: when two dialects need the same hook, the hook becomes a field; no
 * field may need the C compiler to make sense (the structs will also be filled from TOML files).
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

enum mor_field_type { /* a mask: several may be allowed */
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
	MOR_F_STRICT_ONLY = 2, /* its absence or wrong value breaks the letter only: told under --strict */
	MOR_F_ANY_OF = 4,      /* of the fields in this list with this flag, at least one must be there */
	MOR_F_BEYOND = 8,      /* in use, but not in the specification: told under --strict              */
	MOR_F_CLOSED = 16      /* of an object: other members than `fields` are told under --strict      */
};

struct mor_field {
	const char *name;   /* NULL ends the list; "*" stands for every other member; "[]" for an array's elements */
	const char *also;   /* other accepted spellings: "a|b"                                       */
	unsigned type;      /* enum mor_field_type                                                   */
	unsigned flags;
	const char *def;    /* default, as JSON text                                                 */
	const char *one_of; /* allowed values of a string: "ok|degraded|error"                       */
	const char *doc;
	const struct mor_field *fields; /* of the object, or of the array's elements                 */
	const char *when;   /* REQUIRED only where a sibling has this value: "type=path"             */
	double min, max;    /* bounds of a number, where min < max                                   */
};

/* ---- methods: one row per message, in either direction ---- */

enum mor_side { MOR_FROM_HOST, MOR_FROM_PLUGIN };

enum mor_role {
	MOR_ROLE_HELLO,  /* sent after start, in table order: identity of the plugin                  */
	MOR_ROLE_INIT,   /* sent after HELLO, and again after each restart: configuration             */
	MOR_ROLE_CALL,   /* what an embedder's call becomes                                           */
	MOR_ROLE_INPUT,  /* a further turn of a running session                                       */
	MOR_ROLE_PING,   /* health                                                                    */
	MOR_ROLE_BYE,    /* first rung of the stop ladder                                             */
	MOR_ROLE_CANCEL, /* tells the plugin that a call is no longer wanted                          */
	MOR_ROLE_NOTE,   /* host: may be sent with MORTISE_NOTIFY. plugin: passed on as an event      */
	MOR_ROLE_LOG,    /* plugin: becomes a LOG event                                               */
	MOR_ROLE_PIECE,  /* plugin: a part of a running call's result                                 */
	MOR_ROLE_DONE,   /* plugin: settles a call with success                                       */
	MOR_ROLE_FAIL,   /* plugin: settles a call with failure                                       */
	MOR_ROLE_SERVE   /* plugin: a request that the embedder answers                               */
};

enum mor_settle {
	MOR_BY_REPLY, /* the response with the call's id                                              */
	MOR_BY_NOTE,  /* a DONE or FAIL note; the response only acknowledges (within ack_ms)          */
	MOR_BY_FIRST, /* whichever comes first                                                        */
	MOR_BY_WRITE  /* nothing comes back: a notification                                           */
};

enum mor_clock {
	MOR_FROM_WRITE,
	MOR_FROM_SIGN, /* the last message of the plugin that answers no ping (under STRICT: FROM_WRITE) */
	MOR_FROM_PIECE /* the last PIECE of this very call                                             */
};

enum mor_late {
	MOR_LATE_DROP,   /* the call fails, its slot stays taken until the answer comes (dropped) or late_ms
			    pass in silence: then the plugin is wedged and restarted                    */
	MOR_LATE_CANCEL, /* the same, and the CANCEL message goes out at once                           */
	MOR_LATE_KILL,   /* the plugin is killed at once                                                */
	MOR_LATE_FORGET  /* the CANCEL message goes out if there is one, and the slot is free at once: for
			    protocols whose plugins must not answer what was cancelled               */
};

enum mor_method_flags {
	MOR_M_OPTIONAL = 1,  /* -32601 means "not implemented", never a fault                           */
	MOR_M_NOTE = 2,      /* goes out as a notification                                              */
	MOR_M_TOLERANT = 4,  /* HELLO, INIT: an error, null or silence is a warning; the start goes on  */
	MOR_M_WHY_FAILS = 8, /* a non-null value at `why` is a failure by itself                        */
	MOR_M_PARAMS = 16,   /* always sends a params object, {} when there is none                     */
	MOR_M_ONE_AT_A_TIME = 32 /* SERVE: from the request until a DONE note of the plugin (where the dialect has
				no such row: until the answer) a second one is a breach. An error as answer frees the
				place. DONE then ends no call of ours and is told as a NOTE event; with nothing to end it
				is a warning (STRICT: a breach)                                         */
};

struct mor_method {
	const char *name; /* NULL ends the table; "*" is every method not listed (after all others)     */
	const char *also; /* other accepted spellings: "a|b"                                            */
	const char *action; /* what the embedder calls it; NULL: name; "*": any action no other row has  */
	enum mor_side from;
	enum mor_role role;
	enum mor_settle settle;
	unsigned flags;
	uint32_t ack_ms;     /* BY_NOTE: until the response; 0: none is awaited                         */
	uint32_t timeout_ms; /* 0: no limit                                                             */
	uint32_t late_ms;    /* LATE_DROP: silence after which it is wedged; 0: as long again           */
	uint32_t max_ms;     /* FROM_SIGN, FROM_PIECE: total from the write; 0: none                    */
	enum mor_clock clock;
	enum mor_late late;
	const struct mor_field *params, *result;
	/* Params the host sends, as JSON text; in a SERVE or PING row of the plugin: the result we answer by
	 * ourselves. Whole JSON values: ${params}, ${action} and ${extra} of the embedder's call, ${config}, ${name}
	 * and ${version} (the plugin's name; ours), ${pid} (ours), ${time} (Unix seconds), ${id} (of the call that
	 * a CANCEL speaks of). A member "..." spreads an object, later members win: {"x":1,"...":${params}}.
	 * NULL: params as the embedder gave them.                                                        */
	const char *template;
	const char *ref;      /* JSON pointer in a note's params: which call it belongs to; missing: the only one */
	const char *data;     /* JSON pointer to the payload of a note; NULL: the whole params           */
	const char *ok;       /* JSON pointer in result or note: a boolean, false means failure ("!/x": true) */
	const char *why;      /* JSON pointer: the text of such a failure                                */
	const char *code;     /* JSON pointer in a FAIL note: the error's number                         */
	const char *level;    /* JSON pointer in a LOG note; integers 1..4: error, warning, info, debug  */
	const char *keep;     /* JSON pointer in result or note: true opens or keeps a session, else it ends; INPUT
				 rows are refused outside one                                            */
	const char *when;     /* "quirk=value": this row is there only then; NULL: always                */
	const char *needs;    /* interface the plugin must have announced for this call                  */
	const char *spec;     /* section of the specification                                            */
	const char *doc;
};

/* ---- the rest of the table ---- */

struct mor_code {
	int64_t code;
	const char *name, *doc; /* name NULL ends the table */
	int status;             /* MORTISE_E... that the core reports with this code; 0: none */
};

struct mor_inferred { /* what a plugin must have that names no interfaces */
	const char *at;        /* JSON pointer in HELLO's result or the manifest; NULL ends the table */
	const char *interface; /* announced by whoever has that member                                */
};

struct mor_quirk { /* [quirks] in mortise.toml: how one plugin differs */
	const char *name; /* NULL ends the table */
	const char *def, *one_of, *doc;
};

enum mor_health_flags {
	MOR_HEALTH_FIRST = 1, /* ask before the first CALL                                              */
	MOR_HEALTH_LATE = 2,  /* ask after a call's time-out, once its slot is free                      */
	MOR_HEALTH_IDLE = 4,  /* ask every every_ms while nothing runs                                   */
	MOR_HEALTH_BUSY = 8,  /* and while something does: then a ping takes no in-flight slot           */
	MOR_HEALTH_KILL = 16, /* `misses` in a row kill; without: they mark it unhealthy                 */
	MOR_HEALTH_LEARN = 32 /* while busy a miss counts only once the plugin has answered a ping during a
				 call; until then one ping at most waits beside a call. Any message of the plugin
				 clears the misses. The quirk `watchdog` (learn, strict, off) takes this flag, or
				 all of them, away                                                        */
};

struct mor_health {
	unsigned flags;
	uint32_t every_ms;
	unsigned misses;
	const char *at;              /* JSON pointer to the verdict in the PING's result; NULL: any answer is good */
	const char *good, *fair, *bad; /* values there: "ok|healthy", "degraded", "error"; fair warns        */
};

struct mor_restart {
	uint32_t first_ms, cap_ms;   /* backoff: doubling, with jitter                                  */
	uint32_t intensity, period_ms; /* more deaths than this in that time: FAILED                     */
	uint32_t clean; /* unasked exits with status 0, no call and no answered ONE_AT_A_TIME request under way: restarted
			   at once and no deaths; the so-many-th in a row without work between is the last: FAILED.
			   0: they are deaths                                                               */
};

struct mor_stop {
	uint32_t bye_ms;  /* after BYE was written: how long its answer may take before stdin is closed */
	uint32_t term_ms; /* from the beginning of the ladder to SIGTERM                                */
	uint32_t kill_ms; /* from SIGTERM to SIGKILL                                                    */
	bool hold;        /* the specification grants term_ms: every stop but STOP_NOW begins with closing stdin, no signal
			     comes sooner than term_ms after that, and the guardian keeps both times after our death */
};

enum mor_shape {
	MOR_SHAPE_SESSION,  /* one process, many calls                                                  */
	MOR_SHAPE_ONE_CALL, /* one process per call: stdin closed after the request, exit awaited       */
	MOR_SHAPE_ONE_RUN   /* one process per call: greeting, one call, stop                           */
};

enum mor_wire_flags {
	MOR_WIRE_INT31_IDS = 1,          /* ids are integers below 2^31, from 1                           */
	MOR_WIRE_JSONRPC_OPTIONAL = 2,   /* a message without "jsonrpc" is taken with a warning           */
	MOR_WIRE_ERROR_NULL_OK = 4,
	MOR_WIRE_NULL_ID_FAILS_ONLY_CALL = 8, /* an error with id null fails the only call in flight      */
	MOR_WIRE_NAN_OK = 16,
	MOR_WIRE_BATCH_IN = 32,          /* the plugin may send batches (they are always understood; this
					    says that it is no breach)                                  */
	MOR_WIRE_ANY_REPLY_ID = 64,      /* with one call in flight, a response with another id or none is its answer */
	MOR_WIRE_NOISE_IS_BREACH = 128,  /* bytes that are no frame end the session (Kythe)               */
	MOR_WIRE_EOF_ANSWERS_BYE = 256,  /* end of stdout or exit instead of an answer to BYE is success   */
	MOR_WIRE_PLUGIN_GREETS = 512,    /* ready only once the plugin's own HELLO request was answered (by template
					    or hook; told as a NOTE event with the answer). Its time limit counts from the
					    start. Anything else before, HELLO twice or as a note: breach. Such a plugin is
					    wanted as long as nobody stopped it, so it is restarted without a call; where we
					    have closed its stdin the embedder decides                     */
	MOR_WIRE_ANY_REF = 1024,         /* a note whose ref is missing or unknown speaks of the only call, if the
					    plugin can have read that by then;
					    without it, only a note whose row has no ref does           */
	MOR_WIRE_ANSWER_FAULTS = 2048    /* a whole frame that is no JSON-RPC is answered -32700 or -32600, id null:
					    where the plugin is a client                                */
};

enum mor_env_policy {
	MOR_ENV_INHERIT,
	MOR_ENV_CLEAN,
	MOR_ENV_BARE /* PATH and NO_COLOR=1 and nothing else of ours, confined or not */
};
enum mor_confine { MOR_GUARDED, MOR_CONFINED };

struct mor_session; /* below */

/* What the tables cannot say. All optional; each gets the session and may use session->warn(). */
struct mor_hooks {
	/* Params of a HELLO, INIT, PING or BYE that a template cannot express. Appends nothing: no params. */
	int (*greet)(struct mor_session *session, const struct mor_method *method, struct mor_buf *params);
	/* A HELLO or INIT was answered (validated already): accept it, or refuse with a text. */
	int (*greeted)(struct mor_session *session, const struct mor_method *method, const struct mor_value *result,
		       mortise_error *err);
	/* What the embedder calls `action` -> a row and params. Without it, action is the method's name. */
	int (*shape_call)(struct mor_session *session, const char *action, struct mor_slice params,
			  const struct mor_method **ret_method, struct mor_buf *ret_params, mortise_error *err);
	/* A request from the plugin that the dialect answers itself: 1 answered (result appended), 0 pass it
	 * on to the embedder, or a status with err (rpc_code set) for an error response. MORTISE_EPROTO is a
	 * breach: the error response goes out, stdin is closed and the stop ladder begins. */
	int (*on_request)(struct mor_session *session, const struct mor_method *method, const struct mor_value *params,
			  struct mor_buf *ret_result, mortise_error *err);
};

struct mor_dialect {
	const char *name, *title, *spec_url, *doc;
	const char *manifest; /* file name of its foreign manifest, for texts; NULL: none */
	enum mor_shape shape;
	enum mor_env_policy env;
	enum mor_confine confine;
	enum mor_framing framing;  /* what we write, and read unless configuration says otherwise */
	unsigned reads;            /* other framings taken on input, as 1 << enum mor_framing: the first bytes decide */
	unsigned wire;             /* enum mor_wire_flags */
	unsigned max_in_flight;    /* 0: no limit */
	unsigned max_waiting;      /* calls that may wait for a slot; more fail with EOVERLOAD; 0: 65536 */
	size_t frame_limit;        /* largest message from the plugin */
	size_t send_limit;         /* largest message to it; 0: the same */
	size_t queue_limit;        /* bytes that may wait for the pipe */
	const char *recoverable;   /* JSON pointer in an error's data: true means a pool may retry */
	const char *called;        /* JSON pointer in HELLO's result: its name, where nothing on disk gives one; NULL: none */
	const char *interfaces;    /* JSON pointer in HELLO's result: list of strings or {id} */
	const struct mor_inferred *inferred; /* where that list is missing; NULL: nothing is inferred */
	uint32_t session_ms;       /* total of a session that `keep` opened, counted from then; 0: no limit.
				      Announced 30 s before its end, which kills. No call of a row with `keep`
				      outlasts it either, session or not */
	struct mor_stop stop;
	struct mor_health health;
	struct mor_restart restart;
	const struct mor_method *methods;
	const struct mor_code *codes;
	const struct mor_quirk *quirks;
	const struct mor_hooks *hooks;
	const char *example;       /* one command line for explain */
};

/* What hooks see of a plugin. Filled by host/, which embeds it. */
struct mor_session {
	const struct mor_dialect *dialect;
	const char *name;
	bool strict;
	struct mor_slice config;            /* JSON object; {NULL, 0}: none was given                   */
	const struct mor_value *manifest;   /* the foreign manifest, or NULL                            */
	const struct mor_value *hello, *init; /* results of the greeting so far, or NULL                */
	void (*warn)(struct mor_session *session, const char *format, ...) __attribute__((format(printf, 2, 3)));
	/* A quirk's value: configuration, else its default. */
	const char *(*quirk)(struct mor_session *session, const char *name);
};

/* ---- registry ---- */

const struct mor_dialect *mor_dialect_find(const char *name); /* NULL: unknown */
/* The same, where it must be there: MORTISE_EMANIFEST lists the known names and the nearest. */
int mor_dialect_require(const char *name, const struct mor_dialect **ret, mortise_error *err);
/* All of them, NULL-terminated. */
const struct mor_dialect *const *mor_dialects(void);
/* Row for a wire method, by name or other spelling; else the first "*" row of that side; else NULL. */
const struct mor_method *mor_dialect_method(const struct mor_dialect *dialect, enum mor_side from, struct mor_slice name);
/* First row of a role, or the next after `after`. */
const struct mor_method *mor_dialect_role(const struct mor_dialect *dialect, enum mor_role role,
					  const struct mor_method *after);
/* Row for what an embedder calls `action`; else the row whose action is "*"; else the "*" row; else NULL. */
const struct mor_method *mor_dialect_action(const struct mor_dialect *dialect, struct mor_slice action);
/* False where an earlier row of the same side has the same wire name. */
bool mor_dialect_is_first(const struct mor_dialect *dialect, const struct mor_method *row);
const char *mor_dialect_code_name(const struct mor_dialect *dialect, int64_t code); /* NULL: unknown */
/* What we call a status of our own on this wire: the table's code, else `fallback`. */
int64_t mor_dialect_code_for(const struct mor_dialect *dialect, int status, int64_t fallback);
/* Appends a JSON array of interface names: what `identity` (HELLO's result or the foreign manifest) lists
 * as strings or {id}, or what can be inferred where it has no list. Returns how many, or a status. */
int mor_dialect_interfaces(const struct mor_dialect *dialect, const struct mor_value *identity, struct mor_buf *out);
/* True when `identity` announces `interface` in one of these ways. */
bool mor_dialect_announces(const struct mor_dialect *dialect, const struct mor_value *identity, const char *interface);

/* ---- validation: one walk over fields and value ---- */

struct mor_finding {
	char pointer[160]; /* JSON pointer of the offending member */
	char text[256];    /* "/interfaces: required (array) but missing"; of the value itself "must be an object": to be put
			      behind "params: ", "answer: " and the like */
	bool fatal;        /* false: only the letter is broken (STRICT_ONLY, BEYOND, CLOSED) */
};
/* Several of them for one line of an error: the first ones whole, then how many more there are. */
#define MOR_FINDINGS_ROOM 24 /* "; and 31 more" */
struct mor_findings {
	char text[360];
	unsigned shown, count;
};
void mor_findings_add(struct mor_findings *all, const struct mor_finding *finding);
const char *mor_findings_text(struct mor_findings *all); /* once, at the end */
/* Calls `say` (which may be NULL) for each finding; returns how many there were. fields NULL: anything
 * goes. The walk ends after MOR_FINDINGS_MAX: a plugin must not make us write a report without end. */
#define MOR_FINDINGS_MAX 32
typedef void mor_finding_fn(const struct mor_finding *finding, void *arg);
unsigned mor_validate(const struct mor_field *fields, const struct mor_value *value, mor_finding_fn *say, void *arg);
/* Another accepted spelling counts: the member of `object` that `field` describes, or NULL. */
const struct mor_value *mor_field_get(const struct mor_field *field, const struct mor_value *object);

/* ---- names of types ---- */
/* Names of the bits of a mask; NULL ends the list. */
struct mor_bit_name {
	unsigned bit;
	const char *name;
};
extern const struct mor_bit_name mor_type_names[];

/* "string or null": at most about 60 bytes. */
const char *mor_field_type_text(unsigned type, char out[96]);

#endif
