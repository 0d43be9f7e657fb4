/* SPDX-License-Identifier: Apache-2.0 */
/* What a person sees of a plugin's events and messages, and what never reaches the terminal. */
#include "heard.h"

#include "base/alloc.h"
#include "base/text.h"
#include "runner/show.h"

static mortise_json json_of(const char *text)
{
	return (mortise_json){ text, strlen(text) };
}

static const char *shown(mortise_event event)
{
	mor_show_event_of("p", &event, &console);
	return heard_err();
}
#define SHOWN(...) shown((mortise_event){ __VA_ARGS__ })

/* ---- which ---- */

static const struct {
	mortise_event event;
	const char *quiet, *strict, *verbose;
} sights[] = {
	{ { .type = MORTISE_EVENT_STDERR, .text = "boo" }, "", "", "p| boo\n" },
	{ { .type = MORTISE_EVENT_LOG, .text = "hi", .log = { .level = "info" } },
	  "",
	  "",
	  "p: log info: hi\n" },
	{ { .type = MORTISE_EVENT_NOTE, .note = { "m", { "[1]", 3 } } }, "", "", "p: note m [1]\n" },
	{ { .type = MORTISE_EVENT_STATE, .state = { MORTISE_FAILED, MORTISE_READY, 0 } },
	  "",
	  "",
	  "p: ready -> failed\n" },
	{ { .type = MORTISE_EVENT_STATE, .text = "why", .state = { MORTISE_FAILED, MORTISE_READY, 0 } },
	  "",
	  "",
	  "p: ready -> failed (why)\n" },
	{ { .type = MORTISE_EVENT_WARNING, .text = "w" }, "", "warning: p: w\n", "p: warning: w\n" },
	/* of its own health, and of what it may do: for everybody */
	{ { .type = MORTISE_EVENT_WARNING, .text = "w", .warning = { .health_method = "health" } },
	  "warning: p: w\n",
	  "warning: p: w\n",
	  "p: warning: w\n" },
	{ { .type = MORTISE_EVENT_WARNING, .text = "w", .warning = { .about_rights = 1 } },
	  "warning: p: w\n",
	  "warning: p: w\n",
	  "p: warning: w\n" },
	{ { .type = MORTISE_EVENT_NOISE, .text = "x" }, "", "warning: p: not a message: x\n", "p: noise: x\n" },
	{ { .type = MORTISE_EVENT_DROPPED, .text = "d" }, "", "warning: p: d\n", "p: dropped: d\n" },
	{ { .type = MORTISE_EVENT_HEALTH, .text = "h", .health = { "m", 0 } },
	  "warning: p: health: h\n",
	  "warning: p: health: h\n",
	  "p: health: h\n" },
	{ { .type = MORTISE_EVENT_HEALTH, .text = "h" }, "", "", "p: health: h\n" },
	{ { .type = MORTISE_EVENT_HEALTH, .text = "h", .health = { "m", 1 } }, "", "", "p: health: h\n" },
};

static void test_who_sees_what(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(sights) / sizeof(sights[0]); i++) {
		for (int how = 0; how < 3; how++) {
			const char *const wanted[] = { sights[i].quiet, sights[i].strict, sights[i].verbose };

			console.strict = how == 1;
			console.verbose = how == 2;
			console.told_count = 0;
			assert_string_equal(shown(sights[i].event), wanted[how]);
			assert_int_equal(mor_show_prints(&console, &sights[i].event), *wanted[how] != '\0');
		}
	}
}

/* All workers of a pool say the same. */
static void test_a_warning_is_shown_once(void **state)
{
	char text[20];

	(void)state;
	console.strict = true;
	assert_string_equal(SHOWN(.type = MORTISE_EVENT_WARNING, .text = "w"), "warning: p: w\n");
	assert_string_equal(SHOWN(.type = MORTISE_EVENT_WARNING, .text = "w"), "");
	assert_string_equal(SHOWN(.type = MORTISE_EVENT_WARNING, .text = "v"), "warning: p: v\n");
	for (int i = 0; i < 40; i++) { /* more than are remembered: only then it may come again */
		snprintf(text, sizeof(text), "%d", i);
		assert_true(*SHOWN(.type = MORTISE_EVENT_WARNING, .text = text));
	}
	assert_string_equal(SHOWN(.type = MORTISE_EVENT_WARNING, .text = "w"), "warning: p: w\n");
}

static void test_warnings_are_kept_for_machines(void **state)
{
	(void)state;
	console.json = true;
	assert_string_equal(SHOWN(.type = MORTISE_EVENT_NOISE, .text = "x\x1b"), "");
	assert_int_equal(console.warned.count, 1);
	assert_string_equal(console.warned.item[0], "p: not a message: x\\x1b");
}

static void test_notes_of_a_conversation(void **state)
{
	(void)state;
	console.notes = true;
	assert_string_equal(SHOWN(.type = MORTISE_EVENT_NOTE, .note = { "m", json_of("{}") }),
			    "p: note m {}\n");
	console.json = true;
	SHOWN(.type = MORTISE_EVENT_NOTE, .note = { "m\n", json_of("[1, 2]") });
	assert_string_equal(heard_out(), "{\"note\":\"m\\n\",\"params\":[1,2],\"plugin\":\"p\"}\n");
	SHOWN(.type = MORTISE_EVENT_NOTE, .note = { .method = "m" });
	assert_string_equal(heard_out(), "{\"note\":\"m\",\"params\":null,\"plugin\":\"p\"}\n");
}

/* ---- what it may not do ---- */

static void test_the_sum_of_what_was_denied(void **state)
{
	mortise_event sum = { .type = MORTISE_EVENT_VIOLATION,
			      .text = "p: 3 reads",
			      .violation = { .action = MORTISE_VIOLATION_SUM,
					     .record = json_of("{\"n\":3}") } };

	(void)state;
	assert_string_equal(shown(sum), "denied: p: 3 reads\n");
	assert_string_equal(shown(sum), "");
	console.json = console.verbose = true;
	console.told_count = 0;
	assert_string_equal(shown(sum), "{\"n\":3}\n"); /* once, not twice */
}

static void test_a_violation_that_no_call_reports(void **state)
{
	mortise_event killed = { .type = MORTISE_EVENT_VIOLATION,
				 .text = "p: wrote\n/x",
				 .violation = { .action = MORTISE_VIOLATION_KILLED,
						.failed_calls = 1,
						.record = json_of("{\"a\":1}") } };

	(void)state;
	assert_string_equal(shown(killed), ""); /* a call tells it */
	assert_string_equal(console.late, "");
	killed.violation.failed_calls = 0;
	assert_string_equal(shown(killed), "");
	assert_string_equal(console.late, "p: wrote\\x0a/x");
	killed.text = "another";
	shown(killed);
	assert_string_equal(console.late, "p: wrote\\x0a/x"); /* the first */
	console.verbose = true;
	assert_string_equal(shown(killed), "p: {\"a\":1}\n");
}

/* ---- what a terminal would obey ---- */

static void assert_harmless(const char *line)
{
	size_t len = strlen(line);

	assert_true(len > 1 && line[len - 1] == '\n');
	assert_false(mor_text_steers((struct mor_slice){ line, len - 1 }));
}

/* C0, C1, DEL, a mark of direction, and what is no UTF-8. */
#define STEERS "a\x1b]0;x\a\r\n\x7f \xc2\x9b \xe2\x80\xae \x9b\xff"

static void test_events_cannot_steer_the_terminal(void **state)
{
	static const int types[] = { MORTISE_EVENT_STDERR,  MORTISE_EVENT_STATE, MORTISE_EVENT_WARNING,
				     MORTISE_EVENT_NOISE,   MORTISE_EVENT_LOG,   MORTISE_EVENT_DROPPED,
				     MORTISE_EVENT_SESSION, MORTISE_EVENT_HEALTH };
	mortise_json json = json_of("{\"path\":\"" STEERS "\"}");

	(void)state;
	console.verbose = true;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		assert_harmless(SHOWN(.type = types[i], .text = STEERS));
	assert_harmless(SHOWN(.type = MORTISE_EVENT_NOTE, .note = { STEERS, json }));
	assert_harmless(
		SHOWN(.type = MORTISE_EVENT_VIOLATION, .text = STEERS, .violation = { .record = json }));
}

static void test_frames(void **state)
{
	mortise_tap_frame frame = { .direction = MORTISE_TO_PLUGIN, .body = json_of("{\"a\":\n1}") };

	(void)state;
	mor_show_frame(&frame, &console);
	assert_string_equal(heard_err(), "> {\"a\": 1}\n");
	frame.direction = MORTISE_FROM_PLUGIN;
	frame.body = (mortise_json){ "\"\\\xc3\xa4\0\x1b", 7 };
	mor_show_frame(&frame, &console);
	assert_string_equal(heard_err(), "< \"\\\xc3\xa4   \n");
	frame.body = json_of(STEERS);
	mor_show_frame(&frame, &console);
	assert_harmless(heard_err());
	frame.body = (mortise_json){ NULL, 0 };
	mor_show_frame(&frame, &console);
	assert_string_equal(heard_err(), "< \n");
}

/* A message can hold whole files. */
static void test_a_long_frame_is_cut_without_verbose(void **state)
{
	static char body[5000];
	mortise_tap_frame frame = { .body = { body, sizeof(body) } };

	(void)state;
	memset(body, 'b', sizeof(body));
	mor_show_frame(&frame, &console);
	assert_int_equal(strlen(heard_err()), 2 + 4096 + strlen("... (5000 bytes)\n"));
	frame.body.len = 4096;
	mor_show_frame(&frame, &console);
	assert_int_equal(strlen(heard_err()), 2 + 4096 + 1);
	console.verbose = true;
	frame.body.len = 5000;
	mor_show_frame(&frame, &console);
	assert_int_equal(strlen(heard_err()), 2 + 5000 + 1);
}

static void test_no_memory_is_silence(void **state)
{
	mortise_tap_frame frame = { .body = json_of("{}") };

	(void)state;
	for (long n = 0; n < 3; n++) {
		mor_alloc_fail_after(n);
		mor_show_frame(&frame, &console);
		SHOWN(.type = MORTISE_EVENT_WARNING, .text = "w", .warning = { .about_rights = 1 });
		mor_alloc_fail_after(-1);
	}
	mor_show_frame(&frame, &console);
	assert_string_equal(heard_err(), "> {}\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HEARD_TEST(test_who_sees_what),
		HEARD_TEST(test_a_warning_is_shown_once),
		HEARD_TEST(test_warnings_are_kept_for_machines),
		HEARD_TEST(test_notes_of_a_conversation),
		HEARD_TEST(test_the_sum_of_what_was_denied),
		HEARD_TEST(test_a_violation_that_no_call_reports),
		HEARD_TEST(test_events_cannot_steer_the_terminal),
		HEARD_TEST(test_frames),
		HEARD_TEST(test_a_long_frame_is_cut_without_verbose),
		HEARD_TEST(test_no_memory_is_silence),
	};

	return mor_run_group("runner/show", tests);
}
