/* SPDX-License-Identifier: Apache-2.0 */
/* plain: any JSON-RPC program. Nothing is known of it, so nothing is sent that nobody asked for. */
#include "dialect/internal.h"

static const struct mor_method methods[] = {
	{
		.name = "*",
		.from = MOR_FROM_HOST,
		.role = MOR_ROLE_CALL,
		.settle = MOR_BY_REPLY,
		.timeout_ms = 30000,
		.clock = MOR_FROM_WRITE,
		.late = MOR_LATE_DROP,
		.doc = "Whatever the program offers; params and result as they are.",
	},
	{
		.name = "*",
		.from = MOR_FROM_PLUGIN,
		.role = MOR_ROLE_SERVE,
		.settle = MOR_BY_REPLY,
		.doc = "A request of the program, answered by the embedder.",
	},
	{
		.name = "*",
		.from = MOR_FROM_PLUGIN,
		.role = MOR_ROLE_NOTE,
		.settle = MOR_BY_WRITE,
		.doc = "A notification of the program, passed on as an event.",
	},
	{ 0 },
};

static const struct mor_code codes[] = {
	{ -32700, "Parse error", "Invalid JSON", 0 },
	{ -32600, "Invalid Request", "Not a valid request object", 0 },
	{ -32601, "Method not found", "The method does not exist", 0 },
	{ -32602, "Invalid params", "Invalid method parameters", 0 },
	{ -32603, "Internal error", "The program failed inside", 0 },
	{ 0 },
};

const struct mor_dialect mor_dialect_plain = {
	.name = "plain",
	.title = "Any JSON-RPC 2.0 program",
	.spec_url = "https://www.jsonrpc.org/specification",
	.doc = "No lifecycle, no manifest: the program is started, called, and stopped by closing its stdin. Calls run "
	       "side by side, and either side may call the other.",
	.shape = MOR_SHAPE_SESSION,
	.env = MOR_ENV_INHERIT,
	.confine = MOR_GUARDED,
	.framing = MOR_FRAMING_LINES,
	.wire = MOR_WIRE_BATCH_IN,
	.frame_limit = 256 * 1024 * 1024,
	.queue_limit = 64 * 1024 * 1024,
	.stop = { .bye_ms = 0, .term_ms = 2000, .kill_ms = 2000 },
	.recoverable = "/recoverable",
	.restart = { .first_ms = 100, .cap_ms = 10000, .intensity = 5, .period_ms = 60000 },
	.methods = methods,
	.codes = codes,
	.example = "mortise call --dialect plain greet name=Ada -- ./my-program",
};
