/* SPDX-License-Identifier: Apache-2.0 */
/* Time limits. A deadline that has passed is asked about between pieces of work, never by a signal. */
#ifndef ELF_TEXT_CLOCK_H
#define ELF_TEXT_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

static inline int64_t clock_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline int64_t clock_after(double seconds)
{
	return clock_now_ns() + (int64_t)(seconds * 1e9);
}

static inline bool clock_passed(int64_t deadline_ns)
{
	return clock_now_ns() >= deadline_ns;
}

#endif
