/* SPDX-License-Identifier: Apache-2.0 */
/* The results of units: read, checked, and kept in order. The files of output and journal are in files.c. */
#include "result/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"

#define BUFFER_KEPT ((size_t)4 << 20)
#define PIECE       ((size_t)256 << 10)
/* How much of the output stays in the page cache. More would push out what the analyzers read again and
 * again. And on a virtual machine whose host takes back free memory, new pages cost ten times as much as
 * writing them. */
#define CACHED     ((uint64_t)16 << 20)
#define RESERVED   ((uint64_t)32 << 20)
#define LARGE_UNIT ((size_t)1 << 20)

enum mor_result_end mor_result_state(const struct mor_result *result, size_t unit, const char **ret_reason)
{
	*ret_reason = result->units[unit].reason;
	return result->units[unit].state;
}

int mor_result_code(const struct mor_result *result, size_t unit)
{
	return result->units[unit].code;
}

bool mor_result_empty(const struct mor_result *result, size_t unit)
{
	return result->units[unit].empty;
}

void mor_result_bytes(const struct mor_result *result, size_t unit, uint64_t *ret_bytes, uint64_t *ret_sum)
{
	*ret_bytes = result->units[unit].bytes;
	*ret_sum = result->units[unit].sum;
}

struct mor_result_stats mor_result_stats(const struct mor_result *result)
{
	struct mor_result_stats stats = result->stats;

	stats.bytes = result->bytes;
	return stats;
}

const char *mor_result_damage(const struct mor_result *result)
{
	return result->damage.code ? result->damage.text : NULL;
}

/* ---- bytes ---- */

/* Where checked bytes go, and their number. */
struct sink {
	struct mor_fd_source source;
	const struct mor_result_output *from;
	const struct mor_result_taker *taker; /* instead of fd; NULL: none */
	struct mor_buf *held;                 /* the same */
	int fd;
	uint64_t start; /* where the unit begins in the file */
	bool cached;    /* it will be read again */
	struct mor_summer sum;
	uint64_t bytes;
	int error; /* an error of writing, which is not the unit's fault */
};

static int put_file(int fd, uint64_t at, const void *bytes, size_t len)
{
	return at < CACHED ? mor_fd_write_all(fd, bytes, len) : mor_fd_write_uncached(fd, at, bytes, len);
}

static int put_bytes(const void *bytes, size_t len, void *arg)
{
	struct sink *sink = arg;
	int r = sink->taker  ? sink->taker->put(bytes, len, sink->taker->arg) :
		sink->held   ? mor_buf_append(sink->held, bytes, len) < 0 ? -ENOMEM : 0 :
		sink->cached ? mor_fd_write_all(sink->fd, bytes, len) :
			       put_file(sink->fd, sink->start + sink->bytes, bytes, len);

	mor_summer_add(&sink->sum, bytes, len); /* while the bytes are in memory */
	sink->bytes += r < 0 ? 0 : len;
	sink->error = r;
	return r < 0 ? MORTISE_ESYSTEM : 0;
}

static ssize_t read_source(void *arg, void *buffer, size_t len)
{
	struct sink *sink = arg;
	ssize_t n;

	if (!sink->from->read)
		return mor_fd_read_source(&sink->source, buffer, len);
	n = sink->from->read(sink->from->read_arg, buffer, len);
	sink->source.at += n > 0 ? (uint64_t)n : 0;
	return n;
}

/* Bytes are written on unchanged and checked at the same time. Pieces end at round file offsets: then the
 * kernel keeps each in whole pages. */
static ssize_t read_and_put(void *arg, void *buffer, size_t len)
{
	struct sink *sink = arg;
	size_t room = PIECE - (size_t)((sink->start + sink->bytes) % PIECE);
	ssize_t n = read_source(sink, buffer, len < room ? len : room);

	if (n > 0 && put_bytes(buffer, (size_t)n, sink) < 0)
		return sink->error;
	return n;
}

/* As it is: nobody knows what it should be. */
static int pour(struct mor_result *result, struct mor_result_output *output, struct sink *sink,
		mortise_error *err)
{
	ssize_t n = 1;

	if (mor_buf_reserve(&result->buffer, PIECE) < 0)
		return mor_fail_memory(err);
	while (n > 0)
		n = read_and_put(sink, result->buffer.data, PIECE);
	if (sink->error)
		return mor_fail_errno(err, MORTISE_ESYSTEM, -sink->error, "writing the result");
	if (n < 0 || sink->source.at != output->size)
		return mor_fail(err, MORTISE_EINPUT, "the output became shorter");
	return 0;
}

/* Or is it converted? */
static bool stays_as_it_is(const struct mor_result *result, const struct mor_result_output *output)
{
	const struct mor_result_check *check = result->opt.check;

	return !check || check->kept == MOR_RESULT_ANY_FORM || check->kept == output->form;
}

static int transfer(struct mor_result *result, struct mor_result_output *output, struct sink *sink,
		    mortise_error *err)
{
	struct mor_result_pass pass = { .read = read_source,
					.copy = read_and_put,
					.put = put_bytes,
					.arg = sink,
					.form = output->form,
					.buffer = result->buffer };
	int r;

	sink->cached = sink->cached || !stays_as_it_is(result, output); /* in small pieces */
	r = result->opt.check->pass(&pass, err);
	output->records = pass.records;
	result->buffer = pass.buffer;
	mor_buf_reset(&result->buffer, BUFFER_KEPT);
	if (sink->error)
		return mor_fail_errno(err, MORTISE_ESYSTEM, -sink->error, "writing the result");
	if (r == 0 && sink->source.at != output->size)
		return mor_fail(err, MORTISE_EINPUT, "the output became shorter");
	return r;
}

static int open_spool(struct mor_result *result, mortise_error *err)
{
	if (result->spool < 0)
		result->spool = mor_fd_unnamed(result->opt.spool_dir);
	return result->spool < 0 ?
		       mor_fail_errno(err, MORTISE_ESYSTEM, -result->spool, "%s", result->opt.spool_dir) :
		       0;
}

/* Cuts the file to its old length. */
static int take_back(int fd, uint64_t size, mortise_error *err)
{
	if (ftruncate(fd, (off_t)size) < 0 || lseek(fd, (off_t)size, SEEK_SET) < 0)
		return mor_fail_errno(err, MORTISE_ESYSTEM, errno, "taking back a part of the result");
	return 0;
}

/* Bytes that are flushed at once also need disk space at once. Reserving large pieces costs less. If
 * reserving fails, nothing is lost: a full disk will be reported when writing fails. */
static void reserve(struct mor_result *result, uint64_t until)
{
	uint64_t from = result->reserved > result->bytes ? result->reserved : result->bytes;

	if (until < CACHED || until <= result->reserved)
		return;
	result->reserved = from + RESERVED; /* not more, even if the unit claims more: it may be false */
	(void)fallocate(result->out, FALLOC_FL_KEEP_SIZE, (off_t)from, (off_t)RESERVED);
}

/* ---- units that wait in memory ---- */

static void release_held(struct mor_result *result, struct mor_buf *held)
{
	if (held->cap > result->spare.cap) {
		mor_buf_fini(&result->spare);
		result->spare = *held;
	} else {
		mor_buf_fini(held);
	}
	*held = (struct mor_buf)MOR_BUF_INIT;
}

/* Is there memory for it, within the limit? Large ones get a block with large pages, of which only what is used
 * becomes memory. */
static bool may_hold(struct mor_result *result, const struct mor_result_output *output, struct mor_buf *ret)
{
	size_t size = (size_t)output->size;

	if (!stays_as_it_is(result, output) || output->size > result->opt.hold ||
	    result->held > result->opt.hold - output->size)
		return false;
	if (result->spare.cap >= size) {
		*ret = result->spare;
		result->spare = (struct mor_buf)MOR_BUF_INIT;
		mor_buf_reset(ret, SIZE_MAX);
	}
	if (mor_buf_reserve(ret, size >= LARGE_UNIT && size < MOR_BUF_MAPPED ? MOR_BUF_MAPPED : size) == 0)
		return true;
	mor_buf_fini(ret);
	return false;
}

static int write_held(struct mor_result *result, struct ended *unit, mortise_error *err)
{
	struct mor_slice left = mor_buf_view(&unit->held);
	int r = 0;

	if (result->journal >= 0)
		reserve(result, result->bytes + left.len);
	result->held -= left.len;
	while (left.len && r == 0) {
		size_t room = PIECE - (size_t)(result->bytes % PIECE), n = left.len < room ? left.len : room;

		r = put_file(result->out, result->bytes, left.ptr, n);
		left = mor_slice_from(left, n);
		result->bytes += n;
	}
	release_held(result, &unit->held);
	return r < 0 ? mor_fail_errno(err, MORTISE_ESYSTEM, -r, "writing the result") : 0;
}

/* The bytes of an output, to where the sink says. */
static int take_bytes(struct mor_result *result, struct mor_result_output *output, struct sink *sink,
		      struct ended *ended, mortise_error *err)
{
	int r = 0;

	sink->source = (struct mor_fd_source){ .fd = output->fd, .end = output->size };
	sink->from = output;
	mor_summer_begin(&sink->sum);
	if (output->size)
		r = result->opt.check ? transfer(result, output, sink, err) : pour(result, output, sink, err);
	ended->sum = mor_summer_end(&sink->sum);
	if (r == 0 && output->sum && *output->sum != ended->sum)
		r = mor_fail(err, MORTISE_EINPUT, "its bytes are not those that were promised");
	ended->bytes = output->bytes = r < 0 ? 0 : sink->bytes;
	return r;
}

static int hand_over(struct mor_result *result, size_t unit, struct mor_result_output *output,
		     mortise_error *err)
{
	const struct mor_result_taker *taker = result->opt.taker;
	struct sink sink = { .taker = taker };
	int r = take_bytes(result, output, &sink, &result->units[unit], err);

	taker->end(unit, r == 0, taker->arg);
	return r;
}

static int hold_output(struct mor_result *result, struct ended *ended, struct mor_result_output *output,
		       struct mor_buf *held, mortise_error *err)
{
	struct sink sink = { .held = held };
	int r = take_bytes(result, output, &sink, ended, err);

	if (r < 0 || !held->len) {
		release_held(result, held);
		return r;
	}
	ended->held = *held;
	result->held += held->len;
	return 0;
}

/* A unit whose turn it is goes directly to the output, if the output can be cut again. Others wait in memory,
 * as much as may be; else in the spool. */
static int keep_output(struct mor_result *result, size_t unit, struct mor_result_output *output,
		       mortise_error *err)
{
	struct ended *ended = &result->units[unit];
	bool direct = unit == result->next && result->journal >= 0;
	uint64_t *end = direct ? &result->bytes : &result->spooled;
	struct mor_buf held = MOR_BUF_INIT;
	struct sink sink = { .start = *end, .cached = !direct };
	int r;

	if (!direct && may_hold(result, output, &held))
		return hold_output(result, ended, output, &held, err);
	r = direct ? mor_result_begin(result, err) : open_spool(result, err);
	if (r < 0)
		return r;
	sink.fd = direct ? result->out : result->spool;
	if (direct)
		reserve(result, result->bytes + output->size);
	if ((r = take_bytes(result, output, &sink, ended, err)) < 0) {
		mortise_error second;

		return take_back(sink.fd, *end, &second) < 0 ? take_back(sink.fd, *end, err) : r;
	}
	if (!direct && sink.bytes) {
		ended->at = *end;
		ended->size = sink.bytes;
		result->waiting++;
	}
	*end += sink.bytes;
	return 0;
}

/* From the spool to the output. The kernel copies if it can. */
static int copy_out(struct mor_result *result, struct ended *unit, mortise_error *err)
{
	off_t at = (off_t)unit->at;
	uint64_t left = unit->size;
	char buffer[65536];

	while (left > 0) {
		ssize_t n = copy_file_range(result->spool, &at, result->out, NULL,
					    left > (1u << 30) ? 1u << 30 : (size_t)left, 0);

		if (n <= 0)
			break;
		left -= (uint64_t)n;
	}
	while (left > 0) {
		ssize_t n =
			pread(result->spool, buffer, left < sizeof(buffer) ? (size_t)left : sizeof(buffer), at);
		int r = n > 0 ? mor_fd_write_all(result->out, buffer, (size_t)n) : n == 0 ? -EIO : -errno;

		if (r == -EINTR)
			continue;
		if (r < 0)
			return mor_fail_errno(err, MORTISE_ESYSTEM, -r, "writing the result");
		at += n;
		left -= (uint64_t)n;
	}
	result->bytes += unit->size;
	unit->size = 0;
	if (--result->waiting == 0) {
		result->spooled = 0;
		return take_back(result->spool, 0, err);
	}
	return 0;
}

/* Half a unit may be in the output: only the next run can correct that. */
static int check_broken(const struct mor_result *result, mortise_error *err)
{
	if (result->broken.code)
		*err = result->broken;
	return result->broken.code;
}

/* The unit's bytes are in the output: writes its journal line. */
static int note_unit(struct mor_result *result, const struct ended *unit, mortise_error *err)
{
	struct mor_journal_line line = { .failed = unit->state == MOR_RESULT_FAILED,
					 .unit = result->next,
					 .bytes = result->bytes,
					 .sum = unit->sum,
					 .code = unit->code,
					 .reason = mor_slice_of(unit->reason ? unit->reason : "") };

	return mor_result_note(result, &line, err);
}

/* Writes every unit whose turn has come. */
static int flush_units(struct mor_result *result, mortise_error *err)
{
	int r = check_broken(result, err);

	while (r == 0 && result->next < result->opt.units &&
	       result->units[result->next].state != MOR_RESULT_OPEN) {
		struct ended *unit = &result->units[result->next];

		r = mor_result_begin(result, err);
		if (r == 0 && unit->held.len)
			r = write_held(result, unit, err);
		else if (r == 0 && unit->size)
			r = copy_out(result, unit, err);
		if (r < 0)
			break;
		r = note_unit(result, unit, err);
		result->next++;
	}
	if (r < 0)
		result->broken = *err;
	return r;
}

int mor_result_done(struct mor_result *result, size_t unit, struct mor_result_output *output,
		    mortise_error *err)
{
	int r = check_broken(result, err);

	if (r == 0)
		r = result->opt.taker ? hand_over(result, unit, output, err) :
					keep_output(result, unit, output, err);
	if (r < 0)
		return r;
	result->units[unit].state = MOR_RESULT_DONE;
	result->stats.done++;
	result->units[unit].empty = output->bytes == 0;
	result->stats.empty += output->bytes == 0;
	return flush_units(result, err);
}

static int settle_failed(struct mor_result *result, size_t unit, const mortise_error *why, mortise_error *err)
{
	char line[1024];

	result->units[unit].code = why->code ? why->code : MORTISE_ECRASHED;
	result->units[unit].reason = mor_strdup(mor_printable(mor_slice_of(why->text), line, sizeof(line)));
	result->units[unit].state = MOR_RESULT_FAILED;
	result->stats.failed++;
	return flush_units(result, err);
}

int mor_result_failed(struct mor_result *result, size_t unit, const mortise_error *why, mortise_error *err)
{
	result->units[unit].sum = mor_sum("", 0, 0);
	return settle_failed(result, unit, why, err);
}

int mor_result_failed_with(struct mor_result *result, size_t unit, const mortise_error *why,
			   struct mor_result_output *output, mortise_error *err)
{
	int r = check_broken(result, err);

	r = r ? r : keep_output(result, unit, output, err);
	return r < 0 ? r : settle_failed(result, unit, why, err);
}
