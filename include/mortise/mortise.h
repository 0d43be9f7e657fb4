/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mortise.h: host plugins that run as separate processes and speak JSON-RPC over stdio.
 *
 * How to use it, in five steps:
 *   1. mortise_host_new() makes a host: one per event loop, used from one thread.
 *   2. mortise_plugin_new() names a plugin: a directory with a manifest, a file, or a command line.
 *      Nothing runs yet; mortise_plugin_describe() already tells what the manifest says.
 *   3. mortise_call_start() starts the plugin if need be, and calls it. The answer comes to on_reply.
 *   4. Poll mortise_host_fd() for reading in any event loop and call mortise_host_dispatch() whenever
 *      it is readable: pipes, time limits and exits of plugins are all behind this one descriptor.
 *      Programs without a loop use mortise_call_sync() instead.
 *   5. mortise_host_free() stops every plugin and gives everything back.
 *
 * Rules that hold for every function:
 *   - 0 or a negative MORTISE_E... is returned; `ret_...` parameters are untouched on failure; `err`
 *     may be NULL, and is written on failure only.
 *   - Arguments are borrowed for the length of the call, unless a comment says otherwise.
 *   - JSON crosses as text with a length; {NULL, 0} means "absent". It need not end in a NUL.
 *   - Every function may be called from a callback unless its comment says "not from a callback";
 *     nothing you free in a callback goes away under the feet of the dispatch that called you.
 *   - One thread per host. mortise_host_wakeup() is the only function of a host that another thread may
 *     call (and mortise_host_adopt(), which makes it the host's); any other returns MORTISE_ETHREAD there
 *     and does nothing. Those that return no status say it so: what frees returns what it was given,
 *     mortise_plugin_ref() and what looks for a handle return NULL, names are "".
 *   - A forked child has a copy that belongs to nobody: there, too, everything returns MORTISE_ETHREAD. It
 *     may free it (mortise_host_free(), mortise_pool_free(), mortise_plugin_unref(); not from a callback):
 *     that gives back memory and closes descriptors, and touches neither plugins nor files nor what the
 *     parent does; no callback comes.
 *   - The library never prints, prompts or exits, installs no signal handler, changes no limit, starts
 *     no thread and keeps no global state.
 */
#ifndef MORTISE_MORTISE_H
#define MORTISE_MORTISE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define MORTISE_API __attribute__((visibility("default")))
#else
#define MORTISE_API
#endif

#define MORTISE_VERSION "0.1.0"

/* ---- Errors: one table gives the number, the kind, the text, the JSON-RPC code and the exit code. ---- */

/* clang-format off */
/*        name          value  kind                  text                                      json-rpc  exit */
#define MORTISE_ERRORS(X) \
	X(ENOMEM,         -1, "internal",          "out of memory",                            -32603,  1) \
	X(EINVAL,         -2, "usage",             "invalid argument",                         -32602,  2) \
	X(ESYSTEM,        -3, "system",            "system call failed",                       -32603,  1) \
	X(ETIMEOUT,       -4, "timeout",           "plugin did not answer in time",            -32002,  6) \
	X(ECLOSED,        -5, "crashed",           "plugin is not running",                    -32003,  7) \
	X(ECRASHED,       -6, "crashed",           "plugin ended before it answered",          -32003,  7) \
	X(EREMOTE,        -7, "plugin_error",      "plugin answered with an error",                 0,  1) \
	X(EPROTO,         -8, "protocol",          "plugin broke the protocol",                -32600,  9) \
	X(ECANCELED,      -9, "cancelled",         "call was cancelled",                       -32800,  1) \
	X(EOVERLOAD,     -10, "overloaded",        "too much is queued for the plugin",        -32000,  1) \
	X(EMANIFEST,     -11, "manifest",          "manifest or configuration is wrong",       -32602,  3) \
	X(ENOTFOUND,     -12, "not_found",         "not found",                                -32601,  5) \
	X(EEXEC,         -13, "start",             "plugin could not be started",              -32603,  3) \
	X(EINPUT,        -14, "input",             "input is wrong",                           -32602,  4) \
	X(EUNSUPPORTED,  -15, "unsupported",       "plugin does not offer this",               -32601,  4) \
	X(ELIMIT,        -16, "protocol",          "message is over the size limit",           -32600,  9) \
	X(ECALLBACK,     -17, "usage",             "not allowed inside a callback",            -32603,  2) \
	X(ETHREAD,       -18, "usage",             "called from a thread that is not the host's", -32603, 2) \
	X(EVIOLATION,    -19, "sandbox_violation", "plugin broke out of its permissions",      -32603,  9) \
	X(EJAIL,         -20, "jail",              "the jail could not be set up",             -32603, 125) \
	X(ETRANSPORT,    -21, "transport",         "plugin needs a transport that is not there yet", -32603, 9)

enum mortise_status {
	MORTISE_OK = 0,
#define MORTISE_X(name, value, kind, text, rpc, exit_code) MORTISE_##name = (value),
	MORTISE_ERRORS(MORTISE_X)
#undef MORTISE_X
	MORTISE_STATUS_FORCE_INT = 0x7fffffff
};
/* clang-format on */

/* Lives on the caller's stack, owns nothing, 512 bytes for ever. */
typedef struct mortise_error {
	int code;          /* MORTISE_E...                                                        */
	int os_errno;      /* the errno behind it, or 0                                           */
	int64_t rpc_code;  /* the plugin's own number when code is MORTISE_EREMOTE, else the table's */
	char text[496];    /* one line: for which plugin, what failed, why, its last stderr line  */
} mortise_error;

/* What the table says of a status. Unknown numbers give "unknown", exit code 1. Any thread. */
MORTISE_API const char *mortise_status_text(int status);
MORTISE_API const char *mortise_status_kind(int status);
MORTISE_API const char *mortise_status_name(int status);
MORTISE_API int mortise_status_exit_code(int status);
MORTISE_API const char *mortise_version(void);

/* ---- Types ---- */

typedef struct mortise_host mortise_host;       /* one per event loop; one thread                     */
typedef struct mortise_plugin mortise_plugin;   /* one supervised program; refcounted                 */
typedef struct mortise_call mortise_call;       /* one request under way; the host owns it            */
typedef struct mortise_request mortise_request; /* one request from a plugin; the host owns it        */
typedef struct mortise_pool mortise_pool;       /* several processes of one plugin, sharing a queue   */

typedef struct mortise_json {
	const char *text;
	size_t len;
} mortise_json;

enum mortise_state {
	MORTISE_STOPPED,
	MORTISE_STARTING, /* the process is being made                            */
	MORTISE_GREETING, /* it runs; the dialect's handshake is under way        */
	MORTISE_READY,
	MORTISE_DRAINING, /* the stop ladder                                      */
	MORTISE_BACKOFF,  /* it died; the next start waits                        */
	MORTISE_FAILED,   /* it died too often, cannot start, or broke its jail   */
	MORTISE_STATES
};
MORTISE_API const char *mortise_state_name(int state);

enum mortise_event_type {
	MORTISE_EVENT_STATE,   /* state, previous; text says why; code: of one that goes down, why, as a status (a breach
				  of the protocol is MORTISE_EPROTO from DRAINING on); 0: it was asked to */
	MORTISE_EVENT_STDERR,  /* text: one line of the plugin's stderr, control bytes shown as \xNN     */
	MORTISE_EVENT_NOISE,   /* text: excerpt of what was no message on stdout; count: bytes skipped   */
	MORTISE_EVENT_NOTE,    /* method, params: a notification that the dialect does not consume. Where the
				  plugin greets (kythe) also its greeting, with our answer as params; and the end
				  of what it was given to do (kythe: "done")                             */
	MORTISE_EVENT_LOG,     /* level, text: what the dialect calls a log message                      */
	MORTISE_EVENT_WARNING, /* text: something a person should know, the session goes on; method: where it is the
				  plugin's own word about its health, the method that asked for it, else NULL */
	MORTISE_EVENT_HEALTH,  /* text: reason; count: 1 healthy, 0 not; method: as in WARNING           */
	MORTISE_EVENT_DROPPED, /* text: a reply nobody waits for (late, duplicate, unknown id)           */
	MORTISE_EVENT_SESSION, /* a conversation that a plugin has opened; method: begins, ends_soon, over; text: why;
				  count: ms that it still has, 0: it is over, UINT64_MAX: no limit       */
	/* What a confined plugin was killed for. text: one line for people; params: {"event":"sandbox_violation","plugin",
	 * "syscall","path","rule"}, strings or null. Comes before the change of state and the calls that fail with it. */
	MORTISE_EVENT_VIOLATION,
	MORTISE_EVENT_TYPES
};
MORTISE_API const char *mortise_event_name(int type);

/* Ours, passed by pointer, valid until the callback returns; it may grow at its end. */
typedef struct mortise_event {
	enum mortise_event_type type;
	enum mortise_state state, previous;
	mortise_plugin *plugin;
	const char *text, *level, *method;
	mortise_json params;
	uint64_t count;
	int64_t time_ms; /* the host's monotonic clock */
	int code;
} mortise_event;
typedef void mortise_event_fn(const mortise_event *event, void *arg);

enum mortise_tap_direction { MORTISE_TO_PLUGIN, MORTISE_FROM_PLUGIN };

typedef struct mortise_tap_frame {
	mortise_plugin *plugin;
	enum mortise_tap_direction direction;
	int64_t time_ns;   /* monotonic */
	mortise_json body; /* the message without its framing */
} mortise_tap_frame;
typedef void mortise_tap_fn(const mortise_tap_frame *frame, void *arg);

/* ---- Host ---- */

typedef struct mortise_host_options {
	size_t size;                /* sizeof(mortise_host_options): the ABI version       */
	mortise_event_fn *on_event; /* for plugins that bring no on_event of their own     */
	void *arg;
	uint64_t flags;             /* none so far */
	/* The program mortise-jail. NULL: the one that came with this library, sought from its own file; it is
	 * refused (MORTISE_EJAIL) when others can write it or its directory. One that is named here is taken as
	 * it is. */
	const char *jail_helper;
} mortise_host_options;

/* `opt` may be NULL. The calling thread becomes the host's thread. */
MORTISE_API int mortise_host_new(const mortise_host_options *opt, mortise_host **ret_host, mortise_error *err);

/* Hands the host over to the calling thread (call it once there, before anything else). */
MORTISE_API int mortise_host_adopt(mortise_host *host);

/* Ends every call with MORTISE_ECANCELED, kills every plugin that still runs (SIGKILL: call
 * mortise_plugin_stop() and wait for STOPPED first where politeness matters) and frees the host and its pools. Plugins that
 * are still referenced answer MORTISE_ECLOSED until they are unreferenced. NULL is fine; returns NULL, or the
 * host itself where it refuses: from a callback or a foreign thread. */
MORTISE_API mortise_host *mortise_host_free(mortise_host *host);

/* Readable whenever something is due, time limits and exits included. Belongs to the host. */
MORTISE_API int mortise_host_fd(mortise_host *host);

/* Does what is due and returns; never blocks. Where that is much (a plugin floods, 20,000 calls end together) it does some
 * of it, for a few milliseconds beside your callbacks, and the descriptor stays readable; only one large message is not
 * divided. Returns the number of things done, or a status. Not from a callback. */
MORTISE_API int mortise_host_dispatch(mortise_host *host);

/* poll() and dispatch in one, for programs without a loop: waits for at most timeout_ms (-1: no limit)
 * until something was done. Returns as dispatch does; 0 when the time passed or a wake-up came.
 * Not from a callback. */
MORTISE_API int mortise_host_wait(mortise_host *host, int timeout_ms);

/* Makes the descriptor readable once. Any thread, and signal handlers. */
MORTISE_API int mortise_host_wakeup(mortise_host *host);

/* Sees every message both ways, before anything else does. NULL removes it. */
MORTISE_API int mortise_host_set_tap(mortise_host *host, mortise_tap_fn *tap, void *arg);

/* ---- Plugins ---- */

/* The plugin asks. Answer exactly once, now or in any later turn, with reply or fail. The params are of the types that the
 * dialect says. What it asks after its stdin was closed does not come here. Where the dialect allows one such request at a
 * time (kythe: "analyze"), there is never a second one before the plugin has ended the first. */
typedef void mortise_request_fn(mortise_request *request, const char *method, mortise_json params, void *arg);

enum mortise_plugin_flags {
	MORTISE_STRICT = 1 << 0,      /* the letter of the specification: warnings become errors        */
	MORTISE_NO_RESTART = 1 << 1,  /* a plugin that died stays down until it is called again         */
	MORTISE_CLEAN_ENV = 1 << 2,   /* a minimal environment; see also MORTISE_INHERIT_ENV            */
	MORTISE_INHERIT_ENV = 1 << 3  /* the host's environment; neither flag: what the dialect says    */
};

typedef struct mortise_plugin_options {
	size_t size;             /* sizeof(mortise_plugin_options): the ABI version                     */
	const char *path;        /* directory with a manifest, or a file; or NULL and argv is given     */
	const char *const *argv; /* NULL-terminated command line; with a path: extra arguments          */
	const char *name;        /* what texts call it; NULL: from the manifest or the file             */
	const char *dialect;     /* "plain", "yams", ...; NULL: from the manifest                       */
	const char *const *env;  /* NULL-terminated; "NAME=VALUE", or "NAME" to pass ours through       */
	const char *const *set;  /* NULL-terminated "section.key=value", as in mortise.toml and --set   */
	mortise_json config;     /* object: what the dialect's init sends; over [config]                */
	uint64_t flags;          /* enum mortise_plugin_flags */
	mortise_event_fn *on_event;
	mortise_request_fn *on_request; /* NULL: requests are answered with -32601                      */
	void *arg;
} mortise_plugin_options;

/* Reads manifest and configuration; starts nothing. The caller gets one reference. */
MORTISE_API int mortise_plugin_new(mortise_host *host, const mortise_plugin_options *opt,
				   mortise_plugin **ret_plugin, mortise_error *err);
MORTISE_API mortise_plugin *mortise_plugin_ref(mortise_plugin *plugin);
/* The last one kills the process if it still runs. NULL is fine; returns NULL, or the plugin itself where it refuses: on a
 * foreign thread. */
MORTISE_API mortise_plugin *mortise_plugin_unref(mortise_plugin *plugin);

/* Starts the process and its handshake; the result arrives as a STATE event. Calls start a stopped
 * plugin by themselves, so this is for those who want it up early. Starting what runs is fine.
 *
 * A start that fails puts the plugin in FAILED, until this function is called again. But where descriptors, processes or
 * memory are only lacking (os_errno EMFILE, ENFILE, EAGAIN, ENOMEM; MORTISE_ENOMEM), and where its guardian was killed
 * before it had started anything (MORTISE_ECRASHED, in the callback), that is a death like others: the error is told, the
 * plugin goes to BACKOFF and is started again by itself, and restart.intensity counts it. With MORTISE_NO_RESTART, and
 * where each call has a process of its own, it goes to STOPPED: the next call tries again. A call that had to start the
 * plugin returns the same error, one that waits for the restart ends with it; one that is made in BACKOFF waits.
 *
 * A plugin that asks instead of being called (kythe) is started here and wanted until it is stopped. It is restarted when it
 * ended by itself: at once after a good exit with nothing under way, after a moment where it died of what it was given,
 * with backoff otherwise. It is not restarted where its stdin was closed, by mortise_plugin_stop() or for a fault: it
 * ends in STOPPED, or FAILED where it would do so again, and this function starts it anew. STOPPED, BACKOFF and FAILED tell
 * that the process has ended: what was under way in it is lost, and nothing of it comes any more. */
MORTISE_API int mortise_plugin_start(mortise_plugin *plugin, mortise_error *err);

enum mortise_stop {
	MORTISE_STOP_POLITE, /* the ladder: shutdown message, close stdin, grace, SIGTERM, SIGKILL       */
	MORTISE_STOP_INPUT,  /* close stdin and start the grace; the dialect's may be long (kythe: 10 s)  */
	MORTISE_STOP_NOW     /* SIGKILL                                                                  */
};
/* Calls that wait in the queue fail; calls under way may still be answered within the ladder (POLITE).
 * The end is a STATE event with MORTISE_STOPPED. Stopping what is stopped is fine. */
MORTISE_API int mortise_plugin_stop(mortise_plugin *plugin, enum mortise_stop how);

/* on != 0: stop reading stdout, so that the pipe fills and the plugin waits. */
MORTISE_API int mortise_plugin_pause(mortise_plugin *plugin, int on);

/* What its manifest, a setting or the embedder calls it; else what it calls itself once it has greeted us, before that
 * its file, directory or command. A text lives as long as the plugin. */
MORTISE_API const char *mortise_plugin_name(mortise_plugin *plugin);
MORTISE_API const char *mortise_plugin_dialect(mortise_plugin *plugin);
MORTISE_API int mortise_plugin_state(mortise_plugin *plugin);

/* An object: name, version, dialect, state, pid, health, interfaces, capabilities, config_applied,
 * timeouts, counters, confinement. docs/reference/describe.md lists its members. Free with
 * mortise_free(). */
MORTISE_API int mortise_plugin_describe(mortise_plugin *plugin, char **ret_json);

/* ---- Calls ---- */

/* Ours, valid until the callback returns. */
typedef struct mortise_reply {
	int status;                 /* MORTISE_OK or why it failed                                     */
	int more;                   /* 1: a piece, more will follow; 0: the last callback of this call */
	mortise_json result;        /* with MORTISE_OK                                                 */
	mortise_json error_data;    /* with MORTISE_EREMOTE: the error's `data`, whole; with MORTISE_EVIOLATION
				       what the event's params say                                     */
	const mortise_error *error; /* set when status is not MORTISE_OK                               */
	mortise_plugin *plugin;     /* NULL: the call of a pool that never reached a worker            */
	mortise_call *call;         /* NULL in a pool                                                  */
	mortise_json next;          /* with MORTISE_PAGES: an object to merge into the params of the same call for
				       the page that follows; absent: this was the last                */
} mortise_reply;
typedef void mortise_reply_fn(const mortise_reply *reply, void *arg);

enum mortise_call_flags {
	MORTISE_NOTIFY = 1 << 0, /* send a notification: settled with an absent result once written     */
	MORTISE_RAW = 1 << 1,    /* `action` is a wire method and `params` go out as they are; absent ones of
				  * the dialect's health method are those that the host itself sends    */
	MORTISE_PAGES = 1 << 2   /* the result may be one page of several: reply->next says how to get the next,
				  * where the dialect's table knows how                                 */
};

typedef struct mortise_call_options {
	size_t size;
	uint32_t timeout_ms; /* counted from the last byte written; 0: the dialect's or configuration's */
	uint32_t queue_ms;   /* until the last byte is written; 0: no limit, as long as the plugin has taken
				bytes within timeout_ms                                                 */
	uint64_t flags;      /* enum mortise_call_flags */
	mortise_reply_fn *on_reply;
	void *arg;
	mortise_json extra;  /* object: members that the protocol has beside the arguments (G-Assist: context,
				system_info), where the dialect sends them; not with MORTISE_RAW        */
} mortise_call_options;

/* `action` is what describe lists (function, command, extractor method), shaped by the dialect; with
 * MORTISE_RAW a wire method. Calls that cannot be sent yet wait: at most 65,536 of them (fewer where the dialect says so),
 * with params of limits.queue bytes in all (64 MiB where nobody says otherwise); MORTISE_EOVERLOAD names the limit.
 * `params` is an object, an array, or absent. on_reply comes exactly once with
 * more == 0, never before this function has returned; the handle dies when that callback returns.
 * `opt` and `ret_call` may be NULL. */
MORTISE_API int mortise_call_start(mortise_plugin *plugin, const char *action, mortise_json params,
				   const mortise_call_options *opt, mortise_call **ret_call,
				   mortise_error *err);

/* The last callback comes in a later turn with MORTISE_ECANCELED, unless the answer is already there. */
MORTISE_API int mortise_call_cancel(mortise_call *call);

/* Starts a call and runs this host until it is settled; other plugins' callbacks run meanwhile. The
 * result is a NUL-terminated text to be freed with mortise_free(), also when the plugin answered with an
 * error: then it is the error's `data`, or NULL. `ret_result` and `opt` may be NULL; on_reply in `opt`,
 * if set, sees the pieces only. Not from a callback. */
MORTISE_API int mortise_call_sync(mortise_plugin *plugin, const char *action, mortise_json params,
				  const mortise_call_options *opt, char **ret_result, mortise_error *err);

/* ---- What a plugin asks of us ---- */

/* Each request is answered exactly once; its handle dies with the answer, whatever that returns but MORTISE_ETHREAD. Where
 * the process that asked has ended meanwhile (mortise_request_plugin() says NULL), or its stdin was closed, the answer
 * returns MORTISE_ECLOSED and has reached nobody. One that cannot be sent (MORTISE_EINVAL: it is not JSON; MORTISE_ELIMIT:
 * too large; MORTISE_ENOMEM) is replaced by an error with code -32603, so that the plugin does not wait for it. Handles that
 * are never answered live as long as the host.
 *
 * Of a batch at most 4,096 elements are looked at, and no more once their answers have come to 1 MiB: the rest is refused
 * with one error, and a WARNING event tells. */
MORTISE_API int mortise_request_reply(mortise_request *request, mortise_json result);
MORTISE_API int mortise_request_fail(mortise_request *request, int64_t rpc_code, const char *message,
				     mortise_json data);
MORTISE_API mortise_plugin *mortise_request_plugin(mortise_request *request);

/* ---- Pools: `size` processes of one plugin behind one queue ---- */

typedef struct mortise_pool_options {
	size_t size;
	uint32_t workers;   /* processes; 0: one per processor                                          */
	uint32_t retries;   /* how often a call is tried again elsewhere: after a crash of its worker, or
			       an error whose data says "recoverable": true. Default 0: never. A call of
			       which nothing was written is no try: see mortise_pool_call()              */
	uint32_t max_queue; /* calls that wait for a worker; more fail with MORTISE_EOVERLOAD; 0: 65536. The bytes
			       of their params are bounded as well: limits.queue for each worker        */
} mortise_pool_options;

/* The workers start as calls need them, and are restarted as any plugin is. `plugin_opt` as in mortise_plugin_new(). */
MORTISE_API int mortise_pool_new(mortise_host *host, const mortise_plugin_options *plugin_opt,
				 const mortise_pool_options *opt, mortise_pool **ret_pool, mortise_error *err);
/* Kills the workers, also those that you hold: they answer MORTISE_ECLOSED from then on. Every call ends with
 * MORTISE_ECANCELED before this returns. Fine in any callback, also of mortise_pool_stop(). NULL is fine; returns NULL. */
MORTISE_API mortise_pool *mortise_pool_free(mortise_pool *pool);
/* As mortise_call_start(), on the least busy worker. A call in a pool cannot be cancelled one by one.
 *
 * The call waits in the pool until a worker is READY and has room for it; queue_ms counts from here until its last byte is
 * written. A call of which anything was written is sent again only as `retries` says. One of which nothing was, because its
 * worker broke or died first, goes to another, as often as the pool has workers.
 *
 * While a worker is READY or comes up, calls wait for it. Where none is, they end with what keeps the last one from it: its
 * status, error and error_data, and plugin NULL. So it is at once when that worker refused its greeting, was too slow in
 * it, or cannot be run, and when all are FAILED; after a crash or a lack, when starts failed as often as `retries` says
 * plus once, at least twice. A worker that is FAILED has a fresh chance with mortise_plugin_start(). */
MORTISE_API int mortise_pool_call(mortise_pool *pool, const char *action, mortise_json params,
				  const mortise_call_options *opt, mortise_error *err);
/* Calls that wait end with MORTISE_ECLOSED, no more are taken, and all workers are stopped as mortise_plugin_stop() does;
 * their STATE events tell the end. */
MORTISE_API int mortise_pool_stop(mortise_pool *pool, enum mortise_stop how);
/* Worker number `index`, borrowed; NULL past the end. For describe and events. Who stops one finds it started again when
 * a call needs it. */
MORTISE_API mortise_plugin *mortise_pool_worker(mortise_pool *pool, uint32_t index);

/* ---- The file-system view ---- */

/* What a plugin sees over the host's own files. Only for a plugin made with `sandbox.view = true` (mortise.toml, --set,
 * mortise_plugin_options.set): it then runs in a user and a mount namespace of its own, at level guarded or t1, without
 * capabilities and with the same numbers for user and group. Where the kernel refuses that, its start fails with
 * MORTISE_EJAIL and a text that names what is missing, so that a caller can do without. */
typedef struct mortise_view {
	size_t size;       /* sizeof(mortise_view): the ABI version                                             */
	const char *stage; /* absolute path of a directory. Its tree appears over "/": STAGE/usr/include/x.h as
			      /usr/include/x.h, above what the host has there, read-only (writes: EROFS). Where the
			      host has a link to a directory (/lib), what the stage has below that name appears where
			      the link leads. Nothing can be shown below /proc, /sys and /dev: MORTISE_EINVAL.
			      Links in the stage are shown, never followed. Hard links to one file are one inode for
			      the plugin within one top-level directory. The stage must not change while it is
			      shown; it may be removed once the view is replaced or taken away.                 */
	const char *const *writable; /* NULL, or NULL-terminated: absolute paths of existing directories of the host
			      that the plugin may read and write under their own names, also where the stage covers
			      them or a confined plugin would not see them (for its output)                     */
	const char *const *directories; /* NULL, or NULL-terminated: directories of the stage, relative to it
			      ("usr/include/sys"), such that all others of it lie on the way to one of these. Who knows
			      them saves the guardian a walk through the stage in search of them. It looks in the
			      host's tree at these alone: a link on the way to one that is not named is covered, not
			      followed. Too many of them for an order (some 15,000 bytes) are not counted         */
} mortise_view;

/* The end of mortise_plugin_set_view(): from dispatch, exactly once, never before that function has returned. `error` is
 * set unless status is MORTISE_OK, and valid until the callback returns. */
typedef void mortise_view_fn(mortise_plugin *plugin, int status, const mortise_error *error, void *arg);

/* Replaces what the running plugin sees; `view` NULL takes the view away. When `done` is called with MORTISE_OK the new
 * view is complete and nothing of the one before can be reached by name; open descriptors and mappings go on working, and
 * a working directory inside the old view stays valid but stale. Else nothing has changed, unless the text says that the
 * view is gone. Views of one plugin take effect in the order of the calls. A new process starts without a view.
 *
 * Fails at once with MORTISE_EINVAL (no `sandbox.view`, a path that is not absolute) or MORTISE_ECLOSED (not running: it
 * is, from its first STATE event after STARTING on). `done` brings MORTISE_ENOTFOUND (no such stage), MORTISE_EINVAL (a
 * stage that cannot be shown; the text names the path), MORTISE_EJAIL (refused by the kernel), or what ended the plugin
 * meanwhile. Everything is copied. `done` may be NULL. */
MORTISE_API int mortise_plugin_set_view(mortise_plugin *plugin, const mortise_view *view, mortise_view_fn *done,
					void *arg, mortise_error *err);

/* ---- The jail by itself ---- */

/* What a wake-up of the host means for the program that runs. */
enum mortise_jail_order {
	MORTISE_JAIL_GO_ON,
	MORTISE_JAIL_TERM, /* SIGTERM to all of it */
	MORTISE_JAIL_KILL  /* SIGKILL to all of it */
};

typedef struct mortise_jail_options {
	size_t size;
	const char *const *argv;   /* NULL-terminated; without a slash the program is looked for in PATH     */
	const char *const *policy; /* NULL-terminated "key=value": the keys of [sandbox], and plugin_dir and
				      scratch; paths are absolute or begin with "~/"; read and protected_paths
				      may be repeated. Where no level is given: "auto"                        */
	const char *const *env;    /* NULL-terminated, over the clean environment: "NAME=VALUE", or "NAME" to
				      pass ours through                                                       */
	const char *name;          /* what texts call it; NULL: the program's file name                       */
	const char *helper;        /* path of mortise-jail; NULL: the one that came with this library         */
	uint32_t landlock_abi_cap; /* for tests: use no more of Landlock than this; 0: all there is           */
	uint32_t flags;            /* none so far */
	mortise_host *host;        /* or NULL. Whenever it is woken up on_wakeup is asked what to do          */
	enum mortise_jail_order (*on_wakeup)(void *arg);
	void *arg;
} mortise_jail_options;

/* The caller's; filled as far as it went. */
typedef struct mortise_jail_result {
	size_t size;         /* set by the caller: sizeof(mortise_jail_result)                                   */
	int exit_code;       /* what a shell would say: the program's own, or 128 + signal; 9: a violation      */
	int signal;          /* that ended it, or 0                                                              */
	int timed_out;       /* 1: its wall time was over                                                        */
	char level[12];      /* in force: "guarded", "t0", "t1"; "" where it never started                       */
	char syscall[32];    /* a violation: what it called, on which path, against which rule; else ""          */
	char path[512];
	char rule[64];
	char rung[12];       /* what ends all of it: "subreaper" (the guardian), "pidns" (the kernel); "": never started */
} mortise_jail_result;

/* Runs one program in the jail with our stdin, stdout and stderr, and waits for its end. 0: it ran and ended, however it
 * ended. MORTISE_EVIOLATION: it was killed for a violation, which `ret` tells and err's text says in a sentence.
 * MORTISE_EJAIL: the jail could not be set up, and nothing was run; the text names what is missing. MORTISE_ENOTFOUND,
 * MORTISE_EEXEC: the program. MORTISE_EINVAL: the policy. Nothing of it is left running in any case. Any thread, unless
 * a host is given; not from a callback. */
MORTISE_API int mortise_jail_run(const mortise_jail_options *opt, mortise_jail_result *ret, mortise_error *err);

/* ---- Undoing what a confined program wrote ---- */

/* One run of one program, or of a plugin and its restarts: give mortise_undo_store() as the setting or policy
 * "undo" (sandbox.undo=...), let it run, and when nothing of it is left running undo, or free to keep what it changed. What
 * its guardian saves before the first change of each file is kept in the store; a change that cannot be saved is refused to
 * the program (EDQUOT: more than 1 GiB of files, or 100,000 changes). If this process is killed the guardian undoes. */
typedef struct mortise_undo mortise_undo;

/* One line for people: what was undone ("undone: 3 files changed, 1 created"), what stays as it is and why, or what came of
 * earlier runs in this workspace that were killed. */
typedef void mortise_undo_note_fn(const char *text, void *arg);

typedef struct mortise_undo_options {
	size_t size;
	const char *directory; /* absolute: where stores are kept, for this user alone; made if it is not there         */
	const char *workspace; /* absolute: what is undone is below it                                                  */
	const char *name;      /* whose run it is; NULL: "a plugin"                                                     */
	mortise_undo_note_fn *on_note; /* or NULL; called inside of mortise_undo_new() and mortise_undo_run() only       */
	void *arg;
} mortise_undo_options;

typedef struct mortise_undo_result {
	size_t size;         /* set by the caller: sizeof(mortise_undo_result)                                   */
	unsigned changed;    /* names that were changed, made and removed, and now are as they were before       */
	unsigned created, removed;
	unsigned left;       /* names that stay as they are, mostly because somebody else has changed them since */
	unsigned refused;    /* 1: the program was refused a change that could not be saved                       */
	unsigned reserved;
} mortise_undo_result;

/* Also looks for stores of this workspace that were left behind, and settles them: on_note says how. MORTISE_ESYSTEM: the
 * store cannot be made. Any thread. */
MORTISE_API int mortise_undo_new(const mortise_undo_options *opt, mortise_undo **ret, mortise_error *err);
MORTISE_API const char *mortise_undo_store(const mortise_undo *undo); /* borrowed */
/* Once. Nothing of the program may run any more. MORTISE_ESYSTEM: nothing was undone. MORTISE_ETHREAD: a forked child may not. */
MORTISE_API int mortise_undo_run(mortise_undo *undo, mortise_undo_result *ret, mortise_error *err);
/* Removes the store, unless undoing has failed: then the next run in that workspace tries again. The program's changes stay, if
 * they were not undone. A forked child gives back memory alone. NULL is fine. Returns NULL. */
MORTISE_API mortise_undo *mortise_undo_free(mortise_undo *undo);

/* What this machine supports, found out by trying: one object, mortise-doctor(1) lists its members. Free with
 * mortise_free(). Starts short-lived processes. Any thread. */
MORTISE_API int mortise_doctor(char **ret_json);

/* ---- Dialects ---- */

/* Formats: "text" (a page to read), "json" (the table), "openrpc". Free with mortise_free(). Any thread.
 * `name` NULL: the list of dialects, one per line ("text") or an array ("json"). */
MORTISE_API int mortise_dialect_describe(const char *name, const char *format, char **ret_text);

/* Frees what the library gave out as char *. NULL is fine. */
MORTISE_API void mortise_free(void *memory);

#ifdef __cplusplus
}
#endif
#endif
