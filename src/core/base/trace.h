/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tracing to stderr. Off unless the environment asks for it: MORTISE_TRACE=wire,proc,-loop or "all". Read
 * once, when the first host is made. Costs one load and one branch when off.
 */
#ifndef MOR_BASE_TRACE_H
#define MOR_BASE_TRACE_H

#include <stdatomic.h>

enum mor_trace_room { MOR_TRACE_LOOP = 1, MOR_TRACE_WIRE = 2, MOR_TRACE_PROC = 4, MOR_TRACE_HOST = 8 };

extern _Atomic unsigned mor_trace_mask; /* hosts are made on any thread */

void mor_trace_init(void);
void mor_trace_write(enum mor_trace_room room, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define mor_trace(room, ...) \
	do { \
		if (__builtin_expect(atomic_load_explicit(&mor_trace_mask, memory_order_relaxed) & (room), 0)) \
			mor_trace_write((room), __VA_ARGS__); \
	} while (0)

#endif
