/* SPDX-License-Identifier: Apache-2.0 */
/* What a plugin may do to its stdout and stderr, and what the host makes of it. */
#include "api.h"

static void stderr_flood_before_the_first_reply(void **state)
{
	struct rig rig;

	(void)state;
	rig_open_bad(&rig, "stderr_flood", NO_SET);
	assert_echoes(&rig);
	rig_until(&rig, &rig.events[MORTISE_EVENT_STDERR], 4096, "all 4096 lines of stderr");
	assert_int_equal(strlen(rig.last[MORTISE_EVENT_STDERR]), 63);
	assert_echoes(&rig);
	rig_close(&rig);
}

static void big_result_arrives_whole(void **state)
{
	const size_t want = 64u << 20;
	struct rig rig;
	char *result;
	size_t wrong = 0;

	(void)state;
	rig_open_bad(&rig, "big_result", NO_SET);
	result = ask(&rig, "go", NULL);
	assert_int_equal(strlen(result), want + 2);
	for (size_t i = 1; i <= want; i++)
		wrong += result[i] != 'x';
	assert_int_equal(wrong, 0);
	mortise_free(result);
	assert_echoes(&rig);
	rig_close(&rig);
}

static void one_byte_per_write(void **state)
{
	struct rig rig;

	(void)state;
	rig_open_bad(&rig, "byte_at_a_time", NO_SET);
	for (int i = 0; i < 10; i++)
		ask_expect(&rig, "go", NULL, "{\"slow\":[1,2,3]}");
	rig_close(&rig);
}

/* The time limit is absolute: bytes do not extend it. */
static void drip_runs_into_the_limit(void **state)
{
	struct rig rig;
	struct got got;

	(void)state;
	rig_open_bad(&rig, "drip", NO_SET);
	assert_echoes(&rig);
	start(&rig, &got, "go", NULL, 100);
	until_done(&got);
	assert_int_equal(got.status, MORTISE_ETIMEOUT);
	rig_close(&rig);
}

static void stray_print_is_noise(void **state)
{
	struct rig rig;

	(void)state;
	rig_open_bad(&rig, "stray_print", NO_SET);
	ask_expect(&rig, "go", NULL, "\"noisy\"");
	rig_until(&rig, &rig.events[MORTISE_EVENT_NOISE], 2, "both stray lines");
	assert_contains(rig.last[MORTISE_EVENT_NOISE], "debug: answered");
	assert_true(rig.noise_bytes >= strlen("debug: got \"go\", id 1") + strlen("debug: answered"));
	assert_echoes(&rig);
	rig_close(&rig);
}

static void banner_is_noise(void **state)
{
	struct rig rig;

	(void)state;
	rig_open_bad(&rig, "not_json_banner", NO_SET);
	assert_echoes(&rig);
	assert_true(rig.events[MORTISE_EVENT_NOISE] >= 1);
	rig_close(&rig);
}

static void json_that_is_no_message(void **state)
{
	struct rig rig;

	(void)state;
	rig_open_bad(&rig, "not_an_object", NO_SET);
	ask_expect(&rig, "go", NULL, "true");
	assert_true(rig.events[MORTISE_EVENT_NOISE] + rig.events[MORTISE_EVENT_WARNING] >= 1);
	assert_echoes(&rig);
	rig_close(&rig);
}

static void crlf_and_blank_lines(void **state)
{
	struct rig rig;

	(void)state;
	rig_open_bad(&rig, "crlf", NO_SET);
	ask_expect(&rig, "go", NULL, "\"crlf\"");
	assert_int_equal(rig.events[MORTISE_EVENT_NOISE], 0);
	assert_echoes(&rig);
	rig_close(&rig);
}

static void reply_in_a_batch(void **state)
{
	struct rig rig;

	(void)state;
	rig_open_bad(&rig, "batch_reply", NO_SET);
	ask_expect(&rig, "go", NULL, "\"in a batch\"");
	rig_close(&rig);
}

static void duplicate_reply(void **state)
{
	struct rig rig;
	struct got got;

	(void)state;
	rig_open_bad(&rig, "duplicate_reply", NO_SET);
	for (int i = 1; i <= 3; i++) {
		start(&rig, &got, "go", NULL, 0);
		until_done(&got);
		assert_string_equal(got.result, "\"first\"");
		got_clear(&got);
		rig_until(&rig, &rig.events[MORTISE_EVENT_DROPPED], i, "the second reply");
		assert_int_equal(got.finals, 1);
	}
	assert_echoes(&rig);
	rig_close(&rig);
}

static void unknown_id(void **state)
{
	struct rig rig;

	(void)state;
	rig_open_bad(&rig, "unknown_id", NO_SET);
	ask_expect(&rig, "go", NULL, "\"right\"");
	assert_int_equal(rig.events[MORTISE_EVENT_DROPPED], 1);
	assert_contains(rig.last[MORTISE_EVENT_DROPPED], "987654321");
	rig_close(&rig);
}

static void string_id_is_another_id(void **state)
{
	struct rig rig;

	(void)state;
	rig_open_bad(&rig, "string_id", NO_SET);
	ask_expect(&rig, "go", NULL, "\"right\"");
	assert_int_equal(rig.events[MORTISE_EVENT_DROPPED], 1);
	rig_close(&rig);
}

/* With two calls under way nobody can say whose error it is: neither may fail by it. */
static void null_id_error_among_several(void **state)
{
	struct rig rig;
	struct got a, b;

	(void)state;
	rig_open_bad(&rig, "null_id_error", NO_SET);
	assert_echoes(&rig);
	start(&rig, &a, "go", NULL, NO_TIMER_MS);
	start(&rig, &b, "hang", NULL, NO_TIMER_MS);
	assert_echoes(&rig);
	assert_int_equal(a.finals, 0);
	assert_int_equal(b.finals, 0);
	assert_true(rig.events[MORTISE_EVENT_WARNING] + rig.events[MORTISE_EVENT_DROPPED] >= 1);
	rig_close(&rig);
}

/* Alone, the call fails with that error or (no such flag in the dialect) by its own time limit. */
static void null_id_error_alone(void **state)
{
	struct rig rig;
	struct got got;

	(void)state;
	rig_open_bad(&rig, "null_id_error", NO_SET);
	assert_echoes(&rig);
	start(&rig, &got, "go", NULL, 500);
	until_done(&got);
	if (got.status == MORTISE_EREMOTE)
		assert_int_equal(got.error.rpc_code, -32700);
	else
		assert_int_equal(got.status, MORTISE_ETIMEOUT);
	got_clear(&got);
	rig_close(&rig);
}

static void late_reply_never_reaches_the_next_call(void **state)
{
	struct rig rig;
	struct got late;

	(void)state;
	rig_open_bad(&rig, "late_reply", NO_SET);
	assert_echoes(&rig);
	start(&rig, &late, "go", NULL, 400);
	until_done(&late);
	assert_int_equal(late.status, MORTISE_ETIMEOUT);
	assert_echoes(&rig);
	assert_int_equal(rig.events[MORTISE_EVENT_DROPPED], 1);
	assert_int_equal(late.finals, 1);
	rig_close(&rig);
}

static void reply_before_the_request(void **state)
{
	struct rig rig;

	(void)state;
	rig_open_bad(&rig, "reply_before_request", NO_SET);
	assert_int_equal(mortise_plugin_start(rig.plugin, NULL), 0);
	rig_until(&rig, &rig.events[MORTISE_EVENT_DROPPED], 4, "four replies nobody waits for");
	assert_echoes(&rig);
	rig_close(&rig);
}

/* A reply to this very id that breaks the protocol fails the call at once, and only that call. */
static void breach(const char *mode)
{
	struct rig rig;
	struct got got;

	rig_open_bad(&rig, mode, SET("restart.first=1ms"));
	assert_echoes(&rig);
	start(&rig, &got, "go", NULL, NO_TIMER_MS);
	until_done(&got);
	if (got.status != MORTISE_EPROTO)
		fail_msg("%s: %d %s", mode, got.status, got.error.text);
	assert_contains(got.error.text, mode);
	assert_echoes(&rig);
	assert_int_equal(got.finals, 1);
	rig_close(&rig);
}

static void neither_result_nor_error(void **state)
{
	(void)state;
	breach("neither_result_nor_error");
}

static void both_result_and_error(void **state)
{
	(void)state;
	breach("both_result_and_error");
}

static void bad_utf8(void **state)
{
	(void)state;
	breach("bad_utf8");
}

static void deep_nesting(void **state)
{
	(void)state;
	breach("deep_nesting");
}

/* docs/reference/wire.md, rule 2: an oversize frame is an error that names the limit, never a silent skip */
static void line_over_the_limit(void **state)
{
	struct rig rig;
	struct got got;

	(void)state;
	rig_open_bad(&rig, "huge_line", SET("limits.frame=1MiB", "restart.first=1ms"));
	assert_echoes(&rig);
	start(&rig, &got, "go", "{\"bytes\":3000000}", NO_TIMER_MS);
	until_done(&got);
	assert_int_equal(got.status, MORTISE_ELIMIT);
	if (!strstr(got.error.text, "1048576") && !strstr(got.error.text, "1 MiB") &&
	    !strstr(got.error.text, "1MiB"))
		fail_msg("the limit is not named in \"%s\"", got.error.text);
	assert_echoes(&rig);
	start(&rig, &got, "go", "{\"bytes\":1000000}", NO_TIMER_MS);
	until_done(&got);
	assert_int_equal(got.status, MORTISE_OK);
	got_clear(&got);
	rig_close(&rig);
}

static void half_a_line_then_the_end(void **state)
{
	struct rig rig;
	struct got got;

	(void)state;
	rig_open_bad(&rig, "partial_line_then_exit", SET("restart.first=1ms"));
	assert_echoes(&rig);
	start(&rig, &got, "go", NULL, NO_TIMER_MS);
	until_done(&got);
	if (got.status != MORTISE_ECRASHED && got.status != MORTISE_EPROTO)
		fail_msg("%d %s", got.status, got.error.text);
	assert_echoes(&rig); /* a new process */
	assert_int_equal(got.finals, 1);
	rig_close(&rig);
}

/* The flood of one plugin neither starves another plugin's calls nor its own time limits. */
static void flood_of_notifications(void **state)
{
	struct rig rig;
	struct got flooded;
	const char *argv[3];
	mortise_plugin_options opt = rig_options(&rig, "ok", argv);
	mortise_plugin *flooder;

	(void)state;
	rig_open_bad(&rig, "flood", NO_SET);
	start(&rig, &flooded, "go", NULL, 300);
	rig_until(&rig, &rig.events[MORTISE_EVENT_NOTE], 1000, "the flood");
	assert_string_equal(rig.note_method, "tick");
	assert_string_equal(rig.note_params, "{\"n\":1}");
	flooder = rig.plugin;
	rig.plugin = rig_plugin(&rig, &opt);
	for (int i = 0; i < 100; i++)
		assert_echoes(&rig);
	until_done(&flooded);
	assert_int_equal(flooded.status, MORTISE_ETIMEOUT);
	mortise_plugin_unref(flooder);
	rig_close(&rig);
}

/* Another plugin that has something to say waits for no more than a bite of the flood: 16 messages that
 * nobody asked for. */
static void flood_by_bites(void **state)
{
	struct rig rig;
	struct got got;
	int most = 0;

	(void)state;
	rig_open_bad(&rig, "flood", NO_SET);
	start(&rig, &got, "go", NULL, NO_TIMER_MS);
	while (rig.events[MORTISE_EVENT_NOTE] < 20000) {
		int before = rig.events[MORTISE_EVENT_NOTE], some;

		rig_turn(&rig);
		some = rig.events[MORTISE_EVENT_NOTE] - before;
		most = some > most ? some : most;
	}
	assert_in_range(most, 1, 2 * 16); /* and perhaps one more after a write */
	rig_close(&rig);
	got_clear(&got);
}

/* What it leaves behind is read in slices, all of it, before its end is told: the answer behind 2,000
 * notes as well. */
struct last_words {
	struct rig rig;
	int notes_at_end, lines_at_end;
	struct got late; /* called while its last words are read */
};

static void on_last_words(const mortise_event *event, void *arg)
{
	struct last_words *last = arg;

	if (event->type == MORTISE_EVENT_STATE && event->state.before == MORTISE_READY) {
		last->notes_at_end = last->rig.events[MORTISE_EVENT_NOTE];
		last->lines_at_end = last->rig.events[MORTISE_EVENT_STDERR];
	}
	rig_event(event, &last->rig);
	if (event->type != MORTISE_EVENT_NOTE)
		return;
	if (last->rig.events[MORTISE_EVENT_NOTE] == 100)
		start(&last->rig, &last->late, "late", NULL, NO_TIMER_MS);
	/* So that reading them takes more than one dispatch. */
	for (int64_t begin = now_ns(); now_ns() < begin + 10000;)
		;
}

static void hear_last_words(struct last_words *last, const char *script, bool paused)
{
	const char *argv[] = { "/bin/sh", "-c", script, NULL }, *unused[3];
	mortise_plugin_options opt;
	struct got got;

	memset(last, 0, sizeof(*last));
	rig_open(&last->rig);
	opt = rig_options(&last->rig, "sh", unused);
	opt.argv = argv;
	opt.on_event = on_last_words;
	opt.arg = last;
	opt.flags = MORTISE_NO_RESTART;
	last->rig.plugin = rig_plugin(&last->rig, &opt);
	assert_int_equal(mortise_plugin_pause(last->rig.plugin, paused, NULL), 0);
	start(&last->rig, &got, "go", NULL, NO_TIMER_MS);
	until_done(&got);
	rig_until_state(&last->rig, MORTISE_STOPPED);
	assert_string_equal(got.result, "7");
	assert_int_equal(last->late.finals, 1);
	assert_int_equal(last->late.status, MORTISE_ECRASHED);
	assert_contains(last->late.error.text, "exited with status 3");
	got_clear(&got);
	got_clear(&last->late);
	rig_close(&last->rig);
}

#define NOTES  "yes '{\"jsonrpc\":\"2.0\",\"method\":\"n\"}' | head -n "
#define ANSWER "echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":7}'; "

static void many_last_words(void **state)
{
	struct last_words last;

	(void)state;
	hear_last_words(&last, "read line; " NOTES "2000; " ANSWER "yes x | head -n 32000 >&2; exit 3", false);
	assert_int_equal(last.notes_at_end, 2000);
	assert_int_equal(last.lines_at_end, 32000);
	/* Nobody reads it while it lives. */
	hear_last_words(&last, "read line; " NOTES "1500; " ANSWER "exit 3", true);
	assert_int_equal(last.notes_at_end, 1500);
}

/* "stop reading stdout, so that the pipe fills and the plugin waits" */
static void pause_stops_the_flood(void **state)
{
	struct rig rig;
	struct got got;
	int count;

	(void)state;
	rig_open_bad(&rig, "flood", NO_SET);
	start(&rig, &got, "go", NULL, NO_TIMER_MS);
	rig_until(&rig, &rig.events[MORTISE_EVENT_NOTE], 100, "the flood");
	assert_int_equal(mortise_plugin_pause(rig.plugin, 1, NULL), 0);
	rig_settle(&rig); /* what was read already may still arrive */
	count = rig.events[MORTISE_EVENT_NOTE];
	rig_settle(&rig);
	assert_int_equal(rig.events[MORTISE_EVENT_NOTE], count);
	assert_int_equal(mortise_plugin_pause(rig.plugin, 0, NULL), 0);
	rig_until(&rig, &rig.events[MORTISE_EVENT_NOTE], count + 1000, "the flood again");
	rig_close(&rig);
	assert_int_equal(got.finals, 1);
}

/* The bench plugin speaks all four; it knows nothing of a dialect. */
static void framings(void **state)
{
	static const char *const names[] = { "lines", "decimal", "be32", "headers" };

	(void)state;
	for (int i = 0; i < 4; i++) {
		struct rig rig;
		const char *argv[3] = { ECHO_PLUGIN, names[i], NULL }, *set[2] = { NULL };
		mortise_plugin_options opt;
		char text[64];

		rig_open(&rig);
		opt = rig_options(&rig, names[i], argv);
		argv[0] = ECHO_PLUGIN;
		snprintf(text, sizeof(text), "plugin.framing=%s", names[i]);
		set[0] = text;
		opt.set = set;
		rig.plugin = rig_plugin(&rig, &opt);
		for (int n = 0; n < 20; n++)
			assert_echoes(&rig);
		rig_close(&rig);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		API_TEST(stderr_flood_before_the_first_reply),
		API_TEST(big_result_arrives_whole),
		API_TEST(one_byte_per_write),
		API_TEST(drip_runs_into_the_limit),
		API_TEST(stray_print_is_noise),
		API_TEST(banner_is_noise),
		API_TEST(json_that_is_no_message),
		API_TEST(crlf_and_blank_lines),
		API_TEST(reply_in_a_batch),
		API_TEST(duplicate_reply),
		API_TEST(unknown_id),
		API_TEST(string_id_is_another_id),
		API_TEST(null_id_error_among_several),
		API_TEST(null_id_error_alone),
		API_TEST(late_reply_never_reaches_the_next_call),
		API_TEST(reply_before_the_request),
		API_TEST(neither_result_nor_error),
		API_TEST(both_result_and_error),
		API_TEST(bad_utf8),
		API_TEST(deep_nesting),
		API_TEST(line_over_the_limit),
		API_TEST(half_a_line_then_the_end),
		API_TEST(flood_of_notifications),
		API_TEST(flood_by_bites),
		API_TEST(many_last_words),
		API_TEST(pause_stops_the_flood),
		API_TEST(framings),
	};

	return mor_run_group("api/wire", tests);
}
