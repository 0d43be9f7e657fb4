/* SPDX-License-Identifier: Apache-2.0 */
/* The way of an event through the plugins: all are asked, those that match handle it in their order, until one
 * blocks it; and no plugin handles a later event before an earlier one. */
#include "small.h"

#include "base/error.h"

static void begin(struct small *s)
{
	small_begin(s, SEATS);
}

/* The next job of a plugin must be of this kind, and of this event. */
static struct mor_bot_job *expect(struct small *s, size_t seat, enum mor_bot_job_kind kind, uint64_t number)
{
	struct mor_bot_job *job = small_job(s->seats[seat]);

	assert_non_null(job);
	assert_int_equal(job->kind, kind);
	assert_int_equal(job->walk->number, number);
	return job;
}

static void matches(struct small *s, size_t seat, uint64_t number, bool yes)
{
	small_answer(expect(s, seat, MOR_BOT_JOB_MATCHES, number),
		     yes ? "{\"matches\":true}" : "{\"matches\":false}");
}

static void handles(struct small *s, size_t seat, uint64_t number, bool block)
{
	small_answer(expect(s, seat, MOR_BOT_JOB_HANDLE, number), block ? "{\"block\":true}" : "{}");
}

static void assert_idle(struct small *s)
{
	for (size_t i = 0; i < s->run.count; i++)
		assert_true(mor_bot_seat_is_idle(s->seats[i]));
	assert_true(mor_list_empty(&s->run.walks));
}

static void test_all_are_asked_and_handle_in_order(void **state)
{
	struct small s;

	(void)state;
	begin(&s);
	small_take(&s, "{\"text\":\"hi\"}");
	for (size_t i = 0; i < SEATS; i++)
		assert_int_equal(s.seats[i]->waiting, 1); /* at once */
	matches(&s, 2, 1, true);
	assert_int_equal(s.seats[2]->waiting, 0); /* its turn has not come */
	matches(&s, 0, 1, true);
	handles(&s, 0, 1, false);
	assert_int_equal(s.seats[2]->waiting, 0); /* the second may still match */
	matches(&s, 1, 1, true);
	handles(&s, 1, 1, false);
	handles(&s, 2, 1, false);
	assert_idle(&s);
	small_end(&s);
}

static void test_without_a_match_nobody_handles(void **state)
{
	struct small s;

	(void)state;
	begin(&s);
	small_take(&s, "{\"text\":\"hi\"}");
	for (size_t i = 0; i < SEATS; i++)
		matches(&s, i, 1, false);
	assert_idle(&s);
	small_end(&s);
}

static void test_block_stops_the_rest(void **state)
{
	struct small s;

	(void)state;
	begin(&s);
	small_take(&s, "{\"text\":\"hi\"}");
	matches(&s, 0, 1, true);
	matches(&s, 2, 1, true);
	handles(&s, 0, 1, true);
	assert_int_equal(s.seats[2]->waiting, 0);
	assert_true(mor_list_empty(&s.seats[2]->matched));
	assert_false(mor_list_empty(&s.run.walks)); /* the second still has to answer */
	matches(&s, 1, 1, true);                    /* nobody waits for that */
	assert_idle(&s);
	small_end(&s);
}

/* A plugin that may have several calls at once, and answers the second event first. */
static void test_no_later_event_before_an_earlier_one(void **state)
{
	struct small s;
	struct mor_bot_job *one, *two;

	(void)state;
	begin(&s);
	s.run.count = 1;
	small_take(&s, "{\"text\":\"one\"}");
	small_take(&s, "{\"text\":\"two\"}");
	one = expect(&s, 0, MOR_BOT_JOB_MATCHES, 1);
	two = expect(&s, 0, MOR_BOT_JOB_MATCHES, 2);
	small_answer(two, "{\"matches\":true}");
	small_answer(one, "{\"matches\":true}");
	handles(&s, 0, 1, false);
	handles(&s, 0, 2, false);
	assert_idle(&s);
	/* no match: then the second need not wait any more */
	small_take(&s, "{\"text\":\"three\"}");
	small_take(&s, "{\"text\":\"four\"}");
	one = expect(&s, 0, MOR_BOT_JOB_MATCHES, 3);
	two = expect(&s, 0, MOR_BOT_JOB_MATCHES, 4);
	small_answer(two, "{\"matches\":true}");
	assert_int_equal(s.seats[0]->waiting, 0);
	small_answer(one, "{}");
	handles(&s, 0, 4, false);
	assert_idle(&s);
	s.run.count = SEATS;
	small_end(&s);
}

/* With an earlier plugin still busy with the first event, the later event waits behind it at the next one. */
static void test_a_later_event_waits_behind_an_earlier_one(void **state)
{
	struct small s;

	(void)state;
	begin(&s);
	small_take(&s, "{\"text\":\"one\"}");
	small_take(&s, "{\"text\":\"two\"}");
	matches(&s, 0, 1, true);
	matches(&s, 0, 2, false);
	matches(&s, 1, 1, true);
	matches(&s, 1, 2, true);
	matches(&s, 2, 1, false);
	matches(&s, 2, 2, false);
	assert_int_equal(s.seats[1]->waiting, 0); /* event 2 could go, but event 1 comes first */
	handles(&s, 0, 1, false);
	handles(&s, 1, 1, false);
	handles(&s, 1, 2, false);
	assert_idle(&s);
	/* and if the earlier one is blocked, the later one goes on */
	small_take(&s, "{\"text\":\"three\"}");
	small_take(&s, "{\"text\":\"four\"}");
	for (size_t i = 0; i < SEATS; i++) {
		matches(&s, i, 3, i < 2);
		matches(&s, i, 4, i == 1);
	}
	handles(&s, 0, 3, true);
	handles(&s, 1, 4, false);
	assert_idle(&s);
	small_end(&s);
}

static void test_a_failure_is_told_and_the_next_goes_on(void **state)
{
	struct small s;
	mortise_error err = { 0 };

	(void)state;
	begin(&s);
	small_take(&s, "{\"text\":\"hi\"}");
	mor_fail(&err, MORTISE_ETIMEOUT,
		 "first: no reply to \"matches\" in 2 s (timeouts.matches sets the limit)");
	mor_bot_walk_job_done(expect(&s, 0, MOR_BOT_JOB_MATCHES, 1),
			      &(mortise_reply){ .status = err.code, .error = &err });
	assert_told(&s, "timeout: line 1: first: matches: first: no reply to \"matches\" in 2 s (timeout = { "
			"matches = \"DURATION\" } in the bot's file sets the limit)\n");
	matches(&s, 1, 1, true);
	matches(&s, 2, 1, true);
	mor_fail(&err, MORTISE_EREMOTE, "second: no");
	mor_bot_walk_job_done(expect(&s, 1, MOR_BOT_JOB_HANDLE, 1),
			      &(mortise_reply){ .status = err.code, .error = &err });
	said_end(&s.said);
	assert_non_null(strstr(s.said.err, "line 1: second: handle: second: no"));
	said_begin(&s.said);
	handles(&s, 2, 1, false);
	assert_idle(&s);
	small_end(&s);
}

static void test_what_is_no_answer_is_no_match(void **state)
{
	static const char *const rows[] = {
		"null", "true", "[]", "{}", "{\"matches\":1}", "{\"matches\":\"true\"}", "\"matches\""
	};
	struct small s;

	(void)state;
	begin(&s);
	s.run.count = 1;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		small_take(&s, "{\"text\":\"hi\"}");
		small_answer(small_job(s.seats[0]), rows[i]);
		assert_idle(&s);
	}
	s.run.count = SEATS;
	small_end(&s);
}

static void test_who_is_not_asked(void **state)
{
	static char *commands[] = { "weather", "/help", NULL };
	struct small s;

	(void)state;
	begin(&s);
	s.seats[0]->dead = true;
	s.seats[1]->body = NULL; /* it was never ready */
	s.bodies[2].config.prefilter = true;
	s.seats[2]->commands = commands;
	small_take(&s, "{\"text\":\"hi\"}");
	assert_idle(&s);
	small_take(&s, "{\"text\":\"/weather now\"}");
	matches(&s, 2, 2, false);
	small_take(&s, "{\"text\":\"help\"}");
	matches(&s, 2, 3, false);
	assert_idle(&s);
	s.seats[2]->commands = NULL;
	small_end(&s);
}

static void test_prefilter(void **state)
{
	static char *commands[] = { "weather", "/help", NULL };
	static const struct {
		const char *text;
		bool hidden;
	} rows[] = { { "weather", false },  { "/weather", false },   { "weatherman", false },
		     { "//weather", true }, { "the weather", true }, { "weathe", true },
		     { "", true },          { "/", true },           { "help me", false },
		     { "WEATHER", true } };
	struct mor_bot_body body = { .config.prefilter = true };
	struct mor_bot_seat seat = { .body = &body, .commands = commands };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_int_equal(mor_bot_seat_hides(&seat, mor_slice_of(rows[i].text)), rows[i].hidden);
	seat.commands = NULL; /* it says no commands: then it sees everything */
	assert_false(mor_bot_seat_hides(&seat, MOR_SLICE("x")));
	seat.commands = commands;
	body.config.prefilter = false;
	assert_false(mor_bot_seat_hides(&seat, MOR_SLICE("x")));
}

static void test_too_many_wait_for_a_plugin(void **state)
{
	struct small s;

	(void)state;
	begin(&s);
	s.run.count = 1;
	for (unsigned i = 0; i < MOR_BOT_QUEUE; i++)
		small_take(&s, "{\"text\":\"hi\"}");
	assert_told(&s, "");
	small_take(&s, "{\"text\":\"hi\"}");
	assert_told(&s, "overloaded: line 1025: first: 1024 events wait for it already: it does not get this "
			"one\n");
	assert_int_equal(s.seats[0]->waiting, MOR_BOT_QUEUE);
	for (unsigned i = 1; i <= MOR_BOT_QUEUE; i++)
		matches(&s, 0, i, false);
	assert_idle(&s);
	s.run.count = SEATS;
	small_end(&s);
}

/* All that it was going to handle skips it. */
static void test_a_plugin_that_dies(void **state)
{
	struct small s;

	(void)state;
	begin(&s);
	small_take(&s, "{\"text\":\"one\"}");
	small_take(&s, "{\"text\":\"two\"}");
	for (uint64_t number = 1; number <= 2; number++)
		for (size_t i = 0; i < SEATS; i++)
			matches(&s, i, number, true);
	handles(&s, 0, 1, false);
	s.seats[1]->dead = true;
	mor_bot_walk_job_done(expect(&s, 1, MOR_BOT_JOB_HANDLE, 1), NULL);
	mor_bot_walk_seat_died(s.seats[1]);
	handles(&s, 2, 1, false);
	handles(&s, 0, 2, false);
	handles(&s, 2, 2, false);
	assert_idle(&s);
	small_end(&s);
}

static void test_while_the_bot_ends_nothing_new_begins(void **state)
{
	struct small s;

	(void)state;
	begin(&s);
	small_take(&s, "{\"text\":\"hi\"}");
	s.run.stopping = true;
	matches(&s, 0, 1, true);
	assert_int_equal(s.seats[0]->waiting, 0);
	small_end(&s);
}

static void test_no_memory(void **state)
{
	struct small s;
	struct mor_onebot_event event;
	mortise_error err = { 0 };

	(void)state;
	begin(&s);
	assert_int_equal(mor_onebot_read(MOR_SLICE("{\"text\":\"hi\"}"), &event, NULL), 0);
	mor_alloc_fail_after(0);
	assert_int_equal(mor_bot_walk_begin_take(&s.run, &event, &err), MORTISE_ENOMEM);
	mor_alloc_fail_after(-1);
	assert_true(mor_slice_is(mor_buf_view(&event.text), "hi")); /* it is still ours */
	mor_onebot_event_fini(&event);
	assert_idle(&s);
	small_end(&s);
}

/* ---- any order ---- */

static uint64_t seed;

static uint64_t draw(uint64_t below)
{
	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (seed >> 33) % below;
}

/* Many events under way at once, answers in any order: each event is handled by those that match, in their
 * order, up to the first that blocks. Which plugin does what is fixed by the event's number. */
static void run_mixed(void)
{
	enum { EVENTS = 40, HELD = 200 };
	struct mor_bot_job *held[HELD];
	uint64_t last[EVENTS + 1] = { 0 }; /* of each event: the seats that have handled it, as bits */
	uint64_t latest[SEATS] = { 0 };    /* of each seat: the event that it was given last */
	size_t count = 0, taken = 0;
	struct small s;

	begin(&s);
	while (taken < EVENTS || count || !mor_list_empty(&s.run.walks)) {
		size_t i = draw(SEATS + 2);
		struct mor_bot_job *job;

		if (i == SEATS && taken < EVENTS) {
			small_take(&s, "{\"text\":\"hi\"}");
			taken++;
		} else if (i < SEATS && (job = small_job(s.seats[i]))) {
			held[count++] = job;
			assert_true(count < HELD);
			if (job->kind == MOR_BOT_JOB_HANDLE) {
				assert_true(job->walk->number > latest[i]);
				latest[i] = job->walk->number;
			}
		} else if (count) {
			size_t which = draw(count), seat;
			uint64_t number;

			job = held[which];
			held[which] = held[--count];
			number = job->walk->number;
			for (seat = 0; s.seats[seat] != job->seat; seat++)
				;
			if (job->kind == MOR_BOT_JOB_MATCHES) {
				small_answer(job, (number >> seat) & 1 ? "{\"matches\":true}" : "{}");
				continue;
			}
			assert_true((number >> seat) & 1);
			assert_int_equal(last[number] >> seat, 0); /* no later one, and not twice */
			for (size_t before = 0; before < seat; before++)
				assert_int_equal((last[number] >> before) & 1, (number >> before) & 1);
			last[number] |= 1u << seat;
			small_answer(job, number % 5 == seat ? "{\"block\":true}" : "{}");
		}
	}
	for (uint64_t number = 1; number <= EVENTS; number++) {
		uint64_t wanted = number & 7;

		if (number % 5 < SEATS && (wanted >> number % 5) & 1)
			wanted &= (2u << number % 5) - 1; /* blocked there */
		assert_int_equal(last[number], wanted);
	}
	assert_idle(&s);
	small_end(&s);
}

static void test_answers_in_any_order(void **state)
{
	(void)state;
	for (seed = 1; seed <= 50; seed++) {
		uint64_t kept = seed;

		run_mixed();
		seed = kept;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_all_are_asked_and_handle_in_order),
		MOR_TEST(test_without_a_match_nobody_handles),
		MOR_TEST(test_block_stops_the_rest),
		MOR_TEST(test_no_later_event_before_an_earlier_one),
		MOR_TEST(test_a_later_event_waits_behind_an_earlier_one),
		MOR_TEST(test_a_failure_is_told_and_the_next_goes_on),
		MOR_TEST(test_what_is_no_answer_is_no_match),
		MOR_TEST(test_who_is_not_asked),
		MOR_TEST(test_prefilter),
		MOR_TEST(test_too_many_wait_for_a_plugin),
		MOR_TEST(test_a_plugin_that_dies),
		MOR_TEST(test_while_the_bot_ends_nothing_new_begins),
		MOR_TEST(test_no_memory),
		MOR_TEST(test_answers_in_any_order),
	};

	return mor_run_group("bot/walk", tests);
}
