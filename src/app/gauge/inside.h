/* SPDX-License-Identifier: Apache-2.0 */
/* Calls, and what the plugin says about itself: between run.c and calls.c. */
#ifndef MOR_GAUGE_INSIDE_H
#define MOR_GAUGE_INSIDE_H

#include "gauge/gauge.h"

/* Calls of one measurement. */
struct mor_gauge_batch {
	uint32_t in_flight;
	uint64_t count;  /* stop after so many; 0: no limit */
	int64_t time_ns; /* start no more calls after this time; 0: no limit */
	struct mor_hist *hist;

	/* filled: */
	uint64_t sent, calls, errors;
	int64_t begun_ns, wall_ns;
};

/* Makes the calls and waits for their answers. 0; a status, with gauge->failed set; MORTISE_ECANCELED. */
int mor_gauge_make_calls(struct mor_gauge *gauge, struct mor_gauge_batch *batch);
void mor_gauge_on_event(const mortise_event *event, void *gauge);

#endif
