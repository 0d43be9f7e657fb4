/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ayiou: external plugins of the Ayiou chat bot, as its specification says and as its bridge and plugins behave:
 * docs/dialects/ayiou.md. Here is one plugin; how an event walks through several of them is the business of whoever
 * hosts the bot.
 */
#include "dialect/internal.h"

/* Limits are short for the sake of events; a plugin that is slow is not yet wedged. */
#define LATE_MS 30000

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
/* The real bridge never asks for it, so nothing in it may keep a plugin from running. */
static const struct mor_field metadata_result[] = {
	{ .name = "name",
	  .type = MOR_T_STRING,
	  .flags = MOR_F_REQUIRED | MOR_F_STRICT_ONLY,
	  .doc = "Plugin name, to be shown; the key in the bot's TOML identifies it" },
	{ .name = "description",
	  .type = MOR_T_STRING,
	  .flags = MOR_F_REQUIRED | MOR_F_STRICT_ONLY,
	  .doc = "Description" },
	{ .name = "version", .type = MOR_T_STRING, .flags = MOR_F_REQUIRED | MOR_F_STRICT_ONLY, .doc = "Version" },
	{ .name = "author", .type = MOR_T_STRING | MOR_T_NULL, .doc = "Author" },
	{ .name = "commands",
	  .type = MOR_T_ARRAY,
	  .def = "[]",
	  .doc = "Its commands; they hide nothing from it unless the bot says prefilter = true",
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
	{ .name = "target_type", .type = MOR_T_STRING, .flags = MOR_F_REQUIRED, .one_of = "private|group", .doc = "Where it was to go" },
	{ .name = "target_id", .type = MOR_T_INT, .flags = MOR_F_REQUIRED, .doc = "To whom, or to which group" },
	{ .name = "index", .type = MOR_T_INT | MOR_T_NULL, .doc = "Which of the actions, from 0; null: the reply" },
	{ .name = "status",
	  .type = MOR_T_STRING,
	  .flags = MOR_F_REQUIRED,
	  .one_of = "ok|failed|timeout|lost",
	  .doc = "failed: the network refused it; timeout: it did not answer; lost: the connection was lost, and nobody knows" },
	{ .name = "retcode", .type = MOR_T_INT, .doc = "The network's code; 0: ok; -1: there was no answer" },
	{ .name = "message", .type = MOR_T_STRING | MOR_T_NULL, .doc = "Why it was not done" },
	{ .name = "data", .type = MOR_T_ANY, .doc = "What the network answered, such as message_id" },
	{ 0 },
};
static const struct mor_field event[] = {
	{ .name = "startup", .type = MOR_T_NULL, .doc = "The plugin starts" },
	{ .name = "shutdown", .type = MOR_T_NULL, .doc = "The plugin is about to be ended" },
	{ .name = "bot_connect",
	  .also = "botconnect",
	  .type = MOR_T_OBJECT,
	  .doc = "The bot is connected to the chat network",
	  .fields = connected },
	{ .name = "action_result",
	  .type = MOR_T_OBJECT,
	  .doc = "Ours, only for those whose metadata has results true: what became of one call",
	  .fields = result_of_action },
	{ 0 },
};
static const struct mor_field lifecycle_params[] = {
	{ .name = "event",
	  .type = MOR_T_OBJECT | MOR_T_STRING,
	  .flags = MOR_F_REQUIRED,
	  .doc = "What happens: an object with one member, or its name alone",
	  .fields = event },
	{ 0 },
};
/* Plugins without a lifecycle answer null, which is as good. */
static const struct mor_field lifecycle_result[] = {
	{ .name = "ok",
	  .type = MOR_T_BOOL,
	  .flags = MOR_F_REQUIRED | MOR_F_STRICT_ONLY,
	  .doc = "Acknowledged; false refuses a startup and is a warning otherwise" },
	{ 0 },
};

/* ---- matches, handle ---- */

#define MESSAGE_TYPE \
	{ .name = "message_type", \
	  .type = MOR_T_STRING, \
	  .flags = MOR_F_REQUIRED, \
	  .one_of = "private|group", \
	  .doc = "Where the message was written" }

static const struct mor_field matches_params[] = {
	{ .name = "text",
	  .type = MOR_T_STRING,
	  .flags = MOR_F_REQUIRED,
	  .doc = "Plain text of the message, trimmed; CQ codes and entities are decoded" },
	MESSAGE_TYPE,
	{ .name = "user_id", .type = MOR_T_INT | MOR_T_NULL, .doc = "Who wrote it" },
	{ .name = "group_id", .type = MOR_T_INT | MOR_T_NULL, .doc = "In which group; null in private" },
	{ 0 },
};
static const struct mor_field matches_result[] = {
	{ .name = "matches",
	  .type = MOR_T_BOOL,
	  .flags = MOR_F_REQUIRED,
	  .doc = "True: the event is handed over with handle" },
	{ 0 },
};
static const struct mor_field handle_params[] = {
	MESSAGE_TYPE,
	{ .name = "user_id", .type = MOR_T_INT, .flags = MOR_F_REQUIRED, .doc = "Who wrote it" },
	{ .name = "group_id", .type = MOR_T_INT | MOR_T_NULL, .doc = "In which group; null in private" },
	{ .name = "text", .type = MOR_T_STRING, .flags = MOR_F_REQUIRED, .doc = "Plain text, as in matches" },
	{ .name = "raw_message", .type = MOR_T_STRING, .flags = MOR_F_REQUIRED, .doc = "The message as it came" },
	{ .name = "self_id", .type = MOR_T_INT | MOR_T_NULL, .doc = "The bot's own id; left out while unknown" },
	{ 0 },
};
/* Whoever hosts the bot skips an action that is wrong and does the others; so all of this is by the letter. */
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
static const struct mor_field handle_result[] = {
	{ .name = "handled",
	  .type = MOR_T_BOOL,
	  .flags = MOR_F_REQUIRED | MOR_F_STRICT_ONLY,
	  .doc = "The plugin dealt with it; information only" },
	{ .name = "block", .type = MOR_T_BOOL, .def = "false", .doc = "True: no later plugin handles the event" },
	{ .name = "reply", .type = MOR_T_STRING | MOR_T_NULL, .doc = "Answer, written before any action is done" },
	{ .name = "actions",
	  .type = MOR_T_ARRAY | MOR_T_NULL,
	  .def = "[]",
	  .doc = "What else to do, in order; null is none",
	  .fields = action },
	{ 0 },
};

/* ---- methods ---- */

static const struct mor_timing call_timing = { .timeout_ms = 30000, .late_ms = LATE_MS };

/* One message in two spellings each: the quirks choose. */
#define LIFECYCLE .name = "lifecycle", .params = lifecycle_params, .result = lifecycle_result, .outcome = MOR_OUTCOME(.ok = "/ok")
#define STARTUP LIFECYCLE, .role = MOR_ROLE_INIT, .flags = MOR_M_TOLERANT, .timing = MOR_TIMING(.timeout_ms = 30000, .late = MOR_LATE_FORGET)
#define CONNECT LIFECYCLE, .action = "bot_connect", .role = MOR_ROLE_CALL, .timing = &call_timing
#define SHUTDOWN LIFECYCLE, .role = MOR_ROLE_BYE, .timing = MOR_TIMING(.timeout_ms = 5000)

static const struct mor_method methods[] = {
	{
		.name = "metadata",
		.role = MOR_ROLE_HELLO,
		.flags = MOR_M_TOLERANT | MOR_M_PARAMS,
		.timing = MOR_TIMING(.timeout_ms = 5000, .late = MOR_LATE_FORGET),
		.result = metadata_result,
		.template = "{}",
		.spec = "metadata - 获取插件信息",
		.doc = "Who the plugin is. An error, null or silence is only told.",
	},
	{
		STARTUP,
		.template = "{\"event\":{\"startup\":null}}",
		.when = "lifecycle_style=object",
		.spec = "lifecycle - 生命周期事件",
		.doc = "The plugin makes ready; ok false is a failed start. Again after each restart.",
	},
	{
		STARTUP,
		.template = "{\"event\":\"startup\"}",
		.when = "lifecycle_style=string",
		.doc = "The same in the real bridge's spelling.",
	},
	{
		CONNECT,
		.template = "{\"event\":{\"bot_connect\":${params}}}",
		.when = "bot_connect=bot_connect",
		.spec = "LifecycleParams/Event - 生命周期",
		.doc = "The bot is connected, with its own id as self_id.",
	},
	{
		CONNECT,
		.template = "{\"event\":{\"botconnect\":${params}}}",
		.when = "bot_connect=botconnect",
		.doc = "The same in the real bridge's spelling.",
	},
	{
		LIFECYCLE,
		.action = "action_result",
		.role = MOR_ROLE_CALL,
		.timing = &call_timing,
		.template = "{\"event\":{\"action_result\":${params}}}",
		.spec = "LifecycleParams/Event - 生命周期, extended",
		.doc = "Ours: what became of a reply or an action; only to plugins whose metadata has results true.",
	},
	{
		.name = "matches",
		.role = MOR_ROLE_CALL,
		.timing = MOR_TIMING(.timeout_ms = 2000, .late_ms = LATE_MS),
		.params = matches_params,
		.result = matches_result,
		.spec = "matches - 检查匹配",
		.doc = "Does the event concern this plugin?",
	},
	{
		.name = "handle",
		.role = MOR_ROLE_CALL,
		.timing = &call_timing,
		.params = handle_params,
		.result = handle_result,
		.spec = "handle - 处理事件",
		.doc = "An event that matched.",
	},
	{
		SHUTDOWN,
		.template = "{\"event\":{\"shutdown\":null}}",
		.when = "lifecycle_style=object",
		.spec = "lifecycle - 生命周期事件",
		.doc = "The plugin cleans up; then its stdin is closed. The end of its output counts as an answer.",
	},
	{
		SHUTDOWN,
		.template = "{\"event\":\"shutdown\"}",
		.when = "lifecycle_style=string",
		.doc = "The same in the real bridge's spelling.",
	},
	{ 0 },
};

static const struct mor_code codes[] = {
	MOR_CODES_JSONRPC,
	{ 0 },
};

static const struct mor_quirk quirks[] = {
	{ "lifecycle_style", "object", "object|string",
	  "How startup and shutdown are written. object: {\"startup\": null}, as the specification prints it, which every "
	  "known plugin understands; string: \"startup\", as the real bridge sends it.", MOR_QUIRK_OWN },
	{ "bot_connect", "bot_connect", "bot_connect|botconnect",
	  "How that event is spelled. bot_connect: what the one known plugin with a use for it reads; botconnect: what the "
	  "real bridge's types would write.", MOR_QUIRK_OWN },
	{ "pipeline", "1", NULL,
	  "How many calls the plugin may have at once; 0: no limit. The real bridge pipelines; answers are told apart "
	  "by their ids either way.", MOR_QUIRK_PIPELINE },
	{ 0 },
};

const struct mor_dialect mor_dialect_ayiou = {
	.name = "ayiou",
	.title = "Ayiou chat bot, external plugins over JSON-RPC 1.0.0",
	.spec_url = "https://github.com/Ns2Kracy/Ayiou/pull/2",
	.doc = "Plugins of a OneBot v11 chat bot: each message is offered to every plugin (matches) and handled by those it "
	       "concerns (handle), until one of them blocks it. mortise chat --config runs a bot with several plugins.",
	.manifest = "[external-plugin-bridge] of the bot's TOML",
	.called = "/name",
	.example = "mortise chat --config bot.toml",
	.link = { .framing = MOR_FRAMING_LINES, .frame_limit = 16 * MOR_MIB, .queue_limit = 64 * MOR_MIB },
	.wire = MOR_WIRE_JSONRPC_OPTIONAL | MOR_WIRE_ERROR_NULL_OK,
	.life = {
		.max_in_flight = 1,
		.max_waiting = 1024,
		.stop = { .bye_ms = 5000, .term_ms = 6000, .kill_ms = 2000 },
		/* max_restarts of the bot's TOML. The time is short enough that a message which crashes it now and then does
		 * not end the plugin for good, and events wait for it meanwhile: so it is never away for long. */
		.restart = { .first_ms = 100, .cap_ms = 2000, .intensity = 3, .period_ms = 20000 },
	},
	.methods = methods,
	.codes = codes,
	.quirks = quirks,
};
