/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yams: external plugins of YAMS, as its specification says and as its real host, SDK and plugins behave:
 * docs/dialects/yams.md. If the two differ, both must work.
 */
#include "dialect/internal.h"
#include "dialect/yams_fields.h"

#define LATE_MS 5000 /* a plugin that timed out may still answer within this time; after it, it is wedged */

static const struct mor_timing call_timing = { .timeout_ms = 30000, .late_ms = LATE_MS };

/* As in kg_entity_provider_v1. Custom methods may be of that kind: the manifest's
 * capabilities.kg_entities.rpc_method. */
static const struct mor_page page = { .more = "/has_more", .next = "/next_offset", .param = "opts.offset" };

static const struct mor_method methods[] = {
	{ "handshake.manifest", MOR_ROLE_HELLO, .timing = MOR_TIMING(.timeout_ms = 10000),
	  .result = mor_yams_manifest_result, .spec = "Lifecycle Methods, 1. handshake.manifest",
	  .doc = "Discover plugin capabilities. The first message after the plugin was spawned." },
	{ "plugin.init", MOR_ROLE_INIT, .flags = MOR_M_OPTIONAL | MOR_M_PARAMS,
	  .timing = MOR_TIMING(.timeout_ms = 30000), .params = mor_yams_init_params,
	  .result = mor_yams_init_result, .spec = "Lifecycle Methods, 2. plugin.init",
	  .doc = "Initialize plugin with configuration. After the handshake, and again after each "
		 "restart." },
	{ "plugin.health", MOR_ROLE_PING, .flags = MOR_M_OPTIONAL,
	  .timing = MOR_TIMING(.timeout_ms = 5000, .late_ms = LATE_MS), .result = mor_yams_health_result,
	  .spec = "Lifecycle Methods, 3. plugin.health", .doc = "Check plugin health and readiness." },
	{ "extractor.supports", MOR_ROLE_CALL, .flags = MOR_M_OPTIONAL, .timing = &call_timing,
	  .params = mor_yams_supports_params, .result = mor_yams_supports_result,
	  .needs = "content_extractor_v1", .spec = "Content Extraction Interface, 5. extractor.supports",
	  .doc = "Check if plugin can extract content from file type. At least one parameter must be "
		 "given; real plugins need both, so send both." },
	{ "extractor.extract", MOR_ROLE_CALL, .timing = &call_timing, .params = mor_yams_extract_params,
	  .result = mor_yams_extract_result,
	  .outcome = MOR_OUTCOME(.ok = "/success", .why = "/error", .why_fails = true),
	  .needs = "content_extractor_v1", .spec = "Content Extraction Interface, 6. extractor.extract",
	  .doc = "Extract searchable content from binary." },
	{ "ghidra.getEntities", MOR_ROLE_CALL,
	  .timing = MOR_TIMING(.timeout_ms = 15 * 60 * 1000, .late_ms = LATE_MS),
	  .outcome = MOR_OUTCOME(.page = &page), .params = mor_yams_entities_params,
	  .result = mor_yams_entities_result, .needs = "kg_entity_provider_v1",
	  .spec = "not in it; the real host and its plugins have it",
	  .doc = "One page of entities for the knowledge graph; ask again from next_offset while "
		 "has_more is true. The manifest's capabilities.kg_entities.rpc_method may name another "
		 "method." },
	{ "*", MOR_ROLE_CALL, .flags = MOR_M_OPTIONAL, .timing = &call_timing,
	  .outcome = MOR_OUTCOME(.page = &page), .spec = "Process Management",
	  .doc = "Custom RPC requests; a method the plugin does not know is \"not implemented\", no "
		 "fault." },
	{ "plugin.shutdown", MOR_ROLE_BYE, .flags = MOR_M_OPTIONAL, .timing = MOR_TIMING(.timeout_ms = 5000),
	  .spec = "Lifecycle Methods, 4. plugin.shutdown",
	  .doc = "Graceful plugin shutdown: the plugin cleans up its resources and answers null. The end "
		 "of its output counts as an answer." },
	{ "*", MOR_ROLE_NOTE, .from = MOR_FROM_PLUGIN,
	  .doc = "The specification has no messages of the plugin's own; a notification is passed on as "
		 "an event." },
	{ 0 },
};

static const struct mor_code codes[] = {
	{ -32700, "Parse error", "Invalid JSON", 0 },
	{ -32600, "Invalid Request", "Missing required fields", 0 },
	{ -32601, "Method not found", "Method does not exist", 0 },
	{ -32602, "Invalid params", "Invalid method parameters", 0 },
	{ -32603, "Internal error", "Plugin internal error", 0 },
	{ -32000, "Extraction failed", "Content extraction failed (YAMS)", 0 },
	{ -32001, "Unsupported format", "Plugin cannot handle this file type (YAMS)", 0 },
	{ -32002, "Timeout", "Operation timed out (YAMS)", 0 },
	{ -32003, "Not initialized", "Plugin not initialized (YAMS)", 0 },
	{ 0 },
};

static const struct mor_quirk quirks[] = {
	{ "init_params", "both", "both|spec|raw",
	  "What plugin.init sends for a configuration C. both: {\"config\": C} and C's own keys beside it; "
	  "spec: {\"config\": C}; raw: C itself, as the real host does. Strict is always spec.",
	  MOR_QUIRK_OWN },
	{ 0 },
};

/* The same rule as in the real host; it looks only at the keys. */
static const struct mor_inferred inferred[] = {
	{ "/capabilities/content_extraction", "content_extractor_v1" },
	{ "/capabilities/symbol_extraction", "symbol_extractor_v1" },
	{ "/capabilities/graph_store", "graph_store_v1" },
	{ 0 },
};

static const struct mor_offer offer = { .interfaces = "/interfaces", .inferred = inferred };

static const struct mor_health health = {
	.first = true,
	.after_timeout = true,
	.every_ms = 30000,
	.at = "/status",
	.good = "ok|healthy",
	.fair = "degraded|restarted",
	.bad = "error",
};

const struct mor_dialect mor_dialect_yams = {
	.name = "yams",
	.title = "YAMS external plugins, JSON-RPC protocol 1.0",
	.spec_url = "https://github.com/trvon/yams/blob/main/docs/spec/external_plugin_jsonrpc_protocol.md",
	.doc = "Plugins of the YAMS content store that run as separate processes: the host asks, the "
	       "plugin answers, one request at a time. Most of them extract text from binary files "
	       "(content_extractor_v1).",
	.example = "mortise extract /bin/ls --plugin build/plugins/elf-text",
	.manifest = "yams-plugin.json",
	.called = "/name",
	/* Whole files are sent as base64 in one line. */
	.link = { .framing = MOR_FRAMING_LINES, .frame_limit = 256 * MOR_MIB, .queue_limit = 512 * MOR_MIB },
	.wire = MOR_WIRE_JSONRPC_OPTIONAL | MOR_WIRE_ERROR_NULL_OK | MOR_WIRE_NULL_ID_FAILS_ONLY_CALL,
	.life = {
		.max_in_flight = 1,
		/* The specification: SIGTERM 5 s after plugin.shutdown. stdin is closed before that, because
		 * no SDK plugin exits before its input ends. */
		.stop = { .bye_ms = 4000, .term_ms = 5000, .kill_ms = 2000 },
		.restart = MOR_RESTART_USUAL,
	},
	.health = &health,
	.offer = &offer,
	.methods = methods,
	.codes = codes,
	.recoverable = "/recoverable",
	.quirks = quirks,
	.hooks = &mor_yams_hooks,
};
