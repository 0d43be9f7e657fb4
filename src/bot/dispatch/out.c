/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that go to stdout. Their reader may be slow, but plugins must not wait for it: their time limits
 * run, and so do those of the events. So nothing here blocks, and what the reader does not take waits in a
 * buffer. If the buffer is full, no event is read or given to a plugin until half of it has gone out.
 *
 * stdout is not made non-blocking: other programs may share it, such as a shell. If poll() says that a pipe
 * is writable, it takes PIPE_BUF bytes at once.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "console/signals.h"
#include "dispatch/bot.h"

#define FULL    ((size_t)1 << 20)
#define LAST_MS 2000 /* after a signal the reader has this long for the rest */
#define LOOK_MS 200  /* how often we then check for a signal */

size_t mor_bot_out_waiting(const struct mor_bot_run *run)
{
	return run->out.bytes.len - run->out.sent;
}

static bool is_writable(int wait_ms)
{
	struct pollfd fd = { .fd = STDOUT_FILENO, .events = POLLOUT };

	return poll(&fd, 1, wait_ms) > 0;
}

void mor_bot_set_full(struct mor_bot_run *run, bool full, const char *text)
{
	if (full == run->out.full)
		return;
	run->out.full = full;
	if (full && !run->out.told)
		mor_bot_tell(run, NULL, "warning", 0, "%s", text);
	run->out.told = true;
	for (size_t i = 0; !full && i < run->count; i++)
		mor_bot_seat_renew(run->seats[i]);
}

static void mark_out(struct mor_bot_run *run)
{
	size_t waiting = mor_bot_out_waiting(run);
	char text[120];

	snprintf(text, sizeof(text),
		 "%zu bytes of calls wait for the reader of stdout: no event is read until it has caught up",
		 waiting);
	mor_bot_set_full(run, waiting > (run->out.full ? FULL / 2 : FULL), text);
}

void mor_bot_out_flush(struct mor_bot_run *run)
{
	struct mor_bot_out *out = &run->out;

	while (mor_bot_out_waiting(run) && !mor_out_broken(run->console) && is_writable(0)) {
		size_t waiting = mor_bot_out_waiting(run);
		ssize_t wrote = write(STDOUT_FILENO, out->bytes.data + out->sent,
				      waiting < PIPE_BUF ? waiting : PIPE_BUF);

		if (wrote > 0)
			out->sent += (size_t)wrote;
		else if (wrote < 0 && errno == EAGAIN)
			break;
		else if (wrote < 0 && errno != EINTR)
			run->console->out_errno = errno;
	}
	if (out->sent >= mor_bot_out_waiting(run)) { /* the rest is shorter than what has gone: it is moved */
		mor_buf_consume(&out->bytes, out->sent);
		out->sent = 0;
	}
	mark_out(run);
}

int mor_bot_out_put(struct mor_bot_run *run, struct mor_slice line)
{
	int r = mor_buf_slice(&run->out.bytes, line);

	run->out.bytes.status = 0; /* one line is lost, but not the lines after it */
	return r;
}

void mor_bot_out_drain(struct mor_bot_run *run)
{
	int64_t end = 0;

	mor_bot_out_flush(run);
	while (mor_bot_out_waiting(run) && !mor_out_broken(run->console) && mor_signals_count() < 2) {
		if (mor_signals_count() && !end)
			end = mor_clock_ms() + LAST_MS;
		if (end && mor_clock_ms() >= end)
			break;
		is_writable(LOOK_MS);
		mor_bot_out_flush(run);
	}
	if (mor_bot_out_waiting(run) && !mor_out_broken(run->console))
		mor_bot_tell(run, NULL, "lost", 0, "%zu bytes of calls that nobody has read",
			     mor_bot_out_waiting(run));
	mor_buf_fini(&run->out.bytes);
	run->out = (struct mor_bot_out){ 0 };
}
