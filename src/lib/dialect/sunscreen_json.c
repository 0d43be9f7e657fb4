/* SPDX-License-Identifier: Apache-2.0 */
/* sunscreen-json: what the upstream runtime of Sunscreen speaks. sunscreen.c explains the difference. */
#include "dialect/internal.h"

#define FRAME_LIMIT (16 * MOR_MIB)

static const struct mor_timing run_timing = MOR_DIALECT_SUNSCREEN_RUN;

/* clang-format off */
#define PARAMS(kinds) \
	{ "args", MOR_T_ARRAY, .def = "[]", .doc = "The words of the command line, verbatim", \
	  .fields = mor_strings }, \
	{ "command", MOR_T_STRING, MOR_F_REQUIRED, \
	  .doc = "Name of the command or hook" }, \
	{ "kind", MOR_T_STRING, MOR_F_REQUIRED, .one_of = kinds, \
	  .doc = "As the manifest says" }, \
	{ "plugin", MOR_T_STRING, MOR_F_REQUIRED, .doc = "Name in the manifest" }, \
	{ "scratch", MOR_T_STRING, MOR_F_REQUIRED, \
	  .doc = "A directory it may write" }, \
	{ "workspace", MOR_T_STRING, MOR_F_REQUIRED, \
	  .doc = "Absolute path of the workspace" }
/* clang-format on */

static const struct mor_field command_params[] = { PARAMS("app|scaffold"), { 0 } };
static const struct mor_field hook_params[] = { PARAMS("hook"), { 0 } };

static const struct mor_method methods[] = {
	{ "sunscreen.command/run", MOR_ROLE_CALL, .action = "*", .timing = &run_timing,
	  .params = command_params, .spec = "src/plugin/stdio.rs",
	  .doc = "Run a command. Its result is any JSON." },
	{ "sunscreen.hook/run", MOR_ROLE_CALL, .action = "hook:*", .timing = &run_timing, .params = hook_params,
	  .spec = "src/plugin/stdio.rs", .doc = "Run a hook." },
	{ 0 },
};

static const struct mor_code codes[] = { MOR_CODES_JSONRPC, { 0 } };

const struct mor_dialect mor_dialect_sunscreen_json = {
	.name = "sunscreen-json",
	.title = "Sunscreen plugins as the upstream runtime calls them, by sunscreen-plugin.json",
	.spec_url = "https://github.com/Pantani/sunscreen",
	.doc = "Each call has its own process: one request with Content-Length, the end of its input, one "
	       "answer, an exit with status 0. Any other status fails the call. The answer's id does not "
	       "matter, and a bare JSON text will do.",
	.manifest = "sunscreen-plugin.json",
	.link = {
		.framing = MOR_FRAMING_HEADERS,
		.reads = 1 << MOR_FRAMING_LINES,
		.frame_limit = FRAME_LIMIT,
		.queue_limit = FRAME_LIMIT,
	},
	.wire = MOR_WIRE_ERROR_NULL_OK | MOR_WIRE_ANY_REPLY_ID,
	.life = {
		.shape = MOR_SHAPE_ONE_CALL,
		.env = MOR_ENVIRON_BARE,
		.confine = MOR_CONFINED,
		.max_in_flight = 1,
		.max_waiting = 64,
		.stop = { .term_ms = 1000, .kill_ms = 1000 },
	},
	.methods = methods,
	.codes = codes,
	.hooks = &mor_sunscreen_json_hooks,
	.example = "mortise run PLUGIN hello Alice --workspace DIR",
};
