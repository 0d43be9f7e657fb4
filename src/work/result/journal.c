/* SPDX-License-Identifier: Apache-2.0 */
#include "result/journal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/sum.h"

#define NAME       "mortise-index "
#define VERSION    "2 "
#define HEX        16 /* digits of a sum */
#define SUM_FORMAT "%016" PRIx64

/* ---- writing ---- */

void mor_journal_head(const char *identity, uint64_t *check, struct mor_buf *out)
{
	size_t start = out->len;

	mor_buf_printf(out, NAME VERSION "%.*s ", MOR_DIGEST_HEX, identity);
	*check = mor_buf_failed(out) ? 0 : mor_sum(out->data + start, out->len - start, 0);
	mor_buf_printf(out, SUM_FORMAT "\n", *check);
}

void mor_journal_add(const struct mor_journal_line *line, uint64_t *check, struct mor_buf *out)
{
	MOR_CLEAN(mor_buf) struct mor_buf said = MOR_BUF_INIT;

	mor_buf_printf(&said, "%s %" PRIu64 " %" PRIu64 " " SUM_FORMAT, line->failed ? "failed" : "done",
		       line->unit, line->bytes, line->sum);
	if (line->failed) {
		mor_buf_printf(&said, " %d ", -line->code);
		mor_buf_slice(&said, line->reason);
	}
	*check = mor_sum(said.data, said.len, *check);
	mor_buf_printf(out, SUM_FORMAT " ", *check);
	mor_buf_slice(out, mor_buf_view(&said));
	mor_buf_byte(out, '\n');
	if (mor_buf_failed(&said))
		out->status = said.status;
}

/* ---- reading ---- */

/* Digits up to the end of the field, which is a blank or the end of the line. The field is removed. */
static bool take_number(struct mor_slice *rest, unsigned base, uint64_t *ret)
{
	struct mor_slice field = mor_slice_cut(rest, ' ');
	uint64_t number = 0;

	for (size_t i = 0; i < field.len; i++) {
		unsigned char c = (unsigned char)field.ptr[i];
		unsigned digit = c >= '0' && c <= '9' ? c - (unsigned)'0' :
				 c >= 'a' && c <= 'f' ? c - (unsigned)'a' + 10 :
							99;

		if (digit >= base || number > (UINT64_MAX - digit) / base)
			return false;
		number = number * base + digit;
	}
	*ret = number;
	return field.len > 0;
}

/* The next line, without its newline. */
static bool take_line(struct mor_slice text, size_t at, struct mor_slice *ret)
{
	const char *from = text.ptr + at, *newline = text.len > at ? memchr(from, '\n', text.len - at) : NULL;

	*ret = (struct mor_slice){ from, newline ? (size_t)(newline - from) : 0 };
	return newline != NULL;
}

/* The first line holds its own checksum. A run that was killed at its start has written only the beginning
 * of it. */
static int judge_head(struct mor_slice text, struct mor_slice want, mortise_error *err)
{
	size_t name = strlen(NAME), version = name + strlen(VERSION);
	struct mor_slice line;

	if (text.len < want.len && memcmp(text.ptr, want.ptr, text.len) == 0)
		return 0;
	if (text.len >= want.len && memcmp(text.ptr, want.ptr, want.len) == 0)
		return 1;
	if (text.len < name || memcmp(text.ptr, NAME, name) != 0)
		return mor_fail(err, MORTISE_EINPUT,
				"this is not a journal of mortise index: run it again without --resume");
	if (text.len < version || memcmp(text.ptr, NAME VERSION, version) != 0)
		return mor_fail(err, MORTISE_EINPUT,
				"it comes from another version of mortise, and this one cannot continue it: "
				"run it again without --resume");
	/* Its checksum is right, so it belongs to another run. */
	if (take_line(text, 0, &line) && line.len == want.len - 1) {
		struct mor_slice sum = { line.ptr + line.len - HEX, HEX };
		uint64_t check;

		if (take_number(&sum, 16, &check) && check == mor_sum(line.ptr, line.len - HEX, 0))
			return mor_fail(err, MORTISE_EINPUT,
					"it comes from a run with other records or options: run it again "
					"without --resume");
	}
	return mor_fail(err, MORTISE_EPROTO, "line 1 is damaged");
}

int mor_journal_open(struct mor_journal_reader *reader, struct mor_slice text, const char *identity,
		     mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf head = MOR_BUF_INIT;
	uint64_t check;
	int r;

	*reader = (struct mor_journal_reader){ .text = text };
	if (text.len == 0)
		return 0;
	mor_journal_head(identity, &check, &head);
	if (mor_buf_failed(&head))
		return mor_fail_memory(err);
	r = judge_head(text, mor_buf_view(&head), err);
	if (r <= 0)
		return r;
	reader->at = head.len;
	reader->check = check;
	reader->number = 1;
	return 1;
}

/* "done 12 3456 sum" or "failed 12 3456 sum 6 why". */
static bool read_said(struct mor_slice said, struct mor_journal_line *ret)
{
	bool done = said.len > 5 && memcmp(said.ptr, "done ", 5) == 0;
	size_t word = done ? 5 : 7;
	uint64_t code;

	*ret = (struct mor_journal_line){ .failed = !done };
	if (!done && (said.len <= 7 || memcmp(said.ptr, "failed ", 7) != 0))
		return false;
	said = (struct mor_slice){ said.ptr + word, said.len - word };
	if (!take_number(&said, 10, &ret->unit) || !take_number(&said, 10, &ret->bytes) ||
	    !take_number(&said, 16, &ret->sum))
		return false;
	if (done)
		return said.len == 0;
	if (!take_number(&said, 10, &code) || code > INT16_MAX)
		return false;
	ret->code = -(int)code;
	ret->reason = said;
	return true;
}

int mor_journal_next(struct mor_journal_reader *reader, struct mor_journal_line *ret, mortise_error *err)
{
	struct mor_slice line, said;
	uint64_t check;

	if (!take_line(reader->text, reader->at, &line))
		return 0;
	reader->number++;
	said = line;
	if (!take_number(&said, 16, &check) || said.ptr - line.ptr != HEX + 1 ||
	    check != mor_sum(said.ptr, said.len, reader->check) || !read_said(said, ret))
		return mor_fail(err, MORTISE_EPROTO, "line %u is damaged", reader->number);
	reader->at = (size_t)(line.ptr + line.len + 1 - reader->text.ptr);
	reader->check = check;
	return 1;
}

size_t mor_journal_left(const struct mor_journal_reader *reader)
{
	struct mor_slice line;
	size_t count = 0;

	for (size_t at = reader->at; take_line(reader->text, at, &line); at += line.len + 1)
		count++;
	return count;
}
