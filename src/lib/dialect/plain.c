/* SPDX-License-Identifier: Apache-2.0 */
/* plain: any JSON-RPC program. We know nothing about it, so we send only what somebody asked for. */
#include "dialect/internal.h"

/* The most common form of paging. */
static const struct mor_page page = { .more = "/has_more", .next = "/next_offset", .param = "opts.offset" };

static const struct mor_method methods[] = {
	{ "*", MOR_ROLE_CALL, .from = MOR_FROM_HOST, .settle = MOR_BY_REPLY,
	  .timing = MOR_TIMING(.timeout_ms = 30000), .outcome = MOR_OUTCOME(.page = &page),
	  .doc = "Whatever the program offers; params and result as they are." },
	{ "*", MOR_ROLE_SERVE, .from = MOR_FROM_PLUGIN, .settle = MOR_BY_REPLY,
	  .doc = "A request of the program, answered by the embedder." },
	{ "*", MOR_ROLE_NOTE, .from = MOR_FROM_PLUGIN, .settle = MOR_BY_WRITE,
	  .doc = "A notification of the program, passed on as an event." },
	{ 0 },
};

static const struct mor_code codes[] = {
	MOR_CODES_JSONRPC,
	{ 0 },
};

const struct mor_dialect mor_dialect_plain = {
	.name = "plain",
	.title = "Any JSON-RPC 2.0 program",
	.spec_url = "https://www.jsonrpc.org/specification",
	.doc = "No lifecycle, no manifest: the program is started, called, and stopped by closing its stdin. "
	       "Calls run side by side, and either side may call the other.",
	.example = "mortise call --dialect plain greet name=Ada -- ./my-program",
	.link = { .framing = MOR_FRAMING_LINES, .frame_limit = 256 * MOR_MIB, .queue_limit = 64 * MOR_MIB },
	.life = { .stop = { .term_ms = 2000, .kill_ms = 2000 }, .restart = MOR_RESTART_USUAL },
	.methods = methods,
	.codes = codes,
	.recoverable = "/recoverable",
};
