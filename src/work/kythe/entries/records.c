/* SPDX-License-Identifier: Apache-2.0 */
/* Records from a byte stream: one buffer, filled in large steps, used from the front. */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text.h"
#include "kythe/entries/entries.h"
#include "pb/pb.h"

#define STEP ((size_t)256 << 10)

void mor_records_fini(struct mor_records *records)
{
	mor_buf_fini(&records->buf);
}

static struct mor_slice waiting(const struct mor_records *records)
{
	const char *data = records->buf.data; /* NULL before the first read */

	return (struct mor_slice){ data ? data + records->taken : NULL, records->buf.len - records->taken };
}

/* One more read. 0 also at the end; then at_end is set. */
static int fill_records(struct mor_records *records, mortise_error *err)
{
	ssize_t n;

	mor_buf_consume(&records->buf, records->taken);
	records->taken = 0;
	if (mor_buf_reserve(&records->buf, STEP) < 0)
		return mor_fail_memory(err);
	n = records->read(records->arg, records->buf.data + records->buf.len,
			  records->buf.cap - records->buf.len);
	if (n < 0)
		return mor_fail_errno(err, MORTISE_ESYSTEM, (int)-n, "reading entries");
	records->buf.len += (size_t)n;
	records->at_end = n == 0;
	return 0;
}

static void take_record(struct mor_records *records, size_t head, size_t len, size_t tail,
			struct mor_slice *ret)
{
	*ret = (struct mor_slice){ records->buf.data + records->taken + head, len };
	records->taken += head + len + tail;
	records->offset += head + len + tail;
	records->scanned = 0;
	records->count++;
}

static size_t limit_of(const struct mor_records *records)
{
	return records->limit ? records->limit : MOR_ENTRY_LIMIT;
}

static int too_long(const struct mor_records *records, uint64_t len, mortise_error *err)
{
	char shown[2][32];

	return mor_fail(err, MORTISE_ELIMIT,
			"record %" PRIu64 " at byte %" PRIu64 ": its %s are over the limit of %s",
			records->count + 1, records->offset, mor_format_bytes(len, shown[0]),
			mor_format_bytes(limit_of(records), shown[1]));
}

static int refuse_record(const struct mor_records *records, const char *why, mortise_error *err)
{
	return mor_fail(err, MORTISE_EINPUT, "record %" PRIu64 " at byte %" PRIu64 ": %s", records->count + 1,
			records->offset, why);
}

/* 1: taken; 0: more bytes are needed. */
static int try_delimited(struct mor_records *records, struct mor_slice *ret, mortise_error *err)
{
	struct mor_slice have = waiting(records);
	uint64_t len = 0;
	int head = have.len ? mor_pb_varint(have.ptr, have.len, &len) : 0;

	if (head < 0)
		return refuse_record(records, "its length is not a varint", err);
	if (head == 0)
		return 0;
	if (len > limit_of(records))
		return too_long(records, len, err);
	if (have.len - (size_t)head < len)
		return 0;
	take_record(records, (size_t)head, (size_t)len, 0, ret);
	return 1;
}

/* The last line may have no newline. */
static int try_line(struct mor_records *records, struct mor_slice *ret, mortise_error *err)
{
	for (;;) {
		struct mor_slice have = waiting(records);
		size_t unseen = have.len - records->scanned;
		const char *newline =
			have.ptr && unseen ? memchr(have.ptr + records->scanned, '\n', unseen) : NULL;
		size_t len = newline ? (size_t)(newline - have.ptr) : have.len;

		if (len > limit_of(records))
			return too_long(records, len, err);
		if (!newline && (!records->at_end || len == 0)) {
			records->scanned = len;
			return 0;
		}
		take_record(records, 0, len, newline != NULL, ret);
		if (mor_slice_trim(*ret, " \t\r").len)
			return 1;
		records->count--;
	}
}

int mor_records_next(struct mor_records *records, struct mor_slice *ret, mortise_error *err)
{
	for (;;) {
		int r = records->format == MOR_STREAM_LINES ? try_line(records, ret, err) :
							      try_delimited(records, ret, err);

		if (r != 0)
			return r;
		if (records->at_end)
			return waiting(records).len ? refuse_record(records, "the stream ends inside it", err) :
						      0;
		if ((r = fill_records(records, err)) < 0)
			return r;
	}
}

bool mor_records_drop(struct mor_records *records, mor_records_judge_fn *judge)
{
	struct mor_slice have = waiting(records);
	size_t len = have.len ? judge(have, &records->count) : 0;

	records->taken += len;
	records->offset += len;
	return len > 0;
}
