/* SPDX-License-Identifier: Apache-2.0 */
/* The report of a replay: for people, as JSON, as TAP; and what a file brings with it. */
#include "leak.h"

#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "replay/replay.h"
#include "said.h"
#include "top.h"

struct told {
	struct said said;
	struct mor_replay replay;
	struct mor_player player;
};

static void begin(struct told *t)
{
	said_begin(&t->said);
	t->replay.console = &t->said.console;
	t->replay.file = "a.talk";
}

static void differ(struct told *t)
{
	struct mor_player_difference *d = &t->player.difference;

	d->line = 7;
	snprintf(d->text, sizeof(d->text), "/x: expected 1, got 2");
	mor_buf_text(&d->expected, "{\"x\":1}");
	mor_buf_text(&d->came, "{\"x\":2,\"y\":\"\x1b[2J\"}\r\n");
	mor_buf_text(&d->values, "/x: 1 -> 2\n/y: nothing -> \"\x1b[2J\"\n");
	mor_buf_text(&d->json, "{\"pointer\":\"/x\"}");
}

static void end(struct told *t, const char *out, const char *err)
{
	struct mor_player_difference *d = &t->player.difference;

	said_end(&t->said);
	assert_string_equal(t->said.out, out);
	assert_string_equal(t->said.err, err);
	mor_buf_fini(&d->expected);
	mor_buf_fini(&d->came);
	mor_buf_fini(&d->values);
	mor_buf_fini(&d->json);
	said_forget(&t->said);
}

static void test_equal(void **state)
{
	struct told t = { .player = { .sent = 3, .compared = 2 } };

	(void)state;
	begin(&t);
	assert_int_equal(mor_replay_tell(&t.replay, &t.player), 0);
	end(&t, "a.talk: equal: 3 messages sent, 2 compared\n", "");
	begin(&t);
	t.said.console.json = true;
	assert_int_equal(mor_replay_tell(&t.replay, &t.player), 0);
	end(&t, "{\"ok\":true,\"file\":\"a.talk\",\"sent\":3,\"compared\":2}\n", "");
}

/* What a plugin sent does not steer the terminal. */
static void test_a_difference_for_people(void **state)
{
	struct told t = { 0 };

	(void)state;
	begin(&t);
	differ(&t);
	assert_int_equal(mor_replay_tell(&t.replay, &t.player), 1);
	end(&t,
	    "a.talk:7: /x: expected 1, got 2\n"
	    "  expected {\"x\":1}\n"
	    "  came     {\"x\":2,\"y\":\"\\x1b[2J\"}\n"
	    "  /x: 1 -> 2\n"
	    "  /y: nothing -> \"\\x1b[2J\"\n",
	    "");
}

static void test_a_difference_as_json(void **state)
{
	struct told t = { .said.console.json = true };

	(void)state;
	begin(&t);
	differ(&t);
	assert_int_equal(mor_replay_tell(&t.replay, &t.player), 1);
	end(&t,
	    "{\"ok\":false,\"file\":\"a.talk\",\"sent\":0,\"compared\":0,\"line\":7,\"text\":\"/x: expected 1, "
	    "got "
	    "2\",\"expected\":\"{\\\"x\\\":1}\",\"came\":\"{\\\"x\\\":2,\\\"y\\\":\\\"\\u001B[2J\\\"}\\r\\n\",\"differences\":[{\"pointer\":\"/x\"}]}\n",
	    "");
}

static void test_tap_has_a_point_for_each_line(void **state)
{
	struct told t = { .replay.tap = true };
	struct mor_talk_step step = { .kind = MOR_TALK_RECEIVE, .line = 3, .text = MOR_SLICE("{\"x\":1}") };

	(void)state;
	begin(&t);
	mor_replay_compared(&t.replay, &step, true);
	step.line = 7;
	mor_replay_compared(&t.replay, &step, false);
	differ(&t);
	assert_int_equal(mor_replay_tell(&t.replay, &t.player), 1);
	end(&t,
	    "TAP version 14\n"
	    "ok 1 - a.talk:3 < {\"x\":1}\n"
	    "not ok 2 - a.talk:7 < {\"x\":1}\n"
	    "  # expected {\"x\":1}\n"
	    "  # came     {\"x\":2,\"y\":\"\\x1b[2J\"}\n"
	    "  # /x: 1 -> 2\n"
	    "  # /y: nothing -> \"\\x1b[2J\"\n"
	    "1..2\n",
	    "");
}

/* A difference that is not about a line that was compared has a point of its own. */
static void test_tap_of_a_silence(void **state)
{
	struct told t = { .replay.tap = true, .player.difference = { .line = 2, .text = "nothing came" } };

	(void)state;
	begin(&t);
	assert_int_equal(mor_replay_tell(&t.replay, &t.player), 1);
	end(&t, "TAP version 14\nnot ok 1 - a.talk:2 nothing came\n1..1\n", "");
	t = (struct told){ .replay.tap = true };
	begin(&t);
	assert_int_equal(mor_replay_tell(&t.replay, &t.player), 0);
	end(&t, "TAP version 14\n1..0\n", "");
}

static void test_without_tap_a_compared_line_says_nothing(void **state)
{
	struct told t = { 0 };
	struct mor_talk_step step = { .kind = MOR_TALK_RECEIVE, .line = 3, .text = MOR_SLICE("{}") };

	(void)state;
	begin(&t);
	mor_replay_compared(&t.replay, &step, true);
	end(&t, "", "");
}

/* A played plugin has no stdout of its own. */
static void test_a_note_goes_to_stderr(void **state)
{
	struct told t = { 0 };

	(void)state;
	begin(&t);
	mor_replay_note(&t.replay, &t.player);
	end(&t, "", "");
	begin(&t);
	differ(&t);
	mor_replay_note(&t.replay, &t.player);
	end(&t, "",
	    "a.talk:7: the host differs: /x: expected 1, got 2\n"
	    "  expected {\"x\":1}\n"
	    "  came     {\"x\":2,\"y\":\"\\x1b[2J\"}\n"
	    "  /x: 1 -> 2\n"
	    "  /y: nothing -> \"\\x1b[2J\"\n");
}

/* ---- files ---- */

static void put(const char *name, const char *text)
{
	FILE *file = fopen(at(name), "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void load(const char *text, struct mor_replay *ret)
{
	mortise_error err = { 0 };

	*ret = (struct mor_replay){ 0 };
	put("a.talk", text);
	if (mor_replay_load(ret, at("a.talk"), &err) < 0)
		fail_msg("%s", err.text);
}

static void refuse(const char *text, int status, const char *wanted)
{
	struct mor_replay replay = { 0 };
	mortise_error err = { 0 };

	put("a.talk", text);
	assert_int_equal(mor_replay_load(&replay, at("a.talk"), &err), status);
	assert_non_null(strstr(err.text, wanted));
	mor_replay_fini(&replay);
}

static void test_the_dialect_says_the_framing(void **state)
{
	static const struct {
		const char *head;
		enum mor_framing framing;
		const char *ref;
	} rows[] = {
		{ "talk 1 plain\n", MOR_FRAMING_LINES, NULL },
		{ "talk 1 plain framing=headers\n", MOR_FRAMING_HEADERS, NULL },
		{ "talk 1 gassist\n", MOR_FRAMING_BE32, "request_id" },
		{ "talk 1 a-later-one framing=lines\n", MOR_FRAMING_LINES, NULL },
	};
	struct mor_replay replay;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		load(rows[i].head, &replay);
		assert_int_equal(replay.play.framing, rows[i].framing);
		if (rows[i].ref)
			assert_string_equal(replay.play.ref, rows[i].ref);
		else
			assert_null(replay.play.ref);
		mor_replay_fini(&replay);
	}
}

static void test_errors_name_the_file(void **state)
{
	struct mor_replay replay = { 0 };
	mortise_error err = { 0 };
	char wanted[300];

	(void)state;
	refuse("talk 1 plain\nwhat\n", MORTISE_EMANIFEST, "/a.talk: line 2: ");
	refuse("talk 1 plian\n", MORTISE_ENOTFOUND, "/a.talk: no dialect \"plian\"; did you mean plain?");
	assert_true(mor_replay_load(&replay, at("none.talk"), &err) < 0);
	snprintf(wanted, sizeof(wanted), "%s", at("none.talk"));
	assert_non_null(strstr(err.text, wanted));
	mor_replay_fini(&replay);
}

/* `* greeted` stands for the lines of greeting.inc beside the file. */
static void test_the_greeting_lies_beside_the_file(void **state)
{
	struct mor_replay replay;

	(void)state;
	put("greeting.inc", "talk 1 plain\n> {\"method\":\"hello\"}\n");
	load("talk 1 plain\n* greets\n> {\"method\":\"a\"}\n", &replay);
	assert_int_equal(replay.talk.count, 2);
	assert_true(mor_slice_is(replay.talk.steps[0].text, "{\"method\":\"hello\"}"));
	assert_int_equal(replay.talk.steps[0].line, 2);
	mor_replay_fini(&replay);
	put("greeting.inc", "talk 1 yams\n");
	refuse("talk 1 plain\n* greets\n", MORTISE_EMANIFEST, "yams");
	remove(at("greeting.inc"));
	{
		mortise_error err = { 0 };

		replay = (struct mor_replay){ 0 };
		assert_true(mor_replay_load(&replay, at("a.talk"), &err) < 0);
		assert_non_null(strstr(err.text, "greeting.inc"));
		mor_replay_fini(&replay);
	}
}

static int make_top(void **state)
{
	(void)state;
	return top_make("replay");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_equal),
		MOR_TEST(test_a_difference_for_people),
		MOR_TEST(test_a_difference_as_json),
		MOR_TEST(test_tap_has_a_point_for_each_line),
		MOR_TEST(test_tap_of_a_silence),
		MOR_TEST(test_without_tap_a_compared_line_says_nothing),
		MOR_TEST(test_a_note_goes_to_stderr),
		MOR_TEST(test_the_dialect_says_the_framing),
		MOR_TEST(test_errors_name_the_file),
		MOR_TEST(test_the_greeting_lies_beside_the_file),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("replay/tell", tests, make_top, top_drop);
}
