/* SPDX-License-Identifier: Apache-2.0 */
/* Calls to a chat network and their ends. There is a real link, to which nobody has connected; that a call was
 * sent over a connection is set by the test. */
#include "small.h"

#include "base/clock.h"

#define CALL "{\"action\":\"x\"}"

static void ignore_event(void *arg, struct mor_onebot_event *event)
{
	(void)arg;
	(void)event;
}

static void ignore_note(void *arg, const char *what, const char *text)
{
	(void)arg;
	(void)what;
	(void)text;
}

static void begin(struct small *s)
{
	static const struct mor_onebot_link_handler handler = { .event = ignore_event, .note = ignore_note };
	static const struct mor_url listen = { .host = "127.0.0.1", .target = "/" };
	struct mor_onebot_link_options options = { .listen = &listen, .handler = &handler };
	mortise_error err = { 0 };

	small_begin(s, 1);
	if (mor_onebot_link_new(&options, &s->run.net.link, &err) < 0)
		fail_msg("%s", err.text);
}

static void end(struct small *s)
{
	mor_onebot_link_free(s->run.net.link);
	small_end(s);
}

static struct mor_bot_api_call *put(struct small *s, bool group, const char *target, int index)
{
	struct mor_bot_walk walk = { .number = 3 };
	struct mor_bot_api_call *call =
		mor_bot_api_new(s->seats[0], &walk, (struct mor_onebot_target){ group, target }, index);

	assert_non_null(call);
	assert_int_equal(mor_bot_api_put_take(&s->run, call, MOR_SLICE(CALL)), 0);
	return call;
}

static void answer(struct small *s, char *echo, char *why, char *data)
{
	struct mor_onebot_event event = { .kind = MOR_ONEBOT_RESPONSE,
					  .echo = echo,
					  .failed = why != NULL,
					  .retcode = why ? 1404 : 0,
					  .why = why,
					  .data = data };

	mor_bot_api_answered(&s->run, &event);
}

/* What the plugin is told, if it asked for results. */
static void assert_result(struct small *s, const char *wanted)
{
	struct mor_bot_job *job = small_job(s->seats[0]);

	assert_non_null(job);
	assert_int_equal(job->kind, MOR_BOT_JOB_RESULT);
	assert_string_equal(job->params, wanted);
	small_answer(job, "{}");
}

static void test_an_answer_finds_its_call_by_the_end_of_the_echo(void **state)
{
	static char *const none[] = { NULL,       "",           "first/3",
				      "first/3/", "first/3/x",  "first/3/3",
				      "1",        "first/3/-1", "first/3/18446744073709551617" };
	struct small s;
	struct mor_bot_api_call *one, *two;

	(void)state;
	begin(&s);
	one = put(&s, false, "7", -1);
	two = put(&s, false, "8", -1);
	assert_int_equal(one->number, 1);
	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++)
		answer(&s, none[i], NULL, NULL);
	answer(&s, "first/3/2", NULL, NULL); /* it was not even sent */
	assert_int_equal(s.run.api.count, 2);
	two->peer = 1;
	answer(&s, "any/thing/2", NULL, NULL);
	assert_int_equal(s.run.api.count, 1);
	assert_int_equal(s.run.api.bytes, strlen(CALL));
	end(&s);
}

static void test_what_people_see(void **state)
{
	struct small s;

	(void)state;
	begin(&s);
	put(&s, true, "5", 0)->peer = 1;
	answer(&s, "first/3/1", "no such group", NULL);
	assert_told(&s, "refused: event 3: first: send_group_msg to 5: no such group\n");
	put(&s, false, "7", 0)->peer = 1;
	answer(&s, "first/3/2", NULL, NULL);
	assert_told(&s, ""); /* what went well is nobody's concern */
	s.said.console.verbose = true;
	put(&s, false, "7", 0)->peer = 1;
	answer(&s, "first/3/3", NULL, NULL);
	answer(&s, "first/3/3", NULL, NULL);
	assert_told(&s, "done: event 3: first: send_private_msg to 7: done\ndropped: an answer to an unknown "
			"call\n");
	s.said.console.verbose = false;
	answer(&s, NULL, "who are you?", NULL); /* a refusal without an echo may be about anything of ours */
	assert_told(&s, "refused: an answer to an unknown call: who are you?\n");
	end(&s);
}

static void test_a_lost_connection_loses_its_calls(void **state)
{
	struct small s;

	(void)state;
	begin(&s);
	put(&s, false, "7", -1)->peer = 1;
	put(&s, false, "8", -1)->peer = 2;
	put(&s, false, "9", -1);
	mor_bot_api_lost(&s.run, 1);
	assert_told(&s,
		    "lost: event 3: first: send_private_msg to 7: the connection was lost before the answer: "
		    "nobody knows whether the call was done\n");
	assert_int_equal(s.run.api.count, 2);
	end(&s);
}

static void test_time_limits(void **state)
{
	struct small s;
	struct mor_bot_api_call *sent, *waits;

	(void)state;
	begin(&s);
	assert_int_equal(mor_bot_api_wait_ms(&s.run), -1);
	sent = put(&s, false, "7", -1);
	waits = put(&s, false, "8", -1);
	assert_int_equal(mor_bot_api_wait_ms(&s.run), -1);
	mor_bot_api_tend(&s.run); /* there is no connection: the time runs from now */
	assert_in_range(mor_bot_api_wait_ms(&s.run), 1, 30000);
	sent->peer = 1;
	sent->due_ms = 1;
	s.run.net.paused = true; /* answers are not read: nobody can be late */
	assert_in_range(mor_bot_api_wait_ms(&s.run), 1, 30000);
	mor_bot_api_tend(&s.run);
	assert_told(&s, "");
	s.run.net.paused = false;
	mor_bot_api_renew(&s.run); /* it gets its full time again */
	assert_true(sent->due_ms > mor_clock_ms());
	sent->due_ms = 1;
	assert_int_equal(mor_bot_api_wait_ms(&s.run), 0);
	mor_bot_api_tend(&s.run);
	assert_told(&s, "timeout: event 3: first: send_private_msg to 7: no answer in 30 s (api_timeout in the "
			"bot's file sets the limit)\n");
	waits->due_ms = 1;
	mor_bot_api_tend(&s.run);
	assert_told(&s,
		    "lost: event 3: first: send_private_msg to 8: not sent: for 30 s there was no connection "
		    "that accepts calls\n");
	assert_int_equal(s.run.api.count, 0);
	end(&s);
}

/* The second call to one person or group waits for the end of the first, and its time does not run yet. */
static void test_one_after_the_other_to_the_same_target(void **state)
{
	struct small s;
	struct mor_bot_api_call *calls[5];

	(void)state;
	begin(&s);
	calls[0] = put(&s, false, "7", -1);
	calls[1] = put(&s, false, "7", 0);
	calls[2] = put(&s, true, "7", -1); /* a group is somebody else */
	calls[3] = put(&s, false, "8", -1);
	calls[4] = put(&s, true, "7", 0);
	mor_bot_api_tend(&s.run);
	assert_true(calls[0]->due_ms && !calls[1]->due_ms && calls[2]->due_ms && calls[3]->due_ms &&
		    !calls[4]->due_ms);
	calls[0]->peer = 1;
	answer(&s, "first/3/1", NULL, NULL);
	mor_bot_api_tend(&s.run);
	assert_true(calls[1]->due_ms && !calls[4]->due_ms);
	end(&s);
}

/* ---- what the plugin is told ---- */

static void test_results(void **state)
{
	struct small s;

	(void)state;
	begin(&s);
	s.seats[0]->wants_results = true;
	put(&s, true, "5", -1)->peer = 1;
	answer(&s, "first/3/1", NULL, "{\"message_id\":9}");
	assert_result(
		&s,
		"{\"target_type\":\"group\",\"target_id\":5,\"index\":null,\"status\":\"ok\",\"retcode\":0,\"message\":null,\"data\":{\"message_id\":9}}");
	put(&s, false, "9007199254740993", 2)->peer = 1;
	answer(&s, "first/3/2", "no \"such\" user", NULL);
	assert_result(&s, "{\"target_type\":\"private\",\"target_id\":9007199254740993,\"index\":2,"
			  "\"status\":\"failed\",\"retcode\":1404,\"message\":\"no \\\"such\\\" user\","
			  "\"data\":null}");
	put(&s, false, "7", 0)->peer = 4;
	mor_bot_api_lost(&s.run, 4);
	assert_result(
		&s,
		"{\"target_type\":\"private\",\"target_id\":7,\"index\":0,\"status\":\"lost\",\"retcode\":-1,\"message\":\"the "
		"connection was lost before the answer: nobody knows whether the call was "
		"done\",\"data\":null}");
	said_end(&s.said);
	said_begin(&s.said);
	end(&s);
}

static void test_who_gets_no_results(void **state)
{
	struct small s;

	(void)state;
	begin(&s);
	for (unsigned i = 0; i < 5; i++) {
		struct mor_bot_seat *seat = s.seats[0];
		char echo[32];

		seat->wants_results = i != 0; /* it did not ask for them */
		seat->dead = i == 1;
		seat->body = i == 2 ? NULL : &s.bodies[0];
		s.run.stopping = i == 3;
		if (i == 4) {
			mor_free(seat->name);
			seat->name = mor_strdup("another"); /* its plugin is not in the file any more */
		}
		snprintf(echo, sizeof(echo), "%u", i + 1);
		put(&s, false, "7", -1)->peer = 1;
		if (i == 4) {
			struct mor_bot_api_call *call =
				mor_container_of(s.run.api.calls.next, struct mor_bot_api_call, node);

			mor_free(call->plugin);
			call->plugin = mor_strdup("gone");
		}
		mor_bot_api_lost(&s.run, 1);
		assert_int_equal(seat->waiting, 0);
	}
	said_end(&s.said);
	said_begin(&s.said);
	end(&s);
}

static void test_a_plugin_with_too_much_to_do_gets_no_result(void **state)
{
	struct small s;

	(void)state;
	begin(&s);
	s.seats[0]->wants_results = true;
	s.seats[0]->waiting = MOR_BOT_QUEUE;
	put(&s, false, "7", -1)->peer = 1;
	answer(&s, "first/3/1", NULL, NULL);
	assert_told(
		&s,
		"overloaded: event 3: first: 1024 events wait for it already: it gets no result of its call\n");
	assert_int_equal(s.seats[0]->waiting, MOR_BOT_QUEUE);
	s.seats[0]->waiting = 0;
	end(&s);
}

/* ---- limits ---- */

/* Past the limit nothing more is read until half has gone; it is said once. */
static void test_too_many_calls_wait(void **state)
{
	struct small s;

	(void)state;
	begin(&s);
	for (unsigned i = 0; i < 1024; i++)
		put(&s, false, "7", -1);
	assert_false(mor_bot_is_held(&s.run));
	put(&s, false, "7", -1);
	assert_true(mor_bot_is_held(&s.run));
	assert_told(&s,
		    "warning: 1025 calls wait for the chat network: no event is read until it has caught up\n");
	for (unsigned i = 1; i <= 513; i++) {
		char echo[32];

		assert_true(mor_bot_is_held(&s.run));
		mor_container_of(s.run.api.calls.next, struct mor_bot_api_call, node)->peer = 1;
		snprintf(echo, sizeof(echo), "first/3/%u", i);
		answer(&s, echo, NULL, NULL);
	}
	assert_false(mor_bot_is_held(&s.run));
	for (unsigned i = 0; i < 513; i++)
		put(&s, false, "7", -1);
	assert_true(mor_bot_is_held(&s.run));
	assert_told(&s, "");
	end(&s);
}

static void test_no_memory(void **state)
{
	struct mor_bot_walk walk = { .number = 3, .event.self_id = "1" };
	struct small s;
	struct mor_bot_api_call *call = NULL;

	(void)state;
	begin(&s);
	for (long n = 0; !call; n++) {
		mor_alloc_fail_after(n);
		call = mor_bot_api_new(s.seats[0], &walk, (struct mor_onebot_target){ false, "7" }, -1);
		mor_alloc_fail_after(-1);
	}
	assert_int_equal(mor_bot_api_put_take(&s.run, call, (struct mor_slice){ NULL, 0 }), MORTISE_ENOMEM);
	assert_int_equal(s.run.api.count, 0);
	end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_an_answer_finds_its_call_by_the_end_of_the_echo),
		MOR_TEST(test_what_people_see),
		MOR_TEST(test_a_lost_connection_loses_its_calls),
		MOR_TEST(test_time_limits),
		MOR_TEST(test_one_after_the_other_to_the_same_target),
		MOR_TEST(test_results),
		MOR_TEST(test_who_gets_no_results),
		MOR_TEST(test_a_plugin_with_too_much_to_do_gets_no_result),
		MOR_TEST(test_too_many_calls_wait),
		MOR_TEST(test_no_memory),
	};

	return mor_run_group("bot/api", tests);
}
