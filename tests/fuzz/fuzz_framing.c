/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stream read at once, byte by byte and in odd pieces must be told the same. Byte 0 of the input picks the
 * framing and the flags, byte 1 the limit, byte 2 seeds the pieces; the rest is the stream.
 */
#include "fuzz.h"

#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "wire/framing.h"

struct setup {
	enum mor_framing framing;
	unsigned flags, reads;
	size_t limit;
	uint32_t seed; /* 0: at once; 1: byte by byte; else odd pieces */
};

/* What is compared. Skipped bytes are summed up: how they are cut depends on the pieces. After CORRUPT the rest
 * depends on them too, so only its place and reason count. */
struct told {
	enum mor_item_kind kind;
	size_t at, used, body_at, body_len;
	uint64_t size;
	const char *why;
};

static void tell(struct mor_buf *story, enum mor_item_kind kind, const struct mor_item *item,
		 const char *window, size_t at)
{
	/* memset: the padding is compared as well. */
	struct told told, *last = story->len ? (struct told *)(void *)(story->data + story->len) - 1 : NULL;

	if (kind == MOR_ITEM_SKIP && last && last->kind == MOR_ITEM_SKIP) {
		last->used += item->used;
		return;
	}
	memset(&told, 0, sizeof(told));
	told.kind = kind;
	told.at = at;
	if (kind != MOR_ITEM_CORRUPT) {
		told.used = item->used;
		told.body_at = item->body.ptr ? at + (size_t)(item->body.ptr - window) : 0;
		told.body_len = item->body.len;
	}
	told.size = item->size;
	told.why = item->why;
	CHECK(mor_buf_append(story, &told, sizeof(told)) == 0);
}

/* mor_deframe() has a short cut, which must not change what is said or remembered. */
static enum mor_item_kind deframe(struct mor_deframer *d, const char *window, size_t len, bool at_eof,
				  struct mor_item *item)
{
	struct mor_deframer other = *d;
	struct mor_item said;
	enum mor_item_kind kind = mor_deframe_any(&other, window, len, at_eof, &said);

	CHECK(mor_deframe(d, window, len, at_eof, item) == kind);
	CHECK(memcmp(d, &other, sizeof(other)) == 0);
	CHECK(memcmp(item, &said, sizeof(said)) == 0);
	return kind;
}

static void check_frame(enum mor_framing framing, struct mor_slice body)
{
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;
	struct mor_deframer d;
	struct mor_item item;

	/* A blank at the end of a line that looks like a part of the line's end. */
	if (framing == MOR_FRAMING_LINES)
		while (body.ptr[body.len - 1] == '\r')
			body.len--;
	CHECK(mor_enframe(framing, body, &out) == 0);
	mor_deframer_init(&d, framing, 0, MOR_DEFRAME_STRICT);
	CHECK(deframe(&d, out.data, out.len, false, &item) == MOR_ITEM_FRAME);
	CHECK(item.used == out.len && mor_slice_eq(item.body, body));
}

/* Everything the window at `start` gives. Returns where the next window begins, SIZE_MAX after CORRUPT. */
static size_t read_window(struct mor_deframer *d, const struct setup *setup, const char *stream, size_t start,
			  size_t end, bool at_eof, struct mor_buf *story)
{
	for (;;) {
		size_t len = end - start;
		struct mor_item item;
		enum mor_item_kind kind = deframe(d, stream + start, len, at_eof, &item);

		if (kind == MOR_ITEM_MORE) {
			CHECK(!at_eof || len == 0);
			CHECK(item.want == 0 || item.want > len);
			CHECK(d->scanned <= len);
			return start;
		}
		CHECK(item.used > 0 && item.used <= len && d->scanned == 0);
		CHECK(!item.body.ptr ||
		      (item.body.ptr >= stream + start && item.body.ptr + item.body.len <= stream + end));
		CHECK(kind != MOR_ITEM_FRAME || !setup->limit || item.body.len <= setup->limit);
		CHECK(kind != MOR_ITEM_NOISE || !(setup->flags & MOR_DEFRAME_STRICT));
		if (kind == MOR_ITEM_FRAME && setup->seed == 0 && !setup->reads &&
		    !(setup->flags & MOR_DEFRAME_EOF_ENDS))
			check_frame(setup->framing, item.body);
		tell(story, kind, &item, stream + start, start);
		if (kind == MOR_ITEM_CORRUPT)
			return SIZE_MAX;
		start += item.used;
	}
}

static size_t next_piece(uint32_t *seed, size_t left)
{
	size_t step;

	if (*seed == 0)
		return left;
	/* Byte by byte costs the square of an unfinished frame: long streams go in larger odd pieces. */
	if (*seed == 1)
		return left < 2000 || left % 37 == 0 ? 1 : left % 37;
	*seed = *seed * 1664525 + 1013904223;
	step = 1 + (*seed >> 16) % ((*seed >> 8) % 4 ? 7 : 300);
	return step < left ? step : left;
}

static void read_stream(const struct setup *setup, const char *stream, size_t len, struct mor_buf *story)
{
	struct mor_deframer d;
	size_t start = 0, end = 0;
	uint32_t seed = setup->seed;

	mor_deframer_init(&d, setup->framing, setup->limit, setup->flags);
	d.reads = setup->reads;
	while (end < len && start != SIZE_MAX) {
		end += next_piece(&seed, len - end);
		start = read_window(&d, setup, stream, start, end, false, story);
	}
	if (start != SIZE_MAX)
		start = read_window(&d, setup, stream, start, end, true, story);
	CHECK(start == SIZE_MAX || start == len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const size_t limits[] = { 0, 1, 4, 17, 100, 70000 };
	static const unsigned reads[] = { 0, 1 << MOR_FRAMING_LINES, 1 << MOR_FRAMING_HEADERS, 15 };
	MOR_CLEAN(mor_buf) struct mor_buf at_once = MOR_BUF_INIT;
	struct setup setup;

	if (size < 3)
		return 0;
	setup = (struct setup){ data[0] % MOR_FRAMINGS, data[0] >> 2 & 7, reads[data[0] >> 5 & 3],
				limits[data[1] % 6], 0 };
	read_stream(&setup, (const char *)data + 3, size - 3, &at_once);
	for (uint32_t seed = 1; seed < 4; seed++) {
		MOR_CLEAN(mor_buf) struct mor_buf story = MOR_BUF_INIT;

		setup.seed = seed == 1 ? 1 : seed * 256 + data[2];
		read_stream(&setup, (const char *)data + 3, size - 3, &story);
		CHECK(mor_slice_eq(mor_buf_view(&story), mor_buf_view(&at_once)));
	}
	return 0;
}
