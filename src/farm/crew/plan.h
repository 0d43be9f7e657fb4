/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the units of a run become batches. A batch should take 8 to 16 s of a worker: that is learned from those
 * that have ended. Its length is a power of two, and it begins at a multiple of it (the last one is cut at the
 * end of the run): so a run that has learned otherwise has other batches, but they never cross those of an
 * earlier run, and what was done is found by looking for the longest batch first. No clock, no store.
 */
#ifndef MOR_CREW_PLAN_H
#define MOR_CREW_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#define MOR_CREW_PLAN_MOST 1024 /* units in a batch; also what is looked for */

struct mor_crew_plan {
	uint64_t units;
	uint32_t fixed;  /* all batches have so many; 0: it is learned */
	uint32_t most;   /* a power of two up to MOR_CREW_PLAN_MOST */
	uint64_t weight; /* the most in a batch of more than one unit; 0: no limit */
	/* It is done already: its key is in the store. */
	bool (*found)(uint64_t first, uint32_t count, void *arg);
	uint64_t (*weigh)(uint64_t unit, void *arg); /* bytes; or NULL */
	void *arg;
	uint64_t begun; /* set: where the run went on */
	bool slow;      /* nothing was learned in a while: batches do not grow without it */
	/* learned */
	uint64_t seen, took_ms; /* units, and their time; older ones count less */
	bool hit;               /* something was found: there was an earlier run */
};

/* `count` units took so long, as somebody said. */
void mor_crew_plan_learn(struct mor_crew_plan *plan, uint32_t count, uint32_t took_ms);
/* Where a run goes on whose units before `next` are done: not after it. */
uint64_t mor_crew_plan_begin(struct mor_crew_plan *plan, uint64_t next);
/* How many units the batch has that begins at `first`, a unit of the run. */
uint32_t mor_crew_plan_batch(struct mor_crew_plan *plan, uint64_t first);
/* The first part of a batch of two or more that is done in two: both are batches of a plan. */
uint32_t mor_crew_plan_split(uint32_t count);

#endif
