/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stdio link: a process, a framing, the envelope scan. This is the hot path: one read per wake-up into
 * the loop's scratch block. Every whole frame is handed on as a slice of it, and everything queued in a turn
 * is written at once. Only incomplete data is copied into the link's own buffer, so an idle plugin has no
 * buffer.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/fd.h"
#include "link/intake.h"
#include "link/outgo.h"

/* number of answers; then the others have a turn: a plugin that sends too much delays nobody */
#define ITEMS_AT_ONCE 64
#define WRITE_AT_ONCE (128 * 1024) /* limit in bytes too: one write can hold thousands of notifications */
#define LUCK_MAX      8            /* early reads that may fail in a row before they are given up */
#define LUCK_AGAIN    64           /* after that, one is tried again after so many writes */

struct stdio_link {
	struct mor_link link; /* must be first */
	const struct mor_link_options *opt;
	struct mor_proc *proc;
	struct mor_watch in, out;
	struct mor_task flush;
	struct mor_intake intake;
	struct mor_outgo outgo;
	struct mor_grave grave;
	int lost; /* -ENOMEM: half a message has been written, and the memory of the rest is gone */
	unsigned luck, unlucky;
	struct mor_spin spin;
	uint64_t last_bytes; /* what the pipe held when the process ended, minus what was read since */
	bool started, close_wanted, in_closed, in_enlarged, out_enlarged;
	bool out_closed; /* nothing more is read; some of it may not be handed on yet */
	bool exited;
};

static struct stdio_link *self(struct mor_link *link)
{
	return mor_container_of(link, struct stdio_link, link);
}

/* The kernel may refuse an unprivileged user (pipe quota): then the size stays. */
static void enlarge(int fd, bool *done)
{
	if (!*done)
		(void)fcntl(fd, F_SETPIPE_SZ, MOR_LOOP_PIPE);
	*done = true;
}

/* ---- reading ---- */

/* A message over 4 MiB gets a block that grows without a copy. */
static size_t room_for(const struct mor_buf *pending, size_t room)
{
	bool jumps = pending->len > 4 * MOR_LOOP_PIPE && pending->cap < MOR_BUF_MAPPED;

	return jumps ? MOR_BUF_MAPPED - pending->len : room;
}

/* One read. Bytes read, 0 at the end, -1: nothing there. */
static ssize_t read_once(struct stdio_link *s)
{
	bool direct = s->intake.pending.len == 0;
	size_t room = MOR_LOOP_SCRATCH;
	char *into = direct ? mor_loop_scratch(s->link.loop) : NULL;
	ssize_t n;

	if (!direct) {
		if (s->intake.pending.len >= MOR_LOOP_SCRATCH) {
			enlarge(mor_proc_out(s->proc), &s->out_enlarged);
			room = MOR_LOOP_BITE;
		}
		if (mor_buf_reserve(&s->intake.pending, room_for(&s->intake.pending, room)) == 0)
			into = s->intake.pending.data + s->intake.pending.len;
	}
	if (!into) {
		mor_intake_out_of_memory(&s->intake);
		return -1;
	}
	do
		n = read(mor_proc_out(s->proc), into, room);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return n < 0 && errno == EAGAIN ? -1 : 0;
	s->out.taken += (uint64_t)n;
	if (direct) {
		mor_intake_take(&s->intake, into, (size_t)n);
	} else {
		s->intake.pending.len += (size_t)n;
		mor_intake_resume(&s->intake, false);
	}
	return n;
}

/* Nothing more is read. Pending bytes are handed on, as far as allowed at once. */
static void close_out(struct stdio_link *s)
{
	s->out_closed = true;
	mor_watch_change(&s->out, 0); /* it may be called again until everything is handed on */
	if (s->intake.pending.len)
		mor_intake_resume(&s->intake, true);
}

/* Everything that it will ever send has been handed on. */
static void out_is_over(struct stdio_link *s)
{
	mor_watch_stop(&s->out);
	if (!s->exited)
		s->link.events->on_broken(s->link.arg, "closed its stdout");
}

/* One step: bytes read before, or one read. false: nothing to do until there is something to read. */
static bool bite(struct stdio_link *s)
{
	ssize_t n = 1;

	if (s->intake.more)
		mor_intake_resume(&s->intake, s->out_closed);
	else if (!s->out_closed)
		n = read_once(s);
	if (n == 0 && !s->intake.dead)
		close_out(s);
	return s->intake.more && !s->intake.dead && !s->intake.paused;
}

static void drain(struct stdio_link *s);

static void on_readable(struct mor_watch *watch, unsigned events)
{
	struct stdio_link *s = mor_container_of(watch, struct stdio_link, out);

	(void)events;
	if (!s->started || s->intake.paused) /* a hang-up; it will still be there when the pause is over */
		return;
	if (s->exited) {
		drain(s);
	} else if (bite(s)) {
		mor_loop_charge(s->link.loop, ITEMS_AT_ONCE / 4);
		mor_watch_again(watch);
	} else if (s->out_closed && !s->intake.dead && !s->intake.more) {
		out_is_over(s);
	}
}

/* ---- writing ---- */

static void on_writable(struct mor_watch *watch, unsigned events);

static void close_in_now(struct stdio_link *s)
{
	s->in_closed = true;
	mor_watch_stop(&s->in);
	mor_proc_close_in(s->proc);
	mor_loop_refresh_now(s->link.loop); /* a grace time counts from here: rather too late than too early */
	s->link.closed = true;
	s->link.closed_ms = mor_loop_due_ms(s->link.loop, 0);
}

static void broken_input(struct stdio_link *s)
{
	s->link.input_broken = true;
	close_in_now(s);
	mor_outgo_reset(&s->outgo, 0);
	s->link.events->on_broken(s->link.arg, "closed its stdin");
}

static void write_queue(struct stdio_link *s)
{
	struct mor_slice left = mor_outgo_next(&s->outgo);
	ssize_t n;

	/* After its exit nobody reads any more. Its end reports that, when its last bytes have been read. */
	if (s->intake.dead || s->in_closed || s->exited)
		return;
	if (left.len > MOR_OUTGO_KEEP)
		enlarge(mor_proc_in(s->proc), &s->in_enlarged);
	if (left.len > WRITE_AT_ONCE)
		left.len = WRITE_AT_ONCE;
	if (left.len && s->opt->ordered)
		s->link.older = s->out.taken + mor_fd_unread(mor_proc_out(s->proc));
	n = left.len ? mor_fd_write_nosignal(mor_proc_in(s->proc), left.ptr, left.len) : s->lost;
	if (n < 0 && n != -EAGAIN && n != -EINTR) {
		broken_input(s);
		return;
	}
	if (n > 0) {
		mor_outgo_written(&s->outgo, (size_t)n);
		s->link.written += (uint64_t)n;
	}
	if (!mor_outgo_is_empty(&s->outgo)) {
		if (!s->in.loop &&
		    mor_watch_start(s->link.loop, &s->in, mor_proc_in(s->proc), MOR_WRITABLE, on_writable) < 0)
			broken_input(s);
	} else {
		mor_outgo_reset(&s->outgo, MOR_OUTGO_KEEP);
		if (s->in.loop) /* seldom */
			mor_watch_stop(&s->in);
		if (s->close_wanted)
			close_in_now(s);
	}
	if (n > 0 || n == -EAGAIN)
		s->link.events->on_written(s->link.arg, s->link.written);
}

static void on_writable(struct mor_watch *watch, unsigned events)
{
	(void)events;
	write_queue(mor_container_of(watch, struct stdio_link, in));
}

/* On one core the plugin has often run, answered and gone to sleep again when our write returns: then the
 * answer is read at once and the wait is saved. If it runs on another core, it has not, and we learn that; then
 * the wait may begin with a spin. */
static void read_early(struct stdio_link *s)
{
	if (s->intake.dead || s->out_closed || s->intake.paused || s->outgo.queue.len || s->intake.more ||
	    s->exited)
		return;
	if (s->luck == 0 && ++s->unlucky < LUCK_AGAIN) {
		mor_loop_expect(s->link.loop, &s->out, &s->spin);
		return;
	}
	s->unlucky = 0;
	if (read_once(s) > 0) {
		s->luck = LUCK_MAX;
	} else {
		s->luck -= s->luck > 0;
		if (!s->intake.dead)
			mor_loop_expect(s->link.loop, &s->out, &s->spin);
	}
	if (s->intake.more && !s->intake.dead && !s->intake.paused)
		mor_watch_again(&s->out);
}

static void on_flush(struct mor_task *task)
{
	struct stdio_link *s = mor_container_of(task, struct stdio_link, flush);

	write_queue(s);
	read_early(s);
}

/* ---- operations ---- */

/* May a message of this size be queued? */
static inline int check_send(const struct stdio_link *s, size_t len)
{
	if (s->intake.dead || s->in_closed || s->close_wanted || s->lost)
		return MORTISE_ECLOSED;
	return mor_outgo_check(&s->outgo, len);
}

static void was_queued(struct stdio_link *s, uint64_t bytes)
{
	s->link.queued += bytes;
	if (!s->in.loop)
		mor_loop_post(s->link.loop, &s->flush, on_flush);
}

/* The hot path. */
static int stdio_send_request(struct mor_link *link, const struct mor_outgoing *request)
{
	struct stdio_link *s = self(link);
	uint64_t bytes;
	int r = check_send(s, request->len);

	if (r == 0)
		r = mor_outgo_add_request(&s->outgo, request, &bytes);
	if (r == 0)
		was_queued(s, bytes);
	return r;
}

static int stdio_send(struct mor_link *link, struct mor_slice body)
{
	struct stdio_link *s = self(link);
	uint64_t bytes;
	int r = check_send(s, body.len);

	if (r == 0)
		r = mor_outgo_add(&s->outgo, body, &bytes);
	if (r == 0)
		was_queued(s, bytes);
	return r;
}

static bool stdio_takes_large(struct mor_link *link)
{
	return mor_outgo_takes_large(&self(link)->outgo);
}

static int stdio_send_large(struct mor_link *link, struct mor_slice head, struct mor_large *part)
{
	struct stdio_link *s = self(link);
	uint64_t bytes;
	int r = check_send(s, head.len + part->bytes.len + 1);

	if (r == 0)
		r = mor_outgo_add_large(&s->outgo, head, part, &bytes);
	if (r == 0)
		was_queued(s, bytes);
	return r;
}

static void stdio_disown(struct mor_link *link)
{
	struct stdio_link *s = self(link);

	if (s->exited) /* nobody reads the rest */
		mor_outgo_reset(&s->outgo, 0);
	if (mor_outgo_own(&s->outgo) == 0)
		return;
	mor_outgo_reset(&s->outgo, 0);
	s->lost = -ENOMEM; /* told from the loop, as if the pipe were broken */
	mor_loop_post(link->loop, &s->flush, on_flush);
}

static void stdio_close_input(struct mor_link *link)
{
	struct stdio_link *s = self(link);

	if (s->intake.dead || s->in_closed)
		return;
	if (s->close_wanted) {
		mor_outgo_reset(&s->outgo, 0);
		close_in_now(s);
		return;
	}
	s->close_wanted = true;
	if (!s->in.loop)
		mor_loop_post(link->loop, &s->flush, on_flush);
}

static void stdio_pause(struct mor_link *link, bool on)
{
	struct stdio_link *s = self(link);

	if (s->intake.dead || s->exited || s->intake.paused == on)
		return;
	s->intake.paused = on;
	if (!s->out.loop)
		return;
	if (!s->out_closed)
		mor_watch_change(&s->out, on || !s->started ? 0 : MOR_READABLE);
	/* Bytes that were read but held back are handed on from the loop, not from inside this call. */
	if (!on && s->started)
		mor_watch_again(&s->out);
}

static void stdio_order(struct mor_link *link, enum mor_order order)
{
	if (self(link)->proc && !self(link)->intake.dead)
		mor_proc_order(self(link)->proc, order);
}

static uint64_t stdio_unread(struct mor_link *link)
{
	struct stdio_link *s = self(link);

	return s->proc && !s->in_closed && !s->intake.dead ? mor_fd_unread(mor_proc_in(s->proc)) : 0;
}

static void stdio_look(struct mor_link *link, struct mor_link_look *ret)
{
	struct stdio_link *s = self(link);
	const struct mor_buf *pending = &s->intake.pending;

	*ret = (struct mor_link_look){ .last_stderr = "", .doing = { .fd = -1 } };
	if (!s->proc || s->intake.dead)
		return;
	ret->unread = stdio_unread(link);
	if (!s->intake.more && pending->len > s->intake.done)
		ret->rest = (struct mor_slice){ pending->data + s->intake.done, pending->len - s->intake.done };
	ret->paused = s->intake.paused;
	ret->last_stderr = mor_proc_last_stderr(s->proc);
	ret->doing = *mor_proc_doing(s->proc);
}

static bool stdio_is_over(struct mor_link *link)
{
	struct stdio_link *s = self(link);

	return s->proc && s->started && mor_proc_is_over(s->proc);
}

static int stdio_set_view(struct mor_link *link, struct mor_slice texts)
{
	struct stdio_link *s = self(link);

	return s->proc && s->started && !s->intake.dead ? mor_proc_set_view(s->proc, texts) : MORTISE_ECLOSED;
}

static void free_link(struct mor_grave *grave)
{
	struct stdio_link *s = mor_container_of(grave, struct stdio_link, grave);

	mor_intake_fini(&s->intake);
	mor_outgo_reset(&s->outgo, 0);
	mor_free(s);
}

static void stdio_free(struct mor_link *link)
{
	struct stdio_link *s = self(link);

	s->intake.dead = true;
	mor_watch_stop(&s->in);
	mor_watch_stop(&s->out);
	mor_task_stop(&s->flush);
	s->proc = mor_proc_free(s->proc);
	mor_loop_free_later(link->loop, &s->grave, free_link);
}

/* ---- the process's events ---- */

/* No event may come before this, so its earlier output is read only now. */
static void on_started(void *arg, int pid)
{
	struct stdio_link *s = arg;

	s->started = true;
	s->link.level = mor_proc_level(s->proc);
	s->link.rung = mor_proc_rung(s->proc);
	mor_watch_change(&s->out, s->intake.paused ? 0 : MOR_READABLE);
	s->link.events->on_started(s->link.arg, pid);
}

/* The plugin is dead, but its last bytes are in the pipe: only those from the time of its death, because a
 * descendant may write for ever. In slices, like everything that is read. */
static void drain(struct stdio_link *s)
{
	struct mor_link_end end;

	while (!s->intake.dead && (s->intake.more || !s->out_closed)) {
		uint64_t before = s->out.taken;
		bool reads = !s->intake.more;

		if (mor_loop_spent(s->link.loop)) {
			mor_watch_again(&s->out);
			return;
		}
		bite(s);
		s->last_bytes -= s->out.taken - before < s->last_bytes ? s->out.taken - before : s->last_bytes;
		/* The pipe is empty, or later bytes come from another process. */
		if (reads && (!s->last_bytes || s->out.taken == before) && !s->intake.dead && !s->out_closed)
			close_out(s);
		mor_loop_charge(s->link.loop, ITEMS_AT_ONCE / 4);
	}
	if (s->intake.dead)
		return;
	if (s->out.loop)
		out_is_over(s);
	mor_link_describe_end(s->proc, &end);
	s->link.events->on_end(s->link.arg, &end);
}

/* A pause ends here; nothing more will come. How it ended is asked for when everything has been read. */
static void on_exited(void *arg, const struct mor_proc_exit *how)
{
	struct stdio_link *s = arg;

	(void)how;
	s->exited = true;
	s->intake.paused = false;
	s->last_bytes = s->out_closed ? 0 : mor_fd_unread(mor_proc_out(s->proc));
	drain(s);
}

static const struct mor_proc_events proc_events = {
	.on_started = on_started,
	.on_exec_failed = mor_link_tell_exec_failed,
	.on_stderr = mor_link_tell_stderr,
	.on_denied = mor_link_tell_denied,
	.on_exited = on_exited,
	.on_view = mor_link_tell_view,
};

static int stdio_start(struct mor_link *link, mortise_error *err)
{
	struct stdio_link *s = self(link);
	int r = mor_link_start_process(link, s->opt->command, &proc_events, &s->proc, err);

	if (r < 0)
		return r;
	r = mor_watch_start(link->loop, &s->out, mor_proc_out(s->proc), 0, on_readable);
	return r < 0 ? mor_fail_errno(err, r, errno, "watching stdout") : 0;
}

static const struct mor_link_ops ops = {
	.start = stdio_start,
	.send = stdio_send,
	.takes_large = stdio_takes_large,
	.send_large = stdio_send_large,
	.disown = stdio_disown,
	.send_request = stdio_send_request,
	.close_input = stdio_close_input,
	.pause = stdio_pause,
	.order = stdio_order,
	.unread = stdio_unread,
	.look = stdio_look,
	.is_over = stdio_is_over,
	.set_view = stdio_set_view,
	.free = stdio_free,
};

int mor_link_stdio_new(struct mor_loop *loop, const struct mor_link_options *opt,
		       const struct mor_link_events *events, void *arg, struct mor_link **ret)
{
	struct stdio_link *s = mor_zalloc(sizeof(*s));

	if (!s)
		return MORTISE_ENOMEM;
	s->link = (struct mor_link){ .ops = &ops, .events = events, .arg = arg, .loop = loop };
	s->opt = opt;
	s->outgo.opt = opt;
	s->luck = LUCK_MAX;
	mor_intake_init(&s->intake, &s->link, opt);
	s->intake.slice = ITEMS_AT_ONCE;
	s->out.counts = true;
	*ret = &s->link;
	return 0;
}
