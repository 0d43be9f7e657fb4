/* SPDX-License-Identifier: Apache-2.0 */
/* Figures in, sentences out: a table of cases. */
#include "gauge/judgement.h"

#include <stdio.h>
#include <string.h>

#include "leak.h"

#define FLOOR .floor = { .wall = 20, .host = 6, .plugin = 6 }
#define MANY  .calls = 5000, .p50 = 50, .p999 = 90

static const struct row {
	const char *name, *kind; /* of the case; of its main sentence */
	const char *notes;       /* their kinds, with a blank behind each */
	struct mor_judgement_input in;
} rows[] = {
	{ "at once, without a floor",
	  "at_once",
	  "",
	  { MANY, .call = { .wall = 40, .plugin = 8, .host = 10 } } },
	{ "computes longer than processors sleep",
	  "plugin_computes",
	  "",
	  { MANY, .floor = { .wall = 3 }, .call = { .wall = 350, .plugin = 300, .host = 5 } } },
	{ "computes",
	  "plugin_computes",
	  "",
	  { MANY, FLOOR, .call = { .wall = 1000, .plugin = 900, .host = 10 } } },
	{ "sleeps", "plugin_waits", "", { MANY, FLOOR, .call = { .wall = 1000, .plugin = 12, .host = 12 } } },
	{ "at once", "at_once", "", { MANY, FLOOR, .call = { .wall = 30, .plugin = 9, .host = 10 } } },
	{ "at once, from processors that sleep",
	  "at_once",
	  "",
	  { MANY, .floor = { .wall = 3 }, .call = { .wall = 60, .plugin = 9, .host = 10 } } },
	{ "a short wait",
	  "plugin_waits",
	  "",
	  { MANY, .floor = { .wall = 3 }, .call = { .wall = 90, .plugin = 5, .host = 5 } } },
	{ "faster than the floor",
	  "at_once",
	  "",
	  { MANY, FLOOR, .call = { .wall = 15, .plugin = 5, .host = 5 } } },
	{ "host", "host", "", { MANY, FLOOR, .call = { .wall = 500, .plugin = 100, .host = 350 } } },
	{ "large messages that take the time",
	  "large_messages",
	  "",
	  { MANY, .bytes = 1 << 20, .floor = { .wall = 300, .host = 90, .plugin = 90 },
	    .call = { .wall = 500, .plugin = 150, .host = 150 } } },
	{ "large messages that are soon moved",
	  "plugin_computes",
	  "large_messages ",
	  { MANY, .bytes = 1 << 20, FLOOR, .call = { .wall = 100, .plugin = 60, .host = 20 } } },
	{ "noise in each call",
	  "at_once",
	  "noise ",
	  { MANY, FLOOR, .noise_bytes = 4, .noise_before = 9,
	    .call = { .wall = 30, .plugin = 9, .host = 10 } } },
	{ "a banner",
	  "at_once",
	  "noise ",
	  { MANY, FLOOR, .noise_before = 9, .call = { .wall = 30, .plugin = 9, .host = 10 } } },
	{ "host, with a flood on stderr",
	  "stderr",
	  "",
	  { MANY, FLOOR, .bytes = 200, .stderr_bytes = 19000,
	    .call = { .wall = 500, .plugin = 100, .host = 350 } } },
	{ "host, with large messages",
	  "host",
	  "stderr ",
	  { MANY, FLOOR, .bytes = 40000, .stderr_bytes = 19000,
	    .call = { .wall = 500, .plugin = 100, .host = 350 } } },
	{ "plugin computes, with a flood on stderr",
	  "plugin_computes",
	  "stderr ",
	  { MANY, FLOOR, .bytes = 200, .stderr_bytes = 19000,
	    .call = { .wall = 500, .plugin = 300, .host = 150 } } },
	{ "guardian",
	  "guardian",
	  "",
	  { MANY, FLOOR, .call = { .wall = 500, .plugin = 100, .host = 50, .guardian = 300 } } },
	{ "busy",
	  "plugin_computes",
	  "busy_machine ",
	  { MANY, FLOOR, .call = { .wall = 500, .plugin = 200, .host = 50, .busy = 900 } } },
	{ "a little busy",
	  "plugin_computes",
	  "",
	  { MANY, FLOOR, .call = { .wall = 500, .plugin = 400, .host = 16, .busy = 90 } } },
	{ "without a floor",
	  "plugin_computes",
	  "",
	  { MANY, .call = { .wall = 100, .plugin = 60, .host = 30 } } },
	{ "threads",
	  "plugin_computes",
	  "",
	  { MANY, FLOOR, .call = { .wall = 1000, .plugin = 3900, .host = 10 } } },
	{ "only errors",
	  "error_path",
	  "",
	  { MANY, FLOOR, .errors = 5000, .call = { .wall = 30, .plugin = 9, .host = 10 } } },
	{ "some errors",
	  "at_once",
	  "errors ",
	  { MANY, FLOOR, .errors = 4999, .call = { .wall = 30, .plugin = 9, .host = 10 } } },
	{ "starts for each call",
	  "start_up",
	  "process_per_call ",
	  { MANY, .per_call = true, .ready = 30000, .max_in_flight = 1,
	    .call = { .wall = 40000, .plugin = 25000, .host = 100 } } },
	{ "works for each call",
	  "plugin_computes",
	  "process_per_call ",
	  { MANY, .per_call = true, .ready = 10, .call = { .wall = 40000, .plugin = 39000, .host = 100 } } },
	{ "one in flight",
	  "at_once",
	  "one_in_flight ",
	  { MANY, FLOOR, .max_in_flight = 1, .tried = 1, .call = { .wall = 30, .plugin = 9, .host = 10 } } },
	{ "more helps",
	  "plugin_waits",
	  "more_in_flight_helps ",
	  { MANY, FLOOR, .tried = 64, .best = 32, .gain = 20, .gain_beside = 18, .fewest = 20,
	    .call = { .wall = 1000 } } },
	{ "one row stands alone",
	  "plugin_waits",
	  "",
	  { MANY, FLOOR, .tried = 64, .best = 8, .gain = 1.4, .gain_beside = 1.1, .fewest = 20,
	    .call = { .wall = 1000 } } },
	{ "more helps, from few calls",
	  "plugin_waits",
	  "",
	  { MANY, FLOOR, .tried = 64, .best = 32, .gain = 20, .gain_beside = 18, .fewest = 19,
	    .call = { .wall = 1000 } } },
	{ "more helps, on a busy machine",
	  "plugin_computes",
	  "busy_machine ",
	  { MANY, FLOOR, .tried = 64, .best = 8, .gain = 1.4, .gain_beside = 1.4, .fewest = 500,
	    .call = { .wall = 1000, .plugin = 500, .busy = 400 } } },
	{ "more does not help",
	  "plugin_waits",
	  "one_after_the_other ",
	  { MANY, FLOOR, .tried = 64, .best = 2, .gain = 1.02, .fewest = 20, .call = { .wall = 1000 } } },
	{ "more does not help, from few calls",
	  "plugin_waits",
	  "",
	  { MANY, FLOOR, .tried = 64, .best = 2, .gain = 1.02, .fewest = 1, .call = { .wall = 1000 } } },
	{ "more does not help, on a busy machine",
	  "plugin_computes",
	  "busy_machine ",
	  { MANY, FLOOR, .tried = 64, .best = 2, .gain = 1.02, .fewest = 500,
	    .call = { .wall = 1000, .plugin = 500, .busy = 400 } } },
	{ "fewer calls than in flight",
	  "plugin_waits",
	  "not_tried ",
	  { MANY, FLOOR, .tried = 16, .fewest = 19, .too_few = true, .call = { .wall = 1000 } } },
	{ "more was not tried",
	  "plugin_waits",
	  "not_tried ",
	  { MANY, FLOOR, .tried = 1, .best = 1, .gain = 1, .too_slow = true, .call = { .wall = 300000 } } },
	{ "chatter",
	  "at_once",
	  "stderr noise ",
	  { MANY, FLOOR, .stderr_bytes = 80, .noise_bytes = 0.1,
	    .call = { .wall = 30, .plugin = 9, .host = 10 } } },
	{ "slow start",
	  "at_once",
	  "slow_start ",
	  { MANY, FLOOR, .start = 40000, .call = { .wall = 30, .plugin = 9, .host = 10 } } },
	{ "a start that is worth its calls",
	  "plugin_computes",
	  "",
	  { .calls = 2000,
	    .p50 = 30000,
	    .p999 = 40000,
	    .start = 40000,
	    .call = { .wall = 30000, .plugin = 29000 } } },
	{ "slow tail",
	  "at_once",
	  "slow_tail ",
	  { .calls = 1000, .p50 = 50, .p999 = 1000, FLOOR, .call = { .wall = 30, .plugin = 9, .host = 10 } } },
	{ "few",
	  "at_once",
	  "few_calls ",
	  { .calls = 999, .p50 = 50, .p999 = 1000, FLOOR, .call = { .wall = 30, .plugin = 9, .host = 10 } } },
};

static void check_row(const struct row *row)
{
	struct mor_judgement_input in = row->in;
	struct mor_judgement v;
	char notes[400] = "";
	size_t len = 0;
	double shares = 0;

	in.dialect = "plain";
	in.micro = "us";
	mor_judgement_find(&in, &v);
	print_message("# %s: %s\n", row->name, v.main.text);
	assert_string_equal(v.main.kind, row->kind);
	assert_true(*v.main.text && *v.main.advice);
	for (size_t i = 0; i < v.notes_count; i++) {
		assert_true(*v.notes[i].text);
		len += (size_t)snprintf(notes + len, sizeof(notes) - len, "%s ", v.notes[i].kind);
	}
	assert_string_equal(notes, row->notes);
	for (int i = 0; i < MOR_PORTIONS; i++) {
		assert_true(v.us[i] >= 0 && v.share[i] >= 0 && v.share[i] <= 1);
		shares += v.share[i];
	}
	assert_true(shares > 0.999 && shares < 1.001);
}

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		check_row(&rows[i]);
}

/* The parts of given calls, in microseconds, without a floor. */
static void test_parts(void **state)
{
	static const struct {
		const char *name;
		double least;
		struct mor_judgement_cost call;
		double plugin, wait, busy;
	} parts[] = {
		/* two threads of the plugin and the host were delayed while it slept for 50 ms */
		{ "sleeps, beside others", 50300, { 63200, 100, 200, 0, 23900, 0 }, 200, 50000, 12900 },
		{ "sleeps", 50300, { 50400, 100, 200, 0, 90, 0 }, 200, 50010, 90 },
		/* every call shares its processor, the fastest too */
		{ "computes, beside others", 38000, { 40100, 100, 20000, 0, 22000, 19000 }, 20000, 0, 20000 },
		{ "computes", 20000, { 20300, 100, 20000, 0, 200, 100 }, 20000, 0, 200 },
		/* 10 ms of computing take 20, then it sleeps for 50 */
		{ "both, beside others", 70200, { 75100, 100, 10000, 0, 30000, 10000 }, 10000, 50100, 14900 },
		{ "in three threads", 9000, { 10000, 0, 30000, 0, 5000, 5000 }, 10000, 0, 0 },
		{ "the fastest is not known", 0, { 1000, 100, 100, 0, 500, 0 }, 100, 300, 500 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		struct mor_judgement_input in = {
			.micro = "us", .calls = 20, .call = parts[i].call, .least = parts[i].least
		};
		struct mor_judgement v;
		double sum = 0;

		mor_judgement_find(&in, &v);
		for (int k = 0; k < MOR_PORTIONS; k++)
			sum += v.us[k];
		print_message("# %s\n", parts[i].name);
		assert_float_equal(v.us[MOR_PORTION_PLUGIN], parts[i].plugin, 0.01);
		assert_float_equal(v.us[MOR_PORTION_WAIT], parts[i].wait, 0.01);
		assert_float_equal(v.us[MOR_PORTION_BUSY], parts[i].busy, 0.01);
		assert_float_equal(sum, in.call.wall, 0.01);
	}
}

/* The per cent of the sentence are those of the page, unless it says that they are of something else. */
static void test_same_per_cent(void **state)
{
	struct mor_judgement_input in = {
		.micro = "us", .calls = 5000, .p50 = 1966, .p999 = 1966, .call = { 1966, 172, 1794, 0, 0, 0 }
	};
	struct mor_judgement v;

	(void)state;
	in.call.busy = 15;
	in.call.host -= 15;
	mor_judgement_find(&in, &v);
	assert_true(v.us[MOR_PORTION_BUSY] > 14);
	assert_int_equal((int)(100 * v.share[MOR_PORTION_PLUGIN] + 0.5), 91);
	assert_memory_equal(v.main.text, "91 % of a call (1.79 ms of 1.97 ms) ", 36);
}

/* No sentence is cut, whatever the figures. */
static void test_nothing_is_cut(void **state)
{
	struct mor_judgement_input in = { .dialect = "sunscreen-json",
					  .micro = "us",
					  .calls = UINT64_MAX,
					  .errors = UINT64_MAX - 1,
					  .p50 = 1e9,
					  .p999 = 1e13,
					  .start = 1e12,
					  .max_in_flight = 1,
					  .tried = 4000000000,
					  .best = 4000000000,
					  .gain = 1e9,
					  .gain_beside = 1e9,
					  .fewest = 1000,
					  .too_slow = true,
					  .stderr_bytes = 1e15,
					  .noise_bytes = 1e15,
					  .bytes = 1e14 };
	struct mor_judgement v;

	(void)state;
	for (int i = 0; i < 5; i++) {
		double *parts[] = { &in.call.plugin, &in.call.host, &in.call.guardian, &in.floor.wall,
				    &in.call.wall };

		in.call = (struct mor_judgement_cost){ .wall = 1e12 };
		in.floor.wall = 0;
		*parts[i] = 1e12;
		mor_judgement_find(&in, &v);
		assert_true(strlen(v.main.text) < sizeof(v.main.text) - 1);
		assert_true(strlen(v.main.advice) < sizeof(v.main.advice) - 1);
		for (size_t k = 0; k < v.notes_count; k++)
			assert_true(strlen(v.notes[k].text) < sizeof(v.notes[k].text) - 1);
	}
}

static void test_names(void **state)
{
	(void)state;
	for (int i = 0; i < MOR_PORTIONS; i++)
		assert_true(*mor_portion_label((enum mor_portion)i) && *mor_portion_name((enum mor_portion)i));
}

static void test_format(void **state)
{
	static const struct {
		double us;
		const char *text;
	} times[] = {
		{ 0, "0.00 us" },     { 0.5, "0.50 us" },     { 9.994, "9.99 us" }, { 9.996, "10.0 us" },
		{ 61.24, "61.2 us" }, { 99.96, "100 us" },    { 999.4, "999 us" },  { 1530, "1.53 ms" },
		{ 250000, "250 ms" }, { 12345678, "12.3 s" }, { 1e9, "1000 s" },
	};
	char out[32];

	(void)state;
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		assert_string_equal(mor_judgement_us(times[i].us, "us", out), times[i].text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_rows),           MOR_TEST(test_parts), MOR_TEST(test_same_per_cent),
		MOR_TEST(test_nothing_is_cut), MOR_TEST(test_names), MOR_TEST(test_format),
	};

	return mor_run_group("judgement", tests);
}
