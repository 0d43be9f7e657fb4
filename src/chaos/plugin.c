/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plugin behind the proxy, and the loop that carries its bytes. It is not started by the library: the
 * program that started us already has a guardian, and what that guardian does to us must also reach the
 * plugin.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "chaos/chaos.h"
#include "manifest/manifest.h"
#include "program/resolve.h"

/* Signals that are sent to us but meant for the plugin. */
static const int passed_on[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGCONT };

/* All signals that we read from a descriptor. They are blocked before it exists, so that none is lost. */
static void awaited_signals(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGCHLD);
	for (size_t i = 0; i < sizeof(passed_on) / sizeof(passed_on[0]); i++)
		sigaddset(set, passed_on[i]);
}

/* ---- start ---- */

struct start {
	const struct mor_manifest *manifest;
	char **argv;
	int in[2], out[2], failed[2]; /* a failure: errno of exec; else the end of the pipe */
	pid_t parent;
};

/* DIR of env_front is put before the present value. */
static void put_in_front(const char *entry)
{
	size_t len = strcspn(entry, "=");
	char name[128], *old, *joined;

	if (len >= sizeof(name) || !entry[len])
		return;
	memcpy(name, entry, len);
	name[len] = '\0';
	old = getenv(name);
	if (!old || asprintf(&joined, "%s:%s", entry + len + 1, old) < 0)
		setenv(name, entry + len + 1, 1);
	else
		setenv(name, joined, 1);
}

/* Runs in the child, which has only one thread. */
static void become_plugin(const struct start *start)
{
	const struct mor_manifest *m = start->manifest;
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	/* We hold the only copy of this descriptor. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != start->parent)
		return;
	for (char **e = m->env_front; e && *e; e++)
		put_in_front(*e);
	for (char **e = m->env; e && *e; e++)
		putenv(*e);
	if (dup2(start->in[0], STDIN_FILENO) < 0 || dup2(start->out[1], STDOUT_FILENO) < 0 ||
	    (m->cwd && chdir(m->cwd) < 0))
		return;
	execv(start->argv[0], start->argv);
}

static void run_child(const struct start *start)
{
	int error;

	become_plugin(start);
	error = errno;
	(void)!write(start->failed[1], &error, sizeof(error));
	_exit(127);
}

/* Returns the errno of an exec that failed; 0: the program runs. */
static int await_exec(int fd)
{
	int error = 0;
	ssize_t n;

	do
		n = read(fd, &error, sizeof(error));
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof(error) ? error : 0;
}

static int diagnose_start(const struct start *start, int error, mortise_error *err)
{
	struct mor_command command = { .argv = (const char *const *)start->argv, .cwd = start->manifest->cwd };
	struct mor_exec_failure failure = { 0 };
	int r = mor_exec_diagnose(&command, start->argv[0], error, &failure);

	return mor_fail(err, r, "%s", failure.text);
}

static int spawn_plugin(struct start *start, struct mor_chaos_plugin *ret, mortise_error *err)
{
	int error;

	start->parent = getpid();
	ret->pid = fork();
	if (ret->pid == 0)
		run_child(start);
	if (ret->pid < 0)
		return mor_fail_errno(err, MORTISE_ESYSTEM, errno, "%s: cannot start a process",
				      start->argv[0]);
	mor_fd_close(&start->failed[1]);
	error = await_exec(start->failed[0]);
	if (!error)
		return 0;
	waitpid(ret->pid, NULL, 0);
	return diagnose_start(start, error, err);
}

/* Our ends are non-blocking; the plugin's are not. */
static int make_pipes(struct start *start, mortise_error *err)
{
	if (pipe2(start->in, O_CLOEXEC) == 0 && pipe2(start->out, O_CLOEXEC) == 0 &&
	    pipe2(start->failed, O_CLOEXEC) == 0 && mor_fd_nonblock(start->in[1]) == 0 &&
	    mor_fd_nonblock(start->out[0]) == 0)
		return 0;
	return mor_fail_errno(err, MORTISE_ESYSTEM, errno, "pipes for the plugin");
}

static void start_fini(struct start *start)
{
	mor_program_argv_free(start->argv);
	for (int i = 0; i < 2; i++) {
		mor_fd_close(&start->in[i]);
		mor_fd_close(&start->out[i]);
		mor_fd_close(&start->failed[i]);
	}
}

static int start_plugin(const struct mor_manifest *manifest, struct mor_chaos_plugin *ret, mortise_error *err)
{
	struct mor_command command = { .argv = (const char *const *)manifest->argv, .cwd = manifest->cwd };
	struct mor_exec_failure failure = { 0 };
	__attribute__((cleanup(start_fini))) struct start start = {
		.manifest = manifest, .in = { -1, -1 }, .out = { -1, -1 }, .failed = { -1, -1 }
	};
	int r = mor_program_resolve(&command, &start.argv, &failure);

	if (r < 0)
		return mor_fail(err, r, "%s", failure.text);
	if ((r = mor_manifest_prepare(manifest, err)) < 0 || (r = make_pipes(&start, err)) < 0 ||
	    (r = spawn_plugin(&start, ret, err)) < 0)
		return r;
	ret->in = start.in[1];
	ret->out = start.out[0];
	start.in[1] = start.out[0] = -1;
	ret->framing = mor_framing_by_name(manifest->framing);
	return 0;
}

int mor_chaos_start(const char *path, const char *const *argv, struct mor_chaos_plugin *ret, mortise_error *err)
{
	struct mor_manifest_query query = { .path = path, .argv = argv };
	struct mor_manifest *manifest = NULL;
	sigset_t set;
	int r = mor_manifest_load(&query, &manifest, err);

	awaited_signals(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGCHLD, SIG_DFL); /* if SIGCHLD is ignored, we get no exit status */
	if (r == 0)
		r = start_plugin(manifest, ret, err);
	mor_manifest_free(manifest);
	return r;
}

/* ---- carrying ---- */

enum { TURN_SIGNAL, TURN_LANES }; /* then for each lane: the end to read, and the end to write */

struct turn {
	struct mor_chaos_plugin *plugin;
	struct mor_chaos_lane *lane[2]; /* to the plugin, to the host */
	struct pollfd fd[TURN_LANES + 4];
	bool dying, ended; /* SIGCHLD has come; its end has been handled */
	int status;        /* as waitpid() gives it */
};

static void signal_plugin(struct turn *turn, int number)
{
	if (!turn->dying && !turn->ended)
		kill(turn->plugin->pid, number);
}

/* A terminal sends its signals to the whole group, so the plugin gets them without us. */
static void take_signals(struct turn *turn)
{
	struct signalfd_siginfo info;

	while (read(turn->fd[TURN_SIGNAL].fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo != SIGCHLD) {
			if (info.ssi_code != SI_KERNEL)
				signal_plugin(turn, (int)info.ssi_signo);
		} else if (!turn->dying && !turn->ended) {
			turn->dying = waitpid(turn->plugin->pid, &turn->status, WNOHANG) == turn->plugin->pid;
		}
	}
}

/* A descriptor that we do not need is left out: a reader that hung up would wake us for ever. On the write
 * end we always want to know that its reader has gone. */
static int prepare_poll(struct turn *turn, int64_t now)
{
	int timeout = -1;

	for (int i = 0; i < 2; i++) {
		struct mor_chaos_lane *lane = turn->lane[i];
		struct pollfd *fd = &turn->fd[TURN_LANES + 2 * i];
		bool held = mor_chaos_lane_held(lane, now), pending = mor_chaos_lane_pending(lane);

		fd[0] = (struct pollfd){ mor_chaos_lane_wants_input(lane) ? lane->from : -1, POLLIN, 0 };
		fd[1] = (struct pollfd){ lane->to, pending && !held ? POLLOUT : 0, 0 };
		if (held && pending && (timeout < 0 || lane->held_until - now < timeout))
			timeout = (int)(lane->held_until - now);
	}
	return timeout;
}

static int serve_lane(struct turn *turn, int i, int64_t now)
{
	struct mor_chaos_lane *lane = turn->lane[i];
	const struct pollfd *fd = &turn->fd[TURN_LANES + 2 * i];
	int r = 0;

	if (fd[0].revents)
		r = mor_chaos_lane_read(lane);
	if (fd[1].revents & (POLLERR | POLLNVAL))
		mor_chaos_lane_break(lane);
	else if (mor_chaos_lane_pending(lane) && (fd[1].revents & POLLOUT) && mor_chaos_lane_write(lane, now))
		signal_plugin(turn, SIGKILL);
	/* Everything is written: now the end is passed on too. */
	if (lane->over && !mor_chaos_lane_pending(lane) && lane->to >= 0)
		mor_chaos_lane_break(lane);
	return r;
}

/* The pipe may still hold the plugin's last bytes. Another process may keep the pipe open, but we do not
 * wait for that. */
static int take_last_word(struct turn *turn)
{
	struct mor_chaos_lane *lane = turn->lane[1];
	struct pollfd more = { .events = POLLIN };
	int r = 0;

	turn->dying = false;
	turn->ended = true;
	mor_chaos_lane_break(turn->lane[0]);
	while (r == 0 && lane->from >= 0 && !lane->over) {
		more.fd = lane->from;
		if (poll(&more, 1, 0) <= 0)
			break;
		r = mor_chaos_lane_read(lane);
	}
	return r < 0 ? r : mor_chaos_lane_finish(lane);
}

static int carry_once(struct turn *turn)
{
	int64_t now = mor_clock_ms();
	int r = poll(turn->fd, sizeof(turn->fd) / sizeof(turn->fd[0]), prepare_poll(turn, now));

	if (r < 0)
		return errno == EINTR ? 0 : MORTISE_ESYSTEM;
	now = mor_clock_ms();
	if (turn->fd[TURN_SIGNAL].revents)
		take_signals(turn);
	r = serve_lane(turn, 0, now);
	if (r == 0)
		r = serve_lane(turn, 1, now);
	if (r == 0 && turn->dying)
		r = take_last_word(turn);
	return r;
}

int mor_chaos_carry(struct mor_chaos_plugin *plugin, struct mor_chaos_lane *to_plugin,
		    struct mor_chaos_lane *to_host)
{
	struct turn turn = { .plugin = plugin, .lane = { to_plugin, to_host } };
	sigset_t set;
	int r = 0;

	awaited_signals(&set);
	to_plugin->other = to_host;
	to_host->other = to_plugin;
	turn.fd[TURN_SIGNAL] = (struct pollfd){ signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK), POLLIN, 0 };
	while (r == 0 && !(turn.ended && !mor_chaos_lane_pending(to_host)))
		r = carry_once(&turn);
	if (!turn.ended && !turn.dying) {
		kill(plugin->pid, SIGKILL);
		waitpid(plugin->pid, NULL, 0);
	}
	mor_fd_close(&turn.fd[TURN_SIGNAL].fd);
	return r < 0 ? r : turn.status;
}
