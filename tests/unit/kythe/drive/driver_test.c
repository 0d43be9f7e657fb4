/* SPDX-License-Identifier: Apache-2.0 */
/* The driver: what is handed out, tried again, settled, told; what ends it. */
#include <stdio.h>
#include <unistd.h>

#include "driver_rig.h"

/* ---- one unit after the other ---- */

static void from_the_request_to_the_result(void **state)
{
	struct rig rig;

	(void)state;
	open_rig(&rig, 2, (struct mor_driver_options){ 0 });
	begin_with_unit(&rig);
	writes(&rig, AN_ENTRY);
	writes(&rig, AN_ENTRY);
	is_done(&rig);
	assert_int_equal(rig.unit_count, 1);
	expect_unit(&rig, 0, "u0.c", 1, NULL);
	assert_int_equal(rig.units[0].records, 2);
	asks(&rig);
	gets(&rig, "u1.c");
	is_done(&rig);
	expect_unit(&rig, 1, "u1.c", 1, NULL);
	assert_true(rig.units[1].empty);
	expect_the_end(&rig);
	assert_int_equal(mor_result_stats(rig.result).done, 2);
	assert_string_equal(rig.warnings, "");
	assert_int_equal(script_starts, 1);
	close_rig(&rig);
}

/* Each attempt has an output of its own, and an old one is gone. */
static void outputs(void **state)
{
	struct rig rig;
	char first[500];

	(void)state;
	open_rig(&rig, 2, (struct mor_driver_options){ 0 });
	begin_with_unit(&rig);
	snprintf(first, sizeof(first), "%s", rig.output);
	is_done(&rig);
	asks(&rig);
	gets(&rig, "u1.c");
	assert_string_not_equal(rig.output, first);
	assert_int_equal(access(first, F_OK), -1);
	mor_driver_tidy(rig.driver);
	assert_int_equal(access(rig.output, F_OK), -1);
	close_rig(&rig);
}

static void an_output_that_grows_after_done(void **state)
{
	struct rig rig;

	(void)state;
	open_rig(&rig, 2, (struct mor_driver_options){ 0 });
	begin_with_unit(&rig);
	is_done(&rig);
	writes(&rig, MOR_SLICE("more"));
	asks(&rig);
	assert_says(rig.warnings, "wrote 4 bytes to an output after it had said \"done\"");
	assert_true(rig.units[0].empty);
	close_rig(&rig);
}

/* ---- tried again ---- */

static void a_death_is_tried_again_in_a_fresh_process(void **state)
{
	struct rig rig;

	(void)state;
	open_rig(&rig, 1, (struct mor_driver_options){ .retries = 1 });
	begin_with_unit(&rig);
	writes(&rig, AN_ENTRY);
	ends(&rig, (struct mor_link_end)EXITED(3));
	assert_int_equal(rig.unit_count, 0);
	assert_says(rig.warnings, "u0.c: ");
	assert_says(rig.warnings, "exited with status 3");
	assert_says(rig.warnings, "trying it again");
	turn(&rig, 1000);
	assert_int_equal(script_starts, 2);
	greets(&rig);
	asks(&rig);
	gets(&rig, "u0.c");
	is_done(&rig);
	expect_unit(&rig, 0, "u0.c", 2, NULL);
	assert_int_equal(rig.units[0].records, 0); /* nothing of the first attempt */
	expect_the_end(&rig);
	close_rig(&rig);
}

static void at_last_it_has_failed_and_the_others_go_on(void **state)
{
	struct rig rig;

	(void)state;
	open_rig(&rig, 2, (struct mor_driver_options){ .retries = 0 });
	begin_with_unit(&rig);
	ends(&rig, (struct mor_link_end)EXITED(3));
	expect_unit(&rig, 0, "u0.c", 1, "exited with status 3");
	assert_int_equal(rig.units[0].code, MORTISE_ECRASHED);
	assert_int_equal(mor_result_stats(rig.result).failed, 1);
	turn(&rig, 1000);
	greets(&rig);
	asks(&rig);
	gets(&rig, "u1.c");
	is_done(&rig);
	expect_unit(&rig, 1, "u1.c", 1, NULL);
	expect_the_end(&rig);
	close_rig(&rig);
}

/* What it wrote is no whole record: its process is not to be trusted any more. */
static void half_a_record(void **state)
{
	struct rig rig;

	(void)state;
	open_rig(&rig, 1, (struct mor_driver_options){ .retries = 1 });
	begin_with_unit(&rig);
	writes(&rig, MOR_SLICE("\x20half"));
	is_done(&rig);
	assert_int_equal(rig.unit_count, 0);
	assert_says(rig.warnings, "trying it again");
	assert_true(script_now->input_closed);
	ends(&rig, (struct mor_link_end)EXITED(0));
	turn(&rig, 1000);
	greets(&rig);
	asks(&rig);
	gets(&rig, "u0.c");
	unlink(rig.output);
	is_done(&rig);
	expect_unit(&rig, 0, "u0.c", 2, "its output");
	assert_int_equal(rig.units[0].code, MORTISE_EINPUT);
	close_rig(&rig);
}

/* A record that has failed is not for a process that has done another one since. */
static void a_used_process_is_replaced(void **state)
{
	struct rig rig;

	(void)state;
	open_rig(&rig, 2, (struct mor_driver_options){ .retries = 1 });
	begin_with_unit(&rig);
	ends(&rig, (struct mor_link_end)EXITED(3));
	turn(&rig, 1000);
	rig.driver->workers[0].fresh = false; /* as if it had been given something */
	greets(&rig);
	asks(&rig);
	gets(&rig, "u1.c");
	is_done(&rig);
	asks(&rig);
	assert_string_equal(hears(), "");
	assert_true(script_now->input_closed);
	ends(&rig, (struct mor_link_end)EXITED(0));
	turn(&rig, 1000);
	greets(&rig);
	asks(&rig);
	gets(&rig, "u0.c");
	is_done(&rig);
	expect_unit(&rig, 1, "u0.c", 2, NULL);
	expect_the_end(&rig);
	close_rig(&rig);
}

/* ---- time ---- */

static void too_late(struct rig *rig)
{
	assert_true(rig->driver->workers[0].due_ms > 0);
	rig->driver->workers[0].due_ms = 1;
	turn(rig, 0);
	assert_true(script_now->input_closed);
}

static void no_done_in_time(void **state)
{
	struct rig rig;

	(void)state;
	open_rig(&rig, 1, (struct mor_driver_options){ .unit_ms = 60000 });
	begin_with_unit(&rig);
	assert_true(mor_driver_step(rig.driver) > 0);
	too_late(&rig);
	expect_unit(&rig, 0, "u0.c", 1, "timeout: no \"done\" within 60 s");
	assert_int_equal(rig.units[0].code, MORTISE_ETIMEOUT);
	is_done(&rig); /* does not count any more */
	assert_int_equal(rig.unit_count, 1);
	close_rig(&rig);
}

/* Five in a row that ask for nothing: it is hopeless, and the last word is why each was ended. */
static void nothing_asked_for_in_time(void **state)
{
	struct rig rig;

	(void)state;
	open_rig(&rig, 1, (struct mor_driver_options){ .unit_ms = 500 });
	begin(&rig);
	for (int i = 0; i < 5; i++) {
		assert_null(mor_driver_failure(rig.driver));
		greets(&rig);
		too_late(&rig);
		ends(&rig, (struct mor_link_end)EXITED(0));
		turn(&rig, 20000);
	}
	assert_int_equal(script_starts, 5);
	assert_true(mor_driver_finished(rig.driver));
	assert_non_null(mor_driver_failure(rig.driver));
	assert_string_equal(mor_driver_failure(rig.driver)->text,
			    "no analyzer is left: analyzer: asked for nothing within 0.5 s");
	assert_int_equal(mor_driver_failure(rig.driver)->code, MORTISE_ECRASHED);
	assert_int_equal(rig.unit_count, 0);
	close_rig(&rig);
}

/* ---- nobody is left ---- */

static void cannot_be_started(void **state)
{
	struct rig rig;

	(void)state;
	open_rig(&rig, 1, (struct mor_driver_options){ 0 });
	script_trouble.times = 1;
	script_trouble.error = (mortise_error){ .code = MORTISE_EEXEC, .text = "no such program" };
	begin(&rig);
	assert_true(mor_driver_finished(rig.driver));
	assert_int_equal(mor_driver_failure(rig.driver)->code, MORTISE_EEXEC);
	assert_says(mor_driver_failure(rig.driver)->text, "no analyzer is left: ");
	close_rig(&rig);
}

/* Who breaks the rules would do so again: its exit status says nothing about it. */
static void a_breach_before_work(void **state)
{
	struct rig rig;

	(void)state;
	open_rig(&rig, 1, (struct mor_driver_options){ 0 });
	begin(&rig);
	for (int i = 0; i < 5 && !mor_driver_failure(rig.driver); i++) {
		says(&rig,
		     "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"init\",\"params\":{\"protocol\":\"kythe9\"}}");
		ends(&rig, (struct mor_link_end)EXITED(0));
		turn(&rig, 20000);
	}
	assert_true(mor_driver_finished(rig.driver));
	assert_int_equal(mor_driver_failure(rig.driver)->code, MORTISE_EPROTO);
	assert_says(mor_driver_failure(rig.driver)->text, "kythe9");
	close_rig(&rig);
}

/* ---- stopping ---- */

static void stopped(bool now)
{
	struct rig rig;

	open_rig(&rig, 2, (struct mor_driver_options){ 0 });
	begin_with_unit(&rig);
	mor_driver_stop(rig.driver, now);
	turn(&rig, 0);
	assert_true(script_now->input_closed);
	assert_int_equal(script_now->killed, now);
	is_done(&rig);
	assert_false(mor_driver_finished(rig.driver));
	ends(&rig, (struct mor_link_end)EXITED(0));
	assert_true(mor_driver_finished(rig.driver));
	turn(&rig, 20000);
	assert_int_equal(script_starts, 1);
	assert_int_equal(rig.unit_count, 0); /* it is for the next run */
	assert_string_equal(rig.warnings, "");
	assert_null(mor_driver_failure(rig.driver));
	close_rig(&rig);
}

static void stop(void **state)
{
	(void)state;
	stopped(false);
	stopped(true);
}

/* ---- an earlier run ---- */

static void what_is_settled_is_told_and_not_done_again(void **state)
{
	static const mortise_error why = { .code = MORTISE_EPROTO, .text = "protocol: it was so" };
	struct rig rig;

	(void)state;
	open_rig(&rig, 2, (struct mor_driver_options){ 0 });
	open_result(&rig, 2, false);
	assert_int_equal(mor_result_failed(rig.result, 0, &why, NULL), 0);
	mor_result_free(rig.result);
	open_result(&rig, 2, true);
	mor_driver_start(rig.driver, rig.result);
	turn(&rig, 0);
	expect_unit(&rig, 0, "u0.c", 0, "protocol: it was so");
	assert_true(rig.units[0].earlier);
	assert_int_equal(rig.units[0].code, MORTISE_EPROTO);
	greets(&rig);
	asks(&rig);
	gets(&rig, "u1.c");
	is_done(&rig);
	expect_the_end(&rig);
	close_rig(&rig);
}

static void nothing_to_do(void **state)
{
	struct rig rig;

	(void)state;
	open_rig(&rig, 0, (struct mor_driver_options){ 0 });
	begin(&rig);
	assert_true(mor_driver_finished(rig.driver));
	assert_int_equal(script_starts, 0);
	close_rig(&rig);
}

/* ---- more records ---- */

/* An analyzer asks before there is more, and gets what comes next. Attempts count anew. */
static void kept_for_more(void **state)
{
	struct rig rig;

	(void)state;
	open_rig(&rig, 1, (struct mor_driver_options){ .keep = true, .expected = 2 });
	begin_with_unit(&rig);
	assert_false(mor_driver_rests(rig.driver));
	is_done(&rig);
	expect_unit(&rig, 0, "u0.c", 1, NULL);
	asks(&rig);
	assert_true(mor_driver_rests(rig.driver));
	assert_false(mor_driver_finished(rig.driver));
	mor_result_free(rig.result);
	open_result(&rig, 1, false);
	assert_int_equal(mor_driver_next(rig.driver, rig.records, 1, rig.result, NULL), 0);
	assert_false(mor_driver_rests(rig.driver));
	turn(&rig, 0);
	gets(&rig, "u0.c");
	writes(&rig, AN_ENTRY);
	is_done(&rig);
	expect_unit(&rig, 1, "u0.c", 1, NULL);
	assert_int_equal(mor_result_stats(rig.result).done, 1);
	assert_true(mor_driver_rests(rig.driver));
	assert_int_equal(script_starts, 1);
	mor_driver_stop(rig.driver, false);
	assert_false(mor_driver_rests(rig.driver));
	ends(&rig, (struct mor_link_end)EXITED(0));
	assert_true(mor_driver_finished(rig.driver));
	close_rig(&rig);
}

/* One that ends while it waits is started again: the next records find it. */
static void ends_while_it_waits(void **state)
{
	struct rig rig;

	(void)state;
	open_rig(&rig, 1, (struct mor_driver_options){ .keep = true });
	begin_with_unit(&rig);
	is_done(&rig);
	ends(&rig, (struct mor_link_end)EXITED(0));
	turn(&rig, 0);
	assert_int_equal(script_starts, 2);
	assert_true(mor_driver_rests(rig.driver));
	mor_result_free(rig.result);
	open_result(&rig, 1, false);
	assert_int_equal(mor_driver_next(rig.driver, rig.records, 1, rig.result, NULL), 0);
	greets(&rig);
	asks(&rig);
	gets(&rig, "u0.c");
	close_rig(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(from_the_request_to_the_result),
		MOR_TEST(outputs),
		MOR_TEST(an_output_that_grows_after_done),
		MOR_TEST(a_death_is_tried_again_in_a_fresh_process),
		MOR_TEST(at_last_it_has_failed_and_the_others_go_on),
		MOR_TEST(half_a_record),
		MOR_TEST(a_used_process_is_replaced),
		MOR_TEST(no_done_in_time),
		MOR_TEST(nothing_asked_for_in_time),
		MOR_TEST(cannot_be_started),
		MOR_TEST(a_breach_before_work),
		MOR_TEST(stop),
		MOR_TEST(what_is_settled_is_told_and_not_done_again),
		MOR_TEST(nothing_to_do),
		MOR_TEST(kept_for_more),
		MOR_TEST(ends_while_it_waits),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("kythe/drive/driver", tests, group_setup, group_teardown);
}
