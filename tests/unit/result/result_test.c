/* SPDX-License-Identifier: Apache-2.0 */
/* The result: order of the input, each unit once and whole, and what goes wrong. What a killed run leaves:
 * resume_test.c. */
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/alloc.h"
#include "result_help.h"

/* Units that wait: all in the spool, one in memory, all in memory. */
#define HOLDS 3
static const uint64_t holds[HOLDS] = { 0, 100, UINT64_MAX };

/* ---- order ---- */

static void test_order_is_the_inputs(void **state)
{
	static const size_t orders[][UNITS] = {
		{ 0, 1, 2, 3, 4 }, { 4, 3, 2, 1, 0 }, { 2, 0, 4, 1, 3 }, { 1, 4, 0, 3, 2 }
	};
	MOR_CLEAN(mor_buf) struct mor_buf want = MOR_BUF_INIT;

	(void)state;
	whole(MOR_STREAM_PROTOBUF, &want);
	for (size_t i = 0; i < 4 * HOLDS; i++) {
		struct mor_result *result = open_with((struct mor_result_options){ .hold = holds[i / 4] });

		for (size_t k = 0; k < UNITS; k++)
			settle(result, orders[i % 4][k]);
		assert_int_equal(mor_result_stats(result).done, 4);
		assert_int_equal(mor_result_stats(result).failed, 1);
		assert_int_equal(mor_result_stats(result).bytes, want.len);
		finish(result);
		expect_file("out", mor_buf_view(&want));
		assert_int_equal(access(in_dir("out.journal"), F_OK), -1);
	}
}

/* What has not had its turn is not in the result. */
static void test_gap(void **state)
{
	MOR_CLEAN(mor_buf) struct mor_buf first = MOR_BUF_INIT;

	(void)state;
	unit_bytes(0, MOR_STREAM_PROTOBUF, &first);
	for (int i = 0; i < HOLDS; i++) {
		struct mor_result *result = open_with((struct mor_result_options){ .hold = holds[i] });

		settle(result, 0);
		settle(result, 4);
		mor_result_free(result);
		expect_file("out.partial", mor_buf_view(&first));
		assert_int_equal(access(in_dir("out.journal"), F_OK), 0);
	}
}

/* Units of megabytes that come in any order; one is wrong at first. */
static void test_large_units(void **state)
{
	static const size_t order[UNITS] = { 2, 4, 1, 0, 3 };
	MOR_CLEAN(mor_buf) struct mor_buf unit = MOR_BUF_INIT;
	MOR_CLEAN(mor_buf) struct mor_buf want = MOR_BUF_INIT;
	uint64_t records;

	(void)state;
	while (unit.len < (size_t)5 << 20)
		unit_bytes(1, MOR_STREAM_PROTOBUF, &unit);
	for (int i = 0; i < UNITS; i++)
		mor_buf_slice(&want, mor_buf_view(&unit));
	for (int i = 0; i < HOLDS; i++) {
		struct mor_result *result = open_with((struct mor_result_options){ .hold = holds[i] });
		mortise_error err;

		unit.data[unit.len - 20] ^= 0x40; /* the length of a field */
		assert_true(put(result, 2, mor_buf_view(&unit), unit.len - 1, MOR_STREAM_PROTOBUF, &records,
				&err) < 0);
		unit.data[unit.len - 20] ^= 0x40;
		for (size_t k = 0; k < UNITS; k++)
			assert_int_equal(put(result, order[k], mor_buf_view(&unit), unit.len,
					     MOR_STREAM_PROTOBUF, &records, &err),
					 0);
		finish(result);
		expect_file("out", mor_buf_view(&want));
	}
}

/* ---- formats ---- */

static void test_formats(void **state)
{
	static const enum mor_stream_format from[] = { MOR_STREAM_PROTOBUF, MOR_STREAM_JSON };

	(void)state;
	for (int i = 0; i < 2; i++)
		for (int to = MOR_DRIVER_ENTRIES; to <= MOR_DRIVER_RAW; to++) {
			MOR_CLEAN(mor_buf) struct mor_buf want = MOR_BUF_INIT;
			struct mor_result *result =
				open_with((struct mor_result_options){ .check = &mor_driver_checks[to] });

			for (size_t k = 0; k < UNITS; k++)
				done(result, k, from[i]);
			finish(result);
			for (size_t k = 0; k < UNITS; k++)
				unit_bytes(k,
					   to == MOR_DRIVER_RAW  ? from[i] :
					   to == MOR_DRIVER_JSON ? MOR_STREAM_LINES :
								   MOR_STREAM_PROTOBUF,
					   &want);
			expect_file("out", mor_buf_view(&want));
		}
}

static void test_to_a_descriptor(void **state)
{
	struct mor_result_options opt = { .units = UNITS,
					  .check = &mor_driver_checks[MOR_DRIVER_ENTRIES],
					  .identity = IDENTITY,
					  .spool_dir = dir,
					  .fd = open(in_dir("fd"), O_RDWR | O_CREAT | O_CLOEXEC, 0600) };
	MOR_CLEAN(mor_buf) struct mor_buf want = MOR_BUF_INIT;
	struct mor_result *result = NULL;
	mortise_error err = { 0 };

	(void)state;
	assert_int_equal(mor_result_open(&opt, &result, &err), 0);
	for (size_t i = UNITS; i-- > 0;)
		settle(result, i);
	finish(result);
	assert_true(fcntl(opt.fd, F_GETFD) >= 0); /* it is the caller's */
	close(opt.fd);
	whole(MOR_STREAM_PROTOBUF, &want);
	expect_file("fd", mor_buf_view(&want));
}

/* Devices and pipes have no journal: nothing can be taken back from them. */
static void test_to_a_device(void **state)
{
	struct mor_result *result = open_with((struct mor_result_options){ .path = "/dev/null" });

	(void)state;
	for (size_t i = 0; i < UNITS; i++)
		settle(result, i);
	finish(result);
	assert_int_equal(access("/dev/null.journal", F_OK), -1);
}

/* ---- what goes wrong ---- */

/* The disk is full in the middle of a unit: the run fails, and the next one goes on. */
static void test_disk_full(void **state)
{
	MOR_CLEAN(mor_buf) struct mor_buf one = MOR_BUF_INIT;
	MOR_CLEAN(mor_buf) struct mor_buf want = MOR_BUF_INIT;
	struct mor_result *result =
		open_with((struct mor_result_options){ .check = &mor_driver_checks[MOR_DRIVER_JSON] });
	struct rlimit before, little;
	mortise_error err = { 0 };
	const char *reason;
	uint64_t records;

	(void)state;
	done(result, 0, MOR_STREAM_PROTOBUF);
	done(result, 2, MOR_STREAM_PROTOBUF);
	unit_bytes(1, MOR_STREAM_PROTOBUF, &one);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	little = (struct rlimit){ mor_result_stats(result).bytes + 10, before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
	assert_int_equal(put(result, 1, mor_buf_view(&one), one.len, MOR_STREAM_PROTOBUF, &records, &err),
			 MORTISE_ESYSTEM);
	assert_string_equal(err.text, "writing the result: File too large");
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	signal(SIGXFSZ, SIG_DFL);
	mor_result_free(result);
	result = open_with(
		(struct mor_result_options){ .check = &mor_driver_checks[MOR_DRIVER_JSON], .resume = true });
	assert_int_equal(mor_result_state(result, 0, &reason), MOR_RESULT_DONE);
	assert_int_equal(mor_result_state(result, 1, &reason), MOR_RESULT_OPEN);
	for (size_t i = 1; i < UNITS; i++)
		done(result, i, MOR_STREAM_PROTOBUF);
	finish(result);
	for (size_t i = 0; i < UNITS; i++)
		unit_bytes(i, MOR_STREAM_LINES, &want);
	expect_file("out", mor_buf_view(&want));
}

/* Without a check any bytes are kept as they are. */
static void test_any_bytes(void **state)
{
	struct mor_result_options opt = {
		.path = in_dir("out"), .units = 2, .identity = IDENTITY, .spool_dir = dir
	};
	struct mor_result *result = NULL;
	uint64_t records;

	(void)state;
	assert_int_equal(mor_result_open(&opt, &result, NULL), 0);
	assert_int_equal(put(result, 1, MOR_SLICE("two\n"), 4, 0, &records, NULL), 0);
	assert_int_equal(put(result, 0, MOR_SLICE("\xff\0one"), 5, 0, &records, NULL), 0);
	assert_int_equal(records, 0);
	finish(result);
	expect_file("out", MOR_SLICE("\xff\0onetwo\n"));
}

static int starved_piece(void)
{
	struct mor_result_options opt = { .path = in_dir("out"),
					  .units = 2,
					  .identity = IDENTITY,
					  .check = &mor_driver_checks[MOR_DRIVER_JSON],
					  .spool_dir = dir };
	struct mor_result *result = NULL;
	mortise_error err = { 0 };
	uint64_t records;
	int r = mor_result_open(&opt, &result, &err);

	if (r == 0)
		r = mor_result_failed(result, 1, &(mortise_error){ .code = MORTISE_EPROTO, .text = "because" },
				      &err);
	if (r == 0)
		/* an empty source, fact "/" */
		r = put(result, 0, MOR_SLICE("\x05\x0a\x00\x22\x01/"), 6, MOR_STREAM_PROTOBUF, &records, &err);
	mor_result_free(result);
	return r;
}

static void test_starved(void **state)
{
	int r = MORTISE_ENOMEM, failures = 0;

	(void)state;
	for (long n = 0; n < 1000 && r != 0; n++) {
		mor_alloc_fail_after(n);
		r = starved_piece();
		mor_alloc_fail_after(-1);
		assert_true(r <= 0);
		failures += r < 0;
	}
	assert_int_equal(r, 0);
	assert_true(failures > 3);
}

/* ---- only what is whole ---- */

/* How many records it has, or the error: then nothing is kept, and the unit is open as before. Unit 0 has its
 * turn, unit 1 has not. */
static int check(struct mor_slice bytes, uint64_t size, enum mor_stream_format form,
		 enum mor_driver_format format, size_t unit)
{
	struct mor_result *result =
		open_with((struct mor_result_options){ .check = &mor_driver_checks[format] });
	mortise_error err = { 0 };
	uint64_t records = 0;
	const char *reason;
	int r = put(result, unit, bytes, size, form, &records, &err);

	if (r < 0) {
		assert_true(err.text[0]);
		assert_int_equal(mor_result_state(result, unit, &reason), MOR_RESULT_OPEN);
		done(result, unit, MOR_STREAM_PROTOBUF); /* the next attempt */
		if (unit == 1)
			done(result, 0, MOR_STREAM_PROTOBUF);
		assert_int_equal(mor_result_stats(result).done, unit + 1);
		if (format == MOR_DRIVER_ENTRIES) {
			MOR_CLEAN(mor_buf) struct mor_buf want = MOR_BUF_INIT;

			for (size_t i = 0; i <= unit; i++)
				unit_bytes(i, MOR_STREAM_PROTOBUF, &want);
			expect_file("out.partial", mor_buf_view(&want));
		}
	}
	finish(result);
	return r < 0 ? r : (int)records;
}

/* R32 to R34 of docs/dialects/kythe.md: cut at every byte, a stream is whole only between records. */
static void test_truncated(void **state)
{
	static const enum mor_stream_format forms[] = { MOR_STREAM_PROTOBUF, MOR_STREAM_JSON };

	(void)state;
	for (int f = 0; f < 2; f++)
		for (int format = MOR_DRIVER_ENTRIES; format <= MOR_DRIVER_RAW; format++) {
			MOR_CLEAN(mor_buf) struct mor_buf bytes = MOR_BUF_INIT;
			size_t first;

			unit_bytes(0, forms[f], &bytes);
			first = 1 + (size_t)(unsigned char)bytes.data[0];
			assert_true(first < 128);
			for (size_t size = 0; size <= bytes.len; size++)
				assert_int_equal(check(mor_buf_view(&bytes), size, forms[f],
						       (enum mor_driver_format)format, size % 2),
						 size == 0         ? 0 :
						 size == first     ? 1 :
						 size == bytes.len ? 2 :
								     MORTISE_EINPUT);
		}
}

static void test_content(void **state)
{
	(void)state;
	for (size_t unit = 0; unit < 2; unit++) {
		/* R35: another type's records are looked at for their lengths alone. */
		assert_int_equal(check(MOR_SLICE("\x03"
						 "abc"
						 "\x00"
						 "\x01x"),
				       7, MOR_STREAM_PROTOBUF, MOR_DRIVER_RAW, unit),
				 3);
		assert_int_equal(check(MOR_SLICE("\x03"
						 "abc"),
				       4, MOR_STREAM_PROTOBUF, MOR_DRIVER_ENTRIES, unit),
				 MORTISE_EINPUT);
		assert_int_equal(check(MOR_SLICE("\x03"
						 "abc"),
				       4, MOR_STREAM_PROTOBUF, MOR_DRIVER_JSON, unit),
				 MORTISE_EINPUT);
		assert_int_equal(check(MOR_SLICE("\x02{}"), 3, MOR_STREAM_JSON, MOR_DRIVER_ENTRIES, unit),
				 MORTISE_EINPUT);
		assert_int_equal(check(MOR_SLICE("\x02{}"), 3, MOR_STREAM_JSON, MOR_DRIVER_RAW, unit), 1);
		/* The file is shorter than it was when `done` came. */
		assert_int_equal(check(MOR_SLICE("\x01x"), 4, MOR_STREAM_PROTOBUF, MOR_DRIVER_RAW, unit),
				 MORTISE_EINPUT);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_order_is_the_inputs),
		MOR_TEST(test_large_units),
		MOR_TEST(test_gap),
		MOR_TEST(test_formats),
		MOR_TEST(test_to_a_descriptor),
		MOR_TEST(test_to_a_device),
		MOR_TEST(test_any_bytes),
		MOR_TEST(test_disk_full),
		MOR_TEST(test_starved),
		MOR_TEST(test_truncated),
		MOR_TEST(test_content),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("result/result", tests, group_setup, group_teardown);
}
