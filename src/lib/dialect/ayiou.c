/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ayiou: external plugins of the Ayiou chat bot, as its specification says and as its bridge and plugins
 * behave: docs/dialects/ayiou.md. This file is about one plugin. The path of an event through several
 * plugins is handled by the host of the bot.
 */
#include "dialect/ayiou_fields.h"
#include "dialect/internal.h"

/* Limits are short because events wait. A slow plugin is not treated as wedged at once. */
#define LATE_MS 30000

/* ---- methods ---- */

static const struct mor_timing call_timing = { .timeout_ms = 30000, .late_ms = LATE_MS };

/* Each message has two spellings: the quirks choose one. */
#define LIFECYCLE \
	.name = "lifecycle", .params = mor_ayiou_lifecycle_params, .result = mor_ayiou_lifecycle_result, \
	.outcome = MOR_OUTCOME(.ok = "/ok")
#define STARTUP \
	LIFECYCLE, .role = MOR_ROLE_INIT, .flags = MOR_M_TOLERANT, \
		   .timing = MOR_TIMING(.timeout_ms = 30000, .late = MOR_LATE_FORGET)
#define CONNECT  LIFECYCLE, .action = "bot_connect", .role = MOR_ROLE_CALL, .timing = &call_timing
#define SHUTDOWN LIFECYCLE, .role = MOR_ROLE_BYE, .timing = MOR_TIMING(.timeout_ms = 5000)

static const struct mor_method methods[] = {
	{ "metadata", MOR_ROLE_HELLO, .flags = MOR_M_TOLERANT | MOR_M_PARAMS,
	  .timing = MOR_TIMING(.timeout_ms = 5000, .late = MOR_LATE_FORGET),
	  .result = mor_ayiou_metadata_result, .template = "{}", .spec = "metadata - 获取插件信息",
	  .doc = "Who the plugin is. An error, null or silence is only a warning." },
	{ STARTUP, .template = "{\"event\":{\"startup\":null}}", .when = "lifecycle_style=object",
	  .spec = "lifecycle - 生命周期事件",
	  .doc = "The plugin prepares itself; ok false is a failed start. Sent again after each restart." },
	{ STARTUP, .template = "{\"event\":\"startup\"}", .when = "lifecycle_style=string",
	  .doc = "The same in the real bridge's spelling." },
	{ CONNECT, .template = "{\"event\":{\"bot_connect\":${params}}}", .when = "bot_connect=bot_connect",
	  .spec = "LifecycleParams/Event - 生命周期",
	  .doc = "The bot is connected, with its own id as self_id." },
	{ CONNECT, .template = "{\"event\":{\"botconnect\":${params}}}", .when = "bot_connect=botconnect",
	  .doc = "The same in the real bridge's spelling." },
	{ LIFECYCLE, .action = "action_result", .role = MOR_ROLE_CALL, .timing = &call_timing,
	  .template = "{\"event\":{\"action_result\":${params}}}",
	  .spec = "LifecycleParams/Event - 生命周期, extended",
	  .doc = "Ours: what became of a reply or an action; only to plugins whose metadata has results "
		 "true." },
	{ "matches", MOR_ROLE_CALL, .timing = MOR_TIMING(.timeout_ms = 2000, .late_ms = LATE_MS),
	  .params = mor_ayiou_matches_params, .result = mor_ayiou_matches_result, .spec = "matches - 检查匹配",
	  .doc = "Does the event concern this plugin?" },
	{ "handle", MOR_ROLE_CALL, .timing = &call_timing, .params = mor_ayiou_handle_params,
	  .result = mor_ayiou_handle_result, .spec = "handle - 处理事件", .doc = "An event that matched." },
	{ SHUTDOWN, .template = "{\"event\":{\"shutdown\":null}}", .when = "lifecycle_style=object",
	  .spec = "lifecycle - 生命周期事件",
	  .doc = "The plugin cleans up; then its stdin is closed. The end of its output counts as an "
		 "answer." },
	{ SHUTDOWN, .template = "{\"event\":\"shutdown\"}", .when = "lifecycle_style=string",
	  .doc = "The same in the real bridge's spelling." },
	{ 0 },
};

static const struct mor_code codes[] = {
	MOR_CODES_JSONRPC,
	{ 0 },
};

static const struct mor_quirk quirks[] = {
	{ "lifecycle_style", "object", "object|string",
	  "How startup and shutdown are written. object: {\"startup\": null}, as the specification prints it, "
	  "which every known plugin understands; string: \"startup\", as the real bridge sends it.",
	  MOR_QUIRK_OWN },
	{ "bot_connect", "bot_connect", "bot_connect|botconnect",
	  "How that event is spelled. bot_connect: what the one known plugin that uses it reads; "
	  "botconnect: what the real bridge's types would write.",
	  MOR_QUIRK_OWN },
	{ "pipeline", "1", NULL,
	  "How many calls the plugin may have at once; 0: no limit. The real bridge pipelines; answers are "
	  "matched by their ids in both cases.",
	  MOR_QUIRK_PIPELINE },
	{ 0 },
};

const struct mor_dialect mor_dialect_ayiou = {
	.name = "ayiou",
	.title = "Ayiou chat bot, external plugins over JSON-RPC 1.0.0",
	.spec_url = "https://github.com/Ns2Kracy/Ayiou/pull/2",
	.doc = "Plugins of a OneBot v11 chat bot: each message is offered to every plugin (matches) and "
	       "handled by those it concerns (handle), until one of them blocks it.",
	.manifest = "[external-plugin-bridge] of the bot's TOML",
	.called = "/name",
	.example = "mortise chat --config bot.toml",
	.link = { .framing = MOR_FRAMING_LINES, .frame_limit = 16 * MOR_MIB, .queue_limit = 64 * MOR_MIB },
	.wire = MOR_WIRE_JSONRPC_OPTIONAL | MOR_WIRE_ERROR_NULL_OK,
	.life = {
		.max_in_flight = 1,
		.max_waiting = 1024,
		.stop = { .bye_ms = 5000, .term_ms = 6000, .kill_ms = 2000 },
		/* max_restarts of the bot's TOML. The period is short, so that a message which crashes the
		 * plugin now and then does not end it for good. Events wait for it meanwhile, so it must
		 * come back soon. */
		.restart = { .first_ms = 100, .cap_ms = 2000, .intensity = 3, .period_ms = 20000 },
	},
	.methods = methods,
	.codes = codes,
	.quirks = quirks,
};
