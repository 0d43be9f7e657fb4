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
	int r;

	mor_buf_consume(&records->buf, records->taken);
	records->taken = 0;
	r = mor_buf_reserve(&records->buf, STEP);
	if (r < 0)
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

static int too_long(const struct mor_records *records, uint64_t len, mortise_error *err)
{
	char shown[2][32];

	return mor_fail(err, MORTISE_ELIMIT,
			"record %" PRIu64 " at byte %" PRIu64 ": its %s are over the limit of %s",
			records->count + 1, records->offset, mor_format_bytes(len, shown[0]),
			mor_format_bytes(records->limit ? records->limit : MOR_ENTRY_LIMIT, shown[1]));
}

static int cut_short(const struct mor_records *records, mortise_error *err)
{
	return mor_fail(err, MORTISE_EINPUT,
			"record %" PRIu64 " at byte %" PRIu64 ": the stream ends inside it", records->count + 1,
			records->offset);
}

/* 1: taken; 0: more bytes are needed. */
static int try_delimited(struct mor_records *records, struct mor_slice *ret, mortise_error *err)
{
	struct mor_slice have = waiting(records);
	uint64_t len = 0;
	int head = have.len ? mor_pb_varint(have.ptr, have.len, &len) : 0;

	if (head < 0)
		return mor_fail(err, MORTISE_EINPUT,
				"record %" PRIu64 " at byte %" PRIu64 ": its length is not a varint",
				records->count + 1, records->offset);
	if (head == 0)
		return 0;
	if (len > (records->limit ? records->limit : MOR_ENTRY_LIMIT))
		return too_long(records, len, err);
	if (have.len - (size_t)head < len)
		return 0;
	take_record(records, (size_t)head, (size_t)len, 0, ret);
	return 1;
}

static bool is_blank(struct mor_slice line)
{
	for (size_t i = 0; i < line.len; i++)
		if (!strchr(" \t\r", line.ptr[i]) || !line.ptr[i])
			return false;
	return true;
}

/* The last line may have no newline. */
static int try_line(struct mor_records *records, struct mor_slice *ret, mortise_error *err)
{
	size_t limit = records->limit ? records->limit : MOR_ENTRY_LIMIT;

	for (;;) {
		struct mor_slice have = waiting(records);
		size_t unseen = have.len - records->scanned;
		const char *newline =
			have.ptr && unseen ? memchr(have.ptr + records->scanned, '\n', unseen) : NULL;
		size_t len = newline ? (size_t)(newline - have.ptr) : have.len;

		if (len > limit)
			return too_long(records, len, err);
		if (!newline && (!records->at_end || len == 0)) {
			records->scanned = len;
			return 0;
		}
		take_record(records, 0, len, newline != NULL, ret);
		if (!is_blank(*ret))
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
			return waiting(records).len ? cut_short(records, err) : 0;
		r = fill_records(records, err);
		if (r < 0)
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
