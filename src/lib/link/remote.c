/* SPDX-License-Identifier: Apache-2.0 */
/* The gRPC link: its operations, the events of its process, and its end. See remote.h. */
#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "link/remote.h"
#include "policy/policy.h"

#define AFTER_EXIT_MS \
	1000 /* after the exit: what the socket still holds is read, but a descendant may hold it open */

/* ---- the end ---- */

static void tell_end(struct mor_remote *s)
{
	struct mor_link_end end;
	size_t len;

	mor_remote_stop_waiting(s);
	mor_watch_stop(&s->out);
	mor_remote_end_stdio(s);
	mor_link_describe_end(s->proc, &end);
	if (s->phase == MOR_REMOTE_REFUSED && s->fault.code && !end.violation) {
		end.start_code = s->fault.code;
		end.os_errno = s->fault.os_errno;
		len = (size_t)snprintf(end.text, sizeof(end.text), "%.300s", s->fault.text);
		if (end.last_stderr[0] && len < sizeof(end.text) - 30)
			snprintf(end.text + len, sizeof(end.text) - len, "; last stderr: \"%.60s\"",
				 end.last_stderr);
	}
	s->link.events->on_end(s->link.arg, &end);
}

void mor_remote_end_if_over(struct mor_remote *s)
{
	if (s->exited && !s->dead && (!s->connection || s->ended))
		tell_end(s);
}

static void on_last(struct mor_timer *timer)
{
	tell_end(mor_container_of(timer, struct mor_remote, limit));
}

/* ---- leaving ---- */

static void close_now(struct mor_remote *s)
{
	if (s->link.closed)
		return;
	mor_remote_drop_calls(s);
	s->connection = s->addon->connection_free(s->connection);
	mor_proc_close_in(s->proc);
	mor_loop_refresh_now(s->link.loop);
	s->link.closed = true;
	s->link.closed_ms = mor_loop_due_ms(s->link.loop, 0);
}

/* Whether it likes to go does not matter; that it has gone will be seen. */
static void on_bye(struct mor_remote *s, struct mor_slice result, unsigned status, const mortise_error *err)
{
	(void)s;
	(void)result;
	(void)status;
	(void)err;
}

void mor_remote_leave_if_idle(struct mor_remote *s)
{
	if (!s->close_wanted || s->dead || s->exited || s->phase != MOR_REMOTE_OPEN ||
	    !mor_list_empty(&s->calls))
		return;
	if (!s->bye_sent && s->connection && !s->ended && s->service->bye) {
		s->bye_sent = true;
		if (mor_remote_ask(s, s->service->bye, (struct mor_slice){ 0 }, on_bye, NULL) == 0)
			return;
	}
	close_now(s);
}

static void on_leave(struct mor_task *task)
{
	mor_remote_leave_if_idle(mor_container_of(task, struct mor_remote, leave));
}

/* ---- operations ---- */

static void remote_close_input(struct mor_link *link)
{
	struct mor_remote *s = mor_remote_of(link);

	if (s->dead || s->exited || link->closed || !s->proc)
		return;
	if (s->phase < MOR_REMOTE_OPEN) { /* nobody is there to say goodbye to */
		s->phase = MOR_REMOTE_REFUSED;
		s->fault = (mortise_error){ 0 };
		mor_remote_stop_waiting(s);
		close_now(s);
		mor_proc_order(s->proc, MOR_ORDER_TERM);
	} else if (s->close_wanted) {
		close_now(s);
	} else {
		s->close_wanted = true;
		mor_loop_post(link->loop, &s->leave, on_leave);
	}
}

static void on_wrote(struct mor_task *task)
{
	struct mor_remote *s = mor_container_of(task, struct mor_remote, wrote);

	if (s->exited || s->dead)
		return;
	s->link.written = s->link.queued;
	s->link.events->on_written(s->link.arg, s->link.written);
	mor_remote_tell_refusals(s);
}

void mor_remote_wrote(struct mor_remote *s)
{
	mor_loop_post(s->link.loop, &s->wrote, on_wrote);
}

static void remote_order(struct mor_link *link, enum mor_order order)
{
	struct mor_remote *s = mor_remote_of(link);

	if (!s->proc || s->dead)
		return;
	if (s->phase < MOR_REMOTE_OPEN)
		remote_close_input(link);
	mor_proc_order(s->proc, order);
}

static void remote_look(struct mor_link *link, struct mor_link_look *ret)
{
	struct mor_remote *s = mor_remote_of(link);

	*ret = (struct mor_link_look){ .last_stderr = "", .doing = { .fd = -1 } };
	if (!s->proc || s->dead)
		return;
	ret->paused = s->paused;
	ret->last_stderr = mor_proc_last_stderr(s->proc);
	ret->doing = *mor_proc_doing(s->proc);
}

static bool remote_is_over(struct mor_link *link)
{
	struct mor_remote *s = mor_remote_of(link);

	return s->proc && s->phase > MOR_REMOTE_NEW && mor_proc_is_over(s->proc);
}

static int remote_set_view(struct mor_link *link, struct mor_slice texts)
{
	struct mor_remote *s = mor_remote_of(link);

	return s->proc && s->phase == MOR_REMOTE_OPEN && !s->dead ? mor_proc_set_view(s->proc, texts) :
								    MORTISE_ECLOSED;
}

static void free_remote(struct mor_grave *grave)
{
	struct mor_remote *s = mor_container_of(grave, struct mor_remote, grave);

	mor_remote_tell_refusals(s); /* it is dead: they are only freed */
	mor_buf_fini(&s->line);
	mor_texts_free(s->env);
	if (s->described)
		s->addon->described_free(s->described);
	mor_buf_fini(&s->said_err);
	mor_free(s);
}

static void remote_free(struct mor_link *link)
{
	struct mor_remote *s = mor_remote_of(link);

	s->dead = true;
	mor_remote_stop_waiting(s);
	mor_timer_release(link->loop, &s->limit);
	mor_timer_release(link->loop, &s->again);
	mor_watch_stop(&s->out);
	mor_task_stop(&s->wrote);
	mor_task_stop(&s->leave);
	mor_remote_drop_calls(s);
	if (s->addon)
		s->connection = s->addon->connection_free(s->connection);
	s->proc = mor_proc_free(s->proc);
	mor_meet_close(&s->meet);
	mor_loop_free_later(link->loop, &s->grave, free_remote);
}

/* ---- the process's events ---- */

static void on_started(void *arg, int pid)
{
	struct mor_remote *s = arg;

	(void)pid;
	s->link.level = mor_proc_level(s->proc);
	s->link.rung = mor_proc_rung(s->proc);
	if (s->phase == MOR_REMOTE_NEW)
		mor_remote_await(s);
}

/* The plugin's last words are in the socket, and in the pipe. A pause ends here; nothing more will come. */
static void on_exited(void *arg, const struct mor_proc_exit *how)
{
	struct mor_remote *s = arg;

	(void)how;
	mor_remote_pause(&s->link, false);
	mor_remote_read_out(s);
	if (s->dead)
		return;
	s->exited = true;
	mor_remote_stop_waiting(s);
	if (s->connection && !s->ended)
		mor_timer_set(s->link.loop, &s->limit, AFTER_EXIT_MS, on_last);
	else
		tell_end(s);
}

static const struct mor_proc_events proc_events = {
	.on_started = on_started,
	.on_exec_failed = mor_link_tell_exec_failed,
	.on_stderr = mor_link_tell_stderr,
	.on_denied = mor_link_tell_denied,
	.on_exited = on_exited,
	.on_view = mor_link_tell_view,
};

static int remote_start(struct mor_link *link, mortise_error *err)
{
	struct mor_remote *s = mor_remote_of(link);
	const struct mor_policy *policy = s->opt->command->policy;
	int r;

	/* With all of the network connect() is free, so no unix socket may exist in the jail. */
	if (policy && mor_policy_confined(policy) && policy->network.all)
		return mor_fail(
			err, MORTISE_ETRANSPORT,
			"speaks gRPC, and a confined plugin with all of the network cannot listen on a socket: "
			"name the places that it needs (sandbox.network), or let it run unconfined "
			"(sandbox.unconfined=true)");
	r = mor_remote_prepare(s, err);
	return r < 0 ? r : mor_link_start_process(link, &s->command, &proc_events, &s->proc, err);
}

static const struct mor_link_ops ops = {
	.start = remote_start,
	.send = mor_remote_send,
	.send_request = mor_remote_send_request,
	.calls = true,
	.cancel = mor_remote_cancel,
	.close_input = remote_close_input,
	.pause = mor_remote_pause,
	.order = remote_order,
	.look = remote_look,
	.is_over = remote_is_over,
	.set_view = remote_set_view,
	.free = remote_free,
};

int mor_link_remote_new(struct mor_loop *loop, const struct mor_link_options *opt,
			const struct mor_link_events *events, void *arg, struct mor_link **ret)
{
	struct mor_remote *s = mor_zalloc(sizeof(*s));

	if (!s)
		return MORTISE_ENOMEM;
	s->link = (struct mor_link){ .ops = &ops, .events = events, .arg = arg, .loop = loop };
	s->opt = opt;
	s->place_fd = -1;
	s->meet.scratch = (struct mor_scratch)MOR_SCRATCH_INIT;
	mor_list_init(&s->calls);
	mor_list_init(&s->refusals);
	*ret = &s->link;
	return 0;
}
