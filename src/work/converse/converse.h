/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conversations with plugins, and single calls of functions. Shared by these files:
 *
 *	run.c        the conversation: its plugins, its beginning and its end
 *	act.c        what a line means
 *	guest.c      the plugins: which of them has a function, and whose question a text answers
 *	words.c      the words of a line, and arguments made of them
 *	lines.c      where lines come from
 *	turn.c       one request and its pieces
 *	functions.c  what a plugin says it can do
 *	ask.c        what plugins ask of the person
 *	complete.c   what can stand where the cursor is
 *	once.c       one function without a conversation
 *
 * A function is called by its name, or as PLUGIN.FUNCTION if two plugins have it. Text goes to the plugin that
 * asked last or, if none asks, to the one function that takes free text (passthrough).
 */
#ifndef MOR_CONVERSE_CONVERSE_H
#define MOR_CONVERSE_CONVERSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/list.h"
#include "base/textlist.h"
#include "converse/lines.h"
#include "converse/once.h"
#include "converse/turn.h"
#include "runner/runner.h"
#include "wire/json.h"

struct mor_converse;

/* What the user wants. */
struct mor_converse_args {
	const char *const *plugins;
	size_t plugin_count;
	const char *const *command;   /* one more plugin, as a command line; or NULL */
	bool echo;                    /* print the lines that are read from a file   */
	bool ask;                     /* requests of plugins wait for the person */
	struct mor_text_list answers; /* METHOD=JSON: answers to such requests */
	struct mor_converse_extra extra;
	const struct mor_plugin_args *plugin;
};

/* The whole conversation, with all its output. Returns the exit code. */
int mor_converse_run(struct mor_console *console, const struct mor_converse_args *args);

/* One plugin of the command line. */
struct mor_converse_guest {
	int cause; /* why its last process ended, as a status; 0: not known */
	struct mor_converse *chat;
	struct mor_converse_turn turn; /* the plugin, and how it was typed */
	struct mor_doc *about; /* describe, after the greeting; NULL: it did not start and is left out */
	struct mor_doc *table; /* of its dialect; may be NULL */
	bool in_session;       /* it waits for input */
	uint64_t asked;        /* number of the turn in which it asked */
};

struct mor_converse {
	struct mor_console *console;
	const struct mor_converse_args *args;
	struct mor_runner runner;
	struct mor_converse_lines *lines;
	struct mor_buf extra; /* sent together with the params of every function */
	struct mor_converse_guest *guests;
	size_t count;
	uint64_t turns;
	struct mor_list asks; /* ask.c */
	bool leaving;
	int exit_code; /* of the last turn that failed; on a terminal only of the start */
};

/* ---- act.c ---- */

/* Does what the line says. */
void mor_converse_act(struct mor_converse *chat, const char *line);
/* Reports an error of a line; it becomes the exit code. `guest` may be NULL. */
void mor_converse_fail_line(struct mor_converse *chat, const struct mor_converse_guest *guest,
			    const mortise_error *err);
/* Names of the chat's own commands, without their slash. NULL-terminated. */
const char *const *mor_converse_commands(void);

/* ---- guest.c ---- */

/* A function, and the plugin that has it. */
struct mor_converse_pick {
	struct mor_converse_guest *guest;
	const char *name;               /* without the plugin's name */
	const struct mor_value *listed; /* what the plugin says about it; NULL: it lists no functions */
};

const struct mor_value *mor_converse_guest_about(const struct mor_converse_guest *guest);
/* The methods of its dialect that a host calls, as rows of the table. */
const struct mor_value *mor_converse_guest_methods(const struct mor_converse_guest *guest);
/* Finds what `word` names. MORTISE_EINPUT: no plugin has it (the nearest is offered), or several do (they
 * are listed). */
int mor_converse_guests_pick(struct mor_converse *chat, const char *word, struct mor_converse_pick *ret,
			     mortise_error *err);
/* The function that takes free text: 1; 0: the plugin has no such function. MORTISE_EINPUT: it has several. */
int mor_converse_guests_passthrough(struct mor_converse *chat, struct mor_converse_pick *ret,
				    mortise_error *err);
/* The plugin that a text answers; NULL: nobody waits. */
struct mor_converse_guest *mor_converse_guests_waiting(const struct mor_converse *chat);
/* /functions: with several plugins, a list per plugin. Functions that two plugins have get their long name. */
void mor_converse_guests_list(const struct mor_converse *chat);

#endif
