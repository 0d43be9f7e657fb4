/* SPDX-License-Identifier: Apache-2.0 */
/* A player with a file, for tests that are its other side. */
#ifndef TESTS_UNIT_REPLAY_PLAY_H
#define TESTS_UNIT_REPLAY_PLAY_H

#include "leak.h"

#include <stdio.h>
#include <string.h>

#include "replay/player.h"

struct play {
	struct mor_talk talk;
	struct mor_player_options opt;
	struct mor_player player;
};

static inline void play_begin(struct play *p, const char *file)
{
	mortise_error err = { 0 };

	if (mor_talk_parse(mor_slice_of(file), &p->talk, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(mor_player_init(&p->player, &p->talk, &p->opt), 0);
}

static inline void play_end(struct play *p)
{
	mor_player_fini(&p->player);
	mor_talk_fini(&p->talk);
}

static inline void play_say(struct play *p, const char *bytes)
{
	assert_int_equal(mor_player_input(&p->player, mor_slice_of(bytes)), 0);
}

static inline void play_say_end(struct play *p)
{
	assert_int_equal(mor_player_input(&p->player, (struct mor_slice){ NULL, 0 }), 0);
}

#define assert_next(p, need) assert_int_equal(mor_player_next(&(p)->player), need)

static inline void assert_sent(struct play *p, const char *bytes)
{
	struct mor_buf *out = &p->player.out;

	assert_next(p, MOR_PLAYER_SEND);
	assert_int_equal(mor_buf_byte(out, '\0'), 0);
	assert_string_equal(out->data, bytes);
	mor_buf_reset(out, SIZE_MAX);
}

static inline void assert_text(struct mor_buf *buf, const char *wanted)
{
	assert_int_equal(mor_buf_byte(buf, '\0'), 0);
	assert_string_equal(buf->data, wanted);
}

static inline void assert_differs(const struct play *p, unsigned line, const char *text)
{
	assert_string_equal(p->player.difference.text, text);
	assert_int_equal(p->player.difference.line, line);
}

#endif
