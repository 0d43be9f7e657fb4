/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts that every reader of ours must accept or refuse, in the manner of JSONTestSuite. The scanner and
 * the tree parser are two programs; they must say the same of each.
 */
#include "leak.h"

#include <stdio.h>

#include "base/alloc.h"
#include "wire/envelope.h"
#include "wire/json.h"

/* clang-format off */
#define YES(literal) { MOR_SLICE(literal), true }
#define NO(literal) { MOR_SLICE(literal), false }
/* clang-format on */

static const struct verdict {
	struct mor_slice text;
	bool ok;
} verdicts[] = {
	/* Numbers. */
	YES("0"),
	YES("-0"),
	YES("-0.0"),
	YES("1e400"),
	YES("-1e-400"),
	YES("123456789012345678901234567890"),
	YES("0.1E+2"),
	YES("[1e1,1E-1]"),
	YES(" 7 \r\n\t"),
	NO("01"),
	NO("-"),
	NO("+1"),
	NO(".5"),
	NO("1."),
	NO("1.e1"),
	NO("1e"),
	NO("1e+"),
	NO("-01"),
	NO("0x1"),
	NO("1_000"),
	NO("- 1"),
	NO("NaN"),
	NO("Infinity"),
	NO("-Infinity"),
	NO("nan"),
	NO("1 2"),
	NO("--1"),
	NO("\xef\xbc\x91"), /* a full-width digit */
	/* Words. */
	YES("true"),
	YES("false"),
	YES("null"),
	NO("True"),
	NO("nul"),
	NO("nulll"),
	NO("tru"),
	NO("undefined"),
	NO("'a'"),
	/* Strings. */
	YES("\"\""),
	YES("\"\x7f\""),
	YES("\"\\u0000\""),
	YES("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\""),
	YES("\"\xf4\x8f\xbf\xbf\""),
	YES("\"\\uD83D\\uDE00\""),
	YES("\"\xef\xbf\xbf\""),
	YES("\"\xe2\x80\xa8\""),
	YES("\"\\uFFFF\""),
	NO("\"\\ud800\""),
	NO("\"\\udc00\""),
	NO("\"\\ud800\\u0041\""),
	NO("\"\\ud800x\""),
	NO("\"\\udc00\\ud800\""),
	NO("\"\\ud800\\ud800\\udc00\""),
	NO("\"\\x41\""),
	NO("\"\\u12\""),
	NO("\"\\u123g\""),
	NO("\"\\\""),
	NO("\"a"),
	NO("\""),
	NO("\"\n\""),
	NO("\"\0\""),
	NO("\"\x1f\""),
	NO("\"\\a\""),
	NO("\"\\U0041\""),
	NO("\"\\"),
	/* UTF-8. */
	NO("\"\xff\""),
	NO("\"\xc0\x80\""),
	NO("\"\xed\xa0\x80\""),
	NO("\"\xf4\x90\x80\x80\""),
	NO("\"\xc3\""),
	NO("\"\xe2\x82"),
	NO("\"\x80\""),
	NO("\"aaaaaaaaaaaaaaaaaaaaaaa\xff\""),
	/* Structure. */
	YES("[]"),
	YES("{}"),
	YES("[ ]"),
	YES("{ }"),
	YES("[[],{}]"),
	YES("{\"a\":{\"b\":[{}]}}"),
	YES("{\"a\":1,\"a\":2}"),
	YES("{\"\":0}"),
	YES("\t[\r1\n, 2 ] "),
	NO("["),
	NO("]"),
	NO("{"),
	NO("}"),
	NO("[1"),
	NO("[1,"),
	NO("[1,]"),
	NO("[,1]"),
	NO("[1 2]"),
	NO("[1}"),
	NO("{]"),
	NO("{\"a\"}"),
	NO("{\"a\":}"),
	NO("{\"a\":1,}"),
	NO("{a:1}"),
	NO("{1:1}"),
	NO("{\"a\" 1}"),
	NO("{\"a\":1 \"b\":2}"),
	NO("{\"a\"::1}"),
	NO("{,}"),
	NO("[]]"),
	NO("{}}"),
	NO("[][]"),
	NO("{} x"),
	NO("{\"a\":1"),
	NO("{\"a\""),
	NO("{\"a"),
	NO("[\"a\","),
	NO("[:]"),
	NO("[,]"),
	/* Around it. */
	NO(""),
	NO(" "),
	NO("\n"),
	NO("\xef\xbb\xbf{}"),
	NO("{}\0"),
	NO("\0"),
	NO("\0{}"),
	NO("[1\0]"),
	NO("/*c*/[]"),
	NO("[]//c"),
	NO("\f[]"),
	NO("\xc2\xa0[]"),
	NO("[\x0b]"),
	NO("[#\n1]"),
	NO("\xff\xfe[\0]\0"),
};

static bool parses(struct mor_slice text, unsigned flags, unsigned depth)
{
	struct mor_doc *doc = NULL;
	mortise_error err = { 0 };
	int r = mor_doc_parse(text, flags, depth, &doc, &err);

	assert_true(r == 0 || (r == MORTISE_EPROTO && err.text[0]));
	assert_int_equal(r == 0, doc != NULL);
	mor_doc_free(doc);
	return r == 0;
}

static void table(void **state)
{
	size_t wrong = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(verdicts) / sizeof(verdicts[0]); i++) {
		struct mor_slice text = verdicts[i].text;
		size_t at = SIZE_MAX;
		bool scanned = mor_json_valid(text, 0, 0, &at), parsed = parses(text, 0, 0);

		if (scanned != verdicts[i].ok || parsed != verdicts[i].ok) {
			print_error("%.*s: scanner %d, parser %d\n", (int)text.len, text.ptr, scanned, parsed);
			wrong++;
		}
		assert_true(scanned == (at == SIZE_MAX) && (scanned || at <= text.len));
	}
	assert_int_equal(wrong, 0);
}

/* The same texts with something before and behind, so that they lie at every distance from the text's end
 * (the scanner's fast loops look 16 bytes ahead), in memory that ends where the text ends. */
static void table_at_every_alignment(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(verdicts) / sizeof(verdicts[0]); i++) {
		for (size_t pad = 0; pad < 36; pad++) {
			struct mor_slice text = verdicts[i].text;
			size_t len = text.len + 2 + pad;
			char *copy = mor_alloc(len);

			if (text.len == 0 || text.ptr[0] == ']' ||
			    memchr(text.ptr, ',', text.len) == text.ptr) {
				mor_free(copy);
				break;
			}
			assert_non_null(copy);
			memset(copy, ' ', len);
			copy[pad / 2] = '[';
			memcpy(copy + pad / 2 + 1, text.ptr, text.len);
			copy[len - 1] = ']';
			if (verdicts[i].ok)
				assert_true(mor_json_valid((struct mor_slice){ copy, len }, 0, 0, NULL));
			assert_int_equal(mor_json_valid((struct mor_slice){ copy, len }, 0, 0, NULL),
					 parses((struct mor_slice){ copy, len }, 0, 0));
			mor_free(copy);
		}
	}
}

/* Every proper prefix of a text that ends in its only closing bracket is refused. */
static void truncation(void **state)
{
	static const char text[] =
		"{\"jsonrpc\":\"2.0\",\"a\":[1.5e3,-2,\"\\u00e9\\ud83d\\ude00\xc3\xa9\",true,null,{\"b\":[]}]}";

	(void)state;
	for (size_t n = 0; n < sizeof(text) - 1; n++) {
		char *copy = mor_strndup(text, n);
		size_t at = 0;

		assert_non_null(copy);
		copy = mor_realloc(copy, n); /* no NUL behind it, so that ASan sees a byte too many */
		assert_false(mor_json_valid((struct mor_slice){ copy, n }, 0, 0, &at));
		assert_true(at <= n);
		assert_false(parses((struct mor_slice){ copy, n }, 0, 0));
		mor_free(copy);
	}
	assert_true(mor_json_valid(MOR_SLICE(text), 0, 0, NULL));
}

static struct mor_slice nest(size_t depth, bool objects, bool closed, struct mor_buf *out)
{
	for (size_t i = 0; i < depth; i++)
		mor_buf_text(out, objects ? "{\"k\":" : "[");
	mor_buf_text(out, objects ? "1" : "");
	for (size_t i = 0; closed && i < depth; i++)
		mor_buf_byte(out, objects ? '}' : ']');
	assert_false(mor_buf_failed(out));
	return mor_buf_view(out);
}

static void check_depth(size_t depth, bool objects, unsigned max, bool ok)
{
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;
	struct mor_slice text = nest(depth, objects, true, &out);

	assert_int_equal(mor_json_valid(text, 0, max, NULL), ok);
	assert_int_equal(parses(text, 0, max), ok);
}

static void nesting(void **state)
{
	(void)state;
	for (int objects = 0; objects < 2; objects++) {
		check_depth(MOR_JSON_DEPTH, objects, 0, true);
		check_depth(MOR_JSON_DEPTH + 1, objects, 0, false);
		check_depth(1, objects, 1, true);
		check_depth(2, objects, 1, false);
		check_depth(63, objects, 64, true);
		check_depth(64, objects, 64, true);
		check_depth(65, objects, 64, false);
		check_depth(MOR_JSON_DEPTH_MAX, objects, 5000, true);
		check_depth(MOR_JSON_DEPTH_MAX + 1, objects, 5000, false);
	}
}

static void nesting_without_end(void **state)
{
	(void)state;
	for (int objects = 0; objects < 2; objects++) {
		MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;
		struct mor_slice text = nest(100000, objects, false, &out);

		assert_false(mor_json_valid(text, 0, 0, NULL));
		assert_false(mor_json_valid(text, 0, MOR_JSON_DEPTH_MAX, NULL));
		assert_false(parses(text, 0, 0));
		assert_false(mor_json_depth_ok(text, MOR_JSON_DEPTH_MAX));
	}
}

static void depth_ignores_strings(void **state)
{
	(void)state;
	assert_true(mor_json_depth_ok(MOR_SLICE("[\"[[[[[[\\\"[[[[[\"]"), 1));
	assert_false(mor_json_depth_ok(MOR_SLICE("[\"\\\\\",[\"]\"]]"), 1));
	assert_true(mor_json_depth_ok(MOR_SLICE("[][][]{}{}"), 1));
	assert_true(mor_json_depth_ok(MOR_SLICE("]]]]]]["), 1));
}

static void nan_only_when_asked(void **state)
{
	static const struct verdict some[] = {
		YES("NaN"),      YES("Infinity"), YES("-Infinity"), YES("[NaN,{\"a\":-Infinity}]"),
		NO("nan"),       NO("Inf"),       NO("-NaN"),       NO("inf"),
		NO("infinity"),  NO("NAN"),       NO("Na"),         NO("Infinit"),
		NO("+Infinity"), NO("-I"),        NO("NaNN"),       NO("-inf")
	};

	(void)state;
	for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++) {
		assert_int_equal(mor_json_valid(some[i].text, MOR_ENV_NAN, 0, NULL), some[i].ok);
		assert_int_equal(parses(some[i].text, MOR_JSON_NAN, 0), some[i].ok);
		assert_false(mor_json_valid(some[i].text, 0, 0, NULL));
		assert_false(parses(some[i].text, 0, 0));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(table),
		MOR_TEST(table_at_every_alignment),
		MOR_TEST(truncation),
		MOR_TEST(nesting),
		MOR_TEST(nesting_without_end),
		MOR_TEST(depth_ignores_strings),
		MOR_TEST(nan_only_when_asked),
	};

	return mor_run_group("wire/verdicts", tests);
}
