/* SPDX-License-Identifier: Apache-2.0 */
#include "gauge/floor.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "gauge/hist.h"
#include "gauge/usage.h"

#define TRIP_COUNT 2000
#define TRIP_NS    60000000 /* no longer than this */

struct echo {
	int to, from; /* our ends of its pipes */
	pid_t pid;
};

static bool spawn_cat(struct echo *echo, const int in[2], const int out[2])
{
	static char program[] = "cat", *argv[] = { program, NULL }, *env[] = { NULL };
	posix_spawn_file_actions_t actions;
	bool done;

	if (posix_spawn_file_actions_init(&actions) != 0)
		return false;
	done = posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO) == 0 &&
	       posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO) == 0 &&
	       posix_spawnp(&echo->pid, program, &actions, NULL, argv, env) == 0;
	posix_spawn_file_actions_destroy(&actions);
	return done;
}

static bool open_echo(struct echo *echo)
{
	int in[2] = { -1, -1 }, out[2] = { -1, -1 };
	bool done = pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0 && spawn_cat(echo, in, out);

	mor_fd_close(&in[0]);
	mor_fd_close(&out[1]);
	if (!done) {
		mor_fd_close(&in[1]);
		mor_fd_close(&out[0]);
		return false;
	}
	*echo = (struct echo){ in[1], out[0], echo->pid };
	return true;
}

static void close_echo(struct echo *echo)
{
	mor_fd_close(&echo->to);
	mor_fd_close(&echo->from);
	while (waitpid(echo->pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static bool move_piece(const struct echo *echo, char *piece, size_t bytes)
{
	size_t got = 0;

	if (mor_fd_write_nosignal(echo->to, piece, bytes) != (ssize_t)bytes)
		return false;
	while (got < bytes) {
		ssize_t n = read(echo->from, piece, bytes - got);

		if (n <= 0 && !(n < 0 && errno == EINTR))
			return false;
		got += n > 0 ? (size_t)n : 0;
	}
	return true;
}

static bool make_trip(const struct echo *echo, char *piece, size_t bytes)
{
	for (size_t size; bytes; bytes -= size) {
		size = bytes < MOR_FLOOR_PIECE ? bytes : MOR_FLOOR_PIECE;
		if (!move_piece(echo, piece, size))
			return false;
	}
	return true;
}

/* The first trips wait for its start. The median, not the mean: other programs may have the processors. */
static void measure_echo(const struct echo *echo, size_t bytes, struct mor_hist *hist,
			 struct mor_judgement_cost *ret)
{
	char piece[MOR_FLOOR_PIECE] = { 0 };
	int64_t begun, host, plugin, last, now;
	double count;

	for (int i = 0; i < 20; i++)
		if (!move_piece(echo, piece, bytes < MOR_FLOOR_PIECE ? bytes : MOR_FLOOR_PIECE))
			return;
	plugin = mor_usage_process(echo->pid);
	host = mor_usage_host();
	begun = now = mor_clock_ns();
	do {
		last = now;
		if (!make_trip(echo, piece, bytes))
			return;
		now = mor_clock_ns();
		mor_hist_add(hist, (uint64_t)(now - last));
	} while (hist->count < TRIP_COUNT && now - begun < TRIP_NS);
	count = 1000 * (double)hist->count; /* and to microseconds */
	ret->host = (double)(mor_usage_host() - host) / count;
	ret->plugin = (double)(mor_usage_process(echo->pid) - plugin) / count;
	ret->wall = (double)mor_hist_at(hist, 0.5) / 1000;
}

void mor_floor_measure(size_t bytes, struct mor_judgement_cost *ret)
{
	struct echo echo = { .to = -1, .from = -1 };
	struct mor_hist *hist = mor_hist_new();
	size_t moved = bytes < 1 ? 1 : bytes > MOR_FLOOR_BYTES ? MOR_FLOOR_BYTES : bytes;
	double times = bytes > moved ? (double)bytes / (double)moved : 1;

	*ret = (struct mor_judgement_cost){ 0 };
	if (hist && open_echo(&echo)) {
		measure_echo(&echo, moved, hist, ret);
		close_echo(&echo);
	}
	mor_hist_free(hist);
	ret->wall *= times;
	ret->host *= times;
	ret->plugin *= times;
}
