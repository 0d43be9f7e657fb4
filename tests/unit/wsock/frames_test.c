/* SPDX-License-Identifier: Apache-2.0 */
/* Frames: two ends, and a peer that keeps no rule. */
#include "leak.h"

#include <string.h>

#include "wsock/inside.h"

#define LIMIT 1000

struct end {
	struct mor_frames *frames;
	struct mor_buf got; /* texts, each with a bar behind it; binary as its length */
};

static void on_text(void *arg, struct mor_slice text)
{
	struct end *end = arg;

	mor_buf_slice(&end->got, text);
	mor_buf_byte(&end->got, '|');
}

static void on_binary(void *arg, size_t len)
{
	mor_buf_printf(&((struct end *)arg)->got, "<%zu>|", len);
}

static const struct mor_frames_handler handler = { on_text, on_binary };

static void open_end(struct end *end, bool server)
{
	*end = (struct end){ .frames = mor_frames_new(server, LIMIT, &handler, end) };
	assert_non_null(end->frames);
}

static void close_end(struct end *end)
{
	mor_frames_free(end->frames);
	mor_buf_fini(&end->got);
}

/* All that one wants to send is given to the other, `step` bytes at a time. */
static void carry(struct end *from, struct end *to, size_t step)
{
	struct mor_buf wire = MOR_BUF_INIT;

	do {
		mor_buf_reset(&wire, 100000);
		assert_int_equal(mor_frames_write(from->frames, &wire, 4096), 0);
		for (size_t at = 0; at < wire.len; at += step)
			assert_int_equal(mor_frames_feed(to->frames, (struct mor_slice){ wire.data + at,
											 wire.len - at < step ?
												 wire.len - at :
												 step }),
					 0);
	} while (wire.len);
	mor_buf_fini(&wire);
}

static void expect_got(struct end *end, const char *wanted)
{
	if (!mor_slice_is(mor_buf_view(&end->got), wanted))
		fail_msg("%.*s, not %s", (int)end->got.len, end->got.data, wanted);
	mor_buf_fini(&end->got);
}

static void test_both_ways(void **state)
{
	struct end client, server;

	(void)state;
	for (size_t step = 1; step < 70; step += 17) {
		open_end(&client, false);
		open_end(&server, true);
		assert_int_equal(mor_frames_send(client.frames, MOR_SLICE("你好")), 0);
		assert_int_equal(mor_frames_send(client.frames, MOR_SLICE("")), 0);
		assert_int_equal(mor_frames_ping(client.frames), 0);
		assert_int_equal(mor_frames_send(client.frames, MOR_SLICE("b")), 0);
		carry(&client, &server, step);
		expect_got(&server, "你好||b|");
		assert_int_equal(mor_frames_send(server.frames, MOR_SLICE("c")), 0);
		carry(&server, &client, step); /* and the pong */
		expect_got(&client, "c|");
		assert_false(mor_frames_ending(client.frames));
		close_end(&client);
		close_end(&server);
	}
}

static void test_good_bye(void **state)
{
	struct end client, server;
	char why[200];

	(void)state;
	open_end(&client, false);
	open_end(&server, true);
	assert_int_equal(mor_frames_close(server.frames, 1001, "so long"), 0);
	assert_int_equal(mor_frames_send(server.frames, MOR_SLICE("x")), MORTISE_ECLOSED);
	carry(&server, &client, 100);
	assert_true(mor_frames_closed_by_peer(client.frames));
	assert_string_equal(mor_frames_why(client.frames, why, sizeof(why)),
			    "it closed the connection (1001 going away: so long)");
	carry(&client, &server, 100);
	assert_true(mor_frames_ending(server.frames));
	close_end(&client);
	close_end(&server);
}

/* Bytes as a server sends them, and how our side ends it. */
static void expect_end(const char *bytes, size_t len, const char *got, const char *wanted)
{
	struct end client;
	char why[200];

	open_end(&client, false);
	assert_int_equal(mor_frames_feed(client.frames, (struct mor_slice){ bytes, len }), 0);
	expect_got(&client, got);
	if (mor_frames_ending(client.frames) != (wanted != NULL))
		fail_msg("ending: %d (%s)", mor_frames_ending(client.frames), wanted ? wanted : "not wanted");
	if (wanted) {
		struct mor_buf out = MOR_BUF_INIT;

		assert_int_equal(mor_frames_write(client.frames, &out, 4096), 0);
		assert_true(out.len > 0);
		mor_frames_why(client.frames, why, sizeof(why));
		if (!strstr(why, wanted))
			fail_msg("%s, not %s", why, wanted);
		mor_buf_fini(&out);
	}
	close_end(&client);
}

#define BYTES(text) text, sizeof(text) - 1

static void test_peers_without_rules(void **state)
{
	(void)state;
	expect_end(BYTES("\x81\x01"
			 "a\x82\x02"
			 "bc\x81\x01"
			 "d"),
		   "a|<2>|d|", NULL);
	/* a ping between fragments */
	expect_end(BYTES("\x01\x01"
			 "a\x89\x00\x00\x01"
			 "b\x80\x01"
			 "c"),
		   "abc|", NULL);
	/* nothing, in four pieces */
	expect_end(BYTES("\x01\x00\x00\x00\x00\x00\x80\x00"), "|", NULL);
	/* a server does not mask */
	expect_end(BYTES("\x81\x81"
			 "mask"
			 "a"),
		   "", "1002");
	expect_end(BYTES("\xc1\x01"
			 "a"),
		   "", "1002"); /* an extension */
	/* an opcode that does not exist */
	expect_end(BYTES("\x83\x01"
			 "a"),
		   "", "1002");
	expect_end(BYTES("\x80\x01"
			 "a"),
		   "", "1002"); /* the end of nothing */
	expect_end(BYTES("\x01\x01"
			 "a\x81\x01"
			 "b"),
		   "", "1002");                            /* two at a time */
	expect_end(BYTES("\x09\x00"), "", "1002");         /* a ping in pieces */
	expect_end(BYTES("\x81\x02\xc3\x28"), "", "1007"); /* no UTF-8 */
	expect_end(BYTES("\x81\x7e\x03\xe9"
			 "a"),
		   "", "1009"); /* 1,001 bytes */
	/* nearly all there are */
	expect_end(BYTES("\x81\x7f\x7f\xff\xff\xff\xff\xff\xff\xff"
			 "a"),
		   "", "1009");
	expect_end(BYTES("\x88\x02\x03\xe8\x81\x01"
			 "a"),
		   "", "it closed the connection (1000 normal)");
	expect_end(BYTES("\x88\x00"), "", "it closed the connection");
}

/* Too long in many pieces: it is not the frame that counts. */
static void test_long_in_pieces(void **state)
{
	struct mor_buf bytes = MOR_BUF_INIT;

	(void)state;
	mor_buf_append(&bytes,
		       "\x01\x01"
		       "a",
		       3);
	for (int i = 1; i < LIMIT; i++)
		mor_buf_append(&bytes,
			       "\x00\x01"
			       "a",
			       3);
	expect_end(bytes.data, bytes.len, "", NULL);
	mor_buf_append(&bytes,
		       "\x00\x01"
		       "a",
		       3);
	expect_end(bytes.data, bytes.len, "", "1009");
	mor_buf_fini(&bytes);
}

/* What waits is counted, and moved no further than is asked for. */
static void test_waiting(void **state)
{
	char text[500];
	struct mor_buf out = MOR_BUF_INIT;
	struct end client;

	(void)state;
	memset(text, 'x', sizeof(text));
	open_end(&client, false);
	for (int i = 0; i < 4; i++)
		assert_int_equal(mor_frames_send(client.frames, (struct mor_slice){ text, sizeof(text) }), 0);
	assert_int_equal(mor_frames_waiting(client.frames), 2000);
	assert_int_equal(mor_frames_write(client.frames, &out, 700), 0);
	assert_int_equal(out.len, 700);
	assert_int_equal(mor_frames_write(client.frames, &out, 100000), 0);
	assert_int_equal(out.len, 4 * (500 + 8));
	assert_int_equal(mor_frames_waiting(client.frames), 0);
	mor_buf_fini(&out);
	close_end(&client);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_both_ways),      MOR_TEST(test_good_bye), MOR_TEST(test_peers_without_rules),
		MOR_TEST(test_long_in_pieces), MOR_TEST(test_waiting),
	};

	return mor_run_group("wsock/frames", tests);
}
