/* SPDX-License-Identifier: Apache-2.0 */
/* What a compiler's answer means, and which entries of compile_commands.json do not count. No compiler runs. */
#include "leak.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "capture/capture.h"
#include "said.h"
#include "top.h"

/* ---- the answer ---- */

static int answer(const char *out, const char *err_text, int status, struct mor_strings *ret,
		  mortise_error *err)
{
	struct mor_capture_asking asking = { .out = memfd_create("out", MFD_CLOEXEC),
					     .err = memfd_create("err", MFD_CLOEXEC) };
	int r;

	assert_int_equal(mor_fd_write_all(asking.out, out, strlen(out)), 0);
	assert_int_equal(mor_fd_write_all(asking.err, err_text, strlen(err_text)), 0);
	r = mor_capture_asking_result(&asking, status, ret, err);
	mor_capture_asking_fini(&asking);
	return r;
}

static void test_files_of_a_rule(void **state)
{
	MOR_CLEAN(mor_strings) struct mor_strings files = { 0 };

	(void)state;
	assert_int_equal(answer("mortise: a.c \\\n b\\ c.h /usr/x.h\n", "a warning\n", 0, &files, NULL), 0);
	assert_int_equal(files.count, 3);
	assert_string_equal(files.item[0], "a.c");
	assert_string_equal(files.item[1], "b c.h");
	assert_string_equal(files.item[2], "/usr/x.h");
}

static void test_a_compiler_that_fails(void **state)
{
	static const struct {
		const char *said;
		int status;
		const char *text;
	} rows[] = {
		{ "", 1 << 8, "the compiler ended with 1 when asked which files it reads" },
		{ "In file included from a.c:\nb.h:3: error: no \x1b[1m\nmore\n", 4 << 8,
		  "the compiler ended with 4 when asked which files it reads: b.h:3: error: no \\x1b[1m" },
		{ "\n\nfirst\nsecond\n", 1 << 8,
		  "the compiler ended with 1 when asked which files it reads: first" },
		{ "no newline", SIGSEGV,
		  "the compiler was ended by signal 11 when asked which files it reads: no newline" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		MOR_CLEAN(mor_strings) struct mor_strings files = { 0 };
		mortise_error err = { 0 };

		assert_int_equal(answer("mortise: a.c\n", rows[i].said, rows[i].status, &files, &err),
				 MORTISE_EINPUT);
		assert_string_equal(err.text, rows[i].text);
		assert_int_equal(files.count, 0);
	}
}

static void test_an_answer_that_is_no_rule(void **state)
{
	static const char *const rows[] = { "", "hello\n", "a.o: a.c\n", "mortise:\n" };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		MOR_CLEAN(mor_strings) struct mor_strings files = { 0 };
		mortise_error err = { 0 };

		assert_int_equal(answer(rows[i], "", 0, &files, &err), MORTISE_EINPUT);
		assert_int_equal(files.count, 0); /* so that nobody looks for the first */
	}
}

static void test_the_source_in_another_spelling(void **state)
{
	static char *items[] = { "./a.c", "../x/b.c", "/abs/c.c", NULL };
	struct mor_strings files = { .item = items, .count = 3 };

	(void)state;
	assert_ptr_equal(mor_capture_asked_source(&files, "/w", "a.c"), items[0]);
	assert_ptr_equal(mor_capture_asked_source(&files, "/w", "/w/sub/../a.c"), items[0]);
	assert_ptr_equal(mor_capture_asked_source(&files, "/w", "/x/b.c"), items[1]);
	assert_ptr_equal(mor_capture_asked_source(&files, "/w", "//abs/./c.c"), items[2]);
	assert_null(mor_capture_asked_source(&files, "/w", "c.c"));
	assert_null(mor_capture_asked_source(&(struct mor_strings){ 0 }, "/w", "a.c"));
	mor_alloc_fail_after(0);
	assert_null(mor_capture_asked_source(&files, "/w", "a.c"));
	mor_alloc_fail_after(-1);
}

static void test_a_compiler_that_is_not_there(void **state)
{
	static const char *const arguments[] = { "/nowhere/cc", "-c", "a.c" };
	struct mor_capture_asking asking;
	mortise_error err = { 0 };

	(void)state;
	assert_int_equal(mor_capture_asking_start(&asking, "/", arguments, 3, &err), MORTISE_EEXEC);
	assert_string_equal(err.text, "cannot run /nowhere/cc in /: No such file or directory");
	assert_int_equal(asking.pid, 0);
	mor_alloc_fail_after(0);
	assert_int_equal(mor_capture_asking_start(&asking, "/", arguments, 3, &err), MORTISE_ENOMEM);
	mor_alloc_fail_after(-1);
	mor_capture_asking_fini(&asking);
}

/* ---- compile_commands.json ---- */

struct database {
	struct said said;
	struct mor_capture capture;
	size_t failed;
};

static int read_database(struct database *d, const char *json, mortise_error *err)
{
	FILE *file = fopen(at("compile_commands.json"), "w");
	int r;

	assert_non_null(file);
	fputs(json, file);
	fclose(file);
	d->capture.console = &d->said.console;
	d->failed = 0;
	said_begin(&d->said);
	r = mor_capture_compdb(&d->capture, at("compile_commands.json"), 1, &d->failed, err);
	said_end(&d->said);
	return r;
}

static void test_what_is_no_database(void **state)
{
	static const char *const rows[][2] = {
		{ "{}", "compile_commands.json: expected an array of compile commands" },
		{ "[]", "compile_commands.json: expected an array of compile commands" },
		{ "7", "compile_commands.json: expected an array of compile commands" },
		{ "[", "compile_commands.json: " },
		{ "", "compile_commands.json: " },
	};
	struct database d = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		mortise_error err = { 0 };

		assert_int_equal(read_database(&d, rows[i][0], &err), MORTISE_EINPUT);
		assert_non_null(strstr(err.text, rows[i][1]));
		assert_string_equal(d.said.err, "");
	}
	said_forget(&d.said);
}

/* A wrong entry is told with its number and its file, and the others go on. */
static void test_wrong_entries(void **state)
{
	static const char *const rows[][2] = {
		{ "{}", "input: ?: " },
		{ "7", "lacks \"directory\" or \"file\"" },
		{ "{\"directory\":\"\",\"file\":\"a.c\",\"command\":\"cc a.c\"}",
		  "lacks \"directory\" or \"file\"" },
		{ "{\"directory\":\"/\",\"command\":\"cc a.c\"}", "lacks \"directory\" or \"file\"" },
		{ "{\"directory\":\"/\",\"file\":\"a.c\"}", "has neither \"arguments\" nor \"command\"" },
		{ "{\"directory\":\"/\",\"file\":\"a.c\",\"arguments\":[\"cc\",7]}",
		  "has \"arguments\" that are not strings" },
		{ "{\"directory\":\"/\",\"file\":\"a.c\",\"arguments\":[\"cc\"]}",
		  "has no compiler with arguments" },
		{ "{\"directory\":\"/\",\"file\":\"a.c\",\"arguments\":\"cc a.c\"}",
		  "has no compiler with arguments" },
		{ "{\"directory\":\"/\",\"file\":\"a.c\",\"command\":\"cc 'a.c\"}", "a.c" },
		{ "{\"directory\":\"/\",\"file\":\"a.c\",\"command\":\"/nowhere/cc a.c\"}",
		  "cannot run /nowhere/cc in /" },
		{ "{\"directory\":\"/nowhere\",\"file\":\"a.c\",\"command\":\"cc a.c\"}", "in /nowhere" },
	};
	struct database d = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char json[500];

		snprintf(json, sizeof(json), "[{},%s]", rows[i][0]);
		assert_int_equal(read_database(&d, json, NULL), 0);
		assert_int_equal(d.failed, 2);
		assert_non_null(strstr(d.said.err, "command 1 lacks \"directory\" or \"file\""));
		assert_non_null(strstr(strchr(d.said.err, '\n') + 1, rows[i][1]));
	}
	said_forget(&d.said);
}

/* A relative directory is relative to the database, not to us. */
static void test_a_relative_directory(void **state)
{
	struct database d = { 0 };

	(void)state;
	assert_int_equal(
		read_database(&d,
			      "[{\"directory\":\"build\",\"file\":\"a.c\",\"command\":\"/nowhere/cc a.c\"}]",
			      NULL),
		0);
	assert_non_null(strstr(d.said.err, at("build")));
	said_forget(&d.said);
}

static int make_top(void **state)
{
	(void)state;
	return top_make("capture");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_files_of_a_rule),
		MOR_TEST(test_a_compiler_that_fails),
		MOR_TEST(test_an_answer_that_is_no_rule),
		MOR_TEST(test_the_source_in_another_spelling),
		MOR_TEST(test_a_compiler_that_is_not_there),
		MOR_TEST(test_what_is_no_database),
		MOR_TEST(test_wrong_entries),
		MOR_TEST(test_a_relative_directory),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("capture/ask", tests, make_top, top_drop);
}
