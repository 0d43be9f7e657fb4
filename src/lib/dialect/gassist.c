/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gassist: plugins of G-Assist, protocol V2, as its specification says and as its real engine, SDKs and
 * plugins behave: docs/dialects/gassist.md. If the two differ, both must work: what the specification
 * requires but real plugins leave out is MOR_F_STRICT_ONLY. The watchdog (learn) decides which plugins may
 * be killed while they are busy.
 */
#include "dialect/gassist_fields.h"
#include "dialect/internal.h"

/* ---- methods ---- */

/* For everything that ends a turn: a reply, or complete. */
#define TURN .ok = "/success", .why = "/data", .keep = "/keep_session"
static const struct mor_outcome turn_outcome = { TURN };

static const struct mor_method methods[] = {
	/* Plugins search for servers and models before they read: we saw 6 s; 30 s is the real
	 * engine's limit. */
	{ "initialize", MOR_ROLE_HELLO, .timing = MOR_TIMING(.timeout_ms = 30000, .late = MOR_LATE_KILL),
	  .params = mor_gassist_initialize_params, .result = mor_gassist_initialize_result,
	  .template =
		  "{\"protocol_version\":\"2.0\",\"engine_version\":${version},\"capabilities\":[\"streaming\",\"passthrough\"]}",
	  .outcome = MOR_OUTCOME(.ok = "/success"), .spec = "Protocol Methods, initialize",
	  .doc = "Called once when plugin starts. No ping goes out before its answer." },
	{ "ping", MOR_ROLE_PING, .timing = MOR_TIMING(.timeout_ms = 1000), .params = mor_gassist_timestamp,
	  .result = mor_gassist_timestamp, .template = "{\"timestamp\":${time}}",
	  .spec = "Protocol Methods, ping",
	  .doc = "Health check: the plugin must respond within 1 second. Two misses in a row and it is "
		 "killed; while it works on a request only if it has shown that it can answer then "
		 "(quirk watchdog)." },
	{ "execute", MOR_ROLE_CALL, .action = "*", .settle = MOR_BY_FIRST,
	  .timing = MOR_TIMING(.timeout_ms = 30000, .clock = MOR_FROM_SIGN, .late = MOR_LATE_KILL),
	  .params = mor_gassist_execute_params, .result = mor_gassist_outcome,
	  .template = "{\"...\":${extra},\"function\":${action},\"arguments\":${params}}",
	  .outcome = &turn_outcome, .spec = "Protocol Methods, execute",
	  .doc = "Execute a plugin command. Ended by a response, complete or error, whichever comes "
		 "first. The time limit counts from the last message of the plugin that is not a pong "
		 "(strict: from the request) and never outlasts the session total." },
	{ "input", MOR_ROLE_INPUT, .settle = MOR_BY_NOTE,
	  .timing = MOR_TIMING(.timeout_ms = 30000, .ack_ms = 2000, .clock = MOR_FROM_SIGN,
			       .late = MOR_LATE_KILL),
	  .params = mor_gassist_input_params, .result = mor_gassist_input_result,
	  .template = "{\"content\":\"\",\"timestamp\":${time},\"...\":${params}}", .outcome = &turn_outcome,
	  .spec = "Protocol Methods, input",
	  .doc = "What the user says in a session that keep_session opened; refused outside one. The "
		 "plugin acknowledges within 2 seconds (anything it sends for this request counts), then "
		 "answers as for execute." },
	{ "shutdown", MOR_ROLE_BYE, .settle = MOR_BY_WRITE, .flags = MOR_M_NOTE | MOR_M_PARAMS,
	  .when = "shutdown=note", .spec = "Protocol Methods, shutdown",
	  .doc = "Graceful shutdown request. No response expected; stdin is closed after it." },
	{ "shutdown", MOR_ROLE_BYE, .flags = MOR_M_OPTIONAL | MOR_M_PARAMS,
	  .timing = MOR_TIMING(.timeout_ms = 2000), .when = "shutdown=request",
	  .doc = "The same as a request, for plugins that clean up only when they can answer." },
	{ "stream", MOR_ROLE_PIECE, .from = MOR_FROM_PLUGIN, .settle = MOR_BY_WRITE,
	  .params = mor_gassist_stream_params, .outcome = MOR_OUTCOME(.ref = "/request_id", .data = "/data"),
	  .spec = "Plugin -> Engine, stream", .doc = "Send streaming content during execution." },
	{ "complete", MOR_ROLE_DONE, .from = MOR_FROM_PLUGIN, .settle = MOR_BY_WRITE,
	  .params = mor_gassist_complete_params, .outcome = MOR_OUTCOME(TURN, .ref = "/request_id"),
	  .spec = "Plugin -> Engine, complete", .doc = "Signal execution complete." },
	{ "error", MOR_ROLE_FAIL, .from = MOR_FROM_PLUGIN, .settle = MOR_BY_WRITE,
	  .params = mor_gassist_error_params,
	  .outcome = MOR_OUTCOME(.why = "/message", .code = "/code", .ref = "/request_id", .data = "/data"),
	  .spec = "Plugin -> Engine, error",
	  .doc = "Report an error during execution. It ends the request, and the session with it; a "
		 "complete after it is ignored." },
	{ "log", MOR_ROLE_LOG, .from = MOR_FROM_PLUGIN, .settle = MOR_BY_WRITE,
	  .params = mor_gassist_log_params, .outcome = MOR_OUTCOME(.data = "/message", .level = "/level"),
	  .spec = "Plugin -> Engine, log",
	  .doc = "Send log messages for debugging (optional); at any time, also before initialize is "
		 "answered." },
	{ 0 },
};

static const struct mor_code codes[] = {
	MOR_CODES_JSONRPC,
	{ -1, "Plugin error", "Custom plugin error", 0 },
	{ -2, "Timeout", "Operation timed out", MORTISE_ETIMEOUT },
	{ -3, "Rate limited", "Too many requests", 0 },
	{ 0 },
};

static const struct mor_quirk quirks[] = {
	{ "watchdog", "learn", "learn|strict|off",
	  "What unanswered pings mean. learn: two in a row kill an idle plugin, and a busy one that has "
	  "answered a ping during a request before (the official SDKs cannot); strict: they kill, whatever it "
	  "does; off: no pings.",
	  MOR_QUIRK_WATCHDOG },
	{ "shutdown", "note", "note|request",
	  "How shutdown is sent: as the specification says, or as the plugin emulator does.", MOR_QUIRK_OWN },
	{ "frame_pad", NULL, NULL,
	  "Messages are padded with blanks to a multiple of so many bytes, for plugins that read blocks "
	  "(4096).",
	  MOR_QUIRK_FRAME_PAD },
	{ 0 },
};

static const struct mor_watchdog watchdog = {
	.every_ms = 2000, .misses = 2, .beside_calls = true, .learn = true
};
static const struct mor_conversation conversation = { .total_ms = 5 * 60 * 1000 };

const struct mor_dialect mor_dialect_gassist = {
	.name = "gassist",
	.title = "G-Assist plugins, protocol V2",
	.spec_url = "https://github.com/NVIDIA/G-Assist",
	.doc = "Plugins of an assistant: the host runs a function, the plugin streams its answer and may ask "
	       "for a conversation (keep_session). One request at a time; pings watch over it.",
	.example = "mortise chat build/plugins/lookout",
	.manifest = "manifest.json",
	.called = "/name",
	/* 10 MiB: what the SDKs read */
	.link = {
		.framing = MOR_FRAMING_BE32,
		.frame_limit = 64 * MOR_MIB,
		.send_limit = 10 * MOR_MIB,
		.queue_limit = 64 * MOR_MIB,
	},
	.wire = MOR_WIRE_JSONRPC_OPTIONAL | MOR_WIRE_ERROR_NULL_OK | MOR_WIRE_NULL_ID_FAILS_ONLY_CALL |
		MOR_WIRE_NAN_OK | MOR_WIRE_ANY_REF,
	.life = {
		.max_in_flight = 1,
		/* Closing stdin ends every SDK. An idle Python one ignores SIGTERM. */
		.stop = { .bye_ms = 2000, .term_ms = 3000, .kill_ms = 2000 },
		.restart = MOR_RESTART_USUAL,
	},
	.watchdog = &watchdog,
	.conversation = &conversation,
	.methods = methods,
	.codes = codes,
	.quirks = quirks,
};
