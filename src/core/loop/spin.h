/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether to look again and again before a sleep, learned for each plugin.
 *
 * If a plugin runs on another core and answers soon, most of a round trip is the time until the kernel has
 * woken us. A host that looks for up to MOR_SPIN_NS before it sleeps does not pay that
 * (docs/design/0002-core.md). Where the answer does not come so soon, the look found nothing, and is tried more
 * and more seldom: after each failure twice as many waits sleep at once, up to MOR_SPIN_REST; each success
 * halves that. So a slow plugin costs at most one spin in MOR_SPIN_REST waits, and a fast one that was slow
 * once is soon spun for again. No clock, no system call: only the rule.
 */
#ifndef MOR_LOOP_SPIN_H
#define MOR_LOOP_SPIN_H

#include <stdbool.h>
#include <stdint.h>

#define MOR_SPIN_NS   50000
#define MOR_SPIN_REST 1024

struct mor_spin {         /* zero-initialised */
	uint16_t rest;    /* so many waits sleep at once */
	uint16_t penalty; /* what the last failure has cost in such waits */
};

/* Once for each wait: is this one to begin with a spin? */
static inline bool mor_spin_begin(struct mor_spin *spin)
{
	if (spin->rest == 0)
		return true;
	spin->rest--;
	return false;
}

/* What became of it: the answer came in time, or not. */
static inline void mor_spin_end(struct mor_spin *spin, bool came)
{
	if (came) {
		spin->penalty /= 2;
		return;
	}
	spin->penalty = spin->penalty ? spin->penalty * 2 : 1;
	if (spin->penalty > MOR_SPIN_REST)
		spin->penalty = MOR_SPIN_REST;
	spin->rest = spin->penalty;
}

#endif
