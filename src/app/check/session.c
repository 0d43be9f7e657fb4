/* SPDX-License-Identifier: Apache-2.0 */
/* One process of the plugin, seen as raw bytes: what is written to it, what it writes, and how it ends. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/text.h"
#include "check/own.h"
#include "console/signals.h"
#include "policy/plan.h"

#define READ_BYTES        ((size_t)65536)
#define CHECK_FRAME_BYTES ((size_t)256 << 20)
#define PATIENCE_MS       10000 /* more, for a process that has not read yet what it was sent: it is starting */
#define TALK_LINES        40
#define TALK_BYTES        300 /* of one line */
#define PIECE_MS          250 /* a process that does not read gets the next piece after this time */
#define TICK_MS           100 /* signals and unread bytes are looked at this often; at first more often */

/* ---- evidence ---- */

void mor_check_note_talk(struct mor_check_session *s, char mark, struct mor_slice text)
{
	char line[TALK_BYTES];

	if (s->talk_lines++ < TALK_LINES)
		mor_buf_printf(&s->talk, "%c %s\n", mark, mor_printable(text, line, sizeof(line)));
	else if (s->talk_lines == TALK_LINES + 1)
		mor_buf_text(&s->talk, "# ... and more\n");
}

/* ---- writing ---- */

static uint64_t unread_bytes(const struct mor_check_session *s)
{
	if (s->queue.len > s->queue_done)
		return s->queue.len - s->queue_done;
	return s->ended || mor_proc_in(s->proc) < 0 ? 0 : mor_fd_unread(mor_proc_in(s->proc));
}

static void close_input(struct mor_check_session *s)
{
	mor_watch_stop(&s->in);
	mor_proc_close_in(s->proc);
	s->queue.len = s->queue_done = 0;
}

static void on_writable(struct mor_watch *watch, unsigned events)
{
	struct mor_check_session *s = mor_container_of(watch, struct mor_check_session, in);
	ssize_t n;

	(void)events;
	if (s->queue.len > s->queue_done) {
		n = mor_fd_write_nosignal(watch->fd, s->queue.data + s->queue_done,
					  s->queue.len - s->queue_done);
		if (n == -EAGAIN || n == -EINTR)
			return;
		if (n < 0) { /* it reads no more: its end, or its silence, will tell */
			close_input(s);
			return;
		}
		s->queue_done += (size_t)n;
	}
	if (s->queue_done < s->queue.len)
		return;
	s->queue.len = s->queue_done = 0;
	if (s->close_wanted)
		close_input(s);
	else
		mor_watch_stop(watch);
}

static void push_queue(struct mor_check_session *s)
{
	if (s->ended || s->holding || mor_proc_in(s->proc) < 0 || s->in.loop)
		return;
	if (s->queue.len > s->queue_done || s->close_wanted)
		mor_watch_start(s->run->loop, &s->in, mor_proc_in(s->proc), MOR_WRITABLE, on_writable);
}

void mor_check_send_raw(struct mor_check_session *s, struct mor_slice bytes)
{
	mor_check_note_talk(s, '>', bytes);
	mor_buf_slice(&s->queue, bytes);
	push_queue(s);
}

void mor_check_send(struct mor_check_session *s, struct mor_slice body)
{
	mor_check_note_talk(s, '>', body);
	mor_check_asks(s, body);
	mor_enframe(s->run->framing, body, &s->queue);
	push_queue(s);
}

static bool is_read(struct mor_check_session *s, void *arg)
{
	(void)arg;
	return unread_bytes(s) == 0;
}

void mor_check_send_split(struct mor_check_session *s, struct mor_slice body)
{
	MOR_CLEAN(mor_buf) struct mor_buf frame = MOR_BUF_INIT;
	size_t at = 0;

	mor_check_note_talk(s, '>', body);
	mor_check_asks(s, body);
	if (mor_enframe(s->run->framing, body, &frame) < 0)
		return;
	for (unsigned piece = 0; piece < 3; piece++) {
		size_t end = piece == 0 ? 1 : piece == 1 ? frame.len / 2 : frame.len;

		mor_buf_append(&s->queue, frame.data + at, end - at);
		push_queue(s);
		mor_check_wait(s, PIECE_MS, is_read, NULL);
		at = end;
	}
}

void mor_check_end_input(struct mor_check_session *s)
{
	mor_check_note_talk(s, '>', mor_slice_of("(end of stdin)"));
	s->holding = false;
	s->close_wanted = true;
	push_queue(s);
}

/* ---- reading ---- */

static void take_items(struct mor_check_session *s, bool at_eof)
{
	const char *at = s->got.data;
	size_t len = s->got.len;
	struct mor_item item = { 0 };
	enum mor_item_kind kind;
	char text[200];

	while ((kind = mor_deframe(&s->deframer, at, len, at_eof, &item)) != MOR_ITEM_MORE) {
		mor_excerpt(item.body, text, sizeof(text));
		s->headers |= kind == MOR_ITEM_FRAME && (*at | 0x20) == 'c';
		if (kind == MOR_ITEM_FRAME) {
			s->came = mor_framing_guess((struct mor_slice){ at, item.used });
			mor_check_see_frame(s, item.body);
		} else if (kind == MOR_ITEM_CORRUPT)
			mor_check_see_fault(s, MOR_CHECK_TRUNCATED, "%s: \"%s\"", item.why, text);
		else if (kind == MOR_ITEM_NOISE || kind == MOR_ITEM_TOO_BIG)
			mor_check_see_fault(s, MOR_CHECK_NOISE, "\"%s\"", text);
		at += item.used;
		len -= item.used;
		if (kind == MOR_ITEM_CORRUPT)
			len = 0;
		item = (struct mor_item){ 0 };
	}
	mor_buf_consume(&s->got, s->got.len - len);
}

/* False: there is nothing now, or nothing will come any more. */
static bool read_once(struct mor_check_session *s)
{
	ssize_t n;

	if (s->out_over || mor_buf_reserve(&s->got, READ_BYTES) < 0)
		return false;
	n = read(mor_proc_out(s->proc), s->got.data + s->got.len, READ_BYTES);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n > 0)
		s->got.len += (size_t)n;
	else
		s->out_over = true;
	take_items(s, s->out_over);
	return n > 0;
}

static void on_readable(struct mor_watch *watch, unsigned events)
{
	struct mor_check_session *s = mor_container_of(watch, struct mor_check_session, out);

	(void)events;
	read_once(s);
	if (s->out_over)
		mor_watch_stop(watch);
}

/* ---- events of the process ---- */

static void on_exec_failed(void *arg, const struct mor_exec_failure *failure)
{
	struct mor_check_session *s = arg;

	s->exec_failed = s->ended = s->out_over = true;
	snprintf(s->failure, sizeof(s->failure), "%s", failure->text);
}

static void on_stderr(void *arg, struct mor_slice line)
{
	mor_check_see_stderr(arg, line);
}

static void on_denied(void *arg, const struct mor_record *record)
{
	mor_check_see_fault(arg, MOR_CHECK_DENIED, "%.32s of %.300s was refused", record->syscall,
			    record->path);
}

/* A descendant may hold the pipe open: only what is there now is read. */
static void on_exited(void *arg, const struct mor_proc_exit *how)
{
	struct mor_check_session *s = arg;
	size_t most = (size_t)1 << 26;

	while (read_once(s) && most > READ_BYTES)
		most -= READ_BYTES;
	if (!s->out_over) {
		s->out_over = true;
		take_items(s, true);
	}
	s->ended = true;
	s->how = *how;
	mor_watch_stop(&s->out);
	mor_watch_stop(&s->in);
	mor_check_note_talk(s, '=', mor_slice_of(how->text));
}

static const struct mor_proc_events session_events = {
	.on_exec_failed = on_exec_failed,
	.on_stderr = on_stderr,
	.on_denied = on_denied,
	.on_exited = on_exited,
};

/* ---- life ---- */

int mor_check_session_open(struct mor_check_run *run, struct mor_check_session *s, mortise_error *err)
{
	struct mor_command command = { .argv = (const char *const *)run->argv,
				       .env = (const char *const *)run->env,
				       .cwd = run->opt->manifest->cwd,
				       .policy = &run->policy,
				       .no_shims = run->confined };
	struct mor_exec_failure failure = { 0 };
	int r;

	*s = (struct mor_check_session){ .run = run, .came = -1 };
	mor_deframer_init(&s->deframer, run->framing, CHECK_FRAME_BYTES,
			  run->dialect->life.shape == MOR_SHAPE_ONE_CALL ? MOR_DEFRAME_EOF_ENDS : 0);
	s->deframer.reads = run->dialect->link.reads;
	if ((r = mor_proc_start(run->loop, &command, &session_events, s, &s->proc, &failure)) < 0)
		return mor_fail(err, r, "%s", failure.text);
	run->processes++;
	r = mor_watch_start(run->loop, &s->out, mor_proc_out(s->proc), MOR_READABLE, on_readable);
	return r < 0 ? mor_fail(err, r, "%s", mortise_status_text(r)) : 0;
}

static void free_session(struct mor_check_session *s)
{
	mor_watch_stop(&s->in);
	mor_watch_stop(&s->out);
	s->proc = mor_proc_free(s->proc);
	for (size_t i = 0; i < s->messages; i++)
		mor_check_message_fini(&s->message[i]);
	mor_free(s->message);
	mor_free(s->asked);
	mor_buf_fini(&s->got);
	mor_buf_fini(&s->queue);
	mor_buf_fini(&s->talk);
}

#define CLOSE_MS 1000
void mor_check_session_close(struct mor_check_session *s)
{
	if (s->proc && !s->ended && !s->run->lingers && mor_signals_count() == 0) {
		s->close_wanted = true;
		s->holding = false;
		push_queue(s);
		if (!mor_check_wait_exit(s, CLOSE_MS))
			s->run->lingers = true; /* a row of its own judges this */
	}
	free_session(s);
}

/* ---- waiting ---- */

bool mor_check_wait(struct mor_check_session *s, uint32_t ms, mor_check_done_fn *done, void *arg)
{
	int64_t now = mor_clock_ms(), limit = now + ms, last = now + ms + PATIENCE_MS, tick = 1;

	while (!done(s, arg)) {
		now = mor_clock_ms();
		if (unread_bytes(s) && now + ms < last)
			limit = now + ms;
		if ((s->ended && s->out_over) || mor_signals_count() || now >= limit || now >= s->run->deadline)
			return false;
		mor_loop_wait(s->run->loop, (int)(limit - now < tick ? limit - now : tick));
		tick = tick * 2 < TICK_MS ? tick * 2 : TICK_MS;
	}
	return true;
}

static bool has_ended(struct mor_check_session *s, void *arg)
{
	(void)arg;
	return s->ended;
}

bool mor_check_wait_exit(struct mor_check_session *s, uint32_t ms)
{
	return mor_check_wait(s, ms, has_ended, NULL);
}

void mor_check_silence(struct mor_check_session *s, uint32_t ms, struct mor_buf *out)
{
	const char *last = s->proc ? mor_proc_last_stderr(s->proc) : "";
	char time[32], line[200];

	if (s->exec_failed)
		mor_buf_printf(out, "it could not be started: %s", s->failure);
	else if (s->ended)
		mor_buf_printf(out, "it %s", s->how.text);
	else if (s->out_over)
		mor_buf_text(out, "it closed its stdout");
	else
		mor_buf_printf(out, "nothing came in %s", mor_format_ms(ms, time));
	if (*last)
		mor_buf_printf(out, "; last stderr: \"%s\"",
			       mor_excerpt(mor_slice_of(last), line, sizeof(line)));
}
