/* SPDX-License-Identifier: Apache-2.0 */
/* The run of a bot: starts plugins, reads events, sends calls, and ends without losing any. */
#include <poll.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "console/report.h"
#include "console/signals.h"
#include "dispatch/bot.h"

#define HOLD_MS 20 /* how often we check whether reading may go on */

/* ---- events ---- */

static int take_message(struct mor_bot_run *run, struct mor_onebot_event *event, mortise_error *err)
{
	if (!event->self_id && run->self_id && !(event->self_id = mor_strdup(run->self_id)))
		return mor_fail_memory(err);
	return mor_bot_walk_begin_take(run, event, err);
}

int mor_bot_take_event(struct mor_bot_run *run, struct mor_onebot_event *event, mortise_error *err)
{
	if (event->kind == MOR_ONEBOT_MESSAGE)
		return take_message(run, event, err);
	if (event->kind == MOR_ONEBOT_CONNECT) {
		mor_free(run->self_id);
		run->self_id = mor_take(&event->self_id);
		for (size_t i = 0; i < run->count; i++)
			mor_bot_seat_connect(run->seats[i], false);
	} else if (event->kind == MOR_ONEBOT_RESPONSE && event->failed) {
		/* networks answer calls on the same stream that carries events */
		mor_bot_tell(run, NULL, "refused", run->line, "the chat network did not do what %s asked: %s",
			     event->echo ? event->echo : "a plugin", event->why);
	}
	return 0;
}

void mor_bot_take(struct mor_bot_run *run, struct mor_slice line)
{
	struct mor_onebot_event event;
	mortise_error err = { 0 };
	int r;

	run->line++;
	line = mor_cq_trim(line);
	if (!line.len)
		return;
	r = mor_onebot_read(line, &event, &err);
	r = r ? r : mor_bot_take_event(run, &event, &err);
	if (r < 0)
		mor_bot_tell(run, NULL, mortise_status_kind(r), run->line, "%s", err.text);
	mor_onebot_event_fini(&event);
}

bool mor_bot_is_held(const struct mor_bot_run *run)
{
	int64_t now = mor_clock_ms();

	if (run->out.full)
		return true;
	for (size_t i = 0; i < run->count; i++)
		if (!run->seats[i]->dead && mor_bot_seat_is_behind(run->seats[i], now))
			return true;
	return false;
}

/* ---- the loop ---- */

static void tend_all(struct mor_bot_run *run)
{
	for (size_t i = 0; i < run->count; i++)
		mor_bot_seat_tend(run->seats[i]);
	mor_bot_tend_gone(run);
	mor_bot_bodies_tend(run);
	if (run->net.link)
		mor_bot_api_tend(run);
	else
		mor_bot_out_flush(run);
}

static bool run_is_idle(const struct mor_bot_run *run)
{
	for (size_t i = 0; i < run->count; i++)
		if (run->seats[i]->waiting || run->seats[i]->given)
			return false;
	return mor_list_empty(&run->walks);
}

/* A signal between the check of the count and the wait is not lost: its handler has made the host's
 * descriptor readable. An event that we hold back causes no new wake-up, so we wait with a limit. If a
 * network is used, stdin is watched only for the end of a terminal. */
static void wait_for_input(struct mor_bot_run *run, struct mor_bot_lines *in)
{
	bool held = mor_bot_is_held(run);
	int ms = held && !run->out.full ? HOLD_MS : -1;
	struct pollfd fds[] = {
		{ .fd = mortise_host_fd(run->runner.host), .events = POLLIN },
		{ .fd = run->watch.fd, .events = POLLIN },
		{ .fd = run->net.link     ? run->net.terminal :
			in->ended || held ? -1 :
					    STDIN_FILENO,
		  .events = run->net.link ? 0 : POLLIN },
		{ .fd = mor_bot_out_waiting(run) ? STDOUT_FILENO : -1, .events = POLLOUT },
		{ .fd = run->net.link ? mor_onebot_link_fd(run->net.link) : -1, .events = POLLIN },
	};

	if (run->net.link)
		ms = mor_clock_sooner(ms, mor_bot_api_wait_ms(run));
	if (poll(fds, sizeof(fds) / sizeof(fds[0]), ms) > 0) {
		if (fds[1].revents)
			mor_bot_watch_look(run);
		if (fds[2].revents && run->net.link)
			mor_signals_terminal_gone();
		else if (fds[2].revents)
			mor_bot_lines_read(run, in);
		if (fds[4].revents)
			mor_onebot_link_dispatch(run->net.link);
	}
	mortise_host_dispatch(run->runner.host);
}

/* A bot on the network ends only by a signal. */
static bool run_is_done(const struct mor_bot_run *run, const struct mor_bot_lines *in)
{
	return !run->net.link &&
	       (mor_out_broken(run->console) || (in->ended && !in->bytes.len && run_is_idle(run)));
}

static int walk_events(struct mor_bot_run *run)
{
	struct mor_bot_lines in = { 0 };
	int r = 0;

	for (;;) {
		if (run->net.link)
			mor_bot_net_feed(run);
		else
			mor_bot_lines_feed(run, &in);
		tend_all(run);
		if (mor_signals_take_hangup())
			mor_bot_reload(run);
		if (mor_signals_count()) {
			r = MORTISE_ECANCELED;
			break;
		}
		if (run_is_done(run, &in))
			break;
		wait_for_input(run, &in);
	}
	mor_buf_fini(&in.bytes);
	return r;
}

/* ---- beginning and end ---- */

static size_t count_dead(const struct mor_bot_run *run)
{
	size_t dead = 0;

	for (size_t i = 0; i < run->count; i++)
		dead += run->seats[i]->dead;
	return dead;
}

static void tell_ready(struct mor_bot_run *run)
{
	MOR_CLEAN(mor_buf) struct mor_buf names = MOR_BUF_INIT;
	size_t ready = 0;

	for (size_t i = 0; i < run->count; i++) {
		if (run->seats[i]->dead)
			continue;
		mor_buf_printf(&names, "%s%s", ready++ ? ", " : "", run->seats[i]->label);
	}
	mor_bot_tell(run, NULL, "ready", 0, "%zu of %zu plugins: %.*s", ready, run->count, (int)names.len,
		     names.data ? names.data : "");
}

static bool all_settled(void *arg)
{
	struct mor_bot_run *run = arg;

	tend_all(run);
	for (size_t i = 0; i < run->count; i++)
		if (run->seats[i]->next)
			return false;
	return true;
}

/* Starts all at once. No event is read before every plugin is ready or has failed. */
static int start_plugins(struct mor_bot_run *run, mortise_error *err)
{
	int r = mor_runner_run(&run->runner, all_settled, run);

	if (r < 0)
		return mor_fail(err, r, "interrupted");
	if (count_dead(run) == run->count)
		return mor_fail(err, MORTISE_EEXEC, "none of the bot's plugins could be started");
	tell_ready(run);
	run->started = true;
	return 0;
}

static bool all_at_rest(const struct mor_bot_run *run)
{
	MOR_LIST_EACH(node, after, &run->bodies)
		if (!mor_bot_body_is_over(mor_container_of(node, struct mor_bot_body, node)))
			return false;
	return true;
}

static void stop_all(struct mor_bot_run *run, enum mortise_stop how)
{
	MOR_LIST_EACH(node, after, &run->bodies)
		mortise_plugin_stop(mor_container_of(node, struct mor_bot_body, node)->plugin, how, NULL);
}

/* The network goes on meanwhile: it brings answers, and takes what plugins still send. */
static void wait_for_plugins(struct mor_bot_run *run)
{
	struct pollfd fds[] = {
		{ .fd = mortise_host_fd(run->runner.host), .events = POLLIN },
		{ .fd = run->net.link ? mor_onebot_link_fd(run->net.link) : -1, .events = POLLIN },
	};

	if (!run->net.link) {
		mortise_host_wait(run->runner.host, -1);
		mor_bot_out_flush(run);
		return;
	}
	poll(fds, 2, -1);
	mortise_host_dispatch(run->runner.host);
	mor_onebot_link_dispatch(run->net.link);
	mor_bot_api_tend(run);
}

/* Answers that come while plugins are being stopped still go out. One more signal kills the plugins. */
static void stop_run(struct mor_bot_run *run)
{
	int seen = mor_signals_count();

	run->stopping = true;
	stop_all(run, MORTISE_STOP_POLITE);
	while (!all_at_rest(run)) {
		if (mor_signals_count() > seen) {
			seen = mor_signals_count();
			stop_all(run, MORTISE_STOP_NOW);
		}
		wait_for_plugins(run);
	}
	for (size_t i = 0; i < run->count; i++)
		mor_bot_warn_end(run->seats[i]);
	mor_bot_out_drain(run);
	mor_bot_net_close(run);
}

static int run_bot(struct mor_bot_run *run, const struct mor_plugin_args *args, mortise_error *err)
{
	int r = mor_botfile_load(run->path, &run->config, err);

	r = r ? r : mor_runner_open(&run->runner, run->console, args, NULL, err);
	r = r ? r : mor_bot_open(run, err);
	if (r < 0)
		return r;
	r = start_plugins(run, err);
	r = r ? r : mor_bot_net_open(run, err);
	r = r ? r : walk_events(run);
	run->exit_code = count_dead(run) > 0;
	stop_run(run);
	return r;
}

/* Calls that still run end together with their plugins, and look at their walks once more. So walks are
 * freed last. */
static void finish_run(struct mor_bot_run *run)
{
	run->stopping = true;
	MOR_LIST_EACH(node, after, &run->bodies)
		mor_bot_body_free(mor_container_of(node, struct mor_bot_body, node));
	mor_bot_net_free(run);
	mor_runner_close(&run->runner);
	mor_bot_walk_free_all(run);
	mor_bot_close(run);
	mor_free(run->self_id);
}

int mor_bot_chat(struct mor_console *console, const struct mor_plugin_args *given, const char *path, bool stdio)
{
	struct mor_bot_run run = { .console = console, .path = path, .watch.fd = -1, .stdio = stdio };
	struct mor_plugin_args args = *given;
	mortise_error err = { 0 };
	int r;

	mor_list_init(&run.walks);
	mor_list_init(&run.bodies);
	mor_list_init(&run.net.inbox);
	mor_list_init(&run.api.calls);
	mor_signals_keep_hangup(true);
	args.config = (struct mor_text_list){ 0 }; /* this is the bot's file: it configures no plugin */
	r = run_bot(&run, &args, &err);
	finish_run(&run);
	if (mor_signals_count())
		return mor_report_interrupted(console, mor_signals_exit_code());
	if (r < 0)
		return mor_report_cause(console, &err);
	return run.exit_code;
}
