/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mortise chaos: a proxy between a host and a plugin that disturbs the messages, and can repeat exactly the
 * same run.
 *
 * A relay (src/kit/relay) carries the bytes. Each of its two lanes has a filter that cuts them into messages
 * and numbers them from 1. For every message and fault there is one random draw. It depends only on seed, lane,
 * number and fault, not on time and not on the other lane. The same seed and the same traffic give the same
 * faults. Actions are kept as marks at places in the outgoing bytes: wait, end the stream, kill the plugin.
 */
#ifndef MOR_CHAOS_CHAOS_H
#define MOR_CHAOS_CHAOS_H

#include <stddef.h>
#include <stdint.h>

#include <mortise/mortise.h>

#include "base/list.h"
#include "base/slice.h"
#include "console/console.h"
#include "relay/cutter.h"
#include "relay/relay.h"

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

/* From seed, and from the number of this start in the file `starts`, where all starts count; NULL: none is
 * counted. `log` is a file or NULL. */
int mor_chaos_begin(struct mor_chaos *chaos, uint64_t seed, const char *starts, const char *log,
		    mortise_error *err);
/* Carries everything until the end, reports the faults, and closes the log. What mor_relay_carry() returns. */
int mor_chaos_run(struct mor_chaos *chaos, struct mor_relay_plugin *plugin, struct mor_console *console);

/* ---- lanes ---- */

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
	char sign; /* '>' towards the plugin, '<' towards the host, as in --show-wire */
	struct mor_relay_lane relay;
	struct mor_cutter cutter;
	uint64_t messages, faults[MOR_CHAOS_FAULTS];
	struct mor_chaos_kept kept[MOR_CHAOS_KEPT];
	size_t kept_count; /* since the start */
};

void mor_chaos_lane_init(struct mor_chaos_lane *lane, const struct mor_chaos *chaos, char sign, int from,
			 int to);
void mor_chaos_lane_fini(struct mor_chaos_lane *lane);

/* ---- faults (fault.c) ---- */

/* Writes one message, with its faults, into the outgoing bytes of its lane, with marks. `frame` is `body`
 * with its framing. */
void mor_chaos_message(struct mor_chaos_lane *lane, struct mor_slice frame, struct mor_slice body);
void mor_chaos_kept_fini(struct mor_chaos_lane *lane);
/* A one-to-one mix of all 64 bits, used for draws. */
uint64_t mor_chaos_mix(uint64_t x);

#endif
