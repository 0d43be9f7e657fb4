/* SPDX-License-Identifier: Apache-2.0 */
/* The reports of check: what plugins say may be any bytes, and each report must still be what it
 * claims to be. */
#include "leak.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/text.h"
#include "check/check.h"
#include "tmp.h"
#include "wire/json.h"

/* Quotes, markup, a newline, an escape sequence, a character that XML forbids, bytes that are not UTF-8. */
#define AWKWARD "\"<&>' \n\x1b[31m\x01 \xef\xbf\xbf \xff\xc3 \xc3\xa9"
#define FFFD    "\xef\xbf\xbd"

static void add_result(struct mor_check_report *report, const char *id, enum mor_check_verdict verdict)
{
	struct mor_check_result result = { .title = "is right",
					   .spec = "JSON-RPC 2.0, section 5",
					   .advice = "mend it",
					   .level = MOR_CHECK_MUST,
					   .verdict = verdict,
					   .ms = 1234 };

	snprintf(result.id, sizeof(result.id), "%s", id);
	if (verdict != MOR_CHECK_PASS) {
		result.why = mor_strdup("it said " AWKWARD);
		result.talk = mor_strdup("> {\"id\":1}\n< " AWKWARD "\n");
	}
	assert_int_equal(mor_grow(&report->item, report->count, &report->cap, sizeof(result)), 0);
	report->item[report->count++] = result;
}

static struct mor_check_report make_report(void)
{
	struct mor_check_report report = { .subject = "plug" AWKWARD, .dialect = "plain" };

	add_result(&report, "plain.stop.eof", MOR_CHECK_PASS);
	add_result(&report, "plain.stop.status", MOR_CHECK_FAIL);
	add_result(&report, "plain.stop.term", MOR_CHECK_WARN);
	add_result(&report, "plain.method.unknown", MOR_CHECK_UNSEEN);
	mor_check_count(&report);
	return report;
}

static char *text_of(struct mor_buf *out)
{
	assert_int_equal(mor_buf_byte(out, '\0'), 0);
	return out->data;
}

static size_t lines_of(const char *text)
{
	size_t lines = 0;

	for (; *text; text++)
		lines += *text == '\n';
	return lines;
}

/* Nothing that a terminal would obey, and only UTF-8. */
static void assert_text(const char *text)
{
	assert_true(mor_utf8_valid(mor_slice_of(text)));
	for (; *text; text++)
		assert_true((unsigned char)*text >= ' ' || *text == '\n');
}

/* ---- for people ---- */

static char *print_people(const struct mor_check_report *report)
{
	char *text = NULL;
	size_t len = 0;
	struct mor_console console = { .out = open_memstream(&text, &len), .verbose = true };

	mor_check_print_people(&console, report);
	fclose(console.out);
	return text;
}

/* A host that never started the plugin, for instance. */
static void test_nothing_observed(void **state)
{
	struct mor_check_report report = make_report();
	char *text;

	(void)state;
	for (size_t i = 0; i < report.count; i++)
		report.item[i].verdict = MOR_CHECK_UNSEEN;
	memset(report.sum, 0, sizeof(report.sum));
	report.sum[MOR_CHECK_UNSEEN] = report.count;
	report.expected = 0;
	assert_int_equal(mor_check_exit_code(&report), 1);
	text = print_people(&report);
	assert_non_null(strstr(text, "nothing was observed: "));
	assert_non_null(strstr(text, "\nbad: "));
	free(text);
	mor_check_report_fini(&report);
}

static void test_people(void **state)
{
	struct mor_check_report report = make_report();
	char *text = print_people(&report);

	(void)state;
	assert_text(text);
	assert_non_null(
		strstr(text, "\nstop\n  ok   plain.stop.eof: is right\n  FAIL plain.stop.status: is right\n"));
	assert_non_null(strstr(text, "       it said \"<&>' \\x0a\\x1b[31m\\x01 "));
	assert_non_null(strstr(text, "         > {\"id\":1}\n"));
	assert_non_null(strstr(text, "       what to do: mend it\n"));
	assert_non_null(strstr(text, "\nbad: plug\"<&>' \\x0a"));
	assert_non_null(strstr(text, ": 1 passed, 1 failed, 1 warned, 1 not observed (plain)\n"));
	free(text);
	mor_check_report_fini(&report);
}

/* ---- JSON ---- */

static void test_json(void **state)
{
	struct mor_check_report report = make_report();
	struct mor_buf out = MOR_BUF_INIT;
	struct mor_doc *doc = NULL;
	const struct mor_value *root;

	(void)state;
	mor_check_write_json(&report, false, &out);
	assert_true(mor_utf8_valid(mor_buf_view(&out)));
	assert_int_equal(mor_doc_parse(mor_buf_view(&out), 0, 0, &doc, NULL), 0);
	root = mor_doc_root(doc);
	assert_int_equal(mor_json_int(mor_json_at(root, "/summary/fail"), 0), 1);
	assert_string_equal(mor_json_text(mor_json_at(root, "/checks/1/result"), ""), "fail");
	assert_memory_equal(mor_json_text(mor_json_at(root, "/checks/1/why"), ""),
			    "it said \"<&>' \n\x1b[31m\x01", 21);
	assert_int_equal(mor_json_size(mor_json_at(root, "/checks/1/talk")), 3);
	assert_int_equal(mor_json_type(mor_json_at(root, "/checks/0/why")), MOR_JSON_NULL);
	mor_doc_free(doc);
	mor_buf_fini(&out);
	mor_check_report_fini(&report);
}

/* ---- TAP ---- */

static void test_tap(void **state)
{
	struct mor_check_report report = make_report();
	struct mor_buf out = MOR_BUF_INIT;
	char *text;

	(void)state;
	mor_check_write_tap(&report, &out);
	text = text_of(&out);
	assert_text(text);
	assert_int_equal(lines_of(text), 2 + 4 + 3 + 3);
	assert_memory_equal(text, "TAP version 13\n1..4\nok 1 - plain.stop.eof: is right\nnot ok 2 - ", 63);
	assert_non_null(strstr(text, "\n  # fail: it said \"<&>' \\x0a"));
	assert_non_null(strstr(text, "\nok 3 - plain.stop.term: is right\n  # warn: "));
	assert_non_null(strstr(text, "\nok 4 - plain.method.unknown: is right # SKIP it said "));
	mor_buf_fini(&out);
	mor_check_report_fini(&report);
}

/* ---- JUnit ---- */

static void test_junit(void **state)
{
	struct mor_check_report report = make_report();
	struct mor_buf out = MOR_BUF_INIT;
	char *text;

	(void)state;
	mor_check_write_junit(&report, &out);
	text = text_of(&out);
	assert_text(text);
	assert_non_null(strstr(text, "<testsuite name=\"plug&quot;&lt;&amp;&gt;' \n" FFFD "[31m" FFFD " " FFFD
				     " " FFFD FFFD " \xc3\xa9\" tests=\"4\" failures=\"1\" skipped=\"1\">"));
	assert_non_null(strstr(text,
			       "<testcase classname=\"plain\" name=\"plain.stop.status\" time=\"1.234\">\n"
			       "      <failure message=\"it said &quot;&lt;&amp;&gt;' \n" FFFD));
	assert_non_null(strstr(text, "<system-out>warning: it said &quot;"));
	assert_non_null(strstr(text, "<skipped message=\"it said "));
	assert_null(strstr(text, "\xef\xbf\xbf"));
	mor_buf_fini(&out);
	mor_check_report_fini(&report);
}

/* ---- the baseline ---- */

static void write_file(char path[TMP_ROOM], const char *text)
{
	int fd;

	tmp_name(path, "check");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

/* A subject cannot add entries of its own, and what is written is read again. */
static void test_baseline(void **state)
{
	struct mor_check_report report = make_report(), again = make_report();
	struct mor_buf out = MOR_BUF_INIT;
	mortise_error err = { 0 };
	char path[TMP_ROOM];

	(void)state;
	report.subject = "a\nplain.stop.eof";
	mor_check_baseline_write(&report, &out);
	assert_string_equal(text_of(&out),
			    "# Failures of a\\x0aplain.stop.eof that are expected: mortise check --baseline "
			    "FILE\n"
			    "plain.stop.status  # is right\nplain.stop.term  # is right\n");
	write_file(path, out.data);
	assert_int_equal(mor_check_exit_code(&again), 1);
	assert_int_equal(mor_check_baseline_read(path, &again, &err), 0);
	assert_int_equal(mor_check_exit_code(&again), 0);
	assert_int_equal(again.expected, 1);
	unlink(path);
	mor_buf_fini(&out);
	mor_check_report_fini(&report);
	mor_check_report_fini(&again);
}

static int read_baseline(const char *text, struct mor_check_report *report, mortise_error *err)
{
	char path[TMP_ROOM];
	int r;

	write_file(path, text);
	r = mor_check_baseline_read(path, report, err);
	unlink(path);
	return r;
}

static void test_baseline_odd(void **state)
{
	struct mor_check_report report = make_report();
	mortise_error err = { 0 };

	(void)state;
	/* blanks, CR LF, no newline at the end, an entry twice, one of another dialect, one not observed */
	assert_int_equal(read_baseline("\r\n \t# only a comment\nplain.stop.status\r\n plain.stop.status #x\n"
				       "yams.stop.eof\nplain.method.unknown\nplain.stop.term",
				       &report, &err),
			 0);
	assert_int_equal(mor_check_exit_code(&report), 0);
	/* one that does not fail any more */
	assert_int_equal(read_baseline("plain.stop.eof\n", &report, &err), 0);
	assert_string_equal(report.stale[0], "plain.stop.eof");
	assert_int_equal(mor_check_exit_code(&report), 1);
	/* no check at all */
	assert_int_equal(read_baseline("\nplain.stop.\xff\n", &report, &err), MORTISE_EINPUT);
	assert_non_null(strstr(err.text, ":2: there is no check "));
	assert_int_equal(mor_check_baseline_read("/nonexistent", &report, &err), MORTISE_EINPUT);
	assert_int_equal(mor_check_baseline_read("/tmp", &report, &err), MORTISE_EINPUT);
	mor_check_report_fini(&report);
}

/* An expected failure is a failure that does not count. */
static void test_expected(void **state)
{
	struct mor_check_report report = make_report();
	struct mor_buf tap = MOR_BUF_INIT, junit = MOR_BUF_INIT;
	mortise_error err = { 0 };

	(void)state;
	assert_int_equal(read_baseline("plain.stop.status\nplain.stop.eof\n", &report, &err), 0);
	mor_check_write_tap(&report, &tap);
	assert_non_null(strstr(text_of(&tap), "not ok 2 - plain.stop.status: is right # TODO expected\n"));
	assert_non_null(strstr(tap.data, "\nBail out! plain.stop.eof is in the baseline"));
	mor_check_write_junit(&report, &junit);
	assert_non_null(strstr(text_of(&junit), "failures=\"0\" skipped=\"2\""));
	mor_buf_fini(&tap);
	mor_buf_fini(&junit);
	mor_check_report_fini(&report);
}

/* Warnings are failures. */
static void test_strict(void **state)
{
	struct mor_check_report report = make_report();

	(void)state;
	report.strict = true;
	mor_check_count(&report);
	assert_int_equal(report.sum[MOR_CHECK_FAIL], 2);
	assert_int_equal(report.sum[MOR_CHECK_WARN], 0);
	mor_check_report_fini(&report);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_people),       MOR_TEST(test_nothing_observed),
		MOR_TEST(test_json),         MOR_TEST(test_tap),
		MOR_TEST(test_junit),        MOR_TEST(test_baseline),
		MOR_TEST(test_expected),     MOR_TEST(test_strict),
		MOR_TEST(test_baseline_odd),
	};

	return mor_run_group("check/report", tests);
}
