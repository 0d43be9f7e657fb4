/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of valid JSON texts, found and copied without a tree: against the tree. */
#include "leak.h"

#include <stdio.h>

#include "base/alloc.h"
#include "wire/envelope.h"
#include "wire/json.h"

static void picks(void **state)
{
	struct mor_json_pick pick[] = { { .name = "content" }, { .name = "stats" }, { .name = "no" }, { 0 } };
	struct mor_slice text = MOR_SLICE(" {\"a\":[{\"content\":1}], \"b\\\"\":\"}\\\\\", \"c\\u006fntent\" : "
					  "\"x\\\"y\" ,\"content\":2,\"stats\":{\"n\":[1,{}]}} ");

	(void)state;
	mor_json_pick(text, pick);
	assert_true(mor_slice_is(pick[0].value, "\"x\\\"y\""));
	assert_true(mor_slice_is(pick[1].value, "{\"n\":[1,{}]}"));
	assert_null(pick[2].value.ptr);
}

static void picks_nothing(void **state)
{
	static const char *const texts[] = {
		"", " ", "{}", "[\"content\"]", "null", "\"content\"", "{\"b\":1}"
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct mor_json_pick pick[] = { { .name = "content", .value = MOR_SLICE("old") }, { 0 } };

		mor_json_pick(mor_slice_of(texts[i]), pick);
		assert_null(pick[0].value.ptr);
	}
}

/* What a parser makes of it, and what our writer makes of that. */
static void check_string(const char *string)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	MOR_CLEAN(mor_buf) struct mor_buf plain = MOR_BUF_INIT;
	MOR_CLEAN(mor_buf) struct mor_buf again = MOR_BUF_INIT;
	MOR_CLEAN(mor_buf) struct mor_buf expected = MOR_BUF_INIT;
	struct mor_slice text = mor_slice_of(string), characters;

	assert_int_equal(mor_doc_parse(text, 0, 0, &doc, NULL), 0);
	characters = mor_json_string(mor_doc_root(doc));
	assert_int_equal(mor_json_string_plain(text, &plain), 0);
	assert_int_equal(mor_json_string_again(text, &again), 0);
	mor_buf_json_string(&expected, characters);
	assert_true(mor_slice_eq(mor_buf_view(&plain), characters) || (!plain.len && !characters.len));
	assert_true(mor_slice_eq(mor_buf_view(&again), mor_buf_view(&expected)));
}

static void strings(void **state)
{
	static const char *const rows[] = {
		"\"\"",
		"\"plain\"",
		"\"two\\nlines\\r\\tand \\\"quotes\\\" \\\\ \\b\\f\"",
		"\"a\\/b\"",                        /* we write no such escape */
		"\"\\u0000\\u001f\\u001F\\u007f\"", /* the second hex digit in both cases */
		"\"\\u000a\\u0022\\u005c\\u0008\"", /* these have shorter names */
		"\"\\u00e9 \\u20ac \\ud83d\\ude00\"",
		"\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\"",
		"\"\\\\u0041\"",
		"\"ends in a backslash \\\\\"",
	};
	char one[16];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		check_string(rows[i]);
	for (unsigned c = 0; c < 0x120; c++) {
		snprintf(one, sizeof(one), "\"\\u%04x\"", c);
		check_string(one);
		snprintf(one, sizeof(one), "\"\\u%04X.\"", c);
		check_string(one);
	}
}

/* A text with a string of `count` times `piece`, between two short ones. */
static void check_outline(const char *piece, size_t count)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	MOR_CLEAN(mor_doc) struct mor_doc *whole = NULL;
	MOR_CLEAN(mor_doc) struct mor_doc *outline = NULL;
	struct mor_slice cut, all;

	mor_buf_text(&text, "{\"a\":[\"x\\\"\",1.50],\"long\":\"");
	for (size_t i = 0; i < count; i++)
		mor_buf_text(&text, piece);
	mor_buf_text(&text, "\",\"b\":{\"c\":\"\"}}");
	assert_int_equal(mor_doc_parse(mor_buf_view(&text), 0, 0, &whole, NULL), 0);
	assert_int_equal(mor_doc_outline(mor_buf_view(&text), 0, 0, &outline, NULL), 0);
	for (const char *const *at = (const char *const[]){ "/a", "/b", NULL }; *at; at++)
		assert_true(mor_json_equal(mor_json_at(mor_doc_root(whole), *at),
					   mor_json_at(mor_doc_root(outline), *at)));
	all = mor_json_string(mor_json_get(mor_doc_root(whole), "long"));
	cut = mor_json_string(mor_json_get(mor_doc_root(outline), "long"));
	assert_true(cut.len <= all.len && cut.len >= (all.len < 600 ? all.len : 600));
	assert_memory_equal(cut.ptr, all.ptr, cut.len);
	assert_true(text.len < 65536 || cut.len <= MOR_JSON_LONG + 12);
}

static void outlines(void **state)
{
	static const char *const pieces[] = {
		"x", "\\n", "\\\"", "\\\\", "ab\\u00e9", "\\ud83d\\ude00", "\xe2\x82\xac", "\xf0\x9f\x98\x80.",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++)
		for (size_t bytes = 1000; bytes <= 200000; bytes *= 5)
			check_outline(pieces[i], bytes / strlen(pieces[i]));
}

/* The same verdict as of the whole text, wherever it is wrong. */
static void check_verdict(const char *head, const char *middle, const char *tail, bool cut)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	MOR_CLEAN(mor_buf) struct mor_buf outline = MOR_BUF_INIT;
	bool spaced = false, same = false, valid;
	size_t at;

	mor_buf_text(&text, head);
	for (size_t i = 0; i < 20000; i++)
		mor_buf_text(&text, "12345678\\n");
	mor_buf_text(&text, middle);
	for (size_t i = 0; i < 20000; i++)
		mor_buf_text(&text, "12345678\xe2\x82\xac");
	mor_buf_text(&text, tail);
	valid = mor_json_valid_params(mor_buf_view(&text), &spaced, &at);
	assert_int_equal(mor_json_outline(mor_buf_view(&text), &outline), cut);
	assert_int_equal(outline.len > 0, cut);
	assert_true(outline.len < 3 * MOR_JSON_LONG);
	assert_int_equal(cut && mor_json_valid_params(mor_buf_view(&outline), &same, &at), valid);
	assert_int_equal(same, spaced && cut);
}

static void outlines_of_unknown_texts(void **state)
{
	(void)state;
	check_verdict("{\"a\":\"", "", "\",\"b\":[1,true]}", true);
	check_verdict("{\"a\":\"", "\",\n\"b\":\"", "\"}", true);
	check_verdict("{\"a\":\"", "\\\"", "\"}", true);
	check_verdict("{\"a\":\"", "\" \"", "\"}", true);     /* wrong between the strings */
	check_verdict("{\"a\":\"", "", "\",\"b\":}", true);   /* ... and behind */
	check_verdict("{\"a\":\"", "", "\"}},\"c\":{", true); /* ends early */
	check_verdict("{\"a\":\"", "", "\",\"b\":\"\x01\"}", false);
	check_verdict("{\"a\":\"", "\x01", "\"}", false);
	check_verdict("{\"a\":\"", "\n", "\"}", false);
	check_verdict("{\"a\":\"", "\\x", "\"}", false);
	check_verdict("{\"a\":\"", "\xff", "\"}", false);
	check_verdict("{\"a\":\"", "", "", false);
	check_verdict("{\"a\":\"", "", "\\\"}", false);
}

/* Many short strings: nothing to cut. */
static void outline_of_small_ones(void **state)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	mortise_error err;

	(void)state;
	mor_buf_text(&text, "[\"0\"");
	for (unsigned i = 1; i < 20000; i++)
		mor_buf_printf(&text, ",\"%u\"", i);
	assert_int_equal(mor_doc_outline(mor_buf_view(&text), 0, 0, &doc, &err), MORTISE_EPROTO);
	mor_buf_byte(&text, ']');
	assert_int_equal(mor_doc_outline(mor_buf_view(&text), 0, 0, &doc, &err), 0);
	assert_int_equal(mor_json_size(mor_doc_root(doc)), 20000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(picks),    MOR_TEST(picks_nothing),         MOR_TEST(strings),
		MOR_TEST(outlines), MOR_TEST(outline_of_small_ones), MOR_TEST(outlines_of_unknown_texts),
	};

	return mor_run_group("wire/raw", tests);
}
