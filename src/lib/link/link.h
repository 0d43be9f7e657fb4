/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A link is how the host reaches one running plugin. The state machines of the host know nothing else of
 * pipes and processes. The library has two kinds: stdio (proc + framing + envelope) and remote (proc + a gRPC
 * connection, remote.h). Tests bring theirs, which run on the virtual clock.
 *
 * Down: the operations. Up: the events, always from the loop, never from inside an operation (except that start
 * may fail by return value). A link is started once. After a successful start on_end comes exactly once, when
 * every message that the plugin wrote has been handed on; then the link is freed. All bodies are slices valid
 * until the callback returns.
 */
#ifndef MOR_LINK_LINK_H
#define MOR_LINK_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include <mortise/mortise.h>

#include "base/buf.h"
#include "base/slice.h"
#include "loop/loop.h"
#include "proc/doing.h"
#include "proc/proc.h"
#include "wire/envelope.h"
#include "wire/framing.h"

struct mor_link;
struct mor_record;
struct mor_outgoing;

struct mor_link_end {
	bool clean; /* exit status 0                                                            */
	bool known;
	bool violation; /* ended by its jail; the text says what it tried                           */
	int status;     /* exit code or signal number                                               */
	bool by_signal;
	bool used_up;          /* its limit of processor time                                              */
	char text[384];        /* "exited with status 3"; more when the cause is known                     */
	char last_stderr[256]; /* "" when it wrote no line                                               */
	int start_code;        /* it was never started: MORTISE_E..., and errno; the text says why         */
	int os_errno;
	char syscall[32], path[512], rule[64];     /* with violation                                         */
	const struct mor_forbidden_row *forbidden; /* the same */
	uint64_t denied;                           /* calls that were refused while it went on */
	uint64_t cpu_us; /* processor time of the process and what it waited for; 0: not known       */
};

/* What a plugin may do wrong on the wire. */
enum mor_fault {
	MOR_FAULT_BAD_JSON,   /* a frame that is no JSON text; `message` may carry an id                  */
	MOR_FAULT_NO_MESSAGE, /* a JSON text that is no JSON-RPC message; the same                       */
	MOR_FAULT_TOO_BIG,    /* a frame over the limit; skipped                                          */
	MOR_FAULT_CORRUPT,    /* the stream cannot be followed any further                                */
	MOR_FAULT_TRUNCATED   /* stdout ended inside a frame                                              */
};

/* What can be seen of a silent plugin from outside. */
struct mor_link_look {
	uint64_t unread;         /* bytes in its stdin that it has not taken */
	struct mor_slice rest;   /* what it has written since its last whole message; until the next event */
	const char *last_stderr; /* the telling line; the same */
	struct mor_doing doing;
	bool paused; /* we do not read its stdout */
};

struct mor_link_events {
	void (*on_started)(void *arg, int pid);
	void (*on_message)(void *arg, const struct mor_message *message);
	void (*on_fault)(void *arg, enum mor_fault fault, const struct mor_message *message, const char *text);
	void (*on_noise)(void *arg, struct mor_slice bytes, uint64_t count);
	void (*on_stderr)(void *arg, struct mor_slice line);
	/* something was refused to it; see MOR_RECORD_DENIED */
	void (*on_denied)(void *arg, const struct mor_record *record);
	/* bytes since start that the pipe has taken; also when it takes none */
	void (*on_written)(void *arg, uint64_t total);
	/* stdout ended, or the plugin closed its stdin, while the process still runs: "closed its stdout".
	 * Usually the exit follows at once, so the host gives it a moment before it acts. */
	void (*on_broken)(void *arg, const char *what);
	void (*on_end)(void *arg, const struct mor_link_end *how);
	/* One per set_view, in their order, unless the end comes first; error NULL: it is done. */
	void (*on_view)(void *arg, const mortise_error *error);
};

#define MOR_LARGE ((size_t)256 * 1024) /* params from this size on are not copied where that can be avoided */

/* Large params, in memory of their own or borrowed. */
struct mor_large {
	struct mor_slice bytes;
	struct mor_buf owned; /* empty: borrowed */
};

struct mor_link_ops {
	int (*start)(struct mor_link *link, mortise_error *err);
	/* Queues one message (already one line where the framing is lines). It leaves with everything else
	 * that is queued in this turn, in one write. 0, MORTISE_EOVERLOAD over the queue limit,
	 * MORTISE_ELIMIT over the send limit, MORTISE_ECLOSED, MORTISE_ENOMEM. */
	int (*send)(struct mor_link *link, struct mor_slice body);
	/* The same for a request, which is written into the link's queue at once. NULL: use send. Not where
	 * opt->frame_pad is set. With `calls` the link carries calls, not messages: it gets every request so,
	 * whatever its form, and its answers have no bytes of their own (mor_envelope_imply()). */
	int (*send_request)(struct mor_link *link, const struct mor_outgoing *request);
	bool calls;
	/* The same for a message of three parts: head, part, '}'. The part is not copied: it is written from
	 * its own memory, which the link takes on success, or borrows until disown(). Only while
	 * takes_large() says so: one part waits at a time. NULL: never. */
	bool (*takes_large)(struct mor_link *link);
	int (*send_large)(struct mor_link *link, struct mor_slice head, struct mor_large *part);
	/* The memory of a borrowed part goes: what is not written yet is copied. */
	void (*disown)(struct mor_link *link);
	/* The call with this id is not wanted any more: tells the plugin. NULL: the dialect's CANCEL does. */
	void (*cancel)(struct mor_link *link, int64_t id);
	/* after everything queued has been written; a second call: at once */
	void (*close_input)(struct mor_link *link);
	void (*pause)(struct mor_link *link, bool on);
	void (*order)(struct mor_link *link, enum mor_order order);
	/* Bytes of what was written that the plugin has not taken out of the pipe yet. NULL: not known. */
	uint64_t (*unread)(struct mor_link *link);
	/* Looks at it, for the text of a failure. NULL: there is nothing to see. */
	void (*look)(struct mor_link *link, struct mor_link_look *ret);
	/* The process has ended, and on_end will come. NULL: not known. */
	bool (*is_over)(struct mor_link *link);
	/* As mor_proc_set_view(); NULL: this kind of link has no file system to show. */
	int (*set_view)(struct mor_link *link, struct mor_slice texts);
	/* Ends it at once without events (the process is killed and reaped) and frees the link. */
	void (*free)(struct mor_link *link);
};

struct mor_link {
	const struct mor_link_ops *ops;
	const struct mor_link_events *events;
	void *arg; /* for the events */
	struct mor_loop *loop;
	uint64_t queued; /* bytes given to send since start, framing included: on_written reaches this   */
	uint64_t written;
	uint32_t limit_ms; /* of the call whose request is sent next; 0: none. For the plugin to know */
	bool closed;       /* the plugin's stdin                                                            */
	bool input_broken; /* the plugin has closed its stdin (told by on_broken) */
	bool block_taken;  /* the memory of `block` has a new owner */
	/* The order of messages, if opt->ordered asks for it. */
	uint64_t at;       /* bytes of its stdout before the message that is being handed on               */
	uint64_t older;    /* bytes of its stdout that were there before the last write to its stdin       */
	int64_t closed_ms; /* when `closed` began, or a little later */
	/* since on_started, what is in force (mor_proc_level, _rung); NULL: no process */
	const char *level, *rung;
	/* While a message is handed on that lies in a buffer of its own: that buffer. Else NULL. */
	const struct mor_buf *block;
};

/* In on_message: the memory around `text` (a part of the message), if nearly all of it is that text. The caller
 * frees it, and changes nothing in it before the dispatch is over. NULL: copy the text. */
char *mor_link_take_block(struct mor_link *link, struct mor_slice text);

/* For a plugin that listens on a socket and speaks gRPC there. */
struct mor_remote_options {
	const char *dialect; /* whose service it speaks (service/service.h) */
	uint32_t start_ms;   /* from the start of its process until it can be called */
	/* variable and value that HashiCorp's plugins want to see; versions of the application's protocol as
	 * "1,2"; NULL: none, and "1" */
	const char *cookie_key, *cookie_value, *versions;
	/* a descriptor set, for services that are not known here, relative to `dir` if that is there; NULL: the
	 * plugin is asked */
	const char *proto, *dir;
};

struct mor_link_options {
	const struct mor_remote_options *remote; /* NULL: over stdio */
	const struct mor_command *command;
	enum mor_framing framing;
	unsigned reads; /* other framings taken on input, as 1 << enum mor_framing */
	unsigned deframe_flags, envelope_flags, max_depth;
	size_t frame_limit, send_limit, queue_limit;
	/* a frame that is no message is a fault even if it names no call; else it is noise */
	bool every_fault;
	bool ordered;       /* `older` is wanted: one more system call for each write                        */
	unsigned frame_pad; /* pad messages with blanks to a multiple of this (a quirk); 0: no */
};

/* The command and everything in the options is borrowed as long as the link lives. */
int mor_link_stdio_new(struct mor_loop *loop, const struct mor_link_options *opt,
		       const struct mor_link_events *events, void *arg, struct mor_link **ret);

/* The same over gRPC; opt->remote is there. Starting it fails with MORTISE_ETRANSPORT without
 * libmortise-grpc.so. */
int mor_link_remote_new(struct mor_loop *loop, const struct mor_link_options *opt,
			const struct mor_link_events *events, void *arg, struct mor_link **ret);

/* ---- for links with a process (link.c); `arg` of its events is the struct mor_link ---- */

/* Starts it; the failure as link errors are. 0 or a status. */
int mor_link_start_process(struct mor_link *link, const struct mor_command *command,
			   const struct mor_proc_events *events, struct mor_proc **ret, mortise_error *err);
/* What its end means, for on_end. */
void mor_link_describe_end(const struct mor_proc *proc, struct mor_link_end *ret);
/* Events that are only passed on. */
void mor_link_tell_exec_failed(void *arg, const struct mor_exec_failure *failure);
void mor_link_tell_stderr(void *arg, struct mor_slice line);
void mor_link_tell_denied(void *arg, const struct mor_record *record);
void mor_link_tell_view(void *arg, const struct mor_exec_failure *failure);

/* How a host makes links: stdio, unless a test brings its own. */
typedef int mor_link_make_fn(struct mor_loop *loop, const struct mor_link_options *opt,
			     const struct mor_link_events *events, void *arg, struct mor_link **ret);

#endif
