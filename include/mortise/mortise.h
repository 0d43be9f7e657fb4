/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mortise.h: host plugins that run as separate processes and speak JSON-RPC over stdio.
 *
 * How to use it, in five steps:
 *   1. mortise_host_new() makes a host: one per event loop, used from one thread.
 *   2. mortise_plugin_new() names a plugin: a directory with a manifest, a file, a command line, or one that
 *      the user has installed.
 *      Nothing runs yet; mortise_plugin_describe() already shows what the manifest says.
 *   3. mortise_call_start() starts the plugin if needed, and calls it. The answer comes to on_reply.
 *   4. Poll mortise_host_fd() for reading in any event loop and call mortise_host_dispatch() whenever
 *      it is readable: pipes, time limits and exits of plugins are all behind this one descriptor.
 *      Programs without a loop use mortise_call_sync() instead.
 *   5. mortise_host_free() stops every plugin and frees everything.
 *
 * Rules that hold for every function:
 *   - 0 or a negative MORTISE_E... is returned; `ret_...` parameters are untouched on failure; `err`
 *     may be NULL, and is written on failure only.
 *   - Arguments are borrowed during the call, unless a comment says otherwise.
 *   - JSON is passed as text with a length; {NULL, 0} means "absent". It need not end in a NUL.
 *   - Every function may be called from a callback unless its comment says "not from a callback";
 *     what you free in a callback stays valid for the dispatch that called you.
 *   - One thread per host. mortise_host_wakeup() is the only function of a host that another thread may
 *     call (and mortise_host_adopt(), which makes it the host's); any other returns MORTISE_ETHREAD there
 *     and does nothing. Functions without a status show it otherwise: those that free return their argument,
 *     mortise_plugin_ref() and look-ups of a handle return NULL, names are "".
 *   - A forked child has a copy that belongs to nobody: there everything returns MORTISE_ETHREAD too. It
 *     may free it (mortise_host_free(), mortise_pool_free(), mortise_plugin_unref(); not from a callback):
 *     that frees memory and closes descriptors. It does not touch plugins, files or the parent's
 *     work, and no callback comes.
 *   - A callback returns: no exception and no longjmp() may leave it, or the host is left half-way. From C++17
 *     on the types of callbacks are noexcept, so that the compiler says it.
 *   - A function that can fail for a reason of its own has `err`. mortise_host_dispatch() and
 *     mortise_host_wait() have none: what can fail there fails for one plugin, and its events and calls tell.
 *   - The library never prints, prompts or exits, installs no signal handler, changes no limit and starts no
 *     thread. What it knows of plugins and calls belongs to a host; hosts share only what is found out once
 *     for the process, such as where mortise-jail is. No variable of the environment changes what it does for
 *     its program (HOME, PATH and XDG_... say where things are; MORTISE_TRACE writes a trace, to debug the
 *     library itself).
 *
 * What only some programs need has a header of its own, which includes this one: installed.h (what the user has
 * installed), view.h, jail.h, undo.h. They are not included here, so that this page stays the one to read.
 */
#ifndef MORTISE_MORTISE_H
#define MORTISE_MORTISE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <mortise/trust.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define MORTISE_API __attribute__((visibility("default")))
#else
#define MORTISE_API
#endif

#define MORTISE_VERSION "0.2.0"
/* The same to compare with: 10000 * major + 100 * minor + patch. */
#define MORTISE_VERSION_NUMBER 200

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
	X(ETRANSPORT,    -21, "transport",         "plugin needs a transport that is not there", -32603, 9)

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
	int code;         /* MORTISE_E...                                                        */
	int os_errno;     /* the errno behind it, or 0                                           */
	int64_t rpc_code; /* the plugin's own number if code is MORTISE_EREMOTE, else the table's */
	char text[496];   /* one line: which plugin, what failed, why, its last stderr line */
} mortise_error;

/* What the table says about a status. Unknown numbers give "unknown", exit code 1. Any thread. */
MORTISE_API const char *mortise_status_text(int status);
MORTISE_API const char *mortise_status_kind(int status);
MORTISE_API const char *mortise_status_name(int status);
MORTISE_API int mortise_status_exit_code(int status);
MORTISE_API const char *mortise_version(void);

/* ---- Types ---- */

typedef struct mortise_host mortise_host;       /* one per event loop; one thread                     */
typedef struct mortise_plugin mortise_plugin;   /* one supervised program; refcounted                 */
typedef struct mortise_call mortise_call;       /* one running request; the host owns it */
typedef struct mortise_request mortise_request; /* one request from a plugin; the host owns it        */
typedef struct mortise_pool mortise_pool;       /* several processes of one plugin, sharing a queue   */

typedef struct mortise_json {
	const char *text;
	size_t len;
} mortise_json;

/* Of a text that ends in a NUL; it is not copied. NULL: absent. */
static inline mortise_json mortise_json_text(const char *text)
{
	mortise_json json = { text, text ? strlen(text) : 0 };

	return json;
}

enum mortise_state {
	MORTISE_STOPPED,
	MORTISE_STARTING, /* the process is being made                            */
	MORTISE_GREETING, /* it runs; the dialect's handshake is not done yet */
	MORTISE_READY,
	MORTISE_DRAINING, /* it is being stopped, step by step */
	MORTISE_BACKOFF,  /* it died; the next start waits                        */
	MORTISE_FAILED,   /* it died too often, cannot start, or broke its jail   */
	MORTISE_STATES
};
MORTISE_API const char *mortise_state_name(int state);

/* The kinds of events. Each has a member of the same name in mortise_event; those that say nothing but their
 * text have none. */
enum mortise_event_type {
	MORTISE_EVENT_STATE,     /* the plugin's state has changed; text: why */
	MORTISE_EVENT_STDERR,    /* text: one line of the plugin's stderr, control bytes shown as \xNN     */
	MORTISE_EVENT_NOISE,     /* text: excerpt of bytes on stdout that were not a message */
	MORTISE_EVENT_NOTE,      /* a notification that the dialect does not use itself. If the plugin greets
				    (kythe), also its greeting; and the end of its work (kythe: "done") */
	MORTISE_EVENT_LOG,       /* text: a log message of the dialect */
	MORTISE_EVENT_WARNING,   /* text: something a person should know, the session goes on */
	MORTISE_EVENT_HEALTH,    /* the plugin's health has changed; text: reason */
	MORTISE_EVENT_DROPPED,   /* text: a reply nobody waits for (late, duplicate, unknown id)           */
	MORTISE_EVENT_SESSION,   /* a conversation that a plugin has opened; text: why */
	MORTISE_EVENT_VIOLATION, /* a confined plugin tried what it may not; text: one line for people */
	MORTISE_EVENT_TYPES
};
MORTISE_API const char *mortise_event_name(int type);

typedef struct mortise_event_state {
	enum mortise_state now, before;
	/* why the plugin ends, as a status (a breach of the protocol is MORTISE_EPROTO from DRAINING on);
	 * 0: it was asked to */
	int status;
} mortise_event_state;

typedef struct mortise_event_noise {
	uint64_t skipped; /* bytes */
} mortise_event_noise;

typedef struct mortise_event_note {
	const char *method;
	mortise_json params; /* with the greeting of a plugin that greets: our answer */
} mortise_event_note;

typedef struct mortise_event_log {
	const char *level;   /* the dialect's word for it; NULL: it has none */
	mortise_json params; /* the whole message */
} mortise_event_log;

typedef struct mortise_event_warning {
	/* the plugin reports its own health: the method that asked for it; or NULL */
	const char *health_method;
	int about_rights; /* 1: it is about what the plugin may do */
} mortise_event_warning;

typedef struct mortise_event_health {
	/* the plugin's own report: the method that asked for it; NULL: the host's finding */
	const char *method;
	int healthy; /* 1, or 0 */
} mortise_event_health;

enum mortise_session_step { MORTISE_SESSION_BEGINS, MORTISE_SESSION_ENDS_SOON, MORTISE_SESSION_OVER };

typedef struct mortise_event_session {
	enum mortise_session_step step;
	int64_t left_ms; /* until it ends; 0: it is over; -1: there is no limit */
} mortise_event_session;

enum mortise_violation_action {
	/* That was its end. It comes before the change of state, and before the calls that fail with it. */
	MORTISE_VIOLATION_KILLED,
	/* The system call failed and the plugin goes on (sandbox.on_denial). One event for each call and path,
	 * at most 1,000 for each process. */
	MORTISE_VIOLATION_DENIED,
	/* The process has ended, and all this was denied to it. */
	MORTISE_VIOLATION_SUM
};

typedef struct mortise_event_violation {
	enum mortise_violation_action action;
	uint32_t failed_calls; /* KILLED: calls that fail with it; 0: nothing else reports it */
	uint64_t denials;      /* SUM: how many */
	/* {"event":"sandbox_violation","plugin","syscall","path","rule","kind","allow","action"}, strings or
	 * null; with SUM {"event":"sandbox_denials","plugin","total","kept",
	 * "denials":[{"syscall","path","rule","kind","allow","count"},...]} */
	mortise_json record;
} mortise_event_violation;

/* Owned by the library, passed by pointer, valid until the callback returns. It may grow at its end; what
 * belongs to one kind may grow inside the union, whose size stays. */
typedef struct mortise_event {
	enum mortise_event_type type;
	uint32_t worker; /* the plugin is this worker of the pool (mortise_pool_worker()) */
	mortise_plugin *plugin;
	mortise_pool *pool; /* NULL: the plugin is no worker of a pool */
	int64_t time_ms;    /* the host's monotonic clock */
	const char *text;   /* one line, never NULL; see the kinds */
	union {
		uint64_t reserved[8];
		mortise_event_state state;
		mortise_event_noise noise;
		mortise_event_note note;
		mortise_event_log log;
		mortise_event_warning warning;
		mortise_event_health health;
		mortise_event_session session;
		mortise_event_violation violation;
	};
} mortise_event;
typedef void mortise_event_fn(const mortise_event *event, void *arg) MORTISE_NOEXCEPT;

enum mortise_tap_direction { MORTISE_TO_PLUGIN, MORTISE_FROM_PLUGIN };

typedef struct mortise_tap_frame {
	mortise_plugin *plugin;
	enum mortise_tap_direction direction;
	int64_t time_ns;   /* monotonic */
	mortise_json body; /* the message without its framing */
} mortise_tap_frame;
typedef void mortise_tap_fn(const mortise_tap_frame *frame, void *arg) MORTISE_NOEXCEPT;

/* ---- Host ---- */

enum mortise_host_flags {
	/* A call that is waited for (mortise_call_sync, or mortise_host_wait after mortise_call_start) may
	 * look for its answer for up to 50 microseconds before it sleeps, if the plugin has answered so
	 * soon before. With this flag it sleeps at once, and so it does on one core. */
	MORTISE_NO_SPIN = 1 << 0,
	/* Texts give advice in the words of the command `mortise`: "add --set sandbox.spawn=true". For that
	 * command, and programs that pass its options on. Without the flag they name settings. */
	MORTISE_COMMAND_WORDS = 1 << 1
};

typedef struct mortise_host_options {
	size_t size;                /* sizeof(mortise_host_options): the ABI version       */
	mortise_event_fn *on_event; /* for plugins without their own on_event */
	void *arg;
	uint64_t flags; /* enum mortise_host_flags */
	/* The program mortise-jail. NULL: the one that came with this library, found from the library's file;
	 * refused (MORTISE_EJAIL) if others can write it or its directory. One named here is not checked. */
	const char *jail_helper;
	mortise_trust_fn *on_trust; /* trust.h; NULL: an installed plugin that changed does not run */
} mortise_host_options;

/* `opt` may be NULL. The calling thread becomes the host's thread. */
MORTISE_API int mortise_host_new(const mortise_host_options *opt, mortise_host **ret_host, mortise_error *err);

/* Hands the host over to the calling thread (call it once there, before anything else). */
MORTISE_API int mortise_host_adopt(mortise_host *host, mortise_error *err);

/* Ends every call with MORTISE_ECANCELED, kills every plugin that still runs and frees the host and its
 * pools. The kill is SIGKILL: for a polite end call mortise_plugin_stop() and wait for STOPPED first.
 * Plugins that are still referenced answer MORTISE_ECLOSED until they are unreferenced. NULL is fine.
 * Returns NULL, or the host itself if it refuses: from a callback or a foreign thread. */
MORTISE_API mortise_host *mortise_host_free(mortise_host *host);

/* Readable if there is something to do, also for time limits and exits. Belongs to the host. */
MORTISE_API int mortise_host_fd(mortise_host *host);

/* Does what there is to do and returns; never blocks. If that is much (a plugin floods, 20,000 calls end
 * together) it does only a part, for a few milliseconds plus your callbacks, and the descriptor stays
 * readable. Only one large message is not divided. Returns the number of things done, or a status. Not from
 * a callback. */
MORTISE_API int mortise_host_dispatch(mortise_host *host);

/* poll() and dispatch in one, for programs without a loop: waits for at most timeout_ms (-1: no limit) until
 * something was done. Returns what dispatch returns; 0 only if the time is over or a wake-up came. A signal
 * alone does not end it: its handler calls mortise_host_wakeup(). Not from a callback. */
MORTISE_API int mortise_host_wait(mortise_host *host, int timeout_ms);

/* Makes the descriptor readable once. Any thread, and signal handlers. */
MORTISE_API int mortise_host_wakeup(mortise_host *host);

/* The plugins of a host, workers of pools among them, in the order in which they were made: the one after
 * `plugin`, or the first if that is NULL. Borrowed; NULL: there is no other, or `plugin` is no longer one of
 * them. So take the next one before you release a plugin. */
MORTISE_API mortise_plugin *mortise_host_next_plugin(mortise_host *host, mortise_plugin *plugin);

/* The tap sees every message in both directions, before anything else does. NULL removes it. */
MORTISE_API int mortise_host_set_tap(mortise_host *host, mortise_tap_fn *tap, void *arg, mortise_error *err);

/* ---- Plugins ---- */

/* A request from the plugin. Answer it exactly once, now or later, with reply or fail. The params have the
 * types that the dialect says. Requests that come after its stdin was closed are not passed on. If the
 * dialect allows one such request at a time (kythe: "analyze"), a second one never comes before the plugin
 * has ended the first. */
typedef void mortise_request_fn(mortise_request *request, const char *method, mortise_json params,
				void *arg) MORTISE_NOEXCEPT;

enum mortise_plugin_flags {
	MORTISE_STRICT = 1 << 0,     /* follow the specification exactly: warnings become errors */
	MORTISE_NO_RESTART = 1 << 1, /* a plugin that died is not restarted until it is called again */
	MORTISE_CLEAN_ENV = 1 << 2,  /* a minimal environment; see also MORTISE_INHERIT_ENV            */
	MORTISE_INHERIT_ENV = 1 << 3 /* the host's environment; with neither flag the dialect decides */
};

typedef struct mortise_plugin_options {
	size_t size;             /* sizeof(mortise_plugin_options): the ABI version                     */
	const char *path;        /* directory with a manifest, or a file; or NULL and argv is given     */
	const char *installed;   /* instead of a path: "NAME", "NAME@VERSION" or "NAME@RANGE" (installed.h) */
	const char *const *argv; /* NULL-terminated command line; with a path: extra arguments          */
	const char *name;        /* its name in texts; NULL: from the manifest or the file */
	const char *dialect;     /* "plain", "yams", ...; NULL: from the manifest                       */
	const char *const *env;  /* NULL-terminated; "NAME=VALUE", or "NAME" to pass our value on */
	const char *const *set;  /* NULL-terminated "section.key=value", as in mortise.toml             */
	mortise_json config;     /* object: what the dialect's init sends; merged over [config] */
	uint64_t flags;          /* enum mortise_plugin_flags */
	mortise_event_fn *on_event;
	mortise_request_fn *on_request; /* NULL: requests are answered with -32601                      */
	void *arg;
} mortise_plugin_options;

/* Reads manifest and configuration; starts nothing. The caller gets one reference. */
MORTISE_API int mortise_plugin_new(mortise_host *host, const mortise_plugin_options *opt,
				   mortise_plugin **ret_plugin, mortise_error *err);
MORTISE_API mortise_plugin *mortise_plugin_ref(mortise_plugin *plugin);
/* The last unref kills the process if it still runs. NULL is fine. Returns NULL, or the plugin itself if it
 * refuses: on a foreign thread. */
MORTISE_API mortise_plugin *mortise_plugin_unref(mortise_plugin *plugin);

/* Starts the process and its handshake; the result arrives as a STATE event. Calls start a stopped plugin
 * themselves, so this is only needed to start it early. Starting a running plugin is fine.
 *
 * A start that fails puts the plugin in FAILED, until this function is called again. There are exceptions: a
 * lack of descriptors, processes or memory (os_errno EMFILE, ENFILE, EAGAIN, ENOMEM; MORTISE_ENOMEM), and a
 * guardian that was killed before it had started anything (MORTISE_ECRASHED, in the callback). These count
 * as an ordinary death: the error is reported, the plugin goes to BACKOFF and is started again, and
 * restart.intensity counts it. With MORTISE_NO_RESTART, and if each call has its own process, it goes to
 * STOPPED: the next call tries again. A call that had to start the plugin returns the same error; one that
 * waits for the restart ends with it; one that is made in BACKOFF waits.
 *
 * A plugin that asks instead of being called (kythe) is started here and runs until it is stopped. It is
 * restarted if it ends by itself: at once after a good exit while nothing was running, after a moment if it
 * died of its work, with backoff otherwise. It is not restarted if its stdin was closed, by
 * mortise_plugin_stop() or after a fault: it ends in STOPPED, or in FAILED if it would fail again, and this
 * function starts it again. STOPPED, BACKOFF and FAILED mean that the process has ended: its running work is
 * lost, and nothing more comes from it. */
MORTISE_API int mortise_plugin_start(mortise_plugin *plugin, mortise_error *err);

enum mortise_stop {
	MORTISE_STOP_POLITE, /* in steps: shutdown message, close stdin, grace time, SIGTERM, SIGKILL */
	MORTISE_STOP_INPUT,  /* close stdin and start the grace time; a dialect's may be long (kythe: 10 s) */
	MORTISE_STOP_NOW     /* SIGKILL                                                                  */
};
/* Calls that wait in the queue fail. Running calls may still be answered during the stop (POLITE). The end
 * is a STATE event with MORTISE_STOPPED. Stopping a stopped plugin is fine. */
MORTISE_API int mortise_plugin_stop(mortise_plugin *plugin, enum mortise_stop how, mortise_error *err);
/* Stops it politely and runs this host until its process has ended; callbacks run meanwhile. Its running calls
 * may still be answered. When timeout_ms are over (-1: its steps take as long as they take), it is killed, and
 * MORTISE_ETIMEOUT is returned: it has ended then, too. If a callback starts it again, the new process is
 * left alone. Not from a callback. */
MORTISE_API int mortise_plugin_stop_sync(mortise_plugin *plugin, int timeout_ms, mortise_error *err);

/* on != 0: stop reading stdout, so that the pipe fills and the plugin waits. */
MORTISE_API int mortise_plugin_pause(mortise_plugin *plugin, int on, mortise_error *err);

/* The name from its manifest, a setting or the embedder; else its own name from its greeting, before that
 * its file, directory or command. The text lives as long as the plugin. */
MORTISE_API const char *mortise_plugin_name(mortise_plugin *plugin);
MORTISE_API const char *mortise_plugin_dialect(mortise_plugin *plugin);
MORTISE_API int mortise_plugin_state(mortise_plugin *plugin);
/* The host of a plugin; NULL when that was freed. */
MORTISE_API mortise_host *mortise_plugin_host(mortise_plugin *plugin);
/* `arg` of the options with which it was made: the embedder's own pointer, as long as you have the handle. */
MORTISE_API void *mortise_plugin_arg(mortise_plugin *plugin);

/* An object: name, version, dialect, state, pid, health, interfaces, capabilities, config_applied,
 * timeouts, counters, confinement. docs/reference/describe.md lists its members. Free with
 * mortise_free(). */
MORTISE_API int mortise_plugin_describe(mortise_plugin *plugin, char **ret_json, mortise_error *err);

/* ---- Calls ---- */

/* Owned by the library, valid until the callback returns. */
typedef struct mortise_reply {
	int status;                 /* MORTISE_OK or why it failed                                     */
	int more;                   /* 1: a piece, more will follow; 0: the last callback of this call */
	mortise_json result;        /* with MORTISE_OK                                                 */
	mortise_json error_data;    /* with MORTISE_EREMOTE: the complete `data` of the error; with
					 MORTISE_EVIOLATION the same as the event's params */
	const mortise_error *error; /* set if status is not MORTISE_OK */
	mortise_plugin *plugin;     /* NULL: a call of a pool that never reached a worker */
	mortise_call *call;         /* what mortise_call_start() or mortise_pool_call() has given */
	mortise_json next;          /* with MORTISE_PAGES: an object to merge into the params of the same
					 call, to get the next page; absent: this was the last */
} mortise_reply;
typedef void mortise_reply_fn(const mortise_reply *reply, void *arg) MORTISE_NOEXCEPT;

enum mortise_call_flags {
	MORTISE_NOTIFY = 1 << 0, /* send a notification: settled with an absent result when it is written */
	MORTISE_RAW = 1 << 1,    /* `action` is a wire method and `params` are sent unchanged; for the
				  * dialect's health method, absent params are replaced by the host's own */
	MORTISE_PAGES = 1 << 2,  /* the result may be one page of several: reply->next says how to get the
				  * next, if the dialect's table knows how */
	MORTISE_LENT = 1 << 3    /* the params stay as they are until the last on_reply (if the call is refused,
				  * none comes, and they are yours again at once): a pool, which may have to
				  * send them again, keeps no copy, and large ones are written from where they
				  * are. Without on_reply they are copied. */
};

/* As timeout_ms: the call waits as long as its plugin lives, or as the dialect lets a session last
 * (limits.session, the acknowledgement of G-Assist). */
#define MORTISE_NO_LIMIT UINT32_MAX

typedef struct mortise_call_options {
	size_t size;
	uint32_t timeout_ms; /* counted from the last byte written; 0: the dialect's or configuration's;
				or MORTISE_NO_LIMIT */
	uint32_t queue_ms;   /* until the last byte is written; 0: no limit, as long as the plugin has taken
				bytes within timeout_ms                                                 */
	uint64_t flags;      /* enum mortise_call_flags */
	mortise_reply_fn *on_reply;
	void *arg;
	mortise_json extra; /* object: members that the protocol has beside the arguments (G-Assist:
				   context, system_info), if the dialect sends them; not with MORTISE_RAW */
} mortise_call_options;

/* `action` is a name that describe lists (function, command, extractor method); the dialect turns it into a
 * message. With MORTISE_RAW it is a wire method. Calls that cannot be sent yet wait: at most 65,536 of them
 * (fewer if the dialect says so), with params of limits.queue bytes in total (the default is the dialect's: 64
 * MiB for plain, 512 MiB for yams). MORTISE_EOVERLOAD names the limit. `params` is an object, an array, or
 * absent. on_reply comes exactly once with more == 0, never before this function has returned. The handle is
 * valid until that callback returns. `opt` and `ret_call` may be NULL. */
MORTISE_API int mortise_call_start(mortise_plugin *plugin, const char *action, mortise_json params,
				   const mortise_call_options *opt, mortise_call **ret_call,
				   mortise_error *err);

/* The last callback comes later with MORTISE_ECANCELED, unless the answer is already there. A call that still
 * waits is sent to nobody. What its plugin is told, if it was sent:
 *   - plain, yams, ayiou: nothing, unless the setting cancel.method names a notification, for instance
 *     "$/cancelRequest"; its params are {"id": N} (cancel.member: another name than "id").
 *   - sunscreen, sunscreen-json: its process ends, because it has one of its own.
 *   - gassist: the process is killed, because nothing else ends a function; other calls on it fail with
 *     MORTISE_ECLOSED.
 *   - over gRPC (go-plugin, sunscreen): the transport ends the call, and the plugin learns of it there.
 *
 * In plain, yams and ayiou the plugin may still be at work, so the call keeps its slot (limits.in_flight)
 * until the plugin answers it; that answer is dropped. If none comes within the call's time limit (30 s if
 * it has none), and the plugin is silent, it is stopped and started again. With the setting cancel.grace
 * ("2s") this happens when that time is over, whatever else the plugin sends. A call that is out of time is
 * given up in the same way. */
MORTISE_API int mortise_call_cancel(mortise_call *call, mortise_error *err);

/* Starts a call and runs this host until it is settled; callbacks of other plugins run meanwhile. The result
 * is a NUL-terminated text; free it with mortise_free(). If the plugin answered with an error, it is the
 * error's `data`, or NULL. `ret_result` and `opt` may be NULL; on_reply in `opt`, if set, gets only the
 * pieces. Not from a callback. */
MORTISE_API int mortise_call_sync(mortise_plugin *plugin, const char *action, mortise_json params,
				  const mortise_call_options *opt, char **ret_result, mortise_error *err);

/* ---- Requests from a plugin ---- */

/* Each request is answered exactly once. The answer ends its handle, whatever it returns, except
 * MORTISE_ETHREAD. If the process that asked has ended meanwhile (mortise_request_plugin() returns NULL), or
 * its stdin was closed, the answer returns MORTISE_ECLOSED and has reached nobody. An answer that cannot be
 * sent (MORTISE_EINVAL: it is not JSON; MORTISE_ELIMIT: too large; MORTISE_ENOMEM) is replaced by an error
 * with code -32603, so that the plugin does not wait for it. Handles that are never answered live as long as
 * the host.
 *
 * At most 4,096 elements of a batch are read, and no more when their answers have reached 1 MiB: the rest is
 * refused with one error, and a WARNING event reports it. */
MORTISE_API int mortise_request_reply(mortise_request *request, mortise_json result, mortise_error *err);
MORTISE_API int mortise_request_fail(mortise_request *request, int64_t rpc_code, const char *message,
				     mortise_json data, mortise_error *err);
MORTISE_API mortise_plugin *mortise_request_plugin(mortise_request *request);

/* ---- Pools: `workers` processes of one plugin with one queue ---- */

typedef struct mortise_pool_options {
	size_t size;
	uint32_t workers;   /* processes; 0: one per processor                                          */
	uint32_t retries;   /* how often a call is tried again on another worker: after a crash of its
				 worker, or an error whose data says "recoverable": true. Default 0: never.
				 If nothing of a call was written, it does not count as a try: see
				 mortise_pool_call() */
	uint32_t max_queue; /* calls that wait for a worker; more fail with MORTISE_EOVERLOAD; 0: 65536.
				 The bytes of their params are limited as well: limits.queue for each worker */
	uint32_t reserved;  /* 0 */
} mortise_pool_options;

/* The workers start when calls need them, and are restarted like any plugin. `plugin_opt` as in
 * mortise_plugin_new(). */
MORTISE_API int mortise_pool_new(mortise_host *host, const mortise_plugin_options *plugin_opt,
				 const mortise_pool_options *opt, mortise_pool **ret_pool, mortise_error *err);
/* Kills the workers, also those that you hold: they answer MORTISE_ECLOSED from then on. Every call ends
 * with MORTISE_ECANCELED before this returns. Fine in any callback, also of mortise_pool_stop(). NULL is
 * fine; returns NULL. */
MORTISE_API mortise_pool *mortise_pool_free(mortise_pool *pool);
/* Like mortise_call_start(), on the least busy worker. The handle stays the same when the call goes to another
 * worker.
 *
 * The call waits in the pool until a worker is READY and has room for it; queue_ms counts from here until
 * its last byte is written. If anything of a call was written, it is sent again only as `retries` says. If
 * nothing was written, because its worker broke or died first, it goes to another worker, as often as the
 * pool has workers.
 *
 * While a worker is READY or starting, calls wait for it. If no worker is, they end with the reason of the
 * last one: its status, error and error_data, and plugin NULL. That happens at once if that worker refused
 * its greeting, was too slow in it, or cannot be run, and if all are FAILED. After a crash or a lack of
 * resources it happens when starts have failed as often as `retries` says plus one, at least twice. A worker
 * that is FAILED gets a new chance with mortise_plugin_start(). restart.intensity counts only the deaths of
 * a worker between which the pool has answered nothing: a pool that gets work done goes on. */
MORTISE_API int mortise_pool_call(mortise_pool *pool, const char *action, mortise_json params,
				  const mortise_call_options *opt, mortise_call **ret_call, mortise_error *err);
/* Waiting calls end with MORTISE_ECLOSED, new calls are refused, and all workers are stopped like by
 * mortise_plugin_stop(). Their STATE events report the end. */
MORTISE_API int mortise_pool_stop(mortise_pool *pool, enum mortise_stop how, mortise_error *err);
/* Worker number `index`, borrowed; NULL past the end. For describe and events. A worker that you stop is
 * started again when a call needs it. */
MORTISE_API mortise_plugin *mortise_pool_worker(mortise_pool *pool, uint32_t index);
/* An object: waiting, waiting_bytes, max_queue, retries, and workers: for each, in the order of their index,
 * what mortise_plugin_describe() says of it. Free with mortise_free(). */
MORTISE_API int mortise_pool_describe(mortise_pool *pool, char **ret_json, mortise_error *err);

/* ---- Dialects ---- */

/* Formats: "text" (a page to read), "command" (the same in the words of MORTISE_COMMAND_WORDS), "json" (the
 * table), "openrpc". Free with mortise_free(). Any thread. `name` NULL: the list of dialects, one per line
 * ("text", "command") or an array ("json"). */
MORTISE_API int mortise_dialect_describe(const char *name, const char *format, char **ret_text,
					 mortise_error *err);

/* Frees what the library returned as char *. NULL is fine. */
MORTISE_API void mortise_free(void *memory);

#ifdef __cplusplus
}
#endif
#endif
