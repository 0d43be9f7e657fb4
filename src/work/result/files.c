/* SPDX-License-Identifier: Apache-2.0 */
/* The partial output and its journal: opened, continued, finished. */
#include "result/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"

#define JOURNAL_LIMIT ((size_t)1 << 30)

/* ---- writing ---- */

static int write_journal(struct mor_result *result, struct mor_buf *text, mortise_error *err)
{
	int r = mor_buf_failed(text) ? -ENOMEM : mor_fd_write_all(result->journal, text->data, text->len);

	return r < 0 ? mor_fail_errno(err, MORTISE_ESYSTEM, -r, "%s", result->journal_path) : 0;
}

/* Cuts the output to the length in the journal. When a file was cut to length 0, ext4 flushes it to the disk at
 * its next close. So we close it now, while it is empty. We do not promise that data survives a crash of the
 * machine. */
static int cut_output(struct mor_result *result, mortise_error *err)
{
	int again = -1;
	off_t size = lseek(result->out, 0, SEEK_END), want = (off_t)result->bytes;

	if (size > want && (ftruncate(result->out, want) < 0 || lseek(result->out, 0, SEEK_END) < 0))
		return mor_fail_errno(err, MORTISE_ESYSTEM, errno, "%s", result->partial);
	if (size > 0 && want == 0)
		again = open(result->partial, O_RDONLY | O_CLOEXEC);
	mor_fd_close(&again);
	return 0;
}

/* The journal is cut first: if a run is killed in between, the output is longer than its journal says. */
int mor_result_begin(struct mor_result *result, mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf head = MOR_BUF_INIT;
	int r;

	if (result->begun || result->journal < 0)
		return 0;
	if (ftruncate(result->journal, 0) < 0)
		return mor_fail_errno(err, MORTISE_ESYSTEM, errno, "%s", result->journal_path);
	mor_journal_head(result->opt.identity, &result->check, &head);
	r = write_journal(result, &head, err);
	r = r ? r : cut_output(result, err);
	result->begun = r == 0;
	return r;
}

int mor_result_note(struct mor_result *result, const struct mor_journal_line *line, mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;

	if (result->journal < 0)
		return 0;
	mor_journal_add(line, &result->check, &text);
	return write_journal(result, &text, err);
}

/* ---- going on ---- */

/* The checksum of a part of the output. MORTISE_EPROTO: the output is shorter. */
static int sum_part(const struct mor_result *result, uint64_t from, uint64_t end, uint64_t *ret,
		    mortise_error *err)
{
	struct mor_summer sum;
	char piece[65536];

	mor_summer_begin(&sum);
	while (from < end) {
		size_t want = end - from < sizeof(piece) ? (size_t)(end - from) : sizeof(piece);
		ssize_t n = pread(result->out, piece, want, (off_t)from);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return mor_fail_errno(err, MORTISE_ESYSTEM, errno, "%s", result->partial);
		if (n == 0)
			return mor_fail(err, MORTISE_EPROTO, "%s lacks bytes of unit %zu", result->partial,
					result->next + 1);
		mor_summer_add(&sum, piece, (size_t)n);
		from += (uint64_t)n;
	}
	*ret = mor_summer_end(&sum);
	return 0;
}

/* Checks what the line says about the output. MORTISE_EPROTO: it is not true. */
static int check_line(const struct mor_result *result, const struct mor_journal_line *line, mortise_error *err)
{
	uint64_t sum;
	int r;

	if (line->unit != result->next || line->unit >= result->opt.units || line->bytes < result->bytes)
		return mor_fail(err, MORTISE_EPROTO,
				"a line for unit %" PRIu64 " does not fit the lines before it", line->unit + 1);
	r = sum_part(result, result->bytes, line->bytes, &sum, err);
	if (r == 0 && sum != line->sum)
		r = mor_fail(err, MORTISE_EPROTO, "the bytes of unit %zu in %s are not those that were written",
			     result->next + 1, result->partial);
	return r;
}

static int take_line(struct mor_result *result, const struct mor_journal_line *line, mortise_error *err)
{
	struct ended *unit = &result->units[result->next];
	int r = check_line(result, line, err);

	if (r < 0)
		return r;
	unit->reason = line->failed ? mor_strndup(line->reason.ptr, line->reason.len) : NULL;
	if (line->failed && !unit->reason)
		return mor_fail_memory(err);
	unit->code = line->code;
	unit->sum = line->sum;
	unit->bytes = line->bytes - result->bytes;
	unit->state = line->failed ? MOR_RESULT_FAILED : MOR_RESULT_DONE;
	result->stats.failed += line->failed;
	result->stats.done += !line->failed;
	unit->empty = !line->failed && line->bytes == result->bytes;
	result->stats.empty += unit->empty;
	result->stats.kept++;
	result->bytes = line->bytes;
	result->next++;
	return 0;
}

/* Reads up to the first line that is damaged, or whose bytes are (MORTISE_EPROTO). The reader stays after
 * the last good line. */
static int take_lines(struct mor_result *result, struct mor_journal_reader *reader, mortise_error *err)
{
	struct mor_journal_line line;
	int r;

	for (;;) {
		struct mor_journal_reader good = *reader;

		r = mor_journal_next(reader, &line, err);
		if (r > 0)
			r = take_line(result, &line, err) < 0 ? err->code : 1;
		if (r <= 0) {
			*reader = good;
			return r;
		}
	}
}

/* Damaged units, and all units after them, are done again. */
static int read_journal(struct mor_result *result, struct mor_slice text, mortise_error *err)
{
	struct mor_journal_reader reader;
	int r = mor_journal_open(&reader, text, result->opt.identity, err);

	result->begun = r > 0;
	if (r > 0)
		r = take_lines(result, &reader, err);
	if (r < 0)
		mor_fail_prefix(err, result->journal_path);
	if (r == MORTISE_EPROTO) {
		result->damage = *err;
		result->stats.dropped = mor_journal_left(&reader);
	} else if (r < 0) {
		return r;
	}
	if (!result->begun)
		return 0; /* nothing is good: the files stay until there is something to write */
	result->check = reader.check;
	/* Removes bad bytes, because they would damage the next line. */
	if (ftruncate(result->journal, (off_t)reader.at) < 0)
		return mor_fail_errno(err, MORTISE_ESYSTEM, errno, "%s", result->journal_path);
	return cut_output(result, err);
}

/* ---- opening ---- */

/* A run that has just ended removes its journal. Then our lock is on a removed file, and we try again. */
static int open_journal(struct mor_result *result, mortise_error *err)
{
	struct stat st = { 0 };

	while (st.st_nlink == 0) {
		mor_fd_close(&result->journal);
		result->journal =
			open(result->journal_path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (result->journal < 0)
			return mor_fail_errno(err, MORTISE_ESYSTEM, errno, "%s", result->journal_path);
		if (flock(result->journal, LOCK_EX | LOCK_NB) < 0)
			return mor_fail(err, MORTISE_EINPUT, "%s: another run is writing it",
					result->journal_path);
		if (fstat(result->journal, &st) < 0)
			return mor_fail_errno(err, MORTISE_ESYSTEM, errno, "%s", result->journal_path);
	}
	result->locked = true;
	return 0;
}

static int go_on(struct mor_result *result, mortise_error *err)
{
	MOR_CLEAN_TEXT char *text = NULL;
	size_t len = 0;
	int r = mor_fd_read_file(result->journal_path, JOURNAL_LIMIT, &text, &len);

	if (r < 0)
		return mor_fail_errno(err, MORTISE_ESYSTEM, -r, "%s", result->journal_path);
	return read_journal(result, (struct mor_slice){ text, len }, err);
}

static int open_stream(struct mor_result *result, mortise_error *err)
{
	if (result->opt.resume)
		return mor_fail(err, MORTISE_EINPUT,
				"%s is not a file that can be replaced, so it has no journal: --resume needs "
				"one",
				result->opt.path);
	result->out = mor_outplace_open(&result->place);
	return result->out < 0 ? mor_fail_errno(err, MORTISE_ESYSTEM, errno, "%s", result->opt.path) : 0;
}

static int open_files(struct mor_result *result, mortise_error *err)
{
	int r;

	if (!result->opt.path) {
		result->out = result->opt.fd;
		return 0;
	}
	r = mor_outplace_find(result->opt.path, &result->place, err);
	if (r < 0 || result->place.in_place)
		return r < 0 ? r : open_stream(result, err);
	result->partial = mor_text_format("%s.partial", result->place.path);
	result->journal_path = mor_text_format("%s.journal", result->place.path);
	if (!result->partial || !result->journal_path)
		return mor_fail_memory(err);
	if ((r = open_journal(result, err)) < 0)
		return r;
	result->out = open(result->partial, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
	if (result->out < 0)
		return mor_fail_errno(err, MORTISE_ESYSTEM, errno, "%s", result->partial);
	return result->opt.resume ? go_on(result, err) : 0;
}

int mor_result_open(const struct mor_result_options *opt, struct mor_result **ret, mortise_error *err)
{
	struct mor_result *result = mor_zalloc(sizeof(*result));
	int r;

	if (!result)
		return mor_fail_memory(err);
	result->opt = *opt;
	result->out = result->journal = result->spool = -1;
	result->units = mor_zalloc((opt->units + 1) * sizeof(struct ended));
	r = result->units ? open_files(result, err) : mor_fail_memory(err);
	if (r == 0)
		*ret = result;
	else
		mor_result_free(result);
	return r;
}

/* ---- the end ---- */

/* Frees reserved space that was not needed. If that fails, the space is lost only until the file is removed. */
static void give_back(struct mor_result *result)
{
	int ignored = result->reserved ? ftruncate(result->out, (off_t)result->bytes) : 0;

	(void)ignored;
	result->reserved = 0;
}

/* The journal is removed last: if a run is killed in between, the next run finds a journal without output
 * and starts from the beginning. */
int mor_result_finish(struct mor_result *result, struct mor_slice tail, mortise_error *err)
{
	int r = mor_result_begin(result, err); /* there was no unit at all: the output is empty */

	give_back(result);
	if (r == 0 && tail.len) {
		r = mor_fd_write_all(result->out, tail.ptr, tail.len);
		r = r < 0 ? mor_fail_errno(err, MORTISE_ESYSTEM, -r, "%s", result->partial) : 0;
	}
	if (r < 0 || result->journal < 0)
		return r;
	mor_outplace_dress(&result->place, result->out);
	if (rename(result->partial, result->place.path) < 0)
		return mor_fail_errno(err, MORTISE_ESYSTEM, errno, "%s cannot be renamed to %s",
				      result->partial, result->place.path);
	unlink(result->journal_path);
	return 0;
}

/* If a run wrote nothing, only empty files would be left, so they are removed. */
static void remove_empty(const struct mor_result *result)
{
	struct stat st;

	if (fstat(result->journal, &st) < 0 || st.st_size > 0)
		return;
	unlink(result->journal_path);
	if (result->out >= 0 && fstat(result->out, &st) == 0 && st.st_size == 0)
		unlink(result->partial);
}

struct mor_result *mor_result_free(struct mor_result *result)
{
	if (!result)
		return NULL;
	for (size_t i = 0; result->units && i < result->opt.units; i++)
		mor_free(result->units[i].reason), mor_buf_fini(&result->units[i].held);
	if (result->locked && !result->begun)
		remove_empty(result);
	give_back(result);
	if (result->opt.path)
		mor_fd_close(&result->out);
	mor_fd_close(&result->journal);
	mor_fd_close(&result->spool);
	mor_buf_fini(&result->buffer);
	mor_buf_fini(&result->spare);
	mor_outplace_fini(&result->place);
	mor_free(result->units);
	mor_free(result->partial);
	mor_free(result->journal_path);
	return mor_free(result);
}
