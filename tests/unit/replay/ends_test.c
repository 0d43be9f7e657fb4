/* SPDX-License-Identifier: Apache-2.0 */
/* Raw bytes, ends and signals of a replay, the plugin's side, and what is too much. */
#include "play.h"

#include <signal.h>

#include "base/alloc.h"

/* ---- bytes that are no message ---- */

static void test_raw_bytes(void **state)
{
	struct play p = { 0 };

	(void)state;
	play_begin(&p, "talk 1 plain\n>b \\x00{oops\\n\n<b Loading...\\n\n");
	assert_next(&p, MOR_PLAYER_SEND);
	assert_int_equal(p.player.out.len, 7);
	assert_memory_equal(p.player.out.data, "\0{oops\n", 7);
	play_say(&p, "Loading...\n");
	assert_next(&p, MOR_PLAYER_DONE);
	assert_int_equal(p.player.sent, 0);
	play_end(&p);
	play_begin(&p, "talk 1 plain\n<b Loading...\\n\n");
	play_say(&p, "Loaded\n");
	assert_next(&p, MOR_PLAYER_DIFFERS);
	assert_differs(&p, 2, "other bytes came");
	play_end(&p);
}

static void test_noise_that_does_not_matter(void **state)
{
	struct play p = { .opt.noise = true };

	(void)state;
	play_begin(&p, "talk 1 plain\n<b Loading\\n\n< {\"method\":\"a\"}\n");
	play_say(&p, "something else\n{\"method\":\"a\"}\nmore\n");
	assert_next(&p, MOR_PLAYER_DONE);
	play_end(&p);
}

static void test_raw_bytes_that_are_a_message_are_compared_as_one(void **state)
{
	struct play p = { 0 };

	(void)state;
	play_begin(&p, "talk 1 plain\n<b {\"method\":\\x22a\\x22,\n<b \"params\":1}\\n\n");
	play_say(&p, "{ \"params\": 1, \"method\": \"a\" }\n");
	assert_next(&p, MOR_PLAYER_DONE);
	assert_int_equal(p.player.compared, 1);
	play_end(&p);
}

static void test_stars_accept_anything_up_to_what_follows(void **state)
{
	static const struct {
		const char *file, *came;
		bool same;
	} rows[] = {
		{ "token=*** ok", "token=abc ok", true },
		{ "token=*** ok", "token= ok", true },
		{ "token=*** ok", "token=abc no", false },
		{ "token=***", "token=abc", true },
		{ "token=***", "tokem=abc", false },
		{ "a *** b *** c", "a 1 b 2 c", true },
		{ "a *** b *** c", "a 1 b 2 d", false },
		{ "token=***", "tok", false },
		{ "** *", "** *", true },
		{ "** *", "** **", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct play p = { 0 };
		char file[200], came[200];

		snprintf(file, sizeof(file), "talk 1 plain\n<b %s\\n\n", rows[i].file);
		snprintf(came, sizeof(came), "%s\n", rows[i].came);
		play_begin(&p, file);
		play_say(&p, came);
		assert_next(&p, rows[i].same ? MOR_PLAYER_DONE : MOR_PLAYER_DIFFERS);
		play_end(&p);
	}
}

static void test_a_message_instead_of_noise_and_the_opposite(void **state)
{
	struct play p = { .opt.ordered = true };

	(void)state;
	play_begin(&p, "talk 1 plain\n<b noise\\n\n");
	play_say(&p, "{\"method\":\"a\"}\n");
	assert_next(&p, MOR_PLAYER_DIFFERS);
	assert_differs(&p, 2, "a message came instead of other bytes");
	play_end(&p);
	play_begin(&p, "talk 1 plain\n< {\"method\":\"a\"}\n");
	play_say(&p, "noise\n");
	assert_next(&p, MOR_PLAYER_DIFFERS);
	assert_differs(&p, 2, "bytes came that are no message");
	play_end(&p);
}

static void test_framing(void **state)
{
	struct play p = { .opt.framing = MOR_FRAMING_HEADERS };

	(void)state;
	play_begin(&p, "talk 1 plain\n> {\"id\":1,\"method\":\"a\"}\n< {\"id\":1,\"result\":0}\n"
		       "< {\"method\":\"n\"}\n");
	assert_sent(&p, "Content-Length: 21\r\n\r\n{\"id\":1,\"method\":\"a\"}");
	play_say(&p, "Content-Length: 19\r\n\r\n{\"id\":1,\"result\":0}");
	play_say(&p, "{\"method\":\"n\"}\n"); /* both are understood, as hosts do */
	assert_next(&p, MOR_PLAYER_DONE);
	play_end(&p);
}

/* ---- ends ---- */

static void test_ends_of_streams(void **state)
{
	struct play p = { 0 };

	(void)state;
	play_begin(&p, "talk 1 plain\n>.\n<.\n= exit 3\n");
	assert_next(&p, MOR_PLAYER_CLOSE);
	assert_next(&p, MOR_PLAYER_INPUT);
	play_say_end(&p);
	assert_next(&p, MOR_PLAYER_END);
	mor_player_ended(&p.player, 3 << 8);
	assert_next(&p, MOR_PLAYER_DONE);
	play_end(&p);
}

static void test_something_before_the_end_is_a_difference(void **state)
{
	struct play p = { 0 };

	(void)state;
	play_begin(&p, "talk 1 plain\n<.\n< {\"method\":\"late\"}\n");
	play_say(&p, "{\"method\":\"a\"}\n");
	assert_next(&p, MOR_PLAYER_DIFFERS);
	assert_differs(&p, 2, "the plugin sent something that is not in the file");
	play_end(&p);
}

static void test_another_end(void **state)
{
	static const struct {
		const char *line;
		int status;
		const char *text;
	} rows[] = {
		{ "= exit 0", 1 << 8, "the plugin ended with exit 1, not with exit 0" },
		{ "= exit 0", SIGSEGV, "the plugin ended with signal SEGV, not with exit 0" },
		{ "= signal HUP", 0, "the plugin ended with exit 0, not with signal HUP" },
		{ "= exit 3", 3 << 8, NULL },
		{ "= signal HUP", SIGHUP, NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct play p = { 0 };
		char file[100];

		snprintf(file, sizeof(file), "talk 1 plain\n%s\n", rows[i].line);
		play_begin(&p, file);
		assert_next(&p, MOR_PLAYER_END);
		mor_player_ended(&p.player, rows[i].status);
		assert_next(&p, rows[i].text ? MOR_PLAYER_DIFFERS : MOR_PLAYER_DONE);
		assert_string_equal(p.player.difference.text, rows[i].text ? rows[i].text : "");
		play_end(&p);
	}
}

/* `= signal TERM` alone means that the host sent it; after `>s TERM` it is not sent again. */
static void test_signals(void **state)
{
	static const char *const files[] = { "talk 1 plain\n= signal TERM\n",
					     "talk 1 plain\n>s TERM\n= signal TERM\n" };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct play p = { 0 };

		play_begin(&p, files[i]);
		assert_next(&p, MOR_PLAYER_SIGNAL);
		assert_int_equal(p.player.signal, SIGTERM);
		assert_next(&p, MOR_PLAYER_END);
		mor_player_ended(&p.player, SIGTERM);
		assert_next(&p, MOR_PLAYER_DONE);
		play_end(&p);
	}
}

/* Usually the end of the process follows that of its stdout, and says more. */
static void test_nothing_came(void **state)
{
	static const char file[] = "talk 1 plain\n< {\"method\":\"a\"}\n";
	struct play p = { 0 };

	(void)state;
	play_begin(&p, file);
	play_say_end(&p);
	assert_next(&p, MOR_PLAYER_END);
	assert_true(p.player.lingered);
	assert_next(&p, MOR_PLAYER_DIFFERS); /* it did not end in time */
	assert_differs(&p, 2, "nothing came: the plugin has closed its stdout");
	play_end(&p);
	play_begin(&p, file);
	play_say_end(&p);
	assert_next(&p, MOR_PLAYER_END);
	mor_player_ended(&p.player, SIGKILL);
	assert_next(&p, MOR_PLAYER_DIFFERS);
	assert_differs(&p, 2, "nothing came: the plugin ended with signal KILL");
	play_end(&p);
}

static void test_give_up(void **state)
{
	struct play p = { 0 };

	(void)state;
	play_begin(&p, "talk 1 plain\n< {\"method\":\"a\"}\n< {\"method\":\"b\"}\n");
	play_say(&p, "{\"method\":\"b\"}\n");
	assert_next(&p, MOR_PLAYER_INPUT);
	mor_player_give_up(&p.player, "nothing came in 10 s");
	assert_differs(&p, 2, "nothing came in 10 s");
	assert_text(&p.player.difference.expected, "{\"method\":\"a\"}");
	assert_text(&p.player.difference.came, "{\"method\":\"b\"}");
	play_end(&p);
}

/* ---- the plugin is played ---- */

static void test_a_host_that_differs_gets_its_answer(void **state)
{
	struct play p = { .opt.as_plugin = true };

	(void)state;
	play_begin(&p, "talk 1 plain\n"
		       "> {\"id\":1,\"method\":\"a\",\"params\":1}\n"
		       "< {\"id\":1,\"result\":0}\n");
	play_say(&p, "{\"id\":42,\"method\":\"a\",\"params\":2}\n");
	assert_sent(&p, "{\"id\":42,\"result\":0}\n");
	play_say(&p, "{\"method\":\"surprise\"}\n{\"method\":\"another\"}\n");
	assert_next(&p, MOR_PLAYER_DONE);
	assert_int_equal(p.player.differences, 3);
	assert_differs(&p, 2, "/params: expected 1, got 2"); /* the first is kept */
	play_end(&p);
}

static void test_a_note_that_names_a_call_follows_its_id(void **state)
{
	struct play p = { .opt = { .as_plugin = true, .ref = "request_id" } };

	(void)state;
	play_begin(&p, "talk 1 gassist\n"
		       "> {\"id\":3,\"method\":\"execute\"}\n"
		       "< {\"method\":\"stream\",\"params\":{\"request_id\":3,\"data\":3}}\n"
		       "< {\"method\":\"stream\",\"params\":[3]}\n");
	play_say(&p, "{\"id\":8,\"method\":\"execute\"}\n");
	assert_sent(&p, "{\"method\":\"stream\",\"params\":{\"request_id\":8,\"data\":3}}\n");
	assert_sent(&p, "{\"method\":\"stream\",\"params\":[3]}\n");
	play_end(&p);
}

static void test_a_played_plugin_chooses_no_values(void **state)
{
	struct play p = { .opt.as_plugin = true };

	(void)state;
	play_begin(&p, "talk 1 plain\n< {\"id\":$never,\"result\":0}\n");
	assert_next(&p, MOR_PLAYER_STUCK);
	assert_int_equal(p.player.difference.line, 2);
	play_end(&p);
}

static void test_a_played_plugin_ends_as_the_file(void **state)
{
	struct play p = { .opt.as_plugin = true };

	(void)state;
	play_begin(&p, "talk 1 plain\n>.\n<.\n>s TERM\n= exit 4\n");
	assert_next(&p, MOR_PLAYER_INPUT);
	play_say_end(&p);
	assert_next(&p, MOR_PLAYER_CLOSE);
	assert_next(&p, MOR_PLAYER_END);
	assert_int_equal(p.player.end->exit_code, 4);
	play_end(&p);
	/* a host that leaves early */
	play_begin(&p, "talk 1 plain\n> {\"method\":\"a\"}\n");
	play_say_end(&p);
	assert_next(&p, MOR_PLAYER_DIFFERS);
	assert_differs(&p, 2, "nothing came: the host has closed its side");
	play_end(&p);
}

/* ---- limits ---- */

static void test_too_much_that_nobody_waits_for(void **state)
{
	struct play p = { 0 };

	(void)state;
	play_begin(&p, "talk 1 plain\n< {\"method\":\"a\"}\n");
	p.player.heard_bytes = MOR_PLAYER_HEARD; /* half a gigabyte was heard */
	assert_int_equal(mor_player_input(&p.player, MOR_SLICE("{\"method\":\"b\"}\n")), MORTISE_ELIMIT);
	p.player.heard_bytes -= MOR_PLAYER_HEARD;
	play_end(&p);
}

/* Whichever allocation fails: it is said, and nothing is lost or freed twice. */
static void test_no_memory(void **state)
{
	static const char *const came[] = { "{\"method\":\"a\"}\nnoise\n", NULL };
	int r = MORTISE_ENOMEM;

	(void)state;
	for (long n = 0; r < 0; n++) {
		struct play p = { .opt.ref = "request_id" };

		assert_int_equal(mor_talk_parse(MOR_SLICE("talk 1 plain\n< {\"id\":1,\"method\":\"a\"}\n"
							  "<b noise\\n\n> {\"id\":1,\"result\":[]}\n"),
						&p.talk, NULL),
				 0);
		mor_alloc_fail_after(n);
		r = mor_player_init(&p.player, &p.talk, &p.opt);
		if (r == 0)
			r = mor_player_input(&p.player, mor_slice_of(came[0]));
		mor_alloc_fail_after(-1);
		assert_true(r == 0 || r == MORTISE_ENOMEM);
		play_end(&p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_raw_bytes),
		MOR_TEST(test_noise_that_does_not_matter),
		MOR_TEST(test_raw_bytes_that_are_a_message_are_compared_as_one),
		MOR_TEST(test_stars_accept_anything_up_to_what_follows),
		MOR_TEST(test_a_message_instead_of_noise_and_the_opposite),
		MOR_TEST(test_framing),
		MOR_TEST(test_ends_of_streams),
		MOR_TEST(test_something_before_the_end_is_a_difference),
		MOR_TEST(test_another_end),
		MOR_TEST(test_signals),
		MOR_TEST(test_nothing_came),
		MOR_TEST(test_give_up),
		MOR_TEST(test_a_host_that_differs_gets_its_answer),
		MOR_TEST(test_a_note_that_names_a_call_follows_its_id),
		MOR_TEST(test_a_played_plugin_chooses_no_values),
		MOR_TEST(test_a_played_plugin_ends_as_the_file),
		MOR_TEST(test_too_much_that_nobody_waits_for),
		MOR_TEST(test_no_memory),
	};

	return mor_run_group("replay/ends", tests);
}
