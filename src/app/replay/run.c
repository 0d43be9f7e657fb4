/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plays the host's side to a real process. The process is that of a plugin: with its settings, guardian and
 * sandbox, but without the library's protocol.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/text.h"
#include "door/door.h"
#include "replay/replay.h"
#include "runner/show.h"

#define DEFAULT_LIMIT_MS 10000 /* for the next thing that must come */
#define FAREWELL_MS      2000  /* for a plugin that is not needed any more, or has closed its stdout */

struct stage {
	struct mor_replay *replay;
	struct mor_runner runner;
	mortise_plugin *plugin;
	struct mor_proc *proc;
	struct mor_loop *loop;
	struct mor_player player;
	struct mor_watch in, out;
	struct mor_timer timer;
	uint32_t limit_ms;
	bool started, gone;  /* the process runs; it has ended, or never began */
	bool paused, over;   /* a pause of the file; nothing more is played */
	bool leaving;        /* ... and the plugin was asked to end */
	mortise_error error; /* why it cannot be played; code 0: none */
};

static void go_on(struct stage *stage);

/* ---- output ---- */

static void on_writable(struct mor_watch *watch, unsigned events)
{
	struct stage *stage = mor_container_of(watch, struct stage, in);

	(void)events;
	mor_watch_stop(watch);
	go_on(stage);
}

/* True: everything is written, or nobody reads. */
static bool write_out(struct stage *stage)
{
	struct mor_buf *out = &stage->player.out;
	int fd = stage->proc ? mor_proc_in(stage->proc) : -1;

	while (fd >= 0 && out->len) {
		ssize_t n = mor_fd_write_nosignal(fd, out->data, out->len);

		if (n == -EAGAIN) {
			mor_watch_start(stage->loop, &stage->in, fd, MOR_WRITABLE, on_writable);
			return false;
		}
		if (n < 0 && n != -EINTR)
			break; /* it has closed its stdin: what comes from it says why */
		if (n > 0)
			mor_buf_consume(out, (size_t)n);
	}
	mor_buf_reset(out, SIZE_MAX);
	return true;
}

static void close_in(struct stage *stage)
{
	mor_watch_stop(&stage->in);
	if (stage->proc)
		mor_proc_close_in(stage->proc);
}

/* ---- input ---- */

static void fail_play(struct stage *stage, int code)
{
	if (code == MORTISE_ENOMEM)
		mor_fail_memory(&stage->error);
	else
		mor_fail(&stage->error, code, "%s: the plugin sends too much", stage->replay->file);
	stage->over = true;
}

/* What is there. False: no more will come. */
static bool read_out(struct stage *stage, bool all)
{
	int fd = stage->proc ? mor_proc_out(stage->proc) : -1, r = 0;
	char *bytes = mor_loop_scratch(stage->loop);

	while (fd >= 0 && bytes && r == 0) {
		ssize_t n = read(fd, bytes, MOR_LOOP_SCRATCH);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return true;
		if (n <= 0)
			break;
		r = mor_player_input(&stage->player, (struct mor_slice){ bytes, (size_t)n });
		if (!all && r == 0)
			return true;
	}
	if (r < 0 || (r = mor_player_input(&stage->player, (struct mor_slice){ NULL, 0 })) < 0)
		fail_play(stage, r);
	return false;
}

static void on_readable(struct mor_watch *watch, unsigned events)
{
	struct stage *stage = mor_container_of(watch, struct stage, out);

	(void)events;
	if (!read_out(stage, false))
		mor_watch_stop(watch);
	go_on(stage);
}

/* ---- the process ---- */

static void on_started(void *arg, int pid)
{
	struct stage *stage = arg;

	(void)pid;
	stage->started = true;
	go_on(stage);
}

static void on_exec_failed(void *arg, const struct mor_exec_failure *failure)
{
	struct stage *stage = arg;

	mor_fail(&stage->error, failure->code, "%s", failure->text);
	stage->gone = stage->over = true;
}

static void on_stderr(void *arg, struct mor_slice line)
{
	struct stage *stage = arg;

	if (stage->replay->console->verbose)
		mor_note(stage->replay->console, "2 %.*s", (int)line.len, line.ptr);
}

static void on_exited(void *arg, const struct mor_proc_exit *how)
{
	struct stage *stage = arg;

	mor_watch_stop(&stage->out);
	mor_watch_stop(&stage->in);
	if (!stage->over)
		read_out(stage, true);
	(void)mor_player_input(&stage->player, (struct mor_slice){ NULL, 0 });
	mor_player_ended(&stage->player, how->how.by_signal ? how->how.status : how->how.status << 8);
	stage->gone = true;
	go_on(stage);
}

static const struct mor_proc_events proc_events = {
	.on_started = on_started,
	.on_exec_failed = on_exec_failed,
	.on_stderr = on_stderr,
	.on_exited = on_exited,
};

/* The guardian knows two orders; other signals go to the process itself, while it is surely ours. */
static void send_signal(struct stage *stage)
{
	int number = stage->player.signal;

	if (stage->gone)
		return;
	if (number == SIGTERM)
		mor_proc_order(stage->proc, MOR_ORDER_TERM);
	else if (number == SIGKILL)
		mor_proc_order(stage->proc, MOR_ORDER_KILL);
	else if (mor_proc_pid(stage->proc) > 0 && !mor_proc_is_over(stage->proc))
		kill(mor_proc_pid(stage->proc), number);
}

/* ---- the play ---- */

static void on_time(struct mor_timer *timer)
{
	struct stage *stage = mor_container_of(timer, struct stage, timer);
	char text[80], limit[32];

	if (stage->leaving) {
		stage->gone = true; /* it is killed with its process */
		return;
	}
	if (stage->paused || stage->player.lingered) {
		stage->paused = false;
		go_on(stage);
		return;
	}
	snprintf(text, sizeof(text), "nothing came in %s (--timeout)", mor_format_ms(stage->limit_ms, limit));
	mor_player_give_up(&stage->player, text);
	stage->over = true;
}

static void wait_for(struct stage *stage, uint32_t ms)
{
	if (mor_timer_set(stage->loop, &stage->timer, ms, on_time) < 0)
		fail_play(stage, MORTISE_ENOMEM);
}

/* Plays until something must happen first. */
static void go_on(struct stage *stage)
{
	if (stage->paused || !stage->started)
		return;
	mor_timer_stop(&stage->timer);
	while (!stage->over) {
		if (stage->player.out.len && !write_out(stage)) {
			wait_for(stage, stage->limit_ms);
			return;
		}
		switch (mor_player_next(&stage->player)) {
		case MOR_PLAYER_SEND:
			break;
		case MOR_PLAYER_CLOSE:
			close_in(stage);
			break;
		case MOR_PLAYER_SIGNAL:
			send_signal(stage);
			break;
		case MOR_PLAYER_PAUSE:
			stage->paused = true;
			wait_for(stage, stage->player.pause_ms ? stage->player.pause_ms : 1);
			return;
		case MOR_PLAYER_INPUT:
		case MOR_PLAYER_END:
			wait_for(stage, stage->player.lingered ? FAREWELL_MS : stage->limit_ms);
			return;
		case MOR_PLAYER_DIFFERS:
		case MOR_PLAYER_DONE:
		case MOR_PLAYER_STUCK:
			stage->over = true;
			break;
		}
	}
}

/* ---- life ---- */

static bool is_played(void *arg)
{
	return ((struct stage *)arg)->over;
}

static bool is_gone(void *arg)
{
	return ((struct stage *)arg)->gone;
}

/* --show-wire, as the library's tap shows it. */
static void show_message(void *arg, bool ours, struct mor_slice body)
{
	struct mor_replay *replay = arg;
	mortise_tap_frame seen = { .direction = ours ? MORTISE_TO_PLUGIN : MORTISE_FROM_PLUGIN,
				   .body = { body.ptr, body.len } };

	mor_show_frame(&seen, replay->console);
}

static int open_stage(struct stage *stage, const struct mor_plugin_args *args, const char *path,
		      const char *const *argv, mortise_error *err)
{
	mortise_plugin_options opt;
	int r;

	if ((r = mor_runner_open(&stage->runner, stage->replay->console, args, NULL, err)) < 0)
		return r;
	mor_runner_plugin_options(&stage->runner, path, argv, &opt);
	if (!opt.dialect && !path)
		opt.dialect = stage->replay->talk.dialect;
	stage->limit_ms = stage->runner.timeout_ms ? stage->runner.timeout_ms : DEFAULT_LIMIT_MS;
	stage->loop = mor_door_loop(stage->runner.host);
	r = mor_runner_plugin_new(&stage->runner, &opt, NULL, &stage->plugin, err);
	if (r == 0 && args->framing)
		stage->replay->play.framing = mor_door_framing(stage->plugin);
	if (r == 0)
		r = mor_player_init(&stage->player, &stage->replay->talk, &stage->replay->play);
	if (args->show_wire)
		stage->player.on_message = show_message;
	stage->player.on_compared = mor_replay_compared;
	stage->player.arg = stage->replay;
	return r;
}

/* What the plugin said last may be the reason. */
static void add_stderr(struct stage *stage)
{
	struct mor_player_difference *d = &stage->player.difference;
	const char *line = mor_proc_last_stderr(stage->proc);
	size_t len = strlen(d->text);
	char text[300];

	if (d->line && stage->player.ended && *line)
		snprintf(d->text + len, sizeof(d->text) - len, "; last stderr: \"%s\"",
			 mor_excerpt(mor_slice_of(line), text, sizeof(text)));
}

static int play_host(struct stage *stage, mortise_error *err)
{
	int r = mor_door_start(stage->plugin, &proc_events, stage, &stage->proc, err);

	if (r < 0)
		return r;
	r = mor_watch_start(stage->loop, &stage->out, mor_proc_out(stage->proc), MOR_READABLE, on_readable);
	if (r < 0)
		return mor_fail_errno(err, r, errno, "watching stdout");
	if ((r = mor_runner_run(&stage->runner, is_played, stage)) < 0)
		return mor_fail(err, r, "interrupted");
	add_stderr(stage);
	stage->leaving = true;
	if (!stage->gone && !stage->error.code) {
		close_in(stage);
		mor_proc_order(stage->proc, MOR_ORDER_TERM);
		wait_for(stage, FAREWELL_MS);
		(void)mor_runner_run(&stage->runner, is_gone, stage);
	}
	if (stage->error.code)
		*err = stage->error;
	return stage->error.code;
}

static void close_stage(struct stage *stage)
{
	mor_watch_stop(&stage->in);
	mor_watch_stop(&stage->out);
	mor_timer_stop(&stage->timer);
	if (stage->loop)
		mor_timer_release(stage->loop, &stage->timer);
	mor_proc_free(stage->proc);
	mortise_plugin_unref(stage->plugin);
	mor_player_fini(&stage->player);
	mor_runner_close(&stage->runner);
}

int mor_replay_to_plugin(struct mor_replay *replay, const struct mor_plugin_args *args, const char *path,
			 const char *const *argv, mortise_error *err)
{
	struct stage stage = { .replay = replay };
	int r;

	mor_list_init(&stage.player.heard);
	if ((r = open_stage(&stage, args, path, argv, err)) == 0 && (r = play_host(&stage, err)) == 0)
		r = mor_replay_tell(replay, &stage.player);
	close_stage(&stage);
	return r;
}
