/* SPDX-License-Identifier: Apache-2.0 */
/* Plays the plugin's side on our own stdin and stdout. */
#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "relay/relay.h"
#include "replay/replay.h"

#define MOCK_READ 65536

static int read_input(struct mor_player *player)
{
	static char bytes[MOCK_READ];
	ssize_t n;

	do
		n = read(STDIN_FILENO, bytes, sizeof(bytes));
	while (n < 0 && errno == EINTR);
	return mor_player_input(player,
				n > 0 ? (struct mor_slice){ bytes, (size_t)n } : (struct mor_slice){ NULL, 0 });
}

/* The host may close its end meanwhile: that is read later. */
static void pause_for(uint32_t ms)
{
	int64_t until = mor_clock_ms() + ms, left;

	while ((left = until - mor_clock_ms()) > 0)
		(void)poll(NULL, 0, (int)left);
}

static int end_as_file(struct mor_replay *replay, const struct mor_player *player)
{
	mor_replay_note(replay, player);
	if (player->differences)
		return 1;
	if (player->end && player->end->signal > 0)
		return mor_relay_end_as(player->end->signal);
	return player->end ? player->end->exit_code : 0;
}

static int play_plugin(struct mor_replay *replay, struct mor_player *player)
{
	bool listened = true;
	int r = 0;

	while (r == 0 && listened) {
		switch (mor_player_next(player)) {
		case MOR_PLAYER_SEND:
			/* a host that does not read any more has had enough */
			listened = mor_fd_write_all(STDOUT_FILENO, player->out.data, player->out.len) == 0;
			mor_buf_reset(&player->out, SIZE_MAX);
			break;
		case MOR_PLAYER_CLOSE:
			close(STDOUT_FILENO);
			break;
		case MOR_PLAYER_PAUSE:
			pause_for(player->pause_ms);
			break;
		case MOR_PLAYER_INPUT:
			r = read_input(player);
			break;
		case MOR_PLAYER_DONE:
			if (player->input_over)
				return end_as_file(replay, player);
			r = read_input(player);
			break;
		case MOR_PLAYER_SIGNAL:
		case MOR_PLAYER_END:
		case MOR_PLAYER_DIFFERS:
		case MOR_PLAYER_STUCK:
			return end_as_file(replay, player);
		}
	}
	return r < 0 ? r : end_as_file(replay, player);
}

int mor_replay_as_plugin(struct mor_replay *replay, mortise_error *err)
{
	struct mor_player player;
	int r;

	replay->play.as_plugin = true;
	r = mor_player_init(&player, &replay->talk, &replay->play);
	if (r == 0)
		r = play_plugin(replay, &player);
	mor_player_fini(&player);
	return r == MORTISE_ENOMEM ? mor_fail_memory(err) :
	       r < 0               ? mor_fail(err, r, "%s: the host sends too much", replay->file) :
				     r;
}
