/* SPDX-License-Identifier: Apache-2.0 */
/* The keeper: hosts the plugin of one session, and ends when that is not needed any more. */
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/text.h"
#include "console/signals.h"
#include "dialect/dialect.h"
#include "runner/answer.h"
#include "runner/show.h"
#include "session/inside.h"

#define GUESTS_MAX 64

/* ---- what the plugin does ---- */

static bool is_running(int state)
{
	return state == MORTISE_STARTING || state == MORTISE_GREETING || state == MORTISE_READY;
}

static void on_state(struct mor_session_keeper *keeper, const mortise_event *event)
{
	char text[400];

	if (!keeper->ready && event->state.status)
		mor_fail(&keeper->failure, event->state.status, "%s", event->text);
	if (!keeper->ready || keeper->stopping || keeper->death.code || is_running((int)event->state.now))
		return;
	/* The plugin ended by itself. What it knew is lost, so it is not started again: the next command should
	 * know. */
	mor_printable(mor_slice_of(event->text ? event->text : ""), text, sizeof(text));
	mor_fail(&keeper->death, event->state.status ? event->state.status : MORTISE_ECLOSED,
		 "session %s is over, its plugin has ended: %s", keeper->seat.name, text);
}

static void on_event(const mortise_event *event, void *arg)
{
	struct mor_session_keeper *keeper = arg;
	const struct mor_session_note *note = mor_session_notes_add(&keeper->notes, event);

	if (event->type == MORTISE_EVENT_STATE)
		on_state(keeper, event);
	if (note)
		mor_session_guests_tell_note(keeper, note);
	if (!keeper->ready)
		mor_show_event(event, keeper->console);
	else
		mor_session_guests_tell_event(keeper, event);
}

static void on_request(mortise_request *request, const char *method, mortise_json params, void *arg)
{
	struct mor_session_keeper *keeper = arg;
	const struct mor_session_note *note = mor_session_notes_asked(&keeper->notes, method, params);

	if (note)
		mor_session_guests_tell_note(keeper, note);
	mor_runner_answer(&keeper->start->answers, request, method);
}

static void on_frame(const mortise_tap_frame *frame, void *arg)
{
	mor_session_guests_tell_frame(arg, frame);
}

void mor_session_keeper_tap(struct mor_session_keeper *keeper, int change)
{
	bool had = keeper->taps > 0;

	keeper->taps += (size_t)change;
	if (keeper->runner.host && had != (keeper->taps > 0))
		mortise_host_set_tap(keeper->runner.host, keeper->taps ? on_frame : NULL, keeper, NULL);
}

/* ---- the start ---- */

/* A session needs a process that stays and is called. */
static int check_dialect(mortise_plugin *plugin, mortise_error *err)
{
	const struct mor_dialect *dialect = mor_dialect_find(mortise_plugin_dialect(plugin));
	bool stays = dialect->life.shape == MOR_SHAPE_SESSION;

	if (stays && !dialect->serve)
		return 0;
	return mor_fail(err, MORTISE_EUNSUPPORTED, "%s: plugins of the dialect %s %s: there is nothing to keep",
			mortise_plugin_name(plugin), dialect->name,
			stays ? "are not called, they ask" : "run anew for each call");
}

static bool start_is_decided(void *arg)
{
	int state = mortise_plugin_state(((struct mor_session_keeper *)arg)->plugin);

	return state == MORTISE_READY || !is_running(state);
}

static int start_plugin(struct mor_session_keeper *keeper, mortise_error *err)
{
	int r = check_dialect(keeper->plugin, err);

	if (r == 0)
		r = mortise_plugin_start(keeper->plugin, err);
	if (r == 0 && mor_runner_run(&keeper->runner, start_is_decided, keeper) < 0)
		return mor_fail(err, MORTISE_ECANCELED, "interrupted");
	if (r < 0 || mortise_plugin_state(keeper->plugin) == MORTISE_READY)
		return r;
	if (keeper->failure.code)
		*err = keeper->failure;
	else
		mor_fail(err, MORTISE_ECRASHED, "%s: it did not start", mortise_plugin_name(keeper->plugin));
	return err->code;
}

static int open_plugin(struct mor_session_keeper *keeper, mortise_error *err)
{
	const struct mor_session_start *start = keeper->start;
	struct mor_resolved *resolved = NULL;
	mortise_plugin_options opt;
	int r = mor_runner_open(&keeper->runner, keeper->console, start->plugin, NULL, err);

	if (r == 0)
		r = mor_runner_resolve(start->plugin, start->typed, start->argv, &resolved, err);
	if (r == 0)
		r = mor_runner_cap_greeting(&keeper->runner, resolved, err);
	mor_runner_plugin_options(&keeper->runner, start->typed, start->argv, &opt);
	opt.flags |= MORTISE_NO_RESTART;
	opt.on_event = on_event;
	opt.on_request = on_request;
	opt.arg = keeper;
	if (r == 0)
		r = mor_runner_plugin_new(&keeper->runner, &opt, resolved, &keeper->plugin, err);
	mor_resolved_unref(resolved);
	return r < 0 ? r : start_plugin(keeper, err);
}

static int begin_session(struct mor_session_keeper *keeper, mortise_error *err)
{
	int dir = mor_session_dir_open(err);
	int r = dir < 0 ? dir : mor_session_seat_take(&keeper->seat, dir, keeper->start->name, err);

	return r < 0 ? r : open_plugin(keeper, err);
}

/* ---- the loop ---- */

static void take_guests(struct mor_session_keeper *keeper, size_t present)
{
	int fd;

	while (present < GUESTS_MAX && (fd = accept4(keeper->seat.listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		if (mor_session_peer_is_ours(fd))
			mor_session_guest_new_take(keeper, fd);
		else
			mor_fd_close(&fd);
		present++;
	}
}

struct keeper_turn {
	struct pollfd fds[2 + GUESTS_MAX];
	struct mor_session_guest *guests[GUESTS_MAX];
	size_t count;
};

/* Milliseconds until nobody has come for too long, or the first guest has done nothing for too long; -1:
 * never. */
static int idle_rest(const struct keeper_turn *turn, const struct mor_session_keeper *keeper)
{
	int64_t rest = keeper->used_ms + keeper->start->idle_ms - mor_clock_ms();

	if (turn->count || !keeper->start->idle_ms)
		rest = INT64_MAX;
	for (size_t i = 0; i < turn->count; i++) {
		int64_t own = mor_session_guest_rest(turn->guests[i]);

		rest = own >= 0 && own < rest ? own : rest;
	}
	return rest == INT64_MAX ? -1 : rest < 0 ? 0 : rest > INT32_MAX ? INT32_MAX : (int)rest;
}

static void fill_turn(struct mor_session_keeper *keeper, struct keeper_turn *turn)
{
	turn->count = 0;
	MOR_LIST_EACH(node, after, &keeper->guests) {
		struct mor_session_guest *guest = mor_container_of(node, struct mor_session_guest, node);

		turn->guests[turn->count] = guest;
		turn->fds[2 + turn->count++] =
			(struct pollfd){ .fd = guest->wire.fd, .events = mor_session_guest_wants(guest) };
	}
	turn->fds[0] = (struct pollfd){ .fd = mortise_host_fd(keeper->runner.host), .events = POLLIN };
	turn->fds[1] = (struct pollfd){ .fd = turn->count < GUESTS_MAX ? keeper->seat.listener : -1,
					.events = POLLIN };
}

/* The host first: guests that have left are freed in its callbacks, and only then is nobody of
 * them in the turn. */
static void take_turn(struct mor_session_keeper *keeper)
{
	struct keeper_turn turn;
	int rest;

	fill_turn(keeper, &turn);
	rest = idle_rest(&turn, keeper);
	if (rest == 0 && !turn.count) {
		keeper->stopping = true;
		return;
	}
	poll(turn.fds, 2 + turn.count, rest);
	for (size_t i = 0; i < turn.count; i++)
		mor_session_guest_turn(turn.guests[i], turn.fds[2 + i].revents);
	mortise_host_dispatch(keeper->runner.host);
	MOR_LIST_EACH(node, after, &keeper->guests)
		mor_session_guest_turn(mor_container_of(node, struct mor_session_guest, node), 0);
	if (turn.fds[1].revents)
		take_guests(keeper, turn.count);
}

/* ---- life ---- */

static bool tell_starter(struct mor_session_keeper *keeper, int starter, const mortise_error *error)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT, frame = MOR_BUF_INIT;
	struct mor_writer w = { .out = &json };

	mor_w_object(&w);
	mor_w_pair_bool(&w, "ok", !error);
	if (error)
		mor_session_write_error(&w, error);
	else
		mor_w_pair(&w, "plugin", mortise_plugin_name(keeper->plugin));
	mor_w_end(&w);
	return mor_enframe(MOR_FRAMING_DECIMAL, mor_buf_view(&json), &frame) == 0 &&
	       mor_fd_write_all(starter, frame.data, frame.len) == 0;
}

/* Who started us may have gone, and with it the terminal: nothing of ours may hold it, or write there. */
static void leave_stdio(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = STDIN_FILENO; null >= 0 && fd <= STDERR_FILENO; fd++)
		dup2(null, fd);
	mor_fd_close(&null);
}

static void serve_session_take(struct mor_session_keeper *keeper, int starter)
{
	mor_fd_close(&starter);
	keeper->ready = true;
	keeper->used_ms = mor_clock_ms();
	leave_stdio();
	while (!keeper->stopping && !mor_signals_count())
		take_turn(keeper);
	keeper->stopping = true;
	/* From here on nobody finds us. Those who are still connected see our end. */
	mor_runner_stop_plugin(&keeper->runner, keeper->plugin);
}

/* Calls that still run end here, and their callbacks name the plugin. */
static void end_session(struct mor_session_keeper *keeper)
{
	mor_runner_close(&keeper->runner);
	MOR_LIST_EACH(node, after, &keeper->guests) {
		struct mor_session_guest *guest = mor_container_of(node, struct mor_session_guest, node);

		mor_session_wire_flush(&guest->wire);
		mor_session_guest_leave(guest);
	}
	mortise_plugin_unref(keeper->plugin);
	mor_session_notes_fini(&keeper->notes);
	mor_session_seat_leave(&keeper->seat);
}

int mor_session_keep(struct mor_console *console, const struct mor_session_start *start, int starter)
{
	struct mor_session_keeper keeper = { .console = console,
					     .start = start,
					     .seat = { .dir = -1, .lock = -1, .listener = -1 },
					     .begun_ms = mor_clock_ms() };
	mortise_error err = { 0 };
	int r;

	mor_list_init(&keeper.guests);
	mor_session_notes_init(&keeper.notes);
	if ((r = begin_session(&keeper, &err)) < 0)
		tell_starter(&keeper, starter, &err);
	else if (tell_starter(&keeper, starter, NULL))
		serve_session_take(&keeper, starter);
	end_session(&keeper);
	return r < 0;
}
