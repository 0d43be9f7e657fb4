/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One life of a plugin's process: all that is true of this process and must not be true of the next one. It begins as one
 * assignment, in mor_life_begin(), before the process is started. After the end it stays as it was until the next start,
 * for whoever asks what happened.
 *
 * Not in here: what outlives a process (settings, counters, the mark of its health), and what cannot be assigned because
 * others point into it (lists of calls, timers). Those are empty and stopped when a life begins.
 */
#ifndef MOR_HOST_LIFE_H
#define MOR_HOST_LIFE_H

#include <stdbool.h>
#include <stdint.h>

#include <mortise/mortise.h>

#include "base/buf.h"
#include "host/health.h"
#include "host/keep.h"
#include "host/ladder.h"

struct mor_doc;
struct mor_link;
struct mor_method;

/* Why a plugin is DRAINING, and what follows when its process has ended. The embedder's word counts more than any other
 * reason; among the others the first one stays. */
enum mor_drain {
	MOR_DRAIN_NONE,     /* it does not */
	MOR_DRAIN_ASKED,    /* the embedder stopped it: STOPPED                                                       */
	MOR_DRAIN_SPENT,    /* this process had its one call: STOPPED, and calls that wait get the next process       */
	MOR_DRAIN_LEFT,     /* it closed its stdout by itself with nothing under way: its exit tells what follows     */
	MOR_DRAIN_BROKEN,   /* something went wrong, but nobody waits for it: STOPPED, until the next call            */
	MOR_DRAIN_RESTART,  /* something went wrong: BACKOFF, and calls may wait for the next process                 */
	MOR_DRAIN_GIVEN_UP  /* it would go wrong again: FAILED                                                        */
};

struct mor_work { /* what the plugin has taken (TAKE) */
	const struct mor_method *row; /* NULL: the place is free */
	bool handed_out;              /* answered: until DONE it is under way */
};

struct mor_life {
	/* the process */
	struct mor_link *link;       /* NULL: no process */
	int pid;
	bool end_seen;               /* on_end came: nobody to signal any more */
	uint64_t written;            /* bytes that its pipe had taken when it ended */
	/* how far it has come */
	const struct mor_method *greeting; /* the row that waits for its answer */
	struct mor_doc *hello, *init;
	bool was_ready;
	bool unproven;               /* it has not been given a call */
	bool spent;                  /* shape.c: it has got its call; the next call gets the next process */
	struct mor_buf held;         /* ONE_CALL: the answer, until the exit tells whether it counts */
	struct mor_work work;
	struct mor_health_life health;
	struct mor_keep_life keep;
	/* what was said */
	int64_t next_id;             /* the last one that was given */
	int64_t last_sign_ms;        /* any message */
	int64_t last_word_ms;        /* any but the answer to a ping */
	unsigned unanswered;         /* calls given up in a row, while it said other things */
	bool deaf;                   /* after a breach: what still comes is read and discarded */
	bool lax_told;               /* the warning about messages without "jsonrpc" */
	bool failed_without_ref;     /* the last message was such a FAIL note */
	char last_stderr[256];
	/* how it ends */
	enum mor_drain drain;
	enum mor_rung rung;
	const struct mor_method *bye; /* the goodbye that was said last */
	int64_t ladder_ms;           /* since when it is on the ladder */
	const char *broken;          /* the pipe that broke, as a text; its exit is awaited */
	char truncated[192];         /* the message that its end has cut */
	int cause;                   /* why it goes down, as a status; 0: it does not, or was asked to */
	int32_t restart_ms;          /* until the restart that follows; -1: as the backoff says */
};

/* A new life; what the last one owned is freed. There is no process. */
void mor_life_begin(mortise_plugin *plugin);
void mor_life_fini(struct mor_life *life);

/* The state that follows when a process has ended that went down for this reason. */
enum mortise_state mor_drain_leads_to(enum mor_drain drain);
/* May calls wait for the next process meanwhile? */
bool mor_drain_lets_wait(enum mor_drain drain);

#endif
