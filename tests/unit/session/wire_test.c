/* SPDX-License-Identifier: Apache-2.0 */
/* Messages between a command and a keeper, over a socket of our own. */
#include "leak.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/fd.h"
#include "session/inside.h"

struct line {
	struct mor_session_wire wire;
	int other;
};

static void begin(struct line *line)
{
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	mor_session_wire_open_take(&line->wire, pair[0]);
	line->other = pair[1];
}

static void end(struct line *line)
{
	mor_session_wire_close(&line->wire);
	assert_true(line->wire.ended);
	mor_fd_close(&line->other);
}

static void send_bytes(struct line *line, const char *bytes)
{
	assert_int_equal(mor_fd_write_all(line->other, bytes, strlen(bytes)), 0);
	mor_session_wire_fill(&line->wire);
}

static void assert_next(struct line *line, const char *wanted)
{
	struct mor_slice text;

	assert_true(mor_session_wire_next(&line->wire, &text));
	assert_int_equal(text.len, strlen(wanted));
	assert_memory_equal(text.ptr, wanted, text.len);
}

static void assert_none(struct line *line, bool ended)
{
	struct mor_slice text;

	assert_false(mor_session_wire_next(&line->wire, &text));
	assert_int_equal(line->wire.ended, ended);
}

static void test_messages_come_whole_in_any_pieces(void **state)
{
	struct line line;

	(void)state;
	begin(&line);
	assert_none(&line, false);
	send_bytes(&line, "1");
	assert_none(&line, false);
	send_bytes(&line, "0\n{\"a\":");
	assert_none(&line, false);
	send_bytes(&line, "\n\n12}2\n{}4\nnull0\n");
	assert_next(&line, "{\"a\":\n\n12}");
	assert_next(&line, "{}");
	assert_next(&line, "null");
	assert_next(&line, "");
	assert_none(&line, false);
	end(&line);
}

static void test_what_is_no_message_ends_the_connection(void **state)
{
	static const char *const rows[] = {
		"x", "-1\n{}", "\n{}", "99999999999999999999\n{", "2000000000\n{", "{\"op\":\"info\"}\n"
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct line line;

		begin(&line);
		send_bytes(&line, rows[i]);
		assert_none(&line, true);
		assert_none(&line, true);
		end(&line);
	}
}

static void test_the_end(void **state)
{
	struct line line;

	(void)state;
	begin(&line);
	send_bytes(&line, "2\n{}5\n{\"a");
	mor_fd_close(&line.other);
	assert_next(&line, "{}");
	mor_session_wire_fill(&line.wire);
	assert_none(&line, true); /* half a message does not count */
	end(&line);
}

static void test_what_is_put_is_read(void **state)
{
	struct line line;
	char text[32];

	(void)state;
	begin(&line);
	mor_session_wire_put(&line.wire, MOR_SLICE("{\"op\":\n1}"));
	mor_session_wire_put(&line.wire, MOR_SLICE("{}"));
	assert_true(mor_session_wire_flush(&line.wire));
	assert_int_equal(line.wire.out.len, 0);
	assert_int_equal(read(line.other, text, sizeof(text)), 15);
	assert_memory_equal(text, "9\n{\"op\":\n1}2\n{}", 15);
	end(&line);
	mor_session_wire_put(&line.wire, MOR_SLICE("{}")); /* closed: it goes nowhere */
	assert_int_equal(line.wire.out.len, 0);
	assert_false(mor_session_wire_flush(&line.wire));
}

/* More than the socket holds goes out as the other end reads; nothing blocks. */
static void test_a_slow_reader(void **state)
{
	enum { SIZE = 3 << 20 };
	char *big = mor_alloc(SIZE), piece[65536];
	struct line line;
	size_t got = 0;

	(void)state;
	memset(big, 'x', SIZE);
	begin(&line);
	mor_session_wire_put(&line.wire, (struct mor_slice){ big, SIZE });
	assert_true(mor_session_wire_flush(&line.wire));
	assert_true(line.wire.out.len > 0);
	while (got < SIZE + 8) { /* with its length and newline */
		ssize_t n = recv(line.other, piece, sizeof(piece), MSG_DONTWAIT);

		assert_true(n > 0);
		got += (size_t)n;
		assert_true(mor_session_wire_flush(&line.wire));
	}
	assert_int_equal(got, SIZE + 8);
	assert_int_equal(line.wire.out.len, 0);
	mor_session_wire_put(&line.wire, MOR_SLICE("{}"));
	mor_fd_close(&line.other);
	assert_false(mor_session_wire_flush(&line.wire)); /* nobody reads any more; and no SIGPIPE */
	end(&line);
	mor_free(big);
}

static void test_no_memory_ends_the_connection(void **state)
{
	struct line line;

	(void)state;
	begin(&line);
	mor_alloc_fail_after(0);
	send_bytes(&line, "2\n{}");
	mor_alloc_fail_after(-1);
	assert_true(line.wire.ended);
	end(&line);
	begin(&line);
	mor_alloc_fail_after(0);
	mor_session_wire_put(&line.wire, MOR_SLICE("{}"));
	mor_alloc_fail_after(-1);
	assert_false(mor_session_wire_flush(&line.wire)); /* better no connection than half of what was said */
	end(&line);
}

/* ---- a command waits ---- */

static void test_wait(void **state)
{
	struct line line;
	struct mor_slice text;

	(void)state;
	begin(&line);
	mor_session_wire_put(&line.wire, MOR_SLICE("{}"));
	assert_int_equal(mor_session_wire_wait(&line.wire, 0, &text), MORTISE_ETIMEOUT);
	assert_int_equal(line.wire.out.len, 0); /* it was asked before the wait */
	send_bytes(&line, "2\n{}");
	assert_int_equal(mor_session_wire_wait(&line.wire, -1, &text), 0);
	assert_true(mor_slice_is(text, "{}"));
	mor_fd_close(&line.other);
	assert_int_equal(mor_session_wire_wait(&line.wire, -1, &text), MORTISE_ECLOSED);
	assert_int_equal(mor_session_wire_wait(&line.wire, 1000, &text), MORTISE_ECLOSED);
	end(&line);
}

/* ---- errors ---- */

static void test_an_error_arrives_as_it_was(void **state)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	struct mor_writer w = { .out = &json };
	mortise_error given = { 0 }, got;

	(void)state;
	mor_fail_errno(&given, MORTISE_EEXEC, 2, "a \"plugin\"");
	given.rpc_code = -32000;
	mor_w_object(&w);
	mor_session_write_error(&w, &given);
	mor_w_end(&w);
	assert_int_equal(mor_doc_parse(mor_buf_view(&json), 0, 0, &doc, NULL), 0);
	mor_session_read_error(mor_json_get(mor_doc_root(doc), "error"), &got);
	assert_memory_equal(&got, &given, sizeof(got));
	mor_session_read_error(NULL, &got);
	assert_int_equal(got.code, MORTISE_ESYSTEM);
	assert_string_equal(got.text, "the keeper of the session did not say why");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_messages_come_whole_in_any_pieces),
		MOR_TEST(test_what_is_no_message_ends_the_connection),
		MOR_TEST(test_the_end),
		MOR_TEST(test_what_is_put_is_read),
		MOR_TEST(test_a_slow_reader),
		MOR_TEST(test_no_memory_ends_the_connection),
		MOR_TEST(test_wait),
		MOR_TEST(test_an_error_arrives_as_it_was),
	};

	return mor_run_group("session/wire", tests);
}
