/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "leak.h"
#include "manifest/manifest.h"

static void test_values(void **state)
{
	static const struct {
		const char *toml, *json, *lines;
	} cases[] = {
		{ "", "{}", "{}" },
		{ "a = 1\nb = \"x\"\n", "{\"a\":1,\"b\":\"x\"}", "{\"a\":[1,1],\"b\":[2,1]}" },
		{ "\n[s]\nk = true\n", "{\"s\":{\"k\":true}}", "{\"s\":[2,2],\"s.k\":[3,1]}" },
		{ "a = 1.5\nb = -7\nc = 0x10", "{\"a\":1.5,\"b\":-7,\"c\":16}", NULL },
		{ "a = [1, \"x\", [2]]", "{\"a\":[1,\"x\",[2]]}", NULL },
		{ "a = \"\\u00e9\\n\\\"\"", "{\"a\":\"\xc3\xa9\\n\\\"\"}", NULL },
		{ "\"a.b\" = 1", "{\"a.b\":1}", "{\"a.b\":[1,1]}" },
		{ "a.b = 1", "{\"a\":{\"b\":1}}", "{\"a\":[1,1],\"a.b\":[1,3]}" },
		{ "d = 1979-05-27\nt = 07:32:00\no = 1979-05-27T07:32:00Z",
		  "{\"d\":\"1979-05-27\",\"o\":\"1979-05-27T07:32:00Z\",\"t\":\"07:32:00\"}", NULL },
		{ "[[x]]\na = 1\n[[x]]\na = 2", "{\"x\":[{\"a\":1},{\"a\":2}]}", NULL },
		{ "a = 9223372036854775807", "{\"a\":9223372036854775807}", NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct mor_buf json = MOR_BUF_INIT, lines = MOR_BUF_INIT;
		mortise_error err = { 0 };

		if (mor_toml_to_json("f", cases[i].toml, strlen(cases[i].toml), &json, &lines, &err) < 0)
			fail_msg("%s: %s", cases[i].toml, err.text);
		if (!mor_slice_is(mor_buf_view(&json), cases[i].json))
			fail_msg("%s: %.*s", cases[i].toml, (int)json.len, json.data);
		if (cases[i].lines && !mor_slice_is(mor_buf_view(&lines), cases[i].lines))
			fail_msg("%s: lines %.*s", cases[i].toml, (int)lines.len, lines.data);
		mor_buf_fini(&json);
		mor_buf_fini(&lines);
	}
}

static void expect_fault(const char *toml, size_t len, const char *begin)
{
	struct mor_buf json = MOR_BUF_INIT;
	mortise_error err = { 0 };

	assert_int_equal(mor_toml_to_json("dir/f.toml", toml, len, &json, NULL, &err), MORTISE_EMANIFEST);
	if (strncmp(err.text, begin, strlen(begin)) != 0)
		fail_msg("%s, not %s", err.text, begin);
	assert_int_equal(json.len, 0);
	mor_buf_fini(&json);
}

static void test_faults(void **state)
{
	static const struct {
		const char *toml, *begin;
	} cases[] = {
		{ "a = ", "dir/f.toml:1:" },
		{ "a = 1\na = 2\n", "dir/f.toml:2:" },
		{ "[x\n", "dir/f.toml:1:" },
		{ "[!x]\n",
		  "dir/f.toml:1:2: Error while parsing key: expected bare key starting character or string "
		  "delimiter, saw '!'" },
		{ "a = nan", "dir/f.toml:1:5: nan and inf have no meaning here" },
		{ "\n a = -inf", "dir/f.toml:2:6: nan and inf have no meaning here" },
		{ "a = \"\xff\"", "dir/f.toml:1:" },
		{ "a = 99999999999999999999", "dir/f.toml:1:" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		expect_fault(cases[i].toml, strlen(cases[i].toml), cases[i].begin);
	expect_fault("a = \"x\0y\"", 9, "dir/f.toml:1:");
}

/* Each of these ends the stack of a parser that does not look first. */
static void test_depth(void **state)
{
	struct mor_buf dots = MOR_BUF_INIT, header = MOR_BUF_INIT, arrays = MOR_BUF_INIT, tables = MOR_BUF_INIT;

	(void)state;
	mor_buf_text(&header, "[a");
	mor_buf_text(&arrays, "a = ");
	mor_buf_text(&tables, "a = ");
	for (unsigned i = 0; i < 200000; i++) {
		mor_buf_text(&dots, "a.");
		mor_buf_text(&header, ".\"]\"");
		mor_buf_text(&arrays, "[");
		mor_buf_text(&tables, "{a=");
	}
	mor_buf_text(&dots, "a = 1\n");
	mor_buf_text(&header, "]\n");
	expect_fault(dots.data, dots.len, "dir/f.toml:1:1: more than 256 dots on one line: split it");
	expect_fault(header.data, header.len, "dir/f.toml:1:1: more than 256 dots on one line: split it");
	expect_fault(arrays.data, arrays.len, "dir/f.toml:1:");
	expect_fault(tables.data, tables.len, "dir/f.toml:1:");
	mor_buf_fini(&dots);
	mor_buf_fini(&header);
	mor_buf_fini(&arrays);
	mor_buf_fini(&tables);
}

static void test_depth_of_tables(void **state)
{
	char toml[200] = "";
	size_t len = 0;

	(void)state;
	for (unsigned i = 0; i < 40; i++)
		len += (size_t)snprintf(toml + len, sizeof(toml) - len, "a.");
	len += (size_t)snprintf(toml + len, sizeof(toml) - len, "a = 1");
	expect_fault(toml, len, "dir/f.toml:");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_values),
		MOR_TEST(test_faults),
		MOR_TEST(test_depth),
		MOR_TEST(test_depth_of_tables),
	};

	return mor_run_group("manifest/toml", tests);
}
