/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"

#include <time.h>

int64_t mor_clock_ns(void)
{
	struct timespec now;

	/* Cannot fail: every kernel we run on has this clock, and the pointer is ours. */
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t mor_clock_coarse_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

uint32_t mor_clock_tick_ms(void)
{
	struct timespec tick;

	clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
	return (uint32_t)(tick.tv_sec * 1000 + (tick.tv_nsec + 999999) / 1000000) + 1;
}
