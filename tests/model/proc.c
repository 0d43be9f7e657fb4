/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that exists as a link only. It obeys link.h to the letter, as the stdio link does: events come from
 * the loop, the end comes once and after everything that was written, SIGKILL is always followed by the end.
 * All else is the script's.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "model.h"

static struct proc *self(struct mor_link *link)
{
	return mor_container_of(link, struct proc, link);
}

/* ---- stdin ---- */

static void close_in_now(struct proc *p)
{
	p->in_closed = p->link.closed = true;
	p->link.closed_ms = mor_loop_now_ms(p->link.loop);
	if ((p->manners & HEEDS_EOF) && !p->ends) {
		p->ends = true;
		p->end_kind = 0;
		proc_act(p);
	}
}

static void written(struct proc *p, uint64_t total)
{
	if (p->in_closed || p->dead || total < p->link.written)
		return;
	p->link.written = total < p->link.queued ? total : p->link.queued;
	p->taken_ms = mor_loop_now_ms(p->link.loop);
	call_written(p);
	if (p->link.written == p->link.queued && p->close_wanted)
		close_in_now(p);
	mouth_answer_duties(p);
	p->link.events->on_written(p->link.arg, p->link.written);
}

static void on_flush(struct mor_task *task)
{
	struct proc *p = mor_container_of(task, struct proc, flush);
	uint64_t total = p->slow && p->may_take < p->link.queued ? p->may_take : p->link.queued;

	if (total > p->link.written)
		written(p, total);
	else if (p->link.written == p->link.queued && p->close_wanted && !p->in_closed)
		close_in_now(p);
	else if (p->link.written < p->link.queued && !p->in_closed && !p->dead)
		p->link.events->on_written(p->link.arg, p->link.written); /* its pipe is full */
}

void proc_take(struct proc *p, size_t bytes)
{
	p->may_take = p->link.written + bytes;
	if (!p->in_closed)
		mor_loop_post(p->link.loop, &p->flush, on_flush);
}

/* ---- what it does, from the loop ---- */

static void deliver(struct proc *p)
{
	size_t some = p->drip && p->drip < p->out.len ? p->drip : p->out.len;
	struct mor_buf bytes = p->out;

	p->out = (struct mor_buf)MOR_BUF_INIT;
	if (some < bytes.len)
		mor_buf_append(&p->out, bytes.data + some, bytes.len - some);
	if (!p->stdout_shut) {
		p->heard_ms = mor_loop_now_ms(p->link.loop);
		if (p->intake.pending.len) {
			mor_buf_append(&p->intake.pending, bytes.data, some);
			mor_intake_resume(&p->intake, false);
		} else {
			mor_intake_take(&p->intake, bytes.data, some);
		}
	}
	mor_buf_fini(&bytes);
}

static void shut_stdout(struct proc *p)
{
	p->stdout_shut = true;
	p->shuts_stdout = false;
	if (p->intake.pending.len)
		mor_intake_resume(&p->intake, true);
	if (!p->dead)
		p->link.events->on_broken(p->link.arg, "closed its stdout");
}

static void break_stdin(struct proc *p)
{
	p->breaks_stdin = false;
	if (p->in_closed)
		return;
	p->link.input_broken = true;
	p->in_closed = p->link.closed = true;
	p->link.closed_ms = mor_loop_now_ms(p->link.loop);
	p->link.events->on_broken(p->link.arg, "closed its stdin");
}

static const struct mor_link_end ends[] = {
	{ .known = true, .clean = true, .text = "exited with status 0" },
	{ .known = true, .status = 3, .text = "exited with status 3" },
	{ .known = true,
	  .by_signal = true,
	  .status = SIGSEGV,
	  .text = "killed by SIGSEGV",
	  .last_stderr = "boom" },
	{ .text = "ended; its status is unknown" },
	{ .violation = true,
	  .known = true,
	  .by_signal = true,
	  .status = SIGKILL,
	  .text = "broke its sandbox",
	  .syscall = "openat",
	  .path = "/etc/shadow",
	  .rule = "read" },
	{ .start_code = MORTISE_EEXEC, .os_errno = ENOENT, .text = "cannot be started: no such file" },
	{ .start_code = MORTISE_ESYSTEM,
	  .os_errno = EAGAIN,
	  .text = "cannot be started: no process can be made" },
	{ .known = true, .by_signal = true, .status = SIGKILL, .text = "killed by SIGKILL" },
};

static void end(struct proc *p)
{
	const struct mor_link_end *how = &ends[p->killed && !p->end_kind ? 7 : p->end_kind % 8];

	p->intake.paused = false;
	p->drip = 0;
	if (p->intake.pending.len && !p->stdout_shut)
		mor_intake_resume(&p->intake, false);
	if (!p->dead && p->out.len)
		deliver(p);
	if (!p->dead && p->intake.pending.len && !p->stdout_shut)
		mor_intake_resume(&p->intake, true);
	if (!p->dead)
		p->link.events->on_end(p->link.arg, how);
}

static void answer_view(struct proc *p)
{
	mortise_error error;
	bool bad = p->views & 1;

	p->views--;
	if (bad)
		mor_fail(&error, MORTISE_ENOTFOUND, "no such stage");
	p->link.events->on_view(p->link.arg, bad ? &error : NULL);
}

static void on_act(struct mor_task *task)
{
	struct proc *p = mor_container_of(task, struct proc, act);
	bool starting = p->ends && ends[p->end_kind % 8].start_code;

	if (!p->announced && !starting && !p->killed && p->end_kind != 3)
		return;
	if (!p->intake.paused && p->intake.pending.len && !p->stdout_shut)
		mor_intake_resume(&p->intake, false);
	if (!p->dead && !p->intake.paused && p->out.len && p->announced)
		deliver(p);
	if (!p->dead && p->views)
		answer_view(p);
	if (!p->dead && p->stderr_waits) {
		p->stderr_waits = false;
		p->link.events->on_stderr(p->link.arg, MOR_SLICE("a line\x01 of stderr"));
	}
	if (!p->dead && p->breaks_stdin)
		break_stdin(p);
	if (!p->dead && p->shuts_stdout && !p->ends && !p->out.len && !p->intake.paused)
		shut_stdout(p);
	if (!p->dead && p->ends)
		end(p);
}

void proc_act(struct proc *p)
{
	mor_loop_post(p->link.loop, &p->act, on_act);
}

static void on_announce(struct mor_task *task)
{
	struct proc *p = mor_container_of(task, struct proc, announce);

	p->announced = true;
	p->link.level = "guarded";
	p->link.rung = "subreaper";
	p->link.events->on_started(p->link.arg, 4242);
	if (p->dead)
		return;
	if (p->manners & GREETS)
		mouth_greet(p);
	proc_act(p);
}

/* ---- what the host orders ---- */

static int proc_start(struct mor_link *link, mortise_error *err)
{
	struct proc *p = self(link);
	struct place *place = p->place;
	unsigned lack = place->lack_count ? place->lack : 0;

	if (place->lack_count)
		place->lack_count--;
	switch (lack) {
	case 1:
		return mor_fail(err, MORTISE_EEXEC, "no such file");
	case 2:
		mor_fail(err, MORTISE_ESYSTEM, "pipe: too many open files");
		if (err)
			err->os_errno = EMFILE;
		return MORTISE_ESYSTEM;
	case 3:
	case 4:
	case 5:
		p->ends = true;
		p->end_kind = lack == 3 ? 5 : lack == 4 ? 6 : 3;
		proc_act(p);
		return 0;
	default:
		mor_loop_post(link->loop, &p->announce, on_announce);
		return 0;
	}
}

static int proc_send(struct mor_link *link, struct mor_slice body)
{
	struct proc *p = self(link);
	size_t limit = p->opt->send_limit ? p->opt->send_limit : p->opt->frame_limit;
	uint64_t waiting = link->queued - link->written;

	if (!p->announced)
		model_fault("a message was sent to a process that has not been told as started");
	if (p->in_closed || p->close_wanted)
		return MORTISE_ECLOSED;
	if (limit && body.len > limit)
		return MORTISE_ELIMIT;
	if (p->opt->queue_limit && waiting && waiting + body.len > p->opt->queue_limit)
		return MORTISE_EOVERLOAD;
	link->queued += body.len + 1;
	mouth_listen(p, body);
	mor_loop_post(link->loop, &p->flush, on_flush);
	return 0;
}

static void proc_close_input(struct mor_link *link)
{
	struct proc *p = self(link);

	if (p->in_closed)
		return;
	if (p->close_wanted)
		close_in_now(p);
	p->close_wanted = true;
	mor_loop_post(link->loop, &p->flush, on_flush);
}

static void proc_pause(struct mor_link *link, bool on)
{
	self(link)->intake.paused = on;
	if (!on)
		proc_act(self(link));
}

static void proc_order(struct mor_link *link, enum mor_order order)
{
	struct proc *p = self(link);

	if (order == MOR_ORDER_KILL && !p->killed) {
		p->killed = true;
		p->ends |= p->lingers == 0;
	} else if (order == MOR_ORDER_TERM && (p->manners & HEEDS_TERM) && !p->ends) {
		p->ends = true;
		p->end_kind = 1;
	}
	if (p->ends)
		proc_act(p);
}

void proc_tick(struct proc *p)
{
	if (p->killed && !p->ends && p->lingers-- <= 1) {
		p->ends = true;
		proc_act(p);
	}
}

static int proc_set_view(struct mor_link *link, struct mor_slice texts)
{
	struct proc *p = self(link);

	if (!texts.len)
		model_fault("an empty order for a view");
	if (!p->announced)
		return MORTISE_ECLOSED;
	p->views++;
	if (p->views > 1)
		model_fault("a second view was ordered while one is under way");
	proc_act(p);
	return 0;
}

static void free_memory(struct mor_grave *grave)
{
	struct proc *p = mor_container_of(grave, struct proc, grave);

	mor_intake_fini(&p->intake);
	mor_buf_fini(&p->out);
	mor_free(p);
}

static void proc_free(struct mor_link *link)
{
	struct proc *p = self(link);

	if (p->dead)
		model_fault("a link is freed twice");
	p->dead = p->intake.dead = true;
	mor_task_stop(&p->announce);
	mor_task_stop(&p->flush);
	mor_task_stop(&p->act);
	for (unsigned i = 0; i < world.open_count; i++)
		if (world.calls[world.open[i]].proc == p)
			world.calls[world.open[i]].proc = NULL;
	if (p->place->proc == p)
		p->place->proc = NULL;
	mor_loop_free_later(link->loop, &p->grave, free_memory);
}

static const struct mor_link_ops ops = {
	.start = proc_start,
	.send = proc_send,
	.close_input = proc_close_input,
	.pause = proc_pause,
	.order = proc_order,
	.set_view = proc_set_view,
	.free = proc_free,
};

int proc_new(struct mor_loop *loop, const struct mor_link_options *opt, const struct mor_link_events *events,
	     void *arg, struct mor_link **ret)
{
	struct place *place = place_of(arg);
	struct proc *p;

	if (!place)
		model_fault("a process is started for a plugin that was released");
	if (place->proc)
		model_fault("a second process is started beside the first");
	if (place->lack_count && place->lack == 6) {
		place->lack_count--;
		return MORTISE_ENOMEM;
	}
	p = mor_zalloc(sizeof(*p));
	if (!p)
		return MORTISE_ENOMEM;
	p->link = (struct mor_link){ .ops = &ops, .events = events, .arg = arg, .loop = loop };
	p->opt = opt;
	p->place = place;
	p->manners = world.draining ? ALL_MANNERS : place->manners;
	place->proc = p;
	mor_intake_init(&p->intake, &p->link, opt);
	*ret = &p->link;
	return 0;
}

void proc_behave(struct proc *p)
{
	p->manners = ALL_MANNERS;
	p->slow = false;
	p->drip = 0;
	p->lingers = 0;
	p->ends |= p->killed || (p->in_closed && !p->link.input_broken);
	mouth_answer_duties(p);
	if (p->announced && !p->in_closed)
		mor_loop_post(p->link.loop, &p->flush, on_flush);
	proc_act(p);
}
