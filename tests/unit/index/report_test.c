/* SPDX-License-Identifier: Apache-2.0 */
/* What is said of a run: a line and an element of JSON for each unit, and the summary. */
#include "heard.h"
#include "top.h"

#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "index/index.h"

static struct mor_index_args args;

static struct mor_index index_of(void)
{
	args = (struct mor_index_args){ .format = "entries", .output = "out" };
	return (struct mor_index){ .console = &console, .args = &args };
}

static void forget(struct mor_index *x)
{
	mor_result_free(x->result);
	mor_stager_free(x->stager);
	mor_buf_fini(&x->failures);
	mor_buf_fini(&x->empties);
	mor_buf_fini(&x->messages);
}

static void expect(const struct mor_buf *json, const char *want)
{
	assert_int_equal(json->len, strlen(want));
	assert_memory_equal(json->data, want, json->len);
}

static void test_words(void **state)
{
	(void)state;
	assert_int_equal(mor_index_view(NULL), MOR_DRIVER_VIEW_AUTO);
	assert_int_equal(mor_index_view("auto"), MOR_DRIVER_VIEW_AUTO);
	assert_int_equal(mor_index_view("namespace"), MOR_DRIVER_VIEW_NAMESPACE);
	assert_int_equal(mor_index_view("directory"), MOR_DRIVER_VIEW_DIRECTORY);
	assert_false(mor_index_to_file(&(struct mor_index_args){ 0 }));
	assert_false(mor_index_to_file(&(struct mor_index_args){ .output = "-" }));
	assert_true(mor_index_to_file(&(struct mor_index_args){ .output = "out" }));
}

/* A breach of the protocol is counted: it decides the exit code. */
static void test_failures(void **state)
{
	struct mor_index x = index_of();
	struct mor_unit_end crashed = { .digest = "d0",
					.title = "a.c",
					.kzip = "k",
					.reason = "it\ncrashed",
					.code = MORTISE_ECRASHED,
					.attempts = 2 },
			    lied = { .digest = "d1",
				     .title = "",
				     .kzip = "k",
				     .reason = "it lied",
				     .code = MORTISE_EPROTO,
				     .attempts = 1,
				     .earlier = true };

	(void)state;
	mor_index_note_failure(&x, &crashed);
	assert_string_equal(heard_err(), "failed: a.c: it\\x0acrashed\n");
	assert_int_equal(x.breaches, 0);
	mor_index_note_failure(&x, &lied);
	assert_string_equal(heard_err(), "failed: d1: it lied (in an earlier run)\n");
	assert_int_equal(x.breaches, 1);
	expect(&x.failures,
	       "{\"unit\":\"d0\",\"name\":\"a.c\",\"kzip\":\"k\",\"reason\":\"it\\ncrashed\",\"kind\":\"crashed\",\"attempts\":2,\"earlier\":false},{\"unit\":\"d1\",\"name\":\"\",\"kzip\":\"k\",\"reason\":\"it "
	       "lied\",\"kind\":\"protocol\",\"attempts\":1,\"earlier\":true}");
	forget(&x);
}

static void test_empty_units(void **state)
{
	struct mor_index x = index_of();

	(void)state;
	mor_index_on_unit(&(struct mor_unit_end){ .digest = "d", .title = "a.c", .kzip = "k", .empty = true },
			  &x);
	assert_string_equal(heard_err(), "warning: a.c: the analyzer wrote nothing\n");
	expect(&x.empties, "{\"unit\":\"d\",\"name\":\"a.c\",\"kzip\":\"k\",\"earlier\":false}");
	assert_int_equal(x.failures.len, 0);
	assert_int_equal(console.progress.done, 1);
	assert_int_equal(console.progress.failed, 0);
	forget(&x);
}

/* Messages of analyzers are kept for --json alone. */
static void test_messages(void **state)
{
	struct mor_index x = index_of();
	struct mor_unit_log log = { .title = "a.c", .file = "b.h", .line = 3, .column = 4, .text = "odd" };

	(void)state;
	mor_index_note_message(&x, &log);
	assert_int_equal(x.messages.len, 0);
	console.json = true;
	mor_index_note_message(&x, &log);
	expect(&x.messages, "{\"unit\":\"a.c\",\"file\":\"b.h\",\"line\":3,\"column\":4,\"text\":\"odd\"}");
	forget(&x);
}

/* Of three units one failed, then the disk was full. */
static void test_summary(void **state)
{
	struct mor_index x = index_of();
	mortise_error why = { 0 }, err;
	const char *said;

	(void)state;
	assert_int_equal(top_make("index"), 0);
	assert_int_equal(mor_stager_new(top, &x.stager, &err), 0);
	assert_int_equal(mor_result_open(&(struct mor_result_options){ .fd = STDOUT_FILENO,
								       .units = 3,
								       .identity = "identity",
								       .spool_dir = top },
					 &x.result, &err),
			 0);
	mor_fail(&why, MORTISE_ECRASHED, "it crashed");
	assert_int_equal(mor_result_failed(x.result, 1, &why, &err), 0);
	x.ref_count = 3;
	x.stored = 7;
	mor_fail(&x.failure, MORTISE_ESYSTEM, "the disk is full");
	assert_int_equal(mor_index_report(&x), mortise_status_exit_code(MORTISE_ESYSTEM));
	said = heard_err();
	assert_non_null(strstr(said, "0 of 3 units, 7 from the store, 1 failed, 0 entries, "));
	assert_non_null(strstr(said, "2 units are left: run the same command with --resume to go on; "
				     "the finished units are in out.partial\n"));
	assert_non_null(strstr(said, "the disk is full"));
	forget(&x);
	top_drop(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HEARD_TEST(test_words),    HEARD_TEST(test_failures), HEARD_TEST(test_empty_units),
		HEARD_TEST(test_messages), HEARD_TEST(test_summary),
	};

	return mor_run_group("index/report", tests);
}
