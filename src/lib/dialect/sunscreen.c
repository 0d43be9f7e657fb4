/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sunscreen over stdio: two protocols with one name. `sunscreen` is the published specification
 * (plugin.toml, lines); no upstream program speaks it. `sunscreen-json` is what the upstream runtime does
 * (sunscreen-plugin.json, Content-Length, one process per call). The name of the manifest decides.
 */
#include "dialect/internal.h"

#define FRAME_LIMIT (16 * MOR_MIB)

static const struct mor_timing run_timing = MOR_DIALECT_SUNSCREEN_RUN;

static const struct mor_field descriptions[] = {
	{ "*", MOR_T_STRING, .doc = "Name of a command, and what it does" },
	{ 0 },
};
static const struct mor_field commands_result[] = {
	{ "scaffold", MOR_T_OBJECT, .doc = "Commands that are run as scaffold:NAME", .fields = descriptions },
	{ "hook", MOR_T_OBJECT, .doc = "Hooks", .fields = descriptions },
	{ "*", MOR_T_OBJECT, .doc = "Another kind: its commands are run as KIND:NAME" },
	{ 0 },
};
static const struct mor_field flags[] = {
	{ "*", MOR_T_STRING | MOR_T_BOOL | MOR_T_ARRAY,
	  .doc = "--NAME VALUE and --NAME=VALUE: the text; --NAME alone: true; repeated: an array of these" },
	{ 0 },
};
static const struct mor_field run_params[] = {
	{ "command", MOR_T_STRING, MOR_F_REQUIRED, .doc = "KIND:NAME, such as \"scaffold:indexer\"" },
	{ "args", MOR_T_ARRAY, .def = "[]", .doc = "Positional arguments", .fields = mor_strings },
	{ "flags", MOR_T_OBJECT, .def = "{}", .doc = "Flags by name, without dashes", .fields = flags },
	{ "workspace_root", MOR_T_STRING, MOR_F_REQUIRED, .doc = "Absolute path of the workspace" },
	{ "config", MOR_T_OBJECT, .def = "{}", .doc = "The workspace's sunscreen.yml, as JSON" },
	{ 0 },
};
static const struct mor_field hook_context[] = {
	{ "workspace_root", MOR_T_STRING, .doc = "Absolute path of the workspace" },
	{ "idl", MOR_T_ANY, .doc = "The program's IDL; absent where there is none, or more than one" },
	{ "*", MOR_T_ANY, .doc = "What the caller adds" },
	{ 0 },
};
static const struct mor_field hook_params[] = {
	{ "name", MOR_T_STRING, MOR_F_REQUIRED, .doc = "The hook, such as \"after_build\"" },
	{ "context", MOR_T_OBJECT, .def = "{}", .doc = "What happened", .fields = hook_context },
	{ 0 },
};
static const struct mor_field run_result[] = {
	{ "files_written", MOR_T_ARRAY, MOR_F_REQUIRED | MOR_F_STRICT_ONLY,
	  .doc = "Files it wrote, relative to the workspace", .fields = mor_strings },
	{ "summary", MOR_T_STRING, MOR_F_REQUIRED | MOR_F_STRICT_ONLY, .doc = "What was done, in a sentence" },
	{ "*", MOR_T_ANY, .doc = "Anything more" },
	{ 0 },
};

/* Not in the specification: only over gRPC, from plugins that offer mortise.sunscreen.v1.Stream. */
static const struct mor_field progress_params[] = {
	{ "fraction", MOR_T_NUMBER, .doc = "How much is done, from 0 to 1; absent: not known" },
	{ "text", MOR_T_STRING, .def = "\"\"", .doc = "What is done now" },
	{ 0 },
};
static const struct mor_field log_params[] = {
	{ "level", MOR_T_STRING, .def = "\"info\"", .one_of = "debug|info|warning|error",
	  .doc = "How serious it is" },
	{ "text", MOR_T_STRING, MOR_F_REQUIRED, .doc = "One line for people" },
	{ 0 },
};
static const struct mor_field piece_params[] = {
	{ "text", MOR_T_STRING, MOR_F_REQUIRED, .doc = "A part of what the command prints" },
	{ 0 },
};

static const struct mor_method methods[] = {
	{ "commands", MOR_ROLE_HELLO, .flags = MOR_M_TOLERANT,
	  .timing = MOR_TIMING(.timeout_ms = 10000, .late = MOR_LATE_FORGET), .result = commands_result,
	  .spec = "JSON-RPC methods, commands",
	  .doc = "What the plugin offers. The manifest says it already; a difference is a warning, and "
		 "so is silence." },
	{ "run", MOR_ROLE_CALL, .action = "*", .timing = &run_timing, .params = run_params,
	  .result = run_result, .spec = "JSON-RPC methods, run", .doc = "Run a command." },
	{ "hook", MOR_ROLE_CALL, .action = "hook:*", .timing = &run_timing, .params = hook_params,
	  .result = run_result, .spec = "JSON-RPC methods, hook",
	  .doc = "Tell the plugin that something has happened." },
	{ "progress", MOR_ROLE_NOTE, .from = MOR_FROM_PLUGIN, .settle = MOR_BY_WRITE, .params = progress_params,
	  .spec = "mortise.sunscreen.v1.Stream", .doc = "Over gRPC: how far a command is." },
	{ "log", MOR_ROLE_LOG, .from = MOR_FROM_PLUGIN, .settle = MOR_BY_WRITE,
	  .outcome = MOR_OUTCOME(.level = "/level", .data = "/text"), .params = log_params,
	  .spec = "mortise.sunscreen.v1.Stream", .doc = "Over gRPC: a line of the plugin's log." },
	{ "piece", MOR_ROLE_NOTE, .from = MOR_FROM_PLUGIN, .settle = MOR_BY_WRITE, .params = piece_params,
	  .spec = "mortise.sunscreen.v1.Stream", .doc = "Over gRPC: a part of what a command prints." },
	{ 0 },
};

/* The plugin's own codes are exit codes of the sunscreen command, so they have that command's meanings. */
/* clang-format off */
#define EXIT_CODES \
	{ 1, "Failed", "Any other failure", 0 }, \
	{ 2, "Toolchain missing", "A tool that is needed is not installed", 0 }, \
	{ 3, "Config invalid", "The workspace's configuration is wrong", 0 }, \
	{ 4, "User input", "What was asked for cannot be done", 0 }, \
	{ 5, "Workspace missing", "There is no workspace", 0 }, \
	{ 6, "Instruction drift", "Generated and written code differ", 0 }, \
	{ 7, "Path conflict", "A file is in the way", 0 }, { 8, "Network", "The network failed", 0 }, \
	{ 9, "Plugin runtime", "The plugin failed for another reason", 0 }
/* clang-format on */

static const struct mor_code codes[] = { EXIT_CODES, MOR_CODES_JSONRPC, { 0 } };

const struct mor_dialect mor_dialect_sunscreen = {
	.name = "sunscreen",
	.title = "Sunscreen plugins, JSON-RPC over stdio by plugin.toml",
	.spec_url = "https://github.com/Pantani/sunscreen/blob/main/docs/site/src/reference/plugin-protocol/index.md",
	.doc = "Plugins of the Sunscreen tool for Solana workspaces: scaffolding commands and build hooks, "
	       "confined to the permissions in their manifest. Each run has its own process: "
	       "\"commands\", one \"run\" or \"hook\", the end of its input.",
	.manifest = "plugin.toml",
	.link = {
		.framing = MOR_FRAMING_LINES,
		.reads = 1 << MOR_FRAMING_HEADERS,
		.frame_limit = FRAME_LIMIT,
		.queue_limit = FRAME_LIMIT,
	},
	.wire = MOR_WIRE_JSONRPC_OPTIONAL | MOR_WIRE_ERROR_NULL_OK | MOR_WIRE_NULL_ID_FAILS_ONLY_CALL,
	.life = {
		.shape = MOR_SHAPE_ONE_RUN,
		.env = MOR_ENVIRON_CLEAN,
		.confine = MOR_CONFINED,
		.max_in_flight = 1,
		.max_waiting = 64,
		.stop = { .term_ms = 1000, .kill_ms = 1000 },
	},
	.methods = methods,
	.codes = codes,
	.hooks = &mor_sunscreen_hooks,
	.example = "mortise run build/plugins/yellowstone-indexer scaffold:indexer Trades -w DIR",
};
