/* SPDX-License-Identifier: Apache-2.0 */
/* Which words `mortise new` takes, and what becomes of placeholders. */
#include "leak.h"

#include <string.h>

#include "base/alloc.h"
#include "starter/inside.h"

static void refuse(const char *language, const char *dialect, const char *path, const char *wanted)
{
	struct mor_starter_order order = { 0 };
	mortise_error err = { 0 };

	assert_int_equal(mor_starter_order_take(&order, language, dialect, path, &err), MORTISE_EINVAL);
	assert_string_equal(err.text, wanted);
	mor_starter_order_fini(&order);
}

static void test_unknown_and_missing_words(void **state)
{
	(void)state;
	refuse("pyton", "yams", "x", "\"pyton\" is none of c, python, node: did you mean \"python\"?");
	refuse("fortran", "yams", "x", "\"fortran\" is none of c, python, node");
	refuse("C", "yams", "x", "\"C\" is none of c, python, node: did you mean \"c\"?");
	refuse(NULL, NULL, NULL, "say in which LANGUAGE: c, python, node");
	refuse("c", NULL, NULL, "NAME the plugin: it becomes a folder of that name");
	refuse("c", NULL, "x",
	       "say with --dialect which protocol it speaks: yams, gassist, ayiou, sunscreen, sunscreen-json, "
	       "kythe, plain");
	refuse("c", "yam", "x",
	       "\"yam\" is none of yams, gassist, ayiou, sunscreen, sunscreen-json, kythe, plain: did you mean "
	       "\"yams\"?");
	refuse("c", "\x1b[2J", "x",
	       "\"\\x1b[2J\" is none of yams, gassist, ayiou, sunscreen, sunscreen-json, kythe, plain");
}

/* The dialect's rule, and nothing that a path or a command could misunderstand. */
static void test_names_that_a_dialect_does_not_allow(void **state)
{
	static const struct {
		const char *dialect, *name;
	} rows[] = {
		{ "yams", "a-b" },           { "yams", "1a" },      { "yams", "_a" },
		{ "yams", "\xc3\xa9" },      { "yams", "a.b" },     { "gassist", "1a" },
		{ "gassist", "a.b" },        { "gassist", "a b" },  { "plain", "-a" },
		{ "plain", "a b" },          { "plain", "." },      { "plain", ".." },
		{ "plain", ".hidden" },      { "plain", "a+b" },    { "kythe", "a\nb" },
		{ "sunscreen", "a/../b;c" }, { "sunscreen", "+a" }, { "ayiou", "a'b" },
		{ "ayiou", "$(x)" },         { "plain", "a\\b" },   { "sunscreen-json", "a\"b" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct mor_starter_order order = { 0 };
		mortise_error err = { 0 };

		assert_int_equal(mor_starter_order_take(&order, "c", rows[i].dialect, rows[i].name, &err),
				 MORTISE_EINVAL);
		assert_non_null(strstr(err.text, "plugin's name begins with a letter"));
		assert_non_null(strstr(err.text, rows[i].dialect));
		mor_starter_order_fini(&order);
	}
	refuse("c", "yams", "1a",
	       "NAME \"1a\": a yams plugin's name begins with a letter; then only letters, digits and these: "
	       "_");
	refuse("c", "plain", "a b",
	       "NAME \"a b\": a plain plugin's name begins with a letter or digit; then only letters, digits "
	       "and these: _-.");
	refuse("c", "plain", "", "NAME must not be empty");
	refuse("c", "plain", "///", "NAME must not be empty");
}

static void test_the_name_is_the_last_part_of_the_path(void **state)
{
	static const struct {
		const char *dialect, *path, *name;
	} rows[] = {
		{ "yams", "a_1", "a_1" },        { "gassist", "My-plugin_2", "My-plugin_2" },
		{ "plain", "1.a-b", "1.a-b" },   { "sunscreen", "a+b", "a+b" },
		{ "plain", "./a b/c//", "c" },   { "kythe", "/tmp/x/", "x" },
		{ "sunscreen-json", "/x", "x" }, { "ayiou", "../0", "0" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct mor_starter_order order = { 0 };

		assert_int_equal(mor_starter_order_take(&order, "node", rows[i].dialect, rows[i].path, NULL),
				 0);
		assert_string_equal(order.name, rows[i].name);
		assert_string_equal(order.path, rows[i].path);
		assert_string_equal(order.language->program, "plugin.js");
		assert_string_equal(order.dialect->name, rows[i].dialect);
		mor_starter_order_fini(&order);
	}
}

static void test_no_memory_for_words(void **state)
{
	struct mor_starter_order order = { 0 };
	mortise_error err = { 0 };

	(void)state;
	mor_alloc_fail_after(0);
	assert_int_equal(mor_starter_order_take(&order, "c", "plain", "x", &err), MORTISE_ENOMEM);
	assert_int_equal(mor_starter_order_take(&order, "d", "plain", "x", &err), MORTISE_ENOMEM);
	mor_alloc_fail_after(-1);
	mor_starter_order_fini(&order);
}

/* ---- placeholders ---- */

static void test_placeholders(void **state)
{
	static const struct mor_starter_value values[] = { { "NAME", MOR_SLICE("greeter") },
							   { "STEPS", MOR_SLICE("a @NAME@\n") },
							   { "EMPTY", { NULL, 0 } },
							   { 0 } };
	static const char *const rows[][2] = {
		{ "", "" },
		{ "plain text", "plain text" },
		{ "@NAME@", "greeter" },
		{ "<@NAME@@NAME@>", "<greetergreeter>" },
		{ "@STEPS@", "a @NAME@\n" }, /* what is put in is not read again */
		{ "[@EMPTY@]", "[]" },
		{ "@plugin.command", "@plugin.command" }, /* Python */
		{ "@@NAME@@", "@greeter@" },
		{ "@NAME", "@NAME" },
		{ "@NAMES@", "@NAMES@" },
		{ "@name@", "@name@" },
		{ "a@b.example NAME@ @", "a@b.example NAME@ @" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;

		assert_int_equal(mor_starter_fill(mor_slice_of(rows[i][0]), values, &out), 0);
		assert_int_equal(mor_buf_byte(&out, '\0'), 0);
		assert_string_equal(out.data, rows[i][1]);
	}
}

static void test_no_memory_for_a_text(void **state)
{
	static const struct mor_starter_value none[] = { { 0 } };
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;

	(void)state;
	mor_alloc_fail_after(0);
	assert_int_equal(mor_starter_fill(MOR_SLICE("text"), none, &out), MORTISE_ENOMEM);
	mor_alloc_fail_after(-1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_unknown_and_missing_words),
		MOR_TEST(test_names_that_a_dialect_does_not_allow),
		MOR_TEST(test_the_name_is_the_last_part_of_the_path),
		MOR_TEST(test_no_memory_for_words),
		MOR_TEST(test_placeholders),
		MOR_TEST(test_no_memory_for_a_text),
	};

	return mor_run_group("starter/order", tests);
}
