/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/fd.h"
#include "depot/pack.h"
#include "depot/segment.h"
#include "part/lines.h"

#define FRAME_PIECE ((size_t)128 << 10)
#define UNITS_LIMIT 10000000u

static bool is_word(struct mor_slice word, const char *text)
{
	return word.len == strlen(text) && memcmp(word.ptr, text, word.len) == 0;
}

static bool read_failed(struct mor_slice *text, struct mor_segment_unit *unit)
{
	uint32_t code;

	if (!mor_lines_u32(text, ' ', &code) || code == 0 || code > INT16_MAX ||
	    !mor_lines_u32(text, ' ', &unit->attempts) || !mor_lines_word(text, '\t', &unit->name) ||
	    !mor_lines_word(text, '\n', &unit->why))
		return false;
	unit->code = -(int)code;
	return true;
}

static bool read_unit(struct mor_segment *segment, bool failed, size_t limit, struct mor_slice *text)
{
	struct mor_segment_unit *unit = &segment->units[segment->count];

	if (segment->count >= limit || !mor_lines_number(text, ' ', &unit->packed) ||
	    !mor_lines_number(text, ' ', &unit->bytes) || !mor_lines_hex(text, ' ', &unit->sum))
		return false;
	segment->count++;
	if (__builtin_add_overflow(segment->bytes, unit->bytes, &segment->bytes))
		return false;
	if (failed)
		return read_failed(text, unit);
	return mor_lines_number(text, ' ', &unit->records) && mor_lines_u32(text, '\n', &unit->attempts);
}

static bool read_log(struct mor_segment *segment, struct mor_slice *text)
{
	struct mor_segment_log log;
	uint64_t unit;

	if (!mor_lines_number(text, ' ', &unit) || !mor_lines_word(text, '\n', &log.text) ||
	    unit >= segment->count ||
	    mor_grow(&segment->logs, segment->log_count, &segment->log_cap, sizeof(log)) < 0)
		return false;
	log.unit = (size_t)unit;
	segment->logs[segment->log_count++] = log;
	return true;
}

static bool read_lines(struct mor_segment *segment, struct mor_slice text, uint64_t data)
{
	struct mor_slice word;
	uint64_t count, place = 0;

	text = (struct mor_slice){ text.ptr + strlen(MOR_SEGMENT_MAGIC), text.len - strlen(MOR_SEGMENT_MAGIC) };
	if (!mor_lines_copy(&text, ' ', segment->key, sizeof(segment->key)) ||
	    !mor_digest_valid(segment->key) || !mor_lines_number(&text, '\n', &count) || count > UNITS_LIMIT ||
	    count > text.len / 8)
		return false;
	segment->units = mor_zalloc((size_t)(count + 1) * sizeof(*segment->units));
	segment->places = mor_zalloc((size_t)(count + 1) * sizeof(*segment->places));
	if (!segment->units || !segment->places)
		return false;
	while (text.len) {
		if (!mor_lines_word(&text, ' ', &word))
			return false;
		if (is_word(word, "log") ? !read_log(segment, &text) :
					   (!is_word(word, "done") && !is_word(word, "failed")) ||
						   !read_unit(segment, word.len == 6, (size_t)count, &text))
			return false;
	}
	for (size_t i = 0; i < segment->count; i++) {
		segment->places[i] = place;
		if (__builtin_add_overflow(place, segment->units[i].packed, &place))
			return false;
	}
	return segment->count == count && place == data;
}

int mor_segment_open(const struct mor_depot *depot, const char *digest, struct mor_segment **ret,
		     mortise_error *err)
{
	struct mor_segment *segment = mor_zalloc(sizeof(*segment));
	struct mor_lines_place place = { .magic = MOR_SEGMENT_MAGIC, .none = "this is no segment" };
	struct mor_slice text = { 0 };
	struct stat st = { 0 };
	uint64_t data = 0;
	int r;

	if (!segment)
		return mor_fail_memory(err);
	segment->fd = mor_depot_open_file(depot, MOR_DEPOT_SEGMENT, digest, err);
	segment->path = segment->fd < 0 ? NULL : mor_depot_name(depot, MOR_DEPOT_SEGMENT, digest);
	r = segment->fd < 0 ? segment->fd : segment->path ? 0 : mor_fail_memory(err);
	if (r == 0 && fstat(segment->fd, &st) < 0)
		r = mor_fail_errno(err, MORTISE_EINPUT, errno, "%s", segment->path);
	place.fd = segment->fd;
	place.path = segment->path;
	place.size = (uint64_t)st.st_size;
	if (r == 0)
		r = mor_lines_read(&place, &segment->list, &text.len, &data, err);
	text.ptr = segment->list;
	if (r == 0 && !read_lines(segment, text, data))
		r = mor_fail(err, MORTISE_EINPUT, "%s: the list at its end is damaged", segment->path);
	if (r < 0) {
		mor_segment_free(segment);
		return r;
	}
	*ret = segment;
	return 0;
}

struct mor_segment *mor_segment_free(struct mor_segment *segment)
{
	if (!segment)
		return NULL;
	mor_fd_close(&segment->fd);
	mor_free(segment->path);
	mor_free(segment->units);
	mor_free(segment->places);
	mor_free(segment->logs);
	mor_free(segment->list);
	mor_free(segment);
	return NULL;
}

/* ---- bytes ---- */

/* What comes out of a frame, counted and summed on its way. A frame that says more than its list is stopped
 * there: a small one can hold any amount. */
struct frame_reading {
	const struct mor_segment_unit *unit;
	struct mor_summer sum;
	uint64_t bytes;
	mor_segment_sink_fn *sink;
	void *arg;
};

static int put_piece(const void *bytes, size_t len, void *arg, mortise_error *err)
{
	struct frame_reading *x = arg;

	if (len > x->unit->bytes - x->bytes)
		return mor_fail(err, MORTISE_EINPUT, "it is longer than its list says");
	x->bytes += len;
	mor_summer_add(&x->sum, bytes, len);
	return x->sink(bytes, len, x->arg);
}

static int unpack_frame(const struct mor_segment *segment, size_t number, struct frame_reading *x,
			mortise_error *err)
{
	struct mor_pack_sink sink = { put_piece, x };
	MOR_CLEAN_TEXT char *piece = mor_alloc(FRAME_PIECE);
	struct mor_unpacker *unpacker = NULL;
	uint64_t at = segment->places[number], end = at + x->unit->packed;
	int r = piece ? mor_unpacker_new(&unpacker, err) : mor_fail_memory(err);

	while (r == 0 && at < end) {
		ssize_t n = pread(segment->fd, piece, end - at < FRAME_PIECE ? (size_t)(end - at) : FRAME_PIECE,
				  (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			r = mor_fail_errno(err, MORTISE_EINPUT, n < 0 ? errno : EIO, "reading it");
			break;
		}
		at += (uint64_t)n;
		r = mor_unpacker_add(unpacker, piece, (size_t)n, &sink, err);
		if (r > 0 && at < end)
			r = mor_fail(err, MORTISE_EINPUT, "zstd: bytes behind the end of a frame");
	}
	mor_unpacker_free(unpacker);
	return r == 0 && x->unit->packed ? mor_fail(err, MORTISE_EINPUT, "its frame is cut") : r < 0 ? r : 0;
}

int mor_segment_unpack(const struct mor_segment *segment, size_t number, mor_segment_sink_fn *sink, void *arg,
		       mortise_error *err)
{
	struct frame_reading x = { .unit = &segment->units[number], .sink = sink, .arg = arg };
	mortise_error why = { 0 };
	int r;

	mor_summer_begin(&x.sum);
	r = unpack_frame(segment, number, &x, &why);
	if (r == 0 && (x.bytes != x.unit->bytes || mor_summer_end(&x.sum) != x.unit->sum))
		r = mor_fail(&why, MORTISE_EINPUT, "its bytes are not those that its list promises");
	if (r < 0 && why.code)
		mor_fail(err, why.code, "%s: unit %zu: %s", segment->path, number + 1, why.text);
	return r;
}
