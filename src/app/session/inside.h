/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this room share. */
#ifndef MOR_SESSION_INSIDE_H
#define MOR_SESSION_INSIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/list.h"
#include "base/slice.h"
#include "session/session.h"
#include "wire/framing.h"
#include "wire/json.h"

/* ---- place.c ---- */

/* The directory of this user's sessions, opened: $XDG_RUNTIME_DIR/mortise, or /tmp/mortise-UID where that
 * is not set. The directory is ours and closed to others, or it is refused (MORTISE_EINVAL). A
 * descriptor, or a status. */
int mor_session_dir_open(mortise_error *err);
#define MOR_SESSION_NAME_MAX 64
/* Letters, digits, ".", "_" and "-", not first "." or "-". MORTISE_EINVAL. */
int mor_session_name_check(const char *name, mortise_error *err);
/* The keeper of `name`, connected, and known to be of our user. MORTISE_ENOTFOUND: no such session. */
int mor_session_connect(int dir, const char *name, int *ret_fd, mortise_error *err);

/* The right to keep a session: its lock and its socket. */
struct mor_session_seat {
	int dir, lock, listener; /* -1: none */
	char name[MOR_SESSION_NAME_MAX + 1];
};
/* MORTISE_EINPUT: somebody keeps a session of that name. Takes `dir`. */
int mor_session_seat_take(struct mor_session_seat *seat, int dir, const char *name, mortise_error *err);
/* Removes the socket first: a client that comes then finds no session. */
void mor_session_seat_leave(struct mor_session_seat *seat);
/* Is the process at the other end one of our own user? */
bool mor_session_peer_is_ours(int fd);

/* ---- wire.c ---- */

/* Messages on a stream socket: a decimal length, a newline, JSON. The JSON of plugins may have newlines in it.
 *
 * A client asks {"op":"call","method","params","timeout_ms","flags","wire"}, {"op":"info"},
 * {"op":"notes","follow"} or {"op":"stop"}. The keeper answers a call with any number of {"is":"event",...},
 * {"is":"frame",...} and {"is":"reply","more":true,...}, and one last reply; the others with {"is":"info",...},
 * {"is":"note",...} and {"is":"end"}. */
struct mor_session_wire {
	int fd; /* -1: closed */
	struct mor_buf in, out;
	size_t taken; /* of in: the message that was given out last */
	struct mor_deframer deframer;
	bool ended; /* nothing more will come */
};

/* Takes `fd` and makes it non-blocking. */
void mor_session_wire_open_take(struct mor_session_wire *wire, int fd);
void mor_session_wire_close(struct mor_session_wire *wire);
/* Reads what is there. `ended` is set at the end, after an error, and for what is no message. */
void mor_session_wire_fill(struct mor_session_wire *wire);
/* The next message, valid until the next call. false: none is complete. */
bool mor_session_wire_next(struct mor_session_wire *wire, struct mor_slice *ret);
void mor_session_wire_put(struct mor_session_wire *wire, struct mor_slice json);
/* Writes what can be written. false: nobody reads any more. */
bool mor_session_wire_flush(struct mor_session_wire *wire);
/* Waits for the next message. 0; MORTISE_ECLOSED: the other end is gone; MORTISE_ECANCELED: a signal came;
 * MORTISE_ETIMEOUT after timeout_ms (-1: never). */
int mor_session_wire_wait(struct mor_session_wire *wire, int timeout_ms, struct mor_slice *ret);

/* ---- client.c ---- */

/* Before a start: ends a session of that name whose plugin is dead. MORTISE_EINPUT: it runs. */
int mor_session_clear_dead(struct mor_console *console, const char *name, mortise_error *err);

/* ---- keeper.c ---- */

/* The process becomes the keeper of this session and returns its exit code when that has ended. `starter` gets
 * one message when the plugin is ready: {"ok":true,...}, or {"ok":false,"error",...}. */
int mor_session_keep(struct mor_console *console, const struct mor_session_start *start, int starter);

/* One thing that the plugin said by itself, as JSON. */
struct mor_session_note {
	struct mor_list node;
	size_t len;
	char json[];
};

/* The last ones, bounded in number and bytes. */
struct mor_session_notes {
	struct mor_list list;
	size_t count, bytes;
	uint64_t dropped;
};
void mor_session_notes_init(struct mor_session_notes *notes);
void mor_session_notes_fini(struct mor_session_notes *notes);
/* The newest; NULL: this event is not for the notes, or there is no memory. */
const struct mor_session_note *mor_session_notes_add(struct mor_session_notes *notes,
						     const mortise_event *event);
const struct mor_session_note *mor_session_notes_asked(struct mor_session_notes *notes, const char *method,
						       mortise_json params);

struct mor_session_keeper {
	struct mor_console *console;
	const struct mor_session_start *start;
	struct mor_session_seat seat;
	struct mor_runner runner;
	mortise_plugin *plugin;
	struct mor_list guests;
	struct mor_session_notes notes;
	int64_t begun_ms, used_ms;
	uint64_t calls;
	bool ready;            /* it has been: from then on events go to the guests */
	bool stopping;         /* somebody asked, or nobody came */
	size_t taps;           /* guests that want to see the wire */
	mortise_error death;   /* why the plugin is gone; code 0: it is not */
	mortise_error failure; /* of the start, as the last event told it */
};

/* ---- guest.c ---- */

struct mor_session_guest {
	struct mor_list node;
	struct mor_session_keeper *keeper;
	struct mor_session_wire wire;
	mortise_call *call; /* NULL: none runs */
	bool shows_wire, follows;
	bool used;        /* it did more than look */
	bool gone;        /* freed when its call has ended */
	int64_t moved_ms; /* when it last read, asked or got its answer */
};

/* Takes `fd`. Without memory it is closed. */
void mor_session_guest_new_take(struct mor_session_keeper *keeper, int fd);
/* Reads, acts and writes; `events` are those of poll(). */
void mor_session_guest_turn(struct mor_session_guest *guest, short events);
short mor_session_guest_wants(const struct mor_session_guest *guest); /* for poll() */
/* Milliseconds until the keeper lets it go because it neither reads nor asks; -1: it may stay. */
int64_t mor_session_guest_rest(const struct mor_session_guest *guest);
/* Ends its connection, and its call. */
void mor_session_guest_leave(struct mor_session_guest *guest);
void mor_session_guests_tell_event(struct mor_session_keeper *keeper, const mortise_event *event);
void mor_session_guests_tell_note(struct mor_session_keeper *keeper, const struct mor_session_note *note);
void mor_session_guests_tell_frame(struct mor_session_keeper *keeper, const mortise_tap_frame *frame);
/* Turns the tap on or off, as the guests need it. */
void mor_session_keeper_tap(struct mor_session_keeper *keeper, int change);

/* ---- errors on the wire ---- */

/* A member; none without a text. */
void mor_session_put(struct mor_writer *w, const char *name, mortise_json json);
void mor_session_write_error(struct mor_writer *w, const mortise_error *error);
void mor_session_read_error(const struct mor_value *value, mortise_error *ret);

#endif
