/* SPDX-License-Identifier: Apache-2.0 */
/* What the messages of ayiou carry. */
#include "dialect/ayiou_fields.h"

#include "dialect/internal.h"

/* ---- metadata ---- */

static const struct mor_field command[] = {
	{ .name = "name", .type = MOR_T_STRING, .flags = MOR_F_REQUIRED, .doc = "Command name" },
	{ .name = "description",
	  .type = MOR_T_STRING,
	  .flags = MOR_F_REQUIRED | MOR_F_STRICT_ONLY,
	  .doc = "What it does" },
	{ .name = "aliases", .type = MOR_T_ARRAY, .def = "[]", .doc = "Other names", .fields = mor_strings },
	{ 0 },
};
/* The real bridge never asks for it, so no error in it may stop a plugin from running. */
const struct mor_field mor_ayiou_metadata_result[] = {
	{ .name = "name",
	  .type = MOR_T_STRING,
	  .flags = MOR_F_REQUIRED | MOR_F_STRICT_ONLY,
	  .doc = "Plugin name, to be shown; the key in the bot's TOML identifies it" },
	{ .name = "description",
	  .type = MOR_T_STRING,
	  .flags = MOR_F_REQUIRED | MOR_F_STRICT_ONLY,
	  .doc = "Description" },
	{ .name = "version",
	  .type = MOR_T_STRING,
	  .flags = MOR_F_REQUIRED | MOR_F_STRICT_ONLY,
	  .doc = "Version" },
	{ .name = "author", .type = MOR_T_STRING | MOR_T_NULL, .doc = "Author" },
	{ .name = "commands",
	  .type = MOR_T_ARRAY,
	  .def = "[]",
	  .doc = "Its commands; it gets all other messages too, unless the bot says prefilter = true",
	  .fields = command },
	{ .name = "results",
	  .type = MOR_T_BOOL,
	  .def = "false",
	  .doc = "Ours: the plugin wants to hear what became of its reply and its actions" },
	{ 0 },
};

/* ---- lifecycle ---- */

static const struct mor_field connected[] = {
	{ .name = "self_id", .type = MOR_T_INT, .flags = MOR_F_REQUIRED, .doc = "The bot's own id" },
	{ 0 },
};
static const struct mor_field result_of_action[] = {
	{ .name = "target_type",
	  .type = MOR_T_STRING,
	  .flags = MOR_F_REQUIRED,
	  .one_of = "private|group",
	  .doc = "Where it was to go" },
	{ .name = "target_id",
	  .type = MOR_T_INT,
	  .flags = MOR_F_REQUIRED,
	  .doc = "To whom, or to which group" },
	{ .name = "index",
	  .type = MOR_T_INT | MOR_T_NULL,
	  .doc = "Which of the actions, from 0; null: the reply" },
	{ .name = "status",
	  .type = MOR_T_STRING,
	  .flags = MOR_F_REQUIRED,
	  .one_of = "ok|failed|timeout|lost",
	  .doc = "failed: the network refused it; timeout: it did not answer; lost: the connection was lost, "
		 "and nobody knows whether it was done" },
	{ .name = "retcode", .type = MOR_T_INT, .doc = "The network's code; 0: ok; -1: there was no answer" },
	{ .name = "message", .type = MOR_T_STRING | MOR_T_NULL, .doc = "Why it was not done" },
	{ .name = "data", .type = MOR_T_ANY, .doc = "What the network answered, such as message_id" },
	{ 0 },
};
static const struct mor_field event[] = {
	{ .name = "startup", .type = MOR_T_NULL, .doc = "The plugin starts" },
	{ .name = "shutdown", .type = MOR_T_NULL, .doc = "The plugin will be stopped" },
	{ .name = "bot_connect",
	  .also = "botconnect",
	  .type = MOR_T_OBJECT,
	  .doc = "The bot is connected to the chat network",
	  .fields = connected },
	{ .name = "action_result",
	  .type = MOR_T_OBJECT,
	  .doc = "Ours, only for plugins whose metadata has results true: what became of one call",
	  .fields = result_of_action },
	{ 0 },
};
const struct mor_field mor_ayiou_lifecycle_params[] = {
	{ .name = "event",
	  .type = MOR_T_OBJECT | MOR_T_STRING,
	  .flags = MOR_F_REQUIRED,
	  .doc = "What happens: an object with one member, or its name alone",
	  .fields = event },
	{ 0 },
};
/* Plugins without a lifecycle answer null, which counts as success. */
const struct mor_field mor_ayiou_lifecycle_result[] = {
	{ .name = "ok",
	  .type = MOR_T_BOOL,
	  .flags = MOR_F_REQUIRED | MOR_F_STRICT_ONLY,
	  .doc = "Acknowledged; false refuses a startup and is a warning otherwise" },
	{ 0 },
};

/* ---- matches, handle ---- */

/* clang-format off */
#define MESSAGE_TYPE \
	{ .name = "message_type", \
	  .type = MOR_T_STRING, \
	  .flags = MOR_F_REQUIRED, \
	  .one_of = "private|group", \
	  .doc = "Where the message was written" }
/* clang-format on */

const struct mor_field mor_ayiou_matches_params[] = {
	{ .name = "text",
	  .type = MOR_T_STRING,
	  .flags = MOR_F_REQUIRED,
	  .doc = "Plain text of the message, trimmed; CQ codes and entities are decoded" },
	MESSAGE_TYPE,
	{ .name = "user_id", .type = MOR_T_INT | MOR_T_NULL, .doc = "Who wrote it" },
	{ .name = "group_id", .type = MOR_T_INT | MOR_T_NULL, .doc = "In which group; null in private" },
	{ 0 },
};
const struct mor_field mor_ayiou_matches_result[] = {
	{ .name = "matches",
	  .type = MOR_T_BOOL,
	  .flags = MOR_F_REQUIRED,
	  .doc = "True: the event is handed over with handle" },
	{ 0 },
};
const struct mor_field mor_ayiou_handle_params[] = {
	MESSAGE_TYPE,
	{ .name = "user_id", .type = MOR_T_INT, .flags = MOR_F_REQUIRED, .doc = "Who wrote it" },
	{ .name = "group_id", .type = MOR_T_INT | MOR_T_NULL, .doc = "In which group; null in private" },
	{ .name = "text", .type = MOR_T_STRING, .flags = MOR_F_REQUIRED, .doc = "Plain text, as in matches" },
	{ .name = "raw_message",
	  .type = MOR_T_STRING,
	  .flags = MOR_F_REQUIRED,
	  .doc = "The message as it came" },
	{ .name = "self_id",
	  .type = MOR_T_INT | MOR_T_NULL,
	  .doc = "The bot's own id; left out while unknown" },
	{ 0 },
};
/* The host of the bot skips a wrong action and does the others. So all these rules are checked only with
 * --strict. */
static const struct mor_field action[] = {
	{ .name = "type",
	  .type = MOR_T_STRING,
	  .flags = MOR_F_REQUIRED | MOR_F_STRICT_ONLY,
	  .one_of = "reply|image|send",
	  .doc = "reply: text to where the event came from; image: a picture there; send: text to anyone" },
	{ .name = "text",
	  .type = MOR_T_STRING,
	  .flags = MOR_F_REQUIRED | MOR_F_STRICT_ONLY,
	  .doc = "What to answer",
	  .when = "type=reply" },
	{ .name = "url",
	  .type = MOR_T_STRING,
	  .flags = MOR_F_REQUIRED | MOR_F_STRICT_ONLY,
	  .doc = "Where the picture is",
	  .when = "type=image" },
	{ .name = "target_type",
	  .type = MOR_T_STRING,
	  .flags = MOR_F_REQUIRED | MOR_F_STRICT_ONLY,
	  .one_of = "private|group",
	  .doc = "To a person or to a group",
	  .when = "type=send" },
	{ .name = "target_id",
	  .type = MOR_T_INT,
	  .flags = MOR_F_REQUIRED | MOR_F_STRICT_ONLY,
	  .doc = "Which; digits in a string are taken too, because Node has no integers beyond 2^53",
	  .when = "type=send" },
	{ .name = "message",
	  .type = MOR_T_STRING,
	  .flags = MOR_F_REQUIRED | MOR_F_STRICT_ONLY,
	  .doc = "What to write there",
	  .when = "type=send" },
	{ 0 },
};
const struct mor_field mor_ayiou_handle_result[] = {
	{ .name = "handled",
	  .type = MOR_T_BOOL,
	  .flags = MOR_F_REQUIRED | MOR_F_STRICT_ONLY,
	  .doc = "The plugin dealt with it; information only" },
	{ .name = "block",
	  .type = MOR_T_BOOL,
	  .def = "false",
	  .doc = "True: no later plugin handles the event" },
	{ .name = "reply",
	  .type = MOR_T_STRING | MOR_T_NULL,
	  .doc = "Answer, written before any action is done" },
	{ .name = "actions",
	  .type = MOR_T_ARRAY | MOR_T_NULL,
	  .def = "[]",
	  .doc = "What else to do, in order; null is none",
	  .fields = action },
	{ 0 },
};
