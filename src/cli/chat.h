/*
 * mortise chat with plugins that are asked. What its files share.
 *
 *	chat.c        the command: options, lines and what they mean
 *	chat_guest.c   the plugins: which of them has a function, and whose question a text answers
 *	chat_words.c  the words of a line, and arguments made of them
 *	chat_line.c   where lines come from
 *
 * A function is called by its name; where two plugins have it, as PLUGIN.FUNCTION. Text goes to the plugin that asked
 * last; where none asks, to the one function that takes free text (passthrough).
 */
#ifndef MOR_CLI_CHAT_H
#define MOR_CLI_CHAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "cli/chat_line.h"
#include "cli/cli.h"
#include "runner/runner.h"
#include "cli/turn.h"
#include "wire/json.h"

struct mor_chat_args;
struct mor_chat;

/* One plugin of the command line. */
struct mor_guest {
	struct mor_chat *chat;
	struct mor_turn turn;  /* the plugin, and how it was typed */
	struct mor_doc *about; /* describe, once it has greeted us; NULL: it did not start and is out */
	bool in_session;       /* it waits for input */
	uint64_t asked;        /* which turn of the chat it asked in */
};

struct mor_chat {
	struct mor_cli *cli;
	const struct mor_chat_args *args;
	struct mor_runner session;
	struct mor_lines *lines;
	struct mor_buf extra;  /* what goes beside the params of every function */
	struct mor_guest *guests;
	size_t count;
	uint64_t turns;
	bool leaving;
	int exit_code;         /* of the last turn that failed; on a terminal only that of the start */
};

/* ---- chat_guest.c ---- */

/* A function, and who has it. */
struct mor_pick {
	struct mor_guest *guest;
	const char *name;               /* without the plugin's */
	const struct mor_value *listed; /* what the plugin says of it; NULL: it does not list what it has */
};

const struct mor_value *mor_guest_about(const struct mor_guest *guest);
/* What `word` names. MORTISE_EINPUT: nobody has it (the nearest is offered), or several do (they are listed). */
int mor_guests_pick(struct mor_chat *chat, const char *word, struct mor_pick *ret, mortise_error *err);
/* The function that takes free text: 1, or 0: there is none. MORTISE_EINPUT: there are several. */
int mor_guests_passthrough(struct mor_chat *chat, struct mor_pick *ret, mortise_error *err);
/* Who is answered by a text; NULL: nobody waits. */
struct mor_guest *mor_guests_waiting(const struct mor_chat *chat);
/* /functions: with several plugins by plugin, what two have by its long name. */
void mor_guests_list(const struct mor_chat *chat);

#endif
