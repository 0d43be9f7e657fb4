/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Durations, in any unit, counted in buckets: a value is known to 1/128 of itself (0.8 %), and percentiles are
 * the middle of that, so they are wrong by at most 0.4 %. Count, sum, least and largest are exact. Adding costs
 * a few instructions and no memory.
 */
#ifndef MOR_GAUGE_HIST_H
#define MOR_GAUGE_HIST_H

#include <stddef.h>
#include <stdint.h>

#define MOR_HIST_BITS 7                              /* buckets per doubling: 2^7 */
#define MOR_HIST_MOST ((uint64_t)100000000000000000) /* 10^17; a larger value counts as this one */
#define MOR_HIST_SIZE ((size_t)(64 - MOR_HIST_BITS + 1) << MOR_HIST_BITS)

struct mor_hist {
	uint64_t count, least, largest;
	double sum;
	uint64_t buckets[MOR_HIST_SIZE]; /* how many values are in each; the first 2^7 have one value each */
};

struct mor_hist *mor_hist_new(void); /* for mor_free(); NULL: no memory */

void mor_hist_add(struct mor_hist *hist, uint64_t value);
/* The smallest value that at least this part of all values (0 to 1) does not exceed; 0 if there
 * are no values. */
uint64_t mor_hist_at(const struct mor_hist *hist, double part);
double mor_hist_mean(const struct mor_hist *hist);

#endif
