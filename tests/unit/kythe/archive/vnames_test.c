/* SPDX-License-Identifier: Apache-2.0 */
/* vnames.json and the `vname` method: docs/reference/kzip.md, "vnames.json". */
#include "leak.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "kythe/archive/vnames.h"
#include "kythe/unit/unit.h"

static struct mor_vname_rules *rules_of(const char *json)
{
	struct mor_vname_rules *rules = NULL;
	mortise_error err = { 0 };

	if (mor_vname_rules_parse("vnames.json", mor_slice_of(json), &rules, &err) < 0)
		fail_msg("%s", err.text);
	return rules;
}

#define RULE(pattern, members) "{\"pattern\":\"" pattern "\",\"vname\":{" members "}}"

/* want: "corpus|root|path|signature", NULL: no rule matches. */
static void expect(const struct mor_vname_rules *rules, const char *path, const char *want)
{
	MOR_CLEAN(mor_vname_own) struct mor_vname_own got = { 0 };
	mortise_error err = { 0 };
	char text[500];
	int r = mor_vname_rules_apply(rules, path, &got, &err);

	if (r < 0)
		fail_msg("%s", err.text);
	assert_int_equal(r, want != NULL);
	if (!want)
		return;
	snprintf(text, sizeof(text), "%s|%s|%s|%s", got.vname.corpus, got.vname.root, got.vname.path,
		 got.vname.signature);
	assert_string_equal(text, want);
	assert_string_equal(got.vname.language, "");
}

static void test_rules(void **state)
{
	/* clang-format off */
	MOR_CLEAN(mor_vname_rules) struct mor_vname_rules *rules = rules_of(
		"[" RULE("static/path", "\"root\":\"root\",\"corpus\":\"static\"") ","
		RULE("dup/path", "\"corpus\":\"first\"") "," RULE("dup/path2", "\"corpus\":\"second\"") ","
		RULE("(?P<CORPUS>\\\\w+)/(?P<PATH>.*)@x",
		     "\"corpus\":\"@CORPUS@\",\"path\":\"@PATH@\",\"signature\":\"@1@-@2@\"") ","
		RULE("(grp1)/(\\\\d+)(/z)?/(.*)", "\"corpus\":\"@1@/@2@\",\"root\":\"r@3@\",\"path\":\"@4@\"") ","
		RULE("^bazel-[^/]+/([^/]+)/.+$",
		     "\"corpus\":\"a@b\",\"root\":\"$1 \\\\1 @@ @ x\",\"language\":\"c\"") "]");
	/* clang-format on */

	(void)state;
	assert_int_equal(mor_vname_rules_count(rules), 6);
	expect(rules, "static/path", "static|root|static/path|");
	expect(rules, "dup/path", "first||dup/path|");
	expect(rules, "dup/path2", "second||dup/path2|");
	expect(rules, "corp/some/file@x", "corp||some/file|corp-some/file");
	expect(rules, "grp1/123/endpath", "grp1/123|r|endpath|");
	expect(rules, "grp1/123/z/endpath", "grp1/123|r/z|endpath|");
	expect(rules, "bazel-out/k8/x.h", "a@b|$1 \\1 @@ @ x|bazel-out/k8/x.h|");
	expect(rules, "nothing", NULL);
	expect(NULL, "nothing", NULL);
}

/* Whole paths, alternatives grouped: Go's "^a|b$" quirk is not ours. */
static void test_whole_path(void **state)
{
	/* clang-format off */
	MOR_CLEAN(mor_vname_rules) struct mor_vname_rules *rules =
		rules_of("[" RULE("a|bc", "\"corpus\":\"1\"") "," RULE("^d|e$", "\"corpus\":\"2\"") ","
			 RULE("(?i:UP)x?", "\"corpus\":\"3\"") ","
			 RULE("[[:alpha:]]{3}[]x]", "\"corpus\":\"4\"") "]");
	/* clang-format on */

	(void)state;
	expect(rules, "a", "1||a|");
	expect(rules, "bc", "1||bc|");
	expect(rules, "ab", NULL);
	expect(rules, "abc", NULL);
	expect(rules, "d", "2||d|");
	expect(rules, "dx", NULL);
	expect(rules, "xe", NULL);
	expect(rules, "a\n", NULL);
	expect(rules, "upx", "3||upx|");
	expect(rules, "abc]", "4||abc]|");
}

static void test_refused(void **state)
{
	static const struct {
		const char *json, *text;
	} cases[] = {
		{ "{}", "it must be an array of rules" },
		{ "[1]", "rule 1: it must be an object with \"pattern\" and \"vname\"" },
		{ "[{\"vname\":{}}]", "rule 1: \"pattern\" is missing or empty" },
		{ "[" RULE("", "") "]", "rule 1: \"pattern\" is missing or empty" },
		{ "[" RULE("a", "") ",{\"pattern\":\"b\"}]", "rule 2: \"vname\" must be an object" },
		{ "[{\"pattern\":\"a\",\"vname\":{},\"x\":1}]",
		  "rule 1: it has no member \"x\": use pattern and vname" },
		{ "[" RULE("a", "\"corpse\":\"\"") "]",
		  "rule 1: \"vname\" has no member \"corpse\": use corpus, root, path or signature" },
		{ "[" RULE("a", "\"corpus\":1") "]", "rule 1: \"corpus\" must be a string" },
		{ "[" RULE("(a", "") "]", "rule 1: \"(a\": missing closing parenthesis at character 3" },
		{ "[" RULE("(a)\\\\1", "") "]",
		  "rule 1: \"(a)\\\\1\": back-references are not allowed at character 4" },
		{ "[" RULE("(?P<x>a)(?P=x)", "") "]",
		  "rule 1: \"(?P<x>a)(?P=x)\": back-references are not allowed at character 9" },
		{ "[" RULE("(?<x>a)\\\\k<x>", "") "]",
		  "rule 1: \"(?<x>a)\\\\k<x>\": back-references are not allowed at character 8" },
		{ "[" RULE("a(?=b)b", "") "]",
		  "rule 1: \"a(?=b)b\": look-around is not allowed at character 2" },
		{ "[" RULE("a(?!b)", "") "]", "rule 1: \"a(?!b)\": look-around is not allowed at character 2" },
		{ "[" RULE("(?<=b)", "") "]", "rule 1: \"(?<=b)\": look-around is not allowed at character 1" },
		{ "[" RULE("(?<!b)", "") "]", "rule 1: \"(?<!b)\": look-around is not allowed at character 1" },
		{ "[" RULE("(?>b)", "") "]",
		  "rule 1: \"(?>b)\": this kind of group is not allowed at character 1" },
		{ "[" RULE("(?R)", "") "]",
		  "rule 1: \"(?R)\": this kind of group is not allowed at character 1" },
		{ "[" RULE("(*UCP)a", "") "]", "rule 1: \"(*UCP)a\": verbs are not allowed at character 1" },
		{ "[" RULE("a++", "") "]",
		  "rule 1: \"a++\": possessive repetition is not allowed at character 2" },
		{ "[" RULE("a\\\\K", "") "]", "rule 1: \"a\\\\K\": this escape is not allowed at character 2" },
		{ "[" RULE("[a", "") "]", "rule 1: \"[a\": [ without ] at character 1" },
		{ "[" RULE("a", "\"path\":\"@1@\"") "]", "rule 1: @1@ in \"path\" is no group of the pattern" },
		{ "[" RULE("(a)", "\"path\":\"@0@\"") "]",
		  "rule 1: @0@ in \"path\" is no group of the pattern" },
		{ "[" RULE("(a)", "\"root\":\"@x@\"") "]",
		  "rule 1: @x@ in \"root\" is no group of the pattern" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct mor_vname_rules *rules = NULL;
		mortise_error err = { 0 };
		char want[400];

		snprintf(want, sizeof(want), "vnames.json: %s", cases[i].text);
		assert_int_equal(mor_vname_rules_parse("vnames.json", mor_slice_of(cases[i].json), &rules,
						       &err),
				 MORTISE_EINPUT);
		assert_string_equal(err.text, want);
		assert_null(rules);
	}
}

/* RE2 is linear, PCRE2 is not: a pattern that runs away is stopped and named. */
static void test_match_limit(void **state)
{
	MOR_CLEAN(mor_vname_rules)
	struct mor_vname_rules *rules =
		rules_of("[" RULE("x", "") "," RULE("(a+)+(b|c)", "\"corpus\":\"c\"") "]");
	struct mor_vname_own got = { 0 };
	mortise_error err = { 0 };

	(void)state;
	assert_int_equal(mor_vname_rules_apply(rules, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaad", &got,
					       &err),
			 MORTISE_ELIMIT);
	assert_string_equal(err.text, "vnames.json: rule 2: match limit exceeded");
}

static void test_load(void **state)
{
	struct mor_vname_rules *rules = NULL;
	mortise_error err = { 0 };

	(void)state;
	assert_int_equal(mor_vname_rules_load("/nonexistent/rules.json", &rules, &err), MORTISE_ENOTFOUND);
	assert_int_equal(mor_vname_rules_load("/", &rules, &err), MORTISE_EINPUT);
}

/* ---- the method ---- */

#define UNIT \
	"{\"unit\":{\"v_name\":{\"corpus\":\"uc\",\"root\":\"ur\",\"language\":\"go\"},\"working_directory\":\"/w/d\",\"required_input\":[" \
	"{\"v_name\":{\"corpus\":\"ic\",\"path\":\"named.go\"},\"info\":{\"path\":\"x/../a.go\"}}," \
	"{\"v_name\":{\"root\":\"lost\"},\"info\":{\"path\":\"b.go\"}}," \
	"{\"v_name\":{\"corpus\":\"up\",\"root\":\"r\",\"signature\":\"no\",\"language\":\"no\"},\"info\":{\"path\":\"../up.go\"}}," \
	"{\"v_name\":{\"corpus\":\"abs\"},\"info\":{\"path\":\"/usr/i.h\"}}," \
	"{\"v_name\":{\"corpus\":\"second\"},\"info\":{\"path\":\"a.go\"}}]}}"

static void ask(const struct mor_namer *namer, const char *path, const char *signature, const char *want)
{
	MOR_CLEAN(mor_vname_own) struct mor_vname_own got = { 0 };
	char text[500];

	assert_int_equal(mor_namer_ask(namer, path, signature, &got, NULL), 0);
	snprintf(text, sizeof(text), "%s|%s|%s|%s|%s", got.vname.signature, got.vname.corpus, got.vname.root,
		 got.vname.path, got.vname.language);
	assert_string_equal(text, want);
}

static void test_method(void **state)
{
	MOR_CLEAN(mor_unit) struct mor_unit *unit = NULL;
	MOR_CLEAN(mor_vname_rules)
	struct mor_vname_rules *rules = rules_of(
		"[" RULE("gen/(.*)", "\"corpus\":\"gen\",\"path\":\"@1@\",\"signature\":\"never\"") "," RULE(
			"rooted/.*", "\"root\":\"only\"") "]");
	MOR_CLEAN(mor_namer) struct mor_namer *namer = NULL, *moved = NULL;

	(void)state;
	assert_int_equal(mor_unit_read_json(mor_slice_of(UNIT), &unit, NULL), 0);
	assert_int_equal(mor_namer_new(unit, NULL, rules, &namer, NULL), 0);
	/* A required input, under any spelling of its path; the first of two with one path. */
	ask(namer, "a.go", "", "|ic||named.go|");
	ask(namer, "/w/d/./a.go", "sig", "sig|ic||named.go|go");
	ask(namer, "a.go", "sig", "sig|ic||named.go|go");
	/* Without corpus: corpus and root of the unit; without path: the path. */
	ask(namer, "b.go", "", "|uc|ur|b.go|");
	ask(namer, "../up.go", "", "|up|r|/w/up.go|");
	ask(namer, "/w/up.go", "", "|up|r|/w/up.go|");
	ask(namer, "/usr/i.h", "q", "q|abs||/usr/i.h|go");
	/* Not an input: the rules, then the unit. */
	ask(namer, "gen/y.go", "", "|gen||y.go|");
	ask(namer, "gen/y.go", "s", "s|gen||y.go|go");
	ask(namer, "rooted/y", "", "|uc|ur|rooted/y|");
	ask(namer, "other.go", "s", "s|uc|ur|other.go|go");
	/* What the analyzer was told counts, not what the record says. */
	assert_int_equal(mor_namer_new(unit, "/elsewhere", NULL, &moved, NULL), 0);
	ask(moved, "/elsewhere/a.go", "", "|ic||named.go|");
	ask(moved, "/w/d/a.go", "", "|uc|ur|/w/d/a.go|");
}

/* Decision 19 of docs/dialects/kythe.md: nothing pending: rules if there are any, else an error. */
static void test_without_unit(void **state)
{
	MOR_CLEAN(mor_vname_rules)
	struct mor_vname_rules *rules = rules_of("[" RULE("a", "\"corpus\":\"c\"") "]");
	MOR_CLEAN(mor_vname_own) struct mor_vname_own got = { 0 };
	mortise_error err = { 0 };

	(void)state;
	assert_int_equal(mor_vname_without_unit(rules, "a", "s", &got, NULL), 0);
	assert_string_equal(got.vname.corpus, "c");
	assert_string_equal(got.vname.signature, "s");
	assert_int_equal(mor_vname_without_unit(rules, "b", "s", &got, &err), MORTISE_ENOTFOUND);
	assert_int_equal(mor_vname_without_unit(NULL, "a", "s", &got, &err), MORTISE_ENOTFOUND);
}

/* Decision 6: nested and flat at once. */
static void test_reply(void **state)
{
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;

	(void)state;
	mor_vname_reply_json(&(struct mor_vname){ "s", "c", "", "p", "go" }, &out);
	mor_buf_byte(&out, '\0');
#define PARTS "\"signature\":\"s\",\"corpus\":\"c\",\"root\":\"\",\"path\":\"p\",\"language\":\"go\"}"
	assert_string_equal(out.data, "{\"vname\":{" PARTS "," PARTS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_rules),        MOR_TEST(test_whole_path), MOR_TEST(test_refused),
		MOR_TEST(test_match_limit),  MOR_TEST(test_load),       MOR_TEST(test_method),
		MOR_TEST(test_without_unit), MOR_TEST(test_reply),
	};

	return mor_run_group("kythe/archive/vnames", tests);
}
