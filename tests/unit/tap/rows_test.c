/* SPDX-License-Identifier: Apache-2.0 */
/* A .talk file that grows becomes rows, and rows become lines. */
#include "leak.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "tap/tap.h"

struct file {
	int fd;
	struct mor_tap *tap;
};

static void begin(struct file *file)
{
	file->fd = memfd_create("talk", MFD_CLOEXEC);
	assert_true(file->fd >= 0);
	file->tap = mor_alloc(sizeof(*file->tap));
	assert_non_null(file->tap);
	mor_tap_init(file->tap, file->fd);
}

static void end(struct file *file)
{
	mor_tap_fini(file->tap);
	mor_free(file->tap);
	mor_fd_close(&file->fd);
}

/* Somebody writes; the number of new rows. */
static int grow(struct file *file, const char *text)
{
	assert_int_equal(mor_fd_write_all(file->fd, text, strlen(text)), 0);
	return mor_tap_read(file->tap, NULL);
}

static void assert_row(const struct file *file, size_t i, enum mor_tap_kind kind, bool to_plugin,
		       const char *method, const char *id, const char *text)
{
	const struct mor_tap_row *row = &file->tap->row[i];
	MOR_CLEAN(mor_buf) struct mor_buf have = MOR_BUF_INIT;

	assert_true(i < file->tap->count);
	assert_int_equal(row->kind, kind);
	assert_int_equal(row->to_plugin, to_plugin);
	assert_string_equal(row->method, method);
	assert_string_equal(row->id, id);
	assert_int_equal(mor_tap_text(file->tap, row, &have), 0);
	assert_int_equal(mor_buf_byte(&have, '\0'), 0);
	assert_string_equal(have.data, text);
}

static void test_kinds(void **state)
{
	struct file file;

	(void)state;
	begin(&file);
	assert_int_equal(grow(&file, "talk 1 plain\n"
				     "# a comment\n"
				     "\n"
				     "> {\"id\":1,\"method\":\"a\"}\n"
				     "< {\"id\":1,\"result\":{}}\n"
				     "< {\"id\":\"x\",\"error\":{\"code\":1}}\n"
				     "< {\"id\":2,\"error\":null,\"result\":1}\n"
				     "< {\"method\":\"log\"}\n"
				     "<b \\x00\n"
				     ">b noise\n"
				     "2 a line\n"
				     "! ready\n"
				     "* call x\n"
				     ">.\n"
				     "<.\n"
				     ">s TERM\n"
				     "= exit 0\n"),
			 12);
	assert_row(&file, 0, MOR_TAP_REQUEST, true, "a", "1", "{\"id\":1,\"method\":\"a\"}");
	assert_row(&file, 1, MOR_TAP_REPLY, false, "a", "1", "{\"id\":1,\"result\":{}}");
	assert_row(&file, 2, MOR_TAP_ERROR, false, "", "\"x\"", "{\"id\":\"x\",\"error\":{\"code\":1}}");
	assert_row(&file, 3, MOR_TAP_REPLY, false, "", "2", "{\"id\":2,\"error\":null,\"result\":1}");
	assert_row(&file, 4, MOR_TAP_NOTE, false, "log", "", "{\"method\":\"log\"}");
	assert_row(&file, 5, MOR_TAP_NOISE, false, "", "", "\\x00");
	assert_row(&file, 6, MOR_TAP_NOISE, true, "", "", "noise");
	assert_row(&file, 7, MOR_TAP_STDERR, false, "", "", "a line");
	assert_row(&file, 8, MOR_TAP_EVENT, true, "", "", ">.");
	assert_row(&file, 9, MOR_TAP_EVENT, false, "", "", "<.");
	assert_false(file.tap->row[7].line != 11);
	assert_row(&file, 10, MOR_TAP_EVENT, true, "", "", ">s TERM");
	assert_row(&file, 11, MOR_TAP_EVENT, false, "", "", "= exit 0");
	assert_true(file.tap->over);
	end(&file);
}

static void test_time_and_latency(void **state)
{
	struct file file;

	(void)state;
	begin(&file);
	assert_int_equal(grow(&file, "talk 1 plain\n> {\"id\":1,\"method\":\"a\"}\n~ 1500ms\n"
				     "> {\"id\":1,\"method\":\"b\"}\n"),
			 2);
	assert_int_equal(grow(&file, "~ 20ms\n< {\"id\":1,\"result\":0}\n< {\"id\":1,\"result\":0}\n"), 2);
	assert_int_equal(grow(&file, "< {\"id\":1,\"result\":0}\n"), 1);
	assert_int_equal(file.tap->row[0].time_ms, 0);
	assert_int_equal(file.tap->row[1].time_ms, 1500);
	/* of one id the last request is answered first; then the earlier; then nobody has asked */
	assert_string_equal(file.tap->row[2].method, "b");
	assert_int_equal(file.tap->row[2].latency_ms, 20);
	assert_string_equal(file.tap->row[3].method, "a");
	assert_int_equal(file.tap->row[3].latency_ms, 1520);
	assert_string_equal(file.tap->row[4].method, "");
	assert_int_equal(file.tap->row[4].latency_ms, -1);
	end(&file);
}

/* An id of the plugin is not one of the host. */
static void test_a_reply_goes_the_other_way(void **state)
{
	struct file file;

	(void)state;
	begin(&file);
	assert_int_equal(grow(&file,
			      "talk 1 plain\n< {\"id\":1,\"method\":\"ask\"}\n< {\"id\":1,\"result\":0}\n"
			      "> {\"id\":1,\"result\":0}\n"),
			 3);
	assert_int_equal(file.tap->row[1].latency_ms, -1);
	assert_string_equal(file.tap->row[2].method, "ask");
	end(&file);
}

static void test_a_line_that_is_not_complete_waits(void **state)
{
	struct file file;

	(void)state;
	begin(&file);
	assert_int_equal(grow(&file, "tal"), 0);
	assert_int_equal(grow(&file, "k 1 plain\n< {\"method\":"), 0);
	assert_int_equal(grow(&file, "\"a\"}"), 0);
	assert_int_equal(grow(&file, "\n2 x\n2 y"), 2);
	assert_row(&file, 0, MOR_TAP_NOTE, false, "a", "", "{\"method\":\"a\"}");
	assert_row(&file, 1, MOR_TAP_STDERR, false, "", "", "x");
	end(&file);
}

static void test_what_nobody_understands_is_skipped(void **state)
{
	struct file file;

	(void)state;
	begin(&file);
	assert_int_equal(grow(&file, "talk 1 plain\n@ a later version\n< not json\n~ soon\n2 x\n"), 1);
	assert_int_equal(file.tap->row[0].line, 5);
	end(&file);
}

static void test_another_file_is_refused(void **state)
{
	static const char *const texts[] = { "{}\n", "\n", "tal\n", "talk\n" };

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		mortise_error err = { 0 };
		struct file file;

		begin(&file);
		assert_int_equal(mor_fd_write_all(file.fd, texts[i], strlen(texts[i])), 0);
		assert_int_equal(mor_tap_read(file.tap, &err), MORTISE_EMANIFEST);
		assert_string_equal(err.text, "it is not a .talk file");
		end(&file);
	}
}

static void test_long_names_are_cut(void **state)
{
	struct file file;
	char line[400], name[201];

	(void)state;
	memset(name, 'm', 200);
	name[200] = '\0';
	begin(&file);
	snprintf(line, sizeof(line), "talk 1 plain\n> {\"id\":\"%.50s\",\"method\":\"%.100s\"}\n", name, name);
	assert_int_equal(grow(&file, line), 1);
	assert_int_equal(strlen(file.tap->row[0].method), sizeof(file.tap->row[0].method) - 1);
	assert_int_equal(strlen(file.tap->row[0].id), sizeof(file.tap->row[0].id) - 1);
	/* the whole id finds the reply */
	snprintf(line, sizeof(line), "< {\"id\":\"%.49s\",\"result\":0}\n< {\"id\":\"%.50s\",\"result\":0}\n",
		 name, name);
	assert_int_equal(grow(&file, line), 2);
	assert_int_equal(file.tap->row[1].latency_ms, -1);
	assert_int_equal(file.tap->row[2].latency_ms, 0);
	end(&file);
}

/* After very many requests that were never answered, the oldest is forgotten. */
static void test_many_open_requests(void **state)
{
	struct file file;
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;

	(void)state;
	begin(&file);
	mor_buf_text(&text, "talk 1 plain\n");
	for (unsigned i = 0; i <= MOR_TAP_OPEN; i++)
		mor_buf_printf(&text, "> {\"id\":%u,\"method\":\"m\"}\n", i);
	mor_buf_text(&text, "< {\"id\":0,\"result\":0}\n< {\"id\":1,\"result\":0}\n");
	assert_int_equal(mor_buf_byte(&text, '\0'), 0);
	assert_int_equal(grow(&file, text.data), MOR_TAP_OPEN + 3);
	assert_int_equal(file.tap->row[MOR_TAP_OPEN + 1].latency_ms, -1);
	assert_int_equal(file.tap->row[MOR_TAP_OPEN + 2].latency_ms, 0);
	end(&file);
}

static void test_the_older_half_is_forgotten(void **state)
{
	struct file file;
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	int rows = 0, n;

	(void)state;
	begin(&file);
	mor_buf_text(&text, "talk 1 plain\n");
	for (unsigned i = 0; i <= MOR_TAP_ROWS; i++)
		mor_buf_printf(&text, "2 %u\n", i);
	assert_int_equal(mor_fd_write_all(file.fd, text.data, text.len), 0);
	while ((n = mor_tap_read(file.tap, NULL)) > 0)
		rows += n;
	assert_int_equal(rows, MOR_TAP_ROWS + 1);
	assert_int_equal(file.tap->dropped, MOR_TAP_ROWS / 2);
	assert_int_equal(file.tap->count, MOR_TAP_ROWS / 2 + 1);
	assert_row(&file, 0, MOR_TAP_STDERR, false, "", "", "100000");
	end(&file);
}

static void test_filter(void **state)
{
	static const struct mor_tap_row row = { .method = "tools/call" };

	(void)state;
	assert_true(mor_tap_passes(&row, NULL));
	assert_true(mor_tap_passes(&row, ""));
	assert_true(mor_tap_passes(&row, "s/c"));
	assert_false(mor_tap_passes(&row, "list"));
	assert_false(mor_tap_passes(&(struct mor_tap_row){ .kind = MOR_TAP_STDERR }, "list"));
}

static void test_no_memory_and_a_file_that_became_shorter(void **state)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	struct file file;
	mortise_error err = { 0 };

	(void)state;
	begin(&file);
	assert_int_equal(mor_fd_write_all(file.fd, "talk 1 plain\n2 abc\n", 19), 0);
	for (long n = 0, r = MORTISE_ENOMEM; r < 0; n++) {
		mor_tap_fini(file.tap);
		mor_tap_init(file.tap, file.fd);
		mor_alloc_fail_after(n);
		r = mor_tap_read(file.tap, &err);
		mor_alloc_fail_after(-1);
		assert_true(r == 1 || r == MORTISE_ENOMEM);
	}
	mor_alloc_fail_after(0);
	assert_int_equal(mor_tap_text(file.tap, file.tap->row, &text), MORTISE_ENOMEM);
	mor_alloc_fail_after(-1);
	mor_buf_reset(&text, 0);
	assert_int_equal(ftruncate(file.fd, 16), 0);
	assert_int_equal(mor_tap_text(file.tap, file.tap->row, &text), MORTISE_ESYSTEM);
	end(&file);
	file.fd = -1;
	file.tap = mor_alloc(sizeof(*file.tap));
	mor_tap_init(file.tap, -1);
	assert_int_equal(mor_tap_read(file.tap, &err), MORTISE_ESYSTEM);
	assert_non_null(strstr(err.text, "reading the conversation"));
	end(&file);
}

/* ---- how a row looks ---- */

static void assert_shown(struct file *file, size_t i, unsigned columns, bool color, const char *wanted)
{
	MOR_CLEAN(mor_buf) struct mor_buf line = MOR_BUF_INIT;

	mor_tap_show(file->tap, &file->tap->row[i], columns, color, &line);
	assert_int_equal(mor_buf_byte(&line, '\0'), 0);
	assert_string_equal(line.data, wanted);
}

static const char shown_file[] = "talk 1 plain\n"
				 "> {\"id\":1,\"method\":\"weather\"}\n"
				 "~ 2500ms\n"
				 "< {\"id\":1,\"result\":\"\xc3\xa4\xc3\xb6\"}\n"
				 "< {\"id\":9,\"result\":0}\n"
				 "<b \\x1b[2J\n"
				 "2 \x1b[31mred\n"
				 "= exit 0\n";

static void test_lines(void **state)
{
	struct file file;

	(void)state;
	begin(&file);
	assert_int_equal(grow(&file, shown_file), 6);
	assert_shown(&file, 0, 0, false,
		     "    0.000 > request weather #1                                27 bytes  "
		     "{\"id\":1,\"method\":\"weather\"}");
	assert_shown(&file, 1, 0, false,
		     "    2.500 < reply   weather #1                         2.5 s  24 bytes  "
		     "{\"id\":1,\"result\":\"\xc3\xa4\xc3\xb6\"}");
	assert_shown(&file, 2, 0, false,
		     "    2.500 < reply   ? #9                                      19 bytes  "
		     "{\"id\":9,\"result\":0}");
	assert_shown(&file, 3, 0, false,
		     "    2.500 < noise                                              7 bytes  \\x1b[2J");
	assert_shown(&file, 4, 0, false, "    2.500   stderr  \\x1b[31mred");
	assert_shown(&file, 5, 0, false, "    2.500   event   = exit 0");
	end(&file);
}

/* So many columns, not bytes; nothing is left of a colour. */
static void test_a_line_fits_the_terminal(void **state)
{
	struct file file;

	(void)state;
	begin(&file);
	assert_int_equal(grow(&file, shown_file), 6);
	assert_shown(&file, 1, 91, false,
		     "    2.500 < reply   weather #1                         2.5 s  24 bytes  "
		     "{\"id\":1,\"result\":\"\xc3\xa4");
	assert_shown(&file, 1, 10, false, "    2.500 ");
	assert_shown(&file, 1, 1, false, " ");
	assert_shown(&file, 4, 12, true, "\x1b[2m    2.500   \x1b[0m");
	end(&file);
}

/* A method and an id are the plugin's: they do not steer the terminal, and a column stays one. */
static void test_names_do_not_steer_the_terminal(void **state)
{
	struct file file;

	(void)state;
	begin(&file);
	assert_int_equal(grow(&file,
			      "talk 1 plain\n"
			      "< {\"id\":\"\xc2\x9b\",\"method\":\"\\u001b[2J\"}\n"
			      "< {\"method\":\"\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4"
			      "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4xyz\"}\n"),
			 2);
	assert_shown(&file, 0, 70, false,
		     "    0.000 < request \\x1b[2J #\"\\xc2\\x9b\"                       32 bytes");
	assert_shown(&file, 1, 50, false,
		     "    0.000 < note    \xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4"
		     "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4xyz            ");
	end(&file);
}

static void assert_json(struct file *file, size_t i, const char *wanted)
{
	MOR_CLEAN(mor_buf) struct mor_buf line = MOR_BUF_INIT;

	mor_tap_show_json(file->tap, &file->tap->row[i], &line);
	assert_int_equal(mor_buf_byte(&line, '\0'), 0);
	assert_string_equal(line.data, wanted);
}

static void test_json(void **state)
{
	struct file file;

	(void)state;
	begin(&file);
	assert_int_equal(grow(&file, shown_file), 6);
	assert_json(&file, 0,
		    "{\"line\":2,\"time_ms\":0,\"kind\":\"request\",\"from\":\"host\",\"method\":\"weather\","
		    "\"id\":\"1\",\"latency_ms\":null,\"bytes\":27,"
		    "\"message\":{\"id\":1,\"method\":\"weather\"}}");
	assert_json(&file, 2,
		    "{\"line\":5,\"time_ms\":2500,\"kind\":\"reply\",\"from\":\"plugin\",\"method\":null,"
		    "\"id\":\"9\",\"latency_ms\":null,\"bytes\":19,\"message\":{\"id\":9,\"result\":0}}");
	assert_json(&file, 3,
		    "{\"line\":6,\"time_ms\":2500,\"kind\":\"noise\",\"from\":\"plugin\",\"method\":null,"
		    "\"id\":null,\"latency_ms\":null,\"bytes\":7,\"text\":\"\\\\x1b[2J\"}");
	assert_json(&file, 5,
		    "{\"line\":8,\"time_ms\":2500,\"kind\":\"event\",\"from\":null,\"method\":null,\"id\":null,"
		    "\"latency_ms\":null,\"bytes\":8,\"text\":\"= exit 0\"}");
	end(&file);
	/* a pattern of a hand-written file is no JSON */
	begin(&file);
	assert_int_equal(grow(&file, "talk 1 plain\n< {\"id\":$a,...}\n"), 1);
	assert_json(&file, 0,
		    "{\"line\":2,\"time_ms\":0,\"kind\":\"reply\",\"from\":\"plugin\",\"method\":null,"
		    "\"id\":\"$a\",\"latency_ms\":null,\"bytes\":13,\"text\":\"{\\\"id\\\":$a,...}\"}");
	end(&file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_kinds),
		MOR_TEST(test_time_and_latency),
		MOR_TEST(test_a_reply_goes_the_other_way),
		MOR_TEST(test_a_line_that_is_not_complete_waits),
		MOR_TEST(test_what_nobody_understands_is_skipped),
		MOR_TEST(test_another_file_is_refused),
		MOR_TEST(test_long_names_are_cut),
		MOR_TEST(test_many_open_requests),
		MOR_TEST(test_the_older_half_is_forgotten),
		MOR_TEST(test_filter),
		MOR_TEST(test_no_memory_and_a_file_that_became_shorter),
		MOR_TEST(test_lines),
		MOR_TEST(test_a_line_fits_the_terminal),
		MOR_TEST(test_names_do_not_steer_the_terminal),
		MOR_TEST(test_json),
	};

	return mor_run_group("tap/rows", tests);
}
