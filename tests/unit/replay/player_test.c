/* SPDX-License-Identifier: Apache-2.0 */
/* The host's side: what a player sends, accepts and calls a difference (docs/reference/talk.md, "What a replay
 * does"). */
#include "play.h"

static void test_lines_of_the_own_side_are_sent_the_others_compared(void **state)
{
	struct play p = { 0 };

	(void)state;
	play_begin(&p, "talk 1 plain\n"
		       "> {\"id\":7,\"method\":\"a\"}\n"
		       "2 ignored\n"
		       "< {\"id\":7,\"result\":1}\n"
		       "> {\"method\":\"b\"}\n");
	assert_sent(&p, "{\"id\":7,\"method\":\"a\"}\n");
	assert_next(&p, MOR_PLAYER_INPUT);
	play_say(&p, "{\"result\":1,");
	assert_next(&p, MOR_PLAYER_INPUT); /* half a message */
	play_say(&p, "\"id\":7}\n");
	assert_sent(&p, "{\"method\":\"b\"}\n");
	assert_next(&p, MOR_PLAYER_DONE);
	assert_next(&p, MOR_PLAYER_DONE);
	assert_int_equal(p.player.sent, 2);
	assert_int_equal(p.player.compared, 1);
	assert_int_equal(p.player.difference.line, 0);
	play_end(&p);
}

static void test_a_name_in_what_is_sent_becomes_a_number(void **state)
{
	struct play p = { 0 };

	(void)state;
	play_begin(&p, "talk 1 plain\n"
		       "> {\"id\":$a,\"method\":\"x\"}\n"
		       "> {\"id\":$b,\"method\":\"x\"}\n"
		       "< {\"id\":$b,\"result\":$r}\n"
		       "< {\"id\":$a,\"result\":$r}\n");
	assert_sent(&p, "{\"id\":1,\"method\":\"x\"}\n");
	assert_sent(&p, "{\"id\":2,\"method\":\"x\"}\n");
	play_say(&p, "{\"id\":2,\"result\":[5]}\n{\"id\":1,\"result\":[6]}\n");
	assert_next(&p, MOR_PLAYER_DIFFERS); /* $r was bound to [5] */
	assert_differs(&p, 5, "/result: expected [5], got [6]");
	play_end(&p);
}

static void test_every_value_that_differs_is_told(void **state)
{
	struct play p = { 0 };

	(void)state;
	play_begin(&p, "talk 1 plain\n< {\"method\":\"a\",\"params\":{\"x\":1,\"y\":2,\"z\":3}}\n");
	play_say(&p, "{\"method\":\"a\",\"params\":{\"x\":9,\"y\":2,\"w\":\"\\u001b[2J\"}}\n");
	assert_next(&p, MOR_PLAYER_DIFFERS);
	assert_differs(&p, 2, "/params/x: expected 1, got 9");
	assert_text(&p.player.difference.values, "/params/x: 1 -> 9\n"
						 "/params/z: 3 -> nothing\n"
						 "/params/w: nothing -> \"\\u001B[2J\"\n");
	assert_text(&p.player.difference.json,
		    "{\"pointer\":\"/params/x\",\"expected\":\"1\",\"came\":\"9\"},"
		    "{\"pointer\":\"/params/z\",\"expected\":\"3\",\"came\":\"\"},"
		    "{\"pointer\":\"/params/w\",\"expected\":\"\",\"came\":\"\\\"\\\\u001B[2J\\\"\"}");
	play_end(&p);
}

static void test_what_is_ignored_may_differ(void **state)
{
	static const char *const ignored[] = { "/params/x", "/params/*/time", NULL };
	struct play p = { .opt.ignored = ignored };

	(void)state;
	play_begin(&p, "talk 1 plain\n"
		       "< {\"method\":\"a\",\"params\":{\"x\":1,\"b\":{\"time\":1,\"n\":1}}}\n");
	play_say(&p, "{\"method\":\"a\",\"params\":{\"x\":2,\"b\":{\"time\":3,\"n\":1}}}\n");
	assert_next(&p, MOR_PLAYER_DONE);
	play_end(&p);
}

static const char two_calls[] = "talk 1 plain\n"
				"> {\"id\":1,\"method\":\"a\"}\n"
				"> {\"id\":2,\"method\":\"b\"}\n"
				"< {\"id\":1,\"result\":1}\n"
				"< {\"method\":\"log\",\"params\":1}\n"
				"< {\"id\":2,\"result\":2}\n"
				"< {\"method\":\"log\",\"params\":2}\n";

static void test_replies_come_in_any_order(void **state)
{
	struct play p = { 0 };

	(void)state;
	play_begin(&p, two_calls);
	assert_next(&p, MOR_PLAYER_SEND);
	assert_next(&p, MOR_PLAYER_SEND);
	play_say(&p, "{\"id\":2,\"result\":2}\n{\"method\":\"log\",\"params\":1}\n");
	play_say(&p, "{\"method\":\"log\",\"params\":2}\n{\"id\":1,\"result\":1}\n");
	assert_next(&p, MOR_PLAYER_DONE);
	assert_int_equal(p.player.compared, 4);
	play_end(&p);
}

static void test_those_of_one_method_come_in_their_order(void **state)
{
	struct play p = { 0 };

	(void)state;
	play_begin(&p, two_calls);
	assert_next(&p, MOR_PLAYER_SEND);
	assert_next(&p, MOR_PLAYER_SEND);
	play_say(&p,
		 "{\"method\":\"log\",\"params\":2}\n{\"method\":\"log\",\"params\":1}\n{\"id\":1,\"result\":1}\n");
	assert_next(&p, MOR_PLAYER_DIFFERS);
	assert_differs(&p, 5, "/params: expected 1, got 2");
	play_end(&p);
}

static void test_ordered(void **state)
{
	struct play p = { .opt.ordered = true };

	(void)state;
	play_begin(&p, two_calls);
	assert_next(&p, MOR_PLAYER_SEND);
	assert_next(&p, MOR_PLAYER_SEND);
	play_say(&p, "{\"id\":2,\"result\":2}\n");
	assert_next(&p, MOR_PLAYER_DIFFERS);
	assert_int_equal(p.player.difference.line, 4);
	play_end(&p);
}

static void test_a_request_of_the_plugin_may_have_any_id(void **state)
{
	struct play p = { 0 };

	(void)state;
	play_begin(&p, "talk 1 plain\n"
		       "< {\"id\":1,\"method\":\"ask\"}\n"
		       "> {\"id\":1,\"result\":true}\n"
		       "< {\"id\":1,\"method\":\"ask\"}\n" /* the same number is another call */
		       "> {\"id\":1,\"result\":false}\n"
		       "> {\"id\":1,\"method\":\"ours\"}\n");
	play_say(&p, "{\"id\":\"q-7\",\"method\":\"ask\"}\n");
	assert_sent(&p, "{\"id\":\"q-7\",\"result\":true}\n");
	play_say(&p, "{\"id\":[],\"method\":\"ask\"}\n");
	assert_sent(&p, "{\"id\":[],\"result\":false}\n");
	assert_sent(&p, "{\"id\":1,\"method\":\"ours\"}\n"); /* an id of our own stays */
	assert_next(&p, MOR_PLAYER_DONE);
	play_end(&p);
}

static void test_what_is_not_in_the_file_is_a_difference(void **state)
{
	struct play p = { 0 };

	(void)state;
	play_begin(&p, "talk 1 plain\n> {\"id\":1,\"method\":\"a\"}\n< {\"id\":1,\"result\":1}\n");
	assert_next(&p, MOR_PLAYER_SEND);
	play_say(&p, "{\"method\":\"surprise\"}\n");
	assert_next(&p, MOR_PLAYER_DIFFERS);
	assert_differs(&p, 3, "the plugin sent something that is not in the file");
	assert_text(&p.player.difference.came, "{\"method\":\"surprise\"}");
	play_end(&p);
	/* behind the last line too */
	play_begin(&p, "talk 1 plain\n> {\"method\":\"a\"}\n");
	assert_next(&p, MOR_PLAYER_SEND);
	play_say(&p, "{\"method\":\"surprise\"}\n");
	assert_next(&p, MOR_PLAYER_DIFFERS);
	assert_differs(&p, 2, "the plugin sent something that is not in the file");
	play_end(&p);
	play_begin(&p, "talk 1 plain\n");
	play_say(&p, "{\"method\":\"surprise\"}\n");
	assert_next(&p, MOR_PLAYER_DIFFERS);
	assert_int_equal(p.player.difference.line, 1);
	play_end(&p);
}

static void test_what_comes_early_waits_for_its_line(void **state)
{
	struct play p = { 0 };

	(void)state;
	play_begin(&p, "talk 1 plain\n"
		       "< {\"method\":\"hello\"}\n"
		       "> {\"method\":\"a\"}\n"
		       "< {\"method\":\"b\"}\n");
	play_say(&p, "{\"method\":\"b\"}\n");
	assert_next(&p, MOR_PLAYER_INPUT);
	play_say(&p, "{\"method\":\"hello\"}\n");
	assert_next(&p, MOR_PLAYER_SEND);
	assert_next(&p, MOR_PLAYER_DONE);
	play_end(&p);
}

static void test_skipped_methods_are_in_neither(void **state)
{
	static const char *const skipped[] = { "progress", NULL };
	struct play p = { .opt.skipped = skipped };

	(void)state;
	play_begin(&p, "talk 1 plain\n< {\"method\":\"progress\"}\n< {\"method\":\"a\"}\n");
	play_say(&p, "{\"method\":\"a\"}\n{\"method\":\"progress\",\"params\":5}\n");
	assert_next(&p, MOR_PLAYER_DONE);
	assert_int_equal(p.player.compared, 1);
	play_end(&p);
}

static void test_dots_accept_anything(void **state)
{
	struct play p = { 0 };

	(void)state;
	play_begin(&p, "talk 1 plain\n< ...\n< {\"method\":\"a\",...}\n");
	play_say(&p, "[1]\n{\"method\":\"a\",\"params\":[]}\n");
	assert_next(&p, MOR_PLAYER_DONE);
	play_end(&p);
}

static void test_nothing_can_be_sent_for_dots(void **state)
{
	struct play p = { 0 };

	(void)state;
	play_begin(&p, "talk 1 plain\n> ...\n");
	assert_next(&p, MOR_PLAYER_STUCK);
	assert_int_equal(p.player.difference.line, 2);
	assert_non_null(strstr(p.player.difference.text, "this message cannot be sent: "));
	play_end(&p);
}

static void test_secrets(void **state)
{
	static const char *const secrets[] = { "token=abc", "to=short", "bare", NULL };
	static const char *const rows[][2] = {
		{ "token", "abc" },     { "token_2", "abc" }, { "to", "short" },
		{ "tokens", "secret" }, { "bare", "secret" }, { "password", "secret" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct play p = { .opt.secrets = secrets };
		char file[200], wanted[200];

		snprintf(file, sizeof(file), "talk 1 plain\n> {\"params\":$secret_%s}\n", rows[i][0]);
		snprintf(wanted, sizeof(wanted), "{\"params\":\"%s\"}\n", rows[i][1]);
		play_begin(&p, file);
		assert_sent(&p, wanted);
		play_end(&p);
	}
}

static void test_a_secret_that_is_compared_accepts_any_value_once(void **state)
{
	struct play p = { 0 };

	(void)state;
	play_begin(&p, "talk 1 plain\n"
		       "< {\"method\":\"a\",\"params\":$secret_t}\n"
		       "< {\"method\":\"b\",\"params\":$secret_t}\n");
	play_say(&p, "{\"method\":\"a\",\"params\":\"x\"}\n{\"method\":\"b\",\"params\":\"y\"}\n");
	assert_next(&p, MOR_PLAYER_DIFFERS);
	assert_differs(&p, 3, "/params: expected \"x\", got \"y\"");
	play_end(&p);
}

static void test_pauses(void **state)
{
	struct play p = { 0 };
	static const char file[] = "talk 1 plain\n~ 1500ms\n> {}\n";

	(void)state;
	play_begin(&p, file);
	assert_sent(&p, "{}\n");
	play_end(&p);
	p.opt.pace = true;
	play_begin(&p, file);
	assert_next(&p, MOR_PLAYER_PAUSE);
	assert_int_equal(p.player.pause_ms, 1500);
	assert_sent(&p, "{}\n");
	play_end(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_lines_of_the_own_side_are_sent_the_others_compared),
		MOR_TEST(test_a_name_in_what_is_sent_becomes_a_number),
		MOR_TEST(test_every_value_that_differs_is_told),
		MOR_TEST(test_what_is_ignored_may_differ),
		MOR_TEST(test_replies_come_in_any_order),
		MOR_TEST(test_those_of_one_method_come_in_their_order),
		MOR_TEST(test_ordered),
		MOR_TEST(test_a_request_of_the_plugin_may_have_any_id),
		MOR_TEST(test_what_is_not_in_the_file_is_a_difference),
		MOR_TEST(test_what_comes_early_waits_for_its_line),
		MOR_TEST(test_skipped_methods_are_in_neither),
		MOR_TEST(test_dots_accept_anything),
		MOR_TEST(test_nothing_can_be_sent_for_dots),
		MOR_TEST(test_secrets),
		MOR_TEST(test_a_secret_that_is_compared_accepts_any_value_once),
		MOR_TEST(test_pauses),
	};

	return mor_run_group("replay/player", tests);
}
