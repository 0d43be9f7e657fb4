/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions: one plugin process that stays between commands. `mortise session start NAME PLUGIN` leaves a
 * *keeper* behind, a process of this user that hosts the plugin and answers on a unix socket.
 * `mortise call @NAME` is its client.
 *
 *	place.c    where sessions are, and who may own what is there
 *	wire.c     messages on the socket
 *	start.c    the command's side of a start; becomes the keeper
 *	keeper.c   the keeper: its plugin, its loop, its end
 *	guest.c    one client of the keeper
 *	notes.c    what the plugin said by itself
 *	client.c   a command that uses a session
 *
 * What a plugin may do and sees of its environment is fixed when the session starts: a client can only call. A
 * keeper ends when nobody has used it for a while, when it is told to, or at SIGTERM. If the plugin dies, the
 * keeper does not start it again, because what the plugin knew is lost: every call says how it died.
 */
#ifndef MOR_SESSION_SESSION_H
#define MOR_SESSION_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include <mortise/mortise.h>

#include "base/textlist.h"
#include "console/console.h"
#include "runner/runner.h"
#include "wire/json.h"

#define MOR_SESSION_IDLE_MS (10 * 60 * 1000)

/* "@NAME": a session, where a command wants a PLUGIN. */
static inline bool mor_session_is_meant(const char *word)
{
	return word && word[0] == '@';
}

/* ---- starting ---- */

struct mor_session_start {
	const char *name;
	const char *typed;       /* the plugin as the user typed it; NULL: it is the command */
	const char *const *argv; /* a command line, or NULL */
	const struct mor_plugin_args *plugin;
	struct mor_text_list answers; /* METHOD=JSON: answers to what the plugin asks */
	uint32_t idle_ms;             /* 0: it does not end for want of use */
};

/* Starts a keeper and waits until its plugin has greeted. Returns the exit code; errors are reported. A session
 * of that name whose plugin has died is replaced. */
int mor_session_start(struct mor_console *console, const struct mor_session_start *start);

/* ---- using ---- */

struct mor_session_call {
	const char *name; /* without "@" */
	const char *method;
	mortise_json params;
	uint32_t timeout_ms;      /* 0: the plugin's own */
	uint64_t flags;           /* enum mortise_call_flags */
	mortise_tap_fn *on_frame; /* gets each message of the plugin meanwhile, without its plugin; or NULL */
	void *frame_arg;
	/* As in mortise_call_options. reply->plugin and reply->call are NULL. */
	mortise_reply_fn *on_reply;
	void *arg;
	char plugin[128]; /* its name, from the first answer on */
};

/* One call, to its last callback. MORTISE_ENOTFOUND: there is no such session. MORTISE_ECANCELED: a signal
 * came; the keeper has cancelled the call, and there was no last callback. */
int mor_session_call(struct mor_console *console, struct mor_session_call *call, mortise_error *err);

/* What its keeper says about it: "dialect", "state", "why", and as "about" what mortise_plugin_describe() says.
 * MORTISE_ENOTFOUND: there is no such session. */
int mor_session_about(const char *name, struct mor_doc **ret, mortise_error *err);
/* Adds their names, in order, for mor_text_list_free_texts(). One whose keeper was killed is
 * still among them. */
int mor_session_names(struct mor_text_list *names, mortise_error *err);
/* All sessions as a table, or with --json as an array. What is left of dead keepers is removed. */
int mor_session_list(struct mor_console *console, mortise_error *err);
/* Stops the plugin politely, and the keeper. Waits for its end. */
int mor_session_stop(struct mor_console *console, const char *name, mortise_error *err);
int mor_session_stop_all(struct mor_console *console, mortise_error *err);
/* What the plugin said by itself: notifications, requests, lines on stderr. follow: until a signal comes or the
 * session ends. */
int mor_session_notes(struct mor_console *console, const char *name, bool follow, mortise_error *err);

#endif
