/* SPDX-License-Identifier: Apache-2.0 */
#include "script.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

struct script_link *script_now;
int script_starts;
struct script_trouble script_trouble;

void script_reset(void)
{
	script_now = NULL;
	script_starts = 0;
	script_trouble = (struct script_trouble){ 0 };
}

static struct script_link *self(struct mor_link *link)
{
	return mor_container_of(link, struct script_link, link);
}

/* ---- tasks ---- */

static void on_announce(struct mor_task *task)
{
	struct script_link *s = mor_container_of(task, struct script_link, announce);

	s->link.events->on_started(s->link.arg, 4242);
}

static void on_flush(struct mor_task *task)
{
	struct script_link *s = mor_container_of(task, struct script_link, flush);

	if (!s->stuck)
		s->link.written = s->link.queued;
	s->link.events->on_written(s->link.arg, s->link.written);
}

static void deliver_bytes(struct script_link *s)
{
	struct mor_buf bytes = s->bytes;

	s->bytes = (struct mor_buf)MOR_BUF_INIT;
	if (s->intake.pending.len) {
		mor_buf_slice(&s->intake.pending, mor_buf_view(&bytes));
		mor_intake_resume(&s->intake, false);
	} else {
		mor_intake_take(&s->intake, bytes.data, bytes.len);
	}
	mor_buf_fini(&bytes);
}

static void on_act(struct mor_task *task)
{
	struct script_link *s = mor_container_of(task, struct script_link, act);

	if (s->bytes.len)
		deliver_bytes(s);
	if (!s->freed && s->has_stderr) {
		s->has_stderr = false;
		s->link.events->on_stderr(s->link.arg, mor_slice_of(s->stderr_line));
	}
	if (!s->freed && (s->closes_stdout || s->ends) && s->intake.pending.len)
		mor_intake_resume(&s->intake, true);
	if (!s->freed && s->closes_stdout && !s->ends) {
		s->closes_stdout = false;
		s->link.events->on_broken(s->link.arg, "closed its stdout");
	}
	if (!s->freed && s->link.input_broken && !s->input_closed && !s->ends) {
		s->input_closed = s->link.closed = true;
		s->link.closed_ms = mor_loop_now_ms(s->link.loop);
		s->link.events->on_broken(s->link.arg, "closed its stdin");
	}
	if (!s->freed && s->ends)
		s->link.events->on_end(s->link.arg, &s->end);
}

static void act(struct script_link *s)
{
	mor_loop_post(s->link.loop, &s->act, on_act);
}

/* ---- operations ---- */

static int script_start(struct mor_link *link, mortise_error *err)
{
	if (script_trouble.times > 0 && script_trouble.error.code) {
		script_trouble.times--;
		*err = script_trouble.error;
		return err->code;
	}
	self(link)->started = true;
	mor_loop_post(link->loop, &self(link)->announce, on_announce);
	return 0;
}

static int script_send(struct mor_link *link, struct mor_slice body)
{
	struct script_link *s = self(link);
	size_t limit = s->opt->send_limit ? s->opt->send_limit : s->opt->frame_limit;

	if (s->input_closed)
		return MORTISE_ECLOSED;
	if (limit && body.len > limit)
		return MORTISE_ELIMIT;
	if (s->opt->queue_limit && link->queued > link->written &&
	    link->queued - link->written + body.len > s->opt->queue_limit)
		return MORTISE_EOVERLOAD;
	mor_buf_append(&s->sent, &body.len, sizeof(body.len));
	mor_buf_slice(&s->sent, body);
	link->queued += body.len;
	mor_loop_post(link->loop, &s->flush, on_flush);
	return s->sent.status;
}

static void script_close_input(struct mor_link *link)
{
	self(link)->input_closed = true;
	link->closed = true;
	link->closed_ms = mor_loop_now_ms(link->loop);
}

static void script_pause(struct mor_link *link, bool on)
{
	self(link)->intake.paused = on;
}

static void script_order(struct mor_link *link, enum mor_order order)
{
	if (!self(link)->terminated && !self(link)->killed)
		self(link)->signalled_ms = mor_loop_now_ms(link->loop);
	if (order == MOR_ORDER_TERM)
		self(link)->terminated = true;
	else
		self(link)->killed = true;
}

static void free_memory(struct mor_grave *grave)
{
	struct script_link *s = mor_container_of(grave, struct script_link, grave);

	mor_intake_fini(&s->intake);
	mor_buf_fini(&s->sent);
	mor_buf_fini(&s->bytes);
	mor_free(s);
}

static void script_free(struct mor_link *link)
{
	struct script_link *s = self(link);

	s->freed = s->intake.dead = true;
	mor_task_stop(&s->announce);
	mor_task_stop(&s->flush);
	mor_task_stop(&s->act);
	if (script_now == s)
		script_now = NULL;
	mor_loop_free_later(link->loop, &s->grave, free_memory);
}

static const struct mor_link_ops ops = {
	.start = script_start,
	.send = script_send,
	.close_input = script_close_input,
	.pause = script_pause,
	.order = script_order,
	.free = script_free,
};

int script_link_new(struct mor_loop *loop, const struct mor_link_options *opt,
		    const struct mor_link_events *events, void *arg, struct mor_link **ret)
{
	struct script_link *s;

	if (script_trouble.times > 0 && script_trouble.make) {
		script_trouble.times--;
		return script_trouble.make;
	}
	s = mor_zalloc(sizeof(*s));
	if (!s)
		return MORTISE_ENOMEM;
	s->link = (struct mor_link){ .ops = &ops, .events = events, .arg = arg, .loop = loop };
	s->opt = opt;
	mor_intake_init(&s->intake, &s->link, opt);
	script_now = s;
	script_starts++;
	*ret = &s->link;
	return 0;
}

/* ---- for the test ---- */

struct script_link *script_of(const mortise_plugin *plugin)
{
	return self(plugin->life.link);
}

bool script_unclaimed(const struct script_link *s)
{
	return s->sent.len > 0;
}

bool script_claim(struct script_link *s, struct mor_slice *ret_body)
{
	static char body[1 << 20];
	size_t len;

	if (!s->sent.len)
		return false;
	memcpy(&len, s->sent.data, sizeof(len));
	if (len > sizeof(body))
		return false;
	memcpy(body, s->sent.data + sizeof(len), len);
	mor_buf_consume(&s->sent, sizeof(len) + len);
	*ret_body = (struct mor_slice){ body, len };
	return true;
}

void script_deliver(struct script_link *s, struct mor_slice bytes)
{
	mor_buf_slice(&s->bytes, bytes);
	act(s);
}

void script_stderr(struct script_link *s, struct mor_slice line)
{
	snprintf(s->stderr_line, sizeof(s->stderr_line), "%.*s", (int)line.len, line.ptr);
	s->has_stderr = true;
	act(s);
}

void script_close_stdout(struct script_link *s)
{
	s->closes_stdout = true;
	act(s);
}

void script_break_stdin(struct script_link *s)
{
	s->link.input_broken = true;
	act(s);
}

void script_end(struct script_link *s, const struct mor_link_end *end)
{
	s->ends = true;
	s->end = *end;
	act(s);
}
