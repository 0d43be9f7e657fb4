/* SPDX-License-Identifier: Apache-2.0 */
/* The loop that carries the bytes, and the end. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "relay/inside.h"
#include "relay/relay.h"

enum { LANES = 3 };
enum { TURN_SIGNAL, TURN_GUEST, TURN_LANES }; /* then for each lane: the end to read, and the end to write */

struct turn {
	const struct mor_relay *relay;
	struct pollfd fd[TURN_LANES + 2 * LANES];
	bool dying, ended; /* SIGCHLD has come; its end has been handled */
	int status;        /* as waitpid() gives it */
};

static void signal_plugin(struct turn *turn, int number)
{
	if (!turn->dying && !turn->ended)
		kill(turn->relay->plugin->pid, number);
}

/* A terminal sends its signals to the whole group, so the plugin gets them without us. */
static void pass_signal(struct turn *turn, const struct signalfd_siginfo *info)
{
	struct mor_relay_guest *guest = turn->relay->guest;

	if (guest && guest->on_signal)
		guest->on_signal(guest, (int)info->ssi_signo);
	if (info->ssi_code != SI_KERNEL)
		signal_plugin(turn, (int)info->ssi_signo);
}

static void take_signals(struct turn *turn)
{
	pid_t pid = turn->relay->plugin->pid;
	struct signalfd_siginfo info;

	while (read(turn->fd[TURN_SIGNAL].fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo != SIGCHLD)
			pass_signal(turn, &info);
		else if (!turn->dying && !turn->ended)
			turn->dying = waitpid(pid, &turn->status, WNOHANG) == pid;
	}
}

/* A descriptor that we do not need is left out: a reader that hung up would wake us for ever. On the write
 * end we always want to know that its reader has gone. */
static int prepare_lane(const struct mor_relay_lane *lane, struct pollfd fd[2], int64_t now)
{
	bool held = mor_relay_lane_held(lane, now), pending = mor_relay_lane_pending(lane);

	fd[0] = (struct pollfd){ mor_relay_lane_wants_input(lane) ? lane->from : -1, POLLIN, 0 };
	fd[1] = (struct pollfd){ lane->to, pending && !held ? POLLOUT : 0, 0 };
	return held && pending ? (int)(lane->held_until - now) : -1;
}

static int prepare_poll(struct turn *turn, int64_t now)
{
	struct mor_relay_guest *guest = turn->relay->guest;
	int timeout = -1;

	for (int i = 0; i < LANES; i++)
		if (turn->relay->lane[i])
			timeout = mor_clock_sooner(timeout,
						   prepare_lane(turn->relay->lane[i],
								&turn->fd[TURN_LANES + 2 * i], now));
	if (guest && guest->on_turn)
		guest->on_turn(guest);
	turn->fd[TURN_GUEST] = (struct pollfd){ guest && guest->on_ready ? guest->fd : -1, POLLIN, 0 };
	return guest && guest->wait_ms ? mor_clock_sooner(timeout, guest->wait_ms(guest)) : timeout;
}

static int serve_lane(struct turn *turn, int i, int64_t now)
{
	struct mor_relay_lane *lane = turn->relay->lane[i];
	const struct pollfd *fd = &turn->fd[TURN_LANES + 2 * i];
	int r = 0;

	if (!lane)
		return 0;
	if (fd[0].revents)
		r = mor_relay_lane_read(lane);
	if (fd[1].revents & (POLLERR | POLLNVAL))
		mor_relay_lane_break(lane);
	else if (mor_relay_lane_pending(lane) && (fd[1].revents & POLLOUT) && mor_relay_lane_write(lane, now))
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

static int take_last_word(struct turn *turn)
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

static void serve_guest(struct turn *turn)
{
	struct mor_relay_guest *guest = turn->relay->guest;

	if (turn->fd[TURN_GUEST].revents)
		guest->on_ready(guest);
	if (guest && guest->over) {
		guest->over = false;
		signal_plugin(turn, SIGKILL);
	}
}

static int carry_once(struct turn *turn)
{
	int r = poll(turn->fd, sizeof(turn->fd) / sizeof(turn->fd[0]), prepare_poll(turn, mor_clock_ms()));
	int64_t now;

	if (r < 0)
		return errno == EINTR ? 0 : MORTISE_ESYSTEM;
	now = mor_clock_ms();
	if (turn->fd[TURN_SIGNAL].revents)
		take_signals(turn);
	r = 0;
	for (int i = 0; i < LANES && r == 0; i++)
		r = serve_lane(turn, i, now);
	serve_guest(turn);
	if (r == 0 && turn->dying)
		r = take_last_word(turn);
	return r;
}

/* The plugin has ended, and everybody has its last words. */
static bool is_done(const struct turn *turn)
{
	bool pending = false;

	for (int i = 1; i < LANES; i++)
		pending |= turn->relay->lane[i] && mor_relay_lane_pending(turn->relay->lane[i]);
	return turn->ended && !pending;
}

int mor_relay_carry(const struct mor_relay *relay)
{
	struct turn turn = { .relay = relay };
	sigset_t set;
	int r = 0;

	for (size_t i = 0; i < sizeof(turn.fd) / sizeof(turn.fd[0]); i++)
		turn.fd[i].fd = -1;
	mor_relay_signals(&set);
	turn.fd[TURN_SIGNAL] = (struct pollfd){ signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK), POLLIN, 0 };
	while (r == 0 && !is_done(&turn))
		r = carry_once(&turn);
	if (!turn.ended && !turn.dying) {
		kill(relay->plugin->pid, SIGKILL);
		waitpid(relay->plugin->pid, NULL, 0);
	}
	mor_fd_close(&turn.fd[TURN_SIGNAL].fd);
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
