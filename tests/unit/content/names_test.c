/* SPDX-License-Identifier: Apache-2.0 */
#include "content/names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "content/nameset.h"
#include "leak.h"

static void good_names(void **state)
{
	static const char *const good[] = {
		"plugin.toml",
		"a/b/c",
		".hidden",
		"a b/c d",
		"\xc3\xa4/\xe6\xbc\xa2\xe5\xad\x97",
		"con1.txt",
		"console",
		"com10",
		"nulls/x",
		"ab:c",
		"..a",
		"a..b",
		"Foo::Bar.3pm",
		"a-\xf0\x9f\x98\x80",
	};
	mortise_error err = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		if (mor_content_name_check(good[i], &err) != 0)
			fail_msg("%s: %s", good[i], err.text);
}

struct bad_name {
	const char *path, *text;
};

static void bad_names(void **state)
{
	static const struct bad_name bad[] = {
		{ "", "\"\" is empty" },
		{ "/etc/passwd", "\"/etc/passwd\" is an absolute path" },
		{ "..", "\"..\" leads out of the plugin with \"..\"" },
		{ "a/../../b", "\"a/../../b\" leads out of the plugin with \"..\"" },
		{ "a//b", "\"a//b\" has an empty name" },
		{ "a/", "\"a/\" has an empty name" },
		{ "./a", "\"./a\" has the name \".\"" },
		{ "a\nb", "\"a\\x0ab\" has a control character" },
		{ "a\x1b[31m", "\"a\\x1b[31m\" has a control character" },
		{ "a\xc2\x9b"
		  "1m",
		  "\"a\\xc2\\x9b1m\" has a control character" },
		{ "a\x7f", "\"a\\x7f\" has a control character" },
		{ "a\xff"
		  "b",
		  "\"a\\xffb\" is not UTF-8" },
		{ "a\xc0\xaf"
		  "b",
		  "\"a\\xc0\\xafb\" is not UTF-8" },
		{ "a\\b", "\"a\\b\" has a backslash, which parts directories on Windows" },
		{ "C:/x", "\"C:/x\" has a name with a drive letter" },
		{ "a/c:x", "\"a/c:x\" has a name with a drive letter" },
		{ "a\xe2\x80\x8b"
		  "b",
		  "\"a<U+200B>b\" has an invisible character" },
		{ "a\xe2\x80\xae"
		  "gpj.exe",
		  "\"a<U+202E>gpj.exe\" has an invisible character" },
		{ "a\xef\xbb\xbf", "\"a<U+FEFF>\" has an invisible character" },
		{ "a\xf3\xa0\x81\x81", "\"a<U+E0041>\" has an invisible character" },
		{ "a /b", "\"a /b\" has a name that ends with a dot or a blank" },
		{ "a./b", "\"a./b\" has a name that ends with a dot or a blank" },
		{ "...", "\"...\" has a name that ends with a dot or a blank" },
		{ "a\xe3\x80\x80", "\"a\xe3\x80\x80\" has a name that ends with a dot or a blank" },
		{ "a -> b", "\"a -> b\" has \" -> \" in it, which marks links" },
		{ "NUL", "\"NUL\" has a name that Windows reserves" },
		{ "a/aux.c", "\"a/aux.c\" has a name that Windows reserves" },
		{ "com1.tar.gz", "\"com1.tar.gz\" has a name that Windows reserves" },
		{ "LPT\xc2\xb9", "\"LPT\xc2\xb9\" has a name that Windows reserves" },
		{ "con .txt", "\"con .txt\" has a name that Windows reserves" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		mortise_error err = { 0 };

		assert_int_equal(mor_content_name_check(bad[i].path, &err), MORTISE_EINPUT);
		assert_string_equal(err.text, bad[i].text);
	}
}

static void lengths_of_names(void **state)
{
	char path[MOR_CONTENT_PATH_BYTES + 2];
	mortise_error err = { 0 };

	(void)state;
	memset(path, 'a', sizeof(path));
	path[MOR_CONTENT_NAME_BYTES] = '\0';
	assert_int_equal(mor_content_name_check(path, &err), 0);
	path[MOR_CONTENT_NAME_BYTES] = 'a';
	path[MOR_CONTENT_NAME_BYTES + 1] = '\0';
	assert_int_equal(mor_content_name_check(path, &err), MORTISE_EINPUT);
	assert_non_null(strstr(err.text, "...\" has a name of more than 255 bytes"));
	for (size_t i = 0; i + 1 < sizeof(path); i++)
		path[i] = i % 2 ? '/' : 'a';
	path[MOR_CONTENT_PATH_BYTES - 1] = '\0';
	assert_int_equal(mor_content_name_check(path, &err), 0);
	path[MOR_CONTENT_PATH_BYTES - 1] = 'a';
	path[MOR_CONTENT_PATH_BYTES] = 'a';
	path[MOR_CONTENT_PATH_BYTES + 1] = '\0';
	assert_int_equal(mor_content_name_check(path, &err), MORTISE_EINPUT);
	assert_non_null(strstr(err.text, "is longer than 4,096 bytes"));
}

static void shown_names_are_cut(void **state)
{
	char out[8];

	(void)state;
	assert_string_equal(mor_content_name_show(MOR_SLICE("abcdefg"), out, sizeof(out)), "abcdefg");
	assert_string_equal(mor_content_name_show(MOR_SLICE("abcdefgh"), out, sizeof(out)), "abcd...");
	assert_string_equal(mor_content_name_show(MOR_SLICE("abc\nde"), out, sizeof(out)), "abc...");
	assert_string_equal(mor_content_name_show(MOR_SLICE(""), out, sizeof(out)), "");
}

struct two_names {
	const char *first;
	enum mor_nameset_kind first_kind;
	const char *second;
	enum mor_nameset_kind second_kind;
	const char *text; /* NULL: they go together */
};

static void two_names_in_one_tree(void **state)
{
	static const struct two_names rows[] = {
		{ "a", MOR_NAMESET_FILE, "b", MOR_NAMESET_FILE, NULL },
		{ "a/x", MOR_NAMESET_FILE, "b/X", MOR_NAMESET_FILE, NULL },
		{ "a", MOR_NAMESET_DIR, "a", MOR_NAMESET_DIR, NULL },
		{ "a/x", MOR_NAMESET_FILE, "a", MOR_NAMESET_DIR, NULL },
		{ "a", MOR_NAMESET_FILE, "a", MOR_NAMESET_FILE, "\"a\" is there twice" },
		{ "a", MOR_NAMESET_FILE, "a", MOR_NAMESET_DIR, "\"a\" is there twice" },
		{ "a/x", MOR_NAMESET_FILE, "a", MOR_NAMESET_FILE, "\"a\" is there twice" },
		{ "a", MOR_NAMESET_FILE, "a/x", MOR_NAMESET_FILE, "\"a/x\" lies below \"a\", which is a file" },
		{ "a", MOR_NAMESET_LINK, "a/x", MOR_NAMESET_FILE, "\"a/x\" lies below \"a\", which is a link" },
		{ "d/Run", MOR_NAMESET_FILE, "d/run", MOR_NAMESET_FILE,
		  "\"d/run\" and \"d/Run\" differ in case or Unicode form only: on some systems they are one "
		  "file" },
		{ "D/a", MOR_NAMESET_FILE, "d/b", MOR_NAMESET_FILE,
		  "\"d/b\" and \"D\" differ in case or Unicode form only: on some systems they are one file" },
		/* e with an acute accent, as one character and as two */
		{ "caf\xc3\xa9", MOR_NAMESET_FILE, "cafe\xcc\x81", MOR_NAMESET_FILE,
		  "\"cafe\xcc\x81\" and \"caf\xc3\xa9\" differ in case or Unicode form only: on some systems "
		  "they are one file" },
		/* the German sharp s and its capital form, "ss" */
		{ "stra\xc3\x9f"
		  "e",
		  MOR_NAMESET_FILE, "STRASSE", MOR_NAMESET_FILE,
		  "\"STRASSE\" and \"stra\xc3\x9f"
		  "e\" differ in case or Unicode form only: on some systems they are one file" },
		/* the sign for kelvin is a K */
		{ "\xe2\x84\xaa", MOR_NAMESET_FILE, "k", MOR_NAMESET_FILE,
		  "\"k\" and \"\xe2\x84\xaa\" differ in case or Unicode form only: on some systems they are "
		  "one file" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		MOR_CLEAN(mor_nameset) struct mor_nameset *set = mor_nameset_new();
		mortise_error err = { 0 };
		int r;

		assert_int_equal(mor_nameset_add(set, rows[i].first, rows[i].first_kind, &err), 0);
		r = mor_nameset_add(set, rows[i].second, rows[i].second_kind, &err);
		assert_int_equal(r, rows[i].text ? MORTISE_EINPUT : 0);
		assert_string_equal(err.text, rows[i].text ? rows[i].text : "");
	}
}

static void many_names(void **state)
{
	MOR_CLEAN(mor_nameset) struct mor_nameset *set = mor_nameset_new();
	mortise_error err = { 0 };
	char path[32];

	(void)state;
	for (int i = 0; i < MOR_NAMESET_LIMIT - 1; i++) {
		snprintf(path, sizeof(path), "d/f%d", i);
		assert_int_equal(mor_nameset_add(set, path, MOR_NAMESET_FILE, &err), 0);
	}
	assert_int_equal(mor_nameset_add(set, "d/f7", MOR_NAMESET_FILE, &err), MORTISE_EINPUT);
	assert_int_equal(mor_nameset_add(set, "more", MOR_NAMESET_FILE, &err), MORTISE_EINPUT);
	assert_string_equal(err.text, "more than 60000 files and directories");
}

static void no_memory_for_names(void **state)
{
	mortise_error err = { 0 };

	(void)state;
	for (long n = 0;; n++) {
		struct mor_nameset *set;
		int r = MORTISE_ENOMEM;

		mor_alloc_fail_after(n);
		set = mor_nameset_new();
		if (set)
			r = mor_nameset_add(set, "a/b", MOR_NAMESET_FILE, &err);
		mor_alloc_fail_after(-1);
		mor_nameset_free(set);
		if (r == 0)
			break;
		assert_int_equal(r, MORTISE_ENOMEM);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(good_names),
		MOR_TEST(bad_names),
		MOR_TEST(lengths_of_names),
		MOR_TEST(shown_names_are_cut),
		MOR_TEST(two_names_in_one_tree),
		MOR_TEST(many_names),
		MOR_TEST(no_memory_for_names),
	};

	return mor_run_group("content/names", tests);
}
