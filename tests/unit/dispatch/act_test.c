/* SPDX-License-Identifier: Apache-2.0 */
/* What a plugin's answer means: calls on stdout, warnings for what cannot be done. */
#include "small.h"

#include "base/error.h"

/* The plugin answers "handle" of an event from user 7, in group 5 if there is one. */
static bool act(struct small *s, const char *event, const char *answer)
{
	struct mor_bot_walk walk = { .run = &s->run, .number = 3 };
	bool blocks;

	assert_int_equal(mor_onebot_read(mor_slice_of(event), &walk.event, NULL), 0);
	blocks = mor_bot_act(s->seats[0], &walk, (mortise_json){ answer, strlen(answer) });
	mor_onebot_event_fini(&walk.event);
	return blocks;
}

static const char in_private[] = "{\"text\":\"hi\",\"user_id\":7}";
static const char in_group[] = "{\"text\":\"hi\",\"user_id\":7,\"group_id\":5}";

static void assert_calls(struct small *s, const char *wanted)
{
	assert_int_equal(mor_buf_byte(&s->run.out.bytes, '\0'), 0);
	assert_string_equal(s->run.out.bytes.data, wanted);
	mor_buf_reset(&s->run.out.bytes, SIZE_MAX);
}

#define TEXT(text) "\"message\":[{\"type\":\"text\",\"data\":{\"text\":" text "}}]"
#define TO_USER(id, message) \
	"{\"action\":\"send_private_msg\",\"params\":{\"user_id\":" id "," message "},\"echo\":\"first/3\"}\n"
#define TO_GROUP(id, message) \
	"{\"action\":\"send_group_msg\",\"params\":{\"group_id\":" id "," message "},\"echo\":\"first/3\"}\n"

static void test_reply_first_then_actions(void **state)
{
	struct small s;

	(void)state;
	small_begin(&s, 1);
	assert_false(act(&s, in_private,
			 "{\"actions\":[{\"type\":\"reply\",\"text\":\"two\"},"
			 "{\"type\":\"image\",\"url\":\"file:///a.png\"},"
			 "{\"type\":\"send\",\"target_type\":\"group\",\"target_id\":\"9007199254740993\","
			 "\"message\":\"[CQ:at,qq=1]\"}],\"reply\":\"one\"}"));
	assert_calls(&s,
		     TO_USER("7", TEXT("\"one\"")) TO_USER("7", TEXT("\"two\""))
			     TO_USER("7",
				     "\"message\":[{\"type\":\"image\",\"data\":{\"file\":\"file:///a.png\"}}]")
				     TO_GROUP("9007199254740993", TEXT("\"[CQ:at,qq=1]\"")));
	small_end(&s);
}

static void test_where_the_event_came_from(void **state)
{
	struct small s;

	(void)state;
	small_begin(&s, 1);
	assert_true(act(&s, in_group, "{\"reply\":\"x\",\"block\":true}"));
	assert_calls(&s, TO_GROUP("5", TEXT("\"x\"")));
	small_end(&s);
}

static void test_nothing_to_say(void **state)
{
	static const char *const rows[] = { "{}",
					    "{\"reply\":\"\"}",
					    "{\"reply\":null}",
					    "{\"reply\":5}",
					    "{\"actions\":[]}",
					    "{\"actions\":{\"type\":\"reply\",\"text\":\"x\"}}",
					    "{\"actions\":[{\"type\":\"reply\",\"text\":\"\"}]}",
					    "{\"block\":\"true\"}",
					    "not json" };
	struct small s;

	(void)state;
	small_begin(&s, 1);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		assert_false(act(&s, in_private, rows[i]));
		assert_int_equal(s.run.out.bytes.len, 0);
	}
	small_end(&s);
}

static void test_what_cannot_be_done_is_said_and_left_out(void **state)
{
	static const struct {
		const char *answer, *told;
	} rows[] = {
		{ "[]", "warning: first: its answer to \"handle\" is not an object: it is ignored\n" },
		{ "{\"actions\":[7]}",
		  "warning: first: action 0 (\"\") is skipped: its type must be reply, image or send\n" },
		{ "{\"actions\":[{\"type\":\"\\u001b[2J\"}]}",
		  "warning: first: action 0 (\"\\x1b[2J\") is skipped: its type must be reply, image or "
		  "send\n" },
		{ "{\"actions\":[{\"type\":\"reply\"}]}",
		  "warning: first: action 0 (\"reply\") is skipped: text must be a string\n" },
		{ "{\"actions\":[{\"type\":\"image\",\"url\":\"\"}]}",
		  "warning: first: action 0 (\"image\") is skipped: url must be a string\n" },
		{ "{\"actions\":[{\"type\":\"send\",\"target_type\":\"all\",\"target_id\":1,\"message\":\"x\"}]}",
		  "warning: first: action 0 (\"send\") is skipped: target_type must be private or group\n" },
		{ "{\"actions\":[{\"type\":\"send\",\"target_type\":\"group\",\"target_id\":1.5,\"message\":\"x\"}]}",
		  "warning: first: action 0 (\"send\") is skipped: target_id must be a whole number of 64 "
		  "bits\n" },
		{ "{\"actions\":[{\"type\":\"send\",\"target_type\":\"group\",\"target_id\":\"1,2\","
		  "\"message\":\"x\"}]}",
		  "warning: first: action 0 (\"send\") is skipped: target_id must be a whole number of 64 "
		  "bits\n" },
		{ "{\"actions\":[{\"type\":\"send\",\"target_type\":\"group\",\"target_id\":1}]}",
		  "warning: first: action 0 (\"send\") is skipped: message must be a string\n" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct small s;

		small_begin(&s, 1);
		assert_false(act(&s, in_private, rows[i].answer));
		assert_told(&s, rows[i].told);
		assert_int_equal(s.run.out.bytes.len, 0);
		small_end(&s);
	}
}

static void test_the_others_are_done(void **state)
{
	struct small s;

	(void)state;
	small_begin(&s, 1);
	assert_false(act(&s, in_private,
			 "{\"actions\":[{\"type\":\"dance\"},{\"type\":\"reply\",\"text\":\"x\"}]}"));
	assert_calls(&s, TO_USER("7", TEXT("\"x\"")));
	assert_told(&s,
		    "warning: first: action 0 (\"dance\") is skipped: its type must be reply, image or send\n");
	small_end(&s);
}

static void test_no_memory_loses_one_call(void **state)
{
	static const char call[] = TO_USER("7", TEXT("\"x\""));
	struct mor_bot_walk walk = { .number = 3 };
	struct small s;

	(void)state;
	small_begin(&s, 1);
	walk.run = &s.run;
	assert_int_equal(mor_onebot_read(MOR_SLICE(in_private), &walk.event, NULL), 0);
	for (long n = 0; s.run.out.bytes.len == 0; n++) {
		mor_alloc_fail_after(n);
		mor_bot_act(s.seats[0], &walk, (mortise_json){ "{\"reply\":\"x\"}", 13 });
		mor_alloc_fail_after(-1);
		assert_int_equal(s.run.out.bytes.status, 0); /* the lines after it are not lost */
	}
	assert_calls(&s, call);
	mor_onebot_event_fini(&walk.event);
	said_end(&s.said); /* without memory nobody is told either */
	said_begin(&s.said);
	small_end(&s);
}

/* ---- what people see ---- */

static void test_a_repeated_warning_is_counted(void **state)
{
	struct small s;

	(void)state;
	small_begin(&s, 1);
	mor_bot_warn(s.seats[0], "hot");
	mor_bot_warn(s.seats[0], "hot");
	mor_bot_warn(s.seats[0], "hot");
	assert_told(&s, "warning: first: hot\n");
	mor_bot_warn(s.seats[0], "cold");
	assert_told(&s, "warning: first: repeated 2 times: hot\nwarning: first: cold\n");
	mor_bot_warn_end(s.seats[0]);
	assert_told(&s, "");
	mor_bot_warn(s.seats[0], "cold");
	mor_bot_warn_end(s.seats[0]);
	mor_bot_warn_end(s.seats[0]);
	assert_told(&s, "warning: first: repeated 1 times: cold\n");
	small_end(&s);
}

static void test_lines(void **state)
{
	struct small s;

	(void)state;
	small_begin(&s, 1);
	mor_bot_tell(&s.run, NULL, "ready", 0, "%d of %d plugins", 1, 2);
	mor_bot_tell(&s.run, s.seats[0], "dead", 0, "first: exit 1");
	mor_bot_tell(&s.run, s.seats[0], "dead", 4, "firstly: \x1b[2J");
	s.said.console.json = true;
	mor_bot_tell(&s.run, s.seats[0], "dead", 4, "first: \x1b[2J");
	assert_told(&s, "ready: 1 of 2 plugins\n"
			"dead: first: exit 1\n" /* the host's text has the name too: once is enough */
			"dead: line 4: first: firstly: \\x1b[2J\n"
			"{\"event\":\"dead\",\"plugin\":\"first\",\"name\":\"first\",\"line\":4,"
			"\"text\":\"first: \\u001b[2J\"}\n");
	small_end(&s);
}

/* metadata.name is the plugin's: it does not steer the terminal. */
static void test_a_hostile_name(void **state)
{
	struct mor_bot_body body = { 0 };
	struct small s;

	(void)state;
	small_begin(&s, 1);
	mor_free(s.seats[0]->label);
	s.seats[0]->label = mor_strdup("\x1b]0;x\x07 (first)");
	body.seat = s.seats[0];
	mor_bot_tell(&s.run, s.seats[0], "dead", 0, "exit 1");
	mor_bot_event(&(mortise_event){ .type = MORTISE_EVENT_STDERR, .text = "a\x1b[2J" }, &body);
	assert_told(&s, "dead: \\x1b]0;x\\x07 (first): exit 1\n\\x1b]0;x\\x07 (first)| a\\x1b[2J\n");
	small_end(&s);
}

/* The host's texts name its own settings; a person who runs a bot must change the bot's file. */
static void test_remedies_are_those_of_a_bot(void **state)
{
	static const char *const rows[][2] = {
		{ "no reply (timeouts.handle sets the limit)",
		  "no reply (timeout = { handle = \"DURATION\" } in the bot's file sets the limit)" },
		{ "no reply (timeout_ms of the call sets the limit)", "no reply (--timeout sets the limit)" },
		{ "slow (2 s; timeouts.handle changes it)",
		  "slow (2 s; timeout = { handle = \"DURATION\" } in the bot's file changes it)" },
		{ "no greeting (--dialect, --framing)", "no greeting" },
		{ "too often (restart.intensity, restart.period)",
		  "too often (max_restarts in the bot's file)" },
		{ "nothing to change", "nothing to change" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct small s;
		char wanted[200];

		small_begin(&s, 1);
		mor_bot_tell(&s.run, NULL, "dead", 0, "%s", rows[i][0]);
		snprintf(wanted, sizeof(wanted), "dead: %s\n", rows[i][1]);
		assert_told(&s, wanted);
		small_end(&s);
	}
}

static void test_events_of_the_host(void **state)
{
	struct mor_bot_body body = { 0 };
	struct small s;

	(void)state;
	small_begin(&s, 1);
	body.seat = s.seats[0];
	mor_bot_event(&(mortise_event){ .type = MORTISE_EVENT_STATE,
					.text = "greeted",
					.state = { .now = MORTISE_READY } },
		      &body);
	assert_true(body.fresh);
	assert_string_equal(body.why, "greeted");
	mor_bot_event(&(mortise_event){ .type = MORTISE_EVENT_NOISE, .text = "Loading" }, &body);
	mor_bot_event(&(mortise_event){ .type = MORTISE_EVENT_DROPPED, .text = "late" }, &body);
	assert_told(&s, "noise: first: not a message on its stdout: Loading\n");
	s.said.console.verbose = true;
	mor_bot_event(&(mortise_event){ .type = MORTISE_EVENT_DROPPED, .text = "late" }, &body);
	mor_bot_event(&(mortise_event){ .type = MORTISE_EVENT_HEALTH, .text = "well" }, &body);
	mor_bot_event(&(mortise_event){ .type = MORTISE_EVENT_STATE,
					.state = { MORTISE_STOPPED, MORTISE_READY, 0 } },
		      &body);
	assert_told(&s, "dropped: first: late\nstate: first: ready -> stopped ()\n");
	small_end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_reply_first_then_actions),
		MOR_TEST(test_where_the_event_came_from),
		MOR_TEST(test_nothing_to_say),
		MOR_TEST(test_what_cannot_be_done_is_said_and_left_out),
		MOR_TEST(test_the_others_are_done),
		MOR_TEST(test_no_memory_loses_one_call),
		MOR_TEST(test_a_repeated_warning_is_counted),
		MOR_TEST(test_lines),
		MOR_TEST(test_a_hostile_name),
		MOR_TEST(test_remedies_are_those_of_a_bot),
		MOR_TEST(test_events_of_the_host),
	};

	return mor_run_group("bot/act", tests);
}
