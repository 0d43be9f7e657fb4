/* The run of a bot: plugins up, events in, calls out, and an end that loses nothing. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/bot.h"
#include "cli/output.h"
#include "cli/signals.h"

#define LINE_LIMIT ((size_t)16 << 20)
#define READ_SIZE 65536
#define HOLD_MS 20 /* how often it is looked whether reading may go on */

struct input {
	struct mor_buf bytes;
	size_t seen;   /* no newline before this */
	bool ended;
	bool too_long; /* the rest of this line is thrown away */
};

/* ---- events ---- */

static void connected(struct mor_bot_run *run, struct mor_onebot_event *event)
{
	mor_free(run->self_id);
	run->self_id = mor_take(&event->self_id);
	for (size_t i = 0; i < run->count; i++)
		mor_seat_connect(&run->seats[i], false);
}

/* Networks answer calls on the same stream that brings events. */
static void answered(struct mor_bot_run *run, const struct mor_onebot_event *event)
{
	if (event->failed)
		mor_bot_tell(run, NULL, "refused", run->line, "the chat network did not do what %s asked: %s",
			     event->echo ? event->echo : "a plugin", event->why);
}

static int message(struct mor_bot_run *run, struct mor_onebot_event *event, mortise_error *err)
{
	if (!event->self_id && run->self_id && !(event->self_id = mor_strdup(run->self_id)))
		return mor_fail(err, MORTISE_ENOMEM, "out of memory");
	return mor_walk_begin(run, event, err);
}

static void take_line(struct mor_bot_run *run, struct mor_slice line)
{
	struct mor_onebot_event event;
	mortise_error err = { 0 };
	int r;

	run->line++;
	line = mor_cq_trim(line);
	if (!line.len)
		return;
	r = mor_onebot_read(line, &event, &err);
	if (r == 0 && event.kind == MOR_ONEBOT_MESSAGE)
		r = message(run, &event, &err);
	else if (r == 0 && event.kind == MOR_ONEBOT_CONNECT)
		connected(run, &event);
	else if (r == 0 && event.kind == MOR_ONEBOT_RESPONSE)
		answered(run, &event);
	if (r < 0)
		mor_bot_tell(run, NULL, mortise_status_kind(r), run->line, "%s", err.text);
	mor_onebot_event_fini(&event);
}

/* ---- input ---- */

/* Plugins that are merely behind are waited for; ones that are slow are not. Whoever reads the calls always is. */
static bool is_held(const struct mor_bot_run *run)
{
	int64_t now = mor_clock_ms();

	if (run->out.full)
		return true;
	for (size_t i = 0; i < run->count; i++)
		if (!run->seats[i].dead && mor_seat_is_behind(&run->seats[i], now))
			return true;
	return false;
}

/* The next whole line, without its newline; the last one may lack it. false: there is none yet. */
static bool next_line(struct input *in, struct mor_slice *ret)
{
	size_t rest = in->bytes.len - in->seen;
	const char *newline = rest ? memchr(in->bytes.data + in->seen, '\n', rest) : NULL;

	if (newline)
		*ret = (struct mor_slice){ in->bytes.data, (size_t)(newline - in->bytes.data) };
	else if (in->ended && in->bytes.len)
		*ret = mor_buf_view(&in->bytes);
	else
		in->seen = in->bytes.len;
	return newline || (in->ended && in->bytes.len);
}

static void drop_line(struct input *in, size_t len)
{
	mor_buf_consume(&in->bytes, len < in->bytes.len ? len + 1 : len);
	in->seen = 0;
}

static void feed(struct mor_bot_run *run, struct input *in)
{
	struct mor_slice line;

	while (!is_held(run) && next_line(in, &line)) {
		if (in->too_long)
			run->line++;
		else
			take_line(run, line);
		in->too_long = false;
		drop_line(in, line.len);
	}
	if (in->bytes.len <= LINE_LIMIT || in->seen < in->bytes.len)
		return;
	if (!in->too_long)
		mor_bot_tell(run, NULL, "input", run->line + 1, "longer than 16 MiB: skipped");
	in->too_long = true;
	drop_line(in, in->bytes.len);
}

static void read_more(struct mor_bot_run *run, struct input *in)
{
	ssize_t got;

	if (mor_buf_reserve(&in->bytes, READ_SIZE) < 0) {
		mor_bot_tell(run, NULL, "internal", run->line + 1, "out of memory: no more is read");
		in->ended = true;
		return;
	}
	got = read(STDIN_FILENO, in->bytes.data + in->bytes.len, READ_SIZE);
	if (got > 0)
		in->bytes.len += (size_t)got;
	else if (got == 0 || (errno != EINTR && errno != EAGAIN))
		in->ended = true;
}

/* ---- the loop ---- */

static void tend(struct mor_bot_run *run)
{
	for (size_t i = 0; i < run->count; i++)
		mor_seat_tend(&run->seats[i]);
	mor_bot_out_flush(run);
}

static bool is_idle(const struct mor_bot_run *run)
{
	for (size_t i = 0; i < run->count; i++)
		if (run->seats[i].waiting || run->seats[i].given)
			return false;
	return mor_list_empty(&run->walks);
}

/* A signal between the look at the count and the wait is not lost: its handler has made the host's descriptor
 * readable. A whole line that is held back is in the buffer already, so nobody would tell us of it. */
static void wait(struct mor_bot_run *run, struct input *in)
{
	bool held = is_held(run);
	struct pollfd fds[] = {
		{ .fd = mortise_host_fd(run->session.host), .events = POLLIN },
		{ .fd = in->ended || held ? -1 : STDIN_FILENO, .events = POLLIN },
		{ .fd = mor_bot_out_waiting(run) ? STDOUT_FILENO : -1, .events = POLLOUT },
	};

	if (poll(fds, 3, held && !run->out.full ? HOLD_MS : -1) > 0 && fds[1].revents)
		read_more(run, in);
	mortise_host_dispatch(run->session.host);
}

static int walk_events(struct mor_bot_run *run)
{
	struct input in = { 0 };
	int r = 0;

	for (;;) {
		feed(run, &in);
		tend(run);
		if (mor_signals_count()) {
			r = MORTISE_ECANCELED;
			break;
		}
		if (mor_out_broken(run->cli) || (in.ended && !in.bytes.len && is_idle(run)))
			break;
		wait(run, &in);
	}
	mor_buf_fini(&in.bytes);
	return r;
}

/* ---- beginning and end ---- */

static void tell_ready(struct mor_bot_run *run)
{
	MOR_CLEAN(mor_buf) struct mor_buf names = MOR_BUF_INIT;
	size_t ready = 0;

	for (size_t i = 0; i < run->count; i++) {
		if (run->seats[i].dead)
			continue;
		mor_buf_printf(&names, "%s%s", ready++ ? ", " : "", run->seats[i].label);
	}
	mor_bot_tell(run, NULL, "ready", 0, "%zu of %zu plugins: %.*s", ready, run->count, (int)names.len,
		     names.data ? names.data : "");
}

static bool all_settled(void *arg)
{
	struct mor_bot_run *run = arg;

	tend(run);
	for (size_t i = 0; i < run->count; i++)
		if (!mor_seat_is_settled(&run->seats[i]))
			return false;
	return true;
}

/* All at once; no event is read before every plugin is ready or given up. */
static int start(struct mor_bot_run *run, mortise_error *err)
{
	size_t dead = 0;
	int r;

	for (size_t i = 0; i < run->count; i++) {
		mortise_error why = { 0 };

		run->seats[i].started = true;
		(void)mortise_plugin_start(run->seats[i].plugin, &why); /* then it is FAILED, which is told as any death */
	}
	r = mor_session_run(&run->session, all_settled, run);
	if (r < 0)
		return mor_fail(err, r, "interrupted");
	for (size_t i = 0; i < run->count; i++)
		dead += run->seats[i].dead;
	if (dead == run->count)
		return mor_fail(err, MORTISE_EEXEC, "none of the bot's plugins could be started");
	tell_ready(run);
	return 0;
}

static bool at_rest(const struct mor_bot_run *run)
{
	for (size_t i = 0; i < run->count; i++) {
		int state = run->seats[i].plugin ? mortise_plugin_state(run->seats[i].plugin) : MORTISE_STOPPED;

		if (state != MORTISE_STOPPED && state != MORTISE_FAILED)
			return false;
	}
	return true;
}

static void stop_all(struct mor_bot_run *run, enum mortise_stop how)
{
	for (size_t i = 0; i < run->count; i++)
		if (run->seats[i].plugin)
			mortise_plugin_stop(run->seats[i].plugin, how);
}

/* Answers that come while they are being stopped still go out. One more signal, and they are killed. */
static void stop(struct mor_bot_run *run)
{
	int seen = mor_signals_count();

	run->stopping = true;
	stop_all(run, MORTISE_STOP_POLITE);
	while (!at_rest(run)) {
		if (mor_signals_count() > seen) {
			seen = mor_signals_count();
			stop_all(run, MORTISE_STOP_NOW);
		}
		mortise_host_wait(run->session.host, -1);
		mor_bot_out_flush(run);
	}
	for (size_t i = 0; i < run->count; i++)
		mor_bot_warn_end(&run->seats[i]);
	mor_bot_out_drain(run);
}

static int open_seats(struct mor_bot_run *run, mortise_error *err)
{
	int r = 0;

	run->seats = mor_zalloc(run->config->count * sizeof(*run->seats));
	if (!run->seats)
		return mor_fail(err, MORTISE_ENOMEM, "out of memory");
	for (size_t i = 0; r == 0 && i < run->config->count; i++) {
		struct mor_seat *seat = &run->seats[run->count++];

		*seat = (struct mor_seat){ .run = run, .config = &run->config->plugins[i], .index = i };
		r = mor_seat_open(seat, err);
	}
	return r;
}

static int run_bot(struct mor_bot_run *run, const struct mor_plugin_args *args, const char *path, mortise_error *err)
{
	int r = mor_bot_load(path, &run->config, err);

	if (r == 0)
		r = mor_session_open(&run->session, run->cli, args, NULL, err);
	for (char **warning = r == 0 ? run->config->warnings : NULL; warning && *warning; warning++)
		mor_bot_tell(run, NULL, "warning", 0, "%s", *warning);
	if (r == 0)
		r = open_seats(run, err);
	if (r < 0)
		return r;
	r = start(run, err);
	if (r == 0)
		r = walk_events(run);
	stop(run);
	return r;
}

/* Calls that are still under way end with their plugins, and look at their walks once more: those go last. */
static void finish(struct mor_bot_run *run)
{
	run->stopping = true;
	for (size_t i = 0; i < run->count; i++)
		mor_seat_close(&run->seats[i]);
	mor_session_close(&run->session);
	mor_walk_free_all(run);
	for (size_t i = 0; i < run->count; i++)
		mor_seat_free(&run->seats[i]);
	mor_free(run->seats);
	mor_free(run->self_id);
	mor_bot_free(run->config);
}

int mor_bot_chat(struct mor_cli *cli, const struct mor_plugin_args *given, const char *path)
{
	struct mor_bot_run run = { .cli = cli };
	struct mor_plugin_args args = *given;
	mortise_error err = { 0 };
	int r;

	mor_list_init(&run.walks);
	args.config = (struct mor_opt_list){ 0 }; /* the file's name: no plugin is configured with it */
	r = run_bot(&run, &args, path, &err);
	finish(&run);
	if (mor_signals_count())
		return mor_fail_interrupted(cli, mor_signals_exit_code());
	if (r == MORTISE_EINVAL)
		return mor_fail_usage(cli, &err);
	if (r < 0)
		return mor_fail_error(cli, &err);
	return run.exit_code;
}
