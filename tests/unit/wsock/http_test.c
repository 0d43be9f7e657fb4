/* SPDX-License-Identifier: Apache-2.0 */
/* The handshake of a WebSocket. */
#include "leak.h"

#include <string.h>

#include "wsock/inside.h"

#define GOOD_HEADERS \
	"Host: x\r\nupgrade: WebSocket\r\nConnection: keep-alive, Upgrade\r\n" \
	"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"

/* The example of RFC 6455. */
static void test_accept(void **state)
{
	char accept[MOR_WS_ACCEPT];

	(void)state;
	mor_http_accept(MOR_SLICE("dGhlIHNhbXBsZSBub25jZQ=="), accept);
	assert_string_equal(accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

static void test_end(void **state)
{
	(void)state;
	assert_int_equal(mor_http_end(MOR_SLICE("")), 0);
	assert_int_equal(mor_http_end(MOR_SLICE("GET / HTTP/1.1\r\nA: b\r\n\r")), 0);
	assert_int_equal(mor_http_end(MOR_SLICE("A\r\n\r\n\x81\x01")), 5);
}

static void test_request(void **state)
{
	struct mor_http http;
	const char *wrong;

	(void)state;
	assert_null(
		mor_http_parse_request(MOR_SLICE(
					       "GET /onebot/v11/ws?access_token=a%20b HTTP/1.1\r\n" GOOD_HEADERS
					       "X-Self-ID:  10001 \r\n\r\n"),
				       &http));
	assert_true(mor_slice_is(mor_http_path(&http), "/onebot/v11/ws"));
	assert_true(mor_slice_is(mor_http_query(&http), "access_token=a%20b"));
	assert_true(mor_slice_is(mor_http_header(&http, "x-self-id"), "10001"));
	assert_null(mor_http_header(&http, "x-self").ptr);
	assert_int_equal(mor_http_check_request(&http, &wrong), 0);
}

static void test_requests_that_are_refused(void **state)
{
	static const struct {
		const char *text;
		int status;
	} cases[] = {
		{ "POST / HTTP/1.1\r\n" GOOD_HEADERS "\r\n", 405 },
		{ "GET / HTTP/1.1\r\nHost: x\r\n\r\n", 426 },
		{ "GET / HTTP/1.1\r\nUpgrade: websocket\r\nConnection: close\r\n\r\n", 426 },
		{ "GET / HTTP/1.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: "
		  "8\r\n\r\n",
		  426 },
		{ "GET / HTTP/1.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: "
		  "13\r\nSec-WebSocket-Key: short\r\n\r\n",
		  400 },
	};
	static const char *const broken[] = {
		"\r\n\r\n",
		"GET\r\n\r\n",
		"GET /\r\n\r\n",
		"GET / HTTP/1.0\r\n\r\n",
		"GET  HTTP/1.1\r\n\r\n",
		"GET / HTTP/1.1\r\nno colon\r\n\r\n",
		"GET / HTTP/1.1\r\n: x\r\n\r\n",
		"GET / HTTP/1.1\r\na b: x\r\n\r\n",
		"GET / HTTP/1.1\r\nA: x\x01\r\n\r\n",
		"GET /\x7f HTTP/1.1\r\n\r\n",
		"GET / HTTP/1.1\r\n folded: x\r\n\r\n",
	};
	struct mor_http http;
	const char *wrong = NULL;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_null(mor_http_parse_request(mor_slice_of(cases[i].text), &http));
		assert_int_equal(mor_http_check_request(&http, &wrong), cases[i].status);
		assert_non_null(wrong);
	}
	for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++)
		if (!mor_http_parse_request(mor_slice_of(broken[i]), &http))
			fail_msg("taken: %s", broken[i]);
}

static void test_too_many_headers(void **state)
{
	struct mor_buf text = MOR_BUF_INIT;
	struct mor_http http;

	(void)state;
	mor_buf_text(&text, "GET / HTTP/1.1\r\n");
	for (int i = 0; i <= MOR_HTTP_HEADERS; i++)
		mor_buf_text(&text, "A: b\r\n");
	assert_non_null(mor_http_parse_request(mor_buf_view(&text), &http));
	mor_buf_fini(&text);
}

/* What one side writes the other takes. */
static void test_both_sides(void **state)
{
	struct mor_buf request = MOR_BUF_INIT, response = MOR_BUF_INIT;
	struct mor_http http;
	struct mor_url url;
	const char *wrong;

	(void)state;
	assert_null(mor_url_parse("ws://[::1]:3001/a?b", &url));
	assert_int_equal(mor_http_write_request(&url, "secret", "dGhlIHNhbXBsZSBub25jZQ==", &request), 0);
	assert_int_equal(mor_http_end(mor_buf_view(&request)), request.len);
	assert_null(mor_http_parse_request(mor_buf_view(&request), &http));
	assert_int_equal(mor_http_check_request(&http, &wrong), 0);
	assert_true(mor_slice_is(mor_http_header(&http, "Host"), "[::1]:3001"));
	assert_true(mor_slice_is(mor_http_header(&http, "Authorization"), "Bearer secret"));
	assert_int_equal(mor_http_write_response(&http, &response), 0);
	assert_null(mor_http_parse_response(mor_buf_view(&response), &http));
	assert_null(mor_http_check_response(&http, "dGhlIHNhbXBsZSBub25jZQ=="));
	assert_non_null(mor_http_check_response(&http, "another key"));
	mor_buf_fini(&request);
	mor_buf_fini(&response);
}

static void expect_response(const char *text, const char *wanted)
{
	struct mor_http http;
	const char *wrong = mor_http_parse_response(mor_slice_of(text), &http);

	if (!wrong)
		wrong = mor_http_check_response(&http, "dGhlIHNhbXBsZSBub25jZQ==");
	if (!wrong || !strstr(wrong, wanted))
		fail_msg("%s: %s, not %s", text, wrong ? wrong : "taken", wanted);
}

#define AGREES \
	"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" \
	"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"

static void test_responses(void **state)
{
	(void)state;
	expect_response("SSH-2.0-OpenSSH\r\n\r\n", "not HTTP");
	expect_response("HTTP/1.1 9\r\n\r\n", "not HTTP");
	expect_response("HTTP/2 101\r\n\r\n", "not HTTP");
	expect_response("HTTP/1.1 401 Unauthorized\r\n\r\n", "refuses the access token");
	expect_response("HTTP/1.1 403 Forbidden\r\n\r\n", "refuses the access token");
	expect_response("HTTP/1.1 404 Not Found\r\n\r\n", "no such path");
	expect_response("HTTP/1.1 302 Found\r\nLocation: /x\r\n\r\n", "redirect");
	expect_response("HTTP/1.1 200 OK\r\n\r\n", "as a web server");
	expect_response("HTTP/1.1 101 Yes\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
			"not that of a WebSocket");
	expect_response(AGREES "Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n", "extension");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_accept),           MOR_TEST(test_end),
		MOR_TEST(test_request),          MOR_TEST(test_requests_that_are_refused),
		MOR_TEST(test_too_many_headers), MOR_TEST(test_both_sides),
		MOR_TEST(test_responses),
	};

	return mor_run_group("wsock/http", tests);
}
