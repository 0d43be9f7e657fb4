/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/fd.h"
#include "depot/inside.h"
#include "depot/segment.h"
#include "part/lines.h"

#define UNPACK_PIECE ((size_t)128 << 10)
#define BACK_LIMIT   256 /* units that were tried again, and lie behind others */
#define UNITS_LIMIT  10000000u

/* The packed bytes, unpacked up to `at`. */
struct mor_segment_stream {
	struct depot_spare *spare; /* takes the unpacker back */
	struct mor_unpacker *unpacker;
	struct mor_unpack_place place;
	uint64_t at;
};

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

	if (segment->count >= limit || !mor_lines_number(text, ' ', &unit->at) ||
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

static int by_place(const void *a, const void *b)
{
	const struct mor_segment_unit *x = *(struct mor_segment_unit *const *)a;
	const struct mor_segment_unit *y = *(struct mor_segment_unit *const *)b;

	return (x->at > y->at) - (x->at < y->at);
}

/* Units in the order of the list: going back means unpacking from the start. */
static bool goes_back_often(const struct mor_segment *segment)
{
	uint64_t end = 0;
	size_t back = 0;

	for (size_t i = 0; i < segment->count; i++) {
		if (!segment->units[i].bytes)
			continue;
		back += segment->units[i].at < end;
		end = segment->units[i].at + segment->units[i].bytes;
	}
	return back > BACK_LIMIT;
}

/* The units are the whole stream, each byte once; it is packed if it has a byte. */
static bool check_places(const struct mor_segment *segment)
{
	MOR_CLEAN_TEXT char *memory = mor_alloc((segment->count + 1) * sizeof(struct mor_segment_unit *));
	struct mor_segment_unit **sorted = (void *)memory;
	uint64_t end = 0;

	if (!sorted)
		return false;
	for (size_t i = 0; i < segment->count; i++)
		sorted[i] = &segment->units[i];
	qsort(sorted, segment->count, sizeof(*sorted), by_place);
	for (size_t i = 0; i < segment->count; i++) {
		if (sorted[i]->at > segment->bytes || (sorted[i]->bytes && sorted[i]->at != end))
			return false;
		end += sorted[i]->bytes;
	}
	return !goes_back_often(segment) && (segment->bytes > 0) == (segment->stream->place.end > 0);
}

static int read_version(struct mor_segment *segment, struct mor_slice *text, mortise_error *err)
{
	uint32_t version = 0;

	*text = mor_slice_from(*text, strlen(MOR_SEGMENT_MAGIC));
	if (!mor_lines_u32(text, ' ', &version) ||
	    (version != MOR_SEGMENT_VERSION && version != MOR_SEGMENT_FOLDED))
		return mor_fail(err, MORTISE_EINPUT,
				"%s: a segment of another version of mortise: this one reads versions %d to %d",
				segment->path, MOR_SEGMENT_VERSION, MOR_SEGMENT_FOLDED);
	segment->stream->place.folded = version == MOR_SEGMENT_FOLDED;
	return 0;
}

static bool read_lines(struct mor_segment *segment, struct mor_slice text)
{
	struct mor_slice word;
	uint64_t count;

	if (!mor_lines_copy(&text, ' ', segment->key, sizeof(segment->key)) ||
	    !mor_digest_valid(segment->key) || !mor_lines_number(&text, '\n', &count) || count > UNITS_LIMIT ||
	    count > text.len / 8)
		return false;
	segment->units = mor_zalloc((size_t)(count + 1) * sizeof(*segment->units));
	if (!segment->units)
		return false;
	while (text.len) {
		if (!mor_lines_word(&text, ' ', &word))
			return false;
		if (mor_slice_is(word, "log") ?
			    !read_log(segment, &text) :
			    (!mor_slice_is(word, "done") && !mor_slice_is(word, "failed")) ||
				    !read_unit(segment, word.len == 6, (size_t)count, &text))
			return false;
	}
	return segment->count == count && check_places(segment);
}

static int new_stream(const struct mor_depot *depot, struct mor_segment_stream **ret, mortise_error *err)
{
	struct mor_segment_stream *stream = mor_zalloc(sizeof(*stream));

	if (!stream)
		return mor_fail_memory(err);
	stream->spare = depot->spare;
	stream->unpacker = mor_take(&depot->spare->unpacker);
	*ret = stream;
	return stream->unpacker ? 0 : mor_unpacker_new(&stream->unpacker, err);
}

static void free_stream(struct mor_segment_stream *stream)
{
	if (stream && !stream->spare->unpacker)
		stream->spare->unpacker = mor_take(&stream->unpacker);
	if (stream)
		mor_unpacker_free(stream->unpacker);
	mor_free(stream);
}

int mor_segment_open(const struct mor_depot *depot, const char *digest, struct mor_segment **ret,
		     mortise_error *err)
{
	struct mor_segment *segment = mor_zalloc(sizeof(*segment));
	struct mor_lines_place place = { .magic = MOR_SEGMENT_MAGIC, .none = "this is no segment" };
	struct mor_slice text = { 0 };
	struct stat st = { 0 };
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
	r = r ? r : new_stream(depot, &segment->stream, err);
	r = r ? r : mor_lines_read(&place, &segment->list, &text.len, &segment->stream->place.end, err);
	text.ptr = segment->list;
	r = r ? r : read_version(segment, &text, err);
	if (r == 0 && !read_lines(segment, text))
		r = mor_fail(err, MORTISE_EINPUT, "%s: the list at its end is damaged", segment->path);
	if (r < 0) {
		mor_segment_free(segment);
		return r;
	}
	segment->stream->place.fd = segment->fd;
	mor_unpacker_begin(segment->stream->unpacker, &segment->stream->place);
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
	free_stream(segment->stream);
	mor_free(segment->logs);
	mor_free(segment->list);
	return mor_free(segment);
}

/* ---- bytes ---- */

static ssize_t read_stream(struct mor_segment_stream *stream, void *buffer, size_t len, mortise_error *err)
{
	ssize_t n = mor_unpacker_read(stream->unpacker, buffer, len, err);

	stream->at += n > 0 ? (uint64_t)n : 0;
	return n == 0 ? mor_fail(err, MORTISE_EINPUT, "its frame is cut") : n;
}

/* To where the unit begins. Backwards means from the beginning: that is slow, and rare. */
static int find_unit(const struct mor_segment *segment, uint64_t at, mortise_error *err)
{
	struct mor_segment_stream *stream = segment->stream;
	char skipped[8192];
	ssize_t n = 0;

	if (stream->at > at) {
		mor_unpacker_begin(stream->unpacker, &stream->place);
		stream->at = 0;
	}
	while (n >= 0 && stream->at < at)
		n = read_stream(stream, skipped,
				at - stream->at < sizeof(skipped) ? (size_t)(at - stream->at) : sizeof(skipped),
				err);
	return n < 0 ? (int)n : 0;
}

/* The unit was read. Behind the last one nothing may follow: a small frame can hold any amount. */
static int check_unit(struct mor_segment_reading *reading)
{
	const struct mor_segment *segment = reading->segment;
	const struct mor_segment_unit *unit = &segment->units[reading->unit];
	ssize_t n = 0;
	char more = 0;

	if (unit->bytes && unit->at + unit->bytes == segment->bytes)
		n = mor_unpacker_read(segment->stream->unpacker, &more, 1, &reading->why);
	if (n > 0)
		n = mor_fail(&reading->why, MORTISE_EINPUT, "it is longer than its list says");
	if (n == 0 && !reading->unsummed && mor_summer_end(&reading->sum) != unit->sum)
		n = mor_fail(&reading->why, MORTISE_EINPUT, "its bytes are not those that its list promises");
	return (int)n;
}

void mor_segment_reading_begin(struct mor_segment_reading *reading, const struct mor_segment *segment,
			       size_t unit)
{
	*reading = (struct mor_segment_reading){ .segment = segment,
						 .unit = unit,
						 .left = segment->units[unit].bytes };
	mor_summer_begin(&reading->sum);
}

ssize_t mor_segment_read(void *arg, void *buffer, size_t len)
{
	struct mor_segment_reading *reading = arg;
	const struct mor_segment_unit *unit = &reading->segment->units[reading->unit];
	mortise_error why = { 0 };
	ssize_t n =
		reading->left ? find_unit(reading->segment, unit->at + (unit->bytes - reading->left), &why) : 0;

	if (n == 0 && reading->left)
		n = read_stream(reading->segment->stream, buffer,
				len < reading->left ? len : (size_t)reading->left, &why);
	if (n > 0) {
		if (!reading->unsummed)
			mor_summer_add(&reading->sum, buffer, (size_t)n);
		reading->left -= (uint64_t)n;
	} else if (n == 0) {
		n = check_unit(reading);
		why = reading->why;
	}
	if (n >= 0)
		return n;
	mor_fail(&reading->why, why.code, "%s: unit %zu: %s", reading->segment->path, reading->unit + 1,
		 why.text);
	return -EBADMSG;
}

int mor_segment_unpack(const struct mor_segment *segment, size_t number, mor_segment_sink_fn *sink, void *arg,
		       mortise_error *err)
{
	struct mor_segment_reading reading;
	MOR_CLEAN_TEXT char *piece = mor_alloc(UNPACK_PIECE);
	ssize_t n = 1;
	int r = piece ? 0 : mor_fail_memory(err);

	mor_segment_reading_begin(&reading, segment, number);
	while (r == 0 && n > 0) {
		n = mor_segment_read(&reading, piece, UNPACK_PIECE);
		r = n > 0 ? sink(piece, (size_t)n, arg) : 0;
	}
	if (n >= 0)
		return r;
	if (err)
		*err = reading.why;
	return reading.why.code;
}
