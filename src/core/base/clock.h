/* SPDX-License-Identifier: Apache-2.0 */
/* Monotonic time. Everything except the loop's virtual clock reads it here. */
#ifndef MOR_BASE_CLOCK_H
#define MOR_BASE_CLOCK_H

#include <stdint.h>

int64_t mor_clock_ns(void);
/* The same clock at the last timer tick: never ahead, at most mor_clock_tick_ms() behind, and much faster to
 * read. */
int64_t mor_clock_coarse_ms(void);
uint32_t mor_clock_tick_ms(void); /* at least 1 */

static inline int64_t mor_clock_ms(void)
{
	return mor_clock_ns() / 1000000;
}

/* The shorter of two waits in milliseconds, where -1 is one without end. */
static inline int mor_clock_sooner(int a, int b)
{
	return a < 0 ? b : b < 0 || a < b ? a : b;
}

#endif
