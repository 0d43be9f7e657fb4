/* SPDX-License-Identifier: Apache-2.0 */
/* Spinning before a sleep: what is learned of a plugin, and that nothing else waits for it. */
#include "line.h"

/* ---- the rule ---- */

/* Spins in `waits` waits for a plugin that answers in time or never does. */
static unsigned spins_in(struct mor_spin *spin, unsigned waits, bool answers)
{
	unsigned spins = 0;

	for (unsigned i = 0; i < waits; i++)
		if (mor_spin_begin(spin)) {
			spins++;
			mor_spin_end(spin, answers);
		}
	return spins;
}

static void test_fast_always(void **state)
{
	struct mor_spin spin = { 0 };

	(void)state;
	assert_int_equal(spins_in(&spin, 1000, true), 1000);
}

static void test_slow_hardly_ever(void **state)
{
	struct mor_spin spin = { 0 };

	(void)state;
	assert_int_equal(spins_in(&spin, 1, false), 1); /* who is new is tried */
	assert_in_range(spins_in(&spin, 2100, false), 1, 11);
	assert_in_range(spins_in(&spin, 100 * (MOR_SPIN_REST + 1), false), 99, 101);
}

static void test_fast_again(void **state)
{
	struct mor_spin spin = { 0 };

	(void)state;
	spins_in(&spin, 10000, false);
	spins_in(&spin, MOR_SPIN_REST, true); /* the rest goes by first */
	assert_int_equal(spins_in(&spin, 100, true), 100);
	assert_int_equal(spin.penalty, 0);
}

/* One slow answer among many: the next is slept for, and all is as before. */
static void test_forgives(void **state)
{
	struct mor_spin spin = { 0 };

	(void)state;
	for (int i = 0; i < 50; i++) {
		assert_int_equal(spins_in(&spin, 20, true), 20);
		assert_int_equal(spins_in(&spin, 1, false), 1);
		assert_false(mor_spin_begin(&spin));
	}
}

/* ---- the loop ---- */

struct question {
	struct mor_task task;
	struct mor_spin spin;
	struct line *line;
	bool answered; /* the answer is there before the wait */
};

static void on_question(struct mor_task *task)
{
	struct question *q = mor_container_of(task, struct question, task);

	if (q->answered)
		line_write(q->line);
	mor_loop_expect(q->line->loop, &q->line->watch, &q->spin);
}

/* Asks, waits, and returns how often the loop looked. */
static uint64_t ask(struct mor_loop *loop, struct question *q)
{
	uint64_t before = mor_loop_counts(loop).waits;

	mor_loop_post(loop, &q->task, on_question);
	assert_int_equal(mor_loop_wait(loop, 1), 1);
	mor_loop_wait(loop, 1);
	return mor_loop_counts(loop).waits - before;
}

static void test_spins_then_sleeps(void **state)
{
	struct mor_loop *loop = fresh(0);
	struct line line;
	struct question q = { .line = &line };

	(void)state;
	line_open(&line, loop, 'a');
	mor_loop_allow_spin(loop, true);
	assert_true(ask(loop, &q) > 1);
	assert_int_equal(q.spin.penalty, 1);
	assert_int_equal(ask(loop, &q), 1); /* learned */
	q.answered = true;
	assert_int_equal(ask(loop, &q), 1); /* the first look finds it */
	assert_int_equal(q.spin.penalty, 0);
	assert_string_equal(journal, "a");
	line_close(&line);
	mor_loop_free(loop);
}

static void test_not_allowed(void **state)
{
	struct mor_loop *loop = fresh(0);
	struct line line;
	struct question q = { .line = &line };

	(void)state;
	line_open(&line, loop, 'a');
	assert_int_equal(ask(loop, &q), 1);
	mor_loop_allow_spin(loop, true);
	mor_loop_allow_spin(loop, false);
	assert_int_equal(ask(loop, &q), 1);
	line_close(&line);
	mor_loop_free(loop);
}

/* Another descriptor and a wake-up end the spin, and nothing is learned of the plugin. */
static void test_others_are_heard(void **state)
{
	struct mor_loop *loop = fresh(0);
	struct line line, other;
	struct question q = { .line = &line };

	(void)state;
	line_open(&line, loop, 'a');
	line_open(&other, loop, 'b');
	mor_loop_allow_spin(loop, true);
	line_write(&other);
	assert_int_equal(ask(loop, &q), 1);
	assert_string_equal(journal, "b");
	assert_int_equal(mor_loop_wakeup(loop), 0);
	assert_int_equal(ask(loop, &q), 1);
	assert_int_equal(q.spin.penalty, 0);
	line_close(&other);
	line_close(&line);
	mor_loop_free(loop);
}

/* The watch is stopped after the question: nobody looks at it any more. */
static void test_gone(void **state)
{
	struct mor_loop *loop = fresh(0);
	struct line line;
	struct question q = { .line = &line };

	(void)state;
	line_open(&line, loop, 'a');
	mor_loop_allow_spin(loop, true);
	mor_loop_post(loop, &q.task, on_question);
	assert_int_equal(mor_loop_wait(loop, 1), 1);
	line_close(&line);
	assert_int_equal(mor_loop_wait(loop, 1), 0);
	assert_int_equal(q.spin.penalty, 0);
	mor_loop_free(loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_fast_always),       MOR_TEST(test_slow_hardly_ever),
		MOR_TEST(test_fast_again),        MOR_TEST(test_forgives),
		MOR_TEST(test_spins_then_sleeps), MOR_TEST(test_not_allowed),
		MOR_TEST(test_others_are_heard),  MOR_TEST(test_gone),
	};

	return mor_run_group("loop/spin", tests);
}
