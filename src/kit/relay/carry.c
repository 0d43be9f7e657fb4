/* SPDX-License-Identifier: Apache-2.0 */
/* The loop that carries the bytes, and the end. */
#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "relay/inside.h"
#include "relay/relay.h"

enum { LANES = 3 };
enum { TURN_SIGNAL, TURN_GUEST, TURN_LANES, TURN_PLACES = TURN_LANES + 2 * LANES };

/* A descriptor that is watched, if any. Each lane has two: the end to read, and the end to write. */
struct watched {
	int fd;
	uint32_t events;
	bool plain; /* a file: it cannot be watched and is always ready */
	uint32_t ready;
};

struct carrying {
	const struct mor_relay *relay;
	int epoll;
	struct watched place[TURN_PLACES];
	bool dying, ended; /* SIGCHLD has come; its end has been handled */
	int status;        /* as waitpid() gives it */
};

/* ---- what is watched ---- */

/* Most turns change nothing here: that is why it is epoll, not poll. -1: nothing is watched. */
static void watch_place(struct carrying *turn, int i, int fd, uint32_t events)
{
	struct watched *place = &turn->place[i];
	struct epoll_event event = { .events = events, .data.u32 = (uint32_t)i };
	bool same = fd == place->fd, plain = same && place->plain;

	if (same && events == place->events)
		return;
	if (!same && place->fd >= 0)
		epoll_ctl(turn->epoll, EPOLL_CTL_DEL, place->fd, NULL);
	/* A file stays a file: a loop that forgets that waits for it for ever. */
	if (fd >= 0 && !plain)
		plain = epoll_ctl(turn->epoll, same ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &event) < 0 && !same;
	*place = (struct watched){ .fd = fd, .events = events, .plain = plain };
}

static int wait_for_places(struct carrying *turn, int timeout_ms)
{
	struct epoll_event events[TURN_PLACES];
	int count;

	for (int i = 0; i < TURN_PLACES; i++) {
		turn->place[i].ready = turn->place[i].plain ? turn->place[i].events : 0;
		if (turn->place[i].ready)
			timeout_ms = 0;
	}
	count = epoll_wait(turn->epoll, events, TURN_PLACES, timeout_ms);
	for (int i = 0; i < count; i++)
		turn->place[events[i].data.u32].ready = events[i].events;
	return count < 0 && errno != EINTR ? MORTISE_ESYSTEM : 0;
}

/* ---- signals ---- */

static void signal_plugin(struct carrying *turn, int number)
{
	if (!turn->dying && !turn->ended)
		kill(turn->relay->plugin->pid, number);
}

/* A terminal sends its signals to the whole group, so the plugin gets them without us. */
static void pass_signal(struct carrying *turn, const struct signalfd_siginfo *info)
{
	struct mor_relay_guest *guest = turn->relay->guest;

	if (guest && guest->on_signal)
		guest->on_signal(guest, (int)info->ssi_signo);
	if (info->ssi_code != SI_KERNEL)
		signal_plugin(turn, (int)info->ssi_signo);
}

static void take_signals(struct carrying *turn)
{
	pid_t pid = turn->relay->plugin->pid;
	struct signalfd_siginfo info;

	while (read(turn->place[TURN_SIGNAL].fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo != SIGCHLD)
			pass_signal(turn, &info);
		else if (!turn->dying && !turn->ended)
			turn->dying = waitpid(pid, &turn->status, WNOHANG) == pid;
	}
}

/* ---- lanes ---- */

/* A descriptor that we do not need is left out: a writer that hung up would wake us for ever. On the write
 * end we always want to know that its reader has gone. Returns the longest wait. */
static int prepare_lane(struct carrying *turn, int i)
{
	const struct mor_relay_lane *lane = turn->relay->lane[i];
	bool pending;
	int held_ms;

	if (!lane)
		return -1;
	held_ms = mor_relay_lane_held_ms(lane);
	pending = mor_relay_lane_pending(lane);
	watch_place(turn, TURN_LANES + 2 * i, mor_relay_lane_wants_input(lane) ? lane->from : -1, EPOLLIN);
	watch_place(turn, TURN_LANES + 2 * i + 1, lane->to, pending && held_ms < 0 ? EPOLLOUT : 0);
	return pending ? held_ms : -1;
}

static int prepare_turn(struct carrying *turn)
{
	struct mor_relay_guest *guest = turn->relay->guest;
	int timeout = -1;

	for (int i = 0; i < LANES; i++)
		timeout = mor_clock_sooner(timeout, prepare_lane(turn, i));
	if (!guest)
		return timeout;
	if (guest->on_turn)
		guest->on_turn(guest);
	watch_place(turn, TURN_GUEST, guest->on_ready ? guest->fd : -1, EPOLLIN);
	return guest->wait_ms ? mor_clock_sooner(timeout, guest->wait_ms(guest)) : timeout;
}

static int serve_lane(struct carrying *turn, int i)
{
	struct mor_relay_lane *lane = turn->relay->lane[i];
	const struct watched *place = &turn->place[TURN_LANES + 2 * i];
	int r = 0;

	if (!lane)
		return 0;
	if (place[0].ready)
		r = mor_relay_lane_read(lane);
	if (place[1].ready & (EPOLLERR | EPOLLHUP))
		mor_relay_lane_break(lane);
	else if (mor_relay_lane_pending(lane) && (place[1].ready & EPOLLOUT) && mor_relay_lane_write(lane))
		signal_plugin(turn, SIGKILL);
	/* Everything is written: now the end is passed on too. */
	if (lane->over && !mor_relay_lane_pending(lane) && lane->to >= 0)
		mor_relay_lane_break(lane);
	return r;
}

/* The pipe may still hold the plugin's last bytes. Another process may keep the pipe open, but we do not
 * wait for that. */
static int take_rest(struct mor_relay_lane *lane)
{
	struct pollfd more = { .events = POLLIN };
	int r = 0;

	while (r == 0 && lane->from >= 0 && !lane->over) {
		more.fd = lane->from;
		if (poll(&more, 1, 0) <= 0)
			break;
		r = mor_relay_lane_read(lane);
	}
	return r < 0 ? r : mor_relay_lane_finish(lane);
}

static int take_last_word(struct carrying *turn)
{
	int r = 0;

	turn->dying = false;
	turn->ended = true;
	mor_relay_lane_break(turn->relay->lane[0]);
	for (int i = 1; i < LANES && r == 0; i++)
		if (turn->relay->lane[i])
			r = take_rest(turn->relay->lane[i]);
	return r;
}

static void serve_guest(struct carrying *turn)
{
	struct mor_relay_guest *guest = turn->relay->guest;

	if (turn->place[TURN_GUEST].ready)
		guest->on_ready(guest);
	if (guest && guest->over) {
		guest->over = false;
		signal_plugin(turn, SIGKILL);
	}
}

static int carry_once(struct carrying *turn)
{
	int r = wait_for_places(turn, prepare_turn(turn));

	if (turn->place[TURN_SIGNAL].ready)
		take_signals(turn);
	for (int i = 0; i < LANES && r == 0; i++)
		r = serve_lane(turn, i);
	serve_guest(turn);
	if (r == 0 && turn->dying)
		r = take_last_word(turn);
	return r;
}

/* The plugin has ended, and everybody has its last words. */
static bool is_done(const struct carrying *turn)
{
	bool pending = false;

	for (int i = 1; i < LANES; i++)
		pending |= turn->relay->lane[i] && mor_relay_lane_pending(turn->relay->lane[i]);
	return turn->ended && !pending;
}

int mor_relay_carry(const struct mor_relay *relay)
{
	struct carrying turn = { .relay = relay, .epoll = epoll_create1(EPOLL_CLOEXEC) };
	sigset_t set;
	int signals, r = turn.epoll < 0 ? MORTISE_ESYSTEM : 0;

	for (int i = 0; i < TURN_PLACES; i++)
		turn.place[i].fd = -1;
	for (int i = 0; i < LANES; i++)
		if (relay->lane[i])
			relay->lane[i]->watcher = turn.epoll;
	mor_relay_signals(&set);
	signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	watch_place(&turn, TURN_SIGNAL, signals, EPOLLIN);
	while (r == 0 && !is_done(&turn))
		r = carry_once(&turn);
	if (!turn.ended && !turn.dying) {
		kill(relay->plugin->pid, SIGKILL);
		waitpid(relay->plugin->pid, NULL, 0);
	}
	mor_fd_close(&signals);
	mor_fd_close(&turn.epoll);
	return r < 0 ? r : turn.status;
}

/* Our parent sees the same signal. We write no core dump. */
int mor_relay_end_as(int status)
{
	struct rlimit none = { 0 };
	sigset_t set;

	if (!WIFSIGNALED(status))
		return WEXITSTATUS(status);
	setrlimit(RLIMIT_CORE, &none);
	signal(WTERMSIG(status), SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, WTERMSIG(status));
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	raise(WTERMSIG(status));
	return 128 + WTERMSIG(status);
}
