/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors in a loop: what is heard of them, and what callbacks may do to each other's. All on the virtual
 * clock: on the real one a dispatch ends after two milliseconds, wherever it is. */
#include <errno.h>

#include "base/error.h"
#include "line.h"

static void test_reads_and_counts(void **state)
{
	struct mor_loop *loop = fresh(MOR_LOOP_VIRTUAL);
	struct line a, b;

	(void)state;
	line_open(&a, loop, 'a');
	line_open(&b, loop, 'b');
	assert_int_equal(mor_loop_dispatch(loop), 0);
	assert_false(readable(loop));
	line_write(&a);
	line_write(&b);
	assert_true(readable(loop));
	assert_int_equal(mor_loop_dispatch(loop), 2);
	assert_string_equal(journal, "ab");
	assert_int_equal(mor_loop_counts(loop).waits, 2);
	line_close(&a);
	line_close(&b);
	mor_loop_free(loop);
}

static void test_stopped_by_earlier_callback(void **state)
{
	struct mor_loop *loop = fresh(MOR_LOOP_VIRTUAL);
	struct line a, b;

	(void)state;
	line_open(&a, loop, 'a');
	line_open(&b, loop, 'b');
	a.victim = &b;
	b.victim = &a;
	line_write(&a);
	line_write(&b);
	assert_int_equal(mor_loop_dispatch(loop), 1);
	assert_int_equal(strlen(journal), 1);
	line_close(&a);
	line_close(&b);
	mor_loop_free(loop);
}

/* The victim's memory is handed to a new watch on another descriptor while its event still waits
 * in the batch. */
struct reuse {
	struct line first, second;
	int other[2];
	int calls;
};
static struct reuse reuse;

static void on_reused(struct mor_watch *watch, unsigned events)
{
	(void)watch, (void)events;
	reuse.calls++;
}

static void on_reuse(struct mor_watch *watch, unsigned events)
{
	struct line *self = mor_container_of(watch, struct line, watch);
	struct line *other = self == &reuse.first ? &reuse.second : &reuse.first;

	(void)events;
	note(self->letter);
	mor_watch_stop(watch);
	mor_watch_stop(&other->watch);
	memset(&other->watch, 0, sizeof(other->watch));
	assert_int_equal(mor_watch_start(self->loop, &other->watch, reuse.other[0], MOR_READABLE, on_reused),
			 0);
}

static void test_memory_reused_in_batch(void **state)
{
	struct mor_loop *loop = fresh(MOR_LOOP_VIRTUAL);

	(void)state;
	line_open(&reuse.first, loop, '1');
	line_open(&reuse.second, loop, '2');
	reuse.first.watch.fn = reuse.second.watch.fn = on_reuse;
	assert_int_equal(pipe2(reuse.other, O_CLOEXEC | O_NONBLOCK), 0);
	line_write(&reuse.first);
	line_write(&reuse.second);
	assert_int_equal(mor_loop_dispatch(loop), 1);
	assert_int_equal(strlen(journal), 1);
	assert_int_equal(reuse.calls, 0);
	line_close(&reuse.first);
	line_close(&reuse.second);
	close(reuse.other[0]);
	close(reuse.other[1]);
	mor_loop_free(loop);
}

static void test_change_and_hangup(void **state)
{
	struct mor_loop *loop = fresh(MOR_LOOP_VIRTUAL);
	struct line a;

	(void)state;
	line_open(&a, loop, 'a');
	line_write(&a);
	assert_int_equal(mor_watch_change(&a.watch, 0), 0);
	assert_int_equal(mor_loop_dispatch(loop), 0);
	close(a.ends[1]);
	a.ends[1] = -1;
	/* Paused: the hang-up is told once, then the descriptor is quiet. */
	assert_int_equal(mor_loop_dispatch(loop), 1);
	assert_int_equal(a.seen, MOR_HANGUP);
	assert_false(readable(loop));
	assert_int_equal(mor_loop_dispatch(loop), 0);
	assert_int_equal(mor_watch_change(&a.watch, MOR_READABLE), 0);
	assert_int_equal(mor_loop_dispatch(loop), 1);
	assert_int_equal(a.seen, MOR_READABLE | MOR_HANGUP);
	assert_string_equal(journal, "a");
	line_close(&a);
	mor_loop_free(loop);
}

/* What is watched for already costs no system call; what cannot be watched leaves the watch as it was. */
static void test_change_that_is_none(void **state)
{
	struct mor_loop *loop = fresh(MOR_LOOP_VIRTUAL);
	struct line a;
	int away;

	(void)state;
	line_open(&a, loop, 'a');
	assert_int_equal(mor_watch_change(&a.watch, MOR_READABLE), 0);
	away = fcntl(a.ends[0], F_DUPFD_CLOEXEC, 0);
	assert_true(away >= 0);
	close(a.ends[0]);
	assert_int_equal(mor_watch_change(&a.watch, MOR_WRITABLE), MORTISE_ESYSTEM);
	assert_int_equal(a.watch.events, MOR_READABLE);
	assert_int_equal(dup2(away, a.ends[0]), a.ends[0]);
	close(away);
	line_close(&a);
	mor_loop_free(loop);
}

static void test_writable_and_reader_gone(void **state)
{
	struct mor_loop *loop = fresh(MOR_LOOP_VIRTUAL);
	struct line a;
	struct mor_watch *watch = &a.watch;

	(void)state;
	line_open(&a, loop, 'a');
	mor_watch_stop(watch);
	assert_int_equal(mor_watch_start(loop, watch, a.ends[1], MOR_WRITABLE, on_line), 0);
	assert_int_equal(mor_loop_dispatch(loop), 1);
	assert_int_equal(a.seen, MOR_WRITABLE);
	close(a.ends[0]);
	assert_int_equal(mor_loop_dispatch(loop), 1);
	assert_int_equal(a.seen, MOR_WRITABLE | MOR_HANGUP);
	mor_watch_stop(watch);
	close(a.ends[1]);
	mor_loop_free(loop);
}

static void test_more_than_a_batch(void **state)
{
	static struct line lines[150];
	struct mor_loop *loop = fresh(MOR_LOOP_VIRTUAL);
	int ran = 0;

	(void)state;
	for (int i = 0; i < 150; i++) {
		line_open(&lines[i], loop, 'x');
		line_write(&lines[i]);
	}
	for (int i = 0; i < 3; i++)
		ran += mor_loop_dispatch(loop);
	assert_int_equal(ran, 150);
	for (int i = 0; i < 150; i++)
		line_close(&lines[i]);
	mor_loop_free(loop);
}

static void test_start_failure(void **state)
{
	struct mor_loop *loop = fresh(MOR_LOOP_VIRTUAL);
	struct mor_watch watch = { 0 };

	(void)state;
	errno = 0;
	assert_int_equal(mor_watch_start(loop, &watch, 9999, MOR_READABLE, on_line), MORTISE_ESYSTEM);
	assert_int_equal(errno, EBADF);
	assert_null(watch.loop);
	mor_watch_stop(&watch);
	mor_loop_free(loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_reads_and_counts),       MOR_TEST(test_stopped_by_earlier_callback),
		MOR_TEST(test_memory_reused_in_batch), MOR_TEST(test_change_and_hangup),
		MOR_TEST(test_change_that_is_none),    MOR_TEST(test_writable_and_reader_gone),
		MOR_TEST(test_more_than_a_batch),      MOR_TEST(test_start_failure),
	};

	return mor_run_group("loop/watch", tests);
}
