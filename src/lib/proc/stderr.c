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
#include "base/buf.h"
#include "base/fd.h"
#include "proc/inside.h"
#include "proc/telling.h"

/* The buffers grow with what comes: most plugins write a line or two. */
struct mor_stderr_keep {
	struct mor_buf partial; /* a line that is not complete yet; at most MOR_STDERR_LINE */
	struct mor_buf tail;    /* the last lines, each ended by a NUL; the oldest go at TAIL_MAX */
	char told[512];         /* the telling one */
};

#define TAIL_MAX (2 * MOR_STDERR_RING)

/* ---- the last lines ---- */

static bool is_blank(struct mor_slice line)
{
	for (size_t i = 0; i < line.len; i++) {
		if (line.ptr[i] != ' ' && line.ptr[i] != '\t')
			return false;
	}
	return true;
}

static void drop_oldest(struct mor_buf *tail)
{
	size_t cut = tail->len - MOR_STDERR_RING;
	const char *end = memchr(tail->data + cut, '\0', tail->len - cut);

	assert(end);
	mor_buf_consume(tail, (size_t)(end - tail->data) + 1);
}

/* Without memory it is not remembered. */
static void remember_line(struct mor_buf *tail, struct mor_slice line)
{
	char *to;

	if (is_blank(line))
		return;
	if (tail->len + line.len + 1 > TAIL_MAX)
		drop_oldest(tail);
	tail->status = 0; /* there may be memory again */
	if (mor_buf_reserve(tail, line.len + 1) < 0)
		return;
	to = tail->data + tail->len;
	for (size_t i = 0; i < line.len; i++)
		to[i] = line.ptr[i] ? line.ptr[i] : ' ';
	to[line.len] = '\0';
	tail->len += line.len + 1;
}

const char *mor_stderr_last(const struct mor_stderr *err)
{
	struct mor_stderr_keep *keep = err->keep;

	return keep && keep->tail.len ?
		       mor_telling(keep->tail.data, keep->tail.len, keep->told, sizeof(keep->told)) :
		       "";
}

/* ---- lines ---- */

static void tell_line(struct mor_stderr *err, struct mor_slice line)
{
	if (line.len > 0 && line.ptr[line.len - 1] == '\r')
		line.len--;
	if (err->keep)
		remember_line(&err->keep->tail, line);
	err->on_line(err, line);
}

/* The memory of the partial line is given back: a plugin that writes whole lines needs none. The callback may
 * free the process, but not what is kept (mor_stderr_fini() comes later). */
static void tell_partial(struct mor_stderr *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf line = MOR_BUF_INIT;

	if (!err->keep || err->keep->partial.len == 0)
		return;
	line = err->keep->partial;
	err->keep->partial = (struct mor_buf)MOR_BUF_INIT;
	tell_line(err, mor_buf_view(&line));
}

static bool hold_back(struct mor_buf *partial, struct mor_slice bytes)
{
	int r = mor_buf_slice(partial, bytes);

	partial->status = 0; /* there may be memory next time */
	return r == 0;
}

/* Takes as much of `bytes` as fits into the present line, and reports the line when it is complete. Returns
 * the number of bytes taken. Without memory to keep the beginning of a line, it is reported in pieces. That is
 * better than not at all. */
static size_t take_some(struct mor_stderr *err, struct mor_slice bytes)
{
	size_t held = err->keep ? err->keep->partial.len : 0, room = MOR_STDERR_LINE - held;
	const char *newline = memchr(bytes.ptr, '\n', bytes.len);
	size_t size = newline ? (size_t)(newline - bytes.ptr) : bytes.len;
	bool whole = size > room || newline;
	size_t end = size <= room && newline ? 1 : 0;
	struct mor_slice some = { bytes.ptr, size > room ? room : size };
	bool kept = (held || !whole) && err->keep && hold_back(&err->keep->partial, some);

	if (held && !kept) {
		tell_partial(err);
		return 0;
	}
	if (!kept) /* mostly a whole line, directly from the read buffer */
		tell_line(err, some);
	else if (whole)
		tell_partial(err);
	return some.len + end;
}

/* If the owner frees the process in a callback, we stop: fd is -1 then. */
static void take_bytes(struct mor_stderr *err, struct mor_slice bytes)
{
	err->bytes += bytes.len;
	if (!err->keep && bytes.len > 0) /* not for the end of a plugin that was silent */
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

int mor_stderr_start_take(struct mor_loop *loop, struct mor_stderr *err, int fd, mor_stderr_fn *on_line)
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
	if (err->keep) {
		mor_buf_fini(&err->keep->partial);
		mor_buf_fini(&err->keep->tail);
	}
	mor_free(mor_take(&err->keep));
}
