/* SPDX-License-Identifier: Apache-2.0 */
/* mortise replay: plays a file to a plugin, or as a plugin, and reports where the other side differs. */
#ifndef MOR_REPLAY_REPLAY_H
#define MOR_REPLAY_REPLAY_H

#include <stdbool.h>

#include <mortise/mortise.h>

#include "console/console.h"
#include "replay/player.h"
#include "runner/runner.h"

struct mor_replay {
	struct mor_console *console;
	const char *file;
	struct mor_talk talk, greeting;
	struct mor_player_options play;
	bool tap; /* TAP on stdout */
	unsigned points;
	bool failed; /* one of them */
};

/* One file ("-": stdin), parsed. An error names it. */
int mor_replay_read(const char *path, struct mor_talk *ret, mortise_error *err);
/* Reads the file, and greeting.inc beside it if a line of the file stands for it. */
int mor_replay_load(struct mor_replay *replay, const char *file, mortise_error *err);
void mor_replay_fini(struct mor_replay *replay);

/* run.c: the plugin as in mor_runner_plugin_options(). 0: equal, 1: it differs, or a negative status. */
int mor_replay_to_plugin(struct mor_replay *replay, const struct mor_plugin_args *args, const char *path,
			 const char *const *argv, mortise_error *err);
/* mock.c: on our own stdin and stdout. The exit status; does not return if the file ends with a signal. */
int mor_replay_as_plugin(struct mor_replay *replay, mortise_error *err);

/* tell.c */
/* on_compared; arg: the replay */
void mor_replay_compared(void *arg, const struct mor_talk_step *step, bool same);
/* Everything is over: the report. Returns the exit status. */
int mor_replay_tell(struct mor_replay *replay, const struct mor_player *player);
/* The difference as lines on stderr, where stdout is not ours. */
void mor_replay_note(struct mor_replay *replay, const struct mor_player *player);

#endif
