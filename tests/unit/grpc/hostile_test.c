/* SPDX-License-Identifier: Apache-2.0 */
/* Servers that do not keep the rules: of gRPC first, then of HTTP/2. */
#include "leak.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/alloc.h"
#include "peer.h"

#define METHOD "/t.T/Do"

/* ---- gRPC ---- */

static void begin_and_settle(struct heard *heard)
{
	set_up(0, true);
	begin(heard, METHOD, 0);
	mor_grpc_finish(heard->call);
	settle();
}

static void test_content_type(void **state)
{
	static const struct {
		const char *type, *part; /* NULL: it is good */
	} rows[] = {
		{ "application/grpc", NULL },
		{ "application/grpc+proto", NULL },
		{ "Application/GRPC; charset=x", NULL },
		{ "application/grpcx", "content-type \"application/grpcx\", not with application/grpc" },
		{ "text/html", "answered \"/t.T/Do\" with content-type \"text/html\"" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *const fields[] = { ":status", "200", "content-type", rows[i].type, NULL };
		struct heard heard = { 0 };

		begin_and_settle(&heard);
		answer(1, fields);
		body_message(1, "x");
		body_end(1, good_trailers);
		settle();
		expect_end(&heard, rows[i].part ? MOR_GRPC_UNKNOWN : MOR_GRPC_OK,
			   rows[i].part ? MORTISE_EPROTO : 0, rows[i].part ? rows[i].part : "");
		expect_messages(&heard, rows[i].part ? "" : "x|");
		assert_int_equal(rig.ends, 0); /* the connection goes on */
		tear_down();
	}
}

static void test_http_status(void **state)
{
	static const char *const fields[] = { ":status", "503", "content-type", "text/plain", NULL };
	struct heard heard = { 0 };

	(void)state;
	begin_and_settle(&heard);
	answer(1, fields);
	body_add(1, "busy", 4);
	body_end(1, NULL);
	settle();
	expect_end(&heard, MOR_GRPC_UNAVAILABLE, MORTISE_EPROTO,
		   "answered \"/t.T/Do\" with HTTP status 503, not with gRPC");
	tear_down();
}

static void test_no_trailers(void **state)
{
	struct heard heard = { 0 };

	(void)state;
	begin_and_settle(&heard);
	answer(1, plain_fields);
	body_message(1, "x");
	body_end(1, NULL);
	settle();
	expect_messages(&heard, "x|");
	expect_end(&heard, MOR_GRPC_UNKNOWN, MORTISE_EPROTO,
		   "ended its answer to \"/t.T/Do\" without grpc-status: the trailers are missing");
	tear_down();
}

static void test_compressed(void **state)
{
	static const char *const fields[] = {
		":status", "200", "content-type", "application/grpc", "grpc-encoding", "gzip", NULL
	};
	struct heard heard = { 0 };

	(void)state;
	begin_and_settle(&heard);
	answer(1, fields);
	body_message(1, "first");
	body_add(1, "\1\0\0\0\3abc", 8);
	settle();
	expect_messages(&heard, "first|");
	expect_end(&heard, MOR_GRPC_INTERNAL, MORTISE_EPROTO,
		   "sent a compressed message (grpc-encoding \"gzip\")");
	assert_int_equal(stream_of(1)->reset, NGHTTP2_CANCEL + 1);
	tear_down();
}

static void test_too_big(void **state)
{
	struct heard heard = { 0 };

	(void)state;
	begin_and_settle(&heard);
	answer(1, plain_fields);
	body_add(1, "\0\0\x10\0\1", 5); /* 1 MiB and a byte: known before the bytes come */
	settle();
	expect_end(&heard, MOR_GRPC_RESOURCE_EXHAUSTED, MORTISE_ELIMIT,
		   "sent a message of 1048577 bytes; the limit is 1048576");
	tear_down();
}

static void test_fields_flood(void **state)
{
	struct heard heard = { 0 };
	char value[6000];
	const char *const fields[] = { ":status", "200", "a", value, "b", value, "c", value, NULL };

	(void)state;
	memset(value, 'x', sizeof(value) - 1);
	value[sizeof(value) - 1] = '\0';
	begin_and_settle(&heard);
	answer_only(1, fields);
	settle();
	expect_end(&heard, MOR_GRPC_INTERNAL, MORTISE_EPROTO, "header fields of more than 16384 bytes");
	tear_down();
}

/* 100 Continue before the answer. */
static void test_announced(void **state)
{
	struct heard heard = { 0 };
	nghttp2_nv early = { (uint8_t *)(uintptr_t) ":status", (uint8_t *)(uintptr_t) "100", 7, 3, 0 };

	(void)state;
	begin_and_settle(&heard);
	for (unsigned i = 0; i < 3; i++)
		nghttp2_submit_headers(rig.server, NGHTTP2_FLAG_NONE, 1, NULL, &early, 1, NULL);
	settle();
	answer_well(1, "x");
	settle();
	expect_messages(&heard, "x|");
	expect_end(&heard, MOR_GRPC_OK, 0, "");
	tear_down();
}

/* ---- HTTP/2, byte by byte ---- */

#define SETTINGS       "\0\0\0\4\0\0\0\0\0"
#define SETTINGS_TAKEN "\0\0\0\4\1\0\0\0\0" /* ours are known to it */

static void frame(struct mor_buf *out, uint8_t type, uint8_t flags, uint32_t stream, const char *bytes,
		  size_t len)
{
	const uint8_t head[9] = {
		(uint8_t)(len >> 16),    (uint8_t)(len >> 8),     (uint8_t)len,           type,           flags,
		(uint8_t)(stream >> 24), (uint8_t)(stream >> 16), (uint8_t)(stream >> 8), (uint8_t)stream
	};

	mor_buf_append(out, head, sizeof(head));
	mor_buf_append(out, bytes, len);
}

/* Says these bytes after good settings, unless `bare`; the connection must end with this text. */
static void expect_fatal(const char *bytes, size_t len, bool bare, const char *part)
{
	struct heard heard = { 0 };

	set_up(0, false);
	begin(&heard, METHOD, 0);
	settle();
	if (!bare)
		say_raw(SETTINGS SETTINGS_TAKEN, 18);
	say_raw(bytes, len);
	settle();
	expect_broken(MORTISE_EPROTO, part);
	expect_end(&heard, heard.status, MORTISE_EPROTO, "HTTP/2"); /* INTERNAL, if its own stream is broken */
	tear_down();
}

static void test_not_http2(void **state)
{
	static const char old[] = "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n";
	static const char line[] = "1|1|unix|/tmp/x|grpc\n listening on a socket\n";

	(void)state;
	expect_fatal(old, sizeof(old) - 1, true,
		     "does not speak HTTP/2 on its socket: it sent \"HTTP/1.1 400 Bad Request");
	expect_fatal(line, sizeof(line) - 1, true, "does not speak HTTP/2");
}

static void test_broken_frames(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
	} rows[] = {
#define ROW(bytes) { bytes, sizeof(bytes) - 1 }
		ROW("\xff\xff\xff\0\0\0\0\0\1"), /* longer than allowed */
		ROW("\0\0\0\0\0\0\0\0\0"),       /* DATA on stream 0 */
		/* DATA on a stream that we did not open */
		ROW("\0\0\1\0\0\0\0\0\x33x"),
		ROW("\0\0\1\1\4\0\0\0\1\xff"),               /* HEADERS that cannot be decoded */
		ROW("\0\0\4\5\4\0\0\0\1\0\0\0\2"),           /* PUSH_PROMISE */
		ROW("\0\0\1\6\0\0\0\0\0x"),                  /* a PING of one byte */
		ROW("\0\0\4\x8\0\0\0\0\0\0\0\0\0"),          /* WINDOW_UPDATE by nothing */
		ROW("\0\0\4\x8\0\0\0\0\0\x7f\xff\xff\xff"),  /* WINDOW_UPDATE over the end */
		ROW("\0\0\1\x9\4\0\0\0\1x"),                 /* CONTINUATION of nothing */
		ROW("\0\0\6\4\0\0\0\0\0\0\5\0\0\0\1"),       /* SETTINGS: frames of one byte */
		ROW("\0\0\0\1\0\0\0\0\1\0\0\0\0\0\0\0\0\1"), /* HEADERS that go on with DATA */
#undef ROW
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		expect_fatal(rows[i].bytes, rows[i].len, false, "HTTP/2");
}

/* Bytes beyond the window that we gave. */
static void test_window(void **state)
{
	struct heard heard = { .pause_at_once = true };
	struct mor_buf head = MOR_BUF_INIT, data = MOR_BUF_INIT;
	char block[16384] = { 0 };

	(void)state;
	set_up(0, false);
	begin(&heard, METHOD, 0);
	settle();
	mor_grpc_pause(heard.call, true);
	/* :status 200 by its index; content-type as a literal */
	frame(&head, 1, 4, 1,
	      "\x88\x0f\x10\x10"
	      "application/grpc",
	      20);
	frame(&data, 0, 0, 1, block, sizeof(block));
	say_raw(SETTINGS SETTINGS_TAKEN, 18);
	say_raw(head.data, head.len);
	for (unsigned i = 0; i < 17; i++) {
		say_raw(data.data, data.len);
		settle();
	}
	assert_int_equal(heard.count, 0);
	heard.pause_at_once = false;
	mor_grpc_pause(heard.call, false);
	settle();
	expect_end(&heard, MOR_GRPC_INTERNAL, MORTISE_EPROTO, "broke the rules of HTTP/2: FLOW_CONTROL_ERROR");
	forget(&heard);
	mor_buf_fini(&head);
	mor_buf_fini(&data);
	tear_down();
}

/* A stream of one kind of frame, from a peer that takes none of our answers. What it costs us is bounded. */
static void test_floods(void **state)
{
	static const struct {
		uint8_t type, flags;
		uint32_t stream;
		const char *bytes;
		size_t len;
	} rows[] = {
		{ 4, 0, 0, "\0\3\0\0\0\1", 6 },        /* SETTINGS */
		{ 6, 0, 0, "12345678", 8 },            /* PING */
		{ 2, 0, 1, "\0\0\0\3\1", 5 },          /* PRIORITY */
		{ 2, 0, 0x7fffff01, "\0\0\0\3\1", 5 }, /* of a stream that does not exist */
		{ 8, 0, 0, "\0\0\0\1", 4 },            /* WINDOW_UPDATE */
		{ 0, 0, 1, "", 0 },                    /* DATA without data */
		{ 1, 4, 1,
		  "\x08\x03"
		  "100",
		  5 },                         /* HEADERS: 100 Continue */
		{ 0xfe, 0, 0, "12345678", 8 }, /* a kind that nobody knows */
		{ 3, 0, 3, "\0\0\0\0", 4 },    /* RST_STREAM */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct heard heard = { 0 };
		struct mor_buf flood = MOR_BUF_INIT;
		size_t before;

		set_up(0, false);
		begin(&heard, METHOD, 0);
		settle();
		say_raw(SETTINGS, 9);
		for (unsigned n = 0; n < 2000; n++)
			frame(&flood, rows[i].type, rows[i].flags, rows[i].stream, rows[i].bytes, rows[i].len);
		before = mallinfo2().uordblks;
		for (unsigned n = 0; n < 200 && rig.ends == 0; n++) {
			say_raw(flood.data, flood.len);
			settle();
		}
		/* In use now, not ever: a sanitizer keeps what was freed, and counts nothing here. */
		assert_true(mallinfo2().uordblks < before + 1024 * 1024);
		if (i < 2)
			expect_broken(MORTISE_EPROTO, "floods us with frames, and takes no answers");
		mor_buf_fini(&flood);
		tear_down();
	}
}

/* HEADERS whose CONTINUATION never ends. */
static void test_continuation(void **state)
{
	struct heard heard = { 0 };
	struct mor_buf flood = MOR_BUF_INIT;

	(void)state;
	set_up(0, false);
	begin(&heard, METHOD, 0);
	settle();
	frame(&flood, 1, 0, 1, "\x88", 1);
	for (unsigned i = 0; i < 2000; i++)
		frame(&flood, 9, 0, 1,
		      "\x00\x01"
		      "a"
		      "\x01"
		      "b",
		      5);
	say_raw(SETTINGS, 9);
	say_raw(flood.data, flood.len);
	settle();
	assert_int_equal(heard.ends, 1);
	assert_int_equal(heard.err.code, MORTISE_EPROTO);
	mor_buf_fini(&flood);
	tear_down();
}

/* Frames cut at every place: the same conversation, one byte at a time. */
static void test_bytewise(void **state)
{
	struct heard heard = { 0 };
	struct mor_buf all = MOR_BUF_INIT;

	(void)state;
	mor_buf_append(&all, SETTINGS, 9);
	frame(&all, 1, 4, 1,
	      "\x88\x0f\x10\x10"
	      "application/grpc",
	      20);
	frame(&all, 0, 0, 1, "\0\0\0\0\2hi\0", 8);
	frame(&all, 0, 8, 1, "\3\0\0\0\0xyz", 8); /* padded */
	frame(&all, 1, 5, 1,
	      "\x00\x0b"
	      "grpc-status"
	      "\x01"
	      "0",
	      15);
	set_up(0, false);
	begin(&heard, METHOD, 0);
	settle();
	for (size_t i = 0; i < all.len; i++) {
		say_raw(all.data + i, 1);
		settle();
	}
	expect_messages(&heard, "hi||");
	expect_end(&heard, MOR_GRPC_OK, 0, "");
	assert_int_equal(rig.ends, 0);
	mor_buf_fini(&all);
	tear_down();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_content_type), MOR_TEST(test_http_status), MOR_TEST(test_no_trailers),
		MOR_TEST(test_compressed),   MOR_TEST(test_too_big),     MOR_TEST(test_fields_flood),
		MOR_TEST(test_announced),    MOR_TEST(test_not_http2),   MOR_TEST(test_broken_frames),
		MOR_TEST(test_window),       MOR_TEST(test_floods),      MOR_TEST(test_continuation),
		MOR_TEST(test_bytewise),
	};

	return mor_run_group("grpc/hostile", tests);
}
