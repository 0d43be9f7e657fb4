/* SPDX-License-Identifier: Apache-2.0 */
/* Connections over the loopback: both ends on one loop, and a raw socket where an end is to misbehave. */
#include "leak.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "wsock/conn.h"

struct end {
	struct mor_ws *ws;
	unsigned opened, closed, messages;
	char last[64], why[256];
};

static struct {
	struct mor_loop *loop;
	struct mor_ws_server *server;
	struct mor_url url;
	struct end client, guest;
	char refused[256];
	int verdict; /* of judge */
	bool free_in_message;
} t;

static void on_opened(struct mor_ws *ws)
{
	((struct end *)mor_ws_arg(ws))->opened++;
}

static void on_message(struct mor_ws *ws, struct mor_slice text)
{
	struct end *end = mor_ws_arg(ws);

	end->messages++;
	snprintf(end->last, sizeof(end->last), "%.*s", (int)(text.len < 60 ? text.len : 60), text.ptr);
	if (t.free_in_message) {
		mor_ws_free(ws);
		end->ws = NULL;
	}
}

static void on_binary(struct mor_ws *ws, size_t len)
{
	snprintf(((struct end *)mor_ws_arg(ws))->last, 64, "binary %zu", len);
}

static void on_closed(struct mor_ws *ws, const char *why)
{
	struct end *end = mor_ws_arg(ws);

	end->closed++;
	snprintf(end->why, sizeof(end->why), "%s", why);
	mor_ws_free(ws);
	end->ws = NULL;
}

static const struct mor_ws_handler handler = { on_opened, on_message, on_binary, on_closed };

static int judge(struct mor_ws_server *server, const struct mor_http *head, const char *from, void **ret_arg)
{
	assert_ptr_equal(mor_ws_server_arg(server), &t);
	assert_non_null(strstr(from, "127.0.0.1 port "));
	if (t.verdict)
		return t.verdict;
	assert_true(mor_slice_is(mor_http_path(head), "/x"));
	*ret_arg = &t.guest;
	return 0;
}

static void on_accepted(struct mor_ws *ws)
{
	t.guest.ws = ws;
}

static void on_refused(struct mor_ws_server *server, const char *from, const char *why)
{
	(void)server;
	(void)from;
	snprintf(t.refused, sizeof(t.refused), "%s", why);
}

/* clang-format off */
#define OPTIONS(end, ping) { .handler = &handler, .arg = end, .limit = 100000, .ping_ms = ping }
/* clang-format on */

static void set_up(uint32_t ping_ms)
{
	struct mor_url url;
	struct mor_ws_server_options options = {
		.url = &url,
		.most = 4,
		.connection = OPTIONS(NULL, ping_ms),
		.judge = judge,
		.accepted = on_accepted,
		.refused = on_refused,
		.arg = &t,
	};
	struct sockaddr_in at;
	socklen_t len = sizeof(at);
	mortise_error err = { 0 };

	memset(&t, 0, sizeof(t));
	assert_null(mor_url_parse("ws://127.0.0.1:1/x", &url));
	url.port = 0; /* any */
	assert_int_equal(mor_loop_new(0, &t.loop), 0);
	if (mor_ws_listen(t.loop, &options, &t.server, &err) < 0)
		fail_msg("%s", err.text);
	t.url = url;
	assert_int_equal(getsockname(t.server->doors[0].fd, (struct sockaddr *)&at, &len), 0);
	t.url.port = ntohs(at.sin_port);
}

static void tear_down(void)
{
	mor_ws_free(t.client.ws);
	mor_ws_free(t.guest.ws);
	mor_ws_server_free(t.server);
	mor_loop_dispatch(t.loop);
	mor_loop_free(t.loop);
}

static void connect_client(uint32_t ping_ms)
{
	struct mor_ws_options options = OPTIONS(&t.client, ping_ms);

	assert_int_equal(mor_ws_connect(t.loop, &t.url, NULL, NULL, &options, &t.client.ws), 0);
}

#define UNTIL(condition) \
	do \
		mor_loop_wait(t.loop, 10000); \
	while (!(condition))

static void test_talk(void **state)
{
	(void)state;
	set_up(10000);
	connect_client(10000);
	UNTIL(t.client.opened && t.guest.opened);
	assert_int_equal(mor_ws_send(t.client.ws, MOR_SLICE("hello")), 0);
	UNTIL(t.guest.messages);
	assert_string_equal(t.guest.last, "hello");
	assert_int_equal(mor_ws_send(t.guest.ws, MOR_SLICE("you too")), 0);
	UNTIL(t.client.messages);
	assert_string_equal(t.client.last, "you too");
	mor_ws_close(t.guest.ws, 1001, "bye");
	UNTIL(t.client.closed && t.guest.closed);
	assert_string_equal(t.client.why, "it closed the connection (1001 going away: bye)");
	assert_string_equal(t.guest.why, "we closed it");
	tear_down();
}

/* Far more than a socket holds: it goes out as it is taken, and a reader that pauses is not given more. */
static void test_much(void **state)
{
	static char text[90000];

	(void)state;
	memset(text, 'x', sizeof(text));
	set_up(10000);
	connect_client(10000);
	UNTIL(t.client.opened && t.guest.opened);
	mor_ws_pause(t.guest.ws, true);
	for (int i = 0; i < 200; i++)
		assert_int_equal(mor_ws_send(t.client.ws, (struct mor_slice){ text, sizeof(text) }), 0);
	for (int i = 0; i < 50; i++)
		mor_loop_dispatch(t.loop);
	assert_int_equal(t.guest.messages, 0);
	assert_true(mor_ws_waiting(t.client.ws) > 1000000);
	mor_ws_pause(t.guest.ws, false);
	UNTIL(t.guest.messages == 200);
	assert_int_equal(mor_ws_waiting(t.client.ws), 0);
	tear_down();
}

static void test_freed_in_a_callback(void **state)
{
	(void)state;
	set_up(10000);
	connect_client(10000);
	UNTIL(t.client.opened && t.guest.opened);
	t.free_in_message = true;
	for (int i = 0; i < 3; i++)
		assert_int_equal(mor_ws_send(t.client.ws, MOR_SLICE("x")), 0);
	UNTIL(t.client.closed);
	assert_int_equal(t.guest.messages, 1);
	assert_int_equal(t.guest.closed, 0);
	assert_string_equal(t.client.why, "the connection was lost");
	tear_down();
}

static void test_refused(void **state)
{
	(void)state;
	set_up(10000);
	t.verdict = 403;
	connect_client(10000);
	UNTIL(t.client.closed && *t.refused);
	assert_int_equal(t.client.opened, 0);
	assert_string_equal(t.client.why, "it refuses the access token (HTTP 403)");
	assert_string_equal(t.refused, "its access token is wrong (refused with 403)");
	tear_down();
}

static void test_nobody_there(void **state)
{
	(void)state;
	set_up(10000);
	mor_ws_server_free(t.server);
	t.server = NULL;
	connect_client(10000);
	UNTIL(t.client.closed);
	assert_string_equal(t.client.why, "Connection refused");
	tear_down();
}

static void test_no_such_name(void **state)
{
	(void)state;
	set_up(10000);
	snprintf(t.url.host, sizeof(t.url.host), "no-such-host.invalid");
	connect_client(10000);
	UNTIL(t.client.closed);
	assert_non_null(strstr(t.client.why, "no-such-host.invalid: "));
	tear_down();
}

static void test_by_name(void **state)
{
	(void)state;
	set_up(10000);
	snprintf(t.url.host, sizeof(t.url.host), "localhost"); /* ::1 may come first, where nobody listens */
	connect_client(10000);
	UNTIL(t.client.opened || t.client.closed);
	assert_string_equal(t.client.why, "");
	tear_down();
}

/* ---- raw peers ---- */

static int raw_connect(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_port = htons(t.url.port),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static void raw_send(int fd, const char *text, size_t len)
{
	assert_int_equal(send(fd, text, len, MSG_NOSIGNAL), len);
}

#define HELLO \
	"GET /x HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" \
	"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n" \
	"Sec-WebSocket-Version: 13\r\n\r\n"
#define MASKED_HI "\x81\x82\x00\x00\x00\x00hi"

/* The head in single bytes, the first frame right behind it. */
static void test_in_pieces(void **state)
{
	static const char bytes[] = HELLO MASKED_HI MASKED_HI;
	int fd;

	(void)state;
	set_up(10000);
	fd = raw_connect();
	for (size_t i = 0; i < sizeof(bytes) - 1; i++) {
		raw_send(fd, bytes + i, 1);
		mor_loop_wait(t.loop, 0);
	}
	UNTIL(t.guest.messages == 2);
	assert_string_equal(t.guest.last, "hi");
	shutdown(fd, SHUT_WR);
	UNTIL(t.guest.closed);
	assert_string_equal(t.guest.why, "the connection was lost");
	close(fd);
	tear_down();
}

/* A whole flood at once, then the end: all of it is delivered before that is told. */
static void test_nothing_is_lost_at_the_end(void **state)
{
	struct mor_buf bytes = MOR_BUF_INIT;
	int fd;

	(void)state;
	set_up(10000);
	fd = raw_connect();
	mor_buf_append(&bytes, HELLO, sizeof(HELLO) - 1);
	for (int i = 0; i < 20000; i++)
		mor_buf_append(&bytes, MASKED_HI, sizeof(MASKED_HI) - 1);
	raw_send(fd, bytes.data, bytes.len);
	shutdown(fd, SHUT_WR);
	UNTIL(t.guest.closed);
	close(fd);
	assert_int_equal(t.guest.messages, 20000);
	mor_buf_fini(&bytes);
	tear_down();
}

static void test_rubbish(void **state)
{
	static const char long_head[20000] = "GET /x HTTP/1.1\r\nA: ";
	static const struct {
		const char *bytes;
		size_t len;
		const char *why;
	} cases[] = {
		{ "\x16\x03\x01\x00\xa5\r\n\r\n", 9, "not an HTTP/1.1 request (refused with 400)" },
		{ "GET / HTTP/1.1\r\nHost: x\r\n\r\n", 27, "not a WebSocket handshake (refused with 426)" },
		{ long_head, sizeof(long_head), "its handshake is too long" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int fd;

		set_up(10000);
		fd = raw_connect();
		raw_send(fd, cases[i].bytes, cases[i].len);
		UNTIL(*t.refused);
		if (!strstr(t.refused, cases[i].why))
			fail_msg("%s, not %s", t.refused, cases[i].why);
		close(fd);
		tear_down();
	}
}

/* Pings are answered, so a peer that is silent but there stays; one that does not answer is dropped. */
static void test_silence(void **state)
{
	int fd;

	(void)state;
	set_up(20);
	connect_client(10000);
	UNTIL(t.client.opened && t.guest.opened);
	for (int i = 0; i < 20; i++)
		mor_loop_wait(t.loop, 10);
	assert_int_equal(t.guest.closed, 0);
	mor_ws_free(t.client.ws);
	t.client.ws = NULL;
	UNTIL(t.guest.closed);
	memset(&t.guest, 0, sizeof(t.guest));
	fd = raw_connect();
	raw_send(fd, HELLO, sizeof(HELLO) - 1);
	UNTIL(t.guest.closed);
	assert_non_null(strstr(t.guest.why, "no sign of life for "));
	close(fd);
	tear_down();
}

/* A server that goes while handshakes are under way, and more than may be at a time. */
static void test_many_young(void **state)
{
	int fds[10];

	(void)state;
	set_up(10000);
	for (int i = 0; i < 10; i++)
		fds[i] = raw_connect();
	for (int i = 0; i < 10; i++)
		mor_loop_wait(t.loop, 0);
	raw_send(fds[9], HELLO MASKED_HI, sizeof(HELLO MASKED_HI) - 1);
	for (int i = 0; i < 10; i++)
		mor_loop_wait(t.loop, 0);
	assert_int_equal(t.guest.messages, 0); /* waits until others have gone */
	for (int i = 0; i < 9; i++)
		close(fds[i]);
	UNTIL(t.guest.messages);
	close(fds[9]);
	tear_down();
}

/* Whichever allocation of ours fails: both ends come to rest, and nothing is left. */
static void test_allocations(void **state)
{
	bool done = false;

	(void)state;
	for (long n = 0; !done; n++) {
		struct mor_ws_options options = OPTIONS(&t.client, 10000);

		assert_true(n < 500);
		set_up(10000);
		mor_loop_dispatch(t.loop);
		mor_alloc_fail_after(n);
		if (mor_ws_connect(t.loop, &t.url, "token", NULL, &options, &t.client.ws) == 0)
			UNTIL((t.client.opened && t.guest.opened) || t.client.closed || *t.refused);
		if (t.client.opened && t.guest.opened && mor_ws_send(t.client.ws, MOR_SLICE("x")) == 0)
			UNTIL(t.guest.messages || t.guest.closed || t.client.closed);
		done = t.guest.messages;
		mor_alloc_fail_after(-1);
		tear_down();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_talk),
		MOR_TEST(test_much),
		MOR_TEST(test_freed_in_a_callback),
		MOR_TEST(test_refused),
		MOR_TEST(test_nobody_there),
		MOR_TEST(test_no_such_name),
		MOR_TEST(test_by_name),
		MOR_TEST(test_in_pieces),
		MOR_TEST(test_nothing_is_lost_at_the_end),
		MOR_TEST(test_rubbish),
		MOR_TEST(test_silence),
		MOR_TEST(test_many_young),
		MOR_TEST(test_allocations),
	};

	return mor_run_group("wsock/conn", tests);
}
