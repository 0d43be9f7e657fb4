/* SPDX-License-Identifier: Apache-2.0 */
/* sunscreen.yml as JSON. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "leak.h"
#include "manifest/manifest.h"
#include "manifest/yaml.h"

static void expect(const char *yaml, const char *wanted)
{
	struct mor_buf json = MOR_BUF_INIT;
	mortise_error err = { 0 };

	if (mor_yaml_to_json("s.yml", yaml, strlen(yaml), &json, &err) < 0)
		fail_msg("%s: %s", yaml, err.text);
	mor_buf_byte(&json, '\0');
	assert_string_equal(json.data, wanted);
	mor_buf_fini(&json);
}

static void refuse_bytes(const char *yaml, size_t len, const char *text)
{
	struct mor_buf json = MOR_BUF_INIT;
	mortise_error err = { 0 };

	if (mor_yaml_to_json("s.yml", yaml, len, &json, &err) != MORTISE_EMANIFEST)
		fail_msg("%s: taken, instead of: %s", yaml, text);
	assert_string_equal(err.text, text);
	assert_int_equal(json.len, 0);
	mor_buf_fini(&json);
}

static void refuse(const char *yaml, const char *text)
{
	refuse_bytes(yaml, strlen(yaml), text);
}

static void test_documents(void **state)
{
	(void)state;
	expect("", "{}");
	expect("# nothing\n", "{}");
	expect("---\n...\n", "{}");
	expect("\xef\xbb\xbfname: x\n", "{\"name\":\"x\"}");
	expect("version: 1\nproject:\n  name: my-app\n  tags: [a, 'b', \"c\\n\"]\nprograms:\n- path: x\n  id: "
	       "~\n- ~\n",
	       "{\"version\":1,\"project\":{\"name\":\"my-app\",\"tags\":[\"a\",\"b\",\"c\\n\"]},\"programs\":[{\"path\":\"x\",\"id\":null},null]}");
	expect("{\"a\": 1, \"b\": [true]}", "{\"a\":1,\"b\":[true]}");
	expect("a: |\n  one\n  two\nb: >\n  one\n  two\n", "{\"a\":\"one\\ntwo\\n\",\"b\":\"one two\\n\"}");
	expect("\xe4\xb8\xad: \xe6\x96\x87\n", "{\"\xe4\xb8\xad\":\"\xe6\x96\x87\"}");
}

/* The core schema of YAML 1.2, not 1.1. */
static const struct {
	const char *yaml, *json;
} scalars[] = {
	{ "null", "null" },
	{ "~", "null" },
	{ "", "null" },
	{ "NULL", "null" },
	{ "nULL", "\"nULL\"" },
	{ "true", "true" },
	{ "False", "false" },
	{ "yes", "\"yes\"" },
	{ "on", "\"on\"" },
	{ "y", "\"y\"" },
	{ "0", "0" },
	{ "-0", "-0" },
	{ "+12", "12" },
	{ "007", "7" },
	{ "-08", "-8" },
	{ "0o17", "15" },
	{ "0x1F", "31" },
	{ "0xffffffffffffffff", "18446744073709551615" },
	{ "0x10000000000000000", "\"0x10000000000000000\"" },
	{ "0b1", "\"0b1\"" },
	{ "0x", "\"0x\"" },
	{ "0o8", "\"0o8\"" },
	{ "1_000", "\"1_000\"" },
	{ "9007199254740993", "9007199254740993" },
	{ "123456789012345678901234567890", "123456789012345678901234567890" },
	{ "1.5", "1.5" },
	{ ".5", "0.5" },
	{ "1.", "1.0" },
	{ "-1e3", "-1e3" },
	{ "1E+3", "1E+3" },
	{ "1e", "\"1e\"" },
	{ ".", "\".\"" },
	{ "-", "[null]" },
	{ "+", "\"+\"" },
	{ "-.5", "-0.5" },
	{ "1.2.3", "\"1.2.3\"" },
	{ "12:30", "\"12:30\"" },
	{ "2026-01-02", "\"2026-01-02\"" },
	{ "'1'", "\"1\"" },
	{ "\"true\"", "\"true\"" },
	{ "!!str 1", "\"1\"" },
	{ "!!int '1'", "1" },
	{ "! 1", "\"1\"" },
	{ "!mine 1", "\"1\"" },
	{ "v1", "\"v1\"" },
};

static void test_types(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(scalars) / sizeof(*scalars); i++) {
		char yaml[100], json[100];

		snprintf(yaml, sizeof(yaml), strcmp(scalars[i].yaml, "-") == 0 ? "a:\n %s\n" : "a: %s\n",
			 scalars[i].yaml);
		snprintf(json, sizeof(json), "{\"a\":%s}", scalars[i].json);
		expect(yaml, json);
	}
	expect("1: a\ntrue: b\n~: c\n", "{\"1\":\"a\",\"true\":\"b\",\"~\":\"c\"}");
}

static void test_aliases(void **state)
{
	(void)state;
	expect("a: &x {k: [1]}\nb: *x\nc: [*x, *x]\n",
	       "{\"a\":{\"k\":[1]},\"b\":{\"k\":[1]},\"c\":[{\"k\":[1]},{\"k\":[1]}]}");
	expect("a: &x name\n*x : 1\n", "{\"a\":\"name\",\"name\":1}");
	expect("a: &x {k: 1}\nb:\n  <<: *x\n", "{\"a\":{\"k\":1},\"b\":{\"<<\":{\"k\":1}}}");
	refuse("a: 1\nb: *nope\n", "s.yml:2:5: this alias has no anchor: define its anchor before it");
}

static void test_refused(void **state)
{
	static const char not_utf8[] = "a: \"\xff\xfe\"\n";

	(void)state;
	refuse("- a\n- b\n", "s.yml:1:1: must hold a mapping (key: value)");
	refuse("just text\n", "s.yml:1:1: must hold a mapping (key: value)");
	refuse("a: 1\na: 2\n", "s.yml:2:1: duplicate key");
	refuse("a: .inf\n", "s.yml:1:4: nan and inf cannot be passed on: put it in quotes");
	refuse("a:\n  - .NaN\n", "s.yml:2:5: nan and inf cannot be passed on: put it in quotes");
	refuse("a: 1\n---\nb: 2\n", "s.yml: holds more than one document: keep one");
	refuse("? [a]\n: 1\n", "s.yml:1:3: this key is a list or mapping: only texts can be keys");
	refuse("a: [1, 2\n", "s.yml:2:1: flow sequence without a closing bracket");
	refuse("a: 'x\n", "s.yml:1:5: single-quoted scalar without closing quote");
	refuse("a:\n\t- x\n", "s.yml:2:1: tab character may not be used as indentation");
	refuse("a: 1\n%\001---\n", "s.yml:2:2: a control character: remove it");
	refuse_bytes("a: \0", 4, "s.yml:1:4: a control character: remove it");
	refuse_bytes(not_utf8, sizeof(not_utf8) - 1, "s.yml:1:5: not UTF-8: save the file as UTF-8");
}

/* Ten levels of ten aliases each would be ten thousand million. */
static void test_bounds(void **state)
{
	static const char bomb[] =
		"a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n"
		"c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\n"
		"e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e,*e]\n"
		"g: &g [*f,*f,*f,*f,*f,*f,*f,*f,*f,*f]\nh: &h [*g,*g,*g,*g,*g,*g,*g,*g,*g,*g]\n"
		"i: &i [*h,*h,*h,*h,*h,*h,*h,*h,*h,*h]\nj: &j [*i,*i,*i,*i,*i,*i,*i,*i,*i,*i]\n";
	char *big = calloc(1, MOR_MANIFEST_LIMIT + 2), deep[200] = "a: ";
	struct mor_buf json = MOR_BUF_INIT;
	mortise_error err = { 0 };

	(void)state;
	assert_int_equal(mor_yaml_to_json("s.yml", bomb, sizeof(bomb) - 1, &json, &err), MORTISE_EMANIFEST);
	assert_non_null(strstr(err.text, "with all aliases replaced this is larger than 4 MiB: use fewer"));
	refuse("a: &a [*a]\n", "s.yml:1:9: nested deeper than 32 levels");
	memset(deep + 3, '[', 31);
	memset(deep + 3 + 31, ']', 31);
	assert_int_equal(mor_yaml_to_json("s.yml", deep, strlen(deep), &json, &err), 0);
	mor_buf_fini(&json);
	memset(deep + 3, '[', 32);
	memset(deep + 3 + 32, ']', 32);
	refuse(deep, "s.yml:1:35: nested deeper than 32 levels");
	assert_non_null(big);
	memset(big, '#', MOR_MANIFEST_LIMIT + 1);
	refuse_bytes(big, MOR_MANIFEST_LIMIT + 1, "s.yml: larger than 1 MiB: make it smaller");
	memset(big, '[', MOR_MANIFEST_LIMIT);
	assert_int_equal(mor_yaml_to_json("s.yml", big, MOR_MANIFEST_LIMIT, &json, &err), MORTISE_EMANIFEST);
	mor_buf_fini(&json);
	free(big);
}

int main(void)
{
	const struct CMUnitTest tests[] = { MOR_TEST(test_documents), MOR_TEST(test_types),
					    MOR_TEST(test_aliases), MOR_TEST(test_refused),
					    MOR_TEST(test_bounds) };

	return mor_run_group("manifest/yaml", tests);
}
