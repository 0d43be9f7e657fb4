/* SPDX-License-Identifier: Apache-2.0 */
/* The journal as text, and its sums: what is written is read; what is not good is told, by its line. */
#include "leak.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/sum.h"
#include "result/journal.h"

#define MINE  "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OTHER "ffff456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static const struct mor_journal_line lines[] = {
	{ .unit = 0, .bytes = 10, .sum = 0 },
	{ .unit = 1, .bytes = UINT64_MAX, .sum = UINT64_MAX },
	{ .unit = 2,
	  .bytes = 12,
	  .sum = 0xabc,
	  .failed = true,
	  .code = MORTISE_ECRASHED,
	  .reason = { "exited: status 3 ", 17 } },
	{ .unit = 3, .bytes = 12, .sum = 1, .failed = true, .code = MORTISE_EPROTO, .reason = { "", 0 } },
};
#define LINES (sizeof(lines) / sizeof(*lines))

static void write_all(struct mor_buf *out)
{
	uint64_t check;

	mor_journal_head(MINE, &check, out);
	for (size_t i = 0; i < LINES; i++)
		mor_journal_add(&lines[i], &check, out);
	assert_false(mor_buf_failed(out));
}

static void expect_line(const struct mor_journal_line *got, const struct mor_journal_line *want)
{
	assert_int_equal(got->failed, want->failed);
	assert_true(got->unit == want->unit && got->bytes == want->bytes && got->sum == want->sum);
	assert_int_equal(got->code, want->code);
	assert_true(mor_slice_eq(got->reason, want->reason));
}

static void what_is_written_is_read(void **state)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	struct mor_journal_reader reader;
	struct mor_journal_line line;

	(void)state;
	write_all(&text);
	assert_int_equal(mor_journal_open(&reader, mor_buf_view(&text), MINE, NULL), 1);
	assert_int_equal(mor_journal_left(&reader), LINES);
	for (size_t i = 0; i < LINES; i++) {
		assert_int_equal(mor_journal_next(&reader, &line, NULL), 1);
		expect_line(&line, &lines[i]);
		assert_int_equal(reader.number, i + 2);
		assert_int_equal(mor_journal_left(&reader), LINES - 1 - i);
	}
	assert_int_equal(mor_journal_next(&reader, &line, NULL), 0);
	assert_int_equal(reader.at, text.len);
}

/* A run that was killed as it wrote: half a head does not count, half a line is not there, and
 * neither is an error. */
static void cut_anywhere(void **state)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	size_t head;

	(void)state;
	write_all(&text);
	head = (size_t)((char *)memchr(text.data, '\n', text.len) - text.data) + 1;
	for (size_t cut = 0; cut <= text.len; cut++) {
		struct mor_slice part = { text.data, cut };
		struct mor_journal_reader reader;
		struct mor_journal_line line;
		size_t whole = 0, found = 0;

		for (size_t i = 0; i < cut; i++)
			whole += text.data[i] == '\n';
		assert_int_equal(mor_journal_open(&reader, part, MINE, NULL), cut >= head);
		while (cut >= head && mor_journal_next(&reader, &line, NULL) == 1)
			expect_line(&line, &lines[found++]);
		assert_int_equal(found, whole ? whole - 1 : 0);
	}
}

static void opened(const char *text, int want, const char *words)
{
	struct mor_journal_reader reader;
	mortise_error err = { 0 };

	assert_int_equal(mor_journal_open(&reader, mor_slice_of(text), MINE, &err), want);
	if (!strstr(err.text, words))
		fail_msg("%s: \"%s\" lacks \"%s\"", text, err.text, words);
}

static void heads_that_are_refused(void **state)
{
	MOR_CLEAN(mor_buf) struct mor_buf other = MOR_BUF_INIT;
	uint64_t check;

	(void)state;
	opened("", 0, "");
	opened("mortise-index", 0, "");
	opened("m\n", MORTISE_EINPUT, "not a journal of mortise index");
	opened("something else\n", MORTISE_EINPUT, "not a journal of mortise index");
	opened("mortise-index 1 " MINE "\n", MORTISE_EINPUT, "from another version");
	opened("mortise-index 2 " MINE " 0000000000000000\n", MORTISE_EPROTO, "line 1 is damaged");
	opened("mortise-index 2 " MINE "\n", MORTISE_EPROTO, "line 1 is damaged");
	mor_journal_head(OTHER, &check, &other);
	mor_buf_byte(&other, '\0');
	opened(other.data, MORTISE_EINPUT, "other records or options");
}

/* A line by its own, with the sum that it should have. */
static int read_said(const char *said)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	struct mor_journal_reader reader;
	struct mor_journal_line line;
	mortise_error err = { 0 };
	uint64_t check;
	int r;

	mor_journal_head(MINE, &check, &text);
	mor_buf_printf(&text, "%016llx %s\n", (unsigned long long)mor_sum(said, strlen(said), check), said);
	assert_int_equal(mor_journal_open(&reader, mor_buf_view(&text), MINE, NULL), 1);
	r = mor_journal_next(&reader, &line, &err);
	assert_int_equal(mor_journal_left(&reader), r == 1 ? 0 : 1);
	if (r < 0)
		assert_string_equal(err.text, "line 2 is damaged");
	return r;
}

/* The sum alone does not make it a line: of a program that has gone wrong. */
static void lines_that_are_none(void **state)
{
	static const char *const bad[] = { "",
					   "done",
					   "done ",
					   "done 1",
					   "done 1 2",
					   "done x 2 3",
					   "done 1 2 g",
					   "done  1 2 3",
					   "done 1 2 3 4",
					   "failed 1 2 3",
					   "failed 1 2 3 x why",
					   "failed 1 2 3 32768 why",
					   "done 18446744073709551616 2 3",
					   "lost 1 2 3",
					   "done -1 2 3" };

	(void)state;
	assert_int_equal(read_said("done 1 2 3"), 1);
	assert_int_equal(read_said("failed 1 2 3 6 why it was"), 1);
	assert_int_equal(read_said("failed 1 2 3 6 "), 1);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		if (read_said(bad[i]) != MORTISE_EPROTO)
			fail_msg("\"%s\" is taken for a line", bad[i]);
}

/* Each line's sum goes on from the one before: one that is gone, twice there, or of another place, shows. */
static void lines_that_do_not_follow(void **state)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	MOR_CLEAN(mor_buf) struct mor_buf cut = MOR_BUF_INIT;
	struct mor_journal_reader reader;
	struct mor_journal_line line;
	mortise_error err = { 0 };
	const char *first, *second;

	(void)state;
	write_all(&text);
	mor_buf_byte(&text, '\0');
	first = strchr(text.data, '\n') + 1;
	second = strchr(first, '\n') + 1;
	mor_buf_append(&cut, text.data, (size_t)(first - text.data));
	mor_buf_text(&cut, second);
	assert_int_equal(mor_journal_open(&reader, mor_buf_view(&cut), MINE, NULL), 1);
	assert_int_equal(mor_journal_next(&reader, &line, &err), MORTISE_EPROTO);
	assert_string_equal(err.text, "line 2 is damaged");
	assert_int_equal(mor_journal_left(&reader), LINES - 1);
}

static void out_of_memory(void **state)
{
	(void)state;
	for (long n = 0; n < 3; n++) {
		MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
		struct mor_journal_reader reader;
		uint64_t check;

		mor_alloc_fail_after(n);
		mor_journal_head(MINE, &check, &text);
		mor_journal_add(&lines[2], &check, &text);
		mor_alloc_fail_after(-1);
		if (n == 0)
			assert_true(mor_buf_failed(&text));
		mor_alloc_fail_after(0);
		assert_int_equal(mor_journal_open(&reader, MOR_SLICE("mortise"), MINE, NULL), MORTISE_ENOMEM);
		mor_alloc_fail_after(-1);
	}
}

static void sums_of_pieces(void **state)
{
	char bytes[3000];
	struct mor_summer summer;
	uint64_t whole, flipped;

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(i * 7);
	mor_summer_begin(&summer);
	mor_summer_add(&summer, bytes, sizeof(bytes));
	whole = mor_summer_end(&summer);
	for (size_t piece = 1; piece < sizeof(bytes); piece += 97) {
		mor_summer_begin(&summer);
		for (size_t at = 0; at < sizeof(bytes); at += piece)
			mor_summer_add(&summer, bytes + at,
				       sizeof(bytes) - at < piece ? sizeof(bytes) - at : piece);
		assert_true(mor_summer_end(&summer) == whole);
	}
	assert_true(mor_sum(bytes, sizeof(bytes), 0) == whole);
	assert_true(mor_sum(bytes, sizeof(bytes), 1) != whole);
	bytes[1500] ^= 4;
	flipped = mor_sum(bytes, sizeof(bytes), 0);
	assert_true(flipped != whole);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(what_is_written_is_read),  MOR_TEST(cut_anywhere),
		MOR_TEST(heads_that_are_refused),   MOR_TEST(lines_that_are_none),
		MOR_TEST(lines_that_do_not_follow), MOR_TEST(out_of_memory),
		MOR_TEST(sums_of_pieces),
	};

	return mor_run_group("result/journal", tests);
}
