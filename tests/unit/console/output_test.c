/* SPDX-License-Identifier: Apache-2.0 */
/* Results on stdout or in a file, and what happens if they cannot be written. */
#include "heard.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "base/alloc.h"
#include "console/confirm.h"
#include "console/table.h"
#include "top.h"
#include "typed.h"

static int make_top(void **state)
{
	(void)state;
	signal(SIGPIPE, SIG_IGN); /* as a command does */
	return top_make("output");
}

/* ---- JSON ---- */

static void test_json_is_indented_on_a_terminal_only(void **state)
{
	(void)state;
	mor_out_json(&console, MOR_SLICE("{ \"a\" :[1,\n2]}"));
	assert_string_equal(heard_out(), "{\"a\":[1,2]}\n");
	console.out_terminal = true;
	mor_out_json(&console, MOR_SLICE("{\"a\":1}"));
	assert_string_equal(heard_out(), "{\n  \"a\": 1\n}\n");
	mor_out_json_line(&console, MOR_SLICE("{\"a\":\n1}"));
	assert_string_equal(heard_out(), "{\"a\":1}\n");
}

/* Deeper than our limit: as it came, but on one line. */
static void test_json_that_does_not_parse_stays_one_line(void **state)
{
	char deep[600];

	(void)state;
	memset(deep, '[', 299);
	deep[299] = '\n';
	memset(deep + 300, ']', 299);
	mor_out_json(&console, (struct mor_slice){ deep, 599 });
	assert_int_equal(strcspn(heard_out(), "\n"), 599);
}

/* ---- writes that fail ---- */

static void put_out(int fd)
{
	console.out = fdopen(fd, "w");
	assert_non_null(console.out);
}

static void test_a_full_disk(void **state)
{
	(void)state;
	put_out(open("/dev/full", O_WRONLY | O_CLOEXEC));
	mor_out_text(&console, "lost");
	assert_false(mor_out_broken(&console)); /* it is not written yet */
	assert_int_equal(mor_out_finish(&console, 0), 1);
	assert_true(mor_out_broken(&console));
	assert_string_equal(heard_err(), "system: writing the output: No space left on device\n");
	assert_int_equal(mor_out_finish(&console, 5), 5); /* what failed before decides */
	fclose(console.out);
}

/* As if SIGPIPE had ended us, and without a word. */
static void test_nobody_reads(void **state)
{
	int ends[2];

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	close(ends[0]);
	put_out(ends[1]);
	mor_out_text(&console, "lost");
	assert_int_equal(mor_out_finish(&console, 0), 128 + SIGPIPE);
	assert_string_equal(heard_err(), "");
	fclose(console.out);
}

/* ---- -o FILE ---- */

static const char *content_of(const char *name)
{
	static char text[100];
	int fd = open(at(name), O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return NULL;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	return text;
}

static int write_file(const char *name, const char *text, bool keep)
{
	mortise_error err = { 0 };
	int r = mor_out_to(&console, at(name), &err);

	if (r < 0)
		return r;
	mor_out_text(&console, text);
	return mor_out_end(&console, keep, 0);
}

static void test_a_file_appears_whole_or_not_at_all(void **state)
{
	(void)state;
	console.out_terminal = console.out_color = true;
	assert_int_equal(write_file("new", "first", false), 0);
	assert_null(content_of("new"));
	assert_int_equal(write_file("new", "first", true), 0);
	assert_string_equal(content_of("new"), "first");
	assert_int_equal(write_file("new", "second", false), 0);
	assert_string_equal(content_of("new"), "first");
	assert_int_equal(write_file("new", "second", true), 0);
	assert_string_equal(content_of("new"), "second");
	assert_false(console.out_terminal || console.out_color); /* a file has neither */
	assert_ptr_equal(console.out, stdout);
	assert_int_equal(mor_out_end(&console, true, 7), 7); /* no file is open */
}

static void test_a_file_that_cannot_be_made(void **state)
{
	(void)state;
	assert_true(write_file("no/such/place", "x", true) < 0);
	assert_ptr_equal(console.out, heard_results.file);
}

/* ---- colour ---- */

/* With stdout on a terminal that we have made; then it is as it was. */
static bool is_coloured(const char *term, const char *no_color)
{
	int real = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3), pty = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	int end = pty < 0 || grantpt(pty) < 0 || unlockpt(pty) < 0 ?
			  -1 :
			  open(ptsname(pty), O_RDWR | O_NOCTTY | O_CLOEXEC);

	assert_true(end >= 0);
	if (term)
		setenv("TERM", term, 1);
	else
		unsetenv("TERM");
	if (no_color)
		setenv("NO_COLOR", no_color, 1);
	else
		unsetenv("NO_COLOR");
	fflush(stdout);
	dup2(end, STDOUT_FILENO);
	mor_out_init(&console);
	dup2(real, STDOUT_FILENO);
	close(real);
	close(pty);
	close(end);
	assert_true(console.out_terminal);
	return *mor_style(&console, MOR_STYLE_BAD);
}

static void test_when_there_is_colour(void **state)
{
	(void)state;
	assert_true(is_coloured("xterm", NULL));
	assert_true(is_coloured("xterm", "")); /* https://no-color.org: empty is not set */
	assert_false(is_coloured("xterm", "1"));
	assert_false(is_coloured("dumb", NULL));
	assert_false(is_coloured(NULL, NULL));
}

static void test_each_stream_has_its_own_colour(void **state)
{
	(void)state;
	assert_string_equal(mor_style(&console, MOR_STYLE_GOOD), "");
	console.out_color = true;
	assert_string_equal(mor_style(&console, MOR_STYLE_GOOD), "\033[32m");
	assert_string_equal(mor_style_err(&console, MOR_STYLE_GOOD), "");
	assert_string_equal(mor_style_err_end(&console), "");
	mor_out_title(&console, "T");
	assert_string_equal(heard_out(), "\n\033[1mT\033[0m\n");
}

/* ---- notes ---- */

static void test_a_note_removes_the_progress_line(void **state)
{
	(void)state;
	mor_progress_say(&console.progress, -1, "half");
	heard_err();
	mor_note(&console, "%d files", 3);
	assert_string_equal(heard_err(), "\r\033[K3 files\n");
	mor_note_slice(&console, (struct mor_slice){ "a\0b", 3 });
	assert_memory_equal(heard_err(), "a\0b\n", 5);
}

static void test_printable_values(void **state)
{
	static const char *const rows[][2] = { { "\"a\\u001b\\\"b\"", "a\\x1b\"b" },
					       { "{\"a\": [1]}", "{\"a\":[1]}" },
					       { "null", "null" } };
	char shown[20];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;

		assert_int_equal(mor_doc_parse(mor_slice_of(rows[i][0]), 0, 0, &doc, NULL), 0);
		assert_string_equal(mor_printable_value(mor_doc_root(doc), shown, sizeof(shown)), rows[i][1]);
	}
}

/* ---- tables ---- */

static void add_row(struct mor_table *table, const char *a, const char *b, const char *c)
{
	mor_table_add(table, (const char *const[]){ a, b, c, NULL });
}

static void test_columns(void **state)
{
	struct mor_table table = { 0 };

	(void)state;
	add_row(&table, "NAME", "N", "WHAT");
	add_row(&table, "a", "1000", "x y");
	add_row(&table, "long\nname", "", "");
	assert_int_equal(mor_table_print(&table, &console, NULL), 0);
	assert_string_equal(heard_out(), "NAME          N     WHAT\n"
					 "a             1000  x y\n"
					 "long\\x0aname\n");
	mor_table_fini(&table);
	assert_int_equal(mor_table_print(&table, &console, NULL), 0); /* none */
	assert_string_equal(heard_out(), "");
}

/* Who reads a pipe wants all of it. */
static void test_the_last_column_is_cut_on_a_terminal_only(void **state)
{
	struct mor_table table = { 0 };
	char wide[1000];

	(void)state;
	memset(wide, 'w', sizeof(wide));
	wide[sizeof(wide) - 1] = '\0';
	add_row(&table, wide, "b", wide);
	mor_table_print(&table, &console, NULL);
	assert_int_equal(strlen(heard_out()), 119 + 2 + 1 + 2 + 999 + 1);
	console.out_terminal = true;
	mor_table_print(&table, &console, NULL);
	assert_int_equal(strlen(heard_out()), 119 + 2 + 1 + 2 + 119 + 1);
	mor_table_fini(&table);
}

static void test_a_table_without_memory_says_so(void **state)
{
	(void)state;
	for (long n = 0, r = MORTISE_ENOMEM; r == MORTISE_ENOMEM; n++) {
		struct mor_table table = { 0 };
		mortise_error err = { 0 };

		mor_alloc_fail_after(n);
		add_row(&table, "a", "b", "c");
		mor_alloc_fail_after(-1);
		r = mor_table_print(&table, &console, &err);
		assert_int_equal(err.code, r);
		assert_true(r == 0 ? n > 3 : n < 20);
		mor_table_fini(&table);
	}
}

/* ---- a question ---- */

static void test_only_yes_is_yes(void **state)
{
	static const struct {
		const char *typed;
		bool yes;
	} rows[] = { { "y\n", true },   { "yes\r\n", true }, { "YES", true },  { "Y\nn\n", true },
		     { "n\n", false },  { "\n", false },     { "", false },    { "yess\n", false },
		     { " y\n", false }, { "yn", false },     { "yE\n", false } };
	char many[200];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		typed_begin(rows[i].typed);
		assert_int_equal(mor_console_confirm("Sure? "), rows[i].yes);
		typed_end();
		assert_string_equal(heard_err(), *rows[i].typed ? "Sure? " : "Sure? \n");
	}
	memset(many, 'y', sizeof(many));
	typed_bytes(many, sizeof(many));
	assert_false(mor_console_confirm(""));
	typed_end();
	typed_bytes("y\0es\n", 5);
	assert_true(mor_console_confirm(""));
	typed_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HEARD_TEST(test_json_is_indented_on_a_terminal_only),
		HEARD_TEST(test_json_that_does_not_parse_stays_one_line),
		HEARD_TEST(test_a_full_disk),
		HEARD_TEST(test_nobody_reads),
		HEARD_TEST(test_a_file_appears_whole_or_not_at_all),
		HEARD_TEST(test_a_file_that_cannot_be_made),
		HEARD_TEST(test_when_there_is_colour),
		HEARD_TEST(test_each_stream_has_its_own_colour),
		HEARD_TEST(test_a_note_removes_the_progress_line),
		HEARD_TEST(test_printable_values),
		HEARD_TEST(test_columns),
		HEARD_TEST(test_the_last_column_is_cut_on_a_terminal_only),
		HEARD_TEST(test_a_table_without_memory_says_so),
		HEARD_TEST(test_only_yes_is_yes),
	};

	return mor_run_group_in("console/output", tests, make_top, top_drop);
}
