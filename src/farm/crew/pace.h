/* SPDX-License-Identifier: Apache-2.0 */
/* How fast a run goes: points over time, whose number does not grow with the run. No clock of its own. */
#ifndef MOR_CREW_PACE_H
#define MOR_CREW_PACE_H

#include <stddef.h>
#include <stdint.h>

#define MOR_PACE_POINTS 128

struct mor_pace_point {
	int64_t ms; /* since the beginning */
	uint64_t units, failed;
	unsigned workers;
};

struct mor_pace {
	int64_t begun_ms, step_ms; /* at most one point for each step */
	struct mor_pace_point points[MOR_PACE_POINTS];
	size_t count;
};

/* `units`: those that are done already: an earlier run did them. */
void mor_pace_begin(struct mor_pace *pace, int64_t now_ms, uint64_t units);
/* Totals, not differences. If there is no room, every second point goes, and steps become twice as long. */
void mor_pace_note(struct mor_pace *pace, int64_t now_ms, uint64_t units, uint64_t failed, unsigned workers);
/* Units per second of the last half minute. 0: not known yet. */
double mor_pace_rate(const struct mor_pace *pace);
/* Until `total`, at this rate; -1: not known. */
int64_t mor_pace_left_ms(const struct mor_pace *pace, uint64_t total);

#endif
