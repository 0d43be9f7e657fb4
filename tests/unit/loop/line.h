/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of the loop share: a journal of what was called, and pipes that write into it. */
#ifndef TESTS_UNIT_LOOP_LINE_H
#define TESTS_UNIT_LOOP_LINE_H

#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "leak.h"
#include "loop/loop.h"
#include "pipe.h"

static char journal[256];

static inline void note(char what)
{
	size_t len = strlen(journal);

	assert_true(len + 1 < sizeof(journal));
	journal[len] = what;
	journal[len + 1] = '\0';
}

static inline struct mor_loop *fresh(unsigned flags)
{
	struct mor_loop *loop = NULL;

	journal[0] = '\0';
	assert_int_equal(mor_loop_new(flags, &loop), 0);
	return loop;
}

/* Whether an embedder's poll() would see the loop's descriptor readable now. */
static inline bool readable(struct mor_loop *loop)
{
	struct pollfd pfd = { .fd = mor_loop_fd(loop), .events = POLLIN };

	return poll(&pfd, 1, 0) == 1;
}

/* A pipe whose read end is watched; `letter` is what it writes into the journal. */
struct line {
	struct mor_watch watch;
	struct mor_loop *loop;
	int ends[2];
	char letter;
	unsigned seen;
	struct line *victim;
	struct mor_timer *cancels;
};

static inline void on_line(struct mor_watch *watch, unsigned events)
{
	struct line *line = mor_container_of(watch, struct line, watch);
	char byte;

	line->seen = events;
	if (events & MOR_READABLE && read(watch->fd, &byte, 1) == 1)
		note(line->letter);
	if (line->victim)
		mor_watch_stop(&line->victim->watch);
	if (line->cancels)
		mor_timer_stop(line->cancels);
}

static inline void line_open(struct line *line, struct mor_loop *loop, char letter)
{
	memset(line, 0, sizeof(*line));
	line->loop = loop;
	line->letter = letter;
	pipe_open(loop, &line->watch, line->ends, MOR_READABLE, on_line);
}

static inline void line_write(struct line *line)
{
	pipe_write(line->ends);
}

static inline void line_close(struct line *line)
{
	pipe_close(&line->watch, line->ends);
}

#endif
