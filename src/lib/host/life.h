/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One life of a plugin's process: everything that is true for this process and must not be true for the next
 * one. It begins as one assignment, in mor_life_begin(), before the process is started. After the end it
 * stays unchanged until the next start, so that one can ask what happened.
 *
 * Not in here: what outlives a process (settings, counters, the health mark), and what cannot be assigned
 * because others point into it (lists of calls, timers). Those are empty and stopped when a life begins.
 */
#ifndef MOR_HOST_LIFE_H
#define MOR_HOST_LIFE_H

#include "base/buf.h"
#include "host/health.h"
#include "host/heard.h"
#include "host/keep.h"
#include "host/ladder.h"
#include "policy/denials.h"

struct mor_doc;
struct mor_link;
struct mor_method;

/* Why a plugin is DRAINING, and what follows when its process has ended. A stop by the embedder wins over
 * any other reason; among the others the first one stays. */
enum mor_drain {
	MOR_DRAIN_NONE,    /* it is not draining */
	MOR_DRAIN_ASKED,   /* the embedder stopped it: STOPPED */
	MOR_DRAIN_SPENT,   /* this process had its one call: STOPPED, and waiting calls get the next process */
	MOR_DRAIN_LEFT,    /* it closed its stdout by itself while nothing was running: its exit decides */
	MOR_DRAIN_BROKEN,  /* something went wrong, but nobody waits for it: STOPPED, until the next call */
	MOR_DRAIN_RESTART, /* something went wrong: BACKOFF, and calls may wait for the next process */
	MOR_DRAIN_GIVEN_UP /* it would fail again: FAILED */
};

struct mor_work {                     /* what the plugin has taken (TAKE) */
	const struct mor_method *row; /* NULL: the place is free */
	bool handed_out;              /* answered: the work runs until FINISH */
};

#define MOR_TRUNCATED_MAX 191

struct mor_life {
	/* the process */
	struct mor_link *link; /* NULL: no process */
	int pid;
	bool end_seen;    /* on_end came: there is nobody to signal any more */
	uint64_t written; /* number of bytes that its pipe had taken when it ended */
	/* how far it has come */
	const struct mor_method *greeting; /* the row that waits for its answer */
	struct mor_doc *hello, *init;
	bool was_ready;
	bool unproven;       /* it has not been given a call */
	uint64_t answered;   /* counters.answered when it began */
	bool spent;          /* shape.c: it has got its call; the next call gets the next process */
	struct mor_buf held; /* ONE_CALL: the answer, until the exit shows whether it counts */
	struct mor_work work;
	struct mor_health_life health;
	struct mor_keep_life keep;
	/* what was said */
	int64_t next_id;            /* the last one that was given */
	bool ids_again;             /* ... after all of them: an old call may still have it */
	int64_t last_sign_ms;       /* any message */
	int64_t last_word_ms;       /* any but the answer to a ping */
	unsigned unanswered;        /* calls given up in a row, while it sent other messages */
	bool deaf;                  /* after a breach: later bytes are read and thrown away */
	bool lax_told;              /* the warning about messages without "jsonrpc" */
	bool failed_without_ref;    /* the last message was such a FAIL note */
	int64_t echoed;             /* id of the last call of ours that it sent back as a request; 0: none */
	struct mor_heard *heard;    /* and was not a message; NULL: nothing */
	struct mor_denials denials; /* what it may not do, and tried */
	/* how it ends */
	enum mor_drain drain;
	enum mor_rung rung;
	const struct mor_method *bye; /* the last goodbye that was sent */
	int64_t ladder_ms;            /* when the stop began */
	const char *broken;           /* the pipe that broke, as a text; we wait for its exit */
	struct mor_kept truncated;    /* the message that its end has cut */
	int cause;                    /* why it ends, as a status; 0: it does not, or was asked to */
	int32_t restart_ms;           /* time until the next start; -1: by the backoff */
};

/* A new life; what the last one owned is freed. There is no process. */
void mor_life_begin(mortise_plugin *plugin);
void mor_life_fini(struct mor_life *life);

/* The state that follows when a process that ended for this reason is gone. */
enum mortise_state mor_drain_leads_to(enum mor_drain drain);
/* May calls wait for the next process meanwhile? */
bool mor_drain_lets_wait(enum mor_drain drain);

#endif
