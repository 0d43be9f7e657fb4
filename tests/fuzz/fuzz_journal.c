/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The journal of a run. Byte 0 even: the rest is a text, of which only whole, good lines may be believed, and
 * what is believed would be written the same way. Odd: a journal is written from the rest, one byte of it
 * changed, and no line may be read that was not written.
 */
#include "fuzz.h"

#include <string.h>

#include "base/alloc.h"
#include "result/journal.h"

#define IDENTITY  "0123456789abcdef"
#define LINES_MAX 64

static void read_text(const uint8_t *data, size_t size)
{
	struct mor_journal_reader reader = { 0 };
	struct mor_buf again = MOR_BUF_INIT;
	struct mor_slice text = { (const char *)data, size };
	struct mor_journal_line line;
	mortise_error err = { 0 };
	uint64_t check = 0;
	int r = mor_journal_open(&reader, text, IDENTITY, &err);

	CHECK(r >= 0 || err.text[0]);
	if (r > 0)
		mor_journal_head(IDENTITY, &check, &again);
	while (r > 0 && (r = mor_journal_next(&reader, &line, &err)) > 0) {
		CHECK(!line.failed || !memchr(line.reason.ptr, '\n', line.reason.len));
		mor_journal_add(&line, &check, &again);
		CHECK(reader.at == again.len && reader.at <= size && reader.check == check);
		CHECK(memcmp(again.data, data, again.len) == 0);
	}
	CHECK(mor_journal_left(&reader) <= size);
	mor_buf_fini(&again);
}

/* Two bytes of the input make a line. */
static unsigned write_lines(const uint8_t *data, size_t size, struct mor_journal_line *lines,
			    struct mor_buf *out)
{
	unsigned count = 0;
	uint64_t check = 0, bytes = 0;

	mor_journal_head(IDENTITY, &check, out);
	for (; size >= 2 && count < LINES_MAX; data += 2, size -= 2, count++) {
		bytes += data[0];
		lines[count] = (struct mor_journal_line){ .unit = count,
							  .bytes = bytes,
							  .sum = data[1] * 0x9e3779b97f4a7c15u,
							  .failed = data[0] % 4 == 0 };
		if (lines[count].failed)
			lines[count].reason = MOR_SLICE("it crashed");
		mor_journal_add(&lines[count], &check, out);
	}
	return count;
}

static void change_one(const uint8_t *data, size_t size)
{
	struct mor_journal_line lines[LINES_MAX], line;
	struct mor_buf text = MOR_BUF_INIT;
	struct mor_journal_reader reader = { 0 };
	unsigned count, seen = 0;
	int r;

	if (size < 3)
		return;
	count = write_lines(data + 3, size - 3, lines, &text);
	CHECK(!mor_buf_failed(&text));
	text.data[(data[0] << 8 | data[1]) % text.len] ^= (char)data[2];
	r = mor_journal_open(&reader, mor_buf_view(&text), IDENTITY, NULL);
	while (r > 0 && (r = mor_journal_next(&reader, &line, NULL)) > 0) {
		const struct mor_journal_line *wrote = &lines[seen++];

		CHECK(seen <= count && line.failed == wrote->failed && line.unit == wrote->unit &&
		      line.bytes == wrote->bytes && line.sum == wrote->sum &&
		      mor_slice_eq(line.reason, wrote->reason));
	}
	CHECK(data[2] ? seen < count || count == 0 : seen == count);
	mor_buf_fini(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	if (data[0] % 2)
		change_one(data + 1, size - 1);
	else
		read_text(data + 1, size - 1);
	return 0;
}
