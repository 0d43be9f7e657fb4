/* SPDX-License-Identifier: Apache-2.0 */
#include "leak.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>

#include "base/alloc.h"
#include "wire/json.h"

static struct mor_doc *parse(const char *text)
{
	struct mor_doc *doc = NULL;
	mortise_error err = { 0 };

	if (mor_doc_parse(mor_slice_of(text), MOR_JSON_NAN, 0, &doc, &err) < 0)
		fail_msg("%s: %s", text, err.text);
	return doc;
}

static void accessors(void **state)
{
	MOR_CLEAN(mor_doc)
	struct mor_doc *doc = parse(
		"{\"s\":\"a\\u0000b\",\"n\":-5,\"d\":2.5,\"t\":true,\"z\":null,\"l\":[1,{\"~/\":7}],\"\":0}");
	const struct mor_value *root = mor_doc_root(doc);
	struct mor_slice s = mor_json_string(mor_json_get(root, "s"));

	(void)state;
	assert_int_equal(mor_json_type(root), MOR_JSON_OBJECT);
	assert_int_equal(mor_json_size(root), 7);
	assert_int_equal(s.len, 3);
	assert_memory_equal(s.ptr, "a\0b\0", 4);
	assert_int_equal(mor_json_int(mor_json_get(root, "n"), 1), -5);
	assert_true(mor_json_double(mor_json_get(root, "d"), 0) == 2.5);
	assert_int_equal(mor_json_int(mor_json_get(root, "d"), 99), 99);
	assert_true(mor_json_bool(mor_json_get(root, "t"), false));
	assert_int_equal(mor_json_type(mor_json_get(root, "z")), MOR_JSON_NULL);
	assert_int_equal(mor_json_int(mor_json_at(root, "/l/1/~0~1"), 0), 7);
	assert_ptr_equal(mor_json_at(root, ""), root);
	assert_null(mor_json_at(root, "/l/2"));
	assert_null(mor_json_at(root, "l"));
	assert_null(mor_json_get(root, "S"));
	assert_null(mor_json_get(mor_json_get(root, "l"), "x"));
	assert_non_null(mor_json_get(root, ""));
	assert_string_equal(mor_json_text(mor_json_get(root, "n"), "none"), "none");
}

static void missing_is_harmless(void **state)
{
	struct mor_json_iter it = mor_json_iter(NULL);

	(void)state;
	assert_int_equal(mor_json_type(NULL), MOR_JSON_MISSING);
	assert_null(mor_json_get(NULL, "a"));
	assert_null(mor_json_at(NULL, "/a"));
	assert_null(mor_json_string(NULL).ptr);
	assert_null(mor_json_raw(NULL).ptr);
	assert_int_equal(mor_json_int(NULL, 4), 4);
	assert_true(mor_json_bool(NULL, true));
	assert_false(mor_json_is_int(NULL));
	assert_int_equal(mor_json_size(NULL), 0);
	assert_false(mor_json_next(&it));
	assert_false(mor_json_next(&it));
	assert_null(mor_doc_free(NULL));
	assert_null(mor_doc_root(NULL));
	assert_string_equal(mor_json_type_name(MOR_JSON_OBJECT), "object");
	assert_string_equal(mor_json_type_name((enum mor_json_type)77), "unknown");
}

static void iteration(void **state)
{
	MOR_CLEAN(mor_doc)
	struct mor_doc *doc = parse("{\"a\":[1,[2,[3]],{\"x\":{}},\"s\"],\"b\":{\"c\":1},\"d\":[]}");
	struct mor_json_iter it = mor_json_iter(mor_doc_root(doc));
	char seen[64] = "";
	size_t used = 0;

	(void)state;
	while (mor_json_next(&it)) {
		struct mor_json_iter inner = mor_json_iter(it.value);

		used += (size_t)snprintf(seen + used, sizeof(seen) - used, "%s(", it.name.ptr);
		while (mor_json_next(&inner))
			used += (size_t)snprintf(seen + used, sizeof(seen) - used, "%s,",
						 mor_json_type_name(mor_json_type(inner.value)));
		used += (size_t)snprintf(seen + used, sizeof(seen) - used, ")");
	}
	assert_string_equal(seen, "a(number,array,object,string,)b(number,)d()");
	assert_false(mor_json_next(&it));
	assert_null(it.value);
}

static void numbers_keep_their_digits(void **state)
{
	static const struct {
		const char *text;
		bool is_int;
		int64_t integer; /* 77: the fallback */
		double real;
	} rows[] = {
		{ "0", true, 0, 0 },
		{ "-0", true, 0, -0.0 },
		{ "9007199254740993", true, 9007199254740993, 9007199254740992.0 },
		{ "9223372036854775807", true, INT64_MAX, 9223372036854775808.0 },
		{ "-9223372036854775808", true, INT64_MIN, -9223372036854775808.0 },
		{ "9223372036854775808", true, 77, 9223372036854775808.0 },
		{ "123456789012345678901234567890", true, 77, 123456789012345678901234567890.0 },
		{ "1.0", false, 1, 1 },
		{ "1e3", false, 1000, 1000 },
		{ "1.5", false, 77, 1.5 },
		{ "1e30", false, 77, 1e30 },
		{ "1e400", false, 77, INFINITY },
		{ "Infinity", false, 77, INFINITY },
		{ "-Infinity", false, 77, -INFINITY },
		{ "0.1000", false, 77, 0.1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		MOR_CLEAN(mor_doc) struct mor_doc *doc = parse(rows[i].text);
		const struct mor_value *value = mor_doc_root(doc);

		assert_int_equal(mor_json_type(value), MOR_JSON_NUMBER);
		assert_true(mor_slice_is(mor_json_raw(value), rows[i].text));
		assert_int_equal(mor_json_is_int(value), rows[i].is_int);
		assert_int_equal(mor_json_int(value, 77), rows[i].integer);
		assert_true(mor_json_double(value, 0.25) == rows[i].real);
	}
}

static void nan_reads_as_nan(void **state)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = parse("[NaN, 1]");

	(void)state;
	assert_true(isnan(mor_json_double(mor_json_at(mor_doc_root(doc), "/0"), 0)));
	assert_true(mor_slice_is(mor_json_raw(mor_json_at(mor_doc_root(doc), "/0")), "NaN"));
	assert_false(mor_json_is_int(mor_json_at(mor_doc_root(doc), "/0")));
}

static void check_equal(const char *a, const char *b, bool equal)
{
	MOR_CLEAN(mor_doc) struct mor_doc *x = parse(a);
	MOR_CLEAN(mor_doc) struct mor_doc *y = parse(b);

	if (mor_json_equal(mor_doc_root(x), mor_doc_root(y)) != equal ||
	    mor_json_equal(mor_doc_root(y), mor_doc_root(x)) != equal)
		fail_msg("%s and %s should%s be equal", a, b, equal ? "" : " not");
}

static void equality_of_numbers(void **state)
{
	(void)state;
	check_equal("1", "1.0", true);
	check_equal("1", "1.000", true);
	check_equal("100", "1e2", true);
	check_equal("0.01", "1E-2", true);
	check_equal("1.5", "15e-1", true);
	check_equal("0", "-0", true);
	check_equal("0", "0.0e5", true);
	check_equal("10", "1", false);
	check_equal("0.1", "0.01", false);
	check_equal("1", "-1", false);
	check_equal("101", "1.01", false);
	check_equal("9007199254740993", "9007199254740992", false);
	check_equal("9007199254740993", "9007199254740993.0", true);
	check_equal("123456789012345678901234567890", "123456789012345678901234567891", false);
	check_equal("1e400", "1e400", true);
	check_equal("1e400", "10e399", true);
	check_equal("1e400", "1e401", false);
	check_equal("1e99999999999999999999", "1e99999999999999999998", false);
	check_equal("NaN", "NaN", true);
	check_equal("NaN", "0", false);
	check_equal("Infinity", "-Infinity", false);
	check_equal("120", "12", false);
	check_equal("1200", "12e2", true);
}

static void equality_of_the_rest(void **state)
{
	(void)state;
	check_equal("{\"a\":1,\"b\":[2]}", "{\"b\":[2.0],\"a\":1}", true);
	check_equal("{\"a\":1}", "{\"a\":1,\"b\":2}", false);
	check_equal("{\"a\":1}", "{\"b\":1}", false);
	check_equal("{\"a\":null}", "{\"b\":null}", false);
	check_equal("[1,2]", "[2,1]", false);
	check_equal("[1,2]", "[1,2,3]", false);
	check_equal("[]", "{}", false);
	check_equal("\"\\u00e9\"", "\"\xc3\xa9\"", true);
	check_equal("\"a\"", "\"b\"", false);
	check_equal("true", "false", false);
	check_equal("null", "null", true);
	check_equal("null", "false", false);
	check_equal("\"1\"", "1", false);
	assert_true(mor_json_equal(NULL, NULL));
}

static void check_fault(const char *text, const char *expected)
{
	struct mor_doc *doc = NULL;
	mortise_error err = { 0 };

	assert_int_equal(mor_doc_parse(mor_slice_of(text), 0, 4, &doc, &err), MORTISE_EPROTO);
	assert_null(doc);
	if (!strstr(err.text, expected))
		fail_msg("%s: %s", text, err.text);
}

static void faults_say_where(void **state)
{
	(void)state;
	check_fault("[1,2,x]", "at byte 5 (line 1, column 6)");
	check_fault("{\n\t\"a\": 1,\n\t\"\xc3\xa9\": y}", "(line 3, column 7)");
	check_fault("", "empty");
	check_fault("[[[[[1]]]]]", "nested deeper than 4 levels");
	check_fault("[1", "at byte 2 (line 1, column 3)");
}

/* Brackets in a string do not count, not even in one that has no end. */
static void depth_of_damaged_texts(void **state)
{
	(void)state;
	assert_true(mor_json_depth_ok(MOR_SLICE("\"[[[[["), 2));
	assert_true(mor_json_depth_ok(MOR_SLICE("\"[[[[[\\\""), 2));
	assert_true(mor_json_depth_ok(MOR_SLICE("[\"[[[[[\\\"\"]"), 2));
	assert_false(mor_json_depth_ok(MOR_SLICE("\"[\\\\\"[[[[["), 2));
}

static void out_of_memory_is_told(void **state)
{
	static const char text[] = "{\"a\":[1,2,{\"b\":\"text\"}]}";
	int r = MORTISE_ENOMEM;

	(void)state;
	for (long n = 0; r == MORTISE_ENOMEM; n++) {
		struct mor_doc *doc = NULL;
		mortise_error err = { 0 };

		assert_true(n < 100);
		mor_alloc_fail_after(n);
		r = mor_doc_parse(MOR_SLICE(text), 0, 0, &doc, &err);
		mor_alloc_fail_after(-1);
		assert_int_equal(r == 0, doc != NULL);
		assert_true(r == 0 || r == MORTISE_ENOMEM);
		mor_doc_free(doc);
	}
}

static void check_write(const char *text, bool pretty, const char *expected)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = parse(text);
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;

	assert_int_equal(mor_json_write(mor_doc_root(doc), pretty, &out), 0);
	assert_int_equal(mor_buf_byte(&out, '\0'), 0);
	assert_string_equal(out.data, expected);
}

static void writes_values(void **state)
{
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;
	MOR_CLEAN(mor_doc) struct mor_doc *doc = parse("[1]");

	(void)state;
	check_write(" { \"a\" : [ 1.00 , 12345678901234567890123 ] , \"b\" : \"\\n\\u00e9/\" } ", false,
		    "{\"a\":[1.00,12345678901234567890123],\"b\":\"\\n\xc3\xa9/\"}");
	check_write("{\"a\":[1]}", true, "{\n  \"a\": [\n    1\n  ]\n}");
	check_write("[NaN,-Infinity,1e400]", false, "[NaN,-Infinity,1e400]");
	mor_json_write(NULL, false, &out);
	assert_true(mor_slice_is(mor_buf_view(&out), "null"));
	mor_alloc_fail_after(0);
	assert_int_equal(mor_json_write(mor_doc_root(doc), false, &out), MORTISE_ENOMEM);
	mor_alloc_fail_after(-1);
	assert_true(mor_buf_failed(&out));
}

static void writes_deep_values(void **state)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;

	(void)state;
	for (int i = 0; i < 2 * MOR_JSON_DEPTH_MAX; i++)
		mor_buf_byte(&text, i < MOR_JSON_DEPTH_MAX ? '[' : ']');
	assert_int_equal(mor_doc_parse(mor_buf_view(&text), 0, MOR_JSON_DEPTH_MAX, &doc, NULL), 0);
	assert_int_equal(mor_json_write(mor_doc_root(doc), false, &out), 0);
	assert_true(mor_slice_eq(mor_buf_view(&out), mor_buf_view(&text)));
	assert_true(mor_json_equal(mor_doc_root(doc), mor_doc_root(doc)));
}

/* A host in a locale with a decimal comma must read and write the same numbers. */
static void locale_does_not_matter(void **state)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = parse("1.5");
	char text[MOR_JSON_DOUBLE];
	const char *old = setlocale(LC_NUMERIC, NULL);
	MOR_CLEAN_TEXT char *kept = mor_strdup(old);

	(void)state;
	if (!setlocale(LC_NUMERIC, "de_DE.UTF-8"))
		print_message("# de_DE.UTF-8 is not installed; tried in the C locale\n");
	assert_true(mor_json_double(mor_doc_root(doc), 0) == 1.5);
	assert_string_equal(mor_json_format_double(0.1, text), "0.1");
	setlocale(LC_NUMERIC, kept);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(accessors),
		MOR_TEST(missing_is_harmless),
		MOR_TEST(iteration),
		MOR_TEST(numbers_keep_their_digits),
		MOR_TEST(nan_reads_as_nan),
		MOR_TEST(equality_of_numbers),
		MOR_TEST(equality_of_the_rest),
		MOR_TEST(faults_say_where),
		MOR_TEST(depth_of_damaged_texts),
		MOR_TEST(out_of_memory_is_told),
		MOR_TEST(writes_values),
		MOR_TEST(writes_deep_values),
		MOR_TEST(locale_does_not_matter),
	};

	return mor_run_group("wire/json", tests);
}
