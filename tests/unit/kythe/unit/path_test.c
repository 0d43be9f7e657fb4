/* SPDX-License-Identifier: Apache-2.0 */
/* Paths of records: joined with the working directory and cleaned, and `..` of hostile ones. */
#include "leak.h"

#include "base/alloc.h"
#include "base/digest.h"
#include "base/path.h"

static void test_clean(void **state)
{
	static const struct {
		const char *dir, *path, *want;
	} cases[] = {
		{ "", "", "." },
		{ "", "a", "a" },
		{ "", "a/./b/../c", "a/c" },
		{ "", "../x", "../x" },
		{ "", "../../x/..", "../.." },
		{ "", "a/../..", ".." },
		{ "/", "..", "/" },
		{ "/w", "../../x", "/x" },
		{ "/w/d", "a//b/", "/w/d/a/b" },
		{ "/w", "/usr/./include", "/usr/include" },
		{ "w", "../../x", "../x" },
		{ "", "//a", "/a" },
		{ "", "...", "..." },
		{ "", "a/..", "." },
		{ "/w", "", "/w" },
		{ "", "/", "/" },
		{ "..", "..", "../.." },
		{ "", "..a/../b", "b" },
		{ "", "./..", ".." },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct mor_buf out = MOR_BUF_INIT;
		char *got;

		assert_int_equal(mor_path_clean(cases[i].dir, cases[i].path, &out), 0);
		got = mor_buf_detach(&out);
		assert_string_equal(got, cases[i].want);
		mor_free(got);
	}
}

static void test_clean_appends(void **state)
{
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;

	(void)state;
	mor_buf_text(&out, "keep/");
	assert_int_equal(mor_path_clean("", "../a/../..", &out), 0);
	mor_buf_byte(&out, '\0');
	assert_string_equal(out.data, "keep/../..");
}

static void test_below(void **state)
{
	(void)state;
	assert_string_equal(mor_path_below("/w", "/w/a/b"), "a/b");
	assert_null(mor_path_below("/w", "/w"));
	assert_null(mor_path_below("/w", "/ww/a"));
	assert_null(mor_path_below("/w", "a"));
	assert_string_equal(mor_path_below("/", "/a"), "a");
	assert_null(mor_path_below("/", "/"));
	assert_string_equal(mor_path_below("", "a"), "a");
	assert_null(mor_path_below("", "/a"));
	assert_string_equal(mor_path_below("..", "../x"), "x");
}

static void test_digest(void **state)
{
	struct sha256_ctx sha;
	char hex[MOR_DIGEST_SIZE];

	(void)state;
	mor_digest_begin(&sha);
	mor_digest_end(&sha, hex);
	assert_string_equal(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	assert_true(mor_digest_valid(hex));
	hex[63] = 'A';
	assert_false(mor_digest_valid(hex));
	hex[63] = '\0';
	assert_false(mor_digest_valid(hex));
	assert_false(mor_digest_valid(""));
	assert_false(mor_digest_valid("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b8550"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_clean),
		MOR_TEST(test_clean_appends),
		MOR_TEST(test_below),
		MOR_TEST(test_digest),
	};

	return mor_run_group("kythe/unit/path", tests);
}
