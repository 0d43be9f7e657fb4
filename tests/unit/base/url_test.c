/* SPDX-License-Identifier: Apache-2.0 */
#include "leak.h"

#include <string.h>

#include "base/url.h"

static void expect_url(const char *text, bool tls, const char *authority, const char *target)
{
	struct mor_url url;
	char shown[MOR_URL_AUTHORITY];
	const char *wrong = mor_url_parse(text, &url);

	if (wrong)
		fail_msg("%s: %s", text, wrong);
	assert_int_equal(url.tls, tls);
	assert_string_equal(mor_url_authority(&url, shown), authority);
	assert_string_equal(url.target, target);
}

static void test_parts(void **state)
{
	(void)state;
	expect_url("ws://127.0.0.1:8080", false, "127.0.0.1:8080", "/");
	expect_url("wss://bot.example.org/onebot/v11/ws", true, "bot.example.org:443", "/onebot/v11/ws");
	expect_url("ws://localhost", false, "localhost:80", "/");
	expect_url("ws://[::1]:1/x?access_token=a%20b", false, "[::1]:1", "/x?access_token=a%20b");
	expect_url("wss://[fe80::1%eth0]", true, "[fe80::1%eth0]:443", "/");
	expect_url("ws://a_b-c.d?x=1", false, "a_b-c.d:80", "/?x=1");
}

static void test_token_is_not_shown(void **state)
{
	struct mor_url url;
	char shown[MOR_URL_SHOWN];

	(void)state;
	assert_null(mor_url_parse("wss://host/path?access_token=secret", &url));
	assert_string_equal(mor_url_show(&url, shown), "wss://host:443/path");
}

static void test_faults(void **state)
{
	static const char *const bad[] = {
		"",
		"http://x",
		"ws:/x",
		"WS://x",
		"ws://",
		"ws:///x",
		"ws://:80",
		"ws://x:",
		"ws://x:0",
		"ws://x:65536",
		"ws://x:8a",
		"ws://[::1",
		"ws://[]",
		"ws://[::1]x",
		"ws://me:pw@x",
		"ws://x/#y",
		"ws://x/a b",
		"ws://x\r\nY: z",
		"ws://x/\r\nY: z",
		"ws://x/\xc3\xa9",
		"ws://\xc3\xa9",
	};
	static char longest[4096];
	struct mor_url url;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (!mor_url_parse(bad[i], &url))
			fail_msg("%s is taken", bad[i]);
	memset(longest, 'x', sizeof(longest) - 1);
	memcpy(longest, "ws://", 5);
	assert_non_null(mor_url_parse(longest, &url));
	longest[10] = '/';
	assert_non_null(mor_url_parse(longest, &url));
	longest[10 + MOR_URL_TARGET - 2] = '\0';
	assert_null(mor_url_parse(longest, &url));
	assert_int_equal(strlen(url.target), MOR_URL_TARGET - 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = { MOR_TEST(test_parts), MOR_TEST(test_token_is_not_shown),
					    MOR_TEST(test_faults) };

	return mor_run_group("base/url", tests);
}
