/* SPDX-License-Identifier: Apache-2.0 */
/* One direction: reads, cuts into messages, gives each one to fault.c, and writes the result. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "chaos/chaos.h"

#define READ_SIZE  65536
#define HIGH_WATER ((size_t)1 << 20)
/* The number of bytes that a pipe takes without blocking after poll() says it is writable. We do not make
 * stdout non-blocking: other processes may share it. */
#define WRITE_SIZE   4096
#define FRAME_LIMIT  ((size_t)256 << 20) /* longer messages pass unchanged */
#define ALL_FRAMINGS ((1u << MOR_FRAMINGS) - 1)

void mor_chaos_lane_init(struct mor_chaos_lane *lane, const struct mor_chaos *chaos, char sign, int from,
			 int to)
{
	*lane = (struct mor_chaos_lane){
		.chaos = chaos, .sign = sign, .from = from, .to = to, .sure = chaos->framing >= 0
	};
	mor_deframer_init(&lane->deframer, lane->sure ? (enum mor_framing)chaos->framing : MOR_FRAMING_LINES,
			  FRAME_LIMIT, 0);
	if (!lane->sure)
		lane->deframer.reads = ALL_FRAMINGS;
}

void mor_chaos_lane_fini(struct mor_chaos_lane *lane)
{
	mor_buf_fini(&lane->in);
	mor_buf_fini(&lane->out);
	mor_free(lane->mark);
	mor_chaos_kept_fini(lane);
}

/* ---- which framing ---- */

static enum mor_framing framing_of(const char *frame)
{
	if (*frame == '\0')
		return MOR_FRAMING_BE32;
	if ((*frame | 0x20) == 'c')
		return MOR_FRAMING_HEADERS;
	return *frame >= '0' && *frame <= '9' ? MOR_FRAMING_DECIMAL : MOR_FRAMING_LINES;
}

static void settle_framing(struct mor_chaos_lane *lane, enum mor_framing framing)
{
	/* Some plugins answer lines with headers or the other way round, and their hosts accept it. */
	unsigned both = 1u << MOR_FRAMING_LINES | 1u << MOR_FRAMING_HEADERS;

	lane->deframer.framing = framing;
	lane->deframer.reads = both & 1u << framing ? both : 0;
	lane->sure = true;
}

/* The first message decides for both lanes: printed text of the plugin that looks like a length must not. */
static void learn_framing(struct mor_chaos_lane *lane, const char *frame)
{
	enum mor_framing framing = framing_of(frame);

	if (!lane->sure)
		settle_framing(lane, framing);
	else if (lane->deframer.reads)
		lane->deframer.framing = framing; /* inserted bytes must look like the others */
	if (!lane->other->sure && lane->other->in.len == 0)
		settle_framing(lane->other, framing);
}

/* ---- in ---- */

static int take_messages(struct mor_chaos_lane *lane)
{
	const char *at = lane->in.data;
	size_t len = lane->in.len;
	enum mor_item_kind kind;
	struct mor_item item;

	for (;;) {
		item = (struct mor_item){ 0 };
		kind = mor_deframe(&lane->deframer, at, len, lane->over, &item);
		if (kind == MOR_ITEM_MORE)
			break;
		if (kind == MOR_ITEM_FRAME)
			learn_framing(lane, at);
		if (lane->muted)
			; /* we still read, so that the writer does not wait */
		else if (kind == MOR_ITEM_FRAME)
			mor_chaos_message(lane, (struct mor_slice){ at, item.used }, item.body);
		else
			mor_buf_append(&lane->out, at, item.used);
		at += item.used;
		len -= item.used;
	}
	mor_buf_consume(&lane->in, lane->in.len - len);
	return lane->in.status ? lane->in.status : lane->out.status;
}

int mor_chaos_lane_finish(struct mor_chaos_lane *lane)
{
	if (lane->over)
		return 0;
	lane->over = true;
	return take_messages(lane);
}

int mor_chaos_lane_read(struct mor_chaos_lane *lane)
{
	ssize_t n;

	if (mor_buf_reserve(&lane->in, READ_SIZE) < 0)
		return MORTISE_ENOMEM;
	n = read(lane->from, lane->in.data + lane->in.len, READ_SIZE);
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return 0;
	if (n <= 0)
		return mor_chaos_lane_finish(lane);
	lane->in.len += (size_t)n;
	return take_messages(lane);
}

bool mor_chaos_lane_wants_input(const struct mor_chaos_lane *lane)
{
	return lane->from >= 0 && !lane->over && lane->out.len - lane->out_at < HIGH_WATER;
}

/* ---- out ---- */

/* 0 and 1 stay open, or the next open() would get these numbers. */
static void close_end(int *fd)
{
	int null;

	if (*fd == STDIN_FILENO || *fd == STDOUT_FILENO) {
		null = open("/dev/null", O_RDWR | O_CLOEXEC);
		if (null < 0 || dup2(null, *fd) < 0)
			close(*fd);
		mor_fd_close(&null);
		*fd = -1;
	}
	mor_fd_close(fd);
}

void mor_chaos_lane_break(struct mor_chaos_lane *lane)
{
	close_end(&lane->from);
	close_end(&lane->to);
	lane->over = lane->muted = true;
	lane->out.len = lane->out_at = lane->marks = 0;
}

bool mor_chaos_lane_pending(const struct mor_chaos_lane *lane)
{
	return lane->to >= 0 && (lane->out.len > lane->out_at || lane->marks);
}

bool mor_chaos_lane_held(const struct mor_chaos_lane *lane, int64_t now_ms)
{
	return lane->held_until > now_ms;
}

/* The mark at exactly this place, or NULL. */
static bool mark_due(struct mor_chaos_lane *lane, struct mor_chaos_mark *ret)
{
	if (!lane->marks || lane->mark[0].at > lane->passed)
		return false;
	*ret = lane->mark[0];
	lane->marks--;
	memmove(lane->mark, lane->mark + 1, lane->marks * sizeof(*lane->mark));
	return true;
}

/* The rest is moved to the front only sometimes: a long message is sent in many writes. */
static void count_written(struct mor_chaos_lane *lane, size_t count)
{
	lane->out_at += count;
	lane->passed += count;
	if (lane->out_at == lane->out.len || (lane->out_at > HIGH_WATER && lane->out_at > lane->out.len / 2)) {
		mor_buf_consume(&lane->out, lane->out_at);
		lane->out_at = 0;
	}
}

static void write_lane(struct mor_chaos_lane *lane)
{
	size_t len = lane->out.len - lane->out_at;
	ssize_t n;

	if (lane->marks && lane->mark[0].at - lane->passed < len)
		len = (size_t)(lane->mark[0].at - lane->passed);
	if (!len)
		return;
	n = write(lane->to, lane->out.data + lane->out_at, len < WRITE_SIZE ? len : WRITE_SIZE);
	if (n > 0)
		count_written(lane, (size_t)n);
	else if (n < 0 && errno != EINTR && errno != EAGAIN)
		mor_chaos_lane_break(lane);
}

/* After its stream was ended, the plugin goes on: it has not noticed. */
bool mor_chaos_lane_write(struct mor_chaos_lane *lane, int64_t now_ms)
{
	struct mor_chaos_mark mark;

	if (mor_chaos_lane_held(lane, now_ms))
		return false;
	while (mark_due(lane, &mark)) {
		if (mark.kind == MOR_CHAOS_MARK_WAIT) {
			lane->held_until = now_ms + mark.ms;
			return false;
		}
		if (mark.kind == MOR_CHAOS_MARK_KILL)
			return true;
		close_end(&lane->to);
		return false;
	}
	write_lane(lane);
	return false;
}
