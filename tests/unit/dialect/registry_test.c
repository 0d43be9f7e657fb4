/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "dialect/dialect.h"
#include "json_of.h"

static void test_find(void **state)
{
	(void)state;
	assert_string_equal(mor_dialect_find("yams")->name, "yams");
	assert_string_equal(mor_dialect_find("plain")->name, "plain");
	assert_null(mor_dialect_find("YAMS"));
	assert_null(mor_dialect_find(""));
	assert_null(mor_dialect_find(NULL));
}

/* `text` with "@" replaced by all names. */
static void expect_text(const char *actual, const char *text)
{
	struct mor_buf wanted = MOR_BUF_INIT;
	char *whole;

	for (; *text; text++) {
		if (*text != '@')
			mor_buf_byte(&wanted, *text);
		for (size_t i = 0; *text == '@' && mor_dialects()[i]; i++)
			mor_buf_printf(&wanted, "%s%s", i ? ", " : "", mor_dialects()[i]->name);
	}
	whole = mor_buf_detach(&wanted);
	assert_string_equal(actual, whole);
	mor_free(whole);
}

static void test_require(void **state)
{
	static const struct {
		const char *name, *text;
	} cases[] = {
		{ "YAMS", "unknown dialect \"YAMS\": did you mean \"yams\"? (this version speaks @)" },
		{ "yam", "unknown dialect \"yam\": did you mean \"yams\"? (this version speaks @)" },
		{ "plian", "unknown dialect \"plian\": did you mean \"plain\"? (this version speaks @)" },
		{ "nothing", "unknown dialect \"nothing\": this version speaks @" },
		{ "a\nb", "unknown dialect \"a\\x0ab\": this version speaks @" },
		{ "", "no dialect is named: this version speaks @" },
		{ NULL, "no dialect is named: this version speaks @" },
	};
	const struct mor_dialect *dialect = NULL;
	mortise_error err;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_int_equal(mor_dialect_require(cases[i].name, &dialect, &err), MORTISE_EMANIFEST);
		expect_text(err.text, cases[i].text);
		assert_null(dialect);
	}
	assert_int_equal(mor_dialect_require("yams", &dialect, &err), 0);
	assert_ptr_equal(dialect, mor_dialect_find("yams"));
}

static const struct mor_method *row(const char *dialect, enum mor_side from, const char *name)
{
	return mor_dialect_method(mor_dialect_find(dialect), from, mor_slice_of(name));
}

static void test_method(void **state)
{
	(void)state;
	assert_string_equal(row("yams", MOR_FROM_HOST, "plugin.init")->name, "plugin.init");
	assert_string_equal(row("yams", MOR_FROM_HOST, "ghidra.analyze")->name, "*");
	assert_int_equal(row("yams", MOR_FROM_PLUGIN, "log")->role, MOR_ROLE_NOTE);
	assert_int_equal(row("plain", MOR_FROM_HOST, "x")->role, MOR_ROLE_CALL);
	assert_int_equal(row("plain", MOR_FROM_PLUGIN, "x")->role, MOR_ROLE_SERVE);
	/* A prefix or a longer word is another method. */
	assert_string_equal(row("yams", MOR_FROM_HOST, "plugin.ini")->name, "*");
	assert_string_equal(row("yams", MOR_FROM_HOST, "plugin.initx")->name, "*");
}

static void test_role(void **state)
{
	const struct mor_dialect *yams = mor_dialect_find("yams");
	const struct mor_method *m = NULL;
	unsigned calls = 0;

	(void)state;
	while ((m = mor_dialect_role(yams, MOR_FROM_HOST, MOR_ROLE_CALL, m)))
		calls++;
	assert_int_equal(calls, 4);
	assert_string_equal(mor_dialect_role(yams, MOR_FROM_HOST, MOR_ROLE_BYE, NULL)->name, "plugin.shutdown");
	assert_null(mor_dialect_role(yams, MOR_FROM_HOST, MOR_ROLE_CANCEL, NULL));
	assert_null(mor_dialect_role(mor_dialect_find("plain"), MOR_FROM_HOST, MOR_ROLE_HELLO, NULL));
}

static void test_codes(void **state)
{
	const struct mor_dialect *yams = mor_dialect_find("yams");

	(void)state;
	assert_string_equal(mor_dialect_code_name(yams, -32000), "Extraction failed");
	assert_string_equal(mor_dialect_code_name(yams, -32003), "Not initialized");
	assert_null(mor_dialect_code_name(yams, -32004));
	assert_null(mor_dialect_code_name(mor_dialect_find("plain"), -32000));
}

static void test_interfaces(void **state)
{
	static const struct {
		const char *identity, *names;
		int count;
	} cases[] = {
		{ "{\"interfaces\":[\"a\",\"b\"]}", "[\"a\",\"b\"]", 2 },
		{ "{\"interfaces\":[{\"id\":\"a\",\"version\":1},\"b\",5,{\"x\":1}]}", "[\"a\",\"b\"]", 2 },
		{ "{\"interfaces\":[],\"capabilities\":{\"content_extraction\":{}}}", "[]", 0 },
		{ "{\"capabilities\":{\"content_extraction\":{},\"graph_store\":{}}}",
		  "[\"content_extractor_v1\",\"graph_store_v1\"]", 2 },
		{ "{\"capabilities\":{\"symbol_extraction\":null}}", "[\"symbol_extractor_v1\"]", 1 },
		{ "{\"interfaces\":\"a\"}", "[]", 0 },
		{ "{}", "[]", 0 },
		{ "null", "[]", 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct mor_doc *doc = json_of(cases[i].identity);
		struct mor_buf out = MOR_BUF_INIT;

		assert_int_equal(mor_dialect_interfaces(mor_dialect_find("yams"), mor_doc_root(doc), &out),
				 cases[i].count);
		assert_true(mor_slice_is(mor_buf_view(&out), cases[i].names));
		mor_buf_fini(&out);
		mor_doc_free(doc);
	}
}

static void test_announces(void **state)
{
	struct mor_doc *listed =
		json_of("{\"interfaces\":[\"a\",{\"id\":\"b\"}],\"capabilities\":{\"content_extraction\":{}}}");
	struct mor_doc *inferred = json_of("{\"capabilities\":{\"content_extraction\":{}}}");
	const struct mor_dialect *yams = mor_dialect_find("yams");

	(void)state;
	assert_true(mor_dialect_announces(yams, mor_doc_root(listed), "a"));
	assert_true(mor_dialect_announces(yams, mor_doc_root(listed), "b"));
	assert_false(mor_dialect_announces(yams, mor_doc_root(listed), "content_extractor_v1"));
	assert_true(mor_dialect_announces(yams, mor_doc_root(inferred), "content_extractor_v1"));
	assert_false(mor_dialect_announces(yams, NULL, "a"));
	mor_doc_free(listed);
	mor_doc_free(inferred);
}

/* Either side may ping and say good-bye: what the plugin sends is never a row that we send. */
static void test_role_has_a_side(void **state)
{
	static const struct mor_method rows[] = {
		{ .name = "are-you", .from = MOR_FROM_PLUGIN, .role = MOR_ROLE_PING },
		{ .name = "ping", .from = MOR_FROM_HOST, .role = MOR_ROLE_PING },
		{ .name = "leaving", .from = MOR_FROM_PLUGIN, .role = MOR_ROLE_BYE },
		{ 0 },
	};
	static const struct mor_dialect made_up = { .name = "made-up", .methods = rows };

	(void)state;
	assert_ptr_equal(mor_dialect_role(&made_up, MOR_FROM_HOST, MOR_ROLE_PING, NULL), &rows[1]);
	assert_ptr_equal(mor_dialect_role(&made_up, MOR_FROM_PLUGIN, MOR_ROLE_PING, NULL), &rows[0]);
	assert_null(mor_dialect_role(&made_up, MOR_FROM_HOST, MOR_ROLE_PING, &rows[1]));
	assert_null(mor_dialect_role(&made_up, MOR_FROM_HOST, MOR_ROLE_BYE, NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_role_has_a_side), MOR_TEST(test_find),      MOR_TEST(test_require),
		MOR_TEST(test_method),          MOR_TEST(test_role),      MOR_TEST(test_codes),
		MOR_TEST(test_interfaces),      MOR_TEST(test_announces),
	};

	return mor_run_group("dialect/registry", tests);
}
