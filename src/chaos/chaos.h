/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mortise chaos: a proxy between a host and a plugin that disturbs the messages, and can repeat exactly the
 * same run.
 *
 * Two lanes carry bytes, one each way. A lane cuts what it reads into messages (wire/framing.h) and numbers
 * them from 1. For every message and fault there is one random draw. It depends only on seed, lane, number
 * and fault, not on time and not on the other lane. The same seed and the same traffic give the same faults.
 * Actions are kept as marks at places in the outgoing bytes: wait, end the stream, kill the plugin.
 */
#ifndef MOR_CHAOS_CHAOS_H
#define MOR_CHAOS_CHAOS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <mortise/mortise.h>

#include "base/buf.h"
#include "base/slice.h"
#include "wire/framing.h"

enum mor_chaos_fault {
	MOR_CHAOS_FAULT_SPLIT,
	MOR_CHAOS_FAULT_STALL,
	MOR_CHAOS_FAULT_GARBAGE,
	MOR_CHAOS_FAULT_DUP_ID,
	MOR_CHAOS_FAULT_STALE_ID,
	MOR_CHAOS_FAULT_DROP,
	MOR_CHAOS_FAULT_TRUNCATE,
	MOR_CHAOS_FAULT_KILL,
	MOR_CHAOS_FAULTS
};

struct mor_chaos_fault_kind {
	const char *name;
	uint32_t rate; /* used if the user gives no rate, in billionths */
};
extern const struct mor_chaos_fault_kind mor_chaos_fault_kinds[MOR_CHAOS_FAULTS];

/* What the user asked for. */
struct mor_chaos {
	uint64_t seed;
	uint32_t rate[MOR_CHAOS_FAULTS]; /* billionths; 0: never                           */
	uint32_t stall_ms;               /* the longest stall                              */
	uint32_t after;                  /* messages of each lane that are not changed */
	int framing;                     /* enum mor_framing; -1: found from the first bytes */
	int log;                         /* one line per fault; -1: none                   */
};

/* ---- lanes ---- */

enum mor_chaos_mark_kind {
	MOR_CHAOS_MARK_WAIT, /* for `ms`                                   */
	MOR_CHAOS_MARK_END,  /* the reader sees the end of the stream */
	MOR_CHAOS_MARK_KILL  /* the plugin dies                            */
};

struct mor_chaos_mark {
	enum mor_chaos_mark_kind kind;
	uint64_t at; /* before this byte of the lane */
	uint32_t ms;
};

/* Replies that passed before. A stale reply is made from one of them. Long replies are not kept. */
#define MOR_CHAOS_KEPT       64
#define MOR_CHAOS_KEPT_BYTES 65536
struct mor_chaos_kept {
	char *frame; /* with its framing */
	size_t len;
	char id[40];
};

struct mor_chaos_lane {
	const struct mor_chaos *chaos;
	char sign;    /* '>' towards the plugin, '<' towards the host, as in --show-wire              */
	int from, to; /* -1: closed                                                                    */
	bool over;    /* nothing more is read: the stream has ended, or nobody needs it */
	bool muted;   /* input is thrown away: we have ended the stream, or will do so soon */
	struct mor_deframer deframer;
	bool sure; /* the framing is known */
	struct mor_chaos_lane *other;
	struct mor_buf in, out;
	size_t out_at;   /* bytes of `out` that have been written */
	uint64_t passed; /* ... and of the whole lane             */
	struct mor_chaos_mark *mark;
	size_t marks, marks_cap;
	int64_t held_until; /* on the monotonic clock, in ms; 0: no wait */
	uint64_t messages, faults[MOR_CHAOS_FAULTS];
	struct mor_chaos_kept kept[MOR_CHAOS_KEPT];
	size_t kept_count; /* since the start */
};

void mor_chaos_lane_init(struct mor_chaos_lane *lane, const struct mor_chaos *chaos, char sign, int from,
			 int to);
void mor_chaos_lane_fini(struct mor_chaos_lane *lane);
/* True if bytes wait to be written and may be written now. */
bool mor_chaos_lane_pending(const struct mor_chaos_lane *lane);
bool mor_chaos_lane_held(const struct mor_chaos_lane *lane, int64_t now_ms);
/* True if there is room for more: a slow reader stops the writer, as with one pipe. */
bool mor_chaos_lane_wants_input(const struct mor_chaos_lane *lane);
/* Reads once and cuts the bytes into messages. 0, or MORTISE_ENOMEM. */
int mor_chaos_lane_read(struct mor_chaos_lane *lane);
/* The stream has ended for us, although the descriptor may still be open in another process. */
int mor_chaos_lane_finish(struct mor_chaos_lane *lane);
/* Writes once, up to the next mark, and acts on marks that are due. True: the plugin must be killed. */
bool mor_chaos_lane_write(struct mor_chaos_lane *lane, int64_t now_ms);
/* Closes both ends: if one side closes, the other must see it. */
void mor_chaos_lane_break(struct mor_chaos_lane *lane);

/* ---- faults (fault.c) ---- */

/* Writes one message, with its faults, into lane->out and its marks. `frame` is `body` with its framing. */
void mor_chaos_message(struct mor_chaos_lane *lane, struct mor_slice frame, struct mor_slice body);
void mor_chaos_lane_mark(struct mor_chaos_lane *lane, enum mor_chaos_mark_kind kind, uint64_t at, uint32_t ms);
void mor_chaos_kept_fini(struct mor_chaos_lane *lane);
/* A one-to-one mix of all 64 bits, used for draws. */
uint64_t mor_chaos_mix(uint64_t x);

/* ---- the plugin (plugin.c) ---- */

struct mor_chaos_plugin {
	pid_t pid;
	int in, out; /* our ends */
	int framing; /* its manifest's, or -1 */
};

/* Starts what `path` names (a directory or a file) or the command line, with pipes for stdin and stdout, our
 * stderr and our environment. The plugin dies with us. */
int mor_chaos_start(const char *path, const char *const *argv, struct mor_chaos_plugin *ret,
		    mortise_error *err);

/* Carries bytes until the plugin has ended and its last bytes are passed on. Returns its wait status, or a
 * negative MORTISE_E.... */
int mor_chaos_carry(struct mor_chaos_plugin *plugin, struct mor_chaos_lane *to_plugin,
		    struct mor_chaos_lane *to_host);

#endif
