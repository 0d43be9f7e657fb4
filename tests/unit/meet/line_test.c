/* SPDX-License-Identifier: Apache-2.0 */
/* The line with which a plugin says where it listens. */
#include "leak.h"

#include <string.h>

#include "meet/meet.h"

static void expect_line(const char *text, uint32_t app, const char *path)
{
	struct mor_meet_line line;
	mortise_error err = { 0 };

	if (mor_meet_read_line(mor_slice_of(text), &line, &err) < 0)
		fail_msg("%s: %s", text, err.text);
	assert_int_equal(line.app, app);
	assert_string_equal(line.path, path);
}

static void expect_refused(struct mor_slice text, int code, const char *part)
{
	struct mor_meet_line line = { .app = 77 };
	mortise_error err = { 0 };

	assert_int_equal(mor_meet_read_line(text, &line, &err), code);
	if (!strstr(err.text, part))
		fail_msg("%s, not %s", err.text, part);
	assert_int_equal(line.app, 77); /* unchanged */
}

static void test_good(void **state)
{
	(void)state;
	expect_line("1|1|unix|/tmp/plugin123|grpc", 1, "/tmp/plugin123");
	expect_line("1|42|unix|/tmp/a b|grpc\r\n", 42, "/tmp/a b");
	expect_line("  1|0|unix|x|grpc  ", 0, "x");
	expect_line("1|1|unix|/s|grpc|", 1, "/s");       /* no certificate */
	expect_line("1|1|unix|/s|grpc||false", 1, "/s"); /* go-plugin since 1.6 */
}

static void test_not_ours(void **state)
{
	static const struct {
		const char *line, *part;
	} rows[] = {
		{ "1|1|tcp|127.0.0.1:1234|grpc", "listens on \"tcp\", where others could connect" },
		{ "1|1|unix|/s|netrpc", "speaks \"netrpc\"" },
		{ "1|1|unix|/s", "speaks \"netrpc\"" },
		{ "1|1|unix|/s|", "speaks \"\"" },
		{ "1|1|unix|/s|grpc|MIIB", "wants TLS on its unix socket" },
		{ "1|1|unix|/s|grpc||true", "wants to multiplex" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		expect_refused(mor_slice_of(rows[i].line), MORTISE_ETRANSPORT, rows[i].part);
}

static void test_malformed(void **state)
{
	static const struct {
		const char *line, *part;
	} rows[] = {
		{ "", "does not say where it listens" },
		{ "Listening on port 50051",
		  "its first line on stdout, \"Listening on port 50051\", does not say" },
		{ "1|1", "is not understood" },
		{ "1|1|unix", "is not understood" },
		{ "x|1|unix|/s|grpc", "is not understood" },
		{ "1|-1|unix|/s|grpc", "is not understood" },
		{ "1|4294967296|unix|/s|grpc", "is not understood" },
		{ "2|1|unix|/s|grpc", "another version than 1" },
		{ "1|1|unix||grpc", "names a path that is empty" },
		{ "1|1|unix|/s|grpc|||x", "is not understood" },
	};
	char longer[MOR_MEET_LINE + 1], path[200];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		expect_refused(mor_slice_of(rows[i].line), MORTISE_EPROTO, rows[i].part);
	memset(longer, '|', sizeof(longer));
	expect_refused((struct mor_slice){ longer, sizeof(longer) }, MORTISE_EPROTO, "is too long");
	expect_refused((struct mor_slice){ longer, sizeof(longer) - 1 }, MORTISE_EPROTO, "is not understood");
	expect_refused((struct mor_slice){ "1|1|unix|/s\0x|grpc", 18 }, MORTISE_EPROTO, "names a path");
	for (size_t len = 107; len <= 108; len++) {
		struct mor_meet_line line;

		memset(path, 'p', sizeof(path));
		memcpy(path, "1|1|unix|", 9);
		memcpy(path + 9 + len, "|grpc", 5);
		assert_int_equal(mor_meet_read_line((struct mor_slice){ path, 9 + len + 5 }, &line, NULL) == 0,
				 len < 108);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_good),
		MOR_TEST(test_not_ours),
		MOR_TEST(test_malformed),
	};

	return mor_run_group("meet/line", tests);
}
