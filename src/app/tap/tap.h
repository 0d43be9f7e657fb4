/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mortise tap: a conversation as rows, one per message, while it goes on. The rows are read from a .talk file
 * that somebody writes: `mortise record` in another terminal, or our own relay. A row keeps the place of its
 * message in the file, not the message.
 */
#ifndef MOR_TAP_TAP_H
#define MOR_TAP_TAP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <mortise/mortise.h>

#include "base/buf.h"
#include "base/slice.h"
#include "console/console.h"

/* ---- rows (rows.c) ---- */

enum mor_tap_kind {
	MOR_TAP_REQUEST,
	MOR_TAP_REPLY,
	MOR_TAP_ERROR,
	MOR_TAP_NOTE,
	MOR_TAP_NOISE,
	MOR_TAP_STDERR,
	MOR_TAP_EVENT, /* an end, a signal, the exit */
	MOR_TAP_KINDS
};
extern const char *const mor_tap_kind_names[MOR_TAP_KINDS];

struct mor_tap_row {
	enum mor_tap_kind kind;
	bool to_plugin;
	unsigned line; /* of the file */
	off_t at;      /* of its text in the file */
	size_t len;
	uint64_t time_ms;   /* since the start                                        */
	int64_t latency_ms; /* of a reply: since its request; -1: not known           */
	char method[48];    /* of a reply: of its request; cut if it is longer        */
	char id[24];        /* "": none                                               */
};

#define MOR_TAP_ROWS 200000 /* then the older half is forgotten */
#define MOR_TAP_OPEN 1024   /* requests that wait for their replies */

struct mor_tap {
	int fd;
	off_t read; /* bytes of the file that were read */
	struct mor_buf part;
	unsigned lines;
	uint64_t time_ms;
	struct mor_tap_row *row;
	size_t count, cap;
	uint64_t dropped; /* rows that were forgotten */
	bool over;        /* the plugin has ended: no more rows are to be expected */
	struct mor_tap_open {
		bool to_plugin, used;
		char id[64], method[48];
		uint64_t time_ms;
	} open[MOR_TAP_OPEN];
	size_t opened;
};

/* `fd` is borrowed. */
void mor_tap_init(struct mor_tap *tap, int fd);
void mor_tap_fini(struct mor_tap *tap);
/* Reads what is new. The number of new rows, MORTISE_ENOMEM, MORTISE_ESYSTEM or MORTISE_EMANIFEST: it is not a
 * .talk file. */
int mor_tap_read(struct mor_tap *tap, mortise_error *err);
/* The text of a row: JSON, bytes with escapes, a line of stderr. 0 or MORTISE_ENOMEM, MORTISE_ESYSTEM. */
int mor_tap_text(const struct mor_tap *tap, const struct mor_tap_row *row, struct mor_buf *out);
/* Does it pass a filter by method? NULL and "": everything does. */
bool mor_tap_passes(const struct mor_tap_row *row, const char *filter);

/* ---- how a row looks (show.c) ---- */

/* One line of at most `columns` columns, without a newline; 0: as long as it gets. */
void mor_tap_show(const struct mor_tap *tap, const struct mor_tap_row *row, unsigned columns, bool color,
		  struct mor_buf *out);
/* The number of bytes of so many columns. */
size_t mor_tap_cut(struct mor_slice text, size_t columns);
void mor_tap_show_json(const struct mor_tap *tap, const struct mor_tap_row *row, struct mor_buf *out);

/* ---- a terminal (screen.c) ---- */

struct mor_screen;
/* Takes a terminal: `fd` is open for reading and writing, and is borrowed. NULL: no memory. */
struct mor_screen *mor_screen_new(struct mor_tap *tap, int fd, bool color, const char *filter);
/* Gives it back as it was. */
struct mor_screen *mor_screen_free(struct mor_screen *screen);
/* Readable when a key was pressed or the terminal has a new size. Then call _wake() and _draw(). */
int mor_screen_fd(const struct mor_screen *screen);
void mor_screen_wake(struct mor_screen *screen);
/* Draws if something has changed, at most some thirty times a second. Returns how many milliseconds to wait
 * before the next call; -1: until something happens. */
int mor_screen_draw(struct mor_screen *screen);
bool mor_screen_left(const struct mor_screen *screen); /* the user has left */

#endif
