/* SPDX-License-Identifier: Apache-2.0 */
/* Calls against a server that keeps the rules: unary, streams, deadlines, cancel, flow control. */
#include "leak.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "peer.h"

#define METHOD "/t.T/Do"

static void expect_got(int32_t stream, const char *const *messages)
{
	struct mor_buf wanted = MOR_BUF_INIT;

	for (; *messages; messages++)
		prefixed(&wanted, *messages);
	assert_int_equal(stream_of(stream)->got.len, wanted.len);
	assert_memory_equal(stream_of(stream)->got.data, wanted.data, wanted.len);
	mor_buf_fini(&wanted);
}

/* ---- unary ---- */

static struct {
	unsigned count, status;
	char text[100];
	mortise_error err;
} done;

static void on_done(void *arg, struct mor_slice message, unsigned status, const mortise_error *err)
{
	assert_ptr_equal(arg, &done);
	done.count++;
	done.status = status;
	snprintf(done.text, sizeof(done.text), "%.*s", (int)message.len, message.ptr ? message.ptr : "");
	if (err)
		done.err = *err;
}

static void begin_unary(const char *message)
{
	struct mor_grpc_unary unary = {
		.method = METHOD,
		.message = mor_slice_of(message),
		.timeout_ms = 5000,
		.on_done = on_done,
		.arg = &done,
	};

	memset(&done, 0, sizeof(done));
	assert_int_equal(mor_grpc_unary(rig.grpc, &unary, NULL, NULL), 0);
	settle();
	assert_int_equal(done.count, 0);
}

static void test_unary(void **state)
{
	(void)state;
	set_up(0, true);
	begin_unary("hello");
	expect_field(1, ":method: POST\n:scheme: http\n:path: /t.T/Do\n:authority: localhost\n");
	expect_field(1, "te: trailers\ncontent-type: application/grpc\nuser-agent: mortise/");
	expect_field(1, "grpc-timeout: 5000m\n");
	expect_got(1, (const char *[]){ "hello", NULL });
	assert_true(stream_of(1)->got_end);
	answer_well(1, "world");
	settle();
	assert_int_equal(done.count, 1);
	assert_int_equal(done.err.code, 0);
	assert_string_equal(done.text, "world");
	assert_int_equal(stream_of(1)->reset, 0);
	assert_true(stream_of(1)->closed);
	begin_unary("");
	answer_well(3, "");
	settle();
	assert_int_equal(done.count, 1);
	assert_int_equal(done.err.code, 0);
	tear_down();
}

static void test_unary_counts(void **state)
{
	(void)state;
	set_up(0, true);
	begin_unary("a");
	answer(1, plain_fields);
	body_end(1, good_trailers);
	settle();
	assert_int_equal(done.err.code, MORTISE_EPROTO);
	assert_string_equal(done.err.text, "answered \"/t.T/Do\" with 0 messages where one is due");
	begin_unary("a");
	answer(3, plain_fields);
	body_message(3, "1");
	body_message(3, "2");
	body_end(3, good_trailers);
	settle();
	assert_string_equal(done.err.text, "answered \"/t.T/Do\" with 2 messages where one is due");
	assert_int_equal(done.status, MOR_GRPC_INTERNAL);
	begin_unary("left behind"); /* freed with the connection, without an event */
	tear_down();
	assert_int_equal(done.count, 0);
}

static void test_refused_before(void **state)
{
	static const char *const wrong[] = { "",       "x",      "/",      "/a",   "/a/", "//b",
					     "/a/b/c", "/a b/c", "/a/b\n", "/ä/b", NULL };
	struct mor_grpc_call_options options = { 0 };
	struct mor_grpc_call *call;
	char *big = calloc(1, MESSAGE_MAX + 1);
	struct mor_grpc_unary unary = { .method = METHOD, .message = { big, MESSAGE_MAX + 1 } };
	mortise_error err;

	(void)state;
	set_up(0, true);
	for (const char *const *method = wrong; *method; method++) {
		options.method = *method;
		assert_int_equal(mor_grpc_call(rig.grpc, &options, &call, &err), MORTISE_EINVAL);
	}
	assert_int_equal(mor_grpc_unary(rig.grpc, &unary, NULL, &err), MORTISE_ELIMIT);
	assert_string_equal(err.text, "message is over the size limit");
	settle();
	assert_int_equal(stream_of(1)->fields.len, 0); /* the server never heard of it */
	free(big);
	tear_down();
}

/* ---- errors that the server answers ---- */

static void test_remote_error(void **state)
{
	static const struct {
		const char *status, *message;
		unsigned number;
		int code;
		const char *text;
	} rows[] = {
		{ "3", "bad%20name%0A", MOR_GRPC_INVALID_ARGUMENT, MORTISE_EREMOTE,
		  "INVALID_ARGUMENT: bad name\\x0a" },
		{ "12", "", MOR_GRPC_UNIMPLEMENTED, MORTISE_EUNSUPPORTED, "UNIMPLEMENTED" },
		{ "4", "late", MOR_GRPC_DEADLINE_EXCEEDED, MORTISE_ETIMEOUT, "DEADLINE_EXCEEDED: late" },
		{ "77", "odd", 77, MORTISE_EREMOTE, "status 77: odd" },
		{ "x", "odd", MOR_GRPC_UNKNOWN, MORTISE_EPROTO, "grpc-status \"x\"" },
	};

	(void)state;
	for (size_t i = 0; i < 2 * sizeof(rows) / sizeof(rows[0]); i++) {
		const char *const fields[] = { ":status",
					       "200",
					       "content-type",
					       "application/grpc+proto",
					       "grpc-status",
					       rows[i / 2].status,
					       "grpc-message",
					       rows[i / 2].message,
					       NULL };
		struct heard heard = { 0 };

		set_up(0, true);
		begin(&heard, METHOD, 0);
		mor_grpc_finish(heard.call);
		settle();
		if (i % 2) {
			answer_only(1, fields); /* "trailers-only" */
		} else {
			answer(1, plain_fields);
			body_message(1, "part");
			body_end(1, fields + 4);
		}
		settle();
		expect_end(&heard, rows[i / 2].number, rows[i / 2].code, rows[i / 2].text);
		if (rows[i / 2].code == MORTISE_EREMOTE)
			assert_int_equal(heard.err.rpc_code, rows[i / 2].number);
		expect_messages(&heard, i % 2 ? "" : "part|");
		assert_int_equal(stream_of(1)->reset, 0);
		tear_down();
	}
}

static void test_reset(void **state)
{
	static const struct {
		uint32_t error;
		unsigned status;
		const char *text;
	} rows[] = {
		{ NGHTTP2_CANCEL, MOR_GRPC_CANCELLED, "broke the call \"/t.T/Do\" off: CANCEL" },
		{ NGHTTP2_REFUSED_STREAM, MOR_GRPC_UNAVAILABLE, "REFUSED_STREAM" },
		{ NGHTTP2_ENHANCE_YOUR_CALM, MOR_GRPC_RESOURCE_EXHAUSTED, "ENHANCE_YOUR_CALM" },
		{ NGHTTP2_INTERNAL_ERROR, MOR_GRPC_INTERNAL, "INTERNAL_ERROR" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct heard heard = { 0 };

		set_up(0, true);
		begin(&heard, METHOD, 0);
		settle();
		nghttp2_submit_rst_stream(rig.server, NGHTTP2_FLAG_NONE, 1, rows[i].error);
		settle();
		expect_end(&heard, rows[i].status, MORTISE_EREMOTE, rows[i].text);
		assert_int_equal(stream_of(1)->reset, 0); /* a reset is not answered with one */
		tear_down();
	}
}

static void test_half_message(void **state)
{
	struct heard heard = { 0 };

	(void)state;
	set_up(0, true);
	begin(&heard, METHOD, 0);
	settle();
	answer(1, plain_fields);
	body_message(1, "whole");
	body_add(1, "\0\0\0\0\5hal", 8);
	body_end(1, good_trailers);
	settle();
	expect_messages(&heard, "whole|");
	expect_end(&heard, MOR_GRPC_INTERNAL, MORTISE_EPROTO, "inside a message");
	tear_down();
}

/* ---- streams ---- */

static void test_server_stream(void **state)
{
	struct heard heard = { 0 };

	(void)state;
	set_up(0, true);
	begin(&heard, METHOD, 0);
	assert_int_equal(mor_grpc_send(heard.call, MOR_SLICE("list")), 0);
	mor_grpc_finish(heard.call);
	assert_int_equal(mor_grpc_send(heard.call, MOR_SLICE("more")), MORTISE_EINVAL);
	settle();
	answer(1, plain_fields);
	settle();
	body_add(1, "\0\0", 2); /* a prefix in two pieces */
	settle();
	body_add(1, "\0\0\1a", 4);
	settle();
	expect_messages(&heard, "a|");
	body_message(1, "");
	body_message(1, "bc");
	settle();
	expect_messages(&heard, "|bc|");
	body_end(1, good_trailers);
	settle();
	expect_messages(&heard, "");
	expect_end(&heard, MOR_GRPC_OK, 0, "");
	tear_down();
}

static void test_both_ways(void **state)
{
	struct heard heard = { 0 };

	(void)state;
	set_up(0, true);
	begin(&heard, METHOD, 0);
	settle();
	answer(1, plain_fields);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(mor_grpc_send(heard.call, MOR_SLICE("ping")), 0);
		settle();
		body_message(1, "pong");
		settle();
		expect_messages(&heard, "pong|");
		assert_int_equal(heard.drained, i + 1);
	}
	expect_got(1, (const char *[]){ "ping", "ping", "ping", NULL });
	mor_grpc_finish(heard.call);
	mor_grpc_finish(heard.call);
	settle();
	assert_true(stream_of(1)->got_end);
	body_end(1, good_trailers);
	settle();
	expect_end(&heard, MOR_GRPC_OK, 0, "");
	tear_down();
}

/* The server is done before we are: the rest is not wanted. */
static void test_early_answer(void **state)
{
	struct heard heard = { 0 };

	(void)state;
	set_up(0, true);
	begin(&heard, METHOD, 0);
	settle();
	answer_well(1, "enough");
	settle();
	expect_messages(&heard, "enough|");
	expect_end(&heard, MOR_GRPC_OK, 0, "");
	assert_int_equal(stream_of(1)->reset, NGHTTP2_NO_ERROR + 1);
	tear_down();
}

static void test_many_calls(void **state)
{
	struct heard heard[PEER_STREAMS] = { 0 };

	(void)state;
	set_up(0, true);
	for (int i = 0; i < PEER_STREAMS; i++) {
		begin(&heard[i], METHOD, 0);
		mor_grpc_finish(heard[i].call);
	}
	settle();
	for (int i = PEER_STREAMS - 1; i >= 0; i--)
		answer_well(2 * i + 1, (char[]){ (char)('a' + i), '\0' });
	settle();
	for (int i = 0; i < PEER_STREAMS; i++) {
		expect_messages(&heard[i], (char[]){ (char)('a' + i), '|', '\0' });
		expect_end(&heard[i], MOR_GRPC_OK, 0, "");
	}
	tear_down();
}

/* ---- deadline and cancel ---- */

static void test_deadline(void **state)
{
	struct heard heard = { 0 };

	(void)state;
	set_up(0, true);
	begin(&heard, METHOD, 2000);
	settle();
	answer(1, plain_fields);
	body_add(1, "\0\0\0\0\5hal", 8);
	settle();
	mor_loop_advance(rig.loop, 1999);
	settle();
	assert_int_equal(heard.ends, 0);
	mor_loop_advance(rig.loop, 1);
	settle();
	expect_end(&heard, MOR_GRPC_DEADLINE_EXCEEDED, MORTISE_ETIMEOUT, "no reply to \"/t.T/Do\" in 2 s");
	assert_int_equal(stream_of(1)->reset, NGHTTP2_CANCEL + 1);
	tear_down();
}

/* A server that takes nothing and says nothing: the call ends, and so does one that never left. */
static void test_deadline_stalled(void **state)
{
	struct heard heard = { 0 }, waiting = { 0 };
	char *big = calloc(1, MESSAGE_MAX);

	(void)state;
	set_up(0, true);
	settle();
	rig.stalled = true;
	begin(&heard, METHOD, 1000);
	assert_int_equal(mor_grpc_send(heard.call, (struct mor_slice){ big, MESSAGE_MAX }), 0);
	begin(&waiting, METHOD, 500);
	settle();
	assert_int_equal(mor_grpc_send(heard.call, (struct mor_slice){ big, QUEUE_MAX }), MORTISE_EOVERLOAD);
	mor_loop_advance(rig.loop, 1000);
	expect_end(&waiting, MOR_GRPC_DEADLINE_EXCEEDED, MORTISE_ETIMEOUT, "500 ms");
	expect_end(&heard, MOR_GRPC_DEADLINE_EXCEEDED, MORTISE_ETIMEOUT, "1 s");
	rig.stalled = false;
	settle();
	assert_true(stream_of(1)->got.len < MESSAGE_MAX);
	assert_int_equal(stream_of(1)->reset, NGHTTP2_CANCEL + 1);
	free(big);
	tear_down();
}

static void test_cancel(void **state)
{
	struct heard heard = { .cancel_at_once = true };

	(void)state;
	set_up(0, true);
	begin(&heard, METHOD, 0);
	settle();
	answer(1, plain_fields);
	body_message(1, "a");
	body_message(1, "b"); /* is dropped */
	settle();
	expect_messages(&heard, "a|");
	expect_end(&heard, MOR_GRPC_CANCELLED, MORTISE_ECANCELED, "call was cancelled");
	assert_int_equal(stream_of(1)->reset, NGHTTP2_CANCEL + 1);

	heard = (struct heard){ 0 };
	begin(&heard, METHOD, 0); /* one that the server has not heard of */
	mor_grpc_cancel(heard.call);
	mor_grpc_cancel(heard.call);
	assert_int_equal(mor_grpc_send(heard.call, MOR_SLICE("x")), MORTISE_ECLOSED);
	assert_int_equal(heard.ends, 0); /* never from inside */
	settle();
	expect_end(&heard, MOR_GRPC_CANCELLED, MORTISE_ECANCELED, "call was cancelled");
	tear_down();
}

/* ---- flow control ---- */

static void test_pause(void **state)
{
	struct heard heard = { .pause_at_once = true }, other = { 0 };
	char text[60001];

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	set_up(0, true);
	begin(&heard, METHOD, 0);
	begin(&other, METHOD, 0);
	settle();
	answer(1, plain_fields);
	for (unsigned i = 0; i < 10; i++)
		body_message(1, text);
	body_end(1, good_trailers);
	settle();
	assert_int_equal(heard.count, 1);
	/* One window has come, the rest waits at the server; the other call is not held up. */
	assert_true(stream_of(1)->body_done <= 300 * 1024);
	answer_well(3, "quick");
	settle();
	expect_messages(&other, "quick|");
	for (unsigned i = 1; i < 10; i++) {
		assert_int_equal(heard.count, i);
		assert_int_equal(heard.ends, 0);
		mor_grpc_pause(heard.call, false);
		settle();
	}
	assert_int_equal(heard.count, 10);
	assert_int_equal(heard.ends, 0);
	mor_grpc_pause(heard.call, false);
	settle();
	expect_end(&heard, MOR_GRPC_OK, 0, "");
	forget(&heard);
	tear_down();
}

static void test_pause_deadline(void **state)
{
	struct heard heard = { .pause_at_once = true };

	(void)state;
	set_up(0, true);
	begin(&heard, METHOD, 100);
	settle();
	answer(1, plain_fields);
	body_message(1, "a");
	body_message(1, "b");
	settle();
	mor_loop_advance(rig.loop, 100);
	settle();
	expect_messages(&heard, "a|");
	expect_end(&heard, MOR_GRPC_DEADLINE_EXCEEDED, MORTISE_ETIMEOUT, "100 ms");
	tear_down();
}

/* More small messages than one dispatch hands on: nothing is lost, and the others have a turn between. */
static void test_many_messages(void **state)
{
	struct heard heard = { 0 };

	(void)state;
	set_up(0, true);
	begin(&heard, METHOD, 0);
	settle();
	answer(1, plain_fields);
	for (unsigned i = 0; i < 20000; i++)
		body_message(1, "");
	body_end(1, good_trailers);
	settle();
	assert_int_equal(heard.count, 20000);
	expect_end(&heard, MOR_GRPC_OK, 0, "");
	forget(&heard);
	tear_down();
}

static void test_big(void **state)
{
	struct heard heard = { 0 };
	char *big = malloc(MESSAGE_MAX + 1);

	(void)state;
	memset(big, 'x', MESSAGE_MAX);
	big[MESSAGE_MAX] = '\0';
	set_up(0, true);
	begin(&heard, METHOD, 0);
	assert_int_equal(mor_grpc_send(heard.call, (struct mor_slice){ big, MESSAGE_MAX }), 0);
	mor_grpc_finish(heard.call);
	settle();
	assert_int_equal(stream_of(1)->got.len, MESSAGE_MAX + 5);
	answer_well(1, big);
	settle();
	expect_messages(&heard, "1048576|");
	expect_end(&heard, MOR_GRPC_OK, 0, "");
	free(big);
	tear_down();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_unary),         MOR_TEST(test_unary_counts), MOR_TEST(test_refused_before),
		MOR_TEST(test_remote_error),  MOR_TEST(test_reset),        MOR_TEST(test_half_message),
		MOR_TEST(test_server_stream), MOR_TEST(test_both_ways),    MOR_TEST(test_early_answer),
		MOR_TEST(test_many_calls),    MOR_TEST(test_deadline),     MOR_TEST(test_deadline_stalled),
		MOR_TEST(test_cancel),        MOR_TEST(test_pause),        MOR_TEST(test_pause_deadline),
		MOR_TEST(test_many_messages), MOR_TEST(test_big),
	};

	return mor_run_group("grpc/call", tests);
}
