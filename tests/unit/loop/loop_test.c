/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks, graves, wake-ups, what dispatch owes to the clock, failures. Descriptors: watch_test.c. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/alloc.h"
#include "base/error.h"
#include "line.h"

/* ---- tasks and graves ---- */

struct job {
	struct mor_task task;
	struct mor_loop *loop;
	char letter;
	int again;
	struct job *posts, *stops;
};

static void on_job(struct mor_task *task)
{
	struct job *job = mor_container_of(task, struct job, task);

	note(job->letter);
	if (job->posts)
		mor_loop_post(job->loop, &job->posts->task, on_job);
	if (job->stops)
		mor_task_stop(&job->stops->task);
	if (job->again-- > 0)
		mor_loop_post(job->loop, task, on_job);
}

static void test_tasks(void **state)
{
	struct mor_loop *loop = fresh(0);
	struct job d = { .loop = loop, .letter = 'd' };
	struct job c = { .loop = loop, .letter = 'c' };
	struct job b = { .loop = loop, .letter = 'b', .posts = &d, .stops = &c };
	struct job a = { .loop = loop, .letter = 'a', .again = 1 };

	(void)state;
	assert_false(readable(loop));
	mor_loop_post(loop, &a.task, on_job);
	mor_loop_post(loop, &a.task, on_job);
	mor_loop_post(loop, &b.task, on_job);
	mor_loop_post(loop, &c.task, on_job);
	assert_int_equal(mor_loop_counts(loop).wakes, 1);
	assert_true(readable(loop));
	assert_int_equal(mor_loop_dispatch(loop), 4);
	assert_string_equal(journal, "abad");
	assert_false(readable(loop));
	mor_loop_free(loop);
}

/* Nobody sleeps on the descriptor yet: no wake-up, and the wait does what there is to do. */
static void test_nobody_polls(void **state)
{
	struct mor_loop *loop = fresh(0);
	struct job a = { .loop = loop, .letter = 'a' }, b = { .loop = loop, .letter = 'b' };

	(void)state;
	mor_loop_post(loop, &a.task, on_job);
	assert_int_equal(mor_loop_wait(loop, -1), 1);
	assert_int_equal(mor_loop_counts(loop).wakes, 0);
	mor_loop_post(loop, &b.task, on_job);
	assert_true(readable(loop)); /* from the first question on it is right */
	assert_int_equal(mor_loop_counts(loop).wakes, 1);
	assert_int_equal(mor_loop_dispatch(loop), 1);
	assert_false(readable(loop));
	assert_string_equal(journal, "ab");
	mor_loop_free(loop);
}

static void on_advance(struct mor_task *task)
{
	struct job *job = mor_container_of(task, struct job, task);

	assert_int_equal(mor_loop_advance(job->loop, 1), MORTISE_ECALLBACK);
	note(job->letter);
}

static void test_advance_inside_a_task(void **state)
{
	struct mor_loop *loop = fresh(MOR_LOOP_VIRTUAL);
	struct job a = { .loop = loop, .letter = 'a' };

	(void)state;
	mor_loop_post(loop, &a.task, on_advance);
	assert_int_equal(mor_loop_advance(loop, 5), 1);
	assert_string_equal(journal, "a");
	mor_loop_free(loop);
}

static void test_free_before_tasks_ran(void **state)
{
	struct mor_loop *loop = fresh(0);
	struct job a = { .loop = loop, .letter = 'a' };

	(void)state;
	assert_null(mor_loop_free(NULL));
	mor_loop_post(loop, &a.task, on_job);
	assert_null(mor_loop_free(loop));
	assert_false(a.task.queued);
	assert_string_equal(journal, "");
}

static void test_endless_task_yields(void **state)
{
	struct mor_loop *loop = fresh(MOR_LOOP_VIRTUAL);
	struct job a = { .loop = loop, .again = 700 };

	(void)state;
	mor_loop_post(loop, &a.task, on_job);
	assert_int_equal(mor_loop_dispatch(loop), MOR_LOOP_SLICE - 1);
	assert_true(readable(loop));
	assert_int_equal(mor_loop_wait(loop, -1), 701 - (MOR_LOOP_SLICE - 1));
	assert_false(readable(loop));
	mor_loop_free(loop);
}

static void test_hold(void **state)
{
	struct mor_loop *loop = fresh(0);
	struct job a = { .loop = loop, .letter = 'a' };

	(void)state;
	mor_loop_hold(loop, true);
	mor_loop_post(loop, &a.task, on_job);
	assert_false(readable(loop));
	assert_int_equal(mor_loop_wait(loop, -1), 1);
	mor_loop_post(loop, &a.task, on_job);
	assert_int_equal(mor_loop_counts(loop).wakes, 0);
	mor_loop_hold(loop, false);
	assert_true(readable(loop));
	assert_int_equal(mor_loop_dispatch(loop), 1);
	mor_loop_free(loop);
}

static void test_wakeup_while_held(void **state)
{
	struct mor_loop *loop = fresh(0);

	(void)state;
	mor_loop_hold(loop, true);
	assert_int_equal(mor_loop_wakeup(loop), 0);
	assert_int_equal(mor_loop_wait(loop, -1), 0);
	assert_false(readable(loop));
	mor_loop_hold(loop, false);
	assert_true(readable(loop));
	assert_int_equal(mor_loop_wait(loop, -1), 0);
	assert_false(readable(loop));
	mor_loop_hold(loop, true); /* it is remembered once */
	mor_loop_hold(loop, false);
	assert_false(readable(loop));
	mor_loop_free(loop);
}

struct body {
	struct mor_grave grave;
	struct mor_task task;
	struct mor_loop *loop;
	bool *freed;
};

static void free_body(struct mor_grave *grave)
{
	struct body *body = mor_container_of(grave, struct body, grave);

	*body->freed = true;
	mor_free(body);
}

static void on_body(struct mor_task *task)
{
	struct body *body = mor_container_of(task, struct body, task);

	mor_loop_free_later(body->loop, &body->grave, free_body);
	assert_false(*body->freed);
	assert_true(mor_loop_dispatching(body->loop));
	assert_int_equal(mor_loop_dispatch(body->loop), MORTISE_ECALLBACK);
	assert_int_equal(mor_loop_wait(body->loop, 0), MORTISE_ECALLBACK);
}

static void test_graves(void **state)
{
	struct mor_loop *loop = fresh(0);
	struct body *body = mor_zalloc(sizeof(*body));
	bool freed = false;

	(void)state;
	*body = (struct body){ .loop = loop, .freed = &freed };
	mor_loop_post(loop, &body->task, on_body);
	assert_int_equal(mor_loop_dispatch(loop), 1);
	assert_true(freed);
	freed = false;
	body = mor_zalloc(sizeof(*body));
	*body = (struct body){ .loop = loop, .freed = &freed };
	mor_loop_free_later(loop, &body->grave, free_body);
	assert_true(freed);
	mor_loop_free(loop);
}

/* ---- wake-ups ---- */

static void *wake_from_thread(void *arg)
{
	mor_loop_wakeup(arg);
	return NULL;
}

static void test_wakeup_from_thread(void **state)
{
	struct mor_loop *loop = fresh(0);
	pthread_t thread;

	(void)state;
	for (int i = 0; i < 50; i++) {
		assert_int_equal(pthread_create(&thread, NULL, wake_from_thread, loop), 0);
		assert_int_equal(mor_loop_wait(loop, -1), 0);
		pthread_join(thread, NULL);
		assert_false(readable(loop));
	}
	mor_loop_free(loop);
}

static struct mor_loop *signalled;

static void on_signal(int signal)
{
	(void)signal;
	mor_loop_wakeup(signalled);
}

static void test_wakeup_from_signal_handler(void **state)
{
	struct sigaction action = { .sa_handler = on_signal }, before;

	(void)state;
	signalled = fresh(0);
	sigaction(SIGUSR1, &action, &before);
	raise(SIGUSR1);
	assert_true(readable(signalled));
	assert_int_equal(mor_loop_wait(signalled, -1), 0);
	sigaction(SIGUSR1, &before, NULL);
	mor_loop_free(signalled);
}

/* ---- what dispatch owes to the clock ---- */

static void on_timeout(struct mor_timer *timer)
{
	(void)timer;
	note('T');
}

/* Waits in the embedder's way until the timerfd has made the descriptor readable. */
static void wait_readable(struct mor_loop *loop)
{
	struct pollfd pfd = { .fd = mor_loop_fd(loop), .events = POLLIN };

	assert_int_equal(poll(&pfd, 1, 10000), 1);
}

static void test_answer_beats_expired_timer(void **state)
{
	struct mor_loop *loop = fresh(0);
	struct mor_timer timer = { 0 };
	struct line a;

	(void)state;
	line_open(&a, loop, 'a');
	a.cancels = &timer;
	assert_int_equal(mor_timer_set(loop, &timer, 1, on_timeout), 0);
	wait_readable(loop); /* the timer has expired; dispatch is late */
	line_write(&a);
	assert_int_equal(mor_loop_dispatch(loop), 1);
	assert_string_equal(journal, "a");
	line_close(&a);
	mor_loop_free(loop);
}

/* The first thing read makes its owner look for more: it opens a gate behind which the answer already lay. */
static struct line gate, behind;

static void on_gate(struct mor_watch *watch, unsigned events)
{
	on_line(watch, events);
	line_write(&behind);
}

static void test_looks_again_before_timers(void **state)
{
	struct mor_loop *loop = fresh(0);
	struct mor_timer timer = { 0 };

	(void)state;
	line_open(&gate, loop, 'g');
	line_open(&behind, loop, 'b');
	gate.watch.fn = on_gate;
	behind.cancels = &timer;
	assert_int_equal(mor_timer_set(loop, &timer, 1, on_timeout), 0);
	wait_readable(loop);
	line_write(&gate);
	assert_int_equal(mor_loop_wait(loop, -1), 2);
	assert_string_equal(journal, "gb");
	line_close(&gate);
	line_close(&behind);
	mor_loop_free(loop);
}

/* A descriptor that is always ready must not keep the timers from their turn. */
static void test_flood_does_not_stop_timers(void **state)
{
	struct mor_loop *loop = fresh(MOR_LOOP_VIRTUAL);
	struct mor_timer timer = { 0 };
	struct line a;

	(void)state;
	line_open(&a, loop, 'a');
	for (int i = 0; i < 100; i++)
		line_write(&a);
	assert_int_equal(mor_timer_set(loop, &timer, 0, on_timeout), 0);
	assert_int_equal(mor_loop_dispatch(loop), 19);
	assert_string_equal(journal, "aaaaaaaaaaaaaaaaaaT");
	line_close(&a);
	mor_loop_free(loop);
}

/* ---- failures ---- */

static void test_new_fails_cleanly(void **state)
{
	struct mor_loop *loop = NULL;
	struct rlimit limit, low;

	(void)state;
	mor_alloc_fail_after(0);
	assert_int_equal(mor_loop_new(0, &loop), MORTISE_ENOMEM);
	mor_alloc_fail_after(-1);
	getrlimit(RLIMIT_NOFILE, &limit);
	for (rlim_t spare = 0; spare < 3; spare++) {
		int first = dup(0);

		assert_true(first >= 0);
		close(first);
		low = (struct rlimit){ (rlim_t)first + spare, limit.rlim_max };
		setrlimit(RLIMIT_NOFILE, &low);
		assert_int_equal(mor_loop_new(0, &loop), MORTISE_ESYSTEM);
		assert_int_equal(errno, EMFILE);
		setrlimit(RLIMIT_NOFILE, &limit);
	}
	assert_null(loop);
}

static void test_scratch(void **state)
{
	struct mor_loop *loop = fresh(0);
	char *scratch;

	(void)state;
	mor_alloc_fail_after(0);
	assert_null(mor_loop_scratch(loop));
	mor_alloc_fail_after(-1);
	scratch = mor_loop_scratch(loop);
	assert_non_null(scratch);
	memset(scratch, 1, MOR_LOOP_SCRATCH);
	assert_ptr_equal(mor_loop_scratch(loop), scratch);
	mor_loop_free(loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_tasks),
		MOR_TEST(test_nobody_polls),
		MOR_TEST(test_advance_inside_a_task),
		MOR_TEST(test_free_before_tasks_ran),
		MOR_TEST(test_endless_task_yields),
		MOR_TEST(test_hold),
		MOR_TEST(test_wakeup_while_held),
		MOR_TEST(test_graves),
		MOR_TEST(test_wakeup_from_thread),
		MOR_TEST(test_wakeup_from_signal_handler),
		MOR_TEST(test_answer_beats_expired_timer),
		MOR_TEST(test_looks_again_before_timers),
		MOR_TEST(test_flood_does_not_stop_timers),
		MOR_TEST(test_new_fails_cleanly),
		MOR_TEST(test_scratch),
	};

	return mor_run_group("loop", tests);
}
