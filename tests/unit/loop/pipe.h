/* SPDX-License-Identifier: Apache-2.0 */
/* A pipe whose reading end is watched. */
#ifndef TESTS_UNIT_LOOP_PIPE_H
#define TESTS_UNIT_LOOP_PIPE_H

#include <fcntl.h>
#include <unistd.h>

#include "leak.h"
#include "loop/loop.h"

static inline void pipe_open(struct mor_loop *loop, struct mor_watch *watch, int ends[2], unsigned events,
			     mor_watch_fn *fn)
{
	assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	assert_int_equal(mor_watch_start(loop, watch, ends[0], events, fn), 0);
}

static inline void pipe_write(const int ends[2])
{
	assert_int_equal(write(ends[1], "x", 1), 1);
}

static inline void pipe_close(struct mor_watch *watch, const int ends[2])
{
	mor_watch_stop(watch);
	close(ends[0]);
	if (ends[1] >= 0)
		close(ends[1]);
}

#endif
