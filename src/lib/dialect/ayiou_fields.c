/* SPDX-License-Identifier: Apache-2.0 */
/* What the messages of ayiou carry. */
#include "dialect/ayiou_fields.h"

#include "dialect/internal.h"

/* ---- metadata ---- */

static const struct mor_field command[] = {
	{ "name", MOR_T_STRING, MOR_F_REQUIRED, .doc = "Command name" },
	{ "description", MOR_T_STRING, MOR_F_REQUIRED | MOR_F_STRICT_ONLY, .doc = "What it does" },
	{ "aliases", MOR_T_ARRAY, .def = "[]", .doc = "Other names", .fields = mor_strings },
	{ 0 },
};
/* The real bridge never asks for it, so no error in it may stop a plugin from running. */
const struct mor_field mor_ayiou_metadata_result[] = {
	{ "name", MOR_T_STRING, MOR_F_REQUIRED | MOR_F_STRICT_ONLY,
	  .doc = "Plugin name, to be shown; the key in the bot's TOML identifies it" },
	{ "description", MOR_T_STRING, MOR_F_REQUIRED | MOR_F_STRICT_ONLY, .doc = "Description" },
	{ "version", MOR_T_STRING, MOR_F_REQUIRED | MOR_F_STRICT_ONLY, .doc = "Version" },
	{ "author", MOR_T_STRING | MOR_T_NULL, .doc = "Author" },
	{ "commands", MOR_T_ARRAY, .def = "[]",
	  .doc = "Its commands; it gets all other messages too, unless the bot says prefilter = true",
	  .fields = command },
	{ "results", MOR_T_BOOL, .def = "false",
	  .doc = "Ours: the plugin wants to hear what became of its reply and its actions" },
	{ 0 },
};

/* ---- lifecycle ---- */

static const struct mor_field connected[] = {
	{ "self_id", MOR_T_INT, MOR_F_REQUIRED, .doc = "The bot's own id" },
	{ 0 },
};
static const struct mor_field result_of_action[] = {
	{ "target_type", MOR_T_STRING, MOR_F_REQUIRED, .one_of = "private|group", .doc = "Where it was to go" },
	{ "target_id", MOR_T_INT, MOR_F_REQUIRED, .doc = "To whom, or to which group" },
	{ "index", MOR_T_INT | MOR_T_NULL, .doc = "Which of the actions, from 0; null: the reply" },
	{ "status", MOR_T_STRING, MOR_F_REQUIRED, .one_of = "ok|failed|timeout|lost",
	  .doc = "failed: the network refused it; timeout: it did not answer; lost: the connection was lost, "
		 "and nobody knows whether it was done" },
	{ "retcode", MOR_T_INT, .doc = "The network's code; 0: ok; -1: there was no answer" },
	{ "message", MOR_T_STRING | MOR_T_NULL, .doc = "Why it was not done" },
	{ "data", MOR_T_ANY, .doc = "What the network answered, such as message_id" },
	{ 0 },
};
static const struct mor_field event[] = {
	{ "startup", MOR_T_NULL, .doc = "The plugin starts" },
	{ "shutdown", MOR_T_NULL, .doc = "The plugin will be stopped" },
	{ "bot_connect", MOR_T_OBJECT, .also = "botconnect", .doc = "The bot is connected to the chat network",
	  .fields = connected },
	{ "action_result", MOR_T_OBJECT,
	  .doc = "Ours, only for plugins whose metadata has results true: what became of one call",
	  .fields = result_of_action },
	{ 0 },
};
const struct mor_field mor_ayiou_lifecycle_params[] = {
	{ "event", MOR_T_OBJECT | MOR_T_STRING, MOR_F_REQUIRED,
	  .doc = "What happens: an object with one member, or its name alone", .fields = event },
	{ 0 },
};
/* Plugins without a lifecycle answer null, which counts as success. */
const struct mor_field mor_ayiou_lifecycle_result[] = {
	{ "ok", MOR_T_BOOL, MOR_F_REQUIRED | MOR_F_STRICT_ONLY,
	  .doc = "Acknowledged; false refuses a startup and is a warning otherwise" },
	{ 0 },
};

/* ---- matches, handle ---- */

/* clang-format off */
#define MESSAGE_TYPE \
	{ "message_type", MOR_T_STRING, MOR_F_REQUIRED, \
	  .one_of = "private|group", \
	  .doc = "Where the message was written" }
/* clang-format on */

const struct mor_field mor_ayiou_matches_params[] = {
	{ "text", MOR_T_STRING, MOR_F_REQUIRED,
	  .doc = "Plain text of the message, trimmed; CQ codes and entities are decoded" },
	MESSAGE_TYPE,
	{ "user_id", MOR_T_INT | MOR_T_NULL, .doc = "Who wrote it" },
	{ "group_id", MOR_T_INT | MOR_T_NULL, .doc = "In which group; null in private" },
	{ 0 },
};
const struct mor_field mor_ayiou_matches_result[] = {
	{ "matches", MOR_T_BOOL, MOR_F_REQUIRED, .doc = "True: the event is handed over with handle" },
	{ 0 },
};
const struct mor_field mor_ayiou_handle_params[] = {
	MESSAGE_TYPE,
	{ "user_id", MOR_T_INT, MOR_F_REQUIRED, .doc = "Who wrote it" },
	{ "group_id", MOR_T_INT | MOR_T_NULL, .doc = "In which group; null in private" },
	{ "text", MOR_T_STRING, MOR_F_REQUIRED, .doc = "Plain text, as in matches" },
	{ "raw_message", MOR_T_STRING, MOR_F_REQUIRED, .doc = "The message as it came" },
	{ "self_id", MOR_T_INT | MOR_T_NULL, .doc = "The bot's own id; left out while unknown" },
	{ 0 },
};
/* The host of the bot skips a wrong action and does the others. So all these rules are checked only with
 * --strict. */
static const struct mor_field action[] = {
	{ "type", MOR_T_STRING, MOR_F_REQUIRED | MOR_F_STRICT_ONLY, .one_of = "reply|image|send",
	  .doc = "reply: text to where the event came from; image: a picture there; send: text to anyone" },
	{ "text", MOR_T_STRING, MOR_F_REQUIRED | MOR_F_STRICT_ONLY, .doc = "What to answer",
	  .when = "type=reply" },
	{ "url", MOR_T_STRING, MOR_F_REQUIRED | MOR_F_STRICT_ONLY, .doc = "Where the picture is",
	  .when = "type=image" },
	{ "target_type", MOR_T_STRING, MOR_F_REQUIRED | MOR_F_STRICT_ONLY, .one_of = "private|group",
	  .doc = "To a person or to a group", .when = "type=send" },
	{ "target_id", MOR_T_INT, MOR_F_REQUIRED | MOR_F_STRICT_ONLY,
	  .doc = "Which; digits in a string are taken too, because Node has no integers beyond 2^53",
	  .when = "type=send" },
	{ "message", MOR_T_STRING, MOR_F_REQUIRED | MOR_F_STRICT_ONLY, .doc = "What to write there",
	  .when = "type=send" },
	{ 0 },
};
const struct mor_field mor_ayiou_handle_result[] = {
	{ "handled", MOR_T_BOOL, MOR_F_REQUIRED | MOR_F_STRICT_ONLY,
	  .doc = "The plugin dealt with it; information only" },
	{ "block", MOR_T_BOOL, .def = "false", .doc = "True: no later plugin handles the event" },
	{ "reply", MOR_T_STRING | MOR_T_NULL, .doc = "Answer, written before any action is done" },
	{ "actions", MOR_T_ARRAY | MOR_T_NULL, .def = "[]", .doc = "What else to do, in order; null is none",
	  .fields = action },
	{ 0 },
};
