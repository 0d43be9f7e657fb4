/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a conversation down as a .talk file (docs/reference/talk.md) while it goes on: `mortise record`.
 *
 * It is told bytes after they have passed. It cuts them into messages; what is no message is written as raw
 * bytes. Secrets are replaced by names (secrets.h). It keeps one message of each direction in memory, up to a
 * limit; a larger one is left out, and the file says so.
 *
 * Lines go to the file at once, but not more often than once in a millisecond: a killed process loses no more
 * than that. The first line needs the dialect, which the first message
 * shows: until then nothing reaches the file. A file that cannot be written ends the recording, not the talk.
 */
#ifndef MOR_SCRIBE_SCRIBE_H
#define MOR_SCRIBE_SCRIBE_H

#include <stdbool.h>
#include <stdint.h>

#include <mortise/mortise.h>

#include "base/buf.h"
#include "base/slice.h"
#include "relay/cutter.h"
#include "scribe/secrets.h"

#define MOR_SCRIBE_LIMIT ((uint64_t)16 << 20) /* bytes of one message */
#define MOR_SCRIBE_FULL  ((size_t)64 << 10)   /* so many bytes of text do not wait for the next millisecond */

struct mor_scribe_options {
	const char *dialect;                      /* NULL or "": the first message shows it   */
	int framing;                              /* enum mor_framing; -1: the same           */
	uint64_t limit;                           /* of one message; 0: MOR_SCRIBE_LIMIT      */
	const char *const *secrets, *const *keep; /* NULL-terminated or NULL: as in secrets.h */
};

struct mor_scribe {
	int fd;     /* -1: nothing is written any more */
	int failed; /* why: errno; 0: nothing failed   */
	bool begun; /* the first line is written       */
	char dialect[32];
	int framing;
	struct mor_buf text; /* lines that are not in the file yet */
	struct mor_buf work;
	struct mor_buf err; /* the beginning of a line of stderr */
	struct mor_secrets secrets;
	struct mor_scribe_side {
		struct mor_scribe *scribe;
		bool to_plugin;
		struct mor_cutter cutter;
		uint64_t messages;
		uint64_t left_out; /* bytes of the present item */
	} side[2];                 /* towards the plugin, from it */
	int64_t begun_ns, told_ms; /* told_ms: the sum of all waits in the file */
	int64_t flushed_ms;        /* the time of the last write                 */
};

/* The file's name, with the process id for the first %p in it: a host may start a plugin several times. To be
 * freed; NULL: no memory. */
char *mor_scribe_path(const char *path);
/* Makes a new file of mode 0600. A file that is there is refused with MORTISE_EINPUT, or replaced with `force`:
 * a link is replaced, never followed. `hint`: what to do then, for the error. Returns the descriptor. */
int mor_scribe_create(const char *path, bool force, const char *hint, mortise_error *err);

/* `fd` now belongs to the scribe. Everything in the options is borrowed until mor_scribe_close(). */
void mor_scribe_open(struct mor_scribe *scribe, int fd, const struct mor_scribe_options *opt);
/* Writes what is left. */
void mor_scribe_close(struct mor_scribe *scribe);

/* Bytes of one direction; {NULL, 0}: its end. */
void mor_scribe_bytes(struct mor_scribe *scribe, bool to_plugin, struct mor_slice bytes);
/* A message without its framing; one larger than the limit is left out. */
void mor_scribe_message(struct mor_scribe *scribe, bool to_plugin, struct mor_slice body);
void mor_scribe_stderr(struct mor_scribe *scribe, struct mor_slice bytes);
/* "# WHAT: TEXT", without its secrets. */
void mor_scribe_comment(struct mor_scribe *scribe, const char *what, const char *text);
void mor_scribe_signal(struct mor_scribe *scribe, int number); /* is sent to the plugin */
void mor_scribe_exit(struct mor_scribe *scribe, int status);   /* as waitpid() gives it */
/* Call it whenever nothing is left to be passed on. Writes, or returns the number of milliseconds after which
 * it should be called again; -1: nothing waits. */
int mor_scribe_turn(struct mor_scribe *scribe);
void mor_scribe_flush(struct mor_scribe *scribe); /* now */

/* guess.c: the dialect in whose table this first message stands; "plain" if no dialect has it. The text lives
 * as long as the program. */
const char *mor_scribe_guess(enum mor_framing framing, bool to_plugin, struct mor_slice message);

#endif
