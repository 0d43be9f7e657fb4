/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "proc/inside.h"
#include "run.h"

static void test_lines_in_order_before_exit(void **state)
{
	struct run run = { 0 };

	(void)state;
	RUN_SH(&run, "printf 'one\\r\\n\\ntwo' >&2; exit 3");
	run_until(&run, 'x');
	assert_string_equal(run.journal, "seeex");
	assert_string_equal(run.last, "two");
	assert_string_equal(mor_proc_last_stderr(run.proc), "two");
	assert_int_equal(mor_proc_stderr_bytes(run.proc), 9);
	assert_string_equal(run.exit.text, "exited with status 3");
	run_end(&run);
}

static void test_last_is_not_empty(void **state)
{
	struct run run = { 0 };

	(void)state;
	RUN_SH(&run, "printf 'ImportError: numpy\\n   \\n\\n\\r\\n' >&2");
	run_until(&run, 'x');
	assert_int_equal(run.lines, 4);
	assert_string_equal(mor_proc_last_stderr(run.proc), "ImportError: numpy");
	run_end(&run);
}

static int told, overs;
static char told_last[64];

static void on_told(struct mor_stderr *err, struct mor_slice line)
{
	(void)err;
	told++;
	snprintf(told_last, sizeof(told_last), "%.*s", (int)line.len, line.ptr);
}

static void on_over(struct mor_stderr *err)
{
	(void)err;
	overs++;
}

struct rest {
	struct mor_loop *loop;
	struct mor_stderr err;
	int ends[2];
};

static void rest_open(struct rest *rest)
{
	*rest = (struct rest){ .err = { .fd = -1 } };
	told = overs = 0;
	assert_int_equal(mor_loop_new(0, &rest->loop), 0);
	assert_int_equal(pipe2(rest->ends, O_NONBLOCK), 0);
	assert_int_equal(mor_stderr_start_take(rest->loop, &rest->err, rest->ends[0], on_told), 0);
}

static void rest_until_over(struct rest *rest)
{
	while (!overs)
		assert_true(mor_loop_wait(rest->loop, 60000) >= 0);
	assert_int_equal(overs, 1);
	mor_stderr_fini(&rest->err);
	assert_int_equal(rest->err.fd, -1);
	close(rest->ends[1]);
	mor_loop_free(rest->loop);
}

/* What the pipe holds at the end is told, the unfinished line too, although somebody still has
 * the other end. */
static void test_finish_reads_the_rest(void **state)
{
	struct rest rest;

	(void)state;
	rest_open(&rest);
	assert_int_equal(write(rest.ends[1], "one\ntwo\nthr", 11), 11);
	mor_stderr_finish(rest.loop, &rest.err, on_over);
	rest_until_over(&rest);
	assert_int_equal(told, 3);
	assert_string_equal(told_last, "thr");
}

/* So much of it that one dispatch does not take it all: nothing is lost, and what came later is
 * not waited for. */
static void test_finish_in_slices(void **state)
{
	static const char line[] = "a line of some length that is told many times over\n";
	struct rest rest;
	int lines = 0;

	(void)state;
	rest_open(&rest);
	(void)fcntl(rest.ends[1], F_SETPIPE_SZ, 1 << 20);
	while (write(rest.ends[1], line, sizeof(line) - 1) == (ssize_t)sizeof(line) - 1)
		lines++;
	mor_stderr_finish(rest.loop, &rest.err, on_over);
	rest_until_over(&rest);
	assert_true(told >= lines && told <= lines + 1); /* the last write may have been a short one */
}

static void test_silent(void **state)
{
	struct run run = { 0 };

	(void)state;
	RUN_SH(&run, "exit 0");
	run_until(&run, 'x');
	assert_string_equal(run.journal, "sx");
	assert_string_equal(mor_proc_last_stderr(run.proc), "");
	run_end(&run);
}

/* 256 KiB is four times what the pipe holds; the child ends only if we drain it. */
static void test_flood_then_exit(void **state)
{
	struct run run = { 0 };

	(void)state;
	RUN_SH(&run, "i=0; l=0123456789abcde; l=$l$l$l$l; l=${l}xyz; l=$l$l$l$l\n"
		     "while [ $i -lt 1040 ]; do echo $l; i=$((i + 1)); done >&2; printf 'last words' >&2");
	run_until(&run, 'x');
	assert_int_equal(mor_proc_stderr_bytes(run.proc), 1040 * (4 * 63 + 1) + 10);
	assert_int_equal(run.lines, 1041);
	assert_int_equal(run.longest, 4 * 63);
	assert_string_equal(run.last, "last words");
	assert_string_equal(mor_proc_last_stderr(run.proc), "last words");
	run_end(&run);
}

/* Each time the line begins where the read of the one before ended, so the pieces fall everywhere. */
static void test_long_lines_in_pieces(void **state)
{
	struct run run = { 0 };

	(void)state;
	RUN_SH(&run,
	       "a=0123456789abcdef; a=$a$a$a$a$a$a$a$a; a=$a$a$a$a$a$a$a$a; b=$a$a$a$a\n"
	       "printf '%s\\n' $b >&2; printf '%sX\\n' $b >&2; printf '%s%s' $b $b >&2; printf '%s\\n' $b >&2");
	run_until(&run, 'x');
	assert_int_equal(run.longest, MOR_STDERR_LINE);
	/* 4096: one line. 4097: 4096 and 1. 3 * 4096: three. */
	assert_int_equal(run.lines, 1 + 2 + 3);
	assert_int_equal(mor_proc_stderr_bytes(run.proc), 6 * 4096 - 4096 + 1 + 3);
	run_end(&run);
}

static void test_bytes_that_are_no_text(void **state)
{
	struct run run = { 0 };

	(void)state;
	RUN_SH(&run, "printf 'a\\000b\\377c\\n' >&2");
	run_until(&run, 'x');
	assert_int_equal(run.longest, 5);
	assert_memory_equal(run.last, "a\0b\377c", 5);
	assert_string_equal(mor_proc_last_stderr(run.proc), "a b\377c");
	run_end(&run);
}

static void test_closed_early(void **state)
{
	struct run run = { 0 };

	(void)state;
	RUN_SH(&run, "printf bye >&2; exec 2>&-; read x; exit 7");
	run_until(&run, 'e');
	assert_string_equal(run.last, "bye");
	/* Its end is closed for good: the loop has nothing left to tell until the child ends. */
	while (mor_loop_dispatch(run.loop) > 0)
		;
	mor_proc_close_in(run.proc);
	run_until(&run, 'x');
	assert_string_equal(run.journal, "sex");
	run_end(&run);
}

static void test_node_says_it_earlier(void **state)
{
	struct run run = { 0 };

	(void)state;
	RUN_SH(&run, "cat >&2 <<'E'\n"
		     "node:internal/modules/cjs/loader:1080\n"
		     "  throw err;\n  ^\n\n"
		     "Error: Cannot find module 'left-pad'\n"
		     "Require stack:\n- /x/plugin.js\n"
		     "    at Module._resolveFilename (node:internal/modules/cjs/loader:1077:15) {\n"
		     "  code: 'MODULE_NOT_FOUND',\n  requireStack: [ '/x/plugin.js' ]\n}\n\n"
		     "Node.js v18.20.4\nE");
	run_until(&run, 'x');
	assert_string_equal(mor_proc_last_stderr(run.proc), "Error: Cannot find module 'left-pad'");
	run_end(&run);
}

static void test_node_version_says_nothing(void **state)
{
	struct run run = { 0 };

	(void)state;
	RUN_SH(&run, "echo hello >&2; echo Node.js v1 >&2");
	run_until(&run, 'x');
	assert_string_equal(mor_proc_last_stderr(run.proc), "hello");
	run_end(&run);
}

/* Without memory nothing is kept, but everything is told. */
static void test_no_memory(void **state)
{
	struct run run = { 0 };

	(void)state;
	RUN_SH(&run, "echo one >&2; printf two >&2");
	mor_alloc_fail_after(0);
	run_until(&run, 'x');
	mor_alloc_fail_after(-1);
	assert_string_equal(run.last, "two");
	assert_string_equal(mor_proc_last_stderr(run.proc), "");
	assert_int_equal(mor_proc_stderr_bytes(run.proc), 7);
	run_end(&run);
}

/* There was memory for the beginning of a line, but not for the rest: it is told in two pieces. */
static void test_no_memory_within_a_line(void **state)
{
	struct run run = { 0 };

	(void)state;
	RUN_SH(&run, "printf one >&2; read go; printf '%0300d\\nnext' 7 >&2");
	while (mor_proc_stderr_bytes(run.proc) < 3)
		assert_true(mor_loop_wait(run.loop, 60000) >= 0);
	assert_int_equal(run.lines, 0);
	mor_alloc_fail_after(0);
	assert_int_equal(write(mor_proc_in(run.proc), "\n", 1), 1);
	run_until(&run, 'x');
	mor_alloc_fail_after(-1);
	assert_int_equal(run.lines, 3);
	assert_int_equal(run.longest, 300);
	assert_string_equal(run.last, "next");
	run_end(&run);
}

static void test_free_in_a_line(void **state)
{
	struct run run = { .free_at = 'e' };

	(void)state;
	RUN_SH(&run, "printf 'one\\ntwo\\nthree\\n' >&2; sleep 1000");
	run_until(&run, 'e');
	assert_int_equal(run.lines, 1);
	assert_null(run.proc);
	run_end(&run);
}

/* The owner frees it while the rest of a dead child's stderr is being told. */
static void test_free_in_the_last_line(void **state)
{
	struct run run = { .free_at = 'e' };

	(void)state;
	RUN_SH(&run, "printf 'unfinished' >&2");
	run_until(&run, 'e');
	while (mor_loop_dispatch(run.loop) > 0)
		;
	assert_string_equal(run.journal, "se");
	run_end(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_lines_in_order_before_exit),
		MOR_TEST(test_last_is_not_empty),
		MOR_TEST(test_finish_reads_the_rest),
		MOR_TEST(test_finish_in_slices),
		MOR_TEST(test_silent),
		MOR_TEST(test_flood_then_exit),
		MOR_TEST(test_long_lines_in_pieces),
		MOR_TEST(test_bytes_that_are_no_text),
		MOR_TEST(test_closed_early),
		MOR_TEST(test_node_says_it_earlier),
		MOR_TEST(test_node_version_says_nothing),
		MOR_TEST(test_no_memory),
		MOR_TEST(test_no_memory_within_a_line),
		MOR_TEST(test_free_in_a_line),
		MOR_TEST(test_free_in_the_last_line),
	};

	return mor_run_group("stderr", tests);
}
