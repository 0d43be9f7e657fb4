/* SPDX-License-Identifier: Apache-2.0 */
/* No part of a dispatch is long, nothing is lost between two of them, and the clock's promise holds all the
 * same. Steps are counted on the virtual clock, where time cuts nothing short. */
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "leak.h"
#include "loop/loop.h"
#include "pipe.h"

#define LINES 100

static char journal[4096];
static struct mor_loop *loop;

static void note(char what)
{
	size_t len = strlen(journal);

	assert_true(len + 1 < sizeof(journal));
	journal[len] = what;
	journal[len + 1] = '\0';
}

static bool readable(void)
{
	struct pollfd pfd = { .fd = mor_loop_fd(loop), .events = POLLIN };

	return poll(&pfd, 1, 0) == 1;
}

static void open_loop(void)
{
	journal[0] = '\0';
	assert_int_equal(mor_loop_new(MOR_LOOP_VIRTUAL, &loop), 0);
}

/* A pipe that is read by `bite` bytes; each call is as much work as `steps`. */
struct line {
	struct mor_watch watch;
	int ends[2];
	char letter;
	unsigned steps, again;
	size_t bite;
	bool floods;
	struct mor_timer *cancels;
	size_t cancels_at;
};

static struct line lines[LINES];

static void on_line(struct mor_watch *watch, unsigned events)
{
	struct line *line = mor_container_of(watch, struct line, watch);
	char bytes[65536] = { 0 };
	ssize_t n = events & MOR_READABLE ? read(watch->fd, bytes, line->bite) : 0;

	if (line->letter)
		note(n > 0 ? line->letter : '-');
	if (n > 0)
		watch->taken += watch->counts ? (uint64_t)n : 0;
	if (n > 0 && line->cancels && watch->taken >= line->cancels_at)
		mor_timer_stop(line->cancels);
	if (line->floods)
		while (write(line->ends[1], bytes, 4096) > 0)
			;
	mor_loop_charge(loop, line->steps);
	if (line->again) {
		line->again--;
		mor_watch_again(watch);
	}
}

static void line_open(struct line *line, char letter, unsigned events)
{
	memset(line, 0, sizeof(*line));
	line->letter = letter;
	line->bite = 1;
	pipe_open(loop, &line->watch, line->ends, events, on_line);
}

static void line_write(struct line *line)
{
	pipe_write(line->ends);
}

static void line_close(struct line *line)
{
	pipe_close(&line->watch, line->ends);
}

static void lines_open(int count)
{
	for (int i = 0; i < count; i++) {
		line_open(&lines[i], (char)('a' + i % 26), MOR_READABLE);
		line_write(&lines[i]);
	}
}

static void lines_close(int count)
{
	for (int i = 0; i < count; i++)
		line_close(&lines[i]);
	mor_loop_free(loop);
}

/* ---- descriptors ---- */

/* Three of them are enough for one dispatch; the others follow, each once, before anybody's second turn. */
static void ready_ones_in_slices(void **state)
{
	(void)state;
	open_loop();
	lines_open(8);
	line_write(&lines[0]); /* it stays ready */
	for (int i = 0; i < 8; i++)
		lines[i].steps = MOR_LOOP_SLICE / 3;
	assert_int_equal(mor_loop_dispatch(loop), 3);
	assert_string_equal(journal, "abc");
	assert_true(readable());
	assert_int_equal(mor_loop_dispatch(loop), 3);
	assert_int_equal(mor_loop_wait(loop, -1), 2);
	assert_string_equal(journal, "abcdefgh");
	assert_int_equal(mor_loop_dispatch(loop), 1);
	assert_string_equal(journal, "abcdefgha");
	assert_int_equal(mor_loop_dispatch(loop), 0);
	assert_false(readable());
	lines_close(8);
}

/* What is stopped between two dispatches is not called by the second, though the first had found it ready. */
static void stopped_while_it_waits(void **state)
{
	(void)state;
	open_loop();
	lines_open(4);
	lines[0].steps = MOR_LOOP_SLICE;
	assert_int_equal(mor_loop_dispatch(loop), 1);
	mor_watch_stop(&lines[1].watch);
	mor_watch_change(&lines[2].watch, 0);
	assert_int_equal(mor_loop_dispatch(loop), 1);
	assert_string_equal(journal, "ad");
	assert_int_equal(mor_loop_dispatch(loop), 0);
	lines_close(4);
}

/* A hang-up that nobody asked for is told on its edge: it must not be lost with the rest of a dispatch. */
static void hangup_in_the_second_slice(void **state)
{
	(void)state;
	open_loop();
	lines_open(1);
	lines[0].steps = MOR_LOOP_SLICE;
	line_open(&lines[1], 'h', 0);
	close(lines[1].ends[1]);
	lines[1].ends[1] = -1;
	assert_int_equal(mor_loop_dispatch(loop), 1);
	assert_int_equal(mor_loop_dispatch(loop), 1);
	assert_string_equal(journal, "a-");
	assert_int_equal(mor_loop_dispatch(loop), 0);
	lines_close(2);
}

/* ---- called again ---- */

static void again_once_per_look(void **state)
{
	(void)state;
	open_loop();
	lines_open(2);
	lines[0].again = 3;
	assert_int_equal(mor_loop_dispatch(loop), 2);
	assert_true(readable());
	line_write(&lines[1]);
	assert_int_equal(mor_loop_dispatch(loop), 2);
	line_write(&lines[0]); /* ready, and to be called again: once */
	assert_int_equal(mor_loop_wait(loop, -1), 1);
	assert_int_equal(mor_loop_dispatch(loop), 1);
	assert_string_equal(journal, "abb-a-");
	assert_int_equal(mor_loop_dispatch(loop), 0);
	assert_false(readable());
	/* From outside a dispatch it makes the descriptor readable; stopping it forgets it. */
	mor_watch_again(&lines[0].watch);
	assert_true(readable());
	mor_watch_stop(&lines[0].watch);
	assert_int_equal(mor_loop_dispatch(loop), 0);
	lines_close(2);
}

/* ---- tasks ---- */

static struct mor_task task, second_task;

static void on_heavy_task(struct mor_task *t)
{
	note(t == &task ? 't' : 'u');
	mor_loop_charge(loop, MOR_LOOP_SLICE);
	if (t == &task)
		mor_loop_post(loop, t, on_heavy_task);
}

/* A task that posts itself for ever holds up neither descriptors nor other tasks. */
static void endless_task(void **state)
{
	(void)state;
	open_loop();
	lines_open(1);
	for (int i = 0; i < 3; i++)
		line_write(&lines[0]);
	mor_loop_post(loop, &task, on_heavy_task);
	mor_loop_post(loop, &second_task, on_heavy_task);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(mor_loop_dispatch(loop), 2);
		assert_true(readable());
	}
	assert_string_equal(journal, "atauatat");
	mor_task_stop(&task);
	lines_close(1);
}

/* The same while a synchronous call runs the loop. */
static void endless_task_while_held(void **state)
{
	(void)state;
	open_loop();
	lines_open(1);
	line_write(&lines[0]);
	mor_loop_hold(loop, true);
	mor_loop_post(loop, &task, on_heavy_task);
	for (int i = 0; i < 4; i++)
		assert_true(mor_loop_wait(loop, -1) > 0);
	assert_string_equal(journal, "tattat");
	mor_task_stop(&task);
	mor_loop_hold(loop, false);
	lines_close(1);
}

/* ---- timers ---- */

#define MANY 2000

static struct mor_timer timers[MANY];
static int rang, largest;
static int64_t judged_ms;

static void on_ring(struct mor_timer *timer)
{
	assert_ptr_equal(timer, &timers[rang]);
	judged_ms = mor_loop_judged_ms(loop);
	rang++;
}

static void timers_open(uint32_t in_ms)
{
	memset(timers, 0, sizeof(timers));
	rang = 0;
	for (int i = 0; i < MANY; i++)
		assert_int_equal(mor_timer_set(loop, &timers[i], in_ms, on_ring), 0);
}

static void many_timers_in_slices(void **state)
{
	int dispatches = 0;

	(void)state;
	open_loop();
	lines_open(1);
	for (int i = 0; i < 100; i++)
		line_write(&lines[0]);
	timers_open(0);
	for (; rang < MANY; dispatches++) {
		int before = rang;

		assert_true(mor_loop_dispatch(loop) > 0);
		assert_true(rang == MANY || readable());
		largest = rang - before > largest ? rang - before : largest;
	}
	assert_in_range(largest, MOR_LOOP_SLICE / 2, MOR_LOOP_SLICE);
	assert_int_equal(dispatches, 4);
	/* 16 looks before the first slice; then one with each, so that nobody waits for all of them. */
	assert_int_equal(strlen(journal), 18 + 3);
	lines_close(1);
}

/* Judged by the reading that the promise is about, however many dispatches later. What came in the
 * meantime counts. */
static void judged_by_one_reading(void **state)
{
	(void)state;
	open_loop();
	timers_open(5);
	line_open(&lines[0], 'a', MOR_READABLE);
	lines[0].cancels = &timers[MANY - 1];
	assert_true(mor_loop_advance(loop, 4) == 0);
	assert_true(mor_loop_dispatch(loop) == 0);
	while (rang < MOR_LOOP_SLICE)
		assert_int_equal(mor_loop_advance(loop, 1), MANY); /* it goes on until all is done */
	assert_int_equal(judged_ms, 5);
	assert_int_equal(mor_loop_now_ms(loop), 5);
	lines_close(1);
}

static void on_cancelled(struct mor_timer *timer)
{
	(void)timer;
	note('T');
}

/* An answer behind much else, and in the last bite of what a pipe holds: it was there in time. */
static void what_was_there_in_time_is_read(void **state)
{
	struct mor_timer timer = { 0 };
	char block[4096] = { 0 };
	int dispatches = 0;
	size_t size;

	(void)state;
	open_loop();
	line_open(&lines[0], 0, MOR_READABLE);
	lines[0].watch.counts = true;
	lines[0].bite = 512;
	lines[0].steps = 40;
	size = (size_t)fcntl(lines[0].ends[1], F_SETPIPE_SZ, MOR_LOOP_PIPE);
	for (size_t written = 0; written < size; written += sizeof(block))
		assert_int_equal(write(lines[0].ends[1], block, sizeof(block)), sizeof(block));
	assert_int_equal(mor_timer_set(loop, &timer, 0, on_cancelled), 0);
	lines[0].cancels = &timer;
	lines[0].cancels_at = size;
	for (; readable(); dispatches++)
		assert_true(mor_loop_dispatch(loop) > 0);
	assert_int_equal(lines[0].watch.taken, size);
	assert_true(dispatches > 50);
	assert_string_equal(journal, "");
	lines_close(1);
}

/* But who writes faster than we read has no more than a pipe's length of delay. */
static void flood_does_not_stop_timers(void **state)
{
	struct mor_timer timer = { 0 };

	(void)state;
	open_loop();
	line_open(&lines[0], 0, MOR_READABLE);
	line_write(&lines[0]);
	lines[0].watch.counts = lines[0].floods = true;
	lines[0].bite = 4096;
	assert_int_equal(mor_timer_set(loop, &timer, 0, on_cancelled), 0);
	while (!journal[0]) {
		assert_true(lines[0].watch.taken < 2 * (uint64_t)MOR_LOOP_PIPE);
		assert_true(mor_loop_dispatch(loop) > 0);
	}
	assert_true(lines[0].watch.taken >= MOR_LOOP_PIPE);
	lines_close(1);
}

/* More are ready than one look shows; each of them is asked before the verdict. */
static void more_than_a_look_shows(void **state)
{
	struct mor_timer timer = { 0 };

	(void)state;
	open_loop();
	lines_open(LINES);
	for (int i = 0; i < LINES; i++)
		for (int n = 0; n < 15; n++)
			line_write(&lines[i]);
	lines[LINES - 1].cancels = &timer;
	assert_int_equal(mor_timer_set(loop, &timer, 0, on_cancelled), 0);
	while (readable())
		mor_loop_dispatch(loop);
	assert_null(strchr(journal, 'T'));
	assert_int_equal(strlen(journal), 16 * LINES);
	lines_close(LINES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(ready_ones_in_slices),
		MOR_TEST(stopped_while_it_waits),
		MOR_TEST(hangup_in_the_second_slice),
		MOR_TEST(again_once_per_look),
		MOR_TEST(endless_task),
		MOR_TEST(endless_task_while_held),
		MOR_TEST(many_timers_in_slices),
		MOR_TEST(judged_by_one_reading),
		MOR_TEST(what_was_there_in_time_is_read),
		MOR_TEST(flood_does_not_stop_timers),
		MOR_TEST(more_than_a_look_shows),
	};

	return mor_run_group("loop/slice", tests);
}
