/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A relay: a process between a host and a plugin. The host starts it instead of the plugin; it starts the
 * plugin and carries the bytes of both. Everything else passes too: closed ends, back-pressure, signals, the
 * exit status. The plugin never outlives it.
 *
 * Lanes carry bytes, one each way, and one more for stderr where somebody wants to see it. A lane may have
 * a filter that changes what passes (`mortise chaos`), or an observer that is told what has passed (`mortise
 * record`, `mortise tap`). A filter can also leave marks at places in the outgoing bytes: wait, end the stream,
 * kill the plugin.
 */
#ifndef MOR_RELAY_RELAY_H
#define MOR_RELAY_RELAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <mortise/mortise.h>

#include "base/buf.h"
#include "base/slice.h"

/* ---- lanes (lane.c) ---- */

enum mor_relay_mark_kind {
	MOR_RELAY_MARK_WAIT, /* for `ms`                                   */
	MOR_RELAY_MARK_END,  /* the reader sees the end of the stream */
	MOR_RELAY_MARK_KILL  /* the plugin dies                            */
};

struct mor_relay_mark {
	enum mor_relay_mark_kind kind;
	uint64_t at; /* before this byte of the lane */
	uint32_t ms;
};

struct mor_relay_lane;
/* `bytes` were read; NULL and 0: the stream has ended. 0 or MORTISE_ENOMEM. */
typedef int mor_relay_filter_fn(struct mor_relay_lane *lane, struct mor_slice bytes);
typedef void mor_relay_seen_fn(struct mor_relay_lane *lane, struct mor_slice bytes);

struct mor_relay_lane {
	mor_relay_filter_fn *on_input; /* appends to `out` what is to be sent; NULL: everything passes       */
	mor_relay_seen_fn *on_seen;    /* or NULL: told after the bytes were passed on, as far as possible   */
	int from, to;                  /* -1: closed                                                         */
	bool over;                     /* nothing more is read: the stream has ended, or nobody needs it */
	bool muted;                    /* input is thrown away: we have ended the stream, or will do so soon */
	bool unbound;                  /* a write of any size to `to` never blocks */
	struct mor_buf out;
	size_t out_at;   /* bytes of `out` that have been written */
	uint64_t passed; /* ... and of the whole lane             */
	struct mor_relay_mark *mark;
	size_t marks, marks_cap;
	int watcher;        /* carry.c: the epoll descriptor that knows both ends; -1: none */
	int64_t held_until; /* on the monotonic clock, in ms; 0: no wait */
};

void mor_relay_lane_init(struct mor_relay_lane *lane, int from, int to);
void mor_relay_lane_fini(struct mor_relay_lane *lane);
/* The place of the next byte that is appended to `out`. */
uint64_t mor_relay_lane_end(const struct mor_relay_lane *lane);
/* Marks are kept in order of their places. Without memory, one mark is left out. */
void mor_relay_lane_mark(struct mor_relay_lane *lane, enum mor_relay_mark_kind kind, uint64_t at, uint32_t ms);

/* For carry.c. */
bool mor_relay_lane_pending(const struct mor_relay_lane *lane); /* something waits to be written */
int mor_relay_lane_held_ms(const struct mor_relay_lane *lane); /* how long nothing may be written; -1: it may */
/* True if there is room for more: a slow reader stops the writer, as with one pipe. */
bool mor_relay_lane_wants_input(const struct mor_relay_lane *lane);
/* Reads once, and passes on what it can. 0, or MORTISE_ENOMEM. */
int mor_relay_lane_read(struct mor_relay_lane *lane);
/* The stream has ended for us, although the descriptor may still be open in another process. */
int mor_relay_lane_finish(struct mor_relay_lane *lane);
/* Writes once, up to the next mark, and acts on marks that are due. True: the plugin must be killed. */
bool mor_relay_lane_write(struct mor_relay_lane *lane);
/* Closes both ends: if one side closes, the other must see it. */
void mor_relay_lane_break(struct mor_relay_lane *lane);

/* ---- the plugin (start.c) ---- */

struct mor_relay_plugin {
	pid_t pid;
	int in, out, err; /* our ends; err is -1 where stderr is shared */
	int framing;      /* its manifest's, or -1 */
	char dialect[32]; /* its manifest's, or "" */
};

/* Starts what `path` names (a directory or a file) or the command line, with pipes for stdin and stdout, and
 * our environment. Its stderr is ours, or a pipe too (`take_stderr`). The plugin dies with us. */
int mor_relay_start(const char *path, const char *const *argv, bool take_stderr, struct mor_relay_plugin *ret,
		    mortise_error *err);

/* ---- carrying (carry.c) ---- */

/* More things to watch while bytes are carried: a terminal, a clock. */
struct mor_relay_guest {
	/* -1: none; on_ready is called when it is readable */
	int fd;
	int (*wait_ms)(struct mor_relay_guest *guest);   /* the longest wait; -1: any. NULL: any  */
	void (*on_ready)(struct mor_relay_guest *guest); /* NULL: nothing */
	/* before each wait: what passed is passed; or NULL */
	void (*on_turn)(struct mor_relay_guest *guest);
	/* this one is passed on to the plugin; or NULL */
	void (*on_signal)(struct mor_relay_guest *guest, int);
	bool over; /* set by it: nobody needs the plugin any more. It is killed. */
};

struct mor_relay {
	struct mor_relay_plugin *plugin;
	struct mor_relay_lane *lane[3]; /* to the plugin, to the host, stderr; NULL: none */
	struct mor_relay_guest *guest;  /* or NULL                                        */
};

/* Carries bytes until the plugin has ended and its last bytes are passed on. Returns its wait status, or a
 * negative MORTISE_E.... */
int mor_relay_carry(const struct mor_relay *relay);
/* Ends this process as the plugin ended: an exit status to return, or death by the same signal. */
int mor_relay_end_as(int status);

#endif
