/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of input, what they are to a bot, when reading waits; and when a program is another one. */
#include "small.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "top.h"

/* ---- lines ---- */

static void feed(struct small *s, struct mor_bot_lines *in, const char *bytes)
{
	assert_int_equal(mor_buf_text(&in->bytes, bytes), 0);
	mor_bot_lines_feed(&s->run, in);
}

/* Each line that is wrong is told with its number: so they can be counted. */
static void test_lines(void **state)
{
	struct mor_bot_lines in = { 0 };
	struct small s;

	(void)state;
	small_begin(&s, 0);
	feed(&s, &in, "{\"text\":\"a\"}\n\n  \r\n{\"te");
	assert_int_equal(s.run.line, 3);
	feed(&s, &in, "xt\":\"b\"}\r\n[1]\n");
	assert_int_equal(s.run.line, 5);
	said_end(&s.said);
	assert_memory_equal(s.said.err, "input: line 5: ", 15);
	said_begin(&s.said);
	feed(&s, &in, "{\"text\":\"the last has no newline\"}");
	assert_int_equal(s.run.line, 5);
	in.ended = true;
	mor_bot_lines_feed(&s.run, &in);
	assert_int_equal(s.run.line, 6);
	assert_int_equal(in.bytes.len, 0);
	mor_bot_lines_feed(&s.run, &in);
	assert_int_equal(s.run.line, 6);
	mor_buf_fini(&in.bytes);
	small_end(&s);
}

static void test_a_line_that_is_too_long_is_skipped(void **state)
{
	enum { LIMIT = 16 << 20 };
	struct mor_bot_lines in = { 0 };
	struct small s;

	(void)state;
	small_begin(&s, 0);
	feed(&s, &in, "{\"text\":\"a\"}\n");
	assert_int_equal(mor_buf_reserve(&in.bytes, LIMIT + 1), 0);
	memset(in.bytes.data, 'x', LIMIT + 1);
	in.bytes.len = LIMIT + 1;
	mor_bot_lines_feed(&s.run, &in);
	assert_told(&s, "input: line 2: longer than 16 MiB: skipped\n");
	assert_int_equal(in.bytes.len, 0); /* it is not kept */
	feed(&s, &in, "still the same line\n{\"text\":\"b\"}\n[]\n");
	assert_int_equal(s.run.line, 4); /* lines are counted as in the file */
	said_end(&s.said);
	assert_memory_equal(s.said.err, "input: line 4: ", 15);
	said_begin(&s.said);
	mor_buf_fini(&in.bytes);
	small_end(&s);
}

static void reads_stdin(void)
{
	struct mor_bot_lines in = { 0 };
	struct small s;
	int pipes[2];

	small_begin(&s, 0);
	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	assert_int_equal(dup2(pipes[0], STDIN_FILENO), STDIN_FILENO);
	assert_int_equal(mor_fd_write_all(pipes[1], "{\"text\"", 7), 0);
	mor_bot_lines_read(&s.run, &in);
	assert_int_equal(in.bytes.len, 7);
	assert_false(in.ended);
	mor_alloc_fail_after(0);
	in.bytes.cap = in.bytes.len;
	mor_bot_lines_read(&s.run, &in);
	mor_alloc_fail_after(-1);
	assert_true(in.ended);
	mor_buf_fini(&in.bytes);
	in = (struct mor_bot_lines){ 0 };
	close(pipes[1]);
	mor_bot_lines_read(&s.run, &in);
	assert_true(in.ended);
	mor_buf_fini(&in.bytes);
	small_end(&s);
}

static void test_stdin(void **state)
{
	(void)state;
	leak_in_fork(reads_stdin);
}

/* ---- what a line is ---- */

static void test_connect_reaches_every_plugin_once(void **state)
{
	static const char connect[] = "{\"post_type\":\"meta_event\",\"meta_event_type\":\"lifecycle\","
				      "\"sub_type\":\"connect\",\"self_id\":42}";
	struct small s;

	(void)state;
	small_begin(&s, SEATS);
	s.seats[1]->dead = true;
	s.seats[2]->body = NULL;
	small_take(&s, connect);
	small_take(&s, connect); /* the id is filled in when it goes out: one entry is enough */
	assert_string_equal(s.run.self_id, "42");
	assert_int_equal(s.seats[0]->waiting, 1);
	assert_int_equal(small_job(s.seats[0])->kind, MOR_BOT_JOB_CONNECT);
	assert_int_equal(s.seats[1]->waiting + s.seats[2]->waiting, 0);
	/* a message without an account is of that one */
	small_take(&s, "{\"text\":\"hi\"}");
	{
		struct mor_bot_job *job = small_job(s.seats[0]);

		assert_string_equal(job->walk->event.self_id, "42");
		small_answer(job, "{}");
	}
	small_end(&s);
}

static void test_answers_on_stdin(void **state)
{
	struct small s;

	(void)state;
	small_begin(&s, 0);
	small_take(&s, "{\"status\":\"ok\",\"retcode\":0,\"echo\":\"a/1\"}");
	assert_told(&s, "");
	small_take(&s, "{\"status\":\"failed\",\"retcode\":1404,\"echo\":\"a/1\",\"wording\":\"no\\u001b\"}");
	said_end(&s.said);
	assert_memory_equal(s.said.err, "refused: line 2: the chat network did not do what a/1 asked: ", 61);
	assert_null(strchr(s.said.err, '\x1b'));
	said_begin(&s.said);
	small_end(&s);
}

/* ---- when reading waits ---- */

static void test_reading_waits_for_plugins_that_have_much_to_do(void **state)
{
	struct small s;

	(void)state;
	small_begin(&s, 1);
	for (unsigned i = 0; i < MOR_BOT_QUEUE / 2 - 1; i++)
		small_take(&s, "{\"text\":\"hi\"}");
	assert_false(mor_bot_is_held(&s.run));
	small_take(&s, "{\"text\":\"hi\"}");
	s.seats[0]->matches_ms = 3600 * 1000;
	assert_true(mor_bot_is_held(&s.run));
	/* but not for a slow one: its oldest waits longer than an answer may take */
	assert_true(mor_bot_seat_is_behind(s.seats[0], mor_clock_ms()));
	assert_false(mor_bot_seat_is_behind(s.seats[0], mor_clock_ms() + 3600 * 1000));
	s.seats[0]->dead = true;
	assert_false(mor_bot_is_held(&s.run));
	s.seats[0]->dead = false;
	/* what waited for another reason begins anew */
	mor_container_of(s.seats[0]->queue.next, struct mor_bot_job, node)->since_ms -= 3600 * 1000;
	assert_false(mor_bot_seat_is_behind(s.seats[0], mor_clock_ms()));
	mor_bot_set_full(&s.run, true, "full");
	assert_true(mor_bot_is_held(&s.run));
	mor_bot_set_full(&s.run, false, "full");
	assert_true(mor_bot_seat_is_behind(s.seats[0], mor_clock_ms()));
	assert_told(&s, "warning: full\n");
	small_end(&s);
}

static void test_while_the_reader_is_slow_no_line_is_taken(void **state)
{
	struct mor_bot_lines in = { 0 };
	struct small s;

	(void)state;
	small_begin(&s, 0);
	s.run.out.full = true;
	feed(&s, &in, "{\"text\":\"a\"}\n");
	assert_int_equal(s.run.line, 0);
	s.run.out.full = false;
	mor_bot_lines_feed(&s.run, &in);
	assert_int_equal(s.run.line, 1);
	mor_buf_fini(&in.bytes);
	small_end(&s);
}

/* ---- is it another program? ---- */

static void put(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static uint64_t print_of(char *a, char *b)
{
	char *argv[] = { a, b, NULL };
	struct mor_botfile_plugin config = { .argv = argv, .cwd = top };

	return mor_bot_body_print(&config);
}

static void test_another_file_is_another_program(void **state)
{
	char absolute[300];
	uint64_t print;

	(void)state;
	assert_int_equal(top_make("bot"), 0);
	put(at("plugin.py"), "one");
	snprintf(absolute, sizeof(absolute), "%s", at("plugin.py"));
	print = print_of("python3", "plugin.py");
	assert_true(print_of("python3", "plugin.py") == print);
	assert_true(print_of("python3", absolute) == print);
	assert_true(print_of("python3", "-u") != print);
	assert_true(print_of("plugin.py", "-u") != print); /* found through PATH: it belongs to the system */
	assert_true(print_of(absolute, "-u") == print);
	put(at("new.py"), "two");
	assert_int_equal(rename(at("new.py"), at("plugin.py")), 0);
	assert_true(print_of("python3", "plugin.py") != print);
	assert_int_equal(unlink(at("plugin.py")), 0);
	assert_true(print_of("python3", "plugin.py") == print_of("python3", "."));
	assert_int_equal(top_drop(NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_lines),
		MOR_TEST(test_a_line_that_is_too_long_is_skipped),
		MOR_TEST(test_stdin),
		MOR_TEST(test_connect_reaches_every_plugin_once),
		MOR_TEST(test_answers_on_stdin),
		MOR_TEST(test_reading_waits_for_plugins_that_have_much_to_do),
		MOR_TEST(test_while_the_reader_is_slow_no_line_is_taken),
		MOR_TEST(test_another_file_is_another_program),
	};

	return mor_run_group("bot/input", tests);
}
