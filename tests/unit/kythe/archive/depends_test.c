/* SPDX-License-Identifier: Apache-2.0 */
/* Command lines of compilers and the make rules that they answer with. */
#include "leak.h"

#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "kythe/archive/depends.h"

/* The strings, joined by "|". */
static void expect(const struct mor_strings *strings, const char *want)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;

	for (size_t i = 0; i < strings->count; i++)
		mor_buf_printf(&text, "%s%s", i ? "|" : "", strings->item[i]);
	mor_buf_byte(&text, '\0');
	assert_string_equal(text.data, want);
}

static void test_shell_split(void **state)
{
	static const struct {
		const char *command, *want;
	} cases[] = {
		{ "", "" },
		{ "  cc \t-c\n a.c ", "cc|-c|a.c" },
		{ "cc '-DX=\"a b\"' x", "cc|-DX=\"a b\"|x" },
		{ "cc -DX=\\\"a\\ b\\\"", "cc|-DX=\"a b\"" },
		{ "cc \"a\\\"b\\\\c\\n$d\"", "cc|a\"b\\c\\n$d" },
		{ "a''b '' \"\"", "ab||" },
		{ "a\\", "a\\" },
		{ "'a\\'b", "a\\b" },
		{ "$X *.c #x", "$X|*.c|#x" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		MOR_CLEAN(mor_strings) struct mor_strings words = { 0 };

		assert_int_equal(mor_shell_split(mor_slice_of(cases[i].command), &words, NULL), 0);
		expect(&words, cases[i].want);
	}
}

static void test_unclosed_quote(void **state)
{
	static const char *const commands[] = { "cc 'a", "cc \"a", "cc \"a\\\"" };
	mortise_error err = { 0 };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		MOR_CLEAN(mor_strings) struct mor_strings words = { 0 };

		assert_int_equal(mor_shell_split(mor_slice_of(commands[i]), &words, &err), MORTISE_EINPUT);
		assert_string_equal(err.text, "the command has a quote that is not closed");
	}
}

static void ask(const char *command, const char *want, const char *output)
{
	MOR_CLEAN(mor_strings) struct mor_strings words = { 0 };
	MOR_CLEAN(mor_strings) struct mor_strings asking = { 0 };
	const char *const *item;
	size_t skip;

	assert_int_equal(mor_shell_split(mor_slice_of(command), &words, NULL), 0);
	item = (const char *const *)words.item;
	skip = mor_launcher_words(item, words.count);
	assert_int_equal(mor_depends_command(item + skip, words.count - skip, &asking), 0);
	expect(&asking, want);
	assert_string_equal(mor_compile_output(item + skip, words.count - skip), output);
}

/* What says where results go is taken out, all else stays as it is. */
static void test_command(void **state)
{
	(void)state;
	ask("cc -Ix -c a.c -o a.o", "cc|-Ix|a.c|-w|-M|-MT|mortise", "a.o");
	ask("/usr/bin/ccache gcc -MD -MQ a.o -MF a.d -oa.o -c ../a.c", "gcc|../a.c|-w|-M|-MT|mortise", "a.o");
	ask("ccache distcc clang -MMD -MP -MTx -MFx.d -MJ x.json -S a.c", "clang|a.c|-w|-M|-MT|mortise", "");
	ask("gcc -Wp,-MMD,.a.o.d -save-temps=obj -E -DM=-c a.c", "gcc|-DM=-c|a.c|-w|-M|-MT|mortise", "");
	ask("ccache --version", "ccache|--version|-w|-M|-MT|mortise", "");
	ask("cc a.c -o", "cc|a.c|-w|-M|-MT|mortise", "");
}

static void test_rule(void **state)
{
	static const struct {
		const char *rule, *want;
	} cases[] = {
		{ "mortise: a.c\n", "a.c" },
		{ "mortise: a.c /usr/include/stdio.h \\\n b.h \\\n\tc.h", "a.c|/usr/include/stdio.h|b.h|c.h" },
		{ "mortise: with\\ blank.c a\\\\\\ b.h dollar$$.h hash\\#.h",
		  "with blank.c|a\\ b.h|dollar$.h|hash#.h" },
		{ "mortise: a\\b.h x\\\\ y", "a\\b.h|x\\|y" },
		{ "mortise: a.c\\\r\n", "a.c\\" },
		{ "mortise: C:/x.c $x", "C:/x.c|$x" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		MOR_CLEAN(mor_strings) struct mor_strings files = { 0 };

		assert_int_equal(mor_depends_parse(mor_slice_of(cases[i].rule), &files, NULL), 0);
		expect(&files, cases[i].want);
	}
}

static void test_no_rule(void **state)
{
	static const struct mor_slice rules[] = { { "", 0 },
						  { "a.o: a.c", 8 },
						  { "mortise:", 8 },
						  { "mortise: \\\n", 11 },
						  { "mortise: a\0b", 12 } };

	(void)state;
	for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++) {
		MOR_CLEAN(mor_strings) struct mor_strings files = { 0 };

		assert_int_equal(mor_depends_parse(rules[i], &files, NULL), MORTISE_EINPUT);
	}
}

static void test_language(void **state)
{
	(void)state;
	assert_string_equal(mor_language_of("a.c"), "c++");
	assert_string_equal(mor_language_of("x.d/a.cc"), "c++");
	assert_string_equal(mor_language_of("A.java"), "java");
	assert_string_equal(mor_language_of("m.go"), "go");
	assert_null(mor_language_of("Makefile"));
	assert_null(mor_language_of("x.c/Makefile"));
	assert_null(mor_language_of("a.xyz"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_shell_split), MOR_TEST(test_unclosed_quote), MOR_TEST(test_command),
		MOR_TEST(test_rule),        MOR_TEST(test_no_rule),        MOR_TEST(test_language),
	};

	return mor_run_group("kythe/archive/depends", tests);
}
