/* SPDX-License-Identifier: Apache-2.0 */
/* Streams cut into messages, whole and byte by byte, with a framing that is known or that the first shows. */
#include "leak.h"

#include <stdio.h>
#include <string.h>

#include "relay/cutter.h"

struct heard {
	char text[200];
};

static void hear(void *arg, enum mor_item_kind kind, struct mor_slice whole, const struct mor_item *item)
{
	struct heard *heard = arg;
	size_t used = strlen(heard->text);

	if (kind == MOR_ITEM_FRAME)
		snprintf(heard->text + used, sizeof(heard->text) - used, "[%.*s]", (int)item->body.len,
			 item->body.ptr);
	else if (kind == MOR_ITEM_NOISE || kind == MOR_ITEM_CORRUPT)
		snprintf(heard->text + used, sizeof(heard->text) - used, "(%zu)", whole.len);
	else if (kind == MOR_ITEM_TOO_BIG)
		snprintf(heard->text + used, sizeof(heard->text) - used, "<big>");
}

/* The stream in pieces of `step` bytes, then its end. */
static void assert_cut(int framing, struct mor_slice stream, size_t step, const char *wanted)
{
	struct mor_cutter cutter;
	struct heard heard = { "" };

	mor_cutter_init(&cutter, framing, 64);
	for (size_t at = 0; at < stream.len; at += step) {
		size_t len = stream.len - at < step ? stream.len - at : step;

		assert_int_equal(mor_cutter_feed(&cutter, (struct mor_slice){ stream.ptr + at, len }, false,
						 hear, &heard),
				 0);
	}
	assert_int_equal(mor_cutter_feed(&cutter, (struct mor_slice){ 0 }, true, hear, &heard), 0);
	assert_string_equal(heard.text, wanted);
	mor_cutter_fini(&cutter);
}

#define ASSERT_CUT(framing, stream, wanted) \
	do { \
		for (size_t step = 1; step <= sizeof(stream) - 1; step++) \
			assert_cut(framing, MOR_SLICE(stream), step, wanted); \
	} while (0)

static void known_framings(void **state)
{
	(void)state;
	ASSERT_CUT(MOR_FRAMING_LINES, "{\"a\":1}\n[2]\n", "[{\"a\":1}][[2]]");
	ASSERT_CUT(MOR_FRAMING_HEADERS, "Content-Length: 2\r\n\r\n{}Content-Length: 3\r\n\r\n[1]", "[{}][[1]]");
	ASSERT_CUT(MOR_FRAMING_DECIMAL, "2\n{}3\n[1]", "[{}][[1]]");
	ASSERT_CUT(MOR_FRAMING_BE32, "\0\0\0\2{}\0\0\0\3[1]", "[{}][[1]]");
}

static void found_framings(void **state)
{
	(void)state;
	ASSERT_CUT(-1, "{\"a\":1}\n[2]\n", "[{\"a\":1}][[2]]");
	ASSERT_CUT(-1, "Content-Length: 2\r\n\r\n{}", "[{}]");
	ASSERT_CUT(-1, "2\n{}3\n[1]", "[{}][[1]]");
	ASSERT_CUT(-1, "\0\0\0\2{}", "[{}]");
}

static void what_is_no_message(void **state)
{
	(void)state;
	ASSERT_CUT(MOR_FRAMING_LINES, "Ready.\n{}\n", "(7)[{}]");
	ASSERT_CUT(MOR_FRAMING_LINES, "{}\n{\"half", "[{}](6)");
	assert_cut(MOR_FRAMING_DECIMAL, MOR_SLICE("100\n{\"a\":1}"), 100, "<big>");
}

/* The first message of one direction decides for the other, too. */
static void both_directions(void **state)
{
	struct mor_cutter to, from;
	struct heard heard = { "" };

	(void)state;
	mor_cutter_init(&to, -1, 64);
	mor_cutter_init(&from, -1, 64);
	to.other = &from;
	from.other = &to;
	assert_int_equal(mor_cutter_feed(&to, MOR_SLICE("2\n{}"), false, hear, &heard), 0);
	assert_true(from.sure);
	assert_int_equal(from.deframer.framing, MOR_FRAMING_DECIMAL);
	assert_int_equal(mor_cutter_feed(&from, MOR_SLICE("{}\n3\n[1]"), false, hear, &heard), 0);
	assert_string_equal(heard.text, "[{}](3)[[1]]");
	mor_cutter_fini(&to);
	mor_cutter_fini(&from);
}

int main(void)
{
	const struct CMUnitTest tests[] = { MOR_TEST(known_framings), MOR_TEST(found_framings),
					    MOR_TEST(what_is_no_message), MOR_TEST(both_directions) };

	return mor_run_group("relay/cutter", tests);
}
