/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plugin's stderr: always read, with one limited read per callback so that stdout is not delayed. It is
 * split into lines, and the last ones are kept for error texts.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/fd.h"
#include "proc/inside.h"
#include "proc/telling.h"

struct mor_stderr_keep {
	size_t partial_len, tail_len;
	char partial[MOR_STDERR_LINE]; /* a line that is not complete yet */
	/* the last lines, each ended by a NUL; moved to the front when full */
	char tail[2 * MOR_STDERR_RING + 1];
	char told[512]; /* the telling one */
};

/* ---- the last lines ---- */

static bool is_blank(struct mor_slice line)
{
	for (size_t i = 0; i < line.len; i++) {
		if (line.ptr[i] != ' ' && line.ptr[i] != '\t')
			return false;
	}
	return true;
}

static void drop_oldest(struct mor_stderr_keep *keep)
{
	size_t cut = keep->tail_len - MOR_STDERR_RING;
	const char *end = memchr(keep->tail + cut, '\0', keep->tail_len - cut);

	assert(end);
	cut = (size_t)(end - keep->tail) + 1;
	keep->tail_len -= cut;
	memmove(keep->tail, keep->tail + cut, keep->tail_len);
}

static void remember_line(struct mor_stderr_keep *keep, struct mor_slice line)
{
	char *to;

	if (is_blank(line))
		return;
	if (keep->tail_len + line.len + 1 > sizeof(keep->tail))
		drop_oldest(keep);
	to = keep->tail + keep->tail_len;
	for (size_t i = 0; i < line.len; i++)
		to[i] = line.ptr[i] ? line.ptr[i] : ' ';
	to[line.len] = '\0';
	keep->tail_len += line.len + 1;
}

const char *mor_stderr_last(const struct mor_stderr *err)
{
	struct mor_stderr_keep *keep = err->keep;

	return keep ? mor_telling(keep->tail, keep->tail_len, keep->told, sizeof(keep->told)) : "";
}

/* ---- lines ---- */

static void tell_line(struct mor_stderr *err, struct mor_slice line)
{
	if (line.len > 0 && line.ptr[line.len - 1] == '\r')
		line.len--;
	if (err->keep)
		remember_line(err->keep, line);
	err->on_line(err, line);
}

static void tell_partial(struct mor_stderr *err)
{
	struct mor_slice line;

	if (!err->keep || err->keep->partial_len == 0)
		return;
	line = (struct mor_slice){ err->keep->partial, err->keep->partial_len };
	err->keep->partial_len = 0;
	tell_line(err, line);
}

/* Takes as much of `bytes` as fits into the present line, and reports the line when it is complete. Returns
 * the number of bytes taken. */
static size_t take_some(struct mor_stderr *err, struct mor_slice bytes)
{
	size_t held = err->keep ? err->keep->partial_len : 0, room = MOR_STDERR_LINE - held;
	const char *newline = memchr(bytes.ptr, '\n', bytes.len);
	size_t size = newline ? (size_t)(newline - bytes.ptr) : bytes.len;
	bool whole = size > room || newline;
	size_t end = size <= room && newline ? 1 : 0;

	if (size > room)
		size = room;
	if (held == 0 && (whole || !err->keep)) {
		/* The common case: reported directly from the read buffer. Without memory to keep the
		 * beginning of a line, it is reported in pieces. That is better than not at all. */
		tell_line(err, (struct mor_slice){ bytes.ptr, size });
		return size + end;
	}
	memcpy(err->keep->partial + held, bytes.ptr, size);
	err->keep->partial_len += size;
	if (whole)
		tell_partial(err);
	return size + end;
}

/* If the owner frees the process in a callback, we stop: fd is -1 then. */
static void take_bytes(struct mor_stderr *err, struct mor_slice bytes)
{
	err->bytes += bytes.len;
	if (!err->keep && bytes.len > 0) /* 21 KB: not for the end of a plugin that was silent */
		err->keep = mor_zalloc(sizeof(*err->keep));
	while (bytes.len > 0 && err->fd >= 0) {
		size_t took = take_some(err, bytes);

		bytes.ptr += took;
		bytes.len -= took;
	}
}

/* ---- reading ---- */

/* One read, short enough that reporting takes little time even if every byte were a line. Bytes, 0 at the
 * end, -errno; -EAGAIN if there is nothing now. */
static ssize_t read_some(struct mor_stderr *err)
{
	char some[1024];
	ssize_t n;

	do
		n = read(err->fd, some, sizeof(some));
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	take_bytes(err, (struct mor_slice){ some, (size_t)n });
	return n;
}

/* Nothing more is reported from it. */
static void stderr_is_over(struct mor_stderr *err)
{
	mor_stderr_over_fn *on_over = err->on_over;

	if (err->fd >= 0)
		tell_partial(err);
	mor_stderr_stop(err);
	err->on_over = NULL;
	if (on_over)
		on_over(err);
}

static void finish_some(struct mor_loop *loop, struct mor_stderr *err)
{
	while (err->fd >= 0 && err->rest > 0) {
		ssize_t n;

		if (mor_loop_spent(loop)) {
			mor_watch_again(&err->watch);
			return;
		}
		n = read_some(err);
		if (n <= 0)
			break;
		err->rest -= (int)n;
		mor_loop_charge(loop, 8);
	}
	stderr_is_over(err);
}

static void on_readable(struct mor_watch *watch, unsigned events)
{
	struct mor_stderr *err = mor_container_of(watch, struct mor_stderr, watch);
	ssize_t n;

	(void)events;
	if (err->on_over) {
		finish_some(watch->loop, err);
		return;
	}
	n = read_some(err);
	if (n <= 0 && n != -EAGAIN && err->fd >= 0)
		stderr_is_over(err);
}

int mor_stderr_start(struct mor_loop *loop, struct mor_stderr *err, int fd, mor_stderr_fn *on_line)
{
	int r = mor_watch_start(loop, &err->watch, fd, MOR_READABLE, on_readable);

	err->fd = fd;
	err->on_line = on_line;
	if (r < 0)
		mor_stderr_stop(err);
	return r;
}

void mor_stderr_finish(struct mor_loop *loop, struct mor_stderr *err, mor_stderr_over_fn *on_over)
{
	err->on_over = on_over;
	/* At most the bytes that the pipe held when we came: a descendant may write to it for ever. */
	err->rest = err->fd >= 0 ? (int)mor_fd_unread(err->fd) : 0;
	finish_some(loop, err);
}

void mor_stderr_stop(struct mor_stderr *err)
{
	mor_watch_stop(&err->watch);
	mor_fd_close(&err->fd);
}

void mor_stderr_fini(struct mor_stderr *err)
{
	mor_stderr_stop(err);
	mor_free(err->keep);
	err->keep = NULL;
}
