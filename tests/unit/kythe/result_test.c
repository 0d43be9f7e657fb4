/* The result: order of the input, each unit once and whole, the journal, and what a killed run leaves at every byte of it. */
#include "leak.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "kythe/result.h"
#include "kythe/stage_own.h"

#define IDENTITY "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define UNITS 5

static char dir[] = "/tmp/mortise-result-XXXXXX";

static const char *in_dir(const char *name)
{
	static char path[4][200];
	static unsigned turn;
	char *to = path[turn++ % 4];

	snprintf(to, sizeof(path[0]), "%s/%s", dir, name);
	return to;
}

static int group_setup(void **state)
{
	(void)state;
	return mkdtemp(dir) ? 0 : -1;
}

static int group_teardown(void **state)
{
	(void)state;
	mor_remove_tree_at(AT_FDCWD, dir);
	return access(dir, F_OK) == 0;
}

/* ---- helpers ---- */

static void put_file(const char *name, struct mor_slice bytes)
{
	FILE *f = fopen(in_dir(name), "we");

	assert_non_null(f);
	assert_int_equal(fwrite(bytes.ptr, 1, bytes.len, f), bytes.len);
	fclose(f);
}

static void get_file(const char *name, struct mor_buf *out)
{
	char *text = NULL;
	size_t len = 0;

	assert_int_equal(mor_fd_read_file(in_dir(name), 1 << 20, &text, &len), 0);
	mor_buf_reset(out, 0);
	mor_buf_append(out, text, len);
	mor_free(text);
}

static void expect_file(const char *name, struct mor_slice want)
{
	MOR_CLEAN(mor_buf) struct mor_buf got = MOR_BUF_INIT;

	get_file(name, &got);
	assert_int_equal(got.len, want.len);
	assert_memory_equal(got.data ? got.data : "", want.ptr ? want.ptr : "", want.len);
}

/* Two entries that name the unit; unit 3 has none. */
static void unit_bytes(size_t unit, enum mor_stream_format form, struct mor_buf *out)
{
	char name[32];
	struct mor_entry entry = { .source = { .set = true }, .fact_name = MOR_SLICE("/kythe/text") };

	snprintf(name, sizeof(name), "unit%zu", unit);
	entry.source.part[MOR_VNAME_PATH] = mor_slice_of(name);
	for (int i = 0; i < 2 && unit != 3; i++) {
		entry.fact_value = i ? MOR_SLICE("second \n\x80 bytes") : MOR_SLICE("first");
		assert_int_equal(mor_entry_write(&entry, form, out), 0);
	}
}

static struct mor_result *open_with(struct mor_result_options opt)
{
	struct mor_result *result = NULL;
	mortise_error err = { 0 };

	opt.path = opt.path ? opt.path : in_dir("out");
	opt.identity = IDENTITY;
	opt.units = UNITS;
	opt.spool_dir = dir;
	if (mor_result_open(&opt, &result, &err) < 0)
		fail_msg("%s", err.text);
	return result;
}

/* The unit's output is `size` bytes of `bytes`. */
static int put(struct mor_result *result, size_t unit, struct mor_slice bytes, uint64_t size, enum mor_stream_format form,
	       uint64_t *ret_records, mortise_error *err)
{
	struct mor_unit_output output = { .size = size, .form = form };
	int r;

	put_file("unit", bytes);
	output.fd = open(in_dir("unit"), O_RDONLY | O_CLOEXEC);
	assert_true(output.fd >= 0);
	r = mor_result_done(result, unit, &output, err);
	close(output.fd);
	*ret_records = output.records;
	return r;
}

static void done(struct mor_result *result, size_t unit, enum mor_stream_format form)
{
	MOR_CLEAN(mor_buf) struct mor_buf bytes = MOR_BUF_INIT;
	mortise_error err = { 0 };
	uint64_t size, records;

	unit_bytes(unit, form, &bytes);
	size = bytes.len;
	mor_buf_text(&bytes, "grows after done"); /* which is not part of it */
	if (put(result, unit, mor_buf_view(&bytes), size, form, &records, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(records, unit == 3 ? 0 : 2);
}

/* Unit 2 fails. */
static void settle(struct mor_result *result, size_t unit)
{
	mortise_error err = { 0 };

	if (unit == 2)
		assert_int_equal(mor_result_failed(result, unit, "crashed: it\nfell over", &err), 0);
	else
		done(result, unit, MOR_STREAM_PROTOBUF);
}

static void whole(enum mor_stream_format form, struct mor_buf *out)
{
	for (size_t i = 0; i < UNITS; i++)
		if (i != 2)
			unit_bytes(i, form, out);
}

/* ---- order ---- */

static void test_order_is_the_inputs(void **state)
{
	static const size_t orders[][UNITS] = { { 0, 1, 2, 3, 4 }, { 4, 3, 2, 1, 0 }, { 2, 0, 4, 1, 3 }, { 1, 4, 0, 3, 2 } };
	MOR_CLEAN(mor_buf) struct mor_buf want = MOR_BUF_INIT;

	(void)state;
	whole(MOR_STREAM_PROTOBUF, &want);
	for (size_t i = 0; i < 4; i++) {
		struct mor_result *result = open_with((struct mor_result_options){ 0 });

		for (size_t k = 0; k < UNITS; k++)
			settle(result, orders[i][k]);
		assert_int_equal(mor_result_stats(result).done, 4);
		assert_int_equal(mor_result_stats(result).failed, 1);
		assert_int_equal(mor_result_stats(result).bytes, want.len);
		mor_result_free(result, true);
		expect_file("out", mor_buf_view(&want));
		assert_int_equal(access(in_dir("out.journal"), F_OK), -1);
	}
}

/* What has not had its turn is not in the result. */
static void test_gap(void **state)
{
	MOR_CLEAN(mor_buf) struct mor_buf first = MOR_BUF_INIT;
	struct mor_result *result = open_with((struct mor_result_options){ 0 });

	(void)state;
	settle(result, 0);
	settle(result, 4);
	mor_result_free(result, false);
	unit_bytes(0, MOR_STREAM_PROTOBUF, &first);
	expect_file("out", mor_buf_view(&first));
	assert_int_equal(access(in_dir("out.journal"), F_OK), 0);
}

static void test_journal_text(void **state)
{
	MOR_CLEAN(mor_buf) struct mor_buf a = MOR_BUF_INIT;
	struct mor_result *result = open_with((struct mor_result_options){ 0 });
	char want[300];

	(void)state;
	settle(result, 0);
	settle(result, 1);
	settle(result, 2);
	unit_bytes(0, MOR_STREAM_PROTOBUF, &a);
	snprintf(want, sizeof(want), "mortise-index 1 " IDENTITY "\ndone 0 %zu\ndone 1 %zu\nfailed 2 %zu crashed: it\\x0afell over\n", a.len,
		 2 * a.len, 2 * a.len);
	expect_file("out.journal", mor_slice_of(want));
	mor_result_free(result, false);
}

/* ---- formats ---- */

static void test_formats(void **state)
{
	static const enum mor_stream_format from[] = { MOR_STREAM_PROTOBUF, MOR_STREAM_JSON };

	(void)state;
	for (int i = 0; i < 2; i++)
		for (int to = MOR_RESULT_ENTRIES; to <= MOR_RESULT_RAW; to++) {
			MOR_CLEAN(mor_buf) struct mor_buf want = MOR_BUF_INIT;
			struct mor_result *result = open_with((struct mor_result_options){ .format = (enum mor_result_format)to });

			for (size_t k = 0; k < UNITS; k++)
				done(result, k, from[i]);
			mor_result_free(result, true);
			for (size_t k = 0; k < UNITS; k++)
				unit_bytes(k, to == MOR_RESULT_RAW ? from[i] : to == MOR_RESULT_JSON ? MOR_STREAM_LINES : MOR_STREAM_PROTOBUF,
					   &want);
			expect_file("out", mor_buf_view(&want));
		}
}

static void test_to_a_descriptor(void **state)
{
	struct mor_result_options opt = { .units = UNITS, .identity = IDENTITY, .spool_dir = dir, .fd = open(in_dir("fd"), O_RDWR | O_CREAT | O_CLOEXEC, 0600) };
	MOR_CLEAN(mor_buf) struct mor_buf want = MOR_BUF_INIT;
	struct mor_result *result = NULL;
	mortise_error err = { 0 };

	(void)state;
	assert_int_equal(mor_result_open(&opt, &result, &err), 0);
	for (size_t i = UNITS; i-- > 0;)
		settle(result, i);
	mor_result_free(result, true);
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
	mor_result_free(result, true);
	assert_int_equal(access("/dev/null.journal", F_OK), -1);
}

/* ---- resume ---- */

/* What an uninterrupted run has in its output and its journal before the end. */
static void full_run(struct mor_buf *out, struct mor_buf *journal)
{
	struct mor_result *result = open_with((struct mor_result_options){ 0 });

	for (size_t i = 0; i < UNITS; i++)
		settle(result, i);
	get_file("out", out);
	get_file("out.journal", journal);
	mor_result_free(result, true);
}

static size_t lines_in(const char *text, size_t len)
{
	size_t count = 0;

	for (size_t i = 0; i < len; i++)
		count += text[i] == '\n';
	return count;
}

/* Killed at any byte of the journal, with anything behind what the journal knows of the output: nothing lost, nothing twice. */
static void test_resume_at_every_byte(void **state)
{
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;
	MOR_CLEAN(mor_buf) struct mor_buf journal = MOR_BUF_INIT;

	(void)state;
	full_run(&out, &journal);
	for (size_t cut = 0; cut <= journal.len; cut++) {
		struct mor_result *result;
		const char *reason;
		size_t known = lines_in(journal.data, cut), settled = known ? known - 1 : 0;

		put_file("out.journal", (struct mor_slice){ journal.data, cut });
		put_file("out", mor_buf_view(&out)); /* bytes are written before their line: never fewer than it says */
		result = open_with((struct mor_result_options){ .resume = true });
		for (size_t unit = 0; unit < UNITS; unit++) {
			enum mor_unit_state want = unit >= settled ? MOR_UNIT_OPEN : unit == 2 ? MOR_UNIT_FAILED : MOR_UNIT_DONE;

			assert_int_equal(mor_result_state(result, unit, &reason), want);
			if (want == MOR_UNIT_FAILED)
				assert_string_equal(reason, "crashed: it\\x0afell over");
			if (want == MOR_UNIT_OPEN)
				settle(result, unit);
		}
		expect_file("out.journal", mor_buf_view(&journal));
		assert_int_equal(mor_result_stats(result).done, 4);
		assert_int_equal(mor_result_stats(result).failed, 1);
		mor_result_free(result, true);
		expect_file("out", mor_buf_view(&out));
	}
}

/* The same for the output: killed at any byte of the unit whose line is not written yet. */
static void test_resume_with_torn_output(void **state)
{
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;
	MOR_CLEAN(mor_buf) struct mor_buf journal = MOR_BUF_INIT;
	MOR_CLEAN(mor_buf) struct mor_buf one = MOR_BUF_INIT;
	const char *second;

	(void)state;
	full_run(&out, &journal);
	unit_bytes(0, MOR_STREAM_PROTOBUF, &one);
	second = strstr(journal.data, "done 1");
	for (size_t size = one.len; size <= out.len; size++) {
		struct mor_result *result;

		put_file("out.journal", (struct mor_slice){ journal.data, (size_t)(second - journal.data) });
		put_file("out", (struct mor_slice){ out.data, size });
		result = open_with((struct mor_result_options){ .resume = true });
		for (size_t unit = 1; unit < UNITS; unit++)
			settle(result, unit);
		mor_result_free(result, true);
		expect_file("out", mor_buf_view(&out));
	}
}

static void expect_refused(const char *text)
{
	struct mor_result_options opt = { .path = in_dir("out"), .units = UNITS, .identity = IDENTITY, .resume = true };
	MOR_CLEAN(mor_buf) struct mor_buf before = MOR_BUF_INIT;
	struct mor_result *result = NULL;
	mortise_error err = { 0 };

	get_file("out", &before);
	assert_int_equal(mor_result_open(&opt, &result, &err), MORTISE_EINPUT);
	if (!strstr(err.text, text))
		fail_msg("\"%s\" lacks \"%s\"", err.text, text);
	assert_null(result);
	expect_file("out", mor_buf_view(&before)); /* nothing was touched */
}

static void test_journal_refused(void **state)
{
	static const struct {
		const char *journal, *text;
	} cases[] = {
		{ "something else\n", "is no journal of mortise index" },
		{ "mortise-index 2 " IDENTITY "\n", "is no journal of mortise index" },
		{ "mortise-index 1 ffff456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\n", "is of a run with other records or options" },
		{ "mortise-index 1 ffff\n", "is of a run with other records or options" },
		{ "mortise-index 1 " IDENTITY "x\n", "is of a run with other records or options" },
		{ "mortise-index 1 " IDENTITY "\ndone 1 0\n", "is damaged at byte 81" },
		{ "mortise-index 1 " IDENTITY "\ndone 0 5\ndone 1 3\n", "is damaged at byte 90" },
		{ "mortise-index 1 " IDENTITY "\ndone 0 5\ndone 0 5\n", "is damaged at byte 90" },
		{ "mortise-index 1 " IDENTITY "\nlost 0 5\n", "is damaged" },
		{ "mortise-index 1 " IDENTITY "\n\n", "is damaged" },
		{ "mortise-index 1 " IDENTITY "\ndone 0 99999999\n", "out is shorter than its journal says" },
		{ "mortise-index 1 " IDENTITY "\ndone 0 0\ndone 1 0\ndone 2 0\ndone 3 0\ndone 4 0\ndone 5 0\n", "is damaged" },
	};

	(void)state;
	put_file("out", MOR_SLICE("0123456789"));
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		put_file("out.journal", mor_slice_of(cases[i].journal));
		expect_refused(cases[i].text);
	}
	unlink(in_dir("out.journal"));
}

/* Without --resume a journal that lies there does not matter. */
static void test_without_resume_anew(void **state)
{
	MOR_CLEAN(mor_buf) struct mor_buf want = MOR_BUF_INIT;
	struct mor_result *result;

	(void)state;
	put_file("out", MOR_SLICE("old bytes"));
	put_file("out.journal", MOR_SLICE("rubbish"));
	result = open_with((struct mor_result_options){ 0 });
	for (size_t i = 0; i < UNITS; i++)
		settle(result, i);
	mor_result_free(result, true);
	whole(MOR_STREAM_PROTOBUF, &want);
	expect_file("out", mor_buf_view(&want));
}

static void test_two_at_once(void **state)
{
	struct mor_result *first = open_with((struct mor_result_options){ 0 });

	(void)state;
	expect_refused("another run writes it");
	mor_result_free(first, true);
}

/* ---- what goes wrong ---- */

/* The disk is full in the middle of a unit: the run fails, and the next one goes on. */
static void test_disk_full(void **state)
{
	MOR_CLEAN(mor_buf) struct mor_buf one = MOR_BUF_INIT;
	MOR_CLEAN(mor_buf) struct mor_buf want = MOR_BUF_INIT;
	struct mor_result *result = open_with((struct mor_result_options){ .format = MOR_RESULT_JSON });
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
	assert_int_equal(put(result, 1, mor_buf_view(&one), one.len, MOR_STREAM_PROTOBUF, &records, &err), MORTISE_ESYSTEM);
	assert_string_equal(err.text, "writing the result: File too large");
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	signal(SIGXFSZ, SIG_DFL);
	mor_result_free(result, false);
	result = open_with((struct mor_result_options){ .format = MOR_RESULT_JSON, .resume = true });
	assert_int_equal(mor_result_state(result, 0, &reason), MOR_UNIT_DONE);
	assert_int_equal(mor_result_state(result, 1, &reason), MOR_UNIT_OPEN);
	for (size_t i = 1; i < UNITS; i++)
		done(result, i, MOR_STREAM_PROTOBUF);
	mor_result_free(result, true);
	for (size_t i = 0; i < UNITS; i++)
		unit_bytes(i, MOR_STREAM_LINES, &want);
	expect_file("out", mor_buf_view(&want));
}

static int starved_piece(void)
{
	struct mor_result_options opt = { .path = in_dir("out"), .units = 2, .identity = IDENTITY, .format = MOR_RESULT_JSON, .spool_dir = dir };
	struct mor_result *result = NULL;
	mortise_error err = { 0 };
	uint64_t records;
	int r = mor_result_open(&opt, &result, &err);

	if (r == 0)
		r = mor_result_failed(result, 1, "because", &err);
	if (r == 0)
		r = put(result, 0, MOR_SLICE("\x05\x0a\x00\x22\x01/"), 6, MOR_STREAM_PROTOBUF, &records, &err); /* an empty source, fact "/" */
	mor_result_free(result, false);
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

/* How many records it has, or the error: then nothing is kept, and the unit is open as before. Unit 0 has its turn, unit 1 has
 * not. */
static int check(struct mor_slice bytes, uint64_t size, enum mor_stream_format form, enum mor_result_format format, size_t unit)
{
	struct mor_result *result = open_with((struct mor_result_options){ .format = format });
	mortise_error err = { 0 };
	uint64_t records = 0;
	const char *reason;
	int r = put(result, unit, bytes, size, form, &records, &err);

	if (r < 0) {
		assert_true(err.text[0]);
		assert_int_equal(mor_result_state(result, unit, &reason), MOR_UNIT_OPEN);
		done(result, unit, MOR_STREAM_PROTOBUF); /* the next attempt */
		if (unit == 1)
			done(result, 0, MOR_STREAM_PROTOBUF);
		assert_int_equal(mor_result_stats(result).done, unit + 1);
		if (format == MOR_RESULT_ENTRIES) {
			MOR_CLEAN(mor_buf) struct mor_buf want = MOR_BUF_INIT;

			for (size_t i = 0; i <= unit; i++)
				unit_bytes(i, MOR_STREAM_PROTOBUF, &want);
			expect_file("out", mor_buf_view(&want));
		}
	}
	mor_result_free(result, true);
	return r < 0 ? r : (int)records;
}

/* R32 to R34: cut at every byte, a stream is whole only between records. */
static void test_truncated(void **state)
{
	static const enum mor_stream_format forms[] = { MOR_STREAM_PROTOBUF, MOR_STREAM_JSON };

	(void)state;
	for (int f = 0; f < 2; f++)
		for (int format = MOR_RESULT_ENTRIES; format <= MOR_RESULT_RAW; format++) {
			MOR_CLEAN(mor_buf) struct mor_buf bytes = MOR_BUF_INIT;
			size_t first;

			unit_bytes(0, forms[f], &bytes);
			first = 1 + (size_t)(unsigned char)bytes.data[0];
			assert_true(first < 128);
			for (size_t size = 0; size <= bytes.len; size++)
				assert_int_equal(check(mor_buf_view(&bytes), size, forms[f], (enum mor_result_format)format, size % 2),
						 size == 0 ? 0 : size == first ? 1 : size == bytes.len ? 2 : MORTISE_EINPUT);
		}
}

static void test_content(void **state)
{
	(void)state;
	for (size_t unit = 0; unit < 2; unit++) {
		/* R35: another type's records are looked at for their lengths alone. */
		assert_int_equal(check(MOR_SLICE("\x03" "abc" "\x00" "\x01x"), 7, MOR_STREAM_PROTOBUF, MOR_RESULT_RAW, unit), 3);
		assert_int_equal(check(MOR_SLICE("\x03" "abc"), 4, MOR_STREAM_PROTOBUF, MOR_RESULT_ENTRIES, unit), MORTISE_EINPUT);
		assert_int_equal(check(MOR_SLICE("\x03" "abc"), 4, MOR_STREAM_PROTOBUF, MOR_RESULT_JSON, unit), MORTISE_EINPUT);
		assert_int_equal(check(MOR_SLICE("\x02{}"), 3, MOR_STREAM_JSON, MOR_RESULT_ENTRIES, unit), MORTISE_EINPUT);
		assert_int_equal(check(MOR_SLICE("\x02{}"), 3, MOR_STREAM_JSON, MOR_RESULT_RAW, unit), 1);
		/* The file is shorter than it was when `done` came. */
		assert_int_equal(check(MOR_SLICE("\x01x"), 4, MOR_STREAM_PROTOBUF, MOR_RESULT_RAW, unit), MORTISE_EINPUT);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_order_is_the_inputs), MOR_TEST(test_gap), MOR_TEST(test_journal_text), MOR_TEST(test_formats),
		MOR_TEST(test_to_a_descriptor), MOR_TEST(test_to_a_device), MOR_TEST(test_resume_at_every_byte),
		MOR_TEST(test_resume_with_torn_output), MOR_TEST(test_journal_refused), MOR_TEST(test_without_resume_anew),
		MOR_TEST(test_two_at_once), MOR_TEST(test_disk_full), MOR_TEST(test_starved), MOR_TEST(test_truncated),
		MOR_TEST(test_content),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("kythe/result", tests, group_setup, group_teardown);
}
