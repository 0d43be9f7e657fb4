/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the checks of hosts share: the played plugin and the record that it writes.
 *
 * A host is given a directory of ours: the plugin (`plugin`, a script whose interpreter is a copy of this
 * program, because a sandbox that allows no other program allows that), its manifest, and the file SCENE,
 * which only the played plugin opens: so it is seen that it was started even if it can write nothing. The
 * record is a file beside it, or in the workspace where the plugin is confined. Each line is a mark, a blank
 * and a text.
 */
#ifndef MOR_CHECK_HOST_OWN_H
#define MOR_CHECK_HOST_OWN_H

#include "check/own.h"

#define MOR_CHECK_SCENE "mortise-check-scene" /* "DIALECT/SCENE\nRECORD\n" */

enum mor_check_mark {
	MOR_CHECK_MARK_START = '@',
	MOR_CHECK_MARK_MESSAGE = '>',
	MOR_CHECK_MARK_NOISE = '!',  /* bytes that are no message */
	MOR_CHECK_MARK_EAGER = '+',  /* a message came before the last one was answered */
	MOR_CHECK_MARK_END = '.',    /* stdin has ended */
	MOR_CHECK_MARK_TERM = 'T',   /* SIGTERM came */
	MOR_CHECK_MARK_ENV = 'E',    /* a variable that is not the protocol's */
	MOR_CHECK_MARK_INPUT = 'I',  /* kythe: an input that cannot be read */
	MOR_CHECK_MARK_OUTPUT = 'O', /* kythe: the output cannot be written */
	MOR_CHECK_MARK_SPARED = 'G', /* kythe: it was not killed in its grace period */
	MOR_CHECK_MARK_WAITED = '?', /* kythe: what had to come did not come */
	MOR_CHECK_MARKS = 128
};

struct mor_check_heard {
	const struct mor_dialect *dialect;
	struct mor_check_message *message; /* what the host sent, in order */
	size_t count, cap;
	unsigned marks[MOR_CHECK_MARKS]; /* how often each came */
	unsigned broken;                 /* messages that are not JSON */
	bool started, recorded;          /* the plugin was started; it could write its record */
	int status;                      /* of the host; -1: killed, or not ended in time */
	char *talk;                      /* the record as text */
	char text[400];                  /* how the host ended, with its last line on stderr */
};

/* What judges take: what was heard, and what the row says more closely. */
#define MOR_CHECK_HEARD const struct mor_check_heard *heard, int64_t arg __attribute__((unused))

/* A row for hosts: which scene is played, what must be so then, and what is told if it is not. */
struct mor_check_host_row {
	const char *name, *title, *spec, *scene;
	unsigned must, should;
	bool (*judge)(MOR_CHECK_HEARD);
	int64_t arg;
	const char *wrong, *advice;
	bool blind; /* judged by the host's end alone: the plugin may have been unable to write its record */
};
/* The tables, NULL-terminated; each ends with an empty row. */
extern const struct mor_check_host_row *const mor_check_host_tables[];
extern const struct mor_check_host_row mor_check_host_common[], mor_check_host_sunscreen[],
	mor_check_host_kythe[];

/* `wants`: one of the following, or JUDGE with a function of the table's own. BLIND: looks only at the host's
 * end. */
#define MOR_CHECK_HOST_ROW(id, text, section, play, level, mask, wants, cure) \
	{ \
		.name = id, .title = text, .spec = section, .scene = play, .level = mask, wants, \
		.advice = cure \
	}
#define MOR_CHECK_HOST_BLIND(id, text, section, play, level, mask, wants, cure) \
	{ \
		.name = id, .title = text, .spec = section, .scene = play, .level = mask, wants, \
		.advice = cure, .blind = true \
	}
#define MOR_CHECK_JUDGE(function, about, otherwise) .judge = function, .arg = about, .wrong = otherwise
#define MOR_CHECK_SUCCEEDS                          MOR_CHECK_JUDGE(mor_check_host_ended, 0, "the host failed")
bool mor_check_host_ended(MOR_CHECK_HEARD);  /* with the status `arg` */
bool mor_check_host_failed(MOR_CHECK_HEARD); /* with another status than 0 */
bool mor_check_host_marked(MOR_CHECK_HEARD); /* the mark `arg` came */
bool mor_check_host_unmarked(MOR_CHECK_HEARD);
bool mor_check_host_valid(const struct mor_field *fields, const struct mor_value *value);

/* ---- the played plugin (play.c) ---- */

struct mor_check_player {
	const struct mor_dialect *dialect;
	const char *scene;
	char record_path[4096];
	int record; /* -1: the sandbox does not allow it */
	struct mor_deframer deframer;
	struct mor_buf in;
	bool over;            /* stdin has ended, or SIGTERM came */
	struct mor_doc *only; /* the one request of a process that answers at the end of its stdin */
};
bool mor_check_plays(const struct mor_check_player *p, const char *scene);
void mor_check_play_note(struct mor_check_player *p, enum mor_check_mark mark, struct mor_slice text);
void mor_check_play_send(struct mor_check_player *p, struct mor_slice body);
/* Reads once more, at most `ms` long; -1: no limit. False: nothing came, or it is `over`. */
bool mor_check_play_read(struct mor_check_player *p, int ms);
/* The next message, which is noted; what is no message is noted, too. False: what was read has no more. */
bool mor_check_play_next(struct mor_check_player *p, struct mor_buf *ret_body);
bool mor_check_play_terminated(void);
void mor_check_play_stderr(void);
void mor_check_play_kythe(struct mor_check_player *p);

#endif
