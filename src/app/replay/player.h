/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plays one side of a .talk file (docs/reference/talk.md, "What a replay does"). Pure: the caller moves the
 * bytes, waits and signals, as mor_player_next() says.
 */
#ifndef MOR_REPLAY_PLAYER_H
#define MOR_REPLAY_PLAYER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/list.h"
#include "base/slice.h"
#include "relay/cutter.h"
#include "talk/talk.h"

struct mor_player_options {
	bool as_plugin; /* else the host is played */
	enum mor_framing framing;
	const char *ref; /* the member of a notification's params that names a call ("request_id"), or NULL */
	bool ordered;    /* replies must come in the order of the file too */
	bool noise;      /* bytes that are no messages do not matter */
	bool pace;       /* keep the pauses before what is sent */
	/* NULL-terminated or NULL: JSON pointers; methods of the other side; "member=value" */
	const char *const *ignored, *const *skipped, *const *secrets;
};

/* What the caller must do next. */
enum mor_player_need {
	MOR_PLAYER_SEND,   /* write player->out, and empty it                             */
	MOR_PLAYER_CLOSE,  /* close the stream that we write                              */
	MOR_PLAYER_SIGNAL, /* send the plugin player->signal                              */
	MOR_PLAYER_PAUSE,  /* wait for player->pause_ms                                   */
	MOR_PLAYER_INPUT,  /* call mor_player_input()                                     */
	MOR_PLAYER_END,    /* the host: mor_player_ended(); the plugin: end as player->end says */
	MOR_PLAYER_DIFFERS,
	MOR_PLAYER_DONE,
	MOR_PLAYER_STUCK /* the file cannot be played any further: player->difference says why */
};

/* The first difference. */
struct mor_player_difference {
	unsigned line; /* of the file; 0: none */
	char text[600];
	struct mor_buf expected, came; /* messages; may be empty */
	struct mor_buf values;         /* "/pointer: expected -> came" lines */
	struct mor_buf json;           /* the same as elements of an array */
};

struct mor_player {
	const struct mor_player_options *opt;
	const struct mor_talk *talk;
	struct mor_player_cue *cues; /* what is to be done, in order (cues.c) */
	size_t count, cap, at;
	struct mor_talk_vars vars;
	struct mor_cutter cutter;
	struct mor_list heard; /* what came and is not compared yet */
	size_t heard_bytes;
	bool input_over, ended;
	bool lingered; /* something was expected when the input was over: the end may explain it */
	int status;    /* as waitpid() gives it */
	struct mor_buf out;
	uint32_t pause_ms;
	int signal, signalled;
	const struct mor_talk_step *end;
	int64_t next_id;
	uint64_t sent, compared; /* messages */
	unsigned differences;    /* as_plugin: it goes on after one */
	struct mor_player_difference difference;
	/* or NULL: told each message that is sent or comes */
	void (*on_message)(void *arg, bool ours, struct mor_slice body);
	/* or NULL: told each line of the other side that was compared */
	void (*on_compared)(void *arg, const struct mor_talk_step *step, bool same);
	void *arg;
};

/* `talk` and `opt` are borrowed. 0 or MORTISE_ENOMEM. */
int mor_player_init(struct mor_player *player, const struct mor_talk *talk,
		    const struct mor_player_options *opt);
void mor_player_fini(struct mor_player *player);
enum mor_player_need mor_player_next(struct mor_player *player);
/* Bytes of the other side; {NULL, 0}: its end. 0, MORTISE_ENOMEM, or MORTISE_ELIMIT: too much that nobody waits
 * for. */
#define MOR_PLAYER_HEARD ((size_t)512 << 20)
int mor_player_input(struct mor_player *player, struct mor_slice bytes);
void mor_player_ended(struct mor_player *player, int status);
/* Nothing comes any more: that is the difference. */
void mor_player_give_up(struct mor_player *player, const char *why);

/* ---- cues.c ---- */

enum mor_player_cue_kind {
	MOR_CUE_SEND,     /* a message of ours                       */
	MOR_CUE_SEND_RAW, /* bytes of ours                           */
	MOR_CUE_CLOSE,    /* our end                                 */
	MOR_CUE_EXPECT,   /* a message of theirs                     */
	MOR_CUE_NOISE,    /* bytes of theirs that are no message     */
	MOR_CUE_OVER,     /* their end                               */
	MOR_CUE_WAIT,
	MOR_CUE_SIGNAL,
	MOR_CUE_END
};

struct mor_player_cue {
	enum mor_player_cue_kind kind;
	const struct mor_talk_step *step;
	char *text; /* the pattern or the bytes; ours to free */
	size_t len;
	bool reply, any; /* EXPECT: it answers; it is "..." */
	struct mor_talk_head head;
};

int mor_player_make_cues(struct mor_player *player);
bool mor_player_skips(const struct mor_player *player, const char *method); /* player.c: it is not compared */

#endif
