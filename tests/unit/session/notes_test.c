/* SPDX-License-Identifier: Apache-2.0 */
/* What a keeper remembers of what its plugin said by itself. */
#include "leak.h"

#include <string.h>

#include "base/alloc.h"
#include "session/inside.h"

/* The note without its time, which is real. */
static void assert_note(const struct mor_session_note *note, const char *wanted)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	char text[600];
	const char *rest;

	assert_non_null(note);
	assert_int_equal(mor_doc_parse((struct mor_slice){ note->json, note->len }, 0, 0, &doc, NULL), 0);
	assert_true(mor_json_int(mor_json_get(mor_doc_root(doc), "time_ms"), 0) > 1600000000000);
	assert_string_equal(mor_json_text(mor_json_get(mor_doc_root(doc), "is"), ""), "note");
	assert_true(note->len < sizeof(text));
	memcpy(text, note->json, note->len);
	text[note->len] = '\0';
	rest = strstr(text, "\"kind\"");
	assert_non_null(rest);
	assert_string_equal(rest, wanted);
}

static void test_what_is_said_is_kept(void **state)
{
	static const struct {
		mortise_event event;
		const char *wanted;
	} rows[] = {
		{ { .type = MORTISE_EVENT_NOTE, .note = { "log", { "[1,\n2]", 6 } } },
		  "\"kind\":\"note\",\"method\":\"log\",\"params\":[1,\n2]}" },
		{ { .type = MORTISE_EVENT_STDERR, .text = "a \"line\"" },
		  "\"kind\":\"stderr\",\"text\":\"a \\\"line\\\"\"}" },
		{ { .type = MORTISE_EVENT_LOG, .text = "hot", .log = { .level = "warn" } },
		  "\"kind\":\"log\",\"level\":\"warn\",\"text\":\"hot\"}" },
		{ { .type = MORTISE_EVENT_NOISE, .text = "" }, "\"kind\":\"noise\"}" },
		{ { .type = MORTISE_EVENT_WARNING, .text = "x" }, "\"kind\":\"warning\",\"text\":\"x\"}" },
	};
	static const enum mortise_event_type others[] = { MORTISE_EVENT_STATE, MORTISE_EVENT_HEALTH,
							  MORTISE_EVENT_DROPPED, MORTISE_EVENT_SESSION };
	struct mor_session_notes notes;

	(void)state;
	mor_session_notes_init(&notes);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_note(mor_session_notes_add(&notes, &rows[i].event), rows[i].wanted);
	assert_note(mor_session_notes_asked(&notes, "confirm", (mortise_json){ "{}", 2 }),
		    "\"kind\":\"request\",\"method\":\"confirm\",\"params\":{}}");
	assert_note(mor_session_notes_asked(&notes, "confirm", (mortise_json){ 0 }),
		    "\"kind\":\"request\",\"method\":\"confirm\"}");
	assert_int_equal(notes.count, 7);
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		assert_null(mor_session_notes_add(&notes, &(mortise_event){ .type = others[i], .text = "x" }));
	assert_int_equal(notes.count, 7);
	mor_session_notes_fini(&notes);
}

static void test_the_oldest_goes_first(void **state)
{
	struct mor_session_notes notes;
	const struct mor_session_note *first;
	char text[16];

	(void)state;
	mor_session_notes_init(&notes);
	for (unsigned i = 0; i < 1003; i++) {
		snprintf(text, sizeof(text), "<%u>", i);
		mor_session_notes_add(&notes, &(mortise_event){ .type = MORTISE_EVENT_STDERR, .text = text });
	}
	assert_int_equal(notes.count, 1000);
	assert_int_equal(notes.dropped, 3);
	first = mor_container_of(notes.list.next, struct mor_session_note, node);
	assert_note(first, "\"kind\":\"stderr\",\"text\":\"<3>\"}");
	mor_session_notes_fini(&notes);
	assert_int_equal(notes.bytes, 0);
}

/* One that is larger than all that may be kept is still told, and goes with the next. */
static void test_bytes_are_limited(void **state)
{
	enum { BIG = 3 << 20 };
	struct mor_session_notes notes;
	char *text = mor_alloc(2 * BIG + 1);
	mortise_event event = { .type = MORTISE_EVENT_STDERR, .text = text };

	(void)state;
	memset(text, 'x', 2 * BIG);
	mor_session_notes_init(&notes);
	text[BIG] = '\0';
	assert_non_null(mor_session_notes_add(&notes, &event));
	assert_non_null(mor_session_notes_add(&notes, &event));
	assert_int_equal(notes.count, 1);
	assert_int_equal(notes.dropped, 1);
	text[BIG] = 'x';
	text[2 * BIG] = '\0';
	assert_non_null(mor_session_notes_add(&notes, &event));
	assert_int_equal(notes.count, 1);
	assert_true(notes.bytes > 2 * BIG);
	text[1] = '\0';
	assert_non_null(mor_session_notes_add(&notes, &event));
	assert_int_equal(notes.count, 1);
	assert_true(notes.bytes < 200);
	mor_session_notes_fini(&notes);
	mor_free(text);
}

static void test_without_memory_there_is_no_note(void **state)
{
	mortise_event event = { .type = MORTISE_EVENT_STDERR, .text = "x" };
	struct mor_session_notes notes;
	bool kept = false;

	(void)state;
	mor_session_notes_init(&notes);
	for (long n = 0; !kept; n++) {
		mor_alloc_fail_after(n);
		kept = mor_session_notes_add(&notes, &event);
		mor_alloc_fail_after(-1);
		assert_int_equal(notes.count, kept);
	}
	mor_alloc_fail_after(0);
	assert_null(mor_session_notes_asked(&notes, "m", (mortise_json){ 0 }));
	mor_alloc_fail_after(-1);
	mor_session_notes_fini(&notes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_what_is_said_is_kept),
		MOR_TEST(test_the_oldest_goes_first),
		MOR_TEST(test_bytes_are_limited),
		MOR_TEST(test_without_memory_there_is_no_note),
	};

	return mor_run_group("session/notes", tests);
}
