/* SPDX-License-Identifier: Apache-2.0 */
/* One direction: reads, passes on. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/fd.h"
#include "relay/relay.h"

#define LANE_READ  65536
#define HIGH_WATER ((size_t)1 << 20)
/* The number of bytes that a pipe takes without blocking after poll() says it is writable. We do not make
 * a stdout that we share non-blocking: other processes have it too. */
#define WRITE_SIZE 4096

/* A pipe that we share with others is opened again: the new description is our own, and can be non-blocking. It
 * gets the number of the old one. Where that cannot be (a socket, no /proc), we write in small pieces. */
static bool unbind(int fd)
{
	char name[40];
	struct stat st;
	int own, flags = fcntl(fd, F_GETFL);

	if (flags >= 0 && (flags & O_NONBLOCK) && fd > STDERR_FILENO)
		return true;
	if (fstat(fd, &st) < 0 || !S_ISFIFO(st.st_mode))
		return false;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	own = open(name, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	if (own >= 0 && dup2(own, fd) < 0)
		mor_fd_close(&own);
	if (own < 0)
		return false;
	mor_fd_close(&own);
	return true;
}

void mor_relay_lane_init(struct mor_relay_lane *lane, int from, int to)
{
	*lane = (struct mor_relay_lane){ .from = from, .to = to, .watcher = -1, .unbound = unbind(to) };
}

void mor_relay_lane_fini(struct mor_relay_lane *lane)
{
	mor_buf_fini(&lane->out);
	mor_free(lane->mark);
}

/* ---- marks ---- */

uint64_t mor_relay_lane_end(const struct mor_relay_lane *lane)
{
	return lane->passed + (lane->out.len - lane->out_at);
}

void mor_relay_lane_mark(struct mor_relay_lane *lane, enum mor_relay_mark_kind kind, uint64_t at, uint32_t ms)
{
	size_t i = lane->marks;

	if (mor_grow(&lane->mark, lane->marks, &lane->marks_cap, sizeof(*lane->mark)) < 0)
		return;
	for (; i > 0 && lane->mark[i - 1].at > at; i--)
		lane->mark[i] = lane->mark[i - 1];
	lane->mark[i] = (struct mor_relay_mark){ kind, at, ms };
	lane->marks++;
}

/* The mark at exactly this place, or NULL. */
static bool mark_due(struct mor_relay_lane *lane, struct mor_relay_mark *ret)
{
	if (!lane->marks || lane->mark[0].at > lane->passed)
		return false;
	*ret = lane->mark[0];
	lane->marks--;
	memmove(lane->mark, lane->mark + 1, lane->marks * sizeof(*lane->mark));
	return true;
}

bool mor_relay_lane_pending(const struct mor_relay_lane *lane)
{
	return lane->to >= 0 && (lane->out.len > lane->out_at || lane->marks);
}

int mor_relay_lane_held_ms(const struct mor_relay_lane *lane)
{
	int64_t left = lane->held_until ? lane->held_until - mor_clock_ms() : 0;

	return left > 0 ? (int)left : -1;
}

/* ---- out ---- */

/* 0, 1 and 2 stay open, or the next open() would get these numbers. */
static void close_end(struct mor_relay_lane *lane, int *fd)
{
	int null;

	/* The host has the same open file: the kernel would go on to tell us about it. */
	if (*fd >= 0)
		epoll_ctl(lane->watcher, EPOLL_CTL_DEL, *fd, NULL);
	if (*fd >= 0 && *fd <= STDERR_FILENO) {
		null = open("/dev/null", O_RDWR | O_CLOEXEC);
		if (null < 0 || dup2(null, *fd) < 0)
			close(*fd);
		mor_fd_close(&null);
		*fd = -1;
	}
	mor_fd_close(fd);
}

void mor_relay_lane_break(struct mor_relay_lane *lane)
{
	close_end(lane, &lane->from);
	close_end(lane, &lane->to);
	lane->over = lane->muted = true;
	lane->out.len = lane->out_at = lane->marks = 0;
}

/* The rest is moved to the front only sometimes: a long message is sent in many writes. */
static void count_written(struct mor_relay_lane *lane, size_t count)
{
	lane->out_at += count;
	lane->passed += count;
	if (lane->out_at == lane->out.len || (lane->out_at > HIGH_WATER && lane->out_at > lane->out.len / 2)) {
		mor_buf_consume(&lane->out, lane->out_at);
		lane->out_at = 0;
	}
}

/* One write; a reader that is gone breaks the lane. Bytes that were taken. */
static size_t write_once(struct mor_relay_lane *lane, const char *bytes, size_t len)
{
	ssize_t n;

	if (!lane->unbound && len > WRITE_SIZE)
		len = WRITE_SIZE;
	n = write(lane->to, bytes, len);
	if (n < 0 && errno != EINTR && errno != EAGAIN)
		mor_relay_lane_break(lane);
	return n > 0 ? (size_t)n : 0;
}

static void write_lane(struct mor_relay_lane *lane)
{
	size_t len = lane->out.len - lane->out_at;

	if (lane->marks && lane->mark[0].at - lane->passed < len)
		len = (size_t)(lane->mark[0].at - lane->passed);
	if (len)
		len = write_once(lane, lane->out.data + lane->out_at, len);
	if (len)
		count_written(lane, len);
}

/* After its stream was ended, the plugin goes on: it has not noticed. */
bool mor_relay_lane_write(struct mor_relay_lane *lane)
{
	struct mor_relay_mark mark;

	if (mor_relay_lane_held_ms(lane) > 0)
		return false;
	while (mark_due(lane, &mark)) {
		if (mark.kind == MOR_RELAY_MARK_WAIT) {
			lane->held_until = mor_clock_ms() + mark.ms;
			return false;
		}
		if (mark.kind == MOR_RELAY_MARK_KILL)
			return true;
		close_end(lane, &lane->to);
		return false;
	}
	write_lane(lane);
	return false;
}

/* ---- in ---- */

/* At once, if nothing waits before it: the observer and the next poll() come after that. */
static int pass_on(struct mor_relay_lane *lane, struct mor_slice bytes)
{
	size_t sent = 0;

	if (lane->to < 0)
		return 0;
	if (lane->unbound && lane->out.len == 0) {
		sent = write_once(lane, bytes.ptr, bytes.len);
		lane->passed += sent;
	}
	if (lane->to < 0 || sent == bytes.len)
		return 0;
	return mor_buf_append(&lane->out, bytes.ptr + sent, bytes.len - sent);
}

static int take_input(struct mor_relay_lane *lane, struct mor_slice bytes)
{
	int r = 0;

	if (lane->on_input)
		r = lane->on_input(lane, bytes);
	else if (bytes.len && !lane->muted)
		r = pass_on(lane, bytes);
	if (lane->on_seen)
		lane->on_seen(lane, bytes);
	return r;
}

int mor_relay_lane_finish(struct mor_relay_lane *lane)
{
	if (lane->over)
		return 0;
	lane->over = true;
	return take_input(lane, (struct mor_slice){ NULL, 0 });
}

int mor_relay_lane_read(struct mor_relay_lane *lane)
{
	static char bytes[LANE_READ]; /* all lanes of this process use it in turn */
	ssize_t n = read(lane->from, bytes, sizeof(bytes));

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return 0;
	return n <= 0 ? mor_relay_lane_finish(lane) : take_input(lane, (struct mor_slice){ bytes, (size_t)n });
}

/* What passes unchanged is read only when the last bytes are gone: then the two pipes hold all there is. */
bool mor_relay_lane_wants_input(const struct mor_relay_lane *lane)
{
	return lane->from >= 0 && !lane->over &&
	       lane->out.len - lane->out_at < (lane->on_input ? HIGH_WATER : 1);
}
