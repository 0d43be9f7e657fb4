/* SPDX-License-Identifier: Apache-2.0 */
/* The result and its journal: what a killed run leaves at every byte of it, what is damaged there, and
 * who else writes. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/sum.h"
#include "result/journal.h"
#include "result_help.h"
#include "tier.h"

static void test_journal_text(void **state)
{
	MOR_CLEAN(mor_buf) struct mor_buf a = MOR_BUF_INIT;
	MOR_CLEAN(mor_buf) struct mor_buf b = MOR_BUF_INIT;
	MOR_CLEAN(mor_buf) struct mor_buf want = MOR_BUF_INIT;
	MOR_CLEAN(mor_buf) struct mor_buf said = MOR_BUF_INIT;
	struct mor_result *result = open_with((struct mor_result_options){ 0 });
	uint64_t check;

	(void)state;
	settle(result, 0);
	settle(result, 1);
	settle(result, 2);
	unit_bytes(0, MOR_STREAM_PROTOBUF, &a);
	unit_bytes(1, MOR_STREAM_PROTOBUF, &b);
	mor_buf_text(&want, "mortise-index 2 " IDENTITY " ");
	check = mor_sum(want.data, want.len, 0);
	mor_buf_printf(&want, "%016" PRIx64 "\n", check);
	for (int i = 0; i < 3; i++) {
		mor_buf_reset(&said, SIZE_MAX);
		mor_buf_printf(&said, "%s %d %zu %016" PRIx64 "%s", i < 2 ? "done" : "failed", i,
			       i ? a.len + b.len : a.len,
			       i == 0 ? mor_sum(a.data, a.len, 0) :
			       i == 1 ? mor_sum(b.data, b.len, 0) :
					mor_sum("", 0, 0),
			       i < 2 ? "" : " 6 crashed: it\\x0afell over");
		check = mor_sum(said.data, said.len, check);
		mor_buf_printf(&want, "%016" PRIx64 " %.*s\n", check, (int)said.len, said.data);
	}
	expect_file("out.journal", mor_buf_view(&want));
	mor_result_free(result);
}

/* ---- resume ---- */

/* What an uninterrupted run has in its output and its journal before the end. */
static void full_run(struct mor_buf *out, struct mor_buf *journal)
{
	struct mor_result *result = open_with((struct mor_result_options){ 0 });

	for (size_t i = 0; i < UNITS; i++)
		settle(result, i);
	get_file("out.partial", out);
	get_file("out.journal", journal);
	finish(result);
}

static size_t lines_in(const char *text, size_t len)
{
	size_t count = 0;

	for (size_t i = 0; i < len; i++)
		count += text[i] == '\n';
	return count;
}

/* Goes on from what lies there, does what is left, and has the whole output in the end. How many
 * units were kept. */
static size_t go_on(struct mor_slice want, size_t *ret_dropped, char damage[300])
{
	struct mor_result *result = open_with((struct mor_result_options){ .resume = true });
	struct mor_result_stats found = mor_result_stats(result);
	const char *reason, *text = mor_result_damage(result);

	snprintf(damage, 300, "%s", text ? text : "");
	*ret_dropped = found.dropped;
	assert_int_equal(found.done + found.failed, found.kept);
	for (size_t unit = 0; unit < UNITS; unit++) {
		enum mor_result_end state = unit >= found.kept ? MOR_RESULT_OPEN :
					    unit == 2          ? MOR_RESULT_FAILED :
								 MOR_RESULT_DONE;

		assert_int_equal(mor_result_state(result, unit, &reason), state);
		if (state == MOR_RESULT_FAILED)
			assert_string_equal(reason, "crashed: it\\x0afell over");
		assert_int_equal(mor_result_code(result, unit),
				 state == MOR_RESULT_FAILED ? MORTISE_ECRASHED : 0);
		if (state == MOR_RESULT_OPEN)
			settle(result, unit);
	}
	assert_int_equal(mor_result_stats(result).done, 4);
	assert_int_equal(mor_result_stats(result).failed, 1);
	assert_int_equal(mor_result_stats(result).empty, 1);
	finish(result);
	expect_file("out", want);
	assert_int_equal(access(in_dir("out.partial"), F_OK), -1);
	assert_int_equal(access(in_dir("out.journal"), F_OK), -1);
	return found.kept;
}

/* Killed at any byte of the journal, with anything behind what the journal knows of the output: nothing lost,
 * nothing twice. */
static void test_resume_at_every_byte(void **state)
{
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;
	MOR_CLEAN(mor_buf) struct mor_buf journal = MOR_BUF_INIT;

	(void)state;
	full_run(&out, &journal);
	for (size_t cut = 0; cut <= journal.len; cut++) {
		size_t known = lines_in(journal.data, cut), dropped;
		char damage[300];

		put_file("out.journal", (struct mor_slice){ journal.data, cut });
		/* bytes are written before their line: never fewer than it says */
		put_file("out.partial", mor_buf_view(&out));
		put_file("out", MOR_SLICE("older"));
		assert_int_equal(go_on(mor_buf_view(&out), &dropped, damage), known ? known - 1 : 0);
		assert_string_equal(damage, "");
		assert_int_equal(dropped, 0);
	}
}

/* The same for the output: killed at any byte of the unit whose line is not written yet. */
static void test_resume_with_torn_output(void **state)
{
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;
	MOR_CLEAN(mor_buf) struct mor_buf journal = MOR_BUF_INIT;
	MOR_CLEAN(mor_buf) struct mor_buf one = MOR_BUF_INIT;
	size_t second, dropped;
	char damage[300];

	(void)state;
	full_run(&out, &journal);
	unit_bytes(0, MOR_STREAM_PROTOBUF, &one);
	for (second = 0; lines_in(journal.data, second) < 2;)
		second++;
	for (size_t size = one.len; size <= out.len; size++) {
		put_file("out.journal", (struct mor_slice){ journal.data, second });
		put_file("out.partial", (struct mor_slice){ out.data, size });
		assert_int_equal(go_on(mor_buf_view(&out), &dropped, damage), 1);
		assert_string_equal(damage, "");
	}
}

/* In the first tier every n-th bit, so that every place in a byte has its turn. */
static size_t bit_step(void)
{
	return tier_rounds(13, 1);
}

/* Every bit of the journal: noticed, and gone back to the last good line; or refused, where the line says what
 * the file is. Only a last line that has lost its newline looks like one that was being written. */
static void test_every_bit_of_the_journal(void **state)
{
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;
	MOR_CLEAN(mor_buf) struct mor_buf journal = MOR_BUF_INIT;
	size_t name = strlen("mortise-index 2 "), refused = 0, dropped, step = bit_step();

	(void)state;
	full_run(&out, &journal);
	for (size_t bit = 0; bit < 8 * journal.len; bit += step) {
		size_t at = bit / 8, lines = lines_in(journal.data, at), kept;
		struct mor_result_options opt = {
			.path = in_dir("out"), .units = UNITS, .identity = IDENTITY, .resume = true
		};
		struct mor_result *result = NULL;
		mortise_error err = { 0 };
		char damage[300];

		journal.data[at] ^= (char)(1 << bit % 8);
		put_file("out.journal", mor_buf_view(&journal));
		put_file("out.partial", mor_buf_view(&out));
		journal.data[at] ^= (char)(1 << bit % 8);
		if (at < name) {
			assert_int_equal(mor_result_open(&opt, &result, &err), MORTISE_EINPUT);
			refused++;
			continue;
		}
		kept = go_on(mor_buf_view(&out), &dropped, damage);
		assert_int_equal(kept, lines ? lines - 1 : 0);
		if (at + 1 < journal.len)
			assert_non_null(strstr(damage, "out.journal: line "));
		assert_true(at + 1 == journal.len || dropped > 0);
	}
	assert_int_equal(refused, (8 * name + step - 1) / step);
}

/* Every bit of the output: the units before it are kept, the one that it is in is not. */
static void test_every_bit_of_the_output(void **state)
{
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;
	MOR_CLEAN(mor_buf) struct mor_buf journal = MOR_BUF_INIT;
	MOR_CLEAN(mor_buf) struct mor_buf unit = MOR_BUF_INIT;
	size_t dropped, in = 0, step = bit_step();

	(void)state;
	full_run(&out, &journal);
	for (size_t bit = 0; bit < 8 * out.len; bit += step) {
		char damage[300];

		while (unit.len <= bit / 8) {
			if (in != 2)
				unit_bytes(in, MOR_STREAM_PROTOBUF, &unit);
			in++;
		}
		out.data[bit / 8] ^= (char)(1 << bit % 8);
		put_file("out.journal", mor_buf_view(&journal));
		put_file("out.partial", mor_buf_view(&out));
		out.data[bit / 8] ^= (char)(1 << bit % 8);
		assert_int_equal(go_on(mor_buf_view(&out), &dropped, damage), in - 1);
		assert_non_null(strstr(damage, "are not those that were written"));
		assert_int_equal(dropped, UNITS + 1 - in);
	}
}

/* Shorter than the journal says, or not there at all. */
static void test_output_shorter(void **state)
{
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;
	MOR_CLEAN(mor_buf) struct mor_buf journal = MOR_BUF_INIT;
	MOR_CLEAN(mor_buf) struct mor_buf one = MOR_BUF_INIT;
	size_t dropped;
	char damage[300];

	(void)state;
	full_run(&out, &journal);
	unit_bytes(0, MOR_STREAM_PROTOBUF, &one);
	put_file("out.journal", mor_buf_view(&journal));
	put_file("out.partial", (struct mor_slice){ out.data, one.len + 1 });
	assert_int_equal(go_on(mor_buf_view(&out), &dropped, damage), 1);
	assert_non_null(strstr(damage, "out.partial lacks bytes of unit 2"));
	put_file("out.journal", mor_buf_view(&journal));
	assert_int_equal(go_on(mor_buf_view(&out), &dropped, damage), 0);
	assert_int_equal(dropped, UNITS);
}

static void expect_refused(const char *text)
{
	struct mor_result_options opt = {
		.path = in_dir("out"), .units = UNITS, .identity = IDENTITY, .resume = true
	};
	MOR_CLEAN(mor_buf) struct mor_buf before = MOR_BUF_INIT;
	struct mor_result *result = NULL;
	mortise_error err = { 0 };

	get_file("out.partial", &before);
	assert_int_equal(mor_result_open(&opt, &result, &err), MORTISE_EINPUT);
	if (!strstr(err.text, text))
		fail_msg("\"%s\" lacks \"%s\"", err.text, text);
	assert_null(result);
	expect_file("out.partial", mor_buf_view(&before)); /* nothing was touched */
}

static void put_head(const char *identity, struct mor_buf *out)
{
	uint64_t check;

	mor_buf_reset(out, SIZE_MAX);
	mor_journal_head(identity, &check, out);
}

static void test_journal_refused(void **state)
{
	static const struct {
		const char *journal, *text;
	} cases[] = {
		{ "something else\n", "this is not a journal of mortise index" },
		{ "mortise-index 1 " IDENTITY "\n", "from another version of mortise" },
		{ "mortise-index 1 " IDENTITY "\ndone 0 5\n", "from another version of mortise" },
		{ "mortise-index 3 \n", "from another version of mortise" },
	};
	MOR_CLEAN(mor_buf) struct mor_buf other = MOR_BUF_INIT;

	(void)state;
	put_file("out.partial", MOR_SLICE("0123456789"));
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		put_file("out.journal", mor_slice_of(cases[i].journal));
		expect_refused(cases[i].text);
	}
	put_head("ffff456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", &other);
	put_file("out.journal", mor_buf_view(&other));
	expect_refused("it comes from a run with other records or options");
	unlink(in_dir("out.journal"));
	unlink(in_dir("out.partial"));
}

/* Lines with good checksums that say what cannot be: of a program that has gone wrong. */
static void test_lines_that_do_not_follow(void **state)
{
	static const struct mor_journal_line bad[] = {
		{ .unit = 1 },          { .unit = 0, .bytes = 10 },         { .unit = UNITS },
		{ .unit = UINT64_MAX }, { .unit = 0, .bytes = UINT64_MAX },
	};
	MOR_CLEAN(mor_buf) struct mor_buf want = MOR_BUF_INIT;

	(void)state;
	whole(MOR_STREAM_PROTOBUF, &want);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
		uint64_t check;
		size_t dropped;
		char damage[300];

		mor_journal_head(IDENTITY, &check, &text);
		mor_journal_add(&bad[i], &check, &text);
		put_file("out.journal", mor_buf_view(&text));
		assert_int_equal(go_on(mor_buf_view(&want), &dropped, damage), 0);
		assert_int_equal(dropped, 1);
		assert_true(damage[0]);
	}
}

/* Without --resume a journal that lies there does not matter. */
static void test_without_resume_anew(void **state)
{
	MOR_CLEAN(mor_buf) struct mor_buf want = MOR_BUF_INIT;
	struct mor_result *result;

	(void)state;
	put_file("out", MOR_SLICE("old bytes"));
	put_file("out.partial", MOR_SLICE("older bytes"));
	put_file("out.journal", MOR_SLICE("rubbish"));
	result = open_with((struct mor_result_options){ 0 });
	for (size_t i = 0; i < UNITS; i++)
		settle(result, i);
	finish(result);
	whole(MOR_STREAM_PROTOBUF, &want);
	expect_file("out", mor_buf_view(&want));
}

static void test_two_at_once(void **state)
{
	struct mor_result *first = open_with((struct mor_result_options){ 0 });

	(void)state;
	settle(first, 0);
	expect_refused("another run is writing it");
	finish(first);
}

/* Until it is whole, what lies there stays; then the link still points, and mode is as it was. */
static void test_in_its_place(void **state)
{
	MOR_CLEAN(mor_buf) struct mor_buf want = MOR_BUF_INIT;
	struct mor_result *result;
	struct stat st;

	(void)state;
	put_file("real", MOR_SLICE("old bytes"));
	assert_int_equal(chmod(in_dir("real"), 0604), 0);
	assert_int_equal(symlink("real", in_dir("link")), 0);
	result = open_with((struct mor_result_options){ .path = in_dir("link") });
	for (size_t i = 0; i < UNITS; i++)
		settle(result, i);
	expect_file("real", MOR_SLICE("old bytes"));
	finish(result);
	whole(MOR_STREAM_PROTOBUF, &want);
	expect_file("real", mor_buf_view(&want));
	assert_int_equal(lstat(in_dir("link"), &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_int_equal(stat(in_dir("real"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0604);
}

/* Opened, and nothing came of it. */
static void test_leaves_nothing(void **state)
{
	(void)state;
	mor_result_free(open_with((struct mor_result_options){ .path = in_dir("fresh") }));
	assert_int_equal(access(in_dir("fresh"), F_OK), -1);
	assert_int_equal(access(in_dir("fresh.partial"), F_OK), -1);
	assert_int_equal(access(in_dir("fresh.journal"), F_OK), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_journal_text),
		MOR_TEST(test_resume_at_every_byte),
		MOR_TEST(test_resume_with_torn_output),
		MOR_TEST(test_every_bit_of_the_journal),
		MOR_TEST(test_every_bit_of_the_output),
		MOR_TEST(test_output_shorter),
		MOR_TEST(test_journal_refused),
		MOR_TEST(test_lines_that_do_not_follow),
		MOR_TEST(test_without_resume_anew),
		MOR_TEST(test_two_at_once),
		MOR_TEST(test_in_its_place),
		MOR_TEST(test_leaves_nothing),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("result/resume", tests, group_setup, group_teardown);
}
